"""What a committee says of rows and pairs when the search is over."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import (
    LEAST_PAIRS,
    Beliefs,
    Chance,
    Constraints,
    against_chance,
    believe,
)
from linkwise.doors import FitInput, warn_caller
from linkwise.estimators._clustering import Clustering
from linkwise.estimators._committee import disbelieved, doubts
from linkwise.estimators._contradictions import contradict
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.estimators._working_set import WorkingSet, working_set
from linkwise.exceptions import ConstraintWarning
from linkwise.search import Committee

# Where there are landmarks, pairs are compared with shuffled ones on fewer rows: how
# many pairs, rows without a pair, and candidates.
_N_TEST_PAIRS = 200
_N_TEST_ROWS = 200
_N_TEST_CANDIDATES = 100
_LEAST_TEST_CANDIDATES = 50


@dataclass(frozen=True)
class Hindsight:
    """Doubts about rows and pairs; nothing is known without a committee."""

    chance: Chance = Chance()
    doubt: FloatArray | None = None  # (n_samples,), NaN for rows not looked at
    beliefs: Beliefs | None = None  # in the pairs; None: nothing speaks against them
    disbelieved: pd.DataFrame = field(  # pairs that are probably wrong
        default_factory=lambda: pd.DataFrame(columns=["i", "j", "kind", "belief"])
    )

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of an estimator."""
        return {
            "doubt_": self.doubt,
            "disbelieved_": self.disbelieved,
            "noise_": 0.0 if self.beliefs is None else self.beliefs.noise,
            "by_chance_": self.chance.by_chance,
            "p_value_": self.chance.p_value,
        }


def hindsight(
    model: Any, problem: KernelProblem, committee: Committee, found: Clustering
) -> Hindsight:
    """Return what a committee says of rows and pairs; warn if pairs hold by chance.

    Parameters
    ----------
    model : estimator
        Says ``noise`` and what a small fit needs.
    problem : KernelProblem
        Rows and pairs.
    committee : Committee
        Of the local rows.
    found : Clustering
        Of all rows.
    """
    chance = _chance(model, problem, committee)
    pairs, work, k = problem.local.pairs, problem.work, committee.n_clusters
    opinions = committee.opinions(found.local_labels)
    doubt = None
    if isinstance(found.labels, np.ndarray):
        doubt = doubts(opinions, found.local_labels)
        doubt = of_all_rows(doubt, work, len(found.labels), np.nan)
    if not _can_judge(model.noise, chance, pairs, k):
        return Hindsight(chance, doubt)
    noise = None if model.noise == "auto" else model.noise
    beliefs = believe(pairs, opinions, noise)
    rows = None if work is None else work.rows
    return Hindsight(chance, doubt, beliefs, disbelieved(pairs, beliefs, k, rows))


def of_all_rows(
    values: Any, work: WorkingSet | None, n_samples: int, unknown: float
) -> Any:
    """Return values of all rows from those of the rows that the search looked at."""
    if work is None:
        return values
    if work.stands_for is not None:
        return values[work.stands_for]
    found = np.full(n_samples, unknown, dtype=values.dtype)
    found[work.rows] = values
    return found


def places_of(work: WorkingSet | None, n_samples: int) -> IntArray:
    """Return the place of each row in the labels of a committee, -1 for none."""
    n_local = n_samples if work is None else len(work.rows)
    return np.asarray(of_all_rows(np.arange(n_local), work, n_samples, -1))


def _can_judge(noise: Any, chance: Chance, pairs: Constraints, n_clusters: int) -> bool:
    """Tell whether anything can be said about which pairs are wrong.

    Clusters that know no more of the pairs than chance does cannot tell.
    """
    if noise == "auto" and chance.by_chance:
        return contradict(pairs, n_clusters)
    return bool(noise != 0)


def _chance(model: Any, problem: KernelProblem, committee: Committee) -> Chance:
    """Compare the pairs with shuffled ones; warn where they hold no better."""
    local = problem.local
    if local.n_clusters == 1:
        return Chance()
    if problem.how in ("landmarks", "working_set"):
        # Landmarks are means of groups: all clusterings on them know the pairs.
        local, committee = _on_few_rows(model, local, committee)
    found = against_chance(local.pairs, committee.honest_labels)
    if found.by_chance:
        warn_caller(
            "No more pairs hold than by chance: clusters that were made without "
            f"the pairs satisfy {found.share:.0%} of them at best, and "
            f"{found.shuffled_share:.0%} of shuffled ones (permutation test, "
            f"p = {found.p_value:.2g}). The columns do not show what the pairs are "
            "about, so do not trust the clusters. Check that the pairs name the "
            "right rows, give columns that have to do with them, or give more "
            "pairs.",
            ConstraintWarning,
        )
    return found


def _on_few_rows(
    model: Any, local: FitInput, committee: Committee
) -> tuple[FitInput, Committee]:
    """Return some of the pairs with their rows and some others, and a committee."""
    n_must, n_cannot = local.pairs.n_must_link, local.pairs.n_cannot_link
    n_candidates = min(len(committee.labels), _N_TEST_CANDIDATES)
    if n_must + n_cannot < LEAST_PAIRS or n_candidates < _LEAST_TEST_CANDIDATES:
        return local, committee
    rng = np.random.default_rng(0)
    is_drawn = rng.permutation(n_must + n_cannot) < _N_TEST_PAIRS
    pairs = local.pairs.subset(is_drawn[:n_must], is_drawn[n_must:])
    some = local._replace(pairs=pairs, rng=rng)
    some = working_set(some, _N_TEST_ROWS).problem(some)
    small = type(model)(
        local.n_clusters,
        kernels=model.kernels,
        n_candidates=n_candidates,
        max_kernels=model.max_kernels,
        approximation="exact",
        filter=model.filter,
        final_step=None,
        max_memory=model.max_memory,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            small.fit(some.data, constraints=some.pairs)
        except MemoryError:  # it is not worth a fit
            return local, committee
    return some, small._committee
