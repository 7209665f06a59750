"""How far a session is, in numbers and in a sentence."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkwise.active._state import State

# Answers over which the committee's trust is taken.
_N_LAST = 20
# Trust and change at which it is enough.
_TRUST = 0.9
_CHANGE = 0.05


class Status(NamedTuple):
    """What a session has come to."""

    n_answers: int
    n_unsure: int
    n_groups: int  # neighbourhoods that are known to differ
    trust: float  # mean probability of the last answers before they came; NaN: unknown
    change: float  # 1 - ARI between the last two clusterings; NaN: there are none
    check: tuple[int, int]  # random checks that the clusters foretold, and all
    n_conflicts: int
    n_lost: int  # answers about rows that are no longer there
    enough: bool
    sentence: str


def status_of(state: State, hoods: list[int]) -> Status:
    """Return the status of a state."""
    last = state.trust[-_N_LAST:]
    trust = float(np.mean(last)) if len(last) == _N_LAST else float("nan")
    change = float("nan")
    if len(state.fits) > 1:
        change = _change(state)
    check = (sum(state.checks), len(state.checks))
    n_unsure = len(state.unsure)
    enough = trust >= _TRUST and change <= _CHANGE
    numbers = (state.n_answers, n_unsure, len(hoods), trust, change, check)
    sentence = _sentence(state, trust, change, enough)
    return Status(*numbers, len(state.conflicts), state.n_lost, enough, sentence)


def _change(state: State) -> float:
    """Return how much the last two clusterings differ, found once for each."""
    (_, earlier), (number, later) = state.fits[-2:]
    if state.change is None or state.change[0] != number:
        state.change = (number, 1.0 - float(adjusted_rand_score(earlier, later)))
    return state.change[1]


def _sentence(state: State, trust: float, change: float, enough: bool) -> str:
    if enough:
        return (
            f"Enough: the last answers were expected ({trust:.0%}) and the clusters "
            f"hardly changed ({change:.0%})."
        )
    if np.isnan(trust):
        return "Go on: too few answers to tell."
    if trust < _TRUST:
        return f"Go on: answers still surprise the clusters ({trust:.0%} expected)."
    if np.isnan(change):
        return "Go on: cluster again to see whether the clusters still change."
    return f"Go on: the clusters still change ({change:.0%})."
