"""Data as users pass it, and as the layers below take it."""

import zlib
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from linkwise._typing import FloatArray, IntArray
from linkwise.engines import DaskRows
from linkwise.kernels import SeveralSets

# Rows by which data are known again.
_N_MARKED = 256


def is_several(X: Any) -> bool:
    """Tell whether X is a list of matrices with the same rows."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(getattr(view, "ndim", 0) == 2 for view in X)
    )


def is_numeric(X: Any) -> bool:
    """Tell whether X is a matrix, not a sequence of objects of the user's."""
    if issparse(X) or hasattr(X, "columns"):
        return True
    try:
        array = np.asarray(X)
    except ValueError:
        return False  # sequences of different lengths
    return array.ndim <= 2 and array.dtype.kind in "biufc"


def check_several(X: Any, **options: Any) -> SeveralSets:
    """Return several matrices, each checked, with the same number of rows."""
    checked = SeveralSets(
        check_array(view, input_name=f"X[{i}]", **options) for i, view in enumerate(X)
    )
    check_consistent_length(*checked)
    return checked


def check_objects(X: Any) -> Any:
    """Return a sequence of objects that can be sliced."""
    if len(X) == 0:
        raise ValueError("X is empty: 0 objects.")
    return X if isinstance(X, (list, np.ndarray)) else list(X)


def check_squares(data: Any) -> None:
    """Raise if sums of squared distances between the rows of a matrix may overflow."""
    if not (issparse(data) or isinstance(data, np.ndarray)) or data.dtype.kind != "f":
        return
    values = data.data if issparse(data) else data
    largest = max(-float(values.min()), float(values.max())) if values.size else 0.0
    # Two rows are at most twice as far apart as the longer of them is long.
    limit = np.sqrt(np.finfo(np.float64).max / (4.0 * data.shape[0] * data.shape[1]))
    if largest > limit:
        raise ValueError(
            f"X has a value of size {largest:.3g}, so squared distances of its rows "
            f"may be infinite: sizes up to {limit:.3g} are allowed. Divide X by a "
            "number, or put a MaxAbsScaler in front."
        )


def n_rows(data: Any) -> int:
    """Return the number of rows of checked data."""
    if isinstance(data, SeveralSets):
        data = data[0]
    return data.shape[0] if hasattr(data, "shape") else len(data)


def rows_of(data: Any, rows: slice | IntArray) -> Any:
    """Return some rows of checked data, given as a slice or an array of positions."""
    if isinstance(data, SeveralSets):
        return SeveralSets(view[rows] for view in data)
    if isinstance(data, list) and not isinstance(rows, slice):
        return [data[i] for i in rows]
    return data[rows]


def row_marks(data: Any) -> Any:
    """Return numbers by which checked data are known again, None if there are none.

    They are sums over some rows, which rounding hardly changes; of objects, checksums
    of what they look like in print.
    """
    if isinstance(data, SeveralSets):
        return np.concatenate([row_marks(view) for view in data], axis=1)
    if isinstance(data, DaskRows):
        return None
    n_samples = n_rows(data)
    some = rows_of(data, np.arange(0, n_samples, -(-n_samples // _N_MARKED)))
    if isinstance(some, list) or some.dtype.kind not in "biuf":
        printed = (repr(value).encode() for value in some)
        return np.array([[float(zlib.crc32(text))] for text in printed])
    some = some.astype(np.float64)
    places = np.arange(1.0, some.shape[1] + 1.0)
    return np.stack([some @ np.ones(len(places)), some @ places], axis=1)


def row_shares(
    labels: IntArray, sample_weight: FloatArray, n_clusters: int
) -> csr_array:
    """Return the part of each row in each centre, sparse, (n_samples, n_clusters)."""
    mass = np.bincount(labels, weights=sample_weight, minlength=n_clusters)
    return csr_array(
        (sample_weight / mass[labels], labels, np.arange(len(labels) + 1)),
        shape=(len(labels), n_clusters),
    )
