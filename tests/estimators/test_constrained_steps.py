"""Clusterings that know the pairs: the final step, and a fixed kernel."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    ConstraintWarning,
    InfeasibleConstraintsError,
    KernelCSC,
)
from linkwise.clustering import farthest_first, hard_kmeans, kmeans, soft_kmeans
from linkwise.kernels import RBF, GramSpace, Linear, Standardized

LINE = np.array([[0.0], [1.0], [4.0], [5.0]])


@pytest.mark.parametrize("seed", range(4))
def test_hard_pairs_are_never_broken(seed, make_problem):
    X, y, pairs = make_problem(seed=seed, spread=4.0, n_pairs=60)
    for model in (
        KernelCSC(3, n_candidates=10, final_step="hard", random_state=0),
        ConstrainedKernelKMeans(3, mode="hard", random_state=0),
    ):
        model.fit(X, constraints=pairs)
        assert model.constraint_score_ == 1.0 and model.n_violated_ == 0
        assert pairs.score(model.labels_) == 1.0
        assert len(np.unique(model.labels_)) == 3


def test_a_soft_step_breaks_fewer_pairs_than_none(overlapping):
    X, _, pairs = overlapping
    options = {"kernels": [Linear()], "random_state": 0}
    plain = KernelCSC(3, final_step=None, **options).fit(X, constraints=pairs)
    soft = KernelCSC(3, final_step="soft", **options).fit(X, constraints=pairs)
    assert soft.n_violated_ < plain.n_violated_
    # The search is the same; only what follows differs.
    assert_array_equal(
        soft.history_.drop(columns="seconds"), plain.history_.drop(columns="seconds")
    )


@pytest.mark.parametrize("approximation", ["exact", "landmarks"])
@pytest.mark.parametrize("seed", range(4))
def test_a_soft_step_never_loses_pairs(seed, approximation, make_problem):
    X, _, pairs = make_problem(seed=seed, spread=5.0, n_pairs=60)
    options = {
        "kernels": "paper",
        "n_candidates": 15,
        "approximation": approximation,
        "random_state": seed,
    }
    plain = KernelCSC(3, **options).fit(X, constraints=pairs)
    soft = KernelCSC(3, final_step="soft", **options).fit(X, constraints=pairs)
    assert soft.constraint_score_ >= plain.constraint_score_
    assert soft.converged_


@pytest.mark.parametrize("is_bad", [False, True])
def test_a_soft_step_starts_from_plain_clusters_that_satisfy_more(
    is_bad, overlapping, monkeypatch
):
    X, _, pairs = overlapping
    score = pairs.closure(len(X)).score
    options = {"kernels": [Linear()], "random_state": 0}
    plain = KernelCSC(3, final_step=None, **options).fit(X, constraints=pairs)
    starts = []

    def spy(space, start, *args, **options):
        assert options["keep_satisfied"]
        starts.append(start)
        return soft_kmeans(space, start, *args, **options)

    monkeypatch.setattr("linkwise.estimators._clustering.soft_kmeans", spy)
    if is_bad:
        bad = np.arange(len(X)) % 3
        monkeypatch.setattr("linkwise.search.Evaluator.start", lambda self, space: bad)
    KernelCSC(3, final_step="soft", **options).fit(X, constraints=pairs)
    assert len(starts) == 1
    if is_bad:
        assert_array_equal(starts[0], plain.labels_)
    else:
        assert score(starts[0]) > score(plain.labels_)


def test_the_final_step_works_under_the_chosen_kernel(overlapping):
    X, _, pairs = overlapping
    closure = pairs.closure(len(X))
    space = GramSpace(RBF(0.05)(X, X))
    start = farthest_first(space, closure, 3)
    options = {"kernels": [RBF(0.05)], "random_state": 0}
    hard = KernelCSC(3, final_step="hard", **options).fit(X, constraints=pairs)
    rng = np.random.default_rng(0)
    expected = hard_kmeans(space, start, 3, closure, rng=rng).labels
    assert_array_equal(hard.labels_, expected)
    soft = KernelCSC(3, final_step="soft", **options).fit(X, constraints=pairs)
    order = np.arange(len(X))
    expected = soft_kmeans(space, start, 3, closure, order=order).labels
    assert adjusted_rand_score(soft.labels_, expected) > 0.9  # the order is drawn


@pytest.mark.parametrize("final_step", ["soft", "hard"])
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
def test_a_final_step_without_pairs_is_kmeans(final_step, blobs):
    plain = KernelCSC(3, random_state=0).fit(blobs.X)
    model = KernelCSC(3, final_step=final_step, random_state=0).fit(blobs.X)
    assert_array_equal(model.labels_, plain.labels_)


class TestInfeasible:
    clique = ([], [(i, j) for i in range(4) for j in range(i)])

    @pytest.mark.parametrize(
        "model",
        [
            KernelCSC(3, final_step="hard"),
            ConstrainedKernelKMeans(3, mode="hard"),
        ],
    )
    def test_it_is_an_error_before_any_work(self, model, blobs, monkeypatch):
        def build(*args, **options):
            raise AssertionError("kernels were built")

        monkeypatch.setattr("linkwise.kernels.KernelBank.build", build)
        with pytest.raises(InfeasibleConstraintsError, match="4 clusters are needed"):
            model.fit(blobs.X, constraints=self.clique)
        with pytest.raises(InfeasibleConstraintsError, match="form only 2"):
            model.fit(blobs.X[:4], constraints=([(0, 1), (2, 3)], []))

    @pytest.mark.parametrize(
        "model",
        [
            KernelCSC(3, n_candidates=10),
            KernelCSC(3, n_candidates=10, final_step="soft"),
            ConstrainedKernelKMeans(3),
        ],
    )
    def test_soft_pairs_may_break(self, model, blobs):
        model.fit(blobs.X, constraints=self.clique)
        assert model.n_violated_ >= 1

    def test_fewer_groups_than_clusters_break_some(self, estimator, blobs):
        with pytest.warns(ConstraintWarning, match="only 2 groups.*n_clusters=3"):
            estimator.fit(blobs.X[:6], [0, 0, 0, 1, 1, 1])
        assert len(np.unique(estimator.labels_)) == 3
        assert estimator.n_violated_ >= 1


class TestConstrainedKernelKMeans:
    """The examples of one dimension: rows at 0, 1, 4 and 5."""

    @staticmethod
    def fit(pairs, **options):
        model = ConstrainedKernelKMeans(2, kernel=Linear(), random_state=0, **options)
        return model.fit(LINE, constraints=pairs)

    def test_without_pairs_it_is_kmeans(self, overlapping):
        X = overlapping.X
        space = GramSpace(X @ X.T)
        start = farthest_first(space, Constraints().closure(len(X)), 3)
        expected = kmeans(space, start, 3)
        model = ConstrainedKernelKMeans(3, kernel=Linear()).fit(X)
        assert_array_equal(model.labels_, expected.labels)
        assert model.objective_ == pytest.approx(expected.objective, rel=1e-5)

    def test_the_objective_is_in_units_of_the_kernel(self):
        model = self.fit(([], []))
        assert model.objective_ == pytest.approx(1.0)

    def test_a_must_link_across_is_bought_or_refused(self):
        pairs = ([(1, 2)], [])
        model = self.fit(pairs)
        assert model.labels_[1] == model.labels_[2]
        assert model.objective_ == pytest.approx(26 / 3)
        assert self.fit(pairs, penalty_weight=0.0).n_violated_ == 1

    def test_prices_can_be_turned_around(self):
        # A close cannot-link is cheap to break, or dear.
        pairs = ([], [(0, 1)])
        assert self.fit(pairs, penalty="outlier", penalty_weight=0.01).n_violated_ == 1
        assert self.fit(pairs, penalty="hmrf").n_violated_ == 0

    def test_the_default_kernel_is_gaussian_on_standardised_rows(self, overlapping):
        X, _, pairs = overlapping
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        gaps = ((Z[:, None] - Z) ** 2).sum(axis=2)[np.triu_indices(len(Z), k=1)]
        kernel = (Standardized(), RBF(1.0 / np.median(gaps)))
        named = ConstrainedKernelKMeans(3, random_state=0).fit(X, constraints=pairs)
        given = ConstrainedKernelKMeans(3, kernel=kernel, random_state=0)
        given.fit(X, constraints=pairs)
        assert_array_equal(named.labels_, given.labels_)
        assert named.objective_ == pytest.approx(given.objective_, rel=1e-5)

    def test_it_has_no_weights_of_kernels(self, blobs):
        model = ConstrainedKernelKMeans(3).fit(blobs.X, constraints=blobs.pairs)
        assert not hasattr(model, "kernel_weights_")
        assert not hasattr(model, "history_")
