"""A full disk: a real one where one can be mounted, and errors as it raises them."""

import errno
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from linkwise.experiments import Store

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
PLAN = """
datasets = ["sklearn:iris"]
trials = 3
constraints = [30]
[methods]
k-means = {}
"""
METHOD = """
import errno, os
def fills(X, constraints, *, n_clusters, random_state):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/scratch/rows.npy")
"""


def slowly(*values):
    """Return values that are much like others: each takes two runs."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB, and what fills it but for some bytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no disk can be mounted here")

    def fill(n_free):
        file = os.open(folder / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(file, bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC
        os.truncate(file, os.fstat(file).st_size - n_free)
        os.close(file)

    yield folder, fill
    # Lazily: a file that a failed test left open must not keep it mounted.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def cluster(files, out, *options):
    return files(
        *("cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--out", out),
        *("--candidates", 5, *options),
    )


def check(result, path):
    assert result.exit_code == 3, result.output
    assert f"{path} cannot be written: the disk is full" in result.stderr
    assert "Traceback" not in result.stderr and result.stdout == ""


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "parquet"])
def test_labels_that_have_no_room_are_not_begun(files, small_disk, ending):
    folder, fill = small_disk
    out = folder / f"labels.{ending}"
    out.write_text("old")
    fill(0)
    check(cluster(files, out), out)
    assert out.read_text() == "old"
    assert sorted(os.listdir(folder)) == ["filler", out.name]


def test_without_room_for_the_model_there_are_no_labels_either(files, small_disk):
    folder, fill = small_disk
    fill(8192)
    model = folder / "m.linkwise"
    check(cluster(files, folder / "labels.csv", "--model", model), model)
    assert os.listdir(folder) == ["filler"]


@pytest.mark.parametrize("n_free", [0, 4096, 16384])
def test_a_store_that_has_no_room_is_not_begun(linkwise, small_disk, n_free):
    folder, fill = small_disk
    linkwise.write("plan.toml", PLAN)
    fill(n_free)
    store = folder / "records.sqlite"
    check(linkwise("bench", "run", "plan.toml", "--store", store), store)
    assert os.listdir(folder) == ["filler"]


@pytest.mark.parametrize("n_free", [*slowly(0, 40960), 8192])
def test_a_run_goes_on_when_there_is_room_again(linkwise, small_disk, n_free):
    folder, fill = small_disk
    linkwise.write("plan.toml", PLAN)
    store = folder / "records.sqlite"
    arguments = ["bench", "run", "plan.toml", "--store", store, "--method", "k-means"]
    Store(store)
    fill(n_free)
    check(linkwise(*arguments), store)
    (folder / "filler").unlink()
    assert linkwise.json(*arguments)["done"] == 3


@pytest.mark.parametrize("name", ["labels_writer", "model_writer"])
def test_results_that_cannot_be_written_are_named(files, monkeypatch, name):
    def writer(*_):
        def write(part):
            part.write_text("half")
            raise NO_SPACE

        return write

    monkeypatch.setattr(f"linkwise.cli._cluster.{name}", writer)
    Path("a.csv").write_text("old")
    before = files.files()
    result = cluster(files, "a.csv", "--model", "m.linkwise")
    check(result, "a.csv" if name == "labels_writer" else "m.linkwise")
    assert files.files() == before and Path("a.csv").read_text() == "old"


@pytest.mark.parametrize("moment", [*slowly("claim"), "add"])
def test_a_run_keeps_what_is_finished(linkwise, monkeypatch, moment):
    linkwise.write("plan.toml", PLAN)
    arguments = ["bench", "run", "plan.toml", "--method", "k-means"]
    real, calls = getattr(Store, moment), []

    def full(self, *args, **kwargs):
        calls.append(args)
        if len(calls) > 1:
            with self._connection():
                raise sqlite3.OperationalError("database or disk is full")
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Store, moment, full)
        patch.setattr(Store, "release", full)
        result = linkwise(*arguments)
    check(result, "linkwise-bench.sqlite")
    assert "Finished jobs are kept in linkwise-bench.sqlite" in result.stderr
    assert len(Store("linkwise-bench.sqlite").done()) == 1
    # A claim that could not be given up ends with its process, which is this one.
    monkeypatch.setattr("linkwise.experiments._store._is_alive", lambda owner: False)
    assert linkwise.json(*arguments)["done"] == 3


def test_a_full_disk_in_a_worker_ends_the_run_and_is_no_record(linkwise):
    mine = 'mine = { method = "my_full_disk:fills" }'
    linkwise.write("plan.toml", PLAN + mine)
    linkwise.write("my_full_disk.py", METHOD)
    result = linkwise("bench", "run", "plan.toml", "--method", "mine")
    assert result.exit_code == 3, result.output
    assert "/scratch/rows.npy" in result.stderr and "the disk is full" in result.stderr
    store = Store("linkwise-bench.sqlite")
    assert store.done() == {}
    jobs = linkwise.json("bench", "run", "plan.toml", "--method", "k-means")
    assert jobs["done"] == 3


def test_a_report_is_written_as_a_whole_or_not_at_all(linkwise, monkeypatch):
    linkwise.write("plan.toml", PLAN)
    linkwise.ok("bench", "run", "plan.toml", "--method", "k-means")
    arguments = ["bench", "report", "plan.toml", "--method", "k-means", "--out", "r"]
    real = Path.write_bytes

    def full(self, data):
        if "report" in self.name:
            real(self, data[:10])
            raise NO_SPACE
        return real(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        check(linkwise(*arguments), Path("r/report.html"))
    assert list((linkwise.folder / "r").iterdir()) == []
    linkwise.ok(*arguments)
    assert (linkwise.folder / "r" / "report.html").is_file()
