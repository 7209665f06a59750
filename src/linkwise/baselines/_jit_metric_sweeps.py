"""Compiled sweeps of the methods whose pairs cost distances under a learnt metric.

Points in pairs ("linked points") have a place in arrays of their own. Under metric m
the squared distance of the linked points p and q is
``norms[p, m] + norms[q, m] - 2 * applied[p, m] . rows[q]``, so its sum over a group of
partners q follows from their number, the sum of their rows and the sum of their norms.
"""

import numpy as np

from linkwise._jit import njit


@njit(inner=True)
def cheapest(
    cost,  # IN  (k,)
    size,  # IN  (k,), of the terms that each cost is made of
    current,  # IN  the label now
):
    """Return the label of the lowest cost; the current one stays within rounding.

    Each cost is rounded as its own terms are: under metrics of its own, a cluster of
    equal points is dearer than others by many orders of magnitude.
    """
    best = 0
    for c in range(cost.shape[0]):
        if cost[c] < cost[best]:
            best = c
    rounding = 1e-12 * (size[current] + size[best])
    return current if cost[current] <= cost[best] + rounding else best


@njit(inner=True)
def dot(
    a,  # IN  (d,)
    b,  # IN  (d,)
):
    """Return the inner product; without BLAS, which would be slow for short rows."""
    total = 0.0
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total


@njit(inner=True)
def carry(
    row,  # IN  (d,), of a point that changes its cluster
    norm,  # IN  (m,), its squared norms
    metric_of,  # IN  (k,), metric of each cluster
    old,  # IN  cluster
    new,  # IN  cluster
    count,  # IN/OUT (k,), of a group of points by cluster
    total,  # IN/OUT (k, d), sums of their rows
    square,  # IN/OUT (k,), sums of their norms under the metric of the cluster
):
    """Take a point from one cluster of a group to another."""
    count[old] -= 1.0
    count[new] += 1.0
    square[old] -= norm[metric_of[old]]
    square[new] += norm[metric_of[new]]
    for f in range(row.shape[0]):
        total[old, f] -= row[f]
        total[new, f] += row[f]


@njit
def sweep_components(
    base,  # IN  (n, k), cost of each cluster without what is added here
    order,  # IN  (n,), visiting order
    place,  # IN  (n,), place among the linked points, -1: has no pair
    rows,  # IN  (p, d), of linked points
    applied,  # IN  (p, m, d), metric times row
    norms,  # IN  (p, m)
    farthest,  # IN  (m,), squared length that close cannot-links are measured against
    metric_of,  # IN  (k,)
    component,  # IN  (p,), those of several points come first
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    must_weight,  # IN
    cannot_weight,  # IN
    own_count,  # IN/OUT (g_linked, k), members of components by cluster
    own_total,  # IN/OUT (g_linked, k, d)
    own_square,  # IN/OUT (g_linked, k)
    cl_count,  # IN/OUT (g, k), members of all cannot-linked components by cluster
    cl_total,  # IN/OUT (g, k, d)
    cl_square,  # IN/OUT (g, k)
    n_members,  # IN/OUT (k,)
    labels,  # IN/OUT (n,)
):
    """Move each point to its cheapest cluster in turn; return the number of moves.

    A broken must-link costs half its distance under the metric of either end. Up to a
    constant in the label of the point this is: half the distance under the metric of
    the label, broken or not (in ``base``), less the distance if it is not broken.
    """
    k = base.shape[1]
    n_linked = own_count.shape[0]
    cost = np.empty(k)
    size = np.empty(k)
    n_moves = 0
    for i in order:
        current = labels[i]
        if n_members[current] == 1:
            continue
        for c in range(k):
            cost[c] = base[i, c]
            size[c] = abs(base[i, c])
        p = place[i]
        if p >= 0:
            g = component[p]
            has_cannot_link = cl_indptr[g] < cl_indptr[g + 1]
            for c in range(k):
                m = metric_of[c]
                if g < n_linked and own_count[g, c] > 0.0:
                    norm = own_count[g, c] * norms[p, m] + own_square[g, c]
                    d = norm - 2.0 * dot(applied[p, m], own_total[g, c])
                    cost[c] -= must_weight * d
                    size[c] += must_weight * norm
                if has_cannot_link and cl_count[g, c] > 0.0:
                    norm = cl_count[g, c] * norms[p, m] + cl_square[g, c]
                    d = norm - 2.0 * dot(applied[p, m], cl_total[g, c])
                    largest = cl_count[g, c] * farthest[m]
                    cost[c] += cannot_weight * (largest - d)
                    size[c] += cannot_weight * (largest + norm)
        best = cheapest(cost, size, current)
        if best == current:
            continue
        n_members[current] -= 1
        n_members[best] += 1
        labels[i] = best
        n_moves += 1
        if p >= 0:
            if g < n_linked:
                carry(
                    rows[p],
                    norms[p],
                    metric_of,
                    current,
                    best,
                    own_count[g],
                    own_total[g],
                    own_square[g],
                )
            for e in range(cl_indptr[g], cl_indptr[g + 1]):
                h = cl_indices[e]
                carry(
                    rows[p],
                    norms[p],
                    metric_of,
                    current,
                    best,
                    cl_count[h],
                    cl_total[h],
                    cl_square[h],
                )
    return n_moves


@njit
def sweep_pairs(
    base,  # IN  (n, k)
    order,  # IN  (n,)
    place,  # IN  (n,), place among the linked points, -1: has no pair
    points,  # IN  (p,), the linked points
    indptr,  # IN  (p + 1,), CSR: places of partners
    indices,  # IN
    price,  # IN  (entries, m), added if a partner is in a cluster of metric m
    metric_of,  # IN  (k,)
    n_members,  # IN/OUT (k,)
    labels,  # IN/OUT (n,)
):
    """Do the same pair by pair, each with a weight of its own."""
    k = base.shape[1]
    cost = np.empty(k)
    size = np.empty(k)
    n_moves = 0
    for i in order:
        current = labels[i]
        if n_members[current] == 1:
            continue
        for c in range(k):
            cost[c] = base[i, c]
            size[c] = abs(base[i, c])
        p = place[i]
        if p >= 0:
            for e in range(indptr[p], indptr[p + 1]):
                c = labels[points[indices[e]]]
                cost[c] += price[e, metric_of[c]]
                size[c] += abs(price[e, metric_of[c]])
        best = cheapest(cost, size, current)
        if best != current:
            n_members[current] -= 1
            n_members[best] += 1
            labels[i] = best
            n_moves += 1
    return n_moves
