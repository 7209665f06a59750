"""RCA: the metric that whitens what must-linked rows differ in."""

import numpy as np
from scipy.sparse import issparse

from linkwise.baselines._metric_learner import LearnedMetric, MetricLearner
from linkwise.kernels import Known
from linkwise.kernels._learnt_views import within_groups


class RCA(MetricLearner):
    """Relevant component analysis (Bar-Hillel, Hertz, Shental, Weinshall 2003).

    C is the covariance inside groups of must-linked rows, each about its own mean, and
    the metric its inverse: directions in which rows of a group differ do not count.
    Cannot-links and weights play no part. Then ``transform`` maps a row x to
    C^(-1/2) x. With few rows in groups C is shrunk towards a multiple of the identity,
    by d / (d + rows - groups); without must-links the metric is the identity.

    Parameters
    ----------
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        The inverse of C.
    components_ : ndarray of shape (n_features, n_features)
        Its symmetric square root.
    objective_ : float
        tr(A C) - log det A at the metric A, which has the least.
    n_iter_ : int
        1: there is a closed form.
    converged_ : bool
        True.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ITML, MMC : Metrics learned from both kinds of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import RCA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 1.0], [10.0, 3.0]])
    >>> RCA().fit(X, constraints=([(0, 1), (2, 3)], [])).metric_.round(3)
    array([[2., 0.],
           [0., 2.]])
    """

    _parameter_constraints = {
        "on_conflict": MetricLearner._parameter_constraints["on_conflict"]
    }

    def __init__(self, *, on_conflict="raise"):
        self.on_conflict = on_conflict

    def _learn(self, X, closure, given):
        if closure.n_linked == 0:
            return LearnedMetric(np.eye(X.shape[1]), float(X.shape[1]), 1, True)
        inside = np.flatnonzero(closure.linked >= 0)
        rows = X[inside].toarray() if issparse(X) else X[inside]
        shrunk, _, sizes = within_groups(rows, Known(closure.linked[inside], 1))
        # The paper divides by the rows, not by what is free of them.
        covariance = shrunk * (1.0 - len(sizes) / len(rows))
        metric = np.linalg.inv(covariance)
        metric = (metric + metric.T) / 2.0
        log_det = np.linalg.slogdet(covariance)[1]
        return LearnedMetric(metric, float(len(metric) + log_det), 1, True)
