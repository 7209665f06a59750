"""MetricLCVQE: a metric learned from the pairs, then LCVQE under it."""

from numbers import Integral, Real

from sklearn.base import clone

from linkwise.baselines._itml import ITML
from linkwise.baselines._lcvqe import LCVQE
from linkwise.baselines._mmc import MMC
from linkwise.baselines._rca import RCA
from linkwise.doors import (
    ConstrainedClusterer,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)

_LEARNERS = {"itml": ITML, "mmc": MMC, "rca": RCA}


class MetricLCVQE(ConstrainedClusterer):
    """Learn a metric from the pairs, then cluster under it with the same pairs.

    The same as ``make_pipeline(ITML(), LCVQE(n_clusters))`` with metadata routing on,
    or with :class:`MMC` or :class:`RCA` in the place of :class:`ITML`. Rows
    are not standardised here: put a ``StandardScaler`` in front unless columns are
    alike.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : {"itml", "mmc", "rca"} or metric learner, default="itml"
        What learns the metric: :class:`ITML`, :class:`MMC` or :class:`RCA` as they
        come, with this ``random_state``, or any transformer whose ``fit`` takes
        ``constraints``, such as ``ITML(gamma=10.0)``; it is cloned.
    violation_weight, n_init, max_pairs, max_iter
        As in :class:`LCVQE`. The metric learner has limits of its own.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of the clustering, and of "itml" and "mmc".

    Attributes
    ----------
    metric_learner_ : transformer
        The fitted metric learner.
    clusterer_ : LCVQE
        Fitted to the transformed rows.
    objective_ : float
        That of ``clusterer_``, in the learned metric.
    labels_, n_iter_, converged_, constraint_score_, n_violated_
        Those of ``clusterer_``. Whether the metric came to rest is in
        ``metric_learner_``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import MetricLCVQE
    >>> X = np.array([[0.0, 0.0], [0.5, 9.0], [0.2, 4.0], [3.0, 9.0], [3.5, 1.0]])
    >>> pairs = ([(0, 1), (3, 4)], [(1, 3)])
    >>> MetricLCVQE(2, random_state=0).fit_predict(X, constraints=pairs)
    array([1, 1, 1, 0, 0])
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "metric": [StrOptions(set(_LEARNERS)), HasMethods(["fit", "transform"])],
        "violation_weight": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="itml",
        violation_weight=1.0,
        n_init=10,
        max_pairs=200_000,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.violation_weight = violation_weight
        self.n_init = n_init
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Learn the metric, and cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        data = self._check_data(X, reset=True)
        pairs = self._check_pairs(constraints, y, data.shape[0], sample_id)
        described = {"estimator": self, "X": X, "y": y}
        context = self._init_callback_context()
        context.call_on_fit_task_begin(**described)
        self.metric_learner_ = self._learner().fit(data, constraints=pairs)
        # It checks what is left to check, such as n_clusters against the rows.
        self.clusterer_ = LCVQE(
            self.n_clusters,
            violation_weight=self.violation_weight,
            n_init=self.n_init,
            max_pairs=self.max_pairs,
            max_iter=self.max_iter,
            random_state=self.random_state,
        ).fit(self.metric_learner_.transform(data), constraints=pairs)
        for name in (
            "labels_",
            "objective_",
            "n_iter_",
            "converged_",
            "constraint_score_",
            "n_violated_",
        ):
            setattr(self, name, getattr(self.clusterer_, name))
        context.call_on_fit_task_end(**described, reconstruction_attributes={})
        return self

    def predict(self, X):
        """Return the nearest centre of each row in the learned metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows of data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Clusters.
        """
        return self._predict_blocks(
            X,
            lambda rows: self.clusterer_.predict(self.metric_learner_.transform(rows)),
        )

    def _learner(self):
        if not isinstance(self.metric, str):
            return clone(self.metric)
        learner = _LEARNERS[self.metric]()
        if "random_state" in learner.get_params():
            learner.set_params(random_state=self.random_state)
        return learner
