"""Which question removes most doubt per second."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._kinds import EXAMPLES, GRID, PAGE, PAGES, Prices
from linkwise.active._opinions import Opinion
from linkwise.active._start import Start
from linkwise.active._votes import APART, Votes

N_NEIGHBOURS = 12
MERGE_EVERY = 12
CHECK_EVERY = 12
LEAST_P = 0.5
NEW_SHARE = 0.25
N_NEW = 15
OUT_SHARE = 0.25
OVERLAP = 0.12


def neighbours(points: FloatArray) -> csr_array:
    """Return weights of the nearest rows of each row, which sum to 1."""
    n = len(points)
    k = min(N_NEIGHBOURS, n - 1)
    rows, columns, values = [], [], []
    for first in range(0, n, 1000):
        alike = points[first : first + 1000] @ points.T
        own = np.arange(len(alike))
        alike[own, first + own] = -np.inf
        near = np.argpartition(-alike, k - 1, axis=1)[:, :k]
        near.sort(axis=1)
        weight = np.maximum(np.take_along_axis(alike, near, axis=1), 0.0)
        weight /= weight.sum(axis=1, keepdims=True) + 1e-9
        rows.append(np.repeat(first + own, k))
        columns.append(near.ravel())
        values.append(weight.ravel())
    return csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n, n),
    )


@dataclass
class Chooser:
    """Chooses the next question from opinions, votes and prices."""

    rows: IntArray  # working rows
    is_askable: BoolArray  # of working rows
    near: csr_array
    start: Start
    opinion: Opinion
    votes: Votes
    n_clusters: int | None
    prices: Prices
    rng: np.random.Generator

    def __post_init__(self):
        o = self.opinion
        n = len(self.rows)
        self.place = {int(row): at for at, row in enumerate(self.rows)}
        self.is_new = o.home < 0
        self.asked = np.zeros(n, dtype=int)
        for row, times in self.votes.asked.items():
            if row in self.place:
                self.asked[self.place[row]] = times
        self.recent = np.zeros(n, dtype=bool)
        for row, at in self.votes.seen.items():
            if row in self.place and self.votes.n_questions - at < APART:
                self.recent[self.place[row]] = True
        self.column = {id_: at for at, id_ in enumerate(o.groups[: o.n_known])}

    @cached_property
    def doubt(self) -> FloatArray:
        o = self.opinion
        doubt = 1.0 - o.p.max(axis=1)
        return np.where(self.is_new, doubt + 0.3 * o.odd, doubt)

    @cached_property
    def around(self) -> FloatArray:
        return self.near @ self.doubt

    @cached_property
    def worth(self) -> FloatArray:
        """Doubt that a named row removes, of itself and around it."""
        worth = np.where(
            self.is_new, self.around + 0.5 * self.doubt, 0.5 * self.doubt
        )
        return worth * 0.5**self.asked * self.is_askable

    @cached_property
    def judged(self) -> IntArray:
        """Times that each row was judged in its present group."""
        found = np.zeros(len(self.rows), dtype=int)
        o = self.opinion
        best = self.best
        for (row, id_), times in self.votes.judged.items():
            at = self.place.get(row)
            if at is not None and self.column.get(id_) == best[at]:
                found[at] = times
        return found

    @cached_property
    def best(self) -> IntArray:
        o = self.opinion
        return o.p[:, : o.n_known].argmax(axis=1)

    @cached_property
    def p_best(self) -> FloatArray:
        return self.opinion.p[np.arange(len(self.rows)), self.best]

    def choose(self):
        """Return the kind of the next question and what it is about, or None."""
        first = self.unvisited()
        if first is not None:
            return "which", first, "start"
        n = self.votes.n_questions
        if n % MERGE_EVERY == 0:
            pair = self.merge_pair()
            if pair is not None:
                return "merge", pair, "merge"
        if n % CHECK_EVERY == CHECK_EVERY // 2:
            row = self.check_row()
            if row is not None:
                return "which", row, "check"
        worth = np.where(self.recent, 0.0, self.worth)
        row = int(worth.argmax())
        if self.finds_groups() and worth[row] > 1e-4 and self.is_new[row]:
            return "which", row, "which"
        value, grid = self.best_grid()
        o = self.opinion
        refused = np.zeros(len(self.rows), dtype=bool)
        for r, own in self.votes.of.items():
            if r in self.place and any(v < 0 for v in own.values()):
                refused[self.place[r]] = True
        out = (
            self.is_askable & self.is_new & refused & ~self.recent
            & ((o.p.max(axis=1) < LEAST_P) | (self.judged > 0))
        )
        if out.any():
            own = np.where(out, worth * (1.0 + 0.5 * o.odd), -1.0)
            at = int(own.argmax())
            if (
                1.5 * own[at] / self.prices.which > value
                or grid is None
                or self.rng.random() < OUT_SHARE
            ):
                return "which", at, "which"
        if grid is not None:
            return "grid", grid, "grid"
        if worth[row] > 1e-4:
            return "which", row, "which"
        return None

    def unvisited(self) -> int | None:
        for at in self.start.order:
            rows = self.start.central[at]
            if any(self.opinion.home[row] >= 0 for row in rows):
                continue
            for row in rows:
                if self.asked[row] == 0:
                    return row
        return None

    def finds_groups(self) -> bool:
        """Whether answers found so many groups lately that more are to be found."""
        are_all = self.n_clusters is not None and (
            self.opinion.n_known >= self.n_clusters
        )
        last = self.votes.founded[-N_NEW:]
        return not are_all and len(last) == N_NEW and np.mean(last) > NEW_SHARE

    def check_row(self) -> int | None:
        free = np.flatnonzero(self.is_new & self.is_askable & (self.asked == 0))
        return int(self.rng.choice(free)) if len(free) else None

    def best_grid(self):
        o = self.opinion
        value = np.where(self.is_new, self.around + 0.5 * self.doubt + 0.03, self.doubt)
        open_ = (
            self.is_askable
            & ~self.recent
            & (self.p_best >= LEAST_P)
            & (self.judged < np.where(self.is_new, 1, 3))
            & (value > 0.004)
        )
        best = (-1.0, None)
        for group in range(o.n_known):
            rows = np.flatnonzero(open_ & (self.best == group))
            if len(rows) == 0:
                continue
            rows = rows[np.argsort(-value[rows], kind="stable")[:GRID]]
            p = self.p_best[rows]
            price = (
                self.prices.grid
                + self.prices.click * (1.0 - p).sum()
                + self.prices.row * len(rows)
            )
            found = float((value[rows] * (p + 0.3)).sum() / price)
            if found > best[0]:
                best = (found, (group, self.with_repeat(group, rows)))
        return best

    def with_repeat(self, group: int, rows: IntArray) -> IntArray:
        """Return the rows of a grid, one of them judged before: who errs is known."""
        if len(rows) < 6:
            return rows
        id_ = self.opinion.groups[group]
        old = [
            self.place[row]
            for (row, g), times in self.votes.judged.items()
            if g == id_ and times < 3 and row in self.place
            and self.votes.of[row].get(id_, 0.0) > 0.0
        ]
        old = np.setdiff1d([r for r in old if not self.recent[r]], rows)
        if len(old) == 0:
            return rows
        return np.r_[rows[: GRID - 1], int(self.rng.choice(old))].astype(int)

    def merge_pair(self) -> tuple[int, int] | None:
        o = self.opinion
        if o.n_known < 3:
            return None
        p = o.p[:, : o.n_known]
        size = p.sum(axis=0) + 1e-9
        overlap = p.T @ p / np.minimum(size[:, None], size)
        overlap += 0.3 * np.where(o.like > 0.6, o.like, 0.0)
        np.fill_diagonal(overlap, 0.0)
        for (a, b), said in self.votes.merges.items():
            if a in self.column and b in self.column:
                a, b = self.column[a], self.column[b]
                last, same = said[-1]
                far = self.votes.n_questions - last >= APART
                n_no = sum(s is False for _, s in said)
                if n_no or not far or same is None:
                    overlap[a, b] = overlap[b, a] = 0.0
                elif same:
                    overlap[a, b] = overlap[b, a] = 10.0
        a, b = divmod(int(overlap.argmax()), o.n_known)
        return (a, b) if overlap[a, b] > OVERLAP else None

    def order_of(self, row: int) -> IntArray:
        """Return the groups that a row is asked about, the likeliest first."""
        o = self.opinion
        return np.argsort(-o.p[row, : o.n_known], kind="stable")[: PAGE * PAGES]

    def examples(self, group: int, but: tuple[int, ...] = ()) -> list[int]:
        """Return the rows by which a group is shown: typical ones with votes."""
        o = self.opinion
        rows = np.flatnonzero((o.home == group) & self.is_askable)
        rows = np.array([r for r in rows if r not in but], dtype=int)
        order = np.argsort(-o.blind[rows, group], kind="stable")
        return [int(self.rows[at]) for at in rows[order][:EXAMPLES]]
