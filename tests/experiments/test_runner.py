import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from linkwise.experiments import Job, Store, load_plan, run_job, run_jobs

CLOCKS = ["seconds", "cpu_seconds", "peak_memory", "finished"]
STEADY = """
    datasets = ["sklearn:iris", "my_methods:two_blobs"]
    trials = 2
    constraints = [10, 40]
    [methods]
    steady = { method = "my_methods:steady", pause = 0.15 }
    COP = {}
"""


@pytest.fixture(scope="module")
def plan(folder):
    path = folder / "steady.toml"
    path.write_text(STEADY)
    return load_plan(str(path))


@pytest.fixture(scope="module")
def uninterrupted(plan, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("stores") / "whole.sqlite")
    progress = run_jobs(plan.jobs(), store)
    assert (progress.n_done, progress.n_failed) == (16, 0)
    return store.table()


def start_run(folder, store, plan="steady"):
    """Start `linkwise bench run` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "linkwise.cli", "bench", "run"]
        + [str(folder / f"{plan}.toml"), "--store", str(store.path), "--quiet"],
    )


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.02)


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been_killed(
    folder, plan, uninterrupted, tmp_path
):
    store = Store(tmp_path / "killed.sqlite")
    run = start_run(folder, store)
    wait_until(lambda: len(store.done()) >= 5)
    workers = children(run.pid) if sys.platform == "linux" else []
    os.kill(run.pid, signal.SIGKILL)
    run.wait(20)
    # Workers do not outlive the run, not even in the middle of a job.
    wait_until(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in workers))
    before = store.table()
    assert 5 <= len(before) < 16
    progress = run_jobs(plan.jobs(), store)
    assert (progress.n_done, progress.n_failed) == (16, 0)
    after = store.table()
    kept = after.merge(before[["dataset", "method", "trial", "n_constraints"]])
    pd.testing.assert_frame_equal(kept, before)
    pd.testing.assert_frame_equal(
        after.drop(columns=CLOCKS), uninterrupted.drop(columns=CLOCKS)
    )


@pytest.mark.slow
def test_two_runs_at_once_share_the_jobs_and_do_none_twice(folder, tmp_path):
    log = tmp_path / "calls"
    (folder / "shared.toml").write_text(
        f"""
        datasets = ["my_methods:two_blobs"]
        trials = 20
        constraints = [10]
        [methods]
        steady = {{ method = "my_methods:steady", pause = 0.2, log = "{log}" }}
        """
    )
    store = Store(tmp_path / "shared.sqlite")
    other = start_run(folder, store, "shared")
    wait_until(lambda: len(store.done()) >= 1)
    jobs = load_plan(str(folder / "shared.toml")).jobs()
    seen = []
    run_jobs(jobs, store, on_progress=seen.append)
    assert other.wait(120) == 0
    calls = log.read_text().splitlines()
    assert len(calls) == len(set(calls)) == len(store.table()) == 20
    started = {job for progress in seen for job in progress.running}
    assert 0 < len(started) < 20


@pytest.mark.slow
def test_whatever_goes_wrong_is_a_record_and_the_rest_goes_on(write_plan, tmp_path):
    plan = load_plan(
        write_plan(
            "rogues",
            """
            datasets = ["my_methods:two_blobs"]
            trials = 1
            constraints = [10]
            time_limit = "2s"
            memory_limit = "3GiB"
            [methods]
            raises = { method = "my_methods:raises" }
            counts = { method = "my_methods:counts_threads" }
            hangs = { method = "my_methods:hangs" }
            greedy = { method = "my_methods:greedy" }
            dies = { method = "my_methods:dies" }
            steady = { method = "my_methods:steady" }
            """,
        )
    )
    store = Store(tmp_path / "rogues.sqlite")
    progress = run_jobs(plan.jobs(), store)
    assert (progress.n_done, progress.n_failed) == (6, 5)
    records = store.table().set_index("method")
    assert records["status"].to_dict() == {
        "raises": "error",
        "counts": "error",
        "hangs": "timeout",
        "greedy": "memory",
        "dies": "crash",
        "steady": "ok",
    }
    assert records.loc["raises", "error"] == "RuntimeError: no luck"
    assert records.loc["counts", "error"] == "RuntimeError: threads {1}"
    assert "after 2 s of the method" in records.loc["hangs", "error"]
    assert 2 <= records.loc["hangs", "seconds"] < 30
    assert "SIGKILL" in records.loc["dies", "error"]
    failed = records.drop(index="steady")
    assert failed["ari_test"].isna().all() and (failed["n_samples"] == 80).all()
    assert -0.5 <= records.loc["steady", "ari_test"] <= 1
    # A second run has nothing to do.
    assert run_jobs(plan.jobs(), store).n_failed == 5
    assert store.table().set_index("method").equals(records)


def test_a_run_out_of_time_starts_nothing_and_says_what_is_left(plan, tmp_path):
    store = Store(tmp_path / "late.sqlite")
    progress = run_jobs(plan.jobs(), store, time_limit=0.0)
    assert (progress.n_done, progress.n_jobs) == (0, 16)


def test_an_interrupted_run_gives_its_claims_back(plan, tmp_path):
    store = Store(tmp_path / "interrupted.sqlite")

    def interrupt(progress):
        if progress.running:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(plan.jobs(), store, on_progress=interrupt)
    assert all(store.claim(job.key) for job in plan.jobs())


def test_workers_that_cannot_start_end_the_run_and_leave_no_record(plan, tmp_path):
    store = Store(tmp_path / "none.sqlite")
    multiprocessing.set_executable(shutil.which("false"))
    try:
        with pytest.raises(RuntimeError, match="ended with code 1 before"):
            run_jobs(plan.jobs(), store)
    finally:
        multiprocessing.set_executable(sys.executable)
    assert store.table().empty and store.claim(plan.jobs()[0].key)


def test_a_record_holds_all_that_is_promised(uninterrupted):
    record = uninterrupted[uninterrupted["method"] == "COP"].iloc[0]
    assert record["status"] == "ok" and record["error"] == ""
    assert record["seconds"] > 0 and record["peak_memory"] > 2**24
    assert '"scikit-learn"' in record["versions"]
    assert record["constraint_score"] == 1  # COP breaks no pair
    assert record.notna().all()


def test_a_job_gives_the_same_record_in_this_process(plan, uninterrupted):
    job = plan.jobs()[1]
    record = run_job(job)
    there = uninterrupted.set_index(list(job.key._fields)).loc[tuple(job.key)]
    for name in ("ari_test", "nmi_all", "constraint_score", "coherence", "seed"):
        assert record[name] == there[name]


def test_data_that_cannot_be_read_are_a_failed_record():
    record = run_job(Job("sklearn:none", "COP", "COP", 0, 10, "{}"))
    assert record["status"] == "error" and "no data set 'none'" in record["error"]
