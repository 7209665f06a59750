"""Similarity: views of the data, kernels, banks of kernels, geometries."""

from linkwise.kernels._bank import (
    Bank,
    FeatureScales,
    KernelBank,
    feature_seconds,
    gram_seconds,
)
from linkwise.kernels._checks import (
    check_array,
    check_kernel,
    is_whole,
    need,
    need_type,
)
from linkwise.kernels._distinct import distinct_rows
from linkwise.kernels._eigen import eigen, signed
from linkwise.kernels._entries import (
    CombinedKernel,
    SeveralSets,
    in_double,
    sources_of,
)
from linkwise.kernels._families import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    PairKernel,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from linkwise.kernels._landmark_space import LandmarkSpace
from linkwise.kernels._landmarks import LandmarkBank, landmark_seconds
from linkwise.kernels._learnt_views import (
    LEARNT_VIEWS,
    RICH_VIEWS,
    Diffusion,
    Discriminant,
    ForestVotes,
    Unit,
    Whitened,
    WithinWhitened,
    within_groups,
)
from linkwise.kernels._packed import packed_size
from linkwise.kernels._scaling import random_share
from linkwise.kernels._spaces import (
    REBUILD_EVERY,
    FeatureSpace,
    GramSpace,
    GroupSums,
    Space,
    as_input,
)
from linkwise.kernels._views import Known, Raw, Standardized, View

__all__ = [
    "LEARNT_VIEWS",
    "RICH_VIEWS",
    "RBF",
    "REBUILD_EVERY",
    "Bank",
    "CombinedKernel",
    "Diffusion",
    "Discriminant",
    "FeatureScales",
    "FeatureSpace",
    "ForestVotes",
    "GramSpace",
    "GroupSums",
    "Kernel",
    "KernelBank",
    "Known",
    "LandmarkBank",
    "LandmarkSpace",
    "Laplacian",
    "Linear",
    "PairKernel",
    "Polynomial",
    "Precomputed",
    "Raw",
    "SeveralSets",
    "Sigmoid",
    "Space",
    "Standardized",
    "Unit",
    "View",
    "Whitened",
    "WithinWhitened",
    "check_array",
    "check_kernel",
    "distinct_rows",
    "eigen",
    "feature_seconds",
    "gram_seconds",
    "in_double",
    "is_whole",
    "landmark_seconds",
    "need",
    "need_type",
    "packed_size",
    "random_share",
    "signed",
    "sources_of",
    "within_groups",
    "as_input",
]
