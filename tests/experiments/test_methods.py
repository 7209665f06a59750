from functools import cache

import numpy as np
import pytest

from linkwise.constraints import Constraints
from linkwise.experiments import PAPER_METHODS, clusterer, find_method, method_names
from linkwise.experiments._methods import takes

# Two rounds of a metric that has not come to rest are rounds enough here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEARCHES = {"KernelCSC", "SingleKernelCSC", "MahalanobisCSC"}


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = rng.normal(size=(45, 2)) + 5 * np.stack([y == 1, y == 2], axis=1)
    X.flags.writeable = False
    return X, Constraints.sample(y, 60, random_state=0)


def call(name, X, pairs):
    method = find_method(name)
    given = {"n_candidates": 10} if takes(method, "n_candidates") else {}
    return method(X, pairs, n_clusters=3, random_state=0, **given)


@pytest.fixture(scope="module")
def labels_of(problem):
    """The labels of a method, found once."""
    return cache(lambda name: call(name, *problem))


@pytest.mark.parametrize("name", method_names())
def test_every_method_returns_a_label_for_each_row_and_repeats_itself(
    name, problem, labels_of
):
    labels = labels_of(name)
    assert labels.shape == (45,) and set(labels) == {0, 1, 2}
    np.testing.assert_array_equal(labels, call(name, *problem))


@pytest.mark.parametrize("name", sorted(set(method_names()) - SEARCHES))
def test_rivals_do_not_depend_on_the_units_of_columns(name, problem, labels_of):
    X, pairs = problem
    np.testing.assert_array_equal(labels_of(name), call(name, X * [1024, 0.125], pairs))


def test_the_nine_methods_of_the_paper_are_known():
    assert len(PAPER_METHODS) == 9 and set(PAPER_METHODS) <= set(method_names())


def test_only_searches_over_weights_take_candidates():
    with_candidates = {
        n for n in method_names() if takes(find_method(n), "n_candidates")
    }
    assert with_candidates == SEARCHES - {"SingleKernelCSC"}


def test_a_class_or_a_function_of_the_user_is_a_method(folder, monkeypatch, problem):
    monkeypatch.syspath_prepend(folder)
    halves = find_method("my_methods:Halves")
    labels = halves(*problem, n_clusters=2, random_state=0, column=1)
    assert labels.sum() == 22 and takes(halves, "column")
    assert takes(find_method("my_methods:steady"), "pause")


def test_standardised_data_have_mean_0_and_variance_1(problem):
    seen = []

    class Spy:
        def __init__(self, n_clusters, random_state):
            pass

        def fit_predict(self, X, constraints):
            seen.append(X)
            return np.zeros(len(X), dtype=int)

    X, pairs = problem
    for standardise in (False, True):
        clusterer(Spy, standardise)(X, pairs, n_clusters=1, random_state=0)
    assert seen[0] is X
    np.testing.assert_allclose(seen[1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(seen[1].std(axis=0), 1)


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="no method 'KMeans'.*k-means"):
        find_method("KMeans")
