"""MMC: cannot-linked rows far apart, must-linked rows close in sum."""

from numbers import Integral, Real

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, issparse

from linkwise.baselines._metric_learner import (
    LearnedMetric,
    MetricLearner,
    differences_of,
    lifted,
    span_of,
    within,
)
from linkwise.baselines._psd_projections import alternate, nearest_metric_within
from linkwise.doors import Interval, StrOptions

_FIRST_STEP = 0.1
# A column in which no must-linked rows differ, or a pair of cannot-linked rows at no
# distance, would make sums infinite. Such values count as this share of what they are
# compared with: the cannot-links of the column, the other distances.
_FLOOR = 1e-9


class MMC(MetricLearner):
    """Mahalanobis metric for clustering (Xing, Ng, Jordan, Russell 2003).

    Finds a metric A under which cannot-linked rows are far from each other while the
    squared distances of must-linked rows stay small in sum. Then ``transform`` maps a
    row x to A^(1/2) x, so that any method for Euclidean data can follow. Rows are not
    standardised here: put a ``StandardScaler`` in front unless columns are alike.

    The full metric maximises log(sum over cannot-links of the distance) subject to
    sum over must-links of the squared distance <= t, by steps along the gradient that
    are brought back by projections. The diagonal one minimises
    sum over must-links of the squared distance - c * log(sum over cannot-links of the
    distance), to optimality; c sets its scale and nothing else.

    All entailed pairs are used, each once, and a weight multiplies the term of its
    pair. Without must-links or without cannot-links between different rows the metric
    is the identity. A column in which no must-linked rows differ, though cannot-linked
    ones do, gets a very large weight in the diagonal metric: the optimum is infinite.

    Parameters
    ----------
    diagonal : bool, default=False
        Whether the metric is a weight for each column only.
    t : float or None, default=None
        Limit on the sum over must-links, of the full metric. None: a hundredth of the
        sum under the Euclidean metric.
    c : float, default=1.0
        Weight of the cannot-links, of the diagonal metric: its sum over must-links is
        c / 2.
    tol : float, default=1e-3
        The full metric stops at a step of less, relative to the metric.
    max_iter : int, default=100
        Limit on the number of steps; the diagonal metric may take ten times as many,
        cheaper ones.
    projection : {"exact", "alternating"}, default="exact"
        How a step of the full metric is brought back. "exact": to the nearest metric
        that keeps to t. "alternating": by projections on the half space of t and on the
        positive semi-definite cone in turn, until t is passed by less than 1%. That is
        the published way, and metric-learn's; it comes to about the same objective and
        often needs a hundred times the time.
    max_projections : int, default=10_000
        Limit on the number of alternating projections of one step.
    max_pairs : int or None, default=100_000
        Limit on the number of entailed pairs. If there are more, so many are drawn at
        random to stand for all, with a :class:`linkwise.ConstraintWarning`. None: no
        limit.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw that ``max_pairs`` asks for.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The metric A, positive semi-definite.
    components_ : ndarray of shape (n_features, n_features)
        Its symmetric square root.
    objective_ : float
        What the full metric has maximised or the diagonal one minimised; NaN if one
        kind of pairs is missing.
    n_iter_ : int
        Number of steps; 0 if one kind of pairs is missing.
    converged_ : bool
        Whether ``tol``, or the optimum of the diagonal metric, was reached.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ITML : Another metric learned from pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import MMC
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [5.0, 5.0], [7.0, 6.0]])
    >>> model = MMC(diagonal=True).fit(X, constraints=([(0, 1)], [(2, 3)]))
    >>> model.metric_.round(3)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """

    _parameter_constraints = {
        **MetricLearner._parameter_constraints,
        "diagonal": ["boolean"],
        "t": [Interval(Real, 0, None, closed="neither"), None],
        "c": [Interval(Real, 0, None, closed="neither")],
        "projection": [StrOptions({"exact", "alternating"})],
        "max_projections": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        diagonal=False,
        t=None,
        c=1.0,
        tol=1e-3,
        max_iter=100,
        projection="exact",
        max_projections=10_000,
        max_pairs=100_000,
        on_conflict="raise",
        random_state=None,
    ):
        self.diagonal = diagonal
        self.t = t
        self.c = c
        self.tol = tol
        self.max_iter = max_iter
        self.projection = projection
        self.max_projections = max_projections
        self.max_pairs = max_pairs
        self.on_conflict = on_conflict
        self.random_state = random_state

    def _learn(self, X, closure, given):
        pairs, _ = self._drawn_pairs(closure, given)
        differences = differences_of(X, pairs)
        if len(differences.must_link) == 0 or len(differences.cannot_link) == 0:
            return LearnedMetric(np.eye(X.shape[1]), np.nan, 0, True)
        if self.diagonal:
            return diagonal_metric(differences, self.c, max_iter=10 * self.max_iter)
        basis = span_of(X, pairs)
        differences = within(differences, basis)
        return full_metric(
            differences,
            _apart(X, pairs.cannot_link, differences, basis),
            self.t,
            self._project,
            tol=self.tol,
            max_iter=self.max_iter,
            basis=basis,
        )

    def _project(self, metric, scatter, limit):
        """Return a metric brought back, and whether it keeps to the limit."""
        if self.projection == "exact":
            return nearest_metric_within(metric, scatter, limit), True
        return alternate(metric, scatter, limit, self.max_projections)


def diagonal_metric(pairs, c, *, max_iter):
    """Return the LearnedMetric of the convex problem in one weight per column.

    The objective is s'w - c log f(w), where f is homogeneous of degree 1/2. So its
    minimum along a ray is where s'w = c / 2, and with v = s * w only the direction of v
    is unknown, whatever c and the units of the columns.
    """
    weights = pairs.cannot_link_weight / pairs.cannot_link_weight.sum()
    scatter = pairs.must_link_weight @ pairs.must_link**2
    scatter = np.maximum(scatter, _FLOOR * (weights @ pairs.cannot_link**2))
    scatter[scatter == 0] = 1.0
    squares = pairs.cannot_link**2 / scatter
    # A common factor of the squares moves no optimum.
    squares /= squares.max()
    floor = _FLOOR**2 * squares.max(axis=1)

    def objective(v):
        distance = np.sqrt(squares @ v + floor)
        total = weights @ distance
        slope = (weights / distance) @ squares / (2.0 * total)
        return v.sum() - np.log(total), 1.0 - slope

    n_features = len(scatter)
    result = minimize(
        objective,
        np.full(n_features, 0.5 / n_features),
        method="L-BFGS-B",
        jac=True,
        bounds=[(0.0, None)] * n_features,
        options={"maxiter": max_iter, "maxfun": 10**6, "ftol": 0.0, "gtol": 1e-9},
    )
    weight = result.x * (c / 2.0 / result.x.sum()) / scatter
    metric = np.diag(weight)
    apart = Apart(pairs.cannot_link, pairs.cannot_link_weight)
    value = c / 2.0 - c * _log_spread(metric, apart)
    converged = result.nit < max_iter
    return LearnedMetric(metric, float(value), int(result.nit), converged)


def full_metric(pairs, apart, t, project, *, tol, max_iter, basis=None):
    """Return the LearnedMetric of gradient steps, each followed by ``project``.

    Pairs are given by coordinates in a ``basis``, if there is one: off its span the
    metric is a multiple of the Euclidean one and only counts in its norm.
    """
    must = pairs.must_link
    n_rest, rest = 0 if basis is None else basis.shape[0] - basis.shape[1], 1.0
    scatter = (must * pairs.must_link_weight[:, None]).T @ must
    limit = np.trace(scatter) / 100.0 if t is None else t
    metric, best, value, step = np.eye(len(scatter)), None, -np.inf, _FIRST_STEP
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        metric, fits = project(metric, scatter, limit)
        if best is None and not fits:
            # Both sets hold this; later rounds go on from it.
            rest = limit / np.vdot(scatter, metric)
            metric, fits = rest * metric, True
        new_value = _log_spread(metric, apart)
        if fits and (best is None or new_value > value):
            step *= 1.05
            best, value = metric, new_value
            direction = _ascent(best, apart, scatter)
        else:
            step /= 2.0
        metric = best + step * direction
        moved = step * np.linalg.norm(direction)
        size = np.hypot(np.linalg.norm(best), rest * n_rest**0.5)
        converged = bool(moved < tol * size)
        n_iter += 1
    return LearnedMetric(lifted(best, basis, rest), float(value), n_iter, converged)


class Apart:
    """Cannot-linked rows, by their differences."""

    def __init__(self, differences, weight):
        self.differences = differences  # (c, d)
        self.weight = weight  # (c,)

    def distances(self, metric):
        """Return the distance of each pair."""
        differences = self.differences
        squares = np.einsum("ij,ij->i", differences @ metric, differences)
        return np.sqrt(np.maximum(squares, 0.0))

    def scatter(self, factors):
        """Return the sum of the outer products of differences, each with a factor."""
        return (self.differences * factors[:, None]).T @ self.differences


class ApartRows:
    """The same by the rows, of which there are far fewer."""

    def __init__(self, rows, pairs, weight):
        self.rows = rows - rows.mean(axis=0)  # (m, d)
        self.first, self.second = pairs.T  # places among the rows
        self.weight = weight  # (c,)

    def distances(self, metric):
        """Return the distance of each pair."""
        inner = self.rows @ metric @ self.rows.T
        own = inner.diagonal()
        squares = own[self.first] + own[self.second]
        squares -= 2.0 * inner[self.first, self.second]
        return np.sqrt(np.maximum(squares, 0.0))

    def scatter(self, factors):
        """Return the sum of the outer products of differences, each with a factor."""
        m = len(self.rows)
        ties = coo_array((factors, (self.first, self.second)), shape=(m, m)).toarray()
        ties += ties.T
        return self.rows.T @ (ties.sum(axis=1)[:, None] * self.rows - ties @ self.rows)


def _apart(X, cannot_link, differences, basis):
    """Return cannot-links in the form that costs less."""
    n_pairs, d = differences.cannot_link.shape
    points, place = np.unique(cannot_link, return_inverse=True)
    if len(points) ** 2 > n_pairs * d:
        return Apart(differences.cannot_link, differences.cannot_link_weight)
    rows = X[points]
    rows = rows.toarray() if issparse(rows) else rows
    places = place.reshape(cannot_link.shape)
    differs = (rows[places[:, 0]] != rows[places[:, 1]]).any(axis=1)
    if basis is not None:
        rows = (rows - rows[0]) @ basis
    return ApartRows(rows, places[differs], differences.cannot_link_weight)


def _log_spread(metric, apart):
    """Return the logarithm of the summed distances of cannot-linked rows."""
    total = apart.weight @ apart.distances(metric)
    return np.log(total) if total > 0 else -np.inf


def _ascent(metric, apart, scatter):
    """Return the unit direction of ascent that keeps the sum over must-links.

    Zero if there is none, as with a single column.
    """
    distance = apart.distances(metric)
    if not distance.any():
        return np.zeros_like(metric)
    distance = np.maximum(distance, _FLOOR * distance.max())
    gradient = apart.scatter(apart.weight / distance)
    gradient /= np.linalg.norm(gradient)
    across = scatter / np.linalg.norm(scatter)
    direction = gradient - np.vdot(gradient, across) * across
    length = np.linalg.norm(direction)
    return direction / length if length > _FLOOR else np.zeros_like(metric)
