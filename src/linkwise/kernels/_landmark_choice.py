"""Which rows are landmarks, and of which others further ones are means."""

from typing import Any, Literal

import numpy as np
import scipy.linalg
from scipy.sparse import issparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._distinct import distinct_rows
from linkwise.kernels._entries import Means, SeveralSets
from linkwise.kernels._learnt_views import WithinWhitened
from linkwise.kernels._views import Known, Standardized, View

LandmarkChoice = Literal["uniform", "kmeans++"]

# Of all landmarks, the share that may be means of groups; and how many rows they are
# made of at the most, in numbers of landmarks.
_SHARE_OF_MEANS = 1 / 3
_ROWS_OF_MEANS = 4
# A group much smaller than the largest would take rows from the clusters of those.
_LEAST_SIZE = 0.1


def drawn_landmarks(
    sources: SeveralSets,
    n_landmarks: int,
    sample_weight: FloatArray,
    choice: LandmarkChoice,
    groups: IntArray | None,
    rng: np.random.Generator,
) -> tuple[IntArray, Means | None]:
    """Return the rows of which landmarks are made, and how.

    No two rows that are landmarks by themselves are equal, and they are ascending.
    """
    X = sources[0]
    if len(sources) == 1:
        rows = distinct_rows(X)[0]
    else:
        rows = np.arange(len(sample_weight))
    if n_landmarks >= len(rows):
        return rows, None
    members: list[IntArray] = []
    if groups is not None and len(sources) == 1 and _is_matrix(X):
        members = _members(X, groups, n_landmarks, sample_weight, rng)
    n_single = n_landmarks - len(members)
    if choice == "kmeans++":
        single = _far_rows(X, n_single, sample_weight, rng)
    else:
        single = np.sort(rng.choice(rows, n_single, replace=False))
    if not members:
        return single, None
    sizes = [len(m) for m in members]
    shares = scipy.linalg.block_diag(*[np.full((s, 1), 1.0 / s) for s in sizes])
    return np.concatenate([single, *members]), Means(len(single), shares)


def _members(
    X: Any,
    groups: IntArray,
    n_landmarks: int,
    sample_weight: FloatArray,
    rng: np.random.Generator,
) -> list[IntArray]:
    """Return rows that are nearest to each of the largest groups, a sample of them."""
    sizes = np.bincount(groups[groups >= 0])
    largest = np.argsort(-sizes, kind="stable")[: int(_SHARE_OF_MEANS * n_landmarks)]
    sizes = sizes[largest]
    largest = largest[(sizes > 1) & (sizes >= _LEAST_SIZE * sizes.max(initial=0))]
    if len(largest) == 0:
        return []
    # Under a metric learnt from the groups, so that rows of one cluster are together.
    view: View = Standardized() if issparse(X) else WithinWhitened()
    points = view.fit(X, sample_weight, Known(groups, len(largest))).transform(X).values
    centres = np.concatenate(
        [np.asarray(points[groups == g].mean(axis=0)).reshape(1, -1) for g in largest]
    )
    nearest = pairwise_distances_argmin(points, centres)
    members = [np.flatnonzero(nearest == j) for j in range(len(largest))]
    members = [rows for rows in members if len(rows) > 1]
    sizes = np.array([len(rows) for rows in members])
    limit = _largest_limit(sizes, _ROWS_OF_MEANS * n_landmarks)
    return [
        rows if len(rows) <= limit else np.sort(rng.choice(rows, limit, replace=False))
        for rows in members
    ]


def _largest_limit(sizes: IntArray, total: int) -> int:
    """Return how many each may have at the most, so that all have no more than this."""
    low, high = 1, max(1, int(sizes.max(initial=1)))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(sizes, middle).sum() <= total:
            low = middle
        else:
            high = middle - 1
    return low


def _is_matrix(X: Any) -> bool:
    return hasattr(X, "shape") and len(X.shape) == 2


def _scaled(X: Any, sample_weight: FloatArray) -> Any:
    """Return the rows with columns of spread 1."""
    spread = Standardized().fit(X, sample_weight).scale
    assert spread is not None
    return X.multiply(1.0 / spread).tocsr() if issparse(X) else X / spread


def _far_rows(
    X: Any, n_landmarks: int, sample_weight: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Return different rows that lie far from each other in the standardised data."""
    if not _is_matrix(X):
        raise ValueError(
            'choice="kmeans++" needs rows of numbers; X holds other objects. Use '
            'choice="uniform".'
        )
    seed = int(rng.integers(2**31))
    scaled = _scaled(X, sample_weight)
    found = kmeans_plusplus(
        scaled, n_landmarks, sample_weight=sample_weight, random_state=seed
    )[1]
    return np.unique(found).astype(np.intp)
