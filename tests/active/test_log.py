"""The log keeps what it has acknowledged, and nothing else."""

import base64
import errno
import json
import os
import stat
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from linkwise.active import LogError
from linkwise.active._log import SCHEMA, Log
from linkwise.active._packed import pack

FIRST = {"event": "session", "schema": SCHEMA, "rows": 9, "ids": "", "columns": ""}


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
        (json.dumps(FIRST).encode() + b'\n{"event": "undo", "n"\n', "line 2"),
        (json.dumps(FIRST).encode() + b'\n{"event": "undo"}', "line 2"),
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


def test_a_new_log_is_for_its_owner_and_an_old_one_keeps_its_permissions(tmp_path):
    path = tmp_path / "answers.jsonl"
    before = os.umask(0)
    try:
        Log(path).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    Log(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


ROWS = {"event": "rows", "rows": 9, "ids": "", "columns": ""}
ANSWER = {"event": "answer", "i": 0, "j": 1, "answer": "same"}
FIT = {"event": "fit", "labels": pack(np.zeros(9, int)), "clusters": 1}


def packed(data):
    return base64.b64encode(zlib.compress(data)).decode()


@pytest.mark.parametrize(
    "event, message",
    [
        (7, "no kind of event"),
        ({}, "no kind of event"),
        ({"event": "answers"}, "'answers' is no kind of event"),
        ({"event": ["answer"]}, "no kind of event"),
        ({"event": "answer", "i": 0}, "needs 'j'"),
        ({**ANSWER, "j": [1]}, "'j' is .*: it must be a text or a number"),
        ({**ANSWER, "j": True}, "'j' is True"),
        ({**ANSWER, "j": None}, "'j' is None"),
        ({**ANSWER, "j": 0}, "a pair needs two rows, and 0 is one"),
        ({**ANSWER, "answer": "perhaps"}, "'answer' is 'perhaps'"),
        ({**ANSWER, "answer": "removed"}, "'answer' is 'removed'"),
        ({**ANSWER, "answer": ["same"]}, "'answer' is"),
        ({**ANSWER, "weight": 0}, "'weight' is 0: it must be a positive number"),
        ({**ANSWER, "weight": 10**400}, "'weight' is 10000"),
        ({**ANSWER, "weight": "1"}, "'weight' is '1'"),
        ({**ANSWER, "p": 1.5}, "'p' is 1.5"),
        ({**ANSWER, "again": 3}, "'again' is 3"),
        ({**ANSWER, "kind": "odd"}, "'kind' is 'odd'"),
        ({**ANSWER, "question": 5}, "'question' is 5"),
        ({**ANSWER, "who": {}}, "'who' is {}"),
        ({**ANSWER, "attempt": 5}, "'attempt' is 5"),
        ({**ANSWER, "n": 5}, "an event 'answer' has no 'n'"),
        ({**ANSWER, "event": "conflict", "answer": "unsure"}, "'answer' is 'unsure'"),
        ({"event": "skip", "i": 0, "j": 0}, "two rows"),
        ({"event": "change", "of": 2, "answer": "same"}, "'of' is 2"),
        ({"event": "change", "of": 0, "answer": "same"}, "an earlier answer"),
        ({"event": "change", "of": 1, "answer": None}, "'answer' is None"),
        ({"event": "resolve", "of": 1, "choice": "that", "keep": True}, "'changes'"),
        (
            {"event": "resolve", "of": 1, "choice": "x", "keep": True, "changes": []},
            "'choice' is 'x'",
        ),
        (
            {
                "event": "resolve",
                "of": 1,
                "choice": "that",
                "keep": True,
                "changes": [[0, "same"]],
            },
            "'changes' is",
        ),
        ({"event": "note", "of": -1, "text": ""}, "'of' is -1"),
        ({"event": "note", "of": 1, "text": 5}, "'text' is 5"),
        ({"event": "criterion", "text": "\ud800"}, "'text' is"),
        ({"event": "undo", "n": 0}, "'n' is 0"),
        ({"event": "undo", "n": 1e9}, "'n' is 1000000000.0"),
        ({"event": "rename", "cluster": -1, "name": "a"}, "'cluster' is -1"),
        ({"event": "rename", "cluster": 2**31, "name": "a"}, "'cluster' is"),
        ({"event": "merge", "pairs": [], "clusters": [1], "to": 1}, "'clusters' is"),
        ({"event": "merge", "pairs": [[0, 1]], "clusters": [0, 1], "to": 0}, "'pairs'"),
        ({"event": "split", "pairs": [], "rows": 4, "to": 1}, "'rows' is 4"),
        ({"event": "move", "pairs": [], "rows": [{}], "to": 1}, "'rows' is"),
        ({**FIRST}, "a second session begins"),
        ({**ROWS, "rows": 0}, "'rows' is 0"),
        ({**ROWS, "rows": 2**40}, "'rows' is"),
        ({**ROWS, "names": ["a"]}, "1 names for 9 rows"),
        ({**ROWS, "names": ["a"] * 9}, "a name twice"),
        ({**ROWS, "names": [[]] * 9}, "'names' is"),
        ({**ROWS, "content": "AAAA"}, "'content' is not of 9 rows"),
        ({**ROWS, "content": "-"}, "'content' is not of 9 rows"),
        ({**FIT, "clusters": 0}, "'clusters' is 0"),
        ({**FIT, "at": 3}, "'at' is 3"),
        ({**FIT, "labels": None}, "'labels' is None: it must be one label for each"),
        ({**FIT, "labels": "?"}, "'labels' is"),
        ({**FIT, "labels": base64.b64encode(b"no").decode()}, "'labels' is"),
        ({**FIT, "labels": packed(bytes(36))[:-4]}, "'labels' is"),
        ({**FIT, "labels": pack(np.zeros(8, int))}, "'labels' is"),
        ({**FIT, "labels": pack(np.zeros(10, int))}, "'labels' is"),
        ({**FIT, "labels": pack(np.full(9, -2))}, "'labels' is"),
        ({**FIT, "labels": pack(np.full(9, 2**31 - 1))}, "'labels' is"),
        ({**FIT, "labels": packed(bytes(35))}, "'labels' is"),
    ],
)
def test_lines_that_do_not_fit_are_refused_with_their_number(tmp_path, event, message):
    path = tmp_path / "answers.jsonl"
    lines = "\n".join(map(json.dumps, (FIRST, ANSWER, event)))
    for end in ("", "\n", '\n{"event": "undo", "n": 1}\n'):
        path.write_text(lines + end)
        with pytest.raises(LogError, match=rf"answers.jsonl, line 3, .*{message}"):
            Log(path)
        assert path.read_text() == lines + end
    with Log() as log:
        for known in (FIRST, ANSWER):
            log.append(known)
        with pytest.raises(ValueError, match=message):
            log.append(event)
        assert log.events == [FIRST, ANSWER]


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "undo", "n": ' + "[" * 100_000 + "}",
        '{"event": "undo", "n": 1, "more": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"event": "answer", "i": 0, "j": 1, "answer": "same", "weight": NaN}',
        '{"event": "answer", "i": 0, "j": 1, "answer": "same", "weight": 1e999}',
        '{"event": "answer", "i": 0, "j": ' + "1" * 5_000 + ', "answer": "same"}',
        json.dumps({**FIT, "labels": packed(bytes(4 * 10**8))}),
    ],
)
def test_bombs_are_refused_in_little_memory(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(FIRST) + "\n" + line + "\n")
    tracemalloc.start()
    with pytest.raises(LogError, match="line 2, is no event"):
        Log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_keys_that_nobody_knows_are_left_alone(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(FIRST) + "\n" + json.dumps({**ANSWER, "new": 1}))
    with Log(path) as log:
        assert log.events[1]["new"] == 1


def test_events_that_belong_together_are_on_disk_together_or_not_at_all(path):
    whole = path.read_bytes()
    with Log(path) as log:
        with pytest.raises(KeyError), log.together():
            log.append({**ANSWER, "attempt": "first"})
            raise KeyError
        assert len(log.events) == 2 and log.last_of("first") is None
        assert path.read_bytes() == whole
        with log.together():
            log.append({**ANSWER, "attempt": "second"})
            log.append(ANSWER)
        assert log.last_of("second") == 2
    with Log(path) as log:
        assert len(log.events) == 4 and log.last_of("second") == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux")
def test_mutated_logs_are_opened_or_refused_in_little_memory():
    script = Path(__file__).parents[2] / "benchmarks" / "fuzz_logs.py"
    command = [sys.executable, script, "--files", "30", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "opened, joined" in done.stdout and "refused, not joined" in done.stdout
