"""Methods that work on dense rows and end with one centre per cluster."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.doors import (
    ConstrainedClusterer,
    FitInput,
    attributes_of,
    row_shares,
)


class CentreResult(NamedTuple):
    """Where a method ended."""

    labels: IntArray  # (n,), every cluster has at least one point
    centres: FloatArray  # (k, d)
    objective: float
    n_iter: int
    converged: bool


class DenseClusterer(ConstrainedClusterer):
    """Methods that take dense rows of float64 alone."""

    def _check_data(self, X, *, reset):
        """Return X as a dense array of float64."""
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class CentreClusterer(DenseClusterer):
    """The shared part of ``fit``, and prediction by the nearest centre.

    A subclass has ``_cluster(given, X)``, which returns a CentreResult; X is the data
    moved to mean zero, where differences of squares lose the least.
    """

    def _fit(self, given: FitInput):
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given: FitInput):
        mean = given.data.mean(axis=0)
        result = self._cluster(given, given.data - mean)
        return {
            **attributes_of(result, given.closure),
            "objective_": result.objective,
            "cluster_centers_": result.centres + mean,
        }

    def predict(self, X):
        """Return the nearest centre of each row; pairs play no part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Clusters.
        """

        def nearest_centre(rows):
            mean = self.cluster_centers_.mean(axis=0)
            distances = squared_distances(rows - mean, self.cluster_centers_ - mean)
            return distances.argmin(axis=1)

        return self._predict_blocks(X, nearest_centre)


def squared_distances(X: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the squared distances of rows to centres, shape (n, k)."""
    distances = X @ (-2.0 * centres.T)
    distances += np.einsum("ij,ij->i", X, X)[:, None]
    distances += np.einsum("ij,ij->i", centres, centres)
    return np.maximum(distances, 0.0, out=distances)


def rounding_of(distances: FloatArray) -> float:
    """Return the difference below which two of the distances are equal."""
    return 1e-12 * float(distances.max())


def nearest(distances: FloatArray, current: IntArray) -> IntArray:
    """Return the nearest centre of each row, the current one (-1: none) if as near.

    Other ties go to the lowest index.
    """
    limit = distances.min(axis=1) + rounding_of(distances)
    labels = (distances <= limit[:, None]).argmax(axis=1)
    # A label of -1 reads the last column, and is not kept.
    is_as_near = distances[np.arange(len(distances)), current] <= limit
    return np.where(is_as_near & (current >= 0), current, labels)


def fill_empty(
    labels: IntArray,
    cost: FloatArray,
    n_clusters: int,
    movable: BoolArray | None = None,
) -> None:
    """Give each empty cluster the costliest item of a larger one, in place.

    Of equally costly items the first is taken: the two of a cluster of two always are.
    Only ``movable`` items are taken, if given; there must be enough of them.
    """
    n_members = np.bincount(labels, minlength=n_clusters)
    cost = cost.copy() if movable is None else np.where(movable, cost, -np.inf)
    for empty in np.flatnonzero(n_members == 0).tolist():
        candidates = np.where(n_members[labels] > 1, cost, -np.inf)
        most = candidates.max()
        item = int(np.argmax(candidates >= most - 1e-12 * abs(most)))
        n_members[labels[item]] -= 1
        n_members[empty] = 1
        labels[item], cost[item] = empty, -np.inf


def means(
    X: FloatArray,
    labels: IntArray,
    n_clusters: int,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the mean row of each cluster, shape (k, d); none is empty."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    return row_shares(labels, weight, n_clusters).T @ X


def inertia(
    X: FloatArray,
    labels: IntArray,
    centres: FloatArray,
    sample_weight: FloatArray | None = None,
) -> float:
    """Return the sum of squared distances of the rows to their centres."""
    away = X - centres[labels]
    cost = np.einsum("ij,ij->i", away, away)
    return float(cost.sum() if sample_weight is None else cost @ sample_weight)


def distinct_points(n_points: int, n_clusters: int, rng: np.random.Generator):
    """Return random distinct points, shape (n_clusters,)."""
    return rng.choice(n_points, n_clusters, replace=False)
