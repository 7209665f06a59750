"""How many clusters there are, where that is not known."""

from numbers import Integral

import numpy as np
from sklearn.base import clone

from linkwise.doors import n_rows
from linkwise.engines import DaskRows

# The largest number that "auto" tries, and how many it tries above the least that the
# pairs allow.
_LARGEST = 10
_LEAST_TRIED = 4
# Part of the candidates that each number gets.
_SHARE_OF_CANDIDATES = 0.2
_LEAST_CANDIDATES = 30


def is_known(n_clusters):
    """Tell whether the number of clusters is a number."""
    return isinstance(n_clusters, Integral)


def numbers_to_try(n_clusters, pairs, n_samples):
    """Return the numbers of clusters to choose from, ascending.

    "auto": from the least with which the pairs can hold, if they do not contradict each
    other, up to ten, or a few more than that least number.
    """
    if isinstance(n_clusters, str):
        least = 2
        if not pairs.is_empty and pairs.drop_conflicts() is pairs:
            least = max(2, pairs.feasible_range(n_samples, budget=1000).smallest)
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


def choose_n_clusters(model, data, pairs, fit_options):
    """Return the number of clusters under which candidates satisfy the most pairs.

    Each number gets a small search of its own; of equal ones the smallest is taken, and
    the smallest of all without pairs.
    """
    n_samples = n_rows(data)
    if isinstance(data, DaskRows):
        raise ValueError(
            f"n_clusters={model.n_clusters!r} needs all rows in one place; for a Dask "
            "collection give a number."
        )
    numbers = numbers_to_try(model.n_clusters, pairs, n_samples)
    if pairs.is_empty or len(numbers) == 1:
        return numbers[0]
    few = max(_LEAST_CANDIDATES, int(_SHARE_OF_CANDIDATES * model.n_candidates))
    scores = []
    for k in numbers:
        one = clone(model).set_params(
            n_clusters=k,
            n_candidates=min(few, model.n_candidates),
            final_step=None,
            far=0.0,
            on_conflict="drop" if model.on_conflict == "warn" else model.on_conflict,
        )
        scores.append(one.fit(**fit_options).history_["score"].max())
    return numbers[int(np.nanargmax(scores))]
