"""The methods that experiments know by name, and how to bring one's own."""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Constraints

# Called with X, constraints, n_clusters, random_state and parameters by name.
Method = Callable[..., IntArray]


def clusterer(estimator: Any, standardise: bool = False, **fixed: Any) -> Method:
    """Return the method that an estimator class stands for.

    Parameters
    ----------
    estimator : class
        Called with ``n_clusters``, ``random_state`` if it takes one, and parameters;
        its objects have ``fit_predict(X, constraints=...)``.
    standardise : bool, default=False
        Whether columns are first brought to mean 0 and variance 1.
    **fixed : object
        Parameters with a value other than the default.

    Returns
    -------
    callable
        A function of X, constraints, n_clusters, random_state and parameters.

    Examples
    --------
    >>> from linkwise.baselines import LCVQE
    >>> from linkwise.constraints import Constraints
    >>> method = clusterer(LCVQE, standardise=True)
    >>> X, pairs = [[0.0], [1.0], [9.0]], Constraints([(0, 1)])
    >>> labels = method(X, pairs, n_clusters=2, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    signature = inspect.signature(estimator)

    def method(
        X: FloatArray,
        constraints: Constraints,
        *,
        n_clusters: int,
        random_state: int,
        **parameters: Any,
    ) -> IntArray:
        settings = {**fixed, **parameters}
        if "random_state" in signature.parameters:
            settings["random_state"] = random_state
        model = estimator(n_clusters=n_clusters, **settings)
        data = standardised(X) if standardise else X
        return np.asarray(model.fit_predict(data, constraints=constraints))

    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def _kmeans(
    X: FloatArray,
    constraints: Constraints,
    *,
    n_clusters: int,
    random_state: int,
    **parameters: Any,
) -> IntArray:
    """Cluster standardised rows without regard to pairs."""
    from sklearn.cluster import KMeans

    settings = {"n_init": 10, **parameters}
    model = KMeans(n_clusters, random_state=random_state, **settings)
    return np.asarray(model.fit_predict(standardised(X)))


def standardised(X: FloatArray) -> FloatArray:
    """Return rows with columns of mean 0 and variance 1."""
    from sklearn.preprocessing import StandardScaler

    return np.asarray(StandardScaler().fit_transform(X))


@cache
def _methods() -> dict[str, Method]:
    """Return the methods by name; what they need is imported here, it is slow."""
    from linkwise import baselines, estimators

    # The rivals measure distances in the data as they are given: they get standardised
    # columns, as in the paper. The searches have views of their own.
    rivals = {
        "COP": baselines.COPKMeans,
        "LCVQE": baselines.LCVQE,
        "SSK": baselines.SSKKMeans,
        "HMRF": baselines.HMRFKMeans,
        "MPCK": baselines.MPCKMeans,
        "PCK": baselines.PCKMeans,
        "Adaptive-SSK": baselines.AdaptiveSSKKMeans,
        "NPK": baselines.NPK,
        "SKMS": baselines.SKMS,
        "CPAC": baselines.CPAC,
        "CCL": baselines.ConstrainedCompleteLink,
    }
    learner, network = baselines.MetricLCVQE, baselines.PairNetwork
    return {
        "k-means": _kmeans,
        **{name: clusterer(rival, standardise=True) for name, rival in rivals.items()},
        "ITML+LCVQE": clusterer(learner, standardise=True, metric="itml"),
        "MMC+LCVQE": clusterer(learner, standardise=True, metric="mmc"),
        "RCA+LCVQE": clusterer(learner, standardise=True, metric="rca"),
        "KCL": clusterer(network, standardise=True, loss="kcl"),
        "MCL": clusterer(network, standardise=True, loss="mcl"),
        "KernelCSC": clusterer(estimators.KernelCSC),
        "SingleKernelCSC": clusterer(estimators.SingleKernelCSC),
        "MahalanobisCSC": clusterer(estimators.MahalanobisCSC),
    }


def method_names() -> list[str]:
    """Return the methods that are known by name."""
    return list(_methods())


def find_method(name: str) -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name : str
        One of :func:`method_names`, "session" or "COBRAS", which ask about pairs
        themselves, or "module:name" of your own: a function of X,
        constraints, n_clusters, random_state and parameters that returns labels, or a
        class as for :func:`clusterer`.

    Returns
    -------
    callable
        The method.
    """
    from linkwise.experiments._questions import ASKING

    every = _methods() | ASKING
    if name in every:
        return every[name]
    module, _, attribute = name.rpartition(":")
    if not module:
        raise ValueError(
            f"There is no method {name!r}: it must be one of "
            f"{', '.join(every)}, or 'module:name' of your own."
        )
    found = getattr(import_module(module), attribute)
    return clusterer(found) if isinstance(found, type) else found


def takes(method: Method, parameter: str) -> bool:
    """Return whether a method names a parameter in its signature."""
    return parameter in inspect.signature(method).parameters
