"""A plan carried out: jobs given to workers, records to the store."""

import errno
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from linkwise.experiments._jobs import Job, Key
from linkwise.experiments._measure import DISK_FULL
from linkwise.experiments._remote import (
    RemoteWorker,
    await_workers,
    has_workers,
    n_threads,
)
from linkwise.experiments._store import Store
from linkwise.experiments._time_left import Pace
from linkwise.experiments._workers import SPOILT, Worker

_AnyWorker = Worker | RemoteWorker
_TICK = 0.5  # seconds between two looks at the clocks
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    n_done: int  # jobs with a record, those of former runs included
    n_failed: int
    n_jobs: int
    running: tuple[Job, ...]
    seconds_left: float | None  # None: nothing to judge by yet


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_workers: int | None = None,
    client: Any = None,
    time_limit: float | None = None,
    redo_failed: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Do the jobs that the store has no record of.

    Each runs in a process of its own with one thread. An error, a time-out, a crash or
    a lack of memory is a record like any other. Several runs may work on one store:
    no job is done twice. After an interruption of any kind, the next run goes on.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are to be started.
    store : Store
        Where records are kept.
    n_workers : int or None, default=None
        Number of processes. None: one, or with ``client`` as many as the cluster has
        threads, also if it grows.
    client : distributed.Client or None, default=None
        A connection to a Dask cluster whose workers are to do the jobs, with processes
        of their own. They need linkwise, the data and the modules that jobs name. A
        job whose worker dies is done again by another.
    time_limit : float or None, default=None
        Seconds after which no more jobs are started; those under way are finished,
        unless the cluster that did them has no workers any more.
    redo_failed : bool, default=False
        Whether failed jobs of former runs are done again.
    on_progress : callable
        Told of the progress about twice a second.

    Returns
    -------
    Progress
        How far it came.

    Raises
    ------
    ClusterError
        If the cluster has no workers, cannot be reached any more or cannot do jobs.
    OSError
        If the disk is full here, or where a job is done: that is no fault of the job,
        which has no record then.
    """
    run = _Run(jobs, store, redo_failed)
    end = float("inf") if time_limit is None else time.monotonic() + time_limit
    workers: list[_AnyWorker] = []
    hire, n_wanted = _staff(n_workers, client)
    with ExitStack() as stack:
        stack.callback(lambda: run.abandon(workers))
        pending = run.claimed()
        while True:
            _employ(workers, pending, hire, n_wanted(), end)
            busy = [worker for worker in workers if worker.job is not None]
            on_progress(run.progress(busy))
            if not busy or (time.monotonic() >= end and _is_deserted(client)):
                return run.result()
            wait([worker.connection for worker in busy], timeout=_TICK)
            for worker in busy:
                record = worker.poll()
                if record is not None:
                    run.keep(record)
                    worker.job = None
                    if record["status"] in SPOILT:
                        worker.stop()
                        workers.remove(worker)


def _staff(
    n_workers: int | None, client: Any
) -> tuple[Callable[[], _AnyWorker], Callable[[], int]]:
    """Return what makes a worker, and what says how many there may be."""
    if client is None:
        return Worker, lambda: n_workers or 1
    await_workers(client)
    hire = partial(RemoteWorker, client)
    return hire, lambda: n_workers or n_threads(client)


def _is_deserted(client: Any) -> bool:
    """Tell whether nobody does the jobs under way: they only wait for workers."""
    return client is not None and not has_workers(client)


def _employ(
    workers: list[_AnyWorker],
    pending: Iterator[Job],
    hire: Callable[[], _AnyWorker],
    n_workers: int,
    end: float,
) -> None:
    """Give jobs to idle workers, and make workers while there are jobs for them."""
    while time.monotonic() < end:
        idle = [worker for worker in workers if worker.job is None]
        if not idle and len(workers) >= n_workers:
            return
        job = next(pending, None)
        if job is None:
            return
        if not idle:
            workers.append(hire())
            idle = workers[-1:]
        idle[0].begin(job)


class _Run:
    """What one run knows of its jobs."""

    def __init__(self, jobs: Sequence[Job], store: Store, redo_failed: bool) -> None:
        self._jobs, self._store, self._redo_failed = jobs, store, redo_failed
        self._statuses = self._known()
        self._pending = [job for job in jobs if job.key not in self._statuses]
        self._pace = Pace(self._pending, store.table())

    def claimed(self) -> Iterator[Job]:
        """Yield jobs as they are claimed, those of dead processes at the end too."""
        elsewhere = []
        for job in self._pending:
            if self._store.claim(job.key, self._redo_failed):
                yield job
            else:
                elsewhere.append(job)
        for job in elsewhere:
            if self._store.claim(job.key, self._redo_failed):
                yield job

    def keep(self, record: dict[str, Any]) -> None:
        """Put a record into the store, unless it says that no job can be done."""
        if record["status"] == DISK_FULL:
            raise OSError(errno.ENOSPC, f"What a job writes ({record['error']})")
        self._store.add(record)
        key = Key(*(record[name] for name in Key._fields))
        self._statuses[key] = record["status"]
        self._pace.add(record)
        if record["status"] != "ok":
            _logger.info("%s: %s", ", ".join(map(str, key[:4])), record["error"])

    def abandon(self, workers: list[_AnyWorker]) -> None:
        """Stop the workers; what they had under way is free for others."""
        try:
            self._store.release(worker.job.key for worker in workers if worker.job)
        except OSError:
            pass  # the disk is full; claims end with this process anyway
        finally:
            for worker in workers:
                worker.stop()

    def progress(self, busy: list[_AnyWorker]) -> Progress:
        """Return how far this run is."""
        return self._progress(self._statuses, busy)

    def result(self) -> Progress:
        """Return how far all runs on the store have come."""
        self._redo_failed = False
        return self._progress(self._known(), [])

    def _progress(self, statuses: dict[Key, str], busy: list[_AnyWorker]) -> Progress:
        return Progress(
            n_done=len(statuses),
            n_failed=sum(status != "ok" for status in statuses.values()),
            n_jobs=len(self._jobs),
            running=tuple(worker.job for worker in busy if worker.job),
            seconds_left=self._pace.seconds_left(max(1, len(busy))),
        )

    def _known(self) -> dict[Key, str]:
        """Return the status of each job that need not be done."""
        done = self._store.done()
        if self._redo_failed:
            done = {key: status for key, status in done.items() if status == "ok"}
        return {job.key: done[job.key] for job in self._jobs if job.key in done}
