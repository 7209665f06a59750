"""A problem with its kernels: candidates are judged, and the chosen one is fitted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwise._typing import FloatArray
from linkwise.doors import warn_caller
from linkwise.estimators._clustering import (
    Clustering,
    FinalStep,
    best_on_all_rows,
    cluster_under,
    spread,
)
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.estimators._search import history
from linkwise.exceptions import ConstraintWarning
from linkwise.search import Evaluator, Trial

# Relative objective, 1 for a random clustering, from which on labels are not credible.
HARDLY_COMPACT = 0.99


@dataclass(frozen=True)
class KernelFit:
    """What turns the weights that a search has chosen into a fitted model."""

    model: Any  # the estimator, for its parameters
    problem: KernelProblem
    bank: Any
    evaluator: Evaluator
    step: FinalStep | None = None

    def cluster(self, weights: FloatArray) -> Clustering:
        """Return the clustering of all rows under some weights."""
        closure = self.problem.local.closure
        found = cluster_under(self.bank, self.evaluator, closure, weights, self.step)
        return spread(
            self.model,
            found,
            self.problem,
            self.bank,
            self.evaluator.judge,
            is_final=self.step is not None,
        )

    def best(self, trials: Sequence[Trial], chosen: int) -> Clustering:
        """Return the clustering of the chosen candidate; without any, all weights 1."""
        if trials:
            return best_on_all_rows(self.cluster, trials, chosen)
        return self.cluster(np.ones(self.bank.n_weights))

    def attributes(
        self, found: Clustering, trials: Sequence[Trial], stopped_by: str
    ) -> dict[str, Any]:
        """Return the fitted attributes of an estimator."""
        relative = self.evaluator.relative_objective(found.objective, found.weights)
        return {
            **found.attributes,
            "objective_": relative,
            "kernel_weights_": found.weights,
            "kernel_names_": self.bank.names,
            "approximation_": self.problem.how,
            "history_": history(trials, self.bank.names),
            "stopped_by_": stopped_by,
        }

    def so_far(self, trials: Sequence[Trial], best: int) -> dict[str, Any]:
        """Return the fitted attributes if a callback stopped the search here."""
        return self.attributes(self.best(trials, best), trials, "callback")


def warn_of_idle_kernel(trials: Sequence[Trial], weights: FloatArray) -> None:
    """Warn if the chosen kernel gives k-means nothing to work with."""
    chosen = next((t for t in trials if np.array_equal(t.weights, weights)), None)
    if chosen is not None and chosen.objective > HARDLY_COMPACT:
        warn_caller(
            "The chosen clusters are hardly more compact than random ones "
            f"(relative objective {chosen.objective:.3f}): under such a kernel all "
            "rows are about equally far apart, k-means cannot leave its start, and the "
            "start satisfies most pairs by itself. Do not trust the labels of rows "
            "without pairs; give more pairs, or fewer or other kernels.",
            ConstraintWarning,
        )
