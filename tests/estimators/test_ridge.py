"""Kernel ridge regression against scikit-learn's, and rows that are really left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from linkwise.estimators import _ridge
from linkwise.estimators._ridge import learn_ridge

quick = settings(deadline=None, max_examples=25)


def draw(seed, n=40, n_classes=3, d=4):
    rng = np.random.default_rng(seed)
    own = 2 * rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, d)) + own[:, None], own


def learn(columns, own, seed=0):
    return learn_ridge(columns, own, np.random.default_rng(seed))


def regression(ridge, penalty):
    kernel = {"kernel": "rbf", "gamma": 1.0 / ridge.width}
    if ridge.is_linear:
        kernel = {"kernel": "linear"}
        penalty = penalty * ridge.width
    return KernelRidge(alpha=penalty, **kernel)


@pytest.mark.parametrize("penalty", [0.01, 1.0])
@pytest.mark.parametrize("width", [1.0, np.inf])
def test_it_agrees_with_scikit_learn_and_with_rows_left_out(
    monkeypatch, width, penalty
):
    monkeypatch.setattr(_ridge, "_WIDTHS", (width,))
    monkeypatch.setattr(_ridge, "_PENALTIES", (penalty,))
    columns, own = draw(0)
    columns = np.clip(columns, -5, 5)
    ridge, unseen = learn(columns, own)
    target = (own[:, None] == ridge.classes) - ridge.offset
    twin = regression(ridge, penalty).fit(columns, target)
    new = draw(1)[0]
    expected = twin.predict(np.clip(new, -5, 5)) + ridge.offset
    assert_allclose(ridge.shares(new), shares(expected), atol=1e-6)
    for row in range(0, len(columns), 7):
        kept = np.arange(len(columns)) != row
        twin = regression(ridge, penalty).fit(columns[kept], target[kept])
        expected = twin.predict(columns[row : row + 1]) + ridge.offset
        assert_allclose(unseen[row : row + 1], shares(expected), atol=1e-6)


def shares(values):
    values = np.clip(values, 0.01, 1.0)
    return values / values.sum(axis=1, keepdims=True)


@quick
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_shares_sum_to_one_and_classes_are_those_given(seed, n_classes):
    columns, own = draw(seed, n_classes=n_classes)
    ridge, unseen = learn(columns, own)
    assert ridge.classes.tolist() == np.unique(own).tolist()
    for found in (unseen, ridge.shares(columns), ridge.shares(1e9 * columns)):
        assert found.shape == (len(own), n_classes) and found.min() > 0.0
        assert_allclose(found.sum(axis=1), 1.0)


def test_many_rows_need_few_centres(monkeypatch):
    monkeypatch.setattr(_ridge, "_MAX_CENTRES", 30)
    columns, own = draw(0, n=400)
    ridge, unseen = learn(columns, own)
    assert ridge.centres.shape == (30, 4)
    assert np.mean(ridge.classes[unseen.argmax(axis=1)] == own) > 0.9
    again, _ = learn(columns, own)
    assert np.array_equal(again.coefficients, ridge.coefficients)


def test_constant_columns_leave_the_shares_of_the_classes():
    own = np.repeat([0, 1], [10, 30])
    ridge, _ = learn(np.zeros((40, 2)), own)
    assert_allclose(ridge.shares(np.zeros((1, 2))), [[0.25, 0.75]], atol=1e-6)
