"""LCVQE: k-means with a repair of one pair after the other."""

from hashlib import blake2b
from numbers import Integral, Real

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.baselines._centres import (
    CentreClusterer,
    CentreResult,
    distinct_points,
    fill_empty,
    nearest,
    rounding_of,
    squared_distances,
)
from linkwise.baselines._closure_pairs import ListedPairs, drawn_pairs
from linkwise.baselines._jit_sweeps import repair_pairs
from linkwise.doors import Interval, fit_context


class LCVQE(CentreClusterer):
    """k-means whose assignment is repaired pair by pair, at the least cost.

    Linear-time constrained vector quantization error, the method of Pelleg and Baras
    (2007). Rows take the nearest centre. Then each broken must-link, in the order of
    its rows, sends both rows to one of their two clusters, and each broken cannot-link
    sends the row farther from the centre to its next nearest one. Keeping a pair broken
    is the third way out; the centres of the other clusters then pull at its rows. With
    the published costs keeping is never cheaper, so pairs end up broken only where a
    later pair moves a row again. ``violation_weight`` below 1 makes keeping cheaper.

    X is not standardised: put a ``StandardScaler`` in front where scales differ.

    Pairs are repaired one by one, so they must be listed: of a closure of more than
    ``max_pairs`` pairs, as many are drawn at random.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    violation_weight : float, default=1.0
        Factor on the cost of keeping a pair broken, times the pair's weight. 1 is the
        published method, 0 is k-means.
    n_init : int, default=10
        Number of starts from random rows; the one with the lowest objective is kept.
    max_pairs : int, default=200_000
        Most pairs of the closure that are used.
    max_iter : int, default=100
        Limit on the assignment steps of a start.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Draws the starts, and the pairs if there are too many.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the rows of each cluster and of those that broken pairs pull there.
    objective_ : float
        Half the inertia plus the cost of pairs kept broken: for each row a cluster
        pulls at, its squared distance to that centre, a quarter of it for must-links
        and half of it for cannot-links.
    n_iter_, converged_, constraint_score_, n_violated_, n_features_in_, \
            feature_names_in_
        As in :class:`SeededKMeans`; of the best start. Scores are over the whole
        closure. Labels that return after some steps count as converged; of such a
        cycle the labels with the lowest objective are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import LCVQE
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = LCVQE(2, random_state=0).fit(X, constraints=([(1, 2)], []))
    >>> bool(model.labels_[1] == model.labels_[2])
    True
    """

    _parameter_constraints = {
        **CentreClusterer._parameter_constraints,
        "violation_weight": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        violation_weight=1.0,
        n_init=10,
        max_pairs=200_000,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.violation_weight = violation_weight
        self.n_init = n_init
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        return self._fit(self._check_fit(X, y, constraints, None, sample_id))

    def _cluster(self, given, X):
        pairs = self._pairs(given)
        starts = [
            X[distinct_points(len(X), self.n_clusters, given.rng)]
            for _ in range(self.n_init)
        ]
        return min(
            (vqe_from(X, start, pairs, self.max_iter) for start in starts),
            key=lambda result: result.objective,
        )

    def _pairs(self, given):
        """Return the pairs to repair, their weights times ``violation_weight``."""
        if self.violation_weight == 0:
            nothing = np.empty((0, 2), dtype=np.intp), np.empty(0)
            return ListedPairs(*nothing, *nothing)
        pairs = drawn_pairs(given, self.max_pairs)
        return pairs._replace(
            must_link_weight=self.violation_weight * pairs.must_link_weight,
            cannot_link_weight=self.violation_weight * pairs.cannot_link_weight,
        )


def vqe_from(
    X: FloatArray, centres: FloatArray, pairs: ListedPairs, max_iter: int
) -> CentreResult:
    """Return the labels of the lowest objective on the way from start centres."""
    n_clusters = len(centres)
    distances = squared_distances(X, centres)
    labels: IntArray = np.full(len(X), -1)
    # Largest weight of the broken pairs by which a cluster pulls at a row, (n, k).
    pulls = np.empty((2, *distances.shape))
    best, lowest = (labels, centres), np.inf
    seen: set[bytes] = set()
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        labels = nearest(distances, labels)
        pulls.fill(0.0)
        repair_pairs(distances, *pairs, rounding_of(distances), labels, *pulls)
        fill_empty(labels, distances[np.arange(len(X)), labels], n_clusters)
        mark = blake2b(labels.tobytes() + np.packbits(pulls > 0).tobytes()).digest()
        converged = mark in seen
        seen.add(mark)

        share = 0.5 * (pulls[0] > 0) + (pulls[1] > 0)
        share[np.arange(len(X)), labels] += 1.0
        centres = share.T @ X / share.sum(axis=0)[:, None]
        distances = squared_distances(X, centres)
        own = distances[np.arange(len(X)), labels].sum()
        broken = ((0.5 * pulls[0] + pulls[1]) * distances).sum()
        objective = 0.5 * float(own + broken)
        if objective < lowest:
            best, lowest = (labels, centres), objective
    return CentreResult(*best, lowest, n_iter, converged)
