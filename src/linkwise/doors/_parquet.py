"""Parquet files whose rows need not fit into memory."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwise._typing import FloatArray

# Rows that are decoded at a time.
_ROWS_AT_ONCE = 65_536
# Columns that are decoded together: as many as are side by side in a line of cache.
_COLUMNS_AT_ONCE = 8
# Bytes of a column that are read at a time; else all of a row group would be.
_BUFFER = 2**16


def map_parquet(path: str | Path, columns: Sequence[str] | None = None) -> FloatArray:
    """Return the rows of a Parquet file as an array that is mapped from disk.

    The file is decoded a piece at a time into a temporary file, in the folder for such
    files (``TMPDIR``), which goes away with the array. Estimators read mapped arrays
    in blocks.

    Parameters
    ----------
    path : str or Path
        The file.
    columns : sequence of str, optional
        Columns to take, in this order; all but a pandas index by default.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        float32 if that holds the values of all columns, else float64. Missing values
        are NaN.

    Raises
    ------
    ImportError
        Without pyarrow.
    ValueError
        If a column is not there or does not hold numbers, or if there are no rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkwise import map_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/rows.parquet"
    ...     pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}).to_parquet(path)
    ...     map_parquet(path).tolist()
    [[1.0, 0.5], [2.0, 1.5]]
    """
    file = _open(path)
    schema = file.schema_arrow
    names = _data_columns(schema) if columns is None else list(columns)
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise ValueError(
            f"columns={names!r}: {path} has no column {unknown[0]!r}; it has "
            f"{schema.names}."
        )
    bad = [name for name in names if not _is_numeric(schema.field(name).type)]
    if bad or not names:
        found = f"column {bad[0]!r} holds {schema.field(bad[0]).type}" if bad else ""
        raise ValueError(
            f"{path}: {found or 'no column is left'}; rows are made of columns of "
            "numbers. Name those in columns=."
        )
    n_rows = file.metadata.num_rows
    if n_rows == 0:
        raise ValueError(f"{path} has no rows.")
    kind = np.result_type(
        np.float32, *[schema.field(name).type.to_pandas_dtype() for name in names]
    )
    with tempfile.TemporaryFile(prefix="linkwise-") as space:
        # The mapping outlives the file's name and handle.
        rows = np.memmap(space, dtype=kind, mode="w+", shape=(n_rows, len(names)))
    _fill(rows, file, names)
    return rows


def read_numbers(
    path: str | Path, apart: str | None = None
) -> tuple[list[str], FloatArray, Any] | None:
    """Return the rows of a Parquet file in memory, if all its columns are numbers.

    They are decoded a piece at a time into the one array that is returned.

    Parameters
    ----------
    path : str or Path
        The file.
    apart : str, optional
        A column, or a pandas index, that is no part of the rows and may hold anything.

    Returns
    -------
    tuple of (list of str, ndarray of shape (n_rows, n_columns), Series) or None
        Names, values, and the column apart or None. Values are float32 if those of all
        columns are, else float64; missing ones are NaN. None for all if a column holds
        something else, yes and no among them, or if two have the same name.
    """
    file = _open(path)
    schema = file.schema_arrow
    names = [name for name in _data_columns(schema) if name != apart]
    types = [schema.field(name).type for name in names if schema.names.count(name) == 1]
    if not names or len(types) < len(names) or not all(map(_is_number, types)):
        return None
    is_narrow = all(kind.to_pandas_dtype() is np.float32 for kind in types)
    rows = np.empty(
        (file.metadata.num_rows, len(names)), np.float32 if is_narrow else np.float64
    )
    _fill(rows, file, names)
    if schema.names.count(apart) != 1:
        return names, rows, None
    return names, rows, file.read([apart]).column(0).to_pandas()


def _fill(rows: FloatArray, file: Any, names: list[str]) -> None:
    """Decode columns into rows: row group by row group, a few columns at a time.

    What is decoded together is in memory together, with the dictionaries and the pages
    of each column: for all columns that can be more than the rows themselves.
    """
    start = 0
    for group in range(file.metadata.num_row_groups):
        for j in range(0, len(names), _COLUMNS_AT_ONCE):
            some = names[j : j + _COLUMNS_AT_ONCE]
            first = start
            for batch in file.iter_batches(
                _ROWS_AT_ONCE, row_groups=[group], columns=some, use_threads=False
            ):
                block = rows[first : first + batch.num_rows, j : j + len(some)]
                for place, name in enumerate(some):
                    # A copy where values are missing: they become NaN.
                    values = batch.column(name).to_numpy(zero_copy_only=False)
                    block[:, place] = values
                first += batch.num_rows
        start += file.metadata.row_group(group).num_rows


def _open(path: str | Path) -> Any:
    """Return an open Parquet file; without pyarrow, say what to install."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(
            f"{path}: Parquet files need pyarrow. Install it with "
            "`pip install linkwise[parquet]`."
        ) from None
    return ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)


def _data_columns(schema: Any) -> list[str]:
    """Return the columns of a file without those that are a pandas index."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _is_numeric(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of real numbers."""
    from pyarrow import types

    return types.is_boolean(kind) or _is_number(kind)


def _is_number(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of numbers, not of yes and no."""
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind)
