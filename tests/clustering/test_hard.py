"""k-means where no pair may be broken (sections 7.2 and 8.3 of the specification)."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.clustering.plain import (
    components_of,
    distances_to_centres,
    draw_constraints,
    draw_problem,
    lloyd,
    objective,
)

from linkwise.clustering import hard_kmeans, kmeans
from linkwise.clustering._jit import improve_without_violation
from linkwise.constraints import Constraints
from linkwise.exceptions import InfeasibleConstraintsError
from linkwise.kernels import FeatureSpace, GramSpace

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=30)


def run(space, start, k, pairs, seed=0, **options):
    rng = np.random.default_rng(seed)
    closure = pairs.closure(space.n_samples)
    return hard_kmeans(space, start, k, closure, rng=rng, **options)


def on_line(x, start, k, pairs, **options):
    x = np.array(x, dtype=np.float64)
    by_gram = run(GramSpace(np.outer(x, x)), np.array(start), k, pairs, **options)
    by_features = run(FeatureSpace(x[:, None]), np.array(start), k, pairs, **options)
    assert np.array_equal(by_gram.labels, by_features.labels)
    assert by_gram.objective == pytest.approx(by_features.objective)
    return by_gram


class TestExamplesOfTheSpecification:
    def test_a_block_costs_the_sum_of_its_distances(self):
        x = np.array([0.0, 1.0, 2.0, 10.0])
        # Centres at 0 and 10: only these two points are in a group.
        centres = distances_to_centres(
            np.outer(x, x), np.ones(4), np.array([0, -1, -1, 1]), 2
        )
        assert centres[2:].sum(axis=0) == pytest.approx([104, 64], abs=1e-6)
        # Their weight puts the centres of a start at 0 and 10 as well.
        weight = np.array([1.0, 1e-9, 1e-9, 1.0])
        pairs = Constraints([(2, 3)])
        result = run(
            GramSpace(np.outer(x, x), weight), np.array([0, 0, 1, 1]), 2, pairs
        )
        assert result.labels.tolist() == [0, 0, 1, 1]

    @pytest.mark.parametrize("start", [[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1]])
    def test_linked_points_move_together(self, start):
        result = on_line([0, 1, 2, 10], start, 2, Constraints([(2, 3)]))
        assert result.labels.tolist() == [0, 0, 1, 1]
        assert result.objective == pytest.approx(32.5, abs=1e-6)

    def test_points_with_many_cannot_links_choose_first(self):
        pairs = Constraints(cannot_link=[(0, 2), (1, 2)])
        # In the order of the points there would be no place for the last one. No
        # retry is allowed here, so the order is what finds it.
        result = on_line([0, 10, 5], [0, 1, 0], 2, pairs, n_retries=0, max_iter=1)
        assert result.labels.tolist() == [1, 1, 0]

    def test_a_triangle_does_not_fit_into_two_clusters(self):
        pairs = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
        with pytest.raises(InfeasibleConstraintsError):
            on_line([0, 1, 2], [0, 1, 0], 2, pairs)
        result = on_line([0, 1, 2], [0, 1, 2], 3, pairs)
        assert result.labels.tolist() == [0, 1, 2]


class TestFeasibleProblems:
    @pytest.mark.parametrize("n_retries", [0, 50])
    @quick
    @given(seed=SEEDS, n_pairs=st.integers(0, 60))
    def test_no_pair_is_ever_broken(self, n_retries, seed, n_pairs):
        problem = draw_problem(seed)
        n, k = len(problem.X), problem.k
        pairs = draw_constraints(problem.rng, n, n_pairs, k)
        closure = pairs.closure(n)
        assume(closure.n_components >= k)
        space = GramSpace(problem.gram, problem.weight)
        for max_iter in (1, 2, 100):
            result = run(
                space, problem.start, k, pairs, n_retries=n_retries, max_iter=max_iter
            )
            assert closure.n_violated(result.labels) == 0
            assert sorted(set(result.labels)) == list(range(k))
            expected = objective(problem.gram, problem.weight, result.labels)
            assert result.objective == pytest.approx(expected, abs=1e-9)
            anew = space.group_sums(result.labels, k)
            np.testing.assert_allclose(result.sums.sums, anew.sums, atol=1e-9)

    @quick
    @given(seed=SEEDS, n_pairs=st.integers(0, 30))
    def test_more_passes_never_end_higher(self, seed, n_pairs):
        problem = draw_problem(seed)
        n = len(problem.X)
        pairs = draw_constraints(problem.rng, n, n_pairs, problem.k)
        assume(pairs.closure(n).n_components >= problem.k)
        reached = [
            run(
                GramSpace(problem.gram),
                problem.start,
                problem.k,
                pairs,
                max_iter=max_iter,
            ).objective
            for max_iter in range(1, 12)
        ]
        assert np.all(np.diff(reached) <= 1e-10)

    def test_a_colouring_helps_where_every_order_fails(self):
        # Crowns: each left point is cannot-linked to all right points but its own.
        # The pull towards the wrong clusters leads the greedy pass astray.
        k, n = 3, 24
        truth = np.arange(n) % k
        rng = np.random.default_rng(0)
        every = np.array(list(itertools.combinations(range(n), 2)))
        cannot = every[truth[every[:, 0]] != truth[every[:, 1]]]
        pairs = Constraints(cannot_link=cannot[rng.random(len(cannot)) < 0.5])
        for seed in range(5):
            X = np.random.default_rng(seed).normal(size=(n, 2))
            start = np.random.default_rng(seed).permutation(np.arange(n) % k)
            result = run(FeatureSpace(X), start, k, pairs, n_retries=0)
            assert pairs.closure(n).n_violated(result.labels) == 0
            assert sorted(set(result.labels)) == [0, 1, 2]

    @quick
    @given(seed=st.integers(0, 10**6), k=st.integers(1, 5), is_tied=st.booleans())
    def test_components_move_in_turn_to_the_cheapest_open_cluster(
        self, seed, k, is_tied
    ):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(k, 20))
        labels = rng.integers(k, size=n)
        apart = [
            (i, j)
            for i, j in itertools.combinations(range(n), 2)
            if labels[i] != labels[j] and rng.random() < 0.3
        ]
        cost = rng.random((k, n))
        cost = np.round(3 * cost) if is_tied else cost
        closure = Constraints(cannot_link=apart).closure(n)
        order, indptr = rng.permutation(n), closure.cl_indptr
        expected, moved = labels.copy(), True
        while moved:
            moved = False
            for g in order:
                allowed = np.ones(k, dtype=bool)
                near = closure.cl_indices[indptr[g] : indptr[g + 1]]
                allowed[expected[near]] = False
                best = int(np.argmin(np.where(allowed, cost[:, g], np.inf)))
                if cost[best, g] < cost[expected[g], g]:
                    expected[g], moved = best, True
        improve_without_violation(cost, order, indptr, closure.cl_indices, labels)
        assert np.array_equal(labels, expected)
        assert closure.n_violated(labels) == 0

    def test_a_seed_determines_the_result(self):
        problem = draw_problem(8)
        pairs = draw_constraints(problem.rng, len(problem.X), 80, problem.k)
        once, again = (
            run(GramSpace(problem.gram), problem.start, problem.k, pairs, seed=3)
            for _ in range(2)
        )
        assert np.array_equal(once.labels, again.labels)

    def test_perfect_constraints_on_separated_groups_give_these_groups(self):
        rng = np.random.default_rng(0)
        truth = rng.permutation(np.arange(30) % 3)
        X = 20.0 * np.eye(3)[truth] + rng.normal(size=(30, 3))
        pairs = Constraints(
            [(i, i + 1) for i in range(29) if truth[i] == truth[i + 1]],
            [(i, i + 1) for i in range(29) if truth[i] != truth[i + 1]],
        )
        start = truth.copy()
        start[::5] = (start[::5] + 1) % 3
        result = run(FeatureSpace(X), start, 3, pairs)
        same = result.labels[:, None] == result.labels
        assert np.array_equal(same, truth[:, None] == truth)


class TestFirstPass:
    @quick
    @given(seed=SEEDS, n_pairs=st.integers(0, 12))
    def test_blocks_take_the_nearest_open_cluster_by_degree(self, seed, n_pairs):
        problem = draw_problem(seed)
        n, k = len(problem.X), problem.k
        pairs = draw_constraints(problem.rng, n, n_pairs, k)
        components = components_of(pairs, n)
        members = components.members
        assume(len(members) >= k)
        distance = problem.weight[:, None] * distances_to_centres(
            problem.gram, problem.weight, problem.start, k
        )
        apart = [
            {h for h in range(len(members)) if components.weight_between(g, h) > 0}
            for g in range(len(members))
        ]
        label = {}
        for g in sorted(range(len(members)), key=lambda g: -len(apart[g])):
            closed = {label[h] for h in apart[g] if h in label}
            opened = [c for c in range(k) if c not in closed]
            assume(opened)  # a dead end is met at random
            label[g] = min(opened, key=lambda c: distance[members[g], c].sum())
        assume(len(set(label.values())) == k)
        expected = np.empty(n, dtype=int)
        for g, c in label.items():
            expected[members[g]] = c
        space = GramSpace(problem.gram, problem.weight)
        result = run(space, problem.start, k, pairs, max_iter=1)
        assert np.array_equal(result.labels, expected)


class TestInfeasibleProblems:
    def test_fewer_components_than_clusters(self):
        pairs = Constraints([(0, 1), (1, 2)])
        with pytest.raises(InfeasibleConstraintsError, match="n_clusters=3.* 2 groups"):
            on_line([0, 1, 2, 3], [0, 1, 2, 2], 3, pairs)

    @pytest.mark.parametrize("k", [2, 3, 4])
    def test_one_point_more_than_clusters_all_apart(self, k):
        pairs = Constraints(cannot_link=list(itertools.combinations(range(k + 1), 2)))
        x = np.arange(8.0)
        with pytest.raises(InfeasibleConstraintsError):
            on_line(x, np.arange(8) % k, k, pairs)

    def test_no_clique_but_no_colouring_either(self):
        # An odd circle has no triangle, and still needs three clusters.
        circle = Constraints(cannot_link=[(i, (i + 1) % 5) for i in range(5)])
        with pytest.raises(InfeasibleConstraintsError):
            on_line(np.arange(5.0), [0, 1, 0, 1, 1], 2, circle)
        result = on_line(np.arange(5.0), [0, 1, 0, 1, 2], 3, circle)
        assert circle.closure(5).n_violated(result.labels) == 0

    @quick
    @given(seed=SEEDS)
    def test_an_error_is_raised_exactly_if_no_labelling_is_valid(self, seed):
        problem = draw_problem(seed, n=6, k=2)
        pairs = draw_constraints(problem.rng, 6, 9, 4)
        closure = pairs.closure(6)
        labellings = map(np.array, itertools.product(range(2), repeat=6))
        possible = any(
            len(set(labels)) == 2 and closure.n_violated(labels) == 0
            for labels in labellings
        )
        space = GramSpace(problem.gram)
        if possible:
            result = run(space, problem.start, 2, pairs)
            assert closure.n_violated(result.labels) == 0
        else:
            with pytest.raises(InfeasibleConstraintsError):
                run(space, problem.start, 2, pairs)


class TestWithoutConstraints:
    @quick
    @given(seed=SEEDS)
    def test_it_is_lloyds_method(self, seed):
        problem = draw_problem(seed)
        trace = lloyd(problem.gram, problem.weight, problem.start, problem.k)
        assume(trace is not None)
        space = GramSpace(problem.gram, problem.weight)
        for max_iter in range(1, len(trace)):
            result = run(
                space, problem.start, problem.k, Constraints(), max_iter=max_iter
            )
            assert np.array_equal(result.labels, trace[max_iter])
        result = run(space, problem.start, problem.k, Constraints())
        expected = kmeans(space, problem.start, problem.k)
        assert np.array_equal(result.labels, expected.labels)
        assert result.objective == pytest.approx(expected.objective, abs=1e-9)
        assert result.converged

    def test_a_point_between_two_centres_stays(self):
        # Section 0: the current label is kept if its cost is within rounding.
        result = on_line([-1, 0, 2], [0, 1, 1], 2, Constraints())
        assert result.labels.tolist() == [0, 1, 1]

    @quick
    @given(x=st.lists(st.integers(0, 2), min_size=4, max_size=9), seed=SEEDS)
    def test_no_cluster_is_ever_empty(self, x, seed):
        start = np.random.default_rng(seed).permutation(np.arange(len(x)) % 4)
        result = on_line(x, start, 4, Constraints())
        assert sorted(set(result.labels)) == [0, 1, 2, 3]


def test_the_start_is_not_changed_and_may_break_pairs():
    start = np.array([0, 0, 1, 1])
    pairs = Constraints([(0, 2)], [(0, 1)])
    result = on_line([0, 1, 2, 3], start, 2, pairs)
    assert start.tolist() == [0, 0, 1, 1]
    assert pairs.closure(4).n_violated(result.labels) == 0
