import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints
from linkwise.active._told_pairs import told_pairs


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 20))
def test_a_fit_is_told_what_follows_from_answers(seed, n_pairs):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=15)
    answers = Constraints.sample(y, n_pairs, random_state=seed)
    told = told_pairs(answers, 20)
    closure = answers.closure(15)
    for labels in rng.integers(3, size=(10, 15)):
        assert told.closure(15).score(labels) == closure.score(labels)
    n_told = told.n_must_link + told.n_cannot_link
    assert n_told == closure.n_must_link + closure.n_cannot_link
    assert set(map(tuple, answers.must_link.tolist())) <= set(
        map(tuple, told.must_link.tolist())
    )
    assert told.score(y) == 1.0


def test_a_row_that_differs_from_all_groups_but_one_is_in_that():
    answers = Constraints([(0, 1)], [(0, 2), (0, 3)])
    assert told_pairs(answers, 2).must_link.tolist() == [[0, 1], [2, 3]]
    assert told_pairs(answers, 3).must_link.tolist() == [[0, 1]]


def test_weights_of_answers_stay():
    told = told_pairs(Constraints([(0, 1), (1, 2)], [], [3.0, 1.0]), 5)
    assert told.must_link.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert told.must_link_weight.tolist() == [3.0, 1.0, 1.0]


def test_what_follows_from_a_weak_pair_is_weak():
    told = told_pairs(Constraints([(0, 1), (1, 2), (2, 3)], [(3, 4)], [1, 1, 0.5]), 9)
    weights = dict(
        zip(map(tuple, told.must_link.tolist()), told.must_link_weight, strict=True)
    )
    assert weights[0, 2] == 1.0 and weights[0, 3] == weights[1, 3] == 0.5
    apart = dict(
        zip(map(tuple, told.cannot_link.tolist()), told.cannot_link_weight, strict=True)
    )
    assert apart == {(3, 4): 1.0, (0, 4): 0.5, (1, 4): 0.5, (2, 4): 0.5}


def test_of_many_pairs_that_follow_some_are_told_and_every_answer(monkeypatch):
    monkeypatch.setattr("linkwise.active._told_pairs._MAX_TOLD", 50)
    big = [(0, row) for row in range(1, 3_000)]
    apart = [(row, row + 1) for row in range(4_000, 4_040, 2)]
    told = told_pairs(Constraints(big, apart), 9)
    must, cannot = (
        set(map(tuple, e.tolist())) for e in (told.must_link, told.cannot_link)
    )
    assert must >= set(big) and cannot >= set(apart)
    assert 50 >= len(must - set(big)) > 40
    assert len(must) == told.n_must_link and all(i < j < 3_000 for i, j in must)


def test_pairs_that_differ_can_count_less_beside_others():
    both = told_pairs(Constraints([(0, 1)], [(1, 2)], [2.0], [4.0]), 9, 0.5)
    assert both.must_link_weight.tolist() == [2.0]
    assert sorted(both.cannot_link_weight) == [1.0, 2.0]  # what follows is weaker
    alone = told_pairs(Constraints([], [(1, 2)], None, [4.0]), 9, 0.5)
    assert alone.cannot_link_weight.tolist() == [4.0]
