"""How far a session is, in numbers and in a sentence."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkwise.active._state import State
from linkwise.search import Committee

# Answers over which the committee's trust is taken.
_N_LAST = 20
# Random checks at the least, unless every row is known.
LEAST_CHECKS = 10
# Quality and change at which it is enough.
_QUALITY = 0.6
_CHANGE = 0.02


class Status(NamedTuple):
    """What a session has come to."""

    n_answers: int
    n_unsure: int
    n_groups: int  # neighbourhoods that are known to differ
    trust: float  # mean probability of the last answers before they came; NaN: unknown
    held: float  # share of what follows from answers that holds in the clusters
    quality: float  # trust x (1 - change): high where the clusters are right
    change: float  # 1 - ARI between the last two clusterings; NaN: there are none
    check: tuple[int, int]  # random checks that the clusters foretold, and all
    n_conflicts: int
    n_lost: int  # answers about rows that are no longer there
    enough: bool
    sentence: str
    share: float = float("nan")  # of the rows that are right, by checks; NaN: none yet
    bound: float = float("nan")  # what that share is at least


def status_of(state: State, hoods: list[int], n_askable: int) -> Status:
    """Return the status of a state in which rows of some number may be asked about."""
    last = state.trust[-_N_LAST:]
    trust = float(np.mean(last)) if len(last) == _N_LAST else float("nan")
    change = _change(state) if len(state.fits) > 1 else float("nan")
    quality = float(quality_of(trust, change))
    missing = _missing(state, n_askable)
    return Status(
        n_answers=state.n_answers,
        n_unsure=len(state.unsure),
        n_groups=len(hoods),
        trust=trust,
        held=held_share(state),
        quality=quality,
        change=change,
        check=(sum(state.checks), len(state.checks)),
        n_conflicts=len(state.conflicts),
        n_lost=state.n_lost,
        enough=not missing and quality >= _QUALITY and change <= _CHANGE,
        sentence=_sentence(trust, quality, change, missing),
    )


def quality_of(trust: Any, change: Any) -> Any:
    """Return how good clusters are by what they foretell and how far they change.

    How many of the answers hold in them tells less: who has learnt the answers has
    them right.

    Examples
    --------
    >>> round(float(quality_of(0.8, 0.25)), 3), float(quality_of(0.8, 1.2))
    (0.6, 0.0)
    """
    return trust * (1.0 - np.minimum(change, 1.0))


def _change(state: State) -> float:
    """Return how much the last two clusterings differ, found once for each."""
    (_, earlier), (number, later) = state.fits[-2:]
    if state.change is None or state.change[0] != number:
        state.change = (number, 1.0 - float(adjusted_rand_score(earlier, later)))
    return state.change[1]


def held_share(state: State) -> float:
    """Return the share of the pairs that follow from answers that clusters satisfy.

    NaN if there are no clusters or no answers.
    """
    if state.labels is None or state.n_answers == 0:
        return float("nan")
    known = state.known.as_groups()
    if known.n_pairs == 0:  # all answers are about groups
        return float("nan")
    rows = [row for group in known.rows for row in group]
    places = np.full(state.n_samples, -1)
    places[rows] = np.arange(len(rows))
    there, own = np.unique(state.labels[rows], return_inverse=True)
    alone = Committee(own[None], np.zeros(1), 0, len(there), places=places)
    held = alone.held(known)
    return float(held.counts[0]) / held.n_pairs


def _missing(state: State, n_askable: int) -> str:
    """Return what answers there must be before it can be enough, "" if there are.

    Answers that are all alike could not have changed anything, and few random checks
    say little, unless every row is known.
    """
    said = {is_same for _, _, is_same in state.answers.values()}
    if len(said) < 2:
        return "all answers are alike, which tells nothing of the clusters"
    n_checks = len(state.checks)
    n_known = sum(len(rows) for rows in state.known.as_groups().rows)
    if n_checks < LEAST_CHECKS and n_known < n_askable:
        return f"{n_checks} of {LEAST_CHECKS} random checks so far, too few to tell"
    return ""


def _sentence(trust: float, quality: float, change: float, missing: str) -> str:
    if np.isnan(trust):
        return "Go on: too few answers to tell."
    if np.isnan(change):
        return "Go on: cluster again to see whether the clusters still change."
    if change > _CHANGE:
        return f"Go on: the clusters still change ({change:.0%})."
    if quality < _QUALITY:
        return f"Go on: answers are not yet what clusters foretell ({quality:.0%})."
    if missing:
        return f"Go on: {missing}."
    return (
        f"Enough: answers are what clusters foretell ({quality:.0%}) and the clusters "
        f"hardly changed ({change:.0%})."
    )
