"""The command that asks, through a pipe and in a terminal."""

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

from linkwise import ConstrainedKernelKMeans
from linkwise.active import Question, Session
from linkwise.cli import _ask
from linkwise.cli._data import Table
from linkwise.cli._screen import Screen

N = 30


@pytest.fixture
def flowers(linkwise):
    X, y = make_blobs(N, centers=3, cluster_std=0.4, random_state=1)
    frame = pd.DataFrame(X.round(3), columns=["length", "width"])
    frame.insert(0, "name", [f"f{i}" for i in range(N)])
    frame["colour"] = np.where(y == 0, "blue", "[bold]red")
    frame.to_csv("flowers.csv", index=False)
    return y


def ask(linkwise, *arguments, answers=""):
    return linkwise("ask", "flowers.csv", *arguments, stdin=answers)


BASE = ("--id-column", "name", "--candidates", "20", "--clusters", "3")
BASE += ("--questions", "pair")


def test_a_program_can_answer(linkwise, flowers):
    command = [sys.executable, "-m", "linkwise", "ask", "flowers.csv", *BASE]
    command += ["--json", "--out", "labels.csv", "--limit", "25"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        n_asked = 0
        for line in process.stderr:
            question = json.loads(line)
            if "question" not in question:
                assert set(question) == {"note"}
                continue
            assert set(question["left"]) == {"length", "width", "colour"}
            i, j = (int(question[side][1:]) for side in "ij")
            n_asked += 1
            word = "same" if flowers[i] == flowers[j] else "different"
            process.stdin.write(word + "\n")
            process.stdin.flush()
        values = json.loads(process.stdout.read())
    assert process.returncode == 0 and n_asked == 25
    assert values["clusters"] == 3 and values["answers"] <= 25
    labels = pd.read_csv("labels.csv")
    assert labels["name"].tolist() == [f"f{i}" for i in range(N)]
    for _, group in labels.groupby("cluster"):
        assert len(set(flowers[group.index])) == 1
    # The pairs serve the other commands.
    linkwise.ok(
        *(
            "cluster",
            "flowers.csv",
            "-c",
            "flowers.pairs.csv",
            "-k",
            3,
            "-o",
            "two.csv",
        ),
        *("--id-column", "name", "--candidates", 10),
    )


def test_it_goes_on_where_it_ended_and_takes_back(linkwise, flowers):
    first = ask(linkwise, *BASE, answers="y\nn\nmaybe\nunsure\nundo\n")
    assert first.exit_code == 0, first.stderr
    assert "'maybe' is no answer" in first.stderr and "Taken back" in first.stderr
    second = ask(linkwise, *BASE, "--json", answers="n\n")
    assert json.loads(second.stdout)["answers"] == 3


def test_a_contradiction_is_shown_and_settled(linkwise, flowers):
    pd.DataFrame(
        {"i": ["f0", "f1"], "j": ["f1", "f2"], "kind": ["must-link"] * 2}
    ).to_csv("known.csv", index=False)
    done = ask(linkwise, *BASE, "--pairs", "known.csv", answers="q\n")
    assert done.exit_code == 0, done.stderr
    pairs = pd.read_csv("flowers.pairs.csv")
    assert pairs["kind"].tolist() == ["must-link"] * 2
    assert sorted(pairs["i"]) == ["f0", "f1"]


def test_columns_to_show_are_repeated_or_in_a_list(linkwise, flowers):
    names = ["colour", "width"]
    said = [
        ask(linkwise, *BASE, *show, answers="q\n").stderr
        for show in (
            ("--show", ",".join(names)),
            ("--show", names[0], "--show", names[1]),
        )
    ]
    assert said[0] == said[1] and "length" not in said[0]
    assert all(name in said[0] for name in names)


def test_no_answer_writes_nothing(linkwise, flowers):
    done = ask(linkwise, *BASE, answers="q\n")
    assert done.exit_code == 0 and "nothing was written" in done.stderr
    assert not os.path.exists("flowers.pairs.csv")


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("--clusters", "99"), 3, "too few for --clusters 99"),
        (("--show", "petals"), 3, "no such column"),
        (("--clusters", "some"), 2, "whole number"),
    ],
)
def test_errors(linkwise, flowers, arguments, code, message):
    done = ask(linkwise, "--id-column", "name", *arguments)
    assert done.exit_code == code and message in done.stderr
    assert not os.path.exists("flowers.linkwise.jsonl")


def test_rows_without_ids_are_found_in_another_order(linkwise, flowers):
    frame = pd.read_csv("flowers.csv").drop(columns="name")
    frame.to_csv("flowers.csv", index=False)
    options = ("--candidates", "20", "--clusters", "3", "--json", "--questions", "pair")
    ask(linkwise, *options, answers="y\nn\nu\n" * 3)
    pairs = pd.read_csv("flowers.pairs.csv")
    expected = {
        frozenset(map(tuple, frame.iloc[[i, j]].values))
        for i, j in pairs[["i", "j"]].values
    }
    order = np.random.default_rng(0).permutation(N)
    later = pd.concat([frame.iloc[order], frame.iloc[:1].assign(width="?")])
    later.to_csv("flowers.csv", index=False)
    done = ask(linkwise, *options)
    assert done.exit_code == 0 and "set aside" not in done.stdout
    pairs = pd.read_csv("flowers.pairs.csv")
    later = frame.iloc[order]
    found = {
        frozenset(map(tuple, later.iloc[[i, j]].values))
        for i, j in pairs[["i", "j"]].values
    }
    assert found == expected
    # The row of a question has another value now, then all of them have.
    at = int(pairs["i"][0])
    later = later.reset_index(drop=True)
    later.loc[at, "length"] += 1.0
    later.to_csv("flowers.csv", index=False)
    notes = " ".join(json.loads(ask(linkwise, *options).stdout)["warnings"])
    assert "answers are set aside" in notes and "--id-column" in notes
    later.assign(length=later["length"] * 2).to_csv("flowers.csv", index=False)
    done = ask(linkwise, *options)
    assert done.exit_code == 3 and "a column of the numbers 0, 1, 2" in done.stderr


def test_another_file_is_no_log(linkwise, flowers):
    done = ask(linkwise, *BASE, "--log", "flowers.csv")
    assert done.exit_code == 3 and "no event of a session" in done.stderr


def test_every_key_has_one_meaning():
    keys = "".join(keys for keys, _, _ in _ask.KEYS.values())
    assert len(keys) == len(set(keys))


def test_results_do_not_replace_the_log(linkwise, flowers):
    ask(linkwise, *BASE, "--log", "x.csv", answers="y\nq\n")
    before = Path("x.csv").read_bytes()
    done = ask(linkwise, *BASE, "--log", "x.csv", "--pairs-out", "x.csv", answers="q\n")
    assert done.exit_code == 2 and "another file of this command" in done.stderr
    assert Path("x.csv").read_bytes() == before


@pytest.mark.parametrize(
    "sent, keys",
    [
        (b"\x1b[Aq", ["\x1b[A", "q"]),
        (b"\x1bOBy", ["\x1bOB", "y"]),
        (b"\x1b[1;5Cn", ["\x1b[1;5C", "n"]),
        (b"\x1bq", ["\x1bq"]),
        (b"\x1b", ["\x1b"]),
        (b"\xc3y", ["\xc3", "y"]),
    ],
)
def test_arrows_are_one_key_each_and_no_answer(sent, keys):
    pytest.importorskip("termios")
    end, other = os.pipe()
    os.write(other, sent)
    assert [_ask._key(end) for _ in keys] == keys
    os.close(other)
    assert _ask._key(end) == ""
    os.close(end)


def test_a_gap_of_any_kind_is_an_empty_cell():
    gaps = {"a": pd.array([1, None], dtype="Int64"), "b": ["x", None], "c": [1, np.nan]}
    table = Table(Path(), pd.DataFrame(gaps), True)
    assert [_ask._cell(table, 1, name) for name in "abc"] == ["", "", ""]
    assert [_ask._cell(table, 0, name) for name in "abc"] == ["1", "x", "1.0"]


def test_who_leaves_in_a_contradiction_leaves():
    X, _ = make_blobs(N, centers=3, random_state=1)
    session = Session(X, ConstrainedKernelKMeans(3))
    for i, j in [(0, 1), (1, 2)]:
        session.tell((i, j), "same")
    conflict = session.tell((0, 2), "different").conflict
    paint = _ask._Pipe(Table(Path(), pd.DataFrame(X), True), [], Screen(quiet=True))
    assert not _ask._settle(session, conflict, paint, lambda: "quit")
    assert session.conflicts() == [conflict]
    assert _ask._settle(session, conflict, paint, lambda: "same")
    assert session.conflicts() == []


def test_in_a_terminal_single_keys_answer(linkwise, flowers):
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "linkwise", "ask", "flowers.csv", *BASE]
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.execv(sys.executable, command)
    shown, deadline = b"", time.monotonic() + 90
    keys = [b"\x1b[Ay", b"n", b"z", b"n", b"q"]
    n_questions = 0
    while time.monotonic() < deadline:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
        if shown.count(b"[q] quit") > n_questions and keys:
            n_questions = shown.count(b"[q] quit")
            os.write(terminal, keys.pop(0))
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = shown.decode()
    assert os.waitstatus_to_exitcode(status) == 0, text
    assert "Do these two belong together?" in text and "Taken back" in text
    assert "[bold]red" in text or "blue" in text  # cells are no markup
    assert len(pd.read_csv("flowers.pairs.csv")) == 2


@pytest.mark.parametrize("kind", ["pair", "again"])
@pytest.mark.parametrize("painter", ["pipe", "json", "terminal"])
def test_a_question_that_comes_again_says_so(capsys, kind, painter):
    frame = pd.DataFrame({"length": [1.0, 2.0]})
    table = Table(Path(), frame, True)
    if painter == "terminal":
        paint = _ask._Terminal(table, ["length"])
    else:
        paint = _ask._Pipe(table, ["length"], Screen(as_json=painter == "json"))
    paint.ask(Question(0, 1, "0:0:1", kind), None)
    out, err = capsys.readouterr()
    if painter == "json":
        assert json.loads(err)["purpose"] == kind
    else:
        assert ("Once more:" in out + err) == (kind == "again")
