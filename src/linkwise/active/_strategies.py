"""Which pairs to ask about.

A strategy is an object with ``select(view, n)``, which returns up to n pairs of rows.
It reads the ``View`` and nothing else, so that the same events give the same questions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Known
from linkwise.active._judges import Judges
from linkwise.active._state import pair

# Rows among which the next one is looked for.
_MAX_ROWS = 1_000
# Random pairs that are tried before there is nothing left to ask.
_MAX_TRIES = 2_000


@dataclass
class View:
    """What a strategy may look at."""

    features: FloatArray  # (n, d), rows as they are compared
    rows: IntArray  # those that may be asked about, in a random order
    known: Known
    closed: set[tuple[int, int]]  # pairs that were answered by unsure, or skipped
    n_clusters: int | None
    judges: Judges | None
    labels: IntArray | None
    rng: np.random.Generator  # the same for the same events

    def is_open(self, i: int, j: int) -> bool:
        """Tell whether a pair can be asked about."""
        if i == j or self.known.relation(i, j) is not None:
            return False
        return pair(i, j) not in self.closed


class Strategy(Protocol):
    """Chooses questions."""

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs; no answer of one settles another."""
        ...  # pragma: no cover


class Neighbourhoods:
    """Finds groups that differ from each other, and asks where further rows belong.

    The next row is the one farthest from all that were asked about; it is compared with
    the nearest group first.
    """

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs, each with a row of its own."""
        hoods, waiting = neighbourhoods(view)
        found: list[tuple[int, int]] = []
        for group in waiting:
            if len(found) < n:
                self._ask(view, group, hoods, found)
        settled = {row for group in view.known.groups() for row in members(view, group)}
        settled |= {row for rows in view.closed for row in rows}
        settled |= {row for group in hoods for row in members(view, group)}
        free = [row for row in sampled(view, settled) if row not in settled]
        while len(found) < n and free:
            row = self._next_row(view, np.array(free), hoods, settled)
            free.remove(row)
            settled.add(row)
            self._ask(view, row, hoods, found)
        return found

    def _ask(
        self, view: View, group: int, hoods: list[int], found: list[tuple[int, int]]
    ) -> None:
        left = open_hoods(view, group, hoods)
        if left:
            order = self._order(view, group, left)
            found.append((view.known.members(group)[0], founder(view, order[0])))

    def _next_row(
        self, view: View, free: IntArray, hoods: list[int], settled: set[int]
    ) -> int:
        """Return the row whose nearest settled row is farthest."""
        return int(free[np.argmax(nearest(view.features, free, sorted(settled)))])

    def _order(self, view: View, group: int, hoods: list[int]) -> list[int]:
        """Return neighbourhoods in the order in which they are asked about."""
        rows = np.array(view.known.members(group))
        far = [
            nearest(view.features, rows, view.known.members(hood)).min()
            for hood in hoods
        ]
        return [hoods[at] for at in np.argsort(far, kind="stable")]


class CommitteeRows(Neighbourhoods):
    """As Neighbourhoods; the next row is that about which the committee is in doubt."""

    def _next_row(
        self, view: View, free: IntArray, hoods: list[int], settled: set[int]
    ) -> int:
        shares = self._shares(view, free, hoods)
        if shares is None or len(hoods) < 2:
            return super()._next_row(view, free, hoods, settled)
        return int(free[np.argmax(self._worth(shares))])

    def _worth(self, shares: FloatArray) -> FloatArray:
        return np.asarray(-(shares * np.log(shares)).sum(axis=1))

    def _shares(self, view: View, rows: IntArray, hoods: list[int]) -> Any:
        """Return how probable each neighbourhood is for each row, or None."""
        if view.judges is None:
            return None
        founders = np.array([founder(view, hood) for hood in hoods])
        i, j = np.repeat(rows, len(founders)), np.tile(founders, len(rows))
        shares = view.judges.p_same(i, j).reshape(len(rows), -1)
        shares = np.nan_to_num(shares, nan=0.5)
        return shares / shares.sum(axis=1, keepdims=True)

    def _order(self, view: View, group: int, hoods: list[int]) -> list[int]:
        shares = self._shares(view, np.array(view.known.members(group)[:1]), hoods)
        if shares is None:
            return super()._order(view, group, hoods)
        return [hoods[at] for at in np.argsort(-shares[0], kind="stable")]


class NPU(CommitteeRows):
    """Normalised point-based uncertainty (Xiong, Azimi, Fern 2014).

    Probabilities come from a random forest on the present clusters; the doubt about a
    row is divided by the number of questions that its answer is expected to take.
    """

    _trees = 50

    def _shares(self, view: View, rows: IntArray, hoods: list[int]) -> Any:
        if view.labels is None or len(np.unique(view.labels)) < 2:
            return None
        leaves = self._leaves(view)
        found = np.empty((len(rows), len(hoods)))
        for at, hood in enumerate(hoods):
            inside = leaves[view.known.members(hood)]
            alike = [(leaves[rows] == own).mean(axis=1) for own in inside]
            found[:, at] = np.mean(alike, axis=0)
        found += 1e-3
        return found / found.sum(axis=1, keepdims=True)

    def _leaves(self, view: View) -> IntArray:
        from sklearn.ensemble import RandomForestClassifier

        key = (id(view.features), view.labels.tobytes())  # type: ignore[union-attr]
        if getattr(self, "_key", None) != key:
            forest = RandomForestClassifier(self._trees, random_state=0)
            forest.fit(view.features, view.labels)
            self._key, self._found = key, forest.apply(view.features)
        return np.asarray(self._found)

    def _worth(self, shares: FloatArray) -> FloatArray:
        ordered = -np.sort(-shares, axis=1)
        questions = (ordered * np.arange(1, shares.shape[1] + 1)).sum(axis=1)
        return super()._worth(shares) / questions


class Nearest:
    """Asks about the nearest rows of different clusters."""

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs."""
        rows = view.rows[:_MAX_ROWS]
        if view.labels is None:
            return RandomPairs().select(view, n)
        points, labels = view.features[rows], view.labels[rows]
        squared = (points**2).sum(axis=1)
        far = squared[:, None] + squared - 2.0 * points @ points.T
        first, second = np.nonzero(np.triu(labels[:, None] != labels, 1))
        order = np.argsort(far[first, second], kind="stable")
        pairs = ((int(rows[first[p]]), int(rows[second[p]])) for p in order)
        found = independent(view, pairs, n)
        return found if found else RandomPairs().select(view, n)


class RandomPairs:
    """Asks about random pairs whose answer does not follow from others."""

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs."""
        if len(view.rows) < 2:
            return []
        drawn = view.rng.choice(view.rows, (_MAX_TRIES, 2))
        found = independent(view, ((int(i), int(j)) for i, j in drawn), n)
        if found or len(view.rows) > 200:
            return found
        every = ((int(i), int(j)) for i in view.rows for j in view.rows if i < j)
        return independent(view, every, n)


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "neighbourhoods": Neighbourhoods,
    "committee": CommitteeRows,
    "nearest": Nearest,
    "npu": NPU,
    "random": RandomPairs,
}


def independent(view: View, pairs: Any, n: int) -> list[tuple[int, int]]:
    """Return the first n open pairs that form no circle of groups."""
    found: list[tuple[int, int]] = []
    leader: dict[int, int] = {}

    def lead(group: int) -> int:
        while leader.setdefault(group, group) != group:
            group = leader[group]
        return group

    for i, j in pairs:
        if len(found) == n:
            break
        if not view.is_open(i, j):
            continue
        a, b = lead(view.known.group_of(i)), lead(view.known.group_of(j))
        if a != b:
            leader[a] = b
            found.append((i, j))
    return found


def neighbourhoods(view: View) -> tuple[list[int], list[int]]:
    """Return groups that all differ from each other, and those not placed yet.

    A group that differs from all neighbourhoods but one belongs there if their number
    is known, and waits no longer.
    """
    known = view.known
    first = known.group_of(int(view.rows[0]))
    groups = dict.fromkeys([first, *known.groups()])
    for rows in sorted(view.closed):
        groups |= dict.fromkeys(known.group_of(row) for row in rows)
    hoods: list[int] = []
    waiting: list[int] = []
    for group in groups:
        is_full = view.n_clusters is not None and len(hoods) >= view.n_clusters
        if not is_full and known.different_from(group).issuperset(hoods):
            hoods.append(group)
        else:
            waiting.append(group)
    return hoods, [g for g in waiting if not _is_placed(view, g, hoods)]


def _is_placed(view: View, group: int, hoods: list[int]) -> bool:
    left = [h for h in hoods if h not in view.known.different_from(group)]
    return len(left) == 1 and len(hoods) == view.n_clusters and len(hoods) > 1


def open_hoods(view: View, group: int, hoods: list[int]) -> list[int]:
    """Return the neighbourhoods that a group can be asked about."""
    row = view.known.members(group)[0]
    return [
        hood
        for hood in hoods
        if hood != group
        and hood not in view.known.different_from(group)
        and view.is_open(row, founder(view, hood))
    ]


def founder(view: View, hood: int) -> int:
    """Return the row by which a neighbourhood is shown."""
    return view.known.members(hood)[0]


def members(view: View, group: int) -> list[int]:
    """Return the rows of a group."""
    return view.known.members(group)


def sampled(view: View, settled: set[int]) -> list[int]:
    """Return rows among which to look for the next one."""
    found: list[int] = []
    for block in gen_batches(len(view.rows), _MAX_ROWS):
        for row in view.rows[block].tolist():
            if row not in settled:
                found.append(row)
                if len(found) == _MAX_ROWS:
                    return found
    return found


def nearest(features: FloatArray, rows: IntArray, others: Any) -> FloatArray:
    """Return the squared distance of rows to the nearest of some others."""
    a, b = features[rows], features[np.asarray(others, dtype=np.intp)]
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return np.asarray(np.maximum(squared, 0.0).min(axis=1))
