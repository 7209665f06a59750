"""Pairs that cost distances: sums over partners, and the assignment in turn.

With one weight for all must-links and one for all cannot-links, sums over partners are
sums over components, and no pair is ever listed: a closure of millions of pairs costs
no more than its points. Pairs of different weights are listed.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from linkwise.baselines._jit_metric_sweeps import sweep_components, sweep_pairs

_MAX_SWEEPS = 100  # of one assignment; centres and metric stand still meanwhile
_ENTRIES_PER_BLOCK = 2**15


class PairGeometry(NamedTuple):
    """The linked points under the metrics of the clusters.

    There is one metric for all clusters or one for each.
    """

    rows: np.ndarray  # (p, d)
    applied: np.ndarray  # (p, m, d), metric times row
    norms: np.ndarray  # (p, m), squared
    farthest: np.ndarray  # (m,), largest squared distance of two points

    def metric_of(self, n_clusters):
        """Return the metric of each cluster, shape (n_clusters,)."""
        return np.arange(n_clusters) % self.norms.shape[1]

    def block(self, first, last):
        """Return the squared distances of listed pairs, shape (n_pairs, m)."""
        inner = np.einsum("pmd,pd->pm", self.applied[first], self.rows[last])
        return self.norms[first] + self.norms[last] - 2.0 * inner


def linked_pairs(pairs, closure, weight):
    """Return the pairs of a closure, by component if that is possible, else listed.

    Parameters
    ----------
    pairs : Constraints
        The pairs given, without contradictions.
    closure : Closure
        What follows from them, by the bottleneck rule.
    weight : float
        Factor on all weights.
    """
    common = common_weights(pairs)
    if common is None:
        return ListedPairs(closure, weight)
    return ComponentPairs(closure, *(weight * w for w in common))


def common_weights(pairs):
    """Return the one weight of must-links and that of cannot-links, if there are such.

    None if weights in the closure differ: within a kind, or because cannot-links
    carried along lighter must-links lose weight on the way. A kind without pairs has
    weight 0.
    """
    must, cannot = pairs.must_link_weight, pairs.cannot_link_weight
    if (must != must[:1]).any() or (cannot != cannot[:1]).any():
        return None
    if len(must) and (cannot > must[0]).any():
        return None
    return tuple(float(w[0]) if len(w) else 0.0 for w in (must, cannot))


class ComponentPairs:
    """All pairs of a closure; each kind has one weight.

    Attributes
    ----------
    points : ndarray of shape (p,)
        The linked points: those in any pair.
    has_cannot_link : bool
        Whether there are cannot-links.
    """

    def __init__(self, closure, must_weight, cannot_weight):
        is_active = (closure.size > 1) | closure.has_cannot_link
        compact = np.cumsum(is_active) - 1
        self.points = np.flatnonzero(is_active[closure.component])
        self.has_cannot_link = len(closure.cannot_link) > 0
        self._place = _places(self.points, closure.n_samples)
        self._component = compact[closure.component[self.points]]
        self._n_components = int(is_active.sum())
        self._n_linked = closure.n_linked
        self._weights = must_weight, cannot_weight
        degree = np.diff(closure.cl_indptr)[is_active]
        self._cl_indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.intp)
        self._cl_indices = compact[closure.cl_indices].astype(np.intp)
        self._neighbours = csr_array(
            (np.ones(len(self._cl_indices)), self._cl_indices, self._cl_indptr),
            shape=(self._n_components, self._n_components),
        )

    def must_sums(self, values):
        """Return the weighted sums of values (p, d) over must-link partners.

        A point counts as a partner of its own: its distance to itself is 0.
        """
        labels = np.zeros(len(self.points), dtype=np.intp)
        total = self._buckets(values, labels, 1)[:, 0]
        return self._weights[0] * total[self._component]

    def broken_sums(self, values, labels, n_clusters):
        """Return the weighted sums of values (p, d) over broken pairs.

        Of each point, over must-link partners elsewhere, and over cannot-link partners
        in its own cluster. Labels are those of the linked points.
        """
        own = self._buckets(values, labels, n_clusters)
        others = self._of_neighbours(own)
        must = own.sum(axis=1)[self._component] - own[self._component, labels]
        cannot = others[self._component, labels]
        return self._weights[0] * must, self._weights[1] * cannot

    def settle(self, base, geometry, order, labels):
        """Sweep until no point moves, in place; base (n, k) holds all other costs."""
        n_clusters = base.shape[1]
        metric_of = geometry.metric_of(n_clusters)
        here = labels[self.points]
        norm = geometry.norms[np.arange(len(here)), metric_of[here]]
        values = np.column_stack([geometry.rows, np.ones(len(here)), norm])
        own = self._buckets(values, here, n_clusters)
        own, others = own[: self._n_linked], self._of_neighbours(own)
        d = geometry.rows.shape[1]
        state = [
            np.ascontiguousarray(sums[:, :, part])
            for sums in (own, others)
            for part in (d, slice(d), d + 1)
        ]
        _repeat(
            sweep_components,
            base,
            order,
            self._place,
            geometry.rows,
            geometry.applied,
            geometry.norms,
            geometry.farthest,
            metric_of,
            self._component,
            self._cl_indptr,
            self._cl_indices,
            *self._weights,
            *state,
            np.bincount(labels, minlength=n_clusters),
            labels,
        )

    def _buckets(self, values, labels, n_clusters):
        """Return the sums of values by component and cluster, shape (g, k, d)."""
        n_points = len(self.points)
        bucket = self._component * n_clusters + labels
        members = csr_array(
            (np.ones(n_points), (bucket, np.arange(n_points))),
            shape=(self._n_components * n_clusters, n_points),
        )
        sums = members @ values
        return sums.reshape(self._n_components, n_clusters, values.shape[1])

    def _of_neighbours(self, buckets):
        """Return the same sums over the cannot-linked components of each."""
        n_components, n_clusters, d = buckets.shape
        flat = buckets.reshape(n_components, n_clusters * d)
        return (self._neighbours @ flat).reshape(buckets.shape)


class ListedPairs:
    """The pairs of a closure one by one, each with its weight.

    Attributes
    ----------
    points, has_cannot_link
        As of :class:`ComponentPairs`.
    """

    def __init__(self, closure, weight):
        must, cannot = closure.must_link_pairs(), closure.cannot_link_pairs()
        self.points = np.unique(
            np.concatenate([must.pairs.ravel(), cannot.pairs.ravel()])
        )
        self.has_cannot_link = len(cannot.pairs) > 0
        self._place = _places(self.points, closure.n_samples)
        self._must, self._cannot = (
            _both_ways(self._place[pairs], weight * weights, len(self.points))
            for pairs, weights in (must, cannot)
        )

    def must_sums(self, values):
        """Return the weighted sums of values (p, d) over must-link partners."""
        return self._must @ values

    def broken_sums(self, values, labels, n_clusters):
        """Return the weighted sums of values (p, d) over broken pairs, by kind."""
        apart = labels[self._must.row] != labels[self._must.col]
        same = labels[self._cannot.row] == labels[self._cannot.col]
        return _only(self._must, apart) @ values, _only(self._cannot, same) @ values

    def settle(self, base, geometry, order, labels):
        """Sweep until no point moves, in place; base (n, k) holds all other costs."""
        n_clusters = base.shape[1]
        row, col, price = self._prices(geometry)
        indptr = np.concatenate(
            [[0], np.cumsum(np.bincount(row, minlength=len(self.points)))]
        )
        _repeat(
            sweep_pairs,
            base,
            order,
            self._place,
            self.points,
            indptr.astype(np.intp),
            col.astype(np.intp),
            price,
            geometry.metric_of(n_clusters),
            np.bincount(labels, minlength=n_clusters),
            labels,
        )

    def _prices(self, geometry):
        """Return all pairs in both directions, by first end, with their prices."""
        row = np.concatenate([self._must.row, self._cannot.row])
        col = np.concatenate([self._must.col, self._cannot.col])
        weight = np.concatenate([self._must.data, self._cannot.data])
        is_must = np.arange(len(row)) < self._must.nnz
        price = np.empty((len(row), geometry.norms.shape[1]))
        for start in range(0, len(row), _ENTRIES_PER_BLOCK):
            part = slice(start, start + _ENTRIES_PER_BLOCK)
            length = np.where(is_must[part, None], 0.0, geometry.farthest)
            price[part] = length - geometry.block(row[part], col[part])
        price *= weight[:, None]
        order = np.argsort(row, kind="stable")
        return row[order], col[order], price[order]


def _repeat(sweep, *args):
    """Call a compiled sweep until it moves nothing."""
    for _ in range(_MAX_SWEEPS):
        if sweep(*args) == 0:
            return


def _places(points, n_samples):
    """Return the place of each sample among some points, -1 if it is none of them."""
    place = np.full(n_samples, -1, dtype=np.intp)
    place[points] = np.arange(len(points))
    return place


def _both_ways(pairs, weights, n_points):
    """Return the symmetric matrix of weighted pairs."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    return coo_array((np.tile(weights, 2), ends.T), shape=(n_points, n_points))


def _only(matrix, mask):
    """Return the chosen entries of a COO matrix."""
    data = (matrix.data[mask], (matrix.row[mask], matrix.col[mask]))
    return coo_array(data, shape=matrix.shape).tocsr()
