"""Rows of the data in blocks, in the geometry of a learnt kernel."""

import numpy as np
from sklearn.utils import gen_batches

from linkwise.doors import n_rows, rows_of

# Fixed, so that sums do not depend on memory or on the number of jobs.
ROWS_PER_BLOCK = 4096


class KernelBlocks:
    """The values of a learnt kernel between all rows and its landmarks.

    They are kept from the first pass on if they fit into half of ``max_memory`` bytes,
    and computed anew in each pass otherwise.
    """

    def __init__(self, kernel, given, max_memory):
        self._kernel, self._given = kernel, given
        self.blocks = list(gen_batches(n_rows(given.data), ROWS_PER_BLOCK))
        first = kernel(rows_of(given.data, slice(0, 1)))
        size = 4.0 * n_rows(given.data) * first.shape[1]
        self._kept = {} if size <= max_memory / 2 else None

    def read(self, block):
        """Return the values of a block of rows, and the weights of the rows."""
        weight = self._given.sample_weight
        weight = None if weight is None else weight[block]
        if self._kept is not None and block.start in self._kept:
            return self._kept[block.start], weight
        values = self._kernel(rows_of(self._given.data, block))
        if self._kept is not None:
            self._kept[block.start] = values
        return values, weight

    def labels(self, centres, engine):
        """Return the nearest centre of every row."""

        def nearest(block):
            return centres.labels(self.read(block)[0])

        return np.concatenate(list(engine.map(nearest, self.blocks)))
