"""Compiled loops over trees."""

import numpy as np

from linkwise._jit import njit


@njit
def add_votes(
    columns,  # IN  (n, d), float32
    roots,  # IN  (t,), first node of each tree, ascending
    feature,  # IN  (m,), column that a node looks at, -1 for leaves
    threshold,  # IN  (m,), values up to it go to the left
    left,  # IN  (m,), next node, a later one; for leaves, their row in `votes`
    right,  # IN  (m,)
    votes,  # IN  (l, k)
    found,  # OUT (n, k), votes are added
):
    """Let every tree vote on every row.

    All rows go down a tree together, one level at a time, and stay at a leaf when they
    have reached it: without branches that depend on the rows, this is several times as
    fast as one row after the other.
    """
    n, m = columns.shape[0], feature.shape[0]
    level = np.zeros(m, np.int32)
    children = np.empty((m, 2), np.int32)
    column = np.empty(m, np.int32)
    for node in range(m):
        if feature[node] < 0:
            children[node, 0] = children[node, 1] = node
            column[node] = 0
        else:
            children[node, 0], children[node, 1] = left[node], right[node]
            column[node] = feature[node]
            level[left[node]] = level[right[node]] = level[node] + 1
    at = np.empty(n, np.int32)
    for t in range(roots.shape[0]):
        last = roots[t + 1] if t + 1 < roots.shape[0] else m
        at[:] = roots[t]
        for _ in range(level[roots[t] : last].max()):
            for i in range(n):
                node = at[i]
                is_above = np.int32(columns[i, column[node]] > threshold[node])
                at[i] = children[node, is_above]
        for i in range(n):
            leaf = left[at[i]]
            for c in range(votes.shape[1]):
                found[i, c] += votes[leaf, c]
