import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from linkwise import Constraints, KernelCSC
from linkwise.active import Session, Truth, run
from linkwise.active._beliefs import told_pairs, worth_again
from linkwise.active._state import State

X, Y = make_blobs(90, centers=3, random_state=1, cluster_std=1.0)
MODEL = KernelCSC(3, n_candidates=20, random_state=0)


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
    monkeypatch.setattr("linkwise.active._beliefs._MAX_TOLD", 50)
    big = [(0, row) for row in range(1, 3_000)]
    apart = [(row, row + 1) for row in range(4_000, 4_040, 2)]
    told = told_pairs(Constraints(big, apart), 9)
    must, cannot = (
        set(map(tuple, e.tolist())) for e in (told.must_link, told.cannot_link)
    )
    assert must >= set(big) and cannot >= set(apart)
    assert 50 >= len(must - set(big)) > 40
    assert len(must) == told.n_must_link and all(i < j < 3_000 for i, j in must)


def state_of(n_answers, n_confirmed=0, n_contradicted=0):
    state = State(100, {})
    for event in range(n_answers):
        state.put(event, event, event + 1, True)
        state.support[event] = 2 if event < n_confirmed else 1
    state.n_contradicted = n_contradicted
    return state


def test_who_never_errs_is_seldom_asked_twice():
    beliefs = {40: 0.08, 41: 0.9}
    assert worth_again(state_of(50), beliefs) == 40
    assert worth_again(state_of(150, n_confirmed=100), {140: 0.08}) is None
    assert worth_again(state_of(50, n_contradicted=5), {40: 0.6}) == 40
    assert worth_again(state_of(50), {40: 0.6}) is None


def test_answers_that_were_confirmed_are_not_asked_about_again():
    assert worth_again(state_of(50, n_confirmed=1), {0: 0.02}) is None


def test_most_wrong_answers_are_found_by_asking_again():
    session = Session(X, MODEL, random_state=2)
    run(session, Truth(Y, wrong=0.15, random_state=2), 100)
    pairs = session.constraints_
    n_wrong = np.sum(Y[pairs.must_link[:, 0]] != Y[pairs.must_link[:, 1]])
    n_wrong += np.sum(Y[pairs.cannot_link[:, 0]] == Y[pairs.cannot_link[:, 1]])
    assert n_wrong <= 0.05 * (pairs.n_must_link + pairs.n_cannot_link)


def test_a_class_that_a_wrong_answer_made_two_groups_is_found_out():
    session = Session(X, MODEL)
    first = session.ask().j
    alike = np.flatnonzero((Y == Y[first]) & (np.arange(len(Y)) != first))
    rows = [first, *alike[:3].tolist()]
    session.tell((rows[0], rows[1]), "different")  # wrong
    session.tell((rows[0], rows[2]), "same")
    session.tell((rows[1], rows[3]), "same")
    question = session.ask()
    assert question.kind == "proof"
    assert {question.i, question.j} == {rows[2], rows[3]}
    told = session.tell(question, "same")
    assert [a.is_same for a in told.conflict.chain].count(False) == 1


@pytest.mark.parametrize("choice", ["aside", "this", None])
def test_a_proof_is_asked_for_once_whatever_is_said(choice):
    session = Session(X, MODEL)
    first = session.ask().j
    other = next(row for row in range(90) if row != first and Y[row] == Y[first])
    a, b = np.flatnonzero(Y != Y[first])[:2].tolist()
    session.tell((first, a), "different")
    session.tell((first, other), "same")
    session.tell((a, b), "same")
    question = session.ask()
    assert question.kind == "proof"
    told = session.tell(question, "same")
    if choice:
        session.resolve(told.conflict, choice)
    following = session.ask()
    assert {following.i, following.j} != {question.i, question.j}
    assert not session.is_open(question)


@pytest.mark.parametrize("said", ["unsure", "opposite"])
def test_no_pair_is_asked_again_twice(said):
    session = Session(X, MODEL)
    run(session, Truth(Y), 20)
    session.tell(np.flatnonzero(Y == 0)[-2:].tolist(), "different")  # wrong
    session.fit()
    asked = []
    for _ in range(25):
        question = session.ask()
        word = "same" if Y[question.i] == Y[question.j] else "different"
        if question.kind == "again":
            asked.append((question.i, question.j))
            word = "unsure" if said == "unsure" else word
        told = session.tell(question, word)
        if told.conflict is not None:
            session.resolve(told.conflict, "aside")
    assert len(asked) == len(set(asked)) > 0


def test_a_restarted_session_asks_the_same_again(tmp_path):
    log = tmp_path / "log.jsonl"
    with Session(X, MODEL, log=log) as session:
        run(session, Truth(Y, wrong=0.15, random_state=1), 100)
        weights, question = session._judges.weights, session.ask()
    with Session(X, MODEL, log=log) as again:
        assert again.ask() == question
        np.testing.assert_array_equal(again._judges.weights, weights)


def test_the_status_counts_all_that_follows_from_answers():
    session = run(Session(X, MODEL), Truth(Y), 40, fit_every=10)
    status = session.status()
    assert status.held == session.constraints_.score(session.labels_)
    assert status.quality == status.trust * max(0.0, 2.0 * status.held - 1.0)
    assert np.isnan(Session(X, MODEL).status().quality)
