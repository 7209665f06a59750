"""Compiled loops of starts: farthest first, and drawn."""

import numpy as np

from linkwise._jit import njit
from linkwise.kernels._jit import spread_totals


@njit(inline="always")
def centroids(
    inner,  # IN  (g_linked,), kernel sums inside the components of several points
    mass,  # IN  (g_linked,)
    diagonal,  # IN  (n,)
    sample_weight,  # IN  (n,)
    indptr,  # IN  (g + 1,), members of component g are
    members,  # IN  members[indptr[g] : indptr[g + 1]]
    component_mass,  # OUT (g,)
    squared_norm,  # OUT (g,), of the component's centroid
):
    """Weigh the components and measure their centroids."""
    n_linked = mass.shape[0]
    for g in range(n_linked):
        component_mass[g] = mass[g]
        squared_norm[g] = inner[g] / (mass[g] * mass[g])
    for g in range(n_linked, component_mass.shape[0]):
        component_mass[g] = sample_weight[members[indptr[g]]]
        squared_norm[g] = diagonal[members[indptr[g]]]


@njit(inner=True)
def drawn_seed(
    score,  # IN  (g,), -inf: is a seed already
    mass,  # IN  (g,)
    tier,  # IN  (g,)
    n_scored,  # IN  components from here on are no candidates
    draw,  # IN  uniform in [0, 1)
):
    """Draw a component of the lowest tier left by mass and score, if all are 0 any."""
    lowest = tier[0]
    found = False
    total = 0.0
    for g in range(n_scored):
        if score[g] == -np.inf:
            continue
        if not found or tier[g] < lowest:
            found, lowest, total = True, tier[g], 0.0
        if tier[g] == lowest:
            total += mass[g] * max(score[g], 0.0)
    last = -1
    left = draw * total
    for g in range(n_scored):
        if score[g] == -np.inf or tier[g] != lowest:
            continue
        share = mass[g] * max(score[g], 0.0)
        if last < 0 or share > 0.0:
            last = g
        left -= share
        if left < 0.0:
            break
    return last


@njit(inner=True)
def squared_distances(
    s,  # IN  a component
    totals,  # IN  (g_linked, m)
    rows,  # IN  (n, m)
    core,  # IN  (m, m) or None
    squared_norm,  # IN  (g,)
    component_mass,  # IN  (g,)
    indptr,  # IN  (g + 1,)
    members,  # IN  (n,)
    sample_weight,  # IN  (n,)
    at_once,  # IN  take products with all rows at once, in their precision
    total,  # OUT (m,), that of the component
    found,  # OUT (n_scored,)
):
    """Measure how far a component's centroid is from those of the first ones."""
    n_linked = totals.shape[0]
    n_columns = rows.shape[1]
    n_scored = found.shape[0]
    norm = component_mass[s] if s < n_linked else 1.0
    for j in range(n_columns):
        total[j] = totals[s, j] if s < n_linked else rows[members[indptr[s]], j]
    column = total
    products = np.empty((0, 1), rows.dtype)
    if core is not None:
        # Matrices of one row or column: products with vectors would be compiled too.
        if core.shape[0] > 0:
            column = np.dot(total.reshape(1, n_columns), core)[0]
        if at_once and n_scored > n_linked:
            turned = np.empty((n_columns, 1), rows.dtype)
            for j in range(n_columns):
                turned[j, 0] = column[j]
            products = np.dot(rows, turned)
    for g in range(n_scored):
        product = 0.0
        if core is None:
            for p in range(indptr[g], indptr[g + 1]):
                product += sample_weight[members[p]] * column[members[p]]
        elif g < n_linked:
            for j in range(n_columns):
                product += totals[g, j] * column[j]
        else:
            i = members[indptr[g]]
            if at_once:
                product = float(products[i, 0])
            else:
                for j in range(n_columns):
                    product += rows[i, j] * column[j]
            product *= sample_weight[i]
        found[g] = squared_norm[g] + squared_norm[s]
        found[g] -= 2.0 * product / (norm * component_mass[g])


@njit(inline="always")
def choose_seeds(
    totals,  # IN  (g_linked, m), of the components of several points
    rows,  # IN  (n, m), as in move_groups
    core,  # IN  (m, m) or None
    squared_norm,  # IN  (g,)
    component_mass,  # IN  (g,)
    indptr,  # IN  (g + 1,)
    members,  # IN  (n,)
    sample_weight,  # IN  (n,)
    tier,  # IN  (g,), components of a lower tier are used up first
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    use_sum,  # IN  score by the sum of the distances, not by the least
    prefer_linked,  # IN  prefer candidates cannot-linked to most chosen seeds
    draws,  # IN  (k, t), uniform in [0, 1): seeds are drawn; or empty: farthest first
    seeds,  # OUT (k,), components
    distance,  # OUT (k, g), squared centroid distance of components to the seeds
):
    """Choose seeds by farthest-first traversal; the largest component comes first.

    With ``draws`` they are drawn as k-means++ does, of the lowest tier that is left:
    the first by mass, each other by mass and squared distance from the nearest seed; of
    t that are drawn the one counts that leaves the least sum of squared distances in
    its tier.
    """
    k = seeds.shape[0]
    n_components = squared_norm.shape[0]
    n_linked = totals.shape[0]
    # Single points are no candidates while there are enough other components; where
    # their distances are not at hand, those come at the end, for all seeds at once.
    n_scored = n_components
    if core is not None and n_linked >= k:
        n_scored = n_linked
    seed_totals = np.empty((k, rows.shape[1]))
    is_drawn = draws.shape[0] > 0
    score = np.empty(n_components)  # of components as next seed; -inf: is one
    seeds[0] = 0
    if is_drawn:
        for g in range(n_scored):
            score[g] = 1.0
        seeds[0] = drawn_seed(score, component_mass, tier, n_scored, draws[0, 0])
    n_trials = draws.shape[1] if is_drawn else 0
    trial = np.empty(n_scored if n_trials > 1 else 0)
    n_known = 0
    while True:
        squared_distances(
            seeds[n_known],
            totals,
            rows,
            core,
            squared_norm,
            component_mass,
            indptr,
            members,
            sample_weight,
            is_drawn,
            seed_totals[n_known],
            distance[n_known, :n_scored],
        )
        for g in range(n_scored):
            d = distance[n_known, g]
            if use_sum and n_known > 0:
                score[g] += d
            elif n_known == 0 or d < score[g]:
                score[g] = d
        n_known += 1
        for t in range(n_known):
            score[seeds[t]] = -np.inf
        if n_known == k:
            break
        if is_drawn:
            least = np.inf
            for t in range(n_trials):
                s = drawn_seed(score, component_mass, tier, n_scored, draws[n_known, t])
                if n_trials == 1:
                    seeds[n_known] = s
                    break
                squared_distances(
                    s,
                    totals,
                    rows,
                    core,
                    squared_norm,
                    component_mass,
                    indptr,
                    members,
                    sample_weight,
                    is_drawn,
                    seed_totals[n_known],
                    trial,
                )
                left = 0.0
                for g in range(n_scored):
                    if tier[g] == tier[s]:
                        left += component_mass[g] * max(min(score[g], trial[g]), 0.0)
                if left < least:
                    least = left
                    seeds[n_known] = s
            continue
        best, best_links = -1, 0
        for g in range(n_scored):
            if score[g] == -np.inf:
                continue
            links = 0
            if prefer_linked:
                for p in range(cl_indptr[g], cl_indptr[g + 1]):
                    other = cl_indices[p]
                    links += other < n_scored and score[other] == -np.inf
            if best < 0 or tier[g] < tier[best]:
                best, best_links = g, links
            elif tier[g] == tier[best] and (
                links > best_links or (links == best_links and score[g] > score[best])
            ):
                best, best_links = g, links
        seeds[n_known] = best
    if core is not None and n_scored < n_components:
        sums = np.empty((k, rows.shape[0]), rows.dtype)
        spread_totals(rows, core, seed_totals, sums)
        for c in range(k):
            s = seeds[c]
            for g in range(n_scored, n_components):
                product = sums[c, members[indptr[g]]] / component_mass[s]
                distance[c, g] = squared_norm[g] + squared_norm[s] - 2.0 * product


@njit(inline="always")
def place_components(
    distance,  # IN  (k, g), squared centroid distance of components to seeds
    seeds,  # IN  (k,), components
    component,  # IN  (n,), component of each point
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    cl_weights,  # IN
    labels,  # OUT (n,)
):
    """Give each component the cluster that breaks least, then the nearest seed."""
    k, n_components = distance.shape
    cluster = np.empty(n_components, np.int64)
    for g in range(n_components):
        cluster[g] = -1
    for c in range(k):
        cluster[seeds[c]] = c
    broken = np.empty(k)
    for g in range(n_components):
        if cluster[g] >= 0:
            continue
        for c in range(k):
            broken[c] = 0.0
        for p in range(cl_indptr[g], cl_indptr[g + 1]):
            if cluster[cl_indices[p]] >= 0:
                broken[cluster[cl_indices[p]]] += cl_weights[p]
        best = 0
        for c in range(1, k):
            if broken[c] < broken[best] or (
                broken[c] == broken[best] and distance[c, g] < distance[best, g]
            ):
                best = c
        cluster[g] = best
    for i in range(labels.shape[0]):
        labels[i] = cluster[component[i]]


@njit(inline="always")
def seed_and_place(
    totals,  # IN  (g_linked, m), of the components of several points
    inner,  # IN  (g_linked,)
    mass,  # IN  (g_linked,)
    rows,  # IN  (n, m), as in move_groups
    core,  # IN  (m, m) or None
    diagonal,  # IN  (n,)
    sample_weight,  # IN  (n,)
    component,  # IN  (n,), component of each point
    indptr,  # IN  (g + 1,), members of component g are
    members,  # IN  members[indptr[g] : indptr[g + 1]]
    tier,  # IN  (g,), components of a lower tier are used up first
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    cl_weights,  # IN
    use_sum,  # IN  score seeds by the sum of their distances, not by the least
    prefer_linked,  # IN  prefer seeds cannot-linked to most chosen ones
    draws,  # IN  (n_seeds, t) or empty, as in choose_seeds
    n_seeds,  # IN  at most g
    labels,  # OUT (n,)
):
    """Choose seeds, farthest-first or drawn, then place all components."""
    n_components = tier.shape[0]
    component_mass = np.empty(n_components)
    squared_norm = np.empty(n_components)
    centroids(
        inner,
        mass,
        diagonal,
        sample_weight,
        indptr,
        members,
        component_mass,
        squared_norm,
    )
    seeds = np.empty(n_seeds, np.int64)
    distance = np.empty((n_seeds, n_components))
    choose_seeds(
        totals,
        rows,
        core,
        squared_norm,
        component_mass,
        indptr,
        members,
        sample_weight,
        tier,
        cl_indptr,
        cl_indices,
        use_sum,
        prefer_linked,
        draws,
        seeds,
        distance,
    )
    place_components(
        distance, seeds, component, cl_indptr, cl_indices, cl_weights, labels
    )
