"""What a search is made of: trials, searchers, and the settings that start them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.search._domains import Domain


class Trial(NamedTuple):
    """One candidate and what came of it."""

    weights: FloatArray  # (n_weights,)
    score: float  # the reward, higher is better; NaN if the objective is not finite
    objective: float
    seconds: float
    labels: IntArray | None = None  # (n_samples,), where they are kept
    is_blind: bool = False  # k-means started without the pairs


class Searcher(Protocol):
    """Asks for candidates and is told what came of them.

    How many it asks for at once is its own business and never depends on the engine,
    so that the engine cannot change the search.
    """

    def ask(self) -> FloatArray:
        """Return the next candidates, shape (batch, n_weights); none when done."""
        ...

    def tell(self, trials: Sequence[Trial]) -> None:
        """Take in the trials of the last batch, in the order asked."""
        ...


@runtime_checkable
class Search(Protocol):
    """Settings of a search, from which searchers are started."""

    def start(
        self, domain: Domain, n_candidates: int, rng: np.random.Generator
    ) -> Searcher:
        """Return a new searcher that asks for at most ``n_candidates``."""
        ...


def n_opening(domain: Domain, n_candidates: int) -> int:
    """Return how many of the domain's first candidates a search tries.

    They take at most half of the budget, unless there is nothing else to try.
    """
    n_first = len(domain.first())
    if domain.ends_with_first:
        return min(n_first, n_candidates)
    if n_first > n_candidates / 2:
        return max(n_candidates // 2, 1)
    return n_first


def opening(
    domain: Domain, n_candidates: int, rng: np.random.Generator
) -> FloatArray:  # (m, n_weights)
    """Return the candidates that every search tries first."""
    first = domain.first()
    n_kept = n_opening(domain, n_candidates)
    if n_kept == len(first):
        return first
    # In the domain's order, so that ties still go to the candidate listed first.
    drawn = rng.choice(len(first), size=n_kept, replace=False)
    kept = getattr(domain, "kept", None)
    if kept is not None and kept not in drawn:
        drawn[-1] = kept
    return first[np.sort(drawn)]
