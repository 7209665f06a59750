"""When it is enough, for sessions that ask about groups."""

from math import sqrt
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkwise.active._record import Record
from linkwise.active._state import GROUP_ANSWERS, State
from linkwise.active._status import LEAST_CHECKS, Status, held_share

# Of many checks, the last ones tell of the clusters as they are.
_LAST_CHECKS = 20
# Share of the rows that must be right for sure, and of the checks.
ENOUGH_SHARE = 0.7
_ENOUGH_CHECKS = 0.5
# Answers over which clusters are compared, and how far they may change.
_N_BETWEEN = 30
_MAX_CHANGE = 0.05
# Standard deviations of a bound that holds in 95 of 100 cases.
_WIDTH = 1.96


def lower_bound(n_right: int, n: int) -> float:
    """Return the lower end of Wilson's interval of a share, at 95 %.

    Examples
    --------
    >>> round(lower_bound(18, 20), 2), lower_bound(0, 0)
    (0.7, 0.0)
    """
    if n == 0:
        return 0.0
    share, squared = n_right / n, _WIDTH**2
    middle = share + squared / (2 * n)
    half = _WIDTH * sqrt(share * (1.0 - share) / n + squared / (4 * n * n))
    return max(0.0, (middle - half) / (1.0 + squared / n))


def group_status(record: Record, asker: Any) -> Status:
    """Return the status of a session that asks about groups."""
    state, working = record.state, asker.working
    last = state.checks[-_LAST_CHECKS:]
    n_right, n = sum(last), len(last)
    home = asker.moment(state).ballot.home[working.is_askable]
    answered = float((home >= 0).mean())
    right = 1.0 - state.votes.error
    low = lower_bound(n_right, n)
    bound = answered * right + (1.0 - answered) * low
    share = float("nan")
    if n:
        share = answered * right + (1.0 - answered) * n_right / n
    is_sure = n >= LEAST_CHECKS and bound >= ENOUGH_SHARE and low >= _ENOUGH_CHECKS
    change = change_of(record, asker) if is_sure else float("nan")
    enough = is_sure and change <= _MAX_CHANGE
    return Status(
        n_answers=state.n_answers,
        n_unsure=len(state.unsure) + state.n_group_unsure,
        n_groups=asker.moment(state).opinion.n_known,
        trust=n_right / n if n else float("nan"),
        held=held_share(state),
        quality=share,
        change=change,
        check=(sum(state.checks), len(state.checks)),
        n_conflicts=len(state.conflicts),
        n_lost=state.n_lost,
        enough=bool(enough),
        sentence=_sentence(state, n_right, n, bound, change),
        share=share,
        bound=bound,
    )


def change_of(record: Record, asker: Any) -> float:
    """Return how much the clusters have changed over the last answers about groups.

    NaN if there were too few.
    """
    numbers = [at for at, e in enumerate(record.events) if e["event"] in GROUP_ANSWERS]
    if len(numbers) <= _N_BETWEEN:
        return float("nan")
    before = asker.labels_at(numbers[-_N_BETWEEN])
    return 1.0 - float(adjusted_rand_score(before, asker.labels()))


def _sentence(state: State, n_right: int, n: int, bound: float, change: float) -> str:
    if n < LEAST_CHECKS:
        return f"Go on: {n} of {LEAST_CHECKS} random checks so far, too few to tell."
    found = f"Of {n} random rows, {n_right} were where you put them"
    found += f": at least {bound:.0%} of all rows are right"
    if bound < ENOUGH_SHARE or lower_bound(n_right, n) < _ENOUGH_CHECKS:
        return f"Go on. {found}."
    if np.isnan(change):
        return f"Go on: too few answers to see whether the clusters change. {found}."
    if change > _MAX_CHANGE:
        return f"Go on: the clusters still change ({change:.0%}). {found}."
    return f"Enough. {found}, and the clusters hardly changed ({change:.0%})."
