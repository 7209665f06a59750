"""``linkwise ask`` with questions about groups."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from linkwise.active import Grid, Merge, Which
from linkwise.cli import _ask
from linkwise.cli._data import Table
from linkwise.cli._screen import Screen

N = 60
BASE = ("--id-column", "name", "--candidates", "10", "--clusters", "3")
COMMAND = [sys.executable, "-m", "linkwise", "ask", "flowers.csv", *BASE]


@pytest.fixture
def flowers(linkwise):
    X, y = make_blobs(N, centers=3, cluster_std=0.4, random_state=1)
    frame = pd.DataFrame(X.round(3), columns=["length", "width"])
    frame.insert(0, "name", [f"f{i}" for i in range(N)])
    frame["colour"] = np.where(y == 0, "blue", "[bold]red")
    frame.to_csv("flowers.csv", index=False)
    return y


def said_by(question, y):
    """Return the line by which a program answers a question."""

    def class_of(shown):
        return y[int(shown["id"][1:])]

    if question["kind"] == "which":
        own = class_of(question["row"])
        for number, rows in enumerate(question["groups"], start=1):
            if class_of(rows[0]) == own:
                return str(number)
        return "none"
    if question["kind"] == "grid":
        own = class_of(question["examples"][0])
        rows = enumerate(question["rows"], start=1)
        return " ".join(str(at) for at, row in rows if class_of(row) != own) or "all"
    left, right = class_of(question["left"][0]), class_of(question["right"][0])
    return "same" if left == right else "different"


def test_a_program_can_answer_all_kinds(linkwise, flowers):
    command = [*COMMAND, "--json", "--out", "labels.csv", "--limit", "14"]
    kinds = set()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr:
            question = json.loads(line)
            if "question" in question:
                kinds.add(question["kind"])
                process.stdin.write(said_by(question, flowers) + "\n")
                process.stdin.flush()
        result = json.loads(process.stdout.read())
    assert process.returncode == 0 and {"which", "grid"} <= kinds
    assert result["answers"] <= 14 and result["clusters"] == 3
    found = pd.read_csv("labels.csv")["cluster"]
    for cluster in found.unique():
        assert len(set(flowers[found == cluster])) == 1
    assert {"i", "j", "kind"} <= set(pd.read_csv("flowers.pairs.csv").columns)


def test_words_that_are_no_answer_are_named(linkwise, flowers):
    done = linkwise("ask", "flowers.csv", *BASE, stdin="77\nmaybe\n1\nundo\nquit\n")
    assert done.exit_code == 0
    assert "'77' is no answer" in done.stderr and "'maybe' is no answer" in done.stderr
    assert "Taken back." in done.stderr and "0  none of these" in done.stderr


def test_kinds_that_are_not_there_are_refused(linkwise, flowers):
    done = linkwise("ask", "flowers.csv", *BASE, "--questions", "grid", stdin="q\n")
    assert done.exit_code == 3 and "--questions grid" in done.stderr


def test_pairs_alone_can_be_asked_for(linkwise, flowers):
    done = linkwise("ask", "flowers.csv", *BASE, "--questions", "pair", stdin="y\nq\n")
    assert "same, different or unsure?" in done.stderr


QUESTIONS = [
    Which(0, [[at] for at in range(1, 12)], "1:which:a", list(range(11))),
    Grid([0, 1], [2, 3, 4], "1:grid:a", 0),
    Merge([0, 1], [2], "1:merge:a", (0, 1)),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.kind)
@pytest.mark.parametrize("painter", ["pipe", "json", "terminal"])
def test_a_question_shows_its_rows(capsys, question, painter):
    frame = pd.DataFrame({"text": [f"row {at}\x1b[2J" for at in range(12)]})
    table = Table(Path(), frame, True)
    if painter == "terminal":
        paint = _ask._Terminal(table, ["text"])
    else:
        paint = _ask._Pipe(table, ["text"], Screen(as_json=painter == "json"))
    paint.ask(question, None)
    out, err = capsys.readouterr()
    shown = out + err
    assert "row 0" in shown and "row 2" in shown and "\x1b[2J" not in shown
    if painter == "json":
        assert json.loads(err)["kind"] == question.kind
    elif painter == "terminal" and question.kind == "which":
        assert "[m] more groups" in shown and "row 11" not in shown


def test_in_a_terminal_keys_answer_all_kinds(linkwise, flowers):
    pty = pytest.importorskip("pty")
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.execv(sys.executable, [*COMMAND, "--limit", "14"])
    shown, deadline, n_questions = b"", time.monotonic() + 120, 0
    while time.monotonic() < deadline:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
        if shown.count(b"[q] quit") > n_questions:
            n_questions = shown.count(b"[q] quit")
            last = shown[shown.rfind(b"Where does") :]
            is_grid = shown.rfind(b"Mark those") > shown.rfind(b"Where does")
            if is_grid:
                # Marked, and the mark taken back; then done.
                marks = shown.count(b"Mark those") % 3
                key = b"1" if marks else b"\r"
            else:
                key = b"0" if n_questions == 2 else b"1" if b"[1]" in last else b"y"
            os.write(terminal, key)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = shown.decode()
    assert os.waitstatus_to_exitcode(status) == 0, text
    assert "Where does this belong?" in text and "none of these" in text
    assert "Mark those that do not belong" in text and "do not belong\r\n" in text
