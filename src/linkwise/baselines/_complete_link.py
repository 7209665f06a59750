"""ConstrainedCompleteLink: pairs bend the distances, then complete linkage."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Closure
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    attributes_of,
    check_matrices,
    fit_context,
)
from linkwise.kernels._views import BASES, Points

_N_MATRICES = 3  # the distances, and what scikit-learn makes of them
_BLOCK = 64  # rows bent at a time: with all columns they stay near the processor


class ConstrainedCompleteLink(ConstrainedClusterer):
    """Complete linkage after pairs have bent the distances (Klein et al. 2002).

    Must-linked rows are at distance 0, and so every way through them is a short cut:
    distances become lengths of shortest paths. Rows of a cannot-link of the closure
    are then farther apart than any others. Complete linkage merges the two clusters
    whose farthest rows are nearest, until ``n_clusters`` are left.

    Must-links always hold where there are as many groups of rows as clusters. The tree
    is greedy: it can come to an end where cannot-links are together. Weights of pairs
    play no part. There is no ``predict``: a tree has no place for new rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for three matrices of distances between all rows, of 8 bytes an entry.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    objective_ : float
        The largest of the bent distances inside a cluster.
    n_iter_ : int
        Number of merges.
    converged_ : bool
        True: the tree always ends.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import ConstrainedCompleteLink
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [12.0]])
    >>> ConstrainedCompleteLink(2).fit_predict(X, constraints=([(1, 2)], []))
    array([0, 0, 0, 0, 1])
    """

    _parameter_constraints = {
        "n_clusters": ConstrainedClusterer._parameter_constraints["n_clusters"],
        "on_conflict": ConstrainedClusterer._parameter_constraints["on_conflict"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(self, n_clusters=8, *, on_conflict="raise", max_memory="4GiB"):
        self.n_clusters = n_clusters
        self.on_conflict = on_conflict
        self.max_memory = max_memory

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
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given):
        closure, n_clusters = given.closure, self.n_clusters
        n_samples = closure.n_samples
        check_matrices(
            n_samples,
            _N_MATRICES,
            self.max_memory,
            "matrix of distances",
            predicts=False,
        )
        distances = bent_distances(given.data, closure)
        node = closure.component
        # Groups are single nodes, unless some have to be broken.
        if n_clusters > closure.n_components:
            distances = distances[np.ix_(node, node)]
            node = np.arange(n_samples)
        result = _linked(distances, n_clusters)
        return {
            **attributes_of(result._replace(labels=result.labels[node]), closure),
            "objective_": result.objective,
        }


class _Result(NamedTuple):
    """Where the tree was cut."""

    labels: IntArray
    objective: float
    n_iter: int
    converged: bool = True


def _linked(distances: FloatArray, n_clusters: int) -> _Result:
    """Return the clusters of complete linkage."""
    n_nodes = len(distances)
    labels: IntArray = np.zeros(n_nodes, dtype=np.intp)
    if n_nodes > 1:
        tree = AgglomerativeClustering(
            n_clusters, metric="precomputed", linkage="complete"
        )
        labels = tree.fit_predict(distances).astype(np.intp)
    widest = 0.0
    for cluster in range(n_clusters):
        rows = np.flatnonzero(labels == cluster)
        widest = max(widest, float(distances[np.ix_(rows, rows)].max()))
    return _Result(labels, widest, n_nodes - n_clusters)


def bent_distances(data, closure: Closure) -> FloatArray:
    """Return the distances between components of a closure, bent by its pairs.

    Parameters
    ----------
    data : ndarray or CSR of shape (n_samples, n_features)
        The rows.
    closure : Closure
        The pairs.

    Returns
    -------
    ndarray of shape (n_components, n_components)
        Shortest paths through components of several rows, which are free to cross;
        between components with a cannot-link the largest of all and 1 more.
    """
    distances = _between_components(data, closure)
    if closure.n_linked:
        _shorten(distances, closure.n_linked)
    first, second = closure.cannot_link.T
    distances[first, second] = distances[second, first] = distances.max() + 1.0
    return distances


def _between_components(data, closure: Closure) -> FloatArray:
    """Return the distances of the nearest rows of each two components."""
    ordered, starts = Points(data[closure.members]), closure.indptr[:-1]
    by_row = np.empty((closure.n_samples, closure.n_components))
    for rows in gen_batches(closure.n_samples, _BLOCK):
        block = BASES["squared_distances"](ordered[rows], ordered)
        by_row[rows] = np.minimum.reduceat(block, starts, axis=1)
    distances = np.sqrt(np.minimum.reduceat(by_row, starts, axis=0))
    np.fill_diagonal(distances, 0.0)
    # Rounding may differ between the two halves.
    return np.minimum(distances, distances.T)


def _shorten(distances: FloatArray, n_stops: int) -> None:
    """Make distances those of shortest paths through the first nodes, in place."""
    to_stops = distances[:, :n_stops].copy()
    for stop in range(n_stops):
        np.minimum(to_stops, to_stops[:, [stop]] + to_stops[stop], out=to_stops)
    from_stops = np.ascontiguousarray(to_stops.T)
    for rows in gen_batches(len(distances), _BLOCK):
        block = distances[rows]
        for stop in range(n_stops):
            np.minimum(block, to_stops[rows, stop, None] + from_stops[stop], out=block)
