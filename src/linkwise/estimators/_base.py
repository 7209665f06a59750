"""What the estimators share: input, scores, prediction, the search with callbacks."""

import warnings
from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from linkwise.constraints import check_constraints
from linkwise.engines import engine_for
from linkwise.estimators._compat import HasMethods, Interval, StrOptions
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import SeveralSets
from linkwise.search import run_search, search_for

# Rows of new data whose kernel values are held at a time.
_PREDICT_BLOCK = 1024


def as_generator(random_state):
    """Return a numpy Generator from scikit-learn's ``random_state``."""
    seed = check_random_state(random_state).randint(2**32, dtype=np.uint64)
    return np.random.default_rng(seed)


class ConstrainedClusterer(ClusterMixin, CallbackSupportMixin, BaseEstimator):
    """Input checks, scores and prediction of the constrained estimators."""

    # Nothing else in a pipeline means these names, so they are asked for by default.
    __metadata_request__fit = {"constraints": True, "sample_id": True}
    __metadata_request__score = {"constraints": True, "sample_id": True}

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "on_conflict": [StrOptions({"raise", "drop"})],
        "random_state": ["random_state"],
    }

    def fit_predict(self, X, y=None, **fit_params):
        """Cluster the rows of X and return their labels.

        Parameters
        ----------
        X, y, **fit_params
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``labels_``.
        """
        return self.fit(X, y, **fit_params).labels_

    def score(
        self, X, y=None, *, constraints=None, sample_weight=None, sample_id=None
    ):
        """Return the share of the pairs that the predicted clusters of X satisfy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict, or what ``fit`` takes in its place.
        y : array-like of shape (n_samples,), optional
            Partial labels, -1 for unknown; they count as pairs.
        constraints : see ``fit``
            Pairs between the rows of X.
        sample_weight : None
            Has no effect on the score; accepted because pipelines pass it on.
        sample_id : array-like of shape (n_samples,), optional
            See ``fit``: pairs that leave X are not counted.

        Returns
        -------
        float
            In [0, 1]; NaN if there is no pair.
        """
        labels = self.predict(X)
        pairs = check_constraints(
            constraints, y, n_samples=len(labels), sample_id=sample_id
        )
        closure = pairs.closure(len(labels), on_conflict=self.on_conflict)
        return closure.score(labels)

    def _check_data(self, X, *, reset):
        """Return X as the layers below take it: an array, CSR, sets of them, objects.

        Several views come as a list of matrices. Kernel functions of the user may take
        any sequence of objects, which is then left as it is.
        """
        if is_several(X):
            n_features = tuple(view.shape[1] for view in X)
            if not reset and n_features != self.n_features_in_:
                raise ValueError(
                    f"X has views of {n_features} features, but "
                    f"{type(self).__name__} was fitted with {self.n_features_in_}."
                )
            checked = SeveralSets(
                _check_matrix(view, f"X[{i}]") for i, view in enumerate(X)
            )
            check_consistent_length(*checked)
            if reset:
                self.n_features_in_ = n_features
            return checked
        if self._takes_objects() and not _is_numeric(X):
            if len(X) == 0:
                raise ValueError("X is empty: 0 objects.")
            return X if isinstance(X, (list, np.ndarray)) else list(X)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )

    def _takes_objects(self):
        return False

    def _check_fit(self, X, y, constraints, sample_weight, sample_id):
        """Return checked data, row weights or None, closure and generator."""
        data = self._check_data(X, reset=True)
        n_samples = _n_rows(data)
        if self.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the {n_samples} rows of X."
            )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight,
                np.empty((n_samples, 0)),
                dtype=np.float64,
                ensure_non_negative=True,
            )
            if not sample_weight.all():
                row = int(np.argmin(sample_weight))
                raise ValueError(
                    f"sample_weight[{row}] = 0: weights must be positive. Leave such "
                    "rows out of fit and predict them afterwards."
                )
        pairs = check_constraints(
            constraints, y, n_samples=n_samples, sample_id=sample_id
        )
        closure = pairs.closure(n_samples, on_conflict=self.on_conflict)
        if closure.n_components < self.n_clusters:
            warnings.warn(
                f"The must-links leave only {closure.n_components} groups of rows for "
                f"n_clusters={self.n_clusters}: some must be broken.",
                ConstraintWarning,
                stacklevel=5,
            )
        return data, sample_weight, pairs, closure, as_generator(self.random_state)

    def _predict_blocks(self, X, nearest):
        """Return the labels of new rows, ``nearest(rows)`` of a block at a time."""
        check_is_fitted(self)
        data = self._check_data(X, reset=False)
        n_rows = _n_rows(data)
        labels = np.empty(n_rows, dtype=np.intp)
        for block in gen_batches(n_rows, _PREDICT_BLOCK):
            labels[block] = nearest(_rows(data, block))
        return labels

    @contextmanager
    def _candidates_reported(self, n_candidates, attributes):
        """Tell scikit-learn's callbacks of candidates, inside the block.

        Yields a function for ``run_search(on_trial=)``; ``attributes(weights)`` returns
        the fitted attributes that go with some weights.
        """
        context = self._init_callback_context(max_subtasks=n_candidates)
        context.call_on_fit_task_begin(estimator=self)
        weights = []

        def on_trial(index, trial, best):
            weights.append(trial.weights)
            task = context.subcontext(task_name="candidate")
            task.call_on_fit_task_begin(estimator=self)
            return task.call_on_fit_task_end(
                estimator=self,
                reconstruction_attributes=(
                    (lambda: attributes(weights[best])) if best >= 0 else None
                ),
            )

        yield on_trial
        context.call_on_fit_task_end(estimator=self, reconstruction_attributes={})

    def _set_attributes(self, attributes):
        """Set fitted attributes; warn if the clustering did not come to rest."""
        for name, value in attributes.items():
            setattr(self, name, value)
        if not self.converged_:
            warnings.warn(
                f"Labels still moved at max_iter={self.max_iter}; raise max_iter.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# Constraints on the parameters of run_candidates.
SEARCH_CONSTRAINTS = {
    "n_candidates": [Interval(Integral, 1, None, closed="left")],
    "search": [
        StrOptions({"auto", "random", "forest", "bagged_linear", "gp"}),
        HasMethods("start"),
    ],
    "tie_break": [StrOptions({"first", "objective"})],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "patience": [Interval(Integral, 1, None, closed="left"), None],
    "n_jobs": [Integral, None],
}


def run_candidates(estimator, evaluator, domain, n_samples, rng, on_trial):
    """Run the search that an estimator's parameters describe.

    Returns the best weights, the trials, and why the search ended.
    """
    method = search_for(
        estimator.search, domain, n_samples, estimator.n_candidates
    )
    result = run_search(
        method.start(domain, estimator.n_candidates, rng),
        evaluator,
        engine_for(estimator.n_jobs),
        n_candidates=estimator.n_candidates,
        patience=estimator.patience,
        time_limit=estimator.time_limit,
        tie_break=estimator.tie_break,
        on_trial=on_trial,
    )
    if result.stopped_by == "interrupt":
        warnings.warn(
            f"Interrupted after {len(result.trials)} of {estimator.n_candidates} "
            "candidates; the best so far is kept.",
            ConstraintWarning,
            stacklevel=5,
        )
    return result.trials[result.best].weights, result.trials, result.stopped_by


def history(trials, names):
    """Return the trials of a search as a table, one row each."""
    table = pd.DataFrame(
        {
            "score": [t.score for t in trials],
            "objective": [t.objective for t in trials],
            "seconds": [t.seconds for t in trials],
        }
    )
    weights = pd.DataFrame(np.array([t.weights for t in trials]), columns=names)
    return pd.concat([table, weights], axis=1)


def is_several(X):
    """Tell whether X is a list of matrices with the same rows."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(getattr(view, "ndim", 0) == 2 for view in X)
    )


def _is_numeric(X):
    """Tell whether X is a matrix, not a sequence of objects of the user's."""
    if issparse(X) or hasattr(X, "columns"):
        return True
    try:
        array = np.asarray(X)
    except ValueError:
        return False  # sequences of different lengths
    return array.ndim <= 2 and array.dtype.kind in "biufc"


def _check_matrix(view, name):
    return check_array(view, accept_sparse="csr", dtype=np.float64, input_name=name)


def _n_rows(data):
    if isinstance(data, SeveralSets):
        data = data[0]
    return data.shape[0] if hasattr(data, "shape") else len(data)


def _rows(data, block):
    if isinstance(data, SeveralSets):
        return SeveralSets(view[block] for view in data)
    return data[block]
