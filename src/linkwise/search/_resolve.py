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
# A forest of 100 trees, fitted and asked about 1000 draws: the trees' own cost, then
# for each trial, then for each trial and weight (every split looks at all weights).
_FOREST_SECONDS = 0.1
_FOREST_SECONDS_PER_TRIAL = 2e-4
_FOREST_SECONDS_PER_TRIAL_AND_WEIGHT = 1e-5
# How many times longer than its choice a candidate must take: it may run beside others,
# a forest does not, and random candidates are nearly as good.
_PAYS_FROM = 10.0


def search_for(
    search: str | Search, domain: Domain, candidate_seconds: float, n_candidates: int
) -> Search:
    """Return the settings that ``search`` asks for.

    Parameters
    ----------
    search : {"auto", "random", "forest", "bagged_linear", "gp"} or Search
        "auto" is "forest" if trying a candidate takes ten times longer than choosing it
        with a forest, and "random" otherwise: the time is then better spent on more
        candidates. It goes by a formula, not by the clock.
    domain : Domain
        Where to search.
    candidate_seconds : float
        Rough time to try a candidate, by a formula: ``bank.candidate_seconds``.
    n_candidates : int
        Largest number of candidates to be tried.

    Returns
    -------
    Search
        Settings; an object is returned as it is.

    Examples
    --------
    >>> from linkwise.search import SparseVectors, search_for
    >>> search_for("auto", SparseVectors(62), 0.001, n_candidates=1000)
    RandomSearch(batch_size=50)
    """
    if search == "auto":
        pays = _forest_pays(domain, candidate_seconds, n_candidates)
        search = "forest" if pays else "random"
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


def _forest_pays(domain: Domain, candidate_seconds: float, n_candidates: int) -> bool:
    """Tell whether a candidate costs much more than its choice by a forest."""
    if domain.ends_with_first:
        return False
    fit_seconds = _FOREST_SECONDS + n_candidates * (
        _FOREST_SECONDS_PER_TRIAL
        + _FOREST_SECONDS_PER_TRIAL_AND_WEIGHT * domain.n_weights
    )
    refit_every = refit_interval(ForestSearch(), n_candidates)
    return candidate_seconds > _PAYS_FROM * fit_seconds / refit_every
