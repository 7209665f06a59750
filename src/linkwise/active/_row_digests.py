"""What is in rows, as one number each, by which they are found again."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from linkwise._typing import IntArray

Digests = npt.NDArray[np.uint64]

# Cells that are looked at together: they fit the cache of a core.
_CELLS_AT_ONCE = 1 << 16


def matched_rows(then: Digests, now: Digests) -> IntArray:
    """Return where each row of then is now, -1 if it is not there.

    Of equal rows, the first of then is the first of now.

    Examples
    --------
    >>> then, now = np.array([5, 7, 5, 9]), np.array([9, 5, 5])
    >>> matched_rows(then, now).tolist()
    [1, -1, 2, 0]
    """
    order, own = np.argsort(then, kind="stable"), np.argsort(now, kind="stable")
    then, now = then[order], now[own]
    place = np.searchsorted(now, then) + np.arange(len(then))
    place -= np.searchsorted(then, then)
    is_there = place < np.searchsorted(now, then, side="right")
    found = np.full(len(then), -1)
    found[order[is_there]] = own[place[is_there]]
    return found


def row_digests(rows: Any) -> Digests:
    """Return a number for each row, the same for equal rows in any order or company.

    Numbers are equal whatever their types, and so are numbers and texts that are read
    as such: one odd cell makes texts of a whole column.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1, 2], "b": ["x", "3.0"]})
    >>> other = pd.DataFrame({"a": ["2", "oops"], "b": [3, 5]})
    >>> bool(row_digests(frame)[1] == row_digests(other)[0])
    True
    """
    found = np.zeros(rows.shape[0], dtype=np.uint64)
    if sparse.issparse(rows):
        rows = rows.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        np.add.at(found, row, _mixed(_bits(rows.data) + _salts(rows.indices)))
        return _mixed(found)
    salts = _salts(np.arange(rows.shape[1]))
    for block in gen_batches(len(found), max(1, _CELLS_AT_ONCE // rows.shape[1])):
        part = rows.iloc[block] if isinstance(rows, pd.DataFrame) else rows[block]
        found[block] = _mixed(_cells(part) + salts).sum(axis=1)
    return _mixed(found)


def _salts(columns: IntArray) -> Digests:
    """Return numbers by which equal cells of different columns differ."""
    return _mixed(columns.astype(np.uint64) + np.uint64(1))


def _mixed(numbers: Digests) -> Digests:
    """Return numbers whose bits all depend on all bits of others (splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _cells(rows: Any) -> Any:
    """Return cells as 64 bits each."""
    if not isinstance(rows, pd.DataFrame):
        return _bits(np.asarray(rows))
    if all(pd.api.types.is_numeric_dtype(kind) for kind in rows.dtypes):
        return _bits(rows.to_numpy(dtype=np.float64, na_value=np.nan))
    columns = [_column_cells(rows.iloc[:, at]) for at in range(rows.shape[1])]
    return np.column_stack(columns)


def _column_cells(column: "pd.Series[Any]") -> Any:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _bits(column.to_numpy(dtype=np.float64, na_value=np.nan))
    column, is_there = column.astype(object), column.notna()
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    texts = column.where(is_there, "").astype(str).to_numpy(dtype=object)
    is_text = np.isnan(numbers) & is_there.to_numpy()
    return np.where(is_text, pd.util.hash_array(texts), _bits(numbers))


def _bits(numbers: Any) -> Any:
    """Return numbers as their 64 bits; there is one zero, and one gap."""
    found = np.asarray(numbers, dtype=np.float64) + 0.0
    found[np.isnan(found)] = np.nan
    return found.view(np.uint64)
