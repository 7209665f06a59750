"""Workers on a Dask cluster: each job in a process that a thread of theirs starts."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from linkwise.engines import is_lost_work, is_task_wanted
from linkwise.experiments._jobs import Job
from linkwise.experiments._measure import make_record, one_line
from linkwise.experiments._workers import SPOILT, Worker

_TICK = 0.5  # seconds between two looks at the clocks
_START_LIMIT = 10.0  # seconds until a first worker must be there
_FETCH_LIMIT = 5.0
_IDLE_LIMIT = 60.0  # then a process that nobody uses is ended
_LOST = "The connection to the scheduler was lost."


class ClusterError(RuntimeError):
    """A Dask cluster cannot do jobs, whichever they are; the text says why."""


class RemoteWorker:
    """Has a Dask cluster do one job after the other; stands in for a `Worker`.

    Parameters
    ----------
    client : distributed.Client
        A connection to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self.job: Job | None = None
        self._client = client
        self._future: Any = None
        self._begin = 0.0
        # At its end when there is something to poll for.
        self.connection, _ = multiprocessing.Pipe(duplex=False)

    def begin(self, job: Job) -> None:
        """Start a job; the worker must be idle."""
        self.job = job
        self._begin = time.monotonic()
        self._future = self._client.submit(do_job, job, pure=False)
        self._watch()

    def poll(self) -> dict[str, Any] | None:
        """Return the record of the job if it is over, in whatever way."""
        status = self._future.status
        if status == "cancelled":
            raise ClusterError(_LOST)
        if status in ("finished", "error"):
            record = self._fetch()
            if record is not None:
                self.stop()
                return record
        if self.connection.poll():
            self._watch()  # it was over, but its record was lost: it is done again
        return None

    def stop(self) -> None:
        """Let go of the job; if it is under way, the cluster ends it."""
        if self._future is not None:
            self._future.release()
        self.connection.close()

    def _watch(self) -> None:
        self.connection.close()
        self.connection, theirs = multiprocessing.Pipe(duplex=False)
        self._future.add_done_callback(lambda future: theirs.close())

    def _fetch(self) -> dict[str, Any] | None:
        """Return the record from the cluster, None if it cannot be had now."""
        assert self.job is not None
        try:
            record = self._future.result(timeout=_FETCH_LIMIT)
        except Exception as error:
            if is_lost_work(error):
                seconds = time.monotonic() - self._begin
                return make_record(self.job, "crash", one_line(error), seconds)
            if self._future.status == "error":
                # No fault of the job: to go on would spoil all the others, too.
                raise ClusterError(
                    f"A job could not be done there ({one_line(error)}). Workers need "
                    "linkwise in the version that is here."
                ) from error
            if isinstance(error, TimeoutError):
                return None
            raise ClusterError(_LOST) from error
        if record is None:
            self.begin(self.job)  # its worker was closing
        return record


def await_workers(client: Any) -> None:
    """Wait a moment for a first worker, and raise if there is none."""
    try:
        client.wait_for_workers(1, timeout=_START_LIMIT)
    except TimeoutError as error:
        address = client.scheduler.address
        raise ClusterError(
            f"The cluster has no workers: start some with `dask worker {address}`."
        ) from error


def n_threads(client: Any) -> int:
    """Return how many jobs a cluster can do at once, at least 1."""
    return max(1, sum(_threads(client)))


def has_workers(client: Any) -> bool:
    """Return whether a cluster has anyone to do a job now."""
    return any(_threads(client))


def _threads(client: Any) -> list[int]:
    """Return the number of threads of each worker."""
    try:
        return list(client.nthreads().values())
    except OSError as error:
        raise ClusterError(f"The scheduler does not answer ({error}).") from error


def do_job(job: Job) -> dict[str, Any] | None:
    """Return the record of a job, None if the Dask worker has to give it up.

    For a thread of a Dask worker. The job runs in a process with one thread, so that
    limits and crashes are as they are without Dask.
    """
    with _process_of_this_thread() as worker:
        worker.begin(job)
        while is_task_wanted():
            wait([worker.connection], timeout=_TICK)
            record = worker.poll()
            if record is not None:
                if record["status"] not in SPOILT:
                    worker.job = None
                return record
    return None


# A process is killed when the thread that has started it ends: no other may use it.
_idle: dict[threading.Thread, tuple[Worker, threading.Timer]] = {}
_start_lock = threading.Lock()


@contextmanager
def _process_of_this_thread() -> Iterator[Worker]:
    """Give an idle process; if it is idle again after the block, it is kept a while."""
    thread = threading.current_thread()
    kept = _idle.pop(thread, None)
    if kept is None:
        worker = _start_worker()
    else:
        worker, timer = kept
        timer.cancel()
    try:
        yield worker
    finally:
        if worker.job is None:
            timer = threading.Timer(_IDLE_LIMIT, _end_idle, [thread])
            timer.daemon = True
            _idle[thread] = worker, timer
            timer.start()
        else:
            worker.stop()


def _end_idle(thread: threading.Thread) -> None:
    kept = _idle.pop(thread, None)
    if kept is not None:
        kept[0].stop()


def _start_worker() -> Worker:
    """Start a process from a process that may be daemonic.

    Dask's own are, and Python lets none such have children because they could be left
    behind; a `Worker` is not. The lock is for this flag and the variables that a
    `Worker` sets: both belong to all threads.
    """
    process = multiprocessing.current_process()
    with _start_lock:
        is_daemon, process.daemon = process.daemon, False
        try:
            return Worker()
        finally:
            process.daemon = is_daemon
