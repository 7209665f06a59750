"""Processes that do jobs, so that what goes wrong in one harms no other."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from linkwise.experiments._jobs import Job
from linkwise.experiments._measure import MEASURED, WARM_UP, make_record, run_job
from linkwise.experiments._methods import method_names

# Data come from a network perhaps, and a first compilation takes its time.
_PREPARATION_LIMIT = 1800.0
_COMPILATION_LIMIT = 120.0
_START = "its start"
# How a job may end after which its process is used no more; after a lack of memory its
# heap may be in pieces.
SPOILT = ("timeout", "crash", "memory")
_KILL_ON_PARENT_DEATH = 1  # PR_SET_PDEATHSIG
_ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}


class Worker:
    """A process that does one job after the other, with one thread.

    It serves many jobs because imports and compiled code cost seconds each time. It
    ends with the process that made it, even if that is killed.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _environment(_ONE_THREAD):
            self.process.start()
        theirs.close()
        self.job: Job | None = None
        self._phase, self._phase_start = "", 0.0
        self._has_worked = False

    def begin(self, job: Job) -> None:
        """Start a job; the worker must be idle."""
        self.job = job
        self._enter(_START)
        try:
            self.connection.send(job)
        except OSError:
            pass  # it has died; poll will tell

    def poll(self) -> dict[str, Any] | None:
        """Return the record of the job if it is over, in whatever way."""
        assert self.job is not None
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if isinstance(message, dict):
                    return message
                self._enter(message)
        except (EOFError, OSError):
            self.process.join()
            if not self._has_worked:
                # No fault of the job: to go on would spoil all the others, too.
                raise RuntimeError(
                    f"A worker process {self._end()} before it could do anything."
                ) from None
            return self._failure("crash", f"The process {self._end()}.")
        if self._seconds() > self._limit():
            return self._failure(
                "timeout", f"No result after {self._limit():.0f} s of {self._phase}."
            )
        return None

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.connection.close()

    def _enter(self, phase: str) -> None:
        self._phase, self._phase_start = phase, time.monotonic()
        self._has_worked |= phase != _START

    def _seconds(self) -> float:
        return time.monotonic() - self._phase_start

    def _limit(self) -> float:
        assert self.job is not None
        limit = self.job.time_limit
        if self._phase == MEASURED:
            return float("inf") if limit is None else limit
        if self._phase == WARM_UP:
            return max(limit or 0.0, _COMPILATION_LIMIT)
        return _PREPARATION_LIMIT

    def _failure(self, status: str, error: str) -> dict[str, Any]:
        assert self.job is not None
        return make_record(self.job, status, error, self._seconds())

    def _end(self) -> str:
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with code {code}"


def _work(connection: Connection) -> None:
    """Do the jobs that come, until nobody sends any more."""
    _end_with_parent()
    # Ctrl-C is for the process that gives out the jobs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is imported stays: the collection before each job need not look at it.
    method_names()
    gc.freeze()
    while True:
        try:
            job = connection.recv()
            connection.send(run_job(job, on_phase=connection.send))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    """Ask the system to kill this process when its parent dies, in mid-job too.

    Where it cannot, the process ends when it has no one to send its record to.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_KILL_ON_PARENT_DEATH, signal.SIGKILL)
        parent = multiprocessing.parent_process()
        if parent is not None and os.getppid() != parent.pid:
            sys.exit()  # it had died before


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables inside the block; libraries read them when they are loaded."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
