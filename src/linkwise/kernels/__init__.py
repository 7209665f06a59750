"""Similarity: views of the data, kernels, banks of kernels, geometries."""

from linkwise.kernels._bank import (
    Bank,
    FeatureScales,
    KernelBank,
    feature_seconds,
    gram_seconds,
)
from linkwise.kernels._distinct import distinct_rows
from linkwise.kernels._entries import CombinedKernel, SeveralSets
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
from linkwise.kernels._landmarks import LandmarkBank, LandmarkSpace, landmark_seconds
from linkwise.kernels._scaling import random_share
from linkwise.kernels._spaces import (
    REBUILD_EVERY,
    FeatureSpace,
    GramSpace,
    GroupSums,
    Space,
)
from linkwise.kernels._views import Raw, Standardized, View

__all__ = [
    "RBF",
    "REBUILD_EVERY",
    "Bank",
    "CombinedKernel",
    "FeatureScales",
    "FeatureSpace",
    "GramSpace",
    "GroupSums",
    "Kernel",
    "KernelBank",
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
    "View",
    "distinct_rows",
    "feature_seconds",
    "gram_seconds",
    "landmark_seconds",
    "random_share",
]
