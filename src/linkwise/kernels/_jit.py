"""Compiled loops over kernel matrices."""

import numpy as np

from linkwise._jit import njit


@njit
def add_five(
    a,  # IN  (size,) packed Gram matrices, see _packed.py
    b,  # IN
    c,  # IN
    d,  # IN
    e,  # IN
    v,  # IN  weights, float64; zero for matrices that only fill the call
    w,  # IN
    x,  # IN
    y,  # IN
    z,  # IN
    rows_per_block,  # IN
    gram,  # OUT (n, n), float32; the lower block triangle only
):
    """Write the weighted sum of five packed matrices into the lower block rows."""
    n = gram.shape[0]
    flat = gram.reshape(n * n)
    v, w, x = np.float32(v), np.float32(w), np.float32(x)
    y, z = np.float32(y), np.float32(z)
    p = 0
    for first in range(0, n, rows_per_block):
        width = min(n, first + rows_per_block)
        # Whole rows follow each other in memory: the last block is one long row.
        n_rows, length = width - first, width
        if width == n:
            n_rows, length = 1, (width - first) * n
        for i in range(n_rows):
            begin = (first + i) * n
            # Indices into the whole arrays would not become vector instructions.
            row = flat[begin : begin + length]
            r, s, t = a[p : p + length], b[p : p + length], c[p : p + length]
            u, q = d[p : p + length], e[p : p + length]
            for j in range(length):
                row[j] = v * r[j] + w * s[j] + x * t[j] + y * u[j] + z * q[j]
            p += length


@njit
def add_rows(
    a,  # IN  (n, q), float32
    b,  # IN
    c,  # IN
    d,  # IN
    e,  # IN
    v,  # IN  weights, float64; zero for matrices that only fill the call
    w,  # IN
    x,  # IN
    y,  # IN
    z,  # IN
    anew,  # IN  whether to overwrite ``out`` or to add to it
    out,  # IN/OUT (n, q), float32
):
    """Add the weighted sum of five matrices to another one."""
    n_rows, n_columns = out.shape
    v, w, x = np.float32(v), np.float32(w), np.float32(x)
    y, z = np.float32(y), np.float32(z)
    for i in range(n_rows):
        r, s, t, u, q, row = a[i], b[i], c[i], d[i], e[i], out[i]
        if anew:
            for j in range(n_columns):
                row[j] = v * r[j] + w * s[j] + x * t[j] + y * u[j] + z * q[j]
        else:
            for j in range(n_columns):
                row[j] += v * r[j] + w * s[j] + x * t[j] + y * u[j] + z * q[j]


@njit
def mirror(
    rows_per_block,  # IN  blocks on the diagonal are whole already
    gram,  # IN/OUT (n, n), the lower block triangle is copied to the upper one
):
    """Make a square matrix symmetric, tile by tile."""
    n = gram.shape[0]
    tile = 64  # divides rows_per_block
    for first in range(rows_per_block, n, rows_per_block):
        last = min(n, first + rows_per_block)
        for start in range(0, first, tile):
            for j in range(start, start + tile):
                for i in range(first, last):
                    gram[j, i] = gram[i, j]


@njit
def move_rows(
    rows,  # IN  (n, m), float32 or float64
    row_weight,  # IN  (n,)
    old,  # IN  (n,), group of each row so far, -1: in no group
    new,  # IN  (n,), group of each row from now on, -1: in no group
    totals,  # OUT (k, m), weighted sums of the rows of each group
    mass,  # OUT (k,), sums of the row weights of each group
):
    """Bring the row sums of groups up to date after rows changed their group."""
    n, m = rows.shape
    k = totals.shape[0]
    # Every moved row leaves one group and enters another: sort these changes by
    # group, so that one group's total is visited once for four rows.
    ends = np.empty(k + 1, np.int64)
    position = np.empty(k, np.int64)
    for c in range(k + 1):
        ends[c] = 0
    for i in range(n):
        if old[i] != new[i]:
            if old[i] >= 0:
                ends[old[i] + 1] += 1
            if new[i] >= 0:
                ends[new[i] + 1] += 1
    for c in range(k):
        position[c] = ends[c]
        ends[c + 1] += ends[c]
    changes = np.empty(ends[k], np.int64)
    factors = np.empty(ends[k], np.float64)
    for i in range(n):
        if old[i] != new[i]:
            w = row_weight[i]
            if old[i] >= 0:
                p = position[old[i]]
                position[old[i]] += 1
                changes[p] = i
                factors[p] = -w
                mass[old[i]] -= w
            if new[i] >= 0:
                p = position[new[i]]
                position[new[i]] += 1
                changes[p] = i
                factors[p] = w
                mass[new[i]] += w
    for c in range(k):
        total = totals[c]
        p = ends[c]
        while p + 4 <= ends[c + 1]:
            q, r = rows[changes[p]], rows[changes[p + 1]]
            s, t = rows[changes[p + 2]], rows[changes[p + 3]]
            wq, wr, ws, wt = factors[p], factors[p + 1], factors[p + 2], factors[p + 3]
            for j in range(m):
                total[j] += (wq * q[j] + wr * r[j]) + (ws * s[j] + wt * t[j])
            p += 4
        while p < ends[c + 1]:
            q, wq = rows[changes[p]], factors[p]
            for j in range(m):
                total[j] += wq * q[j]
            p += 1


@njit(inner=True)
def spread_totals(
    rows,  # IN  (n, m)
    core,  # IN  (m, m), or empty: the identity
    totals,  # IN  (k, m)
    sums,  # OUT (k, n), totals @ core @ rows.T, of the type of the rows
):
    """Take group totals of rows to kernel sums between groups and points.

    Block by block and with the rows first: for few groups BLAS takes half the time.
    """
    n_groups, n_columns = totals.shape
    n = rows.shape[0]
    projected = totals if core.shape[0] == 0 else np.dot(totals, core)
    turned = np.empty((n_columns, n_groups), rows.dtype)
    for j in range(n_columns):
        for c in range(n_groups):
            turned[j, c] = projected[c, j]
    for first in range(0, n, 512):
        last = min(n, first + 512)
        part = np.dot(rows[first:last], turned)
        for c in range(n_groups):
            for i in range(first, last):
                sums[c, i] = part[i - first, c]


@njit
def move_groups(
    rows,  # IN  (n, m), what is summed over groups
    core,  # IN  as in spread_totals; None if totals are the sums
    sample_weight,  # IN  (n,)
    old,  # IN/OUT (n,), groups so far, then ``new``
    new,  # IN  (n,), groups from now on; -1: in no group
    rebuild,  # IN  take the sums anew instead of bringing them up to date
    only_totals,  # IN  nothing but totals and mass is wanted, if there is a core
    totals,  # OUT (k, m), sums of the rows of each group
    sums,  # OUT (k, n), F: kernel sums between groups and points
    mass,  # OUT (k,), N: weight of each group
    inner,  # OUT (k,), Q: kernel sums inside groups
):
    """Change the groups; return the scatter that their centres explain."""
    n_groups, n_columns = totals.shape
    if rebuild:
        for c in range(n_groups):
            mass[c] = 0.0
            for j in range(n_columns):
                totals[c, j] = 0.0
        for i in range(old.shape[0]):
            old[i] = -1
    move_rows(rows, sample_weight, old, new, totals, mass)
    if core is not None:
        if only_totals:
            for i in range(new.shape[0]):
                old[i] = new[i]
            return 0.0
        spread_totals(rows, core, totals, sums)
    for c in range(n_groups):
        inner[c] = 0.0
    for i in range(new.shape[0]):
        c = new[i]
        old[i] = c
        if c >= 0:
            inner[c] += sample_weight[i] * sums[c, i]
    explained = 0.0
    for c in range(mass.shape[0]):
        if mass[c] > 0.0:
            explained += inner[c] / mass[c]
    return explained


@njit
def combine_sums(
    parts,  # IN  (p, g, n), sums over groups for each of p kernels
    chosen,  # IN  (c,), kernels
    weights,  # IN  (c,)
    groups,  # IN  (n,), -1: in no group
    sample_weight,  # IN  (n,)
    sums,  # OUT (g, n)
    inner,  # OUT (g,)
):
    """Combine the group sums of kernels linearly."""
    n_groups, n = sums.shape
    for g in range(n_groups):
        row = sums[g]
        part, w = parts[chosen[0], g], weights[0]
        for i in range(n):
            row[i] = w * part[i]
        for s in range(1, chosen.shape[0]):
            part, w = parts[chosen[s], g], weights[s]
            for i in range(n):
                row[i] += w * part[i]
    for g in range(n_groups):
        inner[g] = 0.0
    for i in range(n):
        g = groups[i]
        if g >= 0:
            inner[g] += sample_weight[i] * sums[g, i]


@njit
def nearest_references(
    scores,  # IN  (n, m), float32, roughly x.r - r.r / 2 of rows x and references r
    slack,  # IN  (n,), float32, by how much two scores of a row may be wrong together
    rows,  # IN  (n, d)
    references,  # IN  (m, d)
    near,  # OUT (n, k), nearest references by distance, of equally far ones the first
):
    """Find the references that are nearest to each row, exactly.

    The scores say which may be among them; distances are taken of those alone.
    """
    n, m = scores.shape
    d, k = rows.shape[1], near.shape[1]
    width = 128
    tops = np.empty(width, np.float32)
    highest = np.empty(k, np.float32)
    least = np.empty(k, np.float64)
    for i in range(n):
        # At least k scores are not below the k-th highest of these tops. Loops over
        # parts of a row become vector instructions.
        tops[:] = -np.inf
        for first in range(0, m, width):
            part = scores[i, first : first + width]
            for j in range(part.shape[0]):
                tops[j] = part[j] if part[j] > tops[j] else tops[j]
        highest[:] = -np.inf
        for top in tops:
            if top > highest[k - 1]:
                p = k - 1
                while p > 0 and highest[p - 1] < top:
                    highest[p] = highest[p - 1]
                    p -= 1
                highest[p] = top
        bound = highest[k - 1] - slack[i]
        n_found = 0
        for first in range(0, m, width):
            part = scores[i, first : first + width]
            # Most parts hold none. A score that is no number is looked at: its row is
            # too large for single precision.
            count = 0
            for j in range(part.shape[0]):
                count += not part[j] < bound
            if count == 0:
                continue
            for j in range(part.shape[0]):
                if part[j] < bound:
                    continue
                distance = 0.0
                for c in range(d):
                    step = rows[i, c] - references[first + j, c]
                    distance += step * step
                if n_found < k:
                    p = n_found
                    n_found += 1
                elif distance < least[k - 1]:
                    p = k - 1
                else:
                    continue
                while p > 0 and least[p - 1] > distance:
                    least[p], near[i, p] = least[p - 1], near[i, p - 1]
                    p -= 1
                least[p], near[i, p] = distance, first + j


@njit
def move_origin(
    values,  # IN  (n, r), of rows with all of which landmarks are made
    n_kept,  # IN  so many of the columns are landmarks themselves
    indptr,  # IN  (q - n_kept + 1,), CSC: the mean j is made of the columns
    indices,  # IN  indices[indptr[j] : indptr[j + 1]] behind those,
    shares,  # IN  each of which is this part of it
    centre,  # IN  (q,), to be subtracted from each row
    moved,  # OUT (n, q), float32, values with landmarks, of mean 0 in each row
    constants,  # OUT (n,), the means that were taken from the rows
):
    """Move the origin of kernel values to the mean of the landmarks."""
    n, q = moved.shape
    row = np.empty(q, np.float64)
    for i in range(n):
        row[:n_kept] = values[i, :n_kept]
        others = values[i, n_kept:]
        for j in range(q - n_kept):
            mean = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                mean += shares[p] * others[indices[p]]
            row[n_kept + j] = mean
        total = 0.0
        for j in range(q):
            row[j] -= centre[j]
            total += row[j]
        constants[i] = total / q
        for j in range(q):
            moved[i, j] = row[j] - constants[i]


@njit
def city_block(
    left,  # IN  (n, d)
    turned,  # IN  (d, m), columns are points
    distances,  # OUT (n, m)
):
    """Fill in the L1 distances of points."""
    d = left.shape[1]
    for i in range(left.shape[0]):
        row = distances[i]
        row[:] = 0.0
        # Four columns at a time: the sums are read and written less often.
        for c in range(0, d - 3, 4):
            v, w, x, y = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
            q, r, s, t = turned[c], turned[c + 1], turned[c + 2], turned[c + 3]
            for j in range(row.shape[0]):
                some = (row[j] + abs(v - q[j])) + abs(w - r[j])
                row[j] = (some + abs(x - s[j])) + abs(y - t[j])
        for c in range(d - d % 4, d):
            v, q = left[i, c], turned[c]
            for j in range(row.shape[0]):
                row[j] += abs(v - q[j])


@njit
def add_squares(
    products,  # IN/OUT (n, m), -2 x.y of points x and y, then squared distances
    left,  # IN  (n,), x.x
    right,  # IN  (m,), y.y
):
    """Add squared norms to products; what rounding has left below zero becomes 0."""
    for i in range(products.shape[0]):
        row, square = products[i], left[i]
        for j in range(row.shape[0]):
            value = (row[j] + square) + right[j]
            row[j] = 0.0 if value < 0.0 else value
