"""Signed matrices of pairs."""

from typing import Any

import numpy as np
from scipy import sparse

from linkwise._typing import FloatArray, IntArray


def signed_entries(matrix: Any) -> tuple[IntArray, FloatArray]:
    """Return positions (m, 2) and values (m,) of the non-zero off-diagonal entries."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"The matrix of pairs has shape {matrix.shape}: it must be square, one "
            f"row and one column per sample."
        )
    if np.dtype(matrix.dtype).kind not in "iufb":
        raise ValueError(f"The matrix must hold numbers, got dtype {matrix.dtype}.")
    entries = sparse.coo_array(matrix)
    entries.sum_duplicates()
    row, col = entries.row.astype(np.intp), entries.col.astype(np.intp)
    values = entries.data.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(values) | ((row == col) & (values < 0)))
    if len(wrong):
        i, j, value = int(row[wrong[0]]), int(col[wrong[0]]), values[wrong[0]]
        rule = (
            "a point cannot be cannot-linked to itself"
            if np.isfinite(value)
            else "entries must be finite"
        )
        raise ValueError(f"matrix[{i}, {j}] = {value}: {rule}.")
    kept = (row != col) & (values != 0)
    return np.stack([row[kept], col[kept]], axis=1), values[kept]
