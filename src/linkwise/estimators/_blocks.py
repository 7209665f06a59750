"""All rows of the data, block by block, in a learnt geometry."""

from functools import partial, reduce

import numpy as np
from sklearn.utils import gen_batches

from linkwise.clustering import Share, descend_in_blocks, share_of
from linkwise.doors import n_rows, rows_of
from linkwise.engines import DaskRows, engine_for

# Fixed, so that sums do not depend on memory or on the number of jobs.
ROWS_PER_BLOCK = 4096
# Gain in explained scatter, relative, below which all rows get no further pass.
_TOLERANCE = 1e-4


def cluster_all_rows(model, given, transform, start, core, max_memory):
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
    """
    if isinstance(given.data, DaskRows):

        def one_pass(centres):
            on_chunk = partial(_share_of_chunk, centres, transform)
            return given.data.map(on_chunk, given.sample_weight)

        def labels_by(centres):
            return labels_of_all(model, given.data, transform, centres)

    else:
        rows = _Rows(given, transform, max_memory)
        engine = engine_for_rows(model)

        def one_pass(centres):
            return engine.map(
                lambda block: share_of(centres, *rows.read(block)), rows.blocks
            )

        def labels_by(centres):
            own = engine.map(lambda b: centres.labels(rows.read(b)[0]), rows.blocks)
            return np.concatenate(list(own))

    result = descend_in_blocks(
        one_pass, start, core, max_iter=model.max_iter, tol=_TOLERANCE
    )
    return result, labels_by


def labels_of_all(model, data, transform, centres, fixed=None):
    """Return the nearest centre of every row; a Dask array if the data are one.

    ``fixed`` are rows, ascending, and the labels that they have whatever is near.
    """
    if isinstance(data, DaskRows):
        return data.lazily(partial(_labels_of_chunk, centres, transform, fixed))

    def of_block(block):
        return centres.labels(transform(rows_of(data, block)))

    blocks = gen_batches(n_rows(data), ROWS_PER_BLOCK)
    labels = np.concatenate(list(engine_for_rows(model).map(of_block, blocks)))
    if fixed is not None:
        labels[fixed[0]] = fixed[1]
    return labels


def engine_for_rows(model):
    """Return the engine for rows that are here; a cluster would not pay."""
    n_jobs = model.n_jobs
    return engine_for(n_jobs if n_jobs is None or isinstance(n_jobs, int) else None)


class _Rows:
    """Rows that are here, transformed once if there is room for all."""

    def __init__(self, given, transform, max_memory):
        self._given, self._transform = given, transform
        n_samples = n_rows(given.data)
        self.blocks = list(gen_batches(n_samples, ROWS_PER_BLOCK))
        one = transform(rows_of(given.data, slice(0, 1)))
        self._kept = {} if n_samples * one.nbytes <= max_memory / 2 else None

    def read(self, block):
        """Return the transformed rows of a block, and their weights."""
        weight = self._given.sample_weight
        weight = None if weight is None else weight[block]
        if self._kept is not None and block.start in self._kept:
            return self._kept[block.start], weight
        values = self._transform(rows_of(self._given.data, block))
        if self._kept is not None:
            self._kept[block.start] = values
        return values, weight


def _share_of_chunk(centres, transform, rows, weight):
    """Return what the rows of a chunk add to the clusters, piece by piece."""
    shares = [
        share_of(
            centres, transform(rows[block]), None if weight is None else weight[block]
        )
        for block in gen_batches(len(rows), ROWS_PER_BLOCK)
    ]
    return reduce(Share.plus, shares)


def _labels_of_chunk(centres, transform, fixed, rows, where):
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
