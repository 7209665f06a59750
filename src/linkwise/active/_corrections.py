"""Corrections of whole clusters, kept as the pairs that they stand for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.active._answers import Answer, Known
from linkwise.active._state import State, relabelled
from linkwise.active._strategies import nearest

# Members by which a cluster that is right is tied together.
_N_TIED = 5


class Corrections:
    """What a person does to clusters. Answers about single pairs are stronger."""

    def merge(self: Any, *clusters: int) -> int:
        """Make clusters one, which keeps the first id; return that.

        Earlier answers by which the clusters differ no longer count; ``history`` calls
        them "merged", and ``undo`` brings them back. Later answers count.
        """
        self._check_clusters(clusters)
        if len(set(clusters)) < 2:
            raise ValueError(f"merge{clusters}: it takes two clusters or more.")
        medoids = [self._medoid(self._members(c)) for c in clusters]
        pairs = [(medoids[0], other, True) for other in medoids[1:]]
        known = self._largest_groups(clusters)
        pairs += [(known[0], other, True) for other in known[1:]]
        listed = [int(c) for c in clusters]
        self._correct("merge", pairs, clusters=listed, to=listed[0])
        return listed[0]

    def split(self: Any, cluster: int, rows: Sequence[Any]) -> int:
        """Take rows out of a cluster, into a new one; return its id."""
        chosen = self._check_rows(rows)
        inside = self._members(cluster)
        rest = np.setdiff1d(inside, chosen)
        if len(rest) == 0 or not np.isin(chosen, inside).all():
            raise ValueError(
                f"rows must be some, and not all, of the rows of cluster {cluster}."
            )
        medoid = self._medoid(chosen)
        pairs = [(medoid, self._medoid(rest), False)]
        pairs += [(medoid, int(row), True) for row in chosen if row != medoid]
        new = self._state.next_id
        self._correct("split", pairs, rows=self._names(chosen), to=new)
        return int(new)

    def move(self: Any, rows: Sequence[Any], to: int) -> None:
        """Put rows into another cluster."""
        chosen = self._check_rows(rows)
        target = self._medoid(self._members(to))
        labels = self._state.labels
        left = {
            c: self._medoid(np.setdiff1d(np.flatnonzero(labels == c), chosen))
            for c in np.unique(labels[chosen]).tolist()
            if c != to and c >= 0
        }
        pairs = []
        for row in chosen.tolist():
            if row == target:
                continue
            pairs.append((row, target, True))
            source = left.get(int(labels[row]))
            if source is not None:
                pairs.append((row, source, False))
        self._correct("move", pairs, rows=self._names(chosen), to=int(to))

    def confirm(self: Any, cluster: int, *, complete: bool = False) -> None:
        """Say that a cluster is right, and ``complete`` if nothing is missing."""
        inside = self._members(cluster)
        medoid = self._medoid(inside)
        far = nearest(self._features, inside, [medoid])
        tied = inside[np.argsort(-far, kind="stable")[:_N_TIED]]
        pairs = [(medoid, int(row), True) for row in tied if row != medoid]
        if complete:
            labels = self._state.labels
            for other in np.unique(labels[labels >= 0]):
                if other != cluster:
                    rows = self._members(other)
                    at = nearest(self._features, rows, [medoid]).argmin()
                    pairs.append((medoid, int(rows[at]), False))
        self._correct("confirm", pairs, cluster=int(cluster))

    def rename(self: Any, cluster: int, name: str) -> None:
        """Give a cluster a name."""
        self._check_clusters([cluster])
        self._do(event="rename", cluster=int(cluster), name=str(name))

    def _correct(self: Any, event: str, pairs: Any, **what: Any) -> None:
        named = [(self._name(i), self._name(j), s) for i, j, s in pairs]
        self._do(event=event, pairs=named, **what)

    def _members(self: Any, cluster: int) -> IntArray:
        self._check_clusters([cluster])
        return np.flatnonzero(self._state.labels == cluster)

    def _medoid(self: Any, rows: IntArray) -> Any:
        """Return the row nearest to the mean of some rows."""
        if len(rows) == 0:
            return None
        points = self._features[rows]
        far = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
        return int(rows[far.argmin()])

    def _largest_groups(self: Any, clusters: Sequence[int]) -> list[int]:
        """Return a row of the largest group of known rows in each cluster."""
        state = self._state
        found = {
            cluster: group
            for group, cluster in sorted(
                state.clusters_of_groups().items(),
                key=lambda entry: len(state.known.members(entry[0])),
            )
        }
        return [found[cluster] for cluster in clusters if cluster in found]

    def _names(self: Any, rows: IntArray) -> list[Any]:
        return [self._name(row) for row in rows.tolist()]

    def _check_clusters(self: Any, clusters: Sequence[int]) -> None:
        labels = self._state.labels
        if labels is None:
            raise ValueError("There are no clusters yet: call fit first.")
        there = np.unique(labels[labels >= 0]).tolist()
        for cluster in clusters:
            if cluster not in there:
                listed = ", ".join(map(str, there))
                raise ValueError(
                    f"There is no cluster {cluster!r}; there are {listed}."
                )

    def _check_rows(self: Any, rows: Sequence[Any]) -> IntArray:
        found = []
        for name in rows:
            name = name.item() if isinstance(name, np.generic) else name
            if name not in self._row_of:
                raise ValueError(f"There is no row {name!r}.")
            found.append(self._row_of[name])
        if not found:
            raise ValueError("rows is empty: name at least one row.")
        return np.unique(found)


def with_merges(state: State) -> Known:
    """Return what is known if merges count like answers that contradict none."""
    merges = [event for event in state.corrections if event["event"] == "merge"]
    known = state.known.copy() if merges else state.known
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
    for number, (i, j, is_same) in state.answers.items():
        if is_same is not None and known.relation(i, j) in (None, is_same):
            known.add(Answer(i, j, is_same, number))
    found = []
    for i, j, is_same in reversed(state.derived):
        if i != j and known.relation(i, j) in (None, is_same):
            known.add(Answer(i, j, is_same, -1))
            found.append((i, j, is_same))
    return found


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
