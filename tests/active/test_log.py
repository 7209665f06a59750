"""The log keeps what it has acknowledged, and nothing else."""

import errno
import json
import os

import pytest

from linkwise.active import LogError
from linkwise.active._log import SCHEMA, Log

FIRST = {"event": "session", "schema": SCHEMA}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Log(path) as log:
        log.append(FIRST)
        log.append({"event": "answer", "i": "a\nb", "j": "ü", "answer": "same"})
    return path


def test_events_come_back(path):
    with Log(path) as log:
        assert log.events[1]["i"] == "a\nb" and len(log.events) == 2
        log.append({"event": "undo", "n": 1})
    with Log(path) as log:
        assert [e["event"] for e in log.events] == ["session", "answer", "undo"]


def test_a_torn_last_line_is_dropped_wherever_it_ends(path):
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last, len(whole) - 1):
        path.write_bytes(whole[:end])
        with Log(path) as log:
            assert log.events == [FIRST]
            log.append({"event": "undo", "n": 1})
        assert len(path.read_text().splitlines()) == 2


def test_a_last_line_that_lacks_only_its_end_is_kept(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with Log(path) as log:
        assert len(log.events) == 2
        log.append({"event": "undo", "n": 1})
    assert path.read_bytes() == whole + b'{"event": "undo", "n": 1}\n'


def test_one_writer_at_a_time(path):
    pytest.importorskip("fcntl")
    with Log(path), pytest.raises(LogError, match="in use"):
        Log(path)
    Log(path).close()


def test_a_full_disk_leaves_whole_lines(path, monkeypatch):
    whole = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Log(path) as log:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            log.append({"event": "undo", "n": 1})
        assert len(log.events) == 2
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"event": "answer"}\n', "does not begin"),
        (b'{"event": "session", "schema": 99}\n', "schema 99"),
        (b"i,j,kind\n1,2,same\n", "line 1"),
        (b"one line of notes", "line 1"),
        (b'{"event": "session", "sch', "line 1"),
        (b'{"event": "click"}\n{"eve', "does not begin"),
        (json.dumps(FIRST).encode() + b"\nno\n" + b'{"event": "undo"}\n', "line 2"),
    ],
)
def test_other_files_are_refused_and_left_as_they_are(tmp_path, content, message):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(LogError, match=message):
        Log(path)
    assert path.read_bytes() == content


def test_a_closed_log_takes_nothing(path):
    log = Log(path)
    log.close()
    with pytest.raises(LogError, match="closed"):
        log.append({"event": "undo", "n": 1})
