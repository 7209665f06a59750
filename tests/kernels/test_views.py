"""Views: raw and standardised data, dense and sparse."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler
from tests.contracts.view import ViewContract, counts

from linkwise.kernels import Raw, Standardized
from linkwise.kernels._views import BASES, Points, inner_products


class TestRaw(ViewContract):
    @pytest.fixture
    def view(self):
        return Raw()

    def test_objects_of_any_kind_are_points(self):
        points = Raw().fit(["a", "bb", "ccc"]).transform(["a", "bb", "ccc"])
        assert points.n_points == 3
        assert points[np.array([2, 0])].plain() == ["ccc", "a"]
        assert points[1:].plain() == ["bb", "ccc"]


class TestStandardized(ViewContract):
    @pytest.fixture
    def view(self):
        return Standardized()

    @pytest.mark.parametrize("weighted", [False, True])
    def test_points_equal_those_of_scikit_learns_scaler(self, weighted):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 4)) * [1.0, 1e-5, 1e5, 3.0] + [0.0, 5.0, 1e6, -2.0]
        weight = rng.uniform(0.2, 4.0, 50) if weighted else None
        points = Standardized().fit(X, weight).transform(X)
        scaler = StandardScaler().fit(X, sample_weight=weight)
        np.testing.assert_allclose(points.plain(), scaler.transform(X), atol=1e-7)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_sparse_inner_products_equal_those_of_scikit_learns_scaler(self, weighted):
        X = counts(3)
        weight = np.random.default_rng(0).uniform(0.2, 4.0, 40) if weighted else None
        points = Standardized().fit(csr_array(X), weight).transform(csr_array(X))
        scaled = StandardScaler().fit(X, sample_weight=weight).transform(X)
        got = inner_products(points, points)
        np.testing.assert_allclose(got, scaled @ scaled.T, atol=1e-11)

    def test_sparse_values_stay_sparse(self):
        X = csr_array(counts())
        values = Standardized().fit(X).transform(X).values
        assert values.nnz == X.nnz

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, 9.95640265732016, -1e7 / 3])
    @pytest.mark.parametrize("n", [2, 14, 49])
    def test_constant_columns_become_zero(self, sparse, constant, n):
        X = np.random.default_rng(n).random((n, 2))
        X[:, 1] = constant
        data = csr_array(X) if sparse else X
        points = Standardized().fit(data).transform(data)
        assert not points.plain()[:, 1].any()

    def test_sparse_columns_far_from_zero_keep_their_deviation(self):
        X = np.random.default_rng(0).normal(size=(50, 2)) + 1e6
        sparse, dense = Standardized().fit(csr_array(X)), Standardized().fit(X)
        np.testing.assert_allclose(sparse.scale, dense.scale, rtol=1e-6)

    def test_new_rows_use_the_means_of_the_training_rows(self):
        fitted = Standardized().fit(np.array([[0.0], [2.0]]))
        assert fitted.transform(np.array([[1.0], [5.0]])).plain().tolist() == [
            [0.0],
            [4.0],
        ]


@pytest.mark.parametrize("view", [Raw(), Standardized()], ids=repr)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("trained_on", ["dense", "sparse"])
def test_training_rows_and_new_rows_may_differ_in_form(view, base, trained_on):
    X, Y = counts(0), counts(1, (6, 5))
    fitted = view.fit(X)
    expected = BASES[base](fitted.transform(Y), fitted.transform(X))
    old, new = (X, csr_array(Y)) if trained_on == "dense" else (csr_array(X), Y)
    fitted = view.fit(old)
    got = BASES[base](fitted.transform(new), fitted.transform(old))
    np.testing.assert_allclose(got, expected, atol=1e-11)


def test_distances_of_far_away_points_are_not_lost_in_rounding():
    x = np.array([[0.0], [1e-3], [1.0]]) + 1e7
    fitted = Raw().fit(x)
    got = BASES["squared_distances"](fitted.transform(x), fitted.transform(x))
    exact = (x - x.T) ** 2
    np.testing.assert_allclose(got, exact, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_distances_of_whole_numbers(kind):
    X = np.arange(12).reshape(6, 2)
    points = Points(kind(X))
    expected = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(BASES["squared_distances"](points, points), expected)


def test_a_sparse_matrix_without_values_has_constant_columns():
    empty = csr_array((5, 3))
    points = Standardized().fit(empty).transform(empty)
    assert not points.plain().any()
