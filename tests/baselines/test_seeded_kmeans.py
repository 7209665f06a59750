"""k-means that starts from what is known (section 8.2 of the specification)."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.centre_contract import (
    CentreContract,
    blobs,
    inertia,
    random_problem,
)

from linkwise import Constraints, ConstraintWarning, InfeasibleConstraintsError
from linkwise.baselines._seeded_kmeans import ConstrainedKMeans, SeededKMeans

BOTH = [SeededKMeans, ConstrainedKMeans]
SEEDS = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=40)


class TestSeededKMeans(CentreContract):
    @pytest.fixture
    def model(self):
        return SeededKMeans(3, random_state=0)


class TestConstrainedKMeans(CentreContract):
    @pytest.fixture
    def model(self):
        return ConstrainedKMeans(3, random_state=0)


class UnlabelledConstrained(ConstrainedKMeans):
    """Without the labels of scikit-learn's checks, so that all checks can be run."""

    def fit(self, X, y=None, *, constraints=None, sample_weight=None, sample_id=None):
        return super().fit(X, sample_weight=sample_weight)


def expected_failed_checks(estimator):
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": "weights must be positive",
        "check_sample_weight_equivalence_on_sparse_data": "weights must be positive",
    }
    if type(estimator) is SeededKMeans:
        labels = "y of the check has more values than n_clusters"
        reasons |= dict.fromkeys(MORE_LABELS_THAN_CLUSTERS, labels)
    return reasons


# They set n_clusters to 1 or 2, or have four classes.
MORE_LABELS_THAN_CLUSTERS = [
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
]


@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(
    # Most checks label all rows with too few or too many values for ConstrainedKMeans.
    [SeededKMeans(3), UnlabelledConstrained(2)],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


def plain_lloyd(X, weight, centres, fixed, max_iter=100):
    """Return labels, inertias of Lloyd's steps, and whether a cluster was emptied.

    ``fixed`` is -1 for free rows.
    """
    k, labels, trace, emptied = len(centres), None, [], False
    for _ in range(max_iter):
        away = ((X[:, None] - centres) ** 2).sum(axis=2)
        new = np.where(fixed >= 0, fixed, away.argmin(axis=1))
        cost = weight * away[np.arange(len(X)), new]
        for c in range(k):
            if not (new == c).any():
                counts = np.bincount(new, minlength=k)
                can_move = (fixed < 0) & (counts[new] > 1)
                worst = np.where(can_move, cost.round(9), -np.inf).argmax()
                new[worst], cost[worst], emptied = c, -np.inf, True
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        centres = np.array(
            [np.average(X[labels == c], axis=0, weights=weight[labels == c])
             for c in range(k)]
        )  # fmt: skip
        away = ((X - centres[labels]) ** 2).sum(axis=1)
        trace.append(weight @ away)
    return labels, trace, emptied


def plain_start(X, y, weight):
    centres = [
        np.average(X[y == c], axis=0, weights=weight[y == c])
        for c in range(y.max() + 1)
    ]
    return np.array(centres)


def partial_labels(rng, n, k):
    y = np.where(rng.random(n) < 0.5, rng.permutation(np.arange(n) % k), -1)
    return y if len(np.unique(y[y >= 0])) == k else rng.permutation(np.arange(n) % k)


class TestLabelsAsSeeds:
    @quick
    @given(SEEDS, st.sampled_from(BOTH))
    def test_k_means_from_the_means_of_the_seeds(self, seed, method):
        rng = np.random.default_rng(seed)
        X, _, k = random_problem(rng)
        y = partial_labels(rng, len(X), k)
        weight = rng.uniform(0.5, 2.0, len(X))
        fixed = y if method is ConstrainedKMeans else np.full(len(X), -1)
        centres = plain_start(X, y, weight)
        labels, trace, _ = plain_lloyd(X, weight, centres, fixed)
        model = method(k).fit(X, y, sample_weight=weight)
        assert_array_equal(model.labels_, labels)
        assert_allclose(model.objective_, trace[-1], atol=1e-9)
        assert (np.diff(trace) <= 1e-9).all()  # inertia never rises

    @pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
    @quick
    @given(SEEDS)
    def test_constrained_keeps_every_seed(self, seed):
        rng = np.random.default_rng(seed)
        X, pairs, k = random_problem(rng)
        y = np.where(rng.random(len(X)) < 0.3, rng.integers(k, size=len(X)), -1)
        n_labels = len(np.unique(y[y >= 0]))
        try:
            labels = ConstrainedKMeans(k, random_state=0).fit_predict(X, y)
        except InfeasibleConstraintsError:
            assert (y < 0).sum() < k - n_labels
        else:
            known = y >= 0
            codes = np.unique(y[known], return_inverse=True)[1]
            assert_array_equal(labels[known], codes)

    def test_all_seeded_with_the_truth_is_the_truth(self):
        X, y, _ = blobs(spread=5.0)
        assert_array_equal(ConstrainedKMeans(3).fit_predict(X, y), y)
        X, y, _ = blobs()
        assert_array_equal(SeededKMeans(3).fit_predict(X, y), y)

    @pytest.mark.parametrize("method", BOTH)
    @pytest.mark.parametrize(
        "y",
        [
            [30, -1, -1, 7],
            ["b", None, None, "a"],
            np.array(["b", -1, -1, "a"], dtype=object),
            [1.0, np.nan, np.nan, 0.0],
        ],
    )
    def test_clusters_follow_the_order_of_the_label_values(self, method, y):
        X = np.array([[0.0], [1.0], [4.0], [5.0]])
        assert_array_equal(method(2).fit_predict(X, y), [1, 1, 0, 0])

    @pytest.mark.parametrize("method", BOTH)
    def test_labels_without_a_common_order_go_by_first_appearance(self, method):
        X = np.array([[0.0], [1.0], [4.0], [5.0]])
        y = np.array(["b", -1, -1, 7], dtype=object)
        assert_array_equal(method(2).fit_predict(X, y), [0, 0, 1, 1])

    def test_a_single_labelled_row_is_a_seed(self):
        # It makes no pair; the other cluster starts at the farthest row.
        X = np.array([[0.0], [1.0], [4.0], [5.0]])
        labels = SeededKMeans(2).fit_predict(X, [-1, -1, 3, -1])
        assert_array_equal(labels, [1, 1, 0, 0])

    @pytest.mark.parametrize("method", BOTH)
    def test_more_labels_than_clusters_are_an_error(self, method):
        X = np.arange(4.0)[:, None]
        with pytest.raises(ValueError, match="y has 3 label values, but n_clusters=2"):
            method(2).fit(X, [0, 1, 2, -1])

    def test_rows_must_linked_to_a_seed_are_seeds(self):
        X = np.array([[0.0], [1.0], [4.0], [5.0]])
        pairs = Constraints([(0, 2)])
        labels = ConstrainedKMeans(2).fit_predict(X, [0, -1, -1, 1], constraints=pairs)
        assert labels[2] == 0

    def test_labels_win_where_dropped_pairs_join_them(self):
        X = np.array([[0.0], [1.0], [4.0], [5.0]])
        pairs = Constraints([(0, 3)], must_link_weight=[2.0])
        model = ConstrainedKMeans(2, on_conflict="drop")
        labels = model.fit_predict(X, [0, -1, -1, 1], constraints=pairs)
        assert_array_equal(labels, [0, 0, 1, 1])

    def test_too_few_free_rows_for_clusters_without_seed_are_an_error(self):
        X = np.arange(4.0)[:, None]
        with (
            pytest.warns(ConstraintWarning, match="only 3 groups of rows"),
            pytest.raises(InfeasibleConstraintsError, match="all but 1 rows"),
        ):
            ConstrainedKMeans(4).fit(X, [0, 0, 1, -1])


class TestPairsAsSeeds:
    x = np.array([0.0, 1, 10, 11, 5, 6, 20])[:, None]
    pairs = Constraints([(0, 1), (2, 3), (4, 5)])

    def test_seed_sets_are_the_components_of_section_4(self):
        # Seeds {0, 1} and {2, 3}; rows 4 and 5 are no seeds and go to the second.
        model = ConstrainedKMeans(2).fit(self.x, constraints=self.pairs)
        assert_array_equal(model.labels_[:4], [0, 0, 1, 1])
        centres = np.array([[0.5], [10.5]])
        fixed = np.array([0, 0, 1, 1, -1, -1, -1])
        assert_array_equal(
            model.labels_, plain_lloyd(self.x, np.ones(7), centres, fixed)[0]
        )

    def test_the_farthest_component_is_next(self):
        x = np.array([0.0, 0, 20, 20, 10, 10, 21, 21])[:, None]
        pairs = Constraints([(0, 1), (2, 3), (4, 5), (6, 7)])
        with pytest.warns(match="max_iter=1"):
            model = ConstrainedKMeans(3, max_iter=1).fit(x, constraints=pairs)
        assert_array_equal(model.labels_[[0, 6, 4]], [0, 1, 2])

    def test_single_rows_with_a_cannot_link_follow_components(self):
        pairs = Constraints([(0, 1)], [(2, 3)])
        model = ConstrainedKMeans(3).fit(self.x, constraints=pairs)
        assert_array_equal(model.labels_[[0, 3, 2]], [0, 1, 2])

    def test_rows_without_pairs_start_a_cluster_but_are_free(self):
        # Row 3 starts cluster 1, whose mean then moves away from it.
        x = np.array([0.0, 0, 6, 7, 2.9, 2.9])[:, None]
        pairs = Constraints([(0, 1)])
        labels = ConstrainedKMeans(2).fit_predict(x, constraints=pairs)
        expected = KMeans(2, init=[[0.0], [7.0]], n_init=1).fit(x).labels_
        assert_array_equal(labels, expected)

    @pytest.mark.parametrize("method", BOTH)
    def test_fewer_components_than_clusters(self, method):
        x = np.array([0.0, 1, 10, 11])[:, None]
        pairs = Constraints([(0, 1), (2, 3)])
        with pytest.warns(ConstraintWarning, match="only 2 groups of rows"):
            if method is SeededKMeans:
                labels = method(3).fit_predict(x, constraints=pairs)
                assert len(np.unique(labels)) == 3
            else:
                with pytest.raises(InfeasibleConstraintsError, match="n_clusters=3"):
                    method(3).fit(x, constraints=pairs)


class TestWeights:
    @quick
    @given(SEEDS, st.sampled_from(BOTH))
    def test_a_weight_counts_as_equal_rows(self, seed, method):
        rng = np.random.default_rng(seed)
        X, _, k = random_problem(rng)
        y = partial_labels(rng, len(X), k)
        counts = rng.integers(1, 4, len(X))
        weighted = method(k).fit(X, y, sample_weight=counts)
        rows = np.repeat(np.arange(len(X)), counts)
        fixed = y if method is ConstrainedKMeans else np.full(len(X), -1)
        # An emptied cluster takes one row, of equal ones only one.
        assume(not plain_lloyd(X, counts, plain_start(X, y, counts), fixed)[2])
        repeated = method(k).fit(X[rows], y[rows])
        assert_array_equal(weighted.labels_[rows], repeated.labels_)
        assert_allclose(weighted.objective_, repeated.objective_, atol=1e-9)

    def test_an_empty_cluster_takes_the_row_of_the_largest_weighted_cost(self):
        # Both seed sets have their mean at 0, and ties go to cluster 0.
        X = np.array([[0.0], [-1.0], [1.0], [3.0]])
        model = SeededKMeans(2, max_iter=1)
        with pytest.warns(match="max_iter=1"):
            model.fit(X, [0, 1, 1, -1])
        assert_array_equal(model.labels_, [0, 0, 0, 1])
        with pytest.warns(match="max_iter=1"):
            model.fit(X, [0, 1, 1, -1], sample_weight=[1.0, 20.0, 20.0, 1.0])
        assert_array_equal(model.labels_, [0, 1, 0, 0])


class TestNothingKnown:
    @pytest.mark.parametrize("method", BOTH)
    def test_it_is_k_means(self, method):
        X, _, _ = blobs(spread=3.0)
        model = method(3, random_state=0).fit(X)
        # A local optimum of Lloyd, as good as scikit-learn finds.
        again = KMeans(3, init=model.cluster_centers_, n_init=1).fit(X)
        assert_array_equal(again.labels_, model.labels_)
        assert_allclose(model.objective_, inertia(X, model.labels_))
        best = KMeans(3, n_init=10, random_state=1).fit(X)
        assert_allclose(model.objective_, best.inertia_, rtol=0.02)

    def test_random_state_draws_the_starts(self):
        X = np.random.default_rng(0).normal(size=(40, 2))
        objectives = {
            SeededKMeans(12, random_state=s).fit(X).objective_ for s in range(5)
        }
        assert len(objectives) > 1

    def test_all_labels_unknown_is_nothing(self):
        X, _, _ = blobs(spread=3.0)
        model = SeededKMeans(3, random_state=0)
        labels = model.fit_predict(X, np.full(len(X), -1))
        assert_array_equal(labels, model.fit_predict(X))


def test_prediction_of_the_training_rows_returns_their_labels():
    X, y, pairs = blobs(spread=3.0)
    model = SeededKMeans(3).fit(X, constraints=pairs)
    assert_array_equal(model.predict(X), model.labels_)


@quick
@given(SEEDS)
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, _, k = random_problem(rng)
    y = partial_labels(rng, len(X), k)
    order = rng.permutation(len(X))
    for method in BOTH:
        fixed = y if method is ConstrainedKMeans else np.full(len(X), -1)
        ones = np.ones(len(X))
        # The two rows of a cluster of two are equally far: the first is taken out.
        assume(not plain_lloyd(X, ones, plain_start(X, y, ones), fixed)[2])
        labels = method(k).fit_predict(X, y)
        assert_array_equal(method(k).fit_predict(X[order], y[order]), labels[order])
