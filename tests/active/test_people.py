"""Logs of several people become one."""

import os
import shutil

import pytest
from sklearn.datasets import make_blobs

from linkwise import ConstrainedKernelKMeans
from linkwise.active import Session

X, _ = make_blobs(20, centers=3, random_state=0)


def told(path, *answers):
    with Session(X, ConstrainedKernelKMeans(3), log=path) as session:
        for i, j, word in answers:
            session.tell((i, j), word)
    return path


def test_copies_of_a_log_that_went_on_apart_are_joined_whole(tmp_path):
    ann, bob = tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"
    shutil.copy(told(ann, (0, 1, "same")), bob)
    told(ann, (2, 3, "same"))
    told(bob, (4, 5, "different"))
    with Session(X, ConstrainedKernelKMeans(3)) as session:
        assert session.join(ann)["taken"] == 2
        assert session.join(bob) == {"taken": 1, "conflicts": 0, "before": 1, "lost": 0}
        assert session.join(bob)["before"] == 2
        assert session.n_answers == 3


def test_the_same_answer_of_two_people_is_two(tmp_path):
    logs = [told(tmp_path / f"{who}.jsonl", (0, 1, "same")) for who in ("ann", "bob")]
    with Session(X, ConstrainedKernelKMeans(3)) as session:
        assert [session.join(log)["taken"] for log in logs] == [1, 1]
        assert session.agreement().n_pairs == 1


def test_what_was_changed_and_settled_comes_as_it_counts(tmp_path):
    log = tmp_path / "log.jsonl"
    with Session(X, ConstrainedKernelKMeans(3), log=log) as session:
        for i, j in [(0, 1), (1, 2), (0, 2), (3, 4), (5, 6)]:
            session.tell((i, j), "same")
        session.resolve(session.change(3, "different").conflict, "this")
        session.change(4, "removed")
        session.change(5, "different")
        expected = session.constraints_
    with Session(X, ConstrainedKernelKMeans(3)) as session:
        session.join(log)
        assert session.constraints_ == expected


def test_a_log_is_joined_in_one_write_to_disk_or_not_at_all(tmp_path, monkeypatch):
    other = told(tmp_path / "ann.jsonl", *((0, row, "same") for row in range(1, 15)))
    calls = []

    def fails(descriptor):
        raise OSError("No space left on device")

    with Session(X, ConstrainedKernelKMeans(3), log=tmp_path / "log") as session:
        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="No space"):
            session.join(other)
        assert session.n_answers == 0 and len(session.log.events) == 1
        monkeypatch.setattr(os, "fsync", calls.append)
        assert session.join(other)["taken"] == 14 and len(calls) == 1
    with Session(X, ConstrainedKernelKMeans(3), log=tmp_path / "log") as session:
        assert session.n_answers == 14 and session.join(other)["before"] == 14
