"""The doors: scikit-learn estimators that cluster under constraints."""

from linkwise.estimators._centre_distances import centre_distances
from linkwise.estimators._constrained_kernel_kmeans import ConstrainedKernelKMeans
from linkwise.estimators._kernel_csc import KernelCSC
from linkwise.estimators._kernel_fit import HARDLY_COMPACT
from linkwise.estimators._mahalanobis_csc import MahalanobisCSC
from linkwise.estimators._row_map import row_map
from linkwise.estimators._single_kernel_csc import SingleKernelCSC

__all__ = [
    "HARDLY_COMPACT",
    "ConstrainedKernelKMeans",
    "KernelCSC",
    "MahalanobisCSC",
    "SingleKernelCSC",
    "centre_distances",
    "row_map",
]
