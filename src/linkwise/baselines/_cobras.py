"""COBRAS: super-instances that are split and merged by what an oracle says.

T. Van Craenendonck, S. Dumancic, E. Van Wolputte, H. Blockeel: COBRAS: interactive
clustering with pairwise queries (2018).
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from linkwise.doors import Interval, fit_context


class _SuperInstance(NamedTuple):
    rows: np.ndarray
    medoid: int  # the row that is shown for it


class _NoBudgetLeft(Exception):
    pass


class COBRAS(ClusterMixin, BaseEstimator):
    """Clusters rows by asking an oracle about pairs of representatives.

    Rows are kept in super-instances, groups that k-means finds and that count as one.
    The largest is split, as finely as answers about its halves suggest; then clusters
    of super-instances are merged where the nearest representatives are the same. The
    number of clusters follows from the answers.

    Parameters
    ----------
    oracle : callable
        ``oracle(i, j)`` returns "same" or "different" for two rows of X; "unsure"
        counts as different.
    budget : int, default=100
        Number of answers.
    askable : array-like of int, optional
        Rows that may be asked about; all by default.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_queries_ : int
        Number of answers that were used.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import COBRAS
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.2]])
    >>> def oracle(i, j):
    ...     return "same" if i // 2 == j // 2 else "different"
    >>> COBRAS(oracle, budget=20, random_state=0).fit(X).n_queries_ <= 20
    True
    """

    _parameter_constraints = {
        "oracle": [callable],
        "budget": [Interval(Integral, 0, None, closed="left")],
        "askable": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(self, oracle, *, budget=100, askable=None, random_state=None):
        self.oracle = oracle
        self.budget = budget
        self.askable = askable
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Ask, and cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Not used.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64)
        run = _Run(X, self.oracle, self.budget, self.askable, self.random_state)
        run.go()
        labels = np.empty(len(X), dtype=np.intp)
        for number, cluster in enumerate(run.clusters):
            for part in cluster:
                labels[part.rows] = number
        self.labels_, self.n_queries_ = labels, run.n_queries
        return self


class _Run:
    """The state of one fit."""

    def __init__(
        self,
        X: np.ndarray,
        oracle: Callable[[int, int], Any],
        budget: int,
        askable: Any,
        random_state: Any,
    ) -> None:
        self.X, self.oracle, self.budget = X, oracle, budget
        self.rng = check_random_state(random_state)
        self.is_askable = np.zeros(len(X), dtype=bool)
        self.is_askable[slice(None) if askable is None else np.asarray(askable)] = True
        self.known: dict[tuple[int, int], bool] = {}
        self.n_queries = 0
        whole = self.super_instance(np.arange(len(X)))
        self.clusters = [[whole]]

    def super_instance(self, rows):
        """Return rows as one; the row shown is the one nearest to their mean."""
        open_ = rows[self.is_askable[rows]]
        shown = open_ if len(open_) else rows
        far = ((self.X[shown] - self.X[rows].mean(axis=0)) ** 2).sum(axis=1)
        return _SuperInstance(rows, int(shown[far.argmin()]))

    def is_same(self, i, j):
        pair = (min(i, j), max(i, j))
        if pair not in self.known:
            if self.n_queries >= self.budget:
                raise _NoBudgetLeft
            self.n_queries += 1
            said = self.oracle(i, j)
            self.known[pair] = said is True or said == "same"
        return self.known[pair]

    def go(self):
        while self.n_queries < self.budget:
            complete = [list(cluster) for cluster in self.clusters]
            try:
                if not self.split_largest():
                    break
                self.merge()
            except _NoBudgetLeft:
                # Pieces that were not merged yet are no clusters.
                self.clusters = complete

    def can_split(self, part):
        return self.is_askable[part.rows].sum() > 1

    def split_largest(self):
        """Split the largest super-instance; return whether there was one."""
        parts = [
            (len(part.rows), -number, place)
            for number, cluster in enumerate(self.clusters)
            for place, part in enumerate(cluster)
            if self.can_split(part)
        ]
        if not parts:
            return False
        _, number, place = max(parts)
        chosen = self.clusters[-number][place]
        level = self.level_of(chosen)
        pieces = self.pieces(chosen, max(2, 2**level))
        if len(pieces) < 2:
            # Equal rows: they stay together, and are not looked at again.
            self.is_askable[chosen.rows] = False
            return True
        self.clusters[-number].pop(place)
        self.clusters = [c for c in self.clusters if c] + [[piece] for piece in pieces]
        return True

    def level_of(self, part):
        """Return how often a super-instance is halved until halves are the same."""
        level = 0
        while self.can_split(part):
            halves = self.pieces(part, 2)
            if len(halves) < 2:
                break
            if self.is_same(halves[0].medoid, halves[1].medoid):
                break
            level += 1
            part = halves[self.rng.randint(2)]
        return level

    def pieces(self, part, number):
        """Return the clusters of k-means that can be asked about; others join these."""
        number = min(number, int(self.is_askable[part.rows].sum()))
        if number < 2 or len(np.unique(self.X[part.rows], axis=0)) < 2:
            return [part]
        number = min(number, len(np.unique(self.X[part.rows], axis=0)))
        means = KMeans(number, n_init=1, random_state=self.rng).fit(self.X[part.rows])
        labels = means.labels_
        is_open = np.bincount(labels, self.is_askable[part.rows], minlength=number) > 0
        centres = means.cluster_centers_
        for lost in np.flatnonzero(~is_open):
            far = ((centres[is_open] - centres[lost]) ** 2).sum(axis=1)
            labels[labels == lost] = np.flatnonzero(is_open)[far.argmin()]
        return [self.super_instance(part.rows[labels == c]) for c in np.unique(labels)]

    def merge(self):
        """Merge clusters, the nearest first, until all are known to differ."""
        merged = True
        while merged:
            merged = False
            for a, b, i, j in self.pairs_of_clusters():
                if self.is_same(i, j):
                    self.clusters[a] += self.clusters.pop(b)
                    merged = True
                    break

    def pairs_of_clusters(self):
        """Return pairs of clusters not known to differ, with their nearest medoids."""
        found = []
        for b in range(len(self.clusters)):
            for a in range(b):
                pairs = [
                    (((self.X[p.medoid] - self.X[q.medoid]) ** 2).sum(), p, q)
                    for p in self.clusters[a]
                    for q in self.clusters[b]
                ]
                medoids = [(p.medoid, q.medoid) for _, p, q in pairs]
                said = [self.known.get((min(m), max(m))) for m in medoids]
                if False in said:
                    continue
                nearest = min(range(len(pairs)), key=lambda at: pairs[at][0])
                found.append((pairs[nearest][0], a, b, *medoids[nearest]))
        return [entry[1:] for entry in sorted(found)]
