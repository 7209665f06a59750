"""What follows from answers, against closures of the same pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints
from linkwise.active._answers import Answer, Known

N = 9
PAIRS = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.booleans()).filter(
        lambda pair: pair[0] != pair[1]
    ),
    max_size=20,
)


def learnt(pairs):
    known, kept = Known(), []
    for number, (i, j, is_same) in enumerate(pairs):
        if known.relation(i, j) in (None, is_same):
            kept.append(Answer(i, j, is_same, number))
            known.add(kept[-1])
    return known, kept


def follows(answers, i, j):
    """Tell what a closure of answers says of two rows."""
    must = [(a.i, a.j) for a in answers if a.is_same]
    cannot = [(a.i, a.j) for a in answers if not a.is_same]
    closure = Constraints(must, cannot).closure(N)
    entailed = {True: closure.must_link_pairs(), False: closure.cannot_link_pairs()}
    for is_same, found in entailed.items():
        if (min(i, j), max(i, j)) in {tuple(p) for p in found.pairs.tolist()}:
            return is_same
    return None


@settings(deadline=None)
@given(PAIRS)
def test_relations_are_those_of_the_closure(pairs):
    known, kept = learnt(pairs)
    for i in range(N):
        for j in range(i):
            assert known.relation(i, j) == follows(kept, i, j)


@settings(deadline=None, max_examples=60)
@given(PAIRS)
def test_a_chain_is_a_shortest_proof(pairs):
    known, kept = learnt(pairs)
    for i in range(N):
        for j in range(i):
            relation, chain = known.relation(i, j), known.chain(i, j)
            if relation is None:
                assert chain == []
                continue
            assert set(chain) <= set(kept)
            assert follows(chain, i, j) == relation
            for left_out in chain:  # nothing in it is idle
                rest = [a for a in chain if a is not left_out]
                assert follows(rest, i, j) is None


def test_a_chain_runs_from_one_row_to_the_other():
    known, kept = learnt([(0, 1, True), (1, 2, True), (2, 3, False), (3, 4, True)])
    assert known.chain(0, 4) == kept
    assert known.chain(0, 2) == kept[:2]


def test_groups_and_differences():
    known, _ = learnt([(0, 1, True), (2, 3, True), (1, 2, False), (3, 5, True)])
    assert known.group_of(0) == known.group_of(1) != known.group_of(5)
    assert known.different_from(known.group_of(0)) == {known.group_of(5)}
    assert sorted(known.members(known.group_of(5))) == [2, 3, 5]
    assert known.members(8) == [8]


@pytest.mark.parametrize("i, j", [(0, 0), (7, 8)])
def test_rows_without_answers_have_no_chain(i, j):
    assert Known().chain(i, j) == []
    assert np.all(Known().relation(i, j) in (None, True))
