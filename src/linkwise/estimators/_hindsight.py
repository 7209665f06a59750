"""What a committee says of rows and pairs when the search is over."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import LEAST_PAIRS, Chance, Constraints, against_chance
from linkwise.doors import FitInput, warn_caller
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

    chance: Chance
    doubt: FloatArray | None  # (n_samples,), NaN for rows that the search has not seen
    disbelieved: pd.DataFrame  # pairs that are probably wrong
    noise: float  # share of wrong pairs

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of an estimator."""
        return {
            "doubt_": self.doubt,
            "disbelieved_": self.disbelieved,
            "noise_": self.noise,
            "by_chance_": self.chance.by_chance,
            "p_value_": self.chance.p_value,
        }


NO_HINDSIGHT = Hindsight(Chance(), None, disbelieved(Constraints(), None, None)[0], 0.0)


def hindsight(
    model: Any, problem: KernelProblem, committee: Committee, labels: Any
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
    labels : ndarray of shape (n_samples,), or Dask array
        Clusters of all rows.
    """
    chance = _chance(model, problem, committee)
    if not isinstance(labels, np.ndarray):
        return Hindsight(chance, None, NO_HINDSIGHT.disbelieved, 0.0)
    pairs, work = problem.local.pairs, problem.work
    own = labels if work is None else labels[work.rows]
    opinions = committee.opinions(own)
    doubt = of_all_rows(doubts(opinions, own), work, len(labels), np.nan)
    if not _can_judge(model.noise, chance, pairs, committee.n_clusters):
        return Hindsight(chance, doubt, NO_HINDSIGHT.disbelieved, 0.0)
    noise = None if model.noise == "auto" else model.noise
    rows = None if work is None else work.rows
    return Hindsight(chance, doubt, *disbelieved(pairs, opinions, noise, rows))


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
