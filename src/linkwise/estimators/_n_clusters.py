"""How many clusters there are, where that is not known."""

import warnings
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from linkwise._typing import FloatArray
from linkwise.constraints import Constraints
from linkwise.doors import n_rows
from linkwise.engines import DaskRows
from linkwise.exceptions import ConstraintWarning
from linkwise.search import GivenPairs

# The largest number that "auto" tries, and how many it tries above the least that the
# pairs allow.
_LARGEST = 10
_LEAST_TRIED = 4
# Steps of the proof that a number of clusters is too small for the cannot-links.
_BUDGET = 1000
# Candidates that each number gets; 200 find it no more often than 30.
_N_CANDIDATES = 30
# The best part of them that speaks for a number: a single one may be lucky.
_BEST = 1 / 3
# Logarithm of how much less probable each further cluster is before any pair is known.
# These three were chosen on one half of the sets and seeds of benchmarks/unknown_k.py.
_PRICE = 0.75
# Shares of pairs that may have nothing to do with the clusters.
_UNRELATED = np.linspace(0.002, 1.0, 200)


def is_known(n_clusters: Any) -> TypeGuard[int]:
    """Tell whether the number of clusters is a number."""
    return isinstance(n_clusters, Integral)


def numbers_to_try(n_clusters: Any, pairs: Constraints, n_samples: int) -> list[int]:
    """Return the numbers of clusters to choose from, ascending.

    "auto": from the least with which the pairs can hold, if they do not contradict each
    other, up to ten, or a few more than that least number.
    """
    if isinstance(n_clusters, str):
        least = _least_feasible(pairs, n_samples)
        largest = min(max(_LARGEST, least + _LEAST_TRIED), n_samples)
        return list(range(min(least, n_samples), largest + 1))
    numbers = sorted(set(n_clusters))
    if not numbers or not all(isinstance(k, Integral) for k in numbers):
        raise ValueError(
            f"n_clusters={n_clusters!r}: a range must hold whole numbers, such as "
            "range(2, 9)."
        )
    if numbers[0] < 1 or numbers[-1] > n_samples:
        raise ValueError(
            f"n_clusters={n_clusters!r}: numbers must be in [1, {n_samples}], the "
            "number of rows of X."
        )
    return [int(k) for k in numbers]


def _least_feasible(pairs: Constraints, n_samples: int) -> int:
    """Return the least number of clusters, from 2, not proven to be too small."""
    if pairs.is_empty or pairs.drop_conflicts() is not pairs:
        return 2
    smallest, _, is_tight = pairs.feasible_range(n_samples, _BUDGET)
    if is_tight:
        return max(2, smallest)
    # The search gave up at one of these: perhaps it would do.
    return next(
        k
        for k in range(2, smallest)
        if pairs.feasibility(k, n_samples, _BUDGET).status != "infeasible"
    )


def choose_n_clusters(
    model: Any, X: Any, y: Any, constraints: Any, sample_weight: Any, sample_id: Any
) -> int:
    """Return the number of clusters that the pairs speak for most.

    Each number gets a small search of its own. Of equal ones the smallest is taken, and
    the smallest of all without pairs. ``model`` is the estimator whose ``fit`` was
    given the rest.
    """
    data = model._check_data(X, reset=True)
    n_samples = n_rows(data)
    pairs = model._check_pairs(constraints, y, n_samples, sample_id)
    if isinstance(data, DaskRows):
        raise ValueError(
            f"n_clusters={model.n_clusters!r} needs all rows in one place; for a Dask "
            "collection give a number."
        )
    numbers = numbers_to_try(model.n_clusters, pairs, n_samples)
    if pairs.is_empty or len(numbers) == 1:
        return numbers[0]
    support = []
    for k in numbers:
        one = clone(model).set_params(
            n_clusters=k,
            n_candidates=min(_N_CANDIDATES, model.n_candidates),
            selection="committee",
            final_step=None,
            far=0.0,
            on_conflict="drop" if model.on_conflict == "warn" else model.on_conflict,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            one.fit(
                X,
                y,
                constraints=constraints,
                sample_weight=sample_weight,
                sample_id=sample_id,
            )
        evidence = np.sort(_evidence(one, pairs))
        n_best = max(1, round(_BEST * len(evidence)))
        support.append(evidence[-n_best:].mean() - _PRICE * k)
    return numbers[int(np.argmax(support))]


def _evidence(fitted: Any, pairs: Constraints) -> FloatArray:
    """Return how well the clusters of each candidate explain the pairs."""
    rows, committee = fitted._committee_rows, fitted._committee
    must_link, cannot_link = rows[pairs.must_link], rows[pairs.cannot_link]
    n_pairs = GivenPairs(pairs).n_pairs
    weight = n_pairs / (pairs.must_link_weight.sum() + pairs.cannot_link_weight.sum())
    found = []
    for labels in committee.labels:
        sizes = np.bincount(labels, weights=committee.sample_weight)
        must = labels[must_link[:, 0]] == labels[must_link[:, 1]]
        cannot = labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]]
        found.append(
            log_ratio_to_chance(
                weight * pairs.must_link_weight @ must,
                weight * pairs.cannot_link_weight @ cannot,
                n_pairs,
                float(((sizes / sizes.sum()) ** 2).sum()),
            )
        )
    return np.array(found)


def log_ratio_to_chance(
    n_must: float, n_cannot: float, n_pairs: float, p_together: float
) -> float:
    """Return log(probability of pairs given some clusters / given nothing).

    A share of the pairs, the one that explains them best, has nothing to do with the
    clusters. All others hold, and are drawn at random from those pairs of rows that are
    together (must-links) or apart (cannot-links). So a cannot-link that holds says
    little where there are many clusters: most pairs of rows are apart.

    Parameters
    ----------
    n_must, n_cannot : float
        Number of must-links and of cannot-links that hold.
    n_pairs : float
        Number of all pairs.
    p_together : float
        Probability that two rows are in the same cluster.

    Examples
    --------
    >>> even = [float(log_ratio_to_chance(0, 20, 20, 1 / k)) for k in (2, 3, 10)]
    >>> [round(ratio, 1) for ratio in even]
    [13.8, 8.1, 2.1]
    """
    p_together = np.clip(p_together, 1e-9, 1.0 - 1e-9)
    related = 1.0 - _UNRELATED
    logs = (
        n_must * np.log(_UNRELATED + related / p_together)
        + n_cannot * np.log(_UNRELATED + related / (1.0 - p_together))
        + (n_pairs - n_must - n_cannot) * np.log(_UNRELATED)
    )
    return float(logs.max())
