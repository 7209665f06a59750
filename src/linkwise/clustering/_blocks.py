"""k-means over rows that are too many to be held at once."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray


class Centres(NamedTuple):
    """Centres of clusters in a geometry of rows and a core (see GroupSums)."""

    coefficients: FloatArray  # (m, k), core @ (totals / mass)'
    norms: FloatArray  # (k,), squared norms

    def labels(self, rows: FloatArray) -> IntArray:
        """Return the nearest centre of each row."""
        return (self.norms - 2.0 * (rows @ self.coefficients)).argmin(axis=1)


class BlocksResult(NamedTuple):
    """Where k-means over blocks ended."""

    centres: Centres
    means: FloatArray  # (k, m), mean rows of the clusters; NaN where there are none
    n_iter: int
    converged: bool


class Share(NamedTuple):
    """What one block adds to the clusters."""

    totals: FloatArray  # (k, m)
    mass: FloatArray  # (k,)

    def plus(self, other: "Share") -> "Share":
        """Return what two blocks add."""
        return Share(self.totals + other.totals, self.mass + other.mass)


def share_of(
    centres: Centres, rows: FloatArray, sample_weight: FloatArray | None
) -> Share:
    """Assign the rows of a block to their nearest centres, and sum them up."""
    labels = centres.labels(rows)
    spread = np.zeros((len(centres.norms), len(labels)))
    weight = 1.0 if sample_weight is None else sample_weight
    spread[labels, np.arange(len(labels))] = weight
    return Share(spread @ rows, spread.sum(axis=1))


def centres_of(totals: FloatArray, mass: FloatArray, core: FloatArray) -> Centres:
    """Return the centres of groups of given totals; an empty core is the identity."""
    means = totals / mass[:, None]
    coefficients = means.T if core.size == 0 else core @ means.T
    return Centres(coefficients, np.einsum("km,mk->k", means, coefficients))


def descend_in_blocks(
    one_pass: Callable[[Centres], Iterable[Share]],
    start: Centres,
    core: FloatArray,
    *,
    max_iter: int,
    tol: float,
) -> BlocksResult:
    """Iterate k-means over blocks of rows, from given centres.

    Parameters
    ----------
    one_pass : callable
        Yields what each block adds to the clusters of some centres, always in the same
        order: :func:`share_of` of its rows.
    start : Centres
        Where to begin.
    core : ndarray of shape (m, m)
        Of the geometry; empty for the identity.
    max_iter : int
        Limit on the passes over the rows.
    tol : float
        Least gain in explained scatter that is worth another pass, relative.

    Returns
    -------
    BlocksResult
        The centres after the last pass. The labels are the nearest ones.
    """
    centres, explained = start, -np.inf
    means: FloatArray = np.full(start.coefficients.T.shape, np.nan)
    for n_iter in range(1, max_iter + 1):
        totals: FloatArray = np.zeros(start.coefficients.T.shape)
        mass: FloatArray = np.zeros(len(start.norms))
        for share in one_pass(centres):
            totals += share.totals
            mass += share.mass
        filled = mass > 0.0
        moved = centres_of(totals[filled], mass[filled], core)
        means[filled] = totals[filled] / mass[filled, None]
        # A cluster that has lost all its rows stays where it was.
        coefficients, norms = centres.coefficients.copy(), centres.norms.copy()
        coefficients[:, filled], norms[filled] = moved.coefficients, moved.norms
        centres = Centres(coefficients, norms)
        new_explained = float(mass[filled] @ moved.norms)
        if new_explained - explained <= tol * abs(new_explained):
            return BlocksResult(centres, means, n_iter, True)
        explained = new_explained
    return BlocksResult(centres, means, max_iter, False)
