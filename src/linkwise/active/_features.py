"""Rows as estimators take them, and as rows are compared."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from linkwise._typing import FloatArray
from linkwise.doors import is_several

# Columns from which on rows of one length are taken for embeddings.
_WIDE = 50
_N_COMPONENTS = 50


def as_features(
    X: Any, id_column: str | None, ids: Any = None, features: Any = None
) -> tuple[Any, Any, list[str]]:
    """Return ids of the rows, what an estimator is given, and names of the columns.

    ``features`` stand in the place of X for the estimator.
    """
    if features is not None:
        n_rows, n_given = map(_n_rows, (X, features))
        if n_rows != n_given:
            raise ValueError(f"features has {n_given} rows, and X has {n_rows}.")
        if id_column is None:
            return as_features(features, None, ids)
        if ids is not None:
            raise ValueError("Give ids or id_column, not both.")
        names = _as_ids(_column_of(X, id_column), f"id_column={id_column!r}")
        return names, *as_features(features, None)[1:]
    if ids is not None:
        if id_column is not None:
            raise ValueError("Give ids or id_column, not both.")
        given = pd.Series(ids, name="ids")
        if len(given) != _n_rows(X):
            raise ValueError(f"ids has {len(given)} entries for {_n_rows(X)} rows.")
        _, X, columns = as_features(X, None)
        return _as_ids(given, "ids"), X, columns
    if not isinstance(X, pd.DataFrame):
        if id_column is not None:
            raise ValueError(f"id_column={id_column!r} needs a data frame.")
        if is_several(X):
            checked = [_checked(view) for view in X]
            check_consistent_length(*checked)
            width = sum(view.shape[1] for view in checked)
            return np.arange(_n_rows(checked)), checked, list(map(str, range(width)))
        X = _checked(X)
        return np.arange(X.shape[0]), X, [str(at) for at in range(X.shape[1])]
    if id_column is None:
        ids = np.arange(len(X))
    else:
        ids = _as_ids(_column_of(X, id_column), f"id_column={id_column!r}")
        X = X.drop(columns=id_column)
    columns = [str(name) for name in X.columns]
    is_plain = all(pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
    if is_plain and not X.isna().any(axis=None):
        # A frame: models keep the names of columns.
        return ids, X.astype(np.float64).set_axis(columns, axis=1), columns
    from linkwise.tables import TablePreparation

    return ids, TablePreparation().fit_transform(X), columns


def _checked(X: Any) -> Any:
    return check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_min_samples=2,
        input_name="X",
    )


def _n_rows(X: Any) -> int:
    return int((X[0] if is_several(X) else X).shape[0])


def side_by_side(X: Any) -> Any:
    """Return several views as one matrix; one as it is."""
    if not is_several(X):
        return X
    is_sparse = any(map(sparse.issparse, X))
    return sparse.csr_array(sparse.hstack(X)) if is_sparse else np.hstack(X)


def _column_of(table: Any, id_column: str) -> "pd.Series[Any]":
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"id_column={id_column!r} needs a data frame.")
    if id_column not in table.columns:
        raise ValueError(f"id_column={id_column!r} is no column of the table.")
    return table[id_column]


def _as_ids(names: "pd.Series[Any]", what: str) -> Any:
    if names.isna().any() or names.duplicated().any():
        raise ValueError(f"{what} must name every row, each once.")
    if pd.api.types.is_integer_dtype(names):
        if int(names.max()) > np.iinfo(np.int64).max:
            raise ValueError(
                f"{what}: {names.max()} is too large for a whole number of 64 bits; "
                "give texts."
            )
        return names.to_numpy(dtype=np.int64)
    found = names.to_numpy(dtype=object, copy=True)
    for row, name in enumerate(found):
        name = name.item() if isinstance(name, np.generic) else name
        is_kept = isinstance(name, str | int | float) and name not in (np.inf, -np.inf)
        if not is_kept:
            raise ValueError(
                f"{what}: {name!r} is neither a number nor a text; allowed are numbers "
                "and texts."
            )
        found[row] = name
    return found


def compared(X: Any) -> FloatArray:
    """Return rows in which near ones are alike: standardised, or of one length.

    Of several views each counts alike.
    """
    if is_several(X):
        views = [compared(view) for view in X]
        spreads = [float(np.sqrt(view.var(axis=0).sum())) for view in views]
        return np.hstack(
            [view / (own or 1.0) for view, own in zip(views, spreads, strict=True)]
        )
    if sparse.issparse(X):
        from sklearn.decomposition import TruncatedSVD
        from sklearn.preprocessing import normalize

        rank = min(_N_COMPONENTS, min(X.shape) - 1)
        X = normalize(X.astype(np.float64))
        if rank >= 1:
            X = TruncatedSVD(rank, random_state=0).fit_transform(X)
        else:
            X = X.toarray()
        return np.asarray(X, dtype=np.float32)
    X = np.asarray(X, dtype=np.float32)
    if are_embeddings(X):
        return X
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def are_embeddings(X: Any) -> bool:
    """Tell whether rows, or a view of them, are long and of one length.

    So are embeddings.

    Examples
    --------
    >>> import numpy as np
    >>> are_embeddings(np.eye(60)), are_embeddings(np.eye(10))
    (True, False)
    """
    if is_several(X):
        return any(map(are_embeddings, X))
    if sparse.issparse(X) or X.shape[1] < _WIDE:
        return False
    lengths = np.linalg.norm(np.asarray(X, dtype=np.float32), axis=1)
    return bool(np.ptp(lengths) < 1e-2 * max(lengths.mean(), 1e-30))
