"""Cannot-links that contradict must-links: found, explained, dropped."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints._graphs import (
    DisjointSets,
    must_link_components,
    neighbour_lists,
    shortest_path,
    widest_order,
)
from linkwise.exceptions import InconsistentConstraintsError

_N_SHOWN = 5


class Conflict(NamedTuple):
    """A cannot-link between two points that must-links tie together.

    Attributes
    ----------
    cannot_link : tuple of two int
        The ends of the cannot-link.
    path : list of int
        Points from one end to the other, each must-linked to the next. Among the
        paths whose weakest must-link is as strong as possible, a shortest one.
    weight : float
        Weight of the cannot-link.
    path_weight : float
        Weight of the weakest must-link on the path.

    Examples
    --------
    >>> print(Conflict((0, 2), [0, 1, 2], weight=1.0, path_weight=1.0))
    cannot-link (0, 2) contradicts must-links 0-1-2
    """

    cannot_link: tuple[int, int]
    path: list[int]
    weight: float
    path_weight: float

    def __str__(self) -> str:
        path = "-".join(map(str, self.path))
        return f"cannot-link {self.cannot_link} contradicts must-links {path}"

    def named(self, names: Sequence[Any] | None) -> "Conflict":
        """Return the conflict with ids in place of positions, if there are any."""
        if names is None:
            return self
        first, second = self.cannot_link
        return self._replace(
            cannot_link=(names[first], names[second]),
            path=[names[point] for point in self.path],
        )


class WeightedPairs(NamedTuple):
    """Canonical pairs with their weights."""

    must_link: IntArray  # (m, 2)
    cannot_link: IntArray  # (c, 2)
    must_link_weight: FloatArray  # (m,)
    cannot_link_weight: FloatArray  # (c,)

    @property
    def n_points(self) -> int:
        """One more than the largest index, 0 without pairs."""
        ends = [a.max() + 1 for a in (self.must_link, self.cannot_link) if a.size]
        return int(max(ends, default=0))


def conflicting(pairs: WeightedPairs) -> BoolArray:
    """Return which cannot-links lie inside a must-link component, shape (c,)."""
    component = must_link_components(pairs.must_link, pairs.n_points)
    return component[pairs.cannot_link[:, 0]] == component[pairs.cannot_link[:, 1]]


def explain(pairs: WeightedPairs, rows: IntArray) -> list[Conflict]:
    """Return the conflict of each listed cannot-link with its best must-link path."""
    chains, gaps = widest_order(pairs.must_link, pairs.must_link_weight, pairs.n_points)
    place = {
        point: (chain, position)
        for chain, points in enumerate(chains)
        for position, point in enumerate(points)
    }
    strong: dict[float, dict[int, list[int]]] = {}
    found = []
    for row in rows.tolist():
        first, second = pairs.cannot_link[row].tolist()
        chain, start = place[first]
        start, end = sorted((start, place[second][1]))
        width = min(gaps[chain][start:end])
        if width not in strong:
            wide = pairs.must_link_weight >= width
            strong[width] = neighbour_lists(pairs.must_link[wide])
        path = shortest_path(strong[width], first, second)
        weight = float(pairs.cannot_link_weight[row])
        found.append(Conflict((first, second), path, weight, width))
    return found


def raise_inconsistent(
    pairs: WeightedPairs, is_conflict: BoolArray, names: Sequence[Any] | None = None
) -> None:
    """Raise the error that names the first few conflicts."""
    rows = np.flatnonzero(is_conflict)
    found = explain(pairs, rows[:_N_SHOWN])
    lines = [f"  {conflict.named(names)}" for conflict in found]
    if len(rows) > _N_SHOWN:
        lines.append(f"  and {len(rows) - _N_SHOWN} more")
    raise InconsistentConstraintsError(
        f"{len(rows)} of {len(is_conflict)} cannot-links contradict must-links:\n"
        + "\n".join(lines)
        + '\nCorrect them, or pass on_conflict="drop" to remove the lighter pair '
        "of each contradiction (Constraints.drop_conflicts does it at once)."
    )


def consistent(pairs: WeightedPairs) -> tuple[BoolArray, BoolArray]:
    """Return which must-links (m,) and cannot-links (c,) to keep.

    Pairs enter by falling weight, must-links first among equals, and one that
    contradicts those already in is left out. A cannot-link is refused if a path of
    must-links at least as heavy ties its ends; else it stays, and the path breaks
    at its weakest must-link when that one's turn comes.
    """
    n_must = len(pairs.must_link)
    weights = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    ends = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    keep = np.ones(len(ends), dtype=bool)
    sets = DisjointSets(pairs.n_points)
    apart: dict[int, set[int]] = {}  # roots that a kept cannot-link separates
    for row in np.argsort(-weights, kind="stable").tolist():
        first, second = (sets.find(point) for point in ends[row])
        if row >= n_must:
            keep[row] = first != second
            if keep[row]:
                apart.setdefault(first, set()).add(second)
                apart.setdefault(second, set()).add(first)
        elif second in apart.get(first, ()):
            keep[row] = False
        elif first != second:
            kept, joined = sets.union(first, second)
            for other in apart.pop(joined, ()):
                apart[other].discard(joined)
                apart[other].add(kept)
                apart.setdefault(kept, set()).add(other)
    return keep[:n_must], keep[n_must:]
