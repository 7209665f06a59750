"""How far pairs are believed when some of them are wrong."""

import numpy as np
import pytest

from linkwise.constraints import Constraints, believe


def noisy(seed, n=60, k=3, n_pairs=150, share=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    pairs = Constraints.sample(y, n_pairs, random_state=seed)
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    right = np.arange(len(ends)) < pairs.n_must_link
    wrong = np.zeros(len(ends), dtype=bool)
    wrong[rng.choice(len(ends), round(share * len(ends)), replace=False)] = True
    given = right ^ wrong
    return y, Constraints(ends[given], ends[~given]), set(map(tuple, ends[wrong]))


def disbelieved(pairs, beliefs):
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    belief = np.concatenate([beliefs.must_link, beliefs.cannot_link])
    return set(map(tuple, ends[belief < 0.5]))


def exact_beliefs(pairs, opinions, share):
    """Return the beliefs summed over all clusters of all rows."""
    n, k = opinions.shape
    prior = (opinions * 0.9 + 0.1 / k) ** 0.25
    prior /= prior.sum(axis=1, keepdims=True)
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    is_must = np.arange(len(ends)) < pairs.n_must_link
    total, right = 0.0, np.zeros(len(ends))
    for code in range(k**n):
        labels = np.array([code // k**i % k for i in range(n)])
        holds = (labels[ends[:, 0]] == labels[ends[:, 1]]) == is_must
        chance = prior[np.arange(n), labels].prod()
        chance *= np.where(holds, 1.0 - share, share).prod()
        total += chance
        right += chance * holds
    return right / total


@pytest.mark.parametrize("seed", range(5))
def test_wrong_pairs_are_found_by_the_others(seed):
    y, pairs, wrong = noisy(seed)
    opinions = np.full((60, 3), 0.2)
    opinions[np.arange(60), y] = 0.6  # the committee has an idea, no more
    beliefs = believe(pairs, opinions)
    found = disbelieved(pairs, beliefs)
    assert len(found & wrong) >= 9 and len(found - wrong) <= 3
    assert 0.05 <= beliefs.noise <= 0.2


def test_clean_pairs_are_believed_whatever_the_committee_thinks():
    y, pairs, _ = noisy(0, share=0.0)
    opinions = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    beliefs = believe(pairs, opinions)
    assert len(disbelieved(pairs, beliefs)) <= 2 and beliefs.noise <= 0.02


@pytest.mark.parametrize("seed", range(6))
def test_a_committee_that_is_often_wrong_is_not_believed_against_the_pairs(seed):
    y, pairs, _ = noisy(seed, n=120, n_pairs=100, share=0.0)
    rng = np.random.default_rng(seed + 1)
    found = np.where(rng.random(120) < 0.5, y, rng.integers(3, size=120))
    opinions = np.full((120, 3), 0.05)  # sure of itself
    opinions[np.arange(120), found] = 0.9
    beliefs = believe(pairs, opinions)
    assert beliefs.noise <= 0.06 and len(disbelieved(pairs, beliefs)) <= 5


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_the_estimated_share_is_what_the_beliefs_add_up_to(share):
    y, pairs, _ = noisy(0, n=100, n_pairs=400, share=share)
    opinions = np.full((100, 3), 0.2)
    opinions[np.arange(100), y] = 0.6
    beliefs = believe(pairs, opinions)
    found = np.concatenate([beliefs.must_link, beliefs.cannot_link])
    assert beliefs.noise == pytest.approx(1.0 - found.mean())
    assert beliefs.noise == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_beliefs_are_near_those_of_a_sum_over_all_clusterings(seed):
    rng = np.random.default_rng(seed)
    y, pairs, _ = noisy(seed, n=7, k=2, n_pairs=10, share=0.1)
    opinions = np.full((7, 2), 0.1)
    opinions[np.arange(7), y] = 0.9
    opinions = opinions + rng.uniform(0.0, 0.05, size=(7, 2))
    opinions /= opinions.sum(axis=1, keepdims=True)
    found = believe(pairs, opinions, noise=0.1)
    exact = exact_beliefs(pairs, opinions, 0.1)
    got = np.concatenate([found.must_link, found.cannot_link])
    # A mean field is too certain, but on the same side.
    sure = np.abs(exact - 0.5) > 0.2
    assert ((got > 0.5) == (exact > 0.5))[sure].mean() >= 0.9


def test_a_heavier_pair_is_believed_rather_than_a_lighter_one():
    opinions = np.full((3, 2), 0.5)
    opinions[0] = [0.6, 0.4]
    pairs = Constraints([(0, 1)], [(0, 1)], [3.0], [1.0])
    beliefs = believe(pairs, opinions, noise=0.1)
    assert beliefs.must_link[0] > 0.5 > beliefs.cannot_link[0]


def test_the_given_noise_is_kept():
    _, pairs, _ = noisy(0)
    assert believe(pairs, np.full((60, 3), 1 / 3), noise=0.15).noise == 0.15
