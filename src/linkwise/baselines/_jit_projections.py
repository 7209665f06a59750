"""Compiled loops of ITML: one constraint after another."""

import numpy as np

from linkwise._jit import njit

# Of the sum of sizes, what rounding may make of a distance that is zero.
ROUNDING = 1e-9
# A distance that other pairs brought below this share of itself is found anew.
FALLEN = 1e-3


@njit(inner=True)
def multiplier_step(
    i,  # IN  the pair whose turn it is
    distance,  # IN  its squared distance, larger than 0
    sign,  # IN  (m,), 1.0 for a must-link, -1.0 for a cannot-link
    price,  # IN  (m,), gamma of each pair
    bound,  # OUT (m,), the bound of each pair with its slack
    dual,  # OUT (m,), the multiplier of each pair, 0 or larger
):
    """Return by how much the inverse of the metric gives way; 0.0 if it need not."""
    share = 1.0 / (1.0 + 1.0 / price[i])
    alpha = sign[i] * share * (1.0 / distance - 1.0 / bound[i])
    if alpha > dual[i]:
        alpha = dual[i]
    if alpha == 0.0:
        return 0.0
    dual[i] -= alpha
    alpha *= sign[i]
    bound[i] /= 1.0 + alpha * bound[i] / price[i]
    return alpha


@njit
def project_in_turn(
    differences,  # IN  (m, d), x_i - x_j of each pair, none of them zero
    sign,  # IN  (m,), 1.0 for a must-link, -1.0 for a cannot-link
    price,  # IN  (m,), gamma of each pair
    metric,  # OUT (d, d), symmetric; the current metric on entry
    bound,  # OUT (m,), the bound of each pair with its slack
    dual,  # OUT (m,), the multiplier of each pair, 0 or larger
    product,  # OUT (d,), scratch
):
    """Project the metric on each constraint in turn, with slack.

    Returns False as soon as a distance is no more than rounding: the metric has
    collapsed in some direction and cannot be gone on with.
    """
    n_features = metric.shape[0]
    for i in range(differences.shape[0]):
        for r in range(n_features):
            product[r] = 0.0
        # By columns, and the metric is symmetric: no sum runs along the inner loop.
        for c in range(n_features):
            value = differences[i, c]
            for r in range(n_features):
                product[r] += metric[c, r] * value
        distance = size = 0.0
        for r in range(n_features):
            part = differences[i, r] * product[r]
            distance += part
            size += abs(part)
        if not distance > ROUNDING * size:
            return False
        alpha = multiplier_step(i, distance, sign, price, bound, dual)
        if alpha == 0.0:
            continue
        beta = alpha / (1.0 - alpha * distance)
        for r in range(n_features):
            value = product[r]
            for c in range(n_features):
                # In this order both triangles get the same numbers.
                metric[r, c] += beta * (value * product[c])
    return True


@njit
def project_root_in_turn(
    differences,  # IN  (m, d), x_i - x_j of each pair, none of them zero
    sign,  # IN  (m,), 1.0 for a must-link, -1.0 for a cannot-link
    price,  # IN  (m,), gamma of each pair
    root,  # OUT (d, d), the metric is root' root
    bound,  # OUT (m,), the bound of each pair with its slack
    dual,  # OUT (m,), the multiplier of each pair, 0 or larger
    image,  # OUT (d,), scratch
    row,  # OUT (d,), scratch
):
    """Do the same to a root of the metric, which so is never indefinite.

    Half as fast again, but no direction is lost to rounding.
    """
    n_features = root.shape[0]
    for i in range(differences.shape[0]):
        distance = 0.0
        for r in range(n_features):
            value = 0.0
            for c in range(n_features):
                value += root[r, c] * differences[i, c]
            image[r] = value
            distance += value * value
        if distance == 0.0:
            continue
        alpha = multiplier_step(i, distance, sign, price, bound, dual)
        if alpha == 0.0:
            continue
        # I + beta g g' = (I + step g g')^2 for the image g.
        stretch = 1.0 / (1.0 - alpha * distance)
        step = (stretch**0.5 - 1.0) / distance
        for c in range(n_features):
            row[c] = 0.0
        for r in range(n_features):
            for c in range(n_features):
                row[c] += image[r] * root[r, c]
        for r in range(n_features):
            value = step * image[r]
            for c in range(n_features):
                root[r, c] += value * row[c]


# Blocks of pairs, for wide data. The images of all pairs of a block are found at once,
# and only those that move the metric are followed up in the others.


@njit(inner=True, fastmath={"reassoc", "nsz", "contract"})
def inner(a, b):
    """Return the sum of products of two rows."""
    total = 0.0
    for r in range(len(a)):
        total += a[r] * b[r]
    return total


@njit(inner=True, fastmath={"reassoc", "nsz", "contract"})
def inner_size(a, b):
    """Return the sum of the sizes of products of two rows."""
    total = 0.0
    for r in range(len(a)):
        total += abs(a[r] * b[r])
    return total


@njit(inner=True)
def combine(
    row,  # IN  (d,)
    weights,  # IN  (n,)
    rows,  # IN  (n or more, d)
    result,  # OUT (d,), row + weights @ rows[:n]
):
    """Add a weighted sum of rows to a row."""
    result[:] = row
    for j in range(len(weights)):
        weight = weights[j]
        for r in range(len(row)):
            result[r] += weight * rows[j, r]


@njit
def project_block(
    differences,  # IN  (b, d), x_i - x_j of some pairs, none of them zero
    images,  # IN  (b, d), differences @ metric
    sign,  # IN  (b,), 1.0 for a must-link, -1.0 for a cannot-link
    price,  # IN  (b,), gamma of each pair
    bound,  # OUT (b,), the bound of each pair with its slack
    dual,  # OUT (b,), the multiplier of each pair, 0 or larger
    left,  # OUT (b or more, d), a row for each pair that moves the metric
    right,  # OUT (b or more, d), the same; left' right is what the metric gains
):
    """Do what ``project_in_turn`` does.

    Returns the number of rows in ``left`` and ``right``, or -1 if the metric collapsed.
    """
    n_pairs, n_features = images.shape
    # Of each pair, how much of each row of `right` has come to its image.
    share = np.empty((n_pairs, n_pairs))
    distance, size = np.empty(n_pairs), np.empty(n_pairs)
    for i in range(n_pairs):
        distance[i] = inner(differences[i], images[i])
        size[i] = inner_size(differences[i], images[i])
    n = 0
    for i in range(n_pairs):
        if not distance[i] > ROUNDING * size[i]:
            return -1
        alpha = multiplier_step(i, distance[i], sign, price, bound, dual)
        if alpha == 0.0:
            continue
        beta = alpha / (1.0 - alpha * distance[i])
        combine(images[i], share[i][:n], right, right[n])
        for r in range(n_features):
            left[n, r] = beta * right[n, r]
        for k in range(i + 1, n_pairs):
            value = inner(differences[k], right[n])
            share[k, n] = beta * value
            distance[k] += beta * value * value
        n += 1
    return n


@njit
def project_root_block(
    images,  # IN  (b, d), (x_i - x_j) @ root' of some pairs
    sign,  # IN  (b,), 1.0 for a must-link, -1.0 for a cannot-link
    price,  # IN  (b,), gamma of each pair
    bound,  # OUT (b,), the bound of each pair with its slack
    dual,  # OUT (b,), the multiplier of each pair, 0 or larger
    left,  # OUT (b or more, d), a row for each pair that moves the metric
    right,  # OUT (b or more, d), the same; left' right root is what the root gains
):
    """Do what ``project_root_in_turn`` does.

    Returns the number of rows in ``left`` and ``right``.
    """
    n_pairs, n_features = images.shape
    # Of each pair, how much of each row of `left` has come to its image.
    share = np.empty((n_pairs, n_pairs))
    distance, weight = np.empty(n_pairs), np.empty(n_pairs)
    image = np.empty(n_features)
    for i in range(n_pairs):
        distance[i] = inner(images[i], images[i])
    first = distance.copy()
    n = 0
    for i in range(n_pairs):
        if distance[i] < FALLEN * first[i]:
            combine(images[i], share[i][:n], left, image)
            distance[i] = inner(image, image)
        if distance[i] == 0.0:
            continue
        alpha = multiplier_step(i, distance[i], sign, price, bound, dual)
        if alpha == 0.0:
            continue
        stretch = 1.0 / (1.0 - alpha * distance[i])
        step = (stretch**0.5 - 1.0) / distance[i]
        combine(images[i], share[i][:n], left, image)
        for j in range(n):
            weight[j] = inner(left[j], image)
        combine(image, weight[:n], right, right[n])
        for r in range(n_features):
            left[n, r] = step * image[r]
        for k in range(i + 1, n_pairs):
            value = inner(images[k], right[n])
            share[k, n] = value
            distance[k] += alpha * stretch * value * value
        n += 1
    return n
