"""Rows of length 1 on a few principal components, for mixtures on the sphere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD

from linkwise._typing import FloatArray
from linkwise.kernels import Known, eigen, within_groups

# Components whose standard deviation is below this share of the largest are rounding.
_ROUNDING = 1e-6
# Rows that are prepared at a time.
_ROWS_PER_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Brings rows to length 1, centres them, keeps the main directions, and again.

    Make one with :meth:`fit`; call it with any rows.

    Attributes
    ----------
    mean : ndarray of shape (n_components,)
        Mean of the training rows along the directions.
    directions : ndarray of shape (n_features, n_components), float32
        Principal directions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> prepared = UnitRows.fit(X)
    >>> rows = prepared(X)
    >>> rows.shape, np.linalg.norm(rows, axis=1).round(6).tolist()
    ((3, 2), [1.0, 1.0, 1.0])
    """

    mean: FloatArray
    directions: FloatArray

    @classmethod
    def fit(
        cls,
        X: Any,
        n_components: int = 128,
        sample_weight: FloatArray | None = None,
    ) -> "UnitRows":
        """Learn the main directions of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data. Sparse rows stay sparse: a truncated decomposition finds the
            directions, which are those of rows that are not centred.
        n_components : int, default=128
            Number of directions at most.
        sample_weight : ndarray of shape (n_samples,), optional
            Multiplicity of each row.
        """
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        share = weight / weight.sum()
        if issparse(X):
            directions = _of_sparse(X, share, n_components)
        else:
            directions = _principal(_unit(X), share, n_components)
        directions = directions.astype(np.float32)
        found = cls(np.zeros(directions.shape[1], np.float32), directions)
        mean = share.astype(np.float32) @ found._projected(X)
        return cls(mean, directions)

    @classmethod
    def fit_within(
        cls,
        rows: FloatArray,
        known: Known,
        sample_weight: FloatArray | None = None,
    ) -> "UnitRows":
        """Learn to shrink the directions in which rows of one group differ.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            Rows of length 1.
        known : Known
            Groups of rows that belong together. Without any, rows stay as they are.
        sample_weight : ndarray of shape (n_samples,), optional
            Multiplicity of each row.
        """
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight
        directions = np.eye(rows.shape[1])
        if known.n_groups > 0:
            covariance, _, _ = within_groups(rows.astype(np.float64), known)
            values, vectors = eigen(covariance, "evr")
            # Lengths as they were on the whole: the rounding of zeros stays small.
            directions = vectors * np.sqrt(values.min() / values)
        directions = directions.astype(np.float32)
        share = (weight / weight.sum()).astype(np.float32)
        return cls(share @ (rows @ directions), directions)

    def __call__(self, X: Any) -> FloatArray:
        """Return rows of length 1, shape (n_rows, n_components), float32.

        A row in the very middle has length 0.
        """
        found = self._projected(X)
        found -= self.mean
        return unit(found)

    def _projected(self, X: Any) -> FloatArray:
        found = np.empty((X.shape[0], self.directions.shape[1]), np.float32)
        for start in range(0, X.shape[0], _ROWS_PER_BLOCK):
            block = slice(start, start + _ROWS_PER_BLOCK)
            found[block] = _unit(X[block]) @ self.directions
        return found


def unit(rows: FloatArray) -> FloatArray:
    """Return rows of length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0.0] = 1.0
    return rows / lengths[:, None]


def _unit(X: Any) -> Any:
    """Return rows of length 1, dense or sparse; in float32 where they are dense."""
    if not issparse(X):
        # Scaled first: squares of large or tiny values leave float32.
        largest = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
        largest[largest == 0.0] = 1.0
        return unit((X / largest).astype(np.float32))
    X = X.tocsr().astype(np.float64)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    lengths[lengths == 0.0] = 1.0
    return X.multiply((1.0 / lengths)[:, None]).tocsr()


def _principal(rows: FloatArray, share: FloatArray, n_components: int) -> FloatArray:
    """Return the main principal directions, (n_features, n_components)."""
    centred = rows.astype(np.float64)
    centred -= share @ centred
    centred *= np.sqrt(share)[:, None]
    n, d = centred.shape
    if d <= n:
        values, vectors = np.linalg.eigh(centred.T @ centred)
    else:
        values, small = np.linalg.eigh(centred @ centred.T)
        vectors = centred.T @ small
    kept = _kept(np.sqrt(np.maximum(values, 0.0)), n_components)
    return unit(vectors[:, kept].T).T


def _of_sparse(X: Any, share: FloatArray, n_components: int) -> FloatArray:
    weighted = _unit(X).multiply(np.sqrt(share)[:, None]).tocsr()
    n_wanted = max(1, min(n_components, X.shape[1] - 1, X.shape[0] - 1))
    found = TruncatedSVD(n_wanted, random_state=0).fit(weighted)
    return found.components_[_kept(found.singular_values_, n_wanted)].T


def _kept(deviations: FloatArray, n_components: int) -> Any:
    """Return the largest components, largest first; at least one."""
    order = np.argsort(-deviations, kind="stable")[:n_components]
    is_real = deviations[order] > _ROUNDING * max(deviations.max(), 1e-300)
    return order[: max(1, int(is_real.sum()))]
