"""The map of rows: kernel PCA of the learnt kernel."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, KernelPCA
from sklearn.preprocessing import StandardScaler

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
    table_pipeline,
)
from linkwise.estimators import row_map
from linkwise.kernels import RBF, Linear, PairKernel, Standardized


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, Constraints.sample(y, 60, random_state=0)


def fitted(wine, **options):
    X, pairs = wine
    options = {"n_candidates": 20, "random_state": 0} | options
    return KernelCSC(3, **options).fit(X, constraints=pairs)


def gram_of(model, X):
    """The learnt kernel of new rows, each kernel written out by itself."""
    kernel = model._kernel
    total = np.zeros((len(X), len(X)))
    for entry, coefficient in zip(kernel._entries, kernel.coefficients, strict=True):
        points = kernel._views.views[entry.view].transform(X).plain()
        total += coefficient * entry.kernel(points, points)
    return total


def by_scikit_learn(gram):
    found = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(gram)
    signs = np.sign(found[np.abs(found).argmax(axis=0), [0, 1]])
    return found * signs


@pytest.mark.parametrize("kernels", ["rich", "paper"])
def test_the_map_is_kernel_pca_of_the_learnt_kernel(wine, kernels):
    X, _ = wine
    model = fitted(wine, kernels=kernels)
    expected = by_scikit_learn(gram_of(model, X))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(row_map(model, X), expected, atol=1e-6 * scale)


def test_new_rows_have_a_map_of_their_own(wine):
    X, _ = wine
    model = fitted(wine)
    expected = by_scikit_learn(gram_of(model, X[:40]))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(row_map(model, X[:40]), expected, atol=1e-6 * scale)


def test_a_model_of_landmarks_has_the_map_of_its_kernel(wine):
    X, _ = wine
    model = fitted(wine, approximation="landmarks", n_landmarks=50)
    expected = by_scikit_learn(gram_of(model, X))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(row_map(model, X), expected, atol=1e-6 * scale)


def test_a_single_kernel_and_a_fixed_one_have_maps(wine):
    X, pairs = wine
    single = SingleKernelCSC(3, random_state=0).fit(X, constraints=pairs)
    fixed = ConstrainedKernelKMeans(3, random_state=0).fit(X, constraints=pairs)
    for model in (single, fixed):
        expected = by_scikit_learn(gram_of(model, X))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(row_map(model, X), expected, atol=1e-6 * scale)


def test_weights_of_features_stretch_the_map(wine):
    X, pairs = wine
    model = MahalanobisCSC(3, n_candidates=20, random_state=0).fit(X, constraints=pairs)
    scaled = StandardScaler().fit_transform(X) * model.feature_weights_
    expected = by_scikit_learn(scaled @ scaled.T)
    np.testing.assert_allclose(row_map(model, X), expected, atol=1e-8)


@pytest.mark.parametrize("model", [None, "k-means"])
def test_without_a_kernel_it_is_pca_of_standardised_columns(wine, model):
    X, _ = wine
    if model is not None:
        model = KMeans(3, n_init=1, random_state=0).fit(X)
    found = row_map(model, X)
    expected = PCA(2, svd_solver="full").fit_transform(
        StandardScaler().fit_transform(X)
    )
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_sparse_rows_keep_their_units():
    X = np.random.default_rng(0).poisson(0.2, (120, 30)).astype(float)
    expected = PCA(2, svd_solver="full").fit_transform(X)
    for rows in (csr_array(X), csr_array(X).astype(np.float32)):
        found = row_map(None, rows)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)


def test_landmarks_that_are_all_rows_change_nothing(wine):
    X, _ = wine
    model = fitted(wine)
    exact = row_map(model, X)
    by_landmarks = row_map(model, X, max_exact=10, n_landmarks=len(X))
    scale = np.abs(exact).max()
    np.testing.assert_allclose(by_landmarks, exact, atol=1e-3 * scale)


def test_few_landmarks_give_nearly_the_same_map(wine):
    X, _ = wine
    model = fitted(wine)
    exact, near = row_map(model, X), row_map(model, X, max_exact=10, n_landmarks=60)
    for column in range(2):
        correlation = np.corrcoef(exact[:, column], near[:, column])[0, 1]
        assert abs(correlation) > 0.97


def test_many_rows_are_shown_block_by_block():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 4)) + 6.0 * rng.integers(0, 3, (25_000, 1))
    found = row_map(None, X)
    # Four columns are in the span of the landmarks, so that only the sample differs.
    expected = PCA(2, svd_solver="full").fit_transform(
        StandardScaler().fit_transform(X)
    )
    assert found.shape == (25_000, 2)
    assert abs(np.corrcoef(found[:, 0], expected[:, 0])[0, 1]) > 0.9999
    np.testing.assert_array_equal(found, row_map(None, X))


def test_the_largest_coordinate_is_positive(wine):
    X, _ = wine
    for options in ({}, {"max_exact": 10, "n_landmarks": 40}):
        found = row_map(fitted(wine), X, **options)
        assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()


@pytest.mark.parametrize("options", [{}, {"max_exact": 2, "n_landmarks": 5}])
def test_equal_rows_are_one_point(wine, options):
    X, _ = wine
    same = np.repeat(X[:1], 12, axis=0) + 0.1
    for model in (None, fitted(wine)):
        assert not row_map(model, same, **options).any()


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_one_row_or_two_have_a_map(wine, n_rows):
    X, _ = wine
    found = row_map(fitted(wine), X[:n_rows])
    assert found.shape == (n_rows, 2)
    assert np.isfinite(found).all()
    assert (found[:, 1] == 0).all() or n_rows == 3


def test_gram_matrices_in_place_of_data_have_a_map(wine):
    X, pairs = wine
    Z = StandardScaler().fit_transform(X)
    grams = [RBF(0.05)(Z, Z), Linear()(Z, Z)]
    model = KernelCSC(3, kernels="precomputed", n_candidates=10, random_state=0)
    model.fit(grams, constraints=pairs)
    kernel = model._kernel
    total = sum(
        c * grams[entry.kernel.cross.position]
        for entry, c in zip(kernel._entries, kernel.coefficients, strict=True)
    )
    expected = by_scikit_learn(total)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(row_map(model, grams), expected, atol=1e-4 * scale)
    new = [gram[:7] for gram in grams]
    assert row_map(model, new).shape == (7, 2)


def test_where_a_gram_matrix_was_chosen_the_columns_count(wine):
    X, pairs = wine
    Z = StandardScaler().fit_transform(X)
    model = KernelCSC(3, kernels=[Z @ Z.T], n_candidates=5, random_state=0)
    model.fit(X, constraints=pairs)
    np.testing.assert_array_equal(row_map(model, X), row_map(None, X))


def test_objects_and_several_views_have_maps():
    words = ["aa", "ab", "a", "zz", "zy", "z", "y"] * 3
    kernel = PairKernel(lambda left, right: float(len(set(left) & set(right))))
    model = KernelCSC(2, kernels=[kernel], n_candidates=5, random_state=0)
    model.fit(words, constraints=([(0, 1)], [(0, 3)]))
    found = row_map(model, words)
    np.testing.assert_allclose(found[:7], found[7:14], atol=1e-8)
    X = load_wine().data
    views = [X[:, :4], csr_array(X[:, 4:])]
    model = KernelCSC(3, n_candidates=10, random_state=0)
    model.fit(views, constraints=([(0, 1)], [(0, 177)]))
    assert np.isfinite(row_map(model, views)).all()
    assert np.isfinite(row_map(None, views)).all()


def test_a_pipeline_prepares_the_rows_first(wine):
    X, pairs = wine
    frame = pd.DataFrame(X).map(lambda value: f"{value:.2f}")
    model = table_pipeline(KernelCSC(3, n_candidates=10, random_state=0))
    model.fit(frame, cluster__constraints=pairs)
    found = row_map(model, frame)
    np.testing.assert_array_equal(
        found, row_map(model["cluster"], model["table"].transform(frame))
    )


def test_a_mapped_file_is_shown_as_the_array(wine, tmp_path):
    X, pairs = wine
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = fitted(wine)
    options = {"max_exact": 10, "n_landmarks": 30}
    np.testing.assert_array_equal(
        row_map(model, X, **options), row_map(model, mapped, **options)
    )


def test_a_model_that_is_not_fitted_has_no_map(wine):
    from sklearn.exceptions import NotFittedError

    for model in (KernelCSC(3), MahalanobisCSC(3)):
        with pytest.raises(NotFittedError):
            row_map(model, wine[0])


def test_a_fixed_kernel_on_a_view_is_seen_as_it_was_fitted(wine):
    X, pairs = wine
    model = ConstrainedKernelKMeans(
        3, kernel=(Standardized(), Linear()), random_state=0
    )
    model.fit(X, constraints=pairs)
    np.testing.assert_allclose(row_map(model, X), row_map(None, X), atol=1e-6)
