"""Constrained k-means where pairs may be broken at a price."""

from collections.abc import Callable
from hashlib import blake2b
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
    keep_satisfied: bool = False,
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
    keep_satisfied : bool, default=False
        Whether pairs of at least as much weight hold at the end as at the start. If
        less would, the last round after which as much holds counts, and from there on
        only points without a pair move.

    Returns
    -------
    ConstrainedResult
        The objective never rises on the way if the kernel is positive semi-definite.
        Labels that were there before end it: equal points that fill two clusters may
        change places for ever.
    """
    prices = _prices(space, closure, penalty, penalty_weight)
    labels = np.array(start, dtype=np.intp)
    least = closure.score(labels)

    def is_enough(labels: IntArray) -> bool:
        return not (keep_satisfied and closure.score(labels) < least)

    rounds = _Rounds(space, n_clusters, prices, max_iter, is_enough)
    end = rounds.run(labels, order)
    if not is_enough(end.labels):
        free = order[np.diff(prices.indptr)[order] == 0]
        end = rounds.run(end.kept, free, end.n_kept)
    total = float(space.sample_weight @ space.diagonal)
    objective = total - end.sums.explained + prices.of(end.labels)
    return ConstrainedResult(end.labels, objective, end.n_iter, end.converged, end.sums)


class _End(NamedTuple):
    """Where rounds have ended, and the last labels on the way that were enough."""

    labels: IntArray
    n_iter: int
    converged: bool
    sums: GroupSums
    kept: IntArray
    n_kept: int  # rounds up to there


class _Rounds(NamedTuple):
    """Rounds of sweeps over the points and of moves of the centres."""

    space: Space
    n_clusters: int
    prices: _Prices
    max_iter: int
    is_enough: Callable[[IntArray], bool]

    def run(self, start: IntArray, order: IntArray, n_iter: int = 0) -> _End:
        """Return where rounds over the points of ``order`` end."""
        labels, kept, n_kept = start.copy(), start, n_iter
        n_members = np.bincount(labels, minlength=self.n_clusters)
        sums = self.space.group_sums(labels, self.n_clusters)
        seen = {_mark(labels)}
        converged = False
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            if self._sweep(sums, order, n_members, labels) == 0:
                converged = True
                break
            sums.move(labels)
            if self.is_enough(labels):
                kept, n_kept = labels.copy(), n_iter
            mark = _mark(labels)
            converged = mark in seen
            seen.add(mark)
        return _End(labels, n_iter, converged, sums, kept, n_kept)

    def _sweep(
        self, sums: GroupSums, order: IntArray, n_members: IntArray, labels: IntArray
    ) -> int:
        """Move points while the centres stand still; return the number of moves."""
        distances = self.space.sample_weight * squared_distances(self.space, sums)
        n_moves = 0
        for _ in range(_MAX_SWEEPS):
            n_moves_now = relabel_in_turn(
                distances,
                order,
                self.prices.indptr,
                self.prices.indices,
                self.prices.link,
                n_members,
                labels,
            )
            n_moves += n_moves_now
            if n_moves_now == 0:
                break
        return n_moves


def _mark(labels: IntArray) -> bytes:
    """Return what tells labels from others, as good as surely."""
    return blake2b(labels.tobytes(), digest_size=16).digest()


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
