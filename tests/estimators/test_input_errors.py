"""Errors name the argument, show its value, and say what is allowed."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    ConstraintWarning,
    InconsistentConstraintsError,
    InfeasibleConstraintsError,
    KernelBank,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)
from linkwise.kernels import Linear, PairKernel
from linkwise.search import ForestSearch

PAIRS = ([(0, 1)], [(0, 2)])


class TestData:
    @pytest.mark.parametrize("bad, name", [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_values_that_are_not_finite(self, bad, name, estimator, blobs):
        X = blobs.X.copy()
        X[3, 1] = bad
        with pytest.raises(ValueError, match=f"Input X contains {name}"):
            estimator.fit(X, constraints=PAIRS)
        estimator.fit(blobs.X, constraints=blobs.pairs)
        with pytest.raises(ValueError, match=f"Input X contains {name}"):
            estimator.predict(X)

    def test_text(self, estimator):
        with pytest.raises(ValueError, match="could not convert string to float"):
            estimator.fit([["a", "b"]] * 5, constraints=PAIRS)

    def test_text_in_a_data_frame(self, estimator):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "z", "x"]})
        with pytest.raises(ValueError, match="could not convert string to float"):
            estimator.fit(frame, constraints=PAIRS)

    def test_complex_numbers(self, estimator, blobs):
        with pytest.raises(ValueError, match="Complex data not supported"):
            estimator.fit(blobs.X * 1j, constraints=PAIRS)

    @pytest.mark.parametrize(
        "shape, words", [((0, 3), "0 sample"), ((1, 3), "1 sample"), ((5, 0), "0 feat")]
    )
    def test_too_few_rows_or_columns(self, shape, words, estimator):
        with pytest.raises(ValueError, match=words):
            estimator.fit(np.ones(shape), constraints=([], []))

    def test_one_dimension(self, estimator):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            estimator.fit(np.arange(9.0), constraints=PAIRS)

    def test_more_clusters_than_rows(self, estimator, blobs):
        estimator.set_params(n_clusters=5)
        with pytest.raises(ValueError, match="n_clusters=5 is more than the 4 rows"):
            estimator.fit(blobs.X[:4], constraints=PAIRS)

    def test_rows_that_are_all_equal(self, estimator):
        with pytest.raises(ValueError, match="equal"):
            estimator.fit(np.full((9, 2), 7.0), constraints=PAIRS)

    @pytest.mark.parametrize("form", [np.asarray, csr_array])
    def test_equal_rows_of_which_a_forest_would_make_noise(self, form):
        pairs = Constraints.sample(np.arange(60) % 3, 90, random_state=0)
        with pytest.raises(ValueError, match="they are all equal"):
            KernelCSC(3).fit(form(np.ones((60, 4))), constraints=pairs)

    def test_as_many_clusters_as_rows(self, estimator, blobs):
        estimator.set_params(n_clusters=6)
        labels = estimator.fit(blobs.X[:6], constraints=([], [(0, 2)])).labels_
        assert sorted(labels) == list(range(6))

    def test_one_cluster(self, estimator, blobs):
        estimator.set_params(n_clusters=1)
        assert not estimator.fit(blobs.X, constraints=([(0, 1)], [])).labels_.any()

    def test_sparse_matrices_with_long_indices(self, blobs):
        X = csr_array(blobs.X)
        X.indices, X.indptr = X.indices.astype("int64"), X.indptr.astype("int64")
        with pytest.raises(ValueError, match="32-bit integer"):
            KernelCSC(3).fit(X, constraints=PAIRS)

    def test_no_objects(self):
        model = KernelCSC(2, kernels=[PairKernel(lambda a, b: a == b)])
        with pytest.raises(ValueError, match="X is empty: 0 objects"):
            model.fit(np.array([], dtype=object), constraints=PAIRS)

    def test_views_of_different_lengths(self, blobs):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            KernelCSC(3).fit([blobs.X, blobs.X[:-1]], constraints=PAIRS)

    def test_a_bad_view_is_named(self, blobs):
        bad = np.full((len(blobs.X), 1), np.nan)
        with pytest.raises(ValueError, match=r"Input X\[1\] contains NaN"):
            KernelCSC(3).fit([blobs.X, bad], constraints=PAIRS)

    def test_views_where_there_is_one_metric(self, blobs):
        with pytest.raises(ValueError, match="dim 3"):
            MahalanobisCSC(3).fit([blobs.X, blobs.X], constraints=PAIRS)

    def test_a_gram_matrix_that_is_not_square(self, blobs):
        for model in (
            KernelCSC(3, kernels="precomputed"),
            ConstrainedKernelKMeans(3, kernel="precomputed"),
        ):
            with pytest.raises(ValueError, match=r"X has shape \(72, 3\).*square"):
                model.fit(blobs.X, constraints=PAIRS)

    def test_a_gram_matrix_that_is_not_symmetric(self, blobs):
        gram = blobs.X @ blobs.X.T
        gram[3, 5] += 1.0
        with pytest.raises(ValueError, match=r"not symmetric: entry \(3, 5\)"):
            KernelCSC(3, kernels="precomputed").fit(gram, constraints=PAIRS)


class TestPairs:
    def test_out_of_range(self, estimator, blobs):
        with pytest.raises(ValueError, match=r"must_link\[1\] = \(3, 72\).*\[0, 72\)"):
            estimator.fit(blobs.X, constraints=([(0, 1), (3, 72)], []))

    def test_negative(self, estimator, blobs):
        with pytest.raises(ValueError, match="-1"):
            estimator.fit(blobs.X, constraints=([(0, -1)], []))

    def test_a_point_cannot_be_apart_from_itself(self, estimator, blobs):
        with pytest.raises(ValueError, match="cannot_link"):
            estimator.fit(blobs.X, constraints=([], [(4, 4)]))

    @pytest.mark.parametrize("bad", [3, "pairs", np.ones((4, 2)), object()])
    def test_something_else(self, bad, estimator, blobs):
        with pytest.raises(TypeError, match="constraints must be a Constraints"):
            estimator.fit(blobs.X, constraints=bad)

    def test_a_matrix_of_another_size(self, estimator, blobs):
        with pytest.raises(ValueError, match="are for 5 rows, but the data have 72"):
            estimator.fit(blobs.X, constraints=csr_array((5, 5)))

    def test_names_without_ids(self, estimator, blobs):
        with pytest.raises(ValueError, match="pass sample_id"):
            estimator.fit(blobs.X, constraints=Constraints([("a", "b")]))

    def test_ids_of_another_length(self, estimator, blobs):
        with pytest.raises(ValueError, match="sample_id has 3 ids.*72 rows"):
            estimator.fit(blobs.X, constraints=PAIRS, sample_id=[0, 1, 2])

    def test_ids_that_repeat(self, estimator, blobs):
        with pytest.raises(ValueError, match="7 stands at positions 7 and 9"):
            ids = np.arange(72)
            ids[9] = 7
            estimator.fit(blobs.X, constraints=PAIRS, sample_id=ids)

    def test_labels_of_another_length(self, estimator, blobs):
        with pytest.raises(ValueError, match="y has 5 labels.*72 rows"):
            estimator.fit(blobs.X, [0, 0, 1, 1, -1])

    def test_labels_that_are_no_classes(self, estimator, blobs):
        with pytest.raises(ValueError, match=r"y\[0\] = 0.5 is not a class"):
            estimator.fit(blobs.X, np.full(72, 0.5))

    def test_too_few_for_the_folds(self, blobs):
        model = SingleKernelCSC(3, cv=5)
        with pytest.raises(ValueError, match="cv=5: .*Use fewer folds"):
            model.fit(blobs.X, constraints=([(0, 1)], []))


class TestSampleWeight:
    @pytest.mark.parametrize(
        "change, words",
        [
            (0.0, r"sample_weight\[4\] = 0: weights must be positive"),
            (-1.0, "Negative values in data passed to `sample_weight`"),
            (np.nan, "sample_weight contains NaN"),
            (np.inf, "sample_weight contains infinity"),
        ],
    )
    def test_values(self, change, words, estimator, blobs):
        weight = np.ones(72)
        weight[4] = change
        with pytest.raises(ValueError, match=words):
            estimator.fit(blobs.X, constraints=PAIRS, sample_weight=weight)

    def test_length(self, estimator, blobs):
        with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\)"):
            estimator.fit(blobs.X, constraints=PAIRS, sample_weight=np.ones(3))

    def test_a_ready_bank_has_its_own(self, blobs):
        model = KernelCSC(3, kernels=KernelBank.build(blobs.X))
        with pytest.raises(ValueError, match="sample_weight differs.*KernelBank"):
            weight = np.full(72, 2.0)
            model.fit(blobs.X, constraints=PAIRS, sample_weight=weight)


class TestParameters:
    @pytest.mark.parametrize(
        "name, bad",
        [
            ("n_clusters", 0),
            ("n_clusters", 2.0),
            ("n_clusters", "3"),
            ("max_iter", 0),
            ("on_conflict", "ignore"),
            ("random_state", "seed"),
            ("random_state", np.random.default_rng(0)),
        ],
    )
    def test_of_all(self, name, bad, estimator, blobs):
        estimator.set_params(**{name: bad})
        with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
            estimator.fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize(
        "name, bad",
        [
            ("n_candidates", 0),
            ("n_candidates", 1.5),
            ("max_kernels", 0),
            ("search", "bayes"),
            ("search", 3),
            ("final_step", "firm"),
            ("filter", None),
            ("tie_break", "last"),
            ("time_limit", 0),
            ("time_limit", "1h"),
            ("patience", 0),
            ("kernels", "rbf"),
            ("kernels", Linear()),
            ("n_jobs", 1.5),
        ],
    )
    def test_of_kernel_csc(self, name, bad, blobs):
        model = KernelCSC(3, **{name: bad})
        with pytest.raises(ValueError, match=f"The '{name}' parameter of KernelCSC"):
            model.fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize("cv", [1, -1, 2.5, None])
    def test_of_single_kernel_csc(self, cv, blobs):
        with pytest.raises(ValueError, match="The 'cv' parameter"):
            SingleKernelCSC(3, cv=cv).fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize(
        "name, bad",
        [
            ("kernel", "linear"),
            ("kernel", None),
            ("mode", None),
            ("penalty", "both"),
            ("penalty_weight", -1.0),
        ],
    )
    def test_of_constrained_kernel_kmeans(self, name, bad, blobs):
        model = ConstrainedKernelKMeans(3, **{name: bad})
        with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
            model.fit(blobs.X, constraints=PAIRS)

    def test_no_jobs(self, searcher, blobs):
        searcher.set_params(n_jobs=0)
        with pytest.raises(ValueError, match="n_jobs.*has no meaning"):
            searcher.fit(blobs.X, constraints=PAIRS)

    def test_a_class_for_a_search(self, blobs):
        with pytest.raises(ValueError, match="search=.*ForestSearch"):
            KernelCSC(3, search=ForestSearch).fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize("kernels, words", [([], "at least one"), ([3], "= 3 is")])
    def test_lists_of_kernels(self, kernels, words, blobs):
        with pytest.raises(ValueError, match=f"kernels.*{words}"):
            KernelCSC(3, kernels=kernels).fit(blobs.X, constraints=PAIRS)

    def test_a_bank_of_other_rows(self, blobs):
        model = KernelCSC(3, kernels=KernelBank.build(blobs.X))
        with pytest.raises(ValueError, match="KernelBank of 72 rows, but X has 70"):
            model.fit(blobs.X[:70], constraints=PAIRS)


class TestMaxMemory:
    models = [KernelCSC(3, kernels="paper", n_candidates=5), SingleKernelCSC(3)]

    @pytest.mark.parametrize("model", [*models, ConstrainedKernelKMeans(3)])
    @pytest.mark.parametrize(
        "bad", ["", "4 gigs", "GiB", "-1GB", "0GB", "2i", "1e9", True]
    )
    def test_text_that_is_no_size(self, bad, model, blobs):
        model.set_params(max_memory=bad)
        with pytest.raises(ValueError, match=f"max_memory={bad!r} is not a size"):
            model.fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize("bad", [0, -5, [1]])
    def test_numbers_that_are_no_size(self, bad, blobs):
        with pytest.raises(ValueError, match="The 'max_memory' parameter"):
            KernelCSC(3, max_memory=bad).fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize("model", [*models, ConstrainedKernelKMeans(3)])
    def test_too_little(self, model, blobs):
        model.set_params(max_memory="10 kB")
        if "approximation" in model.get_params():
            model.set_params(approximation="exact")
        with pytest.raises(MemoryError, match="max_memory='10 kB'"):
            model.fit(blobs.X, constraints=PAIRS)

    @pytest.mark.parametrize(
        ("kernels", "size"),
        [
            *(("paper", size) for size in ("200kB", "0.2 MB", 200_000, "1.5GiB", None)),
            ("rich", "600kB"),
        ],
    )
    def test_regenerated_kernels_give_the_same_clusters(self, kernels, size, blobs):
        X, _, pairs = blobs
        options = {"kernels": kernels, "approximation": "exact"}
        expected = KernelCSC(3, n_candidates=5, random_state=0, **options)
        model = clone(expected).set_params(max_memory=size)
        expected = expected.fit_predict(X, constraints=pairs)
        np.testing.assert_array_equal(model.fit_predict(X, constraints=pairs), expected)


class TestPredict:
    def test_before_fit(self, estimator, blobs):
        for method in (estimator.predict, estimator.score):
            with pytest.raises(NotFittedError):
                method(blobs.X)

    def test_after_a_fit_that_failed(self, estimator, blobs):
        with pytest.raises(ValueError, match="equal"):
            estimator.fit(np.ones((9, 3)), constraints=PAIRS)
        with pytest.raises(NotFittedError):
            estimator.predict(blobs.X)

    def test_another_number_of_features(self, estimator, blobs):
        estimator.fit(blobs.X, constraints=blobs.pairs)
        with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
            estimator.predict(blobs.X[:, :2])

    def test_other_views(self, blobs):
        X, _, pairs = blobs
        model = KernelCSC(3, kernels="paper", n_candidates=5).fit(
            [X, X[:, :2]], constraints=pairs
        )
        for new in ([X, X], [X], [X[:, :2], X]):
            with pytest.raises(ValueError, match=r"fitted with \(3, 2\)"):
                model.predict(new)
        with pytest.raises(ValueError, match="expecting"):
            model.predict(X)

    def test_views_after_a_fit_to_one_matrix(self, blobs):
        X, _, pairs = blobs
        model = KernelCSC(3, kernels="paper", n_candidates=5).fit(X, constraints=pairs)
        with pytest.raises(ValueError, match="fitted with 3"):
            model.predict([X, X])

    def test_plain_gram_matrices_cannot_predict(self, blobs):
        X, _, pairs = blobs
        model = KernelCSC(3, kernels=[X @ X.T]).fit(X, constraints=pairs)
        with pytest.raises(ValueError, match="cross="):
            model.predict(X)


class TestIdsInMessages:
    ids = [f"row {i}" for i in range(72)]

    def fit(self, model, blobs, must_link, cannot_link):
        def named(pairs):
            return [(self.ids[i], self.ids[j]) for i, j in pairs]

        pairs = named(must_link), named(cannot_link)
        return model.fit(blobs.X, constraints=pairs, sample_id=self.ids)

    def test_too_few_clusters(self, blobs):
        model = ConstrainedKernelKMeans(2, mode="hard")
        triangle = [(3, 5), (5, 9), (3, 9)]
        shown = "each: 'row 3', 'row 5', 'row 9'"
        with pytest.raises(InfeasibleConstraintsError, match=shown):
            self.fit(model, blobs, [], triangle)
        with pytest.raises(InfeasibleConstraintsError, match="each: 3, 5, 9"):
            model.fit(blobs.X, constraints=([], triangle))

    def test_too_few_clusters_without_a_clique(self, blobs):
        model = ConstrainedKernelKMeans(2, mode="hard")
        circle = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
        with pytest.raises(InfeasibleConstraintsError, match="points 'row 0', 'row 1'"):
            self.fit(model, blobs, [], circle)

    def test_contradictions(self, estimator, blobs):
        with pytest.raises(InconsistentConstraintsError, match="row 1-row 2-row 7"):
            self.fit(estimator, blobs, [(1, 2), (2, 7)], [(1, 7)])

    def test_contradictions_in_a_warning(self, blobs):
        model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
        with pytest.warns(ConstraintWarning, match="row 1-row 2-row 7"):
            self.fit(model, blobs, [(1, 2), (2, 7)], [(1, 7)])

    def test_pairs_of_a_row_with_itself(self, estimator, blobs):
        with pytest.raises(ValueError, match=r"\('row 3', 'row 3'\) joins a point to"):
            self.fit(estimator, blobs, [], [(3, 3)])


def test_the_largest_weights_of_pairs_change_nothing(estimator, blobs):
    pairs = blobs.pairs
    heavy = Constraints(pairs.must_link, pairs.cannot_link, 1e100, 1e100)
    weighted = clone(estimator).fit(blobs.X, constraints=heavy)
    plain = estimator.fit(blobs.X, constraints=pairs)
    assert np.array_equal(weighted.labels_, plain.labels_)
    assert weighted.constraint_score_ == plain.constraint_score_
