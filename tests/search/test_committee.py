"""What a committee of clusterings decides, against plain loops."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.search import Committee, KnownGroups, matched

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=30)


def draw(seed, n_members=7, n=25, weighted=False):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    truth = rng.integers(k, size=n)
    labels = np.where(rng.random((n_members, n)) < 0.7, truth, rng.integers(k, size=n))
    weight = rng.uniform(0.3, 3.0, n) if weighted else None
    scores = rng.uniform(0.5, 1.0, n_members)
    return Committee(labels.astype(np.uint8), scores, 20.0, k, weight)


def weights_by_hand(committee):
    found = []
    weight = committee.sample_weight
    weight = np.ones(committee.labels.shape[1]) if weight is None else weight
    for own, score in zip(committee.labels, committee.scores, strict=True):
        sizes = [weight[own == c].sum() for c in range(committee.n_clusters)]
        share = [s / weight.sum() for s in sizes if s > 0]
        entropy = -sum(s * np.log(s) for s in share) / np.log(committee.n_clusters)
        found.append(np.exp(committee.n_pairs * score + 5.0 * entropy))
    return np.array(found) / sum(found)


class TestCommittee:
    @pytest.mark.parametrize("weighted", [False, True])
    @quick
    @given(SEEDS)
    def test_weights(self, weighted, seed):
        committee = draw(seed, weighted=weighted)
        np.testing.assert_allclose(committee.weights, weights_by_hand(committee))

    @pytest.mark.parametrize("weighted", [False, True])
    @quick
    @given(SEEDS)
    def test_the_chosen_member_is_nearest_to_what_all_expect(self, weighted, seed):
        committee = draw(seed, weighted=weighted)
        together = committee.labels[:, :, None] == committee.labels[:, None, :]
        weights = weights_by_hand(committee)
        # Members of next to no weight are not chosen, however near they are.
        has_say = weights >= 1e-4 * weights.max()
        weights = np.where(has_say, weights, 0.0) / weights[has_say].sum()
        expected = np.tensordot(weights, together, axes=1)
        mass = np.ones(committee.labels.shape[1])
        mass = mass if committee.sample_weight is None else committee.sample_weight
        loss = (((together - expected) ** 2) * np.outer(mass, mass)).sum(axis=(1, 2))
        least = loss[has_say].min()
        assert loss[committee.central()] == pytest.approx(least, rel=1e-6)

    def test_members_below_the_floor_are_out(self):
        committee = draw(0)
        chosen = committee.central(committee.scores.max())
        assert committee.scores[chosen] == committee.scores.max()

    @pytest.mark.parametrize("seed", range(20))
    def test_opinions_are_shares_of_members_whatever_their_clusters_are_called(
        self, seed
    ):
        rng = np.random.default_rng(seed)
        k, n = 3, 60
        truth = np.arange(n) % k
        plain = np.where(rng.random((7, n)) < 0.85, truth, rng.integers(k, size=(7, n)))
        renamed = np.stack([rng.permutation(k)[own] for own in plain])
        committee = Committee(renamed, rng.uniform(0.9, 1.0, 7), 20.0, k)
        expected = np.zeros((n, k))
        for own, weight in zip(plain, weights_by_hand(committee), strict=True):
            expected[np.arange(n), own] += weight
        np.testing.assert_allclose(committee.opinions(truth), expected)

    def test_one_member_is_certain(self):
        labels = np.array([[0, 1, 1, 2]])
        committee = Committee(labels, np.ones(1), 5.0, 3)
        assert committee.central() == 0
        np.testing.assert_array_equal(
            committee.opinions(labels[0]).argmax(1), labels[0]
        )

    @quick
    @given(SEEDS)
    def test_a_handicap_is_so_many_pairs_that_do_not_count(self, seed):
        committee = draw(seed)
        handicap = np.random.default_rng(seed).integers(0, 5, len(committee.scores))
        fewer = committee.scores - handicap / committee.n_pairs
        np.testing.assert_allclose(
            replace(committee, handicap=handicap.astype(float)).weights,
            replace(committee, scores=fewer).weights,
        )

    def test_members_without_a_score_have_no_say(self):
        labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        committee = Committee(labels, np.array([0.2, np.nan]), 5.0, 2)
        assert committee.central() == 0 and committee.weights[1] == 0.0


class TestWhatIsKnownLater:
    @quick
    @given(SEEDS, st.integers(1, 7))
    def test_the_best_are_the_heaviest_with_the_same_ratios(self, seed, n_members):
        committee = replace(draw(seed, weighted=True), handicap=np.arange(7.0))
        best = committee.best(n_members)
        heaviest = np.sort(committee.weights)[::-1][:n_members]
        np.testing.assert_allclose(best.weights, heaviest / heaviest.sum())

    @quick
    @given(SEEDS)
    def test_p_same_is_the_weight_of_those_that_put_rows_together(self, seed):
        committee = draw(seed)
        places = np.array([3, -1, 0, 7])
        seen = replace(committee, places=places)
        i, j = np.array([0, 0, 2]), np.array([2, 3, 1])
        found = seen.p_same(i, j)
        for at, (a, b) in enumerate(zip(places[i], places[j], strict=True)):
            if b < 0:
                assert np.isnan(found[at])
            else:
                together = committee.labels[:, a] == committee.labels[:, b]
                assert found[at] == pytest.approx(committee.weights[together].sum())

    def test_reweighted_members_are_the_same_and_the_old_committee_stays(self):
        committee = draw(0)
        before = committee.weights.copy()
        known = KnownGroups([[0, 1, 2], [3, 4]], [(0, 1)])
        found = committee.reweighted(known)
        assert found.labels is committee.labels
        np.testing.assert_array_equal(committee.weights, before)
        assert known.n_pairs == 10 and found.n_pairs == 5
        np.testing.assert_array_equal(committee.held(known).counts / 10, found.scores)


@quick
@given(SEEDS)
def test_clusters_are_matched_so_that_most_rows_agree(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    labels, reference = rng.integers(k, size=(2, 30))
    found = matched(labels, reference, k)
    assert sorted(found) == list(range(k))
    best = max(np.sum(np.array(p)[labels] == reference) for p in permutations(range(k)))
    assert np.sum(found[labels] == reference) == best


class TestTies:
    @quick
    @given(seed=SEEDS, weighted=st.booleans())
    def test_of_equal_clusterings_the_least_objective_wins(self, seed, weighted):
        base = draw(seed, weighted=weighted)
        rng = np.random.default_rng(seed)
        # Each member three times, under other names of its clusters.
        renamed = [rng.permutation(base.n_clusters)[base.labels] for _ in range(3)]
        committee = Committee(
            np.concatenate(renamed).astype(np.uint8),
            np.tile(base.scores, 3),
            base.n_pairs,
            base.n_clusters,
            base.sample_weight,
        )
        objectives = rng.permutation(len(committee.scores)) / 10
        first = committee.central()
        chosen = committee.central(objectives=objectives)
        n = len(base.scores)
        same = np.arange(first % n, 3 * n, n)
        assert objectives[chosen] <= objectives[same].min()
        # What is chosen is as central as the first one.
        assert np.array_equal(base.labels[chosen % n], base.labels[first % n]) or (
            chosen in same
        )

    def test_without_ties_objectives_say_nothing(self):
        for seed in range(20):
            committee = draw(seed)
            worst_last = np.arange(len(committee.scores))[::-1]
            assert committee.central(objectives=worst_last) == committee.central()

    def test_sums_that_differ_by_rounding_alone_are_equal(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(6, size=500)
        members = np.stack([rng.permutation(6)[labels] for _ in range(30)])
        weight = rng.uniform(0.3, 3.0, 500)
        committee = Committee(members, np.full(30, 0.8), 20.0, 6, weight)
        objectives = rng.permutation(30) / 10
        assert committee.central(objectives=objectives) == objectives.argmin()
