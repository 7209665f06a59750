"""What the estimators that choose among kernels share."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs

from linkwise.clustering import hard_kmeans, soft_kmeans
from linkwise.constraints import feasibility
from linkwise.engines import one_blas_thread
from linkwise.estimators._base import ConstrainedClusterer, history
from linkwise.estimators._compat import Interval, StrOptions
from linkwise.estimators._memory import parse_bytes
from linkwise.exceptions import ConstraintWarning, InfeasibleConstraintsError
from linkwise.kernels import (
    KernelBank,
    Linear,
    Precomputed,
    SeveralSets,
    Standardized,
)
from linkwise.search import Evaluator


@dataclass(frozen=True)
class GivenRows:
    """The kernel values of new rows when they are given in place of data."""

    position: int

    def __call__(self, X):
        """Return the matrix of this kernel among those given."""
        return X[self.position] if isinstance(X, SeveralSets) else X


class KernelClusterer(ConstrainedClusterer):
    """Banks of kernels, the clustering under chosen weights, and prediction."""

    def _kernels(self):
        """Return the kernels asked for."""
        return self.kernels

    def _soft_options(self):
        """Return the settings of the soft step."""
        return {}

    def _objective(self, evaluator, objective, weights):
        """Return the objective as it is reported."""
        return evaluator.relative_objective(objective, weights)

    def _takes_objects(self):
        return not isinstance(self._kernels(), str)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        kernels = self._kernels()
        tags.input_tags.pairwise = isinstance(kernels, str) and kernels == "precomputed"
        return tags

    def _bank(self, data, kernels, filter, sample_weight, n_samples, rng):
        """Return the bank of some kernels on checked data, and what memory is left."""
        n_workers = effective_n_jobs(getattr(self, "n_jobs", None))
        limit = parse_bytes(self.max_memory) - 4.0 * n_workers * n_samples**2
        if isinstance(kernels, KernelBank):
            if kernels.n_samples != n_samples:
                raise ValueError(
                    f"kernels is a KernelBank of {kernels.n_samples} rows, but X has "
                    f"{n_samples}."
                )
            return kernels, limit
        if limit < 0:
            raise MemoryError(
                f"One kernel matrix of {n_samples} rows for each of {n_workers} jobs "
                f"needs {4.0 * n_workers * n_samples**2 / 2**30:.2f} GiB, more than "
                f"max_memory={self.max_memory!r}. Raise max_memory, or cluster a sample "
                "of the rows and predict the others."
            )
        if isinstance(kernels, str) and kernels == "precomputed":
            grams = data if isinstance(data, SeveralSets) else [data]
            kernels = [Precomputed(g, cross=GivenRows(i)) for i, g in enumerate(grams)]
        bank = KernelBank.build(
            data,
            kernels,
            filter=filter,
            sample_weight=sample_weight,
            max_memory=limit,
            rng=rng,
        )
        return bank, limit - bank.nbytes

    def _cluster(self, bank, evaluator, closure, weights, final_step, seed):
        """Return the attributes of the clustering under some weights."""
        rng = np.random.default_rng(seed)
        with one_blas_thread():
            space = bank.combine(weights)
            if final_step is None:
                result = evaluator.cluster(space)
            elif final_step == "soft":
                result = soft_kmeans(
                    space,
                    evaluator.start(space),
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
        return {
            "labels_": result.labels,
            "kernel_weights_": weights,
            "objective_": self._objective(evaluator, result.objective, weights),
            "n_iter_": result.n_iter,
            "converged_": result.converged,
            "constraint_score_": closure.score(result.labels),
            "n_violated_": closure.n_violated(result.labels),
            **self._centres_of(bank.kernel(weights), sums, space, result.labels),
        }

    @staticmethod
    def _centres_of(kernel, sums, space, labels):
        """Return what prediction needs: the kernel, each row's part in a centre."""
        share = np.zeros((len(labels), len(sums.mass)))
        share[np.arange(len(labels)), labels] = (
            space.sample_weight / sums.mass[labels]
        )
        return {
            "_kernel": kernel,
            "_centre_norms": sums.inner / sums.mass**2,
            "_row_shares": share,
        }

    def predict(self, X):
        """Return the cluster of each row of X.

        A row goes to the cluster whose centre is nearest under the learnt kernel.
        Training rows get their ``labels_`` back if k-means came to rest and no final
        step changed them.

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
        cross = self._kernel(rows).astype(np.float64)
        return (self._centre_norms - 2.0 * (cross @ self._row_shares)).argmin(axis=1)


class KernelSearchClusterer(KernelClusterer):
    """The choice of weights by a search.

    A subclass has ``_search(bank, evaluator, pairs, rng, on_trial)``, which returns the
    best weights, the trials and why it ended, and ``_n_candidates(n_kernels)``.
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "kernels": [StrOptions({"paper", "precomputed"}), list, tuple, KernelBank],
        "filter": [StrOptions({"ratio", "none"})],
        "tie_break": [StrOptions({"first", "objective"})],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
        "n_jobs": [Integral, None],
    }

    def _fit(self, X, y, constraints, sample_weight, sample_id):
        data, weight, pairs, closure, rng = self._check_fit(
            X, y, constraints, sample_weight, sample_id
        )
        final_step = getattr(self, "final_step", None)
        if final_step == "hard":
            verdict = feasibility(closure, self.n_clusters)
            if verdict.status == "infeasible":
                raise InfeasibleConstraintsError(verdict.reason)
        kernels, filter = self.kernels, self.filter
        if pairs.is_empty:
            kernels, filter = self._without_pairs(kernels)
        with one_blas_thread():
            bank, memory = self._bank(
                data, kernels, filter, weight, closure.n_samples, rng
            )
            bank = bank.with_groups(closure.linked, closure.n_linked, memory)
        self.kernel_names_ = bank.names
        seed = rng.integers(2**63)
        evaluator = Evaluator(bank, closure, self.n_clusters, max_iter=self.max_iter)

        def attributes(weights):
            return self._cluster(bank, evaluator, closure, weights, final_step, seed)

        n_candidates = self._n_candidates(bank.n_weights)
        with self._candidates_reported(n_candidates, attributes) as on_trial:
            if pairs.is_empty:
                best, trials, self.stopped_by_ = np.ones(bank.n_weights), [], "no pairs"
            else:
                best, trials, self.stopped_by_ = self._search(
                    bank, evaluator, pairs, rng, on_trial
                )
            self.history_ = history(trials, bank.names)
            self._set_attributes(attributes(best))
        return self

    def _without_pairs(self, kernels):
        """Return the kernels to use when there is nothing to choose by."""
        paper = isinstance(kernels, str) and kernels == "paper"
        used = "the standardised linear kernel" if paper else "the sum of all kernels"
        warnings.warn(
            f"{type(self).__name__} has no constraints to choose kernels by: it clusters "
            f"with {used}. Pass constraints= (pairs) or y= (partial labels).",
            ConstraintWarning,
            stacklevel=6,
        )
        return ([(Standardized(), Linear())] if paper else kernels), "none"
