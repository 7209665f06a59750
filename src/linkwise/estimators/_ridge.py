"""Kernel ridge regression that says which class rows belong to.

Smooth where trees are not: it finds classes that depend on many columns at once. Its
error on rows that it has not seen is exact and costs nothing, for least squares know
what each row would get if it were left out.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from linkwise._typing import FloatArray, IntArray

# Kernels that are tried: Gaussian ones, by their width in median squared distances, and
# the linear kernel (infinity). Then the penalties.
_WIDTHS = (0.25, 1.0, 4.0, np.inf)
_PENALTIES = (0.01, 0.1, 1.0)
# Rows that kernels are centred on; with more the model is larger and slower.
_MAX_CENTRES = 300
# Standardised columns count up to here: a single wild value should not decide.
_LIMIT = 5.0
# Least share of a class, and least eigenvalue that is kept, relative.
_LEAST = 0.01
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted regression; made by :func:`learn_ridge`.

    Attributes
    ----------
    classes : ndarray of int, shape (n_classes,)
        What the columns of the result stand for.
    centres : ndarray of shape (n_centres, n_features)
        Rows that the kernel compares with.
    width : float
        Divisor of squared distances; of products if ``is_linear``.
    is_linear : bool
        Whether the kernel is linear, not Gaussian.
    coefficients : ndarray of shape (n_centres, n_classes)
        Weight of each centre.
    offset : ndarray of shape (n_classes,)
        Share of each class among the rows that were learnt.
    """

    classes: IntArray
    centres: FloatArray
    width: float
    is_linear: bool
    coefficients: FloatArray
    offset: FloatArray

    def shares(self, columns: FloatArray) -> FloatArray:
        """Return the share of each class for each row, (n_rows, n_classes)."""
        values = _kernel(_limited(columns), self.centres, self.width, self.is_linear)
        return _as_shares(values @ self.coefficients + self.offset)


class _Solution(NamedTuple):
    """Regression under one kernel and penalty."""

    error: float
    unseen: FloatArray  # (n_rows, n_classes), each row left out in turn
    ridge: Ridge


def learn_ridge(
    columns: FloatArray, own: IntArray, rng: np.random.Generator
) -> tuple[Ridge, FloatArray]:
    """Learn the classes of rows.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_features)
        Standardised columns.
    own : ndarray of int, shape (n_rows,)
        Class of each row, at least two.
    rng : Generator
        Draws the centres if there are many rows.

    Returns
    -------
    Ridge
        With the kernel and penalty of the least error on rows left out.
    ndarray of shape (n_rows, n_classes)
        What each row would get if it were left out.

    Examples
    --------
    >>> import numpy as np
    >>> columns = np.array([[-1.0], [-0.9], [-0.8], [0.8], [0.9], [1.0]])
    >>> own = np.array([0, 0, 0, 3, 3, 3])
    >>> ridge, unseen = learn_ridge(columns, own, np.random.default_rng(0))
    >>> ridge.classes[unseen.argmax(axis=1)].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    columns = _limited(columns)
    n_rows = len(columns)
    chosen = np.arange(n_rows)
    if n_rows > _MAX_CENTRES:
        chosen = np.sort(rng.choice(n_rows, _MAX_CENTRES, replace=False))
    centres = columns[chosen]
    distances = cdist(centres, centres, "sqeuclidean")
    unit = float(np.median(distances[np.triu_indices(len(centres), 1)])) or 1.0
    solutions = [
        solution
        for width in _WIDTHS
        for solution in _solve(columns, own, centres, unit, width)
    ]
    best = min(solutions, key=lambda solution: solution.error)
    return best.ridge, best.unseen


def _solve(
    columns: FloatArray, own: IntArray, centres: FloatArray, unit: float, width: float
) -> list[_Solution]:
    """Return the regressions under one kernel, for each penalty.

    Rows become features whose products are the kernel's values; there ridge regression
    has a solution for every penalty, and the residual of a row that is left out, from
    one spectrum.
    """
    classes, at = np.unique(own, return_inverse=True)
    target = np.eye(len(classes))[at]
    offset = target.mean(axis=0)
    is_linear = bool(np.isinf(width))
    divisor = unit if is_linear else unit * width
    spectrum, axes = eigh(_kernel(centres, centres, divisor, is_linear))
    kept = spectrum > _ROUNDING * max(spectrum[-1], 1.0)
    whitening = axes[:, kept] / np.sqrt(spectrum[kept])
    if len(centres) == len(columns):
        features, values = axes[:, kept] * np.sqrt(spectrum[kept]), spectrum[kept]
    else:
        features = _kernel(columns, centres, divisor, is_linear) @ whitening
        values, turn = eigh(features.T @ features)
        values = np.maximum(values, 0.0)
        features, whitening = features @ turn, whitening @ turn
    pulled = features.T @ (target - offset)
    found = []
    for penalty in _PENALTIES:
        shrunk = 1.0 / (values + penalty)
        leverage = (features**2) @ shrunk
        fitted = features @ (shrunk[:, None] * pulled)
        residual = (target - offset - fitted) / np.maximum(1.0 - leverage, _ROUNDING)[
            :, None
        ]
        coefficients = whitening @ (shrunk[:, None] * pulled)
        ridge = Ridge(classes, centres, divisor, is_linear, coefficients, offset)
        unseen = _as_shares(target - residual)
        found.append(_Solution(mean_error(unseen, at), unseen, ridge))
    return found


def mean_error(shares: FloatArray, at: IntArray) -> float:
    """Return the squared error of shares, classes counting the same.

    Otherwise nobody would miss a rare class. ``at`` is the column of each row's class.
    """
    target = np.eye(shares.shape[1])[at]
    errors = ((shares - target) ** 2).sum(axis=1)
    return float(np.mean(np.bincount(at, errors) / np.bincount(at)))


def _limited(columns: FloatArray) -> FloatArray:
    return np.clip(columns, -_LIMIT, _LIMIT)


def _kernel(
    left: FloatArray, right: FloatArray, width: float, is_linear: bool
) -> FloatArray:
    if is_linear:
        return np.asarray(left @ right.T / width)
    return np.asarray(np.exp(-cdist(left, right, "sqeuclidean") / width))


def _as_shares(values: FloatArray) -> FloatArray:
    shares = np.clip(values, _LEAST, 1.0)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
