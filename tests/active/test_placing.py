"""Sessions show the rows where their model places them."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from linkwise import KernelCSC
from linkwise.active import ActiveClusterer, Session, Truth, run
from linkwise.active._clusterer import _numbered


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


def test_a_session_doubts_rows_as_they_are_placed(told):
    session, _ = told
    doubt = session.doubt()
    np.testing.assert_array_equal(doubt, session.model_.doubt_)
    assert ((doubt >= 0.0) & (doubt <= 0.5)).all() and (doubt > 0.0).any()


def test_the_model_of_a_session_predicts_what_it_shows(told):
    session, _ = told
    found = session.model_.predict(session.X_)
    assert adjusted_rand_score(session.labels_, found) == 1.0


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
    assert (asking.labels_ == asking.predict(session.X_)).all()


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
