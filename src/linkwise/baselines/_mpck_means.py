"""MPCKMeans: k-means with priced pairs that learns a metric for its clusters."""

from numbers import Integral, Real

import numpy as np

from linkwise.baselines._metric_pairs import PairGeometry, linked_pairs
from linkwise.baselines._metric_rounds import (
    Farthest,
    alternate,
    apply_metric,
    as_dense,
    cluster_means,
    log_det,
    nearest_with_all_used,
    pair_scatter,
    squared_distances,
    within_scatter,
)
from linkwise.baselines._seeds import several_seeds
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    fit_context,
)
from linkwise.kernels import eigen

_TOLERANCE = 1e-5  # least relative change of the objective
_FLOOR = 1e-9  # of a scatter, in its own units (diagonal) or of its trace (full)


class MPCKMeans(ConstrainedClusterer):
    """Metric pairwise constrained k-means (Bilenko, Basu and Mooney 2004).

    A broken must-link costs the squared distance of its ends, so far ones are dear; a
    broken cannot-link costs what its ends lack of the farthest two points of the data,
    so close ones are dear. Rounds of assigning points in turn, of centres and of the
    metric in closed form lower the objective: the squared distances to the centres,
    less the log determinants of the metric, plus the costs of broken pairs. The pairs
    are those of the closure. Where the farthest two points change with the metric, its
    closed form may be worse than the metric before, which then stays.

    The data are not standardised: put a ``StandardScaler`` in front.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : {"single", "per_cluster"}, default="single"
        One metric for all clusters, or one for each.
    covariance : {"diagonal", "full"}, default="diagonal"
        Whether a metric weighs features, or is a full matrix.
    weight : float, default=1.0
        Factor on the costs of all broken pairs.
    n_init : int, default=10
        Number of runs: the first from the must-link groups, further ones from random
        rows (k-means++). The one with the lowest objective is kept.
    max_iter : int, default=100
        Limit on the number of rounds of a run.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders in which points are visited, and of the sample in which the
        farthest two of more than 2000 points are looked for.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    metric_ : ndarray
        Squared distances are (x - y)' A (x - y): the diagonal of A, shape
        (n_features,), or A, shape (n_features, n_features); with
        ``metric="per_cluster"`` one for each cluster along the first axis.
    objective_ : float
        The objective at the end.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether it came to rest before ``max_iter``.
    constraint_score_ : float
        Share of the pairs of the closure that hold; NaN without pairs.
    n_violated_ : int
        Number of pairs of the closure that do not hold.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Pairs of equal weight are summed up by must-link group, so that closures of millions
    of pairs cost little; memory grows with groups in pairs * clusters * features. Pairs
    of different weights are listed one by one.

    A feature without scatter inside clusters gets a very large weight, and so does
    every feature of a cluster of one point under ``metric="per_cluster"``.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines._mpck_means import MPCKMeans
    >>> X = np.array([[0.0, 0], [0, 5], [1, 1], [9, 0], [9, 6], [8, 5]])
    >>> model = MPCKMeans(2, random_state=0)
    >>> model.fit_predict(X, constraints=([(0, 1), (3, 4)], [(1, 4)]))
    array([0, 0, 0, 1, 1, 1])
    >>> bool(model.metric_[0] > model.metric_[1])
    True
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "metric": [StrOptions({"single", "per_cluster"})],
        "covariance": [StrOptions({"diagonal", "full"})],
        "weight": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="single",
        covariance="diagonal",
        weight=1.0,
        n_init=10,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.covariance = covariance
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X and learn a metric from the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data. A sparse matrix is made dense.
        y, constraints, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, None, sample_id)
        return self._fit_in_one_task(given, self._cluster)

    def _cluster(self, given):
        """Return the fitted attributes."""
        rows = as_dense(given.data)
        origin = rows.mean(axis=0)
        rows = rows - origin
        starts = several_seeds(
            rows,
            given.closure,
            self.n_clusters,
            "weighted_farthest",
            self.n_init,
            given.rng,
        )
        # One sample for the farthest pair, so that the objectives can be compared.
        sample = given.rng.integers(2**63)
        runs = [self._run(rows, seeds, sample, given) for seeds in starts]
        model, result = min(runs, key=lambda run: run[1].objective)
        single = self.metric == "single"
        return {
            **attributes_of(result, given.closure),
            "objective_": result.objective,
            "cluster_centers_": model.centres + origin,
            "metric_": model.metric[0] if single else model.metric,
        }

    def _run(self, rows, seeds, sample, given):
        """Return the centres and metrics of one run, and its result."""
        pairs = linked_pairs(given.pairs, given.closure, self.weight)
        shape = self._metric_shape(rows.shape[1])
        sample_rng = np.random.default_rng(sample)
        model = MetricModel(rows, pairs, seeds, shape, sample_rng)
        start = nearest_with_all_used(
            squared_distances(rows, model.centres, model.metric)
        )
        result = alternate(model, pairs, start, given.rng, self.max_iter, _is_at_rest)
        return model, result

    def _metric_shape(self, n_features):
        n_metrics = 1 if self.metric == "single" else self.n_clusters
        n_axes = 1 if self.covariance == "diagonal" else 2
        return (n_metrics, *[n_features] * n_axes)

    def predict(self, X):
        """Return the cluster of each row of X.

        A row goes to the cluster with the smallest squared distance to the centre,
        less the log determinant of the metric, all under the metric of the cluster.
        Pairs play no part, so training rows may change their cluster.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels in ``range(n_clusters)``.
        """
        return self._predict_blocks(X, self._nearest_centres)

    def _nearest_centres(self, rows):
        metric = self.metric_[None] if self.metric == "single" else self.metric_
        distances = squared_distances(as_dense(rows), self.cluster_centers_, metric)
        return (distances - log_det(metric)).argmin(axis=1)


def _is_at_rest(objective, new_objective, moved):
    change = abs(objective - new_objective)
    return not moved or change < _TOLERANCE * abs(objective)


class MetricModel:
    """Centres and metrics, and what labels cost under them.

    Attributes
    ----------
    centres : ndarray of shape (n_clusters, d)
        One per cluster.
    metric : ndarray of shape (m, d) or (m, d, d)
        One for all clusters or one for each; the identity at first.
    """

    def __init__(self, rows, pairs, centres, metric_shape, rng, learns=True):
        self.rows, self.pairs, self.centres = rows, pairs, centres
        d = metric_shape[1]
        unit = np.ones(d) if len(metric_shape) == 2 else np.eye(d)
        self.metric = np.tile(unit, (metric_shape[0],) + (1,) * unit.ndim)
        self._learns = learns
        self._farthest = Farthest(rows, rng)
        self._far = self._farthest_of(self.metric)  # (m, d)

    def pair_geometry(self):
        """Return the linked points under the metrics."""
        rows = self.rows[self.pairs.points]
        applied = np.stack([apply_metric(rows, m) for m in self.metric], axis=1)
        norms = np.einsum("pmd,pd->pm", applied, rows)
        return PairGeometry(rows, applied, norms, self._lengths(self.metric, self._far))

    def costs(self, geometry):
        """Return the cost (n, k) of each cluster, half of must-link distances included.

        See ``sweep_components``; with one metric that half is the same for all labels.
        """
        costs = squared_distances(self.rows, self.centres, self.metric)
        costs -= log_det(self.metric)
        if len(self.metric) > 1:
            count = self.pairs.must_sums(np.ones((len(geometry.rows), 1)))
            partner = self.pairs.must_sums(geometry.rows)
            total = count * geometry.norms + self.pairs.must_sums(geometry.norms)
            total -= 2.0 * np.einsum("pmd,pd->pm", geometry.applied, partner)
            costs[self.pairs.points] += 0.5 * total
        return costs

    def update(self, labels):
        """Set the centres and metrics that suit the labels; return the objective."""
        n_clusters = len(self.centres)
        self.centres = cluster_means(self.rows, labels, n_clusters)
        shape = self.metric.shape
        scatter, cannot = pair_scatter(self.pairs, self.rows, labels, n_clusters, shape)
        scatter += within_scatter(self.rows, self.centres, labels, shape)
        mass = np.bincount(labels % len(self.metric), minlength=len(self.metric))
        objective = self._objective(scatter, cannot, mass, self.metric, self._far)
        if not self._learns:
            return objective.sum()
        # The objective is a sum of one part for each metric: each has its own guard.
        metric = best_metric(scatter + _outer(cannot, self._far, len(shape)), mass)
        far = self._farthest_of(metric)
        new_objective = self._objective(scatter, cannot, mass, metric, far)
        better = new_objective <= objective
        self.metric[better], self._far[better] = metric[better], far[better]
        return np.where(better, new_objective, objective).sum()

    def _objective(self, scatter, cannot, mass, metric, far):
        """Return the part of each metric in the objective, shape (m,)."""
        within = (metric * scatter).reshape(len(metric), -1).sum(axis=1)
        return within + cannot * self._lengths(metric, far) - mass * log_det(metric)

    def _farthest_of(self, metric):
        """Return the difference of the farthest points under each metric, (m, d)."""
        if not self.pairs.has_cannot_link:
            return np.zeros((len(metric), self.rows.shape[1]))
        return np.stack([self._farthest(m) for m in metric])

    def _lengths(self, metric, far):
        """Return the squared length of each difference under its metric, (m,)."""
        return np.array(
            [f @ apply_metric(f, m) for f, m in zip(far, metric, strict=True)]
        )


def best_metric(scatter, mass):
    """Return the metrics that minimise tr(A S) - mass log det A, shape of scatter."""
    if scatter.ndim == 2:
        return mass[:, None] / np.maximum(scatter, _FLOOR)
    return np.stack([m * _inverse(s) for m, s in zip(mass, scatter, strict=True)])


def _inverse(scatter):
    """Return the inverse of a symmetric matrix, made positive definite if need be."""
    values, vectors = eigen(scatter)
    trace = values.sum()
    floor = _FLOOR * trace if trace > 0.0 else _FLOOR
    if values[0] <= 1e-12 * values[-1]:  # singular or indefinite
        values = values + floor
    inverse = (vectors / np.maximum(values, floor)) @ vectors.T
    return 0.5 * (inverse + inverse.T)


def _outer(weight, far, n_axes):
    """Return the weighted squares of differences, as scatter, (m, d) or (m, d, d)."""
    if n_axes == 2:
        return weight[:, None] * far**2
    return weight[:, None, None] * far[:, :, None] * far[:, None, :]
