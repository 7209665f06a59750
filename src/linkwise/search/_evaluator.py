"""What a candidate is worth: cluster under it, then count satisfied constraints."""

import threading
import zlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import (
    KMeansResult,
    farthest_first,
    kmeans,
    labels_left_out,
)
from linkwise.constraints import Closure, Constraints
from linkwise.kernels import Bank, Space, random_share

Reward = Literal["share", "balanced"]
# With so many clusters k-means hardly leaves its start: one that knows the pairs has to
# lead to more compact clusters than one that does not.
_MANY_CLUSTERS = 8


def reward_of(closure: Closure, reward: Reward) -> Callable[[IntArray], float]:
    """Return the function that scores labels by the pairs of a closure."""
    return closure.balanced_score if reward == "balanced" else closure.score


def alone(weights: FloatArray) -> int | None:
    """Return the place of the only weight that is not 0, if there is just one.

    Examples
    --------
    >>> import numpy as np
    >>> alone(np.array([0.0, 0.3, 0.0])), alone(np.array([0.0, 0.3, 0.1]))
    (1, None)
    """
    places = np.flatnonzero(weights)
    return int(places[0]) if len(places) == 1 else None


class GivenPairs:
    """Scores labels by the pairs as they were given, not by what follows from them.

    One wrong pair then counts as one; what it entails together with others would count
    many times. The pairs may contradict each other.

    Parameters
    ----------
    pairs : Constraints
        Positions.
    reward : {"share", "balanced"}, default="share"
        The share of all pairs that hold, or the mean of the shares of both kinds.
    """

    def __init__(self, pairs: Constraints, reward: Reward = "share") -> None:
        self._pairs = np.concatenate([pairs.must_link, pairs.cannot_link])
        self._is_must = np.arange(len(self._pairs)) < pairs.n_must_link
        weight = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
        weight = weight / weight.max(initial=0.0)
        # Pairs of equal weight that would say as much. Those that share rows say less
        # than as many others: no more than one for each row counts.
        n_alike = float(weight.sum() ** 2 / max((weight**2).sum(), 1e-300))
        self.n_pairs = min(n_alike, float(len(pairs.points)))
        share = weight / weight.sum()
        if reward == "balanced" and 0 < pairs.n_must_link < len(weight):
            for kind in (self._is_must, ~self._is_must):
                share[kind] /= 2.0 * share[kind].sum()
        self._share = share

    def __call__(self, labels: IntArray) -> float:
        """Return the share of the pairs that some labels satisfy."""
        first, second = labels[self._pairs].T
        return float(self._share[(first == second) == self._is_must].sum())


class Starts(NamedTuple):
    """From where k-means begins when candidates are judged by a committee.

    Of each three candidates one starts as in the paper, farthest first from must-link
    groups, one from seeds that are drawn, groups first, and one from seeds that are
    drawn without regard to pairs. With many clusters each starts twice, with and
    without regard to pairs, and the more compact clusters count; with groups for less
    than half of them, each starts without regard to pairs.
    """

    rows: IntArray  # (m,), those with a pair
    without_pairs: Closure
    # (n_draws, n_clusters, n_trials), uniform in [0, 1); plain k-means takes all
    draws: FloatArray
    is_blind: bool = False  # none of them knows the pairs
    plain: int | None = None  # the kernel under which k-means is plain k-means


class Evaluator:
    """Clusters without constraints under given weights and returns the reward.

    Constraints enter through the start, which keeps must-link components whole, and
    through the score; k-means itself does not know them.

    Parameters
    ----------
    bank : Bank
        Turns weights into a geometry of n_samples points.
    closure : Closure
        Pairs that shape the start.
    n_clusters : int
        Number of clusters.
    reward : {"share", "balanced"}, default="share"
        The score: the share of all pairs that hold, or the mean of the shares of
        must-links and of cannot-links.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    unrest : float, default=0.0
        Share of the points that may still want to move when a candidate is judged.
    judge : callable, optional
        Scores labels, if not the pairs of ``closure`` do.
    starts : Starts, optional
        Where to start from, if not always as in the paper. Labels are then returned as
        well, and whether k-means started without the pairs.
    """

    def __init__(
        self,
        bank: Bank,
        closure: Closure,
        n_clusters: int,
        *,
        reward: Reward = "share",
        max_iter: int = 300,
        unrest: float = 0.0,
        judge: Callable[[IntArray], float] | None = None,
        starts: Starts | None = None,
    ) -> None:
        self._bank = bank
        self._closure = closure
        self.n_clusters = n_clusters
        self.judge = reward_of(closure, reward) if judge is None else judge
        self._max_iter = max_iter
        self._unrest = unrest
        self._starts = starts
        self._share = random_share(float(bank.sample_weight.sum()), n_clusters)
        # One matrix per thread is used again and again: fresh memory for each
        # candidate would cost more time than filling it.
        self._workspace = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: all but the memory of threads here."""
        return {k: v for k, v in self.__dict__.items() if k != "_workspace"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was pickled."""
        self.__dict__.update(state, _workspace=threading.local())

    def __call__(self, weights: FloatArray) -> tuple[Any, ...]:
        """Return the score of some weights and their relative objective, and labels.

        The objective is the scatter within clusters over that of a random clustering
        in the same geometry, so it can be compared between candidates. Labels, and
        whether k-means started without the pairs, come only where there are ``starts``.
        """
        try:
            memory = self._workspace.memory
        except AttributeError:
            memory = self._workspace.memory = self._bank.empty()
        space = self._bank.combine(weights, out=memory)
        result, is_blind = self._cluster(space, weights, self._unrest)
        score = self._honest_score(space, result)
        objective = self.relative_objective(result.objective, weights)
        if self._starts is None:
            return score, objective
        small = np.min_scalar_type(self.n_clusters - 1)
        return score, objective, result.labels.astype(small), is_blind

    def _honest_score(self, space: Space, result: KMeansResult) -> float:
        """Return the score of a clustering.

        Beside candidates that start without the pairs, those that know them are judged
        by where rows would go by themselves: under a kernel that tells nothing apart
        they would stay where the start has put them.
        """
        if self._starts is None or self.n_clusters == 1:
            return self.judge(result.labels)
        labels = result.labels.copy()
        rows = self._starts.rows
        labels[rows] = labels_left_out(space, result, rows)
        return self.judge(labels)

    @property
    def candidate_seconds(self) -> float:
        """Rough time of one call, by a formula."""
        return self._bank.candidate_seconds(self.n_clusters)

    def start(self, space: Space) -> IntArray:
        """Return the start labels of the paper in a geometry."""
        return farthest_first(space, self._closure, self.n_clusters)

    def cluster(
        self, space: Space, weights: FloatArray, unrest: float = 0.0
    ) -> KMeansResult:
        """Return the unconstrained clustering in the geometry of some weights."""
        return self._cluster(space, weights, unrest)[0]

    def _cluster(
        self, space: Space, weights: FloatArray, unrest: float
    ) -> tuple[KMeansResult, bool]:
        """Return the most compact clustering, and whether it began without pairs."""
        results = [
            (
                kmeans(
                    space,
                    closure,
                    self.n_clusters,
                    max_iter=self._max_iter,
                    unrest=unrest,
                    draws=draws,
                ),
                closure is not self._closure,
            )
            for closure, draws in self._starts_of(weights)
        ]
        return min(results, key=lambda found: found[0].objective)

    def _starts_of(
        self, weights: FloatArray
    ) -> list[tuple[Closure, FloatArray | None]]:
        """Return where k-means starts; the most compact clusters count."""
        starts = self._starts
        if starts is None:
            return [(self._closure, None)]
        if starts.plain is not None and alone(weights) == starts.plain:
            return [(starts.without_pairs, draws) for draws in starts.draws]
        draws = starts.draws[0][:, :1]
        blind = (starts.without_pairs, draws)
        is_many = self.n_clusters >= _MANY_CLUSTERS
        has_few_groups = 2 * self._closure.n_linked < self.n_clusters
        if starts.is_blind or (is_many and has_few_groups):
            return [blind]
        # Told from the weights: so it is the same in whatever order, thread or process
        # a candidate is tried.
        mark = zlib.crc32(weights.tobytes())
        if is_many:
            return [blind, (self._closure, draws if mark % 2 else None)]
        if mark % 3 == 0:
            return [blind]
        return [(self._closure, draws if mark % 3 == 1 else None)]

    def relative_objective(self, objective: float, weights: FloatArray) -> float:
        """Return an objective as a share of that of a random clustering."""
        scatter = self._bank.scatter(weights)
        return objective / (self._share * scatter) if scatter > 0.0 else np.nan
