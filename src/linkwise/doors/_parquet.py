"""Parquet files whose rows need not fit into memory."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwise._typing import FloatArray

# Rows that are decoded at a time.
_ROWS_AT_ONCE = 65_536


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
    first = 0
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
        block = rows[first : first + batch.num_rows]
        for j, name in enumerate(names):
            # A copy where values are missing: they become NaN.
            block[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
        first += batch.num_rows
    return rows


def _open(path: str | Path) -> Any:
    """Return an open Parquet file; without pyarrow, say what to install."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(
            f"{path}: Parquet files need pyarrow. Install it with "
            "`pip install linkwise[parquet]`."
        ) from None
    return ParquetFile(path)


def _data_columns(schema: Any) -> list[str]:
    """Return the columns of a file without those that are a pandas index."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _is_numeric(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of real numbers."""
    from pyarrow import types

    return any(
        test(kind) for test in (types.is_boolean, types.is_integer, types.is_floating)
    )
