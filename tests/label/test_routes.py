"""The routes of the page: what a person does, without a browser."""

import json

import numpy as np
import pytest
from tests.label.pages import Page, X, Y

from linkwise.active import FitStopped
from linkwise.label._clusters import look_of
from linkwise.label._desk import _least_share
from linkwise.label._server import Place


def words_of(desk):
    return [e["answer"] for e in desk.session.log.events if e["event"] == "answer"]


class TestAnswers:
    def test_an_answer_is_in_the_log_and_the_next_pair_comes_with_it(self, page):
        question = page.state()["question"]
        assert {"left", "right", "id", "kind"} <= question.keys()
        done = page.answer("different").json()
        assert words_of(page.desk) == ["different"]
        assert done["state"]["question"]["id"] != question["id"]
        assert done["result"]["implied"] == 1
        assert done["state"]["last"][0]["answer"] == "different"

    def test_what_the_committee_expects_is_told_after_the_answer_only(self, page):
        page.answers(5)
        assert page.desk.worker.wait(60)
        page.answers(1)  # it was asked before
        state = page.state()
        assert "p_same" not in json.dumps(state) and "expected" not in json.dumps(state)
        assert page.answer().json()["result"]["expected"] is not None

    def test_a_request_that_comes_twice_counts_once(self, page):
        question = page.state()["question"]
        first = page.answer("same", question, attempt="a1")
        again = page.answer("same", question, attempt="a1")
        assert first.status_code == again.status_code == 200
        assert again.json()["result"] == {"repeated": True}
        assert words_of(page.desk) == ["same"]

    def test_a_request_that_comes_again_after_a_restart_counts_once(
        self, page, make_desk
    ):
        question = page.state()["question"]
        page.answer("same", question, attempt="a1")
        later = Page(make_desk())
        assert later.answer("same", question, attempt="a1").json()["result"] == {
            "repeated": True
        }
        assert words_of(later.desk) == ["same"]

    def test_an_answer_to_a_pair_of_before_a_restart_is_taken(self, page, make_desk):
        question = page.state()["question"]
        later = Page(make_desk())
        assert later.answer("same", question).status_code == 200
        assert words_of(later.desk) == ["same"]

    def test_two_people_get_different_pairs(self, page):
        other = Page(page.desk, "other", who="Ben")
        page.answer("different")
        first, second = page.state()["question"], other.state()["question"]
        assert first["id"].split(":")[1:] != second["id"].split(":")[1:]
        assert page.state()["question"] == first  # it stays until it is answered
        assert other.answer("same").status_code == 200
        assert page.state()["question"] == first
        assert page.answer("different", first).status_code == 200
        whos = [e.get("who") for e in page.desk.session.log.events]
        assert whos.count("Ben") == 1

    def test_a_page_that_leaves_gives_its_pair_back(self, page):
        page.answer("different")
        first = page.state()["question"]
        other = Page(page.desk, "other")
        assert (
            other.state()["question"]["id"].split(":")[1:] != first["id"].split(":")[1:]
        )
        page.desk.leave("page")
        third = Page(page.desk, "third")
        assert third.state()["question"]["left"] == first["left"]
        for number in range(100):
            Page(page.desk, f"p{number}").state()
        assert len(page.desk._shown) <= 20

    def test_a_late_answer_is_refused_with_the_current_pair(self, page):
        question = page.state()["question"]
        page.answer("same", question)
        other = Page(page.desk, "other")
        late = other.answer("different", question)
        assert late.status_code == 409
        assert late.json()["state"]["question"]["id"] != question["id"]
        assert words_of(page.desk) == ["same"]

    def test_unsure_is_no_pair_and_comes_no_more(self, page):
        question = page.state()["question"]
        done = page.answer("unsure").json()["state"]
        assert (
            done["status"]["n_unsure"] == 1 and done["question"]["id"] != question["id"]
        )

    def test_undo_brings_the_pair_back_and_redo_takes_it(self, page, make_desk):
        question = page.state()["question"]
        page.answer("same")
        done = page.send("undo").json()
        assert done["result"]["undone"] == 1
        assert done["state"]["question"]["left"] == question["left"]
        assert done["state"]["status"]["n_answers"] == 0
        assert page.send("redo").json()["state"]["status"]["n_answers"] == 1
        later = Page(make_desk())
        assert later.send("undo").json()["state"]["status"]["n_answers"] == 0
        assert later.send("undo").json()["result"]["undone"] == 0

    def test_an_undo_takes_an_answer_back_with_its_flag(self, page, make_desk):
        question = page.state()["question"]
        page.answer("different", note="flagged")
        done = page.send("undo").json()
        assert done["state"]["question"]["id"] == question["id"]
        assert done["state"]["status"]["n_answers"] == 0
        assert page.send("undo").json()["result"]["undone"] == 0
        assert page.send("redo").json()["state"]["status"]["n_answers"] == 1
        later = Page(make_desk())
        assert [e["note"] for e in later.get("answers").json()["events"]] == ["flagged"]

    def test_an_undo_takes_back_what_the_same_person_did(self, page, make_desk):
        ann, ben = (Page(page.desk, name, who=name) for name in ("Ann", "Ben"))
        first = ann.state()["question"]
        ann.answer("different")
        ben.answer("different")
        assert ann.send("undo").json()["state"]["question"]["id"] == first["id"]
        (left,) = page.state()["last"]
        assert left["who"] == "Ben"
        assert ann.send("undo").json()["result"] == {"undone": 0, "whose": "Ben"}
        assert ben.send("redo").json()["result"] == {"undone": 0, "whose": "Ann"}
        later = Page(make_desk(), "new", who="Ann")
        assert later.send("redo").json()["result"]["undone"] == 1
        assert {last["who"] for last in later.state()["last"]} == {"Ann", "Ben"}

    def test_pages_without_names_take_back_their_own(self, page):
        other = Page(page.desk, "other")
        page.answer("different")
        other.answer("different")
        page.state()
        page.send("undo")
        assert page.send("undo").json()["result"]["whose"] == "another page"
        page.desk.leave("other")  # nobody is there to take it back
        assert page.send("undo").json()["result"]["undone"] == 1

    def test_an_answer_about_rows_that_moved_is_refused(self, page, make_desk):
        question = page.state()["question"]
        n_rows = len(X)
        for rows in ([*range(1, n_rows), 0], range(2)):
            later = Page(make_desk(n_clusters=2, rows=rows))
            refused = later.answer("same", question)
            assert refused.status_code == 409 and "changed" in refused.json()["error"]
            assert refused.json()["state"]["question"] is not None
            assert words_of(later.desk) == []
        assert Page(make_desk()).answer("same", question).status_code == 200

    def test_an_undo_after_rows_are_gone_is_done(self, page, make_desk):
        question = page.state()["question"]
        page.answer("different")
        gone = question["left"]["row"]
        later = Page(make_desk(rows=[row for row in range(len(X)) if row != gone]))
        done = later.send("undo")
        assert done.status_code == 200 and done.json()["result"]["undone"] == 1
        assert words_of(later.desk) == ["different"]

    def test_questions_of_long_ago_are_recalled_not_kept(self, page, monkeypatch):
        monkeypatch.setattr("linkwise.label._desk._MAX_ASKED", 3)
        first = page.state()["question"]
        for _ in range(6):
            page.answer("unsure")
        assert len(page.desk._asked) == 3
        for _ in range(6):
            page.send("undo")
        assert page.answer("same", first).status_code == 200

    def test_a_note_and_the_criterion_stay(self, page, make_desk):
        page.answer("same", note="look again")
        page.send("criterion", text="the same plant <b>")
        later = Page(make_desk())
        assert later.state()["criterion"] == "the same plant <b>"
        events = later.get("answers").json()["events"]
        assert [e["note"] for e in events if e["what"] == "answer"] == ["look again"]

    def test_an_old_answer_can_be_changed_and_removed(self, page):
        event = page.answer("same").json()["result"]["event"]
        page.send("change", event=event, answer="different")
        assert page.desk.session.constraints_.n_cannot_link == 1
        page.send("change", event=event, answer="removed")
        assert page.desk.session.constraints_.is_empty
        page.send("undo")
        assert page.desk.session.constraints_.n_cannot_link == 1


class TestContradictions:
    @pytest.fixture
    def told(self, page):
        with page.desk.lock:
            for i, j in [("r0", "r1"), ("r1", "r2")]:
                page.desk.session.tell((i, j), "same", who="Ann")
        page.desk.session.tell(("r0", "r2"), "different")
        return page

    def test_the_chain_is_shown_with_people_and_the_weakest(self, told):
        (conflict,) = told.state()["conflicts"]
        assert conflict["answer"] == "different"
        assert [step["who"] for step in conflict["chain"]] == ["Ann", "Ann"]
        assert conflict["weakest"] in [step["event"] for step in conflict["chain"]]

    @pytest.mark.parametrize(
        "choice, must, cannot",
        [("this", 2, 0), ("that", 1, 2), ("unsure", 1, 0), ("aside", 2, 0)],
    )
    def test_each_choice_works_and_undo_brings_it_back(
        self, told, make_desk, choice, must, cannot
    ):
        (conflict,) = told.state()["conflicts"]
        wrong = conflict["chain"][0]["event"]
        done = told.send("resolve", conflict=conflict["id"], choice=choice, wrong=wrong)
        assert done.status_code == 200 and done.json()["state"]["conflicts"] == []
        pairs = told.desk.session.constraints_
        assert (pairs.n_must_link, pairs.n_cannot_link) == (must, cannot)
        later = Page(make_desk())
        assert later.state()["conflicts"] == []
        back = later.send("undo").json()["state"]["conflicts"]
        assert [c["id"] for c in back] == [conflict["id"]]
        assert [s["event"] for s in back[0]["chain"]] == [
            s["event"] for s in conflict["chain"]
        ]

    def test_one_that_was_settled_is_late(self, told):
        (conflict,) = told.state()["conflicts"]
        for status in (200, 409):
            done = told.send("resolve", conflict=conflict["id"], choice="this")
            assert done.status_code == status


class TestClusters:
    @pytest.fixture
    def fitted(self, page):
        page.answers(15)
        assert page.desk.worker.wait(60)
        return page

    def test_they_come_in_words_and_numbers(self, fitted):
        clusters = fitted.get("clusters").json()
        assert sum(c["size"] for c in clusters) == 60 and len(clusters) == 3
        for cluster in clusters:
            found = fitted.get(f"clusters/{cluster['id']}").json()
            assert len(found["middle"]) == 5 and len(found["rim"]) == 5
            assert cluster["near"] in [c["id"] for c in clusters]
        assert fitted.get("clusters/77").status_code == 400

    def test_the_map_comes_as_bytes(self, fitted):
        xy = np.frombuffer(fitted.get("map").content, "<u2").reshape(-1, 2)
        assert xy.shape == (60, 2) and xy.max() > 60_000
        answer = fitted.get("labels")
        palette = json.loads(answer.headers["x-clusters"])
        places = np.frombuffer(answer.content, "<u2")
        ids = np.array([c["id"] for c in palette])
        assert (ids[places] == fitted.desk.session.labels_).all()
        pairs = fitted.desk.session.constraints_
        n = pairs.n_must_link + pairs.n_cannot_link
        content = fitted.get("pairs").content
        assert len(content) == 9 * n
        ends = np.frombuffer(content[: 8 * n], "<u4").reshape(-1, 2)
        kinds = np.frombuffer(content[8 * n :], "u1")
        assert (kinds & 1).sum() == pairs.n_cannot_link
        together = Y[ends[:, 0]] == Y[ends[:, 1]]
        assert (together == ((kinds & 1) == 0)).all()

    def test_corrections_stay_over_fits_and_a_restart(self, fitted, make_desk):
        labels = fitted.desk.session.labels_
        first, second, third = np.unique(labels).tolist()
        assert fitted.send("correct", kind="merge", clusters=[first, second]).json()[
            "result"
        ] == {"cluster": first}
        rows = np.flatnonzero(labels == first)[:3].tolist()
        new = fitted.send("correct", kind="split", cluster=first, rows=rows).json()
        new = new["result"]["cluster"]
        moved = np.flatnonzero(labels == second)[:2].tolist()
        fitted.send("correct", kind="move", rows=moved, to=third)
        fitted.send("correct", kind="rename", cluster=new, name="odd <ones>")
        fitted.send("correct", kind="confirm", cluster=third)
        looks = {
            c["id"]: (c["color"], c["shape"]) for c in fitted.get("clusters").json()
        }
        for _ in range(10):
            fitted.send("fit")
            assert fitted.desk.worker.wait(60)
        later = Page(make_desk())
        assert later.desk.worker.wait(60)
        for desk in (fitted.desk, later.desk):
            after = desk.session.labels_
            assert set(after[rows]) == {new} and set(after[moved]) == {third}
            assert set(after) == {first, third, new}
        found = later.get("clusters").json()
        assert {c["id"]: (c["color"], c["shape"]) for c in found} == looks
        assert "odd <ones>" in [c["name"] for c in found]

    def test_undo_of_a_correction_brings_clusters_back(self, fitted):
        before = fitted.desk.session.labels_
        first, second = np.unique(before)[:2].tolist()
        fitted.send("correct", kind="merge", clusters=[first, second])
        assert fitted.send("undo").json()["result"]["what"] == "merge"
        assert fitted.desk.worker.wait(60)
        assert len(set(fitted.desk.session.labels_)) == 3

    def test_bad_corrections_leave_no_trace(self, fitted):
        bad = [
            ({"kind": "melt"}, "kind='melt'"),
            ({"kind": "merge", "clusters": [0, 77]}, "no cluster 77"),
            ({"kind": "merge"}, "merge needs clusters"),
            ({"kind": "split", "cluster": 0, "rows": [60]}, "no row 60"),
            ({"kind": "split", "cluster": 0, "rows": [-1]}, "whole numbers"),
            ({"kind": "move", "rows": [1]}, "move needs to"),
            ({"kind": "rename", "cluster": 0, "name": 3}, "name must be a text"),
        ]
        n_events = len(fitted.desk.session.log.events)
        for values, message in bad:
            done = fitted.send("correct", **values)
            assert done.status_code == 400 and message in done.json()["error"]
            assert len(fitted.desk.session.log.events) == n_events


class TestFits:
    def test_an_answer_does_not_wait_for_a_fit(self, page, monkeypatch):
        import threading

        begun, may_end = threading.Event(), threading.Event()
        prepare = page.desk.session.prepare_fit

        def slow():
            fitting = prepare()

            def run(go_on):
                begun.set()
                assert may_end.wait(60)
                if not go_on(1):
                    raise FitStopped
                return type(fitting).run(fitting)

            fitting.run = run
            return fitting

        monkeypatch.setattr(page.desk.session, "prepare_fit", slow)
        page.answers(5)
        assert begun.wait(60)
        assert page.state()["worker"]["state"] == "fitting"
        page.answers(5)  # while it goes on
        assert not page.desk.session.is_fitted
        page.send("fit")  # overtakes
        may_end.set()
        assert page.desk.worker.wait(60)
        assert page.desk.worker.n_overtaken == 1 and page.desk.worker.n_fits == 1
        assert page.desk.session.log.events[-1]["at"] >= 10

    def test_a_fit_that_fails_leaves_the_clusters(self, page, monkeypatch):
        page.answers(5)
        assert page.desk.worker.wait(60)
        before = page.desk.session.labels_
        monkeypatch.setattr(
            "linkwise.active._fitting.committee_of",
            lambda *_: (_ for _ in ()).throw(MemoryError("no room")),
        )
        page.send("fit")
        assert page.desk.worker.wait(60)
        worker = page.state()["worker"]
        assert worker["state"] == "failed" and "no room" in worker["error"]
        assert (page.desk.session.labels_ == before).all()
        assert page.answer().status_code == 200

    def test_everything_known_is_an_end(self, make_desk):
        page = Page(make_desk(n_clusters=2))
        with page.desk.lock:
            for row in range(1, len(X)):
                page.desk.session.tell(("r0", f"r{row}"), "same")
        assert page.state()["question"] is None


def test_the_least_share_is_wilsons():
    assert _least_share(18, 20) == pytest.approx(0.699, abs=1e-3)
    assert _least_share(0, 5) == 0.0 and _least_share(0, 0) is None


def test_a_full_disk_is_told_and_nothing_counts(page, monkeypatch):
    question = page.state()["question"]

    def full(event):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page.desk.session.log, "append", full)
    done = page.answer("same", question)
    assert done.status_code == 507 and "No space left" in done.json()["error"]
    monkeypatch.undo()
    assert page.state()["question"] == question


def test_news_tell_of_changes(page):
    assert page.desk.news()["revision"] == 1
    heard = []
    page.desk.listeners.append(lambda: heard.append(page.desk.revision()))
    page.answer()
    assert heard[-1] == 2


def test_the_first_clusters_differ_in_colour_or_shape():
    looks = [look_of(cluster) for cluster in range(42)]
    assert len({(look["color"], look["shape"]) for look in looks}) == 42


def test_browsers_leave_out_the_port_that_is_meant_anyway():
    assert {"localhost", "localhost:80"} <= set(Place("127.0.0.1", 80, "").hosts)
    assert "localhost" not in Place("127.0.0.1", 8080, "").hosts
