"""Clusters of a session: what a fit is told, and how its clusters keep their ids."""

from typing import Any

import numpy as np
from sklearn.base import clone

from linkwise._typing import IntArray
from linkwise.active._committee import last_step
from linkwise.active._corrections import consistent_derived, corrected
from linkwise.active._fitting import Fitting
from linkwise.active._packed import pack
from linkwise.active._state import State, pair, replay
from linkwise.active._strategies import neighbourhoods
from linkwise.active._told_pairs import told_pairs
from linkwise.constraints import Constraints
from linkwise.search import matched

# Rows from which on clusters are looked for on so many rows, and those with answers.
_MANY_ROWS = 4_000
_WORKING_ROWS = 2_000
# Weight of the pairs that corrections stand for.
_DERIVED_WEIGHT = 0.5


class Clusters:
    """The fits of a session."""

    @property
    def constraints_(self: Any) -> Constraints:
        """The pairs that count: answers, and what corrections of clusters stand for."""
        return self._constraints_of(self._state)

    def _constraints_of(self: Any, state: State) -> Constraints:
        kinds: dict[bool, dict[tuple[int, int], float]] = {True: {}, False: {}}
        for number, (i, j, is_same) in state.answers.items():
            if is_same is not None and state.known.relation(i, j) == is_same:
                weight = self.log.events[number].get("weight", 1.0)
                kinds[is_same][pair(i, j)] = float(weight)
        for i, j, is_same in consistent_derived(state):
            kinds[is_same].setdefault(pair(i, j), _DERIVED_WEIGHT)
        must, cannot = kinds[True], kinds[False]
        return Constraints(
            np.array(list(must), dtype=np.intp).reshape(-1, 2),
            np.array(list(cannot), dtype=np.intp).reshape(-1, 2),
            np.array(list(must.values())) if must else None,
            np.array(list(cannot.values())) if cannot else None,
        )

    @property
    def n_clusters(self: Any) -> int | None:
        """Number of clusters; None while it is to be found."""
        asked_for = last_step(self.estimator).n_clusters
        if not isinstance(asked_for, int | np.integer):
            return None
        return max(1, int(asked_for) + self._state.n_more)

    def fit(self: Any) -> Any:
        """Cluster the rows with all answers; ids stay with their clusters."""
        self.finish_fit(self._new_fit().run())
        return self

    def prepare_fit(self: Any) -> Fitting:
        """Return a fit with all answers so far, which another thread may do.

        A session that goes on after a restart begins with the fit it had, unless
        something was said since: the committee is not in the log.
        """
        is_as_opened = len(self.log.events) == self._n_opened
        if self.model_ is None and self._state.fits and is_as_opened:
            return self._earlier_fit()
        return self._new_fit()

    def _new_fit(self: Any) -> Fitting:
        """Return a fit with all answers."""
        k = self.n_clusters
        k = max(2, len(neighbourhoods(self._view())[0])) if k is None else k
        return self._fitting(self._state, k, len(self.log.events))

    def _earlier_fit(self: Any) -> Fitting:
        """Return the last fit of the log, to be done once more."""
        event = self.log.events[self._state.fits[-1][0]]
        at = event.get("at", self._state.fits[-1][0])
        then = replay(self.log.events[:at], len(self.ids), self._row_of)
        return self._fitting(then, event["clusters"], at, is_new=False)

    def _fitting(
        self: Any, state: State, n_clusters: int, at: int, is_new: bool = True
    ) -> Fitting:
        model = clone(self.estimator)
        last = last_step(model)
        last.set_params(n_clusters=min(n_clusters, len(self.ids)))
        pairs = told_pairs(
            self._constraints_of(state),
            n_clusters,
            getattr(self.strategy, "different_weight", 1.0),
        )
        is_open = last.get_params().get("approximation") == "auto"
        if is_open and len(self.ids) > _MANY_ROWS:
            # Every row with an answer is in a working set; a person does not wait.
            last.set_params(approximation="working_set", working_rows=_WORKING_ROWS)
        given = (
            model,
            self.X_,
            pairs,
            self._settled(state).copy(),
            self._features,
            self._rows,
        )
        return Fitting(*given, at, state.n_more, is_new)

    def finish_fit(self: Any, fitting: Fitting) -> int:
        """Take the clusters of a fit that is done; return how many rows moved."""
        self.model_, self._committee = fitting.model, fitting.committee
        self._doubt = fitting.doubt
        n_moved = 0
        if fitting.is_new:
            earlier = self._state.labels
            k = int(last_step(self.model_).n_clusters)
            labels = self._stable(fitting.labels)
            # Corrections that came while it ran are done to it as well.
            k_now = k + self._state.n_more - fitting.n_more
            labels = corrected(self._state, labels, k_now)
            n_moved = 0 if earlier is None else int((labels != earlier).sum())
            self._do(event="fit", labels=pack(labels), clusters=k, at=fitting.at)
        self._rejudge()
        return n_moved

    def _stable(self: Any, labels: IntArray) -> IntArray:
        """Give clusters the ids of the earlier ones that they share most rows with."""
        earlier, next_id = self._state.labels, self._state.next_id
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
