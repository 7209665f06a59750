"""From the name of a search to its settings."""

from linkwise.search._base import Search
from linkwise.search._domains import Domain
from linkwise.search._guided import (
    BaggedLinearSearch,
    ForestSearch,
    GaussianProcessSearch,
)
from linkwise.search._phases import refit_interval
from linkwise.search._random import RandomSearch

# Measured on one core by benchmarks/surrogate_cost.py, never while searching: the same
# input must lead to the same search on any machine and under any load.
#
# Seconds per entry of the Gram matrix for one exact candidate: the weighted sum of
# three float32 kernels takes 1e-9 (in cache) to 3.6e-9, and each pass of group sums
# 4e-10 to 7e-10, of which k-means makes a handful.
_CANDIDATE_SECONDS_PER_ENTRY = 4e-9
# A forest of 100 trees, fitted and asked about 1000 draws: the trees' own cost, then
# for each trial, then for each trial and weight (every split looks at all weights).
_FOREST_SECONDS = 0.1
_FOREST_SECONDS_PER_TRIAL = 2e-4
_FOREST_SECONDS_PER_TRIAL_AND_WEIGHT = 1e-5


def search_for(
    search: str | Search, domain: Domain, n_samples: int, n_candidates: int
) -> Search:
    """Return the settings that ``search`` asks for.

    Parameters
    ----------
    search : {"auto", "random", "forest", "bagged_linear", "gp"} or Search
        "auto" is "forest" if trying a candidate takes longer than choosing it with a
        forest, and "random" otherwise: the time is then better spent on more
        candidates. It goes by a formula, not by the clock.
    domain : Domain
        Where to search.
    n_samples : int
        Number of points to cluster for each candidate.
    n_candidates : int
        Largest number of candidates to be tried.

    Returns
    -------
    Search
        Settings; an object is returned as it is.

    Examples
    --------
    >>> from linkwise.search import SparseVectors, search_for
    >>> search_for("auto", SparseVectors(62), n_samples=500, n_candidates=1000)
    RandomSearch(batch_size=50)
    """
    if search == "auto":
        search = "forest" if _forest_pays(domain, n_samples, n_candidates) else "random"
    named: dict[str, type[Search]] = {
        "random": RandomSearch,
        "forest": ForestSearch,
        "bagged_linear": BaggedLinearSearch,
        "gp": GaussianProcessSearch,
    }
    if isinstance(search, str) and search in named:
        return named[search]()
    # A class has a start too, but no settings to start with.
    if isinstance(search, str | type) or not isinstance(search, Search):
        names = ", ".join(repr(name) for name in ["auto", *named])
        raise ValueError(
            f"search={search!r}: must be one of {names}, or an object such as "
            "ForestSearch(kappa=0.5)."
        )
    return search


def _forest_pays(domain: Domain, n_samples: int, n_candidates: int) -> bool:
    """Tell whether a candidate costs more than its choice by a forest."""
    if domain.ends_with_first:
        return False
    candidate_seconds = _CANDIDATE_SECONDS_PER_ENTRY * n_samples**2
    fit_seconds = _FOREST_SECONDS + n_candidates * (
        _FOREST_SECONDS_PER_TRIAL
        + _FOREST_SECONDS_PER_TRIAL_AND_WEIGHT * domain.n_weights
    )
    refit_every = refit_interval(ForestSearch(), n_candidates)
    return candidate_seconds > fit_seconds / refit_every
