"""PCKMeans: k-means with one price for every broken pair."""

from numbers import Integral, Real

import numpy as np
from scipy.sparse import coo_array

from linkwise._typing import FloatArray, IntArray
from linkwise.baselines._centres import (
    CentreClusterer,
    CentreResult,
    fill_empty,
    inertia,
    means,
    nearest,
    squared_distances,
)
from linkwise.baselines._closure_pairs import unit_weight
from linkwise.baselines._jit_sweeps import relabel_by_counts, relabel_by_pairs
from linkwise.baselines._seeds import several_seeds
from linkwise.constraints import Closure
from linkwise.doors import Interval, fit_context


class PCKMeans(CentreClusterer):
    """k-means with a price on broken pairs that does not depend on distance.

    The method of Basu, Banerjee and Mooney (2004). The objective is half the inertia
    plus ``weight`` times the weight of each broken pair of the closure. Rows in random
    order take their cheapest cluster given the labels of all others, then centres move
    to the means, until no label changes. The start is fixed by the pairs: the means of
    the largest must-link groups, completed by far points; every row begins at the
    nearest of them.

    X is not standardised, and prices are in units of squared distance: put a
    ``StandardScaler`` in front.

    With one weight for all pairs, pairs are counted by must-link group and never
    listed, so closures of millions of pairs cost no more than their groups. With
    different weights the pairs of the closure are listed.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    weight : float, default=1.0
        Factor on the weights of the pairs. 0 is k-means from the same start.
    n_init : int, default=10
        Number of runs: the first from the must-link groups, further ones from random
        rows (k-means++). The one with the lowest objective is kept.
    max_iter : int, default=100
        Limit on the sweeps over the rows.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Draws the orders in which rows are visited.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    objective_ : float
        Half the inertia plus the prices of broken pairs. It never rises on the way.
    cluster_centers_, n_iter_, converged_, constraint_score_, n_violated_, \
            n_features_in_, feature_names_in_
        As in :class:`SeededKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines import PCKMeans
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = PCKMeans(2, weight=10.0, random_state=0)
    >>> labels = model.fit_predict(X, constraints=([(1, 2)], []))
    >>> bool(labels[1] == labels[2])
    True
    """

    _parameter_constraints = {
        **CentreClusterer._parameter_constraints,
        "weight": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        weight=1.0,
        n_init=10,
        max_iter=100,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        return self._fit(self._check_fit(X, y, constraints, None, sample_id))

    def _cluster(self, given, X):
        k, closure = self.n_clusters, given.closure
        starts = several_seeds(X, closure, k, "largest", self.n_init, given.rng)
        runs = [self._run(given, X, start) for start in starts]
        return min(runs, key=lambda result: result.objective)

    def _run(self, given, X, centres):
        k = self.n_clusters
        distances = squared_distances(X, centres)
        labels = nearest(distances, np.full(len(X), -1))
        fill_empty(labels, distances[np.arange(len(X)), labels], k)
        if given.closure.is_unit:
            price = self.weight * unit_weight(given.pairs)
            prices = _CountedPairs(given.closure, price, labels, k)
        else:
            prices = _PricedPairs(given.closure, self.weight)
        n_members = np.bincount(labels, minlength=k)
        n_iter, converged = 0, False
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            order = given.rng.permutation(len(X))
            distances = 0.5 * squared_distances(X, centres)
            n_moves = prices.relabel(distances, order, n_members, labels)
            # In the first sweep the centres are not yet the means of any labels.
            converged = n_moves == 0 and n_iter > 1
            centres = means(X, labels, k)
        objective = 0.5 * inertia(X, labels, centres) + prices.of(labels)
        return CentreResult(labels, centres, objective, n_iter, converged)


class _CountedPairs:
    """Pairs that all weigh the same: counts per component stand for them."""

    def __init__(
        self, closure: Closure, price: float, labels: IntArray, n_clusters: int
    ) -> None:
        self._closure, self._price = closure, price
        active = (closure.size > 1) | closure.has_cannot_link
        compact = np.where(active, np.cumsum(active) - 1, -1)
        self._group = compact[closure.component]  # -1: a point without pairs
        # Rows of the CSR that are left out are empty.
        self._cl_indptr = np.append(
            closure.cl_indptr[:-1][active], closure.cl_indptr[-1]
        )
        self._cl_indices = compact[closure.cl_indices]

        shape = (np.count_nonzero(active), n_clusters)
        self._together = np.zeros(shape, dtype=np.intp)
        self._clashes = np.zeros(shape, dtype=np.intp)
        has_pairs = self._group >= 0
        np.add.at(self._together, (self._group[has_pairs], labels[has_pairs]), 1)
        rows = np.repeat(np.arange(shape[0]), np.diff(self._cl_indptr))
        np.add.at(self._clashes, rows, self._together[self._cl_indices])

    def relabel(
        self,
        distances: FloatArray,
        order: IntArray,
        n_members: IntArray,
        labels: IntArray,
    ) -> int:
        """Sweep once over the points, in place; return the number of moves."""
        return relabel_by_counts(
            distances,
            order,
            self._group,
            self._cl_indptr,
            self._cl_indices,
            self._price,
            n_members,
            self._together,
            self._clashes,
            labels,
        )

    def of(self, labels: IntArray) -> float:
        """Return the price of the pairs that ``labels`` breaks."""
        return self._price * self._closure.n_violated(labels)


class _PricedPairs:
    """Pairs of different weights, as neighbour lists."""

    def __init__(self, closure: Closure, factor: float) -> None:
        must_link, must_link_weight = closure.must_link_pairs()
        cannot_link, cannot_link_weight = closure.cannot_link_pairs()
        self._must_link, self._must_link_price = must_link, factor * must_link_weight
        self._cannot_link = cannot_link
        self._cannot_link_price = factor * cannot_link_weight
        i, j = np.concatenate([must_link, cannot_link]).T
        price = np.concatenate([-self._must_link_price, self._cannot_link_price])
        lists = coo_array(
            (np.tile(price, 2), (np.append(i, j), np.append(j, i))),
            shape=(closure.n_samples, closure.n_samples),
        ).tocsr()
        self._indptr = lists.indptr.astype(np.intp)
        self._indices = lists.indices.astype(np.intp)
        self._price = lists.data

    def relabel(
        self,
        distances: FloatArray,
        order: IntArray,
        n_members: IntArray,
        labels: IntArray,
    ) -> int:
        """Sweep once over the points, in place; return the number of moves."""
        return relabel_by_pairs(
            distances,
            order,
            self._indptr,
            self._indices,
            self._price,
            n_members,
            labels,
        )

    def of(self, labels: IntArray) -> float:
        """Return the price of the pairs that ``labels`` breaks."""
        a, b = labels[self._must_link].T
        c, d = labels[self._cannot_link].T
        apart = self._must_link_price[a != b].sum()
        return float(apart + self._cannot_link_price[c == d].sum())
