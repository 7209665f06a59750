"""The option ``--scheduler``: candidates or jobs on a running Dask cluster."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from linkwise.cli import _scheduler
from linkwise.experiments import _remote, read_records

distributed = pytest.importorskip("distributed")


def cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=2,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


@pytest.fixture
def impatient(monkeypatch):
    """Nobody waits long for a scheduler that does not answer."""
    monkeypatch.setattr(_scheduler, "connect", partial(_scheduler.connect, timeout=1))


@pytest.fixture(scope="module")
def address():
    with cluster(n_workers=1) as running:
        yield running.scheduler_address


TO_CLUSTER = ["cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--candidates", 30]


def test_a_cluster_gives_the_labels_of_threads(files, address):
    files.ok(*TO_CLUSTER, "-o", "here.csv")
    options = ["-o", "there.csv", "--model", "m.linkwise", "--scheduler", address]
    files.ok(*TO_CLUSTER, *options)
    here, there = pd.read_csv("here.csv"), pd.read_csv("there.csv")
    assert np.array_equal(here["cluster"], there["cluster"])
    # The model does not hold on to the cluster.
    files.ok("predict", "m.linkwise", "flowers.csv", "-o", "again.csv")


def test_no_scheduler_is_said_and_nothing_is_written(files, impatient):
    result = files(*TO_CLUSTER, "-o", "here.csv", "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 3
    assert "no Dask scheduler answers there" in result.stderr
    assert "here.csv" not in files.files()


PLAN = """
datasets = ["sklearn:iris"]
trials = 4
constraints = [30]
[methods]
k-means = {}
wrong = { method = "k-means", speed = 3 }
"""
TO_RUN = ["bench", "run", "quick.toml"]


@pytest.mark.slow
def test_a_cluster_gives_the_records_of_processes(linkwise, address):
    linkwise.write("quick.toml", PLAN)
    linkwise.ok(*TO_RUN, "--store", "here.sqlite")
    there = ["--store", "there.sqlite", "--scheduler", address]
    part = linkwise.json(*TO_RUN, *there, "--trials", 1, "--jobs", 1)
    assert (part["done"], part["failed"]) == (2, 1)
    whole = linkwise.json(*TO_RUN, *there, "--jobs", -1)
    assert (whole["done"], whole["failed"], whole["left"]) == (8, 4, 0)
    clocks = ["seconds", "cpu_seconds", "peak_memory", "finished"]
    here, there = (
        read_records(f"{name}.sqlite").drop(columns=clocks)
        for name in ("here", "there")
    )
    pd.testing.assert_frame_equal(here, there)


def test_a_run_without_scheduler_or_workers_says_what_to_start(
    linkwise, impatient, monkeypatch
):
    linkwise.write("quick.toml", PLAN)
    monkeypatch.setattr(_remote, "_START_LIMIT", 0.2)
    result = linkwise(*TO_RUN, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 3
    assert "no Dask scheduler answers there" in result.stderr
    with cluster(n_workers=0) as empty:
        result = linkwise(*TO_RUN, "--scheduler", empty.scheduler_address)
    assert result.exit_code == 3
    assert "has no workers: start some with `dask worker tcp://" in result.stderr
