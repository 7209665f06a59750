"""How useful a set of pairs is, by Davidson, Wagstaff and Basu (2006)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints._pairs import Constraints
from linkwise.constraints._sampling import draw_distinct

_CHUNK = 1 << 20  # numbers held at once per array


def informativeness(constraints: Constraints, labels: npt.ArrayLike) -> float:
    """Return the fraction of the given pairs that a partition violates.

    Parameters
    ----------
    constraints : Constraints
        The pairs as given: their closure plays no part, nor do weights.
    labels : array-like of int, shape (n_samples,)
        A partition made without the pairs.

    Returns
    -------
    float
        In [0, 1]; NaN without pairs.

    Examples
    --------
    >>> from linkwise.constraints import Constraints, informativeness
    >>> informativeness(Constraints([(0, 1)], [(1, 2)]), [0, 1, 2])
    0.5
    """
    satisfied = np.concatenate(constraints.satisfied(labels))
    return float(1 - satisfied.mean()) if len(satisfied) else np.nan


def coherence(
    constraints: Constraints,
    X: npt.ArrayLike,
    max_pairs: int = 1_000_000,
    random_state: Any = None,
) -> float:
    """Return the fraction of (must-link, cannot-link) pairs without overlap.

    A must-link pulls along its line and a cannot-link pushes along its own. They
    disagree where the projection of one on the line of the other overlaps it.

    Parameters
    ----------
    constraints : Constraints
        The pairs as given: their closure plays no part, nor do weights.
    X : array-like of shape (n_samples, n_features)
        The data.
    max_pairs : int, default=1_000_000
        Beyond that many, a random sample is compared.
    random_state : int, numpy Generator or None, default=None
        Seed of that sample.

    Returns
    -------
    float
        In [0, 1]; NaN if there are no must-links or no cannot-links.

    Examples
    --------
    >>> from linkwise.constraints import Constraints, coherence
    >>> X = [[0, 0], [2, 0], [1, 0], [3, 0]]
    >>> coherence(Constraints([(0, 1)], [(2, 3)]), X)
    0.0
    """
    data = np.asarray(X, dtype=np.float64)
    if data.ndim != 2:
        raise ValueError(f"X has shape {data.shape}: it must be two-dimensional.")
    constraints.check_range(len(data))
    total = constraints.n_must_link * constraints.n_cannot_link
    if total == 0:
        return np.nan
    drawn: IntArray = np.arange(min(total, max_pairs))
    if total > max_pairs:
        drawn = draw_distinct(total, max_pairs, np.random.default_rng(random_state))
    n_agree = 0
    step = max(1, _CHUNK // data.shape[1])
    for start in range(0, len(drawn), step):
        m, c = np.divmod(drawn[start : start + step], constraints.n_cannot_link)
        must, cannot = constraints.must_link[m], constraints.cannot_link[c]
        agree = ~_overlaps(data, must, cannot) & ~_overlaps(data, cannot, must)
        n_agree += int(np.count_nonzero(agree))
    return n_agree / len(drawn)


def _overlaps(data: FloatArray, line: IntArray, other: IntArray) -> BoolArray:
    """Return whether ``other``, projected on the line of ``line``, overlaps it."""
    origin = data[line[:, 0]]
    direction = data[line[:, 1]] - origin
    length = np.sqrt((direction**2).sum(axis=1))
    unit = direction / np.where(length > 0, length, 1)[:, np.newaxis]
    first = ((data[other[:, 0]] - origin) * unit).sum(axis=1)
    second = ((data[other[:, 1]] - origin) * unit).sum(axis=1)
    low, high = np.minimum(first, second), np.maximum(first, second)
    overlap = np.minimum(length, high) - np.maximum(0, low)
    return (length > 0) & (overlap > 1e-12 * length)
