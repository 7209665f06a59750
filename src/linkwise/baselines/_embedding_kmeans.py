"""k-means on rows of an embedding, from must-link groups and from k-means++."""

import numpy as np

from linkwise._typing import FloatArray
from linkwise.clustering import KMeansResult, kmeans
from linkwise.constraints import Closure, Constraints
from linkwise.kernels import FeatureSpace


def best_kmeans(
    rows: FloatArray,
    closure: Closure,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    rng: np.random.Generator,
) -> KMeansResult:
    """Return the clusters of the least scatter.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The embedding.
    closure : Closure
        The pairs, from whose groups the first start comes.
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of starts by k-means++ beside it.
    max_iter : int
        Limit on the iterations of a start.
    rng : numpy.random.Generator
        Draws the starts.
    """
    space = FeatureSpace(rows)
    best = kmeans(space, closure, n_clusters, max_iter=max_iter)
    nothing = Constraints().closure(len(rows))
    n_trials = 2 + int(np.log(n_clusters))
    for _ in range(n_init):
        draws = rng.random((n_clusters, n_trials))
        found = kmeans(space, nothing, n_clusters, max_iter=max_iter, draws=draws)
        best = min(best, found, key=lambda result: result.objective)
    return best
