"""Geometries that k-means can work in.

A Space knows inner products between points only through sums over groups of points.
That is all that k-means, the farthest-first start and prediction need, and it lets
one implementation of each serve kernel matrices and explicit features alike.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._jit import inner_sums, move_rows

# Sums are brought up to date row by row; this often they are taken anew, so that
# rounding errors cannot pile up.
_MOVES_BETWEEN_REBUILDS = 20


class GroupSums(Protocol):
    """Kernel sums over groups of points, kept up to date while points move."""

    sums: FloatArray  # (k, n) F: sum of w_j K_ij over the members j of each group
    inner: FloatArray  # (k,) Q: sum of w_i w_j K_ij over pairs of members
    mass: FloatArray  # (k,) N: sum of the weights of the members

    def move(self, labels: IntArray, n_moved: int | None = None) -> None:
        """Change the groups to ``labels``; ``n_moved`` points are known to differ."""


class Space(Protocol):
    """What k-means needs of a geometry."""

    n_samples: int
    sample_weight: FloatArray  # (n,)
    diagonal: FloatArray  # (n,) K_ii

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the sums over the groups ``labels``; -1 puts a point in no group."""

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return K_ij of the listed pairs."""

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""


def _weights_or_ones(sample_weight: FloatArray | None, n_samples: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_samples)
    return np.asarray(sample_weight, dtype=np.float64)


def _largest_distance(
    diagonal: FloatArray, gram_rows: Callable[[slice], FloatArray]
) -> float:
    """Return the largest squared distance, from blocks of rows of the Gram matrix."""
    largest = 0.0
    for block in gen_batches(len(diagonal), 256):
        distances = diagonal[block, None] - 2.0 * gram_rows(block) + diagonal
        largest = max(largest, float(distances.max()))
    return largest


class GramSpace:
    """The geometry of a kernel matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Symmetric, float32 or float64. Sums over it are taken in float64.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each point; one by default.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 9.0, 10.0, 11.0])
    >>> sums = GramSpace(np.outer(x, x)).group_sums(np.array([0, 1, 1, 1, 1]), 2)
    >>> sums.mass.tolist(), sums.inner.tolist()
    ([1.0, 4.0], [0.0, 961.0])
    """

    def __init__(
        self, gram: FloatArray, sample_weight: FloatArray | None = None
    ) -> None:
        self.gram = gram
        self.n_samples = len(gram)
        self.sample_weight = _weights_or_ones(sample_weight, len(gram))
        self.diagonal = gram.diagonal().astype(np.float64)
        self._known: tuple[IntArray, GroupSums] | None = None

    def remember(self, labels: IntArray, sums: GroupSums) -> None:
        """Keep sums that are known already, for when exactly ``labels`` is asked."""
        self._known = labels, sums

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the kernel sums over the groups ``labels``."""
        if self._known is not None and self._known[0] is labels:
            return self._known[1]
        return GramSums(self.gram, self.sample_weight, labels, n_groups)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the kernel values of the listed pairs."""
        return self.gram[i, j].astype(np.float64)

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return _largest_distance(self.diagonal, lambda rows: self.gram[rows])


class GramSums:
    """Group sums of a kernel matrix: rows of moved points are added and taken away."""

    def __init__(
        self,
        gram: FloatArray,
        sample_weight: FloatArray,
        labels: IntArray,
        n_groups: int,
    ) -> None:
        self._gram = gram
        self._sample_weight = sample_weight
        self.sums = np.zeros((n_groups, len(gram)))
        self.inner = np.empty(n_groups)
        self.mass = np.zeros(n_groups)
        self._labels = np.full(len(gram), -1)
        self._n_moves = 0
        self._change(labels)

    def move(self, labels: IntArray, n_moved: int | None = None) -> None:
        """Change the groups to ``labels``."""
        if n_moved is None:
            n_moved = int(np.count_nonzero(labels != self._labels))
        self._n_moves += 1
        if 2 * n_moved >= len(labels) or self._n_moves % _MOVES_BETWEEN_REBUILDS == 0:
            self.sums[:] = 0.0
            self.mass[:] = 0.0
            self._labels[:] = -1
        self._change(labels)

    def _change(self, labels: IntArray) -> None:
        move_rows(
            self._gram, self._sample_weight, self._labels, labels, self.sums, self.mass
        )
        inner_sums(self.sums, self._sample_weight, labels, self.inner)
        self._labels[:] = labels


class FeatureSpace:
    """The geometry of explicit features: K_ij is the inner product of two rows.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Best near the origin: distances are taken as differences of inner products.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each point; one by default.
    """

    def __init__(
        self, features: FloatArray, sample_weight: FloatArray | None = None
    ) -> None:
        self.features = features
        self.n_samples = len(features)
        self.sample_weight = _weights_or_ones(sample_weight, len(features))
        self.diagonal = np.einsum(
            "ij,ij->i", features, features, dtype=np.float64, casting="safe"
        )

    def group_sums(self, labels: IntArray, n_groups: int) -> "FeatureSums":
        """Return the kernel sums over the groups ``labels``."""
        return FeatureSums(self.features, self.sample_weight, labels, n_groups)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the inner products of the listed pairs of rows."""
        return np.einsum("ij,ij->i", self.features[i], self.features[j])

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return _largest_distance(
            self.diagonal, lambda rows: self.features[rows] @ self.features.T
        )


class FeatureSums:
    """Group sums of features: group totals first, then their products with all rows."""

    def __init__(
        self,
        features: FloatArray,
        sample_weight: FloatArray,
        labels: IntArray,
        n_groups: int,
    ) -> None:
        self._features = features
        self._sample_weight = sample_weight
        self._totals = np.zeros((n_groups, features.shape[1]))
        self.mass = np.zeros(n_groups)
        self._labels = np.full(len(features), -1)
        self._n_moves = 0
        self._change(labels)

    def move(self, labels: IntArray, n_moved: int | None = None) -> None:
        """Change the groups to ``labels``."""
        self._n_moves += 1
        if self._n_moves % _MOVES_BETWEEN_REBUILDS == 0:
            self._totals[:] = 0.0
            self.mass[:] = 0.0
            self._labels[:] = -1
        self._change(labels)

    def _change(self, labels: IntArray) -> None:
        move_rows(
            self._features,
            self._sample_weight,
            self._labels,
            labels,
            self._totals,
            self.mass,
        )
        self.sums = self._totals @ self._features.T
        self.inner = np.einsum("ij,ij->i", self._totals, self._totals)
        self._labels[:] = labels
