"""SKMS: mean shift under a kernel that the pairs have bent."""

from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import ConvergenceWarning

from linkwise.baselines._closure_pairs import drawn_pairs
from linkwise.baselines._kernel_mean_shift import (
    ascend,
    bandwidths,
    bend,
    choose_width,
    distinct_modes,
    in_order,
    low_rank,
    neighbor_rank,
)
from linkwise.baselines._width_search import median_square
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    check_matrices,
    fit_context,
    warn_caller,
)
from linkwise.kernels._views import BASES, Points

_N_MATRICES = 5  # distances, kernel, its vectors, and what their routine needs


class SKMS(ConstrainedClusterer):
    """Semi-supervised kernel mean shift (Anand, Mittal, Tuzel and Meer 2014).

    A Gaussian kernel is bent until must-linked rows are near in it and cannot-linked
    rows far apart: the nearest one in LogDet divergence, which is :class:`ITML` on
    features of the kernel. Then every row climbs to a mode of the density of rows, each
    with a bandwidth of its own, and rows that share a mode are a cluster. So the number
    of clusters is found, unless it is given. Long clusters fall into pieces.

    The pairs are those of the closure; a weight multiplies the price of slack. As in
    the authors' code the kernel is bent by at most 100,000 projections on single pairs,
    so many pairs need not all come to rest. X is not standardised: put a
    ``StandardScaler`` in front where scales differ.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None: as many as there are modes. A number: modes are merged by average linkage
        until so many are left, each counted by its rows; fewer modes stay, with a
        warning.
    width : float or "auto", default="auto"
        Width s of the kernel exp(-|x - y|^2 / 2 s^2). "auto": the one of ten around
        the median distance under which the pairs are nearest to their targets, both
        kinds counting as much (the authors sum over all given pairs alike); half the
        median distance if pairs of a kind are missing.
    gamma : float, default=100.0
        Price of slack; ``inf`` allows none.
    n_neighbors : int or "auto", default="auto"
        The bandwidth of a row is its distance to so many neighbours, itself counted.
        "auto": the median position at which must-linked rows stand among neighbours.
    max_rank : int, default=25
        Most features of the bent kernel in which rows climb.
    max_pairs : int, default=20_000
        Most pairs of the closure that are used; of more, as many are drawn.
    tol : float, default=1e-6
        A row rests when it moves by less, in median bandwidths.
    max_iter : int, default=1000
        Limit on the steps of a row.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for five matrices of n_samples * n_samples entries of 8 bytes.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs if there are too many.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows, numbered in the order of their first rows.
    n_clusters_ : int
        Number of clusters.
    width_ : float
        The width of the kernel.
    n_neighbors_ : int
        Neighbours that set the bandwidths.
    modes_ : ndarray of shape (n_modes, n_components)
        The modes, in the features of the bent kernel.
    objective_ : float
        LogDet divergence of the bent kernel, plus the price of slack.
    n_iter_ : int
        Steps of the row that took the most.
    converged_ : bool
        Whether all rows came to rest before ``max_iter``.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from linkwise import Constraints
    >>> from linkwise.baselines import SKMS
    >>> X, y = make_blobs(80, centers=[(0, 0), (9, 9)], random_state=0)
    >>> pairs = Constraints.sample(y, 20, random_state=0)
    >>> SKMS().fit(X, constraints=pairs).n_clusters_
    2
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "width": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="right")],
        "n_neighbors": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        width="auto",
        gamma=100.0,
        n_neighbors="auto",
        max_rank=25,
        max_pairs=20_000,
        tol=1e-6,
        max_iter=1000,
        on_conflict="raise",
        max_memory="4GiB",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.width = width
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.max_rank = max_rank
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.max_memory = max_memory
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, None, sample_id)
        check_matrices(
            given.closure.n_samples, _N_MATRICES, self.max_memory, "kernel matrix"
        )
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given):
        closure, points = given.closure, Points(given.data)
        pairs = drawn_pairs(given, self.max_pairs)
        squared = BASES["squared_distances"](points, points)
        width = self._width(squared, pairs)
        squared /= -2.0 * width**2
        np.fill_diagonal(squared, 0.0)
        values, vectors = low_rank(np.exp(squared, out=squared))
        bent = bend(vectors * np.sqrt(values), pairs, self.gamma, self.max_rank)
        cdist(bent.features, bent.features, "sqeuclidean", out=squared)
        n_neighbors = self.n_neighbors
        if n_neighbors == "auto":
            n_neighbors = neighbor_rank(squared, pairs.must_link, bent.must_target)
        n_neighbors = min(n_neighbors, closure.n_samples)
        bandwidth = bandwidths(squared, n_neighbors)
        places, n_iter, converged = ascend(
            bent.features,
            bent.features,
            bandwidth,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        modes, mode_of = distinct_modes(places, bandwidth)
        cluster_of = self._merged(modes, mode_of)
        labels = cluster_of[mode_of]
        return {
            "labels_": labels,
            "n_iter_": n_iter,
            "converged_": converged,
            "constraint_score_": closure.score(labels),
            "n_violated_": closure.n_violated(labels),
            "objective_": bent.objective,
            "n_clusters_": int(cluster_of.max()) + 1,
            "width_": width,
            "n_neighbors_": n_neighbors,
            "modes_": modes,
            "_points": points,
            "_projection": (vectors / np.sqrt(values)) @ bent.rotation,
            "_features": bent.features,
            "_bandwidth": bandwidth,
            "_cluster_of": cluster_of,
        }

    def _width(self, squared, pairs):
        if self.width != "auto":
            return float(self.width)
        ends = np.concatenate([pairs.must_link, pairs.cannot_link])
        is_must = np.arange(len(ends)) < len(pairs.must_link)
        lengths = np.sqrt(squared[ends[:, 0], ends[:, 1]])
        median = float(np.sqrt(median_square(squared))) or 1.0
        return choose_width(lengths, is_must, median)

    def _merged(self, modes, mode_of):
        """Return the cluster of each mode."""
        n_modes, n_clusters = len(modes), self.n_clusters
        if n_clusters is None or n_modes == n_clusters:
            return np.arange(n_modes)
        if n_modes < n_clusters:
            warn_caller(
                f"There are {n_modes} modes, fewer than n_clusters={n_clusters}: so "
                "many clusters stay empty. A smaller width has more modes.",
                ConvergenceWarning,
            )
            return np.arange(n_modes)
        # Over all rows, so that a mode counts as often as it has rows.
        tree = AgglomerativeClustering(n_clusters, linkage="average")
        merged = tree.fit_predict(modes[mode_of])
        first = np.unique(mode_of, return_index=True)[1]
        return in_order(merged[first])[1]

    def predict(self, X):
        """Return the cluster of the mode that each row climbs to.

        Training rows climb as they did in ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels in ``range(n_clusters_)``.
        """
        return self._predict_blocks(X, self._climb)

    def _climb(self, rows):
        squared = BASES["squared_distances"](Points(rows), self._points)
        kernel = np.exp(-squared / (2.0 * self.width_**2))
        places, _, _ = ascend(
            kernel @ self._projection,
            self._features,
            self._bandwidth,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        nearest = cdist(places, self.modes_, "sqeuclidean").argmin(axis=1)
        return self._cluster_of[nearest]
