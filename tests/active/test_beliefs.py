import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkwise import KernelCSC
from linkwise.active import Session, Truth, run
from linkwise.active._beliefs import worth_again
from linkwise.active._state import State
from linkwise.active._status import _sentence, quality_of

X, Y = make_blobs(90, centers=3, random_state=1, cluster_std=1.0)
MODEL = KernelCSC(3, n_candidates=20, random_state=0)
NAN = float("nan")


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


@pytest.mark.slow
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
    assert question.purpose == "proof"
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
    assert question.purpose == "proof"
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
        if question.purpose == "again":
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
        weights, question = session._fitter.committee.weights, session.ask()
    with Session(X, MODEL, log=log) as again:
        assert again.ask() == question
        np.testing.assert_array_equal(again._fitter.committee.weights, weights)


def test_the_status_counts_all_that_follows_from_answers():
    session = run(Session(X, MODEL), Truth(Y), 40, fit_every=10)
    status = session.status()
    assert status.held == session.constraints_.score(session.labels_)
    assert status.quality == status.trust * (1.0 - status.change)
    assert np.isnan(Session(X, MODEL).status().quality)


@pytest.mark.parametrize(
    ("trust", "change", "word"),
    [
        (NAN, NAN, "too few answers"),
        (NAN, 0.01, "too few answers"),
        (0.9, NAN, "cluster again"),
        (0.9, 0.03, "still change (3%)"),
        (0.5, 0.01, "not yet what clusters foretell"),
        (0.9, 0.02, "Enough"),
    ],
)
def test_a_sentence_says_what_is_missing(trust, change, word):
    quality = float(quality_of(trust, change))
    sentence = _sentence(trust, quality, change, "")
    assert word in sentence
    assert sentence.startswith("Enough" if word == "Enough" else "Go on")


def test_it_is_not_enough_without_checks_or_with_answers_of_one_kind():
    assert _sentence(0.9, 0.9, 0.0, "4 of 10 checks") == "Go on: 4 of 10 checks."
