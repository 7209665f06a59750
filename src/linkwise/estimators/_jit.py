"""Compiled loops over trees."""

from linkwise._jit import njit


@njit
def add_votes(
    columns,  # IN  (n, d), float32
    roots,  # IN  (t,), first node of each tree
    feature,  # IN  (m,), column that a node looks at, -1 for leaves
    threshold,  # IN  (m,), values up to it go to the left
    left,  # IN  (m,), next node; for leaves, their row in `votes`
    right,  # IN  (m,)
    votes,  # IN  (l, k)
    found,  # OUT (n, k), votes are added
):
    """Let every tree vote on every row."""
    for i in range(columns.shape[0]):
        for root in roots:
            node = root
            while feature[node] >= 0:
                if columns[i, feature[node]] <= threshold[node]:
                    node = left[node]
                else:
                    node = right[node]
            leaf = left[node]
            for c in range(votes.shape[1]):
                found[i, c] += votes[leaf, c]
