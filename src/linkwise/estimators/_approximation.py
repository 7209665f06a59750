"""Which approximation a problem needs: none, landmarks, or a working set as well."""

import logging
from typing import Any

import numpy as np

from linkwise.doors import FitInput
from linkwise.engines import DaskRows
from linkwise.kernels import (
    LEARNT_VIEWS,
    RICH_VIEWS,
    KernelBank,
    Precomputed,
    gram_seconds,
    landmark_seconds,
    packed_size,
)

log = logging.getLogger("linkwise")
# Base matrices of each view, from which its kernels are regenerated.
_BASES_PER_VIEW = 3
# Seconds of an exact candidate that are worth being exact: on a few data sets
# landmarks lose much (benchmarks/landmarks.py), and nobody knows which beforehand.
_AFFORDABLE = 0.05


def choose_approximation(
    model: Any, given: FitInput, kernels: Any, memory: float
) -> str:
    """Return the approximation that an estimator uses, and say why in the log.

    It goes by formulas of the number of rows, clusters and landmarks, and by the bytes
    of memory for kernels; never by a clock.
    """
    if has_given_matrices(kernels):
        if model.approximation not in ("auto", "exact"):
            raise ValueError(
                f"approximation={model.approximation!r} needs kernels that can be "
                'computed for any rows; for given Gram matrices it must be "exact".'
            )
        return "exact"
    if isinstance(given.data, DaskRows):
        if model.approximation not in ("auto", "working_set"):
            raise ValueError(
                f"approximation={model.approximation!r} needs all rows in one place; "
                'for a Dask collection it must be "auto" or "working_set".'
            )
        return "working_set"
    if model.approximation != "auto":
        return model.approximation
    how, why = _best(model, given, kernels, memory)
    log.info("approximation=%r: %s", how, why)
    return how


def has_given_matrices(kernels: Any) -> bool:
    """Tell whether kernels are known by their matrices alone, or some of them."""
    if isinstance(kernels, str):
        return kernels == "precomputed"
    return isinstance(kernels, KernelBank) or any(
        isinstance(kernel, (Precomputed, np.ndarray)) for kernel in kernels
    )


def depends_on_groups(kernels: Any) -> bool:
    """Tell whether some kernels look at views that are learnt from groups."""
    if isinstance(kernels, KernelBank):
        return True  # perhaps
    return any(getattr(view, "least_groups", 0) > 0 for view in _views_of(kernels))


def _views_of(kernels: Any) -> list[Any]:
    """Return the views that some kernels look at beside the paper's two."""
    items = [kernels] if isinstance(kernels, str) else kernels
    names = {item for item in items if isinstance(item, str)}
    chosen = names & LEARNT_VIEWS.keys()
    if "rich" in names:
        chosen.update(RICH_VIEWS)
    others = [item[0] for item in items if isinstance(item, tuple)]
    return [LEARNT_VIEWS[name] for name in chosen] + others


def _best(model: Any, given: FitInput, kernels: Any, memory: float) -> tuple[str, str]:
    n, k, q = given.closure.n_samples, given.n_clusters, model.n_landmarks
    exact, landmarks = gram_seconds(n), landmark_seconds(n, min(q, n), k)
    # The combined matrix and, packed in about half the memory, those of the views.
    n_views = 2 + len(_views_of(kernels))
    needed = 4.0 * (n**2 + _BASES_PER_VIEW * n_views * packed_size(n))
    costs = f"{n} rows, {1e3 * exact:.3g} ms for an exact candidate and "
    costs += f"{1e3 * landmarks:.3g} ms with {q} landmarks, by formula"
    if needed <= memory and exact <= max(landmarks, _AFFORDABLE):
        return "exact", costs
    if needed > memory:
        costs += f"; exact kernels need {needed / 2**30:.2f} GiB, more than max_memory"
    n_linked = len(given.pairs.points)
    if n - n_linked <= model.working_rows:
        return "landmarks", costs
    return "working_set", (
        f"{costs}; {n - n_linked} rows without a pair are more than "
        f"working_rows={model.working_rows}"
    )
