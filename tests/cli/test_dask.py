"""``linkwise cluster --scheduler``: candidates on a running Dask cluster."""

import numpy as np
import pandas as pd
import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


TO_CLUSTER = ["cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--candidates", 30]


def test_a_cluster_gives_the_labels_of_threads(files, address):
    files.ok(*TO_CLUSTER, "-o", "here.csv")
    options = ["-o", "there.csv", "--model", "m.joblib", "--scheduler", address]
    files.ok(*TO_CLUSTER, *options)
    here, there = pd.read_csv("here.csv"), pd.read_csv("there.csv")
    assert np.array_equal(here["cluster"], there["cluster"])
    # The model does not hold on to the cluster.
    files.ok("predict", "m.joblib", "flowers.csv", "-o", "again.csv")


def test_no_scheduler_is_said_and_nothing_is_written(files):
    result = files(*TO_CLUSTER, "-o", "here.csv", "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 3
    assert "no Dask scheduler answers there" in result.stderr
    assert "here.csv" not in files.files()
