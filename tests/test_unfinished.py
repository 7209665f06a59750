"""What killed writers leave beside results is removed by the next one."""

import os
import subprocess
import sys

import pytest

from linkwise import Constraints
from linkwise._unfinished import unfinished

# Prints a name beside a path, makes the file and waits to be killed.
WRITER = """
import sys, time
from pathlib import Path
from linkwise._unfinished import unfinished
part = unfinished(Path(sys.argv[1]))
part.write_text("half")
print(part.name, flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills")


@pytest.fixture
def writer(tmp_path):
    """A process that has begun to write results.csv, and the name of its file."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "results.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process, tmp_path / process.stdout.readline().strip()
        process.kill()


def test_files_of_killed_writers_are_removed(writer, tmp_path):
    process, part = writer
    other = unfinished(tmp_path / "other.csv")
    assert part.exists() and part.suffix == ".csv"  # its writer lives
    process.kill()
    process.wait()
    assert not unfinished(tmp_path / "other.csv").exists()
    assert not part.exists() and not other.exists()


@pytest.mark.parametrize(
    "name",
    [
        ".results.0123456789abcdef0123456789abcdef.tmp.csv",
        ".results.tmp.csv",
        ".results.linkwise-00000000-999999999-" + 32 * "a" + ".tmp.csv",
        "results.linkwise.tmp",
    ],
)
def test_files_of_others_stay(tmp_path, name):
    (tmp_path / name).write_text("mine")
    unfinished(tmp_path / "results.csv")
    assert (tmp_path / name).read_text() == "mine"


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("ü" * 120 + ".csv")
    Constraints([(0, 1)]).to_csv(path)
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_is_not_there_is_named_by_the_writer(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Constraints([(0, 1)]).to_csv(tmp_path / "nowhere" / "pairs.csv")
