"""The committee of a fit, judged anew by every answer."""

from typing import Any

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray

# Labelings that have a say, at the most.
_MAX_JUDGES = 300
# Rows outside a working set that are judged, at the most.
_MAX_UNSEEN = 5_000
# Least probability of an answer: any answer may be wrong.
_LEAST = 0.02
# How much even clusters count, as so many answers.
_EVENNESS = 5.0


class Judges:
    """Labels that a search has left behind, weighed by the answers that they satisfy.

    Parameters
    ----------
    labels : ndarray of shape (n_members, n_rows)
        Clusters of each member, small integers.
    places : ndarray of shape (n_samples,)
        Column of each row in ``labels``, -1: it has none.
    evenness : ndarray of shape (n_members,)
        How even the clusters are, in [0, 1]; it decides while there are few answers.
    """

    def __init__(self, labels: IntArray, places: IntArray, evenness: FloatArray):
        self.labels, self.places, self.evenness = labels, places, evenness
        self._satisfied = np.zeros(len(labels))
        self._weigh()

    @classmethod
    def of(cls, model: Any, features: FloatArray, rows: IntArray) -> "Judges | None":
        """Return the judges of a fitted model, None if it has no committee.

        Of ``rows``, those that the search has not looked at are judged as the nearest
        one that it has.
        """
        model = model[-1] if hasattr(model, "steps") else model
        committee = getattr(model, "_committee", None)
        if committee is None:
            return None
        best = np.argsort(-committee.log_weights, kind="stable")[:_MAX_JUDGES]
        places = model._committee_rows.copy()
        seen = np.flatnonzero(places >= 0)
        unseen = rows[:_MAX_UNSEEN][places[rows[:_MAX_UNSEEN]] < 0]
        for first in range(0, len(unseen), 500):
            part = unseen[first : first + 500]
            squared = (features[seen] ** 2).sum(axis=1)
            far = squared - 2.0 * features[part] @ features[seen].T
            places[part] = places[seen[far.argmin(axis=1)]]
        return cls(committee.labels[best], places, committee._evenness()[best])

    def weigh(self, i: IntArray, j: IntArray, is_same: BoolArray) -> None:
        """Weigh all judges by these answers."""
        self._satisfied = np.zeros(len(self.labels))
        self.add(i, j, is_same)

    def add(self, i: IntArray, j: IntArray, is_same: BoolArray) -> None:
        """Weigh all judges by these answers as well."""
        together, seen = self._together(i, j)
        self._satisfied += (together == is_same[seen]).sum(axis=1)
        self._weigh()

    def _weigh(self) -> None:
        found = self._satisfied + _EVENNESS * self.evenness
        weights = np.exp(found - found.max())
        self.weights = weights / weights.sum()

    def _together(self, i: IntArray, j: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return which judges put pairs together, and which pairs they see."""
        a, b = self.places[i], self.places[j]
        seen = (a >= 0) & (b >= 0)
        return self.labels[:, a[seen]] == self.labels[:, b[seen]], seen

    def p_same(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the probability that rows are the same; NaN where none sees them."""
        together, seen = self._together(i, j)
        found = np.full(len(i), np.nan)
        found[seen] = self.weights @ together
        return np.clip(found, _LEAST, 1.0 - _LEAST)
