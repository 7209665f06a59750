"""Kernel families and the grid of them (section 5.1 of the specification)."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise
from tests.contracts.view import counts

import linkwise.kernels
from linkwise.kernels import RBF, Laplacian, Linear, PairKernel, Polynomial, Sigmoid
from linkwise.kernels._families import base_scales, paper_kernels
from linkwise.kernels._views import Points

REFERENCES = {
    RBF(0.3): lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3),
    Laplacian(0.2): lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.2),
    Polynomial(0.4, 2, 0.1): lambda X, Y: pairwise.polynomial_kernel(
        X, Y, gamma=0.4, degree=2, coef0=0.1
    ),
    Polynomial(0.4, 3, 1.0): lambda X, Y: pairwise.polynomial_kernel(
        X, Y, gamma=0.4, degree=3, coef0=1.0
    ),
    Polynomial(0.4, 1, 1.0): lambda X, Y: pairwise.polynomial_kernel(
        X, Y, gamma=0.4, degree=1, coef0=1.0
    ),
    Sigmoid(0.1, 1.0): lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.1, coef0=1.0),
    Linear(): pairwise.linear_kernel,
}


@pytest.fixture(params=REFERENCES, ids=repr, name="kernel")
def make_kernel(request):
    return request.param


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_values_are_those_of_scikit_learn(kernel, form):
    X, Y = counts(0, (11, 4)), counts(1, (7, 4))
    expected = REFERENCES[kernel](X, Y)
    np.testing.assert_allclose(kernel(form(X), form(Y)), expected, atol=1e-12)


def test_kernels_are_values(kernel):
    again = eval(repr(kernel), vars(linkwise.kernels))
    assert again == kernel and hash(again) == hash(kernel)


def test_values_of_the_base_matrix_are_not_changed(kernel):
    values = np.array([[0.5, 2.0]])
    values.flags.writeable = False
    assert kernel.of_base(values).shape == (1, 2)


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.2), Polynomial(1.0, 2, 1.0)])
def test_gram_matrices_are_symmetric_and_positive(kernel):
    X = counts(2, (20, 4))
    gram = kernel(X, X)
    np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-9 * gram.max()


def test_a_function_of_two_objects_becomes_a_kernel():
    kernel = PairKernel(lambda a, b: len(a) * len(b))
    assert kernel(["a", "bb"], ["ccc"]).tolist() == [[3.0], [6.0]]


class TestGrid:
    def test_a_view_has_the_31_kernels_of_the_paper(self):
        scales = {"squared_distances": 4.0, "manhattan": 2.0, "inner_products": 10.0}
        widths = (0.2, 0.5, 1.0, 1.5, 2.0)
        expected = {RBF(g / 4.0) for g in widths} | {Laplacian(g / 2.0) for g in widths}
        expected |= {
            Polynomial(g / 10.0, degree, coef0)
            for g in (0.1, 0.5, 1.0, 1.5)
            for degree in (2, 3)
            for coef0 in (0.1, 1.0)
        }
        expected |= {Sigmoid(g / 10, c) for g in (0.001, 0.01) for c in (0.1, 1.0)}
        expected |= {Linear()}
        kernels = paper_kernels(scales)
        assert len(kernels) == 31 and set(kernels) == expected

    @pytest.mark.parametrize(
        "base, kinds, n_left",
        [
            ("squared_distances", (RBF,), 26),
            ("manhattan", (Laplacian,), 26),
            ("inner_products", (Polynomial, Sigmoid), 11),
        ],
    )
    def test_a_family_without_a_scale_is_left_out(self, base, kinds, n_left):
        scales = {"squared_distances": 4.0, "manhattan": 2.0, "inner_products": 10.0}
        kernels = paper_kernels(scales | {base: 0.0})
        assert len(kernels) == n_left
        assert not any(isinstance(kernel, kinds) for kernel in kernels)


def scales(X, seed=0):
    return base_scales(Points(X), np.random.default_rng(seed))


class TestScales:
    @pytest.mark.parametrize("n", [2, 3, 50, 199, 200])
    def test_up_to_200_points_all_pairs_are_looked_at_once(self, n):
        X = np.random.default_rng(n).normal(size=(n, 3)) + 1.0
        products = np.abs((X @ X.T)[np.triu_indices(n, 1)])
        for seed in (0, 1):
            found = scales(X, seed)
            assert found["squared_distances"] == pytest.approx(
                np.median(pdist(X, "sqeuclidean"))
            )
            assert found["manhattan"] == pytest.approx(np.median(pdist(X, "cityblock")))
            assert found["inner_products"] == pytest.approx(np.median(products))

    def test_more_points_are_sampled_by_the_seed(self):
        X = np.random.default_rng(0).normal(size=(900, 3))
        once, again, other = scales(X, 5), scales(X, 5), scales(X, 6)
        assert once == again
        exact = np.median(pdist(X, "sqeuclidean"))
        for found in (once, other):
            assert found["squared_distances"] != exact
            assert found["squared_distances"] == pytest.approx(exact, rel=0.2)
        assert once["squared_distances"] != other["squared_distances"]

    def test_201_points_are_too_many_for_all_pairs(self):
        X = np.arange(201.0)[:, None]
        found = {scales(X, seed)["squared_distances"] for seed in range(20)}
        assert len(found) > 1

    def test_a_median_of_zero_gives_way_to_the_mean_of_the_others(self):
        X = np.zeros((9, 1))
        X[0], X[1] = 3.0, 1.0
        found = scales(X)
        # Of 36 pairs, 7 are 9 apart (squared), 7 are 1 and one is 4.
        assert found["squared_distances"] == pytest.approx((7 * 9 + 7 * 1 + 4) / 15)
        assert found["manhattan"] == pytest.approx((7 * 3 + 7 * 1 + 2) / 15)
        assert found["inner_products"] == pytest.approx(3.0)

    def test_binary_data_have_scales(self):
        X = (np.random.default_rng(0).random((40, 30)) < 0.02).astype(np.float64)
        products = (X @ X.T)[np.triu_indices(40, 1)]
        assert np.median(products) == 0 and products.any()
        assert scales(X)["inner_products"] == pytest.approx(
            products[products > 0].mean()
        )

    def test_equal_rows_have_distance_scales_of_zero(self):
        found = scales(np.full((6, 2), 2.0))
        assert found["squared_distances"] == found["manhattan"] == 0
        assert found["inner_products"] == pytest.approx(8.0)

    def test_a_single_row_has_no_pairs(self):
        assert set(scales(np.ones((1, 2))).values()) == {0.0}

    def test_sparse_rows_have_the_scales_of_dense_ones(self):
        X = counts(4, (300, 6))
        dense, sparse = scales(X), scales(csr_array(X))
        assert dense == pytest.approx(sparse)
