"""Jobs on a real Dask cluster of two processes."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from linkwise.experiments import ClusterError, Store, _remote, load_plan, run_jobs

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

CLOCKS = ["seconds", "cpu_seconds", "peak_memory", "finished"]
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@contextmanager
def client_of(folder, **settings):
    """Make a cluster whose workers find the modules in a folder."""
    # Of deaths of workers over one task, Dask itself makes one good.
    config = {"distributed.scheduler.allowed-failures": 1}
    with pytest.MonkeyPatch.context() as patch, dask.config.set(config):
        patch.setenv("PYTHONPATH", str(folder))
        patch.syspath_prepend(str(folder))
        with (
            distributed.LocalCluster(
                host="127.0.0.1",
                protocol="tcp://",
                dashboard_address="127.0.0.1:0",
                **settings,
            ) as cluster,
            distributed.Client(cluster, timeout=20) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def shared_client(folder):
    with client_of(folder, n_workers=2, threads_per_worker=1) as client:
        yield client


@pytest.fixture
def client(shared_client):
    shared_client.wait_for_workers(2, timeout=30)
    return shared_client


@pytest.fixture
def jobs(write_plan):
    """Return a function that gives the jobs of methods on two blobs."""

    def make(methods, trials=1, **limits):
        lines = [f"{name} = {value!r}" for name, value in limits.items()]
        text = "\n".join(
            [
                "datasets = ['my_methods:two_blobs']",
                f"trials = {trials}",
                "constraints = [10]",
                *lines,
                "[methods]",
                *methods,
            ]
        )
        return load_plan(write_plan("remote", text)).jobs()

    return make


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "records.sqlite")


def steady(pause=0.0, log=""):
    return f'steady = {{method = "my_methods:steady", pause = {pause}, log = "{log}"}}'


def processes(client):
    """Return the ids of the processes that do jobs."""

    def children():
        tasks = Path("/proc/self/task").iterdir()
        pids = [
            pid for each in tasks for pid in (each / "children").read_text().split()
        ]
        return [pid for pid in pids if b"resource_tracker" not in command(pid)]

    def command(pid):
        return Path(f"/proc/{pid}/cmdline").read_bytes()

    return {int(pid) for pids in client.run(children).values() for pid in pids}


def is_alive(pid):
    return Path(f"/proc/{pid}/cwd").exists()


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.05)


def test_records_are_those_of_a_local_run(client, jobs, store, tmp_path):
    todo = jobs(["k-means = {}", steady()], trials=4)
    seen = []
    progress = run_jobs(todo, store, client=client, on_progress=seen.append)
    assert (progress.n_done, progress.n_failed) == (8, 0)
    assert max(len(each.running) for each in seen) == 2
    local = Store(tmp_path / "local.sqlite")
    run_jobs(todo, local)
    pd.testing.assert_frame_equal(
        store.table().drop(columns=CLOCKS), local.table().drop(columns=CLOCKS)
    )


def test_whatever_goes_wrong_is_a_record_and_the_rest_goes_on(client, jobs, store):
    rogues = ["raises", "hangs", "dies", "counts_threads"]
    methods = [f'{name} = {{method = "my_methods:{name}"}}' for name in rogues]
    todo = jobs([*methods, steady()], time_limit="1s")
    progress = run_jobs(todo, store, client=client)
    assert (progress.n_done, progress.n_failed) == (5, 4)
    records = store.table().set_index("method")
    assert records["status"].to_dict() == {
        "raises": "error",
        "hangs": "timeout",
        "dies": "crash",
        "counts_threads": "error",
        "steady": "ok",
    }
    assert records.loc["raises", "error"] == "RuntimeError: no luck"
    assert records.loc["counts_threads", "error"] == "RuntimeError: threads {1}"
    assert "after 1 s of the method" in records.loc["hangs", "error"]
    assert "SIGKILL" in records.loc["dies", "error"]
    assert (records["n_samples"] == 80).all()


def test_fewer_jobs_at_once_can_be_asked_for(client, jobs, store):
    seen = []
    todo = jobs([steady()], trials=3)
    run_jobs(todo, store, client=client, n_workers=1, on_progress=seen.append)
    assert max(len(each.running) for each in seen) == 1
    assert len(store.table()) == 3


@needs_proc
@pytest.mark.slow
def test_jobs_of_a_killed_worker_are_done_by_another(client, jobs, store, tmp_path):
    todo = jobs([steady(0.5, tmp_path / "calls")], trials=8)
    killed = []

    def kill(progress):
        if progress.n_done >= 2 and not killed and len(processes(client)) == 2:
            killed.extend(processes(client))
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    progress = run_jobs(todo, store, client=client, on_progress=kill)
    assert (progress.n_done, progress.n_failed) == (8, 0)
    assert len(store.table()) == 8
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(set(calls)) == 8
    # The process of the killed worker has not outlived it, that of the other has.
    assert len(killed) == 2 and sum(map(is_alive, killed)) == 1


def test_an_interrupted_run_leaves_no_claims_and_no_work(client, jobs, store):
    todo = jobs([steady(600)], trials=3)

    def is_busy(dask_worker):
        return dask_worker.state.executing_count > 0

    def interrupt(progress):
        if any(client.run(is_busy).values()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(todo, store, client=client, on_progress=interrupt)
    assert store.table().empty and all(store.claim(job.key) for job in todo)
    wait_until(lambda: not any(client.run(is_busy).values()))


def test_a_job_that_dask_gives_up_is_a_crash(client, jobs, store, monkeypatch):
    def deadly(job):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(_remote, "do_job", deadly)
    run_jobs(jobs([steady()]), store, client=client)
    (record,) = store.table().to_dict("records")
    assert record["status"] == "crash" and "KilledWorker" in record["error"]


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [None, 1])
def test_after_the_time_limit_nobody_waits_for_workers_that_are_gone(
    folder, jobs, store, n_workers
):
    todo = jobs([steady(600)], trials=3)
    start = time.monotonic()
    gone = []

    with client_of(folder, n_workers=1, threads_per_worker=1) as client:

        def leave(progress):
            assert time.monotonic() < start + 120, "it waits"
            if progress.running and not gone:
                gone.append(progress)
                client.cluster.scale(0)

        progress = run_jobs(
            *(todo, store),
            client=client,
            n_workers=n_workers,
            time_limit=5,
            on_progress=leave,
        )
    assert gone and (progress.n_done, progress.n_jobs) == (0, 3)
    assert store.table().empty and all(store.claim(job.key) for job in todo)


class TestThreads:
    """On a cluster whose workers are threads of this process."""

    @pytest.fixture
    def client(self, folder):
        settings = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
        with client_of(folder, **settings) as client:
            yield client

    @pytest.fixture
    def started(self, monkeypatch):
        """The processes that are started for jobs."""
        processes = []

        class Noted(_remote.Worker):
            def __init__(self):
                super().__init__()
                processes.append(self.process)

        monkeypatch.setattr(_remote, "Worker", Noted)
        return processes

    @pytest.mark.slow
    def test_processes_serve_many_jobs_and_end_when_idle(
        self, client, jobs, store, started, monkeypatch
    ):
        monkeypatch.setattr(_remote, "_IDLE_LIMIT", 1.0)
        run_jobs(jobs([steady(0.1)], trials=8), store, client=client)
        assert len(started) == 2 and len(store.table()) == 8
        wait_until(lambda: not any(process.is_alive() for process in started))
        # Those of other tests may still wait for their end.
        kept = [worker.process for worker, _ in _remote._idle.values()]
        assert not set(kept) & set(started)

    def test_a_closed_cluster_ends_the_run_and_its_processes(
        self, client, jobs, store, started
    ):
        closing = threading.Thread(target=client.cluster.close)

        def close(progress):
            if started and not closing.is_alive():
                closing.start()

        todo = jobs([steady(600)])
        with pytest.raises(ClusterError, match="connection to the scheduler was lost"):
            run_jobs(todo, store, client=client, on_progress=close)
        closing.join(20)
        assert not closing.is_alive()
        assert not any(process.is_alive() for process in started)
        assert store.claim(todo[0].key)

    def test_an_error_that_is_no_fault_of_the_job_ends_the_run(
        self, client, jobs, store, monkeypatch
    ):
        def broken(job):
            raise ModuleNotFoundError("no module linkwise")

        monkeypatch.setattr(_remote, "do_job", broken)
        with pytest.raises(ClusterError, match="no module linkwise.*Workers need"):
            run_jobs(jobs([steady()], trials=3), store, client=client)
        assert store.table().empty


def test_a_cluster_without_workers_is_an_error(folder, jobs, store, monkeypatch):
    monkeypatch.setattr(_remote, "_START_LIMIT", 0.2)
    with (
        client_of(folder, n_workers=0, processes=False) as client,
        pytest.raises(ClusterError, match="no workers: start some with `dask worker"),
    ):
        run_jobs(jobs([steady()]), store, client=client)
