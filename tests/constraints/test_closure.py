"""Closure, entailed weights and the scores that follow from them."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from linkwise.constraints import Constraints
from linkwise.constraints._jit import count_equal_pairs

quick = settings(deadline=None, max_examples=60)

N_POINTS = 8
WEIGHTS = st.sampled_from([0.25, 0.5, 0.75, 1.0])


@st.composite
def consistent_pairs(draw, weighted=True):
    """Pairs that agree with a hidden partition."""
    hidden = draw(st.lists(st.integers(0, 2), min_size=N_POINTS, max_size=N_POINTS))
    point = st.integers(0, N_POINTS - 1)
    pairs = draw(st.lists(st.tuples(point, point), max_size=12))
    must = [p for p in pairs if hidden[p[0]] == hidden[p[1]]]
    cannot = [p for p in pairs if hidden[p[0]] != hidden[p[1]]]
    if not weighted:
        return Constraints(must, cannot)
    must_weight = [draw(WEIGHTS) for _ in must]
    return Constraints(must, cannot, must_weight, [draw(WEIGHTS) for _ in cannot])


LABELS = st.lists(st.integers(0, 3), min_size=N_POINTS, max_size=N_POINTS).map(np.array)


def entailed_by_floyd_warshall(pairs, n, rule="bottleneck"):
    """Return entailed weights (n, n) of must-links and cannot-links, 0 = none."""
    carry = min if rule == "bottleneck" else (lambda a, b: a * b)
    tie = np.zeros((n, n))
    np.fill_diagonal(tie, np.inf if rule == "bottleneck" else 1.0)
    for (i, j), w in zip(pairs.must_link, pairs.must_link_weight, strict=True):
        tie[i, j] = tie[j, i] = w
    for middle in range(n):
        for i in range(n):
            for j in range(n):
                through = carry(tie[i, middle], tie[middle, j])
                tie[i, j] = max(tie[i, j], through)
    apart = np.zeros((n, n))
    for (a, b), w in zip(pairs.cannot_link, pairs.cannot_link_weight, strict=True):
        for i in range(n):
            for j in range(n):
                through = carry(carry(tie[i, a], w), tie[b, j])
                apart[i, j] = max(apart[i, j], through)
    apart = np.maximum(apart, apart.T)
    np.fill_diagonal(tie, 0)
    return tie, apart


def as_matrix(listed, n):
    matrix = np.zeros((n, n))
    matrix[listed.pairs[:, 0], listed.pairs[:, 1]] = listed.weights
    return matrix + matrix.T


def always_together(pairs, n, n_clusters):
    """Return whether two points share a cluster however the pairs are satisfied.

    None if nothing satisfies them.
    """
    must, cannot = pairs.must_link, pairs.cannot_link
    together = None
    for labels in product(range(n_clusters), repeat=n):
        labels = np.array(labels)
        holds = (labels[must[:, 0]] == labels[must[:, 1]]).all()
        if holds and (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all():
            same = labels[:, None] == labels
            together = same if together is None else together & same
    return together


class TestGroups:
    @given(consistent_pairs())
    @quick
    def test_two_clusters_group_what_no_partition_separates(self, pairs):
        groups = pairs.closure(N_POINTS).groups(2)
        together = always_together(pairs, N_POINTS, 2)
        assume(together is not None)
        alone = together.sum(axis=1) == 1
        assert_array_equal(groups < 0, alone)
        both = ~alone[:, None] & ~alone
        assert_array_equal((groups[:, None] == groups)[both], together[both])

    @given(consistent_pairs())
    @quick
    def test_groups_are_numbered_like_components(self, pairs):
        groups = pairs.closure(N_POINTS).groups(2)
        numbers, first, size = np.unique(
            groups[groups >= 0], return_index=True, return_counts=True
        )
        assert numbers.tolist() == list(range(len(numbers)))
        order = [(-s, f) for s, f in zip(size, first, strict=True)]
        assert order == sorted(order)

    @given(consistent_pairs(), st.sampled_from([1, 3, 5]))
    @quick
    def test_other_numbers_of_clusters_leave_the_components(self, pairs, n_clusters):
        closure = pairs.closure(N_POINTS)
        assert_array_equal(closure.groups(n_clusters), closure.linked)

    def test_an_odd_cycle_says_nothing_and_the_rest_still_does(self):
        triangle = [(0, 1), (1, 2), (0, 2)]
        pairs = Constraints([(2, 3), (7, 8)], [*triangle, (4, 5), (5, 6), (6, 7)])
        groups = pairs.closure(10).groups(2)
        assert groups.tolist() == [-1, -1, 1, 1, 2, 0, 2, 0, 0, -1]

    def test_no_pairs_are_no_groups(self):
        assert Constraints().closure(3).groups(2).tolist() == [-1, -1, -1]


class TestExamplesOfTheSpecification:
    MUST, CANNOT = [(0, 1), (1, 2), (3, 4)], [(2, 3)]

    def test_components_and_counts(self):
        closure = Constraints(self.MUST, self.CANNOT).closure(6)
        assert closure.component.tolist() == [0, 0, 0, 1, 1, 2]
        assert (closure.n_must_link, closure.n_cannot_link) == (4, 6)
        assert closure.cannot_link.tolist() == [[0, 1]]
        assert closure.cannot_link_weight.tolist() == [6]

    def test_reward_of_listed_pairs(self):
        pairs = Constraints([(0, 1), (1, 2)], [(0, 3), (2, 3)], [1, 2], [1, 0.5])
        labels = [0, 0, 1, 1]
        assert pairs.score(labels, closed=False) == pytest.approx(0.444444, abs=1e-6)
        must, cannot = pairs.satisfied(labels)
        satisfied = pairs.must_link_weight @ must + pairs.cannot_link_weight @ cannot
        assert satisfied / 4 == 0.5  # the paper divides by the number of pairs

    def test_reward_of_two_joined_components(self):
        pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(0, 3)])
        assert pairs.closure(5).score([0, 0, 1, 1, 1]) == pytest.approx(0.6)
        assert pairs.score([0, 0, 1, 1, 1]) == pytest.approx(0.6)


class TestShape:
    @quick
    @given(consistent_pairs(weighted=False))
    def test_counts_follow_from_sizes(self, pairs):
        closure = pairs.closure(N_POINTS)
        size, (g, h) = closure.size, closure.cannot_link.T
        assert closure.n_must_link == (size * (size - 1) // 2).sum()
        assert closure.n_cannot_link == (size[g] * size[h]).sum()
        assert len(closure.must_link_pairs().pairs) == closure.n_must_link
        assert len(closure.cannot_link_pairs().pairs) == closure.n_cannot_link
        assert isinstance(closure.n_must_link, int)

    @quick
    @given(consistent_pairs())
    def test_components_are_ordered_by_size_then_smallest_member(self, pairs):
        closure = pairs.closure(N_POINTS)
        members = np.split(closure.members, closure.indptr[1:-1])
        keys = [(-len(m), m.min()) for m in members]
        assert keys == sorted(keys)
        for g, inside in enumerate(members):
            assert inside.tolist() == np.flatnonzero(closure.component == g).tolist()
        assert closure.n_linked == sum(len(m) > 1 for m in members)
        assert closure.n_components == len(members)

    @quick
    @given(consistent_pairs())
    def test_the_cannot_link_graph_is_symmetric_and_sorted(self, pairs):
        closure = pairs.closure(N_POINTS)
        found = {}
        for g in range(closure.n_components):
            row = slice(closure.cl_indptr[g], closure.cl_indptr[g + 1])
            near = closure.cl_indices[row].tolist()
            assert near == sorted(near)
            assert bool(near) == closure.has_cannot_link[g]
            found |= {
                (g, h): w for h, w in zip(near, closure.cl_weights[row], strict=True)
            }
        expected = {}
        for (g, h), w in zip(
            closure.cannot_link.tolist(), closure.cannot_link_weight, strict=True
        ):
            assert g < h
            expected |= {(g, h): w, (h, g): w}
        assert found == expected

    @quick
    @given(consistent_pairs())
    def test_closing_twice_changes_nothing(self, pairs):
        once = pairs.closure(N_POINTS)
        (must, must_weight), (cannot, cannot_weight) = (
            once.must_link_pairs(),
            once.cannot_link_pairs(),
        )
        closed = Constraints(must, cannot, must_weight, cannot_weight)
        twice = closed.closure(N_POINTS)
        np.testing.assert_array_equal(twice.component, once.component)
        for name in ("must_link_pairs", "cannot_link_pairs"):
            for a, b in zip(getattr(once, name)(), getattr(twice, name)(), strict=True):
                np.testing.assert_array_equal(a, b)

    @quick
    @given(consistent_pairs(), st.permutations(range(N_POINTS)))
    def test_renaming_points_permutes_the_result(self, pairs, order):
        order = np.array(order)
        renamed = Constraints(
            order[pairs.must_link],
            order[pairs.cannot_link],
            pairs.must_link_weight,
            pairs.cannot_link_weight,
        )
        for name in ("must_link_pairs", "cannot_link_pairs"):
            before = as_matrix(getattr(pairs.closure(N_POINTS), name)(), N_POINTS)
            after = as_matrix(getattr(renamed.closure(N_POINTS), name)(), N_POINTS)
            np.testing.assert_array_equal(after[np.ix_(order, order)], before)

    def test_it_is_computed_once_and_locked(self):
        pairs = Constraints([(0, 1)], [(1, 2)])
        closure = pairs.closure(4)
        assert pairs.closure(4) is closure
        assert pairs.closure(5) is not closure
        for name in (
            "component",
            "size",
            "members",
            "cannot_link_weight",
            "cl_weights",
        ):
            assert not getattr(closure, name).flags.writeable

    def test_a_pickle_gives_the_same_scores(self):
        closure = Constraints([(0, 1), (1, 2)], [(2, 3)], [1, 2], 3).closure(4)
        twin = pickle.loads(pickle.dumps(closure))
        assert twin.score([0, 0, 1, 1]) == closure.score([0, 0, 1, 1])
        assert not twin.component.flags.writeable

    def test_without_pairs_every_point_is_a_component(self):
        closure = Constraints().closure(3)
        assert closure.component.tolist() == [0, 1, 2]
        assert closure.must_link_pairs().pairs.shape == (0, 2)
        assert np.isnan(closure.score([0, 1, 1]))
        assert np.isnan(closure.balanced_score([0, 1, 1]))
        assert closure.n_violated([0, 1, 1]) == 0
        assert Constraints().closure(0).n_components == 0

    def test_wrong_choices_are_named(self):
        with pytest.raises(ValueError, match="on_conflict must be one of"):
            Constraints().closure(3, on_conflict="ignore")
        with pytest.raises(ValueError, match="weight must be one of"):
            Constraints().closure(3, weight="sum")


class TestEntailedWeights:
    @quick
    @given(consistent_pairs(), st.sampled_from(["bottleneck", "product"]))
    def test_they_equal_those_of_floyd_warshall(self, pairs, rule):
        closure = pairs.closure(N_POINTS, weight=rule)
        tie, apart = entailed_by_floyd_warshall(pairs, N_POINTS, rule)
        must, cannot = closure.must_link_pairs(), closure.cannot_link_pairs()
        np.testing.assert_allclose(as_matrix(must, N_POINTS), tie, rtol=1e-12)
        np.testing.assert_allclose(as_matrix(cannot, N_POINTS), apart, rtol=1e-12)
        for (g, h), total in zip(
            closure.cannot_link, closure.cannot_link_weight, strict=True
        ):
            block = np.ix_(closure.component == g, closure.component == h)
            np.testing.assert_allclose(total, apart[block].sum())

    @pytest.mark.parametrize("rule", ["bottleneck", "product"])
    @pytest.mark.parametrize("seed", range(8))
    def test_they_are_right_in_large_components_too(self, seed, rule):
        rng = np.random.default_rng(seed)
        n, hidden = 14, np.arange(14) % 2
        drawn = Constraints.sample(hidden, 40, random_state=rng)
        pairs = Constraints(
            drawn.must_link,
            drawn.cannot_link,
            rng.uniform(0.1, 1, drawn.n_must_link),
            rng.uniform(0.1, 1, drawn.n_cannot_link),
        )
        closure = pairs.closure(n, weight=rule)
        tie, apart = entailed_by_floyd_warshall(pairs, n, rule)
        np.testing.assert_allclose(as_matrix(closure.must_link_pairs(), n), tie)
        np.testing.assert_allclose(as_matrix(closure.cannot_link_pairs(), n), apart)

    @quick
    @given(consistent_pairs(weighted=False))
    def test_listed_pairs_are_in_order(self, pairs):
        for listed in (
            pairs.closure(N_POINTS).must_link_pairs().pairs,
            pairs.closure(N_POINTS).cannot_link_pairs().pairs,
        ):
            assert (listed[:, 0] < listed[:, 1]).all()
            assert listed.tolist() == sorted(listed.tolist())

    def test_a_product_of_weights_above_one_is_refused(self):
        pairs = Constraints([(0, 1)], must_link_weight=2)
        with pytest.raises(ValueError, match=r"weights in \(0, 1\], got 2.0"):
            pairs.closure(2, weight="product")

    def test_common_weights_are_seen(self):
        assert Constraints([(0, 1)], [(1, 2)], 3, 3).closure(3).is_unit
        assert not Constraints([(0, 1)], [(1, 2)], 3, 2).closure(3).is_unit
        half = Constraints([(0, 1), (1, 2)], must_link_weight=0.5)
        assert not half.closure(3, weight="product").is_unit


def score_by_listing(pairs, labels):
    tie, apart = entailed_by_floyd_warshall(pairs, len(labels))
    same = labels[:, np.newaxis] == labels
    satisfied = (tie * same).sum(), (apart * ~same).sum()
    return satisfied, (tie.sum(), apart.sum())


class TestScores:
    @quick
    @given(st.booleans().flatmap(lambda w: consistent_pairs(weighted=w)), LABELS)
    def test_they_equal_a_sum_over_all_pairs(self, pairs, labels):
        assume(not pairs.is_empty)
        (must, cannot), totals = score_by_listing(pairs, labels)
        closure = pairs.closure(N_POINTS)
        assert closure.score(labels) == pytest.approx((must + cannot) / sum(totals))
        shares = [s / t for s, t in zip((must, cannot), totals, strict=True) if t]
        assert closure.balanced_score(labels) == pytest.approx(np.mean(shares))

    @quick
    @given(consistent_pairs(weighted=False), LABELS, WEIGHTS, WEIGHTS)
    def test_one_weight_per_kind_equals_a_sum_over_all_pairs(self, pairs, labels, m, c):
        assume(not pairs.is_empty)
        pairs = Constraints(pairs.must_link, pairs.cannot_link, m, c)
        (must, cannot), totals = score_by_listing(pairs, labels)
        score = pairs.closure(N_POINTS).score(labels)
        assert score == pytest.approx((must + cannot) / sum(totals))

    @quick
    @given(consistent_pairs(), LABELS)
    def test_violations_are_counted_by_pair(self, pairs, labels):
        tie, apart = entailed_by_floyd_warshall(pairs, N_POINTS)
        same = labels[:, np.newaxis] == labels
        expected = (((tie > 0) & ~same) | ((apart > 0) & same)).sum() // 2
        assert pairs.closure(N_POINTS).n_violated(labels) == expected

    @quick
    @given(consistent_pairs(), LABELS, st.permutations(range(4)))
    def test_names_of_clusters_do_not_matter(self, pairs, labels, names):
        assume(not pairs.is_empty)
        closure = pairs.closure(N_POINTS)
        renamed = np.array(names)[labels]
        assert closure.score(labels) == closure.score(renamed)
        assert closure.score(labels) == closure.score(10**12 * renamed)

    @quick
    @given(consistent_pairs())
    def test_a_partition_that_satisfies_all_scores_exactly_one(self, pairs):
        assume(not pairs.is_empty)
        found = pairs.feasibility(pairs.feasible_range(N_POINTS).smallest, N_POINTS)
        assert pairs.score(found.colouring) == 1.0

    @quick
    @given(consistent_pairs(weighted=False), LABELS)
    def test_the_compiled_loop_equals_its_source(self, pairs, labels):
        plan = pairs.closure(N_POINTS)._score_plan
        labels = labels.astype(np.intp)
        expected = count_equal_pairs.py_func(labels, *plan)
        assert count_equal_pairs(labels, *plan) == expected

    @pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
    def test_any_integer_labels_will_do(self, dtype):
        labels = np.array([0, 0, 1, 1, 1], dtype=dtype)
        labels.flags.writeable = False
        pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(0, 3)])
        assert pairs.closure(5).score(labels) == pytest.approx(0.6)

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([0, 1], r"labels has shape \(2,\): .* the 3 samples"),
            ([0, -1, 0], r"labels\[1\] = -1: a cluster label must be 0 or larger"),
            ([0.0, 1.0, 0.0], "labels must be integers, got dtype float64"),
        ],
    )
    def test_wrong_labels_are_named(self, labels, message):
        with pytest.raises(ValueError, match=message):
            Constraints([(0, 1)]).closure(3).score(labels)

    @pytest.mark.parametrize(
        ("must", "cannot", "expected"), [([(0, 1)], [], 1.0), ([], [(0, 1)], 0.0)]
    )
    def test_a_kind_without_pairs_is_left_out_of_the_balance(
        self, must, cannot, expected
    ):
        assert Constraints(must, cannot).closure(2).balanced_score([0, 0]) == expected
