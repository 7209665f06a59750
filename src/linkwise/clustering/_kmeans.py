"""k-means in any geometry."""

from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering._farthest_first import as_draws, farthest_first
from linkwise.clustering._jit import descend, next_better_move, start_and_descend
from linkwise.constraints import Closure
from linkwise.kernels import REBUILD_EVERY, GroupSums, Space

# Share of the points that must be left for clusters to be taken without the others.
_LEAST_LEFT = 0.5

# Clusters from which on points that cannot change are passed over: with few clusters it
# costs more to tell them than to assign them.
_LEAST_CLUSTERS_TO_PASS_OVER = 8


class KMeansResult(NamedTuple):
    """Where k-means ended."""

    labels: IntArray  # (n,), every cluster has at least one point
    objective: float  # within-cluster scatter
    n_iter: int
    converged: bool  # it came to rest before max_iter
    sums: GroupSums  # of the clusters, as prediction needs them


def kmeans(
    space: Space,
    start: IntArray | Closure,
    n_clusters: int,
    *,
    max_iter: int = 300,
    unrest: float = 0.0,
    polish: bool = False,
    draws: FloatArray | None = None,
) -> KMeansResult:
    """Cluster by Lloyd's iterations.

    Parameters
    ----------
    space : Space
        The geometry, of n_samples points.
    start : ndarray of shape (n_samples,), or Closure
        Labels in ``range(n_clusters)``, or the pairs from whose components
        :func:`farthest_first` makes them.
    n_clusters : int
        Number of clusters, at most n_samples.
    max_iter : int, default=300
        Limit on the number of assignment steps.
    unrest : float, default=0.0
        Share of the points that may still want to move when it stops.
    polish : bool, default=False
        Afterwards move single points as long as one lowers the objective (Hartigan).
        Lloyd's iterations cannot see such moves.
    draws : ndarray of shape (n_clusters,) or (n_clusters, n_trials), optional
        Uniform in [0, 1): with them the seeds of a closure are drawn as by k-means++,
        see :func:`farthest_first`. The closure of no pairs gives plain k-means++.

    Returns
    -------
    KMeansResult
        The labels with the lowest objective on the way. That is the last one, unless
        the kernel is indefinite: then the descent is not assured, and the search ends
        where the objective rises or a labelling returns.
    """
    sums = GroupSums(space.rows, space.core, space.sample_weight, n_clusters)
    pairs: tuple[FloatArray | IntArray | bool, ...] = ()
    if isinstance(start, Closure) and n_clusters <= start.n_components:
        labels: IntArray = np.empty(space.n_samples, dtype=np.intp)
        pairs = (
            *space.fixed_totals(start.linked, start.n_linked),
            start.component,
            start.indptr,
            start.members,
            start.tier if draws is None else start.is_single,
            start.cl_indptr,
            start.cl_indices,
            start.cl_weights,
            False,  # for constants in it, the start would be compiled once more
            False,
            as_draws(draws, n_clusters),
        )
    elif isinstance(start, Closure):
        labels = farthest_first(space, start, n_clusters, draws=draws)
    else:
        labels = np.array(start, dtype=np.intp)
    passes_over = space.core is not None and n_clusters >= _LEAST_CLUSTERS_TO_PASS_OVER
    run: Any = start_and_descend if pairs else descend
    n_iter, converged, total, sums.explained = run(
        *pairs,
        space.rows,
        space.core,
        space.sample_weight,
        space.diagonal,
        max_iter,
        int(unrest * space.n_samples),
        REBUILD_EVERY,
        np.empty(space.n_samples) if passes_over else None,
        labels,
        sums.labels,
        sums.totals,
        sums.sums,
        sums.mass,
        sums.inner,
    )
    if polish:
        _polish(space, labels, sums)
    return KMeansResult(labels, total - sums.explained, n_iter, converged, sums)


def _polish(space: Space, labels: IntArray, sums: GroupSums) -> None:
    """Make single moves that lower the objective, in place.

    Every round visits all points once; a round without a move is the end.
    """
    n_members = np.bincount(labels, minlength=len(sums.mass))
    moved = True
    while moved:
        moved = False
        position = 0
        while position < space.n_samples:
            point, cluster = next_better_move(
                sums.sums,
                sums.inner,
                sums.mass,
                space.diagonal,
                space.sample_weight,
                labels,
                n_members,
                position,
            )
            if point < 0:
                break
            n_members[labels[point]] -= 1
            n_members[cluster] += 1
            labels[point] = cluster
            sums.move(labels)
            position, moved = point + 1, True


def labels_left_out(space: Space, result: KMeansResult, points: IntArray) -> IntArray:
    """Return where points would go if the clusters were those of the other points.

    A point is part of its centre and so draws it near. Where all points are about
    equally far apart, or points that are known to belong together are very near to each
    other, that alone keeps them where the start has put them.

    Parameters
    ----------
    space : Space
        The geometry.
    result : KMeansResult
        A clustering in it.
    points : ndarray of shape (m,)
        Positions, each once.

    Returns
    -------
    ndarray of shape (m,)
        The nearest cluster of each point, among those that other points are in. If
        there are few others, a point is left out only where it goes itself.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.kernels import GramSpace
    >>> x = np.array([0.0, 1.0, 6.0, 9.0, 10.0, 11.0])
    >>> space = GramSpace(np.outer(x, x))
    >>> result = kmeans(space, np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> result.labels, labels_left_out(space, result, np.array([1, 2]))
    (array([0, 0, 0, 1, 1, 1]), array([0, 1]))
    """
    own, weight = result.labels[points], space.sample_weight[points]
    mass, inner = result.sums.mass, result.sums.inner
    sums = result.sums.sums[:, points].astype(np.float64)
    n_left = space.n_samples - len(points)
    if n_left < _LEAST_LEFT * space.n_samples:
        return _each_left_out(sums, mass, inner, own, weight, space.diagonal[points])
    share = np.zeros((len(mass), len(points)))
    share[own, np.arange(len(points))] = weight
    if space.core is None:
        among = share @ space.rows[points[:, None], points]
        inner = inner - np.einsum("ij,ij->i", share, 2.0 * sums - among)
        sums = sums - among
    else:
        rows = space.rows[points].astype(np.float64)
        totals = result.sums.totals - share @ rows
        spread = totals if space.core.shape[0] == 0 else totals @ space.core
        inner, sums = np.einsum("ij,ij->i", spread, totals), spread @ rows.T
    mass = mass - np.bincount(own, weights=weight, minlength=len(mass))
    n_members = np.bincount(result.labels, minlength=len(mass))
    is_left = n_members > np.bincount(own, minlength=len(mass))
    mass = np.where(is_left, mass, 1.0)[:, None]
    distance = inner[:, None] / mass**2 - 2.0 * sums / mass
    return np.asarray(np.where(is_left[:, None], distance, np.inf).argmin(axis=0))


def _each_left_out(
    sums: FloatArray,  # (k, m)
    mass: FloatArray,
    inner: FloatArray,
    own: IntArray,  # (m,)
    weight: FloatArray,
    diagonal: FloatArray,
) -> IntArray:
    """Return the nearest cluster of each point, its own taken without it alone."""
    places = np.arange(len(own))
    distance = inner[:, None] / mass[:, None] ** 2 - 2.0 * sums / mass[:, None]
    left, own_sums = mass[own] - weight, sums[own, places]
    is_alone = left <= 1e-9 * weight
    left = np.where(is_alone, 1.0, left)
    own_inner = inner[own] - 2.0 * weight * own_sums + weight**2 * diagonal
    without = own_inner / left**2 - 2.0 * (own_sums - weight * diagonal) / left
    distance[own, places] = np.where(is_alone, np.inf, without)
    return np.asarray(distance.argmin(axis=0))


def squared_distances(space: Space, sums: GroupSums) -> FloatArray:
    """Return the squared distances of all points to the centres, shape (k, n)."""
    mass = sums.mass[:, None]
    return space.diagonal - 2.0 * sums.sums / mass + (sums.inner[:, None] / mass**2)
