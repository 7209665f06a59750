"""Output that nobody reads to its end, as after ``| head``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes")
CLUSTER = ["cluster", "flowers.csv", "-c", "pairs.csv", "-k", "3", "--candidates", "5"]


def unread(*arguments, with_errors=False):
    """Run the command with an output that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [sys.executable, "-m", "linkwise", *arguments],
            stdout=writing,
            stderr=writing if with_errors else subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)


def test_results_are_written_and_no_words_are_lost_on_it(files):
    done = unread(*CLUSTER, "--out", "labels.csv", "--quiet", "--json")
    assert (done.returncode, done.stderr) == (141, "")
    assert len(Path("labels.csv").read_text().splitlines()) == 61
    assert not [name for name in files.files() if ".tmp" in name]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["cluster", "--help"],
        ["--version"],
        pytest.param(["bench", "plans"], marks=pytest.mark.slow),
    ],
)
def test_what_is_only_printed(arguments):
    done = unread(*arguments)
    assert (done.returncode, done.stderr) == (141, "")


def test_errors_that_nobody_reads(files):
    done = unread("check", "flowers.csv", "none.csv", with_errors=True)
    assert done.returncode == 141


def test_what_was_read_before(files):
    command = [sys.executable, "-m", "linkwise", "check", "flowers.csv", "pairs.csv"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, bufsize=0, stdout=pipe, stderr=pipe) as process:
        assert process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
    # It may have said all before.
    assert process.returncode in (0, 141) and said == b""


def test_a_pipe_that_breaks_elsewhere_is_an_error(files, monkeypatch):
    def broken(*_):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("linkwise.cli._cluster.write_all", broken)
    result = files(*CLUSTER, "--out", "labels.csv")
    assert result.exit_code == 1 and "unexpected BrokenPipeError" in result.stderr
