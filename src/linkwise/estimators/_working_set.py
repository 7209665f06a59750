"""Fewer rows that stand for all: equal rows as one, and a sample of the rest."""

from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.doors import FitInput, rows_of
from linkwise.engines import DaskRows
from linkwise.kernels import SeveralSets, distinct_rows

# Candidates on a sample of the rows are judged when only so many of them still move: it
# takes half the iterations, and all rows are clustered to the end afterwards.
UNREST = 0.001


class WorkingSet(NamedTuple):
    """Rows on which weights are searched for, each with the weight it stands for.

    Every row that has a pair is one of them, and so are the rows with the least and the
    largest value of each column: a kernel that outliers spoil is to show it. Equal rows
    without a pair are one row; those with pairs stay apart, for they may start in
    different groups.
    """

    data: Any  # the rows, as the data of fit
    rows: IntArray  # (m,), their positions in the data, ascending
    weight: FloatArray  # (m,)
    stands_for: IntArray | None  # (n,), working row of each row; None: not for all

    @property
    def is_whole(self) -> bool:
        """Whether every row of the data has a working row."""
        return self.stands_for is not None

    def problem(self, given: FitInput) -> FitInput:
        """Return the input of fit as if the working rows were all."""
        pairs = given.pairs.restrict(self.rows)
        return given._replace(
            data=self.data,
            sample_weight=self.weight,
            pairs=pairs,
            closure=pairs.closure(len(self.rows), on_conflict="drop"),
        )


def working_set(given: FitInput, n_others: int | None) -> WorkingSet:
    """Return the working set of some checked data.

    Parameters
    ----------
    given : FitInput
        What was passed to fit; its ``rng`` draws rows. There are at least as many
        working rows as clusters, if need be with equal ones.
    n_others : int or None
        Number of rows without a pair to draw; None: all.
    """
    n_clusters = given.n_clusters
    n_samples = given.closure.n_samples
    linked = np.asarray(given.pairs.points, dtype=np.intp)  # ascending
    n_free = n_samples - len(linked)
    n_drawn = n_samples if n_others is None else max(n_others, n_clusters)
    is_whole = n_drawn >= n_free
    if is_whole:
        rows: IntArray = np.arange(n_samples)
        weight = given.sample_weight
        weight = np.ones(n_samples) if weight is None else weight
    else:
        certain = np.union1d(linked, _extreme_rows(given.data))
        n_left = n_samples - len(certain)
        ranks = np.sort(given.rng.choice(n_left, min(n_drawn, n_left), replace=False))
        rows, weight = _sample(certain, ranks, n_samples, given.sample_weight)
    data = rows_of(given.data, rows)
    first: IntArray = np.arange(len(rows))
    group = first
    if not isinstance(data, SeveralSets):
        first, group = distinct_rows(data, alone=np.searchsorted(rows, linked))
    if len(first) < n_clusters:  # then equal rows are parted
        first = group = np.arange(len(rows))
    if len(first) < len(rows):
        data = rows_of(data, first)
        weight = np.bincount(group, weights=weight).astype(np.float64)
    return WorkingSet(data, rows[first], weight, group if is_whole else None)


def _extreme_rows(data: Any) -> IntArray:
    """Return the rows with the least and the largest value of each column."""
    is_array = isinstance(data, np.ndarray) and data.dtype.kind == "f"
    if not is_array and not isinstance(data, DaskRows):
        return np.empty(0, dtype=np.intp)
    return np.concatenate([data.argmin(axis=0), data.argmax(axis=0)])


def _sample(
    certain: IntArray, ranks: IntArray, n_samples: int, weight: FloatArray | None
) -> tuple[IntArray, FloatArray]:
    """Return the rows ``certain`` and some of the others, with weights.

    ``ranks`` count the others. Their weights are raised so that they stand for all.
    """
    skipped = np.searchsorted(certain - np.arange(len(certain)), ranks, side="right")
    drawn = ranks + skipped
    if weight is None:
        factor = (n_samples - len(certain)) / max(len(drawn), 1)
        own = np.concatenate([np.ones(len(certain)), np.full(len(drawn), factor)])
    else:
        factor = (weight.sum() - weight[certain].sum()) / weight[drawn].sum()
        own = np.concatenate([weight[certain], factor * weight[drawn]])
    rows = np.concatenate([certain, drawn])
    order = np.argsort(rows, kind="stable")
    return rows[order], own[order]
