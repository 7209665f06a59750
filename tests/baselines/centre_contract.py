"""What every method that ends with one centre per cluster has to keep."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, InconsistentConstraintsError


def blobs(seed=0, spread=0.5, n_pairs=30, sizes=(16, 20, 24)):
    """Return rows around three corners, their classes and pairs from these."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(3), sizes))
    X = 5.0 * np.eye(3)[y] + spread * rng.standard_normal((len(y), 3))
    X.flags.writeable = False
    return X, y, Constraints.sample(y, n_pairs, random_state=seed)


def random_problem(rng, n_max=12, weighted=False):
    """Return rows, pairs that agree with a hidden partition, and a k that allows."""
    n = int(rng.integers(4, n_max + 1))
    k = int(rng.integers(2, min(n, 4) + 1))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    hidden = rng.permutation(np.arange(n) % k)
    pairs = rng.integers(n, size=(int(rng.integers(0, 2 * n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same]
    if not weighted:
        return X, Constraints(must, cannot), k
    # Dyadic weights: their sums are exact in any order, so ties are ties.
    values = np.array([0.25, 0.5, 1.0, 2.0])
    weights = rng.choice(values, len(must)), rng.choice(values, len(cannot))
    return X, Constraints(must, cannot, *weights), k


def inertia(X, labels):
    """Return the sum of squared distances to the means of the clusters."""
    return sum(
        ((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum()
        for c in np.unique(labels)
    )


class CentreContract:
    """Subclasses have a fixture ``model``, not fitted, for three clusters."""

    def test_perfect_pairs_on_separated_blobs_give_the_classes(self, model):
        X, y, pairs = blobs()
        model.fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert model.constraint_score_ == 1.0 and model.n_violated_ == 0
        assert model.converged_

    def test_the_same_seed_gives_the_same_bits(self, model):
        X, _, pairs = blobs(spread=3.0)
        first = clone(model).fit(X, constraints=pairs)
        second = clone(model).fit(X, constraints=pairs)
        assert_array_equal(first.labels_, second.labels_)
        assert_array_equal(first.cluster_centers_, second.cluster_centers_)
        assert first.objective_ == second.objective_

    def test_fit_twice_equals_fit_once(self, model):
        X, _, pairs = blobs(spread=3.0)
        parameters = model.get_params()
        labels = model.fit(X, constraints=pairs).labels_
        assert_array_equal(model.fit(X, constraints=pairs).labels_, labels)
        assert model.get_params() == parameters

    def test_scores_are_those_of_the_closure(self, model):
        X, _, pairs = blobs(spread=3.0)
        model.fit(X, constraints=pairs)
        closure = pairs.closure(len(X))
        assert model.constraint_score_ == closure.score(model.labels_)
        assert model.n_violated_ == closure.n_violated(model.labels_)

    def test_pairs_turned_or_given_twice_change_nothing(self, model):
        X, _, pairs = blobs(spread=3.0)
        labels = model.fit(X, constraints=pairs).labels_
        turned = Constraints(
            np.concatenate([pairs.must_link[:, ::-1], pairs.must_link]),
            pairs.cannot_link[:, ::-1],
        )
        assert_array_equal(model.fit(X, constraints=turned).labels_, labels)

    def test_float32_gives_the_labels_of_float64(self, model):
        X, _, pairs = blobs()
        labels = model.fit(X, constraints=pairs).labels_
        X = X.astype(np.float32)
        assert_array_equal(model.fit(X, constraints=pairs).labels_, labels)

    def test_far_from_the_origin_nothing_changes(self, model):
        X, _, pairs = blobs(spread=2.0)
        labels = model.fit(X, constraints=pairs).labels_
        assert_array_equal(model.fit(X + 1e6, constraints=pairs).labels_, labels)

    def test_prediction_takes_the_nearest_centre(self, model):
        X, _, pairs = blobs(spread=3.0)
        model.fit(X, constraints=pairs)
        new = np.random.default_rng(1).normal(2.0, 3.0, (1500, 3))
        away = ((new[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        assert_array_equal(model.predict(new), away.argmin(axis=1))
        assert 0 <= model.score(X, constraints=pairs) <= 1

    def test_a_data_frame_is_data(self, model):
        X, _, pairs = blobs()
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        labels = model.fit(frame, constraints=pairs).labels_
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        assert_array_equal(model.predict(frame), labels)

    def test_sparse_data_are_refused(self, model):
        X, _, pairs = blobs()
        with pytest.raises(TypeError, match="dense data is required"):
            model.fit(csr_array(X), constraints=pairs)

    def test_a_pickle_predicts_the_same(self, model):
        X, _, pairs = blobs(spread=2.0)
        model.fit(X, constraints=pairs)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict(X), model.predict(X))

    def test_pairs_pass_through_a_pipeline(self, model):
        X, _, pairs = blobs(spread=2.0)
        with config_context(enable_metadata_routing=True):
            steps = make_pipeline(StandardScaler(), model)
            labels = steps.fit_predict(X, constraints=pairs)
        scaled = StandardScaler().fit_transform(X)
        expected = clone(model).fit_predict(scaled, constraints=pairs)
        assert_array_equal(labels, expected)

    def test_contradictory_pairs_are_an_error_or_dropped(self, model):
        X, _, pairs = blobs(spread=2.0)
        i, j = pairs.must_link[0]
        wrong = pairs | Constraints((), [(i, j)])
        with pytest.raises(InconsistentConstraintsError, match=f"{i}"):
            model.fit(X, constraints=wrong)
        model.set_params(on_conflict="drop")
        labels = model.fit(X, constraints=wrong).labels_
        assert_array_equal(labels, model.fit(X, constraints=pairs).labels_)

    def test_no_pairs_are_no_problem(self, model):
        X, y, _ = blobs()
        model.fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert np.isnan(model.constraint_score_) and model.n_violated_ == 0

    def test_one_cluster_holds_all(self, model):
        X, _, _ = blobs()
        model.set_params(n_clusters=1).fit(X, constraints=([(0, 1)], []))
        assert not model.labels_.any()
        assert_allclose(model.cluster_centers_[0], X.mean(axis=0))

    def test_as_many_clusters_as_rows_are_all_used(self, model):
        X = blobs()[0][:6]
        model.set_params(n_clusters=6).fit(X, constraints=([], [(0, 1)]))
        assert_array_equal(np.sort(model.labels_), np.arange(6))
        assert_allclose(model.objective_, 0.0, atol=1e-9)

    def test_more_clusters_than_rows_are_an_error(self, model):
        with pytest.raises(ValueError, match="n_clusters=7 is more than the 6 rows"):
            model.set_params(n_clusters=7).fit(blobs()[0][:6])

    def test_no_cluster_stays_empty_on_equal_rows(self, model):
        X = np.array([[0.0]] * 5 + [[1.0]] * 3)
        labels = model.fit_predict(X, constraints=([(0, 1)], [(2, 5)]))
        assert_array_equal(np.unique(labels), [0, 1, 2])

    def test_max_iter_reached_is_a_warning(self, model):
        X, _, pairs = blobs(seed=1, spread=4.0)
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            model.set_params(max_iter=1).fit(X, constraints=pairs)
        assert model.n_iter_ == 1 and not model.converged_
