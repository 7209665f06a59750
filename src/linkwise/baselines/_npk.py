"""NPK: a kernel matrix learned from pairs and neighbours, then k-means in it."""

from numbers import Integral, Real

import numpy as np
from sklearn.preprocessing import normalize

from linkwise.baselines._centres import squared_distances
from linkwise.baselines._embedding_kmeans import best_kmeans
from linkwise.baselines._pair_kernel import (
    linear_kernel,
    neighbor_graph,
    normalized_laplacian,
    signed_pairs,
    squared_hinge_kernel,
    strength_of,
)
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    fit_context,
)
from linkwise.kernels import distinct_rows
from linkwise.kernels._learnt_views import neighbors


class NPK(ConstrainedClusterer):
    """A kernel matrix learned from pairs, then k-means (Hoi, Jin and Lyu 2007).

    L is the normalised Laplacian of a graph in which rows are tied to their nearest
    neighbours, and t = 1 for must-links, t = -1 for cannot-links. Among all kernel
    matrices K, whatever the rows look like, the method takes the one that is smooth
    on the graph and agrees with the pairs:

    minimise tr(L K) + C * sum over pairs of loss(t K_ij) + G / 2 * |K|^2.

    With ``loss="linear"``, -t K_ij, the answer is the positive part of C T - L, T the
    matrix of signed pairs (Zhuang, Tsang and Hoi 2011), and the size of G does not
    matter. ``loss="squared_hinge"``, max(0, 1 - t K_ij)^2 / 2, is solved by its dual,
    one decomposition for each of some ten steps.

    Rows become the leading eigenvectors, times the roots of their eigenvalues, and
    each row is brought to length 1: rows far from all pairs would else be near zero,
    and k-means would make one cluster of them. The pairs are those given, not the
    closure. Weights multiply C. Equal rows are one node of the graph, so a pair between
    two of them has no effect. X is not standardised: put a ``StandardScaler`` in front
    where scales differ.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    loss : {"linear", "squared_hinge"}, default="linear"
        What a pair costs.
    strength : float, default=2.0
        Weight of pairs against the graph: the largest eigenvalue of C T.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    n_init : int, default=10
        Starts of k-means by k-means++, beside the one from must-link groups; the least
        scatter wins.
    max_iter : int, default=200
        Limit on the iterations of k-means, and on the steps for the squared hinge.
    tol : float, default=1e-5
        Largest slope at which the steps for the squared hinge end.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for four matrices of n_samples * n_samples entries of 8 bytes. With more
        than 2,000 rows they are made only if a quarter of the eigenvalues is positive.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts of k-means and of the search for eigenvectors.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    embedding_ : ndarray of shape (n_samples, n_components_)
        The rows as k-means sees them, of length 1.
    n_components_ : int
        Number of positive eigenvalues, or n_clusters if there are fewer.
    strength_ : float
        C.
    objective_ : float
        What is minimised, at K; for the linear loss with G = 1.
    n_iter_ : int
        Iterations of k-means; of the squared hinge, its steps.
    converged_ : bool
        Whether both came to rest before ``max_iter``.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from linkwise import Constraints
    >>> from linkwise.baselines import NPK
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> pairs = Constraints.sample(y, 50, random_state=0)
    >>> model = NPK(2, random_state=0).fit(X, constraints=pairs)
    >>> adjusted_rand_score(y, model.labels_)
    1.0
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "loss": [StrOptions({"linear", "squared_hinge"})],
        "strength": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        loss="linear",
        strength=2.0,
        n_neighbors=10,
        n_init=10,
        max_iter=200,
        tol=1e-5,
        on_conflict="raise",
        max_memory="4GiB",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.strength = strength
        self.n_neighbors = n_neighbors
        self.n_init = n_init
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
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given):
        first, node = distinct_rows(given.data)
        pairs = signed_pairs(given.pairs, node)
        graph, index = neighbor_graph(given.data[first], self.n_neighbors)
        graph = graph.maximum(graph.T)
        kernel, strength = self._kernel(normalized_laplacian(graph), pairs, given.rng)
        places = kernel.leading.embedding()
        embedding = normalize(places)[node]
        result = best_kmeans(
            embedding,
            given.closure,
            self.n_clusters,
            self.n_init,
            self.max_iter,
            given.rng,
        )
        degree = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1.0)
        mass = np.bincount(result.labels, minlength=self.n_clusters)
        attributes = {
            **attributes_of(result, given.closure),
            "objective_": kernel.objective,
            "embedding_": embedding,
            "n_components_": embedding.shape[1],
            "strength_": strength,
            "_index": index,
            # What a neighbour adds to the place of a new row.
            "_shares": places / np.sqrt(degree)[:, None],
            "_centres": result.sums.totals / mass[:, None],
        }
        if self.loss == "squared_hinge":
            attributes["n_iter_"] = kernel.n_iter
            attributes["converged_"] = kernel.converged and result.converged
        return attributes

    def _kernel(self, laplacian, pairs, rng):
        """Return the Kernel, and the price of pairs in it."""
        unit = strength_of(pairs, rng)
        price = self.strength / unit if unit > 0.0 else 0.0
        n_least = min(self.n_clusters, laplacian.shape[0])
        if self.loss == "linear":
            kernel = linear_kernel(
                laplacian, pairs, price, n_least, rng, self.max_memory
            )
            return kernel, price
        price *= 2.0  # a pair stands in A both ways, each with half its multiplier
        kernel = squared_hinge_kernel(
            laplacian,
            pairs,
            price,
            None,
            n_least,
            rng,
            tol=self.tol,
            max_iter=self.max_iter,
            max_memory=self.max_memory,
        )
        return kernel, price

    def predict(self, X):
        """Return the cluster of each row of X.

        A new row is where tr(L K) would be least with all others in place: at the sum
        of its neighbours' places, each over the root of its number of neighbours. So
        training rows may change their cluster.

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
        places = self._shares[neighbors(self._index, rows)].sum(axis=1)
        return squared_distances(normalize(places), self._centres).argmin(axis=1)
