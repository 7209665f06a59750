"""Ids of clusters after an earlier fit, and rows that are far from all of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from linkwise import Constraints, KernelCSC
from linkwise.kernels import Linear, PairKernel

K = 4
FAR = [[40.0, 40.0, 40.0], [-30.0, 20.0, 9.0]]


def clustered(**options):
    defaults = {"kernels": "paper", "n_candidates": 20, "random_state": 0}
    return KernelCSC(K, **(defaults | options))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.arange(160) % K
    X = 6.0 * rng.normal(size=(K, 3))[y] + rng.normal(size=(160, 3))
    drawn = Constraints.sample(y, 80, random_state=0)
    return np.r_[X, FAR], Constraints(drawn.must_link, drawn.cannot_link)


@pytest.fixture(scope="module")
def fitted(problem):
    X, pairs = problem
    return clustered().fit(X, constraints=pairs)


class TestMatching:
    @settings(deadline=None)
    @given(st.permutations(range(K)), st.integers(0, 2**32 - 1))
    def test_ids_are_those_of_the_earlier_labels(self, problem, fitted, order, seed):
        X, _ = problem
        model = pickle.loads(pickle.dumps(fitted))
        wanted = np.array(order)[fitted.labels_]
        earlier = wanted.copy()
        noise = np.random.default_rng(seed).choice(len(X), 20, replace=False)
        earlier[noise] = [-1, K, 0, 1, 2] * 4  # what cannot count, and what is outvoted
        assert model.match_labels(earlier) is model
        assert_array_equal(model.labels_, wanted)
        assert_array_equal(model.predict(X), np.array(order)[fitted.predict(X)])

    @pytest.mark.parametrize(
        ("earlier", "message"),
        [
            ([0, 1], r"earlier has shape \(2,\) and dtype int64: it must hold one"),
            (np.zeros(162), "dtype float64: it must hold one whole number for each"),
        ],
    )
    def test_other_labels_are_refused(self, fitted, earlier, message):
        with pytest.raises(ValueError, match=message):
            fitted.match_labels(earlier)


class TestFarRows:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"kernels": "rich"},
            {"approximation": "landmarks", "n_landmarks": 60},
            {"approximation": "nystroem", "n_landmarks": 20},
            {"approximation": "working_set", "working_rows": 60},
        ],
        ids=["exact", "rich", "landmarks", "nystroem", "working set"],
    )
    def test_are_in_no_cluster_then_and_later(self, problem, options):
        X, pairs = problem
        model = clustered(far=0.02, **options).fit(X, constraints=pairs)
        assert (model.labels_ == -1).sum() == 3
        assert (model.labels_[-2:] == -1).all()
        found = model.predict([[200.0, 0.0, 200.0], X[0]])
        assert found[0] == -1 and found[1] == model.labels_[0]

    def test_other_rows_are_where_they_were(self, problem, fitted):
        X, pairs = problem
        model = clustered(far=0.1).fit(X, constraints=pairs)
        is_near = model.labels_ >= 0
        assert (~is_near).sum() == int(0.1 * len(X))
        assert_array_equal(model.labels_[is_near], fitted.labels_[is_near])
        model.match_labels((model.labels_ + 1) % K)
        assert_array_equal(model.predict(X) == -1, ~is_near)

    @pytest.mark.parametrize("approximation", ["exact", "landmarks", "nystroem"])
    @pytest.mark.parametrize(
        "kernel", [Linear(), PairKernel(lambda a, b: a @ b)], ids=["linear", "pairs"]
    )
    def test_distances_are_those_of_the_space(self, problem, kernel, approximation):
        X, pairs = problem
        model = clustered(
            kernels=[kernel],
            filter="none",
            final_step=None,
            approximation=approximation,
            n_landmarks=20,
        ).fit(X, constraints=pairs)
        centres = [X[model.labels_ == c].mean(axis=0) for c in range(K)]
        expected = ((X[:, None] - centres) ** 2).sum(axis=2)
        unit = model._kernel.coefficients[0]
        found = model._squared_distances(X)
        found /= unit
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * expected.max())

    def test_sparse_rows_are_as_far_as_dense_ones(self, problem):
        X, pairs = problem
        options = {"kernels": [Linear()], "far": 0.05, "final_step": None}
        dense = clustered(**options).fit(X, constraints=pairs)
        sparse = clustered(**options)
        sparse.fit(csr_array(X), constraints=pairs)
        assert_array_equal(dense.labels_, sparse.labels_)

    def test_gram_matrices_do_not_tell(self, problem):
        X, pairs = problem
        with pytest.raises(ValueError, match="kernel values with themselves"):
            clustered(kernels="precomputed", far=0.1).fit(X @ X.T, constraints=pairs)

    def test_a_share_of_one_is_refused(self, problem):
        with pytest.raises(ValueError, match="'far' parameter .* must be a float in"):
            clustered(far=1.0).fit(problem[0], constraints=problem[1])
