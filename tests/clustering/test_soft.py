"""k-means with a price on broken pairs (section 7.1 of the specification)."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from tests.clustering.plain import (
    draw_constraints,
    draw_problem,
    lloyd,
    objective,
    pair_prices,
    plain_soft,
    soft_objective,
)

from linkwise.clustering import farthest_first, kmeans, soft_kmeans
from linkwise.constraints import Constraints
from linkwise.kernels import RBF, FeatureSpace, GramSpace, LandmarkBank, LandmarkSpace

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=25)
PENALTIES = st.sampled_from(["outlier", "hmrf"])


class TestExamplesOfTheSpecification:
    @pytest.mark.parametrize(
        "must_link, cannot_link, penalty, before, after, labels",
        [
            ([(1, 2)], [], "outlier", 17, 8.666667, [0, 1, 1, 1]),
            ([(1, 2)], [], "hmrf", 10, 10, [0, 0, 1, 1]),
            ([], [(0, 1)], "outlier", 2, 2, [0, 0, 1, 1]),
            ([], [(0, 1)], "hmrf", 25, 14, [1, 0, 1, 1]),
        ],
    )
    @pytest.mark.parametrize("kind", [GramSpace, FeatureSpace])
    def test_four_points_on_a_line(
        self, kind, must_link, cannot_link, penalty, before, after, labels
    ):
        x = np.array([[0.0], [1.0], [4.0], [5.0]])
        space = FeatureSpace(x) if kind is FeatureSpace else GramSpace(x @ x.T)
        closure = Constraints(must_link, cannot_link).closure(4)

        def run(max_iter):
            return soft_kmeans(
                space,
                np.array([0, 0, 1, 1]),
                2,
                closure,
                order=np.arange(4),
                penalty=penalty,
                max_iter=max_iter,
            )

        assert space.squared_diameter() == pytest.approx(25, abs=1e-6)
        assert run(0).objective == pytest.approx(before, abs=1e-6)
        result = run(100)
        assert result.converged
        assert result.labels.tolist() == labels
        assert result.objective == pytest.approx(after, abs=1e-6)


def draw_soft(seed, weighted_pairs=True, n_pairs=12):
    problem = draw_problem(seed)
    n = len(problem.X)
    pairs = draw_constraints(problem.rng, n, n_pairs, 4, weighted_pairs)
    return problem, pairs, problem.rng.permutation(n)


class TestObjective:
    @quick
    @given(seed=SEEDS, penalty=PENALTIES, factor=st.sampled_from([0.05, 0.4, 1.0]))
    def test_it_never_rises_and_equals_its_definition(self, seed, penalty, factor):
        problem, pairs, order = draw_soft(seed)
        gram = rbf_kernel(problem.X, gamma=0.2)
        must, cannot = pair_prices(gram, pairs, penalty, factor)
        space = GramSpace(gram, problem.weight)
        last = np.inf
        for max_iter in range(101):
            result = soft_kmeans(
                space,
                problem.start,
                problem.k,
                pairs.closure(len(gram)),
                order=order,
                penalty=penalty,
                penalty_weight=factor,
                max_iter=max_iter,
            )
            expected = soft_objective(gram, problem.weight, result.labels, must, cannot)
            assert result.objective == pytest.approx(expected, abs=1e-9)
            assert result.objective <= last + 1e-10
            assert len(np.unique(result.labels)) == problem.k
            # Breaking a pair is never rewarded.
            scatter = objective(gram, problem.weight, result.labels)
            assert result.objective >= scatter - 1e-9
            if result.converged:
                break
            last = result.objective
        assert result.converged

    @quick
    @given(seed=SEEDS)
    def test_the_sums_belong_to_the_labels(self, seed):
        problem, pairs, order = draw_soft(seed)
        space = FeatureSpace(problem.X, problem.weight)
        for max_iter in (1, 2, 100):
            result = soft_kmeans(
                space,
                problem.start,
                problem.k,
                pairs.closure(len(problem.X)),
                order=order,
                max_iter=max_iter,
            )
            anew = space.group_sums(result.labels, problem.k)
            np.testing.assert_allclose(result.sums.sums, anew.sums, atol=1e-9)
            np.testing.assert_allclose(result.sums.mass, anew.mass, atol=1e-9)


class TestAgainstThePlainMethod:
    @pytest.mark.parametrize("kind", ["gram", "features"])
    @quick
    @given(
        seed=SEEDS,
        penalty=PENALTIES,
        factor=st.sampled_from([0.01, 0.1, 1.0]),
        weighted_pairs=st.booleans(),
    )
    def test_every_round_is_the_same(self, kind, seed, penalty, factor, weighted_pairs):
        problem, pairs, order = draw_soft(seed, weighted_pairs)
        gram, weight, k = problem.gram, problem.weight, problem.k
        must, cannot = pair_prices(gram, pairs, penalty, factor)
        space = (
            GramSpace(gram, weight)
            if kind == "gram"
            else FeatureSpace(problem.X, weight)
        )
        for max_iter in (1, 2, 3, 100):
            trace = plain_soft(
                gram, weight, problem.start, k, must, cannot, order, max_iter
            )
            result = soft_kmeans(
                space,
                problem.start,
                k,
                pairs.closure(len(gram)),
                order=order,
                penalty=penalty,
                penalty_weight=factor,
                max_iter=max_iter,
            )
            assert np.array_equal(result.labels, trace[-1])

    def test_the_order_of_visits_is_the_one_given(self):
        outcomes = set()
        problem, pairs, _ = draw_soft(11, n_pairs=30)
        for shift in range(6):
            order = np.random.default_rng(shift).permutation(len(problem.X))
            result = soft_kmeans(
                GramSpace(problem.gram),
                problem.start,
                problem.k,
                pairs.closure(len(problem.X)),
                order=order,
                max_iter=1,
            )
            must, cannot = pair_prices(problem.gram, pairs)
            trace = plain_soft(
                problem.gram,
                np.ones(len(order)),
                problem.start,
                problem.k,
                must,
                cannot,
                order,
                1,
            )
            assert np.array_equal(result.labels, trace[-1])
            outcomes.add(tuple(result.labels.tolist()))
        assert len(outcomes) > 1


class TestWithoutPrices:
    @pytest.mark.parametrize("without", ["constraints", "weight"])
    @quick
    @given(seed=SEEDS)
    def test_it_is_k_means(self, without, seed):
        problem, pairs, order = draw_soft(seed)
        trace = lloyd(problem.gram, problem.weight, problem.start, problem.k)
        # A last member never leaves here, also if others are about to come.
        assume(trace is not None)
        for old, new in itertools.pairwise(trace):
            assume(set(old[old == new]) == set(range(problem.k)))
        space = GramSpace(problem.gram, problem.weight)
        pairs, factor = (Constraints(), 1.0) if without == "constraints" else (pairs, 0)
        closure = pairs.closure(len(problem.X))
        expected = kmeans(space, problem.start, problem.k)
        for max_iter in (1, 2, 3, 100):
            result = soft_kmeans(
                space,
                problem.start,
                problem.k,
                closure,
                order=order,
                penalty_weight=factor,
                max_iter=max_iter,
            )
            step = trace[min(max_iter, len(trace) - 1)]
            assert np.array_equal(result.labels, step)
        assert np.array_equal(result.labels, expected.labels)
        assert result.objective == pytest.approx(expected.objective, abs=1e-9)

    @quick
    @given(seed=SEEDS)
    def test_a_small_weight_comes_close_to_k_means(self, seed):
        problem, pairs, order = draw_soft(seed)
        trace = lloyd(problem.gram, problem.weight, problem.start, problem.k)
        assume(trace is not None)
        result = soft_kmeans(
            GramSpace(problem.gram, problem.weight),
            problem.start,
            problem.k,
            pairs.closure(len(problem.X)),
            order=order,
            penalty_weight=1e-10,
        )
        assert np.array_equal(result.labels, trace[-1])


def test_no_cluster_is_emptied_even_if_all_pairs_ask_for_it():
    x = np.array([[0.0], [1.0], [2.0], [10.0]])
    pairs = Constraints([(0, 1), (1, 2), (2, 3)])
    result = soft_kmeans(
        FeatureSpace(x),
        np.array([0, 0, 0, 1]),
        2,
        pairs.closure(4),
        order=np.arange(4)[::-1],
        penalty_weight=1e6,
    )
    assert sorted(set(result.labels)) == [0, 1]


def test_dear_pairs_that_can_hold_do_hold():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 12)
    X = rng.normal(size=(36, 2)) + 3.0 * np.eye(3)[truth][:, :2]
    pairs = Constraints(
        [(i, i + 1) for i in range(35) if truth[i] == truth[i + 1]],
        [(11, 12), (23, 24), (0, 35)],
    )
    closure = pairs.closure(36)
    result = soft_kmeans(
        FeatureSpace(X), truth, 3, closure, order=np.arange(36), penalty_weight=100.0
    )
    assert closure.n_violated(result.labels) == 0


@pytest.mark.parametrize("nudge", [0.0, 1e-14, -1e-14])
def test_a_point_between_two_centres_stays(nudge):
    # Centres -1 and 1, up to rounding: the point at 0 is as far from both.
    space = FeatureSpace(np.array([[-1.0], [0.0], [2.0 + nudge]]))
    for start in ([0, 1, 1], [1, 0, 0]):
        result = soft_kmeans(
            space, np.array(start), 2, Constraints().closure(3), order=np.arange(3)
        )
        assert result.labels.tolist() == start


def test_the_start_is_not_changed():
    problem, pairs, order = draw_soft(5)
    start = problem.start.copy()
    soft_kmeans(
        GramSpace(problem.gram),
        start,
        problem.k,
        pairs.closure(len(start)),
        order=order,
    )
    assert np.array_equal(start, problem.start)


class TestPairsThatAreKept:
    @quick
    @given(seed=SEEDS, penalty=PENALTIES, factor=st.sampled_from([0.0, 0.1, 1.0]))
    def test_no_less_weight_holds_than_at_the_start(self, seed, penalty, factor):
        problem, pairs, order = draw_soft(seed)
        space = GramSpace(problem.gram, problem.weight)
        closure = pairs.closure(len(problem.X))
        start = farthest_first(space, closure, problem.k)
        options = {"order": order, "penalty": penalty, "penalty_weight": factor}

        def run(keep_satisfied, max_iter=100):
            return soft_kmeans(
                space,
                start,
                problem.k,
                closure,
                max_iter=max_iter,
                keep_satisfied=keep_satisfied,
                **options,
            )

        least = closure.score(start)
        last = np.inf
        for max_iter in (0, 1, 2, 100):
            result = run(True, max_iter)
            assert not closure.score(result.labels) < least
            assert result.n_iter <= max_iter
            assert len(np.unique(result.labels)) == problem.k
            assert result.objective <= last + 1e-9
            if max_iter == 0:
                last = result.objective
        assert result.converged
        # Where nothing is lost, nothing changes.
        free = run(False)
        if not closure.score(free.labels) < least:
            assert np.array_equal(result.labels, free.labels)

    def test_points_without_a_pair_go_on_when_pairs_would_break(self):
        # The must-link reaches over both groups; the points at 1.4 and 6 start wrong.
        x = np.array([[0.0], [0.5], [1.4], [6.0], [6.5], [7.0]])
        start = np.array([0, 0, 1, 0, 1, 0])
        closure = Constraints([(0, 5)]).closure(6)
        options = {"order": np.arange(6), "penalty_weight": 1e-6}
        free = soft_kmeans(FeatureSpace(x), start, 2, closure, **options)
        assert closure.score(free.labels) == 0.0
        kept = soft_kmeans(
            FeatureSpace(x), start, 2, closure, keep_satisfied=True, **options
        )
        assert closure.score(kept.labels) == 1.0
        assert kept.converged
        assert kept.labels.tolist() != start.tolist()
        anew = FeatureSpace(x).group_sums(kept.labels, 2)
        np.testing.assert_allclose(kept.sums.sums, anew.sums, atol=1e-9)


class TestLandmarks:
    @pytest.mark.parametrize("seed", range(20))
    def test_equal_points_in_two_clusters_come_to_rest(self, seed):
        # Their centres differ by rounding alone, and all would change places for ever.
        rng = np.random.default_rng(seed)
        places = rng.normal(size=(rng.integers(2, 5), 2))
        X = places[rng.integers(len(places), size=40)]
        marks = X[rng.choice(40, 8, replace=False)] + 0.1 * rng.normal(size=(8, 2))
        kernel = RBF(0.01 + rng.random())
        core = np.linalg.inv(kernel(marks, marks) + 1e-8 * np.eye(8))
        space = LandmarkSpace(kernel(X, marks).astype(np.float32), core, np.ones(40))
        k = len(places) + 1
        result = soft_kmeans(
            space,
            rng.permutation(np.arange(40) % k),
            k,
            Constraints().closure(40),
            order=np.arange(40),
        )
        assert result.converged
        assert len(np.unique(result.labels)) == k

    @quick
    @given(seed=SEEDS, is_rounded=st.booleans())
    def test_sums_of_kernels_come_to_rest(self, seed, is_rounded):
        problem, pairs, order = draw_soft(seed)
        X = np.round(problem.X) if is_rounded else problem.X
        assume(len(np.unique(X, axis=0)) > 3)
        bank = LandmarkBank.build(X, "paper", n_landmarks=6, filter="none")
        space = bank.combine(problem.rng.random(bank.n_weights))
        closure = pairs.closure(len(X))
        result = soft_kmeans(space, problem.start, problem.k, closure, order=order)
        assert result.converged
