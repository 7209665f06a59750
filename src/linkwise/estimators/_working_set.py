"""Fewer rows that stand for all: equal rows as one, and a sample of the rest."""

from typing import Any, NamedTuple

import numpy as np

from linkwise.constraints import Closure, Constraints
from linkwise.doors import n_rows, rows_of


class WorkingSet(NamedTuple):
    """Rows on which weights are searched for, each with the weight it stands for."""

    data: Any  # the rows, as the data of fit
    rows: np.ndarray  # (m,), their positions in the data
    weight: np.ndarray  # (m,)
    stands_for: np.ndarray | None  # (n,), working row of each row; None: not for all
    pairs: Constraints  # between working rows, without contradictions
    judge: Closure  # of the given pairs, among the rows that have one
    judged: np.ndarray  # (n_judged,), working rows of those

    @property
    def is_whole(self):
        """Whether every row of the data has a working row."""
        return self.stands_for is not None

    def problem(self, given):
        """Return the input of fit as if the working rows were all."""
        return given._replace(
            data=self.data,
            sample_weight=self.weight,
            pairs=self.pairs,
            closure=self.pairs.closure(len(self.rows)),
        )


def working_set(given, n_others, rng):
    """Return the working set of some checked data.

    Parameters
    ----------
    given : FitInput
        What was passed to fit.
    n_others : int or None
        Number of rows without a pair to draw; None: all.
    rng : numpy.random.Generator
        Draws them.
    """
    n_samples = given.closure.n_samples
    weight = given.sample_weight
    linked = np.asarray(given.pairs.points, dtype=np.intp)  # ascending
    n_free = n_samples - len(linked)
    if n_others is None or n_others >= n_free:
        rows = np.arange(n_samples)
        rows_weight = np.ones(n_samples) if weight is None else weight
        drawn = None
    else:
        drawn = _free_rows(linked, np.sort(rng.choice(n_free, n_others, replace=False)))
        rows_weight, rows = _weights_of_sample(linked, drawn, n_samples, weight)
    data = rows_of(given.data, rows)
    first, group = distinct_rows(data)
    if len(first) < len(rows):
        data = rows_of(data, first)
        rows_weight = np.bincount(group, weights=rows_weight)
    judged = group[np.searchsorted(rows, linked)]
    return WorkingSet(
        data,
        rows[first],
        rows_weight,
        group if drawn is None else None,
        _pairs_of_groups(given.pairs.restrict(linked), judged, len(first)),
        given.pairs.restrict(linked).closure(len(linked)),
        judged,
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


def distinct_rows(data):
    """Return the first of each group of equal rows, and the group of each row.

    Groups are numbered in the order of their first rows. Only rows of dense numbers
    are compared; others are groups of one.
    """
    n_samples = n_rows(data)
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.dtype.kind != "f":
        return np.arange(n_samples), np.arange(n_samples)
    plain = np.ascontiguousarray(data + 0.0)  # no two kinds of zero
    keys = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1])))
    _, first, group = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.intp)
    rank[order] = np.arange(len(first))
    return first[order], rank[group]


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


def spread_attributes(labels, closure):
    """Return the fitted attributes that follow from the labels of all rows."""
    return {
        "labels_": labels,
        "constraint_score_": closure.score(labels),
        "n_violated_": closure.n_violated(labels),
    }
