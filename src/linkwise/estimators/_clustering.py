"""Clusters under weights that were chosen: of a bank's rows, and of all rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import Centres, centres_of, hard_kmeans, soft_kmeans
from linkwise.constraints import Closure
from linkwise.doors import parse_bytes, row_shares
from linkwise.engines import DaskRows, one_blas_thread
from linkwise.estimators._blocks import (
    cluster_all_rows,
    labels_of_all,
    with_all_clusters,
)
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.search import Evaluator, Trial

# How many candidates are clustered on all rows, at most, and what the reward of the
# best may fall short of what the next one promises.
_MAX_FINALISTS = 5
_SHORTFALL = 0.01


@dataclass(frozen=True)
class FinalStep:
    """Constrained clustering under the chosen weights."""

    mode: Literal["soft", "hard"]
    seed: int
    max_iter: int
    # Whether no less weight of pairs is to hold than without the step.
    keep_satisfied: bool = False
    options: dict[str, Any] = field(default_factory=dict)  # of the soft step


@dataclass(frozen=True)
class Clustering:
    """Clusters under some weights, and what prediction needs of them."""

    weights: FloatArray
    labels: Any  # (n_samples,), a Dask array if the data are one
    local_labels: IntArray  # of the rows that the search looked at
    objective: float
    n_iter: int
    converged: bool
    constraint_score: float
    n_violated: int
    kernel: Any  # of new rows with those that stand for the training rows
    centres: Centres  # in the geometry of the kernel
    reward: float | None = None  # on all rows, if the search has seen but some

    def relabelled(
        self, labels: Any, local_labels: IntArray, closure: Closure
    ) -> "Clustering":
        """Return it with other labels; ``closure`` has the pairs of the local rows."""
        return replace(
            self,
            labels=labels,
            local_labels=local_labels,
            constraint_score=closure.score(local_labels),
            n_violated=closure.n_violated(local_labels),
        )

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of an estimator."""
        return {
            "labels_": self.labels,
            "n_iter_": self.n_iter,
            "converged_": self.converged,
            "constraint_score_": self.constraint_score,
            "n_violated_": self.n_violated,
            "objective_": self.objective,
            "_kernel": self.kernel,
            "_row_shares": self.centres.coefficients,
            "_centre_norms": self.centres.norms,
        }


def cluster_under(
    bank: Any,
    evaluator: Evaluator,
    closure: Closure,
    weights: FloatArray,
    step: FinalStep | None = None,
) -> Clustering:
    """Return the clustering of the rows of a bank under some weights."""
    n_clusters = evaluator.n_clusters
    with one_blas_thread():
        space = bank.combine(weights)
        if step is None:
            result: Any = evaluator.cluster(space, weights)
        else:
            result = _constrained(space, evaluator, closure, weights, step)
        # Anew: what was kept up to date on the way has rounding errors.
        sums = space.group_sums(result.labels, n_clusters)
        if space.core is None:
            shares = row_shares(result.labels, space.sample_weight, n_clusters)
            centres = Centres(shares, sums.inner / sums.mass**2)
        else:
            centres = centres_of(sums.totals, sums.mass, space.core)
    return Clustering(
        weights,
        result.labels,
        result.labels,
        result.objective,
        result.n_iter,
        result.converged,
        closure.score(result.labels),
        closure.n_violated(result.labels),
        bank.kernel(weights),
        centres,
    )


def _constrained(
    space: Any,
    evaluator: Evaluator,
    closure: Closure,
    weights: FloatArray,
    step: FinalStep,
) -> Any:
    """Return the clustering in which pairs have a price, or must hold."""
    rng = np.random.default_rng(step.seed)
    start = evaluator.start(space)
    if step.mode == "hard":
        return hard_kmeans(
            space,
            start,
            evaluator.n_clusters,
            closure,
            rng=rng,
            max_iter=step.max_iter,
        )
    if step.keep_satisfied:
        # The start of the paper, unless plain clusters satisfy more.
        plain = evaluator.cluster(space, weights).labels
        start = plain if closure.score(plain) > closure.score(start) else start
    return soft_kmeans(
        space,
        start,
        evaluator.n_clusters,
        closure,
        order=rng.permutation(space.n_samples),
        max_iter=step.max_iter,
        keep_satisfied=step.keep_satisfied,
        **step.options,
    )


def spread(
    model: Any,
    found: Clustering,
    problem: KernelProblem,
    bank: Any,
    judge: Callable[[IntArray], float],
    *,
    is_final: bool,
) -> Clustering:
    """Return a clustering of the rows that the search looked at as one of all rows.

    Parameters
    ----------
    model : estimator
        Says ``max_iter``, ``n_jobs`` and ``max_memory``.
    found : Clustering
        Of the local rows.
    problem : KernelProblem
        Which rows they stand for.
    bank : Bank
        The kernels on the local rows.
    judge : callable
        Scores labels of the local rows.
    is_final : bool
        Whether labels of rows with pairs are not to change.
    """
    given, work, own = problem.given, problem.work, found.labels
    if work is None:
        return found
    is_here = not isinstance(given.data, DaskRows)
    if work.is_whole and is_here:
        return replace(found, labels=own[work.stands_for])
    if work.is_whole or is_final:
        rows = np.arange(len(given.data)) if work.is_whole else given.pairs.points
        rows = np.asarray(rows, dtype=np.intp)
        places = work.stands_for if work.is_whole else np.searchsorted(work.rows, rows)
        fixed = (rows, own[places])
        labels = labels_of_all(model, given.data, found.kernel, found.centres, fixed)
        if is_here:
            labels = with_all_clusters(labels, given.n_clusters, work, own)
        return replace(found, labels=labels)
    result, labels_by = cluster_all_rows(
        model,
        given,
        found.kernel,
        found.centres,
        bank.core(found.weights),
        parse_bytes(model.max_memory),
    )
    labels = labels_by(result.centres)
    if is_here:
        labels = with_all_clusters(labels, given.n_clusters, work, own)
        own = labels[work.rows]
    else:
        own = result.centres.labels(found.kernel(work.data))
    found = replace(
        found,
        n_iter=result.n_iter,
        converged=result.converged,
        centres=result.centres,
        reward=judge(own),
    )
    return found.relabelled(labels, own, problem.local.closure)


AnyClustering = TypeVar("AnyClustering")


def best_on_all_rows(
    cluster: Callable[[FloatArray], AnyClustering],
    trials: Sequence[Trial],
    chosen: int,
) -> AnyClustering:
    """Return the clustering of the chosen candidate, or of one nearly as good.

    A working set may have missed rows that spoil a kernel: outliers, of which there are
    few. If the reward falls short on all rows, candidates that were nearly as good get
    their chance.

    Parameters
    ----------
    cluster : callable
        Returns the clustering of all rows under some weights; its ``reward`` is None if
        the search has seen all rows.
    trials : sequence of Trial
        All candidates.
    chosen : int
        Which of them is wanted; it counts as much as the best.
    """
    promised = np.nan_to_num([trial.score for trial in trials], nan=-np.inf)
    promised[chosen] = promised.max()
    order = np.argsort(-promised, kind="stable").tolist()
    order.remove(chosen)
    finalists = [chosen, *order[: _MAX_FINALISTS - 1]]
    kept: Any = None
    kept_worth = -np.inf
    for place, i in enumerate(finalists):
        found: Any = cluster(trials[i].weights)
        if found.reward is None:
            return found
        # What it is worth, if what it falls short by counts in full.
        worth = promised[i] + found.reward - trials[i].score
        if kept is None or worth > kept_worth:
            kept, kept_worth = found, worth
        next_best = promised[order[place]] if place < len(order) else -np.inf
        if kept_worth >= next_best - _SHORTFALL:
            break
    return kept
