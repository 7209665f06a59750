"""Whether pairs hold better than shuffled ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.constraints import LEAST_PAIRS, Constraints, against_chance

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=15)


def draw(seed, n=80, k=3, n_pairs=60, n_clusterings=12):
    """Return classes, pairs of them, and clusterings that know nothing of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    others = rng.integers(k, size=(n_clusterings, n)).astype(np.uint8)
    return y, Constraints.sample(y, n_pairs, random_state=seed), others


def balanced_share(pairs, labels):
    must, cannot = pairs.satisfied(labels)
    return 0.5 * (must.mean() + cannot.mean())


@pytest.mark.parametrize("n_pairs", [LEAST_PAIRS, 60, 2_000])
def test_one_right_clustering_of_many_is_enough(n_pairs):
    y, pairs, others = draw(0, n_pairs=n_pairs)
    found = against_chance(pairs, np.vstack([others, y]))
    assert found.by_chance is False and found.p_value == 1 / 200
    assert found.share == pytest.approx(1.0) and found.shuffled_share < 0.7


def test_unrelated_clusterings_satisfy_pairs_by_chance():
    found = [against_chance(*draw(seed)[1:]) for seed in range(60)]
    assert np.mean([one.by_chance for one in found]) >= 0.85
    # Valid p-values are uniform.
    assert 0.4 < np.mean([one.p_value for one in found]) < 0.65


def test_the_share_is_that_of_the_clustering_that_stands_out():
    _, pairs, others = draw(1)
    shares = [balanced_share(pairs, labels) for labels in others]
    assert against_chance(pairs, others).share == pytest.approx(max(shares), abs=0.05)


def test_many_cannot_links_that_hold_by_chance_prove_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=300)
    pairs = Constraints.sample(y, 200, random_state=0)
    assert pairs.n_cannot_link > 180
    others = rng.integers(20, size=(12, 300))
    assert max(pairs.score(labels) for labels in others) > 0.85
    assert against_chance(pairs, others).by_chance


@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_pairs_of_one_kind_are_judged(kind):
    y, pairs, others = draw(2, n_pairs=200)
    pairs = Constraints(**{kind: getattr(pairs, kind)})
    assert against_chance(pairs, others).by_chance
    assert against_chance(pairs, np.vstack([others, y])).by_chance is False


def test_weights_count():
    y, pairs, others = draw(3, n_pairs=200)
    sure = Constraints(pairs.must_link, pairs.cannot_link)
    ends = np.random.default_rng(0).choice(80, (200, 2))
    ends = ends[ends[:, 0] < ends[:, 1]]
    unsure = Constraints(cannot_link=ends[y[ends[:, 0]] == y[ends[:, 1]]])
    share = []
    for weight in (1.0, 1e-6):
        both = Constraints(
            sure.must_link,
            np.concatenate([sure.cannot_link, unsure.cannot_link]),
            np.ones(sure.n_must_link),
            np.r_[np.ones(sure.n_cannot_link), np.full(unsure.n_cannot_link, weight)],
        )
        share.append(against_chance(both, np.vstack([others, y])).share)
    assert share[0] < 0.95 and share[1] == pytest.approx(1.0, abs=1e-4)


@quick
@given(SEEDS)
def test_names_of_clusters_do_not_matter(seed):
    _, pairs, others = draw(seed)
    rng = np.random.default_rng(seed)
    renamed = np.stack([rng.permutation(3)[labels] for labels in others])
    assert against_chance(pairs, renamed) == against_chance(pairs, others)


@quick
@given(SEEDS)
def test_the_order_of_rows_does_not_matter(seed):
    y, pairs, others = draw(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    place = np.argsort(order)
    moved = Constraints(place[pairs.must_link], place[pairs.cannot_link])
    for labels in (others, np.vstack([others, y])):
        before, after = (
            against_chance(pairs, labels),
            against_chance(moved, labels[:, order]),
        )
        # Other shuffles are drawn, no more.
        assert after.p_value == pytest.approx(before.p_value, abs=0.2)
    assert before.by_chance is after.by_chance is False


@quick
@given(SEEDS)
def test_copies_of_clusterings_are_no_advantage(seed):
    _, pairs, others = draw(seed)
    twice = np.vstack([others, others])
    assert against_chance(pairs, twice) == against_chance(pairs, others)


@pytest.mark.parametrize(
    ("n_pairs", "n_rows", "n_clusterings"),
    [(LEAST_PAIRS - 1, 80, 12), (60, LEAST_PAIRS - 1, 12), (60, 80, 9), (60, 80, 0)],
)
def test_too_little_is_not_judged(n_pairs, n_rows, n_clusterings):
    y, _, others = draw(0, n_clusterings=n_clusterings)
    rows = np.arange(n_rows)
    pairs = Constraints.sample(y, n_pairs, random_state=0, rows=rows)
    found = against_chance(pairs, others)
    assert found.by_chance is None and np.isnan(found.p_value)


def test_rows_that_are_all_in_one_cluster_tell_nothing():
    _, pairs, others = draw(0)
    found = against_chance(pairs, np.zeros_like(others))
    assert found.by_chance and found.p_value == 1.0
