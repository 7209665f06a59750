"""A kernel matrix from pairs and a graph of neighbours, by its eigenvectors."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.neighbors import NearestNeighbors

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints import Constraints
from linkwise.doors import check_matrices
from linkwise.kernels import eigen, signed
from linkwise.kernels._learnt_views import neighbors

_SMALL = 200  # matrices that are decomposed for one eigenvalue
_DENSE_ROWS = 2000  # up to which all eigenvectors are computed
_FIRST_VECTORS = 16  # wanted at first where they are not
_ROUNDING = 1e-10  # eigenvalues up to this share of the largest, or of 1, are zero


class SignedPairs(NamedTuple):
    """Pairs of nodes with t = 1 for must-links and t = -1 for cannot-links."""

    ends: IntArray  # (m, 2), two different nodes
    sign: FloatArray  # (m,)
    weight: FloatArray  # (m,)

    def matrix(self, values: FloatArray, n_nodes: int) -> Any:
        """Return the symmetric sparse matrix of the values of pairs, both ways."""
        rows, columns = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        both = np.tile(values, 2)
        return coo_array((both, (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()


class Leading(NamedTuple):
    """The largest eigenvalues of a matrix, descending, with their vectors."""

    values: FloatArray  # (r,)
    vectors: FloatArray  # (n, r)
    n_positive: int

    def positive_at(self, ends: IntArray) -> FloatArray:
        """Return entries of the positive part of the matrix."""
        vectors = self.vectors[:, : self.n_positive]
        left, right = vectors[ends[:, 0]], vectors[ends[:, 1]]
        return np.einsum("ij,ij,j->i", left, right, self.values[: self.n_positive])

    def squared_norm(self) -> float:
        """Return the squared Frobenius norm of the positive part."""
        return float(np.square(self.values[: self.n_positive]).sum())

    def embedding(self) -> FloatArray:
        """Return rows whose inner products are the kernel, shape (n, r).

        Eigenvalues that are not positive count as a thousandth of the largest; without
        a positive one all are equal.
        """
        values = np.ones(len(self.values))
        if self.n_positive:
            values = np.maximum(self.values, 1e-3 * self.values[0])
        return np.asarray(self.vectors * np.sqrt(values))


class Kernel(NamedTuple):
    """A kernel matrix and how it was reached."""

    leading: Leading  # of the matrix whose positive part it is, up to scale
    objective: float
    n_iter: int
    converged: bool


def signed_pairs(pairs: Constraints, node: IntArray) -> SignedPairs:
    """Return given pairs between the nodes of rows; pairs inside a node are gone."""
    ends = node[np.concatenate([pairs.must_link, pairs.cannot_link])].reshape(-1, 2)
    sign = np.repeat([1.0, -1.0], [len(pairs.must_link), len(pairs.cannot_link)])
    weight = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    differs = ends[:, 0] != ends[:, 1]
    return SignedPairs(ends[differs], sign[differs], weight[differs])


def neighbor_graph(rows: Any, n_neighbors: int) -> tuple[Any, Any]:
    """Return who has whom for a neighbour, one way, and the index of rows.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n, d)
        Different rows.
    n_neighbors : int
        Neighbours of each.
    """
    n_rows = rows.shape[0]
    n_neighbors = min(n_neighbors, n_rows - 1)
    # One row alone has itself; any other is the first neighbour of itself.
    index = NearestNeighbors(n_neighbors=max(n_neighbors, 1)).fit(rows)
    near = neighbors(index, rows, n_neighbors + 1)
    first = np.repeat(np.arange(n_rows), n_neighbors + 1)
    graph = csr_array((np.ones(near.size), (first, near.ravel())), shape=(n_rows,) * 2)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    return graph, index


def normalized_laplacian(graph: Any) -> Any:
    """Return I - D^-1/2 S D^-1/2; a node without neighbours has a row of zeros."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(1.0 / np.sqrt(np.maximum(degree, 1.0)))
    return (diags_array((degree > 0) * 1.0) - root @ graph @ root).tocsr()


def largest_eigenvalue(matrix: Any, rng: np.random.Generator) -> float:
    """Return that of a sparse symmetric matrix; ``rng`` draws a first vector."""
    if matrix.shape[0] > _SMALL:
        start = rng.standard_normal(matrix.shape[0])
        try:
            found = eigsh(matrix, 1, which="LA", v0=start, return_eigenvectors=False)
            return float(found[0])
        except ArpackNoConvergence:
            pass
    return float(eigen(matrix.toarray())[0][-1])


def strength_of(pairs: SignedPairs, rng: np.random.Generator) -> float:
    """Return the largest eigenvalue of signed, weighted pairs; 0 without pairs."""
    nodes, ends = np.unique(pairs.ends, return_inverse=True)
    if len(nodes) == 0:
        return 0.0
    compact = pairs._replace(ends=ends.reshape(-1, 2))
    links = compact.matrix(pairs.sign * pairs.weight, len(nodes))
    return largest_eigenvalue(links, rng)


def leading_vectors(
    matrix: Any, n_least: int, rng: np.random.Generator, max_memory: Any = None
) -> Leading:
    """Return the positive eigenvalues of a sparse symmetric matrix, with vectors.

    Parameters
    ----------
    matrix : sparse array of shape (n, n)
        Symmetric.
    n_least : int
        How many are returned at least, positive or not.
    rng : numpy.random.Generator
        Draws the first vector of Lanczos iterations.
    max_memory : int, str or None, default=None
        Limit on dense matrices of this size, which come into play where there are few
        rows or many positive eigenvalues.
    """
    n_nodes = matrix.shape[0]
    n_wanted = max(n_least + 1, _FIRST_VECTORS)
    if n_nodes > _DENSE_ROWS:
        limit = n_nodes // 4
        while n_wanted < limit:
            start = rng.standard_normal(n_nodes)
            try:
                values, vectors = eigsh(matrix, n_wanted, which="LA", v0=start)
            except ArpackNoConvergence:
                break
            if not _are_positive(values).all():
                return _sorted(values, vectors, n_least)
            is_last = n_wanted == limit - 1
            n_wanted = limit if is_last else min(_next_wanted(values), limit - 1)
    check_matrices(n_nodes, 4, max_memory, "kernel matrix")
    return _sorted(*eigen(matrix.toarray(), "evd"), n_least)


def _next_wanted(values: FloatArray) -> int:
    """Return how many of the largest eigenvalues to ask for if these are positive.

    If the rest came as densely as the smaller half of these, so many would be positive,
    and a quarter more are asked for: most often they come more densely.
    """
    n_values = len(values)
    largest = np.sort(values)[::-1]
    half = largest[(n_values - 1) // 2 :]
    steepness = (half[0] - half[-1]) / (len(half) - 1)
    least, most = n_values * 3 // 2, n_values * 4
    if steepness <= 0.0:
        return most
    n_positive = n_values + largest[-1] / steepness
    return int(np.clip(1.25 * n_positive, least, most))


def _are_positive(values: FloatArray) -> BoolArray:
    return values > _ROUNDING * max(1.0, float(np.abs(values).max()))


def _sorted(values: FloatArray, vectors: FloatArray, n_least: int) -> Leading:
    order = np.argsort(-values, kind="stable")
    n_positive = int(_are_positive(values).sum())
    kept = order[: max(n_positive, n_least)]
    return Leading(values[kept], signed(vectors[:, kept]), n_positive)


def linear_kernel(
    laplacian: Any,
    pairs: SignedPairs,
    price: float,
    n_least: int,
    rng: np.random.Generator,
    max_memory: Any = None,
) -> Kernel:
    """Return the positive part of ``price * T - L``, T the signed pairs.

    Among kernel matrices K it minimises tr(L K) - price * tr(T K) + |K|^2 / 2.
    """
    links = pairs.matrix(price * pairs.sign * pairs.weight, laplacian.shape[0])
    leading = leading_vectors(links - laplacian, n_least, rng, max_memory)
    return Kernel(leading, -leading.squared_norm() / 2.0, 0, True)


def squared_hinge_kernel(
    laplacian: Any,
    pairs: SignedPairs,
    price: float,
    ridge: float | None,
    n_least: int,
    rng: np.random.Generator,
    *,
    tol: float,
    max_iter: int,
    max_memory: Any = None,
) -> Kernel:
    """Return the kernel of squared hinges, by its dual.

    Among kernel matrices K it minimises tr(L K) + sum over pairs of ``price`` times
    weight times max(0, 1 - t K_ij)^2 / 2, plus ridge * |K|^2 / 2. With one multiplier
    a >= 0 for each pair, A = sum of a t (E_ij + E_ji) / 2 - L, and K its positive part
    over ridge, the dual is sum(a) - sum(a^2 / (2 price weight)) - |A_+|^2 / (2 ridge).

    Parameters
    ----------
    ridge : float or None
        None: the mean of t (A_+)_ij where all multipliers are at their prices.
    tol : float
        The search ends where no entry of the projected gradient is larger.
    """
    n_nodes = laplacian.shape[0]
    prices = price * pairs.weight

    def leading_of(multipliers: FloatArray) -> Leading:
        links = pairs.matrix(multipliers * pairs.sign / 2.0, n_nodes)
        return leading_vectors(links - laplacian, n_least, rng, max_memory)

    if len(prices) == 0 or price == 0.0:
        return Kernel(leading_of(prices), 0.0, 0, True)
    if ridge is None:
        entries = pairs.sign * leading_of(prices).positive_at(pairs.ends)
        ridge = float(np.average(entries, weights=pairs.weight))
        ridge = ridge if ridge > 0.0 else 1.0

    def minus_dual(multipliers: FloatArray) -> tuple[float, FloatArray]:
        leading = leading_of(multipliers)
        entries = pairs.sign * leading.positive_at(pairs.ends) / ridge
        dual = float(multipliers.sum() - np.square(multipliers) @ (0.5 / prices))
        dual -= leading.squared_norm() / (2.0 * ridge)
        return -dual, entries + multipliers / prices - 1.0

    found = minimize(
        minus_dual,
        prices,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(prices),
        options={"gtol": tol, "ftol": 0.0, "maxiter": max_iter},
    )
    leading = leading_of(found.x)
    return Kernel(leading, -float(found.fun), int(found.nit), bool(found.success))
