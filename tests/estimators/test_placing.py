"""Where rows belong, by hand and against plain enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints
from linkwise.estimators._assignment import LinkedRows
from linkwise.estimators._placing import (
    SETTINGS,
    _counts,
    _left_out,
    learn_placing,
    voting_members,
)
from linkwise.estimators._ridge import Ridge
from linkwise.estimators._trees import Trees
from linkwise.search import Committee

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=30)
# Forests take their time.
few = settings(deadline=None, max_examples=6)
SMALL = replace(SETTINGS, n_trees=15)


def draw_opinions(seed, n_rows, n_clusters):
    rng = np.random.default_rng(seed)
    return np.log(rng.dirichlet(np.ones(n_clusters), n_rows))


def draw_problem(seed, n_clusters, n=60, n_pairs=60):
    """Return a committee, its first member, true pairs, columns and classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_clusters)
    labels = np.where(rng.random((6, n)) < 0.8, y, rng.integers(n_clusters, size=n))
    committee = Committee(
        labels.astype(np.uint8), rng.uniform(0.8, 1.0, 6), 20.0, n_clusters
    )
    columns = 2.0 * np.eye(n_clusters)[y] + rng.normal(size=(n, n_clusters))
    return (
        committee,
        labels[0],
        Constraints.sample(y, n_pairs, random_state=seed),
        (
            columns,
            y,
        ),
    )


def place(committee, labels, closure, columns, seed=0):
    placing = learn_placing(
        committee, labels, closure, columns, seed=seed, settings=SMALL
    )
    return placing.probabilities(committee.labels[placing.members], columns)


class TestAssignment:
    def test_a_group_takes_the_product_of_its_opinions(self):
        linked = LinkedRows(Constraints([(0, 2)]).closure(4), 3)
        opinions = np.array([[0.5, 0.25, 0.25], [0.2, 0.6, 0.2]])
        expected = np.array([0.1, 0.15, 0.05]) / 0.3
        assert_array_equal(linked.rows, [0, 2])
        assert_allclose(linked.assign(np.log(opinions)), [expected, expected])

    @quick
    @given(SEEDS)
    def test_two_clusters_agree_with_enumeration(self, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=8)
        closure = Constraints.sample(y, 7, random_state=seed).closure(8)
        linked = LinkedRows(closure, 2)
        opinions = draw_opinions(seed, len(linked.rows), 2)
        expected = np.zeros((8, 2))
        for labels in product(range(2), repeat=8):
            if closure.n_violated(np.array(labels)):
                continue
            own = np.array(labels)[linked.rows]
            chance = np.exp(opinions[np.arange(len(own)), own].sum())
            expected[np.arange(8), labels] += chance
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(linked.assign(opinions), expected[linked.rows], rtol=1e-9)

    def test_cannot_links_that_two_clusters_cannot_satisfy_are_ignored(self):
        triangle = Constraints([(0, 3)], [(0, 1), (1, 2), (0, 2)]).closure(4)
        opinions = np.array([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.6, 0.4]])
        found = LinkedRows(triangle, 2).assign(np.log(opinions))
        assert_allclose(found[1:3], opinions[1:3])
        assert_allclose(found[0], np.array([0.36, 0.16]) / 0.52)
        assert_allclose(found[3], found[0])

    @quick
    @given(SEEDS)
    def test_of_two_groups_apart_the_surer_one_keeps_the_cluster(self, seed):
        linked = LinkedRows(Constraints(cannot_link=[(0, 1)]).closure(2), 3)
        rng = np.random.default_rng(seed)
        sure, unsure = rng.uniform(0.8, 0.95), rng.uniform(0.4, 0.6)
        rest = (1.0 - unsure) / 3.0
        opinions = [[sure, *[(1.0 - sure) / 2] * 2], [unsure, 2.0 * rest, rest]]
        found = linked.assign(np.log(opinions))
        assert_array_equal(found.argmax(axis=1), [0, 1])

    @quick
    @given(SEEDS, st.integers(3, 5))
    def test_groups_that_all_differ_get_clusters_of_their_own(self, seed, k):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(k), 3)
        must_link = [(3 * g, 3 * g + i) for g in range(k) for i in (1, 2)]
        cannot_link = [(3 * g, 3 * h) for g in range(k) for h in range(g)]
        linked = LinkedRows(Constraints(must_link, cannot_link).closure(3 * k), k)
        own = rng.permutation(k)
        opinions = np.full((3 * k, k), 0.5 / k)
        opinions[np.arange(3 * k), own[groups]] += rng.uniform(0.2, 0.5, 3 * k)
        # One row looks as if it were of another group.
        opinions[0] = np.roll(opinions[0], 1)
        found = linked.assign(np.log(opinions))
        assert_allclose(found.sum(axis=1), 1.0)
        assert_array_equal(found.argmax(axis=1), own[groups])


class TestVotingMembers:
    def test_equal_clusterings_count_once_with_their_sum(self):
        labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])
        committee = Committee(labels, np.array([0.9, 1.0, 0.9]), 4.0, 2)
        found = voting_members(committee)
        weights = committee.weights
        assert_array_equal(found.members, [0, 1])
        assert_allclose(found.weights, [weights[0] + weights[2], weights[1]])

    def test_next_to_no_weight_is_no_vote(self):
        labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        committee = Committee(labels, np.array([1.0, 0.0]), 20.0, 2)
        assert_array_equal(voting_members(committee).members, [0])

    def test_no_more_than_asked_for_and_weights_sum_to_one(self):
        committee, *_ = draw_problem(0, 3)
        found = voting_members(committee).heaviest(2)
        assert len(found.members) == 2
        assert_allclose(found.weights.sum(), 1.0)


class TestPlacing:
    def test_without_columns_it_is_a_table_that_can_be_made_by_hand(self):
        labels = np.repeat([0, 1], 10)
        committee = Committee(labels[None], np.ones(1), 5.0, 2)
        # Nine rows are of cluster 0, one of them in the other cluster, and one of 1.
        must_link = [(0, i) for i in (1, 2, 3, 4, 5, 6, 7, 10)]
        closure = Constraints(must_link, [(0, 19)]).closure(20)
        assert learn_placing(committee, labels, closure, None, seed=0) is None
        settings = replace(SETTINGS, least_in_all=10)  # ten rows have a pair
        placing = learn_placing(
            committee, labels, closure, None, seed=0, settings=settings
        )
        found = placing.probabilities(labels[None], None)
        in_first = np.array([0.1 + 1.0 + 8 * 10 / 2 / 9, 0.1])
        in_second = np.array([0.1 + 10 / 2 / 9, 0.1 + 1.0 + 10 / 2])
        assert placing.learners == ()
        assert_allclose(found[0], in_first / in_first.sum())
        assert_allclose(found[19], in_second / in_second.sum())

    @few
    @given(SEEDS, st.integers(2, 4))
    def test_rows_sum_to_one(self, seed, k):
        committee, labels, pairs, (columns, _) = draw_problem(seed, k)
        found = place(committee, labels, pairs.closure(60), columns)
        assert found.shape == (60, k) and found.min() >= 0.0
        assert_allclose(found.sum(axis=1), 1.0)

    @few
    @given(SEEDS, st.integers(2, 4))
    def test_names_of_the_members_clusters_do_not_matter(self, seed, k):
        committee, labels, pairs, (columns, _) = draw_problem(seed, k)
        rng = np.random.default_rng(seed)
        names = [rng.permutation(k)[own] for own in committee.labels]
        renamed = replace(committee, labels=np.array(names))
        closure = pairs.closure(60)
        assert_allclose(
            place(renamed, labels, closure, columns),
            place(committee, labels, closure, columns),
        )

    @few
    @given(SEEDS, st.integers(2, 4))
    def test_the_order_of_rows_does_not_matter(self, seed, k):
        committee, labels, pairs, (columns, _) = draw_problem(seed, k)
        order = np.random.default_rng(seed).permutation(60)
        moved = replace(committee, labels=committee.labels[:, order])
        expected = place(committee, labels, pairs.closure(60), columns)
        closure = pairs.restrict(order).closure(60)
        found = place(moved, labels[order], closure, columns[order])
        assert_allclose(found, expected[order])

    def test_the_same_seed_gives_the_same_bits(self):
        committee, labels, pairs, (columns, _) = draw_problem(3, 3)
        first, second = (
            place(committee, labels, pairs.closure(60), columns, seed=7)
            for _ in range(2)
        )
        assert_array_equal(first, second)

    @pytest.mark.parametrize("k", [2, 3])
    def test_it_is_better_than_the_clustering_it_started_from(self, k):
        committee, labels, pairs, (columns, y) = draw_problem(1, k, n=300, n_pairs=200)
        found = place(committee, labels, pairs.closure(300), columns).argmax(axis=1)
        before = adjusted_rand_score(y, labels)
        assert adjusted_rand_score(y, found) > before + 0.1

    def test_columns_far_from_zero_count_as_much(self):
        committee, labels, pairs, (columns, _) = draw_problem(2, 2)
        closure = pairs.closure(60)
        far = place(committee, labels, closure, columns + 2.0**30)
        near = place(committee, labels, closure, columns)
        assert_allclose(far, near, atol=1e-6)

    def test_learners_that_cannot_tell_the_clusters_have_no_say(self):
        rng = np.random.default_rng(0)
        y = np.arange(80) % 2
        committee = Committee(y[None], np.ones(1), 30.0, 2)
        closure = Constraints.sample(y, 60, random_state=0).closure(80)
        for columns, has_say in (
            (rng.normal(size=(80, 3)), False),
            (y[:, None] + 0.1 * rng.normal(size=(80, 3)), True),
        ):
            placing = learn_placing(committee, y, closure, columns, seed=0)
            assert (len(placing.learners) > 0) == has_say
            found = placing.probabilities(y[None], columns)
            assert_array_equal(found.argmax(axis=1), y)

    @pytest.mark.parametrize(
        ("rule", "is_alone", "expected"),
        [
            ("sum of columns", False, [Ridge]),
            ("sum of columns", True, [Ridge]),
            ("one column", False, [Trees]),
            ("one column", True, [Trees]),
            ("noisy", False, [Trees, Ridge]),
            ("noisy", True, [Trees]),
        ],
    )
    def test_what_knows_unseen_rows_better_has_the_say(self, rule, is_alone, expected):
        rng = np.random.default_rng(0)
        columns = rng.uniform(-1, 1, size=(400, 8))
        y = {
            "sum of columns": columns.sum(axis=1) > 0,
            "one column": columns[:, 0] > 0.5,
            "noisy": columns[:, :2].sum(axis=1) + rng.normal(0, 0.5, 400) > 0,
        }[rule].astype(np.intp)
        committee = Committee(y[None], np.full(1, 0.8), 30.0, 2)
        closure = Constraints.sample(y, 400, random_state=0).closure(400)
        found = learn_placing(
            committee, y, closure, columns, seed=0, is_alone=is_alone
        ).learners
        assert [type(learner) for learner in found] == expected

    @pytest.mark.parametrize(("share_right", "weight"), [(1.0, 0.5), (0.7, 0.2)])
    def test_many_rows_with_pairs_outweigh_no_committee_that_errs_less(
        self, share_right, weight
    ):
        rng = np.random.default_rng(0)
        y = np.arange(800) % 2
        columns = y[:, None] + rng.normal(size=(800, 2))
        labels = np.where(rng.random(800) < share_right, y, 1 - y)
        committee = Committee(labels[None], np.full(1, 0.6), 30.0, 2)
        closure = Constraints.sample(y, 2000, random_state=0).closure(800)
        placing = learn_placing(committee, labels, closure, columns, seed=0)
        assert placing.committee_weight == pytest.approx(weight, abs=0.1)

    @quick
    @given(SEEDS, st.integers(2, 4))
    def test_rows_left_out_do_not_count_themselves(self, seed, k):
        rng = np.random.default_rng(seed)
        labels = rng.integers(k, size=(1, 40))
        rows, own = np.arange(30), np.arange(30) % k
        voters = voting_members(Committee(labels, np.ones(1), 5.0, k))
        counts = _counts(labels, k, voters, labels[0], rows, own, SETTINGS)
        found = _left_out(labels[:, rows], voters.weights, counts, own)
        for row in range(30):
            others = counts[0, labels[0, row]].copy()
            others[own[row]] -= 30 / k / np.sum(own == own[row])
            assert_allclose(found[row], others / others.sum(), atol=1e-12)

    def test_few_rows_with_pairs_are_left_to_forests(self):
        columns = np.random.default_rng(0).uniform(-1, 1, size=(90, 8))
        y = (columns.sum(axis=1) > 0).astype(np.intp)
        committee = Committee(y[None], np.full(1, 0.6), 30.0, 2)
        closure = Constraints.sample(y, 400, random_state=0).closure(90)
        found = learn_placing(committee, y, closure, columns, seed=0).learners
        assert [type(learner) for learner in found] == [Trees]

    def test_a_cluster_without_pairs_keeps_the_rows_of_the_committee(self):
        labels = np.repeat([0, 1, 2], 20)
        committee = Committee(np.stack([labels] * 3), np.ones(3), 20.0, 3)
        rows = np.r_[0:12, 20:32]
        pairs = Constraints.sample(labels, 60, random_state=0, rows=rows)
        columns = np.random.default_rng(0).normal(size=(60, 2)) + labels[:, None]
        found = place(committee, labels, pairs.closure(60), columns)
        assert_array_equal(found.argmax(axis=1) == 2, labels == 2)

    @pytest.mark.parametrize(("k", "n_pairs"), [(1, 60), (2, 4), (3, 7)])
    def test_too_few_rows_with_pairs_or_one_cluster_leave_rows_alone(self, k, n_pairs):
        committee, labels, pairs, (columns, _) = draw_problem(0, k, n_pairs=n_pairs)
        closure = pairs.closure(60)
        assert learn_placing(committee, labels, closure, columns, seed=0) is None
