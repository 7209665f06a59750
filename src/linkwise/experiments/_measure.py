"""One job carried out and measured, in the process that calls."""

import contextlib
import errno
import gc
import json
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwise.constraints import Constraints
from linkwise.experiments._datasets import Dataset, dataset_size, read_only_dataset
from linkwise.experiments._jobs import Job, Task
from linkwise.experiments._methods import find_method, takes
from linkwise.experiments._protocol import (
    Trial,
    draw_trial,
    pair_properties,
    score_labels,
)
from linkwise.experiments._questions import ASKING, ask_about, question_task

PREPARED, WARM_UP, MEASURED, SCORED = (
    "preparation",
    "warm-up",
    "the method",
    "scoring",
)
# A status that is no record: every job would end so.
DISK_FULL = "disk full"
_PACKAGES = ("linkwise", "numba", "numpy", "scikit-learn", "scipy")
_LONGEST_ERROR = 500
# A parameter of every method that is not its own: the share of its pairs that become
# their opposites. Labels are scored by the right ones.
WRONG_PAIRS = "wrong_pairs"


class Problem(NamedTuple):
    """What a method is given, and what its result is compared with."""

    data: Dataset
    trial: Trial
    constraints: Constraints
    properties: dict[str, float]


def run_job(job: Job, on_phase: Callable[[str], None] = lambda phase: None) -> Any:
    """Return the record of a job; an error of the method is a record too.

    Data, pairs and their closure are prepared first, and the method is run once on a
    tiny problem, so that compilation is over. Only then do the clocks start:
    ``seconds`` is the wall time of the method and ``cpu_seconds`` the time that it had
    the processor; they differ on a busy machine. ``peak_memory`` is the largest
    resident memory of the whole process meanwhile, libraries and data included, in
    bytes (on Linux; elsewhere, since the process began).

    Parameters
    ----------
    job : Job
        What to do.
    on_phase : callable
        Told of each phase as it begins: "preparation", "warm-up", "the method",
        "scoring".

    Returns
    -------
    dict
        Values of the columns of a record.
    """
    on_phase(PREPARED)
    begin = time.perf_counter()
    scores: dict[str, Any] = {}
    try:
        task = question_task(job) if job.function in ASKING else _pair_task(job)
        scores |= task.properties
        with _memory_limited(job.memory_limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            on_phase(WARM_UP)
            _warm_up(job.function, job.parameters)
            gc.collect()
            on_phase(MEASURED)
            _reset_peak_memory()
            begin, cpu_begin = time.perf_counter(), time.process_time()
            result = task.run()
            scores["seconds"] = time.perf_counter() - begin
            scores["cpu_seconds"] = time.process_time() - cpu_begin
            scores["peak_memory"] = _peak_memory()
        on_phase(SCORED)
        scores |= task.score(result)
        status, error = "ok", ""
    except MemoryError as failure:
        status, error = "memory", one_line(failure)
    except Exception as failure:
        is_full = isinstance(failure, OSError) and failure.errno == errno.ENOSPC
        status, error = DISK_FULL if is_full else "error", one_line(failure)
    seconds = scores.pop("seconds", time.perf_counter() - begin)
    return {**make_record(job, status, error, seconds), **scores}


def _pair_task(job: Job) -> Task:
    """Return what a method does that is given pairs."""
    problem = prepare_problem(job.dataset, job.trial, job.n_constraints)
    parameters = json.loads(job.parameters)
    pairs = problem.constraints
    if WRONG_PAIRS in parameters:
        share = parameters.pop(WRONG_PAIRS)
        pairs = problem.trial.constraints(job.n_constraints, wrong=share)
    method = find_method(job.function)

    def run() -> Any:
        return method(
            problem.data.X,
            pairs,
            n_clusters=problem.data.n_classes,
            random_state=job.seed,
            **parameters,
        )

    def score(labels: Any) -> dict[str, Any]:
        return score_labels(problem.trial, np.asarray(labels), problem.constraints)

    return Task(run, score, problem.properties)


def make_record(job: Job, status: str, error: str, seconds: float) -> dict[str, Any]:
    """Return the record of a job without scores."""
    try:
        size = _size(job.dataset)
    except Exception:
        size = {}  # the data cannot be read; the error says so
    return {
        **job.key._asdict(),
        **size,
        "seed": job.seed,
        "status": status,
        "error": error,
        "seconds": seconds,
        "versions": _versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@lru_cache(maxsize=1)
def prepare_problem(dataset: str, trial: int, n_constraints: int) -> Problem:
    """Return the problem of a trial; methods that follow each other share it."""
    data = read_only_dataset(dataset)
    split = draw_trial(data.y, dataset, trial)
    constraints = split.constraints(n_constraints)
    constraints.closure(len(data.y))  # kept by the object, and on nobody's clock
    properties = pair_properties(data, dataset, trial, constraints)
    return Problem(data, split, constraints, properties)


@cache
def _warm_up(function: str, parameters: str) -> None:
    """Run a method on a tiny problem; what is wrong with it shows in the job."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 3)) + 3 * y[:, np.newaxis]
    pairs = Constraints.sample(y, 30, random_state=0)
    method = find_method(function)
    given = json.loads(parameters)
    if takes(method, "n_candidates"):
        given["n_candidates"] = 20
    if function in ASKING:
        with contextlib.suppress(Exception):
            ask_about(X, y, np.arange(40), given, method).after(12)
        return
    given.pop(WRONG_PAIRS, None)
    with contextlib.suppress(Exception):
        method(X, pairs, n_clusters=2, random_state=0, **given)


@cache
def _size(dataset: str) -> dict[str, int]:
    size = dataset_size(dataset)
    return {
        "n_samples": size.n_samples,
        "n_features": size.n_features,
        "n_clusters": size.n_classes,
    }


@cache
def _versions() -> str:
    versions = {name: version(name) for name in _PACKAGES}
    return json.dumps({"python": platform.python_version(), **versions})


def one_line(failure: Exception) -> str:
    """Return an error as the text of a record."""
    text = " ".join(f"{type(failure).__name__}: {failure}".split())
    return text[:_LONGEST_ERROR]


@contextlib.contextmanager
def _memory_limited(n_bytes: int | None) -> Iterator[None]:
    """Let memory beyond the limit be refused, where the system can do so."""
    try:
        import resource
    except ImportError:
        resource = None  # type: ignore[assignment]
    if resource is None or n_bytes is None:
        yield
        return
    # Memory that is written to; address space would count what is only reserved.
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _reset_peak_memory() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory() -> float:
    """Return the largest resident memory since the last reset, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        try:
            import resource
        except ImportError:
            return float("nan")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak if platform.system() == "Darwin" else 1024 * peak)
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024.0 * int(line.split()[1])
