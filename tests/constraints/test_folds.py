"""Folds of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.constraints import Constraints, constraint_folds

N_POINTS = 16
LABELS = st.lists(st.integers(0, 3), min_size=N_POINTS, max_size=N_POINTS)


def entailed(constraints):
    closure = constraints.closure(N_POINTS)
    must, cannot = closure.must_link_pairs().pairs, closure.cannot_link_pairs().pairs
    return set(map(tuple, must.tolist())) | set(map(tuple, cannot.tolist()))


def listed(constraints):
    return [*map(tuple, constraints.must_link), *map(tuple, constraints.cannot_link)]


@settings(deadline=None, max_examples=80)
@given(LABELS, st.integers(1, 40), st.integers(2, 5), st.integers(0, 3))
def test_held_out_pairs_do_not_follow_from_training_pairs(labels, n, n_folds, seed):
    pairs = Constraints.sample(labels, n, random_state=seed)
    try:
        folds = constraint_folds(pairs, n_folds, random_state=seed)
    except ValueError:
        assert n < 2 * n_folds * (n_folds + 1)
        return
    assert len(folds) == n_folds
    known = entailed(pairs)
    for train, held_out in folds:
        assert not held_out.is_empty
        assert not entailed(train) & entailed(held_out)
        assert entailed(train) | entailed(held_out) <= known


def test_each_given_pair_is_held_out_once_and_else_trained_on():
    labels = np.random.default_rng(0).integers(4, size=200)
    pairs = Constraints.sample(labels, 150, random_state=0)
    folds = constraint_folds(pairs, n_folds=5, random_state=0)
    held_out = [pair for _, held in folds for pair in listed(held)]
    assert sorted(held_out) == sorted(listed(pairs))
    for train, held in folds:
        assert train | held == pairs


def test_folds_are_even_in_both_kinds():
    labels = np.random.default_rng(0).integers(2, size=2000)
    pairs = Constraints.sample(labels, 300, random_state=0)
    held = [held for _, held in constraint_folds(pairs, 5, random_state=0)]
    for counts in ([h.n_must_link for h in held], [h.n_cannot_link for h in held]):
        assert max(counts) - min(counts) <= 3


def test_the_seed_decides():
    pairs = Constraints.sample(np.arange(60) % 3, 40, random_state=0)
    first, again, other = (
        constraint_folds(pairs, 4, random_state=seed) for seed in (0, 0, 1)
    )
    assert first == again != other


def test_labels_of_few_classes_are_split_by_points():
    labels = np.arange(30) % 3
    folds = constraint_folds(Constraints.from_labels(labels), 5, random_state=0)
    for train, held_out in folds:
        assert not set(train.points) & set(held_out.points)
        assert len(train.points) == 24 and len(held_out.points) == 6
        # Two points of each class: a must-link per class, classes apart.
        assert (held_out.n_must_link, held_out.n_cannot_link) == (3, 3)
        assert train.score(labels) == held_out.score(labels) == 1


def test_weights_survive_a_split_by_points():
    chain = [(i, i + 1) for i in range(11)]
    pairs = Constraints(chain, must_link_weight=np.arange(1, 12))
    tie = pairs.closure(12).must_link_pairs()
    weight = dict(zip(map(tuple, tie.pairs.tolist()), tie.weights, strict=True))
    for part in sum(constraint_folds(pairs, 3, random_state=0), ()):
        found = part.closure(12).must_link_pairs()
        for pair, w in zip(found.pairs.tolist(), found.weights, strict=True):
            assert weight[tuple(pair)] == w


@pytest.mark.parametrize(
    ("pairs", "n_folds", "message"),
    [
        (Constraints([(0, 1)]), 1, "n_folds = 1: at least 2"),
        (Constraints([(0, 1)], [(2, 3)]), 3, r"n_folds = 3: .* 2 independent part"),
        (Constraints(), 2, r"n_folds = 2: .* 0 independent part"),
        (Constraints([("a", "b")]), 2, r"constraint_folds needs positions.*locate"),
    ],
)
def test_impossible_folds_are_explained(pairs, n_folds, message):
    with pytest.raises(ValueError, match=message):
        constraint_folds(pairs, n_folds)
