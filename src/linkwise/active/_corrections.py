"""Corrections of whole clusters, kept as the pairs that they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Answer, Known
from linkwise.active._pair_votes import learn_votes
from linkwise.active._state import State, relabelled
from linkwise.active._strategies import medoid, nearest

Pairs = list[tuple[int, int, bool]]

# Members by which a cluster that is right is tied together.
_N_TIED = 5


@dataclass(frozen=True)
class Clusters:
    """The clusters that a person corrects, and the pairs that corrections stand for."""

    state: State
    features: FloatArray
    now: IntArray | None = None  # clusters that follow answers, where they do

    def merged(self, clusters: Sequence[int]) -> Pairs:
        """Return the pairs by which clusters are one."""
        medoids = [medoid(self.features, self.members(c)) for c in clusters]
        if len(set(clusters)) < 2:
            raise ValueError(f"merge{tuple(clusters)}: it takes two clusters or more.")
        pairs = [(medoids[0], other, True) for other in medoids[1:]]
        known = self._largest_groups(clusters)
        return pairs + [(known[0], other, True) for other in known[1:]]

    def split(self, cluster: int, rows: IntArray) -> Pairs:
        """Return the pairs by which rows of a cluster are one of their own."""
        inside = self.members(cluster)
        rest = np.setdiff1d(inside, rows)
        if len(rest) == 0 or not np.isin(rows, inside).all():
            raise ValueError(
                f"rows must be some, and not all, of the rows of cluster {cluster}."
            )
        middle = medoid(self.features, rows)
        pairs = [(middle, medoid(self.features, rest), False)]
        return pairs + [(middle, row, True) for row in rows.tolist() if row != middle]

    def moved(self, rows: IntArray, to: int) -> Pairs:
        """Return the pairs by which rows are in another cluster."""
        target = medoid(self.features, self.members(to))
        labels = self.labels
        left = {}
        for cluster in np.unique(labels[rows]).tolist():
            rest = np.setdiff1d(np.flatnonzero(labels == cluster), rows)
            if cluster not in (to, -1) and len(rest) > 0:
                left[cluster] = medoid(self.features, rest)
        pairs = []
        for row in rows.tolist():
            if row != target:
                pairs.append((row, target, True))
                if int(labels[row]) in left:
                    pairs.append((row, left[int(labels[row])], False))
        return pairs

    def confirmed(self, cluster: int, complete: bool) -> Pairs:
        """Return the pairs by which a cluster is right, and perhaps complete."""
        inside = self.members(cluster)
        middle = medoid(self.features, inside)
        far = nearest(self.features, inside, [middle])
        tied = inside[np.argsort(-far, kind="stable")[:_N_TIED]]
        pairs = [(middle, row, True) for row in tied.tolist() if row != middle]
        for other in self._there() if complete else ():
            if other != cluster:
                rows = self.members(other)
                at = nearest(self.features, rows, [middle]).argmin()
                pairs.append((middle, int(rows[at]), False))
        return pairs

    @property
    def labels(self) -> IntArray:
        """Cluster of each row."""
        if self.now is not None:
            return self.now
        if self.state.labels is None:
            raise ValueError("There are no clusters yet: call fit first.")
        return self.state.labels

    def members(self, cluster: int) -> IntArray:
        """Return the rows of a cluster."""
        there = self._there()
        if cluster not in there:
            listed = ", ".join(map(str, there))
            raise ValueError(f"There is no cluster {cluster!r}; there are {listed}.")
        return np.flatnonzero(self.labels == cluster)

    def _there(self) -> list[int]:
        return list(np.unique(self.labels[self.labels >= 0]).tolist())

    def _largest_groups(self, clusters: Sequence[int]) -> list[int]:
        """Return a row of the largest group of known rows in each cluster."""
        state = self.state
        if self.now is not None:  # votes do it
            return []
        found = {
            cluster: group
            for group, cluster in sorted(
                state.clusters_of_groups().items(),
                key=lambda entry: len(state.known.members(entry[0])),
            )
        }
        return [found[cluster] for cluster in clusters if cluster in found]


def with_merges(state: State) -> Known:
    """Return what is known if votes and merges count like answers.

    Those that contradict an answer do not.
    """
    merges = [event for event in state.corrections if event["event"] == "merge"]
    is_more = merges or state.votes.of
    known = state.known.copy() if is_more else state.known
    learn_votes(known, state.votes)
    for event in merges:
        for names in event["pairs"]:
            i, j = (state.row_of.get(name) for name in names[:2])
            if i is not None and j is not None and known.relation(i, j) is None:
                known.add(Answer(i, j, True, -1))
    return known


def consistent_derived(state: State) -> list[tuple[int, int, bool]]:
    """Return the pairs of corrections that contradict no answer, the last first."""
    if not state.derived:
        return []
    known = Known()
    for i, j, is_same in state.answers.values():
        if is_same is not None:
            known.learn(i, j, is_same)
    pairs = [own for own in reversed(state.derived) if own[0] != own[1]]
    return [own for own in pairs if known.learn(*own)]


def corrected(state: State, labels: IntArray, n_clusters: int) -> IntArray:
    """Return the labels of a fit with all corrections done to them once more.

    Weak pairs do not bind a fit. A row that an answer has put elsewhere since stays
    there, and so do rows whose cluster is no longer there.
    """
    valid = {(i, j) for i, j, _ in consistent_derived(state)}
    for event, to in zip(state.corrections, _targets(state.corrections), strict=True):
        if event["event"] == "move" and to not in labels:
            continue
        # What is split off is so also by its difference from the rest.
        tied = [
            row
            for i, j, is_same in event["pairs"]
            if (is_same or event["event"] == "split")
            and (state.row_of.get(i), state.row_of.get(j)) in valid
            for row in (state.row_of[i], state.row_of[j])
        ]
        moved = {state.row_of.get(name) for name in event.get("rows", ())}
        rows = [row for row in tied if row in moved]
        labels = relabelled(labels, {**event, "to": to}, rows)
    return _dissolved(labels, state.labels, n_clusters)


def _targets(events: list[dict[str, Any]]) -> list[int | None]:
    """Return the cluster that each correction leads to after all later merges."""
    now: dict[int, int] = {}
    found = []
    for event in reversed(events):
        to = event.get("to")
        to = now.get(to, to)
        found.append(to)
        if event["event"] == "merge":
            now |= dict.fromkeys(event["clusters"], to)
    return found[::-1]


def _dissolved(labels: IntArray, earlier: Any, n_clusters: int) -> IntArray:
    """Return labels without new clusters that are too many; their rows stay put.

    A fit that does not find what a split has made finds another cluster instead.
    """
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    n_over = len(found) - n_clusters
    if n_over <= 0 or earlier is None:
        return labels
    labels = labels.copy()
    for cluster in found[np.argsort(sizes, kind="stable")]:
        rows = labels == cluster
        if n_over > 0 and cluster not in earlier and (earlier[rows] >= 0).all():
            labels[rows] = earlier[rows]
            n_over -= 1
    return labels
