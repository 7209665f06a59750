"""Rows where the committee and a forest of the answers expect them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from linkwise import KernelCSC
from linkwise.active import ActiveClusterer, Session, Truth, run
from linkwise.active._answers import Answer, Known
from linkwise.active._clusterer import _numbered
from linkwise.active._placing import placed
from linkwise.search import Committee


def known_of(groups):
    """Return groups of rows that all differ."""
    known = Known()
    for own in groups:
        for row in own[1:]:
            known.add(Answer(own[0], row, True, -1))
    for at, own in enumerate(groups):
        for other in groups[:at]:
            known.add(Answer(own[0], other[0], False, -1))
    return known


def committee_of(labels, known, places=None):
    labels = np.asarray(labels)
    places = np.arange(labels.shape[1]) if places is None else np.asarray(places)
    k, even = int(labels.max(initial=0)) + 1, np.ones(len(labels))
    committee = Committee(labels, 0 * even, 0, k, evenness=even, places=places)
    return committee.since(known.as_groups())


def expected_by_loops(committee, groups, features):
    """Return the sum of what committee and forest expect, row by row."""
    n_rows, k = len(features), len(groups)
    found = np.zeros((n_rows, k))
    heavy = committee.weights >= 1e-3 * committee.weights.max()
    for row in range(n_rows):
        for labels, weight in zip(
            committee.labels[heavy], committee.weights[heavy], strict=True
        ):
            # Each group counts as much as one of the mean size does.
            n_mean = sum(map(len, groups)) / k
            counts = np.array(
                [
                    0.1 + np.mean([labels[i] == labels[row] for i in own]) * n_mean
                    for own in groups
                ]
            )
            found[row] += weight * counts / counts.sum()
        found[row] /= committee.weights[heavy].sum()
    rows = np.concatenate(groups)
    group = np.concatenate([np.full(len(own), at) for at, own in enumerate(groups)])
    balance = "balanced_subsample"
    forest = RandomForestClassifier(100, class_weight=balance, random_state=0)
    forest.fit(features[rows], group)
    return found + forest.predict_proba(features)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3))
def test_rows_go_where_committee_and_forest_together_expect_them(seed, k):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((30, 3))
    rows = rng.permutation(30)
    groups = [rows[9 * at : 9 * at + 3 + 2 * at].tolist() for at in range(k)]
    labels = rng.integers(k, size=(5, 30))
    known = known_of(groups)
    committee = committee_of(labels, known)
    found = placed(labels[0], committee, known, features, k)
    expected = expected_by_loops(committee, groups, features)
    if found is None:
        assert len(np.unique(expected.argmax(axis=1))) < k
    else:
        assert found.labels.tolist() == expected.argmax(axis=1).tolist()
        np.testing.assert_allclose(found.doubt, 1.0 - expected.max(axis=1) / 2.0)
        assert (found.doubt >= -1e-12).all() and (found.doubt <= 1.0 - 1.0 / k).all()


# Sixteen rows, of which the committee says nothing and the first column everything.
SIDES = np.repeat([0, 1], 8)
COLUMNS = np.column_stack([10.0 * SIDES, np.tile([0.0, 1.0], 8)])
MIXED = np.tile([[0, 1]], (3, 8))


def test_the_forest_decides_where_the_committee_knows_nothing():
    known = known_of([[0, 1, 2, 3], [8, 9, 10, 11]])
    found = placed(MIXED[0], committee_of(MIXED, known), known, COLUMNS, 2)
    assert found.labels.tolist() == SIDES.tolist()


def test_the_committee_decides_where_the_forest_knows_nothing():
    known = known_of([[0, 1, 2, 3], [8, 9, 10, 11]])
    alike = np.zeros((16, 1))
    committee = committee_of([SIDES, SIDES, MIXED[0]], known)
    found = placed(MIXED[0], committee, known, alike, 2)
    assert found.labels.tolist() == SIDES.tolist()


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 1, 2, 3]],  # one cluster is not known yet
        [[0, 1, 2, 3], [8, 9]],  # two rows are too few
    ],
)
def test_labels_of_the_fit_stay_while_a_cluster_is_hardly_known(groups):
    known = known_of(groups)
    assert placed(MIXED[0], committee_of(MIXED, known), known, COLUMNS, 2) is None


def test_a_row_that_came_early_is_in_nobodys_way():
    known = Known()
    for other in (0, 8):
        known.add(Answer(15, other, False, -1))
    groups = [[0, 1, 2, 3], [8, 9, 10, 11], [4, 5, 6]]
    for own in groups:
        for row in own[1:]:
            known.add(Answer(own[0], row, True, -1))
    for i, j in ((0, 8), (0, 4), (4, 8)):
        known.add(Answer(i, j, False, -1))
    thirds = np.repeat([0, 2, 1], [4, 4, 8])
    found = placed(MIXED[0], committee_of([thirds] * 2, known), known, COLUMNS, 3)
    assert adjusted_rand_score(found.labels[:15], thirds[:15]) == 1.0


def test_more_groups_than_clusters_are_left_to_the_fit():
    known = known_of([[0, 1, 2], [3, 4, 5], [8, 9, 10]])
    assert placed(MIXED[0], committee_of(MIXED, known), known, COLUMNS, 2) is None


def test_no_cluster_is_lost():
    known = known_of([[0, 1, 2], [3, 4, 5, 6, 7, 8, 9, 10, 11]])
    alike = np.zeros((16, 1))
    committee = committee_of(np.zeros((3, 16), dtype=int), known)
    assert placed(MIXED[0], committee, known, alike, 2) is None


def test_rows_that_no_judge_sees_are_taken_by_the_clusters_of_the_fit():
    known = known_of([[0, 1, 2, 3], [8, 9, 10, 11]])
    alike = np.zeros((16, 1))
    places = np.where(np.isin(np.arange(16), [4, 5, 14, 15]), -1, np.arange(16))
    committee = committee_of([SIDES, SIDES, SIDES], known, places)
    labels = SIDES.copy()
    labels[[4, 15]] = [1, 0]
    found = placed(labels, committee, known, alike, 2)
    assert found.labels[[4, 5, 14, 15]].tolist() == [1, 0, 1, 0]
    assert found.labels[6:14].tolist() == SIDES[6:14].tolist()


def test_rows_far_from_all_clusters_stay_out():
    known = known_of([[0, 1, 2, 3], [8, 9, 10, 11]])
    labels = SIDES.copy()
    labels[[0, 15]] = -1
    places = np.arange(16)
    places[15] = -1
    committee = committee_of([SIDES, SIDES], known, places)
    found = placed(labels, committee, known, COLUMNS, 2)
    assert np.flatnonzero(found.labels < 0).tolist() == [0, 15]
    assert found.labels[1:15].tolist() == SIDES[1:15].tolist()


def one_of_many(n_rows, n_columns, seed=0):
    """Return rows whose class is a rule on one column of several."""
    X = np.random.default_rng(seed).standard_normal((n_rows, n_columns))
    return X, (X[:, 0] > 0.3).astype(int)


# Kernels that know nothing of the answers, and no forest of their own.
MODEL = KernelCSC(2, kernels="paper", n_candidates=30, random_state=0)


@pytest.fixture(scope="module")
def told():
    X, y = one_of_many(160, 15)
    session = run(Session(X, MODEL, random_state=0), Truth(y), 60, fit_every=20)
    return session, y


def test_a_session_is_better_for_it(told):
    session, y = told
    asked = np.concatenate([[i, j] for i, j, _ in session.answers.values()])
    free = np.setdiff1d(np.arange(160), asked)
    by_kernel = adjusted_rand_score(y[free], session.model_.labels_[free])
    assert adjusted_rand_score(y[free], session.labels_[free]) > by_kernel + 0.1


def test_a_session_doubts_rows_as_they_are_placed(told):
    session, _ = told
    doubt = session.doubt()
    moved = adjusted_rand_score(session.labels_, session.model_.labels_) < 1.0
    assert moved and ((doubt >= 0.0) & (doubt <= 0.5)).all()
    # Where both have their say, nobody is certain who is alone.
    assert (doubt > 0.0).any()


@pytest.mark.parametrize(
    "make", [sparse.csr_array, lambda X: X], ids=["counts", "unit"]
)
def test_rows_without_columns_of_their_own_keep_the_labels_of_the_fit(make):
    X, y = one_of_many(80, 60)
    X = np.abs(X) if make is sparse.csr_array else X
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = KernelCSC(2, n_candidates=10, random_state=0)
    session = run(Session(make(X), model), Truth(y), 30, fit_every=30)
    assert adjusted_rand_score(session.labels_, session.model_.labels_) == 1.0


def test_an_estimator_that_asks_has_the_labels_of_its_session(told):
    session, y = told
    asking = ActiveClusterer(MODEL, Truth(y), budget=60, fit_every=20)
    asking.fit(session.X_)
    assert adjusted_rand_score(asking.labels_, session.labels_) == 1.0
    # New rows get the ids of the same clusters.
    assert (asking.labels_ == asking.predict(session.X_)).mean() > 0.5


def test_clusters_that_were_merged_stay_so():
    corners = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    X, y = make_blobs(80, centers=corners, cluster_std=0.5, random_state=0)
    model = KernelCSC(4, n_candidates=20, random_state=1)
    session = Session(X, model)
    groups = [np.flatnonzero(y == at)[:6].tolist() for at in range(4)]
    for own in groups:
        for row in own[1:]:
            session.tell((own[0], row), "same")
    for first, second in combinations(groups, 2):
        session.tell((first[0], second[0]), "different")
    session.fit()
    assert adjusted_rand_score(session.labels_, y) == 1.0
    session.merge(*(int(session.labels_[own[0]]) for own in groups[:2]))
    merged = session.fit().labels_
    # The two others are still what they were.
    others = np.isin(y, [2, 3])
    assert adjusted_rand_score(merged[others], y[others]) == 1.0


def test_of_a_pipeline_the_forest_sees_what_the_last_step_sees():
    X, y = one_of_many(160, 3)
    without = FunctionTransformer(lambda X: X[:, 1:])
    own = run(Session(X, make_pipeline(without, MODEL)), Truth(y), 60, fit_every=60)
    asked = {row for i, j, _ in own.answers.values() for row in (i, j)}
    free = np.setdiff1d(np.arange(160), list(asked))
    # The column of the classes is not among those that it has.
    assert adjusted_rand_score(y[free], own.labels_[free]) < 0.2


def test_matrices_of_kernels_have_no_columns_to_learn(told):
    session, y = told
    gram = rbf_kernel(session.X_)
    model = KernelCSC(2, kernels="precomputed", n_candidates=5, random_state=0)
    own = run(Session(gram, model), Truth(y), 40, fit_every=40)
    assert adjusted_rand_score(own.labels_, own.model_.labels_) == 1.0


def test_clusters_are_numbered_after_others():
    own = np.array([2, 2, 2, 0, 0, 1, 1, 1, -1])
    labels = np.array([7, 7, 7, 3, 3, 9, 9, 7, 3])
    assert _numbered(labels, own).tolist() == [2, 2, 2, 0, 0, 1, 1, 2, 0]
    assert _numbered(np.array([5, -1, 5]), np.array([0, 0, 1])).tolist() == [0, -1, 0]
