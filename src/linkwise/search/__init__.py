"""Which weights to try next.

A `Domain` says which weights exist, a `Search` (frozen settings) starts a `Searcher`
on it, and `run_search` asks, evaluates on an engine and tells until a reason to stop.
`Evaluator` is what it evaluates with: cluster under the weights, count the pairs.
"""

from linkwise.search._base import Search, Searcher, Trial
from linkwise.search._committee import (
    Committee,
    KnownGroups,
    matched,
)
from linkwise.search._domains import Cube, Domain, SparseVectors
from linkwise.search._evaluator import (
    Evaluator,
    GivenPairs,
    Reward,
    Starts,
    alone,
    reward_of,
)
from linkwise.search._guided import (
    BaggedLinearSearch,
    ForestSearch,
    GaussianProcessSearch,
)
from linkwise.search._loop import SearchResult, TieBreak, run_search
from linkwise.search._random import RandomSearch
from linkwise.search._resolve import search_for

__all__ = [
    "BaggedLinearSearch",
    "Committee",
    "Cube",
    "Domain",
    "Evaluator",
    "ForestSearch",
    "GaussianProcessSearch",
    "GivenPairs",
    "KnownGroups",
    "RandomSearch",
    "Reward",
    "Search",
    "SearchResult",
    "Searcher",
    "SparseVectors",
    "Starts",
    "TieBreak",
    "Trial",
    "alone",
    "matched",
    "reward_of",
    "run_search",
    "search_for",
]
