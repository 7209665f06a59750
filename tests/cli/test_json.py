"""With --json, stdout is one JSON object and so is each line of stderr."""

import json
import shutil
import subprocess
import sys

import pytest
from tests.cli.conftest import Command
from typer.main import get_command

from linkwise.cli import app

CLUSTER = ["cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--candidates", 5]
BENCH = ["quick.toml", "--store", "records.sqlite"]
PLAN = """
datasets = ["sklearn:iris"]
trials = 1
constraints = [30]
candidates = 3
[methods]
k-means = {}
COP = {}
"""
GOOD = {
    "cluster": [*CLUSTER, "-o", "out.csv"],
    "check": ["check", "flowers.csv", "pairs.csv"],
    "predict": ["predict", "m.linkwise", "flowers.csv", "-o", "out.csv"],
    "report": ["report", "m.linkwise", "flowers.csv", "-c", "pairs.csv"],
    "ask": ["ask", "flowers.csv", "--candidates", 5, "-k", 3, "--limit", 3]
    + ["--questions", "pair"],
    "label": ["label", "flowers.csv", "--candidates", 5, "-k", 3, "--export", "out"],
    "demo": ["demo", "--dataset", "iris", "--candidates", 5],
    "bench run": ["bench", "run", *BENCH],
    "bench report": ["bench", "report", *BENCH],
    "bench compare": ["bench", "compare", *["records.sqlite"] * 2],
    "bench plans": ["bench", "plans"],
}


def commands_with_json(command=None, name=""):
    command = command or get_command(app)
    for part, below in getattr(command, "commands", {}).items():
        yield from commands_with_json(below, f"{name} {part}".strip())
    if any("--json" in parameter.opts for parameter in command.params):
        yield name


@pytest.fixture
def run(files, monkeypatch):
    monkeypatch.setattr("linkwise.plots._report.picture", lambda *_: "")

    def run(*arguments, **kwargs):
        result = files(*arguments, "--json", **kwargs)
        said = [json.loads(line) for line in result.stderr.splitlines()]
        assert all(isinstance(values, dict) for values in said)
        return result, said

    return run


def test_every_command_that_has_it_is_tried_here():
    assert sorted(commands_with_json()) == sorted(GOOD)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """A folder with the records of a run."""
    linkwise = Command(tmp_path_factory.mktemp("bench"))
    plan, store = linkwise.write("quick.toml", PLAN), linkwise.folder / BENCH[-1]
    linkwise.ok("bench", "run", plan, "--store", store)
    return linkwise.folder


@pytest.mark.parametrize("name", GOOD)
def test_what_goes_well_is_one_object(run, files, name, request):
    if name in ("predict", "report"):
        files.ok(*CLUSTER, "-o", "out.csv", "--model", "m.linkwise")
    files.write("quick.toml", PLAN)
    if name in ("bench report", "bench compare"):
        records = request.getfixturevalue("records")
        shutil.copytree(records, files.folder, dirs_exist_ok=True)
    answers = "y\nwhat?\nn\nz\nu\nn\n"
    if name == "label":
        run(*GOOD["ask"], stdin=answers)
    result, said = run(*GOOD[name], stdin=answers if name == "ask" else None)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["command"] == name
    assert all(set(values) & {"note", "question"} for values in said)


def test_who_answers_nothing_gets_an_object_too(run):
    result, said = run("ask", "flowers.csv", stdin="q\n")
    assert json.loads(result.stdout)["written"] == []
    assert said[-1] == {"note": "No pairs yet; nothing was written."}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["cluster", "none.csv", *CLUSTER[2:], "-o", "out.csv"], 3, "no such file"),
        (["cluster", "data.zip", *CLUSTER[2:], "-o", "out.csv"], 3, "unpack it first"),
        ([*CLUSTER, "-o", "out.txt"], 2, "out.txt must end in .csv"),
        ([*CLUSTER, "-o", "out.csv", "--jobs", 2], 2, "No such option: --jobs"),
        ([*CLUSTER, "-o", "out.csv", "--seed", "x"], 2, "Invalid value for '--seed'"),
        (["cluster", "flowers.csv"], 2, "Missing option '--clusters'"),
        (["cluster", "-", *CLUSTER[2:], "-o", "out.csv"], 3, "standard input is empty"),
        (["check", "flowers.csv"], 2, "Missing argument 'PAIRS'"),
        (["check", "flowers.csv", "bad.csv"], 3, "line 2: kind is 'maybe'"),
        (["predict", "pairs.csv", "flowers.csv", "-o", "out.csv"], 3, "pairs.csv"),
        (["report", "none.linkwise", "flowers.csv"], 3, "no such file"),
        (["ask", "flowers.csv", "--show", "petals"], 3, "no such column"),
        (["label", "flowers.csv", "--export", "out"], 3, "holds no answers yet"),
        (["label", "flowers.csv", "--port", "99999"], 2, "for '--port'"),
        (["demo", "--pairs", 10**9], 2, "has only"),
        (["bench", "run", "nothing.toml"], 3, "nothing.toml"),
        (["bench", "report", "smoke"], 3, "linkwise-bench.sqlite"),
        (["bench", "compare", "a.sqlite", "b.sqlite"], 3, "a.sqlite"),
        (["bench", "plans", "--colour"], 2, "No such option: --colour"),
        (["bench"], 2, "No such option: --json"),
        (["cook"], 2, "No such command 'cook'"),
        ([], 2, "No such option: --json"),
    ],
)
def test_what_goes_wrong_is_one_line_with_its_code(run, files, arguments, code, words):
    files.write("bad.csv", "i,j,kind\n0,1,maybe\n")
    files.write("data.zip", "")
    result, said = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert said[-1].keys() == {"error", "code"} and said[-1]["code"] == code
    assert words in said[-1]["error"]
    assert all(values.keys() == {"note"} for values in said[:-1])


def test_contradictions_are_one_line(run, files):
    files.write("pairs.csv", "i,j,kind\n0,1,same\n1,2,same\n0,2,different\n")
    result, (error,) = run(*CLUSTER, "-o", "out.csv", "--on-conflict", "raise")
    assert (result.exit_code, error["code"]) == (4, 4)
    assert "cannot-link 0, 2 contradicts must-links 0 - 1 - 2\n" in error["error"]
    result, said = run(*CLUSTER, "-o", "out.csv")
    assert [values["note"] for values in said] == json.loads(result.stdout)["warnings"]


def test_what_nobody_expects_is_one_line_with_its_traceback_on_demand(run, monkeypatch):
    def broken(*_):
        raise RuntimeError("a riddle\non two lines")

    monkeypatch.setattr("linkwise.cli._check.contradictions", broken)
    _, (error,) = run("check", "flowers.csv", "pairs.csv")
    assert error["code"] == 1 and "RuntimeError: a riddle on two" in error["error"]
    _, (error,) = run("--debug", "check", "flowers.csv", "pairs.csv")
    assert error["traceback"].startswith("Traceback")


def test_what_libraries_write_becomes_notes(files):
    code = (
        "import logging, sys, warnings\n"
        "from linkwise.cli import _check, main\n"
        "real = _check.read_pairs\n"
        "def talkative(*arguments):\n"
        "    warnings.warn('two\\nlines')\n"
        "    logging.getLogger('elsewhere').warning('a log')\n"
        "    sys.stderr.write('no line')\n"
        "    return real(*arguments)\n"
        "_check.read_pairs = talkative\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "flowers.csv", "pairs.csv", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["command"] == "check"
    notes = [json.loads(line)["note"] for line in done.stderr.splitlines()]
    assert notes[1:] == ["lines", "a log", "no line"] and "two" in notes[0]
