"""Compiled loops of the constraints layer."""

import numpy as np

from linkwise._jit import njit


@njit
def count_equal_pairs(
    labels,  # IN  (n,), labels of all points
    points,  # IN  (m,), the constrained points, grouped by component
    indptr,  # IN  (g + 1,), component c has points[indptr[c] : indptr[c + 1]]
    cl_indptr,  # IN  (g + 1,), CSR: components cannot-linked to c, each pair once,
    cl_indices,  # IN  are cl_indices[cl_indptr[c] : cl_indptr[c + 1]]
):
    """Return the number of equal-label pairs inside and between components.

    Both are -1 if some label is negative or larger than the number of points. "Between"
    counts only components joined by a cannot-link. Packed histograms cost the number of
    labels a component really has, not the number of clusters.
    """
    n_labels = 0
    for label in labels:
        if label < 0 or label > labels.shape[0]:
            return -1, -1
        n_labels = max(n_labels, label + 1)
    histogram = np.empty(n_labels, np.intp)  # np.zeros would take long to compile
    for label in range(n_labels):
        histogram[label] = 0
    # Distinct labels of each component and how many points carry them, packed at the
    # component's place.
    values = np.empty(points.shape[0], np.intp)
    counts = np.empty(points.shape[0], np.intp)
    n_components = len(indptr) - 1
    ends = np.empty(n_components, np.intp)
    inside = 0
    for c in range(n_components):
        end = indptr[c]
        for p in range(indptr[c], indptr[c + 1]):
            label = labels[points[p]]
            if histogram[label] == 0:
                values[end] = label
                end += 1
            # The new point agrees with all points of its label counted so far.
            inside += histogram[label]
            histogram[label] += 1
        for q in range(indptr[c], end):
            counts[q] = histogram[values[q]]
            histogram[values[q]] = 0
        ends[c] = end

    between = 0
    for c in range(n_components):
        if cl_indptr[c] == cl_indptr[c + 1]:
            continue
        for q in range(indptr[c], ends[c]):
            histogram[values[q]] = counts[q]
        for e in range(cl_indptr[c], cl_indptr[c + 1]):
            other = cl_indices[e]
            for q in range(indptr[other], ends[other]):
                between += counts[q] * histogram[values[q]]
        for q in range(indptr[c], ends[c]):
            histogram[values[q]] = 0
    return inside, between
