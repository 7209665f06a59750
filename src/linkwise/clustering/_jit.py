"""Compiled loops of the clustering methods.

Group sums follow one layout everywhere: ``sums`` (k, n) holds F, the weighted kernel
sums between groups and points; ``inner`` (k,) holds Q, the sums inside groups; ``mass``
(k,) holds N, the weights of the groups. The squared distance of point i to the centre
of group c is ``diagonal[i] - 2 * sums[c, i] / mass[c] + inner[c] / mass[c] ** 2``.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_centres(
    sums,  # IN  (k, n)
    inner,  # IN  (k,)
    mass,  # IN  (k,)
    diagonal,  # IN  (n,)
    sample_weight,  # IN  (n,)
    labels,  # IN  (n,), current labels
    new_labels,  # OUT (n,)
    cost,  # OUT (n,), squared distance to the new label's centre, less diagonal[i]
):
    """Assign points to their nearest centres; return how many labels changed.

    A label within rounding of the nearest stays; other ties go to the lowest label.
    Clusters left without points take the costliest points of the others.
    """
    k, n = sums.shape
    offset = np.empty(k)
    factor = np.empty(k)
    scale = 0.0
    for c in range(k):
        if mass[c] > 0.0:
            offset[c] = inner[c] / (mass[c] * mass[c])
            factor[c] = 2.0 / mass[c]
            scale = max(scale, abs(offset[c]))
        else:
            offset[c] = np.inf
            factor[c] = 0.0
    for i in range(n):
        scale = max(scale, abs(diagonal[i]))
    for i in range(n):
        cost[i] = np.inf
        new_labels[i] = 0
    for c in range(k):
        row, a, b = sums[c], factor[c], offset[c]
        for i in range(n):
            d = b - a * row[i]
            if d < cost[i]:
                cost[i] = d
                new_labels[i] = c
    n_members = np.zeros(k, np.int64)
    n_moved = 0
    for i in range(n):
        c = labels[i]
        if c != new_labels[i]:
            d = offset[c] - factor[c] * sums[c, i]
            if d <= cost[i] + 1e-12 * scale:
                cost[i] = d
                new_labels[i] = c
            else:
                n_moved += 1
        n_members[new_labels[i]] += 1
    for c in range(k):
        if n_members[c] == 0:
            worst = -1
            worst_cost = -np.inf
            for i in range(n):
                d = sample_weight[i] * (diagonal[i] + cost[i])
                if n_members[new_labels[i]] > 1 and d > worst_cost:
                    worst, worst_cost = i, d
            n_moved += new_labels[worst] == labels[worst]
            n_members[new_labels[worst]] -= 1
            n_members[c] = 1
            new_labels[worst] = c
            cost[worst] = -diagonal[worst]  # it is its own centre now
            n_moved -= labels[worst] == c
    return n_moved


@njit(cache=True, nogil=True)
def next_better_move(
    sums,  # IN  (k, n)
    inner,  # IN  (k,)
    mass,  # IN  (k,)
    diagonal,  # IN  (n,)
    sample_weight,  # IN  (n,)
    labels,  # IN  (n,)
    n_members,  # IN  (k,)
    start,  # IN  first point to look at
):
    """Return the next point whose move lowers the objective, and its best cluster.

    The change of the objective is exact: centres move with the point. The point is -1
    when no move from ``start`` on helps.
    """
    k, n = sums.shape
    for i in range(start, n):
        a = labels[i]
        if n_members[a] == 1:
            continue
        w = sample_weight[i]
        d = diagonal[i] - 2.0 * sums[a, i] / mass[a] + inner[a] / mass[a] ** 2
        gain = mass[a] / (mass[a] - w) * d
        # Rounding must not make a move look better than it is.
        least = gain - 1e-12 * (abs(gain) + abs(diagonal[i]))
        best = -1
        for c in range(k):
            if c != a:
                d = diagonal[i] - 2.0 * sums[c, i] / mass[c] + inner[c] / mass[c] ** 2
                loss = mass[c] / (mass[c] + w) * d
                if loss < least:
                    least = loss
                    best = c
        if best >= 0:
            return i, best
    return -1, -1


@njit(cache=True, nogil=True)
def choose_seeds(
    sums,  # IN  (g_linked, n), kernel sums of the components with several points
    mass,  # IN  (g_linked,)
    column,  # IN  (n,), kernel values of the last seed if it is a single point
    centroid_norm,  # IN  (g,), squared norm of each component's centroid
    component_mass,  # IN  (g,)
    indptr,  # IN  (g + 1,), members of component g are
    members,  # IN  members[indptr[g] : indptr[g + 1]]
    sample_weight,  # IN  (n,)
    tier,  # IN  (g,), components of a lower tier are used up first
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    use_sum,  # IN  score by the sum of the distances, not by the least
    prefer_linked,  # IN  prefer candidates cannot-linked to most chosen seeds
    seeds,  # IN/OUT (k,), components; -1 not chosen yet; the first one is given
    distance,  # OUT (k, g), squared centroid distance of components to the seeds
    score,  # OUT (g,), of components as next seed
):
    """Choose the next seeds by farthest-first traversal.

    Returns the number of seeds whose distances are known: k when all is done, or fewer
    when the seed after them is a single point and ``column`` must hold its kernel
    values at the next call.
    """
    k = seeds.shape[0]
    n_components = centroid_norm.shape[0]
    n_linked = sums.shape[0]
    known = 0
    while known < k and seeds[known] >= 0 and score[seeds[known]] == -np.inf:
        known += 1
    while True:
        s = seeds[known]
        values = sums[s] if s < n_linked else column
        norm = mass[s] if s < n_linked else 1.0
        for g in range(n_components):
            total = 0.0
            for p in range(indptr[g], indptr[g + 1]):
                total += sample_weight[members[p]] * values[members[p]]
            d = centroid_norm[g] + centroid_norm[s]
            d -= 2.0 * total / (norm * component_mass[g])
            distance[known, g] = d
            if use_sum and known > 0:
                score[g] += d
            elif known == 0 or d < score[g]:
                score[g] = d
        known += 1
        for t in range(known):
            score[seeds[t]] = -np.inf
        if known == k:
            return known
        best, best_links = -1, 0
        for g in range(n_components):
            if score[g] == -np.inf:
                continue
            links = 0
            if prefer_linked:
                for p in range(cl_indptr[g], cl_indptr[g + 1]):
                    links += score[cl_indices[p]] == -np.inf
            if best < 0 or tier[g] < tier[best]:
                best, best_links = g, links
            elif tier[g] == tier[best] and (
                links > best_links or (links == best_links and score[g] > score[best])
            ):
                best, best_links = g, links
        seeds[known] = best
        if best >= n_linked:
            return known


@njit(cache=True, nogil=True)
def place_components(
    distance,  # IN  (k, g), squared centroid distance of components to seeds
    seeds,  # IN  (k,), components
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    cl_weights,  # IN
    labels,  # OUT (g,), cluster of each component
):
    """Give each component the cluster that breaks least, then the nearest seed."""
    k, n_components = distance.shape
    labels[:] = -1
    for c in range(k):
        labels[seeds[c]] = c
    broken = np.zeros(k)
    for g in range(n_components):
        if labels[g] >= 0:
            continue
        broken[:] = 0.0
        for p in range(cl_indptr[g], cl_indptr[g + 1]):
            if labels[cl_indices[p]] >= 0:
                broken[labels[cl_indices[p]]] += cl_weights[p]
        best = 0
        for c in range(1, k):
            if broken[c] < broken[best] or (
                broken[c] == broken[best] and distance[c, g] < distance[best, g]
            ):
                best = c
        labels[g] = best


@njit(cache=True, nogil=True)
def relabel_in_turn(
    distances,  # IN  (k, n), weighted squared distance of points to centres
    order,  # IN  (n,), visiting order, drawn by the caller
    indptr,  # IN  (n + 1,), CSR: points linked to i are
    indices,  # IN  indices[indptr[i] : indptr[i + 1]]
    link,  # IN  one per linked point: what it adds to the cost if together
    n_members,  # IN/OUT (k,)
    labels,  # IN/OUT (n,)
):
    """Move each point to its cheapest cluster in turn; return the number of moves."""
    k = distances.shape[0]
    cost = np.empty(k)
    n_moves = 0
    for i in order:
        current = labels[i]
        if n_members[current] == 1:
            continue
        for c in range(k):
            cost[c] = distances[c, i]
        for p in range(indptr[i], indptr[i + 1]):
            # "w if apart" is "-w if together" up to a constant in the label of i.
            cost[labels[indices[p]]] += link[p]
        best = current
        scale = 0.0
        for c in range(k):
            scale = max(scale, abs(cost[c]))
        for c in range(k):
            if cost[c] < cost[best] - (1e-12 * scale if best == current else 0.0):
                best = c
        if best != current:
            n_members[current] -= 1
            n_members[best] += 1
            labels[i] = best
            n_moves += 1
    return n_moves


@njit(cache=True, nogil=True)
def place_without_violation(
    cost,  # IN  (k, g), cost of putting a component into a cluster
    order,  # IN  (g,), visiting order
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    labels,  # OUT (g,)
):
    """Give each component its cheapest allowed cluster; return the one that has none.

    Returns -1 when every component found a place.
    """
    k = cost.shape[0]
    labels[:] = -1
    closed = np.zeros(k, np.bool_)
    for g in order:
        closed[:] = False
        for p in range(cl_indptr[g], cl_indptr[g + 1]):
            if labels[cl_indices[p]] >= 0:
                closed[labels[cl_indices[p]]] = True
        best = -1
        for c in range(k):
            if not closed[c] and (best < 0 or cost[c, g] < cost[best, g]):
                best = c
        if best < 0:
            return g
        labels[g] = best
    return -1
