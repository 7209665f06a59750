"""What all estimators share: input checks, scores, prediction block by block."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from linkwise._typing import FloatArray, IntArray, Seed
from linkwise.constraints import (
    Closure,
    Constraints,
    check_constraints,
    feasibility,
    id_values,
)
from linkwise.doors._compat import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    available_if,
    check_sample_weight,
)
from linkwise.doors._data import (
    check_objects,
    check_several,
    check_squares,
    is_numeric,
    is_several,
    n_rows,
    row_marks,
    rows_of,
)
from linkwise.doors._warn import warn_caller
from linkwise.engines import (
    DaskRows,
    SerialEngine,
    engine_here,
    is_dask_collection,
    one_blas_thread,
)
from linkwise.exceptions import ConstraintWarning, InfeasibleConstraintsError

# Rows of new data whose kernel values are held at a time.
_PREDICT_BLOCK = 1024


class FitInput(NamedTuple):
    """What was passed to ``fit``, checked."""

    X: Any  # as given
    y: Any  # as given
    data: Any  # an array, CSR, SeveralSets of them, or a sequence of objects
    sample_weight: FloatArray | None  # (n_samples,)
    pairs: Constraints  # as given; without conflicts where they are dropped
    closure: Closure
    n_clusters: int
    rng: np.random.Generator


class ConstrainedClusterer(
    ClusterMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Input checks, scores and prediction of the constrained estimators."""

    # Nothing else in a pipeline means these names, so they are asked for by default.
    __metadata_request__fit = {"constraints": True, "sample_id": True}
    __metadata_request__score = {"constraints": True, "sample_id": True}

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "on_conflict": [StrOptions({"raise", "drop"})],
        "random_state": ["random_state"],
    }

    # What X may be beside a matrix: "views" (a list of matrices), "dask" (a Dask
    # collection), "float32" (rows in single precision, which are left so).
    _takes: frozenset[str] = frozenset()

    # What a model shows in a notebook links to its page of the guide. Where that lies
    # is told by LINKWISE_DOCS, an address or a folder: it has no public address yet.
    _doc_link_module = "linkwise"

    @property
    def _doc_link_template(self) -> str:
        guide = os.environ.get("LINKWISE_DOCS", "").rstrip("/")
        guide = guide.replace("{", "{{").replace("}", "}}")
        return f"{guide}/api/{{page}}.html" if guide else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        module = type(self).__module__.partition("._")[0]
        module = module.removesuffix(".estimators")  # the package itself has these
        return {"page": f"{module}.{type(self).__name__}"}

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
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

    @available_if(lambda self: hasattr(self, "predict"))
    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: Any = None,
        sample_id: Any = None,
    ) -> float:
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
        pairs = self._check_pairs(constraints, y, len(labels), sample_id)
        return pairs.closure(len(labels), on_conflict=self._settling()).score(labels)

    def _settling(self) -> Literal["raise", "drop"]:
        """Return what a closure does with contradictions: "raise" or "drop"."""
        return "raise" if self.on_conflict == "raise" else "drop"

    def _takes_objects(self) -> bool:
        """Tell whether X may be a sequence of anything."""
        return False

    def _check_data(self, X: Any, *, reset: bool) -> Any:
        """Return X as the layers below take it: an array, CSR, sets of them, objects.

        Several views come as a list of matrices. Kernel functions of the user may take
        any sequence of objects, which is then left as it is.
        """
        is_pairwise = self.__sklearn_tags__().input_tags.pairwise
        is_narrow = is_pairwise or "float32" in self._takes
        if is_dask_collection(X):
            return self._check_dask(X, is_pairwise, reset=reset)
        options = {
            "accept_sparse": False if is_pairwise else "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32] if is_narrow else np.float64,
            "ensure_min_samples": 2 if reset else 1,
        }
        if "views" in self._takes and is_several(X):
            data = check_several(X, **options)
            n_features = tuple(view.shape[1] for view in data)
            if reset:
                self._forget_features()
                self.n_features_in_: Any = n_features
            elif n_features != getattr(self, "n_features_in_", None):
                raise ValueError(
                    f"X has views of {n_features} features, but "
                    f"{type(self).__name__} was fitted with "
                    f"{getattr(self, 'n_features_in_', 'objects')}."
                )
            return data
        if self._takes_objects() and not is_numeric(X):
            if reset:
                self._forget_features()
            return check_objects(X)
        return validate_data(self, X, reset=reset, **options)

    def _check_dask(self, X: Any, is_pairwise: bool, *, reset: bool) -> DaskRows:
        """Return the rows of a Dask collection, which stay where they are."""
        if is_pairwise or "dask" not in self._takes:
            raise TypeError(
                f"X is a Dask collection, which {type(self).__name__} does not take "
                "here: bring the rows into memory with X.compute()."
            )
        rows = DaskRows(X)
        # An empty table of the same columns: names and number are checked, no values.
        empty: Any = np.empty((1, rows.shape[1]))
        names = getattr(X, "columns", None)
        if names is not None:
            empty = pd.DataFrame(empty, columns=names)
        validate_data(self, empty, reset=reset, ensure_all_finite=False)
        if reset:
            rows.check_finite()
        return rows

    def _forget_features(self) -> None:
        """Delete what an earlier fit to other data has left."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _check_pairs(
        self, constraints: Any, y: Any, n_samples: int, sample_id: Any
    ) -> Constraints:
        """Return the pairs as positions, without those that ``on_conflict`` drops."""
        if hasattr(y, "__array__"):
            y = np.asarray(y)
        pairs = check_constraints(
            constraints, y, n_samples=n_samples, sample_id=sample_id
        )
        return pairs.drop_conflicts() if self.on_conflict == "drop" else pairs

    def _check_fit(
        self,
        X: Any,
        y: Any,
        constraints: Any,
        sample_weight: Any,
        sample_id: Any,
        *,
        n_clusters: int | None = None,
        hard: bool = False,
    ) -> FitInput:
        """Return all input of ``fit``, checked.

        Parameters
        ----------
        X, y, constraints, sample_weight, sample_id
            As given to ``fit``.
        n_clusters : int, optional
            Number of clusters, where the parameter does not say it.
        hard : bool, default=False
            Whether every pair is to hold.
        """
        data = self._check_data(X, reset=True)
        if not self.__sklearn_tags__().input_tags.pairwise:
            check_squares(data)
        n_samples = n_rows(data)
        # Methods that find the number themselves take None.
        n_clusters = n_clusters or self.n_clusters or 1
        if n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={n_clusters} is more than the {n_samples} rows of X."
            )
        if sample_weight is not None:
            sample_weight = _check_positive(sample_weight, n_samples)
        pairs = self._check_pairs(constraints, y, n_samples, sample_id)
        names = None if sample_id is None else id_values(sample_id)
        if names is not None and self._settling() == "raise":
            pairs.check_consistent(names)
        closure = pairs.closure(n_samples, on_conflict=self._settling())
        if hard:
            verdict = feasibility(closure, n_clusters, names=names)
            if verdict.status == "infeasible":
                raise InfeasibleConstraintsError(verdict.reason)
        elif closure.n_components < n_clusters:
            warn_caller(
                f"The must-links leave only {closure.n_components} groups of rows for "
                f"n_clusters={n_clusters}: some must be broken.",
                ConstraintWarning,
            )
        rng = as_generator(getattr(self, "random_state", 0))
        self._row_marks = row_marks(data)
        return FitInput(X, y, data, sample_weight, pairs, closure, n_clusters, rng)

    def _is_fitted_to(self, X: Any) -> bool:
        """Tell whether X are the rows of the fit in the same order."""
        marks = getattr(self, "_row_marks", None)
        if marks is None:
            return False
        data = self._check_data(X, reset=False)
        found = row_marks(data)
        return (
            n_rows(data) == len(self.labels_)
            and found.shape == marks.shape
            and np.allclose(found, marks, rtol=1e-6, atol=1e-9)
        )

    @contextmanager
    def _callbacks_told(
        self, given: FitInput, n_parts: int, part_name: str
    ) -> Iterator[Callable[..., bool]]:
        """Tell callbacks that a fit begins and ends; yield what ends a part of it.

        It takes what makes the fitted attributes so far, if anything does, and says
        whether a callback asks to leave out the rest.
        """
        data = {"estimator": self, "X": given.X, "y": given.y}
        context = self._init_callback_context(max_subtasks=n_parts)
        context.call_on_fit_task_begin(**data)

        def end_part(attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
            part = context.subcontext(task_name=part_name)
            part.call_on_fit_task_begin(**data)
            return bool(
                part.call_on_fit_task_end(**data, reconstruction_attributes=attributes)
            )

        yield end_part
        context.call_on_fit_task_end(**data, reconstruction_attributes={})

    def _fit_in_one_task(
        self, given: FitInput, cluster: Callable[..., dict[str, Any]], n_parts: int = 0
    ) -> Self:
        """Set what ``cluster(given)`` returns.

        Of a task of several parts it is ``cluster(given, end_part)``, see above.
        """
        told = self._callbacks_told(given, n_parts, "part")
        with told as end_part, one_blas_thread():
            parts = (end_part,) if n_parts else ()
            self._set_attributes(cluster(given, *parts))
        return self

    def _set_attributes(self, attributes: dict[str, Any]) -> None:
        """Set fitted attributes; warn if the clustering did not come to rest."""
        for name, value in attributes.items():
            setattr(self, name, value)
        if not self.converged_:
            warn_caller(
                f"Labels still moved at max_iter={self.max_iter}; raise max_iter.",
                ConvergenceWarning,
            )

    def _predict_blocks(self, X: Any, nearest: Callable[[Any], IntArray]) -> Any:
        """Return the labels of new rows, ``nearest(rows)`` of a block at a time."""
        check_is_fitted(self, "labels_")
        block_of: Callable[[slice], Any]
        if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) > 0:
            # Checked a block at a time: a mapped file may be larger than memory.
            n_samples, block_of = len(X), lambda b: self._check_data(X[b], reset=False)
        else:
            data = self._check_data(X, reset=False)
            if isinstance(data, DaskRows):
                return data.lazily(partial(_nearest_in_chunk, nearest))
            n_samples, block_of = n_rows(data), lambda b: rows_of(data, b)
        engine = engine_here(getattr(self, "n_jobs", None))
        blocks = gen_batches(n_samples, _PREDICT_BLOCK)
        found = list(engine.map(lambda block: nearest(block_of(block)), blocks))
        return np.concatenate(found).astype(np.intp, copy=False)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _nearest_in_chunk(
    nearest: Callable[[Any], IntArray], rows: FloatArray, where: slice
) -> IntArray:
    """Return the labels of a chunk of rows, block by block."""
    blocks = gen_batches(len(rows), _PREDICT_BLOCK)
    return np.concatenate(list(SerialEngine().map(lambda b: nearest(rows[b]), blocks)))


def attributes_of(result: Any, closure: Closure) -> dict[str, Any]:
    """Return the fitted attributes that describe the result of a clustering."""
    return {
        "labels_": result.labels,
        "n_iter_": result.n_iter,
        "converged_": result.converged,
        "constraint_score_": closure.score(result.labels),
        "n_violated_": closure.n_violated(result.labels),
    }


def as_generator(random_state: Seed) -> np.random.Generator:
    """Return a numpy Generator from scikit-learn's ``random_state``."""
    seed = check_random_state(random_state).randint(2**32, dtype=np.uint64)
    return np.random.default_rng(seed)


def _check_positive(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return the weights of rows, none of them zero."""
    weight = check_sample_weight(
        sample_weight,
        np.empty((n_samples, 0)),
        dtype=np.float64,
        ensure_non_negative=True,
    )
    if not weight.all():
        row = int(np.argmin(weight))
        raise ValueError(
            f"sample_weight[{row}] = 0: weights must be positive. Leave such rows out "
            "of fit and predict them afterwards."
        )
    return weight
