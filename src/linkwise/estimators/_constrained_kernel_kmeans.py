"""ConstrainedKernelKMeans: pairs that cost or bind, under one fixed kernel."""

from numbers import Real
from typing import Any, Literal, Self

from linkwise._typing import Seed
from linkwise.doors import FitInput, Interval, StrOptions, fit_context
from linkwise.estimators._clustering import FinalStep, cluster_under
from linkwise.estimators._kernel_clusterer import KernelClusterer
from linkwise.estimators._kernel_problem import exact_bank, is_named
from linkwise.search import Evaluator


class ConstrainedKernelKMeans(KernelClusterer):
    """Kernel k-means whose pairs have a price, or must hold.

    With a kernel that does not depend on the data, such as ``Linear()``, a row without
    pairs and of whole weight w counts as w equal rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : "rbf", "precomputed", kernel or pair (view, kernel), default="rbf"
        The kernel. "rbf": Gaussian on the standardised data, its width the median
        distance. "precomputed": X is the Gram matrix. Otherwise a kernel object or a
        function of two collections of rows, such as ``linkwise.kernels.Linear()``,
        alone or with the view of the data that it takes.
    mode : {"soft", "hard"}, default="soft"
        "soft": broken pairs have a price. "hard": no pair may be broken.
    penalty : {"outlier", "hmrf"}, default="outlier"
        Prices of the soft mode. "outlier": far must-links and close cannot-links are
        cheap to break. "hmrf": they are dear.
    penalty_weight : float, default=1.0
        Factor on all prices of the soft mode.
    max_iter : int, default=100
        Limit on the number of rounds.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for kernel matrices and views, as in :class:`KernelCSC`.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders in which points are visited.

    Attributes
    ----------
    labels_, constraint_score_, n_violated_, n_iter_, converged_, n_features_in_, \
            feature_names_in_
        As in :class:`KernelCSC`.
    objective_ : float
        Scatter within clusters, plus the prices of broken pairs in the soft mode, in
        the units of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise import ConstrainedKernelKMeans
    >>> from linkwise.kernels import Linear
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = ConstrainedKernelKMeans(2, kernel=Linear(), mode="hard", random_state=0)
    >>> labels = model.fit_predict(X, constraints=([(1, 2)], []))
    >>> bool(labels[1] == labels[2])
    True
    """

    _parameter_constraints = {
        **KernelClusterer._parameter_constraints,
        "kernel": [StrOptions({"rbf", "precomputed"}), callable, tuple],
        "mode": [StrOptions({"soft", "hard"})],
        "penalty": [StrOptions({"outlier", "hmrf"})],
        "penalty_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        mode: Literal["soft", "hard"] = "soft",
        penalty: Literal["outlier", "hmrf"] = "outlier",
        penalty_weight: float = 1.0,
        max_iter: int = 100,
        on_conflict: str = "raise",
        max_memory: float | str | None = "4GiB",
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.mode = mode
        self.penalty = penalty
        self.penalty_weight = penalty_weight
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.max_memory = max_memory
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
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X, y, constraints, sample_weight, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(
            X, y, constraints, sample_weight, sample_id, hard=self.mode == "hard"
        )
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given: FitInput) -> dict[str, Any]:
        bank, _ = exact_bank(given, self._kernels(), "none", self.max_memory)
        evaluator = Evaluator(bank, given.closure, self.n_clusters)
        options = {"penalty": self.penalty, "penalty_weight": self.penalty_weight}
        step = FinalStep(
            self.mode, int(given.rng.integers(2**63)), self.max_iter, options=options
        )
        found = cluster_under(bank, evaluator, given.closure, bank.unscaled, step)
        return found.attributes

    def _kernels(self) -> Any:
        return self.kernel if is_named(self.kernel, "precomputed") else [self.kernel]
