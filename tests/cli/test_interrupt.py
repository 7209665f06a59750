"""Ctrl-C at several moments, in a process of its own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")

# Runs the command; a named function sends Ctrl-C when it is called for the n-th time.
RUN = """
import importlib, os, signal, sys
where, name, nth = sys.argv.pop(1).split(":")
owner = importlib.import_module(where)
*path, name = name.split(".")
for part in path:
    owner = getattr(owner, part)
real, calls = getattr(owner, name), []

def interrupting(*args, **kwargs):
    calls.append(name)
    if len(calls) == int(nth):
        os.kill(os.getpid(), signal.SIGINT)
    return real(*args, **kwargs)

setattr(owner, name, interrupting)
from linkwise.cli import main
main()
"""


def slowly(*moments):
    """Return moments that are much like others: each takes a process."""
    return [pytest.param(moment, marks=pytest.mark.slow) for moment in moments]


def heed_ctrl_c():
    """Undo what a shell does to processes in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def interrupted(files):
    def run(moment, *arguments):
        return subprocess.run(
            [sys.executable, "-c", RUN, moment, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=heed_ctrl_c,
        )

    return run


def cluster(*options):
    return [
        *("cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--candidates", 20),
        *("--out", "labels.csv", "--model", "m.linkwise", *options),
    ]


@pytest.mark.parametrize(
    "moment",
    [
        "linkwise.cli._data:_Source.read:1",  # in the middle of pandas
        "linkwise.estimators:KernelCSC.fit:1",  # before the search
        "linkwise.model_files:save:1",  # labels are written beside their place
        *slowly(
            "linkwise.cli._data:recognised:1",
            "linkwise.cli._cluster:read_data:1",
            "linkwise.cli._cluster:read_pairs:1",
            "linkwise.cli._cluster:cluster_sizes:1",
        ),
    ],
)
def test_nothing_is_written_and_one_line_says_so(files, interrupted, moment):
    Path("labels.csv").write_text("old")
    before = files.files()
    done = interrupted(moment, *cluster())
    assert done.returncode == 130, done.stderr
    assert done.stderr == "error: interrupted; nothing was written.\n"
    assert done.stdout == ""
    assert files.files() == before and Path("labels.csv").read_text() == "old"


@pytest.mark.parametrize("moment", [*slowly("os:replace:1"), "os:replace:2"])
def test_once_files_are_moved_in_all_are(files, interrupted, moment):
    # The model is first moved to where it waits for the labels.
    done = interrupted(moment, *cluster())
    is_done = Path("labels.csv").exists()
    assert is_done == Path("m.linkwise").exists()
    assert done.returncode == (0 if is_done else 130), done.stderr
    assert ("labels.csv" in done.stdout) == is_done
    assert not [name for name in files.files() if name.endswith(".tmp")]


def test_labels_of_new_rows_are_not_begun(files, interrupted):
    files.ok(*cluster())
    before = files.files()
    moment = "linkwise.estimators:KernelCSC.predict:1"
    done = interrupted(moment, "predict", "m.linkwise", "flowers.csv", "-o", "new.csv")
    assert done.returncode == 130
    assert done.stderr == "error: interrupted; nothing was written.\n"
    assert files.files() == before


def test_a_check_ends_without_a_traceback(files, interrupted):
    moment = "linkwise.cli._check:contradictions:1"
    done = interrupted(moment, "check", "flowers.csv", "pairs.csv")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted; nothing was written.\n"


@pytest.mark.parametrize(
    "command", [[], *slowly(["demo"]), ["cluster", "--json", "a.csv"]]
)
def test_while_modules_are_imported(files, command):
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *args):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from linkwise.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        capture_output=True,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    assert done.returncode == 130
    said = "interrupted; nothing was written."
    if "--json" in command:
        assert json.loads(done.stderr) == {"error": said, "code": 130}
    else:
        assert done.stderr == f"error: {said}\n"


@pytest.mark.parametrize(
    "moment",
    [
        "typer.core:TyperGroup.resolve_command:1",
        *slowly("linkwise.cli._cluster:read_pairs:1"),
    ],
)
def test_programs_are_told_in_json(interrupted, moment):
    done = interrupted(moment, *cluster("--json"))
    assert (done.returncode, done.stdout) == (130, "")
    said = {"error": "interrupted; nothing was written.", "code": 130}
    assert json.loads(done.stderr) == said


@pytest.mark.slow
def test_what_a_killed_command_leaves_is_removed_by_the_next(files):
    code = (
        "import os, signal\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from linkwise.cli import main\n"
        "main()\n"
    )
    before = files.files()
    arguments = [str(argument) for argument in cluster()]
    killed = subprocess.run([sys.executable, "-c", code, *arguments])
    assert killed.returncode == -signal.SIGKILL
    assert [name for name in files.files() if ".tmp" in name]
    files.ok(*arguments)
    assert files.files() == sorted([*before, "labels.csv", "m.linkwise"])
