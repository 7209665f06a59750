"""The search for weights, told to scikit-learn's callbacks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from linkwise.doors import FitInput, HasMethods, Interval, StrOptions, warn_caller
from linkwise.engines import engine_for
from linkwise.exceptions import ConstraintWarning
from linkwise.search import (
    Domain,
    Evaluator,
    SearchResult,
    Trial,
    run_search,
    search_for,
)

# Constraints on the parameters that run_candidates reads.
SEARCH_CONSTRAINTS = {
    "n_candidates": [Interval(Integral, 1, None, closed="left")],
    "search": [
        StrOptions({"auto", "random", "forest", "bagged_linear", "gp"}),
        HasMethods("start"),
    ],
    "reward": [StrOptions({"share", "balanced"})],
    "tie_break": [StrOptions({"first", "objective"})],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "patience": [Interval(Integral, 1, None, closed="left"), None],
    "n_jobs": [Integral, HasMethods("map"), None],
}
# What is found where there are no pairs to choose by: all weights are 1 then.
NO_SEARCH = SearchResult([], -1, "no pairs")


@dataclass(frozen=True)
class Judging:
    """What candidates are, how they are judged, and what is kept of them."""

    evaluator: Evaluator
    domain: Domain
    stop_score: float | None = 1.0
    n_labels: int | None = None  # None: those of all, where there are any


# From trials and the index of the best to the fitted attributes if it ended there.
AttributesSoFar = Callable[[Sequence[Trial], int], dict[str, Any]]
OnTrial = Callable[[int, Trial, int], bool]


@contextmanager
def callbacks_told(
    model: Any, given: FitInput, n_candidates: int, so_far: AttributesSoFar
) -> Iterator[OnTrial]:
    """Tell callbacks that a fit begins and ends; yield what tells them of each trial.

    A callback that returns True stops the search.
    """
    trials: list[Trial] = []
    with model._callbacks_told(given, n_candidates, "candidate") as end_part:

        def on_trial(index: int, trial: Trial, best: int) -> bool:
            trials.append(trial)
            return end_part(partial(so_far, trials, best) if best >= 0 else None)

        yield on_trial


def run_candidates(
    model: Any, judging: Judging, rng: np.random.Generator, on_trial: OnTrial
) -> SearchResult:
    """Run the search that an estimator's parameters describe."""
    seconds = judging.evaluator.candidate_seconds
    method = search_for(model.search, judging.domain, seconds, model.n_candidates)
    result = run_search(
        method.start(judging.domain, model.n_candidates, rng),
        judging.evaluator,
        engine_for(model.n_jobs),
        n_candidates=model.n_candidates,
        stop_score=judging.stop_score,
        patience=model.patience,
        time_limit=model.time_limit,
        tie_break=model.tie_break,
        on_trial=on_trial,
        n_labels=judging.n_labels,
    )
    warn_if_interrupted(result, model.n_candidates)
    return result


def warn_if_interrupted(result: SearchResult, n_candidates: int) -> None:
    """Warn that not all candidates were tried because somebody pressed Ctrl-C."""
    if result.stopped_by == "interrupt":
        warn_caller(
            f"Interrupted after {len(result.trials)} of {n_candidates} "
            "candidates; the best so far is kept.",
            ConstraintWarning,
        )


def history(trials: Sequence[Trial], names: Sequence[str]) -> pd.DataFrame:
    """Return the trials of a search as a table, one row each.

    Of columns with the same name, all but the first get a number.
    """
    columns: dict[str, Any] = {
        "score": [t.score for t in trials],
        "objective": [t.objective for t in trials],
        "seconds": [t.seconds for t in trials],
    }
    seen = Counter(list(columns))
    weights = np.array([t.weights for t in trials]).reshape(-1, len(names))
    for name, column in zip(names, weights.T, strict=True):
        seen[name] += 1
        columns[name if seen[name] == 1 else f"{name} ({seen[name]})"] = column
    return pd.DataFrame(columns, dtype=np.float64)
