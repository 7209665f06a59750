"""ITML: the metric nearest to the Euclidean one that keeps to the pairs."""

from numbers import Real

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import issparse
from scipy.spatial.distance import pdist, squareform

from linkwise.baselines._jit_projections import (
    project_block,
    project_in_turn,
    project_root_block,
    project_root_in_turn,
)
from linkwise.baselines._metric_learner import (
    LearnedMetric,
    MetricLearner,
    differences_of,
    lifted,
    span_of,
    within,
)
from linkwise.doors import Interval, StrOptions

# Distinct rows among whose distances the bounds are found: 2 million distances.
_MAX_BOUND_ROWS = 2000
_PERCENTILES = (5, 95)
# From so many columns on, pairs are gone through in blocks of so many.
_WIDE = 48
_BLOCK = 64


class ITML(MetricLearner):
    """Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007).

    Finds the metric A nearest to the identity in LogDet divergence under which
    must-linked rows are at a squared distance of at most u and cannot-linked rows of
    at least l; a pair may break its bound at a price. Then ``transform`` maps a row x
    to A^(1/2) x, so that any method for Euclidean data can follow, as in
    ``make_pipeline(StandardScaler(), ITML(), KMeans())``. Rows are not standardised
    here: put a ``StandardScaler`` in front unless columns are alike.

    All entailed pairs are used, each once: must-links first, then cannot-links, both
    ordered by row. A weight multiplies ``gamma`` for its pair. A sweep costs
    n_pairs * n_features^2, or with fewer rows in pairs than columns
    n_pairs * n_rows^2; pairs of equal rows are left out, and without pairs the metric
    is the identity.

    Parameters
    ----------
    bounds : {"squared", "unsquared"} or pair (u, l), default="squared"
        Bounds on squared distances. "squared": 5th and 95th percentile of the squared
        distances between the rows that stand in pairs, equal rows counted once.
        "unsquared": percentiles of the plain distances, each row's to itself
        included; those bounds are of another unit than what they bound, but
        metric-learn uses them. Of more than 2000 rows 2000 are drawn.
        A pair of numbers, 0 < u <= l, is taken as it is.
    gamma : float, default=1.0
        Price of slack; ``inf`` allows none.
    tol : float, default=1e-3
        Stop when the multipliers change by less, relative to their norm.
    max_iter : int, default=1000
        Limit on the number of sweeps over the pairs.
    max_pairs : int or None, default=20_000
        Limit on the number of entailed pairs. If there are more, so many are drawn at
        random to stand for all, with a :class:`linkwise.ConstraintWarning`. None: no
        limit.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws that ``max_pairs`` and many rows ask for.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The metric A, positive definite.
    components_ : ndarray of shape (n_features, n_features)
        Its symmetric square root.
    bounds_ : ndarray of shape (2,)
        The bounds u and l; NaN if no pairs of different rows tell them.
    objective_ : float
        LogDet divergence of A from the identity, plus the price of the slack that the
        pairs need under A.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether ``tol`` was reached.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MMC : Another metric learned from pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import ITML
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> model = ITML(bounds=(1, 4)).fit(X, constraints=([(0, 1)], [(0, 2)]))
    >>> model.metric_.round(3)
    array([[0.4, 0. ],
           [0. , 1. ]])
    """

    _parameter_constraints = {
        **MetricLearner._parameter_constraints,
        "bounds": [StrOptions({"squared", "unsquared"}), tuple, list, np.ndarray],
        "gamma": [Interval(Real, 0, None, closed="right")],
    }

    def __init__(
        self,
        *,
        bounds="squared",
        gamma=1.0,
        tol=1e-3,
        max_iter=1000,
        max_pairs=20_000,
        on_conflict="raise",
        random_state=None,
    ):
        self.bounds = bounds
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.max_pairs = max_pairs
        self.on_conflict = on_conflict
        self.random_state = random_state

    def _learn(self, X, closure, given):
        pairs, rng = self._drawn_pairs(closure, given)
        is_named = isinstance(self.bounds, str)
        bounds = np.full(2, np.nan) if is_named else _checked(self.bounds)
        differences = differences_of(X, pairs)
        if is_named and len(differences.must_link) + len(differences.cannot_link):
            rows = np.unique(np.concatenate([pairs.must_link, pairs.cannot_link]))
            bounds = _percentiles(X[rows], self.bounds == "squared", rng)
        self.bounds_ = bounds
        basis = span_of(X, pairs)
        learned = nearest_metric(
            within(differences, basis),
            bounds,
            self.gamma,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return learned._replace(metric=lifted(learned.metric, basis))


def nearest_metric(pairs, bounds, gamma, *, tol, max_iter):
    """Return the LearnedMetric of Bregman projections, sweep after sweep."""
    counts = [len(pairs.must_link), len(pairs.cannot_link)]
    differences = np.concatenate([pairs.must_link, pairs.cannot_link])
    weights = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    price = gamma * weights
    sign = np.repeat([1.0, -1.0], counts)
    bound = np.repeat(bounds, counts)
    problem = differences, sign, price, bound
    metric, n_iter, converged = _swept(problem, tol, max_iter)
    if metric is None:
        metric, n_iter, converged = _swept_by_root(problem, tol, max_iter)
    n_features = differences.shape[1]
    excess = _excess(metric, differences, sign, np.repeat(bounds, counts))
    divergence = np.trace(metric) - np.linalg.slogdet(metric)[1] - n_features
    broken = excess > 0
    objective = divergence + price[broken] @ excess[broken]
    return LearnedMetric(metric, float(objective), n_iter, converged)


def _swept(problem, tol, max_iter):
    """Return the metric after all sweeps, their number, and whether it came to rest.

    The metric is None if it collapsed in some direction.
    """
    differences, sign, price, bound = problem
    n_features = differences.shape[1]
    metric = np.eye(n_features)
    if n_features < _WIDE:
        sweep, scratch = project_in_turn, [np.empty(n_features)]
    else:
        sweep, scratch = _project_by_blocks, np.zeros((2, _BLOCK, n_features))
    bound, dual = bound.copy(), np.zeros(len(sign))
    for n_iter in range(1, max_iter + 1):
        old = dual.copy()
        if not sweep(differences, sign, price, metric, bound, dual, *scratch):
            return None, n_iter, False
        if _is_at_rest(dual, old, tol):
            return metric, n_iter, True
    return metric, max_iter, False


def _swept_by_root(problem, tol, max_iter):
    """Do the same by a root of the metric: slower, but it cannot collapse."""
    differences, sign, price, bound = problem
    n_features = differences.shape[1]
    root = np.eye(n_features)
    if n_features < _WIDE:
        sweep, scratch = project_root_in_turn, np.empty((2, n_features))
    else:
        sweep, scratch = _project_root_by_blocks, np.zeros((2, _BLOCK, n_features))
    bound, dual = bound.copy(), np.zeros(len(sign))
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        old = dual.copy()
        sweep(differences, sign, price, root, bound, dual, *scratch)
        converged = _is_at_rest(dual, old, tol)
        n_iter += 1
    return root.T @ root, n_iter, converged


def _project_by_blocks(differences, sign, price, metric, bound, dual, left, right):
    """Do what ``project_in_turn`` does, for wide data."""
    for part in _blocks(len(sign)):
        block = differences[part]
        state = sign[part], price[part], bound[part], dual[part]
        n = project_block(block, block @ metric, *state, left, right)
        if n < 0:
            return False
        _add_product(metric, left[:n], right[:n])
    metric[:] = (metric + metric.T) / 2.0
    return True


def _project_root_by_blocks(differences, sign, price, root, bound, dual, left, right):
    """Do what ``project_root_in_turn`` does, for wide data."""
    for part in _blocks(len(sign)):
        state = sign[part], price[part], bound[part], dual[part]
        n = project_root_block(differences[part] @ root.T, *state, left, right)
        _add_product(root, left[:n], right[:n] @ root)


def _blocks(n_pairs):
    return [slice(i, i + _BLOCK) for i in range(0, n_pairs, _BLOCK)]


def _add_product(matrix, left, right):
    """Add left' right to a matrix, in place."""
    if len(left):
        # For the routine, which goes by columns, the matrix is its transpose.
        dgemm(1.0, right.T, left.T, 1.0, matrix.T, trans_b=True, overwrite_c=True)


def _is_at_rest(dual, old, tol):
    size = np.linalg.norm(dual) + np.linalg.norm(old)
    return bool(size == 0 or np.abs(dual - old).sum() < tol * size)


def _excess(metric, differences, sign, bound):
    """Return the divergence of each pair's squared distance from a broken bound."""
    distance = np.einsum("ij,ij->i", differences @ metric, differences)
    ratio = distance / bound
    return np.where(sign * (distance - bound) > 0, ratio - np.log(ratio) - 1.0, 0.0)


def _percentiles(rows, is_squared, rng):
    """Return the bounds u and l from the distances between distinct rows."""
    rows = rows.toarray() if issparse(rows) else rows
    rows = np.unique(rows, axis=0)
    if len(rows) > _MAX_BOUND_ROWS:
        rows = rows[rng.choice(len(rows), _MAX_BOUND_ROWS, replace=False)]
    if is_squared:
        distances = pdist(rows, "sqeuclidean")
    else:
        distances = squareform(pdist(rows))
    bounds = np.percentile(distances, _PERCENTILES)
    bounds[bounds == 0] = 1e-9
    return bounds


def _checked(bounds):
    """Return the user's bounds as an array."""
    try:
        values = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape == (2,) and np.isfinite(values).all() and 0 < values[0]:
        if values[0] <= values[1]:
            return values
    raise ValueError(
        f'bounds={bounds!r}: give "squared", "unsquared" or two numbers '
        "0 < u <= l, the largest squared distance of must-linked rows and the smallest "
        "of cannot-linked ones."
    )
