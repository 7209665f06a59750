"""Eigenvalues of symmetric matrices, also where the fast routine gives up."""

import numpy as np
import scipy.linalg

from linkwise._typing import FloatArray


def eigen(
    matrix: FloatArray, driver: str | None = None, n_largest: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, ascending, and vectors of a symmetric matrix.

    The fast routines give up on a few matrices with nothing wrong about them. The
    slowest one, by rotations of a tridiagonal matrix, then takes their place.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and finite.
    driver : {"evd", "evr"}, optional
        Routine of LAPACK to begin with, as scipy calls it; None: numpy's.
    n_largest : int, optional
        How many of the largest are wanted, for "evr"; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> eigen(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    size = len(matrix)
    first = 0 if n_largest is None else size - n_largest
    try:
        if driver is None:
            return np.linalg.eigh(matrix)
        subset = None if n_largest is None else [first, size - 1]
        return scipy.linalg.eigh(matrix, driver=driver, subset_by_index=subset)
    except np.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
        return values[first:], vectors[:, first:]


def signed(vectors: FloatArray) -> FloatArray:
    """Return vectors, in columns, whose largest entries are positive.

    The sign of an eigenvector is a matter of the routine.

    Examples
    --------
    >>> import numpy as np
    >>> signed(np.array([[-0.8, 0.6], [0.6, 0.8]]))
    array([[ 0.8,  0.6],
           [-0.6,  0.8]])
    """
    largest = np.abs(vectors).argmax(axis=0)
    sign = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(sign == 0, 1.0, sign))
