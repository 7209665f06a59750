"""MahalanobisCSC: choose the feature weights whose clusters satisfy most pairs."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

from linkwise._typing import FloatArray, IntArray, Seed
from linkwise.clustering import centres_of
from linkwise.doors import (
    ConstrainedClusterer,
    FitInput,
    Interval,
    StrOptions,
    attributes_of,
    fit_context,
    row_shares,
    warn_caller,
)
from linkwise.engines import DaskRows, Engine, one_blas_thread
from linkwise.estimators._approximation import log
from linkwise.estimators._blocks import cluster_all_rows, with_all_clusters
from linkwise.estimators._clustering import best_on_all_rows
from linkwise.estimators._search import (
    NO_SEARCH,
    SEARCH_CONSTRAINTS,
    Judging,
    callbacks_told,
    history,
    run_candidates,
)
from linkwise.estimators._working_set import UNREST, WorkingSet, working_set
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import FeatureScales, Standardized, feature_seconds
from linkwise.search import Cube, Evaluator, Reward, Search, TieBreak, Trial

# Seconds of a candidate above which a working set is worth it.
_LONG = 0.05
# Bytes for passes over all rows; standardised rows that are kept may take half.
_MEMORY = 2.0**30


class MetricClustering(NamedTuple):
    """Clusters under weights of features."""

    weights: FloatArray
    objective: float  # relative to a random clustering
    described: dict[str, Any]  # labels and what they satisfy, as fitted attributes
    centres: FloatArray  # (n_clusters, n_features), in the units of the data
    reward: float | None = None  # on all rows, if the search has seen but some


class MahalanobisCSC(ConstrainedClusterer):
    """Constrained clustering by a search over weights of features.

    Each candidate is a vector of weights in [0, 1], one for each standardised feature.
    The weighted rows are clustered by k-means, without constraints, and the candidate
    whose clusters satisfy the largest share of the pairs wins. It learns a diagonal
    metric, and suits few features; with many, :class:`KernelCSC` does better.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_candidates : int, default=1000
        Number of weight vectors tried. The first has all weights 1: plain k-means.
    search : {"auto", "random", "forest", "bagged_linear", "gp"} or Search, \
            default="auto"
        How candidates are chosen, as for :class:`KernelCSC`.
    approximation : {"auto", "exact", "working_set"}, default="auto"
        Whether the search looks at all rows, or only at those with a pair and at
        ``working_rows`` others that stand for the rest; then k-means clusters all rows
        under the chosen weights, block by block. "auto": by the number of rows,
        features and clusters; the logger "linkwise" tells.
    working_rows : int, default=20_000
        Number of rows without a pair that a working set holds.
    reward : {"share", "balanced"}, default="share"
        What a candidate is judged by: the share of all pairs that hold, or the mean of
        the shares of must-links and of cannot-links. With many clusters most pairs are
        cannot-links, and rule the share.
    tie_break : {"first", "objective"}, default="first"
        Among candidates of equal score, the first found or the most compact one.
    max_iter : int, default=300
        Limit on the iterations of k-means.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    time_limit : float, default=None
        Seconds after which the search ends with the best so far.
    patience : int, default=None
        Number of candidates without a better score after which the search ends.
    n_jobs : int, default=None
        Number of threads that evaluate candidates. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    labels_, constraint_score_, n_violated_, history_, objective_, n_iter_, \
            converged_, stopped_by_, approximation_, n_features_in_, feature_names_in_
        As in :class:`KernelCSC`.
    feature_weights_ : ndarray of shape (n_features,)
        Weights of the standardised features. The metric is diag(weights ** 2).
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters, in the units of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import Constraints, MahalanobisCSC
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Constraints.sample(y, 60, random_state=0)
    >>> model = MahalanobisCSC(n_clusters=3, n_candidates=100, random_state=0)
    >>> model.fit(X, constraints=pairs).feature_weights_.shape
    (4,)
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        **SEARCH_CONSTRAINTS,
        "approximation": [StrOptions({"auto", "exact", "working_set"})],
        "working_rows": [Interval(Integral, 1, None, closed="left")],
    }

    _takes = frozenset({"dask"})

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_candidates: int = 1000,
        search: str | Search = "auto",
        approximation: str = "auto",
        working_rows: int = 20_000,
        reward: Reward = "share",
        tie_break: TieBreak = "first",
        max_iter: int = 300,
        on_conflict: str = "raise",
        time_limit: float | None = None,
        patience: int | None = None,
        n_jobs: int | Engine | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_candidates = n_candidates
        self.search = search
        self.approximation = approximation
        self.working_rows = working_rows
        self.reward = reward
        self.tie_break = tie_break
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.time_limit = time_limit
        self.patience = patience
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
        """Learn feature weights from the pairs and cluster the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection, (n_samples, n_features)
            The data. A sparse matrix is made dense: standardised columns have few
            zeros. The rows of a Dask collection stay where they are, and ``labels_``
            is a Dask array.
        y, constraints, sample_weight, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, sample_weight, sample_id)
        how = self._approximation(given)
        work, local = None, given
        if how == "working_set":
            work = working_set(given, self.working_rows)
            local = work.problem(given)
        data, weight, closure = _dense(local.data), local.sample_weight, local.closure
        weight = np.ones(len(data)) if weight is None else weight
        view = Standardized().fit(data, weight)
        bank = FeatureScales(view.transform(data).values, weight)
        if not bank.X.any():
            raise ValueError("All rows of X are equal: there is nothing to cluster.")
        if given.pairs.is_empty:
            warn_caller(
                "MahalanobisCSC has no constraints to choose weights by: it clusters "
                "standardised features. Pass constraints= (pairs) or y= (partial "
                "labels).",
                ConstraintWarning,
            )
        evaluator = Evaluator(
            bank,
            closure,
            given.n_clusters,
            reward=self.reward,
            max_iter=self.max_iter,
            unrest=UNREST if how == "working_set" else 0.0,
        )
        names = self._feature_names()

        def cluster(weights: FloatArray) -> MetricClustering:
            with one_blas_thread():
                result = evaluator.cluster(bank.combine(weights), weights)
            centres = row_shares(result.labels, weight, given.n_clusters).T @ data
            found = MetricClustering(
                weights,
                evaluator.relative_objective(result.objective, weights),
                attributes_of(result, closure),
                centres,
            )
            if work is None:
                return found
            return self._spread(found, view, given, work, local, evaluator.judge)

        def attributes(
            trials: Sequence[Trial], chosen: int, stopped_by: str = "callback"
        ) -> dict[str, Any]:
            if trials:
                found = best_on_all_rows(cluster, trials, chosen)
            else:
                found = cluster(np.ones(bank.n_weights))
            return {
                **found.described,
                "objective_": found.objective,
                "feature_weights_": found.weights,
                "cluster_centers_": found.centres,
                "approximation_": how,
                "_view": view,
                "history_": history(trials, names),
                "stopped_by_": stopped_by,
            }

        with callbacks_told(self, given, self.n_candidates, attributes) as on_trial:
            result = NO_SEARCH
            if not given.pairs.is_empty:
                judging = Judging(evaluator, Cube(bank.n_weights))
                result = run_candidates(self, judging, given.rng, on_trial)
            self._set_attributes(attributes(*result))
        return self

    def _approximation(self, given: FitInput) -> str:
        """Return whether the search needs a working set, and say so in the log."""
        if self.approximation != "auto":
            if isinstance(given.data, DaskRows) and self.approximation == "exact":
                raise ValueError(
                    'approximation="exact" needs all rows in one place; for a Dask '
                    'collection it must be "auto" or "working_set".'
                )
            return self.approximation
        n_samples, n_features = given.data.shape
        seconds = feature_seconds(n_samples, n_features, self.n_clusters)
        n_free = n_samples - len(given.pairs.points)
        is_long = seconds > _LONG and n_free > self.working_rows
        how = "working_set" if is_long or isinstance(given.data, DaskRows) else "exact"
        log.info(
            "approximation=%r: %d rows, %.3g ms for a candidate on all of them",
            how,
            n_samples,
            1e3 * seconds,
        )
        return how

    def _spread(
        self,
        found: MetricClustering,
        view: Any,
        given: FitInput,
        work: WorkingSet,
        local: FitInput,
        judge: Callable[[IntArray], float],
    ) -> MetricClustering:
        """Return a clustering of the working rows as one of all rows."""

        def standardized(rows: Any) -> FloatArray:
            return view.transform(_dense(rows)).values

        core = np.diag(found.weights**2)
        means = standardized(found.centres)
        start = centres_of(means, np.ones(len(means)), core)
        result, labels_by = cluster_all_rows(
            self, given, standardized, start, core, _MEMORY
        )
        means = np.where(np.isnan(result.means), means, result.means)
        scale = np.where(np.isinf(view.scale), 0.0, view.scale)
        last = centres_of(means, np.ones(len(means)), core)
        labels = labels_by(last)
        if isinstance(given.data, DaskRows):
            own = last.labels(standardized(local.data))
        else:
            own = found.described["labels_"]
            labels = with_all_clusters(labels, given.n_clusters, work, own)
            own = labels[work.rows]
        described = {
            "labels_": labels,
            "n_iter_": result.n_iter,
            "converged_": result.converged,
            "constraint_score_": local.closure.score(own),
            "n_violated_": local.closure.n_violated(own),
        }
        centres = view.mean + scale * means
        return found._replace(described=described, centres=centres, reward=judge(own))

    def predict(self, X: Any) -> Any:
        """Return the nearest cluster of each row of X under the learnt metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels in ``range(n_clusters)``.
        """
        return self._predict_blocks(X, self._nearest_centres)

    def _nearest_centres(self, rows: Any) -> IntArray:
        centres = self._scaled(self.cluster_centers_)
        return pairwise_distances_argmin(self._scaled(rows), centres)

    def _squared_distances(self, rows: Any) -> FloatArray:
        """Return squared distances to the centres, shape (n_rows, n_clusters)."""
        centres = self._scaled(self.cluster_centers_)
        return pairwise_distances(self._scaled(rows), centres, metric="sqeuclidean")

    def _scaled(self, rows: Any) -> FloatArray:
        return self._view.transform(_dense(rows)).values * self.feature_weights_

    def _feature_names(self) -> Sequence[str]:
        """Return the names of the features, made up if they have none."""
        made_up = [f"x{i}" for i in range(self.n_features_in_)]
        return getattr(self, "feature_names_in_", made_up)


def _dense(data: Any) -> FloatArray:
    """Return the data as an array in C order, for which loops are compiled."""
    return data.toarray() if issparse(data) else np.ascontiguousarray(data)
