"""Searches in which a model of the scores chooses what to try next."""

from dataclasses import dataclass

import numpy as np

from linkwise.search._checks import check_count, check_number
from linkwise.search._domains import Domain
from linkwise.search._phases import GuidedSearcher, check_guided, split_budget
from linkwise.search._surrogate import BaggedLinear, Forest, GaussianProcess


@dataclass(frozen=True, kw_only=True)
class ForestSearch:
    """Search guided by a random forest and an upper confidence bound.

    The domain's first candidates and some random ones come first. Then a forest is
    fitted to all scores so far, again and again, and of fresh draws those with the
    highest ``mean + kappa * std`` over the trees are tried. The last batch goes by
    the mean alone.

    Parameters
    ----------
    kappa : float, default=1.0
        Weight of the spread: higher values explore more.
    n_trees : int, default=100
        Number of trees.
    n_initial : int, default=None
        Number of random candidates before the first fit; None for half of the
        remaining budget, at most 100.
    n_draws : int, default=1000
        Number of draws among which each fit chooses.
    refit_every : int, default=None
        Number of candidates taken from each fit; None for 1 up to 200 candidates in
        all, and 10 above.
    normalize : bool, default=False
        Whether the model sees weights divided by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.search import ForestSearch, SparseVectors
    >>> search = ForestSearch(n_initial=20)
    >>> searcher = search.start(SparseVectors(8), 50, np.random.default_rng(0))
    >>> len(searcher.ask()), len(searcher.ask()), len(searcher.ask())
    (8, 20, 1)
    """

    kappa: float = 1.0
    n_trees: int = 100
    n_initial: int | None = None
    n_draws: int = 1000
    refit_every: int | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        """Refuse settings without meaning."""
        check_guided(self)
        check_count("n_trees", self.n_trees)

    def start(
        self, domain: Domain, n_candidates: int, rng: np.random.Generator
    ) -> "GuidedSearcher":
        """Return a new searcher that asks for at most ``n_candidates``."""
        budget = split_budget(self, domain, n_candidates)
        return GuidedSearcher(self, Forest(self.n_trees), domain, budget, rng)


@dataclass(frozen=True, kw_only=True)
class BaggedLinearSearch:
    """Search guided by linear fits to bootstrap samples.

    Like `ForestSearch`, with a model that knows no interaction between weights.

    Parameters
    ----------
    kappa : float, default=1.0
        Weight of the spread: higher values explore more.
    n_models : int, default=150
        Number of bootstrap samples.
    n_initial : int, default=None
        Number of random candidates before the first fit; None for half of the
        remaining budget, at most 100.
    n_draws : int, default=1000
        Number of draws among which each fit chooses.
    refit_every : int, default=None
        Number of candidates taken from each fit; None for 1 up to 200 candidates in
        all, and 10 above.
    normalize : bool, default=False
        Whether the model sees weights divided by their sum.

    Examples
    --------
    >>> from linkwise.search import BaggedLinearSearch
    >>> BaggedLinearSearch(kappa=0.1).n_models
    150
    """

    kappa: float = 1.0
    n_models: int = 150
    n_initial: int | None = None
    n_draws: int = 1000
    refit_every: int | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        """Refuse settings without meaning."""
        check_guided(self)
        check_count("n_models", self.n_models)

    def start(
        self, domain: Domain, n_candidates: int, rng: np.random.Generator
    ) -> "GuidedSearcher":
        """Return a new searcher that asks for at most ``n_candidates``."""
        budget = split_budget(self, domain, n_candidates)
        return GuidedSearcher(self, BaggedLinear(self.n_models), domain, budget, rng)


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSearch:
    """Search guided by a Gaussian process with a Matern-5/2 kernel.

    Like `ForestSearch`; the spread is the posterior standard deviation.

    Parameters
    ----------
    kappa : float, default=1.0
        Weight of the spread: higher values explore more.
    noise : float, default=1e-6
        Variance of the noise, in units of the scores' variance.
    n_initial : int, default=None
        Number of random candidates before the first fit; None for half of the
        remaining budget, at most 100.
    n_draws : int, default=1000
        Number of draws among which each fit chooses.
    refit_every : int, default=None
        Number of candidates taken from each fit; None for 1 up to 200 candidates in
        all, and 10 above.
    normalize : bool, default=False
        Whether the model sees weights divided by their sum.

    Examples
    --------
    >>> from linkwise.search import GaussianProcessSearch
    >>> GaussianProcessSearch(noise=0)
    Traceback (most recent call last):
    ValueError: noise=0: must be a finite number, above 0.
    """

    kappa: float = 1.0
    noise: float = 1e-6
    n_initial: int | None = None
    n_draws: int = 1000
    refit_every: int | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        """Refuse settings without meaning."""
        check_guided(self)
        check_number("noise", self.noise, low=0, including_low=False)

    def start(
        self, domain: Domain, n_candidates: int, rng: np.random.Generator
    ) -> "GuidedSearcher":
        """Return a new searcher that asks for at most ``n_candidates``."""
        budget = split_budget(self, domain, n_candidates)
        process = GaussianProcess(self.noise, budget.n_initial)
        return GuidedSearcher(self, process, domain, budget, rng)
