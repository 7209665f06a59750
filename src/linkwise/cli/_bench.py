"""The commands ``linkwise bench run``, ``compare`` and ``plans``."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import typer

import linkwise
from linkwise.cli._errors import BadInputError, DiskFullError, ExitCode, is_disk_full
from linkwise.cli._scheduler import scheduler_client
from linkwise.cli._screen import Screen, counted
from linkwise.experiments import (
    ClusterError,
    Job,
    Plan,
    PlanError,
    Progress,
    Store,
    compare_records,
    load_plan,
    parse_duration,
    read_records,
    ready_plans,
    run_jobs,
)

_LINE_EVERY = 60.0  # seconds between two lines where no bar can be drawn


def chosen_plan(
    name: str,
    trials: int | None,
    candidates: int | None,
    constraints: list[str] | None,
    datasets: list[str] | None,
    methods: list[str] | None,
) -> Plan:
    """Return a plan with what the user wants changed."""
    if not name.endswith(".toml") and name not in ready_plans():
        raise typer.BadParameter(
            f"there is no plan {name!r}; it must be one of "
            f"{', '.join(ready_plans())}, or the path of a .toml file.",
            param_hint="PLAN",
        )
    try:
        plan = load_plan(
            name,
            trials=trials,
            candidates=candidates,
            datasets=_split(datasets),
            methods=_split(methods),
        )
    except (PlanError, OSError) as error:
        raise BadInputError(str(error)) from None
    numbers = _split(constraints)
    return replace(plan, constraints=list(map(_number, numbers))) if numbers else plan


def run_bench(
    plan: Plan,
    store_path: Path,
    n_jobs: int | None,
    scheduler: str | None,
    time_limit: str | None,
    redo_failed: bool,
    screen: Screen,
) -> None:
    """Carry out a plan and say how far it came."""
    start = time.monotonic()
    jobs, store = jobs_of(plan), _open_store(store_path)
    if n_jobs == -1:
        n_jobs = os.cpu_count() if scheduler is None else None
    try:
        with scheduler_client(scheduler) as client, _watched(screen) as on_progress:
            done = run_jobs(
                jobs,
                store,
                n_workers=n_jobs,
                client=client,
                time_limit=None if time_limit is None else parse_duration(time_limit),
                redo_failed=redo_failed,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        screen.note("interrupted; the same command goes on from here.")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise DiskFullError(
            error.filename or error.strerror,
            f"Finished jobs are kept in {store_path}, and the same command goes on "
            "with the others.",
        ) from error
    except ClusterError as error:
        raise BadInputError(f"--scheduler {scheduler}: {error}") from error
    seconds = time.monotonic() - start
    left = done.n_jobs - done.n_done
    values: dict[str, Any] = {
        "command": "bench run",
        "version": linkwise.__version__,
        "plan": plan.name,
        "store": str(store_path),
        "jobs": done.n_jobs,
        "done": done.n_done,
        "failed": done.n_failed,
        "left": left,
        "seconds": seconds,
    }
    state = f"{done.n_done:,} of {counted(done.n_jobs, 'job')} done"
    if done.n_failed:
        state += f", {done.n_failed:,} of them failed (their records say why)"
    following = "linkwise bench report, with the same plan and options"
    if left:
        following = f"{counted(left, 'job')} left: the same command goes on"
    screen.report(
        values,
        [
            ("plan", [f"{plan.name}: {plan.description}".removesuffix(": ")]),
            ("jobs", [state, f"this run took {in_words(seconds)}"]),
            ("store", [str(store_path)]),
            ("next", [following]),
        ],
    )


def run_compare(first: Path, second: Path, metric: str, screen: Screen) -> None:
    """Show two files of records side by side."""
    tables = [records_of(path) for path in (first, second)]
    if metric not in tables[0]:
        raise typer.BadParameter(
            f"{metric!r} is no score of records.", param_hint="--metric"
        )
    found = compare_records(tables[0], tables[1], metric)
    if found.methods.empty:
        raise BadInputError(
            f"{first} and {second} share no job: same data set, method, trial, number "
            "of pairs and parameters."
        )
    values = {
        "command": "bench compare",
        "version": linkwise.__version__,
        "metric": metric,
        "methods": found.methods.reset_index().to_dict("records"),
        "falls": found.falls.to_dict("records"),
    }
    n_shared = counted(int(found.methods["jobs"].sum()), "job")
    screen.report(
        values,
        [
            ("A", [str(first)]),
            ("B", [str(second)]),
            ("shared", [n_shared]),
            (metric, _lines(found.methods.reset_index())),
            ("falls", _lines(found.falls) if len(found.falls) else ["none"]),
        ],
    )


def list_plans(screen: Screen) -> None:
    """List the plans that come with linkwise."""
    plans = [load_plan(name) for name in ready_plans()]
    values = {
        "command": "bench plans",
        "version": linkwise.__version__,
        "plans": [
            {
                "name": plan.name,
                "description": plan.description,
                "datasets": len(plan.datasets),
                "methods": list(plan.methods),
                "trials": plan.trials,
                "constraints": plan.constraints,
                "candidates": plan.candidates,
            }
            for plan in plans
        ],
    }
    screen.report(
        values,
        [
            (
                plan.name,
                [
                    plan.description,
                    f"{counted(len(plan.datasets), 'data set')}, "
                    f"{counted(len(plan.methods), 'method')}, "
                    f"{counted(plan.trials, 'trial')}, {plan.candidates} candidates",
                ],
            )
            for plan in plans
        ],
    )


def in_words(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> in_words(42.4), in_words(5000), in_words(200_000)
    ('42 s', '1 h 23 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def _split(names: list[str] | None) -> list[str] | None:
    if not names:
        return None
    return [name.strip() for text in names for name in text.split(",") if name.strip()]


def _number(text: str) -> int | Literal["paper"]:
    if text == "paper":
        return "paper"
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(
        f"{text!r} is no number of pairs; give whole numbers, or paper.",
        param_hint="--constraints",
    )


def jobs_of(plan: Plan) -> list[Job]:
    """Return the jobs of a plan; its data must be there."""
    try:
        return plan.jobs()
    except (OSError, ValueError, ImportError, AttributeError) as error:
        raise BadInputError(str(error)) from error


def _open_store(path: Path) -> Store:
    try:
        return Store(path)
    except OSError as error:
        if is_disk_full(error):
            raise DiskFullError(path) from error
        raise BadInputError(f"{path} cannot be used as a store: {error}") from None
    except (sqlite3.Error, ValueError) as error:
        raise BadInputError(f"{path} cannot be used as a store: {error}") from None


def records_of(path: Path) -> pd.DataFrame:
    """Return the records of a store or of a table."""
    try:
        return read_records(path)
    except (sqlite3.Error, OSError, ValueError) as error:
        raise BadInputError(f"{path}: {error}") from None


def _lines(table: pd.DataFrame) -> list[str]:
    text = table.to_string(index=False, float_format=lambda value: f"{value:.4f}")
    return text.splitlines()


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows progress: a bar, lines now and then, or nothing."""
    if screen.quiet or not screen.progress:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


class _Lines:
    """Progress for a log: a line now and then."""

    def __init__(self) -> None:
        self._last = -_LINE_EVERY

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY:
            self._last = now
            typer.echo(f"{_counts(progress)}; {_running(progress)}", err=True)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich import progress as rich_progress
    from rich.console import Console

    bar = rich_progress.Progress(
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.description}"),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("", total=None)

        def show(progress: Progress) -> None:
            bar.update(
                task,
                total=progress.n_jobs,
                completed=progress.n_done,
                description=f"{_counts(progress)}\n{_running(progress)}",
            )

        yield show


def _counts(progress: Progress) -> str:
    text = f"{progress.n_done:,}/{progress.n_jobs:,} jobs"
    if progress.n_failed:
        text += f", {progress.n_failed:,} failed"
    if progress.seconds_left is not None:
        text += f", about {in_words(progress.seconds_left)} left"
    return text


def _running(progress: Progress) -> str:
    return "; ".join(
        f"{job.method} on {job.dataset}, trial {job.trial}, {job.n_constraints} pairs"
        for job in progress.running
    )
