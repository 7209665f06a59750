"""Weights of entailed pairs: how strongly points of a component are tied."""

from typing import Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints._graphs import widest_order


class Reach(Protocol):
    """How strongly a point is tied to the points of its own component."""

    def from_point(self, point: int) -> FloatArray:
        """Return one weight per member of the component, members ascending.

        The point's own entry does not weaken a chain that ends there.
        """
        ...


class BottleneckReach:
    """Weight of the weakest must-link on the best path."""

    def __init__(
        self, must_link: IntArray, weights: FloatArray, n_samples: int
    ) -> None:
        chains, gaps = widest_order(must_link, weights, n_samples)
        self._gaps = [np.array(gap) for gap in gaps]
        self._to_members = [np.argsort(chain) for chain in chains]
        self._place = {
            point: (chain, position)
            for chain, points in enumerate(chains)
            for position, point in enumerate(points)
        }

    def from_point(self, point: int) -> FloatArray:
        """Return the bottleneck to each member, infinite to the point itself."""
        if point not in self._place:
            return np.array([np.inf])
        chain, position = self._place[point]
        gap = self._gaps[chain]
        before = np.minimum.accumulate(gap[:position][::-1])[::-1]
        after = np.minimum.accumulate(gap[position:])
        along_chain = np.concatenate([before, [np.inf], after])
        return along_chain[self._to_members[chain]]


class ProductReach:
    """Largest product of must-link weights over all paths; weights in (0, 1]."""

    def __init__(
        self,
        must_link: IntArray,
        weights: FloatArray,
        component: IntArray,
        indptr: IntArray,
        members: IntArray,
    ) -> None:
        n_samples = len(component)
        # The largest product is the shortest path in -log weight.
        self._graph = coo_array(
            (-np.log(weights), (must_link[:, 0], must_link[:, 1])),
            shape=(n_samples, n_samples),
        ).tocsr()
        self._component, self._indptr, self._members = component, indptr, members
        self._tables: dict[int, FloatArray] = {}
        self._row = np.empty(n_samples, dtype=np.intp)
        self._row[members] = np.arange(n_samples) - indptr[component[members]]

    def from_point(self, point: int) -> FloatArray:
        """Return the best product to each member, 1 to the point itself."""
        group = int(self._component[point])
        if group not in self._tables:
            inside = self._members[self._indptr[group] : self._indptr[group + 1]]
            local = self._graph[inside][:, inside]
            self._tables[group] = np.exp(-dijkstra(local, directed=False))
        return self._tables[group][self._row[point]]
