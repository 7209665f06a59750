"""The committee of a fit, judged anew by every answer."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._answers import Known

# Labelings that are kept at the most, those of them that have a say on the group of a
# row, and the least weight of one.
_MAX_JUDGES = 300
_MAX_SAY = 60
_LEAST_WEIGHT = 1e-3
# Rows outside a working set that are judged, at the most.
_MAX_UNSEEN = 5_000
# Least probability of an answer: any answer may be wrong.
LEAST = 0.02
# How much even clusters count, as so many answers.
_EVENNESS = 5.0
# Rows of each group that every cluster is thought to have beside those that are known.
SMOOTH = 0.1


class _Held(NamedTuple):
    """How many of the pairs that follow from answers each judge satisfies."""

    counts: FloatArray  # (n_members,)
    n_pairs: int
    n_rows: int  # that the pairs are about


class Judges:
    """Labels that a search has left behind, weighed by the answers that they satisfy.

    What follows from answers counts like the answers, but all pairs together as no
    more than one for each row that they are about.

    Parameters
    ----------
    labels : ndarray of shape (n_members, n_rows)
        Clusters of each member, small integers.
    places : ndarray of shape (n_samples,)
        Column of each row in ``labels``, -1: it has none.
    evenness : ndarray of shape (n_members,)
        How even the clusters are, in [0, 1]; it decides while there are few answers.
    scores : ndarray of shape (n_members,), optional
        Share of the pairs ``then`` that each member satisfies where rows with an answer
        are left out of the clusters; later answers are about rows that are not in any
        start.
    then : Known, optional
        The answers of the fit.
    """

    def __init__(
        self,
        labels: IntArray,
        places: IntArray,
        evenness: FloatArray,
        scores: FloatArray | None = None,
        then: Known | None = None,
    ):
        self.labels, self.places, self.evenness = labels, places, evenness
        self._k = int(labels.max(initial=0)) + 1
        held = self._held(Known() if then is None else then)
        shares = np.zeros(len(labels)) if scores is None else scores
        # What counting by labels adds to or takes from the scores of the fit.
        self._more = held.n_pairs * shares - held.counts
        self.weigh(Known() if then is None else then)

    @classmethod
    def of(
        cls, model: Any, features: FloatArray, rows: IntArray, then: Known
    ) -> "Judges | None":
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
        return cls(
            committee.labels[best],
            places,
            committee._evenness()[best],
            committee.scores[best],
            then,
        )

    def weigh(self, known: Known) -> None:
        """Weigh all judges by what is known."""
        held = self._held(known)
        share = (held.counts + self._more) / max(1, held.n_pairs)
        found = min(held.n_pairs, held.n_rows) * share + _EVENNESS * self.evenness
        weights = np.exp(found - found.max())
        self.weights = weights / weights.sum()

    def _held(self, known: Known) -> _Held:
        groups = [self._seen(known.members(group)) for group in known.groups()]
        sizes = np.array([len(group) for group in groups], dtype=np.intp)
        tables = self._tables(groups)
        counts = (tables * (tables - 1)).sum(axis=(1, 2)) / 2
        n_pairs = int((sizes * (sizes - 1)).sum()) // 2
        place = {group: at for at, group in enumerate(known.groups())}
        apart = [
            (at, place[other])
            for group, at in place.items()
            for other in known.different_from(group)
            if at < place[other]
        ]
        if apart:
            a, b = np.array(apart).T
            n_apart = int((sizes[a] * sizes[b]).sum())
            n_pairs += n_apart
            counts += n_apart - (tables[:, :, a] * tables[:, :, b]).sum(axis=(1, 2))
        return _Held(counts, n_pairs, int(sizes.sum()))

    def _seen(self, rows: Sequence[int]) -> IntArray:
        """Return the places of rows that the judges see."""
        places = self.places[np.asarray(rows, dtype=np.intp)]
        return places[places >= 0]

    def _tables(self, groups: Sequence[IntArray]) -> FloatArray:
        """Return how many rows of each group are in each cluster of each judge."""
        n_members, n_groups = len(self.labels), len(groups)
        if n_groups == 0:
            return np.zeros((n_members, self._k, 0))
        rows = np.concatenate(groups)
        group = np.repeat(np.arange(n_groups), [len(own) for own in groups])
        cell = np.arange(n_members)[:, None] * self._k + self.labels[:, rows]
        flat = np.bincount(
            (cell * n_groups + group).ravel(), minlength=n_members * self._k * n_groups
        )
        return flat.reshape(n_members, self._k, n_groups).astype(np.float64)

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
        return np.clip(found, LEAST, 1.0 - LEAST)

    def shares(
        self,
        rows: IntArray,
        groups: Sequence[Sequence[int]],
        *,
        are_even: bool = False,
    ) -> FloatArray:
        """Return how probable each of some groups is for each row.

        A row is as probable in a group as the known rows of its cluster are, on the
        average of the judges. Rows that none sees may be in any.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
            Rows that may belong to the groups.
        groups : sequence of sequences of int
            Known rows.
        are_even : bool, default=False
            Whether groups count alike, however many rows of each are known.

        Returns
        -------
        ndarray of shape (n_rows, n_groups)
            Each row sums to 1.
        """
        heavy = np.argsort(-self.weights, kind="stable")[:_MAX_SAY]
        heavy = heavy[self.weights[heavy] >= _LEAST_WEIGHT * self.weights[heavy[0]]]
        tables = self._tables([self._seen(group) for group in groups])[heavy]
        if are_even:
            tables *= even_weights(tables[0].sum(axis=0))
        tables += SMOOTH
        tables /= tables.sum(axis=2, keepdims=True)
        found = np.full((len(rows), len(groups)), 1.0 / len(groups))
        places = self.places[rows]
        seen = places >= 0
        mean = np.zeros((int(seen.sum()), len(groups)))
        for table, judge in zip(tables, heavy, strict=True):
            mean += self.weights[judge] * table[self.labels[judge, places[seen]]]
        found[seen] = mean / self.weights[heavy].sum()
        return found


def even_weights(sizes: FloatArray) -> FloatArray:
    """Return what each row of groups counts if all groups count alike.

    Examples
    --------
    >>> even_weights(np.array([1.0, 3.0])).tolist()
    [2.0, 0.6666666666666666]
    """
    return np.asarray(sizes.mean() / np.maximum(sizes, 1.0))
