"""KernelCSC: choose the kernel whose clusters satisfy the most constraints."""

from numbers import Integral

import numpy as np

from linkwise.constraints import constraint_folds
from linkwise.doors import Interval, StrOptions, fit_context, warn_caller
from linkwise.estimators._held_out import mean_held_out_scores
from linkwise.estimators._kernel_search import KernelSearchClusterer
from linkwise.estimators._search import SEARCH_CONSTRAINTS, run_candidates
from linkwise.exceptions import ConstraintWarning
from linkwise.search import SparseVectors

# Of "mixed" selection: candidates that are scored by held-out pairs, and folds.
_N_FINALISTS = 10
_N_FOLDS = 3


class KernelCSC(KernelSearchClusterer):
    """Constrained clustering by a search over sparse combinations of kernels.

    Each candidate is a weighted sum of a few base kernels. The rows are clustered
    under it by kernel k-means, without constraints, and the candidate whose clusters
    satisfy the largest share of the pairs wins. Pairs are never turned into distances,
    so a few of them are not overfitted.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernels : "paper", "rich", "precomputed", list or KernelBank, default="rich"
        The base kernels. "paper": 62 Gaussian, Laplacian, polynomial, sigmoid and
        linear kernels on the raw and on the standardised data. "rich": these, and
        Gaussian, Laplacian and linear kernels on views that are learnt from the rows
        and from groups of rows that the pairs put together: "within" (whitened inside
        groups) and "forest" (votes of a random forest). "precomputed": X holds Gram
        matrices. A list may hold "paper", "rich", names of views, also "whitened"
        (principal components of variance 1), "discriminant" (directions in which groups
        differ) and "diffusion" (walks between neighbours, for clusters of any shape),
        kernels (called with two collections of rows, they return a matrix), pairs
        (view, kernel), Gram matrices and ``Precomputed``. A ready bank saves the work
        when many models share the data; its own filter and weights of rows then hold.
    n_candidates : int, default=1000
        Number of combinations tried.
    max_kernels : int, default=5
        Largest number of kernels in a combination.
    search : {"auto", "random", "forest", "bagged_linear", "gp"} or Search, \
            default="auto"
        How candidates are chosen. "auto": at random when a candidate costs less than a
        model that would choose it, else by a random forest.
    selection : {"auto", "train", "mixed"}, default="auto"
        How the winner is chosen. "train": by the pairs, as in the paper. "mixed": of
        the ten best, the one with the highest mean of its score (counted twice) and of
        its score by pairs that were held out, in three folds. That guards against
        kernels that fit the pairs and nothing else. "auto": mixed if some kernels are
        learnt from the pairs, as rich ones are, else train.
    final_step : {None, "soft", "hard"}, default=None
        Constrained clustering under the chosen kernel at the end: pairs have a price,
        or must hold.
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
        Among candidates of equal score, the first found or the most compact one.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group: raise an error that
        names it, or drop the lighter side.
    time_limit : float, default=None
        Seconds after which the search ends with the best so far. Scores by held-out
        pairs come after it, as does the last clustering.
    patience : int, default=None
        Number of candidates without a better score after which the search ends.
    max_memory : int, str or None, default="4GiB"
        Memory for kernel matrices. Above it they are regenerated when needed, which is
        slower. None: no limit. Each job beyond the first takes one matrix more; views
        and the trees of forests come on top.
    n_jobs : int, default=None
        Number of threads that evaluate candidates. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn. An int makes the result repeatable bit for bit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    constraint_score_ : float
        Share of the pairs, and of those that follow from them, that hold; NaN without
        pairs.
    n_violated_ : int
        Number of pairs, and of those that follow from them, that do not hold.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the base kernels; each kernel is scaled to the same scatter.
    kernel_names_ : list of str
        What the base kernels are.
    history_ : DataFrame
        One row for each candidate tried: score, objective (scatter within clusters
        over that of a random clustering), seconds, and the weight of each kernel.
    objective_ : float
        Relative objective of ``labels_``; with a working set, of its rows when the
        search was over.
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
        **KernelSearchClusterer._parameter_constraints,
        **SEARCH_CONSTRAINTS,
        "selection": [StrOptions({"auto", "train", "mixed"})],
        "max_kernels": [Interval(Integral, 1, None, closed="left")],
        "final_step": [StrOptions({"soft", "hard"}), None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        kernels="rich",
        n_candidates=1000,
        max_kernels=5,
        search="auto",
        selection="auto",
        final_step=None,
        approximation="auto",
        n_landmarks=150,
        working_rows=20_000,
        filter="ratio",
        reward="share",
        tie_break="first",
        max_iter=300,
        on_conflict="raise",
        time_limit=None,
        patience=None,
        max_memory="4GiB",
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.n_candidates = n_candidates
        self.max_kernels = max_kernels
        self.search = search
        self.selection = selection
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
    def fit(self, X, y=None, *, constraints=None, sample_weight=None, sample_id=None):
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
        return self._fit(
            X, y, constraints, sample_weight, sample_id, final_step=self.final_step
        )

    def _n_candidates(self, n_kernels):
        return self.n_candidates

    def _search(self, bank, evaluator, given, on_trial, max_memory):
        domain = SparseVectors(bank.n_weights, self.max_kernels)
        # A score of 1 is not the end where other pairs have a say.
        stop_score = None if self._is_mixed(bank) else 1.0
        return run_candidates(
            self, evaluator, domain, given.rng, on_trial, stop_score=stop_score
        )

    def _holds_out(self):
        return self.selection != "train"

    def _is_mixed(self, bank):
        """Tell whether held-out pairs have a say in the choice among kernels."""
        is_auto = self.selection == "auto"
        return bank.learns_from_groups if is_auto else self.selection == "mixed"

    def _worth(self, trials, bank, given, seed, max_memory):
        if not self._is_mixed(bank):
            return None
        scores = np.nan_to_num([trial.score for trial in trials], nan=-np.inf)
        finalists = np.argsort(-scores, kind="stable")[:_N_FINALISTS]
        finalists = finalists[np.isfinite(scores[finalists])]
        try:
            constraint_folds(given.pairs, _N_FOLDS, 0)
        except ValueError:
            return None  # too few pairs to hold any out
        try:
            held_out = mean_held_out_scores(
                self,
                bank,
                given,
                [trials[i].weights for i in finalists],
                _N_FOLDS,
                np.random.default_rng(seed),
                max_memory,
            )
        except (MemoryError, KeyboardInterrupt) as error:
            lacks = "no memory" if isinstance(error, MemoryError) else "no time"
            warn_caller(
                f"There is {lacks} to score by held-out pairs, so the winner is chosen "
                f'as with selection="train". {error}'.rstrip(),
                ConstraintWarning,
            )
            return None
        worth = np.full(len(trials), -np.inf)
        worth[finalists] = (2.0 * scores[finalists] + held_out) / 3.0
        return worth
