"""Rounds of assignment, centres and metric, and the pieces that they are made of.

Metrics have shape (m, d) if they are diagonal and (m, d, d) if not; m is 1 or the
number of clusters. Rows are best centred: sums over groups of pairs are taken as
differences of sums over points.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from linkwise.kernels import eigen

# Up to here the farthest pair of points is searched among all, else in a sample.
EXACT_FARTHEST = 2000


class RoundsResult(NamedTuple):
    """Where the rounds ended."""

    labels: np.ndarray  # (n,), every cluster has at least one point
    objective: float
    n_iter: int
    converged: bool


def alternate(model, pairs, labels, rng, max_iter, is_at_rest):
    """Take turns of assignment and estimation from start labels.

    Parameters
    ----------
    model : object
        ``pair_geometry()`` returns the linked points under the metric,
        ``costs(geometry)`` the cost (n, k) of each cluster but for what depends on the
        labels of others, and ``update(labels)`` sets centres and metric and returns
        the objective.
    pairs : ComponentPairs or ListedPairs
        Pairs with weights.
    labels : ndarray of shape (n,)
        Start labels, each used; changed in place.
    rng : numpy.random.Generator
        Draws the visiting order of each round.
    max_iter : int
        Limit on the rounds.
    is_at_rest : callable
        Takes the last and the new objective and whether a label changed.
    """
    objective, n_iter, converged = np.inf, 0, False
    while not converged and n_iter < max_iter:
        before = labels.copy()
        order = rng.permutation(len(labels))
        geometry = model.pair_geometry()
        pairs.settle(model.costs(geometry), geometry, order, labels)
        new_objective = model.update(labels)
        # The start has seen neither means nor a metric: it is no reason to stop.
        moved = n_iter == 0 or not np.array_equal(labels, before)
        converged = bool(is_at_rest(objective, new_objective, moved))
        objective, n_iter = new_objective, n_iter + 1
    return RoundsResult(labels, float(objective), n_iter, converged)


def as_dense(data):
    """Return the data as an array in C order, for which loops are compiled."""
    return data.toarray() if issparse(data) else np.ascontiguousarray(data)


def nearest_with_all_used(distances):
    """Return the nearest centre of each point; no centre is left without a point.

    An empty cluster takes the point that is farthest from its own centre.
    """
    n_samples, n_clusters = distances.shape
    labels = distances.argmin(axis=1)
    cost = distances[np.arange(n_samples), labels]
    for c in range(n_clusters):
        n_members = np.bincount(labels, minlength=n_clusters)
        if n_members[c] == 0:
            point = np.argmax(np.where(n_members[labels] > 1, cost, -np.inf))
            labels[point], cost[point] = c, 0.0
    return labels


def cluster_means(rows, labels, n_clusters):
    """Return the means of the clusters, shape (n_clusters, d)."""
    totals = group_sums(rows, labels, n_clusters)
    return totals / np.bincount(labels, minlength=n_clusters)[:, None]


def squared_distances(rows, centres, metric):
    """Return the squared distances (n, k) of rows to centres under their metrics."""
    distances = np.empty((len(rows), len(centres)))
    for c, centre in enumerate(centres):
        difference = rows - centre
        applied = apply_metric(difference, metric[c % len(metric)])
        distances[:, c] = np.einsum("ij,ij->i", difference, applied)
    return distances


def apply_metric(rows, metric):
    """Return the rows times one metric, (d,) or (d, d)."""
    return rows * metric if metric.ndim == 1 else rows @ metric


def log_det(metric):
    """Return the logarithm of the determinant of each metric, shape (m,)."""
    if metric.ndim == 2:
        return np.log(metric).sum(axis=1)
    return np.linalg.slogdet(metric)[1]


def within_scatter(rows, centres, labels, metric_shape):
    """Return the scatter around the centres, summed over the clusters of a metric."""
    difference = rows - centres[labels]
    n_metrics = metric_shape[0]
    group = labels % n_metrics
    if len(metric_shape) == 2:
        return group_sums(difference**2, group, n_metrics)
    return np.stack(
        [part.T @ part for part in (difference[group == m] for m in range(n_metrics))]
    )


def pair_scatter(pairs, rows, labels, n_clusters, metric_shape):
    """Return what the distances of broken pairs sum up to, and cannot-link weights.

    Of each metric: the weighted sum of d d' over broken must-links, less that over
    broken cannot-links, and the total weight of the latter. A must-link between two
    clusters of different metrics counts half for each.

    With weights w, the sum of w (x - y)(x - y)' over pairs is the sum of x x' over both
    ends, each times its weight of broken pairs, less the sum of x t' over all ends, t
    the weighted sum of the partners of x.
    """
    rows, labels = rows[pairs.points], labels[pairs.points]
    group = labels % metric_shape[0]
    is_in = (group[:, None] == np.arange(metric_shape[0])).astype(float)  # (p, m)
    values = np.column_stack([rows, is_in])
    must, cannot = pairs.broken_sums(values, labels, n_clusters)
    d = rows.shape[1]
    must_partners, cannot_partners = must[:, d:], cannot[:, d:].sum(axis=1)
    # With one metric every partner is in its group, and both halves are the same.
    ends = 0.5 * (must_partners + is_in * must_partners.sum(axis=1, keepdims=True))
    ends -= is_in * cannot_partners[:, None]
    partner = cannot[:, :d] - must[:, :d]
    if len(metric_shape) == 2:
        scatter = ends.T @ rows**2 + is_in.T @ (rows * partner)
    else:
        scatter = np.empty(metric_shape)
        for m in range(len(scatter)):
            cross = (is_in[:, m, None] * rows).T @ partner
            both_ends = (ends[:, m, None] * rows).T @ rows
            scatter[m] = both_ends + 0.5 * (cross + cross.T)
    return scatter, 0.5 * is_in.T @ cannot_partners


class Farthest:
    """Finds the two points that are farthest from each other under a metric.

    Exact for at most 2000 points. Of more, the farthest pair of a sample of 2000 is the
    start of a walk: from either end to the point farthest from it, as long as that
    makes the distance larger.
    """

    def __init__(self, rows, rng):
        self._rows = rows
        self._sample = None
        if len(rows) > EXACT_FARTHEST:
            self._sample = rng.choice(len(rows), EXACT_FARTHEST, replace=False)

    def __call__(self, metric):
        """Return the difference of the two points under one metric, shape (d,)."""
        scaled = self._rows * np.sqrt(metric) if metric.ndim == 1 else None
        if scaled is None:
            values, vectors = eigen(metric)
            scaled = self._rows @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        i, j = farthest_pair(scaled, self._sample)
        return self._rows[i] - self._rows[j]


def farthest_pair(rows, sample=None):
    """Return the two rows that are farthest from each other; see Farthest."""
    if sample is None:
        return _farthest_of_all(rows)
    i, j = sample[list(_farthest_of_all(rows[sample]))]
    return _walk(rows, i, j)


def _farthest_of_all(rows):
    rows = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    i, j = _walk(rows, int(np.argmax(norms)), int(np.argmax(norms)))
    # Two points are no farther apart than their distances to the mean together.
    radius = np.sqrt(norms)
    reach = (1.0 + 1e-9) * (radius + radius.max())
    kept = np.flatnonzero(reach**2 >= ((rows[i] - rows[j]) ** 2).sum())
    largest = -np.inf
    for block in gen_batches(len(kept), 256):
        # Each pair once: the other end is not before the block.
        first, last = kept[block], kept[block.start :]
        distances = norms[first, None] - 2.0 * rows[first] @ rows[last].T + norms[last]
        at = int(np.argmax(distances))
        if distances.flat[at] > largest:
            largest = distances.flat[at]
            a, b = divmod(at, len(last))
            i, j = first[a], last[b]
    return int(i), int(j)


def _walk(rows, i, j):
    """Return two far rows: from an end to the row farthest from it, while it helps."""
    length = ((rows[i] - rows[j]) ** 2).sum()
    n_failed = 0
    while n_failed < 2:
        distances = ((rows - rows[j]) ** 2).sum(axis=1)
        end = int(np.argmax(distances))
        if distances[end] > length:
            i, j, length, n_failed = j, end, distances[end], 0
        else:
            i, j, n_failed = j, i, n_failed + 1
    return i, j


def group_sums(values, group, n_groups):
    """Return the sums of rows by group, shape (n_groups, d)."""
    totals = np.zeros((n_groups, values.shape[1]))
    for column in range(values.shape[1]):
        totals[:, column] = np.bincount(group, values[:, column], minlength=n_groups)
    return totals
