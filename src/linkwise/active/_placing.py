"""Where rows belong by the committee and by a forest of the rows with answers."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Known
from linkwise.active._strategies import apart
from linkwise.search import SMOOTH, Committee, even_weights

# Rows of every group of which a forest can learn, at the least.
_LEAST_ROWS = 3
_N_TREES = 100
_ROWS_AT_ONCE = 100_000


class Placed(NamedTuple):
    """Clusters of all rows, and how doubtful each row is in its own."""

    labels: IntArray  # -1: far from all
    doubt: FloatArray


def placed(
    labels: IntArray,
    committee: Committee,
    known: Known,
    features: FloatArray,
    n_clusters: int,
) -> Placed | None:
    """Return where rows belong if answers tell of every cluster what is in it.

    The labels of a fit are one clustering under one kernel. When each cluster has rows
    that people put there, two more have a say on all others: the whole committee, by
    the known rows in the clusters of each member, and a forest that has learnt the
    known rows from their columns. Each row goes where both together expect it. All
    clusters count alike: questions are about doubtful rows, and how many of a cluster
    are known tells little of its size.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters of the fit; they speak for rows that the committee has not seen.
    committee : Committee
        What the search has left, with the place of each row.
    known : Known
        What follows from the answers.
    features : ndarray of shape (n_samples, n_features)
        Columns that mean something by themselves.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    Placed or None
        None while a cluster has fewer than three known rows, or would lose all its own,
        and where more groups than clusters are known to differ.
    """
    from sklearn.ensemble import RandomForestClassifier

    large = [g for g in known.groups() if len(known.members(g)) >= _LEAST_ROWS]
    hoods = apart(known, large, None)
    # Those that were merged are more than there are clusters.
    if n_clusters < 2 or len(hoods) != n_clusters:
        return None
    groups = [known.members(hood) for hood in hoods]
    rows = np.concatenate(groups)
    group = np.repeat(np.arange(n_clusters), [len(own) for own in groups])
    expected = committee.shares(np.arange(len(labels)), groups, are_even=True)
    is_unseen = (committee.columns(np.arange(len(labels))) < 0) & (labels >= 0)
    if is_unseen.any():
        shares = _shares_by_labels(labels, rows, group, n_clusters)
        expected[is_unseen] = shares[labels[is_unseen]]
    forest = RandomForestClassifier(
        _N_TREES, class_weight="balanced_subsample", random_state=0
    )
    forest.fit(features[rows], group)
    for block in gen_batches(len(labels), _ROWS_AT_ONCE):
        expected[block] += forest.predict_proba(features[block])
    found = expected.argmax(axis=1)
    doubt = 1.0 - expected.max(axis=1) / 2.0
    found[labels < 0] = -1
    if len(np.unique(found[found >= 0])) < n_clusters:
        return None
    return Placed(found, doubt)


def _shares_by_labels(
    labels: IntArray, rows: IntArray, group: IntArray, n_groups: int
) -> FloatArray:
    """Return how probable each group is in each cluster, by the known rows in it."""
    counts = np.full((int(labels.max()) + 1, n_groups), SMOOTH)
    weights = even_weights(np.bincount(group).astype(np.float64))
    is_in = labels[rows] >= 0
    np.add.at(counts, (labels[rows][is_in], group[is_in]), weights[group[is_in]])
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
