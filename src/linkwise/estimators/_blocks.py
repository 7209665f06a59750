"""All rows of the data, block by block, in a learnt geometry."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import (
    BlocksResult,
    Centres,
    Share,
    centres_of,
    descend_in_blocks,
    share_of,
)
from linkwise.doors import FitInput, n_rows, rows_of
from linkwise.engines import DaskRows, engine_here
from linkwise.estimators._working_set import WorkingSet

Transform = Callable[[Any], FloatArray]  # of rows of the data, to a learnt geometry
Labelling = Callable[[Centres], Any]  # (n,), a Dask array if the data are one
# Rows, ascending, and the labels that they have whatever is near.
Fixed = tuple[IntArray, IntArray]

# Fixed, so that sums do not depend on memory or on the number of jobs.
ROWS_PER_BLOCK = 4096
# Gain in explained scatter, relative, below which all rows get no further pass.
_TOLERANCE = 1e-4
# How often clusters that have lost all rows begin anew.
_MAX_NEW_STARTS = 5
# Squared distance from its centre, relative to the largest norm, of a row that lies
# apart from it.
_APART = 1e-6


def cluster_all_rows(
    model: Any,
    given: FitInput,
    transform: Transform,
    start: Centres,
    core: FloatArray,
    max_memory: float,
) -> tuple[BlocksResult, Labelling]:
    """Return where k-means over all rows ends, and how rows get labels then.

    Parameters
    ----------
    model : estimator
        Says ``max_iter`` and ``n_jobs``.
    given : FitInput
        The data, in memory, in a mapped file or on Dask workers.
    transform : callable
        Takes rows of the data to the geometry of ``start``.
    start : Centres
        Where to begin.
    core : ndarray
        Of the geometry, see ``descend_in_blocks``.
    max_memory : float
        Transformed rows are kept from the first pass on if they fit into half of it.

    Returns
    -------
    BlocksResult
        The centres.
    callable
        Takes centres, returns the nearest one of every row; a Dask array if the data
        are one. Rows that were kept are not transformed again.

    Notes
    -----
    A cluster that has lost all rows begins anew at the row that is farthest from its
    centre, if the rows are here.
    """
    options: dict[str, Any] = {"max_iter": model.max_iter, "tol": _TOLERANCE}
    if isinstance(given.data, DaskRows):
        data = given.data

        def of_chunks(centres: Centres) -> Iterable[Share]:
            on_chunk = partial(_share_of_chunk, centres, transform)
            return data.map(on_chunk, given.sample_weight)

        result = descend_in_blocks(of_chunks, start, core, **options)
        return result, partial(labels_of_all, model, data, transform)
    rows = _Rows(given, transform, max_memory, model.n_jobs)

    def descend(start: Centres) -> BlocksResult:
        return descend_in_blocks(rows.shares, start, core, **options)

    result = descend(start)
    for _ in range(_MAX_NEW_STARTS):
        labels = rows.labels(result.centres)
        anew = rows.begun_anew(result.centres, labels, core)
        if anew is None:
            break
        result = descend(anew)
    else:
        labels = rows.labels(result.centres)
    last = result.centres
    return result, lambda centres: labels if centres is last else rows.labels(centres)


def with_all_clusters(
    labels: IntArray, n_clusters: int, work: WorkingSet, own: IntArray
) -> IntArray:
    """Return labels under which each cluster has a row; they are changed in place.

    An empty one gets a row that it has in the working set, where its labels are
    ``own``, or else any other that is not alone in its cluster.
    """
    counts = np.bincount(labels, minlength=n_clusters)
    for cluster in np.flatnonzero(counts == 0):
        for rows in (work.rows[own == cluster], np.arange(len(labels))):
            rows = rows[counts[labels[rows]] > 1]
            if len(rows):
                counts[labels[rows[0]]] -= 1
                counts[cluster] = 1
                labels[rows[0]] = cluster
                break
    return labels


def labels_of_all(
    model: Any,
    data: Any,
    transform: Transform,
    centres: Centres,
    fixed: Fixed | None = None,
) -> Any:
    """Return the nearest centre of every row; a Dask array if the data are one."""
    if isinstance(data, DaskRows):
        return data.lazily(partial(_labels_of_chunk, centres, transform, fixed))

    def of_block(block: slice) -> IntArray:
        return centres.labels(transform(rows_of(data, block)))

    blocks = gen_batches(n_rows(data), ROWS_PER_BLOCK)
    labels = np.concatenate(list(engine_here(model.n_jobs).map(of_block, blocks)))
    if fixed is not None:
        labels[fixed[0]] = fixed[1]
    return labels


class _Rows:
    """Rows that are here, transformed once if there is room for all."""

    def __init__(
        self, given: FitInput, transform: Transform, max_memory: float, n_jobs: Any
    ) -> None:
        self._given, self._transform = given, transform
        self._engine = engine_here(n_jobs)
        n_samples = n_rows(given.data)
        self._blocks = list(gen_batches(n_samples, ROWS_PER_BLOCK))
        one = transform(rows_of(given.data, slice(0, 1)))
        has_room = n_samples * one.nbytes <= max_memory / 2
        self._kept: dict[int, FloatArray] | None = {} if has_room else None

    def shares(self, centres: Centres) -> Iterable[Share]:
        """Yield what each block adds to the clusters of some centres."""

        def of_block(block: slice) -> Share:
            weight = self._given.sample_weight
            weight = None if weight is None else weight[block]
            return share_of(centres, self._read(block), weight)

        return self._engine.map(of_block, self._blocks)

    def labels(self, centres: Centres) -> IntArray:
        """Return the nearest centre of every row."""
        found = self._engine.map(lambda b: centres.labels(self._read(b)), self._blocks)
        return np.concatenate(list(found))

    def begun_anew(
        self, centres: Centres, labels: IntArray, core: FloatArray
    ) -> Centres | None:
        """Return centres with those that have no rows put where rows are far away.

        None if all have rows, or no row lies apart from its centre.
        """
        k = len(centres.norms)
        empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
        if len(empty) == 0:
            return None
        # Of each block and cluster, the row farthest from the centre.
        found = [
            one
            for block in self._blocks
            for one in _farthest(centres, self._read(block), labels[block], core)
        ]
        least = _APART * float(np.abs(centres.norms).max())
        found = [one for one in found if one[1] > least]
        if not found:
            return None
        coefficients, norms = centres.coefficients.copy(), centres.norms.copy()
        for cluster in empty:
            if not found:
                break
            source, _, row = max(found, key=lambda one: one[1])
            # Another one from the same cluster may lie beside it: in the next round.
            found = [one for one in found if one[0] != source]
            own = centres_of(row[None].astype(np.float64), np.ones(1), core)
            coefficients[:, cluster], norms[cluster] = (
                own.coefficients[:, 0],
                own.norms[0],
            )
        return Centres(coefficients, norms)

    def _read(self, block: slice) -> FloatArray:
        """Return the transformed rows of a block."""
        if self._kept is not None and block.start in self._kept:
            return self._kept[block.start]
        values = self._transform(rows_of(self._given.data, block))
        if self._kept is not None:
            self._kept[block.start] = values
        return values


def _farthest(
    centres: Centres, rows: FloatArray, labels: IntArray, core: FloatArray
) -> Iterator[tuple[int, float, FloatArray]]:
    """Yield of each cluster of a block its label, the largest distance and that row."""
    rows = rows.astype(np.float64)
    spread = rows if core.size == 0 else rows @ core
    distance = np.einsum("ij,ij->i", spread, rows) + centres.norms[labels]
    distance -= 2.0 * np.einsum("ij,ji->i", rows, centres.coefficients[:, labels])
    for cluster in np.unique(labels):
        inside = np.flatnonzero(labels == cluster)
        first = inside[distance[inside].argmax()]
        yield cluster, distance[first], rows[first]


def _share_of_chunk(
    centres: Centres, transform: Transform, rows: Any, weight: FloatArray | None
) -> Share:
    """Return what the rows of a chunk add to the clusters, piece by piece."""
    shares = [
        share_of(
            centres, transform(rows[block]), None if weight is None else weight[block]
        )
        for block in gen_batches(len(rows), ROWS_PER_BLOCK)
    ]
    return reduce(Share.plus, shares)


def _labels_of_chunk(
    centres: Centres,
    transform: Transform,
    fixed: Fixed | None,
    rows: Any,
    where: slice,
) -> IntArray:
    """Return the nearest centre of every row of a chunk, piece by piece."""
    labels = np.concatenate(
        [
            centres.labels(transform(rows[block]))
            for block in gen_batches(len(rows), ROWS_PER_BLOCK)
        ]
    )
    if fixed is not None:
        first, last = np.searchsorted(fixed[0], [where.start, where.stop])
        labels[fixed[0][first:last] - where.start] = fixed[1][first:last]
    return labels
