"""Opinions on the rows of tables: the committee of the last fit, and a forest."""

from dataclasses import dataclass

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.active._opinions import Ballot, Opinion, start_components
from linkwise.active._start import Start
from linkwise.clustering._mixture import softmax
from linkwise.search import Committee

_N_TREES = 50
# Rows with an answer for each group from which on a forest has a say, and in all.
_FOREST_ROWS, _LEAST_FOREST = 2, 10
# Rows that stand for a start cluster nobody was asked about.
_N_CENTRAL = 5
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class TableOpinions:
    """Half of the say has the committee, or nearness before it is there, half a forest.

    Answered rows of a group say where it is.
    """

    points: FloatArray  # (n_rows, n_columns), working rows, standardised
    start: Start
    first: int  # id of the first start cluster
    n_clusters: int | None
    committee: Committee | None
    rows: IntArray  # numbers of the working rows
    everything: FloatArray  # all rows, standardised

    def opinion(self, ballot: Ballot) -> Opinion:
        """Return what is thought of the working rows."""
        ids, groups = self._groups(ballot)
        blind = self._blind(ballot, groups, self.points, self.rows)
        bias = np.zeros_like(blind)
        bias[:, : len(ballot.groups)] = ballot.strength * ballot.votes
        p = softmax(np.log(blind + _LEAST) + bias)
        n_known = len(ballot.groups)
        odd = np.zeros(len(self.points))
        like = np.zeros((n_known, n_known))
        return Opinion(ids, n_known, p, blind, odd, like, ballot.home)

    def labels(self, ballot: Ballot) -> IntArray:
        """Return the id of the cluster of every row."""
        ids, groups = self._groups(ballot)
        every = np.arange(len(self.everything))
        blind = self._blind(ballot, groups, self.everything, every)
        evidence = np.log(blind + _LEAST)
        own = np.ix_(self.rows, np.arange(len(ballot.groups)))
        evidence[own] += ballot.strength * ballot.votes
        return np.asarray(np.array(ids)[evidence.argmax(axis=1)])

    def _groups(self, ballot: Ballot) -> tuple[list[int], list[list[int]]]:
        """Return ids, and places of the rows that say where each group is."""
        ids, parts = start_components(
            self.start, ballot, self.first, self.n_clusters, self.points
        )
        groups = [np.flatnonzero(ballot.home == at).tolist() for at in parts.known]
        for clusters in parts.others:
            inside = np.flatnonzero(np.isin(self.start.labels, clusters))
            middle = self.points[inside].mean(axis=0)
            far = ((self.points[inside] - middle) ** 2).sum(axis=1)
            groups.append(inside[np.argsort(far, kind="stable")[:_N_CENTRAL]].tolist())
        return ids, groups

    def _blind(
        self,
        ballot: Ballot,
        groups: list[list[int]],
        points: FloatArray,
        numbers: IntArray,
    ) -> FloatArray:
        shares = self._shares(groups, points, numbers)
        forest = self._forest(ballot, points)
        if forest is None:
            return shares
        n_known = len(ballot.groups)
        known = shares[:, :n_known].sum(axis=1, keepdims=True)
        shares[:, :n_known] = 0.5 * (shares[:, :n_known] + forest * known)
        return shares

    def _shares(
        self, groups: list[list[int]], points: FloatArray, numbers: IntArray
    ) -> FloatArray:
        if self.committee is not None and len(groups) > 1:
            named = [self.rows[places].tolist() for places in groups]
            found = self.committee.shares(numbers, named)
            if np.isfinite(found).all():
                return np.asarray(found)
        far = np.stack([_nearest(points, self.points[own]) for own in groups], axis=1)
        scale = max(float(np.median(far)), 1e-12)
        return softmax(-4.0 * far / scale)

    def _forest(self, ballot: Ballot, points: FloatArray) -> FloatArray | None:
        from sklearn.ensemble import ExtraTreesClassifier

        rows = np.flatnonzero(ballot.home >= 0)
        n_known = len(ballot.groups)
        if n_known < 2 or len(rows) < max(_FOREST_ROWS * n_known, _LEAST_FOREST):
            return None
        forest = ExtraTreesClassifier(_N_TREES, random_state=0)
        forest.fit(self.points[rows], ballot.home[rows])
        found = np.zeros((len(points), n_known))
        found[:, forest.classes_] = forest.predict_proba(points)
        return found


def _nearest(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the squared distance of each point to the nearest of some others."""
    squared = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    return np.asarray(np.maximum(squared - 2.0 * points @ others.T, 0.0).min(axis=1))
