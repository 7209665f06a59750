"""Compiled loop of ITML: one constraint after another."""

from numba import njit


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
    """Project the metric on each constraint in turn, with slack."""
    n_features = metric.shape[0]
    for i in range(differences.shape[0]):
        for r in range(n_features):
            product[r] = 0.0
        # By columns, and the metric is symmetric: no sum runs along the inner loop.
        for c in range(n_features):
            value = differences[i, c]
            for r in range(n_features):
                product[r] += metric[c, r] * value
        distance = 0.0
        for r in range(n_features):
            distance += differences[i, r] * product[r]
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
