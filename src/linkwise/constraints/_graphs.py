"""Must-link components and the paths inside them."""

from collections import deque

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from linkwise._typing import FloatArray, IntArray


def must_link_components(must_link: IntArray, n_samples: int) -> IntArray:
    """Return the component of each sample, shape (n_samples,).

    Components are numbered by size, largest first, then by smallest member.
    """
    ones = np.ones(len(must_link), dtype=np.int8)
    graph = coo_array(
        (ones, (must_link[:, 0], must_link[:, 1])), shape=(n_samples, n_samples)
    )
    return ranked(connected_components(graph, directed=False)[1])


def ranked(found: IntArray) -> IntArray:
    """Return components numbered by size, largest first, then by smallest member."""
    n_samples, n_components = len(found), int(found.max(initial=-1)) + 1
    size = np.bincount(found, minlength=n_components)
    smallest = np.full(n_components, n_samples, dtype=np.intp)
    np.minimum.at(smallest, found, np.arange(n_samples))
    rank = np.empty(n_components, dtype=np.intp)
    rank[np.lexsort((smallest, -size))] = np.arange(n_components)
    return rank[found]


def sides(cannot_link: IntArray, n_points: int) -> IntArray:
    """Return which points are on the same side if each pair is on two of two sides.

    Points that no pairs connect have sides of their own, and so have those of a cycle
    that two sides cannot satisfy. Numbers are arbitrary, with gaps.
    """
    own, opposite = own_and_opposite(cannot_link, n_points)
    return np.where(own == opposite, own.max(initial=0) + 1 + np.arange(n_points), own)


def own_and_opposite(cannot_link: IntArray, n_points: int) -> tuple[IntArray, IntArray]:
    """Return the side of each point, and the other one; equal where there is none."""
    # Each point is there twice, as itself and as its opposite. A pair ties one point to
    # the opposite of the other; a point tied to its own opposite is on no side.
    first, second = cannot_link.T
    row = np.concatenate([first, second])
    col = np.concatenate([second, first]) + n_points
    graph = coo_array(
        (np.ones(len(row), dtype=np.int8), (row, col)), shape=(2 * n_points,) * 2
    )
    found = connected_components(graph, directed=False)[1]
    return found[:n_points], found[n_points:]


def by_weight(weights: FloatArray) -> IntArray:
    """Return the order of falling weight; equal weights keep their order."""
    return np.argsort(-weights, kind="stable")


class DisjointSets:
    """Sets of points under union, with path halving and union by size."""

    def __init__(self, n_points: int) -> None:
        self.parent = list(range(n_points))
        self.size = [1] * n_points

    def find(self, point: int) -> int:
        """Return the root of the set of a point."""
        parent = self.parent
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point

    def union(self, first: int, second: int) -> tuple[int, int]:
        """Join the sets of two different roots; return (kept root, joined root)."""
        if self.size[first] < self.size[second]:
            first, second = second, first
        self.parent[second] = first
        self.size[first] += self.size[second]
        return first, second


def widest_order(
    must_link: IntArray, weights: FloatArray, n_samples: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Return each linked set as a sequence whose gaps hold all bottlenecks.

    Sets are joined by falling weight, and a joined sequence is put at the end of
    the other: all pairs across the seam have the seam's weight as bottleneck, and
    no gap inside is smaller. So the bottleneck of two points is the smallest gap
    between them. Sets without a must-link are left out.
    """
    sets = DisjointSets(n_samples)
    chains: dict[int, list[int]] = {}
    gaps: dict[int, list[float]] = {}
    for row in by_weight(weights).tolist():
        first, second = (sets.find(point) for point in must_link[row].tolist())
        if first == second:
            continue
        kept, joined = sets.union(first, second)
        chains.setdefault(kept, [kept]).extend(chains.pop(joined, [joined]))
        seam = [float(weights[row]), *gaps.pop(joined, [])]
        gaps.setdefault(kept, []).extend(seam)
    return list(chains.values()), [gaps[root] for root in chains]


def neighbour_lists(pairs: IntArray) -> dict[int, list[int]]:
    """Return the neighbours of each point, ascending."""
    neighbours: dict[int, list[int]] = {}
    for first, second in pairs.tolist():
        neighbours.setdefault(first, []).append(second)
        neighbours.setdefault(second, []).append(first)
    return {point: sorted(near) for point, near in neighbours.items()}


def shortest_path(neighbours: dict[int, list[int]], start: int, end: int) -> list[int]:
    """Return a path with the fewest points; equal ones go through smaller indices."""
    came_from = {start: start}
    queue = deque([start])
    while end not in came_from:
        point = queue.popleft()
        for other in neighbours[point]:
            if other not in came_from:
                came_from[other] = point
                queue.append(other)
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
