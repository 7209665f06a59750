"""Nearest rows among a few thousand, for very many rows."""

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._jit import nearest_references

# Rows whose scores are held at a time: they stay in the processor's cache.
_ROWS_PER_BLOCK = 128


def nearest_of(
    references: FloatArray,  # (m, d)
    rows: FloatArray,  # (n, d)
    n_neighbors: int,
) -> IntArray:
    """Return the references nearest to each row, the nearest first: (n, n_neighbors).

    Of equally far ones, those that come first: the answer for a row depends on nothing
    but the row. Products in single precision only tell which may be near.
    """
    references, rows = np.ascontiguousarray(references), np.ascontiguousarray(rows)
    near = np.empty((len(rows), n_neighbors), dtype=np.intp)
    squares = np.einsum("ij,ij->i", references, references)
    radius = float(np.sqrt(squares.max()))
    # Bound of the rounding errors of a sum of products, for two sums.
    rounding = 2.0 * (references.shape[1] + 3) * float(np.finfo(np.float32).eps)
    # Rows that are too large for single precision get scores that are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        right = np.vstack([references.T, -0.5 * squares]).astype(np.float32)
        left = np.column_stack([rows, np.ones(len(rows))]).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        slack = rounding * radius * (lengths + 0.5 * radius)
        slack = slack.astype(np.float32)
        for block in gen_batches(len(rows), _ROWS_PER_BLOCK):
            nearest_references(
                left[block] @ right, slack[block], rows[block], references, near[block]
            )
    return near
