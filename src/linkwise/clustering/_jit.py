"""Compiled loops of the clustering methods.

Group sums follow one layout everywhere: ``sums`` (k, n) holds F, the weighted kernel
sums between groups and points; ``inner`` (k,) holds Q, the sums inside groups; ``mass``
(k,) holds N, the weights of the groups. The squared distance of point i to the centre
of group c is ``diagonal[i] - 2 * sums[c, i] / mass[c] + inner[c] / mass[c] ** 2``.
"""

import numpy as np

from linkwise._jit import njit
from linkwise.clustering._jit_settled import (
    forget,
    move_centres,
    reassign_unsettled,
    squared_norms,
)
from linkwise.clustering._jit_starts import seed_and_place
from linkwise.kernels._jit import move_groups, spread_totals


@njit(inner=True)
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
    for c in range(k):
        if mass[c] > 0.0:
            offset[c] = inner[c] / (mass[c] * mass[c])
            factor[c] = 2.0 / mass[c]
        else:
            offset[c] = np.inf
            factor[c] = 0.0
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
    n_members = np.empty(k, np.int64)
    for c in range(k):
        n_members[c] = 0
    n_moved = 0
    for i in range(n):
        c = labels[i]
        if c != new_labels[i]:
            product = factor[c] * sums[c, i]
            d = offset[c] - product
            # Rounding is that of the numbers of this point: next to those of an
            # outlier all others would be alike, and points would stay where they are.
            if d <= cost[i] + 1e-12 * (abs(offset[c]) + abs(product)):
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


@njit(inline="always")
def descend(
    rows,  # IN  (n, m), as in move_groups
    core,  # IN  (m, m) or None
    sample_weight,  # IN  (n,)
    diagonal,  # IN  (n,)
    max_iter,  # IN
    n_unrest,  # IN  number of moves that count as rest
    rebuild_every,  # IN  iterations after which sums are taken anew
    norms,  # OUT (n,), squared norms; None: no point is passed over, see _jit_settled
    labels,  # IN/OUT (n,)
    current,  # OUT (n,), labels that the sums belong to; all -1 on entry
    totals,  # OUT (k, m), as in move_groups; zero on entry
    sums,  # OUT (k, n)
    mass,  # OUT (k,); zero on entry
    inner,  # OUT (k,)
):
    """Iterate k-means from start labels.

    Returns the number of iterations, whether it came to rest, the total scatter around
    the origin, and what of it the centres explain.

    The stopping rules stand here and not in Python because with a few hundred points
    crossing over twice in each iteration would cost more than the iteration.
    """
    n, k = labels.shape[0], mass.shape[0]
    total = 0.0
    for i in range(n):
        total += sample_weight[i] * diagonal[i]
    new_labels = np.empty(n, np.int64)
    copy_labels(labels, new_labels)
    cost = np.empty(n)
    plateau = np.empty(max_iter, np.uint64)
    n_plateau = 0
    explained = -np.inf
    n_free = 0
    n_iter = -1  # the first round only takes the sums of the start
    converged = goes_back = False
    only_totals = rebuild_every < 0  # never; a constant would be compiled once more
    if norms is not None:
        only_totals = True
        centres = np.zeros((k, rows.shape[1]))
        projected = np.zeros((k, rows.shape[1]))
        drift = np.zeros(k + 1)
        until = np.empty(n)
        forget(until)
        squared_norms(rows, core, diagonal, norms)
    while n_iter < max_iter or goes_back:
        rebuild = True
        if goes_back:
            copy_labels(labels, new_labels)
        elif n_iter < 0:
            n_iter = 0
        else:
            n_iter += 1
            n_moved = -1
            if norms is not None:
                n_moved = reassign_unsettled(
                    rows,
                    projected,
                    inner,
                    mass,
                    norms,
                    labels,
                    drift,
                    until,
                    new_labels,
                )
                if n_moved < 0:
                    spread_totals(rows, core, totals, sums)
                    forget(until)
            if n_moved < 0:
                n_moved = nearest_centres(
                    sums, inner, mass, diagonal, sample_weight, labels, new_labels, cost
                )
            if n_moved <= n_unrest:
                converged = True
                break
            rebuild = 2 * n_moved >= n or n_iter % rebuild_every == 0
        # The only call: each one more would be compiled once more.
        new_explained = move_groups(
            rows,
            core,
            sample_weight,
            current,
            new_labels,
            rebuild,
            only_totals,
            totals,
            sums,
            mass,
            inner,
        )
        if norms is not None:
            new_explained = move_centres(
                core, totals, mass, centres, projected, inner, drift
            )
        if goes_back:
            explained = new_explained
            converged = True
            break
        if n_iter == 0:
            for c in range(k):
                if mass[c] <= 0.0:
                    n_free = 1  # no way back to a start with an empty cluster
        if n_iter > n_free:
            rounding = 1e-12 * max(abs(total), abs(total - explained))
            rises = not new_explained >= explained - rounding
            stands = not new_explained > explained + rounding
            if stands or n_plateau > 0:
                # Indefinite kernels can rise, and anything can walk on a plateau: then
                # only a labelling that was there before ends it.
                goes_back = rises
                plateau[n_plateau] = fingerprint(labels)
                n_plateau += 1
                mark = fingerprint(new_labels)
                for t in range(n_plateau):
                    goes_back = goes_back or plateau[t] == mark
        if not goes_back:
            copy_labels(new_labels, labels)
            explained = new_explained
    if norms is not None:
        spread_totals(rows, core, totals, sums)
    return n_iter, converged, total, explained


@njit(inner=True)
def copy_labels(
    source,  # IN  (n,)
    target,  # OUT (n,)
):
    """Copy labels one by one; slices would take long to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit(inner=True)
def fingerprint(
    labels,  # IN  (n,)
):
    """Return 64 bits that differ for different labellings, as good as surely."""
    mark = np.uint64(14695981039346656037)
    for label in labels:
        mark = (mark ^ np.uint64(label)) * np.uint64(1099511628211)
    return mark


@njit
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
    precision = 1e-12 if sums.itemsize == 8 else 1e-5
    for i in range(start, n):
        a = labels[i]
        if n_members[a] == 1:
            continue
        w = sample_weight[i]
        d = diagonal[i] - 2.0 * sums[a, i] / mass[a] + inner[a] / mass[a] ** 2
        gain = mass[a] / (mass[a] - w) * d
        # Rounding must not make a move look better than it is.
        least = gain - precision * (abs(gain) + abs(diagonal[i]))
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


@njit
def start_and_descend(
    linked_totals,  # IN  (g_linked, m), these to ``draws`` as in seed_and_place
    linked_inner,  # IN  (g_linked,)
    linked_mass,  # IN  (g_linked,)
    component,  # IN  (n,)
    indptr,  # IN  (g + 1,)
    members,  # IN  (n,)
    tier,  # IN  (g,)
    cl_indptr,  # IN  (g + 1,)
    cl_indices,  # IN
    cl_weights,  # IN
    use_sum,  # IN
    prefer_linked,  # IN
    draws,  # IN
    rows,  # IN  (n, m), these as in descend
    core,  # IN  (m, m) or None
    sample_weight,  # IN  (n,)
    diagonal,  # IN  (n,)
    max_iter,  # IN
    n_unrest,  # IN
    rebuild_every,  # IN
    norms,  # OUT (n,) or None
    labels,  # OUT (n,)
    current,  # OUT (n,)
    totals,  # OUT (k, m)
    sums,  # OUT (k, n)
    mass,  # OUT (k,)
    inner,  # OUT (k,)
):
    """Run k-means from seeds that are chosen; return what ``descend`` returns.

    One call, because with a few hundred points a second one would show.
    """
    seed_and_place(
        linked_totals,
        linked_inner,
        linked_mass,
        rows,
        core,
        diagonal,
        sample_weight,
        component,
        indptr,
        members,
        tier,
        cl_indptr,
        cl_indices,
        cl_weights,
        use_sum,
        prefer_linked,
        draws,
        mass.shape[0],
        labels,
    )
    return descend(
        rows,
        core,
        sample_weight,
        diagonal,
        max_iter,
        n_unrest,
        rebuild_every,
        norms,
        labels,
        current,
        totals,
        sums,
        mass,
        inner,
    )


@njit
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


@njit
def place_without_violation(
    cost,  # IN  (k, g), cost of putting a component into a cluster
    order,  # IN  (g,), visiting order
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    current,  # IN  (g,), clusters so far, kept where as cheap; -1: none
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
        stay = current[g]
        if stay >= 0 and not closed[stay]:
            scale = max(abs(cost[best, g]), abs(cost[stay, g]))
            if cost[stay, g] <= cost[best, g] + 1e-12 * scale:
                best = stay
        labels[g] = best
    return -1


@njit
def improve_without_violation(
    cost,  # IN  (k, g), cost of putting a component into a cluster
    order,  # IN  (g,), visiting order
    cl_indptr,  # IN  (g + 1,), cannot-linked components, CSR
    cl_indices,  # IN
    labels,  # IN/OUT (g,), without violations
):
    """Move components in turn to cheaper allowed clusters, until none moves."""
    k = cost.shape[0]
    closed = np.zeros(k, np.bool_)
    moved = True
    while moved:
        moved = False
        for g in order:
            closed[:] = False
            for p in range(cl_indptr[g], cl_indptr[g + 1]):
                closed[labels[cl_indices[p]]] = True
            best = labels[g]
            for c in range(k):
                # Of equally cheap ones the first, as far as they are cheaper.
                if not closed[c] and cost[c, g] < cost[best, g]:
                    best = c
            if best != labels[g]:
                labels[g] = best
                moved = True
