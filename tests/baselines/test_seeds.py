"""Start centres from must-link components of several points."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from linkwise import Constraints
from linkwise.baselines._seeds import neighbourhood_seeds

RULES = ["largest", "weighted_farthest"]


def column(*values):
    return np.array(values, dtype=float)[:, None]


def plain_seeds(X, constraints, k, rule):
    """Section 1.3 with loops and lists."""
    n = len(X)
    component = constraints.components(n)
    groups = [np.flatnonzero(component == g) for g in range(component.max() + 1)]
    joined = {frozenset(component[[i, j]]) for i, j in constraints.cannot_link}
    big = [g for g in range(len(groups)) if len(groups[g]) > 1]
    centroid = {g: X[groups[g]].mean(axis=0) for g in big}

    def far(x, centres):
        return round(min(np.linalg.norm(x - c) for c in centres), 10)

    if len(big) >= k:
        chosen = big[:k] if rule == "largest" else big[:1]
        while len(chosen) < k:
            centres = [centroid[g] for g in chosen]
            chosen.append(
                max(
                    (g for g in big if g not in chosen),
                    key=lambda g: len(groups[g]) * far(centroid[g], centres),
                )
            )
        return np.array([centroid[g] for g in chosen])

    centres = [centroid[g] for g in big]
    points = []

    def add(candidates, limit):
        while candidates and limit and len(centres) < k:
            base = centres or [X.mean(axis=0)]
            best = max(candidates, key=lambda i: far(X[i], base))
            candidates.remove(best)
            points.append(best)
            centres.append(X[best])
            limit -= 1

    single = [i for i in range(n) if component[i] not in big]
    if rule == "largest" and big:
        add(
            [i for i in single if all({component[i], g} in joined for g in big)],
            limit=1,
        )
    ends = [i for i in single if any(component[i] in pair for pair in joined)]
    add([i for i in ends if i not in points], limit=k)
    add([i for i in range(n) if i not in points], limit=k)
    return np.array(centres)


class TestEnoughNeighbourhoods:
    # Neighbourhoods of 3, 2, 2 points around 1, 10 and 2.
    X = column(0, 1, 2, 9, 11, 1.5, 2.5)
    pairs = Constraints([(0, 1), (1, 2), (3, 4), (5, 6)])

    def test_the_largest_are_taken_in_component_order(self):
        seeds = neighbourhood_seeds(self.X, self.pairs.closure(7), 2, "largest")
        assert_allclose(seeds, column(1, 10))

    def test_size_and_distance_weigh_together(self):
        # The first is at 0. Then 2 * 5 beats 3 * 3, but not 4 * 3.
        X = column(0, 0, 0, 0, 5, 5, 3, 3, 3)
        four = [(0, 1), (1, 2), (2, 3)]
        two, three = [(4, 5)], [(6, 7), (7, 8)]
        closure = Constraints(four + two + three).closure(9)
        seeds = neighbourhood_seeds(X, closure, 2, "weighted_farthest")
        assert_allclose(seeds, column(0, 5))
        X = np.append(X, [[3.0]], axis=0)
        closure = Constraints(four + two + three + [(8, 9)]).closure(10)
        seeds = neighbourhood_seeds(X, closure, 2, "weighted_farthest")
        assert_allclose(seeds, column(0, 3))

    def test_distances_are_not_squared(self):
        # 3 * 3 = 9 against 2 * 4 = 8; squared it would be 27 against 32.
        X = column(0, 0, 0, 0, 3, 3, 3, -4, -4)
        pairs = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (7, 8)]
        closure = Constraints(pairs).closure(9)
        seeds = neighbourhood_seeds(X, closure, 2, "weighted_farthest")
        assert_allclose(seeds, column(0, 3))

    def test_neighbourhoods_on_one_spot_are_all_taken_once(self):
        closure = Constraints([(0, 1), (2, 3), (4, 5)]).closure(6)
        X = np.zeros((6, 2))
        assert neighbourhood_seeds(X, closure, 3, "weighted_farthest").shape == (3, 2)


class TestFewNeighbourhoods:
    X = column(0, 1, 10, 4, 20, 30)

    def test_a_point_apart_from_every_neighbourhood_comes_first(self):
        pairs = Constraints([(0, 1)], [(0, 3), (2, 4)])
        seeds = neighbourhood_seeds(self.X, pairs.closure(6), 2, "largest")
        assert_allclose(seeds, column(0.5, 4))

    def test_only_one_such_point_goes_before_the_others(self):
        pairs = Constraints([(0, 1)], [(0, 3), (0, 2), (4, 5)])
        seeds = neighbourhood_seeds(self.X, pairs.closure(6), 3, "largest")
        assert_allclose(seeds, column(0.5, 10, 30))

    def test_weighted_farthest_knows_no_such_point(self):
        pairs = Constraints([(0, 1)], [(0, 3), (2, 4)])
        seeds = neighbourhood_seeds(self.X, pairs.closure(6), 2, "weighted_farthest")
        assert_allclose(seeds, column(0.5, 20))

    def test_cannot_linked_points_come_before_others(self):
        pairs = Constraints([(0, 1)], [(2, 3)])
        seeds = neighbourhood_seeds(self.X, pairs.closure(6), 4, "weighted_farthest")
        assert_allclose(seeds, column(0.5, 10, 4, 30))

    def test_without_pairs_the_point_farthest_from_the_mean_is_first(self):
        closure = Constraints().closure(6)
        seeds = neighbourhood_seeds(self.X, closure, 2, "largest")
        assert_allclose(seeds, column(30, 0))

    def test_points_of_a_neighbourhood_serve_when_no_others_are_left(self):
        closure = Constraints([(0, 1), (1, 2)]).closure(3)
        seeds = neighbourhood_seeds(column(0, 1, 5), closure, 3, "largest")
        assert_allclose(seeds, column(2, 5, 0))

    @pytest.mark.parametrize("rule", RULES)
    def test_equal_points_do_not_loop(self, rule):
        closure = Constraints().closure(4)
        seeds = neighbourhood_seeds(np.ones((4, 2)), closure, 4, rule)
        assert_array_equal(seeds, np.ones((4, 2)))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = int(rng.integers(2, 13))
    hidden = rng.integers(int(rng.integers(1, 6)), size=n)
    pairs = rng.integers(n, size=(int(rng.integers(0, 2 * n)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    X = rng.normal(size=(n, 2))
    return X, Constraints(pairs[same], pairs[~same]), int(rng.integers(1, n + 1)), rng


@settings(deadline=None, max_examples=150)
@given(problems(), st.sampled_from(RULES))
def test_seeds_are_those_of_the_plain_rule(problem, rule):
    X, constraints, k, _ = problem
    seeds = neighbourhood_seeds(X, constraints.closure(len(X)), k, rule)
    assert_allclose(seeds, plain_seeds(X, constraints, k, rule))


@settings(deadline=None, max_examples=50)
@given(problems(), st.sampled_from(RULES))
def test_the_order_of_points_does_not_matter_without_ties(problem, rule):
    X, constraints, k, rng = problem
    sizes = constraints.closure(len(X)).size
    sizes = sizes[sizes > 1]
    # Equal sizes are ordered by index, and so are two points equally far from a mean.
    assume(len(np.unique(sizes)) == len(sizes) and 2 not in sizes and len(X) > 2)
    order = rng.permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(place[constraints.must_link], place[constraints.cannot_link])
    seeds = neighbourhood_seeds(X, constraints.closure(len(X)), k, rule)
    assert_allclose(
        neighbourhood_seeds(X[order], moved.closure(len(X)), k, rule), seeds
    )


def test_of_the_equally_far_points_of_a_pair_the_first_is_taken():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(size=(2, 3))
        closure = Constraints([(0, 1)]).closure(2)
        assert_array_equal(neighbourhood_seeds(X, closure, 2, "largest")[1], X[0])
