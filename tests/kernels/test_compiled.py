"""Compiled loops over kernel matrices do what their source says."""

import numpy as np
from tests.contracts.compiled import watch_compiled

from linkwise.kernels import (
    FeatureSpace,
    GramSpace,
    KernelBank,
    Known,
    LandmarkBank,
    _jit,
)
from linkwise.kernels._packed import combine_packed, pack


def test_every_compiled_loop_equals_its_source(monkeypatch):
    compiled, called = watch_compiled(monkeypatch, _jit)
    rng = np.random.default_rng(0)
    # Tiles and blocks need a matrix beyond one block; Python is slow, so just beyond.
    X = rng.normal(size=(34, 3))
    weight = rng.uniform(0.5, 2.0, 34)
    bank = KernelBank.build(X, sample_weight=weight)
    labels = rng.integers(-1, 3, size=34)
    known = bank.with_groups(labels, 3)
    weights = np.zeros(bank.n_weights)
    weights[:7] = rng.random(7)
    lean = KernelBank.build(X, max_memory=6 * 4 * 34**2)
    for some in (bank, known, lean):
        some.combine(np.resize(weights, some.n_weights))
    few = LandmarkBank.build(X, n_landmarks=9, sample_weight=weight)
    for space in (
        few.combine(np.resize(weights, few.n_weights)),
        bank.combine(weights),
        GramSpace(X @ X.T, weight),
        FeatureSpace(X, weight),
    ):
        sums = space.group_sums(labels, 3)
        for n_moved in (1, 3, 30):
            moved = labels.copy()
            moved[rng.choice(34, n_moved, replace=False)] = rng.integers(-1, 3)
            sums.move(moved)
    groups = np.where(np.arange(34) < 8, np.arange(34) % 2, -1)
    kernels = ["paper", "diffusion"]
    seen = LandmarkBank.build(X, kernels, n_landmarks=9, known=Known(groups, 2))
    seen.kernel(np.ones(seen.n_weights))(X + 0.1)
    assert compiled <= called


def test_mirroring_beyond_one_block_equals_its_source(monkeypatch):
    import linkwise.kernels._packed as packed

    half = np.random.default_rng(0).normal(size=(70, 70)).astype(np.float32)
    gram = half + half.T
    # Blocks of one tile: the same loops on a matrix that Python can walk.
    monkeypatch.setattr(packed, "ROWS_PER_BLOCK", 64)
    compiled, called = watch_compiled(monkeypatch, _jit)
    out = np.zeros((70, 70), dtype=np.float32)
    combine_packed([pack(gram), pack(2 * gram)], np.array([1.0, 0.5]), out)
    np.testing.assert_allclose(out, 2 * gram, rtol=1e-6)
    assert called
