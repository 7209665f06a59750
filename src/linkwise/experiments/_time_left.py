"""How long the rest of a run will take."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from linkwise.experiments._datasets import dataset_size
from linkwise.experiments._jobs import Job

_STEEPEST = 3.0  # no method here costs more than the cube of the rows
_USUAL = 1.0  # slope until sizes differ enough to tell
_SHORTEST = 1e-3
_LONGEST_LOG = 20.0


class Pace:
    """Seconds of jobs still to do, from those that are done.

    Small data sets come first, so the mean of the past says little. For each method
    a line is fitted to the logarithms of seconds and rows.
    """

    def __init__(self, jobs: Sequence[Job], records: pd.DataFrame) -> None:
        names = {job.dataset for job in jobs}
        n_samples = {name: dataset_size(name).n_samples for name in names}
        self._left = Counter((job.method, n_samples[job.dataset]) for job in jobs)
        self._longest = max((job.time_limit or math.inf for job in jobs), default=0.0)
        self._seen: dict[str, list[tuple[float, float]]] = defaultdict(list)
        labels = {job.method for job in jobs}
        known = records[records["method"].isin(labels)].dropna(subset=["n_samples"])
        for method, rows, seconds in zip(
            known["method"], known["n_samples"], known["seconds"], strict=True
        ):
            self._remember(str(method), float(rows), float(seconds))
        self._total = self._seconds_of_all()

    def add(self, record: dict[str, Any]) -> None:
        """Learn from a job that has been done."""
        if record.get("n_samples"):
            self._left[record["method"], record["n_samples"]] -= 1
            self._remember(record["method"], record["n_samples"], record["seconds"])
            self._total = self._seconds_of_all()

    def seconds_left(self, n_workers: int) -> float | None:
        """Return the seconds until all jobs are done, None if there is no telling."""
        return None if self._total is None else self._total / n_workers

    def _seconds_of_all(self) -> float | None:
        if not self._seen:
            return None
        lines = {method: _fitted_line(seen) for method, seen in self._seen.items()}
        everyone = _fitted_line([pair for seen in self._seen.values() for pair in seen])
        total = 0.0
        for (method, rows), number in (+self._left).items():
            intercept, slope = lines.get(method, everyone)
            # Far from what was seen a line may lead anywhere.
            log_seconds = min(intercept + slope * math.log(rows), _LONGEST_LOG)
            total += number * min(math.exp(log_seconds), self._longest)
        return total

    def _remember(self, method: str, n_samples: float, seconds: float) -> None:
        logs = (math.log(n_samples), math.log(max(seconds, _SHORTEST)))
        self._seen[method].append(logs)


def _fitted_line(seen: list[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope of log seconds over log rows."""
    log_rows, log_seconds = np.array(seen).T
    slope = _USUAL
    if np.ptp(log_rows) > math.log(2):
        slope = float(np.clip(np.polyfit(log_rows, log_seconds, 1)[0], 0.0, _STEEPEST))
    rest = log_seconds - slope * log_rows
    # The mean of what is log-normal lies above the exponential of the mean.
    return float(rest.mean() + rest.var() / 2), slope
