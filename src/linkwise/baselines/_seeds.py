"""Start centres from neighbourhoods: the must-link components of several points."""

from typing import Literal

import numpy as np
from sklearn.cluster import kmeans_plusplus

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints import Closure

SeedRule = Literal["largest", "weighted_farthest"]


def neighbourhood_seeds(
    X: FloatArray, closure: Closure, n_clusters: int, rule: SeedRule
) -> FloatArray:
    """Return start centres, shape (n_clusters, n_features).

    With at least as many neighbourhoods as clusters, some of them are chosen by the
    rule. Otherwise all are, and points complete them: under "largest" first a point
    that is cannot-linked to every neighbourhood, if there is one; then, each the
    farthest from the centres so far, single points with a cannot-link, then any.
    Without a neighbourhood the first point is the one farthest from the mean of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    closure : Closure
        The pairs.
    n_clusters : int
        Number of centres, at most n_samples.
    rule : {"largest", "weighted_farthest"}
        "largest": the largest neighbourhoods. "weighted_farthest": the largest, then
        always the one with the largest product of size and distance to the nearest
        centre so far. Ties go to the first component.

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
        One centre per row.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.constraints import Constraints
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [5.0], [6.0], [20.0]])
    >>> closure = Constraints(must_link=[(0, 1), (2, 3), (4, 5)]).closure(7)
    >>> neighbourhood_seeds(X, closure, 2, "largest").ravel()
    array([ 0.5, 10.5])
    """
    centroids = _centroids(X, closure)
    if closure.n_linked >= n_clusters:
        if rule == "largest":
            return centroids[:n_clusters]
        size = closure.size[: closure.n_linked]
        return centroids[_weighted_farthest(centroids, size, n_clusters)]
    points = _completing_points(X, closure, centroids, n_clusters, rule)
    return np.concatenate([centroids, X[points]])


def several_seeds(
    X: FloatArray,
    closure: Closure,
    n_clusters: int,
    rule: SeedRule,
    n_init: int,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Return start centres for several runs.

    The first are those of :func:`neighbourhood_seeds`, the others rows that k-means++
    draws.
    """
    starts = [neighbourhood_seeds(X, closure, n_clusters, rule)]
    for _ in range(n_init - 1):
        seed = int(rng.integers(2**31))
        starts.append(kmeans_plusplus(X, n_clusters, random_state=seed)[0])
    return starts


def _centroids(X: FloatArray, closure: Closure) -> FloatArray:
    """Return the means of the components of several points, (n_linked, d)."""
    if closure.n_linked == 0:
        return np.empty((0, X.shape[1]))
    n_points = closure.indptr[closure.n_linked]
    rows = X[closure.members[:n_points]]
    totals = np.add.reduceat(rows, closure.indptr[: closure.n_linked], axis=0)
    return totals / closure.size[: closure.n_linked, None]


def _first_largest(score: FloatArray) -> int:
    """Return the first of the largest entries, which rounding may set apart.

    The points of a component of two, for one, are equally far from its centroid.
    """
    largest = score.max()
    return int(np.argmax(score >= largest - 1e-12 * abs(largest)))


def _distances(rows: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the distances of rows to one centre, shape (len(rows),)."""
    return np.sqrt(((rows - centre) ** 2).sum(axis=1))


def _weighted_farthest(
    centroids: FloatArray, size: IntArray, n_clusters: int
) -> list[int]:
    """Return the chosen neighbourhoods, largest first."""
    chosen = [0]
    nearest = _distances(centroids, centroids[0])
    while len(chosen) < n_clusters:
        score = size * nearest
        score[chosen] = -1.0  # never again, also when all others lie on a centre
        chosen.append(_first_largest(score))
        nearest = np.minimum(nearest, _distances(centroids, centroids[chosen[-1]]))
    return chosen


def _completing_points(
    X: FloatArray,
    closure: Closure,
    centroids: FloatArray,
    n_clusters: int,
    rule: SeedRule,
) -> list[int]:
    """Return the points that are seeds besides all neighbourhoods."""
    single = closure.component >= closure.n_linked
    apart = single & _is_apart_from_all(closure)[closure.component]
    linked = single & closure.has_cannot_link[closure.component]
    anything = np.ones(len(X), dtype=bool)
    tiers = [(linked, n_clusters), (anything, n_clusters)]
    if rule == "largest" and len(centroids):
        tiers.insert(0, (apart, 1))

    chosen: list[int] = []
    is_free = anything.copy()
    # The mean of X stands in until there is a first centre.
    start = centroids if len(centroids) else X.mean(axis=0, keepdims=True)
    nearest = np.min([_distances(X, centre) for centre in start], axis=0)
    for tier, limit in tiers:
        n_wanted = min(limit, n_clusters - len(centroids) - len(chosen))
        for _ in range(min(n_wanted, np.count_nonzero(tier & is_free))):
            point = _first_largest(np.where(tier & is_free, nearest, -1.0))
            distance = _distances(X, X[point])
            is_first = not chosen and not len(centroids)
            nearest = distance if is_first else np.minimum(nearest, distance)
            is_free[point] = False
            chosen.append(point)
    return chosen


def _is_apart_from_all(closure: Closure) -> BoolArray:
    """Return which components are cannot-linked to every neighbourhood, (g,)."""
    ends = np.concatenate([closure.cannot_link, closure.cannot_link[:, ::-1]])
    to_neighbourhood = ends[ends[:, 1] < closure.n_linked, 0]
    n_links = np.bincount(to_neighbourhood, minlength=closure.n_components)
    return n_links == closure.n_linked
