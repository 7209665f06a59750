"""KernelCSC places rows, and predicts by the same rule."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

import linkwise
from linkwise import Constraints, KernelCSC
from linkwise.estimators import _placed_rows
from linkwise.estimators._placing import learn_placing
from linkwise.kernels import RBF

K = 3


@pytest.fixture(scope="module")
def problem():
    """Return rows whose classes two of eight columns tell, the others are noise."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % K
    X = rng.normal(size=(150, 8))
    X[:, 0] += np.array([0.0, 4.0, 4.0])[y]
    X[:, 1] += np.array([0.0, 0.0, 4.0])[y]
    X[:, 2:] *= 3.0
    return X, y, Constraints.sample(y, 80, random_state=1)


def clustered(**options):
    return KernelCSC(K, **({"n_candidates": 30, "random_state": 0} | options))


@pytest.fixture(scope="module")
def fitted(problem):
    X, _, pairs = problem
    return clustered().fit(X, constraints=pairs)


class TestLabels:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"approximation": "landmarks", "n_landmarks": 40},
            {"approximation": "nystroem", "n_landmarks": 40},
            {"approximation": "working_set", "working_rows": 50, "n_landmarks": 40},
        ],
        ids=["exact", "landmarks", "nystroem", "working set"],
    )
    def test_are_what_prediction_says_of_the_rows(self, problem, options):
        X, _, pairs = problem
        model = clustered(**options).fit(X, constraints=pairs)
        assert model._rule is not None
        assert_array_equal(model.predict(X), model.labels_)
        # By the rule, not by a memory of rows: these are others.
        assert (model.predict(X + 1e-9) == model.labels_).mean() > 0.99
        assert_array_equal(model.predict(X[::-1]), model.labels_[::-1])

    def test_of_several_views_as_well(self, problem):
        X, _, pairs = problem
        views = [X[:, :3], X[:, 3:]]
        model = clustered(kernels="paper").fit(views, constraints=pairs)
        assert model._rule is not None
        assert_array_equal(model.predict(views), model.labels_)

    def test_of_single_precision_as_well(self, problem):
        X, _, pairs = problem
        rows = X.astype(np.float32)
        model = clustered().fit(rows, constraints=pairs)
        assert_array_equal(model.predict(rows), model.labels_)

    def test_are_nearer_to_the_classes_than_those_of_one_kernel(self, problem, fitted):
        X, y, pairs = problem
        one = clustered(final_step=None).fit(X, constraints=pairs)
        found = adjusted_rand_score(y, fitted.labels_)
        assert found > 0.05 + adjusted_rand_score(y, one.labels_)

    def test_satisfy_the_pairs_that_are_said_to_hold(self, problem, fitted):
        X, _, pairs = problem
        closure = pairs.closure(len(X))
        assert fitted.constraint_score_ == closure.score(fitted.labels_)
        assert fitted.n_violated_ == closure.n_violated(fitted.labels_)

    def test_doubt_is_that_of_the_rule(self, problem, fitted):
        X, _, _ = problem
        decision = fitted._rule.decide(X)
        np.testing.assert_allclose(fitted.doubt_, decision.doubt)
        assert 0.0 <= fitted.doubt_.min() and fitted.doubt_.max() <= 1.0 - 1.0 / K

    def test_do_not_depend_on_the_number_of_jobs(self, problem, fitted):
        X, _, pairs = problem
        other = clustered(n_jobs=2).fit(X, constraints=pairs)
        assert_array_equal(other.labels_, fitted.labels_)
        assert_array_equal(other.doubt_, fitted.doubt_)

    def test_only_pairs_that_are_believed_count(self, monkeypatch):
        rng = np.random.default_rng(0)
        y = np.arange(120) % K
        X = 5.0 * np.eye(K)[y] + rng.normal(size=(120, K))
        pairs = Constraints.sample(y, 200, random_state=0)
        ends = np.concatenate([pairs.must_link, pairs.cannot_link])
        is_must = np.arange(len(ends)) < pairs.n_must_link
        is_must[rng.choice(len(ends), 20, replace=False)] ^= True
        seen = []

        def spy(committee, labels, closure, *args, **options):
            seen.append(closure)
            return learn_placing(committee, labels, closure, *args, **options)

        monkeypatch.setattr(_placed_rows, "learn_placing", spy)
        with pytest.warns(linkwise.ConstraintWarning, match="contradict"):
            model = clustered(kernels="paper")
            model.fit(X, constraints=(ends[is_must], ends[~is_must]))
        (closure,) = seen
        group = closure.component
        wrong = ends[is_must & (y[ends[:, 0]] != y[ends[:, 1]])]
        assert len(wrong) > 5 and (group[wrong[:, 0]] != group[wrong[:, 1]]).all()
        right = ends[is_must & (y[ends[:, 0]] == y[ends[:, 1]])]
        assert (group[right[:, 0]] == group[right[:, 1]]).mean() > 0.9
        assert adjusted_rand_score(y, model.labels_) > 0.95


class TestLeftAlone:
    def unplaced(self, model, X, pairs):
        """Return the labels without this step, of a model that was not placed."""
        assert model._rule is None
        return model.set_params(final_step=None).fit(X, constraints=pairs).labels_

    def test_the_algorithm_of_the_paper(self, problem):
        X, _, pairs = problem
        model = clustered(kernels="paper", selection="train").fit(X, constraints=pairs)
        labels = model.labels_
        assert_array_equal(labels, self.unplaced(model, X, pairs))

    def test_gram_matrices(self, problem):
        X, _, pairs = problem
        gram = RBF(0.05)(X, X)
        model = clustered(kernels="precomputed").fit(gram, constraints=pairs)
        labels = model.labels_
        assert_array_equal(labels, self.unplaced(model, gram, pairs))

    def test_where_few_rows_have_pairs_the_nearest_centre_decides(self, problem):
        X, y, _ = problem
        few = Constraints.sample(y, 5, random_state=0)
        model = clustered().fit(X, constraints=few)
        assert model._rule is None
        assert_array_equal(model.predict(X), model.labels_)


def test_a_file_predicts_the_same(problem, fitted, tmp_path):
    X, _, _ = problem
    linkwise.save(fitted, tmp_path / "model")
    model = linkwise.load(tmp_path / "model")
    rows = np.random.default_rng(1).normal(size=(300, 8), scale=3.0)
    assert_array_equal(model.predict(rows), fitted.predict(rows))
    assert_array_equal(model.predict(X), fitted.labels_)


def test_clusters_keep_their_rule_under_other_ids(problem):
    X, _, pairs = problem
    model = clustered().fit(X, constraints=pairs)
    earlier = (model.labels_ + 1) % K
    model.match_labels(earlier)
    assert_array_equal(model.labels_, earlier)
    assert_array_equal(model.predict(X), earlier)


def test_far_rows_are_in_no_cluster(problem):
    X, _, pairs = problem
    model = clustered(far=0.1).fit(X, constraints=pairs)
    assert model._rule is not None and (model.labels_ == -1).sum() == 15
    assert_array_equal(model.predict(X), model.labels_)
