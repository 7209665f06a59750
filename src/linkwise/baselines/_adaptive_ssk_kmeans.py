"""AdaptiveSSKKMeans: the width of the kernel moves with the clusters."""

from numbers import Real

import numpy as np

from linkwise.baselines._closure_pairs import ListedPairs
from linkwise.baselines._ssk_kmeans import AffinityToRows
from linkwise.baselines._width_search import (
    WidthProblem,
    adapt,
    first_width,
    width_bounds,
)
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    check_matrices,
    fit_context,
    row_shares,
)
from linkwise.kernels import RBF, Raw
from linkwise.kernels._views import BASES, Points

_N_MATRICES = 3  # distances, kernel, and less than one for blocks and the median


class AdaptiveSSKKMeans(ConstrainedClusterer):
    """Kernel k-means with pairs and a width that adapts (Yan and Domeniconi 2006).

    The kernel is K = exp(-|x - y|^2 / 2 s^2), and D = 2 - 2 K the squared distance
    under it. Labels and the width s minimise in turn

    W + w * (sum of D over broken must-links + sum of Dmax - D over broken cannot-links)
    - 2 * spread_weight * T,

    W being the scatter within clusters and T the total scatter. Without the last term
    the width would run off: all distances fall as it grows. With a weight of 1 or more
    tiny widths win, under which every row is alone. It stays between the median
    distance of nearest rows and the width that halves the total scatter at the start.

    The paper itself was not at hand: this follows what Boecking, Jeanselme and
    Dubrawski (2022) say of it, with the mean of all rows in place of one random row
    (see ``reference``), and an exact search for the width in place of gradient steps.
    The pairs are those of the closure, by weight. X is not standardised: put a
    ``StandardScaler`` in front where scales differ.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    width : float or "median", default="median"
        First width. "median": the root of half the median squared distance.
    spread_weight : float, default=0.75
        Weight of the total scatter.
    reference : {"mean", "random"}, default="mean"
        What the total scatter is taken from: the mean of the rows, or one random row.
    penalty_weight : float, default=1.0
        Weight w of broken pairs.
    max_iter : int, default=50
        Limit on the rounds; each moves the labels, then the width.
    tol : float, default=1e-4
        Least relative fall of the objective that is worth another round.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for three matrices of n_samples * n_samples entries of 8 bytes.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which rows are visited, and of a random reference.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    objective_ : float
        What is minimised.
    gamma_, start_gamma_ : float
        The factor 1 / 2 s^2 of squared distances, at the end and at the start.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether it came to rest before ``max_iter``.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import AdaptiveSSKKMeans
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = AdaptiveSSKKMeans(2, random_state=0).fit(X)
    >>> model.labels_, round((2.0 * model.gamma_) ** -0.5, 3)
    (array([0, 0, 1, 1]), 1.182)
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "width": [Interval(Real, 0, None, closed="neither"), StrOptions({"median"})],
        "spread_weight": [Interval(Real, 0, None, closed="left")],
        "reference": [StrOptions({"mean", "random"})],
        "penalty_weight": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        width="median",
        spread_weight=0.75,
        reference="mean",
        penalty_weight=1.0,
        max_iter=50,
        tol=1e-4,
        on_conflict="raise",
        max_memory="4GiB",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.width = width
        self.spread_weight = spread_weight
        self.reference = reference
        self.penalty_weight = penalty_weight
        self.max_iter = max_iter
        self.tol = tol
        self.on_conflict = on_conflict
        self.max_memory = max_memory
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, None, sample_id)
        check_matrices(
            given.closure.n_samples, _N_MATRICES, self.max_memory, "kernel matrix"
        )
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given):
        closure, points = given.closure, Points(given.data)
        squared = BASES[RBF.base](points, points)
        np.fill_diagonal(squared, 0.0)
        start = first_width(squared) if self.width == "median" else float(self.width)
        reference = None
        if self.reference == "random":
            reference = int(given.rng.integers(closure.n_samples))
        pairs = ListedPairs(*closure.must_link_pairs(), *closure.cannot_link_pairs())
        problem = WidthProblem(
            squared,
            pairs,
            self.n_clusters,
            self.penalty_weight,
            self.spread_weight,
            reference,
        )
        result = adapt(
            problem,
            closure,
            start,
            width_bounds(problem, start),
            given.rng.permutation(closure.n_samples),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        gamma = 0.5 / result.width**2
        unit = np.ones(closure.n_samples)
        return {
            **attributes_of(result, closure),
            "objective_": result.objectives[-1],
            "gamma_": gamma,
            "start_gamma_": 0.5 / start**2,
            "_kernel": AffinityToRows(RBF(gamma), Raw(), points),
            "_row_shares": row_shares(result.labels, unit, self.n_clusters),
            "_centre_norms": result.sums.inner / result.sums.mass**2,
        }

    def predict(self, X):
        """Return the cluster whose centre is nearest under the kernel.

        Pairs play no part, so training rows may change their cluster.

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

    def _nearest_centres(self, rows):
        inner = self._kernel(rows) @ self._row_shares
        return (self._centre_norms - 2.0 * inner).argmin(axis=1)
