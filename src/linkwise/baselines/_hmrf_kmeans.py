"""HMRFKMeans: a hidden Markov random field over pairs, with a learnt distance."""

from numbers import Real

import numpy as np
from scipy.optimize import minimize

from linkwise.baselines._metric_pairs import PairGeometry, linked_pairs
from linkwise.baselines._metric_rounds import (
    EXACT_FARTHEST,
    Farthest,
    alternate,
    as_dense,
    cluster_means,
    farthest_pair,
    group_sums,
    nearest_with_all_used,
    pair_scatter,
    squared_distances,
    within_scatter,
)
from linkwise.baselines._seeds import neighbourhood_seeds
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    fit_context,
)

_TOLERANCE = 1e-5  # least decrease of the objective
_COSINE_BOUNDS = (1e-7, 1.0)  # of feature weights


class HMRFKMeans(ConstrainedClusterer):
    """k-means on a hidden Markov random field (Basu, Bilenko and Mooney 2004).

    A broken must-link costs the distance of its ends, a broken cannot-link what its
    ends lack of the largest distance in the data. The distance has one weight per
    feature, which is learnt under a Rayleigh prior. Rounds of assigning points in turn,
    of centres and of feature weights lower the objective: the distances to the centres,
    plus the costs of broken pairs, less the log prior and, for the Euclidean distance,
    the log determinant. The pairs are those of the closure. Where the largest distance
    changes with the weights, the new weights may be worse than those before, which then
    stay.

    The data are not standardised: put a ``StandardScaler`` in front.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    distance : {"euclidean", "cosine"}, default="euclidean"
        Squared Euclidean distance, or one minus the cosine; both of weighted features.
        With "cosine" no row of X may be zero.
    weight : float, default=1.0
        Factor on the costs of all broken pairs.
    prior_scale : float, default=1.0
        Scale s of the prior, the mode of a feature weight without data.
    logdet : bool, default=True
        Whether the Euclidean objective has the term of the log determinant. Without it
        nothing but the prior keeps the weights from zero. There is none for "cosine".
    max_iter : int, default=100
        Limit on the number of rounds.
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
        Means of the clusters; with "cosine" vectors in their directions.
    metric_ : ndarray of shape (n_features,)
        Weights of the features.
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

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines._hmrf_kmeans import HMRFKMeans
    >>> X = np.array([[0.0, 0], [0, 5], [1, 1], [9, 0], [9, 6], [8, 5]])
    >>> model = HMRFKMeans(2, random_state=0)
    >>> model.fit_predict(X, constraints=([(0, 1), (3, 4)], [(1, 4)]))
    array([0, 0, 0, 1, 1, 1])
    >>> bool(model.metric_[0] > model.metric_[1])
    True
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "distance": [StrOptions({"euclidean", "cosine"})],
        "weight": [Interval(Real, 0, None, closed="left")],
        "prior_scale": [Interval(Real, 0, None, closed="neither")],
        "logdet": ["boolean"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        distance="euclidean",
        weight=1.0,
        prior_scale=1.0,
        logdet=True,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.distance = distance
        self.weight = weight
        self.prior_scale = prior_scale
        self.logdet = logdet
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X and learn feature weights from the pairs.

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
        pairs = linked_pairs(given.pairs, given.closure, self.weight)
        if self.distance == "cosine":
            _check_no_zero_row(rows)
            origin, model_type = 0.0, CosineModel
            start_rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            options = {}
        else:
            origin, model_type = rows.mean(axis=0), EuclideanModel
            start_rows = rows = rows - origin
            options = {"logdet": self.logdet}
        seeds = neighbourhood_seeds(
            start_rows, given.closure, self.n_clusters, "weighted_farthest"
        )
        model = model_type(
            rows, pairs, seeds, given.rng, prior_scale=self.prior_scale, **options
        )
        start = nearest_with_all_used(model.costs())
        result = alternate(model, pairs, start, given.rng, self.max_iter, _is_at_rest)
        return {
            **attributes_of(result, given.closure),
            "objective_": result.objective,
            "cluster_centers_": model.centres + origin,
            "metric_": model.metric,
        }

    def predict(self, X):
        """Return the nearest cluster of each row of X under the learnt distance.

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
        rows, centres = as_dense(rows), self.cluster_centers_
        if self.distance == "cosine":
            _check_no_zero_row(rows)
            cosine = unit_rows(rows, self.metric_) @ unit_rows(centres, self.metric_).T
            return (1.0 - cosine).argmin(axis=1)
        return squared_distances(rows, centres, self.metric_[None]).argmin(axis=1)


def _is_at_rest(objective, new_objective, moved):
    return objective - new_objective < _TOLERANCE


def _check_no_zero_row(rows):
    is_zero = ~rows.any(axis=1)
    if is_zero.any():
        raise ValueError(
            f'X[{int(np.argmax(is_zero))}] is zero: distance="cosine" needs rows with '
            "a direction."
        )


def rayleigh(weights, scale):
    """Return the log prior of feature weights, and its gradient."""
    value = np.log(weights) - weights**2 / (2.0 * scale**2) - 2.0 * np.log(scale)
    return value.sum(), 1.0 / weights - weights / scale**2


class EuclideanModel:
    """Centres and weights of features, and what labels cost under them.

    Attributes
    ----------
    centres : ndarray of shape (n_clusters, d)
        One per cluster.
    metric : ndarray of shape (d,)
        Weights of the features; 1 at first.
    """

    def __init__(
        self, rows, pairs, centres, rng, prior_scale=1.0, logdet=True, learns=True
    ):
        self.rows, self.pairs, self.centres = rows, pairs, centres
        self.metric = np.ones(rows.shape[1])
        self._prior_scale = prior_scale
        self._n_log = len(rows) if logdet else 0
        self._learns = learns
        self._farthest = Farthest(rows, rng)
        self._far = self._farthest_of(self.metric)  # (d,)

    def pair_geometry(self):
        """Return the linked points under the metric."""
        rows = self.rows[self.pairs.points]
        applied = rows * self.metric
        norms = np.einsum("pd,pd->p", applied, rows)[:, None]
        largest = self._far**2 @ self.metric
        return PairGeometry(rows, applied[:, None], norms, np.array([largest]))

    def costs(self, geometry=None):
        """Return the cost (n, k) of each cluster."""
        return squared_distances(self.rows, self.centres, self.metric[None])

    def update(self, labels):
        """Set the centres and weights that suit the labels; return the objective."""
        self.centres = cluster_means(self.rows, labels, len(self.centres))
        terms = self.terms(labels)
        objective = self.objective(terms, self.metric, self._far)
        if self._learns:
            metric = self.best_metric(terms)
            far = self._farthest_of(metric)
            new_objective = self.objective(terms, metric, far)
            if new_objective <= objective:
                self.metric, self._far, objective = metric, far, new_objective
        return objective

    def terms(self, labels):
        """Return what multiplies the weights (d,), and the broken cannot-links."""
        n_clusters, shape = len(self.centres), (1, self.rows.shape[1])
        scatter, cannot = pair_scatter(self.pairs, self.rows, labels, n_clusters, shape)
        scatter += within_scatter(self.rows, self.centres, labels, shape)
        return scatter[0], cannot[0]

    def objective(self, terms, metric, far):
        """Return the objective under some weights; far is the farthest difference."""
        scatter, cannot = terms
        value = metric @ (scatter + cannot * far**2)
        value -= rayleigh(metric, self._prior_scale)[0]
        return value - self._n_log * np.log(metric).sum()

    def best_metric(self, terms):
        """Return the weights of zero gradient as long as the farthest pair stays.

        Of each, a^2 / s^2 + S a - (n + 1) = 0; its positive root is taken in the form
        that does not cancel.
        """
        scatter, cannot = terms
        slope = scatter + cannot * self._far**2
        n, square = self._n_log + 1, self._prior_scale**2
        root = np.sqrt(slope**2 + 4.0 * n / square)
        return np.where(
            slope > 0.0,
            2.0 * n / (np.abs(slope) + root),
            0.5 * square * (np.abs(slope) + root),
        )

    def _farthest_of(self, metric):
        if not self.pairs.has_cannot_link:
            return np.zeros(self.rows.shape[1])
        return self._farthest(metric)


def unit_rows(rows, metric):
    """Return rows whose inner products are the cosines under a metric; 0 stays 0."""
    scaled = rows * np.sqrt(metric)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(norms > 0.0, norms, 1.0)


class CosineModel:
    """The same for one minus the cosine, the squared distance of u / sqrt(2).

    The u are the weighted rows at length 1. Centres are kept in the space of the rows
    and may have any length: only their direction under the metric matters.
    """

    def __init__(self, rows, pairs, centres, rng, prior_scale=1.0, learns=True):
        self.rows, self.pairs, self.centres = rows, pairs, centres
        self.metric = np.ones(rows.shape[1])
        self._prior_scale = prior_scale
        self._learns = learns
        self._sample = None
        if len(rows) > EXACT_FARTHEST:
            self._sample = rng.choice(len(rows), EXACT_FARTHEST, replace=False)
        self._far = self._farthest_of(self.metric)  # two rows

    def pair_geometry(self):
        """Return the linked points, as rows whose squared distances are wanted."""
        rows = unit_rows(self.rows[self.pairs.points], self.metric) / np.sqrt(2.0)
        norms = np.einsum("pd,pd->p", rows, rows)[:, None]
        ends = unit_rows(self.rows[list(self._far)], self.metric)
        largest = 0.5 * ((ends[0] - ends[1]) ** 2).sum()
        return PairGeometry(rows, rows[:, None], norms, np.array([largest]))

    def costs(self, geometry=None):
        """Return the cost (n, k) of each cluster."""
        centres = unit_rows(self.centres, self.metric)
        return 1.0 - unit_rows(self.rows, self.metric) @ centres.T

    def update(self, labels):
        """Set the centres and weights that suit the labels; return the objective."""
        lengths = np.sqrt(self.rows**2 @ self.metric)
        self.centres = group_sums(
            self.rows / lengths[:, None], labels, len(self.centres)
        )
        objective = self.objective(self.metric, labels, self._far)[0]
        if self._learns:
            found = minimize(
                self.objective,
                self.metric,
                args=(labels, self._far),
                jac=True,
                method="L-BFGS-B",
                bounds=[_COSINE_BOUNDS] * len(self.metric),
            )
            metric = np.clip(found.x, *_COSINE_BOUNDS)
            far = self._farthest_of(metric)
            new_objective = self.objective(metric, labels, far)[0]
            if new_objective <= objective:
                self.metric, self._far, objective = metric, far, new_objective
        return objective

    def objective(self, metric, labels, far):
        """Return the objective under some weights, and its gradient; far stays.

        The gradient of cos(u, v) in a weight a is (u v - cos (u^2 + v^2) / 2) / a. In a
        sum over pairs it follows from t, the weighted sum of the partners of each u.
        """
        u = unit_rows(self.rows, metric)
        centre = unit_rows(self.centres, metric)[labels]
        prior, prior_gradient = rayleigh(metric, self._prior_scale)
        value, slope = _cosines(u, centre)
        value, slope = len(u) - value, -slope

        linked = u[self.pairs.points]
        values = np.column_stack([linked, np.ones(len(linked))])
        must, cannot = self.pairs.broken_sums(
            values, labels[self.pairs.points], len(self.centres)
        )
        partner = (must - cannot)[:, :-1]
        cosine = np.einsum("ij,ij->i", linked, partner)
        n_cannot = 0.5 * cannot[:, -1].sum()
        value += 0.5 * (must[:, -1].sum() - cosine.sum()) - n_cannot
        slope -= 0.5 * ((linked * partner).sum(axis=0) - cosine @ linked**2)

        far_value, far_slope = _cosines(u[[far[0]]], u[[far[1]]])
        value += n_cannot * (1.0 - far_value)
        slope -= n_cannot * far_slope
        return value - prior, slope / metric - prior_gradient

    def _farthest_of(self, metric):
        if not self.pairs.has_cannot_link:
            return 0, 0
        return farthest_pair(unit_rows(self.rows, metric), self._sample)


def _cosines(u, v):
    """Return the sum of the cosines of unit rows, and its gradient times the weights.

    A row of v may be 0, and then has no part in either.
    """
    cosine = np.einsum("ij,ij->i", u, v)
    gradient = (u * v).sum(axis=0) - 0.5 * cosine @ (u**2 + v**2)
    return cosine.sum(), gradient
