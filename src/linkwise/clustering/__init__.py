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
from linkwise.clustering._mixture import (
    Answers,
    Logistic,
    Mixture,
    MixtureSettings,
    Votes,
    directions_of,
    fit_mixture,
    with_logistic,
)
from linkwise.clustering._soft import ConstrainedResult, soft_kmeans
from linkwise.clustering._unit_rows import UnitRows

__all__ = [
    "Answers",
    "BlocksResult",
    "Centres",
    "ConstrainedResult",
    "KMeansResult",
    "Logistic",
    "Mixture",
    "MixtureSettings",
    "Share",
    "UnitRows",
    "Votes",
    "centres_of",
    "descend_in_blocks",
    "directions_of",
    "farthest_first",
    "fit_mixture",
    "hard_kmeans",
    "kmeans",
    "labels_left_out",
    "share_of",
    "soft_kmeans",
    "with_logistic",
]
