"""COPKMeans: k-means that breaks no pair."""

from hashlib import blake2b
from numbers import Integral

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.baselines._centres import (
    CentreClusterer,
    CentreResult,
    distinct_points,
    fill_empty,
    inertia,
    means,
    rounding_of,
    squared_distances,
)
from linkwise.baselines._jit_sweeps import improve_placement, place_points_in_turn
from linkwise.clustering import hard_kmeans
from linkwise.constraints import Closure, feasibility
from linkwise.doors import Interval, StrOptions, fit_context
from linkwise.exceptions import InfeasibleConstraintsError
from linkwise.kernels import FeatureSpace


class COPKMeans(CentreClusterer):
    """k-means in which every pair must hold.

    The method of Wagstaff, Cardie, Rogers and Schroedl (2001): rows take the nearest
    centre that breaks no pair with rows placed before, then centres move to the means.
    The original gives up where a row has no place left. Here other orders are tried,
    then a colouring of the cannot-link graph is searched; ``fit`` raises an error only
    if no clustering can exist, or none was found within the budget of that search. The
    greedy passes do not always go down, so the best pass of the best start is returned.

    X is not standardised: put a ``StandardScaler`` in front where scales differ.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    mode : {"blocks", "pointwise"}, default="blocks"
        "blocks": must-linked rows choose together, by the sum of their squared
        distances, and those with the most cannot-links first. "pointwise": rows choose
        one by one in the order of the data, as in the original; the first of a
        must-link group decides for all.
    n_init : int, default=10
        Number of starts from random rows; the one with the lowest inertia is kept.
    n_retries : int, default=50
        Random orders tried at a dead end before the colouring.
    max_iter : int, default=100
        Limit on the passes of a start.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Draws starts and orders.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows. They satisfy every pair.
    objective_ : float
        Inertia: the sum of squared distances to the centres.
    cluster_centers_, n_iter_, converged_, constraint_score_, n_violated_, \
            n_features_in_, feature_names_in_
        As in :class:`SeededKMeans`; of the best start.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import COPKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0]])
    >>> model = COPKMeans(2, random_state=0).fit(X, constraints=([(2, 3)], [(0, 1)]))
    >>> model.n_violated_
    0
    """

    _parameter_constraints = {
        **CentreClusterer._parameter_constraints,
        "mode": [StrOptions({"blocks", "pointwise"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_retries": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        mode="blocks",
        n_init=10,
        n_retries=50,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.mode = mode
        self.n_init = n_init
        self.n_retries = n_retries
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X so that every pair holds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleConstraintsError
            If no such clustering exists, or none was found and none ruled out.
        """
        return self._fit(self._check_fit(X, y, constraints, None, sample_id, hard=True))

    def _cluster(self, given, X):
        starts = [
            distinct_points(len(X), self.n_clusters, given.rng)
            for _ in range(self.n_init)
        ]
        try:
            if self.mode == "blocks":
                runs = [self._by_blocks(X, start, given) for start in starts]
            else:
                placer = _PointPlacer(
                    given.closure, self.n_clusters, given.rng, self.n_retries
                )
                runs = [self._by_points(X, start, placer) for start in starts]
        except InfeasibleConstraintsError as error:
            # What is surely infeasible was found out before.
            raise InfeasibleConstraintsError(
                "The pairs were not proven feasible within the budget: in each of "
                f"{self.n_retries + 1} orders some row found no place, and the search "
                f"for a partition into n_clusters={self.n_clusters} was given up. Give "
                "fewer cannot-links or allow more clusters."
            ) from error
        return min(runs, key=lambda result: result.objective)

    def _by_blocks(self, X, start, given):
        labels = np.full(len(X), -1)  # centres of the start are single rows
        labels[start] = np.arange(self.n_clusters)
        found = hard_kmeans(
            FeatureSpace(X),
            labels,
            self.n_clusters,
            given.closure,
            rng=given.rng,
            max_iter=self.max_iter,
            n_retries=self.n_retries,
        )
        centres = means(X, found.labels, self.n_clusters)
        objective = inertia(X, found.labels, centres)
        return CentreResult(
            found.labels, centres, objective, found.n_iter, found.converged
        )

    def _by_points(self, X, start, placer):
        labels, centres, order = np.full(len(X), -1), X[start], np.arange(len(X))
        best, lowest = (labels, centres), np.inf
        seen: set[bytes] = set()  # greedy passes may go round in circles
        n_iter, converged = 0, False
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            distances = squared_distances(X, centres)
            labels, order = placer.place(distances, labels, order)
            mark = blake2b(labels.tobytes()).digest()
            converged = mark in seen
            seen.add(mark)
            centres = means(X, labels, self.n_clusters)
            objective = inertia(X, labels, centres)
            if objective < lowest:
                best, lowest = (labels, centres), objective
        return CentreResult(*best, lowest, n_iter, converged)


class _PointPlacer:
    """Places points one by one without breaking a pair.

    A dead end concerns only a connected part of the cannot-link graph. Its points are
    placed again in other orders: those with the most cannot-links first, then at
    random; at last by a colouring.
    """

    def __init__(
        self,
        closure: Closure,
        n_clusters: int,
        rng: np.random.Generator,
        n_retries: int,
    ) -> None:
        self._closure, self._n_clusters = closure, n_clusters
        self._rng, self._n_retries = rng, n_retries
        graph = csr_array(
            (np.ones(len(closure.cl_indices)), closure.cl_indices, closure.cl_indptr),
            shape=(closure.n_components, closure.n_components),
        )
        self._n_parts, self._part = connected_components(graph, directed=False)
        degree = np.diff(closure.cl_indptr)[closure.component]
        self._by_degree = np.argsort(-degree, kind="stable")
        self._witness: IntArray | None = None
        self._needs_colouring = np.zeros(self._n_parts, dtype=bool)

    def place(
        self, distances: FloatArray, current: IntArray, order: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return labels (n,) for distances (n, k), and an order that leads there."""
        closure = self._closure
        placed = np.full(closure.n_components, -1, dtype=np.intp)
        is_stuck, retried = np.zeros((2, self._n_parts), dtype=bool)
        rounding = rounding_of(distances)
        turn = order
        for attempt in range(1 + self._n_retries):
            if attempt > 0:
                turn = self._by_degree[self._in(retried, self._by_degree)]
                turn = self._rng.permutation(turn) if attempt > 1 else turn
                placed[retried[self._part]] = -1
                is_stuck = is_stuck & ~retried
            place_points_in_turn(
                distances,
                turn,
                closure.component,
                self._part,
                closure.cl_indptr,
                closure.cl_indices,
                current,
                rounding,
                placed,
                is_stuck,
            )
            # Parts do not meet, so the orders that serve them make one order.
            solved = retried & ~is_stuck
            order = np.concatenate(
                [order[~self._in(solved, order)], turn[self._in(solved, turn)]]
            )
            retried = is_stuck & ~self._needs_colouring
            if not retried.any():
                break
        self._needs_colouring |= is_stuck
        cost = _component_sums(closure, distances)
        if is_stuck.any():
            self._colour(np.flatnonzero(is_stuck[self._part]), cost, rounding, placed)
        # A component alone in a cluster breaks nothing.
        own = cost[np.arange(len(placed)), placed]
        fill_empty(placed, own, self._n_clusters)
        return placed[closure.component], order

    def _in(self, parts: BoolArray, points: IntArray) -> BoolArray:
        """Return which of the points lie in the marked parts."""
        return parts[self._part[self._closure.component[points]]]

    def _colour(
        self, which: IntArray, cost: FloatArray, rounding: float, placed: IntArray
    ) -> None:
        """Place these components, whole parts of them, by a colouring."""
        if self._witness is None:
            found = feasibility(self._closure, self._n_clusters)
            if found.colouring is None:
                raise InfeasibleConstraintsError(found.reason)
            firsts = self._closure.members[self._closure.indptr[:-1]]
            self._witness = found.colouring[firsts]
        which = which[np.argsort(self._part[which], kind="stable")]
        for inside in np.split(which, np.flatnonzero(np.diff(self._part[which])) + 1):
            by_colour = np.zeros((self._n_clusters, self._n_clusters))
            np.add.at(by_colour, self._witness[inside], cost[inside])
            _, cluster = linear_sum_assignment(by_colour)
            placed[inside] = cluster[self._witness[inside]]
        improve_placement(
            cost,
            which,
            self._closure.cl_indptr,
            self._closure.cl_indices,
            rounding,
            placed,
        )


def _component_sums(closure: Closure, distances: FloatArray) -> FloatArray:
    """Return the distances of the points of each component, added up, (g, k)."""
    return np.add.reduceat(distances[closure.members], closure.indptr[:-1], axis=0)
