"""Random pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.constraints import Constraints
from linkwise.constraints._sampling import decode_pairs, draw_distinct


def as_set(constraints):
    must, cannot = constraints.must_link.tolist(), constraints.cannot_link.tolist()
    return {("ml", *pair) for pair in must} | {("cl", *pair) for pair in cannot}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-1, 1), min_size=2, max_size=12), st.data())
def test_pairs_are_distinct_consistent_and_satisfied(labels, data):
    total = len(labels) * (len(labels) - 1) // 2
    n_pairs = data.draw(st.integers(0, total))
    pairs = Constraints.sample(labels, n_pairs, random_state=0)
    assert pairs.n_must_link + pairs.n_cannot_link == n_pairs
    assert not pairs.conflicts()
    assert n_pairs == 0 or pairs.score(np.array(labels) + 1) == 1


@pytest.mark.parametrize("n_rows", [60, 5000])
def test_a_smaller_draw_is_part_of_a_larger(n_rows):
    labels = np.arange(n_rows) % 4
    draws = [Constraints.sample(labels, n, random_state=3) for n in (50, 100, 1000)]
    assert as_set(draws[0]) < as_set(draws[1]) < as_set(draws[2])
    assert draws[0] != Constraints.sample(labels, 50, random_state=4)


def test_only_the_given_rows_are_joined():
    labels = np.arange(20) % 2
    rows = np.array([11, 3, 5, 8])
    pairs = Constraints.sample(labels, 6, random_state=0, rows=rows)
    assert pairs.points.tolist() == [3, 5, 8, 11]
    assert pairs.n_must_link == 3
    mask = np.isin(np.arange(20), rows)
    assert Constraints.sample(labels, 6, random_state=0, rows=mask) == pairs


def test_every_pair_is_equally_likely():
    counts = np.zeros((5, 5))
    for seed in range(2000):
        (i, j) = Constraints.sample(np.zeros(5, int), 1, random_state=seed).must_link[0]
        counts[i, j] += 1
    counts = counts[np.triu_indices(5, k=1)]
    # Ten pairs, 200 expected each: chi-squared with 9 degrees of freedom.
    assert ((counts - 200) ** 2 / 200).sum() < 27.9


def test_large_populations_are_drawn_without_listing_them():
    drawn = draw_distinct(10**15, 10_000, np.random.default_rng(0))
    assert len(set(drawn.tolist())) == 10_000
    assert drawn.min() >= 0 and drawn.max() < 10**15
    assert abs(drawn.mean() / 1e15 - 0.5) < 0.02
    few = draw_distinct(10**15, 10, np.random.default_rng(0))
    assert few.tolist() == drawn[:10].tolist()


def test_all_of_a_large_population_can_be_drawn(monkeypatch):
    monkeypatch.setattr("linkwise.constraints._sampling._SMALL_POPULATION", 100)
    total = 2000
    drawn = draw_distinct(total, total, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == list(range(total))


def test_numbers_decode_to_all_pairs():
    pairs = decode_pairs(np.arange(45)).tolist()
    assert sorted(pairs) == [[i, j] for i in range(10) for j in range(i + 1, 10)]


@given(st.integers(2, 2**31))
def test_decoding_is_exact_for_large_numbers(high):
    first = high * (high - 1) // 2
    numbers = np.array([first, first + high - 1, first + high])
    assert decode_pairs(numbers).tolist() == [
        [0, high],
        [high - 1, high],
        [0, high + 1],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pairs": 7}, r"n_pairs = 7: 4 rows have 6 pairs.*\[0, 6\]"),
        ({"n_pairs": -1}, "n_pairs = -1"),
        ({"n_pairs": 1, "rows": [9, 1]}, "rows holds 9, but there are 4 labels"),
        ({"n_pairs": 1, "rows": [1, 1]}, "rows holds 1 more than once"),
    ],
)
def test_impossible_draws_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        Constraints.sample([0, 0, 1, 1], **arguments)


def test_rows_without_label_are_named():
    with pytest.raises(ValueError, match=r"labels\[1\] is missing"):
        Constraints.sample([0, np.nan, 1], 1)
    pairs = Constraints.sample([0, np.nan, 1], 1, rows=[0, 2])
    assert pairs == Constraints([], [(0, 2)])
