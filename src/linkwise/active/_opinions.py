"""Where rows belong by votes and by what rows look like: opinions of groups."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._start import Start, joined_centres
from linkwise.active._votes import Votes

KAPPA = 30.0
ANSWERED_WEIGHT = 5.0
MOST_MASS = 75.0
N_ITER = 4


class Opinion(NamedTuple):
    """What is thought of rows at one moment."""

    groups: list[int]  # ids of groups, then of start clusters nobody was asked about
    n_known: int  # groups among them
    p: FloatArray  # (n_rows, n_groups), probabilities with votes
    blind: FloatArray  # (n_rows, n_groups), probabilities without a row's own votes
    odd: FloatArray  # (n_rows,), from 0: how unlike its group a row is
    like: FloatArray  # (n_known, n_known), how alike groups are
    home: IntArray  # (n_rows,), place of the group with most votes, -1 if none


@dataclass(frozen=True)
class Ballot:
    """Votes as arrays over working rows."""

    groups: list[int]  # ids, those that are there
    votes: FloatArray  # (n_rows, n_groups)
    home: IntArray  # (n_rows,)
    strength: float


def ballot_of(votes: Votes, place_of: dict[int, int], n_rows: int) -> Ballot:
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


class Opinions(Protocol):
    """Finds where rows belong."""

    start: Start

    def opinion(self, ballot: Ballot) -> Opinion:
        """Return what is thought of all working rows."""
        ...  # pragma: no cover


@dataclass(eq=False)
class MixtureOpinions:
    """A mixture of von Mises-Fisher distributions over unit rows."""

    points: FloatArray  # (n_rows, n_columns), unit rows
    start: Start
    first: int  # id of the first start cluster
    n_clusters: int | None
    logistic: bool = True

    def opinion(self, ballot: Ballot) -> Opinion:
        centres, ids = self._centres(ballot)
        return self._fit(ballot, centres, ids)

    def _seeds(self, ballot: Ballot) -> FloatArray:
        rows = np.flatnonzero(ballot.home >= 0)
        found = np.zeros((len(ballot.groups), self.points.shape[1]))
        np.add.at(found, ballot.home[rows], self.points[rows])
        return unit(found)

    def visited(self, ballot: Ballot) -> IntArray:
        """Return the group of each start cluster: -1 unknown, -2 nobody can say."""
        found = np.full(self.start.n, -1)
        for at, rows in enumerate(self.start.central):
            homes = [int(ballot.home[row]) for row in rows if ballot.home[row] >= 0]
            if homes:
                found[at] = homes[0]
            elif not rows:
                found[at] = -2
        return found

    def _centres(self, ballot: Ballot) -> tuple[FloatArray, list[int]]:
        seeds, start = self._seeds(ballot), self.start
        visited = self.visited(ballot)
        left = np.flatnonzero(visited == -1)
        if len(left) == 0:
            return seeds, list(ballot.groups)
        centres, sizes = [], []
        for at in range(len(seeds)):
            own = np.flatnonzero(visited == at)
            if len(own):
                mass = start.sizes[own]
                centres.append(mass @ start.centres[own] / mass.sum())
                sizes.append(mass.sum())
            else:
                centres.append(0.5 * seeds[at])
                sizes.append(5.0)
        centres += list(start.centres[left])
        sizes += list(start.sizes[left])
        wanted = self.n_clusters
        if wanted is None:
            wanted = start.n_by_answers(visited)
        n_known = len(seeds)
        found, places = joined_centres(
            np.array(centres), np.array(sizes), n_known, max(wanted, n_known)
        )
        ids = [
            ballot.groups[at] if at < n_known else self.first + int(left[at - n_known])
            for at in places.tolist()
        ]
        return unit(found), ids

    def _fit(self, ballot: Ballot, centres: FloatArray, ids: list[int]) -> Opinion:
        Z = self.points
        n, k, n_known = len(Z), len(ids), len(ballot.groups)
        bias = np.zeros((n, k), dtype=np.float32)
        bias[:, :n_known] = np.float32(ballot.strength) * ballot.votes
        answered = ballot.home >= 0
        centres = centres.astype(np.float32)
        log_prior = np.full(k, -np.log(k), dtype=np.float32)
        for _ in range(N_ITER):
            evidence = np.float32(KAPPA) * (Z @ centres.T) + log_prior
            p = softmax(evidence + bias)
            mass = p[~answered].sum(axis=0) + 1e-6
            weight = p * np.where(
                answered[:, None],
                np.float32(ANSWERED_WEIGHT),
                np.minimum(1.0, MOST_MASS / mass).astype(np.float32),
            )
            centres = unit(weight.T @ Z + 1e-6).astype(np.float32)
            prior = p.sum(axis=0) + 1.0
            log_prior = np.log(prior / prior.sum()).astype(np.float32)
        blind = softmax(evidence)
        if self.logistic:
            blind = self._with_logistic(ballot, blind)
            p = softmax(np.log(blind + 1e-9) + bias)
        own = np.einsum("ij,ij->i", Z, centres[p.argmax(axis=1)])
        middle = np.median(own)
        odd = np.clip((middle - own) / (middle + 1e-9), 0.0, 1.0)
        like = centres[:n_known] @ centres[:n_known].T
        return Opinion(ids, n_known, p, blind, odd, like, ballot.home)

    def _with_logistic(self, ballot: Ballot, blind: FloatArray) -> FloatArray:
        from sklearn.linear_model import LogisticRegression

        rows = np.flatnonzero(ballot.home >= 0)
        n_known = len(ballot.groups)
        if len(rows) < max(3 * n_known, 20) or n_known < 2:
            return blind
        Z, own = self.points, ballot.home[rows]
        model = LogisticRegression(C=10.0, max_iter=60)
        model.fit(Z[rows], own)
        found = np.zeros_like(blind)
        found[:, model.classes_] = model.predict_proba(Z)
        if ballot.strength < 4.0:
            folds = np.arange(len(rows)) % 3
            for fold in range(3):
                here = folds == fold
                if len(np.unique(own[~here])) < 2:
                    continue
                model.fit(Z[rows[~here]], own[~here])
                part = np.zeros((here.sum(), blind.shape[1]))
                part[:, model.classes_] = model.predict_proba(Z[rows[here]])
                found[rows[here]] = part
        rest = blind[:, n_known:].sum(axis=1, keepdims=True)
        return (blind + found * (1.0 - rest)) / 2.0


def unit(X: FloatArray) -> FloatArray:
    """Return rows of length 1."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def softmax(X: FloatArray) -> FloatArray:
    X = np.exp(X - X.max(axis=1, keepdims=True))
    return X / X.sum(axis=1, keepdims=True)


def components(X: FloatArray, n_most: int = 128) -> FloatArray:
    """Return unit rows of the first principal components."""
    X = np.asarray(X, dtype=np.float64)
    X = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(X.T @ X)
    order = np.argsort(-values)[:n_most]
    order = order[values[order] > 1e-9 * max(values.max(), 1e-30)]
    return unit(X @ vectors[:, order]).astype(np.float32)
