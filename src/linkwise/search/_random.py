"""Random search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkwise._typing import FloatArray
from linkwise.search._base import Trial, opening
from linkwise.search._checks import check_count
from linkwise.search._domains import Domain


@dataclass(frozen=True)
class RandomSearch:
    """The domain's first candidates, then independent draws.

    With one seed, the candidates of a small budget are the first ones of a larger
    budget (if the domain's first candidates fit in half of the small one), so more
    candidates never give a lower best score.

    Parameters
    ----------
    batch_size : int, default=50
        Number of draws between two tests of the reasons to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.search import RandomSearch, SparseVectors
    >>> searcher = RandomSearch().start(SparseVectors(3), 60, np.random.default_rng(0))
    >>> len(searcher.ask()), len(searcher.ask()), len(searcher.ask())
    (3, 50, 7)
    """

    batch_size: int = 50

    def __post_init__(self) -> None:
        """Refuse empty batches."""
        check_count("batch_size", self.batch_size)

    def start(
        self, domain: Domain, n_candidates: int, rng: np.random.Generator
    ) -> "RandomSearcher":
        """Return a new searcher that asks for at most ``n_candidates``."""
        check_count("n_candidates", n_candidates)
        return RandomSearcher(self, domain, n_candidates, rng)


class RandomSearcher:
    """Asks without listening."""

    def __init__(
        self,
        settings: RandomSearch,
        domain: Domain,
        n_candidates: int,
        rng: np.random.Generator,
    ) -> None:
        self._settings = settings
        self._domain = domain
        self._n_candidates = n_candidates
        self._rng = rng
        self._batches = self._plan()

    def ask(self) -> FloatArray:
        """Return the next candidates, shape (batch, n_weights); none when done."""
        return next(self._batches, np.empty((0, self._domain.n_weights)))

    def tell(self, trials: Sequence[Trial]) -> None:
        """Do nothing: draws are independent."""

    def _plan(self) -> Iterator[FloatArray]:
        """Yield batch after batch."""
        first = opening(self._domain, self._n_candidates, self._rng)
        yield first
        left = self._n_candidates - len(first)
        while left > 0 and not self._domain.ends_with_first:
            # Always a whole batch, cut afterwards: the draws must not depend on the
            # budget, or a small budget's candidates would not open a larger one's.
            drawn = self._domain.sample(self._rng, self._settings.batch_size)
            yield drawn[:left]
            left -= len(drawn)
