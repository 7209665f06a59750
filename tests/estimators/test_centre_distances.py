"""Distances from centres, against centres that are written out."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC, MahalanobisCSC
from linkwise.estimators import centre_distances
from linkwise.kernels import RBF


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, Constraints.sample(y, 60, random_state=0)


def by_gram(gram, labels):
    """Squared distances of points from means, all in terms of inner products."""
    columns = []
    for cluster in range(labels.max() + 1):
        inside = labels == cluster
        q = gram[np.ix_(inside, inside)].mean()
        columns.append(gram.diagonal() - 2 * gram[:, inside].mean(axis=1) + q)
    return np.stack(columns, axis=1)


def test_a_learnt_kernel_gives_the_distances_of_its_geometry(wine):
    X, pairs = wine
    options = {"n_candidates": 20, "final_step": None, "random_state": 0}
    model = KernelCSC(3, kernels="paper", **options).fit(X, constraints=pairs)
    kernel = model._kernel
    gram = np.zeros((len(X), len(X)))
    for entry, coefficient in zip(kernel._entries, kernel.coefficients, strict=True):
        points = kernel._views.views[entry.view].transform(X).plain()
        gram += coefficient * entry.kernel(points, points)
    found = centre_distances(model, X)
    expected = by_gram(gram, model.labels_)
    np.testing.assert_allclose(found, expected, atol=1e-4 * expected.max())
    np.testing.assert_array_equal(found.argmin(axis=1), model.predict(X))


def test_weights_of_features_count(wine):
    X, pairs = wine
    model = MahalanobisCSC(3, n_candidates=20, random_state=0).fit(X, constraints=pairs)
    scaled = StandardScaler().fit_transform(X) * model.feature_weights_
    expected = by_gram(scaled @ scaled.T, model.labels_)
    np.testing.assert_allclose(centre_distances(model, X), expected, atol=1e-8)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_without_a_model_centres_are_means(wine, is_sparse):
    X, _ = wine
    labels = np.arange(len(X)) % 4 - 1
    Z = X if is_sparse else StandardScaler().fit_transform(X)
    expected = np.stack(
        [((Z - Z[labels == c].mean(axis=0)) ** 2).sum(axis=1) for c in range(3)], axis=1
    )
    found = centre_distances(None, csr_array(X) if is_sparse else X, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_a_cluster_without_rows_is_infinitely_far():
    found = centre_distances(None, np.arange(6.0)[:, None], [0, 0, 0, 2, 2, 2])
    assert np.isinf(found[:, 1]).all() and np.isfinite(found[:, [0, 2]]).all()


def test_gram_matrices_give_the_nearest_centre(wine):
    X, pairs = wine
    Z = StandardScaler().fit_transform(X)
    gram = RBF(0.05)(Z, Z)
    model = KernelCSC(3, kernels="precomputed", n_candidates=5, random_state=0)
    model.fit(gram, constraints=pairs)
    found = centre_distances(model, gram)
    np.testing.assert_array_equal(found.argmin(axis=1), model.predict(gram))
    assert (found.min(axis=1) == 0).all()
