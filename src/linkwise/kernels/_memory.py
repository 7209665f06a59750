"""How much memory views and blocks of kernel values take."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkwise.kernels._entries import Entry, Views
from linkwise.kernels._families import ElementwiseKernel
from linkwise.kernels._views import Raw

# Bytes of a node of a tree of scikit-learn, without the votes of its rows.
_BYTES_PER_NODE = 64
# Arrays of the size of a block that are there at the same time beside base matrices:
# the values of a kernel, what they are made of, and the same in other units.
_ARRAYS_PER_BLOCK = 3


def nbytes_of(thing: Any) -> int:
    """Return roughly how many bytes a view, points or a model of scikit-learn hold.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.kernels import Standardized
    >>> nbytes_of(np.zeros(10)), nbytes_of(Standardized().fit(np.eye(3)))
    (80, 48)
    """
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if issparse(thing):
        return sum(nbytes_of(getattr(thing, part, None)) for part in _SPARSE)
    if is_dataclass(thing):
        return sum(nbytes_of(getattr(thing, field.name)) for field in fields(thing))
    if hasattr(thing, "estimators_"):
        trees = [one.tree_ for one in thing.estimators_]
        return sum(t.node_count * _BYTES_PER_NODE + t.value.nbytes for t in trees)
    if hasattr(thing, "kneighbors"):
        has_tree = getattr(thing, "_tree", None) is not None  # with rows of its own
        return (1 + has_tree) * nbytes_of(getattr(thing, "_fit_X", None))
    return 0


_SPARSE = ("data", "indices", "indptr")


def views_nbytes(views: Views) -> int:
    """Return the bytes of fitted views and their points; the data are not ours."""
    return sum(
        nbytes_of(view) + nbytes_of(points)
        for view, points in zip(views.views, views.points, strict=True)
        if not isinstance(view, Raw)
    )


def block_nbytes(entries: Iterable[Entry], n_rows: int, n_columns: int) -> int:
    """Return the bytes of a block of values while kernels are evaluated on it."""
    bases = {
        (view, kernel.base)
        for view, kernel in entries
        if isinstance(kernel, ElementwiseKernel)
    }
    return 8 * (len(bases) + _ARRAYS_PER_BLOCK) * n_rows * n_columns
