"""Rival methods, on the same constraints, starts and k-means parts.

All take ``fit(X, y=None, *, constraints=None)`` like the estimators of linkwise. They
work on X as it is: put a ``StandardScaler`` in front where columns differ in scale.
"""

from linkwise.baselines._adaptive_ssk_kmeans import AdaptiveSSKKMeans
from linkwise.baselines._cobras import COBRAS
from linkwise.baselines._complete_link import ConstrainedCompleteLink
from linkwise.baselines._cop_kmeans import COPKMeans
from linkwise.baselines._cpac import CPAC
from linkwise.baselines._hmrf_kmeans import HMRFKMeans
from linkwise.baselines._itml import ITML
from linkwise.baselines._lcvqe import LCVQE
from linkwise.baselines._metric_lcvqe import MetricLCVQE
from linkwise.baselines._mmc import MMC
from linkwise.baselines._mpck_means import MPCKMeans
from linkwise.baselines._npk import NPK
from linkwise.baselines._pair_network import PairNetwork
from linkwise.baselines._pck_means import PCKMeans
from linkwise.baselines._rca import RCA
from linkwise.baselines._seeded_kmeans import ConstrainedKMeans, SeededKMeans
from linkwise.baselines._skms import SKMS
from linkwise.baselines._ssk_kmeans import SSKKMeans

__all__ = [
    "COBRAS",
    "CPAC",
    "ITML",
    "LCVQE",
    "MMC",
    "NPK",
    "RCA",
    "SKMS",
    "AdaptiveSSKKMeans",
    "COPKMeans",
    "ConstrainedCompleteLink",
    "ConstrainedKMeans",
    "HMRFKMeans",
    "MPCKMeans",
    "MetricLCVQE",
    "PCKMeans",
    "PairNetwork",
    "SSKKMeans",
    "SeededKMeans",
]
