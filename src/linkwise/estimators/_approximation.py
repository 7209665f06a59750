"""Which approximation a problem needs: none, landmarks, or a working set as well."""

import logging

import numpy as np

from linkwise.doors import parse_bytes
from linkwise.engines import DaskRows
from linkwise.kernels import KernelBank, Precomputed, gram_seconds, landmark_seconds

log = logging.getLogger("linkwise")
# Matrices that exact kernels need at least: the combined one and, packed in half the
# memory, the base matrices from which the others are regenerated.
_LEAST_MATRICES = 1 + 6 / 2
# Seconds of an exact candidate that are worth being exact: on a few data sets
# landmarks lose much (benchmarks/landmarks.py), and nobody knows which beforehand.
_AFFORDABLE = 0.05


def choose_approximation(model, given, kernels):
    """Return the approximation that an estimator uses, and say why in the log.

    It goes by formulas of the number of rows, clusters and landmarks, and by the memory
    limit; never by a clock.
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
    how, why = _best(model, given)
    log.info("approximation=%r: %s", how, why)
    return how


def has_given_matrices(kernels):
    """Tell whether kernels are known by their matrices alone, or some of them."""
    if isinstance(kernels, str):
        return kernels == "precomputed"
    return isinstance(kernels, KernelBank) or any(
        isinstance(kernel, (Precomputed, np.ndarray)) for kernel in kernels
    )


def _best(model, given):
    n, k, q = given.closure.n_samples, model.n_clusters, model.n_landmarks
    exact, landmarks = gram_seconds(n), landmark_seconds(n, min(q, n), k)
    needed, limit = 4.0 * _LEAST_MATRICES * n**2, parse_bytes(model.max_memory)
    costs = f"{n} rows, {1e3 * exact:.3g} ms for an exact candidate and "
    costs += f"{1e3 * landmarks:.3g} ms with {q} landmarks, by formula"
    if needed <= limit and exact <= max(landmarks, _AFFORDABLE):
        return "exact", costs
    if needed > limit:
        costs += f"; exact kernels need {needed / 2**30:.2f} GiB, more than max_memory"
    n_linked = len(given.pairs.points)
    if n - n_linked <= model.working_rows:
        return "landmarks", costs
    return "working_set", (
        f"{costs}; {n - n_linked} rows without a pair are more than "
        f"working_rows={model.working_rows}"
    )
