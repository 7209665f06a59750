"""Which cluster each must-link group belongs to, as probabilities.

The pairs say which rows belong together and which do not; opinions say which cluster
each row looks like. Together they give the probability of each cluster for every row
that has a pair.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Closure
from linkwise.constraints._graphs import own_and_opposite

# Least probability that a cannot-linked group leaves for a cluster that it has itself.
_LEAST_ROOM = 1e-3
# The mean field has settled when no probability moves by more, or after these rounds.
_SETTLED = 1e-3
_MAX_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """Rows that have a pair, and what the pairs say of them.

    Parameters
    ----------
    closure : Closure
        Of the pairs that are believed.
    n_clusters : int
        Number of clusters.

    Examples
    --------
    Rows 0 and 1 belong together, row 2 does not; opinions of row 1 are strong:

    >>> import numpy as np
    >>> from linkwise.constraints import Constraints
    >>> closure = Constraints([(0, 1)], [(1, 2)]).closure(4)
    >>> linked = LinkedRows(closure, 2)
    >>> opinions = np.array([[0.5, 0.5], [0.8, 0.2], [0.5, 0.5]])
    >>> linked.assign(np.log(opinions)).round(1).tolist()
    [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]]
    """

    closure: Closure
    n_clusters: int

    @cached_property
    def rows(self) -> IntArray:
        """Rows that have a pair, ascending, shape (n_rows,)."""
        closure = self.closure
        has_pair = (closure.size > 1) | closure.has_cannot_link
        return np.flatnonzero(has_pair[closure.component])

    def assign(self, log_opinions: FloatArray) -> FloatArray:
        """Return how probable each cluster is for each row that has a pair.

        Two clusters: exact, by the two sides of the cannot-links. More: a mean field.
        Cannot-links that two clusters cannot satisfy are ignored.

        Parameters
        ----------
        log_opinions : ndarray of shape (n_rows, n_clusters)
            Logarithm of the probability of each cluster for each row by itself.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows sum to 1; those of a must-link group are the same.
        """
        group = self.closure.component[self.rows]
        evidence = np.zeros((self.closure.n_components, self.n_clusters))
        np.add.at(evidence, group, log_opinions)
        by_group = self._by_sides if self.n_clusters == 2 else self._by_mean_field
        return by_group(evidence)[group]

    def _by_sides(self, evidence: FloatArray) -> FloatArray:
        own, opposite = own_and_opposite(
            self.closure.cannot_link, self.closure.n_components
        )
        odds = evidence[:, 0] - evidence[:, 1]
        size = 1 + int(max(own.max(), opposite.max()))
        total = np.bincount(own, odds, size) - np.bincount(opposite, odds, size)
        first = expit(np.where(own == opposite, odds, total[own]))
        return np.stack([first, 1.0 - first], axis=1)

    def _by_mean_field(self, evidence: FloatArray) -> FloatArray:
        closure = self.closure
        apart = csr_array(
            (np.ones(len(closure.cl_indices)), closure.cl_indices, closure.cl_indptr),
            shape=(closure.n_components,) * 2,
        )
        chance = softmax(evidence, axis=1)
        for _ in range(_MAX_ROUNDS):
            room = np.log(np.maximum(1.0 - chance, _LEAST_ROOM))
            new = softmax(evidence + apart @ room, axis=1)
            if np.abs(new - chance).max() < _SETTLED:
                break
            chance = 0.5 * (chance + new)  # half a step, or it may swing to and fro
        return chance
