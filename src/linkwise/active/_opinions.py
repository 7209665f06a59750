"""Where rows belong by votes and by what rows look like."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.active._start import Start, joined_centres
from linkwise.active._votes import Votes
from linkwise.clustering._mixture import (
    SETTINGS,
    Mixture,
    directions_of,
    fit_mixture,
    softmax,
    with_logistic,
)
from linkwise.clustering._mixture import Votes as MixtureVotes
from linkwise.clustering._unit_rows import unit

# Steps of the mixture after each answer.
_STEPS = replace(SETTINGS, n_iter=4)
# Rows of a group that logistic regression needs; so many for each group in all.
_LOGISTIC_ROWS = 3
_LEAST_LOGISTIC = 20
# How far a group without a start cluster of its own is from the middle, and its size.
_LONE_LENGTH, _LONE_SIZE = 0.5, 5.0
_LEAST = 1e-9


class Ballot(NamedTuple):
    """Votes as arrays over working rows."""

    groups: list[int]  # ids of the groups that are there
    votes: FloatArray  # (n_rows, n_groups)
    home: IntArray  # (n_rows,), column of the group with most votes, -1 if none
    strength: float  # what one vote counts


class Opinion(NamedTuple):
    """What is thought of working rows at one moment."""

    groups: list[int]  # ids of groups, then of start clusters nobody was asked about
    n_known: int  # groups among them
    p: FloatArray  # (n_rows, n_groups), probabilities with votes
    blind: FloatArray  # (n_rows, n_groups), the same without votes
    odd: FloatArray  # (n_rows,), from 0 to 1: how unlike its group a row is
    like: FloatArray  # (n_known, n_known), cosines of groups
    home: IntArray  # (n_rows,), column of the group with most votes, -1 if none


class Opinions(Protocol):
    """Finds where rows belong."""

    def opinion(self, ballot: Ballot) -> Opinion:
        """Return what is thought of the working rows."""
        ...  # pragma: no cover

    def labels(self, ballot: Ballot) -> IntArray:
        """Return the id of the cluster of every row."""
        ...  # pragma: no cover


def ballot_of(votes: Votes, place_of: Mapping[int, int], n_rows: int) -> Ballot:
    """Return votes over working rows."""
    groups = sorted(votes.members())
    column = {id_: at for at, id_ in enumerate(groups)}
    found = np.zeros((n_rows, len(groups)), dtype=np.float32)
    home = np.full(n_rows, -1)
    for row, own in votes.of.items():
        place = place_of.get(row)
        if place is None:
            continue
        for id_, count in own.items():
            if id_ in column:
                found[place, column[id_]] = count
        mine = votes.home(row)
        if mine is not None:
            home[place] = column[mine]
    return Ballot(groups, found, home, votes.strength)


@dataclass(frozen=True, eq=False)
class MixtureOpinions:
    """A mixture on the sphere with a component for each group.

    Start clusters that nobody was asked about are components as well, joined to the
    number of clusters that is known, or that answers suggest.
    """

    points: FloatArray  # (n_rows, n_columns), unit rows
    start: Start
    first: int  # id of the first start cluster
    n_clusters: int | None
    everything: FloatArray | None = None  # all rows, if they are more
    rows: IntArray | None = None  # numbers of the working rows among them
    _fits: list[tuple[Ballot, Mixture, list[int]]] = field(default_factory=list)

    def opinion(self, ballot: Ballot) -> Opinion:
        """Return what is thought of the working rows."""
        mixture, ids = self.fit(ballot)
        bias = self._bias(ballot, len(ids))
        evidence = mixture.log_opinions(self.points)
        p = softmax(evidence + bias)
        own = np.einsum("ij,ij->i", self.points, mixture.centres[p.argmax(axis=1)])
        middle = np.median(own)
        odd = np.clip((middle - own) / (middle + _LEAST), 0.0, 1.0)
        known = mixture.centres[: len(ballot.groups)]
        return Opinion(
            ids, len(known), p, softmax(evidence), odd, known @ known.T, ballot.home
        )

    def labels(self, ballot: Ballot) -> IntArray:
        """Return the id of the cluster of every row, with logistic regression."""
        mixture, ids = self.fit(ballot)
        learnt = self._with_logistic(mixture, ballot)
        voters = np.flatnonzero(ballot.votes.any(axis=1))
        bias = self._bias(ballot, len(ids))[voters]
        # Rows of groups were shown to the regression: they do without it.
        own = learnt.posterior(self.points[voters])
        shown = ballot.home[voters] >= 0
        own[shown] = softmax(mixture.log_opinions(self.points[voters[shown]]))
        own = (np.log(own + _LEAST) + bias).argmax(axis=1)
        every = self.points if self.everything is None else self.everything
        found = learnt.log_opinions(every).argmax(axis=1)
        found[voters if self.rows is None else self.rows[voters]] = own
        return np.asarray(np.array(ids)[found])

    def fit(self, ballot: Ballot) -> tuple[Mixture, list[int]]:
        """Return the mixture and the ids of its components, found once."""
        if self._fits and self._fits[-1][0] is ballot:
            return self._fits[-1][1:]
        centres, ids = self._centres(ballot)
        rows = np.flatnonzero(ballot.votes.any(axis=1))
        bias = self._bias(ballot, len(ids))
        mixture = fit_mixture(
            self.points,
            centres,
            MixtureVotes(rows, bias[rows]),
            is_sure=(ballot.home[rows] >= 0).astype(np.float32),
            settings=_STEPS,
        )
        self._fits[:] = [(ballot, mixture, ids)]
        return mixture, ids

    def _with_logistic(self, mixture: Mixture, ballot: Ballot) -> Mixture:
        rows = np.flatnonzero(ballot.home >= 0)
        n_known = len(ballot.groups)
        if len(rows) < max(_LOGISTIC_ROWS * n_known, _LEAST_LOGISTIC):
            return mixture
        sizes = np.bincount(ballot.home[rows], minlength=n_known)
        rows = rows[sizes[ballot.home[rows]] >= _LOGISTIC_ROWS]
        return with_logistic(mixture, self.points[rows], ballot.home[rows])

    def _bias(self, ballot: Ballot, k: int) -> FloatArray:
        bias = np.zeros((len(self.points), k), dtype=np.float32)
        bias[:, : len(ballot.groups)] = np.float32(ballot.strength) * ballot.votes
        return bias

    def _centres(self, ballot: Ballot) -> tuple[FloatArray, list[int]]:
        ids, parts = start_components(
            self.start, ballot, self.first, self.n_clusters, self.points
        )
        return unit(parts.centres), ids


class Parts(NamedTuple):
    """Groups, and start clusters nobody was asked about, joined to those wanted."""

    known: list[int]  # columns of the groups
    others: list[list[int]]  # start clusters of each of the others
    centres: FloatArray  # of groups, then of the others


def start_components(
    start: Start,
    ballot: Ballot,
    first: int,
    n_clusters: int | None,
    points: FloatArray,
) -> tuple[list[int], Parts]:
    """Return ids and parts of the clusters that there are now.

    Start clusters nobody was asked about are joined to the number of clusters that is
    known, or that answers suggest; never two groups.
    """
    n_known = len(ballot.groups)
    seeds = directions_of(points, ballot.home, n_known)
    known = list(range(n_known))
    group_of = start.groups(ballot.home)
    left = np.flatnonzero(group_of == -1)
    if len(left) == 0 and n_known:
        return list(ballot.groups), Parts(known, [], seeds)
    sizes = np.full(n_known, _LONE_SIZE)
    centres = _LONE_LENGTH * seeds.astype(np.float64)
    for at in known:
        own = np.flatnonzero(group_of == at)
        if len(own):
            sizes[at] = start.sizes[own].sum()
            centres[at] = start.sizes[own] @ start.centres[own] / sizes[at]
    wanted = start.n_by_answers(group_of) if n_clusters is None else n_clusters
    joined = joined_centres(
        np.concatenate([centres, start.centres[left]]),
        np.concatenate([sizes, start.sizes[left]]),
        n_known,
        max(wanted, n_known),
    )
    kept = joined.places[n_known:]
    ids = [*ballot.groups, *(first + int(left[at - n_known]) for at in kept)]
    others = [
        [int(left[own - n_known]) for own in np.flatnonzero(joined.part_of == at)]
        for at in kept
    ]
    return ids, Parts(known, others, joined.centres)
