"""The search for weights, told to scikit-learn's callbacks."""

from collections import Counter
from functools import partial
from numbers import Integral, Real

import numpy as np
import pandas as pd

from linkwise.doors import (
    ConstrainedClusterer,
    HasMethods,
    Interval,
    StrOptions,
    warn_caller,
)
from linkwise.engines import engine_for
from linkwise.exceptions import ConstraintWarning
from linkwise.search import run_search, search_for

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


class SearchClusterer(ConstrainedClusterer):
    """The choice of weights by a search."""

    def _fit_weights(
        self, given, names, n_candidates, search, cluster, select=lambda trials: None
    ):
        """Set the attributes of the best weights that a search finds.

        Parameters
        ----------
        given : FitInput
            Without pairs there is no search and all weights are 1.
        names : list of str
            What the weights belong to.
        n_candidates : int
            Largest number of candidates.
        search : callable
            ``search(on_trial)`` returns a SearchResult.
        cluster : callable
            Returns the fitted attributes that go with some weights, and as ``_reward``
            what they are worth if that may differ from what the search has found.
        select : callable, optional
            ``select(trials)`` returns what each trial is worth when the search is over,
            -inf for those that are out; None: what the search has found.
        """
        data = {"estimator": self, "X": given.X, "y": given.y}
        context = self._init_callback_context(max_subtasks=n_candidates)
        context.call_on_fit_task_begin(**data)
        trials = []

        def attributes(trials, best, stopped_by, is_over=True):
            if trials:
                # A look at the best so far after each candidate is to cost little.
                worth = select(trials) if is_over else None
                best = best if worth is None else int(np.argmax(worth))
                fitted = _best_clustering(cluster, trials, best, worth)
            else:
                fitted = cluster(np.ones(len(names)))
            fitted.pop("_reward", None)
            table = history(trials, names)
            return {**fitted, "history_": table, "stopped_by_": stopped_by}

        def on_trial(index, trial, best):
            trials.append(trial)
            task = context.subcontext(task_name="candidate")
            task.call_on_fit_task_begin(**data)
            # What fit would end with if a callback stopped it here, but for `select`.
            state = partial(attributes, trials, best, "callback", is_over=False)
            return task.call_on_fit_task_end(
                **data, reconstruction_attributes=state if best >= 0 else None
            )

        if given.pairs.is_empty:
            self._set_attributes(attributes([], -1, "no pairs"))
        else:
            result = search(on_trial)
            if result.stopped_by == "interrupt":
                warn_caller(
                    f"Interrupted after {len(result.trials)} of {n_candidates} "
                    "candidates; the best so far is kept.",
                    ConstraintWarning,
                )
            self._set_attributes(attributes(*result))
        context.call_on_fit_task_end(**data, reconstruction_attributes={})


# How many candidates are clustered at the end, at most, and what the reward of the best
# may fall short of what the next one promises.
_MAX_FINALISTS = 5
_SHORTFALL = 0.01


def _best_clustering(cluster, trials, best, worth=None):
    """Return the fitted attributes of the best candidate on all rows.

    A working set may have missed rows that spoil a kernel: outliers, of which there are
    few. If the reward falls short on all rows, candidates that were nearly as good get
    their chance.
    """
    worth = np.array([t.score for t in trials] if worth is None else worth)
    order = np.argsort(np.negative(worth), kind="stable").tolist()
    order.remove(best)
    kept, kept_worth = None, -np.inf
    for place, i in enumerate([best, *order[: _MAX_FINALISTS - 1]]):
        fitted = cluster(trials[i].weights)
        if "_reward" not in fitted:
            return fitted
        # What it is worth, if what it falls short by counts in full.
        own = worth[i] + fitted["_reward"] - trials[i].score
        if kept is None or own > kept_worth:
            kept, kept_worth = fitted, own
        promised = worth[order[place]] if place < len(order) else -np.inf
        if kept_worth >= promised - _SHORTFALL:
            break
    return kept


def run_candidates(
    model, evaluator, domain, rng, on_trial, stop_score=1.0, n_labels=None
):
    """Run the search that an estimator's parameters describe."""
    seconds = evaluator.candidate_seconds
    method = search_for(model.search, domain, seconds, model.n_candidates)
    return run_search(
        method.start(domain, model.n_candidates, rng),
        evaluator,
        engine_for(model.n_jobs),
        n_candidates=model.n_candidates,
        stop_score=stop_score,
        patience=model.patience,
        time_limit=model.time_limit,
        tie_break=model.tie_break,
        on_trial=on_trial,
        n_labels=n_labels,
    )


def history(trials, names):
    """Return the trials of a search as a table, one row each.

    Of columns with the same name, all but the first get a number.
    """
    columns = {
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
