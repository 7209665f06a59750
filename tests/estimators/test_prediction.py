"""New rows go to the nearest centre under the learnt kernel."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.base import clone

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    KernelBank,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)
from linkwise.engines import JoblibEngine
from linkwise.kernels import (
    RBF,
    Laplacian,
    Linear,
    PairKernel,
    Polynomial,
    Precomputed,
    Standardized,
)


def nearest_centres(gram, cross, labels, weight):
    """Return the labels of new rows by the definition of kernel k-means."""
    distances = []
    for c in range(labels.max() + 1):
        w = np.where(labels == c, weight, 0.0)
        w /= w.sum()
        distances.append(w @ gram @ w - 2.0 * cross @ w)
    return np.argmin(distances, axis=0)


def scatter(gram, weight):
    return weight @ gram.diagonal() - weight @ gram @ weight / weight.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("final_step", [None, "soft", "hard"])
def test_prediction_equals_its_definition(weighted, final_step, overlapping, new_rows):
    X, _, pairs = overlapping
    kernels = [Linear(), RBF(0.05), Laplacian(0.1), Polynomial(0.1, 2, 1.0)]
    model = KernelCSC(
        3,
        kernels=kernels,
        filter="none",
        n_candidates=30,
        final_step=final_step,
        random_state=0,
    )
    weight = np.linspace(1.0, 2.0, len(X)) if weighted else np.ones(len(X))
    model.fit(X, constraints=pairs, sample_weight=weight)
    gram, cross = 0.0, 0.0
    for kernel, coefficient in zip(kernels, model.kernel_weights_, strict=True):
        coefficient = coefficient / scatter(kernel(X, X), weight)
        gram += coefficient * kernel(X, X)
        cross += coefficient * kernel(new_rows, X)
    expected = nearest_centres(gram, cross, model.labels_, weight)
    assert_array_equal(model.predict(new_rows), expected)


def test_prediction_with_a_metric_equals_its_definition(overlapping, new_rows):
    X, _, pairs = overlapping
    model = MahalanobisCSC(3, n_candidates=30, random_state=0).fit(X, constraints=pairs)
    scale = model.feature_weights_ / X.std(axis=0)
    centres = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, centres)
    gaps = (new_rows[:, None] - centres) * scale
    assert_array_equal(model.predict(new_rows), (gaps**2).sum(axis=2).argmin(axis=1))


def test_prediction_with_a_fixed_kernel_equals_its_definition(overlapping, new_rows):
    X, _, pairs = overlapping
    model = ConstrainedKernelKMeans(3, kernel=RBF(0.05), random_state=0)
    model.fit(X, constraints=pairs)
    expected = nearest_centres(
        RBF(0.05)(X, X), RBF(0.05)(new_rows, X), model.labels_, np.ones(len(X))
    )
    assert_array_equal(model.predict(new_rows), expected)


@pytest.mark.parametrize("seed", range(5))
def test_training_rows_get_their_labels_back(seed, searcher, make_problem):
    X, _, pairs = make_problem(seed=seed, spread=3.0, n_pairs=60)
    searcher.fit(X, constraints=pairs)
    assert searcher.converged_
    assert_array_equal(searcher.predict(X), searcher.labels_)


def test_fit_predict_equals_fit_then_labels(estimator, overlapping):
    X, y, pairs = overlapping
    labels = estimator.fit_predict(X, constraints=pairs)
    assert_array_equal(labels, estimator.fit(X, constraints=pairs).labels_)
    partial = np.where(np.arange(len(y)) < 9, y, -1)
    labels = estimator.fit_predict(X, partial)
    assert_array_equal(labels, estimator.fit(X, partial).labels_)


def test_rows_are_predicted_in_blocks_without_a_seam(
    estimator, blobs, new_rows, monkeypatch
):
    estimator.fit(blobs.X, constraints=blobs.pairs)
    expected = estimator.predict(new_rows)
    monkeypatch.setattr("linkwise.doors._base._PREDICT_BLOCK", 7)
    assert_array_equal(estimator.predict(new_rows), expected)
    assert_array_equal(estimator.predict(new_rows[:1]), expected[:1])


class TestScore:
    def test_it_is_the_satisfaction_of_the_prediction(self, estimator, overlapping):
        X, y, pairs = overlapping
        estimator.fit(X, constraints=pairs)
        other = Constraints.sample(y, 50, random_state=9)
        expected = other.score(estimator.predict(X))
        assert estimator.score(X, constraints=other) == expected

    def test_it_counts_labels(self, estimator, overlapping):
        X, y, pairs = overlapping
        estimator.fit(X, constraints=pairs)
        expected = Constraints.from_labels(y).score(estimator.predict(X))
        assert estimator.score(X, y) == expected

    def test_it_is_nan_without_pairs(self, estimator, blobs):
        estimator.fit(blobs.X, constraints=blobs.pairs)
        assert np.isnan(estimator.score(blobs.X))

    def test_it_takes_weights_as_pipelines_do(self, estimator, blobs):
        X, _, pairs = blobs
        estimator.fit(X, constraints=pairs)
        assert estimator.score(X, constraints=pairs, sample_weight=None) == 1.0

    def test_on_training_rows_it_is_the_fitted_score(self, searcher, overlapping):
        X, _, pairs = overlapping
        searcher.fit(X, constraints=pairs)
        assert searcher.score(X, constraints=pairs) == searcher.constraint_score_


class TestForms:
    @pytest.mark.parametrize("form", [csr_array, csc_array, csr_matrix])
    def test_sparse_equals_dense(self, form, estimator, make_problem):
        X, _, pairs = make_problem(spread=0.5, n_features=6)
        X = np.where(X > 1.0, X, 0.0)
        labels = estimator.fit(X, constraints=pairs).labels_
        new = np.where(make_problem(seed=1, n_features=6).X > 1.0, 2.0, 0.0)
        expected = estimator.predict(new)
        assert_array_equal(estimator.fit(form(X), constraints=pairs).labels_, labels)
        assert_array_equal(estimator.predict(form(new)), expected)

    @pytest.mark.parametrize("dtype", ["float32", "float16", "int64", object])
    def test_other_numbers_equal_float64(self, dtype, estimator, blobs):
        X = np.round(blobs.X * 8)
        labels = estimator.fit(X, constraints=blobs.pairs).labels_
        estimator.fit(X.astype(dtype), constraints=blobs.pairs)
        assert_array_equal(estimator.labels_, labels)

    def test_float32_equals_float64_on_separated_data(self, estimator, blobs):
        labels = estimator.fit(blobs.X, constraints=blobs.pairs).labels_
        estimator.fit(blobs.X.astype(np.float32), constraints=blobs.pairs)
        assert_array_equal(estimator.labels_, labels)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"approximation": "landmarks", "n_landmarks": 20},
            {"approximation": "working_set", "working_rows": 40},
        ],
        ids=["exact", "landmarks", "working set"],
    )
    @pytest.mark.parametrize("form", [np.asarray, csr_array])
    def test_float32_rows_are_kept_and_give_the_same_model(self, options, form):
        rng = np.random.default_rng(0)
        y = np.arange(90) % 3
        X = (4.0 * np.eye(3, 60)[y] + rng.normal(size=(90, 60))).astype(np.float32)
        pairs = Constraints.sample(y, 60, random_state=0)
        model = KernelCSC(3, n_candidates=15, random_state=0, **options)
        wide = clone(model).fit(form(X.astype(np.float64)), constraints=pairs)
        narrow = model.fit(form(X), constraints=pairs)
        assert narrow._check_data(form(X), reset=False).dtype == np.float32
        assert_array_equal(narrow.labels_, wide.labels_)
        assert_array_equal(narrow.history_["score"], wide.history_["score"])
        new = X[:9] + np.float32(0.5)
        expected = wide.predict(form(new.astype(np.float64)))
        assert_array_equal(narrow.predict(form(new)), expected)

    def test_memory_order_does_not_matter(self, estimator, overlapping):
        X, _, pairs = overlapping
        labels = estimator.fit(X, constraints=pairs).labels_
        estimator.fit(np.asfortranarray(X), constraints=pairs)
        assert_array_equal(estimator.labels_, labels)

    def test_names_of_features_are_kept(self, estimator, blobs):
        X, _, pairs = blobs
        frame = pd.DataFrame(X, columns=["size", "score", "mass"])
        labels = estimator.fit(frame, constraints=pairs).labels_
        assert list(estimator.feature_names_in_) == ["size", "score", "mass"]
        assert estimator.n_features_in_ == 3
        estimator.predict(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            estimator.predict(frame[["score", "size", "mass"]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            estimator.predict(X)
        assert_array_equal(estimator.fit(X, constraints=pairs).labels_, labels)
        assert not hasattr(estimator, "feature_names_in_")

    @pytest.mark.parametrize(
        "make",
        [
            lambda: ConstrainedKernelKMeans(3, kernel=Linear(), random_state=0),
            lambda: ConstrainedKernelKMeans(
                3, kernel=Linear(), mode="hard", random_state=0
            ),
            lambda: MahalanobisCSC(3, n_candidates=20, random_state=0),
        ],
    )
    def test_whole_weights_equal_repeated_rows(self, make, blobs, new_rows):
        X, _, pairs = blobs
        times = np.ones(len(X), dtype=int)
        times[np.setdiff1d(np.arange(len(X)), pairs.points)] = 3
        extra = np.repeat(np.arange(len(X)), times - 1)
        once = make().fit(X, constraints=pairs, sample_weight=times)
        same = Constraints(pairs.must_link, pairs.cannot_link)  # for any number of rows
        repeated = make().fit(np.concatenate([X, X[extra]]), constraints=same)
        assert_array_equal(once.labels_, repeated.labels_[: len(X)])
        assert_array_equal(once.labels_[extra], repeated.labels_[len(X) :])
        assert once.objective_ == pytest.approx(repeated.objective_, rel=1e-5)
        assert_array_equal(once.predict(new_rows), repeated.predict(new_rows))


class TestViews:
    def test_kernels_are_built_on_each_view(self, blobs):
        X, _, pairs = blobs
        model = KernelCSC(3, kernels=[Linear(), RBF(0.1)], filter="none")
        model.set_params(n_candidates=10, random_state=0)
        model.fit([X, X[:, :1]], constraints=pairs)
        assert model.n_features_in_ == (3, 1)
        assert len(model.kernel_names_) == 4
        assert model.kernel_names_[1].endswith("of X[1]")
        assert_array_equal(model.predict([X, X[:, :1]]), model.labels_)

    def test_sparse_and_dense_views_and_frames_mix(self, blobs):
        X, _, pairs = blobs
        # Of the rich bank, sparse rows have other views.
        model = KernelCSC(3, kernels="paper", n_candidates=10, random_state=0)
        expected = model.fit_predict([X, X[:, :2]], constraints=pairs)
        views = [csr_array(X), pd.DataFrame(X[:, :2])]
        assert_array_equal(model.fit_predict(views, constraints=pairs), expected)

    def test_a_view_that_tells_the_clusters_is_found(self, blobs):
        X, _, pairs = blobs
        noise = np.random.default_rng(0).standard_normal((len(X), 5))
        model = SingleKernelCSC(3, random_state=0).fit([noise, X], constraints=pairs)
        assert model.constraint_score_ == 1.0
        chosen = model.kernel_names_[int(model.kernel_weights_.argmax())]
        assert chosen.endswith("of X[1]")


class TestObjects:
    words = ["aab", "aba", "baa", "xxyy", "xyxy", "yyxx", "mmm", "mmmn", "nmm"]
    pairs = ([(0, 1), (3, 4), (6, 7)], [(0, 3), (3, 6)])

    @staticmethod
    def common(a, b):
        return sum(min(a.count(c), b.count(c)) for c in set(a) & set(b))

    @pytest.mark.parametrize(
        "form", [list, tuple, pd.Series, lambda words: np.array(words, dtype=object)]
    )
    def test_a_pair_kernel_takes_any_sequence(self, form):
        for model in (
            KernelCSC(3, kernels=[PairKernel(self.common)], random_state=0),
            ConstrainedKernelKMeans(3, kernel=PairKernel(self.common), random_state=0),
        ):
            model.fit(form(self.words), constraints=self.pairs)
            assert_array_equal(model.labels_[::3].repeat(3), model.labels_)
            assert len(np.unique(model.labels_)) == 3
            assert_array_equal(
                model.predict(form(["ab", "yx", "n"])), model.labels_[[0, 3, 6]]
            )
            assert not hasattr(model, "n_features_in_")

    def test_what_was_known_of_features_is_forgotten(self, blobs):
        model = KernelCSC(3, kernels=[Linear()], random_state=0)
        model.fit(pd.DataFrame(blobs.X, columns=list("abc")), constraints=blobs.pairs)
        model.set_params(kernels=[PairKernel(self.common)])
        model.fit(self.words, constraints=self.pairs)
        assert not hasattr(model, "n_features_in_")
        assert not hasattr(model, "feature_names_in_")

    def test_objects_that_are_matrices_come_in_an_array(self):
        graphs = np.empty(6, dtype=object)
        for i, n_nodes in enumerate([2, 2, 3, 7, 8, 7]):
            graphs[i] = np.ones((n_nodes, n_nodes))
        kernel = PairKernel(lambda a, b: np.exp(-abs(len(a) - len(b))))
        model = KernelCSC(2, kernels=[kernel], random_state=0)
        labels = model.fit_predict(graphs, constraints=([(0, 1)], [(0, 5)]))
        assert_array_equal(labels == labels[0], [True] * 3 + [False] * 3)


class TestGramMatrices:
    def test_one_matrix_equals_its_kernel(self, overlapping, new_rows):
        X, _, pairs = overlapping
        for given, computed in (
            (
                KernelCSC(3, kernels="precomputed", random_state=0),
                KernelCSC(3, kernels=[RBF(0.1)], final_step=None, random_state=0),
            ),
            (
                ConstrainedKernelKMeans(3, kernel="precomputed", random_state=0),
                ConstrainedKernelKMeans(3, kernel=RBF(0.1), random_state=0),
            ),
        ):
            given.fit(RBF(0.1)(X, X), constraints=pairs)
            computed.fit(X, constraints=pairs)
            assert_array_equal(given.labels_, computed.labels_)
            expected = computed.predict(new_rows)
            assert_array_equal(given.predict(RBF(0.1)(new_rows, X)), expected)
            assert given.__sklearn_tags__().input_tags.pairwise
            assert not given.__sklearn_tags__().input_tags.sparse
            assert not computed.__sklearn_tags__().input_tags.pairwise

    def test_a_list_of_matrices_equals_its_kernels(self, overlapping, new_rows):
        X, _, pairs = overlapping
        kernels = [Linear(), RBF(0.1), RBF(0.01)]
        options = {"filter": "none", "n_candidates": 30, "random_state": 0}
        options["final_step"] = None
        given = KernelCSC(3, kernels="precomputed", **options)
        given.fit([k(X, X) for k in kernels], constraints=pairs)
        computed = KernelCSC(3, kernels=kernels, **options).fit(X, constraints=pairs)
        assert_array_equal(given.labels_, computed.labels_)
        assert_array_equal(given.kernel_weights_, computed.kernel_weights_)
        cross = [k(new_rows, X) for k in kernels]
        assert_array_equal(given.predict(cross), computed.predict(new_rows))

    def test_matrices_may_stand_among_the_kernels(self, overlapping, new_rows):
        X, _, pairs = overlapping
        options = {"filter": "none", "n_candidates": 20, "random_state": 0}
        options["final_step"] = None
        mixed = [X @ X.T, Precomputed(RBF(0.1)(X, X), cross=lambda Y: RBF(0.1)(Y, X))]
        given = KernelCSC(3, kernels=mixed, **options).fit(X, constraints=pairs)
        expected = KernelCSC(3, kernels=[Linear(), RBF(0.1)], **options)
        expected.fit(X, constraints=pairs)
        assert_array_equal(given.labels_, expected.labels_)
        only = KernelCSC(3, kernels=mixed[1:], **options).fit(X, constraints=pairs)
        assert_array_equal(only.predict(X), only.labels_)
        assert only.predict(new_rows).shape == (len(new_rows),)

    def test_float32_matrices_are_not_copied_to_float64(self, overlapping):
        X, _, pairs = overlapping
        gram = RBF(0.1)(X, X).astype(np.float32)
        model = KernelCSC(3, kernels="precomputed").fit(gram, constraints=pairs)
        assert model._check_data(gram, reset=False) is gram


@pytest.mark.parametrize("model", [KernelCSC(3, n_candidates=30), SingleKernelCSC(3)])
@pytest.mark.parametrize("kernels", ["paper", [(Standardized(), RBF(0.5)), Linear()]])
def test_a_shared_bank_equals_one_built_inside(model, kernels, overlapping):
    X, y, pairs = overlapping
    bank = KernelBank.build(X, kernels)
    for seed in range(2):
        pairs = Constraints.sample(y, 60, random_state=seed)
        model.set_params(random_state=seed, kernels=kernels)
        expected = model.fit(X, constraints=pairs)
        labels, table = expected.labels_, expected.history_.drop(columns="seconds")
        model.set_params(kernels=bank).fit(X, constraints=pairs)
        assert_array_equal(model.labels_, labels)
        pd.testing.assert_frame_equal(model.history_.drop(columns="seconds"), table)


@pytest.mark.parametrize("approximation", ["exact", "landmarks", "working_set"])
def test_labels_of_new_rows_do_not_depend_on_threads(
    approximation, overlapping, monkeypatch
):
    X, _, pairs = overlapping
    model = KernelCSC(
        3,
        approximation=approximation,
        n_landmarks=10,
        working_rows=20,
        n_candidates=5,
        random_state=0,
    )
    model.fit(X, constraints=pairs)
    monkeypatch.setattr("linkwise.doors._base._PREDICT_BLOCK", 7)
    found = [model.set_params(n_jobs=n).predict(X) for n in (None, 2, JoblibEngine(2))]
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
