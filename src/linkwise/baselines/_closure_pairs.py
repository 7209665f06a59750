"""Entailed pairs as lists, where a method needs them one by one."""

from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Closure, Constraints
from linkwise.doors import FitInput, warn_caller
from linkwise.exceptions import ConstraintWarning


class ListedPairs(NamedTuple):
    """Entailed pairs, rows sorted, with their weights."""

    must_link: IntArray  # (m, 2)
    must_link_weight: FloatArray  # (m,)
    cannot_link: IntArray  # (c, 2)
    cannot_link_weight: FloatArray  # (c,)


def unit_weight(pairs: Constraints) -> float:
    """Return the weight of every pair, where all weigh the same; 1 without pairs."""
    weights = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    return float(weights[0]) if len(weights) else 1.0


def listed_pairs(
    closure: Closure, pairs: Constraints, max_pairs: int, rng: np.random.Generator
) -> ListedPairs:
    """Return the entailed pairs, or ``max_pairs`` of them drawn at random.

    Equal weights let a draw come without the whole list. Other weights are known only
    for the whole list, which is then made first.
    """
    n_pairs = closure.n_must_link + closure.n_cannot_link
    if n_pairs <= max_pairs:
        return ListedPairs(*closure.must_link_pairs(), *closure.cannot_link_pairs())
    drawn = np.sort(rng.choice(n_pairs, max_pairs, replace=False, shuffle=False))
    must = drawn[drawn < closure.n_must_link]
    cannot = drawn[len(must) :] - closure.n_must_link
    if not closure.is_unit:
        must_link, must_link_weight = closure.must_link_pairs()
        cannot_link, cannot_link_weight = closure.cannot_link_pairs()
        return ListedPairs(
            must_link[must],
            must_link_weight[must],
            cannot_link[cannot],
            cannot_link_weight[cannot],
        )
    weight = unit_weight(pairs)
    return ListedPairs(
        _sorted_rows(_must_links_at(closure, must)),
        np.full(len(must), weight),
        _sorted_rows(_cannot_links_at(closure, cannot)),
        np.full(len(cannot), weight),
    )


def drawn_pairs(given: FitInput, max_pairs: int) -> ListedPairs:
    """Return the entailed pairs of a fit; of too many, a draw, with a warning."""
    n_pairs = given.closure.n_must_link + given.closure.n_cannot_link
    if n_pairs > max_pairs:
        warn_caller(
            f"The pairs entail {n_pairs} pairs, more than max_pairs={max_pairs}: as "
            "many are drawn at random.",
            ConstraintWarning,
        )
    return listed_pairs(given.closure, given.pairs, max_pairs, given.rng)


def _must_links_at(closure: Closure, ranks: IntArray) -> IntArray:
    """Return the must-links of these ranks, counted component by component."""
    size = closure.size[: closure.n_linked]
    ends = np.cumsum(size * (size - 1) // 2)
    g = np.searchsorted(ends, ranks, side="right")
    rank = ranks - (ends[g] - size[g] * (size[g] - 1) // 2)
    # Pair (a, b), a < b, of a component has rank b (b - 1) / 2 + a.
    b = ((1.0 + np.sqrt(1.0 + 8.0 * rank)) / 2.0).astype(np.intp)
    b -= b * (b - 1) // 2 > rank  # rounding of the root
    b += b * (b + 1) // 2 <= rank
    a = rank - b * (b - 1) // 2
    start = closure.indptr[g]
    return np.stack([closure.members[start + a], closure.members[start + b]], axis=1)


def _cannot_links_at(closure: Closure, ranks: IntArray) -> IntArray:
    """Return the cannot-links of these ranks, counted block by block."""
    left, right = closure.cannot_link.T
    n_pairs = closure.size[left] * closure.size[right]
    ends = np.cumsum(n_pairs)
    block = np.searchsorted(ends, ranks, side="right")
    rank = ranks - (ends[block] - n_pairs[block])
    width = closure.size[right[block]]
    first = closure.members[closure.indptr[left[block]] + rank // width]
    second = closure.members[closure.indptr[right[block]] + rank % width]
    return np.stack([first, second], axis=1)


def _sorted_rows(pairs: IntArray) -> IntArray:
    pairs = np.sort(pairs, axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
