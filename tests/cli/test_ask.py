"""The command that asks, through a pipe and in a terminal."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from linkwise.cli import _ask

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
            if not line.startswith("{"):
                continue
            question = json.loads(line)
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
    done = ask(linkwise, *BASE, "-c", "known.csv", answers="q\n")
    assert done.exit_code == 0, done.stderr
    pairs = pd.read_csv("flowers.pairs.csv")
    assert pairs["kind"].tolist() == ["must-link"] * 2
    assert sorted(pairs["i"]) == ["f0", "f1"]


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


def test_another_file_is_no_log(linkwise, flowers):
    done = ask(linkwise, *BASE, "--log", "flowers.csv")
    assert done.exit_code == 3 and "no event of a session" in done.stderr


def test_every_key_has_one_meaning():
    keys = "".join(keys for keys, _, _ in _ask.KEYS.values())
    assert len(keys) == len(set(keys))


def test_in_a_terminal_single_keys_answer(linkwise, flowers):
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "linkwise", "ask", "flowers.csv", *BASE]
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.execv(sys.executable, command)
    shown, deadline = b"", time.monotonic() + 90
    keys = [b"y", b"n", b"z", b"n", b"q"]
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
