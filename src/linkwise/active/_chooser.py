"""Which question about groups removes most doubt per second."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._kinds import EXAMPLES, GRID, PAGE, PAGES, Prices
from linkwise.active._opinions import Opinion
from linkwise.active._start import Start
from linkwise.active._votes import APART, Votes

# Neighbours over which doubt is averaged.
_N_NEIGHBOURS = 12
# One question in so many compares two groups, and one is a check.
_MERGE_EVERY = 12
_CHECK_EVERY = 12
# Probability of its group from which on a row is shown in a grid.
_LEAST_P = 0.5
# Share of the last answers that found groups, from which on more are looked for.
_NEW_SHARE, _N_LAST = 0.25, 15
# How often rows that fit nowhere come first, and what their doubt counts.
_LOST_SHARE, _LOST_WORTH = 0.25, 1.5
# Overlap of two groups from which on they may be one, and the cosine that adds to it.
_OVERLAP, _ALIKE, _LIKE_SHARE = 0.12, 0.6, 0.3
# What being unlike its group adds to the doubt about a row.
_ODD = 0.3
# Doubts below which nothing is asked: about a row by itself, and in a grid.
_LEAST_WORTH, _LEAST_VALUE = 1e-4, 0.004
# Times that a row without and with votes is judged in one group at most.
_MOST_NEW, _MOST_KNOWN = 1, 3
# Rows of a grid from which on one of them was judged before.
_WITH_REPEAT = 6
_ROWS_PER_BLOCK = 1_000


class Choice(NamedTuple):
    """What is asked next: places of rows, and columns of groups."""

    kind: str
    purpose: str
    row: int = -1
    rows: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()


def neighbours(points: FloatArray) -> csr_array:
    """Return weights of the nearest rows of each row, which sum to 1."""
    n = len(points)
    k = min(_N_NEIGHBOURS, n - 1)
    near, weights = [], []
    for first in range(0, n, _ROWS_PER_BLOCK):
        alike = points[first : first + _ROWS_PER_BLOCK] @ points.T
        own = np.arange(len(alike))
        alike[own, first + own] = -np.inf
        nearest = np.sort(np.argpartition(-alike, k - 1, axis=1)[:, :k], axis=1)
        weight = np.maximum(np.take_along_axis(alike, nearest, axis=1), 0.0)
        near.append(nearest)
        weights.append(weight / (weight.sum(axis=1, keepdims=True) + 1e-9))
    rows = np.repeat(np.arange(n), k)
    columns, values = np.concatenate(near).ravel(), np.concatenate(weights).ravel()
    return csr_array((values, (rows, columns)), shape=(n, n))


@dataclass
class Chooser:
    """Chooses the next question from opinions, votes and prices."""

    place_of: dict[int, int]  # working rows by their numbers
    is_askable: BoolArray  # of working rows
    near: Any  # weights of the nearest rows
    start: Start
    opinion: Opinion
    votes: Votes
    n_clusters: int | None
    prices: Prices
    kinds: Collection[str]
    rng: np.random.Generator
    has_checks: bool = True
    taken: set[int] = field(default_factory=set)  # places of rows in other questions

    def choose(self) -> Choice | None:
        """Return what is asked next, None if nothing is left to ask."""
        row = self._unvisited()
        if row is not None:
            return Choice("which", "start", row)
        turn = self.votes.n_questions + len(self.taken)
        if "merge" in self.kinds and turn % _MERGE_EVERY == 0:
            pair = self._alike()
            if pair is not None:
                return Choice("merge", "merge", groups=pair)
        if self.has_checks and turn % _CHECK_EVERY == _CHECK_EVERY // 2:
            row = self._random_row()
            if row is not None:
                return Choice("which", "check", row)
        return self._most_doubt()

    def _most_doubt(self) -> Choice | None:
        worth = self._worth
        row = int(worth.argmax())
        is_worth = bool(worth[row] > _LEAST_WORTH)
        which = Choice("which", "which", row) if is_worth else None
        if which is not None and self._is_new[row] and self._finds_groups():
            return which
        value, grid = self._best_grid() if "grid" in self.kinds else (-1.0, None)
        lost, lost_worth = self._lost()
        if lost is not None and (
            grid is None
            or _LOST_WORTH * lost_worth / self.prices.which > value
            or self.rng.random() < _LOST_SHARE
        ):
            return Choice("which", "which", lost)
        return which if grid is None else grid

    # Rows

    @cached_property
    def _is_new(self) -> BoolArray:
        return np.asarray(self.opinion.home < 0)

    @cached_property
    def _asked(self) -> IntArray:
        """Times that each row was asked about by itself."""
        return self._by_row(self.votes.asked)

    @cached_property
    def _is_free(self) -> BoolArray:
        """Which rows may be asked about now: none twice within a few questions."""
        seen = self._by_row(self.votes.seen)
        is_recent = (seen > 0) & (self.votes.n_questions - seen < APART)
        is_recent[list(self.taken)] = True
        return np.asarray(self.is_askable & ~is_recent)

    def _by_row(self, counts: dict[int, int]) -> IntArray:
        found = np.zeros(len(self.is_askable), dtype=int)
        for row, count in counts.items():
            if row in self.place_of:
                found[self.place_of[row]] = count
        return found

    @cached_property
    def _doubt(self) -> FloatArray:
        doubt = 1.0 - self.opinion.p.max(axis=1)
        return np.where(self._is_new, doubt + _ODD * self.opinion.odd, doubt)

    @cached_property
    def _around(self) -> FloatArray:
        """Doubt of each row and of those around it."""
        return np.asarray(self.near @ self._doubt + 0.5 * self._doubt)

    @cached_property
    def _worth(self) -> FloatArray:
        """Doubt that goes when a person names the group of a row."""
        worth = np.where(self._is_new, self._around, 0.5 * self._doubt)
        return worth * 0.5**self._asked * self._is_free

    @cached_property
    def _best(self) -> IntArray:
        known = self.opinion.p[:, : self.opinion.n_known]
        return np.asarray(known.argmax(axis=1))

    @cached_property
    def _p_best(self) -> FloatArray:
        return np.asarray(self.opinion.p[np.arange(len(self._best)), self._best])

    @cached_property
    def _judged(self) -> IntArray:
        """Times that each row was judged in the group that it belongs to now."""
        column = {id_: at for at, id_ in enumerate(self._ids)}
        found = np.zeros(len(self._best), dtype=int)
        for (row, id_), times in self.votes.judged.items():
            place = self.place_of.get(row)
            if place is not None and column.get(id_) == self._best[place]:
                found[place] = times
        return found

    @property
    def _ids(self) -> list[int]:
        return self.opinion.groups[: self.opinion.n_known]

    def _unvisited(self) -> int | None:
        """Return a central row of the largest start cluster nobody was asked about."""
        for cluster in self.start.order:
            rows = self.start.central[cluster]
            if all(self.opinion.home[row] < 0 for row in rows):
                for row in rows:
                    if self._asked[row] == 0 and row not in self.taken:
                        return row
        return None

    def _finds_groups(self) -> bool:
        """Tell whether many of the last answers found groups, and more can be there."""
        n_known, last = self.opinion.n_known, self.votes.founded[-_N_LAST:]
        are_all = self.n_clusters is not None and n_known >= self.n_clusters
        is_full = len(last) == _N_LAST
        return not are_all and is_full and sum(last) > _NEW_SHARE * _N_LAST

    def _random_row(self) -> int | None:
        """Return a row without an answer, drawn at random."""
        rows = np.flatnonzero(self._is_new & self._is_free & (self._asked == 0))
        return int(self.rng.choice(rows)) if len(rows) else None

    def _lost(self) -> tuple[int | None, float]:
        """Return the row worth most among those refused that have no clear group."""
        is_refused = np.zeros(len(self._best), dtype=bool)
        for row, own in self.votes.of.items():
            if row in self.place_of and min(own.values()) < 0.0:
                is_refused[self.place_of[row]] = True
        is_unclear = (self.opinion.p.max(axis=1) < _LEAST_P) | (self._judged > 0)
        is_lost = is_refused & is_unclear & self._is_new & self._is_free
        if not is_lost.any():
            return None, 0.0
        worth = np.where(is_lost, self._worth * (1.0 + 0.5 * self.opinion.odd), -1.0)
        return int(worth.argmax()), float(worth.max())

    # Groups

    def _best_grid(self) -> tuple[float, Choice | None]:
        value = np.where(self._is_new, self._around + 0.03, self._doubt)
        most = np.where(self._is_new, _MOST_NEW, _MOST_KNOWN)
        is_open = self._is_free & (self._p_best >= _LEAST_P)
        is_open &= (self._judged < most) & (value > _LEAST_VALUE)
        best, found = -1.0, None
        for group in range(self.opinion.n_known):
            rows = np.flatnonzero(is_open & (self._best == group))
            if len(rows) == 0:
                continue
            rows = rows[np.argsort(-value[rows], kind="stable")[:GRID]]
            p = self._p_best[rows]
            price = self.prices.grid + self.prices.row * len(rows)
            price += self.prices.click * float((1.0 - p).sum())
            worth = float((value[rows] * (p + 0.3)).sum()) / max(price, 1e-9)
            if worth > best:
                best, found = worth, (group, rows)
        if found is None:
            return best, None
        group, rows = found
        shown = self._with_repeat(group, rows)
        return best, Choice("grid", "grid", rows=shown, groups=(group,))

    def _with_repeat(self, group: int, rows: IntArray) -> tuple[int, ...]:
        """Return the rows of a grid, one judged before: it tells how often one errs."""
        listed = rows.tolist()
        if len(listed) < _WITH_REPEAT:
            return tuple(listed)
        id_, of = self._ids[group], self.votes.of
        old = [
            self.place_of[row]
            for (row, other), times in self.votes.judged.items()
            if other == id_
            and times < _MOST_KNOWN
            and row in self.place_of
            and of[row].get(id_, 0.0) > 0.0
        ]
        old = sorted(at for at in old if self._is_free[at] and at not in listed)
        if not old:
            return tuple(listed)
        return (*listed[: GRID - 1], int(self.rng.choice(old)))

    def _alike(self) -> tuple[int, int] | None:
        """Return two groups that overlap most, and were not said to differ."""
        opinion = self.opinion
        n_known = opinion.n_known
        if n_known < 2:
            return None
        p = opinion.p[:, :n_known]
        size = p.sum(axis=0) + 1e-9
        overlap = p.T @ p / np.minimum(size[:, None], size)
        overlap += _LIKE_SHARE * np.where(opinion.like > _ALIKE, opinion.like, 0.0)
        column = {id_: at for at, id_ in enumerate(self._ids)}
        for ends, said in self.votes.merges.items():
            places = [column[id_] for id_ in ends if id_ in column]
            if len(places) == 2:
                overlap[places[0], places[1]] = self._worth_again(said)
        overlap = np.triu(overlap, 1)
        a, b = divmod(int(overlap.argmax()), n_known)
        return (a, b) if overlap[a, b] > _OVERLAP else None

    def _worth_again(self, said: list[tuple[int, bool | None]]) -> float:
        """Return how soon two groups are compared again: "one thing" needs two."""
        last, is_same = said[-1]
        is_near = self.votes.n_questions - last < APART
        is_refused = any(same is False for _, same in said)
        return 0.0 if is_near or is_refused or not is_same else np.inf

    def order_of(self, row: int) -> list[int]:
        """Return the groups that a row is asked about, the likeliest first."""
        p = self.opinion.p[row, : self.opinion.n_known]
        return [int(at) for at in np.argsort(-p, kind="stable")[: PAGE * PAGES]]

    def examples(self, group: int, but: Collection[int] = ()) -> list[int]:
        """Return places of the rows by which a group is shown: typical ones."""
        inside = np.flatnonzero((self.opinion.home == group) & self.is_askable)
        typical = inside[np.argsort(-self.opinion.blind[inside, group], kind="stable")]
        others = [at for at in typical.tolist() if at not in but]
        return (others or typical.tolist())[:EXAMPLES]
