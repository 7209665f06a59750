import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.experiments import (
    Dataset,
    draw_trial,
    load_dataset,
    n_paper_pairs,
    n_possible_pairs,
)
from linkwise.experiments._protocol import pair_properties, score_labels

classes = st.lists(st.integers(1, 30), min_size=1, max_size=5).map(
    lambda counts: np.random.default_rng(0).permutation(
        np.repeat(np.arange(len(counts)), counts)
    )
)
trials = st.integers(0, 9)
relaxed = settings(deadline=None, max_examples=40)


@given(classes, trials)
@relaxed
def test_a_quarter_of_each_class_is_for_training(y, trial):
    split = draw_trial(y, "a set", trial)
    expected = np.bincount(y) // 4
    assert np.bincount(y[split.train], minlength=len(expected)).tolist() == (
        expected.tolist()
    )
    assert sorted([*split.train, *split.test]) == list(range(len(y)))


@given(classes, trials, st.data())
@relaxed
def test_fewer_pairs_are_a_part_of_more(y, trial, data):
    split = draw_trial(y, "a set", trial)
    possible = n_possible_pairs(len(split.train))
    more = data.draw(st.integers(0, possible))
    fewer = data.draw(st.integers(0, more))
    small, large = split.constraints(fewer), split.constraints(more)
    for kind in ("must_link", "cannot_link"):
        inside = set(map(tuple, getattr(large, kind).tolist()))
        assert set(map(tuple, getattr(small, kind).tolist())) <= inside
    assert small.n_must_link + small.n_cannot_link == fewer


@given(classes, trials)
@relaxed
def test_pairs_join_training_rows_and_tell_the_truth(y, trial):
    split = draw_trial(y, "a set", trial)
    pairs = split.constraints(n_paper_pairs(len(split.train)))
    assert set(pairs.points.tolist()) <= set(split.train.tolist())
    assert (y[pairs.must_link[:, 0]] == y[pairs.must_link[:, 1]]).all()
    assert (y[pairs.cannot_link[:, 0]] != y[pairs.cannot_link[:, 1]]).all()


def test_pairs_of_a_large_set_are_prefixes_too():
    y = np.random.default_rng(0).integers(2, size=12_000)
    split = draw_trial(y, "large", 0)
    assert n_possible_pairs(len(split.train)) > 2**20  # drawn in another way
    small, large = split.constraints(50), split.constraints(5000)
    inside = set(map(tuple, large.must_link.tolist()))
    assert set(map(tuple, small.must_link.tolist())) <= inside


def test_trials_differ_by_number_and_by_set_and_repeat():
    y = np.repeat([0, 1], 60)
    rows = [
        tuple(draw_trial(y, *names).train)
        for names in (("a", 0), ("a", 1), ("b", 0), ("a", 0))
    ]
    assert rows[0] == rows[3] and len(set(rows)) == 3


def test_the_paper_takes_a_tenth_of_the_pairs_and_no_more_than_5000():
    assert [n_paper_pairs(m) for m in (2, 5, 36, 316, 317, 5000)] == [
        0,
        1,
        63,
        4977,
        5000,
        5000,
    ]


def test_scores_are_of_test_training_and_all_rows():
    y = np.repeat([0, 1], 8)
    split = draw_trial(y, "a set", 0)
    labels = y.copy()
    labels[split.test[0]] ^= 1
    scores = score_labels(split, labels, split.constraints(3))
    assert scores["ari_train"] == scores["constraint_score"] == 1
    assert scores["ari_test"] < scores["ari_all"] < 1
    assert len(scores) == 16


def test_pairs_that_k_means_satisfies_are_not_informative():
    y = np.repeat([0, 1], 20)
    X = np.stack([y * 100.0, np.random.default_rng(0).normal(size=40)], axis=1)
    pairs = draw_trial(y, "apart", 0).constraints(20)
    found = pair_properties(Dataset(X[:, :1], y), "apart", 0, pairs)
    assert found["informativeness"] == 0
    X, y = load_dataset("sklearn:iris")
    pairs = draw_trial(y, "iris", 0).constraints(63)
    of_iris = pair_properties(Dataset(X, y), "iris", 0, pairs)
    assert of_iris == pair_properties(Dataset(X * 8, y), "iris", 0, pairs)
    assert 0 < of_iris["informativeness"] < 1 and 0 < of_iris["coherence"] < 1


def test_coherence_without_must_links_is_unknown():
    y = np.arange(8).repeat(4)
    pairs = draw_trial(y, "many", 0).constraints(3)
    assert pairs.n_must_link == 0
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    found = pair_properties(Dataset(X, y), "many", 0, pairs)
    assert np.isnan(found["coherence"]) and 0 <= found["informativeness"] <= 1
