"""CPAC: an auto-encoder whose codes gather along a graph of neighbours and pairs."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from linkwise.baselines._centres import DenseClusterer
from linkwise.baselines._embedding_kmeans import best_kmeans
from linkwise.baselines._kernel_mean_shift import in_order
from linkwise.baselines._networks import Adam, DenseNetwork, RMSprop, batches_of
from linkwise.baselines._pair_kernel import signed_pairs
from linkwise.baselines._pair_network import check_widths, is_at_rest
from linkwise.baselines._robust_graph import (
    edges_loss,
    latent_rows,
    near_components,
    neighbor_edges,
    pull_of,
    scales_of,
    with_pairs,
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

_HALVED_EVERY = 30  # epochs
_N_INIT = 10  # starts of k-means
_KMEANS_ITERATIONS = 300


class CPAC(DenseClusterer):
    """Pairwise-constrained deep clustering (Fogel et al. 2019).

    An auto-encoder learns codes z of the rows. Then each row gets a vector u of its
    own, which starts at its code, and network and vectors minimise over the edges of a
    graph

    lambda / l * w * rho2(|u_i - u_j|^2) + for both ends, over their degrees,
    rho1(|u - z|^2) / l + |x - decoded z|^2 / d,

    rho(q) = mu q / (mu + q) being robust: long edges stop to pull, the more so as mu
    is halved on the way. Edges tie mutual neighbours, and a spanning tree. Must-links
    are edges of large weight; edges that a cannot-link of the closure forbids are
    deleted. A cannot-link that is no edge has no effect, and nothing else keeps rows
    apart: many may end up broken. Equal rows are one node.

    X is not standardised: put a ``StandardScaler`` in front.

    Parameters
    ----------
    n_clusters : int or None, default=None
        A number: k-means on the vectors. None: rows joined by edges whose vectors are
        near are a cluster; that makes many clusters.
    hidden : tuple of int, default=(64, 32)
        Widths of the hidden layers of the encoder; the decoder has them in reverse.
    n_latent : int, default=10
        Width of the codes, at most that of the rows.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    graph : {"input", "latent"}, default="input"
        Whether neighbours are those of the rows, by distance, or those of their codes,
        standardised, by cosine.
    pretrain_epochs : int, default=100
        Passes over the rows in which the auto-encoder learns alone.
    max_iter : int, default=100
        Passes over the edges.
    learning_rate : float, default=0.001
        Step size of the network.
    vector_rate : float, default=0.01
        Step size of the vectors.
    batch_size : int, default=128
        Rows, and later edges, in a step.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of first weights, of batches and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows.
    embedding_ : ndarray of shape (n_samples, n_latent)
        The vectors of the rows.
    n_clusters_ : int
        Number of clusters.
    objective_ : float
        The loss of all edges in the last pass.
    n_iter_ : int
        Number of passes.
    converged_ : bool
        Whether the loss of the last tenth of the passes was below that of the tenth
        before by less than 1 % of the first loss.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from linkwise import Constraints
    >>> from linkwise.baselines import CPAC
    >>> X, y = make_blobs(60, centers=[(0, 0), (8, 0), (0, 8)], random_state=0)
    >>> pairs = Constraints.sample(y, 40, random_state=0)
    >>> model = CPAC(3, random_state=0)
    >>> adjusted_rand_score(y, model.fit_predict(X, constraints=pairs))
    1.0
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "hidden": [tuple, list],
        "n_latent": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions({"input", "latent"})],
        "pretrain_epochs": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "vector_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        hidden=(64, 32),
        n_latent=10,
        n_neighbors=10,
        graph="input",
        pretrain_epochs=100,
        max_iter=100,
        learning_rate=1e-3,
        vector_rate=0.01,
        batch_size=128,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.hidden = hidden
        self.n_latent = n_latent
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.pretrain_epochs = pretrain_epochs
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.vector_rate = vector_rate
        self.batch_size = batch_size
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Learn codes and vectors, and cluster the rows of X.

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
        check_widths(self.hidden)
        given = self._check_fit(X, y, constraints, None, sample_id)
        return self._fit_in_one_task(given, self._attributes, self.max_iter)

    def _attributes(self, given, end_epoch):
        first, node = distinct_rows(given.data)
        rows, closure = given.data[first], given.closure
        encoder, decoder = self._auto_encoder(rows, given.rng)
        codes = encoder(rows)
        edges = neighbor_edges(
            rows if self.graph == "input" else latent_rows(codes), self.n_neighbors
        )
        edges = with_pairs(
            edges, signed_pairs(given.pairs, node), closure.component[first], closure
        )
        scales = scales_of(codes, edges)
        state = _State(rows, codes.copy(), encoder, decoder, edges)
        losses = self._gather(state, scales, given.rng, end_epoch)
        vectors = state.vectors[node]
        if self.n_clusters is None:
            n_clusters, part = near_components(state.vectors, edges, scales.epsilon)
            labels = in_order(part[node])[1]
        else:
            n_clusters = self.n_clusters
            labels = best_kmeans(
                vectors, closure, n_clusters, _N_INIT, _KMEANS_ITERATIONS, given.rng
            ).labels
        result = _Result(labels, len(losses), is_at_rest(losses))
        return {
            **attributes_of(result, closure),
            "objective_": losses[-1],
            "embedding_": vectors,
            "n_clusters_": n_clusters,
            "_encoder": encoder,
            "_index": NearestNeighbors(n_neighbors=1).fit(state.vectors),
            "_label_of_node": labels[first],
        }

    def _auto_encoder(self, X, rng):
        """Return an encoder and a decoder that reconstruct rows."""
        n_latent = min(self.n_latent, X.shape[1])
        sizes = [X.shape[1], *self.hidden, n_latent]
        encoder, decoder = DenseNetwork(sizes, rng), DenseNetwork(sizes[::-1], rng)
        descent = Adam(encoder.parameters + decoder.parameters, self.learning_rate)
        n_steps = self.pretrain_epochs * -(-len(X) // self.batch_size)
        for batch in batches_of(len(X), self.batch_size, n_steps, rng):
            entered = encoder.forward(X[batch])
            left = decoder.forward(entered[-1])
            missed = 2.0 / X[batch].size * (left[-1] - X[batch])
            in_decoder, first = decoder.backward(left, missed)
            slope = first @ decoder.parameters[0].T
            descent.step(encoder.backward(entered, slope)[0] + in_decoder)
        return encoder, decoder

    def _gather(self, state, scales, rng, end_epoch):
        """Move vectors and network along the edges; return the loss of each pass."""
        edges, vectors = state.edges, state.vectors
        n_edges, degree = len(edges.ends), edges.degree(len(vectors))
        pull = pull_of(vectors, edges, rng)
        networks = state.encoder.parameters + state.decoder.parameters
        descents = (
            RMSprop(networks, self.learning_rate),
            RMSprop([vectors], self.vector_rate),
        )
        n_batches = -(-n_edges // self.batch_size)
        losses = []
        for epoch in range(self.max_iter):
            if epoch and epoch % _HALVED_EVERY == 0:
                scales = scales.halved()
            total = 0.0
            for batch in np.array_split(rng.permutation(n_edges), max(n_batches, 1)):
                loss, slopes = edges_loss(
                    state.rows,
                    vectors,
                    state.encoder,
                    state.decoder,
                    edges.at(batch),
                    degree,
                    pull,
                    scales,
                )
                descents[0].step(slopes.encoder + slopes.decoder)
                descents[1].step([slopes.vectors])
                total += loss
            losses.append(total)
            if end_epoch():
                break
        return losses

    def predict(self, X):
        """Return the cluster of the training row whose vector is nearest.

        A new row has a code but no vector of its own: its code is compared with the
        vectors of the training rows. So training rows may change their cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Clusters.
        """
        return self._predict_blocks(X, self._nearest_vector)

    def _nearest_vector(self, rows):
        nearest = neighbors(self._index, self._encoder(rows)).ravel()
        return self._label_of_node[nearest]


class _State(NamedTuple):
    """What is learned on a graph; vectors and networks move."""

    rows: np.ndarray
    vectors: np.ndarray
    encoder: DenseNetwork
    decoder: DenseNetwork
    edges: object


class _Result(NamedTuple):
    """What attributes are made of."""

    labels: np.ndarray
    n_iter: int
    converged: bool
