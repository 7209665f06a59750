"""What candidates are worth by pairs that they have not seen."""

from typing import Any

import numpy as np

from linkwise._typing import FloatArray
from linkwise.constraints import constraint_folds
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.kernels import Known
from linkwise.search import Evaluator, reward_of


class MeanOverFolds:
    """Scores weights by held-out pairs: the mean over folds of the pairs.

    Closures, starts, and views that are learnt from groups are those of the other
    pairs.
    """

    def __init__(self, model: Any, problem: KernelProblem, bank: Any) -> None:
        local, n_folds = problem.local, model.cv
        n_samples, k = local.closure.n_samples, local.n_clusters
        self._folds = []
        try:
            for train, held_out in constraint_folds(local.pairs, n_folds, local.rng):
                closure = train.closure(n_samples)
                known = Known(closure.groups(k), k)
                memory = problem.fold_memory / n_folds
                fold = Evaluator(
                    bank.relearnt(local.data, known, memory),
                    closure,
                    k,
                    max_iter=model.max_iter,
                    judge=reward_of(held_out.closure(n_samples), model.reward),
                )
                self._folds.append(fold)
        except ValueError as error:
            raise ValueError(f"cv={n_folds}: {error}") from error

    def __call__(self, weights: FloatArray) -> tuple[float, float]:
        """Return the mean held-out score and the mean relative objective."""
        scores, objectives = zip(*[fold(weights) for fold in self._folds], strict=True)
        return float(np.mean(scores)), float(np.mean(objectives))
