"""Compiled loops that assign only those points that may have a new nearest centre."""

import numpy as np

from linkwise._jit import njit


@njit(inner=True)
def forget(
    until,  # OUT (n,)
):
    """Let no point be passed over next time."""
    for i in range(until.shape[0]):
        until[i] = -np.inf


@njit(inner=True)
def squared_norms(
    rows,  # IN  (n, m)
    core,  # IN  (m, m), or empty: the identity
    diagonal,  # IN  (n,), that of the kernel
    norms,  # OUT (n,), of the points as the centres see them
):
    """Measure points by rows and core.

    With landmarks, the diagonal of a kernel is that of points of which rows hold only
    a part, and of an indefinite one it may be less.
    """
    n, n_columns = rows.shape
    if core.shape[0] == 0:
        for i in range(n):
            norms[i] = diagonal[i]
        return
    own = np.empty((n_columns, n_columns), rows.dtype)
    for i in range(n_columns):
        for j in range(n_columns):
            own[i, j] = core[i, j]
    for first in range(0, n, 512):
        last = min(n, first + 512)
        part = np.dot(rows[first:last], own)
        for i in range(first, last):
            norm = 0.0
            for j in range(n_columns):
                norm += float(part[i - first, j] * rows[i, j])
            norms[i] = max(norm, 0.0)


@njit(inner=True)
def move_centres(
    core,  # IN  (m, m), or empty: the identity
    totals,  # IN  (k, m)
    mass,  # IN  (k,)
    centres,  # IN/OUT (k, m), means of the rows of groups
    projected,  # IN/OUT (k, m), centres @ core
    inner,  # OUT (k,)
    drift,  # IN/OUT (k + 1,), the way that each centre has come so far; last, the sum
    # of the longest ways of any in each iteration
):
    """Take centres to the means of their groups; return what they explain."""
    k, n_columns = totals.shape
    explained = 0.0
    longest = 0.0
    new = np.empty((k, n_columns))
    for c in range(k):
        share = 1.0 / mass[c] if mass[c] > 0.0 else 0.0
        for j in range(n_columns):
            new[c, j] = share * totals[c, j]
    new_projected = new if core.shape[0] == 0 else np.dot(new, core)
    for c in range(k):
        own = way = 0.0
        for j in range(n_columns):
            own += new[c, j] * new_projected[c, j]
            way += (new[c, j] - centres[c, j]) * (new_projected[c, j] - projected[c, j])
        # Rounding must not make a way look shorter than it is.
        way = np.sqrt(max(way, 0.0) + 1e-15 * abs(own))
        drift[c] += way
        longest = max(longest, way)
        inner[c] = own * mass[c] * mass[c]
        explained += own * mass[c]
        for j in range(n_columns):
            centres[c, j] = new[c, j]
    for c in range(k):
        for j in range(n_columns):
            projected[c, j] = new_projected[c, j]
    drift[k] += longest
    return explained


@njit(inner=True)
def reassign_unsettled(
    rows,  # IN  (n, m)
    projected,  # IN  (k, m), these up to ``mass`` as in move_centres
    inner,  # IN  (k,)
    mass,  # IN  (k,)
    norms,  # IN  (n,), squared norms of the points
    labels,  # IN  (n,), current labels
    drift,  # IN  (k + 1,)
    until,  # IN/OUT (n,), see below
    new_labels,  # OUT (n,)
):
    """Assign those points to their nearest centres that may have a new one.

    Returns how many labels changed; -1 if a cluster would be left without points, or
    is without them now.

    While a centre moves by s, the distance to it changes by s at most (Hamerly). So a
    point stays where it is as long as the way of its own centre and the longest ways of
    all are together less than the second smallest distance minus the smallest. In
    ``until`` is what the two, as in ``drift``, may come to. Ties are as in
    nearest_centres.
    """
    n, n_columns = rows.shape
    k = mass.shape[0]
    offset = np.empty(k)
    turned = np.empty((n_columns, k), rows.dtype)
    n_members = np.empty(k, np.int64)
    for c in range(k):
        if mass[c] <= 0.0:
            return -1
        offset[c] = inner[c] / (mass[c] * mass[c])
        n_members[c] = 0
        for j in range(n_columns):
            turned[j, c] = 2.0 * projected[c, j]
    rounding = 2.2e-16 if rows.itemsize == 8 else 1.2e-7
    precision = 4.0 * rounding * np.sqrt(n_columns)
    some = np.empty(512, np.int64)
    block = np.empty((512, n_columns), rows.dtype)
    n_moved = n_some = 0
    for i in range(n):
        c = labels[i]
        if drift[c] + drift[k] < until[i]:
            new_labels[i] = c
            n_members[c] += 1
        else:
            some[n_some] = i
            for j in range(n_columns):
                block[n_some, j] = rows[i, j]
            n_some += 1
        if n_some == 512 or (i == n - 1 and n_some > 0):
            products = np.dot(block[:n_some], turned)
            for t in range(n_some):
                p, own = some[t], labels[some[t]]
                best, least, second = 0, np.inf, np.inf
                largest = 0.0
                for c in range(k):
                    d = offset[c] - products[t, c]
                    largest = max(largest, abs(offset[c]) + abs(products[t, c]))
                    if d < least:
                        best, least, second = c, d, least
                    elif d < second:
                        second = d
                if best != own:
                    product = products[t, own]
                    d = offset[own] - product
                    if d <= least + 1e-12 * (abs(offset[own]) + abs(product)):
                        best, least, second = own, d, least
                    else:
                        n_moved += 1
                new_labels[p] = best
                n_members[best] += 1
                # Distances from their squares, and what rounding leaves of the gap.
                slack = precision * (norms[p] + largest)
                near = np.sqrt(max(norms[p] + least, 0.0) + slack)
                far = np.sqrt(max(norms[p] + second, 0.0) + slack)
                gap = (second - least - 2.0 * slack) / (near + far)
                until[p] = drift[best] + drift[k] + gap
            n_some = 0
    for c in range(k):
        if n_members[c] == 0:
            return -1
    return n_moved
