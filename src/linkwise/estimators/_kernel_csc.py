"""KernelCSC: choose the kernel whose clusters satisfy the most constraints."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray, Seed
from linkwise.doors import Interval, StrOptions, fit_context, n_rows, rows_of
from linkwise.engines import Engine, is_dask_collection
from linkwise.estimators._blocks import ROWS_PER_BLOCK
from linkwise.estimators._clustering import FinalStep
from linkwise.estimators._committee import (
    believed,
    by_committee,
    by_score,
    choose,
    committee_of,
)
from linkwise.estimators._contradictions import warn_of_contradictions
from linkwise.estimators._hindsight import Hindsight, hindsight, places_of
from linkwise.estimators._kernel_clusterer import SEARCH_OF_KERNELS, KernelClusterer
from linkwise.estimators._kernel_fit import KernelFit, warn_of_idle_kernel
from linkwise.estimators._kernel_problem import pose
from linkwise.estimators._n_clusters import choose_n_clusters, is_known
from linkwise.estimators._placed_rows import Rule, place
from linkwise.estimators._search import (
    NO_SEARCH,
    SEARCH_CONSTRAINTS,
    callbacks_told,
    run_candidates,
)
from linkwise.kernels import KernelBank
from linkwise.search import Committee, Reward, Search, TieBreak


class KernelCSC(KernelClusterer):
    """Constrained clustering by a search over sparse combinations of kernels.

    Each candidate is a weighted sum of a few base kernels. The rows are clustered
    under it by kernel k-means, without constraints, and candidates are judged by the
    pairs that their clusters satisfy. Pairs are never turned into distances, so a few
    of them are not overfitted, and some of them may be wrong.

    Parameters
    ----------
    n_clusters : int, "auto" or range, default=8
        Number of clusters. Of a range, or with "auto" of all up to ten that the pairs
        allow, the number is taken under which the pairs are least likely to hold by
        chance: each gets a small search of its own.
    kernels : "paper", "rich", "precomputed", list or KernelBank, default="rich"
        The base kernels. "paper": 62 Gaussian, Laplacian, polynomial, sigmoid and
        linear kernels on the raw and on the standardised data. "rich": most of these,
        and Gaussian, Laplacian and linear kernels on views that are learnt from the
        rows and from groups of rows that the pairs put together: "within" (whitened
        inside groups), "forest" (votes of a random forest) and "diffusion" (walks
        between neighbours, for clusters of any shape); for sparse rows, and rows of 50
        or more columns, also "unit", "unit_half" and "unit_within" (rows of length 1,
        half-whitened, and whitened inside groups). "precomputed": X holds Gram
        matrices. A list may hold "paper", "rich", names of views, also "whitened"
        (principal components of variance 1) and "discriminant" (directions in which
        groups differ), kernels (called with two collections of rows), pairs
        (view, kernel), Gram matrices and ``Precomputed``. A ready bank saves the work
        when many models share the data; its own filter and weights of rows then hold.
    constraints : Constraints, pair, sparse matrix or table, optional
        Pairs to use where ``fit`` gets none, for libraries that call ``fit(X)``.
    n_candidates : int, default=1000
        Number of combinations tried.
    max_kernels : int, default=5
        Largest number of kernels in a combination.
    search : {"auto", "random", "forest", "bagged_linear", "gp"} or Search, \
            default="auto"
        How candidates are chosen. "auto": at random when a candidate costs less than a
        model that would choose it, else by a random forest.
    selection : {"committee", "train"}, default="committee"
        How candidates are judged. "train": as in the paper, from starts that keep
        must-link groups whole, by the share of the pairs, and of what follows from
        them, that hold; the best one wins. "committee": from three kinds of starts, one
        of which does not know the pairs, by the pairs as they were given; the labels of
        all are kept, weighed by how probable they make the pairs, and the candidate
        nearest to what they expect together wins, if it satisfies as many pairs as
        plain k-means.
    noise : "auto" or float, default="auto"
        Share of the pairs that are wrong, for "committee". "auto": where pairs
        contradict each other, it is estimated. Groups of rows are then made of those
        pairs only that are believed. 0: all pairs are facts.
    far : float, default=0.0
        Share of the rows that get the label -1 in place of a cluster: those farthest
        from their centre, in units of the mean squared distance of its cluster. New
        rows that are farther than all others were get -1 as well. Everything else tells
        of the clusters before that.
    final_step : {"auto", "soft", "hard"} or None, default="auto"
        What follows the search. "auto": rows are placed. Groups of rows that the
        believed pairs put together are assigned to clusters, forests and a kernel
        regression learn them from the columns, and every row goes where the best
        candidates and these learners expect it. Sparse rows and rows of one length,
        such as texts and embeddings, go where mixtures expect them that start from the
        best candidates. Clusters stay as the chosen kernel has them (None) with
        ``selection="train"``, where pairs are too few for learners of columns (less
        than five rows with a pair for each cluster), and for rows that are no rows of
        numbers. "soft", "hard": constrained clustering under the chosen kernel; pairs
        have a price, or must hold. With a price, pairs of no less weight hold than
        without this step.
    approximation : {"auto", "exact", "landmarks", "working_set", "nystroem"}, \
            default="auto"
        "exact": whole kernel matrices. "landmarks": the values of each kernel with
        ``n_landmarks`` rows, the same for all kernels; equal rows count as one with a
        weight. "working_set": the same, and the search looks only at the rows with a
        pair and at ``working_rows`` others, which stand for the rest; then k-means
        clusters all rows under the chosen kernel, block by block; if fewer pairs hold
        then, the next best candidates are tried too. "nystroem": landmarks for each
        kernel by itself, as in the paper; slower. "auto": exact up to some 4,000 rows
        if that fits into ``max_memory``, then landmarks, then a working set, by
        formulas; the logger "linkwise" tells which and why.
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
        Among candidates of equal score ("train"), or that are as near to what all
        expect ("committee"), such as the same clusters under different kernels: the
        first one, or the most compact one.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    on_conflict : {"warn", "raise", "drop"}, default="warn"
        What to do with a cannot-link inside a must-link group: warn, and believe what
        the other pairs and the data say (``noise``); raise an error that names it; or
        drop the lighter side.
    time_limit : float, default=None
        Seconds after which the search ends with the best so far; the last clustering
        comes after it.
    patience : int, default=None
        Number of candidates without a better score after which the search ends.
    max_memory : int, str or None, default="4GiB"
        Memory for kernel matrices, views of the data with their trees, and blocks of
        values on the way. Above it kernels are regenerated when needed, which is
        slower. None: no limit. Each job beyond the first takes one matrix more.
    n_jobs : int, default=None
        Number of threads that evaluate candidates and predict. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn. An int makes the result repeatable bit for bit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; -1 for ``far`` rows.
    n_clusters_ : int
        Number of clusters.
    constraint_score_ : float
        Share of the pairs that are believed, and of those that follow from them, that
        hold; NaN without pairs.
    n_violated_ : int
        Number of these pairs that do not hold.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the base kernels; each kernel is scaled to the same scatter.
    kernel_names_ : list of str
        What the base kernels are.
    history_ : DataFrame
        One row for each candidate tried: score (with a committee, by the pairs as
        given and by where rows would go without them), objective (scatter within
        clusters over that of a random clustering), seconds, and the weight of each
        kernel.
    objective_ : float
        Relative objective of the clusters under the chosen kernel, before rows are
        placed; with a working set, of its rows when the search was over.
    doubt_ : ndarray of shape (n_samples,)
        How probable it is that a row belongs to another cluster: where rows were
        placed, by that rule; otherwise the share of the committee that puts it
        elsewhere, and NaN for rows outside a working set. None without a committee.
    disbelieved_ : DataFrame
        Pairs that are probably wrong, by the other pairs and by the committee: columns
        i, j, kind and belief, the least believed first. Look at them again.
    noise_ : float
        Share of wrong pairs, as estimated: the mean disbelief in a pair.
    by_chance_ : bool or None
        Whether no more pairs hold than by chance, so that the columns do not show what
        the pairs are about; a warning says so. It is judged by clusterings that were
        made without the pairs. None if it cannot be told: with fewer than 30 pairs, or
        30 rows in pairs, some 50 candidates, one kernel, one cluster, no committee.
    p_value_ : float
        Share of shuffled pairs that these clusterings satisfy as well; NaN if
        ``by_chance_`` is None.
    approximation_ : str
        The approximation used.
    n_iter_, converged_ : int, bool
        Iterations of the last clustering, and whether it came to rest.
    stopped_by_ : str
        Why the search ended: "budget", "score" (all pairs hold), "patience", "time",
        "callback", "interrupt" (Ctrl-C), "exhausted" (there is nothing else to try),
        "no pairs" (there was no search).
    n_features_in_, feature_names_in_
        As in scikit-learn; ``n_features_in_`` is a tuple for several views, and objects
        have neither.

    Notes
    -----
    Without pairs there is nothing to choose by: a warning says so, and the rows are
    clustered under the standardised linear kernel, or under the sum of the kernels if
    others than "paper" or "rich" are asked for.

    Callbacks of scikit-learn (``set_callbacks``) are told of every candidate; one that
    returns True stops the search, and the best so far is kept. The models that they
    see on the way are chosen by the pairs alone. ``ProgressBar`` shows how far it is.

    See Also
    --------
    SingleKernelCSC : The best single kernel.
    MahalanobisCSC : The same search over weights of features.
    ConstrainedKernelKMeans : One fixed kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import Constraints, KernelCSC
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Constraints.sample(y, 60, random_state=0)
    >>> model = KernelCSC(n_clusters=3, n_candidates=100, random_state=0)
    >>> model.fit(X, constraints=pairs).constraint_score_ > 0.9
    True
    """

    _parameter_constraints = {
        **KernelClusterer._parameter_constraints,
        **SEARCH_OF_KERNELS,
        **SEARCH_CONSTRAINTS,
        "n_clusters": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            range,
            list,
            tuple,
        ],
        "constraints": "no_validation",
        "selection": [StrOptions({"committee", "train"})],
        "noise": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="left")],
        "far": [Interval(Real, 0, 1, closed="left")],
        "on_conflict": [StrOptions({"warn", "raise", "drop"})],
        "max_kernels": [Interval(Integral, 1, None, closed="left")],
        "final_step": [StrOptions({"auto", "soft", "hard"}), None],
    }

    # Those rows that are looked at are widened: all of them may be many.
    _takes = frozenset({"views", "dask", "float32"})
    # Where rows belong, if not to the nearest centre.
    _rule: Rule | None = None
    # Relative squared distance above which rows are in no cluster.
    _far_limit: float | None = None
    # What the search leaves behind, for those that ask for pairs: the committee, and
    # the place of each row in its labels, -1 for rows outside a working set.
    _committee: Committee | None = None
    _committee_rows: IntArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: prediction needs no committee, and it is large."""
        state = super().__getstate__()
        return {k: v for k, v in state.items() if not k.startswith("_committee")}

    def __init__(
        self,
        n_clusters: int | str | Sequence[int] = 8,
        *,
        kernels: str | Sequence[Any] | KernelBank = "rich",
        constraints: Any = None,
        n_candidates: int = 1000,
        max_kernels: int = 5,
        search: str | Search = "auto",
        selection: str = "committee",
        noise: str | float = "auto",
        far: float = 0.0,
        final_step: Literal["auto", "soft", "hard"] | None = "auto",
        approximation: str = "auto",
        n_landmarks: int = 150,
        working_rows: int = 20_000,
        filter: str = "ratio",
        reward: Reward = "share",
        tie_break: TieBreak = "first",
        max_iter: int = 300,
        on_conflict: str = "warn",
        time_limit: float | None = None,
        patience: int | None = None,
        max_memory: float | str | None = "4GiB",
        n_jobs: int | Engine | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.constraints = constraints
        self.n_candidates = n_candidates
        self.max_kernels = max_kernels
        self.search = search
        self.selection = selection
        self.noise = noise
        self.far = far
        self.final_step = final_step
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.working_rows = working_rows
        self.filter = filter
        self.reward = reward
        self.tie_break = tie_break
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.time_limit = time_limit
        self.patience = patience
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
        """Learn a kernel from the pairs and cluster the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data. Also a list of such matrices (several views of the same rows), a
            sequence of any objects if ``kernels`` are functions of them (in an object
            array if they are matrices themselves), or one Gram matrix or a list of them
            if ``kernels="precomputed"``.
        y : array-like of shape (n_samples,), optional
            Partial labels, -1 for unknown: rows with equal labels must be linked,
            others cannot. They add to ``constraints``.
        constraints : Constraints, pair, sparse matrix or table, optional
            ``Constraints``, a pair (must_link, cannot_link) of index lists, a signed
            sparse matrix (sign: kind, size: weight), or a table with columns i, j,
            kind and perhaps weight.
        sample_weight : array-like of shape (n_samples,), optional
            Positive multiplicity of each row in the means, scatters and scales. It is
            not that of a row's pairs, and kernel widths are set from rows without it.
        sample_id : array-like of shape (n_samples,), optional
            One id for each row. Pairs then name ids, and those that leave X are
            dropped: so one ``Constraints`` serves all folds of a cross-validation.

        Returns
        -------
        self
        """
        if self.far > 0.0 and is_dask_collection(X):
            raise ValueError(
                f"far={self.far!r} needs all rows in one place; for a Dask collection "
                "leave it at 0."
            )
        constraints = self.constraints if constraints is None else constraints
        n_clusters = self.n_clusters
        if not is_known(n_clusters):
            n_clusters = choose_n_clusters(
                self, X, y, constraints, sample_weight, sample_id
            )
        given = self._check_fit(
            X,
            y,
            constraints,
            sample_weight,
            sample_id,
            n_clusters=n_clusters,
            hard=self.final_step == "hard",
        )
        if self.on_conflict == "warn":
            warn_of_contradictions(given.pairs, sample_id)
        problem = pose(self, given)
        has_committee = self.selection == "committee" and not given.pairs.is_empty
        if has_committee:
            problem = believed(self, problem)
        bank = problem.bank()
        step = self._step(seed=int(given.rng.integers(2**63)))
        if has_committee:
            judging = by_committee(self, problem, bank)
        else:
            judging = by_score(self, problem, bank, self.max_kernels)
        fit = KernelFit(self, problem, bank, judging.evaluator, step)
        with callbacks_told(self, given, self.n_candidates, fit.so_far) as on_trial:
            trials, chosen, stopped_by = NO_SEARCH
            if not given.pairs.is_empty:
                trials, chosen, stopped_by = run_candidates(
                    self, judging, given.rng, on_trial
                )
            committee, back, rule = None, Hindsight(), None
            if has_committee:
                committee, members = committee_of(trials, judging.evaluator, bank)
                kept = [trials[i] for i in members]
                chosen = members[choose(committee, kept, bank.plain, self.tie_break)]
            found = fit.best(trials, chosen)
            if committee is not None:
                back = hindsight(self, problem, committee, found)
                if self.final_step == "auto":
                    found, doubt, rule = place(fit, committee, kept, found, back)
                    back = replace(back, doubt=doubt)
            self._set_attributes(
                {
                    **fit.attributes(found, trials, stopped_by),
                    **back.attributes,
                    "n_clusters_": n_clusters,
                    "_rule": rule,
                }
            )
        is_here = committee is not None and isinstance(self.labels_, np.ndarray)
        self._committee = committee if is_here else None
        self._committee_rows = (
            places_of(problem.work, len(self.labels_)) if is_here else None
        )
        if n_clusters > 1:
            warn_of_idle_kernel(trials, self.kernel_weights_)
        self._set_far(X)
        return self

    def _step(self, seed: int) -> FinalStep | None:
        """Return the constrained step at the end, None if there is none."""
        if self.final_step is None or self.final_step == "auto":
            return None
        return FinalStep(self.final_step, seed, self.max_iter, keep_satisfied=True)

    def _set_far(self, X: Any) -> None:
        """Take rows far from the centre of their cluster out of it."""
        self._far_limit = None
        if self.far == 0.0:
            return
        data = self._check_data(X, reset=False)
        blocks = gen_batches(n_rows(data), ROWS_PER_BLOCK)
        found = [self._nearest_and_distance(rows_of(data, block)) for block in blocks]
        nearest, distance = map(np.concatenate, zip(*found, strict=True))
        sizes = np.bincount(nearest, minlength=self.n_clusters_)
        sums = np.bincount(nearest, weights=distance, minlength=self.n_clusters_)
        self._mean_distances = sums / np.maximum(sizes, 1)
        relative = self._relative(nearest, distance)
        n_far = int(self.far * len(relative))
        if n_far > 0:
            self._far_limit = np.sort(relative)[-n_far - 1]
            self.labels_ = np.where(relative > self._far_limit, -1, self.labels_)

    def _nearest_and_distance(self, rows: Any) -> tuple[IntArray, FloatArray]:
        """Return the nearest centre of each row, and its squared distance."""
        distances = self._squared_distances(rows)
        return distances.argmin(axis=1), np.maximum(distances.min(axis=1), 0)

    def _relative(self, nearest: IntArray, distance: FloatArray) -> FloatArray:
        """Return distances in units of the mean one of their cluster."""
        unit = np.maximum(self._mean_distances[nearest], np.finfo(float).tiny)
        return distance / unit

    def _nearest_centres(self, rows: Any) -> IntArray:
        if self._rule is not None:
            labels = self._rule.decide(rows).labels
        else:
            labels = super()._nearest_centres(rows)
        if self._far_limit is None:
            return labels
        relative = self._relative(*self._nearest_and_distance(rows))
        return np.where(relative > self._far_limit, -1, labels)

    def _reorder(self, order: IntArray) -> None:
        super()._reorder(order)
        if self._rule is not None:
            self._rule = self._rule.reordered(order)
        if self._far_limit is not None:
            self._mean_distances = self._mean_distances[order]
