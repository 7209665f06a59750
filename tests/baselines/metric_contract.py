"""What users may rely on, whichever of these baselines they take."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from linkwise.constraints import Constraints
from linkwise.exceptions import ConstraintWarning, InconsistentConstraintsError


def make_blobs(spread=0.5, n_pairs=40, seed=0):
    """Return three clusters in random order, and pairs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(3), (14, 18, 22)))
    X = 5.0 * np.eye(3)[y] + spread * rng.standard_normal((len(y), 3))
    X.flags.writeable = False
    return X, y, Constraints.sample(y, n_pairs, random_state=seed)


def weighted(pairs, seed=0):
    rng = np.random.default_rng(seed)
    return Constraints(
        pairs.must_link,
        pairs.cannot_link,
        rng.uniform(0.5, 2.0, pairs.n_must_link),
        rng.uniform(0.5, 2.0, pairs.n_cannot_link),
    )


class FitContract:
    """A subclass has the fixture ``model``, of three clusters and a fixed seed."""

    def test_good_pairs_on_separate_clusters_find_them(self, model):
        X, y, pairs = make_blobs()
        labels = model.fit_predict(X, constraints=pairs)
        assert adjusted_rand_score(y, labels) == 1.0
        assert model.constraint_score_ == 1.0 and model.n_violated_ == 0
        assert model.converged_ and np.isfinite(model.objective_)

    def test_scores_are_those_of_the_closure(self, model):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=100)
        model.fit(X, constraints=pairs)
        closure = pairs.closure(len(X))
        assert model.constraint_score_ == closure.score(model.labels_)
        assert model.n_violated_ == closure.n_violated(model.labels_)

    def test_same_seed_same_labels(self, model):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=60)
        first = clone(model).fit(X, constraints=pairs)
        second = clone(model).fit(X, constraints=pairs)
        assert_array_equal(first.labels_, second.labels_)
        assert first.objective_ == second.objective_

    def test_values_whose_squares_are_infinite_are_named(self, model):
        X, _, pairs = make_blobs()
        with pytest.raises(
            ValueError, match=r"X has a value .*e\+160, .* up to 5.27e\+152"
        ):
            model.fit(1e160 * X, constraints=pairs)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_pairs_turned_or_repeated_change_nothing(self, model):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=60)
        labels = model.fit_predict(X, constraints=pairs)
        must, cannot = pairs.must_link[:, ::-1], pairs.cannot_link
        other = (np.concatenate([must, must]), np.concatenate([cannot, cannot]))
        assert_array_equal(model.fit_predict(X, constraints=other), labels)

    def test_partial_labels_are_pairs(self, model):
        X, y, _ = make_blobs(spread=3.0)
        partial = np.where(np.arange(len(y)) < 15, y, -1)
        labels = model.fit_predict(X, partial)
        pairs = Constraints.from_labels(partial)
        assert_array_equal(model.fit_predict(X, constraints=pairs), labels)

    def test_equal_weights_given_one_by_one_change_nothing(self, model):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=60)
        labels = model.fit_predict(X, constraints=pairs)
        unit = Constraints(
            pairs.must_link,
            pairs.cannot_link,
            np.ones(pairs.n_must_link),
            np.ones(pairs.n_cannot_link),
        )
        assert_array_equal(model.fit_predict(X, constraints=unit), labels)

    def test_weighted_pairs(self, model):
        X, y, pairs = make_blobs()
        labels = model.fit_predict(X, constraints=weighted(pairs))
        assert adjusted_rand_score(y, labels) == 1.0
        assert model.constraint_score_ == 1.0

    @pytest.mark.parametrize("nothing", [None, ([], []), Constraints()])
    def test_no_pairs(self, model, nothing):
        X, y, _ = make_blobs()
        labels = model.fit_predict(X, constraints=nothing)
        assert len(np.unique(labels)) == 3
        assert np.isnan(model.constraint_score_) and model.n_violated_ == 0

    @pytest.mark.parametrize("kind", [0, 1])
    def test_pairs_of_one_kind_only(self, model, kind):
        X, y, pairs = make_blobs()
        given = [[], []]
        given[kind] = (pairs.must_link, pairs.cannot_link)[kind]
        model.fit(X, constraints=given)
        assert len(np.unique(model.labels_)) == 3
        assert model.constraint_score_ > 0.9

    @pytest.mark.filterwarnings("ignore::linkwise.exceptions.ConstraintWarning")
    def test_as_many_clusters_as_rows(self, model):
        X = make_blobs()[0][:12]
        model.set_params(n_clusters=12)
        labels = model.fit_predict(X, constraints=([(0, 1)], [(1, 2)]))
        assert_array_equal(np.sort(labels), np.arange(12))

    def test_fewer_groups_than_clusters_warn(self, model):
        X, y, _ = make_blobs()
        model.set_params(n_clusters=5)
        with pytest.warns(ConstraintWarning, match="only 3 groups"):
            model.fit(X, y)
        assert len(np.unique(model.labels_)) == 5

    def test_contradictory_pairs_raise_or_are_dropped(self, model):
        X = make_blobs()[0]
        pairs = ([(0, 1), (1, 2)], [(0, 2)])
        with pytest.raises(InconsistentConstraintsError, match="0-1-2"):
            model.fit(X, constraints=pairs)
        labels = model.set_params(on_conflict="drop").fit_predict(X, constraints=pairs)
        kept = Constraints(*pairs).drop_conflicts()
        assert_array_equal(model.fit_predict(X, constraints=kept), labels)

    def test_float32_equals_float64_on_separate_clusters(self, model):
        X, _, pairs = make_blobs()
        labels = model.fit_predict(X, constraints=pairs)
        single = model.fit_predict(X.astype(np.float32), constraints=pairs)
        assert_array_equal(single, labels)

    def test_equal_rows_do_no_harm(self, model):
        X = np.repeat([[1.0, 2.0], [3.0, 1.0], [9.0, 7.0]], 4, axis=0)
        model.fit(X, constraints=([(0, 1), (4, 5)], [(0, 4)]))
        assert len(np.unique(model.labels_)) == 3
        assert np.isfinite(model.objective_)

    def test_more_clusters_than_rows_are_refused(self, model):
        X = make_blobs()[0]
        with pytest.raises(ValueError, match="n_clusters=99 is more than the 54 rows"):
            model.set_params(n_clusters=99).fit(X)


class DoorContract(FitContract):
    """The same of methods that work in rounds and predict."""

    def test_one_cluster(self, model):
        X, _, pairs = make_blobs()
        model.set_params(n_clusters=1)
        assert not model.fit_predict(X, constraints=pairs).any()
        assert not model.predict(X).any()

    def test_sparse_and_data_frame_are_the_array(self, model):
        X, _, pairs = make_blobs(spread=2.0)
        labels = model.fit_predict(X, constraints=pairs)
        new = model.predict(X)
        for other in (csr_array(X), pd.DataFrame(X, columns=list("abc"))):
            fitted = clone(model).fit(other, constraints=pairs)
            assert_array_equal(fitted.labels_, labels)
            assert_array_equal(fitted.predict(other), new)

    def test_a_pickle_predicts_the_same(self, model):
        X, _, pairs = make_blobs(spread=3.0)
        model.fit(X, constraints=pairs)
        copy = pickle.loads(pickle.dumps(model))
        new = np.random.default_rng(1).normal(2.0, 3.0, size=(30, 3))
        assert_array_equal(copy.predict(new), model.predict(new))
        assert 0.0 <= copy.score(X, constraints=pairs) <= 1.0

    def test_new_rows_of_separate_clusters_join_them(self, model):
        X, y, pairs = make_blobs()
        model.fit(X, constraints=pairs)
        new, truth, _ = make_blobs(seed=7)
        assert adjusted_rand_score(truth, model.predict(new)) == 1.0

    def test_too_few_rounds_warn(self, model):
        X, _, pairs = make_blobs(spread=5.0, n_pairs=30)
        model.set_params(max_iter=1)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model.fit(X, constraints=pairs)
        assert model.n_iter_ == 1 and not model.converged_
