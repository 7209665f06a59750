"""The course of a guided search: first candidates, random ones, a model's choices."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwise._typing import FloatArray
from linkwise.search._base import Trial, n_opening, opening
from linkwise.search._checks import check_count, check_number, check_optional_count
from linkwise.search._domains import Domain
from linkwise.search._surrogate import Surrogate


class GuidedSettings(Protocol):
    """What all guided searches let their users set."""

    @property
    def kappa(self) -> float:
        """Weight of the spread."""
        ...

    @property
    def n_initial(self) -> int | None:
        """Number of random candidates before the first fit."""
        ...

    @property
    def n_draws(self) -> int:
        """Number of draws among which each fit chooses."""
        ...

    @property
    def refit_every(self) -> int | None:
        """Number of candidates taken from each fit."""
        ...

    @property
    def normalize(self) -> bool:
        """Whether the model sees weights divided by their sum."""
        ...


@dataclass(frozen=True)
class Budget:
    """How many candidates each phase of a guided search may ask for."""

    n_candidates: int
    n_first: int
    n_initial: int
    batch_size: int


class GuidedSearcher:
    """Asks for first candidates, then random ones, then those a model prefers."""

    def __init__(
        self,
        settings: GuidedSettings,
        surrogate: Surrogate,
        domain: Domain,
        budget: Budget,
        rng: np.random.Generator,
    ) -> None:
        self._settings = settings
        self._surrogate = surrogate
        self._domain = domain
        self._budget = budget
        self._rng = rng
        self._told: list[Trial] = []
        self._asked: set[bytes] = set()
        self._batches = self._plan()

    def ask(self) -> FloatArray:
        """Return the next candidates, shape (batch, n_weights); none when done."""
        batch = next(self._batches, np.empty((0, self._domain.n_weights)))
        self._asked.update(weights.tobytes() for weights in batch)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Take in the trials of the last batch; those without a score are left out."""
        self._told += [trial for trial in trials if math.isfinite(trial.score)]

    def _plan(self) -> Iterator[FloatArray]:
        """Yield batch after batch."""
        budget = self._budget
        yield opening(self._domain, budget.n_candidates, self._rng)
        if self._domain.ends_with_first:
            return
        left = budget.n_candidates - budget.n_first - budget.n_initial
        if budget.n_initial:
            yield self._domain.sample(self._rng, budget.n_initial)
        while left > 0:
            size = min(budget.batch_size, left)
            # Nothing is learned after the last batch, so it need not explore.
            kappa = 0.0 if size == left else self._settings.kappa
            batch = self._most_promising(size, kappa)
            yield batch
            left -= size

    def _most_promising(self, n: int, kappa: float) -> FloatArray:
        """Return the best of fresh draws by mean + kappa * std, (n, n_weights)."""
        drawn = self._domain.sample(self._rng, max(self._settings.n_draws, n))
        if self._told:
            tried = np.stack([trial.weights for trial in self._told])
            scores = np.array([trial.score for trial in self._told])
            mean, std = self._surrogate(
                self._as_seen(tried), scores, self._as_seen(drawn), self._rng
            )
            # Stable: equal candidates stay in the order drawn, which is random.
            drawn = drawn[np.argsort(-(mean + kappa * std), kind="stable")]
        return self._untried(drawn, n)

    def _as_seen(self, weights: FloatArray) -> FloatArray:
        """Return the weights as the model gets them, same shape."""
        if self._settings.normalize:
            return weights / weights.sum(axis=1, keepdims=True)
        return weights

    def _untried(self, candidates: FloatArray, n: int) -> FloatArray:
        """Return the first n distinct candidates not asked before."""
        chosen: dict[bytes, FloatArray] = {}
        for weights in candidates:
            key = weights.tobytes()
            if key not in self._asked:
                chosen.setdefault(key, weights)
            if len(chosen) == n:
                break
        return np.array(list(chosen.values())).reshape(-1, self._domain.n_weights)


def split_budget(settings: GuidedSettings, domain: Domain, n_candidates: int) -> Budget:
    """Return the sizes of the phases."""
    check_count("n_candidates", n_candidates)
    n_first = n_opening(domain, n_candidates)
    remaining = n_candidates - n_first
    n_initial = settings.n_initial
    if n_initial is None:
        n_initial = min(100, math.ceil(remaining / 2))
    return Budget(
        n_candidates,
        n_first,
        min(n_initial, remaining),
        refit_interval(settings, n_candidates),
    )


def refit_interval(settings: GuidedSettings, n_candidates: int) -> int:
    """Return how many candidates are taken from each fit."""
    if settings.refit_every is not None:
        return settings.refit_every
    return 1 if n_candidates <= 200 else 10


def check_guided(settings: GuidedSettings) -> None:
    """Check the settings that all guided searches share."""
    check_number("kappa", settings.kappa, low=0)
    check_optional_count("n_initial", settings.n_initial, smallest=0)
    check_count("n_draws", settings.n_draws)
    check_optional_count("refit_every", settings.refit_every)
