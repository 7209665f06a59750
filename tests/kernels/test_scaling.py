"""Scales and the filter (sections 5.2 and 5.3 of the specification)."""

import itertools
from math import comb

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import pairwise
from sklearn.preprocessing import StandardScaler

from linkwise.clustering import kmeans
from linkwise.kernels import GramSpace, KernelBank, random_share


def expected_reciprocal(m, p, plus):
    """Return E[1 / (B + plus)] for B of the binomial law, by summing it."""
    return sum(
        comb(m, b) * p**b * (1 - p) ** (m - b) / (b + plus) for b in range(m + 1)
    )


def e1(m, p):
    q = 1 - p
    return (1 - q ** (m + 1)) / ((m + 1) * p)


def e2(m, p):
    q = 1 - p
    first, second = (1 - q ** (m + 2)) / (m + 2), q * (1 - q ** (m + 1)) / (m + 1)
    return (first - second) / p**2


def mean_objective(gram, k):
    """Return the mean objective over all k ** n labellings."""
    n = len(gram)
    space = GramSpace(gram)
    total = 0.0
    for labels in itertools.product(range(k), repeat=n):
        total += kmeans(space, np.array(labels), k, max_iter=0).objective
    return total / k**n


def scatter(gram):
    return np.trace(gram) - gram.sum() / len(gram)


class TestRandomShare:
    @pytest.mark.parametrize(
        "formula, plus, m, p, value",
        [
            (e1, 1, 3, 0.5, 0.46875),
            (e2, 2, 2, 0.5, 0.3541667),
            (e1, 1, 10, 1 / 3, 0.2695743),
            (e2, 2, 10, 1 / 3, 0.2050710),
        ],
    )
    def test_the_binomial_expectations_of_the_specification(
        self, formula, plus, m, p, value
    ):
        assert formula(m, p) == pytest.approx(value, abs=1e-6)
        assert expected_reciprocal(m, p, plus) == pytest.approx(value, abs=1e-6)

    @pytest.mark.parametrize("k, value", [(2, 14.875), (3, 11.148148)])
    def test_the_example_of_the_specification(self, k, value):
        x = np.array([0.0, 1.0, 3.0, 6.0])
        gram = np.outer(x, x)
        assert (np.trace(gram), gram.sum()) == (46, 100)
        assert scatter(gram) * random_share(4, k) == pytest.approx(value, abs=1e-6)
        assert mean_objective(gram, k) == pytest.approx(value, abs=1e-6)

    @pytest.mark.parametrize("n, k", [(2, 2), (3, 2), (5, 3), (6, 2), (3, 5)])
    def test_it_is_the_mean_over_all_labellings(self, n, k):
        X = np.random.default_rng(n).normal(size=(n, 2))
        gram = X @ X.T
        collapsed = scatter(gram) * random_share(n, k)
        assert mean_objective(gram, k) == pytest.approx(collapsed)

    @pytest.mark.parametrize("n", [3, 10, 57])
    @pytest.mark.parametrize("k", [1, 2, 3, 9])
    def test_the_collapsed_form_equals_the_binomial_one(self, n, k):
        X = np.random.default_rng(n).normal(size=(n, 2)) + 1.0
        gram = X @ X.T
        trace, total, p = np.trace(gram), gram.sum(), 1 / k
        long = trace * (1 - e1(n - 1, p)) - (total - trace) * e2(n - 2, p) / k
        assert scatter(gram) * random_share(n, k) == pytest.approx(long)

    def test_a_single_cluster_leaves_all_scatter(self):
        assert random_share(12, 1) == pytest.approx(1.0)

    def test_weights_that_are_shares_need_no_correction(self):
        assert random_share(1.0, 3) == random_share(0.5, 3) == 1.0


def kernels_of_the_paper(X, widths):
    """Return the 31 Gram matrices of one view from scikit-learn's kernels."""
    m2, m1, mi = widths
    for g in (0.2, 0.5, 1, 1.5, 2):
        yield pairwise.rbf_kernel(X, gamma=g / m2)
        yield pairwise.laplacian_kernel(X, gamma=g / m1)
    for g, degree, c0 in itertools.product((0.1, 0.5, 1, 1.5), (2, 3), (0.1, 1)):
        yield pairwise.polynomial_kernel(X, gamma=g / mi, degree=degree, coef0=c0)
    for g, c0 in itertools.product((0.001, 0.01), (0.1, 1)):
        yield pairwise.sigmoid_kernel(X, gamma=g / mi, coef0=c0)
    yield X @ X.T


def widths(X, pairs):
    """Return the medians of the base matrices over some of their entries."""
    bases = (
        pairwise.euclidean_distances(X, squared=True),
        pairwise.manhattan_distances(X),
        np.abs(X @ X.T),
    )
    return [np.median(base[pairs]) for base in bases]


def n_kept(X, pairs):
    n = 0
    for view in (X, StandardScaler().fit_transform(X)):
        for gram in kernels_of_the_paper(view, widths(view, pairs)):
            diagonal = gram.diagonal()
            n += bool(
                diagonal.min() >= 0
                and diagonal.mean() > 0
                and gram.mean() < 0.6 * diagonal.mean()
            )
    return n


class TestRatioFilter:
    @pytest.mark.parametrize(
        "load, kept", [(load_iris, 29), (load_wine, 37), (load_breast_cancer, 47)]
    )
    def test_the_specifications_counts_hold_with_its_medians(self, load, kept):
        X = load().data
        assert n_kept(X, pairs=...) == kept

    @pytest.mark.parametrize("load", [load_iris, load_wine])
    def test_the_bank_keeps_what_the_rule_keeps_with_medians_of_pairs(self, load):
        # Fewer than 200 points: all pairs i < j are looked at, without the diagonal.
        X = load().data
        bank = KernelBank.build(X)
        assert bank.n_weights == n_kept(X, np.triu_indices(len(X), 1))

    def test_counts_stay_near_those_of_the_specification(self):
        # The zero diagonal hardly moves a median of 150 points: the counts of iris and
        # wine are the same. On 200 sampled points of 569 the widths depend on the seed.
        assert KernelBank.build(load_iris().data).n_weights == 29
        assert KernelBank.build(load_wine().data).n_weights == 37
        X = load_breast_cancer().data
        for seed in range(2):
            bank = KernelBank.build(X, rng=np.random.default_rng(seed))
            assert 45 <= bank.n_weights <= 49

    def test_sigmoid_kernels_and_the_raw_linear_one_go(self):
        names = KernelBank.build(load_iris().data).names
        assert not any(name.startswith("Sigmoid") for name in names)
        assert "Linear() on raw" not in names
        assert "Linear() on standardized" in names

    def test_without_the_filter_all_62_stay(self):
        bank = KernelBank.build(load_iris().data, filter="none")
        assert bank.n_weights == 62

    def test_a_kernel_at_the_limit_goes(self):
        def gram(constant):
            return np.eye(4) + constant * np.ones((4, 4))

        # Mean (0.25 + c) over mean diagonal (1 + c): 0.6 at c = 0.875.
        for constant, n_weights in [(0.87, 2), (0.88, 1)]:
            kernels = [np.eye(4), gram(constant)]
            bank = KernelBank.build(np.arange(4.0)[:, None], kernels)
            assert bank.n_weights == n_weights

    def test_a_negative_diagonal_goes(self):
        bad = np.diag([5.0, 5.0, 5.0, -1.0])
        X = np.arange(4.0)[:, None]
        assert KernelBank.build(X, [np.eye(4), bad]).n_weights == 1
        assert KernelBank.build(X, [np.eye(4), bad], filter="none").n_weights == 2

    def test_if_nothing_passes_all_usable_kernels_stay(self):
        X = np.arange(6.0)[:, None] + 100.0
        bank = KernelBank.build(X, [lambda A, B: A @ B.T, np.full((6, 6), 3.0)])
        assert bank.n_weights == 1

    def test_weights_count_in_the_rule(self):
        # Three far points of one weight among many equal ones: with weights the same
        # decision is made as with copies.
        X = np.array([[1.0], [1.2], [-3.0], [2.0]])
        times = np.array([9, 1, 2, 1])
        repeated = np.repeat(X, times, axis=0)
        linear = [lambda A, B: A @ B.T, np.eye(4)]
        few = KernelBank.build(X, linear, sample_weight=times.astype(float))
        eye = np.equal.outer(*[np.repeat(np.arange(4), times)] * 2).astype(float)
        many = KernelBank.build(repeated, [linear[0], eye])
        assert few.names == many.names


def test_weights_that_sum_to_one_up_to_rounding_have_a_share():
    assert random_share(1.0000000000000004, n_clusters=2) == 1.0
