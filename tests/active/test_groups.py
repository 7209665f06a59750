"""Sessions that ask which group a row belongs to, grids and merges."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC
from linkwise.active import (
    Grid,
    LogError,
    Merge,
    Prices,
    Question,
    Session,
    Truth,
    Which,
    run,
)
from linkwise.active._group_asker import measured_prices
from linkwise.active._oracles import answer_to

N_CLASSES = 5


def make_rows(n=150, seed=0, spread=0.35):
    """Return rows like embeddings, of one length, and their classes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(N_CLASSES, 60))
    y = np.arange(n) % N_CLASSES
    X = centres[y] + spread * np.sqrt(60) * rng.normal(size=(n, 60)) / 2
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


X, Y = make_rows()
X.flags.writeable = False
MODEL = KernelCSC(N_CLASSES, n_candidates=10, random_state=0)


def session_of(log=None, **more):
    more = {"questions": "auto", "prices": {}} | more
    return Session(X, MODEL, log=log, **more)


def answer_all(session, oracle, n):
    """Answer up to n questions; return them."""
    asked = []
    for _ in range(n):
        question = session.ask()
        if question is None:
            break
        session.tell(question, answer_to(oracle, question))
        asked.append(question)
    return asked


class TestQuestions:
    def test_pairs_alone_are_the_default(self):
        question = Session(X, MODEL).ask()
        assert question.kind == "pair" and question.purpose == "pair"

    def test_no_question_is_free_also_for_programs(self):
        times = dict.fromkeys(("which", "grid", "groups", "pair"), [0.0] * 50)
        prices = measured_prices(SimpleNamespace(seconds=times))
        assert min(prices.which, prices.grid, prices.merge, prices.pair) > 0

    def test_all_kinds_come_with_what_they_show(self):
        oracle = Truth(Y, wrong=0.1)
        asked = answer_all(session_of(), oracle, 80)
        assert {"which", "grid"} <= {question.kind for question in asked}
        for question in asked:
            if isinstance(question, Which):
                shown = [row for rows in question.groups for row in rows]
                assert question.row not in shown and len(question.groups) <= 18
            elif isinstance(question, Grid):
                assert not set(question.examples) & set(question.rows)
                assert 1 <= len(question.rows) <= 12
            else:
                assert isinstance(question, Merge)
                assert not set(question.left) & set(question.right)

    def test_only_askable_rows_are_shown(self):
        askable = np.arange(0, 150, 2)
        asked = answer_all(session_of(askable=askable), Truth(Y), 60)
        for question in asked:
            if isinstance(question, Which):
                rows = [question.row, *sum(question.groups, [])]
            elif isinstance(question, Grid):
                rows = question.rows + question.examples
            else:
                rows = question.left + question.right
            assert set(rows) <= set(askable.tolist())

    def test_nothing_is_asked_again_within_ten_questions(self):
        asked = answer_all(session_of(), Truth(Y, wrong=0.2), 70)
        seen = {}
        for at, question in enumerate(asked):
            rows = [question.row] if isinstance(question, Which) else []
            rows = question.rows if isinstance(question, Grid) else rows
            for row in rows:
                assert at - seen.get(row, -99) >= 10
                seen[row] = at

    def test_several_questions_are_about_different_rows(self):
        session = session_of()
        answer_all(session, Truth(Y), 12)
        several = session.ask(4)
        rows = [r for q in several for r in getattr(q, "rows", [getattr(q, "row", -1)])]
        assert len(several) > 1 and len(rows) == len(set(rows))

    def test_a_session_without_merges_and_grids_asks_which_alone(self):
        asked = answer_all(session_of(questions=("which",)), Truth(Y), 30)
        assert {question.kind for question in asked} == {"which"}

    @pytest.mark.parametrize("questions", ["grid", ("pair", "merge"), "all", ("why",)])
    def test_kinds_that_cannot_be_are_refused(self, questions):
        with pytest.raises(ValueError, match="questions="):
            session_of(questions=questions)

    @pytest.mark.parametrize("prices", [{"which": -1}, {"paper": 3}, {"grid": "2"}])
    def test_prices_that_cannot_be_are_refused(self, prices):
        with pytest.raises(ValueError, match="prices"):
            session_of(prices=prices)

    def test_a_question_is_recalled_by_its_id(self):
        session = session_of()
        first = session.ask()
        answer_all(session, Truth(Y), 5)
        assert session.recall(first.id) == first
        assert session.recall(session.ask().id) == session.ask()
        with pytest.raises(LookupError):
            session.recall("3:which:aaaaaaaaaaaa")


class TestAnswers:
    def test_clusters_follow_every_answer_and_become_right(self):
        session = session_of()
        before = adjusted_rand_score(Y, session.labels_)
        answer_all(session, Truth(Y), 60)
        after = adjusted_rand_score(Y, session.labels_)
        assert after > 0.95 and after >= before

    def test_an_unknown_number_of_clusters_is_found(self):
        session = Session(X, KernelCSC("auto"), questions="auto", prices={})
        answer_all(session, Truth(Y), 70)
        assert len(np.unique(session.labels_)) == N_CLASSES

    def test_pairs_of_votes_hold_and_contradict_nowhere(self):
        session = session_of()
        answer_all(session, Truth(Y), 40)
        pairs = session.constraints_
        must, cannot = pairs.must_link, pairs.cannot_link
        assert len(must) > 20 and len(cannot) > 3
        assert (Y[must[:, 0]] == Y[must[:, 1]]).all()
        assert (Y[cannot[:, 0]] != Y[cannot[:, 1]]).all()

    @pytest.mark.parametrize("answer", [99, -1, "same", True, [0], 1.5])
    def test_answers_that_no_which_has_are_refused(self, answer):
        session = session_of()
        with pytest.raises(ValueError, match="answer="):
            session.tell(session.ask(), answer)
        assert session.n_answers == 0

    @pytest.mark.parametrize("answer", [[99], [True], "none", 3, ["a"]])
    def test_answers_that_no_grid_has_are_refused(self, answer):
        question = Grid([0], [5, 10], "1:grid:a", 0)
        with pytest.raises(ValueError, match="answer="):
            session_of().tell(question, answer)

    def test_unsure_says_nothing_and_is_counted(self):
        session = session_of()
        question = session.ask()
        session.tell(question, "unsure")
        assert session.status().n_unsure == 1 and session.n_answers == 0
        assert session.ask().row != question.row

    def test_the_same_answer_twice_counts_once(self):
        session = session_of()
        question = session.ask()
        first = session.tell(question, 0)
        assert session.tell(question, 0).event == first.event
        assert session.n_answers == 1

    def test_one_undo_takes_a_whole_grid_back(self):
        session = session_of()
        asked = answer_all(session, Truth(Y), 10)
        while not isinstance(asked[-1], Grid):
            asked += answer_all(session, Truth(Y), 1)
        labels, next_one = session.labels_.copy(), session.ask()
        session.undo()
        assert session.ask() == asked[-1]._replace(id=session.ask().id)
        session.redo()
        assert np.array_equal(session.labels_, labels)
        assert session.ask() == next_one._replace(id=session.ask().id)

    def test_a_pair_that_is_told_counts_as_votes(self):
        session = session_of()
        answer_all(session, Truth(Y), 20)
        i, j = np.flatnonzero(Y == 0)[[3, 7]]
        session.tell((int(i), int(j)), "same")
        assert session.labels_[i] == session.labels_[j]

    def test_pairs_that_were_known_before_are_groups(self):
        known = Constraints([(0, 5), (5, 10)], [(0, 1)])
        session = session_of(constraints=known)
        labels = session.labels_
        assert labels[0] == labels[5] == labels[10] != labels[1]

    def test_two_groups_need_two_answers_to_be_one(self):
        session = session_of()
        answer_all(session, Truth(Y), 8)
        ids = session.labels_[[0, 1]].tolist()
        assert ids[0] != ids[1]
        question = Merge([0], [1], "x", (ids[0], ids[1]))
        session.tell(question, "same")
        assert session.labels_[0] != session.labels_[1]
        answer_all(session, Truth(Y), 10)
        session.tell(question._replace(id="y"), "same")
        assert session.labels_[0] == session.labels_[1]

    def test_wrong_answers_are_outvoted(self):
        session = session_of()
        answer_all(session, Truth(Y, wrong=0.1, random_state=1), 140)
        assert adjusted_rand_score(Y, session.labels_) > 0.85

    def test_corrections_of_clusters_stay(self):
        session = session_of()
        answer_all(session, Truth(Y), 30)
        a, b = session.labels_[0], session.labels_[1]
        session.move([0], int(b))
        assert session.labels_[0] == b
        rows = np.flatnonzero(session.labels_ == a)[:4]
        new = session.split(int(a), rows.tolist())
        assert (session.labels_[rows] == new).all()
        session.merge(int(a), new)
        assert (session.labels_[rows] == a).all()
        session.rename(int(a), "first")
        session.confirm(int(a))
        assert session.names == {int(a): "first"}

    def test_a_fit_leaves_a_model_that_predicts(self):
        session = session_of()
        run(session, Truth(Y), budget=20)
        assert session.n_answers == 20
        assert len(session.model_.predict(X[:3])) == 3
        assert not np.isnan(session.doubt()).any()

    def test_any_function_of_two_rows_answers_all_kinds(self):
        session = session_of()
        run(session, lambda i, j: bool(Y[i] == Y[j]), budget=40)
        assert adjusted_rand_score(Y, session.labels_) > 0.9


class TestTime:
    def test_a_run_ends_when_its_seconds_are_spent(self):
        spent = []
        session = session_of(prices={"which": 10})

        def watch(session, n):
            spent.append(session.log.events[-1]["seconds"])

        run(session, Truth(Y), seconds=100, prices={"which": 10}, on_answer=watch)
        assert 80 <= sum(spent) <= 100

    def test_a_run_needs_an_end(self):
        with pytest.raises(ValueError, match="budget"):
            run(session_of(), Truth(Y))

    def test_prices_are_measured_from_twenty_answers_on(self):
        session = session_of(prices=None, questions=("which",))
        for _ in range(20):
            question = session.ask()
            session.tell(question, answer_to(Truth(Y), question), seconds=11.0)
        assert session.prices == Prices(which=11.0)

    def test_a_second_page_and_marks_cost_more(self):
        which = Which(0, [[1]] * 10, "", list(range(10)))
        assert which.seconds(3, Prices()) == 6.0
        assert which.seconds("none", Prices()) == 9.0
        assert Grid([0], [1, 2, 3], "", 0).seconds([0, 2], Prices()) == 10.0


class TestEnough:
    def test_it_is_never_said_with_fewer_than_ten_checks(self):
        session = session_of()
        for _ in range(150):
            if not answer_all(session, Truth(Y), 1):
                break
            status = session.status()
            assert not status.enough or status.check[1] >= 10
            assert status.enough == status.sentence.startswith("Enough")

    def test_a_run_ends_when_it_is_enough(self):
        rows, classes = make_rows(900, spread=0.9)
        session = Session(rows, MODEL, questions="auto", prices={})
        run(session, Truth(classes), budget=250, until="enough")
        status = session.status()
        assert status.enough and status.n_answers < 250 and status.bound >= 0.7

    def test_it_is_not_said_on_noise(self):
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(200, 60))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        classes = rng.integers(4, size=200)
        session = Session(noise, KernelCSC(4), questions="auto", prices={})
        for _ in range(150):
            if not answer_all(session, Truth(classes), 1):
                break
            assert not session.status().enough


class TestLog:
    def test_a_session_goes_on_bit_for_bit(self, tmp_path):
        path = tmp_path / "log.jsonl"
        with session_of(path) as session:
            answer_all(session, Truth(Y), 25)
            labels, question = session.labels_, session.ask()
        with session_of(path) as again:
            assert again.ask() == question
            assert np.array_equal(again.labels_, labels)
            again.undo(3)
            answer_all(again, Truth(Y), 5)
            labels, question = again.labels_, again.ask()
        with session_of(path) as third:
            assert third.ask() == question
            assert np.array_equal(third.labels_, labels)

    def test_a_log_of_schema_1_opens(self, tmp_path):
        path = tmp_path / "log.jsonl"
        with Session(X, MODEL, log=path) as session:
            for _ in range(6):
                question = session.ask()
                session.tell(question, Truth(Y)(question.i, question.j))
        lines = path.read_text().splitlines()
        first = json.loads(lines[0]) | {"schema": 1}
        lines[0] = json.dumps(first)
        answer = json.loads(lines[-1])
        answer["kind"] = answer.pop("purpose", "check")
        lines[-1] = json.dumps(answer)
        path.write_text("\n".join(lines) + "\n")
        with session_of(path) as again:
            assert again.n_answers == 6 and again.ask().kind == "which"
            answer_all(again, Truth(Y), 10)
        with Session(X, MODEL, log=path) as pairs:
            assert pairs.ask().kind == "pair" and pairs.n_answers == 16

    def test_answers_about_groups_are_joined_as_pairs(self, tmp_path):
        path = tmp_path / "one.jsonl"
        with session_of(path) as session:
            answer_all(session, Truth(Y), 20)
        other = Session(X, MODEL)
        counts = other.join(path)
        assert counts["taken"] > 10 and counts["conflicts"] == counts["lost"] == 0
        assert other.join(path)["taken"] == 0

    def test_rows_in_another_order_keep_their_votes(self, tmp_path):
        path = tmp_path / "log.jsonl"
        with session_of(path) as session:
            answer_all(session, Truth(Y), 25)
            n_must = len(session.constraints_.must_link)
        order = np.random.default_rng(0).permutation(len(X))
        with Session(X[order], MODEL, log=path, questions="auto") as again:
            pairs = again.constraints_
            ends = Y[order][pairs.must_link]
            assert len(ends) == n_must and (ends[:, 0] == ends[:, 1]).all()

    @pytest.mark.parametrize(
        "change",
        [
            {"groups": []},
            {"groups": [0, 0]},
            {"answer": 55},
            {"answer": "none"},
            {"answer": -1},
            {"answer": True},
            {"shown": [["a"]] * 40},
            {"row": None},
            {"seconds": -1},
            {"p": 7},
            {"guess": 2**40},
        ],
    )
    def test_hostile_answers_are_refused(self, tmp_path, change):
        path = tmp_path / "log.jsonl"
        with session_of(path) as session:
            answer_all(session, Truth(Y), 3)
            session.tell(session.ask(), 0)
        lines = path.read_text().splitlines()
        lines[-1] = json.dumps(json.loads(lines[-1]) | change)
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(LogError, match=f"line {len(lines)}"):
            session_of(path)

    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.integers(0, 5), min_size=5, max_size=25), st.integers(0, 99))
    def test_random_lives_replay(self, tmp_path_factory, moves, seed):
        path = tmp_path_factory.mktemp("life") / "log.jsonl"
        oracle = Truth(Y, wrong=0.2, unsure=0.1, random_state=seed)
        rng = np.random.default_rng(seed)
        with session_of(path) as session:
            for move in moves:
                if move == 0:
                    session.undo()
                elif move == 1:
                    session.redo()
                elif move == 2:
                    i, j = rng.choice(len(X), 2, replace=False).tolist()
                    session.tell((i, j), oracle(i, j))
                else:
                    answer_all(session, oracle, move)
            question, labels = session.ask(), session.labels_
            pairs = session.constraints_
        with session_of(path) as again:
            assert again.ask() == question
            assert np.array_equal(again.labels_, labels)
            assert np.array_equal(again.constraints_.must_link, pairs.must_link)

    @pytest.mark.skipif(os.name != "posix", reason="kill -9")
    def test_a_killed_session_loses_no_answer_that_was_told(self, tmp_path):
        path = tmp_path / "log.jsonl"
        code = (
            "import sys; sys.path.insert(0, sys.argv[2])\n"
            "from test_groups import *\n"
            "with session_of(sys.argv[1]) as session:\n"
            "    while True:\n"
            "        answer_all(session, Truth(Y), 1)\n"
            "        print(session.n_answers, flush=True)\n"
        )
        here = os.path.dirname(__file__)
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, str(path), here],
            stdout=subprocess.PIPE,
            text=True,
        )
        told = [int(child.stdout.readline()) for _ in range(9)][-1]
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with session_of(path) as session:
            assert session.n_answers >= told and session.ask() is not None


class TestTables:
    def test_rows_of_a_table_are_asked_about_in_the_same_way(self):
        rng = np.random.default_rng(0)
        y = np.arange(90) % 3
        table = rng.normal(size=(90, 4)) + 4.0 * rng.normal(size=(3, 4))[y]
        model = KernelCSC(3, n_candidates=10, random_state=0)
        session = Session(table, model, questions="auto", prices={})
        run(session, Truth(y), budget=25)
        assert adjusted_rand_score(y, session.labels_) > 0.9

    def test_a_session_about_a_table_goes_on_bit_for_bit(self, tmp_path):
        rng = np.random.default_rng(0)
        y = np.arange(90) % 3
        table = rng.normal(size=(90, 4)) + 2.0 * rng.normal(size=(3, 4))[y]
        more = {"questions": "auto", "prices": {}, "log": tmp_path / "log.jsonl"}
        model = KernelCSC(3, n_candidates=10, random_state=0)
        with Session(table, model, **more) as session:
            answer_all(session, Truth(y), 6)
            session.fit()
            answer_all(session, Truth(y), 3)
            labels, question = session.labels_, session.ask()
        with Session(table, model, **more) as again:
            assert again.ask() == question
            assert np.array_equal(again.labels_, labels)


def test_a_question_about_groups_needs_a_session_that_asks_them():
    session = Session(X, MODEL)
    with pytest.raises(ValueError, match="takes no answers"):
        session.tell(Grid([0], [5], "1:grid:a", 0), [])


def test_a_pair_is_a_question():
    assert Question(0, 1, "a").kind == "pair"
