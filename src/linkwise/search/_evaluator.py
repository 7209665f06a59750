"""What a candidate is worth: cluster under it, then count satisfied constraints."""

import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import KMeansResult, farthest_first, kmeans
from linkwise.constraints import Closure
from linkwise.kernels import Bank, Space, random_share

Reward = Literal["share", "balanced"]


def reward_of(closure: Closure, reward: Reward) -> Callable[[IntArray], float]:
    """Return the function that scores labels by the pairs of a closure."""
    return closure.balanced_score if reward == "balanced" else closure.score


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
    judge : Closure, optional
        Pairs that labels are scored by, if not those of ``closure``.
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
        judge: Closure | None = None,
    ) -> None:
        self._bank = bank
        self._closure = closure
        self._n_clusters = n_clusters
        self._score = reward_of(closure if judge is None else judge, reward)
        self._max_iter = max_iter
        self._unrest = unrest
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

    def __call__(self, weights: FloatArray) -> tuple[float, float]:
        """Return the score of some weights and their relative objective.

        The objective is the scatter within clusters over that of a random clustering
        in the same geometry, so it can be compared between candidates.
        """
        try:
            memory = self._workspace.memory
        except AttributeError:
            memory = self._workspace.memory = self._bank.empty()
        space = self._bank.combine(weights, out=memory)
        result = self.cluster(space, self._unrest)
        return (
            self._score(result.labels),
            self.relative_objective(result.objective, weights),
        )

    @property
    def candidate_seconds(self) -> float:
        """Rough time of one call, by a formula."""
        return self._bank.candidate_seconds(self._n_clusters)

    def start(self, space: Space) -> IntArray:
        """Return the start labels in a geometry."""
        return farthest_first(space, self._closure, self._n_clusters)

    def cluster(self, space: Space, unrest: float = 0.0) -> KMeansResult:
        """Return the unconstrained clustering in a geometry."""
        return kmeans(
            space,
            self._closure,
            self._n_clusters,
            max_iter=self._max_iter,
            unrest=unrest,
        )

    def relative_objective(self, objective: float, weights: FloatArray) -> float:
        """Return an objective as a share of that of a random clustering."""
        scatter = self._bank.scatter(weights)
        return objective / (self._share * scatter) if scatter > 0.0 else np.nan
