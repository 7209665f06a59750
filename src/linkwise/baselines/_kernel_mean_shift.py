"""Mean shift in a kernel that pairs have bent."""

from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform
from sklearn.utils import gen_batches

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.baselines._closure_pairs import ListedPairs
from linkwise.baselines._itml import nearest_metric
from linkwise.baselines._metric_learner import (
    differences_of,
    lifted,
    span_of,
    square_root,
    within,
)
from linkwise.kernels import eigen, signed
from linkwise.kernels._views import BASES, Points

# Squared distances that pairs are to have under a kernel of ones on the diagonal.
_TARGETS = (0.1, 1.9)
# Widths tried, over the median distance.
_WIDTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0])
_ONE_KIND = 0.5  # taken where pairs of a kind are missing
_KEPT = 0.99  # share of the root of the trace that a low rank keeps
_PERCENTILES = (5, 95)
_ROUNDING = 1e-10  # squared distances up to this are those of equal rows
_METRIC_TOL = 0.01
_MAX_PROJECTIONS = 100_000  # on single pairs, as in the authors' code
_LEAST_BANDWIDTH = 1e-8
_SAME_MODE = 0.01  # squared distance of one mode, over the median squared bandwidth
_BLOCK = 256


class BentKernel(NamedTuple):
    """Low-rank features of rows after pairs have bent their kernel."""

    features: FloatArray  # (n, q)
    rotation: FloatArray  # (r, q), from features of the kernel as it was
    must_target: float
    objective: float


def pair_costs(squared: FloatArray, is_must: BoolArray) -> FloatArray:
    """Return r - log r - 1, r = target over squared distance; 0 where pairs hold.

    Examples
    --------
    >>> import numpy as np
    >>> pair_costs(np.array([0.5, 0.05]), np.array([True, True])).round(6)
    array([0.809438, 0.      ])
    """
    must, cannot = _TARGETS
    held = np.where(is_must, np.maximum(squared, must), np.minimum(squared, cannot))
    # A cannot-link of equal rows has no cost: it would be without end.
    target = np.where(is_must, must, cannot)
    ratio = np.where(held > 0.0, target / np.where(held > 0.0, held, 1.0), 1.0)
    return np.asarray(ratio - np.log(ratio) - 1.0)


def choose_width(lengths: FloatArray, is_must: BoolArray, median: float) -> float:
    """Return the width under which pairs of these lengths cost least.

    Both kinds of pairs count as much, where the authors have a plain sum over the pairs
    that are given: a closure has many more cannot-links than those, and with the sum
    over it the three circles of the authors' kind are not found (a test has them). Of
    equal costs the narrowest; with one kind alone, which the narrowest or the widest of
    all would suit best, half the median distance.
    """
    if is_must.all() or not is_must.any():
        return _ONE_KIND * median
    widths = median * _WIDTHS
    n_of_kind = np.where(is_must, is_must.sum(), (~is_must).sum())
    costs = [
        (
            pair_costs(-2.0 * np.expm1(-(lengths**2) / (2.0 * width**2)), is_must)
            / n_of_kind
        ).sum()
        for width in widths
    ]
    return float(widths[np.argmin(costs)])


def leading_rank(values: FloatArray) -> int:
    """Return how many of the eigenvalues, descending, are kept."""
    share = np.sqrt(np.cumsum(values) / values.sum())
    return min(int(np.searchsorted(share, _KEPT)) + 1, len(values))


def low_rank(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenvalues of a kernel matrix, descending, and vectors."""
    values, vectors = eigen(gram, "evd")
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    rank = leading_rank(values)
    return values[:rank], signed(vectors[:, :rank])


def bend(
    features: FloatArray, pairs: ListedPairs, gamma: float, max_rank: int
) -> BentKernel:
    """Return the kernel nearest in LogDet divergence that keeps to the pairs.

    That is the metric of ITML on rows of features, of the same divergence.

    Parameters
    ----------
    features : ndarray of shape (n, r)
        Rows whose inner products are the kernel.
    pairs : ListedPairs
        Must-links are to be nearer than a target, cannot-links farther.
    gamma : float
        Price of slack.
    max_rank : int
        Most features of the result.
    """
    points = Points(features)
    squared = BASES["squared_distances"](points, points)
    low, high = np.percentile(squareform(squared, checks=False), _PERCENTILES)
    del squared
    # Many equal rows: their distance is what rounding leaves, and no target.
    near = min(_TARGETS[0], low) if low > _ROUNDING else _TARGETS[0]
    targets = (near, max(_TARGETS[1], high))
    differences = differences_of(features, pairs)
    root, objective = np.eye(features.shape[1]), 0.0
    n_pairs = len(differences.must_link) + len(differences.cannot_link)
    if n_pairs:
        basis = span_of(features, pairs)
        learned = nearest_metric(
            within(differences, basis),
            targets,
            gamma,
            tol=_METRIC_TOL,
            max_iter=max(1, _MAX_PROJECTIONS // n_pairs),
        )
        root = square_root(lifted(learned.metric, basis))
        objective = learned.objective
    moved = features @ root
    values, vectors = eigen(moved.T @ moved)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    rank = min(leading_rank(values), max_rank)
    rotation = root @ signed(vectors[:, :rank])
    return BentKernel(features @ rotation, rotation, float(targets[0]), objective)


def neighbor_rank(squared: FloatArray, must_link: IntArray, target: float) -> int:
    """Return the position among neighbours at which must-linked rows stand.

    The median over must-links nearer than the target, in both directions, of the
    partner's position, a row itself being the first; without such pairs it is
    ceil(log n) + 1.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances.
    must_link : ndarray of shape (m, 2)
        Must-links.
    target : float
        Squared distance below which they count.
    """
    n_rows = len(squared)
    lengths = squared[must_link[:, 0], must_link[:, 1]]
    near = must_link[lengths < target]
    if len(near) == 0:
        return min(int(np.ceil(np.log(n_rows))) + 1, n_rows)
    both = np.concatenate([near, near[:, ::-1]])
    positions = [
        (squared[both[part, 0]] < squared[both[part, 0], both[part, 1], None]).sum(
            axis=1
        )
        for part in gen_batches(len(both), _BLOCK)
    ]
    # The partner stands after those that are nearer, and never before the row itself.
    ranks = np.maximum(np.concatenate(positions) + 1, 2)
    return int(np.ceil(np.median(ranks)))


def bandwidths(squared: FloatArray, rank: int) -> FloatArray:
    """Return the squared distance of each row to its neighbour of a rank."""
    kth = np.partition(squared, rank - 1, axis=1)[:, rank - 1]
    return np.maximum(kth, _LEAST_BANDWIDTH)


def ascend(
    starts: FloatArray,
    features: FloatArray,
    squared_bandwidth: FloatArray,
    *,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, int, bool]:
    """Return the modes above some places, the number of steps, and whether all rest.

    A step goes to the mean of the rows, each weighed by exp(-|z - f|^2 / 2 h^2) over
    h^(q + 2); rows that move by less than ``tol`` times the median bandwidth rest.

    Examples
    --------
    >>> import numpy as np
    >>> F, h = np.array([[0.0], [1.0], [4.0]]), np.array([1.0, 1.0, 2.0])
    >>> ascend(F[:1], F, h**2, tol=0.0, max_iter=1)[0].round(6)
    array([[0.415288]])
    """
    places = starts.copy()
    base = -(features.shape[1] + 2) / 2.0 * np.log(squared_bandwidth)
    least = tol * np.sqrt(np.median(squared_bandwidth))
    active, n_iter = np.arange(len(places)), 0
    while len(active) and n_iter < max_iter:
        n_iter += 1
        moves = np.empty(len(active))
        for part in gen_batches(len(active), _BLOCK):
            old = places[active[part]]
            weight = cdist(old, features, "sqeuclidean")
            weight /= -2.0 * squared_bandwidth
            weight += base
            weight -= weight.max(axis=1, keepdims=True)
            np.exp(weight, out=weight)
            new = weight @ features / weight.sum(axis=1, keepdims=True)
            moves[part] = np.linalg.norm(new - old, axis=1)
            places[active[part]] = new
        active = active[moves >= least]
    return places, n_iter, len(active) == 0


def distinct_modes(
    places: FloatArray, squared_bandwidth: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the modes that differ, and the mode of each place.

    Places joined by steps shorter than a tenth of the median bandwidth are one.
    """
    reach = np.sqrt(_SAME_MODE * np.median(squared_bandwidth))
    joined = fcluster(linkage(places, "single"), reach, "distance")
    first, mode_of = in_order(joined)
    return places[first], mode_of


def in_order(labels: Any) -> tuple[IntArray, IntArray]:
    """Return the first place of each label, and labels numbered in that order."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return np.sort(first), rank[inverse]
