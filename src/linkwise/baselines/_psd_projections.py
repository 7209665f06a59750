"""Projections on the metrics under which must-linked rows are close in sum.

Those are the positive semi-definite matrices A with <scatter, A> <= limit: a cone and a
half space.
"""

import numpy as np

from linkwise._typing import BoolArray, FloatArray
from linkwise.kernels import eigen

_EXCESS = 0.01  # share by which the alternating projections may pass the limit
_ACCURACY = 1e-6  # share by which the nearest metric may miss it


def nearest_metric_within(
    metric: FloatArray, scatter: FloatArray, limit: float
) -> FloatArray:
    """Return the nearest matrix in both sets.

    It is the positive part of ``metric - mu * scatter`` for the smallest mu >= 0 that
    keeps the limit; its sum falls with mu, and Newton's method finds it in a few steps,
    halving the interval where it leaves that.
    """
    low, high, mu = 0.0, np.inf, 0.0
    for _ in range(200):
        values, vectors = eigen(metric - mu * scatter)
        nearest = _combined(np.maximum(values, 0.0), vectors)
        excess = float(np.vdot(scatter, nearest)) - limit
        if abs(excess) <= _ACCURACY * limit or (mu == 0 and excess < 0):
            break
        low, high = (mu, high) if excess > 0 else (low, mu)
        slope = _slope(values, vectors.T @ scatter @ vectors)
        step = mu + excess / slope if slope > 0 else high
        mu = step if low < step < high else (low + high) / 2.0
    return nearest


def _slope(values: FloatArray, scatter: FloatArray) -> float:
    """Return how fast the sum over must-links falls with mu, in the eigenbasis."""
    positive = np.maximum(values, 0.0)
    gap = values[:, None] - values
    both: BoolArray = (values[:, None] > 0) & (values > 0)
    is_one = np.abs(gap) <= 1e-14 * np.abs(values).max()
    # Divided differences of max(., 0).
    rate = np.where(
        is_one, both, (positive[:, None] - positive) / np.where(is_one, 1.0, gap)
    )
    return float((rate * scatter**2).sum())


def alternate(
    metric: FloatArray, scatter: FloatArray, limit: float, max_projections: int
) -> tuple[FloatArray, bool]:
    """Return a matrix of the cone, and whether it keeps the limit within 1%.

    Projections on the half space and on the cone alternate until it does.
    """
    norm2 = np.vdot(scatter, scatter)
    for _ in range(max_projections):
        excess = np.vdot(scatter, metric) - limit
        if excess > 0:
            metric = metric - (excess / norm2) * scatter
        values, vectors = eigen(metric)
        metric = _combined(np.maximum(values, 0.0), vectors)
        if np.vdot(scatter, metric) - limit < _EXCESS * limit:
            return metric, True
    return metric, False


def _combined(values: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the symmetric matrix of these eigenvalues."""
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2.0
