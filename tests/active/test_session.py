"""Sessions: answers, contradictions, corrections, clusters, and their replay."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import ConstrainedKernelKMeans, Constraints, KernelCSC
from linkwise.active import FitStopped, LogError, OracleError, Session, Truth, run
from linkwise.active._state import replay

X, Y = make_blobs(45, centers=3, random_state=0)
FIXED = ConstrainedKernelKMeans(3, random_state=0)
needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="from scikit-learn 1.9 on"
)


def session_of(**options):
    return Session(X, FIXED, **options)


class TestTelling:
    def test_an_answer_counts_and_what_follows_is_counted(self):
        session = session_of()
        assert session.tell((0, 1), "same").n_implied == 1
        assert session.tell((1, 2), True).n_implied == 2
        assert session.tell((2, 3), "different").n_implied == 3
        assert session.tell((3, 4), "same").n_implied == 4
        assert session.n_follow == 10
        assert session.constraints_ == Constraints([(0, 1), (1, 2), (3, 4)], [(2, 3)])

    def test_unsure_is_no_pair(self):
        session = session_of()
        session.tell((0, 1), "unsure")
        assert session.constraints_.is_empty and session.status().n_unsure == 1

    def test_the_same_answer_to_the_same_question_counts_once(self):
        session = session_of()
        question = session.ask()
        session.tell(question, "same")
        n_events = len(session.log.events)
        assert session.tell(question, "same").is_stored
        assert len(session.log.events) == n_events
        session.undo()
        session.tell(question, "same")
        assert session.constraints_.n_must_link == 1

    def test_a_pipeline_is_given_pairs(self):
        model = make_pipeline(StandardScaler(), FIXED)
        assert len(run(Session(X, model), Truth(Y), 8).labels_) == 45

    def test_weights_and_names(self):
        session = session_of()
        session.tell((0, 1), "same", who="me", weight=0.5)
        assert session.constraints_.must_link_weight.tolist() == [0.5]
        assert session.history["who"].tolist() == ["me"]

    @pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
    def test_weights_may_be_numbers_of_numpy(self, tmp_path, kind):
        log = tmp_path / "log.jsonl"
        with session_of(log=log) as session:
            session.tell((0, 1), "same", weight=kind(2))
        with session_of(log=log) as session:
            assert session.constraints_.must_link_weight.tolist() == [2.0]

    @pytest.mark.parametrize("n", [-1, 0, 1.5, "3", True])
    def test_a_number_of_questions_that_is_none_is_refused(self, n):
        with pytest.raises(ValueError, match=f"n={n!r}: .* at least 1"):
            session_of().ask(n)

    def test_whole_constraints(self):
        pairs = Constraints([(0, 1), (2, 3)], [(1, 2)])
        session = session_of(constraints=pairs)
        assert session.constraints_ == pairs

    def test_known_pairs_are_added_to_a_log_with_their_weights(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with session_of(log=log) as session:
            session.tell((0, 1), "same")
            session.tell((2, 3), "same")
            session.change(2, "removed")
        pairs = Constraints([(0, 1), (2, 3), (5, 6)], [], [0.3, 0.3, 0.2])
        for _ in range(2):
            with session_of(log=log, constraints=pairs) as session:
                assert session.constraints_ == Constraints(
                    [(0, 1), (5, 6)], [], [1.0, 0.2]
                )

    @pytest.mark.parametrize(
        "question, answer, options, message",
        [
            ((0, 1), "maybe", {}, "answer='maybe': allowed are"),
            ((0, 99), "same", {}, "no row 99"),
            ((1, 1), "same", {}, "needs two rows"),
            ((0, 1), "same", {"weight": 0.0}, "weight=0.0"),
            ((0, 1), "same", {"weight": np.nan}, "weight=nan"),
            ((0, 1), "same", {"weight": "heavy"}, "weight='heavy'"),
        ],
    )
    def test_bad_answers_leave_no_trace(self, question, answer, options, message):
        session = session_of()
        with pytest.raises(ValueError, match=message):
            session.tell(question, answer, **options)
        assert len(session.log.events) == 1


class TestContradictions:
    @pytest.fixture
    def told(self):
        session = session_of()
        for i, j, word in [(0, 1, "same"), (1, 2, "same"), (2, 3, "different")]:
            session.tell((i, j), word)
        return session, session.tell((0, 2), "different")

    def test_it_is_set_aside_with_its_chain(self, told):
        session, result = told
        assert not result.is_stored
        assert [(a.i, a.j) for a in result.conflict.chain] == [(0, 1), (1, 2)]
        assert session.conflicts() == [result.conflict]
        assert session.constraints_.n_cannot_link == 1

    def test_this_one_goes(self, told):
        session, result = told
        session.resolve(result.conflict, "this")
        assert session.conflicts() == [] and session.constraints_.n_must_link == 2

    def test_that_one_is_turned_round(self, told):
        session, result = told
        session.resolve(result.conflict, "that", result.conflict.chain[1])
        assert session.conflicts() == []
        assert session.constraints_ == Constraints([(0, 1)], [(0, 2), (1, 2), (2, 3)])

    def test_both_unsure(self, told):
        session, result = told
        session.resolve(result.conflict, "unsure", result.conflict.chain[0])
        assert session.constraints_ == Constraints([(1, 2)], [(2, 3)])

    def test_undo_brings_all_back(self, told):
        session, result = told
        before = session.constraints_
        session.resolve(result.conflict, "that")
        assert session.undo() == 1
        assert session.constraints_ == before
        assert session.conflicts() == [result.conflict]
        assert session.undo() == 1 and session.conflicts() == []
        assert session.redo(2) == 2 and session.conflicts() == []

    def test_it_is_settled_once(self, told):
        session, result = told
        with pytest.raises(ValueError, match="choice='no'"):
            session.resolve(result.conflict, "no")
        session.resolve(result.conflict, "aside")
        with pytest.raises(ValueError, match="no open contradiction"):
            session.resolve(result.conflict, "this")

    @pytest.mark.parametrize("how", ["change", "resolve"])
    def test_it_is_an_answer_once_nothing_contradicts_it(self, told, how):
        session, result = told
        other = session.tell((1, 3), "same").conflict
        if how == "change":
            session.change(2, "removed")
        else:
            session.resolve(other, "unsure", other.chain[0])
        assert session.conflicts() == [] and session.status().n_conflicts == 0
        assert (0, 2) in set(map(tuple, session.constraints_.cannot_link.tolist()))

    def test_no_answer_is_lost_where_two_ways_lead_to_a_contradiction(self):
        session = session_of()
        for i, j in [(0, 1), (1, 2), (0, 3), (3, 2)]:
            session.tell((i, j), "same")
        conflict = session.tell((0, 2), "different").conflict
        session.resolve(conflict, "that", conflict.chain[0])
        said = {(i, j) for i, j, _ in session.answers.values()}
        said |= {(c.i, c.j) for c in session.conflicts()}
        assert said == {(0, 1), (1, 2), (0, 3), (3, 2), (0, 2)}
        assert len(session.conflicts()) == 1 and session.status().n_conflicts == 1

    @pytest.mark.parametrize("choice", ["this", "aside"])
    def test_a_change_that_is_called_off_leaves_the_answer(self, choice):
        session = session_of()
        for i, j in [(0, 1), (1, 2), (0, 2)]:
            session.tell((i, j), "same")
        session.resolve(session.change(3, "different").conflict, choice)
        assert session.answers[3] == (0, 2, True) and session.conflicts() == []


class TestTakingBack:
    def test_one_event_alone_whatever_came_after_it(self, tmp_path):
        session = session_of(log=tmp_path / "log.jsonl")
        first = session.tell((0, 1), "same", note="look again").event
        session.tell((1, 2), "different")
        assert session.undoable() == [first + 1, first]
        assert session.undo(event=first) == 1
        assert session.undo(event=first) == session.undo(event=77) == 0
        assert session.constraints_ == Constraints([], [(1, 2)])
        assert session.undoable("redo") == [first]
        assert session.redo(event=first) == 1
        assert session.constraints_ == Constraints([(0, 1)], [(1, 2)])
        assert session.history["note"].tolist() == ["look again", ""]
        session.undo(event=first)
        session.close()
        with session_of(log=tmp_path / "log.jsonl") as later:
            assert later.undoable() == [first + 1]

    def test_a_question_is_recalled_for_the_same_rows_only(self):
        names = [f"r{row}" for row in range(45)]
        question = session_of(ids=names).ask()
        recalled = session_of(ids=names).recall(question.id)
        assert (recalled.i, recalled.j) == (question.i, question.j)
        with pytest.raises(LookupError, match="the rows have changed"):
            session_of(ids=names[1:] + names[:1]).recall(question.id)


class TestCorrections:
    @pytest.fixture
    def session(self):
        return run(session_of(), Truth(Y), 20, fit_every=10)

    def test_merge_survives_refits_and_a_new_cluster_gets_a_new_id(self, session):
        first, second = np.unique(session.labels_)[:2]
        rows = np.isin(session.labels_, [first, second])
        assert session.merge(first, second) == first
        assert set(session.labels_[rows]) == {first}
        for _ in range(3):
            assert session.n_clusters == 2
            session.fit()
            assert len(set(session.labels_)) == 2
        session.undo()
        assert second in session.labels_
        session.fit()
        assert len(set(session.labels_)) == 3 and second in session.labels_

    @pytest.mark.parametrize("n_clusters", [4, "auto"])
    @pytest.mark.parametrize("seed", range(2))
    def test_merging_clusters_that_answers_say_differ_costs_no_third(
        self, n_clusters, seed
    ):
        data, classes = make_blobs(80, centers=4, random_state=seed, cluster_std=1.0)
        model = KernelCSC(n_clusters, n_candidates=30, random_state=0)
        session = run(Session(data, model), Truth(classes), 30, fit_every=10)
        ids = [np.bincount(session.labels_[classes == c]).argmax() for c in range(4)]
        assert len(set(ids)) == 4
        session.merge(ids[0], ids[1])
        merged = np.where(classes == 1, 0, classes)
        score = adjusted_rand_score(merged, session.labels_)
        for _ in range(2):
            session.fit()
            assert adjusted_rand_score(merged, session.labels_) > score - 0.15
            assert set(session.labels_.tolist()) == {ids[0], ids[2], ids[3]}

    def test_a_merge_outranks_earlier_answers_and_later_ones_count(self, session):
        first, second = (int(np.flatnonzero(Y == c)[0]) for c in (0, 1))
        before, earlier = session.answers.copy(), session.constraints_
        session.merge(*(int(session.labels_[Y == c][0]) for c in (0, 1)))
        between = {
            n
            for n, (i, j, s) in before.items()
            if s is False and {Y[i], Y[j]} == {0, 1}
        }
        assert between and set(before) - set(session.answers) == between
        history = session.history.set_index("event")
        assert set(history.loc[sorted(between), "now"]) == {"merged"}
        assert session.constraints_.n_cannot_link == earlier.n_cannot_link - len(
            between
        )
        told = session.tell((first, second), "different")
        assert told.is_stored and session.conflicts() == []
        session.undo(2)
        assert session.answers == before and session.constraints_ == earlier

    def test_undo_after_a_refit_brings_clusters_and_their_names_back(self, session):
        before = session.labels_
        first, second = np.unique(before)[:2].tolist()
        session.rename(second, "bees")
        session.merge(first, second)
        session.fit()
        merged = session.labels_
        session.undo()
        np.testing.assert_array_equal(session.labels_, before)
        session.redo()
        np.testing.assert_array_equal(session.labels_, merged)
        session.undo()
        session.fit()
        assert session.names == {second: "bees"} and second in session.labels_

    def test_split_takes_rows_out(self, session):
        cluster = int(session.labels_[0])
        rows = np.flatnonzero(session.labels_ == cluster)[:4]
        new = session.split(cluster, rows)
        assert new not in (0, 1, 2)
        assert set(session.labels_[rows]) == {new}
        session.fit()
        labels = session.labels_
        assert len(set(labels)) == 4 and len(set(labels[rows])) == 1

    def test_move_puts_rows_elsewhere_until_an_answer_says_otherwise(self, session):
        row = 0
        source = session.labels_[row]
        to = next(c for c in np.unique(session.labels_) if c != source)
        session.move([row], to)
        assert session.labels_[row] == to
        before = session.constraints_.n_must_link
        friend = next(
            i for i in range(1, 45) if session.labels_[i] == source and Y[i] == Y[0]
        )
        session.tell((row, friend), "same")
        assert session.constraints_.n_conflicts == 0
        assert session.constraints_.n_must_link <= before + 1

    def test_rows_that_came_later_are_moved_out_of_no_cluster(self, tmp_path):
        log, names = tmp_path / "log.jsonl", [f"r{i}" for i in range(45)]
        with Session(X[:40], FIXED, ids=names[:40], log=log) as session:
            run(session, Truth(Y), 8)
        with session_of(ids=names, log=log) as session:
            assert session.labels_[44] == -1
            session.move(["r44"], int(session.labels_[0]))
            assert [same for _, _, same in session.log.events[-1]["pairs"]] == [True]

    def test_the_id_of_a_split_that_was_undone_is_not_used_again(self, session):
        cluster = int(session.labels_[0])
        rows = np.flatnonzero(session.labels_ == cluster)
        new = session.split(cluster, rows[:4])
        split = session.undoable()[0]
        session.rename(new, "odd ones")
        session.undo(event=split)
        again = session.split(cluster, rows[4:8])
        assert again != new and again not in session.names
        session.undo()
        session.redo()
        assert again in session.labels_ and session.names == {new: "odd ones"}

    def test_the_id_of_a_cluster_whose_rows_have_gone_is_not_used_again(self, tmp_path):
        log, names = tmp_path / "log.jsonl", np.array([f"r{i}" for i in range(45)])
        with session_of(ids=names, log=log) as session:
            session.fit()
            highest = int(session.labels_.max())
            session.rename(highest, "bees")
            left = session.labels_ != highest
        with Session(X[left], FIXED, ids=names[left], log=log) as session:
            cluster = int(session.labels_[0])
            rows = session.ids[session.labels_ == cluster]
            assert session.split(cluster, rows[:3]) not in session.names
        with session_of(ids=names, log=log) as session:
            assert session.names == {highest: "bees"} and highest in session.labels_

    def test_confirm_ties_and_parts(self, session):
        before = session.constraints_
        session.confirm(int(session.labels_[0]), complete=True)
        after = session.constraints_
        assert after.n_must_link > before.n_must_link
        assert after.n_cannot_link >= before.n_cannot_link

    def test_names_stay(self, session, tmp_path):
        session.rename(int(session.labels_[0]), "returns")
        session.fit()
        assert session.names == {int(session.labels_[0]): "returns"}

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda s: s.merge(0, 77), "no cluster 77"),
            (lambda s: s.merge(0, 0), "two clusters"),
            (lambda s: s.split(0, []), "rows is empty"),
            (lambda s: s.move([99], 0), "no row 99"),
            (lambda s: s.split(int(s.labels_[0]), range(45)), "some, and not all"),
        ],
    )
    def test_bad_ones(self, session, call, message):
        n_events = len(session.log.events)
        with pytest.raises(ValueError, match=message):
            call(session)
        assert len(session.log.events) == n_events

    def test_there_must_be_clusters(self):
        with pytest.raises(ValueError, match="call fit first"):
            session_of().merge(0, 1)


class TestChanges:
    @pytest.fixture
    def session(self, tmp_path):
        self.opened = []
        session = self.again(tmp_path / "log.jsonl")
        for i, j, word in [(0, 1, "same"), (1, 2, "same"), (2, 3, "different")]:
            session.tell((i, j), word)
        yield session
        self.opened[-1].close()

    def again(self, path):
        for session in self.opened:
            session.close()
        self.opened.append(session_of(log=path))
        return self.opened[-1]

    def test_an_answer_can_be_changed_and_taken_out(self, session):
        session.change(1, "different")
        assert session.constraints_ == Constraints([(1, 2)], [(0, 1), (2, 3)])
        session.change(2, "removed")
        assert session.constraints_ == Constraints([], [(0, 1), (2, 3)])
        assert session.history["now"].tolist()[:3] == [
            "different",
            "removed",
            "different",
        ]
        session.undo(2)
        assert session.constraints_ == Constraints([(0, 1), (1, 2)], [(2, 3)])

    def test_a_change_that_contradicts_others_is_set_aside(self, session):
        session.tell((0, 3), "different")
        told = session.change(4, "same")
        assert not told.is_stored and [a.event for a in told.conflict.chain] == [
            1,
            2,
            3,
        ]
        session = self.again(session.log.path)
        (conflict,) = session.conflicts()
        session.resolve(conflict, "that", conflict.chain[2])
        assert session.constraints_ == Constraints([(0, 1), (0, 3), (1, 2), (2, 3)], [])

    def test_only_answers_that_count_can_be_changed(self, session):
        for event, answer in [(0, "same"), (9, "same"), (1, "maybe")]:
            with pytest.raises(ValueError, match="no answer|answer='maybe'"):
                session.change(event, answer)

    def test_notes_and_the_criterion_are_kept(self, session):
        session.note(2, "look again")
        session.describe("the same plant")
        session = self.again(session.log.path)
        assert session.history["note"].tolist()[1] == "look again"
        assert session.criterion == "the same plant"
        session.undo()
        assert session.criterion == ""
        with pytest.raises(ValueError, match="no event 99"):
            session.note(99, "")

    def test_a_request_that_comes_again_is_recognised_after_a_restart(self, session):
        with session.signed(who="Ann", attempt="r1"):
            told = session.tell((5, 6), "same")
        assert session.done("r1") == told.event and session.done("r2") is None
        session.undo()
        session = self.again(session.log.path)
        assert session.done("r1") == told.event
        assert session.history["who"].tolist()[-1] == "Ann"
        assert "attempt" not in session.log.events[-1]


class TestFitInAnotherThread:
    def test_it_knows_the_answers_it_began_with(self, tmp_path):
        model = KernelCSC(3, n_candidates=20, random_state=0)
        session = Session(X, model, log=tmp_path / "log.jsonl")
        run(session, Truth(Y), 6, fit_every=100)
        fitting = session.prepare_fit()
        session.tell((0, 44), "unsure")
        fitting.run()
        session.finish_fit(fitting)
        event = session.log.events[-1]
        assert event["event"] == "fit" and event["at"] == len(session.log.events) - 2
        weights = session._fitter.committee.weights
        session.close()
        again = Session(X, model, log=session.log.path)
        again.waits_for_fits = False
        assert again.ask().p_same is None  # nobody waits
        earlier = again.prepare_fit()
        assert not earlier.is_new
        again.finish_fit(earlier.run())
        assert len(again.log.events) == len(session.log.events)
        np.testing.assert_array_equal(again._fitter.committee.weights, weights)
        again.close()

    def test_what_is_said_after_a_restart_is_in_the_next_fit(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with session_of(log=log) as session:
            run(session, Truth(Y), 8)
        with session_of(log=log) as again:
            assert not again.prepare_fit().is_new
            again.merge(*np.unique(again.labels_)[:2].tolist())
            assert again.prepare_fit().is_new

    @needs_callbacks
    @pytest.mark.parametrize("is_step", [False, True])
    def test_it_tells_of_every_candidate(self, is_step):
        model = KernelCSC(3, n_candidates=20, random_state=0)
        model = make_pipeline(StandardScaler(), model) if is_step else model
        session = Session(X, model)
        session.tell((0, 1), "same")
        seen = []
        found = session.prepare_fit().run(lambda n: seen.append(n) or True)
        assert seen == list(range(1, 21))
        last = found.model[-1] if is_step else found.model
        assert not hasattr(last, "_skl_callbacks")
        np.testing.assert_array_equal(found.labels, session.prepare_fit().run().labels)

    @needs_callbacks
    def test_it_can_be_given_up(self):
        session = Session(X, KernelCSC(3, n_candidates=20, random_state=0))
        session.tell((0, 1), "same")
        with pytest.raises(FitStopped):
            session.prepare_fit().run(lambda n: n < 3)
        assert not session.is_fitted

    @needs_callbacks
    def test_callbacks_of_the_estimator_are_told_as_well(self):
        ended = []

        class Own:
            setup = teardown = on_fit_task_begin = lambda self, estimator, context: None

            def on_fit_task_end(self, estimator, context):
                ended.append(context.task_name)

        own = Own()
        model = KernelCSC(3, n_candidates=20, random_state=0).set_callbacks(own)
        session = Session(X, model)
        session.tell((0, 1), "same")
        found = session.prepare_fit().run(lambda n: True)
        assert ended == ["candidate"] * 20 + ["fit"]
        assert found.model._skl_callbacks == [own]

    def test_an_estimator_of_others_keeps_its_jobs(self):
        class Other(BaseEstimator):
            def __init__(self, n_clusters=2, n_jobs=None):
                self.n_clusters, self.n_jobs = n_clusters, n_jobs

            def fit(self, X, constraints=None):
                assert self.n_jobs is None
                self.labels_ = np.arange(len(X)) % self.n_clusters
                return self

        session = Session(X, Other(3))
        session.finish_fit(session.prepare_fit().run(lambda n: True))
        assert len(np.unique(session.labels_)) == 3


class TestCorrectionsThatStay:
    def test_all_kinds_survive_ten_refits_and_a_restart(self, tmp_path):
        model = KernelCSC(4, n_candidates=20, random_state=0)
        session = Session(X, model, log=tmp_path / "log.jsonl")
        run(session, Truth(Y), 10, fit_every=10)
        first, second, third = np.unique(session.labels_)[:3].tolist()
        session.merge(first, second)
        rows = np.flatnonzero(session.labels_ == first)[::3][:4]
        new = session.split(first, rows)
        moved = np.flatnonzero(session.labels_ == first)[:2]
        session.move(moved, third)
        session.rename(new, "odd ones")
        rng = np.random.default_rng(0)
        for _ in range(10):
            i, j = rng.choice(45, 2, replace=False).tolist()
            session.tell((i, j), "unsure")
            session.fit()
            labels = session.labels_
            assert set(labels[rows]) == {new} and set(labels[moved]) == {third}
            assert second not in labels and len(set(labels)) == 4
        before = session.labels_
        session.close()
        again = Session(X, model, log=session.log.path)
        np.testing.assert_array_equal(again.labels_, before)
        assert again.names == {new: "odd ones"}
        again.fit()
        assert set(again.labels_[rows]) == {new}
        assert set(again.labels_[moved]) == {third}
        again.close()

    def test_one_row_that_is_split_off_stays_alone(self):
        session = run(session_of(), Truth(Y), 20, fit_every=10)
        told = {row for i, j, _ in session.answers.values() for row in (i, j)}
        row = next(row for row in range(45) if row not in told)
        new = session.split(int(session.labels_[row]), [row])
        session.fit()
        assert np.flatnonzero(session.labels_ == new).tolist() == [row]

    def test_rows_stay_where_the_cluster_they_were_moved_to_has_gone(self):
        session = run(session_of(), Truth(Y), 20, fit_every=10)
        first, second, third = np.unique(session.labels_).tolist()
        moved = np.flatnonzero(session.labels_ == first)[:3]
        session.move(moved, second)
        session.merge(third, second)
        session.fit()
        assert set(session.labels_[moved]) == {third}

    @pytest.mark.parametrize("n_clusters", [3, "auto"])
    def test_a_merge_while_a_fit_runs_holds(self, n_clusters):
        model = KernelCSC(n_clusters, n_candidates=20, random_state=0)
        session = run(Session(X, model), Truth(Y), 30, fit_every=10)
        first, second, third = np.unique(session.labels_).tolist()
        fitting = session.prepare_fit().run()
        session.merge(first, second)
        session.finish_fit(fitting)
        assert set(session.labels_.tolist()) == {first, third}

    def test_an_answer_wins_over_a_move(self):
        session = run(session_of(), Truth(Y), 20, fit_every=10)
        row, friend = 0, next(i for i in range(1, 45) if Y[i] == Y[0])
        source = session.labels_[row]
        to = next(c for c in np.unique(session.labels_) if c != source)
        session.move([row], to)
        session.fit()
        assert session.labels_[row] == to
        others = np.flatnonzero((session.labels_ == to) & (np.arange(45) != row))
        for other in others:
            session.tell((row, int(other)), "different")
        session.tell((row, friend), "same")
        session.fit()
        assert session.labels_[row] != to


class TestFit:
    def test_ids_stay_with_their_clusters(self):
        session = run(session_of(), Truth(Y), 10)
        earlier = session.labels_
        run(session, Truth(Y), 10)
        assert (earlier == session.labels_).mean() > 0.9

    def test_labels_before_the_first_fit_are_refused_with_advice(self):
        session = session_of()
        session.tell((0, 1), "same")
        with pytest.raises(NotFittedError, match=r"call fit\(\) first"):
            session.labels_  # noqa: B018
        assert not session.is_fitted and not hasattr(session, "labels_")
        assert len(session.fit().labels_) == 45 and session.is_fitted

    def test_far_rows_stay_out_of_clusters_over_fits_and_corrections(self):
        model = KernelCSC(3, n_candidates=20, far=0.1, random_state=0)
        session = Session(X, model)
        for _ in range(4):
            run(session, Truth(Y), 5)
            labels = session.labels_
            assert (labels == -1).sum() == 4
            assert set(labels.tolist()) == {-1, 0, 1, 2}
        rows = np.flatnonzero(labels == 0)[:5]
        new = session.split(0, rows)
        session.fit()
        assert set(session.labels_.tolist()) == {-1, 0, 1, 2, new}

    def test_as_many_clusters_as_groups_if_the_number_is_not_known(self):
        model = KernelCSC("auto", n_candidates=10, random_state=0)
        session = run(Session(X, model), Truth(Y), 40)
        assert len(set(session.labels_)) == session.status().n_groups == 3

    def test_status_says_enough_when_nothing_surprises(self):
        data, classes = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)
        session = Session(data, KernelCSC(3, n_candidates=20, random_state=0))
        assert not session.status().enough
        run(session, Truth(classes), 40, fit_every=10)
        status = session.status()
        assert not status.enough and "of 10 random checks" in status.sentence
        run(session, Truth(classes), 60, fit_every=10)  # then every row is known
        status = session.status()
        assert status.enough and status.sentence.startswith("Enough")
        assert adjusted_rand_score(classes, session.labels_) == 1.0

    def test_doubt(self):
        model = KernelCSC(3, n_candidates=20, random_state=0)
        session = run(Session(X, model), Truth(Y), 20)
        assert ((session.doubt() >= 0) & (session.doubt() <= 1)).all()
        assert np.isnan(run(session_of(), Truth(Y), 5).doubt()).all()

    def test_of_many_rows_some_stand_for_all(self, monkeypatch):
        monkeypatch.setattr("linkwise.active._fitter._MANY_ROWS", 40)
        monkeypatch.setattr("linkwise.active._fitter._WORKING_ROWS", 10)
        model = KernelCSC(3, n_candidates=20, random_state=0)
        session = run(Session(X, model), Truth(Y), 40, fit_every=10)
        assert session.model_.approximation_ == "working_set"
        assert len(session.labels_) == 45 and not np.isnan(session.status().trust)

    def test_tables_with_names(self, tmp_path):
        frame = pd.DataFrame(X, columns=["a", "b"])
        frame["colour"] = np.where(Y == 0, "red", "blue")
        frame["id"] = [f"r{i}" for i in range(45)]
        log = tmp_path / "log.jsonl"
        with Session(frame, FIXED, id_column="id", log=log) as session:
            run(session, Truth(Y), 15)
            session.tell(("r1", "r2"), "unsure")
            n = session.status().n_answers
            labels = pd.Series(session.labels_, frame["id"])
        # Rows in another order, and some of them gone.
        changed = frame.iloc[::-1].iloc[:40]
        with Session(changed, FIXED, id_column="id", log=log) as session:
            status = session.status()
            assert status.n_answers + status.n_lost >= n > status.n_lost
            now = pd.Series(session.labels_, changed["id"])
            pd.testing.assert_series_equal(now, labels[changed["id"]])

    @pytest.mark.parametrize("names", [range(100, 145), range(45)])
    def test_numbers_that_become_texts_name_the_same_rows(self, tmp_path, names):
        log = tmp_path / "log.jsonl"
        numbers, texts = list(names), [str(name) for name in names]
        for ids in (numbers, texts, numbers):
            with session_of(log=log, ids=ids) as session:
                session.tell((ids[0], ids[1 + session.n_answers]), "same")
                session.fit()
        more = np.vstack([X, X[:1]])
        with Session(more, FIXED, log=log, ids=[*texts, "12a"]) as session:
            assert session.n_answers == 3 and session.status().n_lost == 0
            assert (session.labels_[:45] >= 0).all()

    def test_half_of_a_character_is_a_name(self):
        session = session_of()
        session.tell((0, 1), "same", who="\ud800")
        assert session.history["who"].tolist() == ["\ud800"]

    def test_numbers_of_any_kind_are_names(self, tmp_path):
        log = tmp_path / "log.jsonl"
        for ids in (np.array([*map(np.int64, range(45))], object), range(45)):
            with session_of(log=log, ids=ids) as session:
                session.tell((0, 1 + session.n_answers), "same")
        assert session.n_answers == 2

    @pytest.mark.parametrize(
        "ids",
        [
            pd.date_range("2020", periods=45),
            [(i, i) for i in range(45)],
            np.arange(45, dtype=np.uint64) + np.uint64(2**63),
            [*range(44), float("inf")],
        ],
    )
    def test_names_that_a_log_cannot_keep_are_refused(self, tmp_path, ids):
        log = tmp_path / "log.jsonl"
        with pytest.raises(ValueError, match="ids: .* texts"):
            session_of(log=log, ids=ids)
        assert not log.exists()

    @pytest.mark.parametrize(
        "data, options, message",
        [
            (X, {"id_column": "id"}, "needs a data frame"),
            (X[:1], {}, "minimum of 2"),
            (np.where(X > 5, np.nan, X), {}, "NaN"),
            (X, {"ids": [1, 2]}, "2 entries"),
            (X, {"ids": [1] * 45}, "each once"),
            (pd.DataFrame({"a": [1, 1]}), {"id_column": "b"}, "no column"),
            (pd.DataFrame({"a": [1, 1]}), {"id_column": "a"}, "each once"),
            (X, {"askable": [99]}, "askable must name rows"),
            (X, {"askable": np.ones(3, bool)}, "as a mask"),
        ],
    )
    def test_bad_data(self, data, options, message):
        with pytest.raises(ValueError, match=message):
            Session(data, FIXED, **options)


def as_table(rows):
    frame = pd.DataFrame(rows, columns=["a", "b"])
    frame["colour"] = np.where(frame["a"] > 0, "red", "blue")
    frame.loc[frame["b"] > 4, "b"] = np.nan
    return frame


class TestRowsWithoutIds:
    """They are found again by what is in them."""

    KINDS = [np.asarray, pd.DataFrame, csr_array, as_table]

    @pytest.mark.parametrize("make", KINDS)
    def test_answers_and_clusters_follow_rows_in_another_order(self, tmp_path, make):
        log = tmp_path / "log.jsonl"
        with Session(make(X), FIXED, log=log) as session:
            run(session, Truth(Y), 15)
            session.move([7], int(session.labels_[0]))
            before, labels = session.constraints_, session.labels_
        order = np.random.default_rng(0).permutation(45)
        place = np.argsort(order)
        for _ in range(2):
            with Session(make(X[order]), FIXED, log=log) as session:
                assert session.constraints_ == Constraints(
                    place[before.must_link],
                    place[before.cannot_link],
                    before.must_link_weight,
                    before.cannot_link_weight,
                )
                np.testing.assert_array_equal(session.labels_, labels[order])
        with Session(make(X[order]), FIXED, log=log) as session:
            session.undo(2)
            run(session, Truth(Y[order]), 10)
            after = session.constraints_
            assert session.conflicts() == []
        with Session(make(X), FIXED, log=log) as session:
            assert session.constraints_.n_must_link == after.n_must_link
            for i, j, is_same in session.answers.values():
                assert (Y[i] == Y[j]) == is_same

    def test_rows_may_come_and_go_and_come_back(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with Session(X[:40], FIXED, log=log) as session:
            session.tell((0, 1), "same")
            session.tell((30, 39), "different")
            labels = session.fit().labels_
        with session_of(log=log) as session:
            assert session.answers == {1: (0, 1, True), 2: (30, 39, False)}
            np.testing.assert_array_equal(session.labels_[:40], labels)
            session.tell((1, 44), "same")
        with (
            pytest.warns(UserWarning, match="2 of 3 answers are set aside"),
            Session(X[:35], FIXED, log=log) as session,
        ):
            assert session.status().n_lost == 2
        with session_of(log=log) as session:
            assert session.n_answers == 3 and session.status().n_lost == 0

    def test_an_answer_about_a_row_with_another_value_is_set_aside(self, tmp_path):
        log, other = tmp_path / "log.jsonl", X.copy()
        with session_of(log=log) as session:
            question = session.ask()
            session.tell(question, "same")
            i, j = [row for row in range(45) if row not in question[:2]][:2]
            session.tell((i, j), "different")
        other[question.i, 0] += 1.0
        with (
            pytest.warns(UserWarning, match="1 of 2 answers .* ids="),
            Session(other, FIXED, log=log) as session,
        ):
            assert list(session.answers.values()) == [(i, j, False)]
            assert str(session.history["i"][0]) == f"{question.i} (gone)"
            with pytest.raises(LookupError, match="rows have changed"):
                session.recall(question.id)

    def test_a_log_of_other_rows_is_refused_and_left_as_it_is(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with session_of(log=log) as session:
            session.tell((0, 1), "same")
        content = log.read_bytes()
        with pytest.raises(LogError, match="none of its 1 answers .* ids=range"):
            Session(X + 1.0, FIXED, log=log)
        assert log.read_bytes() == content
        with Session(X + 1.0, FIXED, log=log, ids=range(45)) as session:
            assert session.answers == {1: (0, 1, True)}

    def test_a_log_with_ids_does_not_name_rows_by_numbers(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with session_of(log=log, ids=range(1, 46)) as session:
            session.tell((1, 2), "same")
        with pytest.raises(LogError, match="name rows by ids"):
            session_of(log=log)

    @pytest.mark.parametrize("ids", [range(1, 46), [f"r{i}" for i in range(45)]])
    def test_rows_that_have_got_ids_are_found_once_more(self, tmp_path, ids):
        log, order = tmp_path / "log.jsonl", np.arange(45)[::-1]
        with session_of(log=log) as session:
            session.tell((3, 4), "same")
        with Session(X[order], FIXED, log=log, ids=ids) as session:
            assert session.answers == {1: (41, 40, True)}
            session.tell((ids[0], ids[1]), "different")
        with Session(X + 1.0, FIXED, log=log, ids=ids) as session:
            assert list(session.answers.values()) == [(0, 1, False)]

    def test_logs_of_earlier_versions_are_about_the_same_numbers(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with Session(X[:40], FIXED, log=log) as session:
            session.tell((0, 1), "same")
            session.tell((38, 39), "different")
            labels = session.fit().labels_
        events = [json.loads(line) for line in log.read_text().splitlines()]
        del events[0]["content"]
        log.write_text("".join(json.dumps(event) + "\n" for event in events))
        with (
            pytest.warns(UserWarning, match="does not say what is in its rows"),
            session_of(log=log) as session,
        ):
            assert session.n_answers == 2
        with Session(X[::-1], FIXED, log=log) as session:
            assert session.answers == {1: (44, 43, True), 2: (6, 5, False)}
            np.testing.assert_array_equal(session.labels_[5:], labels[::-1])

    def test_a_log_of_very_many_rows_is_opened_in_little_memory(self, tmp_path):
        log = tmp_path / "log.jsonl"
        with session_of(log=log) as session:
            session.tell((0, 1), "same")
        first, *lines = log.read_text().splitlines(keepends=True)
        old = {**json.loads(first), "rows": 30_000_000, "content": None}
        new = {**json.loads(first), "event": "rows"}
        del new["schema"]
        rest = [json.dumps(event) + "\n" for event in (old, new)]
        log.write_text("".join([rest[0], *lines, rest[1]]))
        for rows in (X, X[::-1]):
            tracemalloc.start()
            with Session(rows, FIXED, log=log) as session:
                assert session.n_answers == 1
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 20 * 2**20

    def test_logs_of_people_with_rows_in_another_order_are_joined(self, tmp_path):
        log, order = tmp_path / "log.jsonl", np.arange(45)[::-1]
        with Session(X[order], FIXED, log=log) as session:
            session.tell((0, 1), "same")
        for options in ({}, {"ids": [f"r{i}" for i in range(45)]}):
            session = session_of(**options)
            assert session.join(log)["taken"] == 1
            assert session.answers == {1: (44, 43, True)}
            assert session.join(log)["before"] == 1
        assert Session(X + 1.0, FIXED).join(log)["lost"] == 1

    def test_what_rows_were_made_of_tells_them_where_features_depend_on_all(
        self, tmp_path
    ):
        log = tmp_path / "log.jsonl"
        for rows in (X[:40], X):
            features = StandardScaler().fit_transform(rows)
            with Session(features, FIXED, original=rows, log=log) as session:
                session.tell((0, 1 + session.n_answers), "same")
        assert session.n_answers == 2
        with pytest.raises(ValueError, match="original has 2 rows"):
            Session(X, FIXED, original=X[:2])

    @settings(max_examples=40, deadline=None)
    @given(
        rows=st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=4, max_size=9),
        data=st.data(),
    )
    def test_no_answer_is_ever_about_rows_with_other_values(self, rows, data):
        rows = np.array(rows, dtype=float)
        numbers = st.integers(0, len(rows) - 1)
        ends = [data.draw(st.lists(numbers, min_size=2, max_size=2, unique=True))]
        ends.append(data.draw(st.lists(numbers, min_size=2, max_size=2, unique=True)))
        later = rows[data.draw(st.lists(numbers, min_size=2, max_size=9))]
        model = ConstrainedKernelKMeans(2, random_state=0)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            log = os.path.join(folder, "log.jsonl")
            with Session(rows, model, log=log) as session:
                for pair in ends:
                    session.tell(pair, "unsure")
            try:
                session = Session(later, model, log=log)
            except LogError:
                session = None
            if session is not None:
                session.close()
                for event, (i, j, _) in session.answers.items():
                    then = sorted(map(tuple, rows[ends[event - 1]]))
                    assert sorted(map(tuple, later[[i, j]])) == then
            # Rows of which there are as many as before are all found.
            is_there = [
                all(
                    (later == row).all(1).sum() >= (rows == row).all(1).sum()
                    for row in rows[pair]
                )
                for pair in ends
            ]
            n_found = 0 if session is None else len(session.answers)
            assert n_found >= sum(is_there)


class TestRun:
    @pytest.mark.parametrize("wrong", [0.0, 0.15])
    def test_no_contradiction_is_left(self, wrong):
        model = KernelCSC(3, n_candidates=15, random_state=0)
        session = run(Session(X, model), Truth(Y, wrong, 0.1), 60, fit_every=20)
        assert session.conflicts() == [] and session.constraints_.n_conflicts == 0

    def test_the_budget_counts_every_answer(self):
        asked = []

        def oracle(i, j):
            asked.append((i, j))
            return Truth(Y, 0.3, random_state=len(asked))(i, j)

        run(session_of(), oracle, 40)
        assert len(asked) == 40

    def test_an_oracle_that_fails_keeps_what_was_told(self):
        def oracle(i, j):
            if len(session.log.events) > 8:
                raise OracleError("no more money")
            return Y[i] == Y[j]

        session = session_of()
        with pytest.raises(OracleError, match="money"):
            run(session, oracle, 40)
        assert session.is_fitted and not session.constraints_.is_empty

    def test_an_answer_that_is_none(self):
        with pytest.raises(OracleError, match="said 'perhaps'"):
            run(session_of(), lambda i, j: "perhaps", 3)

    def test_stops_when_it_is_enough(self):
        data, classes = make_blobs(150, centers=3, cluster_std=0.3, random_state=0)
        model = KernelCSC(3, n_candidates=20, random_state=0)
        stopped, went_on = (
            run(Session(data, model), Truth(classes), 500, fit_every=20, stop=stop)
            for stop in (True, False)
        )
        assert stopped.status().check[1] >= 10
        assert stopped.status().enough and stopped.ask() is not None
        assert went_on.ask() is None
        assert stopped.status().n_answers < went_on.status().n_answers


class Life(RuleBasedStateMachine):
    """Any order of what can be done keeps the log, the state and the pairs in step."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ever = set()  # all clusters that there were
        self.open(range(14))

    def open(self, rows):
        rows = sorted(rows)
        log = os.path.join(self.folder.name, "log.jsonl")
        self.session = Session(X[rows], FIXED, ids=rows, log=log)

    def teardown(self):
        self.session.close()
        self.folder.cleanup()

    @rule(rows=st.sets(st.integers(0, 13), min_size=8))
    def begin_again_with_some_rows(self, rows):
        self.session.close()
        self.open(rows)

    @rule(data=st.data(), said=st.sampled_from("sdu"))
    def tell(self, data, said):
        rows = st.sampled_from(self.session.ids.tolist())
        i, j = data.draw(rows), data.draw(rows)
        if i == j:
            return
        word = {"s": "same", "d": "different", "u": "unsure"}[said]
        self.session.tell((i, j), word)

    @rule(n=st.integers(1, 4))
    def undo(self, n):
        self.session.undo(n)

    @precondition(lambda self: self.session.undoable("undo"))
    @rule(data=st.data())
    def undo_one(self, data):
        events = sorted(self.session.undoable("undo"))
        assert self.session.undo(event=data.draw(st.sampled_from(events))) == 1

    @rule(n=st.integers(1, 4))
    def redo(self, n):
        self.session.redo(n)

    @rule()
    def fit(self):
        before = self.clusters()
        self.session.fit()
        # Rows that were split off come back where a fit has lost them.
        before += [event.get("to") for event in self.session._state.corrections]
        new = set(self.clusters()) - set(before)
        assert not new & self.ever
        self.ever |= new

    @precondition(lambda self: self.session.conflicts())
    @rule(choice=st.sampled_from(["this", "that", "unsure", "aside"]))
    def resolve(self, choice):
        self.session.resolve(self.session.conflicts()[0], choice)

    @precondition(lambda self: self.session.answers)
    @rule(data=st.data(), said=st.sampled_from(["same", "different", "removed"]))
    def change(self, data, said):
        event = data.draw(st.sampled_from(sorted(self.session.answers)))
        self.session.change(event, said)

    def clusters(self):
        if not self.session.is_fitted:
            return []
        labels = self.session.labels_
        return np.unique(labels[labels >= 0]).tolist()

    @precondition(lambda self: len(self.clusters()) > 1)
    @rule()
    def merge(self):
        self.session.merge(*self.clusters()[:2])

    @precondition(lambda self: self.clusters())
    @rule(data=st.data())
    def split(self, data):
        cluster = data.draw(st.sampled_from(self.clusters()))
        rows = self.session.ids[self.session.labels_ == cluster]
        if len(rows) > 1:
            new = self.session.split(cluster, rows[: len(rows) // 2])
            assert new not in self.ever
            self.ever.add(new)

    @precondition(lambda self: self.clusters())
    @rule(data=st.data())
    def move(self, data):
        row = data.draw(st.sampled_from(self.session.ids.tolist()))
        self.session.move([row], data.draw(st.sampled_from(self.clusters())))

    @invariant()
    def pairs_do_not_contradict(self):
        assert self.session.constraints_.n_conflicts == 0

    @invariant()
    def every_conflict_contradicts_and_no_answer_does(self):
        state = self.session._state
        assert len(self.session.conflicts()) == len(state.conflicts)
        for i, j, is_same in state.answers.values():
            assert is_same is None or state.known.relation(i, j) == is_same

    @invariant()
    def the_log_tells_it_all(self):
        session = self.session
        again = replay(session.log.events, len(session.ids), session._record.row_of)
        live = session._state
        assert again.answers == live.answers and again.unsure == live.unsure
        assert again.derived == live.derived and again.conflicts == live.conflicts
        assert again.trust == live.trust and again.next_id == live.next_id
        np.testing.assert_array_equal(again.labels, live.labels)
        for i in range(len(session.ids)):
            for j in range(i):
                assert again.known.relation(i, j) == live.known.relation(i, j)

    @invariant()
    def something_can_be_asked_or_all_is_known(self):
        question = self.session.ask()
        assert question is None or question.i != question.j


class LifeOfClusters(Life):
    """Fits, corrections and what takes them back, and nothing else."""

    tell = resolve = change = undo_one = None
    something_can_be_asked_or_all_is_known = None


TestLifeOfClusters = LifeOfClusters.TestCase
TestLifeOfClusters.settings = settings(
    max_examples=30, stateful_step_count=15, deadline=None
)
TestLife = Life.TestCase
TestLife.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


@pytest.mark.slow
def test_a_thousand_lives():
    many = settings(max_examples=1_000, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(Life, settings=many)


WRITER = """
import sys, numpy as np
from linkwise import ConstrainedKernelKMeans
from linkwise.active import Session
X = np.random.default_rng(0).normal(size=(3000, 2))
session = Session(X, ConstrainedKernelKMeans(3), log=sys.argv[1], strategy="random")
while True:
    question = session.ask()
    session.tell(question, "same" if question.i % 3 == question.j % 3 else "different")
    print(len(session.log.events) - 1, flush=True)
"""


@pytest.mark.parametrize("n_kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_process_loses_no_acknowledged_answer(tmp_path, n_kills):
    log = tmp_path / "log.jsonl"
    rng = np.random.default_rng(n_kills)
    acknowledged = 0
    for _ in range(n_kills):
        command = [sys.executable, "-c", WRITER, str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(rng.integers(1, 25)):
                acknowledged = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            for line in process.stdout:
                acknowledged = int(line) if line.strip().isdigit() else acknowledged
        data = np.random.default_rng(0).normal(size=(3000, 2))
        with Session(data, FIXED, log=log, strategy="random") as session:
            n_events = len(session.log.events) - 1
            assert n_events in (acknowledged, acknowledged + 1)
            pairs = [(e["i"], e["j"]) for e in session.log.events[1:]]
            assert len({frozenset(p) for p in pairs}) == len(pairs)
            acknowledged = n_events
