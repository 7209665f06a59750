"""From a geometry and start labels to clusters."""

from linkwise.clustering._blocks import (
    BlocksResult,
    Centres,
    Share,
    centres_of,
    descend_in_blocks,
    share_of,
)
from linkwise.clustering._farthest_first import farthest_first
from linkwise.clustering._hard import hard_kmeans
from linkwise.clustering._kmeans import KMeansResult, kmeans, labels_left_out
from linkwise.clustering._soft import ConstrainedResult, soft_kmeans

__all__ = [
    "BlocksResult",
    "Centres",
    "ConstrainedResult",
    "KMeansResult",
    "Share",
    "centres_of",
    "descend_in_blocks",
    "farthest_first",
    "hard_kmeans",
    "kmeans",
    "labels_left_out",
    "share_of",
    "soft_kmeans",
]
