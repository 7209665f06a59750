"""Compiled sweeps: points or pairs one after the other, each seeing the last state."""

import numpy as np

from linkwise._jit import njit


@njit
def cheapest(
    cost,  # IN  (k,)
    current,  # IN  cluster kept if it is as cheap, up to rounding
):
    """Return the cheapest cluster, of equal ones the first."""
    scale = 0.0
    least = np.inf
    for c in range(cost.shape[0]):
        scale = max(scale, abs(cost[c]))
        least = min(least, cost[c])
    least += 1e-12 * scale
    if cost[current] <= least:
        return current
    best = 0
    while cost[best] > least:
        best += 1
    return best


@njit
def relabel_by_counts(
    distances,  # IN  (n, k), the cost of a point in a cluster, pairs apart
    order,  # IN  (n,), visiting order
    group,  # IN  (n,), component of each point; -1: it has no pairs
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    price,  # IN  of any broken pair
    n_members,  # IN/OUT (k,), points in each cluster
    together,  # IN/OUT (g, k), points of a component in each cluster
    clashes,  # IN/OUT (g, k), points cannot-linked to a component in each cluster
    labels,  # IN/OUT (n,)
):
    """Move each point to its cheapest cluster in turn; return the number of moves.

    Pairs are counted, not listed: the must-linked points of a point that a cluster
    holds are the others of its component, so a count per component serves all.
    """
    k = distances.shape[1]
    cost = np.empty(k)
    n_moves = 0
    for i in order:
        a, g = labels[i], group[i]
        if n_members[a] == 1:
            continue
        for c in range(k):
            cost[c] = distances[i, c]
            if g >= 0:
                # Partners apart are all but those together, up to a constant.
                cost[c] += price * (clashes[g, c] - together[g, c] + (c == a))
        b = cheapest(cost, a)
        if b == a:
            continue
        n_moves += 1
        labels[i] = b
        n_members[a] -= 1
        n_members[b] += 1
        if g >= 0:
            together[g, a] -= 1
            together[g, b] += 1
            for p in range(cl_indptr[g], cl_indptr[g + 1]):
                clashes[cl_indices[p], a] -= 1
                clashes[cl_indices[p], b] += 1
    return n_moves


@njit
def relabel_by_pairs(
    distances,  # IN  (n, k), the cost of a point in a cluster, pairs apart
    order,  # IN  (n,), visiting order
    indptr,  # IN  (n + 1,), CSR: points paired with i are
    indices,  # IN  indices[indptr[i] : indptr[i + 1]]
    price,  # IN  what each adds if together: > 0 cannot-link, < 0 must-link
    n_members,  # IN/OUT (k,), points in each cluster
    labels,  # IN/OUT (n,)
):
    """Move each point to its cheapest cluster in turn; return the number of moves."""
    k = distances.shape[1]
    cost = np.empty(k)
    n_moves = 0
    for i in order:
        a = labels[i]
        if n_members[a] == 1:
            continue
        for c in range(k):
            cost[c] = distances[i, c]
        for p in range(indptr[i], indptr[i + 1]):
            # "w if apart" is "-w if together" up to a constant in the label of i.
            cost[labels[indices[p]]] += price[p]
        b = cheapest(cost, a)
        if b != a:
            n_moves += 1
            labels[i] = b
            n_members[a] -= 1
            n_members[b] += 1
    return n_moves


@njit
def nearest_allowed(
    distances,  # IN  (k,), of a point or a component to the centres
    g,  # IN  its component
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    current,  # IN  cluster kept where it is as near; -1: none
    rounding,  # IN  distances that differ by less are equal
    placed,  # IN  (g,), cluster of each component, -1: not placed
    closed,  # work (k,), bool
):
    """Return the nearest cluster without a cannot-linked component, or -1."""
    k = distances.shape[0]
    for c in range(k):
        closed[c] = False
    for p in range(cl_indptr[g], cl_indptr[g + 1]):
        if placed[cl_indices[p]] >= 0:
            closed[placed[cl_indices[p]]] = True
    least = np.inf
    for c in range(k):
        if not closed[c]:
            least = min(least, distances[c] + rounding)
    if current >= 0 and not closed[current] and distances[current] <= least:
        return current
    for c in range(k):
        if not closed[c] and distances[c] <= least:
            return c
    return -1


@njit
def place_points_in_turn(
    distances,  # IN  (n, k), squared distances to the centres
    order,  # IN  points in the order of their turns
    component,  # IN  (n,), must-link component of each point
    part,  # IN  (g,), connected part of the cannot-link graph
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    current,  # IN  (n,), clusters so far, kept where as near; -1: none
    rounding,  # IN  distances that differ by less are equal
    placed,  # IN/OUT (g,), cluster of each component; -1: not placed yet
    is_stuck,  # OUT (n_parts,), whether a point of the part has no place left
):
    """Give each point the nearest centre that breaks nothing with those before.

    The first point of a component decides for all: the others break a must-link
    anywhere else. A part that is stuck is left; other parts have nothing to do with it.
    """
    closed = np.empty(distances.shape[1], np.bool_)
    for i in order:
        g = component[i]
        if placed[g] >= 0 or is_stuck[part[g]]:
            continue
        placed[g] = nearest_allowed(
            distances[i],
            g,
            cl_indptr,
            cl_indices,
            current[i],
            rounding,
            placed,
            closed,
        )
        if placed[g] < 0:
            is_stuck[part[g]] = True


@njit
def improve_placement(
    distances,  # IN  (g, k), cost of components in clusters
    which,  # IN  components that may move
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    rounding,  # IN  costs that differ by less are equal
    placed,  # IN/OUT (g,), cluster of each component
):
    """Move components to cheaper allowed clusters, in turn, until none moves."""
    closed = np.empty(distances.shape[1], np.bool_)
    moved = True
    while moved:
        moved = False
        for g in which:
            best = nearest_allowed(
                distances[g],
                g,
                cl_indptr,
                cl_indices,
                placed[g],
                rounding,
                placed,
                closed,
            )
            moved = moved or best != placed[g]
            placed[g] = best


@njit
def repair_pairs(
    distances,  # IN  (n, k), squared distances to the centres
    must_link,  # IN  (m, 2), in the order of their turns
    must_factor,  # IN  (m,), on what it costs to leave the pair broken
    cannot_link,  # IN  (c, 2), after the must-links
    cannot_factor,  # IN  (c,)
    rounding,  # IN  costs that differ by less are equal
    labels,  # IN/OUT (n,)
    must_broken,  # IN/OUT (n, k), largest factor of the pairs left broken that pull
    cannot_broken,  # IN/OUT (n, k), a point towards a cluster; 0: none does
):
    """Settle each pair in turn by its cheapest way out.

    Costs are twice those of the paper, so that no factor of a half is left over.
    """
    k = distances.shape[1]
    for p in range(must_link.shape[0]):
        i, j = must_link[p, 0], must_link[p, 1]
        u, v = labels[i], labels[j]
        if u == v:
            continue
        stay = distances[i, u] + distances[j, v]
        stay += 0.5 * must_factor[p] * (distances[i, v] + distances[j, u])
        both_u = distances[i, u] + distances[j, u]
        both_v = distances[i, v] + distances[j, v]
        stay += rounding
        if both_u <= both_v + rounding and both_u <= stay:
            labels[j] = u
        elif both_v <= stay:
            labels[i] = v
        else:
            must_broken[j, u] = max(must_broken[j, u], must_factor[p])
            must_broken[i, v] = max(must_broken[i, v], must_factor[p])
    if k == 1:
        return
    for p in range(cannot_link.shape[0]):
        i, j = cannot_link[p, 0], cannot_link[p, 1]
        u = labels[i]
        if labels[j] != u:
            continue
        r = i if distances[i, u] > distances[j, u] + rounding else j
        m = 1 if u == 0 else 0
        for c in range(k):
            if c != u and distances[r, c] < distances[r, m] - rounding:
                m = c
        stay = distances[r, u] + cannot_factor[p] * distances[r, m]
        if stay + rounding < distances[r, m]:
            cannot_broken[r, m] = max(cannot_broken[r, m], cannot_factor[p])
        else:
            labels[r] = m
