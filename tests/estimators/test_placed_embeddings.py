"""KernelCSC places texts and embeddings by mixtures, and predicts by the same rule."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

import linkwise
from linkwise import Constraints, KernelCSC
from linkwise.estimators._placed_embeddings import (
    EmbeddingSettings,
    PlacedEmbeddings,
    _biases,
    learn_embeddings,
)

K = 4


def draw_embeddings(seed, n=160, d=60, spread=1.0):
    """Return rows of length 1 around directions, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    centres = normalize(rng.normal(size=(K, d)))
    return normalize(centres[y] + 0.25 * spread * rng.normal(size=(n, d))), y


@pytest.fixture(scope="module")
def problem():
    X, y = draw_embeddings(0)
    return X, y, Constraints.sample(y, 60, random_state=1)


def clustered(**options):
    usual = {"n_clusters": K, "n_candidates": 20, "random_state": 0}
    return KernelCSC(**(usual | options))


@pytest.fixture(scope="module")
def fitted(problem):
    X, _, pairs = problem
    return clustered().fit(X, constraints=pairs)


class TestLabels:
    @pytest.mark.parametrize(
        "options",
        [
            {"approximation": "exact"},
            {"approximation": "landmarks", "n_landmarks": 40},
            {"approximation": "working_set", "working_rows": 50, "n_landmarks": 40},
        ],
        ids=["exact", "landmarks", "working set"],
    )
    @pytest.mark.parametrize("form", ["dense", "single", "sparse"])
    def test_are_what_prediction_says_of_the_rows(self, problem, options, form):
        X, _, pairs = problem
        if form != "dense":
            X = X.astype(np.float32) if form == "single" else csr_array(X)
        model = clustered(**options).fit(X, constraints=pairs)
        assert isinstance(model._rule, PlacedEmbeddings)
        assert_array_equal(model.predict(X), model.labels_)
        assert_array_equal(model.predict(X[::-1]), model.labels_[::-1])

    def test_are_nearer_to_the_classes_than_those_of_one_kernel(self):
        rng = np.random.default_rng(2)
        y = np.arange(240) % 8
        # All rows differ in three directions that have nothing to do with classes.
        nuisance = rng.normal(size=(240, 3)) @ normalize(rng.normal(size=(3, 60)))
        centres = normalize(rng.normal(size=(8, 60)))
        X = normalize(centres[y] + 0.2 * rng.normal(size=(240, 60)) + 0.6 * nuisance)
        pairs = Constraints.sample(y, 150, random_state=2)
        one, placed = (
            clustered(n_clusters=8, final_step=step).fit(X, constraints=pairs).labels_
            for step in (None, "auto")
        )
        gain = adjusted_rand_score(y, placed) - adjusted_rand_score(y, one)
        assert gain > 0.1

    def test_of_rows_that_moved_a_little_stay(self, problem, fitted):
        X, _, _ = problem
        assert (fitted.predict(X + 1e-7) == fitted.labels_).mean() > 0.99

    def test_doubt_is_that_of_the_rule(self, problem, fitted):
        X, _, _ = problem
        np.testing.assert_allclose(fitted.doubt_, fitted._rule.decide(X).doubt)
        assert 0.0 <= fitted.doubt_.min() and fitted.doubt_.max() <= 1.0 - 1.0 / K
        assert fitted.doubt_.mean() < 0.3

    def test_do_not_depend_on_the_number_of_jobs(self, problem, fitted):
        X, _, pairs = problem
        other = clustered(n_jobs=2).fit(X, constraints=pairs)
        assert_array_equal(other.labels_, fitted.labels_)
        assert_array_equal(other.doubt_, fitted.doubt_)

    def test_keep_their_rule_under_other_ids(self, problem):
        X, _, pairs = problem
        model = clustered().fit(X, constraints=pairs)
        earlier = (model.labels_ + 1) % K
        model.match_labels(earlier)
        assert_array_equal(model.labels_, earlier)
        assert_array_equal(model.predict(X), earlier)

    def test_weights_of_rows_are_multiplicities(self, problem):
        X, _, pairs = problem
        weight = np.where(np.arange(160) < 80, 3.0, 1.0)
        model = clustered().fit(X, constraints=pairs, sample_weight=weight)
        assert isinstance(model._rule, PlacedEmbeddings)
        assert_array_equal(model.predict(X), model.labels_)

    def test_wrong_pairs_are_not_believed(self):
        X, y = draw_embeddings(2, spread=0.2)
        pairs = Constraints.sample(y, 200, random_state=0)
        ends = np.concatenate([pairs.must_link, pairs.cannot_link])
        is_must = np.arange(len(ends)) < pairs.n_must_link
        wrong = np.random.default_rng(0).choice(len(ends), 20, replace=False)
        is_must[wrong] ^= True
        with pytest.warns(linkwise.ConstraintWarning, match="contradict"):
            model = clustered().fit(X, constraints=(ends[is_must], ends[~is_must]))
        assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.fixture(scope="module")
def views(problem):
    X, y, _ = problem
    rng = np.random.default_rng(5)
    table = rng.normal(size=(len(y), 3)) + 2.0 * np.eye(K)[y][:, :3]
    return [X, table, csr_array(np.abs(X) * (X > 0.1))]


class TestSeveralViews:
    def test_embeddings_have_mixtures_and_tables_have_forests(self, problem, views):
        _, _, pairs = problem
        model = clustered().fit(views, constraints=pairs)
        rule = model._rule
        assert isinstance(rule, PlacedEmbeddings)
        assert [view.source for view in rule.views] == [0, 2]
        assert rule.tables.sources == (1,)
        assert_array_equal(model.predict(views), model.labels_)

    def test_a_file_keeps_them(self, problem, views, tmp_path):
        _, _, pairs = problem
        model = clustered().fit(views, constraints=pairs)
        linkwise.save(model, tmp_path / "model")
        again = linkwise.load(tmp_path / "model")
        assert_array_equal(again.predict(views), model.labels_)


class TestRule:
    def test_rows_whose_length_tells_the_clusters_are_left_alone(self):
        rng = np.random.default_rng(0)
        y = np.arange(120) % 2
        X = (1.0 + 9.0 * y)[:, None] * (1.0 + 0.01 * rng.normal(size=(120, 6)))
        pairs = Constraints.sample(y, 60, random_state=0)
        model = KernelCSC(2, n_candidates=20, random_state=0)
        model.fit(csr_array(X), constraints=pairs)
        assert model._rule is None
        assert adjusted_rand_score(y, model.labels_) == 1.0

    def test_a_cluster_without_rows_gets_the_nearest_one(self):
        opinions = np.log(np.array([[0.6, 0.3, 0.1], [0.7, 0.1, 0.2], [0.8, 0.1, 0.1]]))
        labels = (opinions + _biases(opinions)).argmax(axis=1)
        assert labels.tolist() == [1, 2, 0]

    def test_groups_of_one_cluster_stay_together(self, problem):
        X, y, pairs = problem
        closure = pairs.closure(len(X))
        start = np.random.default_rng(0).integers(K, size=len(X))
        for n_starts in (1, 3):
            own = EmbeddingSettings(n_starts=n_starts)
            rule = learn_embeddings(
                X, [0], [start, y, (y + 1) % K], closure, K, settings=own
            )
            assert len(rule.views[0].mixtures) == min(n_starts, 2)
            assert len(np.unique(rule.decide(X).labels)) == K

    def test_equal_rows_are_no_error(self):
        X = np.tile(normalize(np.ones((1, 60))), (20, 1))
        closure = Constraints([(0, 1)], [(2, 3)]).closure(20)
        rule = learn_embeddings(X, [0], [np.arange(20) % K], closure, K)
        assert np.isfinite(rule.decide(X).doubt).all()


class TestFiles:
    @pytest.mark.parametrize(
        "part, match",
        [
            ({"biases": np.zeros(3)}, "biases"),
            ({"views": ()}, "no mixture"),
            ({"order": np.zeros(K, int)}, "a cluster is missing"),
            ({"tables": "all"}, "the rule for tables"),
        ],
    )
    def test_a_rule_that_lacks_something_is_refused(
        self, fitted, tmp_path, part, match
    ):
        self.refuse(fitted, replace(fitted._rule, **part), tmp_path, match)

    @pytest.mark.parametrize(
        "part, match",
        [
            ({"source": 1}, "a view is missing"),
            ({"mixtures": ()}, "no mixture"),
            ({"mixtures": "one"}, "the set of mixtures"),
        ],
    )
    def test_so_is_a_view(self, fitted, tmp_path, part, match):
        view = fitted._rule.views[0]._replace(**part)
        self.refuse(fitted, replace(fitted._rule, views=(view,)), tmp_path, match)

    @pytest.mark.parametrize("field", ["centres", "log_priors"])
    def test_so_is_a_mixture_of_another_size(self, fitted, tmp_path, field):
        view = fitted._rule.views[0]
        mixture = view.mixtures[0]
        mixture = replace(mixture, **{field: getattr(mixture, field)[:2]})
        view = view._replace(mixtures=(mixture,))
        rule = replace(fitted._rule, views=(view,))
        self.refuse(fitted, rule, tmp_path, "of a mixture have the shape")

    def test_so_are_directions_of_another_size(self, fitted, tmp_path):
        view = fitted._rule.views[0]
        first = replace(view.steps[0], directions=view.steps[0].directions[:5])
        view = view._replace(steps=(first, view.steps[1]))
        rule = replace(fitted._rule, views=(view,))
        self.refuse(fitted, rule, tmp_path, "directions of a view")

    def refuse(self, fitted, rule, tmp_path, match):
        model = copy.copy(fitted)
        model._rule = rule
        linkwise.save(model, tmp_path / "model")
        with pytest.raises(linkwise.ModelFileError, match=match):
            linkwise.load(tmp_path / "model")

    def test_a_file_predicts_the_same(self, fitted, tmp_path):
        linkwise.save(fitted, tmp_path / "model")
        model = linkwise.load(tmp_path / "model")
        rows = draw_embeddings(9)[0]
        assert_array_equal(model.predict(rows), fitted.predict(rows))
