"""Geometries that k-means can work in.

A Space knows inner products between points only through sums over groups of points.
That is all that k-means, the farthest-first start and prediction need, and it lets
one implementation of each serve kernel matrices and explicit features alike.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._jit import move_groups

# Sums are brought up to date row by row; after as many moves they are taken anew, so
# that rounding errors cannot pile up.
REBUILD_EVERY = 20

_NO_SPREAD = np.empty((0, 0))


class GroupSums:
    """Kernel sums over groups of points, kept up to date while points move.

    At first no point is in a group.

    Group totals of some rows are kept, and the sums follow from them: for a kernel
    matrix they are the totals of its own rows; for features, the products of the
    totals with all rows.

    Attributes
    ----------
    sums : ndarray of shape (n_groups, n_samples)
        F: sum of w_j K_ij over the members j of each group.
    inner : ndarray of shape (n_groups,)
        Q: sum of w_i w_j K_ij over the members of each group.
    mass : ndarray of shape (n_groups,)
        N: sum of the weights of the members.
    explained : float
        Scatter that the centres explain, the sum of Q / N.
    """

    def __init__(
        self,
        rows: FloatArray,  # (n, m)
        spread: FloatArray,  # (m, n), takes totals to sums; empty if they are the same
        sample_weight: FloatArray,
        n_groups: int,
    ) -> None:
        n_samples = len(rows)
        self.rows, self.spread, self.sample_weight = rows, spread, sample_weight
        self.totals = np.zeros((n_groups, rows.shape[1]))
        self.sums = np.empty((n_groups, n_samples)) if spread.size else self.totals
        self.inner, self.mass = np.zeros((2, n_groups))
        self.labels = np.full(n_samples, -1)
        self.explained = 0.0
        self._n_moves = 0

    def move(self, labels: IntArray) -> None:
        """Change the groups to ``labels``; -1 puts a point in no group."""
        n_moved = np.count_nonzero(labels != self.labels)
        self._n_moves += 1
        rebuild = 2 * n_moved >= len(labels) or self._n_moves % REBUILD_EVERY == 0
        self.explained = move_groups(
            self.rows,
            self.spread,
            self.sample_weight,
            self.labels,
            np.array(labels, dtype=np.intp),  # one type for the compiled loop
            rebuild,
            self.totals,
            self.sums,
            self.mass,
            self.inner,
        )


class KnownSums(NamedTuple):
    """Group sums that are known for fixed groups; as attributes of GroupSums."""

    sums: FloatArray
    inner: FloatArray
    mass: FloatArray


class Space(Protocol):
    """What k-means needs of a geometry."""

    n_samples: int
    sample_weight: FloatArray  # (n,)
    diagonal: FloatArray  # (n,) K_ii

    def empty_sums(self, n_groups: int) -> GroupSums:
        """Return the sums over groups that have no points yet."""

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the sums over the groups ``labels``; -1 puts a point in no group."""

    def fixed_sums(self, labels: IntArray, n_groups: int) -> GroupSums | KnownSums:
        """Return the same sums for groups that will not change.

        Where the sums of these very ``labels`` are known before, it costs nothing.
        """

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
        self._known: tuple[IntArray, KnownSums] | None = None

    def remember(self, labels: IntArray, sums: KnownSums) -> None:
        """Keep sums that are known, for when ``fixed_sums`` of ``labels`` are asked."""
        self._known = labels, sums

    def empty_sums(self, n_groups: int) -> GroupSums:
        """Return the kernel sums over groups that have no points yet."""
        return GroupSums(self.gram, _NO_SPREAD, self.sample_weight, n_groups)

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the kernel sums over the groups ``labels``."""
        sums = self.empty_sums(n_groups)
        sums.move(labels)
        return sums

    def fixed_sums(self, labels: IntArray, n_groups: int) -> GroupSums | KnownSums:
        """Return the same sums, perhaps known before; the groups will not change."""
        if self._known is not None and self._known[0] is labels:
            return self._known[1]
        return self.group_sums(labels, n_groups)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the kernel values of the listed pairs."""
        return self.gram[i, j].astype(np.float64)

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return _largest_distance(self.diagonal, lambda rows: self.gram[rows])


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
        # One form of memory for the compiled loops.
        self.features = np.ascontiguousarray(features, dtype=np.float64)
        self.n_samples = len(features)
        self.sample_weight = _weights_or_ones(sample_weight, len(features))
        self.diagonal = np.einsum("ij,ij->i", self.features, self.features)

    def empty_sums(self, n_groups: int) -> GroupSums:
        """Return the kernel sums over groups that have no points yet."""
        features = self.features
        return GroupSums(features, features.T, self.sample_weight, n_groups)

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the kernel sums over the groups ``labels``."""
        sums = self.empty_sums(n_groups)
        sums.move(labels)
        return sums

    def fixed_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the same sums: here nothing is known before."""
        return self.group_sums(labels, n_groups)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the inner products of the listed pairs of rows."""
        return np.einsum("ij,ij->i", self.features[i], self.features[j])

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return _largest_distance(
            self.diagonal, lambda rows: self.features[rows] @ self.features.T
        )
