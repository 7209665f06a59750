"""Informativeness and coherence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from linkwise.constraints import Constraints, coherence, informativeness

X = np.array(
    [[0, 0], [2, 0], [5, 5], [5, 7], [1, 0], [3, 0], [0, 0], [0, 2]], dtype=float
)
EXAMPLE = Constraints([(0, 1), (2, 3)], [(4, 5), (6, 7)])


def coherence_pair_by_pair(pairs, X):
    def overlap(a, b):
        origin, along = X[a[0]], X[a[1]] - X[a[0]]
        length = np.linalg.norm(along)
        if length == 0:
            return False
        low, high = sorted((X[end] - origin) @ along / length for end in b)
        return min(length, high) - max(0, low) > 1e-12 * length

    agree = [
        not overlap(m, c) and not overlap(c, m)
        for m in pairs.must_link
        for c in pairs.cannot_link
    ]
    return np.mean(agree)


def test_the_example_of_the_specification():
    assert coherence(EXAMPLE, X) == 0.75


def test_coherence_needs_both_kinds():
    assert np.isnan(coherence(Constraints([(0, 1)]), X))
    assert np.isnan(coherence(Constraints([], [(0, 1)]), X))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000))
def test_coherence_equals_a_plain_double_loop(seed):
    rng = np.random.default_rng(seed)
    data = rng.integers(-3, 4, size=(12, 2)).astype(float)
    pairs = Constraints.sample(np.arange(12) % 3, 20, random_state=rng)
    assert coherence(pairs, data) == coherence_pair_by_pair(pairs, data)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_coherence_does_not_change_with_the_frame(seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(20, 3))
    pairs = Constraints.sample(np.arange(20) % 3, 30, random_state=rng)
    turned = 7 * data @ ortho_group.rvs(3, random_state=seed) + rng.normal(size=3)
    assert coherence(pairs, turned) == coherence(pairs, data)


def test_a_constraint_of_length_zero_overlaps_nothing():
    data = np.array([[0.0], [0.0], [0.0], [1.0]])
    assert coherence(Constraints([(0, 1)], [(2, 3)]), data) == 1


def test_many_pairs_are_sampled():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(100, 2))
    pairs = Constraints.sample(np.arange(100) % 2, 2000, random_state=0)
    whole = coherence(pairs, data)
    part = coherence(pairs, data, max_pairs=20_000, random_state=0)
    assert part == pytest.approx(whole, abs=0.02)
    assert part == coherence(pairs, data, max_pairs=20_000, random_state=0)


def test_data_must_be_a_matrix_that_holds_the_points():
    with pytest.raises(ValueError, match=r"X has shape \(3,\)"):
        coherence(EXAMPLE, [0, 1, 2])
    with pytest.raises(ValueError, match="points outside the data"):
        coherence(EXAMPLE, X[:4])


def test_informativeness_counts_given_pairs_and_ignores_weights():
    pairs = Constraints([(0, 1), (1, 2)], [(2, 3)], [9, 1], 1)
    assert informativeness(pairs, [0, 0, 1, 2]) == pytest.approx(1 / 3)
    assert np.isnan(informativeness(Constraints(), [0, 1]))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=12), st.integers(0, 6))
def test_pairs_that_a_partition_satisfies_tell_it_nothing(labels, n_pairs):
    pairs = Constraints.sample(labels, n_pairs, random_state=0)
    assert n_pairs == 0 or informativeness(pairs, labels) == 0
