"""Rows of a Dask collection, of which no process holds all."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.engines._blas import one_blas_thread


def is_dask_collection(X: Any) -> bool:
    """Tell whether X is a Dask collection, without importing Dask."""
    return "dask" in sys.modules and hasattr(X, "__dask_graph__")


class DaskRows:
    """A matrix whose rows are in chunks that only workers hold.

    Parameters
    ----------
    X : dask array or data frame, of shape (n_samples, n_features)
        Numbers. Chunks of unknown length are measured, which takes one pass.
    """

    def __init__(self, X: Any) -> None:
        if hasattr(X, "to_dask_array"):
            X = X.to_dask_array(lengths=True)
        if getattr(X, "ndim", 0) != 2 or not hasattr(X, "compute_chunk_sizes"):
            raise ValueError(
                f"X is a Dask collection of type {type(X).__name__} with "
                f"{getattr(X, 'ndim', 'no')} dimensions: it must be a data frame or an "
                "array of rows and features."
            )
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        self.array = X.rechunk({1: -1}).astype(np.float64)
        self.shape: tuple[int, int] = self.array.shape

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> FloatArray:
        """Return some rows, which are brought here."""
        return np.asarray(self.array[rows].compute())

    def argmin(self, axis: int) -> IntArray:
        """Return where the least values are, as numpy does."""
        return np.asarray(self.array.argmin(axis=axis).compute())

    def argmax(self, axis: int) -> IntArray:
        """Return where the largest values are, as numpy does."""
        return np.asarray(self.array.argmax(axis=axis).compute())

    def check_finite(self) -> None:
        """Raise if a value is missing or infinite, after one pass over the rows."""
        import dask.array as da

        if not bool(da.isfinite(self.array).all().compute()):
            raise ValueError(
                "Input X contains NaN or infinity. Fill in, replace or leave out such "
                "values first."
            )

    def map(
        self,
        function: Callable[[FloatArray, FloatArray | None], Any],
        sample_weight: FloatArray | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(rows, weights)`` of each chunk, called where it is."""
        from dask.base import compute
        from dask.delayed import delayed

        call = delayed(_on_one_thread, pure=False)
        chunks = self.array.to_delayed().ravel()
        yield from compute(  # type: ignore[no-untyped-call]
            *[
                call(
                    function,
                    chunk,
                    None if sample_weight is None else sample_weight[where],
                )
                for chunk, where in zip(chunks, self._bounds(), strict=True)
            ]
        )

    def lazily(self, function: Callable[[FloatArray, slice], IntArray]) -> Any:
        """Return a Dask array of what ``function(rows, where)`` gives, one per row.

        ``where`` tells which rows they are.
        """
        import dask.array as da
        from dask.delayed import delayed

        call = delayed(_on_one_thread)
        parts = [
            da.from_delayed(  # type: ignore[no-untyped-call]
                call(function, chunk, where), (where.stop - where.start,), np.intp
            )
            for chunk, where in zip(
                self.array.to_delayed().ravel(), self._bounds(), strict=True
            )
        ]
        return da.concatenate(parts)  # type: ignore[no-untyped-call]

    def _bounds(self) -> list[slice]:
        ends = np.cumsum([0, *self.array.chunks[0]]).tolist()
        return [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _on_one_thread(
    function: Callable[[FloatArray, Any], Any], rows: FloatArray, other: Any
) -> Any:
    with one_blas_thread():
        return function(rows, other)
