"""The geometry of a kernel that is known by its values with landmarks."""

import numpy as np
from scipy.linalg import lapack

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._eigen import eigen
from linkwise.kernels._spaces import RowSpace, Totals, largest_distance, row_totals

# What is added to the diagonal of W, as a share of its trace: the least that rounding
# to float32 allows. In an indefinite W, small eigenvalues are dropped instead.
_RIDGE = 1e-9
_LEAST_EIGENVALUE = 1e-6


class LandmarkSpace(RowSpace):
    """The geometry of a kernel that is known by its values with landmarks.

    Parameters
    ----------
    cross : ndarray of shape (n_samples, n_landmarks), float32
        Kernel values between points and landmarks.
    core : ndarray of shape (n_landmarks, n_landmarks)
        Pseudo-inverse of the kernel values among the landmarks.
    diagonal : ndarray of shape (n_samples,)
        The exact K_ii: points keep the part of them that landmarks do not see.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each point; one by default.
    """

    core: FloatArray

    def fixed_totals(self, labels: IntArray, n_groups: int) -> Totals:
        """Return totals over groups: here nothing is known before."""
        totals, mass = row_totals(self, labels, n_groups)
        return Totals(totals, np.einsum("ij,ij->i", totals @ self.core, totals), mass)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the approximate kernel values of the listed pairs."""
        return np.einsum("ij,ij->i", self.rows[i] @ self.core, self.rows[j])

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        spread = self.core @ self.rows.T
        return largest_distance(self.diagonal, lambda block: self.rows[block] @ spread)


def positive_inverse(among: FloatArray, ridge: float = _RIDGE) -> FloatArray:
    """Return the inverse of a symmetric matrix, of its positive part if indefinite.

    A little is added to the diagonal, in shares of the trace: kernels are often of low
    rank, and the directions that are missing must not divide by zero.
    """
    size = len(among)
    regular = among.copy()
    least = ridge * float(np.trace(among))
    regular[np.diag_indices(size)] += least
    factor, failed = lapack.dpotrf(regular, lower=1, overwrite_a=1)
    if not failed:
        inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    # Smaller eigenvalues than what was added: some were negative before.
    if failed or 2.0 < least * inverse.diagonal().max():
        # Negative eigenvalues of an indefinite kernel are no geometry: dropped.
        values, vectors = eigen(among, "evd")
        kept = values > _LEAST_EIGENVALUE * values[-1]
        vectors = vectors[:, kept] / np.sqrt(values[kept])
        return vectors @ vectors.T
    lower = np.tril(inverse, -1)
    return np.ascontiguousarray(lower + lower.T + np.diag(inverse.diagonal()))
