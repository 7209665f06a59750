"""Constrained k-means where pairs may be broken at a price."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering._jit import relabel_in_turn
from linkwise.clustering._kmeans import squared_distances
from linkwise.constraints import Closure
from linkwise.kernels import GroupSums, Space

_MAX_SWEEPS = 100  # of a round; the centres stand still meanwhile


class ConstrainedResult(NamedTuple):
    """Where a constrained clustering ended."""

    labels: IntArray  # (n,), every cluster has at least one point
    objective: float  # scatter plus the price of broken pairs
    n_iter: int
    converged: bool
    sums: GroupSums  # of the clusters, as prediction needs them


class _Prices(NamedTuple):
    """What pairs cost when broken, and the same as a neighbour list."""

    must_link: IntArray  # (m, 2)
    must_link_price: FloatArray  # (m,)
    cannot_link: IntArray  # (c, 2)
    cannot_link_price: FloatArray  # (c,)
    indptr: IntArray  # CSR over points, both directions of each pair;
    indices: IntArray
    link: FloatArray  # added when two points are together

    def of(self, labels: IntArray) -> float:
        """Return the price of the pairs that ``labels`` breaks."""
        a, b = labels[self.must_link].T
        c, d = labels[self.cannot_link].T
        apart = self.must_link_price[a != b].sum()
        return float(apart + self.cannot_link_price[c == d].sum())


def soft_kmeans(
    space: Space,
    start: IntArray,
    n_clusters: int,
    closure: Closure,
    *,
    order: IntArray,
    penalty: str = "outlier",
    penalty_weight: float = 1.0,
    max_iter: int = 100,
) -> ConstrainedResult:
    """Cluster with a price on broken pairs, from start labels.

    The objective is the scatter of k-means plus, for each broken pair of the closure
    with weight w and squared distance d, ``w * d`` if it is a cannot-link and
    ``w * (d_max - d)`` if it is a must-link, d_max the largest squared distance of all.
    So far must-links and close cannot-links are cheap to break: outliers may.

    Parameters
    ----------
    space : Space
        The geometry, of n_samples points.
    start : ndarray of shape (n_samples,)
        Labels in ``range(n_clusters)``, each used.
    n_clusters : int
        Number of clusters.
    closure : Closure
        The pairs.
    order : ndarray of shape (n_samples,)
        Order in which points are visited.
    penalty : {"outlier", "hmrf"}, default="outlier"
        "hmrf" swaps the two prices: far must-links and close cannot-links are dear.
    penalty_weight : float, default=1.0
        Factor on all prices.
    max_iter : int, default=100
        Limit on the rounds; each sweeps over the points until none moves.

    Returns
    -------
    ConstrainedResult
        The objective never rises on the way if the kernel is positive semi-definite.
    """
    prices = _prices(space, closure, penalty, penalty_weight)
    labels = np.array(start, dtype=np.intp)
    n_members = np.bincount(labels, minlength=n_clusters)
    sums = space.group_sums(labels, n_clusters)
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        distances = space.sample_weight * squared_distances(space, sums)
        n_moves = 0
        for _ in range(_MAX_SWEEPS):
            n_moves_now = relabel_in_turn(
                distances,
                order,
                prices.indptr,
                prices.indices,
                prices.link,
                n_members,
                labels,
            )
            n_moves += n_moves_now
            if n_moves_now == 0:
                break
        converged = n_moves == 0
        if not converged:
            sums.move(labels)
    total = float(space.sample_weight @ space.diagonal)
    objective = total - sums.explained + prices.of(labels)
    return ConstrainedResult(labels, objective, n_iter, converged, sums)


def _prices(
    space: Space, closure: Closure, penalty: str, penalty_weight: float
) -> _Prices:
    """Return what each pair of the closure costs when it is broken."""
    must_link, must_link_weight = closure.must_link_pairs()
    cannot_link, cannot_link_weight = closure.cannot_link_pairs()
    must_link_price = _pair_distances(space, must_link)
    cannot_link_price = _pair_distances(space, cannot_link)
    if penalty == "hmrf" and len(cannot_link):
        cannot_link_price = space.squared_diameter() - cannot_link_price
    elif penalty != "hmrf" and len(must_link):
        must_link_price = space.squared_diameter() - must_link_price
    must_link_price = penalty_weight * must_link_weight * must_link_price
    cannot_link_price = penalty_weight * cannot_link_weight * cannot_link_price

    pairs = np.concatenate([must_link, cannot_link])
    link = np.concatenate([-must_link_price, cannot_link_price])
    both_ways = coo_array(
        (
            np.concatenate([link, link]),
            (
                np.concatenate([pairs[:, 0], pairs[:, 1]]),
                np.concatenate([pairs[:, 1], pairs[:, 0]]),
            ),
        ),
        shape=(space.n_samples, space.n_samples),
    ).tocsr()
    return _Prices(
        must_link,
        must_link_price,
        cannot_link,
        cannot_link_price,
        both_ways.indptr.astype(np.intp),
        both_ways.indices.astype(np.intp),
        both_ways.data,
    )


def _pair_distances(space: Space, pairs: IntArray) -> FloatArray:
    """Return the squared distances of listed pairs."""
    i, j = pairs.T
    return space.diagonal[i] - 2.0 * space.pairs(i, j) + space.diagonal[j]
