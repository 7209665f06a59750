"""Start clusters: what there is before groups are known, and how they are joined."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray

# Start clusters beyond the number asked for, at the least and at the most.
_MORE = 1.5
_FEW, _MANY = 8, 60
# Rows of a start cluster at the least, on average.
_ROWS_EACH = 6
# Rows of a cluster that are tried before it is left.
_TRIES = 2


def n_start_clusters(n_rows: int, n_clusters: int | None) -> int:
    """Return how many start clusters there are.

    Examples
    --------
    >>> n_start_clusters(1500, 20), n_start_clusters(1500, None)
    (30, 58)
    """
    if n_clusters is None:
        wanted = int(_MORE * n_rows**0.5)
    else:
        wanted = max(n_clusters, min(int(_MORE * n_clusters), _MANY), _FEW)
    return max(1, min(wanted, n_rows // _ROWS_EACH))


@dataclass(frozen=True, eq=False)
class Start:
    """Clusters that nobody was asked about.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_columns)
        The rows as they are compared.
    labels : ndarray of shape (n_rows,)
        Start cluster of each row.
    is_askable : ndarray of bool, shape (n_rows,)
        Rows that may be asked about.
    """

    points: FloatArray
    labels: IntArray
    is_askable: BoolArray

    @cached_property
    def n(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> FloatArray:
        """Number of rows of each."""
        return np.bincount(self.labels, minlength=self.n).astype(float)

    @cached_property
    def centres(self) -> FloatArray:
        """Mean of each."""
        found = np.zeros((self.n, self.points.shape[1]))
        np.add.at(found, self.labels, self.points)
        return found / np.maximum(self.sizes, 1.0)[:, None]

    @cached_property
    def order(self) -> list[int]:
        """The clusters, the largest first."""
        return [int(at) for at in np.argsort(-self.sizes, kind="stable")]

    @cached_property
    def central(self) -> list[list[int]]:
        """Of each cluster, the most central rows that may be asked about."""
        far = ((self.points - self.centres[self.labels]) ** 2).sum(axis=1)
        order = np.argsort(far, kind="stable")
        order = order[self.is_askable[order]]
        found: list[list[int]] = [[] for _ in range(self.n)]
        for row in order.tolist():
            if len(found[self.labels[row]]) < _TRIES:
                found[self.labels[row]].append(row)
        return found

    @cached_property
    def steps(self) -> IntArray:
        """Cluster of each start cluster as Ward's method joins them, from 1 to all."""
        cost = _Costs(self.centres, self.sizes, 0)
        now = np.arange(self.n)
        found = [now.copy()]
        while cost.join() is not None:
            a, b = cost.last
            now[now == b] = a
            found.append(now.copy())
        return np.array(found[::-1])

    def groups(self, home: IntArray) -> IntArray:
        """Return the group of each cluster by its central rows; -1: not known yet.

        ``home`` has the group of each row, or -1. -2: no row may be asked about.
        """
        found = np.full(self.n, -1)
        for at, rows in enumerate(self.central):
            homes = [int(home[row]) for row in rows if home[row] >= 0]
            if homes:
                found[at] = homes[0]
            elif not rows:
                found[at] = -2
        return found

    def n_by_answers(self, groups: IntArray) -> int:
        """Return the number of clusters whose pairs are most like those of answers.

        ``groups`` has the group of each start cluster that was asked about, or -1.
        """
        asked = np.flatnonzero(groups >= 0)
        if len(asked) < 4:
            return max(2, int(self.n**0.5))
        upper = np.triu_indices(len(asked), 1)
        own = groups[asked]
        same = (own[:, None] == own[None])[upper]
        scores = []
        for step in self.steps:
            now = step[asked]
            here = (now[:, None] == now[None])[upper]
            n_both = float((same & here).sum())
            scores.append((2.0 * n_both + 0.5) / (same.sum() + here.sum() + 1.0))
        best = np.flatnonzero(np.array(scores) >= max(scores) - 1e-9)
        return int(best[len(best) // 2]) + 1


class _Costs:
    """Ward's costs of joining clusters; the first ``n_apart`` never join each other."""

    def __init__(self, centres: FloatArray, sizes: FloatArray, n_apart: int) -> None:
        self.centres, self.sizes = centres.copy(), sizes.copy()
        self.n_apart = n_apart
        self.is_there = np.ones(len(sizes), dtype=bool)
        self.last = (-1, -1)
        squared = (self.centres**2).sum(axis=1)
        far = squared[:, None] + squared - 2.0 * self.centres @ self.centres.T
        self.costs = np.maximum(far, 0.0) * _both(self.sizes[:, None], self.sizes)
        self.costs[:n_apart, :n_apart] = np.inf
        np.fill_diagonal(self.costs, np.inf)

    def join(self) -> tuple[int, int] | None:
        """Join the cheapest two, of which the first stays; None if none can be."""
        if len(self.costs) < 2:
            return None
        a, b = divmod(int(self.costs.argmin()), len(self.costs))
        if not np.isfinite(self.costs[a, b]):
            return None
        a, b = min(a, b), max(a, b)
        total = self.sizes[a] + self.sizes[b]
        self.centres[a] *= self.sizes[a]
        self.centres[a] += self.sizes[b] * self.centres[b]
        self.centres[a] /= total
        self.sizes[a], self.is_there[b] = total, False
        far = ((self.centres - self.centres[a]) ** 2).sum(axis=1)
        costs = far * _both(self.sizes, self.sizes[a])
        costs[~self.is_there] = np.inf
        costs[a] = np.inf
        if a < self.n_apart:
            costs[: self.n_apart] = np.inf
        self.costs[b], self.costs[:, b] = np.inf, np.inf
        self.costs[a], self.costs[:, a] = costs, costs
        self.last = (a, b)
        return self.last


def _both(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(a * b / (a + b))


class Joined(NamedTuple):
    """Clusters after some were joined."""

    centres: FloatArray  # of those that are left
    places: IntArray  # which of the given ones they are
    part_of: IntArray  # (n_given,), the place of the one that each is part of


def joined_centres(
    centres: FloatArray, sizes: FloatArray, n_apart: int, n_wanted: int
) -> Joined:
    """Join clusters by Ward's method, but never two of the first ``n_apart``."""
    costs = _Costs(centres, sizes, n_apart)
    part_of = np.arange(len(sizes))
    while costs.is_there.sum() > n_wanted and costs.join() is not None:
        a, b = costs.last
        part_of[part_of == b] = a
    return Joined(
        costs.centres[costs.is_there], np.flatnonzero(costs.is_there), part_of
    )
