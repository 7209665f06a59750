"""What every strategy has to hold."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

from linkwise import ConstrainedKernelKMeans, Constraints, KernelCSC
from linkwise.active import STRATEGIES, Session, Truth, run
from linkwise.active._answers import Answer

X, Y = make_blobs(60, centers=4, random_state=3, cluster_std=1.5)
FIXED = ConstrainedKernelKMeans(4, random_state=0)


@pytest.fixture(params=sorted(STRATEGIES))
def strategy(request):
    return request.param


def fitted(strategy, n=12, **options):
    model = KernelCSC(4, n_candidates=15, random_state=0)
    session = Session(X, model, strategy=strategy, **options)
    return run(session, Truth(Y), n)


def test_questions_are_open_and_askable(strategy):
    askable = np.arange(0, 60, 3)
    session = Session(X, FIXED, strategy=strategy, askable=askable)
    for _ in range(60):
        question = session.ask()
        if question is None:
            break
        assert question.i in askable and question.j in askable
        relation = session._state.known.relation(question.i, question.j)
        assert (relation is None) == (question.purpose != "proof")
        assert session.is_open(question)
        session.tell(
            question, "same" if Y[question.i] == Y[question.j] else "different"
        )


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_only_askable_rows_are_asked_about_whatever_pairs_are_known(strategy, wrong):
    askable = np.arange(0, 60, 3)
    asked = []
    truth = Truth(Y, wrong)

    def oracle(i, j):
        asked.append((i, j))
        return truth(i, j)

    pairs = Constraints.sample(Y, 80, random_state=0)
    model = KernelCSC(4, n_candidates=10, random_state=0)
    session = Session(X, model, strategy=strategy, askable=askable, constraints=pairs)
    run(session, oracle, 40, fit_every=10)
    assert len(asked) > 10 and np.isin(asked, askable).all()


def test_groups_that_cannot_be_asked_about_cost_no_questions():
    askable = np.arange(0, 60, 2)
    plain = Session(X, FIXED, askable=askable, checks=False)
    first = int(plain._asker.view.rows[0])
    outside = [np.flatnonzero(Y[1::2] == c)[0] * 2 + 1 for c in set(Y) - {Y[first]}]
    known = Constraints([], list(combinations([first, *outside], 2)))
    told = Session(X, FIXED, askable=askable, checks=False, constraints=known)
    n_asked = []
    for session in (plain, told):
        n_before = session.n_answers
        while (question := session.ask()) is not None:
            session.tell(question, bool(Y[question.i] == Y[question.j]))
        n_asked.append(session.n_answers - n_before)
    assert n_asked[1] <= n_asked[0]


def test_everything_can_be_asked_until_nothing_is_left(strategy):
    askable = np.arange(12)
    session = Session(X, FIXED, strategy=strategy, askable=askable, checks=False)
    for _ in range(200):
        question = session.ask()
        if question is None:
            break
        session.tell(
            question, "same" if Y[question.i] == Y[question.j] else "different"
        )
    assert question is None
    known = session._state.known
    for i in askable:
        for j in askable:
            assert known.relation(int(i), int(j)) == (Y[i] == Y[j])


def test_unsure_answers_and_skipped_questions_do_not_come_again(strategy):
    session = Session(X, FIXED, strategy=strategy, askable=np.arange(8), checks=False)
    seen = set()
    for turn in range(100):
        question = session.ask()
        if question is None:
            break
        pair = frozenset((question.i, question.j))
        assert pair not in seen
        seen.add(pair)
        if turn % 2:
            session.skip(question)
        else:
            session.tell(question, "unsure")
    assert question is None and len(seen) == 28  # all pairs of 8 rows


def test_no_answer_of_a_batch_settles_another(strategy):
    session = fitted(strategy, checks=False)
    batch = session.ask(8)
    assert len(batch) > 1
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(batch))
        says = rng.random(len(batch)) < 0.5
        for last in range(len(batch)):
            known = replayed(session)
            for at in order:
                q = batch[at]
                if at != last and known.relation(q.i, q.j) is None:
                    known.add(Answer(q.i, q.j, bool(says[at]), -1))
            assert known.relation(batch[last].i, batch[last].j) is None


def replayed(session):
    from linkwise.active._state import replay

    return replay(session.log.events, len(session.ids), session._record.row_of).known


def test_the_same_events_give_the_same_questions(strategy, tmp_path):
    log = tmp_path / "log.jsonl"
    model = KernelCSC(4, n_candidates=15, random_state=0)
    with Session(X, model, strategy=strategy, log=log) as session:
        run(session, Truth(Y), 30, fit_every=10)
        expected = [session.ask(), *session.ask(5)]
        labels, status = session.labels_, session.status()
    with Session(X, model, strategy=strategy, log=log) as session:
        assert [session.ask(), *session.ask(5)] == expected
        np.testing.assert_array_equal(session.labels_, labels)
        assert repr(session.status()) == repr(status)


def test_neighbourhoods_find_the_classes():
    session = fitted("neighbourhoods", 30)
    assert session.status().n_groups == 4


def test_the_state_is_viewed_once_for_each_revision():
    session = fitted("neighbourhoods", 20)
    view, question = session._asker.view, session.ask()
    assert session.ask() == question
    session.status(), session.beliefs(), session.ask(3)
    assert session._asker.view is view
    session.tell(question, "unsure")
    later = session._asker.view
    assert later is not view and tuple(sorted(question[:2])) in later.closed
    session.undo()
    assert session._asker.view is not later and session.ask()[:2] == question[:2]
    session.fit()
    assert session._asker.view.committee is not view.committee


def test_nearest_asks_across_clusters():
    session = fitted("nearest", 20, checks=False)
    for question in session.ask(5):
        assert session.labels_[question.i] != session.labels_[question.j]


def test_members_are_compared_with_the_largest_group_of_their_cluster():
    session = fitted("members", 40, checks=False)
    known, labels = session._state.known, session.labels_
    sizes = np.array([len(known.members(known.group_of(r))) for r in range(len(X))])
    found = session.strategy.select(session._asker.view, 20)
    assert found
    for i, j in found:
        assert labels[i] == labels[j] and sizes[j] == sizes[labels == labels[j]].max()
    assert any(sizes[j] > 2 for _, j in found)


def test_far_rows_and_rows_of_others_are_no_members():
    session = fitted("members", 12, checks=False, askable=np.arange(40))
    session.tell(Constraints([(50, 51), (51, 52), (52, 53)], []))
    view = session._asker.view
    # Rows that may not be asked about are the largest group of a cluster.
    view.labels = np.where(np.arange(60) < 30, 0, -1)
    view.labels[50:54] = 0
    found = session.strategy.select(view, 8)
    assert len(found) == 8
    for i, j in found:
        assert i < 30 and j < 30


def test_many_clusters_of_embeddings_are_asked_about():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 60))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for data, n_clusters, expected in [
        (unit, 8, "members"),
        (csr_array(unit), 8, "neighbourhoods"),
        (unit, 7, "neighbourhoods"),
        (unit, "auto", "neighbourhoods"),
        (rows, 8, "neighbourhoods"),
        (X, 8, "neighbourhoods"),
    ]:
        session = Session(data, KernelCSC(n_clusters))
        assert type(session.strategy) is STRATEGIES[expected]


def test_that_rows_differ_from_their_cluster_counts_less_in_a_fit():
    session = fitted("members", 12)
    told = session.prepare_fit().constraints
    assert told.n_must_link and told.n_cannot_link
    assert set(told.must_link_weight) == {1.0}
    assert set(told.cannot_link_weight) == {session.strategy.different_weight}


def test_a_strategy_of_ones_own():
    class Mine:
        def select(self, view, n):
            return [(0, 1)] if view.is_open(0, 1) else []

    session = Session(X, FIXED, strategy=Mine(), askable=[0, 1, 2])
    question = session.ask()
    assert (question.i, question.j) == (0, 1)
    session.tell(question, "different")
    assert 2 in (session.ask().i, session.ask().j)  # then others, at random


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match="strategy='best': allowed are"):
        Session(X, FIXED, strategy="best")
