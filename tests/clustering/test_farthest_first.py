"""Start labels from must-link components (section 4 of the specification)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clustering.plain import (
    components_of,
    draw_constraints,
    draw_problem,
    plain_farthest_first,
)

from linkwise.clustering import farthest_first
from linkwise.constraints import Constraints
from linkwise.kernels import FeatureSpace, GramSpace

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=30)


def on_line(x, constraints, k, **options):
    x = np.array(x, dtype=np.float64)
    closure = constraints.closure(len(x))
    by_gram = farthest_first(GramSpace(np.outer(x, x)), closure, k, **options)
    by_features = farthest_first(FeatureSpace(x[:, None]), closure, k, **options)
    assert np.array_equal(by_gram, by_features)
    return by_gram.tolist()


class TestExamplesOfTheSpecification:
    x = (0, 1, 10, 11, 5, 6, 20)
    must_link = ((0, 1), (2, 3), (4, 5))

    @pytest.mark.parametrize(
        "cannot_link, expected",
        [
            ([], [0, 0, 1, 1, 0, 0, 1]),
            ([(0, 4)], [0, 0, 1, 1, 1, 1, 1]),
            ([(2, 4)], [0, 0, 1, 1, 0, 0, 1]),
        ],
    )
    def test_three_components_and_a_point(self, cannot_link, expected):
        assert on_line(self.x, Constraints(self.must_link, cannot_link), 2) == expected

    @pytest.mark.parametrize(
        "rule, expected",
        [
            ("min", [0, 0, 1, 1, 2, 2, 1, 1]),  # seeds at 0, 21, 10
            ("sum", [0, 0, 2, 2, 0, 0, 1, 1]),  # seeds at 0, 21, 20
        ],
    )
    def test_the_least_distance_decides_or_their_sum(self, rule, expected):
        pairs = Constraints([(0, 1), (2, 3), (4, 5), (6, 7)])
        x = np.repeat([0, 20, 10, 21], 2)
        assert on_line(x, pairs, 3, rule=rule) == expected

    def test_the_rules_agree_on_two_seeds(self):
        pairs = Constraints([(0, 1), (2, 3), (4, 5)])
        x = (0, 0, 3, 3, 7, 7)
        assert on_line(x, pairs, 2, rule="min") == on_line(x, pairs, 2, rule="sum")


class TestSeeds:
    def test_the_first_is_the_largest_component(self):
        pairs = Constraints([(3, 4), (4, 5), (0, 1)])
        labels = on_line((0, 1, 2, 8, 9, 10), pairs, 2)
        assert labels[3:] == [0, 0, 0] and labels[:2] == [1, 1]

    def test_components_of_several_points_come_before_farther_single_ones(self):
        pairs = Constraints([(0, 1), (2, 3)])
        assert on_line((0, 0, 1, 1, 100), pairs, 2) == [0, 0, 1, 1, 1]

    def test_single_points_with_a_cannot_link_come_before_farther_others(self):
        pairs = Constraints([(0, 1)], [(2, 3)])
        labels = on_line((0, 0, 4, 5, 100), pairs, 3)
        # Seeds: {0, 1}, then point 3, then point 2; point 4 only joins.
        assert labels == [0, 0, 2, 1, 1]

    def test_other_points_come_last(self):
        pairs = Constraints([(0, 1)], [(2, 3)])
        assert on_line((0, 0, 4, 5, 100, 90), pairs, 4) == [0, 0, 2, 1, 3, 3]

    def test_without_constraints_the_first_point_is_the_first_seed(self):
        assert on_line((5, 6, 0, 20), Constraints(), 2) == [0, 0, 0, 1]

    def test_equal_distances_go_to_the_first_component(self):
        assert on_line((0, -3, 3, 2.9), Constraints(), 2) == [0, 1, 0, 0]

    def test_candidates_cannot_linked_to_seeds_may_be_preferred(self):
        pairs = Constraints([(0, 1), (2, 3), (4, 5)], [(0, 2)])
        x = (0, 0, 2, 2, 9, 9)
        assert on_line(x, pairs, 2) == [0, 0, 1, 1, 1, 1]
        assert on_line((0, 0, 2, 2, 9, 9), pairs, 3) == [0, 0, 2, 2, 1, 1]
        assert on_line(x, pairs, 3, cl_aware_seeds=True) == [0, 0, 1, 1, 2, 2]


class TestPlacement:
    def test_the_least_broken_weight_decides_before_the_distance(self):
        # Components at 0, 10 and 1; the last one is cannot-linked to both seeds.
        must = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7)]
        x = (0, 0, 0, 10, 10, 10, 1, 1)
        for weights, label in [([3.0, 2.0], 1), ([2.0, 3.0], 0), ([2.0, 2.0], 0)]:
            pairs = Constraints(must, [(0, 6), (3, 6)], 4.0, weights)
            assert on_line(x, pairs, 2)[6:] == [label, label]

    def test_points_placed_before_count_and_not_only_seeds(self):
        # Point 4 joins cluster 0, so point 5 avoids that one.
        pairs = Constraints([(0, 1), (2, 3)], [(4, 5)])
        assert on_line((0, 0, 10, 10, 1, 2), pairs, 2) == [0, 0, 1, 1, 0, 1]

    def test_seeds_stay_where_they_are_while_components_join(self):
        # If joining moved the centre of cluster 0 up, the last points would join too.
        pairs = Constraints([(0, 1), (1, 2), (3, 4), (4, 5), (6, 7)])
        x = (0, 0, 0, 10, 10, 10, 4, 4, 5.5)
        assert on_line(x, pairs, 2)[6:] == [0, 0, 1]

    def test_a_component_ties_to_the_lowest_label(self):
        pairs = Constraints([(0, 1), (1, 2), (3, 4), (4, 5), (6, 7)])
        assert on_line((10, 10, 10, 0, 0, 0, 5, 5), pairs, 2)[6:] == [0, 0]


class TestFewerComponentsThanClusters:
    def test_farthest_points_leave_their_components(self):
        pairs = Constraints([(0, 1), (1, 2), (3, 4), (4, 5)])
        labels = on_line((0, 1, 5, 20, 21, 22), pairs, 3)
        # Centres 2 and 21: the farthest from its own is the point at 5.
        assert labels == [0, 0, 2, 1, 1, 1]

    def test_the_next_point_is_far_from_those_that_left_as_well(self):
        pairs = Constraints([(i, i + 1) for i in range(5)])
        labels = on_line((0, 1, 10, 20, 29, 30), pairs, 3)
        # Centre 15: both ends are equally far; then the other end.
        assert labels == [1, 0, 0, 0, 0, 2]

    @pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
    def test_one_component_gives_up_to_as_many_clusters_as_points(self, k):
        pairs = Constraints([(i, i + 1) for i in range(4)])
        assert sorted(set(on_line((1, 2, 4, 8, 16), pairs, k))) == list(range(k))

    def test_equal_points_still_fill_all_clusters(self):
        pairs = Constraints([(0, 1), (1, 2), (2, 3)])
        assert sorted(set(on_line((7, 7, 7, 7), pairs, 3))) == [0, 1, 2]


class TestAgainstThePlainMethod:
    @pytest.mark.parametrize("weighted_pairs", [False, True])
    @pytest.mark.parametrize("rule", ["min", "sum"])
    @quick
    @given(seed=SEEDS, aware=st.booleans(), n_pairs=st.integers(0, 25))
    def test_labels_are_the_same(self, weighted_pairs, rule, seed, aware, n_pairs):
        problem = draw_problem(seed)
        rng, n = problem.rng, len(problem.X)
        pairs = draw_constraints(
            rng, n, n_pairs, int(rng.integers(1, 6)), weighted_pairs
        )
        expected, _ = plain_farthest_first(
            problem.gram, problem.weight, pairs, problem.k, rule, aware
        )
        for space in (
            GramSpace(problem.gram, problem.weight),
            FeatureSpace(problem.X, problem.weight),
        ):
            labels = farthest_first(
                space, pairs.closure(n), problem.k, rule=rule, cl_aware_seeds=aware
            )
            assert np.array_equal(labels, expected)

    @quick
    @given(seed=SEEDS, n_pairs=st.integers(0, 25))
    def test_seeds_have_labels_of_their_own(self, seed, n_pairs):
        problem = draw_problem(seed)
        n = len(problem.X)
        pairs = draw_constraints(problem.rng, n, n_pairs, 4)
        labels = farthest_first(
            GramSpace(problem.gram, problem.weight), pairs.closure(n), problem.k
        )
        _, seeds = plain_farthest_first(problem.gram, problem.weight, pairs, problem.k)
        n_components = len(components_of(pairs, n).members)
        assert sorted(set(labels)) == list(range(problem.k))
        if n_components >= problem.k:
            for c, seed_points in enumerate(seeds):
                assert set(labels[seed_points]) == {c}

    @quick
    @given(seed=SEEDS, n_pairs=st.integers(0, 25))
    def test_components_stay_whole(self, seed, n_pairs):
        problem = draw_problem(seed)
        n = len(problem.X)
        pairs = draw_constraints(problem.rng, n, n_pairs, 4)
        labels = farthest_first(GramSpace(problem.gram), pairs.closure(n), problem.k)
        members = components_of(pairs, n).members
        n_parts = sum(len(set(labels[points])) for points in members)
        # Each point that leaves a component for a cluster of its own adds a part.
        assert n_parts == len(members) + max(0, problem.k - len(members))


class TestInvariance:
    def distinct(self, seed, n=24):
        """Return a problem with components of different sizes, some cannot-linked."""
        problem = draw_problem(seed, n=n, k=3)
        points = problem.rng.permutation(n)
        groups = np.split(points, np.cumsum([6, 5, 4, 3, 2]))
        must = [(g[0], i) for g in groups[:5] for i in g[1:]]
        ends = problem.rng.permutation(5)
        cannot = [(groups[ends[0]][0], groups[ends[1]][1])]
        cannot += [(groups[ends[2]][1], groups[ends[1]][0])]
        return problem, np.array(must), np.array(cannot)

    @quick
    @given(seed=SEEDS, rule=st.sampled_from(["min", "sum"]))
    def test_the_order_of_the_points_does_not_matter(self, seed, rule):
        problem, must, cannot = self.distinct(seed)
        p = problem.rng.permutation(24)
        place = np.argsort(p)  # the point i stands at place[i] afterwards
        labels = farthest_first(
            GramSpace(problem.gram, problem.weight),
            Constraints(must, cannot).closure(24),
            3,
            rule=rule,
        )
        shuffled = farthest_first(
            GramSpace(problem.gram[np.ix_(p, p)], problem.weight[p]),
            Constraints(place[must], place[cannot]).closure(24),
            3,
            rule=rule,
        )
        assert np.array_equal(shuffled, labels[p])

    @quick
    @given(seed=SEEDS, scale=st.sampled_from([1e-5, 0.7, 1e4]), k=st.integers(1, 12))
    def test_scale_and_origin_of_the_kernel_do_not_matter(self, seed, scale, k):
        problem, must, cannot = self.distinct(seed)
        closure = Constraints(must, cannot).closure(24)
        a = 20 * problem.rng.normal(size=(24, 1))
        labels, scaled, shifted = (
            farthest_first(GramSpace(gram, problem.weight), closure, k)
            for gram in (problem.gram, scale * problem.gram, problem.gram + a + a.T)
        )
        assert np.array_equal(labels, scaled)
        assert np.array_equal(labels, shifted)

    @quick
    @given(seed=SEEDS, k=st.integers(2, 8))
    def test_duplicates_equal_weights(self, seed, k):
        problem, must, cannot = self.distinct(seed)
        single = np.setdiff1d(np.arange(24), must)
        # Components keep the order of their sizes if all their points weigh the same.
        times = np.full(24, problem.rng.integers(1, 4))
        times[single] = problem.rng.integers(1, 4, size=len(single))
        copy_of = np.repeat(np.arange(24), times)
        first = np.cumsum(times) - times
        linked = np.flatnonzero(np.isin(copy_of, must))
        copies = np.stack([first[copy_of[linked]], linked], axis=1)
        few = farthest_first(
            GramSpace(problem.gram, times.astype(np.float64)),
            Constraints(must, cannot).closure(24),
            k,
        )
        many = farthest_first(
            GramSpace(problem.gram[np.ix_(copy_of, copy_of)]),
            Constraints(np.concatenate([first[must], copies]), first[cannot]).closure(
                len(copy_of)
            ),
            k,
        )
        assert np.array_equal(many, few[copy_of])


def test_weighted_centroids_decide_which_component_is_the_seed():
    x = np.array([[0.0], [8.0], [3.0], [3.0], [20.0], [20.0], [20.0], [5.0]])
    closure = Constraints([(0, 1), (2, 3), (4, 5), (5, 6)]).closure(8)
    for heavy, seed in [(0, 0), (1, 2)]:
        weight = np.ones(8)
        weight[heavy] = 99.0
        labels = farthest_first(FeatureSpace(x, weight), closure, 3)
        # Seeds: 20, then the farther of the two components, then the other.
        assert labels[4] == 0 and labels[seed] == 1


def test_the_same_start_comes_each_time():
    problem = draw_problem(3)
    closure = draw_constraints(problem.rng, len(problem.X), 12, 3).closure(
        len(problem.X)
    )
    once, again = (
        farthest_first(GramSpace(problem.gram), closure, 3) for _ in range(2)
    )
    assert np.array_equal(once, again)


class TestDrawnSeeds:
    @quick
    @given(SEEDS, st.integers(1, 4))
    def test_agree_with_the_plain_method(self, seed, n_trials):
        problem = draw_problem(seed)
        n, k, rng = len(problem.X), problem.k, problem.rng
        pairs = draw_constraints(rng, n, int(rng.integers(12)), k)
        draws = rng.random((k, n_trials))
        expected, _ = plain_farthest_first(
            problem.gram, problem.weight, pairs, k, draws=draws
        )
        for space in (
            GramSpace(problem.gram, problem.weight),
            FeatureSpace(problem.X, problem.weight),
        ):
            labels = farthest_first(space, pairs.closure(n), k, draws=draws)
            np.testing.assert_array_equal(labels, expected)

    def test_without_pairs_rows_are_drawn_by_weight_and_squared_distance(self):
        x, weight = np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0, 1.0])
        closure = Constraints().closure(3)
        space = GramSpace(np.outer(x, x), weight)
        # First row 0 up to a draw of 1/2; then row 1 with weight 1, row 2 with 9.
        near = farthest_first(space, closure, 2, draws=np.array([0.4, 0.09]))
        far = farthest_first(space, closure, 2, draws=np.array([0.4, 0.11]))
        assert near.tolist() == [0, 1, 1] and far.tolist() == [0, 0, 1]

    def test_of_several_trials_the_one_that_leaves_least_counts(self):
        x = np.array([0.0, 1.0, 3.0, 3.5])
        space, closure = GramSpace(np.outer(x, x)), Constraints().closure(4)
        # The first is row 0. Row 1 would leave 4 + 6.25, row 2 leaves 1 + 0.25.
        far = farthest_first(space, closure, 2, draws=np.array([[0, 0], [0.01, 0.2]]))
        near = farthest_first(space, closure, 2, draws=np.array([[0, 0], [0.01, 0.02]]))
        assert near.tolist() == [0, 1, 1, 1] and far.tolist() == [0, 0, 1, 1]

    def test_must_link_groups_are_drawn_before_any_row(self):
        x = np.array([0.0, 0.0, 1.0, 1.0, 100.0])
        closure = Constraints([(0, 1), (2, 3)], [(0, 4)]).closure(5)
        for draws in np.random.default_rng(0).random((20, 2)):
            labels = farthest_first(FeatureSpace(x[:, None]), closure, 2, draws=draws)
            assert labels[0] != labels[2]

    def test_equal_rows_get_as_many_seeds_as_asked_for(self):
        labels = farthest_first(
            GramSpace(np.ones((6, 6))), Constraints().closure(6), 3, draws=np.zeros(3)
        )
        assert set(labels.tolist()) == {0, 1, 2}
