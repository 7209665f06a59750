"""How far rows are from the centres of clusters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray, IntArray
from linkwise.doors import row_shares
from linkwise.engines import one_blas_thread
from linkwise.estimators._blocks import ROWS_PER_BLOCK
from linkwise.estimators._kernel_clusterer import KernelClusterer
from linkwise.estimators._mahalanobis_csc import MahalanobisCSC
from linkwise.estimators._row_map import (
    as_it_is,
    last_step,
    plain_rows,
    reader,
)

ToCentres = Callable[[Any], FloatArray]


def centre_distances(model: Any, X: Any, labels: Any = None) -> FloatArray:
    """Return the squared distance of each row from the centre of each cluster.

    For a model with a learnt kernel or metric it is that by which ``predict`` finds the
    nearest centre. For other models, and without one, centres are the means of the rows
    of each label, and columns are standardised; those of sparse rows are not.

    Parameters
    ----------
    model : estimator or None
        Fitted; a pipeline prepares X with its first steps.
    X : array-like, sparse matrix, list of views or of objects
        Rows.
    labels : array-like of shape (n_samples,), optional
        Clusters of the rows, -1 for none; needed where a model has no centres.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)
        Not negative. Infinite for a cluster without rows. Where a Gram matrix stands in
        place of rows, they count as vectors of one length: 0 for the nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.estimators import centre_distances
    >>> X = np.array([[-2.0], [0.0], [2.0]])
    >>> centre_distances(None, X, [0, 0, 1]).round(1).tolist()
    [[0.4, 6.0], [0.4, 1.5], [3.4, 0.0]]
    """
    model, X = last_step(model, X)
    check = as_it_is
    if isinstance(model, KernelClusterer):
        check_is_fitted(model, "labels_")
        check, to_centres = model._check_data, _kernel_distances(model)
    elif isinstance(model, MahalanobisCSC):
        check_is_fitted(model, "labels_")
        check, to_centres = model._check_data, model._squared_distances
    else:
        X, points = plain_rows(X, np.random.default_rng(0))
        to_centres = _plain_distances(X, points, np.asarray(labels))
    n_samples, read = reader(X, check)
    with one_blas_thread():
        found = [
            to_centres(read(block)) for block in gen_batches(n_samples, ROWS_PER_BLOCK)
        ]
    return np.maximum(np.concatenate(found), 0.0)


def _kernel_distances(model: KernelClusterer) -> ToCentres:
    if model._kernel.is_of_rows:
        return model._squared_distances

    def to_centres(rows: Any) -> FloatArray:
        distances = model._to_centres(rows)
        return distances - distances.min(axis=1, keepdims=True)

    return to_centres


def _plain_distances(
    X: Any, points: Callable[[Any], Any], labels: IntArray
) -> ToCentres:
    """Return what gives the distances of rows from the means of their clusters."""
    k = int(labels.max(initial=-1)) + 1
    inside = np.flatnonzero(labels >= 0)
    shares = row_shares(labels[inside], np.ones(len(inside)), k).T
    means = shares @ points(X[inside])
    means = means.toarray() if issparse(means) else means
    is_empty = np.bincount(labels[inside], minlength=k) == 0

    def to_centres(rows: Any) -> FloatArray:
        distances = pairwise_distances(points(rows), means) ** 2
        distances[:, is_empty] = np.inf
        return distances

    return to_centres
