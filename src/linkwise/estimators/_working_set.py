"""Fewer rows that stand for all: equal rows as one, and a sample of the rest."""

from typing import Any, NamedTuple

import numpy as np

from linkwise.constraints import Closure, Constraints
from linkwise.doors import rows_of
from linkwise.kernels import distinct_rows


class WorkingSet(NamedTuple):
    """Rows on which weights are searched for, each with the weight it stands for."""

    data: Any  # the rows, as the data of fit
    rows: np.ndarray  # (m,), their positions in the data
    weight: np.ndarray  # (m,)
    stands_for: np.ndarray | None  # (n,), working row of each row; None: not for all
    linked: np.ndarray  # (n_linked,), rows of the data that have a pair, ascending
    judged: np.ndarray  # (n_linked,), their working rows
    judge: Closure  # of the given pairs, among the rows ``linked``

    @property
    def is_whole(self):
        """Whether every row of the data has a working row."""
        return self.stands_for is not None

    def problem(self, given):
        """Return the input of fit as if the working rows were all."""
        pairs = self._between(given.pairs)
        return given._replace(
            data=self.data,
            sample_weight=self.weight,
            pairs=pairs,
            closure=pairs.closure(len(self.rows)),
        )

    def start_of(self, pairs):
        """Return the closure of some of the given pairs, between working rows."""
        return self._between(pairs).closure(len(self.rows))

    def judge_of(self, pairs):
        """Return the closure of some of the given pairs, among the rows ``linked``."""
        return pairs.restrict(self.linked).closure(len(self.linked))

    def _between(self, pairs):
        """Return some of the given pairs, between working rows."""
        pairs = pairs.restrict(self.linked)
        return _pairs_of_groups(pairs, self.judged, len(self.rows))


def working_set(given, n_others, n_clusters, *, hard=False):
    """Return the working set of some checked data.

    Parameters
    ----------
    given : FitInput
        What was passed to fit; its ``rng`` draws rows.
    n_others : int or None
        Number of rows without a pair to draw; None: all.
    n_clusters : int
        There are at least as many working rows, if need be with equal ones.
    hard : bool, default=False
        Whether every pair is to hold, also where it parts equal rows.
    """
    n_samples = given.closure.n_samples
    weight = given.sample_weight
    linked = np.asarray(given.pairs.points, dtype=np.intp)  # ascending
    n_free = n_samples - len(linked)
    if n_others is not None:
        n_others = max(n_others, n_clusters)
    if n_others is None or n_others >= n_free:
        rows = np.arange(n_samples)
        rows_weight = np.ones(n_samples) if weight is None else weight
        drawn = None
    else:
        ranks = np.sort(given.rng.choice(n_free, n_others, replace=False))
        drawn = _free_rows(linked, ranks)
        rows_weight, rows = _weights_of_sample(linked, drawn, n_samples, weight)
    data = rows_of(given.data, rows)
    position = np.searchsorted(rows, linked)
    # Equal rows with different pairs start in different groups: they stay apart.
    first, group = distinct_rows(data, position)
    if len(first) < n_clusters:  # then equal rows are parted
        first = group = np.arange(len(rows))
    if len(first) < len(rows):
        data = rows_of(data, first)
        rows_weight = np.bincount(group, weights=rows_weight)
    judged = group[position]
    return WorkingSet(
        data,
        rows[first],
        rows_weight,
        group if drawn is None else None,
        linked,
        judged,
        given.pairs.restrict(linked).closure(len(linked)),
    )


def _free_rows(linked, ranks):
    """Return the rows of some ranks among those that are not in ``linked``."""
    return ranks + np.searchsorted(linked - np.arange(len(linked)), ranks, side="right")


def _weights_of_sample(linked, drawn, n_samples, weight):
    """Return weights under which the rows drawn stand for all that have no pair."""
    rows = np.concatenate([linked, drawn])
    order = np.argsort(rows, kind="stable")
    if weight is None:
        factor = (n_samples - len(linked)) / len(drawn)
        own = np.concatenate([np.ones(len(linked)), np.full(len(drawn), factor)])
    else:
        factor = (weight.sum() - weight[linked].sum()) / weight[drawn].sum()
        own = np.concatenate([weight[linked], factor * weight[drawn]])
    return own[order], rows[order]


def _pairs_of_groups(pairs, group, n_groups):
    """Return the pairs between groups of equal rows.

    Pairs inside a group are decided: equal rows are never parted. So are cannot-links
    between groups that must-links tie together.
    """
    must, cannot = group[pairs.must_link], group[pairs.cannot_link]
    apart = must[:, 0] != must[:, 1]
    must, must_weight = must[apart], pairs.must_link_weight[apart]
    component = Constraints(must).closure(n_groups).component
    tied = component[cannot[:, 0]] == component[cannot[:, 1]]
    return Constraints(
        must, cannot[~tied], must_weight, pairs.cannot_link_weight[~tied]
    )


def scores_of(labels, work):
    """Return the fitted attributes that follow from the labels of rows with pairs."""
    return {
        "constraint_score_": work.judge.score(labels),
        "n_violated_": work.judge.n_violated(labels),
    }
