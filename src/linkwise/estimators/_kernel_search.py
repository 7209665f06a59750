"""What the estimators that work with kernels share."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linkwise.clustering import Centres, centres_of, hard_kmeans, soft_kmeans
from linkwise.doors import (
    ConstrainedClusterer,
    HasMethods,
    Interval,
    StrOptions,
    attributes_of,
    parse_bytes,
    row_shares,
    warn_caller,
)
from linkwise.engines import DaskRows, one_blas_thread
from linkwise.estimators._approximation import choose_approximation, depends_on_groups
from linkwise.estimators._blocks import (
    cluster_all_rows,
    labels_of_all,
    with_all_clusters,
)
from linkwise.estimators._search import SearchClusterer
from linkwise.estimators._working_set import UNREST, scores_of, working_set
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import (
    KernelBank,
    Known,
    LandmarkBank,
    Linear,
    Precomputed,
    SeveralSets,
    Standardized,
    in_double,
)
from linkwise.search import Evaluator, matched


@dataclass(frozen=True)
class GivenRows:
    """The kernel values of new rows when they are given in place of data."""

    position: int

    def __call__(self, X):
        """Return the matrix of this kernel among those given."""
        return X[self.position] if isinstance(X, SeveralSets) else X


class KernelClusterer(ConstrainedClusterer):
    """Banks of kernels, the clustering under chosen weights, and prediction.

    Fitted models keep, under private names, what prediction needs: ``_kernel``, the
    chosen kernels with their training points, ``_row_shares``, the part of each
    training row in each centre, and ``_centre_norms``, the squared norms of the
    centres. With landmarks, these stand in place of the training rows. The bank is not
    kept.
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def _kernels(self):
        """Return the kernels asked for."""
        return self.kernels

    def _soft_options(self):
        """Return the settings of the soft step."""
        return {"keep_satisfied": True}

    def _soft_start(self, evaluator, space, weights, closure):
        """Return the labels that the soft step starts from.

        They are those of the paper, unless plain clusters satisfy more: a final step
        is not to lose what was there without it.
        """
        start = evaluator.start(space)
        plain = evaluator.cluster(space, weights).labels
        return plain if closure.score(plain) > closure.score(start) else start

    def _objective(self, evaluator, objective, weights):
        """Return the objective as it is reported."""
        return evaluator.relative_objective(objective, weights)

    def _takes_views(self):
        return True

    def _takes_objects(self):
        kernels = self._kernels()
        if isinstance(kernels, (list, tuple)):  # kernels with a name take numbers
            return not any(isinstance(kernel, str) for kernel in kernels)
        return isinstance(kernels, KernelBank)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_named(self._kernels(), "precomputed")
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _bank(self, given, kernels, filter, known=None, max_memory=None):
        """Return the exact bank of some kernels on the data.

        It knows the sums over must-link groups if there is memory left for them.
        """
        closure = given.closure
        bank, memory = self._plain_bank(given, kernels, filter, known, max_memory)
        return bank.with_groups(closure.linked, closure.n_linked, memory)

    def _plain_bank(self, given, kernels, filter, known=None, max_memory=None):
        """Return the exact bank of some kernels, and what memory is left."""
        n_samples = given.closure.n_samples
        # The matrices of further jobs are not counted: what is stored, and with it the
        # last digits of a kernel, must not depend on their number.
        needed = 4.0 * n_samples**2
        limit = parse_bytes(self.max_memory) if max_memory is None else max_memory
        limit -= needed
        if isinstance(kernels, KernelBank):
            _check_bank(kernels, given)
            return kernels, limit
        if limit < 0:
            raise MemoryError(
                f"A kernel matrix of {n_samples} rows needs {needed / 2**20:.1f} MiB, "
                f"more than max_memory={self.max_memory!r}. Raise max_memory, or "
                'use KernelCSC with approximation="landmarks".'
            )
        if is_named(kernels, "precomputed"):
            kernels = _given_grams(given.data)
        bank = KernelBank.build(
            given.data,
            kernels,
            filter=filter,
            sample_weight=given.sample_weight,
            max_total=limit,
            rng=given.rng,
            known=known,
        )
        return bank, limit - bank.nbytes

    def _cluster(self, bank, evaluator, closure, weights, final_step, seed):
        """Return the attributes of the clustering under some weights."""
        rng = np.random.default_rng(seed)
        with one_blas_thread():
            space = bank.combine(weights)
            if final_step is None:
                result = evaluator.cluster(space, weights)
            elif final_step == "soft":
                result = soft_kmeans(
                    space,
                    self._soft_start(evaluator, space, weights, closure),
                    self.n_clusters,
                    closure,
                    order=rng.permutation(space.n_samples),
                    max_iter=self.max_iter,
                    **self._soft_options(),
                )
            else:
                result = hard_kmeans(
                    space,
                    evaluator.start(space),
                    self.n_clusters,
                    closure,
                    rng=rng,
                    max_iter=self.max_iter,
                )
            # Anew: what was kept up to date on the way has rounding errors.
            sums = space.group_sums(result.labels, self.n_clusters)
            if space.core is None:
                shares = row_shares(result.labels, space.sample_weight, self.n_clusters)
                norms = sums.inner / sums.mass**2
            else:
                shares, norms = centres_of(sums.totals, sums.mass, space.core)
        return {
            **attributes_of(result, closure),
            "objective_": self._objective(evaluator, result.objective, weights),
            "_kernel": bank.kernel(weights),
            "_row_shares": shares,
            "_centre_norms": norms,
        }

    def predict(self, X):
        """Return the cluster of each row of X.

        A row goes to the cluster whose centre is nearest under the learnt kernel.
        Training rows get their ``labels_`` back if k-means came to rest and no final
        step changed them; under an indefinite kernel (sigmoid) it may rest elsewhere.
        Of the learnt views, diffusion and forest place a training row a little apart
        when it comes as a new one (see the views), so a few rows at the border of two
        clusters may change.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            New rows, or what ``fit`` took in its place; with ``kernels="precomputed"``
            the kernel values of new rows (first axis) with the training rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels in ``range(n_clusters)``.
        """
        return self._predict_blocks(X, self._nearest_centres)

    def _nearest_centres(self, rows):
        return self._to_centres(rows).argmin(axis=1)

    def _to_centres(self, rows):
        """Return squared distances to the centres up to a constant for each row."""
        return self._from_values(self._kernel(rows))

    def _squared_distances(self, rows):
        """Return squared distances to the centres, shape (n_rows, n_clusters)."""
        values, norms = self._kernel.with_norms(rows)
        return norms[:, None] + self._from_values(values)

    def _from_values(self, values):
        cross = values.astype(np.float64)
        return self._centre_norms - 2.0 * (cross @ self._row_shares)

    def match_labels(self, earlier):
        """Rename the clusters after those of an earlier clustering of the same rows.

        Each cluster gets the id of the earlier one with which it shares rows, so that
        as many rows as possible keep their id: what was "3" in a report stays "3" when
        more pairs have been given.

        Parameters
        ----------
        earlier : array-like of shape (n_samples,)
            Earlier labels. Rows with -1 do not count, nor ids that are not in
            ``range(n_clusters)``.

        Returns
        -------
        self
            With other ids in ``labels_`` and in what ``predict`` returns.

        Examples
        --------
        >>> from linkwise import KernelCSC
        >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
        >>> model = KernelCSC(3, kernels="paper", n_candidates=20, random_state=0)
        >>> model = model.fit(X, constraints=([(0, 1)], [(1, 2), (3, 4)]))
        >>> model.match_labels([2, 2, 0, 0, 1, 1]).labels_.tolist()
        [2, 2, 0, 0, 1, 1]
        """
        check_is_fitted(self, "labels_")
        earlier = self._check_earlier(earlier)
        k = len(self._centre_norms)
        counts = (earlier >= 0) & (earlier < k) & (self.labels_ >= 0)
        new_id = matched(self.labels_[counts], earlier[counts], k)
        self.labels_ = np.where(self.labels_ < 0, -1, new_id[self.labels_])
        self._reorder(np.argsort(new_id))
        return self

    def _reorder(self, order):
        """Put what belongs to clusters into another order."""
        self._row_shares = self._row_shares[:, order]
        self._centre_norms = self._centre_norms[order]

    def _check_earlier(self, earlier):
        if not isinstance(self.labels_, np.ndarray):
            raise ValueError("match_labels needs labels in memory, not a Dask array.")
        earlier = np.asarray(earlier)
        if earlier.shape != self.labels_.shape or earlier.dtype.kind not in "iu":
            raise ValueError(
                f"earlier has shape {earlier.shape} and dtype {earlier.dtype}: it must "
                f"hold one whole number for each of the {len(self.labels_)} rows."
            )
        return earlier


# Part of the memory that folds of the pairs may use, where views are learnt anew.
_MEMORY_FOR_FOLDS = 0.25
# Relative objective, 1 for a random clustering, from which on labels are not credible.
HARDLY_COMPACT = 0.99


class KernelSearchClusterer(KernelClusterer, SearchClusterer):
    """The choice of kernel weights by a search.

    A subclass has ``_search(bank, evaluator, given, on_trial, max_memory)``, which
    returns a SearchResult (the memory is that for folds of the pairs), and
    ``_n_candidates(n_kernels)``.
    """

    def _takes_dask(self):
        return True

    def _takes_float32(self):
        # Those that are looked at are widened: all of them may be many.
        return True

    _parameter_constraints = {
        **KernelClusterer._parameter_constraints,
        "kernels": [
            StrOptions({"paper", "rich", "precomputed"}),
            list,
            tuple,
            KernelBank,
        ],
        "approximation": [
            StrOptions({"auto", "exact", "landmarks", "working_set", "nystroem"})
        ],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "working_rows": [Interval(Integral, 1, None, closed="left")],
        "filter": [StrOptions({"ratio", "none"})],
        "reward": [StrOptions({"share", "balanced"})],
        "tie_break": [StrOptions({"first", "objective"})],
        "n_jobs": [Integral, HasMethods("map"), None],
    }

    def _fit(self, X, y, constraints, sample_weight, sample_id, final_step=None):
        given = self._check_fit(
            X, y, constraints, sample_weight, sample_id, hard=final_step == "hard"
        )
        kernels, filter = self.kernels, self.filter
        if given.pairs.is_empty:
            kernels, filter = self._without_pairs(), "none"
        how = choose_approximation(self, given, kernels)
        work, local = None, given
        if how != "exact":
            n_others = self.working_rows if how == "working_set" else None
            work = working_set(given, n_others, self.n_clusters)
            local = work.problem(given)
        if not is_named(kernels, "precomputed"):
            local = local._replace(data=in_double(local.data))
        # Spawned, so that kernels which do not need it draw as without it.
        view_seed = int(given.rng.spawn(1)[0].integers(2**31))
        memory = parse_bytes(self.max_memory)
        share = self._share_for_held_out()
        held_out_memory = share * memory if share > 0.0 else 0.0
        if np.isfinite(memory):
            memory -= held_out_memory

        def make_bank(problem):
            groups = problem.closure.groups(self.n_clusters)
            known = Known(groups, self.n_clusters, view_seed)
            with one_blas_thread():
                if how == "exact":
                    return self._bank(problem, kernels, filter, known, memory)
                return self._landmark_bank(problem, kernels, filter, how, known, memory)

        local = self._without_wrong_pairs(local, make_bank, view_seed)
        bank = make_bank(local)
        seed = given.rng.integers(2**63)
        evaluator = Evaluator(
            bank,
            local.closure,
            self.n_clusters,
            reward=self.reward,
            max_iter=self.max_iter,
            unrest=UNREST if how == "working_set" else 0.0,
            **self._judging(local, bank, view_seed),
        )

        def search(on_trial):
            return self._search(bank, evaluator, local, on_trial, held_out_memory)

        def cluster(weights):
            fitted = self._cluster(
                bank, evaluator, local.closure, weights, final_step, seed
            )
            if work is not None:
                final = final_step is not None
                fitted |= self._spread(
                    fitted,
                    given,
                    work,
                    local,
                    evaluator.judge,
                    bank.core(weights),
                    final,
                )
            return {
                "kernel_weights_": weights,
                "kernel_names_": bank.names,
                "approximation_": how,
                **fitted,
            }

        committee = None

        def select(trials):
            nonlocal committee
            worth, committee = self._worth(trials, bank, evaluator.judge)
            return worth

        n_candidates = self._n_candidates(bank.n_weights)
        self._fit_weights(given, bank.names, n_candidates, search, cluster, select)
        self._finish(local, work, committee)
        if not given.pairs.is_empty and self.n_clusters > 1:
            self._warn_of_idle_kernel()
        return self

    def _holds_out(self):
        """Tell whether candidates are scored by held-out pairs as well."""
        return False

    def _share_for_held_out(self):
        """Return the part of the memory that is kept for kernels of folds of pairs."""
        if not self._holds_out() or not depends_on_groups(self.kernels):
            return 0.0
        return _MEMORY_FOR_FOLDS

    def _without_wrong_pairs(self, given, make_bank, seed):
        """Return the problem with groups of those pairs only that are believed."""
        return given

    def _judging(self, given, bank, seed):
        """Return how candidates are judged, as options of the evaluator."""
        return {}

    def _worth(self, trials, bank, judge):
        """Return what each trial is worth, by which one is chosen, and a committee."""
        return None, None

    def _finish(self, local, work, committee):
        """Set what else is known when all rows have labels."""

    def _landmark_bank(self, given, kernels, filter, how, known, max_memory):
        n_values = given.closure.n_samples * min(
            self.n_landmarks, given.closure.n_samples
        )
        return LandmarkBank.build(
            given.data,
            kernels,
            n_landmarks=self.n_landmarks,
            separate=how == "nystroem",
            filter=filter,
            sample_weight=given.sample_weight,
            max_total=max_memory - 4.0 * n_values,
            rng=given.rng,
            known=known,
        )

    def _spread(self, fitted, given, work, local, judge, core, is_final):
        """Return the attributes that change when all rows get labels.

        ``is_final`` tells that labels of rows with pairs are not to change.
        """
        own = fitted["labels_"]
        is_here = not isinstance(given.data, DaskRows)
        if work.is_whole and is_here:
            return {"labels_": own[work.stands_for]}
        kernel = fitted["_kernel"]
        centres = Centres(fitted["_row_shares"], fitted["_centre_norms"])
        if work.is_whole:
            fixed = (np.arange(len(given.data)), own[work.stands_for])
            return {"labels_": labels_of_all(self, given.data, kernel, centres, fixed)}
        if is_final:
            linked = np.asarray(given.pairs.points, dtype=np.intp)
            fixed = (linked, own[np.searchsorted(work.rows, linked)])
            labels = labels_of_all(self, given.data, kernel, centres, fixed)
            if is_here:
                labels = with_all_clusters(labels, self.n_clusters, work, own)
            return {"labels_": labels}
        memory = parse_bytes(self.max_memory)
        result, labels_by = cluster_all_rows(self, given, kernel, centres, core, memory)
        centres = result.centres
        labels = labels_by(centres)
        if is_here:
            labels = with_all_clusters(labels, self.n_clusters, work, own)
        own = labels[work.rows] if is_here else centres.labels(kernel(work.data))
        return {
            "labels_": labels,
            "n_iter_": result.n_iter,
            "converged_": result.converged,
            "_row_shares": centres.coefficients,
            "_centre_norms": centres.norms,
            **scores_of(own, local.closure, judge),
        }

    def _warn_of_idle_kernel(self):
        """Warn if the chosen kernel gives k-means nothing to work with."""
        weights = self.history_.iloc[:, 3:].to_numpy()
        chosen = int((weights == self.kernel_weights_).all(axis=1).argmax())
        best = self.history_["objective"].iloc[chosen]
        if best > HARDLY_COMPACT:
            warn_caller(
                "The chosen clusters are hardly more compact than random ones "
                f"(relative objective {best:.3f}): under such a kernel all rows are "
                "about equally far apart, k-means cannot leave its start, and the "
                "start satisfies most pairs by itself. Do not trust the labels of rows "
                "without pairs; give more pairs, or fewer or other kernels.",
                ConstraintWarning,
            )

    def _without_pairs(self):
        """Return the kernels to use when there is nothing to choose by, and warn."""
        is_paper = is_named(self.kernels, "paper") or is_named(self.kernels, "rich")
        used = "the standardised linear kernel" if is_paper else "all kernels alike"
        warn_caller(
            f"{type(self).__name__} has no constraints to choose kernels by: it "
            f"clusters with {used}. Pass constraints= (pairs) or y= (partial labels).",
            ConstraintWarning,
        )
        return [(Standardized(), Linear())] if is_paper else self.kernels


def is_named(kernels, name):
    """Tell whether the kernels asked for are those of a name."""
    return isinstance(kernels, str) and kernels == name


def _check_bank(bank, given):
    """Raise unless a ready bank can belong to the data."""
    n_samples = given.closure.n_samples
    if bank.n_samples != n_samples:
        raise ValueError(
            f"kernels is a KernelBank of {bank.n_samples} rows, but X has {n_samples}."
        )
    weight = given.sample_weight
    if weight is not None and not np.array_equal(weight, bank.sample_weight):
        raise ValueError(
            "sample_weight differs from the weights that kernels, a ready KernelBank, "
            "was built with: pass the same to KernelBank.build."
        )


def _given_grams(data):
    """Return the Gram matrices given as data, as kernels."""
    grams = data if isinstance(data, SeveralSets) else [data]
    for gram in grams:
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(
                f'X has shape {gram.shape}: "precomputed" takes square matrices, the '
                "kernel values of the rows with each other."
            )
    return [Precomputed(gram, cross=GivenRows(i)) for i, gram in enumerate(grams)]
