"""Which pairs to ask about.

A strategy is an object with ``select(view, n)``, which returns up to n pairs of rows.
It reads the ``View`` and nothing else, so that the same events give the same questions.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._answers import Answer, Known
from linkwise.active._state import pair
from linkwise.search import Committee

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
    answers: dict[int, Answer]  # other than unsure, by event
    closed: set[tuple[int, int]]  # pairs that were answered by unsure, or skipped
    n_clusters: int | None
    committee: Committee | None
    labels: IntArray | None
    is_askable: BoolArray  # which rows may be asked about; answers may name others
    rng: np.random.Generator  # the same for the same events

    def is_open(self, i: int, j: int) -> bool:
        """Tell whether the answer to a pair is not known yet."""
        if i == j or self.known.relation(i, j) is not None:
            return False
        return pair(i, j) not in self.closed

    @cached_property
    def groups(self) -> list[int]:
        """All groups that were asked about, and the first one that will be."""
        found = [self.known.group_of(int(self.rows[0])), *self.known.groups()]
        for rows in sorted(self.closed):
            found += [self.known.group_of(row) for row in rows]
        if len(self.rows) < len(self.features):
            # Groups that can be asked about come first: others must not take their
            # places.
            found.sort(key=lambda group: not self.is_askable[self.founder(group)])
        return list(dict.fromkeys(found))

    @cached_property
    def hoods(self) -> list[int]:
        """Neighbourhoods: groups that all differ from each other."""
        return apart(self.known, self.groups, self.n_clusters)

    @cached_property
    def waiting(self) -> list[int]:
        """Groups that are not placed yet.

        One that differs from all neighbourhoods but one belongs there if their number
        is known, and waits no longer.
        """
        are_found = len(self.hoods) == self.n_clusters and len(self.hoods) > 1
        left = [group for group in self.groups if group not in self.hoods]
        if not are_found:
            return left
        n_least = len(self.hoods) - 1
        differs = self.known.different_from
        return [g for g in left if len(differs(g).intersection(self.hoods)) != n_least]

    @cached_property
    def settled(self) -> dict[int, list[int]]:
        """Rows of which it is known that they are in each neighbourhood.

        Where all are found, a row that differs from all but one is in that.
        """
        known = inferred(self.known, self.hoods, self.n_clusters)
        return {hood: known.members(known.group_of(hood)) for hood in self.hoods}

    def founder(self, group: int) -> int:
        """Return the row by which a group is shown: an askable one if it can be."""
        rows = self.known.members(group)
        return next((row for row in rows if self.is_askable[row]), rows[0])

    def open_hoods(self, group: int) -> list[int]:
        """Return the neighbourhoods that a group may belong to."""
        row = self.founder(group)
        return [
            hood
            for hood in self.hoods
            if hood != group
            and hood not in self.known.different_from(group)
            and self.is_open(row, self.founder(hood))
        ]


class Strategy(Protocol):
    """Chooses questions."""

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs; no answer of one settles another."""
        ...  # pragma: no cover


class Neighbourhoods:
    """Finds groups that differ from each other, and asks where further rows belong.

    Rows come at random; when there is a committee, those in doubt come more often. A
    row is compared with the group first that it most probably belongs to.
    """

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs, each with a row of its own."""
        return self._select(view, n, is_check=False)

    def check(self, view: View) -> list[tuple[int, int]]:
        """Return a pair about a row that is drawn without regard to doubts."""
        return self._select(view, 1, is_check=True)

    def _select(self, view: View, n: int, is_check: bool) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for group in [] if is_check else view.waiting:
            if len(found) < n:
                self._ask(view, group, found)
        groups = [*view.known.groups(), *view.hoods]
        settled = {row for group in groups for row in view.known.members(group)}
        settled |= {row for rows in view.closed for row in rows}
        free = sampled(view, settled)
        chances = None if is_check else self._chances(view, np.array(free))
        while len(found) < n and free:
            at = 0 if chances is None else self._draw(chances, view.rng)
            row = free.pop(at)
            chances = None if chances is None else np.delete(chances, at)
            self._ask(view, row, found)
        return found

    def _ask(self, view: View, group: int, found: list[tuple[int, int]]) -> None:
        row = view.founder(group)
        left = [
            hood
            for hood in view.open_hoods(group)
            if view.is_askable[view.founder(hood)]
        ]
        if left and view.is_askable[row]:
            order = self._order(view, group, left)
            found.append((row, view.founder(order[0])))

    def _chances(self, view: View, free: IntArray) -> FloatArray | None:
        """Return how often each free row is to come, None if all do alike."""
        if len(view.hoods) < 2 or len(free) == 0:
            return None
        shares = self._shares(view, free, view.hoods)
        return None if shares is None else self._worth(shares)

    def _worth(self, shares: FloatArray) -> FloatArray:
        """Return the doubt about rows that may be in several groups."""
        return np.asarray(-(shares * np.log(shares)).sum(axis=1))

    def _draw(self, chances: FloatArray, rng: np.random.Generator) -> int:
        squared = chances**2
        total = squared.sum()
        if total <= 0.0:
            return 0
        return int(rng.choice(len(chances), p=squared / total))

    def _shares(
        self, view: View, rows: IntArray, hoods: list[int]
    ) -> FloatArray | None:
        """Return how probable each neighbourhood is for each row, or None."""
        if view.committee is None:
            return None
        return view.committee.shares(rows, [view.settled[hood] for hood in hoods])

    def _order(self, view: View, group: int, hoods: list[int]) -> list[int]:
        """Return neighbourhoods in the order in which they are asked about."""
        rows = view.known.members(group)
        shares = self._shares(view, np.array(rows), hoods)
        groups = [view.known.members(hood) for hood in hoods]
        return [hoods[at] for at in likeness(view, rows, groups, shares)]


class CommitteeRows(Neighbourhoods):
    """As Neighbourhoods; the next row is the one that is most in doubt."""

    def _draw(self, chances: FloatArray, rng: np.random.Generator) -> int:
        return int(np.argmax(chances))


class NPU(CommitteeRows):
    """Normalised point-based uncertainty (Xiong, Azimi, Fern 2014).

    Probabilities come from a random forest on the present clusters; the doubt about a
    row is divided by the number of questions that its answer is expected to take.
    """

    _trees = 50

    def _shares(
        self, view: View, rows: IntArray, hoods: list[int]
    ) -> FloatArray | None:
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


class Members:
    """Asks whether rows belong to the clusters that they are in.

    A row is compared with the largest group of its cluster whose rows are known to be
    the same, or with the most central row. Rows come at random, so that what holds of
    them holds of the clusters.
    """

    # "Different" counts so much in a fit: any clusters that put the row elsewhere,
    # wherever that is, satisfy it.
    different_weight = 0.2

    def select(self, view: View, n: int) -> list[tuple[int, int]]:
        """Return up to n pairs."""
        if view.labels is None:
            return RandomPairs().select(view, n)
        found = independent(view, self._pairs(view, view.labels), n)
        return found if found else RandomPairs().select(view, n)

    def check(self, view: View) -> list[tuple[int, int]]:
        """Return a pair by which the clusters can be judged: any does."""
        return self.select(view, 1)

    def _pairs(self, view: View, labels: IntArray) -> Iterable[tuple[int, int]]:
        """Return rows at random, each with the row that stands for its cluster."""
        rows = view.rows
        if len(rows) > _MAX_ROWS:
            rows = view.rng.choice(rows, _MAX_ROWS, replace=False)
        largest = self._largest_groups(view, labels)
        for row in view.rng.permutation(rows).tolist():
            cluster = int(labels[row])
            if cluster < 0:  # far from all clusters
                continue
            if cluster not in largest:
                inside = rows[labels[rows] == cluster]
                largest[cluster] = medoid(view.features, inside)
            if largest[cluster] != row:
                yield row, largest[cluster]

    def _largest_groups(self, view: View, labels: IntArray) -> dict[int, int]:
        """Return a row of the largest group in each cluster that has one."""
        found: dict[int, tuple[int, int]] = {}
        for group in view.known.groups():
            inside = view.known.members(group)
            for row in inside:
                size, _ = found.get(int(labels[row]), (1, -1))
                if view.is_askable[row] and len(inside) > size:
                    found[int(labels[row])] = (len(inside), row)
        return {cluster: row for cluster, (_, row) in found.items()}


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

    def check(self, view: View) -> list[tuple[int, int]]:
        """Return a pair by which the clusters can be judged."""
        return self.select(view, 1)


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "neighbourhoods": Neighbourhoods,
    "committee": CommitteeRows,
    "members": Members,
    "nearest": Nearest,
    "npu": NPU,
    "random": RandomPairs,
}


def independent(
    view: View, pairs: Iterable[tuple[int, int]], n: int
) -> list[tuple[int, int]]:
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


def apart(known: Known, groups: Iterable[int], most: int | None) -> list[int]:
    """Return groups, the first ones that can be had, that all differ."""
    found: list[int] = []
    for group in groups:
        if most is not None and len(found) >= most:
            break
        if known.different_from(group).issuperset(found):
            found.append(group)
    return found


def inferred(known: Known, hoods: list[int], n_clusters: int | None) -> Known:
    """Return what is known, with groups joined to the only neighbourhood left."""
    if len(hoods) != n_clusters or len(hoods) < 2:
        return known
    found = known.copy()
    firsts = [known.members(hood)[0] for hood in hoods]
    for group in known.groups():
        row = known.members(group)[0]
        left = [first for first in firsts if found.relation(row, first) is None]
        is_in = any(found.relation(row, first) for first in firsts)
        if len(left) == 1 and not is_in:
            found.add(Answer(row, left[0], True, -1))
    return found


def likeness(
    view: View,
    rows: list[int],
    groups: list[list[int]],
    shares: FloatArray | None = None,
) -> IntArray:
    """Return groups in the order of how probably rows belong to them.

    ``shares`` are their probabilities; by default those of the committee, and the
    nearest group is first where there is none.
    """
    if shares is None and view.committee is not None:
        shares = view.committee.shares(np.array(rows), groups)
    if shares is not None:
        return np.argsort(-shares.mean(axis=0), kind="stable")
    own = np.array(rows)
    far = [nearest(view.features, own, group).min() for group in groups]
    return np.argsort(far, kind="stable")


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


def medoid(features: FloatArray, rows: IntArray) -> int:
    """Return the row nearest to the mean of some rows."""
    points = features[rows]
    far = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    return int(rows[far.argmin()])


def nearest(features: FloatArray, rows: IntArray, others: list[int]) -> FloatArray:
    """Return the squared distance of rows to the nearest of some others."""
    a, b = features[rows], features[np.asarray(others, dtype=np.intp)]
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return np.asarray(np.maximum(squared, 0.0).min(axis=1))
