"""The fits of a session: what they are told, and how their clusters keep their ids."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Known
from linkwise.active._committee import last_step
from linkwise.active._corrections import consistent_derived, corrected, with_merges
from linkwise.active._fitting import Fitting
from linkwise.active._packed import pack
from linkwise.active._pair_votes import pairs_of
from linkwise.active._record import Record
from linkwise.active._state import State, pair
from linkwise.active._strategies import apart, inferred
from linkwise.active._told_pairs import told_pairs
from linkwise.constraints import Constraints
from linkwise.search import Committee, matched

# Rows from which on clusters are looked for on so many rows, and those with answers.
_MANY_ROWS = 4_000
_WORKING_ROWS = 2_000
# Weight of the pairs that corrections stand for.
_DERIVED_WEIGHT = 0.5


@dataclass
class Fitter:
    """Clusters the rows of a session and keeps what the last fit left behind."""

    record: Record
    estimator: Any
    X: Any
    features: FloatArray
    rows: IntArray  # those that may be asked about
    different_weight: float  # of answers "different", where others are "same"
    waits: bool = True  # for the committee of an earlier run, when it is needed
    model: Any = field(default=None, init=False)
    doubt: FloatArray | None = field(default=None, init=False)
    _committee: Committee | None = field(default=None, init=False)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None while it is to be found."""
        asked_for = last_step(self.estimator).n_clusters
        if not isinstance(asked_for, int | np.integer):
            return None
        return max(1, int(asked_for) + self.record.state.n_more)

    @property
    def committee(self) -> Committee | None:
        """The committee of the last fit, which may be one of an earlier run."""
        self.catch_up()
        return self._committee

    @property
    def last_committee(self) -> Committee | None:
        """The committee of the last fit of this run, None before it."""
        return self._committee

    def catch_up(self) -> None:
        """Do the last fit of an earlier run again, unless nobody waits for it."""
        if self.waits and self.model is None and self.record.state.fits:
            self.finish(self.earlier_fit().run())

    def reweigh(self) -> None:
        """Weigh the committee by what is known now."""
        if self._committee is not None:
            known = self._settled(self.record.state)
            self._committee = self._committee.reweighted(known.as_groups())

    def _settled(self, state: State) -> Known:
        """Return what is known of rows, also because there is only one group left."""
        known = with_merges(state)
        hoods = apart(known, known.groups(), self.n_clusters)
        return inferred(known, hoods, self.n_clusters)

    def constraints(self, state: State) -> Constraints:
        """Return the pairs that count: answers, and what corrections stand for."""
        kinds: dict[bool, dict[tuple[int, int], float]] = {True: {}, False: {}}
        for number, (i, j, is_same) in state.answers.items():
            if is_same is not None and state.known.relation(i, j) == is_same:
                weight = self.record.events[number].get("weight", 1.0)
                kinds[is_same][pair(i, j)] = float(weight)
        known = state.known.copy() if state.votes.of else state.known
        for i, j, is_same in pairs_of(state.votes):
            if known.learn(i, j, is_same):
                kinds[is_same].setdefault(pair(i, j), 1.0)
        for i, j, is_same in consistent_derived(state):
            if known.relation(i, j) in (None, is_same):
                kinds[is_same].setdefault(pair(i, j), _DERIVED_WEIGHT)
        must, cannot = kinds[True], kinds[False]
        return Constraints(
            np.array(list(must), dtype=np.intp).reshape(-1, 2),
            np.array(list(cannot), dtype=np.intp).reshape(-1, 2),
            np.array(list(must.values())) if must else None,
            np.array(list(cannot.values())) if cannot else None,
        )

    def new_fit(self, n_clusters: int) -> Fitting:
        """Return a fit with all answers."""
        record = self.record
        return self._fitting(record.state, n_clusters, len(record.events))

    def earlier_fit(self) -> Fitting:
        """Return the last fit of the log, to be done once more."""
        number, _ = self.record.state.fits[-1]
        event = self.record.events[number]
        at = event.get("at", number)
        then = self.record.state_at(at)
        return self._fitting(then, event["clusters"], at, is_new=False)

    def _fitting(
        self, state: State, n_clusters: int, at: int, is_new: bool = True
    ) -> Fitting:
        model = clone(self.estimator)
        last, n_rows = last_step(model), len(self.features)
        last.set_params(n_clusters=min(n_clusters, n_rows))
        is_open = last.get_params().get("approximation") == "auto"
        if is_open and n_rows > _MANY_ROWS:
            # Every row with an answer is in a working set; a person does not wait.
            last.set_params(approximation="working_set", working_rows=_WORKING_ROWS)
        return Fitting(
            model=model,
            X=self.X,
            constraints=told_pairs(
                self.constraints(state), n_clusters, self.different_weight
            ),
            known=self._settled(state).copy(),
            features=self.features,
            rows=self.rows,
            at=at,
            n_more=state.n_more,
            is_new=is_new,
        )

    def finish(
        self, fitting: Fitting, labels_now: Callable[[], IntArray] | None = None
    ) -> int:
        """Take the clusters of a fit that is done; return how many rows moved.

        ``labels_now`` returns clusters that follow answers, where they do.
        """
        self.model, self.doubt = fitting.model, fitting.doubt
        self._committee = fitting.committee
        n_moved = 0
        if fitting.is_new:
            state = self.record.state
            k = int(last_step(self.model).n_clusters)
            if labels_now is None:
                labels = _with_ids(fitting.labels, state.labels, state.next_id)
                # Corrections that came while it ran are done to it as well.
                labels = corrected(state, labels, k + state.n_more - fitting.n_more)
            else:
                self.reweigh()
                labels = labels_now()
            if state.labels is not None:
                n_moved = int((labels != state.labels).sum())
            self.record.do(event="fit", labels=pack(labels), clusters=k, at=fitting.at)
        self.reweigh()
        return n_moved


def _with_ids(labels: IntArray, earlier: IntArray | None, next_id: int) -> IntArray:
    """Give clusters the ids of the earlier ones that they share most rows with."""
    if earlier is None:
        return np.where(labels >= 0, labels + next_id, -1)
    is_in = labels >= 0  # the others are far from all clusters, and stay so
    old, place = np.unique(earlier[is_in], return_inverse=True)
    new, own = np.unique(labels[is_in], return_inverse=True)
    k = max(len(old), len(new))
    order = matched(own, place, k)
    overlap = np.zeros((k, k), dtype=int)
    np.add.at(overlap, (own, place), 1)
    names = np.empty(len(new), dtype=int)
    for at in range(len(new)):
        target = order[at]
        is_old = target < len(old) and old[target] >= 0 and overlap[at, target] > 0
        if is_old:
            names[at] = old[target]
        else:
            names[at], next_id = next_id, next_id + 1
    found = np.full(len(labels), -1)
    found[is_in] = names[own]
    return found
