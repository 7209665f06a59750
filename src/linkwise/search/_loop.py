"""The loop: ask, evaluate, tell, until there is a reason to stop."""

import math
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwise._typing import FloatArray
from linkwise.engines import Engine, one_blas_thread
from linkwise.search._base import Searcher, Trial

StopReason = Literal[
    "budget", "score", "patience", "time", "callback", "interrupt", "exhausted"
]
TieBreak = Literal["first", "objective"]
OnTrial = Callable[[int, Trial, int], bool | None]
# From weights to score and objective, perhaps labels and whether the start was blind.
Evaluate = Callable[[FloatArray], tuple[Any, ...]]


class SearchResult(NamedTuple):
    """All trials of a search, the best of them, and why it ended."""

    trials: list[Trial]
    best: int
    stopped_by: StopReason | Literal["no pairs"]  # without them there was none


def run_search(
    searcher: Searcher,
    evaluate: Evaluate,
    engine: Engine,
    *,
    n_candidates: int,
    stop_score: float | None = 1.0,
    patience: int | None = None,
    time_limit: float | None = None,
    tie_break: TieBreak = "first",
    on_trial: OnTrial | None = None,
    n_labels: int | None = None,
) -> SearchResult:
    """Try candidates and return the best.

    Engines cannot change the search: results are read and told in the order asked,
    and scores can stop it only between batches, whose sizes the searcher sets.
    Whatever ends a search, the trials received by then are kept.

    Parameters
    ----------
    searcher : Searcher
        Says what to try.
    evaluate : callable
        Takes weights of shape (n_weights,) and returns score and objective, and, if
        they are to be kept, labels and whether k-means started without the pairs. It is
        called on the engine's threads. A trial whose objective is not finite counts as
        failed: its score becomes NaN and it is never the best.
    engine : Engine
        Runs the evaluations of a batch.
    n_candidates : int
        Largest number of trials.
    stop_score : float or None, default=1.0
        Stop after a batch when the best score has reached it.
    patience : int, default=None
        Stop after a batch when the best score has not risen for as many trials.
    time_limit : float, default=None
        Stop after the first trial that ends later than this many seconds.
    tie_break : {"first", "objective"}, default="first"
        Among equal scores, take the trial found first or that of lowest objective.
    on_trial : callable, default=None
        Called in this thread with the index of a trial, the trial, and the index of
        the best so far (-1 for none); it stops the search by returning True.
    n_labels : int, default=None
        Number of trials, those of highest score, whose labels are kept; twice as many
        on the way. None: all.

    Returns
    -------
    SearchResult
        Trials in the order asked, index of the best, and the reason for the end:
        "budget", "score", "patience", "time", "callback", "interrupt" (Ctrl-C), or
        "exhausted" if the searcher had nothing more to try.

    Raises
    ------
    ValueError
        If no trial has a finite objective.
    KeyboardInterrupt
        If interrupted before any trial has a finite objective.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.engines import SerialEngine
    >>> from linkwise.search import Cube, RandomSearch, run_search
    >>> def evaluate(weights):
    ...     return 1 - abs(weights[0] - 0.5), weights.sum()
    >>> searcher = RandomSearch().start(Cube(2), 200, np.random.default_rng(0))
    >>> result = run_search(searcher, evaluate, SerialEngine(), n_candidates=200)
    >>> result.stopped_by, round(result.trials[result.best].score, 1)
    ('budget', 1.0)
    """
    if tie_break not in ("first", "objective"):
        raise ValueError(f"tie_break={tie_break!r}: must be 'first' or 'objective'.")
    record = _Record(tie_break, n_labels)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    # One function for all batches: an engine may have to send it to other machines.
    try_out = _timed(evaluate)

    def reason_after_trial() -> StopReason | None:
        index = len(record.trials) - 1
        if on_trial and on_trial(index, record.trials[index], record.best):
            return "callback"
        if len(record.trials) < n_candidates and time.perf_counter() > deadline:
            return "time"
        return None

    def reason_after_batch() -> StopReason | None:
        if stop_score is not None and record.best_score >= stop_score:
            return "score"
        if len(record.trials) >= n_candidates:
            return "budget"
        if patience is not None and record.n_since_rise >= patience:
            return "patience"
        return None

    def run() -> StopReason:
        while True:
            n_left = n_candidates - len(record.trials)
            batch = searcher.ask()[:n_left]
            if len(batch) == 0:
                return "exhausted"
            n_before = len(record.trials)
            with closing(engine.map(try_out, batch)) as trials:
                for trial in trials:
                    record.add(trial)
                    if reason := reason_after_trial():
                        return reason
            searcher.tell(record.trials[n_before:])
            if reason := reason_after_batch():
                return reason

    try:
        # Around the models of the searcher too, whose sums would otherwise depend on
        # the number of cores.
        with one_blas_thread():
            stopped_by = run()
    except KeyboardInterrupt:
        if record.best < 0:
            raise
        stopped_by = "interrupt"
    if record.best < 0:
        raise ValueError(
            f"All {len(record.trials)} candidates tried had an objective that is not "
            "finite, so there is none to choose; look for overflow or for NaN in the "
            "data or in the kernels."
        )
    return SearchResult(record.trials, record.best, stopped_by)


class _Record:
    """The trials so far and the best of them."""

    def __init__(self, tie_break: TieBreak, n_labels: int | None) -> None:
        self.trials: list[Trial] = []
        self.best = -1
        self._tie_break = tie_break
        self._last_rise = -1
        self._max_labels = n_labels
        self._n_labels = 0

    @property
    def best_score(self) -> float:
        """The highest score, minus infinity while there is none."""
        return self.trials[self.best].score if self.best >= 0 else -math.inf

    @property
    def n_since_rise(self) -> int:
        """Number of trials after the last one that raised the best score."""
        return len(self.trials) - 1 - self._last_rise

    def add(self, trial: Trial) -> None:
        """Append a trial and see whether it is the best."""
        index = len(self.trials)
        self.trials.append(trial)
        self._n_labels += trial.labels is not None
        if self._max_labels is not None and self._n_labels > 2 * self._max_labels:
            self._forget_labels(self._max_labels)
        # NaN compares as false, so a failed trial gets past neither test.
        if trial.score > self.best_score:
            self.best = self._last_rise = index
        elif (
            self._tie_break == "objective"
            and trial.score == self.best_score
            and trial.objective < self.trials[self.best].objective
        ):
            self.best = index

    def _forget_labels(self, n_kept: int) -> None:
        """Forget the labels of all trials but those of highest score."""
        having = [i for i, t in enumerate(self.trials) if t.labels is not None]
        scores = np.array([self.trials[i].score for i in having])
        order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
        for place in order[n_kept:].tolist():
            trial = self.trials[having[place]]
            self.trials[having[place]] = trial._replace(labels=None)
        self._n_labels = min(n_kept, len(having))


def _timed(
    evaluate: Evaluate,
) -> Callable[[FloatArray], Trial]:
    """Return a function that makes a trial of weights, to be called by the engine."""

    def try_out(weights: FloatArray) -> Trial:
        start = time.perf_counter()
        score, objective, *others = evaluate(weights)
        seconds = time.perf_counter() - start
        if not math.isfinite(objective):
            score = math.nan
        return Trial(weights, float(score), float(objective), seconds, *others)

    return try_out
