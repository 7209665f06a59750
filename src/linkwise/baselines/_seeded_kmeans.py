"""SeededKMeans and ConstrainedKMeans: k-means that starts from what is known."""

from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.baselines._centres import (
    CentreClusterer,
    CentreResult,
    fill_empty,
    inertia,
    means,
    nearest,
    squared_distances,
)
from linkwise.constraints import Closure
from linkwise.constraints._sampling import label_codes
from linkwise.doors import fit_context
from linkwise.exceptions import InfeasibleConstraintsError

_N_STARTS = 10  # of plain k-means, when nothing is known


class _Seeds(NamedTuple):
    """Where the clusters start."""

    labels: IntArray  # (n,), cluster of each seed, -1 for other rows
    centres: FloatArray  # (k, d)


class _SeedClusterer(CentreClusterer):
    """Seeds from labels and pairs, then k-means from their means."""

    def __init__(
        self, n_clusters=8, *, max_iter=100, on_conflict="raise", random_state=None
    ):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_weight=None, sample_id=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense data.
        y : array-like of shape (n_samples,), optional
            Labels of the seeds, -1 for other rows: at most ``n_clusters`` values.
        constraints, sample_weight, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        return self._fit(self._check_fit(X, y, constraints, sample_weight, sample_id))

    def _cluster(self, given, X):
        weight = np.ones(len(X)) if given.sample_weight is None else given.sample_weight
        classes = _classes(given.y, len(X), self.n_clusters)
        if given.pairs.is_empty and (classes < 0).all():
            unknown = np.full(len(X), -1)
            starts = [
                _Seeds(unknown, _plusplus(X, self.n_clusters, weight, given.rng))
                for _ in range(_N_STARTS)
            ]
        else:
            seeds = _known_labels(classes, given.closure)
            starts = [_seed_sets(X, weight, seeds, given.closure, self.n_clusters)]
        return min(
            (self._lloyd(X, weight, start) for start in starts),
            key=lambda result: result.objective,
        )

    def _lloyd(self, X, weight, start):
        """Return where k-means ends; rows with a fixed label keep it."""
        is_fixed = self._is_fixed(start)
        labels, centres = np.full(len(X), -1), start.centres
        n_iter, converged = 0, False
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            distances = squared_distances(X, centres)
            new_labels = nearest(distances, labels)
            new_labels[is_fixed] = start.labels[is_fixed]
            cost = weight * distances[np.arange(len(X)), new_labels]
            fill_empty(new_labels, cost, self.n_clusters, ~is_fixed)
            converged = np.array_equal(new_labels, labels)
            labels = new_labels
            centres = means(X, labels, self.n_clusters, weight)
        objective = inertia(X, labels, centres, weight)
        return CentreResult(labels, centres, objective, n_iter, converged)


class SeededKMeans(_SeedClusterer):
    """k-means whose first centres are the means of seed sets.

    The method of Basu, Banerjee and Mooney (2002). Seeds are rows with a label in
    ``y``, and rows must-linked to them. The cluster of a label is its place in the
    order of the label values. Clusters without a label take must-link components as
    seed sets: the largest, then always the one farthest from the seeds so far; then
    single rows with a cannot-link; then the farthest rows, which count as starts but
    not as seeds. Seeds may change their cluster on the way.

    Without labels and pairs this is k-means: the best of ten k-means++ starts.

    X is not standardised: put a ``StandardScaler`` in front where scales differ.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_iter : int, default=100
        Limit on the number of assignment steps.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Draws the starts if there are no labels and no pairs; seeds leave nothing to
        chance.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Their means.
    objective_ : float
        Inertia: the sum of squared distances to the centres, times the weights.
    n_iter_ : int
        Number of assignment steps.
    converged_ : bool
        Whether the labels came to rest before ``max_iter``.
    constraint_score_ : float
        Share of the entailed pairs, by weight, that hold; NaN if there are none.
    n_violated_ : int
        Number of entailed pairs that do not hold.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import SeededKMeans
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> SeededKMeans(2).fit_predict(X, [1, -1, -1, 0])
    array([1, 1, 0, 0])
    """

    def _is_fixed(self, start):
        return np.zeros(len(start.labels), dtype=bool)


class ConstrainedKMeans(_SeedClusterer):
    """k-means whose seeds keep their clusters.

    As :class:`SeededKMeans`, but a seed stays in the cluster it starts in. That holds
    all labels, and must-links inside seed sets; other pairs may be broken.

    X is not standardised: put a ``StandardScaler`` in front where scales differ.

    Parameters
    ----------
    n_clusters, max_iter, on_conflict, random_state
        As in :class:`SeededKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, objective_, n_iter_, converged_, constraint_score_, \
            n_violated_, n_features_in_, feature_names_in_
        As in :class:`SeededKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import ConstrainedKMeans
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> ConstrainedKMeans(2).fit_predict(X, [1, 0, -1, 0])
    array([1, 0, 0, 0])
    """

    def _is_fixed(self, start):
        is_fixed = start.labels >= 0
        n_without = self.n_clusters - len(np.unique(start.labels[is_fixed]))
        n_free = len(is_fixed) - np.count_nonzero(is_fixed)
        if n_free < n_without:
            raise InfeasibleConstraintsError(
                f"Seeds fix the clusters of all but {n_free} rows, too few for the "
                f"{n_without} of n_clusters={self.n_clusters} clusters that have no "
                "seed. Ask for fewer clusters or give fewer seeds."
            )
        return is_fixed


def _classes(y, n_samples: int, n_clusters: int) -> IntArray:
    """Return the cluster that y gives to each row, -1 where it gives none."""
    if y is None:
        return np.full(n_samples, -1)
    codes = label_codes(np.asarray(y) if hasattr(y, "__array__") else y, -1)
    known = np.flatnonzero(codes >= 0)
    firsts = known[np.unique(codes[known], return_index=True)[1]]
    if len(firsts) > n_clusters:
        raise ValueError(
            f"y has {len(firsts)} label values, but n_clusters={n_clusters}: there can "
            "be at most as many as clusters."
        )
    values = np.asarray(y, dtype=object).ravel()[firsts].tolist()
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        order = list(range(len(values)))  # no common order: as they first appear
    place = np.empty(len(order) + 1, dtype=np.intp)
    place[order], place[-1] = np.arange(len(order)), -1
    return place[codes]


def _known_labels(classes: IntArray, closure: Closure) -> IntArray:
    """Return the classes (n,) with those of must-linked rows, where they agree."""
    low = np.full(closure.n_components, len(classes))
    high = np.full(closure.n_components, -1)
    known = np.flatnonzero(classes >= 0)
    np.minimum.at(low, closure.component[known], classes[known])
    np.maximum.at(high, closure.component[known], classes[known])
    # They disagree only where on_conflict="drop" gave up the labels' own pairs.
    of_component = np.where(low == high, high, -1)
    return np.where(classes >= 0, classes, of_component[closure.component])


def _plusplus(
    X: FloatArray, n_clusters: int, weight: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return the centres of a k-means++ start, (k, d)."""
    seed = int(rng.integers(2**32))
    return kmeans_plusplus(X, n_clusters, sample_weight=weight, random_state=seed)[0]


def _seed_sets(
    X: FloatArray,
    weight: FloatArray,
    known: IntArray,
    closure: Closure,
    n_clusters: int,
) -> _Seeds:
    """Return the seeds: rows with a known class, then components, then rows.

    Components are chosen farthest-first by the squared distance of their centroids.
    """
    labels = known.copy()
    n_labels = known.max() + 1
    centres = np.empty((n_clusters, X.shape[1]))
    candidates = means(X, closure.component, closure.n_components, weight)
    tier = np.where(_touched(known, closure), 3, closure.tier)  # 3: used up
    near = np.full(closure.n_components, np.inf)
    row_near = np.full(len(X), np.inf)
    for c in range(n_clusters):
        if c < n_labels:
            is_seed = known == c
            centres[c] = weight[is_seed] @ X[is_seed] / weight[is_seed].sum()
        elif tier.min() < 3:
            # Infinite for all while there is no seed: the largest component is first.
            g = int(np.argmax(np.where(tier == tier.min(), near, -np.inf)))
            if tier[g] < 2:
                labels[closure.component == g] = c
            centres[c], tier[g] = candidates[g], 3
        else:
            centres[c] = X[np.argmax(row_near)]
        near = np.minimum(near, squared_distances(candidates, centres[c : c + 1])[:, 0])
        row_near = np.minimum(row_near, squared_distances(X, centres[c : c + 1])[:, 0])
    return _Seeds(labels, centres)


def _touched(known: IntArray, closure: Closure) -> BoolArray:
    """Return which components hold a row of a known class, (g,)."""
    touched = np.zeros(closure.n_components, dtype=bool)
    touched[closure.component[known >= 0]] = True
    return touched
