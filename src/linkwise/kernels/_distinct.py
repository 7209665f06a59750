"""Equal rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwise._typing import IntArray
from linkwise.kernels._views import Points


def distinct_rows(data: Any, alone: npt.ArrayLike = ()) -> tuple[IntArray, IntArray]:
    """Return the first of each group of equal rows, and the group of each row.

    Groups are numbered in the order of their first rows. Only rows of dense numbers
    are compared; others are groups of one, and so are the rows ``alone``.
    """
    n_samples = Points(data).n_points
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.dtype.kind != "f":
        return np.arange(n_samples), np.arange(n_samples)
    plain = np.ascontiguousarray(data + 0.0)  # no two kinds of zero
    keys = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1])))
    group = np.unique(keys.ravel(), return_inverse=True)[1]
    alone = np.asarray(alone, dtype=np.intp)
    group[alone] = n_samples + np.arange(len(alone))
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.intp)
    rank[order] = np.arange(len(first))
    return first[order], rank[group]
