"""Symmetric matrices in half the memory.

A packed matrix is the lower triangle, cut into blocks of rows. The block of rows
``first`` to ``last`` is stored densely with its columns ``0`` to ``last``, row after
row, so that a block is one contiguous piece and whole rows can be added with plain
vector instructions. The excess over an exact triangle is half a block per row.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray
from linkwise.kernels._jit import add_five, mirror

# With one block, which is a whole matrix, nothing needs to be mirrored.
ROWS_PER_BLOCK = 256


class Block(NamedTuple):
    """One block of rows of a packed matrix."""

    first: int  # first row
    last: int  # one past the last row; also the number of columns
    start: int  # where the block lies in the packed array:
    stop: int  # packed[start:stop].reshape(last - first, last)


def blocks(n_samples: int) -> Iterator[Block]:
    """Yield the blocks of a packed matrix, top to bottom."""
    start = 0
    for first in range(0, n_samples, ROWS_PER_BLOCK):
        last = min(n_samples, first + ROWS_PER_BLOCK)
        stop = start + (last - first) * last
        yield Block(first, last, start, stop)
        start = stop


def packed_size(n_samples: int) -> int:
    """Return the number of entries of a packed matrix."""
    full, rest = divmod(n_samples, ROWS_PER_BLOCK)
    return ROWS_PER_BLOCK**2 * full * (full + 1) // 2 + rest * n_samples


def pack(gram: FloatArray) -> FloatArray:
    """Return the packed float32 form of a symmetric matrix."""
    packed = np.empty(packed_size(len(gram)), dtype=np.float32)
    for block in blocks(len(gram)):
        part = gram[block.first : block.last, : block.last]
        packed[block.start : block.stop] = part.ravel()
    return packed


def combine_packed(
    matrices: list[FloatArray], weights: FloatArray, out: FloatArray
) -> FloatArray:
    """Write the weighted sum of packed matrices into the square matrix ``out``."""
    if len(matrices) > 5:  # rare: all but four become one
        rest = len(matrices) - 4
        first = np.float32(weights[0]) * matrices[0]
        for weight, matrix in zip(weights[1:rest], matrices[1:rest], strict=True):
            first += np.float32(weight) * matrix
        matrices = [first, *matrices[rest:]]
        weights = np.concatenate([[1.0], weights[rest:]])
    n_fill = 5 - len(matrices)
    a, b, c, d, e = matrices + [matrices[0]] * n_fill
    v, w, x, y, z = weights.tolist() + [0.0] * n_fill
    add_five(a, b, c, d, e, v, w, x, y, z, ROWS_PER_BLOCK, out)
    if len(out) > ROWS_PER_BLOCK:
        mirror(ROWS_PER_BLOCK, out)
    return out
