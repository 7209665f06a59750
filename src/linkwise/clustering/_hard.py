"""Constrained k-means where no pair may be broken."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering._jit import (
    improve_without_violation,
    place_without_violation,
)
from linkwise.clustering._kmeans import squared_distances
from linkwise.clustering._soft import ConstrainedResult
from linkwise.constraints import Closure, feasibility
from linkwise.exceptions import InfeasibleConstraintsError
from linkwise.kernels import Space


def hard_kmeans(
    space: Space,
    start: IntArray,
    n_clusters: int,
    closure: Closure,
    *,
    rng: np.random.Generator,
    max_iter: int = 100,
    n_retries: int = 50,
) -> ConstrainedResult:
    """Cluster so that every pair holds, from start labels (COP-KMeans on a Space).

    Must-link components move as blocks. In each pass every block takes the nearest
    centre that no cannot-linked block has taken before; blocks with many cannot-links
    choose first. A dead end is met with random orders, then with a colouring of the
    cannot-link graph.

    Parameters
    ----------
    space : Space
        The geometry, of n_samples points.
    start : ndarray of shape (n_samples,)
        Labels in ``range(n_clusters)``, each used, or -1. They may break pairs: only
        their centres count.
    n_clusters : int
        Number of clusters.
    closure : Closure
        The pairs.
    rng : numpy.random.Generator
        Draws the orders of retries.
    max_iter : int, default=100
        Limit on the passes.
    n_retries : int, default=50
        Random orders tried at a dead end.

    Returns
    -------
    ConstrainedResult
        The best pass: the greedy passes do not always go down.

    Raises
    ------
    InfeasibleConstraintsError
        If no such clustering exists, or none was found and none could be ruled out.
    """
    placer = _Placer(closure, n_clusters, rng, n_retries)
    labels: IntArray = np.array(start, dtype=np.intp)
    sums = space.group_sums(labels, n_clusters)
    total = float(space.sample_weight @ space.diagonal)
    best_labels, best_objective = labels, np.inf
    seen: set[bytes] = set()
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        distances = space.sample_weight * squared_distances(space, sums)
        new_labels = placer.place(distances, labels)
        # Greedy passes may go round in circles; a labelling that returns is the end.
        converged = new_labels.tobytes() in seen
        seen.add(new_labels.tobytes())
        labels = new_labels
        sums.move(labels)
        objective = total - sums.explained
        if objective < best_objective:
            best_labels, best_objective = labels, objective
    sums.move(best_labels)
    return ConstrainedResult(best_labels, best_objective, n_iter, converged, sums)


class _Placer:
    """Places must-link components into clusters without breaking a cannot-link."""

    def __init__(
        self,
        closure: Closure,
        n_clusters: int,
        rng: np.random.Generator,
        n_retries: int,
    ) -> None:
        if closure.n_components < n_clusters:
            raise InfeasibleConstraintsError(
                f"n_clusters={n_clusters}, but the must-links leave only "
                f"{closure.n_components} groups of points; at most that many clusters "
                "are possible."
            )
        self._closure = closure
        self._n_clusters = n_clusters
        self._rng = rng
        self._n_retries = n_retries
        self._witness: IntArray | None = None
        # Stable, so equal degrees keep the component order.
        self._order = np.argsort(-np.diff(closure.cl_indptr), kind="stable")

    def place(self, distances: FloatArray, current: IntArray) -> IntArray:
        """Return labels (n,) without violations, cheap under ``distances`` (k, n).

        Of equally cheap ones the ``current`` label of a component is kept, if it has
        only one.
        """
        cost = np.empty((self._n_clusters, self._closure.n_components))
        for c in range(self._n_clusters):
            cost[c] = np.bincount(
                self._closure.component,
                weights=distances[c],
                minlength=self._closure.n_components,
            )
        firsts = self._closure.members[self._closure.indptr[:-1]]
        together = np.bincount(
            self._closure.component, current == current[firsts][self._closure.component]
        )
        current = np.where(together == self._closure.size, current[firsts], -1)
        labels = self._greedy(cost, current)
        if labels is None:
            labels = self._from_witness(cost)
        self._fill_empty(cost, labels)
        return labels[self._closure.component]

    def _greedy(self, cost: FloatArray, current: IntArray) -> IntArray | None:
        """Return cluster of each component, or None at a dead end in every order."""
        labels = np.empty(self._closure.n_components, dtype=np.intp)
        order = self._order
        n_tries = 1 if self._witness is not None else 1 + self._n_retries
        for _ in range(n_tries):
            stuck = place_without_violation(
                cost,
                order,
                self._closure.cl_indptr,
                self._closure.cl_indices,
                current,
                labels,
            )
            if stuck < 0:
                return labels
            order = self._rng.permutation(self._order)
        return None

    def _from_witness(self, cost: FloatArray) -> IntArray:
        """Return a colouring, its colours matched to clusters, then improved."""
        if self._witness is None:
            verdict = feasibility(self._closure, self._n_clusters)
            if verdict.colouring is None:
                raise InfeasibleConstraintsError(verdict.reason)
            firsts = self._closure.members[self._closure.indptr[:-1]]
            self._witness = verdict.colouring[firsts]
        groups = np.zeros((self._n_clusters, self._n_clusters))
        np.add.at(groups, self._witness, cost.T)
        colours, clusters = linear_sum_assignment(groups)
        labels = clusters[np.argsort(colours)][self._witness]
        # Single blocks move as long as a cheaper allowed cluster exists.
        improve_without_violation(
            cost,
            self._order,
            self._closure.cl_indptr,
            self._closure.cl_indices,
            labels,
        )
        return labels

    def _fill_empty(self, cost: FloatArray, labels: IntArray) -> None:
        """Give each empty cluster the costliest component of a larger one, in place.

        Moving a whole component into an empty cluster breaks nothing.
        """
        n_members = np.bincount(labels, minlength=self._n_clusters)
        own_cost = cost[labels, np.arange(len(labels))]
        for c in np.flatnonzero(n_members == 0):
            worst = int(np.argmax(np.where(n_members[labels] > 1, own_cost, -np.inf)))
            n_members[labels[worst]] -= 1
            n_members[c] = 1
            labels[worst] = c
            own_cost[worst] = 0.0
