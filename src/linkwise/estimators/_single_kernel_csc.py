"""SingleKernelCSC: the one kernel whose clusters satisfy the most constraints."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

from linkwise._typing import Seed
from linkwise.doors import Interval, Options, fit_context
from linkwise.engines import Engine, engine_for
from linkwise.estimators._committee import by_score
from linkwise.estimators._held_out import MeanOverFolds
from linkwise.estimators._kernel_clusterer import SEARCH_OF_KERNELS, KernelClusterer
from linkwise.estimators._kernel_fit import KernelFit, warn_of_idle_kernel
from linkwise.estimators._kernel_problem import pose
from linkwise.estimators._search import NO_SEARCH, callbacks_told, warn_if_interrupted
from linkwise.kernels import KernelBank
from linkwise.search import RandomSearch, Reward, TieBreak, run_search


class SingleKernelCSC(KernelClusterer):
    """Constrained clustering by choice of a single kernel.

    Every base kernel is tried once, as KernelCSC tries combinations of them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernels : "paper", "rich", "precomputed", list or KernelBank, default="paper"
        The base kernels, as for :class:`KernelCSC`.
    cv : int, default=0
        0: choose by the pairs that also shape the start. 2 or more: choose by the mean
        score over so many folds of held-out pairs, then cluster with all of them.
    approximation : {"auto", "exact", "landmarks", "working_set", "nystroem"}, \
            default="auto"
        What is done about many rows, as for :class:`KernelCSC`.
    n_landmarks : int, default=150
        Number of landmarks.
    working_rows : int, default=20_000
        Number of rows without a pair that a working set holds.
    filter : {"ratio", "none"}, default="ratio"
        Whether to leave out base kernels whose constant part dominates.
    reward : {"share", "balanced"}, default="share"
        What a candidate is judged by: the share of all pairs that hold, or the mean of
        the shares of must-links and of cannot-links. With many clusters most pairs are
        cannot-links, and rule the share.
    tie_break : {"first", "objective"}, default="first"
        Among kernels of equal score, the first or the most compact clustering.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for kernel matrices and views, as in :class:`KernelCSC`.
    n_jobs : int, default=None
        Number of threads that evaluate kernels. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    labels_, constraint_score_, n_violated_, kernel_weights_, kernel_names_, history_, \
            objective_, n_iter_, converged_, stopped_by_, n_features_in_, \
            feature_names_in_
        As in :class:`KernelCSC`; one of the weights is 1. With ``cv`` the scores of
        ``history_`` are those of held-out pairs. The budget is the number of kernels,
        and all are tried even if one satisfies every pair.

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
        **KernelClusterer._parameter_constraints,
        **SEARCH_OF_KERNELS,
        "cv": [Options(Integral, {0}), Interval(Integral, 2, None, closed="left")],
    }

    _takes = frozenset({"views", "dask", "float32"})

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: str | Sequence[Any] | KernelBank = "paper",
        cv: int = 0,
        approximation: str = "auto",
        n_landmarks: int = 150,
        working_rows: int = 20_000,
        filter: str = "ratio",
        reward: Reward = "share",
        tie_break: TieBreak = "first",
        max_iter: int = 300,
        on_conflict: str = "raise",
        max_memory: float | str | None = "4GiB",
        n_jobs: int | Engine | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.cv = cv
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.working_rows = working_rows
        self.filter = filter
        self.reward = reward
        self.tie_break = tie_break
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        sample_weight: Any = None,
        sample_id: Any = None,
    ) -> Self:
        """Choose a kernel by the pairs and cluster the rows of X.

        Parameters
        ----------
        X, y, constraints, sample_weight, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, sample_weight, sample_id)
        problem = pose(self, given, has_folds=self.cv > 0)
        bank = problem.bank()
        given.rng.integers(2**63)  # where KernelCSC draws the seed of its final step
        n_kernels = bank.n_weights
        judging = by_score(self, problem, bank, max_kernels=1)
        fit = KernelFit(self, problem, bank, judging.evaluator)
        with callbacks_told(self, given, n_kernels, fit.so_far) as on_trial:
            result = NO_SEARCH
            if not given.pairs.is_empty:
                evaluate: Any = judging.evaluator
                if self.cv:
                    evaluate = MeanOverFolds(self, problem, bank)
                result = run_search(
                    RandomSearch().start(judging.domain, n_kernels, given.rng),
                    evaluate,
                    engine_for(self.n_jobs),
                    n_candidates=n_kernels,
                    stop_score=None,
                    tie_break=self.tie_break,
                    on_trial=on_trial,
                )
                warn_if_interrupted(result, n_kernels)
            found = fit.best(result.trials, result.best)
            self._set_attributes(
                fit.attributes(found, result.trials, result.stopped_by)
            )
        if given.n_clusters > 1:
            warn_of_idle_kernel(result.trials, self.kernel_weights_)
        return self
