"""The clusterings that a search leaves behind, as a committee.

Each member has a weight: how probable the pairs are if it is right, and a little for
clusters of like size, for where pairs are few many members satisfy them, and those that
cut off single rows are seldom right. The members decide together: which clusters to
return, where each row belongs and how certain that is. Pairs that come later reweight
them without a new search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from linkwise._typing import BoolArray, FloatArray, IntArray

# How much even clusters count, as so many pairs that hold.
_EVENNESS = 5.0
# Rows that the members are compared on at the most.
_MAX_ROWS = 2_000
# Members that have a say, and the least weight of one, relative: in opinions and in
# shares.
_MAX_MEMBERS = 60
_LEAST_WEIGHT = 1e-4
_LEAST_IN_SHARES = 1e-3
# Difference of two distances, relative, that may be one of rounding.
_ROUNDING = 1e-12
# Rows of each group that every cluster is thought to have beside those that are known.
_SMOOTH = 0.1


class KnownGroups(NamedTuple):
    """Groups of rows that belong together, and which groups differ."""

    rows: list[list[int]]
    apart: list[tuple[int, int]]  # places of two groups in ``rows``

    @property
    def n_pairs(self) -> int:
        """Number of pairs of rows that follow."""
        sizes = [len(rows) for rows in self.rows]
        inside = sum(size * (size - 1) // 2 for size in sizes)
        return inside + sum(sizes[a] * sizes[b] for a, b in self.apart)


class Held(NamedTuple):
    """How many of the pairs that follow from groups each member satisfies."""

    counts: FloatArray  # (n_members,)
    n_pairs: int
    n_rows: int  # that the pairs are about


@dataclass(frozen=True, eq=False)
class Committee:
    """Clusterings of the same rows and how many pairs each satisfies.

    Parameters
    ----------
    labels : ndarray of shape (n_members, n_samples)
        Clusters of each member, from 0; any integer type.
    scores : ndarray of shape (n_members,)
        Share of the pairs that each member satisfies.
    n_pairs : float
        What the pairs are worth together, in pairs of equal weight.
    n_clusters : int
        Number of clusters.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each row.
    handicap : ndarray of shape (n_members,), optional
        Pairs that each member has to satisfy more than others to weigh as much.
    is_honest : ndarray of bool, shape (n_members,), optional
        Members that place no row by its own pairs; none by default.
    places : ndarray of shape (n_rows,), optional
        Column of each row in ``labels``, -1 for rows that the members have not seen. By
        default rows are columns.
    evenness : ndarray of shape (n_members,), optional
        Entropy of the cluster sizes, 1 if all are of one size; found from ``labels`` by
        default.
    surplus : ndarray of shape (n_members,), optional
        Pairs that each member satisfies beyond those that its labels do, see ``since``.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]])
    >>> committee = Committee(labels, np.array([0.9, 0.9, 0.8]), 20.0, 2)
    >>> committee.opinions(labels[0]).round(2).tolist()[0]
    [1.0, 0.0]
    """

    labels: IntArray
    scores: FloatArray
    n_pairs: float
    n_clusters: int
    sample_weight: FloatArray | None = None
    handicap: FloatArray | None = None
    is_honest: BoolArray | None = None
    places: IntArray | None = None
    evenness: FloatArray | None = None
    surplus: FloatArray | None = None

    @property
    def honest_labels(self) -> IntArray:
        """Clusters of the members that can be judged by the pairs, as ``labels``."""
        if self.is_honest is None:
            return self.labels[:0]
        return self.labels[self.is_honest]

    @cached_property
    def log_weights(self) -> FloatArray:
        """Logarithm of the weight of each member, up to a constant."""
        found = self.n_pairs * self.scores + _EVENNESS * self._evenness()
        if self.handicap is not None:
            found = found - self.handicap
        return np.where(np.isfinite(found), found, -np.inf)

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each member, shape (n_members,); they sum to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())

    def _evenness(self) -> FloatArray:
        """Return the entropy of each member's cluster sizes, 1 if all are alike."""
        if self.evenness is not None:
            return self.evenness
        if self.n_clusters == 1:
            return np.ones(len(self.labels))
        sizes = np.stack(
            [
                np.bincount(own, weights=self.sample_weight, minlength=self.n_clusters)
                for own in self.labels
            ]
        )
        share = sizes / sizes.sum(axis=1, keepdims=True)
        logs = np.log(np.where(share > 0.0, share, 1.0))
        return np.asarray(-(share * logs).sum(axis=1) / np.log(self.n_clusters))

    def central(
        self, least_score: float = -np.inf, objectives: FloatArray | None = None
    ) -> int:
        """Return the member nearest to what all expect of two rows being together.

        Parameters
        ----------
        least_score : float, default=-inf
            Members that satisfy fewer pairs cannot be chosen.
        objectives : ndarray of shape (n_members,), optional
            Of members that are as near, such as those that are the same clustering
            under different kernels, the one with the least is chosen; without it, the
            heaviest and first.
        """
        is_open = np.isfinite(self.log_weights) & (self.scores >= least_score)
        heaviest = self._heaviest(is_open)
        n_samples = self.labels.shape[1]
        rows: Any = slice(None)
        if n_samples > _MAX_ROWS:
            rng = np.random.default_rng(0)
            rows = np.sort(rng.choice(n_samples, _MAX_ROWS, replace=False))
        labels = self.labels[heaviest][:, rows].astype(np.intp)
        mass = None if self.sample_weight is None else self.sample_weight[rows]
        shared = _pairs_together(labels, self.n_clusters, mass)
        weights = self.weights[heaviest]
        # The sum over pairs of rows of (together in the member - expected)^2, without
        # what is common to all members.
        loss = shared.diagonal() - 2.0 * shared @ (weights / weights.sum())
        if objectives is None:
            return int(heaviest[np.argmin(loss)])
        # Rounding is that of sums of the size of the diagonal.
        rounding = _ROUNDING * float(shared.diagonal().max())
        nearest = heaviest[loss <= loss.min() + rounding]
        return int(nearest[np.argmin(objectives[nearest])])

    def _heaviest(self, is_open: BoolArray) -> IntArray:
        """Return the members that have a say, those of largest weight first."""
        log_weights = np.where(is_open, self.log_weights, -np.inf)
        order = np.argsort(-log_weights, kind="stable")[:_MAX_MEMBERS]
        least = log_weights[order[0]] + np.log(_LEAST_WEIGHT)
        return np.asarray(order[log_weights[order] >= least])

    def opinions(self, reference: IntArray) -> FloatArray:
        """Return how probable each cluster of a clustering is for each row.

        Clusters of the members are matched to those of ``reference``, so that most rows
        agree.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        n_samples, k = len(reference), self.n_clusters
        found = np.zeros((n_samples, k))
        weights = self.weights
        rows = np.arange(n_samples)
        for member in self._heaviest(np.isfinite(self.log_weights)):
            own = self.labels[member].astype(np.intp)
            found[rows, matched(own, reference, k)[own]] += weights[member]
        return found / found.sum(axis=1, keepdims=True)

    # What is known later

    def best(self, n_members: int) -> "Committee":
        """Return the committee of the members of largest weight."""
        chosen = np.argsort(-self.log_weights, kind="stable")[:n_members]

        def some(values: Any) -> Any:
            return None if values is None else values[chosen]

        return replace(
            self,
            labels=some(self.labels),
            scores=some(self.scores),
            handicap=some(self.handicap),
            is_honest=some(self.is_honest),
            evenness=some(self._evenness()),
            surplus=some(self.surplus),
        )

    def since(self, known: KnownGroups) -> "Committee":
        """Return the committee that counts from the groups that its scores are about.

        A search leaves rows with pairs out of the clusters when it scores them; what is
        known later is counted by labels. The difference is kept.
        """
        held = self.held(known)
        surplus = held.n_pairs * self.scores - held.counts
        return replace(self, surplus=surplus).reweighted(known)

    def reweighted(self, known: KnownGroups) -> "Committee":
        """Return the same members, weighted by the pairs that follow from groups.

        All pairs together count as no more than one for each row that they are about.
        Handicaps are for the pairs of the search and count no longer.
        """
        held = self.held(known)
        surplus = 0.0 if self.surplus is None else self.surplus
        return replace(
            self,
            scores=(held.counts + surplus) / max(1, held.n_pairs),
            n_pairs=min(held.n_pairs, held.n_rows),
            handicap=None,
        )

    def p_same(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return how probable it is that rows are together; NaN: none sees them."""
        a, b = self.columns(i), self.columns(j)
        seen = (a >= 0) & (b >= 0)
        found = np.full(len(a), np.nan)
        found[seen] = self.weights @ (
            self.labels[:, a[seen]] == self.labels[:, b[seen]]
        )
        return found

    def shares(self, rows: IntArray, groups: Sequence[Sequence[int]]) -> FloatArray:
        """Return how probable each of some groups is for each row.

        A row is as probable in a group as the known rows of its cluster are, on the
        average of the members. Rows that none sees may be in any.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
            Rows that may belong to the groups.
        groups : sequence of sequences of int
            Known rows.

        Returns
        -------
        ndarray of shape (n_rows, n_groups)
            Each row sums to 1.
        """
        heavy = np.argsort(-self.weights, kind="stable")[:_MAX_MEMBERS]
        weights = self.weights[heavy]
        heavy = heavy[weights >= _LEAST_IN_SHARES * weights[0]]
        tables = self._tables(self.labels[heavy], groups)
        tables += _SMOOTH
        tables /= tables.sum(axis=2, keepdims=True)
        found = np.full((len(rows), len(groups)), 1.0 / len(groups))
        columns = self.columns(rows)
        seen = columns >= 0
        mean = np.zeros((int(seen.sum()), len(groups)))
        for table, member in zip(tables, heavy, strict=True):
            mean += self.weights[member] * table[self.labels[member, columns[seen]]]
        found[seen] = mean / self.weights[heavy].sum()
        return found

    def columns(self, rows: Sequence[int] | IntArray) -> IntArray:
        """Return the column of each row in the labels, -1 if it has none."""
        found = np.asarray(rows, dtype=np.intp)
        return found if self.places is None else self.places[found]

    def held(self, known: KnownGroups) -> Held:
        """Return how many pairs that follow from groups each member satisfies."""
        tables = self._tables(self.labels, known.rows)
        sizes = tables[0].sum(axis=0)
        n_pairs = int((sizes * (sizes - 1)).sum()) // 2
        counts = (tables * (tables - 1)).sum(axis=(1, 2)) / 2
        if known.apart:
            a, b = np.array(known.apart).T
            n_apart = int((sizes[a] * sizes[b]).sum())
            n_pairs += n_apart
            counts += n_apart - (tables[:, :, a] * tables[:, :, b]).sum(axis=(1, 2))
        return Held(counts, n_pairs, int(sizes.sum()))

    def _tables(self, labels: IntArray, groups: Sequence[Sequence[int]]) -> FloatArray:
        """Return how many rows of each group are in each cluster of each member."""
        shape = len(labels), self.n_clusters, len(groups)
        if len(groups) == 0:
            return np.zeros(shape)
        columns = self.columns([row for rows in groups for row in rows])
        group = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        seen = columns >= 0
        cell = np.arange(shape[0])[:, None] * shape[1] + labels[:, columns[seen]]
        flat = (cell * shape[2] + group[seen]).ravel()
        found = np.bincount(flat, minlength=shape[0] * shape[1] * shape[2])
        return found.reshape(shape).astype(np.float64)


def _pairs_together(
    labels: IntArray, n_clusters: int, mass: FloatArray | None
) -> FloatArray:
    """Return how many pairs of rows are together in two members, (members, members).

    Each row counts as a pair with itself, and each pair twice.
    """
    n_members, n_samples = labels.shape
    columns = labels + n_clusters * np.arange(n_members)[:, None]
    rows = np.tile(np.arange(n_samples), n_members)
    values = np.ones(n_samples) if mass is None else mass
    shape = (n_samples, n_members * n_clusters)
    one_hot = csr_array((np.ones(len(rows)), (rows, columns.ravel())), shape=shape)
    weighted = csr_array((np.tile(values, n_members), (rows, columns.ravel())), shape)
    shared = (one_hot.T @ weighted).tocoo()
    first, second = (at // n_clusters for at in shared.coords)
    found = np.bincount(
        first * n_members + second, weights=shared.data**2, minlength=n_members**2
    )
    return np.asarray(found.reshape(n_members, n_members))


def matched(labels: IntArray, reference: IntArray, n_clusters: int) -> IntArray:
    """Return which cluster of a reference each cluster stands for, all different.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]), 3).tolist()
    [2, 0, 1]
    """
    pairs = labels.astype(np.intp) * n_clusters + reference
    shared = np.bincount(pairs, minlength=n_clusters**2)
    shared = shared.reshape(n_clusters, n_clusters)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    found: Any = np.empty(n_clusters, dtype=np.intp)
    found[rows] = columns
    return np.asarray(found)
