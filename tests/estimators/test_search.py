"""What the search over weights promises."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import (
    Constraints,
    KernelBank,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
    constraint_folds,
)
from linkwise.clustering import farthest_first, kmeans
from linkwise.doors import as_generator
from linkwise.kernels import (
    RBF,
    FeatureSpace,
    GramSpace,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Standardized,
)
from linkwise.search import RandomSearch

KERNELS = [
    Linear(),
    RBF(0.02),
    RBF(0.05),
    Laplacian(0.1),
    Polynomial(0.1, 2, 1.0),
    (Standardized(), Linear()),
]


def few_kernels(**options):
    defaults = {"filter": "none", "selection": "train", "random_state": 0}
    return KernelCSC(3, kernels=KERNELS, **(defaults | options))


def kmeans_labels(space, pairs):
    closure = pairs.closure(space.n_samples)
    return kmeans(space, farthest_first(space, closure, 3), 3).labels


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


class TestHistory:
    def test_it_has_a_row_for_each_candidate(self, overlapping):
        X, _, pairs = overlapping
        model = few_kernels(n_candidates=25).fit(X, constraints=pairs)
        table = model.history_
        assert isinstance(table, pd.DataFrame)
        assert list(table)[:3] == ["score", "objective", "seconds"]
        assert list(table)[3:] == model.kernel_names_
        assert len(table) == 25 and model.stopped_by_ == "budget"
        assert (table["seconds"] > 0).all()
        assert table["score"].between(0, 1).all()
        assert (table.dtypes == np.float64).all()

    def test_the_best_row_is_the_model(self, searcher, overlapping):
        X, _, pairs = overlapping
        searcher.fit(X, constraints=pairs)
        row = searcher.history_.iloc[int(searcher.history_["score"].argmax())]
        assert searcher.constraint_score_ == row["score"]
        assert searcher.constraint_score_ == pairs.score(searcher.labels_)
        assert searcher.objective_ == row["objective"]
        weights = getattr(searcher, "kernel_weights_", None)
        if weights is None:
            weights = searcher.feature_weights_
        assert_array_equal(row.iloc[3:], weights)

    def test_the_most_compact_of_the_best_on_request(self, searcher, overlapping):
        X, _, pairs = overlapping
        searcher.set_params(tie_break="objective").fit(X, constraints=pairs)
        table = searcher.history_
        best = table[table["score"] == table["score"].max()]
        assert searcher.objective_ == best["objective"].min()

    def test_names_that_repeat_get_a_number(self, overlapping):
        X, _, pairs = overlapping
        kernels = [Precomputed(gram, name="mine") for gram in (X @ X.T, RBF(0.1)(X, X))]
        model = KernelCSC(3, kernels=kernels, filter="none")
        table = model.fit(X, constraints=pairs).history_
        assert list(table)[3:] == ["mine", "mine (2)"]

    def test_features_may_be_called_like_other_columns(self, overlapping):
        X, _, pairs = overlapping
        frame = pd.DataFrame(X, columns=["score", "seconds", "x"])
        model = MahalanobisCSC(3, n_candidates=5, random_state=0)
        table = model.fit(frame, constraints=pairs).history_
        assert list(table)[3:] == ["score (2)", "seconds (2)", "x"]
        assert model.constraint_score_ == table["score"].max()

    def test_features_without_names_are_numbered(self, overlapping):
        X, _, pairs = overlapping
        model = MahalanobisCSC(3, n_candidates=5).fit(X, constraints=pairs)
        assert list(model.history_)[3:] == ["x0", "x1", "x2"]

    def test_violated_pairs_are_counted(self, estimator, overlapping):
        X, _, pairs = overlapping
        estimator.fit(X, constraints=pairs)
        closure = pairs.closure(len(X))
        assert estimator.n_violated_ == closure.n_violated(estimator.labels_)


class TestKernelCSC:
    def test_more_candidates_never_hurt(self, overlapping):
        X, _, pairs = overlapping
        scores = [
            few_kernels(n_candidates=n, search="random")
            .fit(X, constraints=pairs)
            .constraint_score_
            for n in (12, 24, 60)
        ]
        assert scores == sorted(scores)

    @pytest.mark.parametrize("max_kernels", [1, 2, 3])
    def test_combinations_are_sparse(self, max_kernels, overlapping):
        X, _, pairs = overlapping
        model = few_kernels(n_candidates=30, max_kernels=max_kernels)
        weights = model.fit(X, constraints=pairs).history_[model.kernel_names_]
        n_used = (weights != 0).sum(axis=1)
        assert n_used.between(1, max_kernels).all()
        assert n_used.max() == max_kernels
        if max_kernels == 1:
            assert len(weights) == len(KERNELS)

    @pytest.mark.parametrize("kernel", [Linear(), RBF(0.05)])
    def test_one_kernel_is_plain_kernel_kmeans(self, kernel, overlapping):
        X, _, pairs = overlapping
        model = KernelCSC(3, kernels=[kernel], selection="train", random_state=0)
        model.fit(X, constraints=pairs)
        assert len(model.history_) == 1
        expected = kmeans_labels(GramSpace(kernel(X, X)), pairs)
        assert_array_equal(model.labels_, expected)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_a_planted_kernel_is_found(self, n_jobs):
        rng = np.random.default_rng(0)
        y = rng.permutation(np.arange(45) % 3)
        grams = [f @ f.T for f in rng.standard_normal((9, 45, 10))]
        grams.insert(4, (y[:, None] == y).astype(float))
        options = {"n_candidates": 500, "n_jobs": n_jobs, "selection": "train"}
        model = KernelCSC(3, kernels="precomputed", **options)
        pairs = Constraints.sample(y, 150, random_state=0)
        model.set_params(random_state=0).fit(grams, constraints=pairs)
        assert model.constraint_score_ == 1.0 and model.n_violated_ == 0
        assert model.stopped_by_ == "score" and len(model.history_) < 500
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert model.kernel_weights_[4] == 1.0

    @pytest.mark.parametrize("seed", range(3))
    def test_combinations_are_never_worse_than_single_kernels(self, seed, make_problem):
        X, _, pairs = make_problem(seed=seed, spread=3.0, n_pairs=100)
        bank = KernelBank.build(X)
        single = SingleKernelCSC(3, kernels=bank).fit(X, constraints=pairs)
        assert len(single.history_) == bank.n_weights
        options = {"n_candidates": 2 * bank.n_weights, "selection": "train"}
        several = KernelCSC(3, kernels=bank, **options)
        several.fit(X, constraints=pairs)
        assert several.constraint_score_ >= single.constraint_score_

    @pytest.mark.parametrize("search", ["random", RandomSearch(batch_size=3)])
    def test_the_search_may_be_an_object(self, search, overlapping):
        X, _, pairs = overlapping
        model = few_kernels(n_candidates=20, search=search).fit(X, constraints=pairs)
        assert len(model.history_) == 20

    def test_a_filter_leaves_kernels_out(self, overlapping):
        X, _, pairs = overlapping
        model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
        n_kept = len(model.fit(X, constraints=pairs).kernel_names_)
        model.set_params(filter="none").fit(X, constraints=pairs)
        assert n_kept < len(model.kernel_names_) == 62


class TestStopping:
    def test_the_time_limit(self, overlapping):
        X, _, pairs = overlapping
        for model in (KernelCSC(3), MahalanobisCSC(3)):
            model.set_params(time_limit=1e-9).fit(X, constraints=pairs)
            assert (model.stopped_by_, len(model.history_)) == ("time", 1)

    def test_patience(self, overlapping):
        X, _, pairs = overlapping
        search = RandomSearch(batch_size=2)
        for model in (few_kernels(), MahalanobisCSC(3, random_state=0)):
            model.set_params(n_candidates=500, patience=6, search=search)
            model.fit(X, constraints=pairs)
            assert model.stopped_by_ == "patience"
            scores = model.history_["score"]
            n_since = len(scores) - 1 - int(scores.argmax())
            assert 6 <= n_since < 6 + len(KERNELS)

    def test_satisfied_pairs(self, blobs):
        X, _, pairs = blobs
        kernel_csc = KernelCSC(3, kernels="paper", selection="train")
        for model in (kernel_csc, MahalanobisCSC(3)):
            assert model.fit(X, constraints=pairs).stopped_by_ == "score"

    def test_a_single_kernel_is_chosen_among_all(self, blobs):
        X, _, pairs = blobs
        model = SingleKernelCSC(3).fit(X, constraints=pairs)
        assert len(model.history_) == len(model.kernel_names_)
        assert_array_equal(
            model.history_[model.kernel_names_], np.eye(len(model.history_))
        )


class TestSingleKernelCSC:
    def test_one_kernel_has_weight_one(self, overlapping):
        X, _, pairs = overlapping
        for cv in (0, 3):
            model = SingleKernelCSC(3, cv=cv, random_state=0).fit(X, constraints=pairs)
            assert sorted(model.kernel_weights_)[-2:] == [0.0, 1.0]

    def test_folds_choose_by_held_out_pairs(self, overlapping):
        X, _, pairs = overlapping
        kernels = [Linear(), RBF(0.05)]
        model = SingleKernelCSC(3, kernels=kernels, filter="none", cv=3)
        model.set_params(random_state=0).fit(X, constraints=pairs)
        rng = as_generator(0)
        rng.integers(2**63)  # the seed of the final step is drawn first
        folds = constraint_folds(pairs, 3, rng)
        for i, kernel in enumerate(kernels):
            space = GramSpace(kernel(X, X))
            scores = [
                held_out.score(kmeans_labels(space, train)) for train, held_out in folds
            ]
            assert model.history_["score"][i] == pytest.approx(np.mean(scores))
        chosen = int(model.kernel_weights_.argmax())
        assert chosen == model.history_["score"].argmax()
        # All pairs shape the clustering that is kept.
        expected = kmeans_labels(GramSpace(kernels[chosen](X, X)), pairs)
        assert_array_equal(model.labels_, expected)


class TestMahalanobisCSC:
    @pytest.mark.parametrize("seed", range(3))
    def test_it_is_never_worse_than_kmeans(self, seed, make_problem):
        X, _, pairs = make_problem(seed=seed, spread=3.0, n_pairs=100)
        model = MahalanobisCSC(3, n_candidates=20, random_state=0)
        model.fit(X, constraints=pairs)
        assert_array_equal(model.history_.iloc[0, 3:], np.ones(3))
        labels = kmeans_labels(FeatureSpace(standardized(X)), pairs)
        assert model.history_["score"][0] == pairs.score(labels)
        assert model.constraint_score_ >= pairs.score(labels)

    def test_constant_weights_are_kmeans(self, overlapping):
        X, _, pairs = overlapping
        model = MahalanobisCSC(3, n_candidates=1).fit(X, constraints=pairs)
        Z = standardized(X)
        start = farthest_first(FeatureSpace(Z), pairs.closure(len(X)), 3)
        centres = np.array([Z[start == c].mean(axis=0) for c in range(3)])
        reference = KMeans(3, init=centres, n_init=1, tol=0).fit(Z)
        assert_array_equal(model.feature_weights_, np.ones(3))
        assert_array_equal(model.labels_, reference.labels_)
        centres = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
        np.testing.assert_allclose(model.cluster_centers_, centres)

    @pytest.mark.parametrize("n_noise", [1, 2, 3])
    def test_noise_weighs_less_than_signal_where_kmeans_fails(self, n_noise):
        # Where weights of 1 satisfy all pairs they are kept, noise or not; and any
        # weights that suffice may win, so nothing is said about how small they are.
        n_learnt = 0
        for seed in range(100, 112):
            rng = np.random.default_rng(seed)
            y = np.arange(60) % 2
            # The noise has two clusters of its own, further apart than the true ones.
            side = 10.0 * rng.choice([-1.0, 1.0], (60, 1))
            noise = side + rng.standard_normal((60, n_noise))
            X = np.column_stack([4.0 * y + 0.3 * rng.standard_normal(60), noise])
            pairs = Constraints.sample(y, 6, random_state=seed)
            model = MahalanobisCSC(2, n_candidates=60, random_state=0)
            model.fit(X, constraints=pairs)
            signal, *noise = model.feature_weights_
            if model.history_["score"][0] < 1.0 == model.constraint_score_:
                n_learnt += 1
                assert np.mean(noise) < signal
        assert n_learnt > 0

    def test_constant_features_do_no_harm(self, overlapping):
        X, _, pairs = overlapping
        model = MahalanobisCSC(3, n_candidates=1)
        labels = model.fit(X, constraints=pairs).labels_
        padded = np.column_stack([X, np.full(len(X), 1e6)])
        assert_array_equal(model.fit(padded, constraints=pairs).labels_, labels)

    def test_units_of_features_do_not_matter(self, overlapping):
        X, _, pairs = overlapping
        model = MahalanobisCSC(3, n_candidates=20, random_state=0)
        labels = model.fit(X, constraints=pairs).labels_
        scaled = X * [1e-3, 1.0, 1e4] + [5.0, -1.0, 0.0]
        assert_array_equal(model.fit(scaled, constraints=pairs).labels_, labels)


class TestClusters:
    def test_perfect_pairs_on_separated_clusters(self, estimator, blobs):
        X, y, _ = blobs
        estimator.fit(X, constraints=Constraints.from_labels(y))
        assert adjusted_rand_score(y, estimator.labels_) == 1.0
        assert estimator.constraint_score_ == 1.0 and estimator.n_violated_ == 0

    @pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
    def test_no_pairs_is_kmeans_on_standardised_data(self, overlapping):
        Z = standardized(overlapping.X)
        expected = kmeans_labels(FeatureSpace(Z), Constraints())
        for model in (KernelCSC(3), SingleKernelCSC(3), MahalanobisCSC(3)):
            assert_array_equal(model.fit_predict(overlapping.X), expected)
        assert len(KernelCSC(3).fit(overlapping.X).kernel_names_) == 1

    @pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
    def test_no_pairs_is_the_sum_of_given_kernels(self, overlapping):
        X = overlapping.X
        model = KernelCSC(3, kernels=[Linear(), RBF(0.05)]).fit(X)
        assert_array_equal(model.kernel_weights_, [1.0, 1.0])
        gram = KernelBank.build(X, [Linear(), RBF(0.05)], filter="none")
        expected = kmeans_labels(gram.combine(np.ones(2)), Constraints())
        assert_array_equal(model.labels_, expected)

    def test_the_order_of_rows_does_not_matter(self, estimator, make_problem):
        X, y, _ = make_problem(spread=1.5)
        # Groups of different sizes, so that no order decides between them.
        chosen = [np.flatnonzero(y == c)[: 3 + c] for c in range(3)]
        must_link = [(g[0], other) for g in chosen for other in g[1:]]
        cannot_link = [(chosen[0][0], chosen[1][0]), (chosen[1][0], chosen[2][0])]
        labels = estimator.fit(X, constraints=(must_link, cannot_link)).labels_
        order = np.random.default_rng(0).permutation(len(X))
        place = np.argsort(order)
        moved = clone(estimator).fit(
            X[order], constraints=(place[must_link], place[cannot_link])
        )
        assert_array_equal(moved.labels_, labels[order])


class TestReward:
    @pytest.mark.parametrize("model", [KernelCSC, SingleKernelCSC, MahalanobisCSC])
    def test_a_balanced_reward_is_the_mean_of_both_shares(self, model, overlapping):
        X, _, pairs = overlapping
        options = {} if model is SingleKernelCSC else {"n_candidates": 20}
        if model is KernelCSC:
            options["selection"] = "train"
        model = model(3, reward="balanced", random_state=0, **options)
        model.fit(X, constraints=pairs)
        expected = pairs.closure(len(X)).balanced_score(model.labels_)
        assert model.history_["score"].max() == pytest.approx(expected)
        assert expected != pytest.approx(model.constraint_score_)

    def test_held_out_pairs_are_judged_by_it_too(self, overlapping):
        X, _, pairs = overlapping
        share, balanced = (
            SingleKernelCSC(3, cv=3, reward=reward, random_state=0)
            .fit(X, constraints=pairs)
            .history_["score"]
            for reward in ("share", "balanced")
        )
        assert not np.allclose(share, balanced)
