"""Estimators that cluster under a kernel: what they take, and how they predict."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray, IntArray
from linkwise.doors import ConstrainedClusterer, HasMethods, Interval, StrOptions
from linkwise.estimators._kernel_problem import is_named
from linkwise.kernels import KernelBank
from linkwise.search import matched

# Constraints on the parameters of estimators that search among kernels.
SEARCH_OF_KERNELS = {
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


class KernelClusterer(ConstrainedClusterer):
    """Prediction by the nearest centre under a kernel.

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

    _takes = frozenset({"views"})

    def _kernels(self) -> Any:
        """Return the kernels asked for."""
        return self.kernels

    def _takes_objects(self) -> bool:
        kernels = self._kernels()
        if isinstance(kernels, (list, tuple)):  # kernels with a name take numbers
            return not any(isinstance(kernel, str) for kernel in kernels)
        return isinstance(kernels, KernelBank)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_named(self._kernels(), "precomputed")
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def predict(self, X: Any) -> Any:
        """Return the cluster of each row of X.

        A row goes where it would have gone in ``fit``. Where rows were placed
        (``final_step="auto"`` of :class:`KernelCSC`), the same rule decides; otherwise
        the centre that is nearest under the learnt kernel. Training rows get their
        ``labels_`` back, but for a few: where a final step is asked for by name, or
        none, clusters are those of k-means, and of the learnt views diffusion and
        forest place a training row a little apart when it comes as a new one.

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

    def _nearest_centres(self, rows: Any) -> IntArray:
        return self._to_centres(rows).argmin(axis=1)

    def _to_centres(self, rows: Any) -> FloatArray:
        """Return squared distances to the centres up to a constant for each row."""
        return self._from_values(self._kernel(rows))

    def _squared_distances(self, rows: Any) -> FloatArray:
        """Return squared distances to the centres, shape (n_rows, n_clusters)."""
        values, norms = self._kernel.with_norms(rows)
        return norms[:, None] + self._from_values(values)

    def _from_values(self, values: FloatArray) -> FloatArray:
        cross = values.astype(np.float64)
        return self._centre_norms - 2.0 * (cross @ self._row_shares)

    def match_labels(self, earlier: Any) -> Self:
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
        self.labels_: Any = np.where(self.labels_ < 0, -1, new_id[self.labels_])
        self._reorder(np.argsort(new_id))
        return self

    def _reorder(self, order: IntArray) -> None:
        """Put what belongs to clusters into another order."""
        self._row_shares: Any = self._row_shares[:, order]
        self._centre_norms: FloatArray = self._centre_norms[order]

    def _check_earlier(self, earlier: Any) -> IntArray:
        if not isinstance(self.labels_, np.ndarray):
            raise ValueError("match_labels needs labels in memory, not a Dask array.")
        earlier = np.asarray(earlier)
        if earlier.shape != self.labels_.shape or earlier.dtype.kind not in "iu":
            raise ValueError(
                f"earlier has shape {earlier.shape} and dtype {earlier.dtype}: it must "
                f"hold one whole number for each of the {len(self.labels_)} rows."
            )
        return earlier
