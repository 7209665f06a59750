"""Compiled loop of ITML: one constraint after another."""

from numba import njit

# Of the sum of sizes, what rounding may make of a distance that is zero.
ROUNDING = 1e-9


@njit(cache=True, nogil=True, error_model="numpy")
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
        share = 1.0 / (1.0 + 1.0 / price[i])
        alpha = sign[i] * share * (1.0 / distance - 1.0 / bound[i])
        if alpha > dual[i]:
            alpha = dual[i]
        if alpha == 0.0:
            continue
        dual[i] -= alpha
        alpha *= sign[i]
        bound[i] /= 1.0 + alpha * bound[i] / price[i]
        beta = alpha / (1.0 - alpha * distance)
        for r in range(n_features):
            value = product[r]
            for c in range(n_features):
                # In this order both triangles get the same numbers.
                metric[r, c] += beta * (value * product[c])
    return True


@njit(cache=True, nogil=True, error_model="numpy")
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
        share = 1.0 / (1.0 + 1.0 / price[i])
        alpha = sign[i] * share * (1.0 / distance - 1.0 / bound[i])
        if alpha > dual[i]:
            alpha = dual[i]
        if alpha == 0.0:
            continue
        dual[i] -= alpha
        alpha *= sign[i]
        bound[i] /= 1.0 + alpha * bound[i] / price[i]
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
