"""Can k clusters satisfy every pair? Colouring of the cannot-link graph."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from linkwise._typing import IntArray
from linkwise.constraints._closure import Closure

_N_CLIQUE_STARTS = 64
_N_CLIQUE_SHOWN = 8

Neighbours = dict[int, set[int]]


class Feasibility(NamedTuple):
    """Whether some partition into k clusters satisfies every pair.

    Attributes
    ----------
    status : {"feasible", "infeasible", "unknown"}
        "unknown" if the search budget ran out first.
    colouring : ndarray of shape (n_samples,) or None
        A partition that satisfies every pair and leaves no cluster empty, if found.
    reason : str
        Why, in words.
    """

    status: Literal["feasible", "infeasible", "unknown"]
    colouring: IntArray | None
    reason: str


class FeasibleRange(NamedTuple):
    """The numbers of clusters for which every pair can be satisfied.

    Attributes
    ----------
    smallest : int
        Smallest number of clusters for which a partition was found.
    largest : int
        Number of components: with more clusters, one would stay empty.
    is_tight : bool
        Whether fewer clusters than ``smallest`` are proven impossible.
    """

    smallest: int
    largest: int
    is_tight: bool


def feasibility(
    closure: Closure,
    n_clusters: int,
    budget: int = 100_000,
    names: Sequence[Any] | None = None,
) -> Feasibility:
    """Return whether k clusters can satisfy every entailed pair.

    ``names`` are the ids by which the reason calls points, if not by positions.
    """
    if n_clusters > closure.n_components:
        return Feasibility(
            "infeasible",
            None,
            f"{n_clusters} clusters need as many must-link components, and the "
            f"{closure.n_samples} samples form only {closure.n_components}.",
        )
    neighbours = _neighbour_sets(closure)
    clique = _greedy_clique(neighbours)
    if len(clique) > n_clusters:
        return Feasibility("infeasible", None, _clique_reason(closure, clique, names))

    core, peeled = _peel(neighbours, n_clusters)
    colours: dict[int, int] = {}
    for part in _connected_parts(neighbours, core):
        found, n_nodes = _dsatur(neighbours, part, n_clusters, budget)
        budget -= n_nodes
        if found is None and budget < 0:
            return Feasibility(
                "unknown",
                None,
                "The search budget ran out before a partition was found.",
            )
        if found is None:
            reason = _exhausted_reason(closure, part, names)
            return Feasibility("infeasible", None, reason)
        colours.update(found)
    for vertex in reversed(peeled):
        used = {colours[other] for other in neighbours[vertex] if other in colours}
        colours[vertex] = next(c for c in range(n_clusters) if c not in used)
    labels = _fill_clusters(closure, colours, n_clusters)
    return Feasibility(
        "feasible", labels, f"A partition into {n_clusters} clusters was found."
    )


def feasible_range(closure: Closure, budget: int) -> FeasibleRange:
    """Return the numbers of clusters that can satisfy every entailed pair."""
    neighbours = _neighbour_sets(closure)
    n_clusters, is_tight = max(1, len(_greedy_clique(neighbours))), True
    # Ends: with as many colours as components every graph is coloured by peeling.
    while (found := feasibility(closure, n_clusters, budget)).colouring is None:
        is_tight = is_tight and found.status == "infeasible"
        n_clusters += 1
    return FeasibleRange(n_clusters, closure.n_components, is_tight)


def _neighbour_sets(closure: Closure) -> Neighbours:
    """Return the cannot-link graph of the components that have cannot-links."""
    neighbours: Neighbours = {}
    for first, second in closure.cannot_link.tolist():
        neighbours.setdefault(first, set()).add(second)
        neighbours.setdefault(second, set()).add(first)
    return neighbours


def _greedy_clique(neighbours: Neighbours) -> list[int]:
    """Return a large clique: grown from the vertices of highest degree."""
    by_degree = sorted(neighbours, key=lambda v: (-len(neighbours[v]), v))
    best: list[int] = []
    for start in by_degree[:_N_CLIQUE_STARTS]:
        clique, candidates = [start], set(neighbours[start])
        while candidates:
            chosen = max(
                candidates, key=lambda v: (len(neighbours[v] & candidates), -v)
            )
            clique.append(chosen)
            candidates &= neighbours[chosen]
        if len(clique) > len(best):
            best = clique
    return sorted(best)


def _peel(neighbours: Neighbours, n_colours: int) -> tuple[list[int], list[int]]:
    """Return (core, peeled): vertices of low degree, in the order they came off.

    A vertex with fewer neighbours than colours can always be coloured after them.
    """
    degree = {vertex: len(near) for vertex, near in neighbours.items()}
    peeled = [vertex for vertex in sorted(degree) if degree[vertex] < n_colours]
    gone = set(peeled)
    for vertex in peeled:  # grows while it is walked
        for other in sorted(neighbours[vertex] - gone):
            degree[other] -= 1
            if degree[other] < n_colours:
                gone.add(other)
                peeled.append(other)
    return [vertex for vertex in sorted(degree) if vertex not in gone], peeled


def _connected_parts(neighbours: Neighbours, core: list[int]) -> list[list[int]]:
    """Return the connected parts of the core: each is coloured for itself."""
    if not core:
        return []
    place = {vertex: row for row, vertex in enumerate(core)}
    edges = [(place[v], place[u]) for v in core for u in neighbours[v] if u in place]
    row, col = np.array(edges).T
    graph = csr_array((np.ones(len(row)), (row, col)), shape=(len(core), len(core)))
    n_parts, part_of = connected_components(graph, directed=False)
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    for vertex, part in zip(core, part_of.tolist(), strict=True):
        parts[part].append(vertex)
    return parts


def _dsatur(
    neighbours: Neighbours, part: list[int], n_colours: int, budget: int
) -> tuple[dict[int, int] | None, int]:
    """Colour a connected graph; return (colours or None, nodes of the search).

    DSATUR: the next vertex is the one whose neighbours show the most colours. More
    nodes than the budget mean that the search was given up.
    """
    place = {vertex: row for row, vertex in enumerate(part)}
    near = [
        np.array(sorted(place[u] for u in neighbours[v] if u in place)) for v in part
    ]
    degree = np.array([len(others) for others in near])
    n_seen = np.zeros((len(part), n_colours), dtype=np.intp)  # neighbours by colour
    saturation = np.zeros(len(part), dtype=np.intp)
    colours: dict[int, int] = {}
    is_coloured = np.zeros(len(part), dtype=bool)

    def paint(vertex: int, colour: int) -> None:
        others = near[vertex]
        saturation[others] += n_seen[others, colour] == 0
        n_seen[others, colour] += 1
        colours[vertex], is_coloured[vertex] = colour, True

    def wipe(vertex: int) -> None:
        others, colour = near[vertex], colours.pop(vertex)
        n_seen[others, colour] -= 1
        saturation[others] -= n_seen[others, colour] == 0
        is_coloured[vertex] = False

    def next_vertex() -> int:
        urgency = saturation * len(part) + degree
        urgency[is_coloured] = -1
        return int(urgency.argmax())

    # One entry per coloured vertex: (vertex, next colour to try, colours used before).
    stack = [(next_vertex(), 0, 0)]
    n_nodes = 0
    while stack:
        vertex, colour, n_used = stack.pop()
        if vertex in colours:
            wipe(vertex)
        # Colours not used yet are all alike: one of them is enough.
        limit = min(n_colours, n_used + 1)
        while colour < limit and n_seen[vertex, colour]:
            colour += 1
        if colour == limit:
            continue
        n_nodes += 1
        if n_nodes > budget:
            return None, n_nodes
        stack.append((vertex, colour + 1, n_used))
        paint(vertex, colour)
        if len(colours) == len(part):
            return {part[row]: colours[row] for row in colours}, n_nodes
        stack.append((next_vertex(), 0, max(n_used, colour + 1)))
    return None, n_nodes


def _fill_clusters(
    closure: Closure, colours: dict[int, int], n_clusters: int
) -> IntArray:
    """Return labels (n_samples,) that use all clusters."""
    of_component = np.zeros(closure.n_components, dtype=np.intp)
    of_component[list(colours)] = list(colours.values())
    counts = np.bincount(of_component, minlength=n_clusters)
    movers = iter(range(closure.n_components))
    for empty in np.flatnonzero(counts == 0).tolist():
        # A component alone in a cluster breaks nothing.
        mover = next(m for m in movers if counts[of_component[m]] > 1)
        counts[of_component[mover]] -= 1
        of_component[mover] = empty
        counts[empty] = 1
    labels = of_component[closure.component]
    # Clusters are numbered in the order in which samples show them.
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _points_of(
    closure: Closure, components: list[int], names: Sequence[Any] | None
) -> str:
    """Return one point of each component, the first few, as text."""
    points = sorted(closure.members[closure.indptr[components]].tolist())
    first = points[:_N_CLIQUE_SHOWN]
    shown = ", ".join(str(p) if names is None else repr(names[p]) for p in first)
    return shown + (", ..." if len(points) > _N_CLIQUE_SHOWN else "")


def _clique_reason(
    closure: Closure, clique: list[int], names: Sequence[Any] | None
) -> str:
    return (
        f"Cannot-links keep {len(clique)} components apart from each other, so "
        f"{len(clique)} clusters are needed at least; one point of each: "
        f"{_points_of(closure, clique, names)}."
    )


def _exhausted_reason(
    closure: Closure, part: list[int], names: Sequence[Any] | None
) -> str:
    return (
        f"No assignment of the {len(part)} components joined by cannot-links around "
        f"points {_points_of(closure, part, names)} satisfies all of them."
    )
