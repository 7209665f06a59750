"""What a fit is told: the answers, and what follows from them."""

from collections.abc import Iterable
from math import isqrt

import numpy as np

from linkwise.active._answers import Known
from linkwise.active._state import pair
from linkwise.active._strategies import apart, inferred
from linkwise.constraints import Constraints

# Pairs that follow from answers of which a fit is told, at the most.
_MAX_TOLD = 20_000


def told_pairs(
    answers: Constraints, n_clusters: int, different_weight: float = 1.0
) -> Constraints:
    """Return answers, with their weights, and what follows from them.

    A row that differs from all of so many groups but one is in that. A pair that
    follows has the least weight of the answers that it follows from. Of too many pairs
    that follow, some are drawn. In the end weights of rows that differ are multiplied
    by ``different_weight`` where others are the same.
    """
    given = _by_weight(answers)
    own = {pair(i, j): weight for i, j, _, weight in given}
    pairs = _drawn(_settled([answer[:3] for answer in given], n_clusters))
    there = {(i, j) for i, j, _ in pairs}
    pairs += [
        (*pair(i, j), is_same) for i, j, is_same, _ in given if pair(i, j) not in there
    ]
    found = _least_weights(given, pairs, n_clusters) | own
    weight = np.array([found[i, j] for i, j, _ in pairs])
    is_must = np.array([is_same for _, _, is_same in pairs], dtype=bool)
    if is_must.any():
        weight[~is_must] *= different_weight
    ends = np.array([(i, j) for i, j, _ in pairs], dtype=np.intp).reshape(-1, 2)
    return Constraints(
        ends[is_must],
        ends[~is_must],
        weight[is_must] if is_must.any() else None,
        weight[~is_must] if (~is_must).any() else None,
    )


def _by_weight(answers: Constraints) -> list[tuple[int, int, bool, float]]:
    """Return pairs, what is said of them and their weights, the heaviest first."""
    found = [
        (i, j, is_same, weight)
        for is_same, ends, own in (
            (True, answers.must_link, answers.must_link_weight),
            (False, answers.cannot_link, answers.cannot_link_weight),
        )
        for (i, j), weight in zip(ends.tolist(), own.tolist(), strict=True)
    ]
    return sorted(found, key=lambda answer: -answer[3])


def _settled(answers: Iterable[tuple[int, int, bool]], n_clusters: int) -> Known:
    """Return what follows from answers if there are so many groups."""
    known = Known()
    for i, j, is_same in answers:
        known.learn(i, j, is_same)
    return inferred(known, apart(known, known.groups(), n_clusters), n_clusters)


def _drawn(known: Known) -> list[tuple[int, int, bool]]:
    """Return the pairs that are known, or some of them; they are not listed for it."""
    blocks: list[tuple[list[int], list[int] | None]] = []
    for group in known.groups():
        rows = known.members(group)
        blocks.append((rows, None))
        for other in known.different_from(group):
            if other < group:
                blocks.append((rows, known.members(other)))
    sizes = [
        len(rows) * (len(rows) - 1) // 2 if others is None else len(rows) * len(others)
        for rows, others in blocks
    ]
    ends = np.cumsum([0, *sizes])
    chosen = np.arange(min(ends[-1], _MAX_TOLD))
    if ends[-1] > _MAX_TOLD:
        rng = np.random.default_rng(0)
        chosen = np.sort(rng.choice(ends[-1], _MAX_TOLD, replace=False))
    found = []
    places = np.searchsorted(ends, chosen, side="right") - 1
    for place, at in zip(
        places.tolist(), (chosen - ends[places]).tolist(), strict=True
    ):
        rows, others = blocks[place]
        if others is None:
            first = (1 + isqrt(1 + 8 * at)) // 2
            i, j = rows[first], rows[at - first * (first - 1) // 2]
        else:
            i, j = rows[at // len(others)], others[at % len(others)]
        found.append((*pair(i, j), others is None))
    return found


def _least_weights(
    given: list[tuple[int, int, bool, float]],
    pairs: list[tuple[int, int, bool]],
    n_clusters: int,
) -> dict[tuple[int, int], float]:
    """Return the weight down to which answers are needed for each pair to follow."""
    levels = sorted({answer[3] for answer in given}, reverse=True)
    found: dict[tuple[int, int], float] = {}
    left = pairs
    for level in levels[:-1]:
        heavy = [answer[:3] for answer in given if answer[3] >= level]
        known = _settled(heavy, n_clusters)
        follows = [known.relation(i, j) == is_same for i, j, is_same in left]
        found |= {p[:2]: level for p, f in zip(left, follows, strict=True) if f}
        left = [p for p, f in zip(left, follows, strict=True) if not f]
    return found | {p[:2]: levels[-1] for p in left}
