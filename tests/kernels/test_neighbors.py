"""The nearest of a few thousand rows are found exactly, and fast for many rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkwise.kernels._neighbors import nearest_of


def by_definition(references, rows, n_neighbors):
    steps = rows[:, None, :] - references
    with np.errstate(over="ignore"):
        distances = np.zeros(steps.shape[:2])
        for c in range(rows.shape[1]):  # summed up in the same order
            distances += steps[:, :, c] ** 2
    return distances.argsort(axis=1, kind="stable")[:, :n_neighbors]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.integers(1, 6),
    st.integers(1, 150),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e6, 1e20, 1e60]),
)
def test_they_are_those_of_the_definition(seed, m, d, n_neighbors, scale):
    rng = np.random.default_rng(seed)
    references = scale * rng.normal(size=(m, d)) + rng.normal(size=d)
    rows = scale * rng.normal(size=(7, d)) * 10.0 ** rng.integers(-3, 4, size=(7, 1))
    n_neighbors = min(n_neighbors, m)
    np.testing.assert_array_equal(
        nearest_of(references, rows, n_neighbors),
        by_definition(references, rows, n_neighbors),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 20))
def test_of_equally_far_ones_the_first_are_taken(seed, m, n_neighbors):
    rng = np.random.default_rng(seed)
    references = rng.integers(3, size=(m, 4)).astype(float)
    rows = rng.integers(3, size=(20, 4)).astype(float)
    n_neighbors = min(n_neighbors, m)
    np.testing.assert_array_equal(
        nearest_of(references, rows, n_neighbors),
        by_definition(references, rows, n_neighbors),
    )


def test_rows_that_are_nearly_alike_are_told_apart():
    # Single precision sees no difference between these references.
    references = 1.0 + 1e-9 * np.random.default_rng(0).normal(size=(500, 3))
    rows = references[::7] + 1e-13
    assert np.array_equal(nearest_of(references, rows, 1)[:, 0], np.arange(500)[::7])


def test_other_rows_do_not_matter():
    rng = np.random.default_rng(1)
    references, rows = rng.normal(size=(300, 5)), rng.normal(size=(300, 5))
    together = nearest_of(references, rows, 6)
    one_by_one = [nearest_of(references, row[None], 6)[0] for row in rows]
    assert np.array_equal(together, one_by_one)
