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
from linkwise.kernels._jit import move_groups, move_rows

# Sums are brought up to date row by row; after as many moves they are taken anew, so
# that rounding errors cannot pile up.
REBUILD_EVERY = 20

_IDENTITY = np.empty((0, 0))


class GroupSums:
    """Kernel sums over groups of points, kept up to date while points move.

    At first no point is in a group.

    Group totals of some rows are kept, and the sums follow from them: for a kernel
    matrix they are the totals of its own rows; for features, the products of the
    totals with all rows; for landmarks, with a matrix between the two.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, m)
        What is summed over groups.
    core : ndarray of shape (m, m) or None
        The sums are ``totals @ core @ rows.T``; an empty one stands for the identity.
        None: the sums are the totals.
    sample_weight : ndarray of shape (n_samples,)
        Multiplicity of each point.
    n_groups : int
        Number of groups.

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
        rows: FloatArray,
        core: FloatArray | None,
        sample_weight: FloatArray,
        n_groups: int,
    ) -> None:
        n_samples = len(rows)
        self.rows, self.core, self.sample_weight = rows, core, sample_weight
        self.totals = np.zeros((n_groups, rows.shape[1]))
        self.sums = (
            self.totals if core is None else np.zeros((n_groups, n_samples), rows.dtype)
        )
        self.inner, self.mass = np.zeros(n_groups), np.zeros(n_groups)
        self.labels = np.empty(n_samples, np.intp)
        self.labels.fill(-1)  # for so few, faster than np.full
        self.explained = 0.0
        self._n_moves = 0

    def move(self, labels: IntArray) -> None:
        """Change the groups to ``labels``; -1 puts a point in no group."""
        n_moved = np.count_nonzero(labels != self.labels)
        self._n_moves += 1
        rebuild = 2 * n_moved >= len(labels) or self._n_moves % REBUILD_EVERY == 0
        self.explained = move_groups(
            self.rows,
            self.core,
            self.sample_weight,
            self.labels,
            np.array(labels, dtype=np.intp),  # one type for the compiled loop
            rebuild,
            False,
            self.totals,
            self.sums,
            self.mass,
            self.inner,
        )


class Totals(NamedTuple):
    """What is known of fixed groups; as attributes of GroupSums."""

    totals: FloatArray
    inner: FloatArray
    mass: FloatArray


class Space(Protocol):
    """What k-means needs of a geometry."""

    n_samples: int
    sample_weight: FloatArray  # (n,)
    diagonal: FloatArray  # (n,) K_ii
    rows: FloatArray  # (n, m), these two as in GroupSums
    core: FloatArray | None

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the sums over the groups ``labels``; -1 puts a point in no group."""

    def fixed_totals(self, labels: IntArray, n_groups: int) -> Totals:
        """Return totals over groups that will not change.

        Where those of these very ``labels`` are known before, it costs nothing.
        """

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return K_ij of the listed pairs."""

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""


def as_input(array: FloatArray) -> FloatArray:
    """Return an array as compiled loops get it.

    For each other layout, and once more for arrays that may be written to, they would
    be compiled again.
    """
    seen = np.ascontiguousarray(array).view()
    seen.flags.writeable = False
    return seen


class RowSpace:
    """A geometry that its ``rows`` and ``core`` describe."""

    def __init__(
        self,
        rows: FloatArray,
        core: FloatArray | None,
        diagonal: FloatArray,
        sample_weight: FloatArray | None = None,
    ) -> None:
        if sample_weight is None:
            sample_weight = np.ones(len(rows))
        self.n_samples = len(rows)
        self.rows, self.diagonal = as_input(rows), as_input(diagonal)
        self.core = None if core is None else as_input(core)
        self.sample_weight = as_input(np.asarray(sample_weight, dtype=np.float64))

    def group_sums(self, labels: IntArray, n_groups: int) -> GroupSums:
        """Return the kernel sums over the groups ``labels``."""
        sums = GroupSums(self.rows, self.core, self.sample_weight, n_groups)
        sums.move(labels)
        return sums


def largest_distance(
    diagonal: FloatArray, gram_rows: Callable[[slice], FloatArray]
) -> float:
    """Return the largest squared distance, from blocks of rows of the Gram matrix."""
    largest = 0.0
    for block in gen_batches(len(diagonal), 256):
        distances = diagonal[block, None] - 2.0 * gram_rows(block) + diagonal
        largest = max(largest, float(distances.max()))
    return largest


class GramSpace(RowSpace):
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
        diagonal = gram.diagonal().astype(np.float64)
        # It is symmetric: of one whose columns are together in memory, those are rows.
        rows = gram if gram.flags.c_contiguous else gram.T
        super().__init__(rows, None, diagonal, sample_weight)
        self._known: tuple[IntArray, Totals] | None = None

    @property
    def gram(self) -> FloatArray:
        """The kernel matrix, shape (n_samples, n_samples)."""
        return self.rows

    def remember(self, labels: IntArray, totals: Totals) -> None:
        """Keep totals that are known, for when those of ``labels`` are asked for."""
        self._known = labels, totals

    def fixed_totals(self, labels: IntArray, n_groups: int) -> Totals:
        """Return totals over groups that will not change, perhaps known before."""
        if self._known is not None and self._known[0] is labels:
            return self._known[1]
        sums = self.group_sums(labels, n_groups)
        return Totals(sums.totals, sums.inner, sums.mass)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the kernel values of the listed pairs."""
        return self.gram[i, j].astype(np.float64)

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return largest_distance(self.diagonal, lambda rows: self.gram[rows])


class FeatureSpace(RowSpace):
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
        rows = np.ascontiguousarray(features, dtype=np.float64)
        diagonal = np.einsum("ij,ij->i", rows, rows)
        super().__init__(rows, _IDENTITY, diagonal, sample_weight)

    def fixed_totals(self, labels: IntArray, n_groups: int) -> Totals:
        """Return totals over groups: here nothing is known before."""
        totals, mass = row_totals(self, labels, n_groups)
        return Totals(totals, np.einsum("ij,ij->i", totals, totals), mass)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the inner products of the listed pairs of rows."""
        return np.einsum("ij,ij->i", self.rows[i], self.rows[j])

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        return largest_distance(
            self.diagonal, lambda block: self.rows[block] @ self.rows.T
        )


def row_totals(
    space: RowSpace, labels: IntArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted sums of the rows of each group, and their weights."""
    totals, mass = np.zeros((n_groups, space.rows.shape[1])), np.zeros(n_groups)
    nowhere = np.full(space.n_samples, -1)
    new = np.array(labels, dtype=np.intp)  # one type for the compiled loop
    move_rows(space.rows, space.sample_weight, nowhere, new, totals, mass)
    return totals, mass
