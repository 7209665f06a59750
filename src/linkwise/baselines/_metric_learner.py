"""What metric learners share: pairs as differences of rows, and the transform."""

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from linkwise.baselines._closure_pairs import listed_pairs
from linkwise.constraints import check_constraints
from linkwise.doors import (
    Interval,
    StrOptions,
    as_generator,
    check_squares,
    fit_context,
    warn_caller,
)
from linkwise.engines import one_blas_thread
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import eigen


class Differences(NamedTuple):
    """Pairs as a metric sees them; pairs of equal rows are left out."""

    must_link: np.ndarray  # (m, d), x_i - x_j
    cannot_link: np.ndarray  # (c, d)
    must_link_weight: np.ndarray  # (m,)
    cannot_link_weight: np.ndarray  # (c,)


class LearnedMetric(NamedTuple):
    """A metric and how it was reached."""

    metric: np.ndarray  # (d, d), symmetric, positive semi-definite
    objective: float
    n_iter: int
    converged: bool


class MetricLearner(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Fit a metric A to pairs, then map rows by its square root."""

    # Nothing else in a pipeline means these names, so they are asked for by default.
    __metadata_request__fit = {"constraints": True, "sample_id": True}

    _parameter_constraints = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "on_conflict": [StrOptions({"raise", "drop"})],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Learn the metric from the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of data. They are not standardised here.
        y : array-like of shape (n_samples,), optional
            Partial labels, -1 for unknown; they count as pairs.
        constraints : Constraints, pair of arrays, sparse matrix, table or None
            Must-links and cannot-links; see
            :func:`linkwise.constraints.check_constraints`.
        sample_id : array-like of shape (n_samples,), optional
            Id of each row; pairs then hold ids, and those that leave X are dropped.

        Returns
        -------
        self
        """
        X = self._check_data(X, reset=True)
        check_squares(X)
        if hasattr(y, "__array__"):
            y = np.asarray(y)
        pairs = check_constraints(
            constraints, y, n_samples=X.shape[0], sample_id=sample_id
        )
        if self.on_conflict == "drop":
            pairs = pairs.drop_conflicts()
        closure = pairs.closure(X.shape[0])
        with one_blas_thread():
            learned = self._learn(X, closure, pairs)
            self.components_ = square_root(learned.metric)
        self.metric_ = learned.metric
        self.objective_ = learned.objective
        self.n_iter_ = learned.n_iter
        self.converged_ = learned.converged
        if not self.converged_:
            warn_caller(
                f"The metric of {type(self).__name__} still moved at "
                f"max_iter={self.max_iter}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def transform(self, X):
        """Return the rows in the space where the metric is the Euclidean one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            ``X @ components_.T``.
        """
        check_is_fitted(self)
        X = self._check_data(X, reset=False)
        return safe_sparse_dot(X, self.components_.T, dense_output=True)

    @abstractmethod
    def _learn(self, X, closure, given):
        """Return the LearnedMetric of the closure of given pairs between rows of X."""

    def _drawn_pairs(self, closure, given):
        """Return ListedPairs of the closure, at most ``max_pairs``, and a generator."""
        rng = as_generator(self.random_state)
        return entailed_pairs(closure, given, self.max_pairs, rng), rng

    def _check_data(self, X, *, reset):
        """Return X as an array or CSR of float64."""
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=False,
            dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def entailed_pairs(closure, given, max_pairs, rng):
    """Return the entailed pairs, or ``max_pairs`` of them that stand for all.

    Drawn pairs weigh more, so that each kind keeps its share of an objective.
    """
    n_pairs = closure.n_must_link + closure.n_cannot_link
    if max_pairs is None or n_pairs <= max_pairs:
        return listed_pairs(closure, given, n_pairs, rng)
    warn_caller(
        f"The constraints entail {n_pairs} pairs; max_pairs={max_pairs} of them are "
        "used, drawn at random. Raise max_pairs to use more.",
        ConstraintWarning,
    )
    drawn = listed_pairs(closure, given, max_pairs, rng)
    must = closure.n_must_link / max(len(drawn.must_link), 1)
    cannot = closure.n_cannot_link / max(len(drawn.cannot_link), 1)
    return drawn._replace(
        must_link_weight=must * drawn.must_link_weight,
        cannot_link_weight=cannot * drawn.cannot_link_weight,
    )


def differences_of(X, pairs):
    """Return the Differences of listed pairs between rows of X."""
    must_link, must_weight = _differences(X, pairs.must_link, pairs.must_link_weight)
    cannot_link, cannot_weight = _differences(
        X, pairs.cannot_link, pairs.cannot_link_weight
    )
    return Differences(must_link, cannot_link, must_weight, cannot_weight)


def _differences(X, pairs, weights):
    difference = X[pairs[:, 0]] - X[pairs[:, 1]]
    if issparse(difference):
        difference = difference.toarray()
    differs = difference.any(axis=1)
    return difference[differs], weights[differs]


def span_of(X, pairs):
    """Return an orthonormal basis, in columns, that spans the differences of pairs.

    None if it could be all columns, for as many rows stand in pairs and one more, or if
    there are no pairs.
    """
    points = np.unique(np.concatenate([pairs.must_link, pairs.cannot_link]))
    if not 1 < len(points) <= X.shape[1]:
        return None
    rows = X[points]
    if issparse(rows):
        rows = rows.toarray()
    return np.linalg.qr((rows[1:] - rows[0]).T)[0]


def within(differences, basis):
    """Return Differences by coordinates in a basis; as they are if it is None."""
    if basis is None:
        return differences
    return differences._replace(
        must_link=differences.must_link @ basis,
        cannot_link=differences.cannot_link @ basis,
    )


def lifted(metric, basis, rest=1.0):
    """Return a metric in a basis for all columns: ``rest`` times I off the span."""
    if basis is None:
        return metric
    inside = basis @ (metric - rest * np.eye(len(metric))) @ basis.T
    return rest * np.eye(len(basis)) + (inside + inside.T) / 2.0


def square_root(metric):
    """Return the symmetric L with L'L = metric, for a metric without negative part."""
    if not np.any(metric - np.diag(np.diagonal(metric))):
        return np.diag(np.sqrt(np.diagonal(metric)))
    values, vectors = eigen(metric)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
