"""Constrained complete link: shortest paths, then the tree of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import FitContract, make_blobs
from tests.clustering.plain import draw_constraints

from linkwise.baselines import ConstrainedCompleteLink
from linkwise.baselines._complete_link import bent_distances
from linkwise.constraints import Constraints

seeds = st.integers(0, 10_000)


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([ConstrainedCompleteLink(2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(FitContract):
    @pytest.fixture
    def model(self):
        return ConstrainedCompleteLink(3)


def plain_distances(X, pairs):
    """Return the distances of rows by Floyd and Warshall, then cannot-links."""
    n = len(X)
    closure = pairs.closure(n)
    D = cdist(X, X)
    for i, j in closure.must_link_pairs().pairs:
        D[i, j] = D[j, i] = 0.0
    for k in range(n):
        D = np.minimum(D, D[:, [k]] + D[k])
    largest = D.max()
    for i, j in closure.cannot_link_pairs().pairs:
        D[i, j] = D[j, i] = largest + 1.0
    return D


def test_the_example_of_the_specification():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [12.0]])
    closure = Constraints([(1, 2)]).closure(5)
    D = bent_distances(X, closure)
    D = D[np.ix_(closure.component, closure.component)]
    assert_allclose([D[0, 3], D[0, 4], D[3, 4]], [2.0, 8.0, 6.0], atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_stops_at_must_links_are_all_that_shortest_paths_need(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    X, pairs = rng.normal(size=(n, 2)), draw_constraints(rng, n, 8, 3)
    closure = pairs.closure(n)
    D = bent_distances(X, closure)[np.ix_(closure.component, closure.component)]
    assert_allclose(D, plain_distances(X, pairs), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, n_clusters=st.integers(1, 4))
def test_it_is_the_tree_of_all_rows(seed, n_clusters):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X, pairs = rng.normal(size=(n, 2)), draw_constraints(rng, n, 4, 3)
    # Ties between cannot-links are broken by the order of nodes: none are needed here.
    pairs = Constraints(pairs.must_link)
    model = ConstrainedCompleteLink(n_clusters).fit(X, constraints=pairs)
    tree = AgglomerativeClustering(
        n_clusters, metric="precomputed", linkage="complete"
    ).fit(plain_distances(X, pairs))
    assert adjusted_rand_score(tree.labels_, model.labels_) == 1.0


@settings(max_examples=30, deadline=None)
@given(seed=seeds, n_clusters=st.integers(1, 4))
def test_must_links_always_hold(seed, n_clusters):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 40))
    X = rng.integers(3, size=(n, 2)).astype(float)  # many equal rows
    pairs = draw_constraints(rng, n, 8, 3)
    if pairs.closure(n).n_components < n_clusters:
        return
    labels = ConstrainedCompleteLink(n_clusters).fit_predict(X, constraints=pairs)
    first, second = labels[pairs.must_link].T
    assert_array_equal(first, second)


@pytest.mark.parametrize("seed", range(3))
def test_without_pairs_it_is_complete_linkage_of_scikit_learn(seed):
    X = make_blobs(spread=4.0, seed=seed)[0]
    model = ConstrainedCompleteLink(4).fit(X)
    tree = AgglomerativeClustering(4, linkage="complete").fit(X)
    assert_array_equal(model.labels_, tree.labels_)
    D = cdist(X, X)
    inside = model.labels_[:, None] == model.labels_
    assert model.objective_ == pytest.approx(D[inside].max())
    assert model.n_iter_ == len(X) - 4


def test_the_order_of_rows_does_not_matter():
    X, _, pairs = make_blobs(spread=3.0, n_pairs=20)
    labels = ConstrainedCompleteLink(3).fit_predict(X, constraints=pairs)
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(place[pairs.must_link], place[pairs.cannot_link])
    other = ConstrainedCompleteLink(3).fit_predict(X[order], constraints=moved)
    assert adjusted_rand_score(labels[order], other) == 1.0


def test_sparse_rows_are_the_array():
    X, _, pairs = make_blobs(spread=2.0)
    labels = ConstrainedCompleteLink(3).fit_predict(X, constraints=pairs)
    sparse = ConstrainedCompleteLink(3).fit_predict(csr_array(X), constraints=pairs)
    assert_array_equal(labels, sparse)


def test_there_is_nothing_to_predict_with():
    model = ConstrainedCompleteLink(3).fit(make_blobs()[0])
    assert not hasattr(model, "predict") and not hasattr(model, "score")


def test_one_cluster_and_one_group():
    X = make_blobs()[0]
    labels = ConstrainedCompleteLink(1).fit_predict(X, np.zeros(len(X), dtype=int))
    assert not labels.any()


def test_what_is_too_large_for_the_memory_is_said_before_it_is_made():
    with pytest.raises(
        MemoryError, match=r"50000 rows.*55.88 GiB.*a sample of the rows\.$"
    ):
        ConstrainedCompleteLink(2).fit(np.zeros((50_000, 1)))
