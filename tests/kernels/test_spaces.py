"""Geometries of kernel matrices and of features."""

import numpy as np
import pytest
from tests.contracts.space import SpaceContract, assert_sums, locked, sums_by_definition

from linkwise.kernels import FeatureSpace, GramSpace


class TestGramSpaceInDoublePrecision(SpaceContract):
    def space_of(self, X, weight=None):
        return GramSpace(locked(X @ X.T), weight)


class TestGramSpaceInSinglePrecision(SpaceContract):
    rtol = 3e-7

    def space_of(self, X, weight=None):
        return GramSpace(locked((X @ X.T).astype(np.float32)), weight)


class TestFeatureSpace(SpaceContract):
    def space_of(self, X, weight=None):
        return FeatureSpace(X, weight)


class TestFeatureSpaceInSinglePrecision(SpaceContract):
    rtol = 3e-7

    def space_of(self, X, weight=None):
        return FeatureSpace(locked(X.astype(np.float32)), weight)


def line(*x):
    x = np.array(x, dtype=np.float64)
    return locked(np.outer(x, x)), locked(x[:, None])


@pytest.mark.parametrize("kind", ["gram", "features"])
class TestExampleOfTheSpecification:
    def space(self, kind, x, weight=None):
        gram, features = line(*x)
        if kind == "gram":
            return GramSpace(gram, weight)
        return FeatureSpace(features, weight)

    def test_sums_of_the_start(self, kind):
        space = self.space(kind, [0, 1, 9, 10, 11])
        sums = space.group_sums(np.array([0, 1, 1, 1, 1]), 2)
        assert sums.mass == pytest.approx([1, 4], abs=1e-6)
        assert sums.inner == pytest.approx([0, 961], abs=1e-6)
        distance = (
            space.diagonal[1]
            - 2 * sums.sums[:, 1] / sums.mass
            + sums.inner / sums.mass**2
        )
        assert distance == pytest.approx([1, 45.5625], abs=1e-6)

    def test_three_equal_points_are_one_of_weight_three(self, kind):
        many = self.space(kind, [0, 1, 1, 1, 9, 10])
        few = self.space(kind, [0, 1, 9, 10], np.array([1.0, 3, 1, 1]))
        a = many.group_sums(np.array([0, 1, 1, 1, 1, 1]), 2)
        b = few.group_sums(np.array([0, 1, 1, 1]), 2)
        assert a.mass.tolist() == b.mass.tolist() == [1, 5]
        assert a.inner.tolist() == b.inner.tolist() == [0, 484]
        assert np.array_equal(a.sums[:, [0, 1, 4, 5]], b.sums)


def test_sums_over_single_precision_values_are_taken_in_double_precision():
    # The single precision sum of these values stops growing at 2 ** 24.
    gram = np.ones((5000, 5000), dtype=np.float32)
    weight = np.full(5000, 8.0)
    sums = GramSpace(gram, weight).group_sums(np.zeros(5000, dtype=np.intp), 1)
    assert sums.inner.tolist() == [64.0 * 5000**2]


def test_remembered_totals_are_given_for_their_own_labels_only():
    gram, _ = line(0, 1, 9, 10)
    space = GramSpace(gram)
    labels = locked(np.array([0, 0, 1, 1]))
    known = space.fixed_totals(labels, 2)
    space.remember(labels, known)
    assert space.fixed_totals(labels, 2) is known
    # Sums that may move are taken anew, lest the known ones move.
    assert space.group_sums(labels, 2).totals is not known.totals
    other = np.array([0, 1, 1, 1])
    expected = sums_by_definition(gram, np.ones(4), other, 2)
    for got, exact in zip(space.fixed_totals(other, 2), expected, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-12)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_the_memory_layout_of_a_matrix_does_not_matter(layout):
    X = np.random.default_rng(0).normal(size=(20, 3))
    labels = np.arange(20) % 3
    expected = sums_by_definition(X @ X.T, np.ones(20), labels, 3)
    for space in (GramSpace(layout(X @ X.T)), FeatureSpace(layout(X))):
        assert_sums(space.group_sums(labels, 3), expected, 1e-12)
