"""Trees of forests as a few arrays: small in a file, fast on many rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.estimators._jit import add_votes


@dataclass(frozen=True, eq=False)
class Trees:
    """All trees of some forests that know the same classes, one after the other.

    Attributes
    ----------
    classes : ndarray of int, shape (n_classes,)
        What the trees vote for.
    roots : ndarray of int, shape (n_trees,)
        First node of each tree.
    feature : ndarray of int, shape (n_nodes,)
        Column that a node looks at, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,)
        Rows with values up to it go to the left.
    left, right : ndarray of int, shape (n_nodes,)
        Next node, later than the node itself. For a leaf, ``left`` is its row in
        ``votes``.
    votes : ndarray of shape (n_leaves, n_classes)
        Share of each class; each row sums to 1.
    """

    classes: IntArray
    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    votes: FloatArray

    @classmethod
    def of(cls, forests: Sequence[Any]) -> "Trees":
        """Return the trees of fitted forests of scikit-learn."""
        trees = [one.tree_ for forest in forests for one in forest.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        feature = np.concatenate([tree.feature for tree in trees])
        is_leaf = feature < 0
        left, right = (
            np.concatenate(
                [root + of(tree) for root, tree in zip(roots, trees, strict=True)]
            )
            for of in (_left, _right)
        )
        left[is_leaf] = np.arange(is_leaf.sum())
        votes = np.concatenate([tree.value[:, 0] for tree in trees])[is_leaf]
        votes /= votes.sum(axis=1, keepdims=True)
        return cls(
            forests[0].classes_,
            roots.astype(np.int32),
            np.where(is_leaf, -1, feature).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            left.astype(np.int32),
            np.where(is_leaf, 0, right).astype(np.int32),
            votes.astype(np.float32),
        )

    def shares(self, columns: FloatArray) -> FloatArray:
        """Return the mean vote for each row, shape (n_rows, n_classes)."""
        found = np.zeros((len(columns), self.votes.shape[1]))
        add_votes(
            np.ascontiguousarray(columns, dtype=np.float32),
            self.roots,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.votes,
            found,
        )
        return found / len(self.roots)


def _left(tree: Any) -> IntArray:
    return np.asarray(tree.children_left)


def _right(tree: Any) -> IntArray:
    return np.asarray(tree.children_right)
