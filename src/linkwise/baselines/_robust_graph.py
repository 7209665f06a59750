"""A graph of neighbours whose edges pull rows together, with pairs in it."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    connected_components,
    laplacian,
    minimum_spanning_tree,
)
from sklearn.preprocessing import StandardScaler, normalize

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.baselines._networks import DenseNetwork
from linkwise.baselines._pair_kernel import (
    SignedPairs,
    largest_eigenvalue,
    neighbor_graph,
)
from linkwise.constraints import Closure

_SHORT_SHARE = 0.01  # of the edges are the shortest ones
_MOST_SHORT = 250
_SAME = 0.01  # lengths below this times the root of the columns are those of equal rows
_LEAST_MU1 = 2000.0


class Edges(NamedTuple):
    """Edges between nodes."""

    ends: IntArray  # (m, 2)
    weight: FloatArray  # (m,)
    is_must: BoolArray  # (m,)

    def degree(self, n_nodes: int) -> FloatArray:
        """Return the number of edges of each node."""
        return np.bincount(self.ends.ravel(), minlength=n_nodes).astype(np.float64)

    def at(self, places: IntArray) -> "Edges":
        """Return some of the edges."""
        return Edges(*(part[places] for part in self))


class Scales(NamedTuple):
    """Where the two robust penalties bend, and how near nodes of a cluster are."""

    mu1: float  # of vectors from the codes of their rows
    mu2: float  # of the two vectors of an edge
    least_mu1: float
    least_mu2: float
    epsilon: float

    def halved(self) -> "Scales":
        """Return the scales half as wide, down to the least."""
        return self._replace(
            mu1=max(self.mu1 / 2.0, self.least_mu1),
            mu2=max(self.mu2 / 2.0, self.least_mu2),
        )


def robust(squared: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
    """Return the penalty of Geman and McClure, mu q / (mu + q), and its slope in q.

    Examples
    --------
    >>> import numpy as np
    >>> np.round(robust(2.0, 3.0), 6).tolist()
    [1.2, 0.36]
    """
    share = 1.0 / (1.0 + squared / mu)
    return squared * share, share**2


def neighbor_edges(rows: FloatArray, n_neighbors: int) -> Edges:
    """Return mutual neighbours and a spanning tree of neighbours of either kind.

    The weight of an edge is the mean degree over the root of both ends' degrees.
    """
    n_nodes = len(rows)
    near, _ = neighbor_graph(rows, n_neighbors)
    mutual = near.multiply(near.T)
    first, last = near.maximum(near.T).nonzero()
    lengths = np.linalg.norm(rows[first] - rows[last], axis=1)
    # A length of zero is no edge for scipy.
    lengths += 1e-12 * (lengths.max() if len(lengths) else 1.0)
    tree = minimum_spanning_tree(
        _matrix(np.stack([first, last], axis=1), lengths, n_nodes)
    )
    together = (mutual != 0).astype(np.float64) + ((tree + tree.T) != 0)
    a, b = csr_array(together).nonzero()
    ends = np.stack([a, b], axis=1)[a < b]
    return _weighed(ends, n_nodes)


def _matrix(ends: IntArray, values: FloatArray, n_nodes: int) -> Any:
    """Return the sparse matrix of edges, one way."""
    rows, columns = ends.astype(np.int32).T  # graphs of older scipy take no others
    return csr_array((values, (rows, columns)), shape=(n_nodes, n_nodes))


def _weighed(ends: IntArray, n_nodes: int) -> Edges:
    degree = np.bincount(ends.ravel(), minlength=n_nodes)
    root = np.sqrt(degree[ends[:, 0]] * degree[ends[:, 1]])
    return Edges(ends, degree.mean() / root, np.zeros(len(ends), dtype=bool))


def with_pairs(
    edges: Edges, pairs: SignedPairs, component: IntArray, closure: Closure
) -> Edges:
    """Return edges without those that cannot-links forbid, and with must-links.

    A must-link has the largest weight of all edges over the share of must-links among
    them, times its own weight.

    Parameters
    ----------
    edges : Edges
        Of the graph of neighbours.
    pairs : SignedPairs
        Given pairs between nodes.
    component : ndarray of shape (n_nodes,)
        Component of the closure of each node.
    closure : Closure
        What is entailed.
    """
    must = pairs.sign > 0
    links = pairs.ends[must]
    is_free = ~(
        _are_among(component[edges.ends], closure.cannot_link)
        | _are_among(edges.ends, pairs.ends[~must])
        | _are_among(edges.ends, links)
    )
    kept = edges.at(np.flatnonzero(is_free))
    if len(links) == 0:
        return kept
    share = len(links) / (len(links) + len(kept.ends))
    heaviest = kept.weight.max() if len(kept.weight) else 1.0
    return Edges(
        np.concatenate([kept.ends, links]),
        np.concatenate([kept.weight, heaviest / share * pairs.weight[must]]),
        np.concatenate([kept.is_must, np.ones(len(links), dtype=bool)]),
    )


def _are_among(ends: IntArray, others: IntArray) -> BoolArray:
    """Tell which pairs are among others, in either direction."""
    both = np.sort(np.concatenate([ends, others.reshape(-1, 2)]), axis=1)
    keys = both @ [int(both.max(initial=0)) + 1, 1]
    return np.isin(keys[: len(ends)], keys[len(ends) :])


def latent_rows(codes: FloatArray) -> FloatArray:
    """Return codes whose Euclidean neighbours are those by cosine, standardised."""
    return np.asarray(normalize(StandardScaler().fit_transform(codes)))


def scales_of(codes: FloatArray, edges: Edges) -> Scales:
    """Return the scales at the start of the training."""
    away = float(np.linalg.norm(codes - codes.mean(axis=0), axis=1).mean())
    lengths = np.sort(_lengths(codes, edges.ends))
    if len(lengths) == 0 or lengths[-1] == 0.0:
        return Scales(_LEAST_MU1, 1.0, 1.0, 1.0, 0.0)
    lengths[lengths < _SAME * np.sqrt(codes.shape[1])] = lengths[-1]
    lengths.sort()
    n_short = max(1, int(np.ceil(_SHORT_SHARE * len(lengths))))
    short = float(lengths[: min(n_short, _MOST_SHORT)].mean())
    return Scales(
        max(_LEAST_MU1, 8.0 * away),
        3.0 * float(lengths[-1]) ** 2,
        away / 2.0,
        short / 2.0,
        float(lengths[:n_short].mean()),
    )


def pull_of(codes: FloatArray, edges: Edges, rng: np.random.Generator) -> float:
    """Return the factor of the edges: the norm of codes over that of the Laplacian."""
    free = edges.at(np.flatnonzero(~edges.is_must))
    if len(free.ends) == 0:
        return 1.0
    graph = _matrix(free.ends, free.weight, len(codes))
    largest = largest_eigenvalue(laplacian(graph + graph.T), rng)
    return float(np.linalg.norm(codes, 2)) / largest if largest > 0.0 else 1.0


def near_components(
    vectors: FloatArray, edges: Edges, epsilon: float
) -> tuple[int, IntArray]:
    """Return the number of components of edges no longer than epsilon, and each's."""
    short = edges.ends[_lengths(vectors, edges.ends) <= epsilon]
    graph = _matrix(short, np.ones(len(short)), len(vectors))
    n_parts, part = connected_components(graph, directed=False)
    return int(n_parts), part


def _lengths(rows: FloatArray, ends: IntArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows[ends[:, 0]] - rows[ends[:, 1]], axis=1))


class Slopes(NamedTuple):
    """Slopes of the loss of some edges."""

    encoder: list[FloatArray]
    decoder: list[FloatArray]
    vectors: FloatArray  # (n_nodes, l); zero where a node has no edge among these


def edges_loss(
    X: FloatArray,
    vectors: FloatArray,
    encoder: DenseNetwork,
    decoder: DenseNetwork,
    edges: Edges,
    degree: FloatArray,
    pull: float,
    scales: Scales,
) -> tuple[float, Slopes]:
    """Return the loss of some edges, and its slopes.

    With z the code of a row and u its vector, an edge costs pull / l * w *
    rho2(|u_i - u_j|^2), and for each end, over its degree, rho1(|u - z|^2) / l and
    |x - decoded z|^2 / d. l and d are the widths of codes and rows.

    Parameters
    ----------
    X : ndarray of shape (n_nodes, d)
        Rows.
    vectors : ndarray of shape (n_nodes, l)
        The vectors u.
    encoder, decoder : DenseNetwork
        From rows to codes and back.
    edges : Edges
        Those that count.
    degree : ndarray of shape (n_nodes,)
        Number of edges of each node, of all edges.
    pull : float
        Factor of the edges.
    scales : Scales
        Where the penalties bend.
    """
    nodes, places = np.unique(edges.ends, return_inverse=True)
    places = places.reshape(-1, 2)
    rows, u = X[nodes], vectors[nodes]
    # An edge brings each of its ends in once, and all edges of a node together once.
    share = np.bincount(places.ravel(), minlength=len(nodes)) / degree[nodes]
    entered = encoder.forward(rows)
    left = decoder.forward(entered[-1])
    n_latent, n_columns = vectors.shape[1], X.shape[1]

    apart = u[places[:, 0]] - u[places[:, 1]]
    bent, rate = robust(np.square(apart).sum(axis=1), scales.mu2)
    factor = pull / n_latent * edges.weight
    loss = factor @ bent
    along = (2.0 * factor * rate)[:, None] * apart
    slope_u = np.zeros_like(u)
    np.add.at(slope_u, places[:, 0], along)
    np.add.at(slope_u, places[:, 1], -along)

    away = u - entered[-1]
    bent, rate = robust(np.square(away).sum(axis=1), scales.mu1)
    loss += share @ bent / n_latent
    to_code = (2.0 * share * rate / n_latent)[:, None] * away
    slope_u += to_code

    missed = left[-1] - rows
    loss += share @ np.square(missed).sum(axis=1) / n_columns
    in_decoder, first = decoder.backward(
        left, (2.0 * share / n_columns)[:, None] * missed
    )
    in_code = first @ decoder.parameters[0].T - to_code
    in_encoder, _ = encoder.backward(entered, in_code)
    slope = np.zeros_like(vectors)
    slope[nodes] = slope_u
    return float(loss), Slopes(in_encoder, in_decoder, slope)
