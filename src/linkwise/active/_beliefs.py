"""How far answers are believed, and which of them are asked again."""

from collections.abc import Mapping, Set

import numpy as np

from linkwise.active._state import State, pair
from linkwise.active._strategies import View, likeness
from linkwise.search import Committee

Pairs = list[tuple[int, int]]

# Before any was asked again, one answer in so many is thought to be wrong.
_RIGHT_FOR_ONE = 10
# How probable it is to be wrong, at the least, for an answer to be asked again.
_WORTH_AGAIN = 0.1
# Least probability of an answer: any answer may be wrong.
_LEAST = 0.02
# Share of wrong answers that is taken into account, at the most.
_MAX_WRONG = 0.3


def p_of(view: View, i: int, j: int) -> float:
    """Return how probable it is that two rows are the same, NaN if nobody knows.

    The second is part of a neighbourhood, or else only they are compared.
    """
    if view.committee is None:
        return float("nan")
    group = view.known.group_of(j)
    left = view.open_hoods(view.known.group_of(i))
    if group not in left or len(left) < 2:
        return _p_of_rows(view.committee, i, j)
    inside = [view.settled[hood] for hood in left]
    shares = view.committee.shares(np.array([i]), inside)
    return _bounded(float(shares[0, left.index(group)]))


def _p_of_rows(committee: Committee, i: int, j: int) -> float:
    """Return how probable members hold it that two rows are together, or NaN."""
    return _bounded(float(committee.p_same(np.array([i]), np.array([j]))[0]))


def _bounded(p: float) -> float:
    """Return a probability that is never quite certain; NaN stays."""
    return min(max(p, _LEAST), 1.0 - _LEAST)


def beliefs_of(view: View) -> dict[int, float]:
    """Return how probable the committee holds each answer, by event.

    Of its two rows, the one with more answers is taken to be where they put it.
    """
    if view.committee is None or not view.answers:
        return {}
    groups = list(view.settled.values())
    place = {row: at for at, group in enumerate(groups) for row in group}
    counts: dict[int, int] = {}
    for answer in view.answers.values():
        for row in (answer.i, answer.j):
            counts[row] = counts.get(row, 0) + 1
    rows = np.array(list(counts))
    at = dict(zip(counts, range(len(rows)), strict=True))
    shares = view.committee.shares(rows, groups) if len(groups) > 1 else None
    found = {}
    for event, (i, j, is_same, _) in view.answers.items():
        row, anchor = (i, j) if counts[i] <= counts[j] else (j, i)
        if shares is not None and anchor in place:
            p = _bounded(float(shares[at[row], place[anchor]]))
        else:
            p = _p_of_rows(view.committee, i, j)
        if not np.isnan(p):
            found[event] = p if is_same else 1.0 - p
    return found


def worth_again(state: State, beliefs: Mapping[int, float]) -> int | None:
    """Return the answer that is most probably wrong, if that is probable enough.

    How many are wrong is learnt from those that were asked again: who never errs is
    seldom asked twice. No pair is asked again twice, whatever was said.
    """
    closed = state.doubted | state.skipped
    open_ = [
        event
        for event in beliefs
        if state.support[event] == 1 and pair(*state.answers[event][:2]) not in closed
    ]
    if not open_:
        return None
    worst = min(open_, key=lambda event: (beliefs[event], event))
    n_confirmed = sum(count - 1 for count in state.support.values())
    n_wrong = 1 + state.n_contradicted
    share = n_wrong / (_RIGHT_FOR_ONE + state.n_contradicted + n_confirmed)
    share = min(share, _MAX_WRONG)
    is_wrong = share * (1.0 - beliefs[worst])
    p_wrong = is_wrong / (is_wrong + (1.0 - share) * beliefs[worst])
    return worst if p_wrong >= _WORTH_AGAIN else None


def unproved(view: View, doubted: Set[tuple[int, int]]) -> Pairs:
    """Return a pair whose answer proves that a neighbourhood is one of its own.

    One wrong answer is enough to make a class two neighbourhoods, between which all its
    further rows are torn. That they differ is to be said of other rows as well, for
    each once, with the neighbourhood that is most like it.
    """
    groups = [view.known.members(hood) for hood in view.hoods]
    place = {row: at for at, group in enumerate(groups) for row in group}
    told = {pair(answer.i, answer.j) for answer in view.answers.values()}
    told |= view.closed | doubted
    n_told = np.zeros((len(groups), len(groups)), dtype=int)
    for i, j, is_same, _ in view.answers.values():
        if not is_same and i in place and j in place:
            n_told[place[i], place[j]] += 1
            n_told[place[j], place[i]] += 1
    askable = [[row for row in group if view.is_askable[row]] for group in groups]
    for at in range(1, len(groups)):
        if len(groups[at]) > 1 and askable[at] and n_told[at].max() < 2:
            row = askable[at][-1]
            for other in likeness(view, [row], groups).tolist():
                if n_told[at, other] > 0 and askable[other]:
                    ends = (row, askable[other][-1])
                    if pair(*ends) not in told:
                        return [ends]
                    break
    return []
