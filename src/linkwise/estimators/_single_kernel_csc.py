"""SingleKernelCSC: the one kernel whose clusters satisfy the most constraints."""

from numbers import Integral

import numpy as np

from linkwise.constraints import constraint_folds
from linkwise.engines import engine_for
from linkwise.estimators._compat import Interval, Options, fit_context
from linkwise.estimators._kernel_search import KernelSearchClusterer
from linkwise.search import Evaluator, RandomSearch, SparseVectors, run_search


class SingleKernelCSC(KernelSearchClusterer):
    """Constrained clustering by choice of a single kernel.

    Every base kernel is tried once, as KernelCSC tries combinations of them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernels : "paper", "precomputed", list or KernelBank, default="paper"
        The base kernels, as for :class:`KernelCSC`.
    cv : int, default=0
        0: choose by the pairs that also shape the start. 2 or more: choose by the mean
        score over so many folds of held-out pairs, then cluster with all of them.
    filter : {"ratio", "none"}, default="ratio"
        Whether to leave out base kernels whose constant part dominates.
    tie_break : {"first", "objective"}, default="first"
        Among kernels of equal score, the first or the most compact clustering.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for kernel matrices.
    n_jobs : int, default=None
        Number of threads that evaluate kernels. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    labels_, constraint_score_, n_violated_, kernel_weights_, kernel_names_, history_, \
            objective_, n_iter_, converged_, stopped_by_, n_features_in_
        As in :class:`KernelCSC`; one of the weights is 1. With ``cv`` the scores of
        ``history_`` are those of held-out pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import Constraints, SingleKernelCSC
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Constraints.sample(y, 60, random_state=0)
    >>> model = SingleKernelCSC(n_clusters=3, cv=5, random_state=0)
    >>> int((model.fit(X, constraints=pairs).kernel_weights_ > 0).sum())
    1
    """

    _parameter_constraints = {
        **KernelSearchClusterer._parameter_constraints,
        "cv": [Options(Integral, {0}), Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernels="paper",
        cv=0,
        filter="ratio",
        tie_break="first",
        max_iter=300,
        on_conflict="raise",
        max_memory="4GiB",
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.cv = cv
        self.filter = filter
        self.tie_break = tie_break
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X, y=None, *, constraints=None, sample_weight=None, sample_id=None
    ):
        """Choose a kernel by the pairs and cluster the rows of X.

        Parameters
        ----------
        X, y, constraints, sample_weight, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        return self._fit(X, y, constraints, sample_weight, sample_id)

    def _n_candidates(self, n_kernels):
        return n_kernels

    def _search(self, bank, evaluator, pairs, rng, on_trial):
        """Return the best one-hot weights, the trials, and why the search ended."""
        p = bank.n_weights
        # A budget of twice the kernels opens with all of them; then nothing is left.
        searcher = RandomSearch().start(SparseVectors(p, 1), 2 * p, rng)
        result = run_search(
            searcher,
            _MeanOverFolds(self, bank, pairs, rng) if self.cv else evaluator,
            engine_for(self.n_jobs),
            n_candidates=2 * p,
            stop_score=None,
            tie_break=self.tie_break,
            on_trial=on_trial,
        )
        return result.trials[result.best].weights, result.trials, result.stopped_by


class _MeanOverFolds:
    """Scores weights by held-out pairs: closure anew in each fold, mean over folds."""

    def __init__(self, model, bank, pairs, rng):
        n_samples = bank.n_samples
        self._evaluators = [
            Evaluator(
                bank,
                train.closure(n_samples),
                model.n_clusters,
                scored_by=held_out.closure(n_samples),
                max_iter=model.max_iter,
            )
            for train, held_out in constraint_folds(pairs, model.cv, rng)
        ]

    def __call__(self, weights):
        """Return the mean held-out score and the mean relative objective."""
        return tuple(np.mean([e(weights) for e in self._evaluators], axis=0))
