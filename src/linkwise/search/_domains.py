"""Which weights exist, and how to draw them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.search._checks import check_count

# A drawn weight is never so small that its kernel is only nominally in the sum.
_SMALLEST_WEIGHT = 0.001


class Domain(Protocol):
    """A set of weight vectors to search in."""

    @property
    def n_weights(self) -> int:
        """Length of a candidate."""
        ...

    @property
    def max_nonzero(self) -> int:
        """Largest number of weights that may differ from zero."""
        ...

    @property
    def ends_with_first(self) -> bool:
        """Whether ``first()`` is all there is, up to positive multiples."""
        ...

    def first(self) -> FloatArray:
        """Return the candidates to open with, shape (m, n_weights)."""
        ...

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw candidates, shape (n, n_weights)."""
        ...

    def contains(self, weights: FloatArray) -> bool:
        """Tell whether ``weights`` is a candidate."""
        ...


@dataclass(frozen=True)
class SparseVectors:
    """Weights in [0, 1] of which only a few differ from zero.

    The number of non-zero weights is uniform on 2, ..., ``max_nonzero``, their places
    are uniform, their values uniform in (0.001, 1). Vectors with a single weight are
    not drawn: they open the search, and their multiples give the same clusters.

    Parameters
    ----------
    n_weights : int
        Length of a candidate.
    max_nonzero : int, default=5
        Largest number of non-zero weights; above ``n_weights`` it has no effect.
    kept : int, optional
        A weight whose one-hot vector is tried however small the budget is.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.search import SparseVectors
    >>> domain = SparseVectors(n_weights=10, max_nonzero=3)
    >>> drawn = domain.sample(np.random.default_rng(0), 100)
    >>> [int(n) for n in np.unique(np.count_nonzero(drawn, axis=1))]
    [2, 3]
    """

    n_weights: int
    max_nonzero: int = 5
    kept: int | None = None

    def __post_init__(self) -> None:
        """Refuse empty vectors."""
        check_count("n_weights", self.n_weights)
        check_count("max_nonzero", self.max_nonzero)

    @property
    def ends_with_first(self) -> bool:
        """Whether only one-hot vectors exist."""
        return min(self.max_nonzero, self.n_weights) == 1

    def first(self) -> FloatArray:
        """Return the one-hot vectors, shape (n_weights, n_weights)."""
        return np.eye(self.n_weights)

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw candidates, shape (n, n_weights)."""
        candidates = np.zeros((n, self.n_weights))
        if self.ends_with_first:
            candidates[np.arange(n), rng.integers(self.n_weights, size=n)] = 1.0
            return candidates
        largest = min(self.max_nonzero, self.n_weights)
        sizes = rng.integers(2, largest + 1, size=n)
        places = _random_places(rng, n, self.n_weights, largest)
        values = rng.uniform(_SMALLEST_WEIGHT, 1.0, size=(n, largest))
        values[np.arange(largest) >= sizes[:, np.newaxis]] = 0.0
        np.put_along_axis(candidates, places, values, axis=1)
        return candidates

    def contains(self, weights: FloatArray) -> bool:
        """Tell whether ``weights`` is a candidate."""
        n_nonzero = int(np.count_nonzero(weights))
        return _in_cube(weights, self.n_weights) and 1 <= n_nonzero <= self.max_nonzero


@dataclass(frozen=True)
class Cube:
    """All weights in [0, 1] but the zero vector.

    Parameters
    ----------
    n_weights : int
        Length of a candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.search import Cube
    >>> Cube(3).sample(np.random.default_rng(0), 5).shape
    (5, 3)
    """

    n_weights: int

    def __post_init__(self) -> None:
        """Refuse empty vectors."""
        check_count("n_weights", self.n_weights)

    @property
    def max_nonzero(self) -> int:
        """Largest number of weights that may differ from zero: all of them."""
        return self.n_weights

    @property
    def ends_with_first(self) -> bool:
        """Whether there is one weight only, whose multiples give the same clusters."""
        return self.n_weights == 1

    def first(self) -> FloatArray:
        """Return the vector of ones, shape (1, n_weights)."""
        return np.ones((1, self.n_weights))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Draw candidates, shape (n, n_weights)."""
        candidates = rng.random((n, self.n_weights))
        candidates[~candidates.any(axis=1)] = 1.0
        return candidates

    def contains(self, weights: FloatArray) -> bool:
        """Tell whether ``weights`` is a candidate."""
        return _in_cube(weights, self.n_weights) and bool(np.any(weights))


def _random_places(
    rng: np.random.Generator, n: int, n_weights: int, n_places: int
) -> IntArray:  # (n, n_places)
    """Return, for each candidate, distinct places in random order."""
    # Fisher-Yates stopped after n_places swaps, all candidates at once.
    deck = np.tile(np.arange(n_weights, dtype=np.int32), (n, 1))
    rows = np.arange(n)
    for place in range(n_places):
        other = rng.integers(place, n_weights, size=n)
        deck[rows, other], deck[:, place] = deck[:, place].copy(), deck[rows, other]
    return deck[:, :n_places]


def _in_cube(weights: FloatArray, n_weights: int) -> bool:
    """Tell whether the shape is right and every weight lies in [0, 1]."""
    return weights.shape == (n_weights,) and bool(
        np.all((weights >= 0) & (weights <= 1))
    )
