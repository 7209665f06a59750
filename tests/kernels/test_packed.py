"""Symmetric matrices in half the memory."""

import numpy as np
import pytest

from linkwise.kernels._packed import (
    ROWS_PER_BLOCK,
    blocks,
    combine_packed,
    pack,
    packed_size,
)

EDGE = ROWS_PER_BLOCK
SIZES = sorted({1, 2, 63, 64, 65, 127, 128, 129, 300, EDGE - 1, EDGE, EDGE + 1})
SIZES += [2 * EDGE, 2 * EDGE + 1]


def symmetric(n, seed):
    half = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
    return half + half.T


@pytest.mark.parametrize("n", [*SIZES, 5 * EDGE + 3, 100_000])
def test_the_size_is_the_sum_of_the_block_sizes(n):
    parts = list(blocks(n))
    assert packed_size(n) == sum((b.last - b.first) * b.last for b in parts)
    assert packed_size(n) == parts[-1].stop
    assert parts[-1].last == n


@pytest.mark.parametrize("n", SIZES)
def test_blocks_follow_each_other_and_hold_their_rows(n):
    gram, row, place = symmetric(n, 0), 0, 0
    packed = pack(gram)
    assert packed.dtype == np.float32 and packed.shape == (packed_size(n),)
    for block in blocks(n):
        assert (block.first, block.start) == (row, place)
        part = packed[block.start : block.stop].reshape(-1, block.last)
        assert np.array_equal(part, gram[block.first : block.last, : block.last])
        row, place = block.last, block.stop


def test_little_more_than_half_the_memory_is_used():
    assert packed_size(5000) < 0.56 * 5000**2


@pytest.mark.parametrize("n", SIZES)
def test_one_matrix_of_weight_one_comes_back_as_it_was(n):
    gram = symmetric(n, 1)
    out = np.full((n, n), np.nan, dtype=np.float32)
    result = combine_packed([pack(gram)], np.ones(1), out)
    assert result is out
    assert np.array_equal(out, gram)


@pytest.mark.parametrize("n_matrices", range(1, 13))
@pytest.mark.parametrize("n", [2, 129, EDGE + 1])
def test_sums_equal_those_of_whole_matrices(n, n_matrices):
    grams = [symmetric(n, i) for i in range(n_matrices)]
    weights = np.random.default_rng(n_matrices).uniform(0.1, 1.0, n_matrices)
    packed = [pack(gram) for gram in grams]
    before = [p.copy() for p in packed]
    out = np.full((n, n), np.nan, dtype=np.float32)
    combine_packed(packed, weights, out)
    exact = sum(w * g.astype(np.float64) for w, g in zip(weights, grams, strict=True))
    bound = sum(w * np.abs(g) for w, g in zip(weights, grams, strict=True))
    # Each product and each sum is rounded once.
    error = np.abs(out - exact)
    assert (error <= (n_matrices + 2) * np.finfo(np.float32).eps * bound).all()
    assert np.array_equal(out, out.T)
    assert all(np.array_equal(*pair) for pair in zip(packed, before, strict=True))
