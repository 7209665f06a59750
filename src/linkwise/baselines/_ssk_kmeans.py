"""SSKKMeans: graph clustering with pairs by weighted kernel k-means."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import gen_batches

from linkwise.baselines._metric_pairs import common_weights
from linkwise.clustering import farthest_first, kmeans
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    check_matrices,
    fit_context,
    row_shares,
)
from linkwise.kernels import RBF, GramSpace, Raw, Standardized
from linkwise.kernels._entries import called
from linkwise.kernels._families import ElementwiseKernel, base_scales, paper_kernels
from linkwise.kernels._views import BASES

_HELD_OUT = 0.1  # share of the pairs by which the width of "rbf" is chosen
_SMALL = 200  # matrices whose eigenvalues are all computed
_BLOCK = 512  # rows made at a time


class SSKKMeans(ConstrainedClusterer):
    """Semi-supervised kernel k-means (Kulis, Basu, Dhillon and Mooney 2009).

    Must-links add to the affinity of two rows, cannot-links take from it, and weighted
    kernel k-means minimises a graph cut of the result. The pairs are those of the
    closure; the start is farthest-first on must-link groups.

    With A the affinity, D its row sums, W the pairs and s the shift, the kernel is
    A + W + s I ("ratio_association"), A - D + W + s I ("ratio_cut"), or
    D^-1 (A + W) D^-1 + s D^-1 with rows weighted by D ("normalized_cut").

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    objective : {"ratio_association", "ratio_cut", "normalized_cut"}, \
default="ratio_association"
        What is minimised.
    affinity : "rbf", "precomputed" or kernel, default="rbf"
        "rbf": Gaussian kernel of the standardised rows. Its width is that of five
        around the median distance which satisfies most of a tenth of the given pairs,
        held out; the first of equals. The clustering then has all pairs. "precomputed":
        X is the matrix of affinities. Otherwise a kernel object or a function of two
        collections of rows, such as ``linkwise.kernels.Linear()``; it sees the rows as
        they are.
    weight : float or None, default=None
        Size of the entries of W, times the weight of each pair. None:
        ``n_samples / (n_clusters * n_pairs)``, n_pairs those of the closure.
    shift : float or "psd", default=0.001
        It has no part in which clustering is best, but the larger it is, the more
        rows stay where they are. "psd": the smallest that makes the kernel positive
        semi-definite, so that the objective cannot rise on the way.
    max_iter : int, default=100
        Limit on the number of iterations.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    max_memory : int, str or None, default="4GiB"
        Memory for matrices of n_samples * n_samples entries of 8 bytes: one for
        "precomputed", else two.
    random_state : int, RandomState instance or None, default=None
        Seed of the pairs that are held out and of the rows whose distances set the
        widths.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    objective_ : float
        Weighted scatter within clusters under the kernel above, shift included.
    weight_, shift_ : float
        The weight and shift used.
    gamma_ : float or None
        Factor of squared distances in the Gaussian kernel of "rbf"; else None.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether it came to rest before ``max_iter``.
    constraint_score_ : float
        Share of the pairs of the closure that hold; NaN without pairs.
    n_violated_ : int
        Number of pairs of the closure that do not hold.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.baselines._ssk_kmeans import SSKKMeans
    >>> path = np.eye(6, k=1) + np.eye(6, k=-1)
    >>> model = SSKKMeans(2, affinity="precomputed", objective="normalized_cut")
    >>> model.fit_predict(path, constraints=([(0, 1), (4, 5)], [(1, 4)]))
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "objective": [StrOptions({"ratio_association", "ratio_cut", "normalized_cut"})],
        "affinity": [StrOptions({"rbf", "precomputed"}), callable],
        "weight": [Interval(Real, 0, None, closed="left"), None],
        "shift": [Interval(Real, 0, None, closed="left"), StrOptions({"psd"})],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="ratio_association",
        affinity="rbf",
        weight=None,
        shift=0.001,
        max_iter=100,
        on_conflict="raise",
        max_memory="4GiB",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.affinity = affinity
        self.weight = weight
        self.shift = shift
        self.max_iter = max_iter
        self.on_conflict = on_conflict
        self.max_memory = max_memory
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Cluster the rows of X under the pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data; with ``affinity="precomputed"`` a symmetric matrix of shape
            (n_samples, n_samples); with a kernel of your own, any sequence that it
            takes.
        y, constraints, sample_id
            As for :meth:`KernelCSC.fit`.

        Returns
        -------
        self
        """
        given = self._check_fit(X, y, constraints, None, sample_id)
        n_matrices = 1 if self._is_pairwise() else 2
        check_matrices(
            given.closure.n_samples, n_matrices, self.max_memory, "affinity matrix"
        )
        return self._fit_in_one_task(given, self._attributes)

    def _attributes(self, given):
        """Return the fitted attributes."""
        gamma = None
        if callable(self.affinity):
            kernel = AffinityToRows(self.affinity, Raw(), Raw().transform(given.data))
            gram = _checked(kernel.gram(given.data))
        elif self._is_pairwise():
            gram, kernel = _checked(np.array(given.data, dtype=np.float64)), None
        else:
            gram, kernel = self._choose_width(given)
            gamma = kernel.kernel.gamma
        result, graph = self._cluster(gram, given.pairs, given.closure, given.rng)
        mass, labels = result.sums.mass, result.labels
        # New rows meet centres as they are under the affinity alone.
        inner = result.sums.inner - np.bincount(labels, graph.added)
        inner -= graph.weight * pair_sums(
            given.pairs, given.closure, labels, self.n_clusters
        )
        return {
            **attributes_of(result, given.closure),
            "objective_": result.objective,
            "weight_": graph.weight,
            "shift_": graph.shift,
            "gamma_": gamma,
            "_kernel": kernel,
            "_row_shares": row_shares(labels, graph.node_weight, self.n_clusters),
            "_node_weight": graph.node_weight,
            "_centre_norms": inner / mass**2,
        }

    def _choose_width(self, given):
        """Return the matrix of the width that held-out pairs favour, and its kernel."""
        n_samples, rng = given.closure.n_samples, given.rng
        view = Standardized().fit(given.data)
        points = view.transform(given.data)
        kernels = paper_kernels(base_scales(points, rng))
        kernels = [k for k in kernels if isinstance(k, RBF)] or [RBF(1.0)]
        distances = np.empty((n_samples, n_samples))
        for rows in gen_batches(n_samples, _BLOCK):
            distances[rows] = BASES[RBF.base](points[rows], points)
        np.fill_diagonal(distances, 0.0)
        gram = np.empty_like(distances)

        best = len(kernels) // 2  # the median distance itself
        if not given.pairs.is_empty and len(kernels) > 1:
            train, held_out = _split(given.pairs, rng)
            closure = train.closure(n_samples)
            scores = []
            for kernel in kernels:
                _fill(gram, kernel, distances)
                result, _ = self._cluster(gram, train, closure, rng)
                scores.append(held_out.score(result.labels, closed=False))
            best = int(np.argmax(scores))
        _fill(gram, kernels[best], distances)
        return gram, AffinityToRows(kernels[best], view, points)

    def _cluster(self, gram, pairs, closure, rng):
        """Return the clustering under an affinity, which is overwritten, and its graph.

        The pairs are in the graph as ``pair_sums`` counts them.
        """
        n_pairs = closure.n_must_link + closure.n_cannot_link
        weight = self.weight
        if weight is None:
            n_samples = closure.n_samples
            weight = n_samples / (self.n_clusters * n_pairs) if n_pairs else 0.0
        start = farthest_first(GramSpace(gram), closure, self.n_clusters)
        graph = make_kernel(
            gram,
            self.objective,
            lambda matrix: add_pairs(matrix, pairs, closure, weight),
            self.shift,
            rng,
        )
        space = GramSpace(gram, graph.node_weight)
        result = kmeans(space, start, self.n_clusters, max_iter=self.max_iter)
        # Anew: what was kept up to date on the way has rounding errors.
        sums = space.group_sums(result.labels, self.n_clusters)
        return result._replace(sums=sums), graph._replace(weight=float(weight))

    def predict(self, X):
        """Return the cluster of each row of X.

        A row goes to the cluster whose centre is nearest under the affinity alone (with
        ``objective="normalized_cut"``, over the row sums): new rows are in no pair. So
        training rows may change their cluster. They do not if there are no pairs,
        ``objective="ratio_association"``, ``shift=0`` and the affinity is positive
        semi-definite.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New rows, or what ``fit`` took in its place; with
            ``affinity="precomputed"`` the affinities of new rows (first axis) to the
            training rows.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels in ``range(n_clusters)``.
        """
        return self._predict_blocks(X, self._nearest_centres)

    def _nearest_centres(self, rows):
        cross = rows if self._kernel is None else self._kernel(rows)
        cross = np.asarray(cross, dtype=np.float64)
        if self.objective == "normalized_cut":
            degree = cross.sum(axis=1, keepdims=True)
            # A row without affinity is at the same distance from all but the norms.
            degree = np.where(degree > 0.0, degree, 1.0)
            cross = cross / degree / self._node_weight
        return (self._centre_norms - 2.0 * (cross @ self._row_shares)).argmin(axis=1)

    def _takes_objects(self):
        return callable(self.affinity)

    def __sklearn_tags__(self):
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _is_pairwise(self):
        return isinstance(self.affinity, str) and self.affinity == "precomputed"


class Graph(NamedTuple):
    """What of a graph kernel is not in its matrix."""

    node_weight: np.ndarray  # (n,)
    shift: float
    added: np.ndarray  # (n,), part of the diagonal that is not affinity
    weight: float = 0.0  # of pairs


@dataclass(frozen=True)
class AffinityToRows:
    """The affinities of new rows to the training rows."""

    kernel: Any
    view: Any
    points: Any

    def __call__(self, rows):
        new = self.view.transform(rows)
        if isinstance(self.kernel, ElementwiseKernel):
            base = BASES[self.kernel.base](new, self.points)
            return self.kernel.of_base(base)
        return called(self.kernel, new, self.points)

    def gram(self, data):
        """Return the affinities of the training rows, as memory that may change."""
        if not isinstance(self.kernel, ElementwiseKernel):
            return np.array(self(data))
        n_samples = self.points.n_points
        gram = np.empty((n_samples, n_samples))
        for rows in gen_batches(n_samples, _BLOCK):
            gram[rows] = self(data[rows])
        return gram


def make_kernel(gram, objective, add_pairs, shift, rng):
    """Turn an affinity into the kernel of an objective, in place; return the rest.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64
        The affinity, overwritten.
    objective : {"ratio_association", "ratio_cut", "normalized_cut"}
        Which graph cut to minimise.
    add_pairs : callable
        Adds W to a matrix in place.
    shift : float or "psd"
        Added to the diagonal, over the node weights.
    rng : numpy.random.Generator
        Draws the first vector of the iteration that finds the "psd" shift.
    """
    node_weight = np.ones(len(gram))
    if objective != "ratio_association":
        degree = gram.sum(axis=1)
    if objective == "ratio_cut":
        gram.flat[:: len(gram) + 1] -= degree
    elif objective == "normalized_cut":
        if not degree.min() > 0.0:
            row = int(np.argmin(degree))
            raise ValueError(
                f"Row {row} of the affinity sums to {degree[row]}: "
                'objective="normalized_cut" needs positive sums.'
            )
        node_weight = degree
    add_pairs(gram)
    if objective == "normalized_cut":
        gram /= degree
        gram /= degree[:, None]
    if isinstance(shift, str):
        shift = smallest_psd_shift(gram, node_weight, rng)
    gram.flat[:: len(gram) + 1] += shift / node_weight
    # In sums over clusters an entry of the diagonal has the node weight twice.
    added = shift * node_weight
    if objective == "ratio_cut":
        added -= degree
    return Graph(node_weight, float(shift), added)


def smallest_psd_shift(gram, node_weight, rng):
    """Return the smallest s >= 0 for which gram + s / node_weight I has no negatives.

    That is minus the lowest eigenvalue of the matrix between square roots of the node
    weights, by Lanczos iterations.
    """
    n, root = len(gram), np.sqrt(node_weight)
    if n > _SMALL:
        operator = LinearOperator(
            (n, n), matvec=lambda v: root * (gram @ (root * v.ravel())), dtype=float
        )
        try:
            lowest = eigsh(
                operator,
                k=1,
                which="SA",
                v0=rng.standard_normal(n),
                return_eigenvectors=False,
            )[0]
            return max(0.0, -float(lowest))
        except ArpackNoConvergence:
            pass
    dense = root[:, None] * gram * root
    return max(0.0, -float(eigvalsh(dense, subset_by_index=[0, 0])[0]))


def add_pairs(gram, pairs, closure, weight):
    """Add the weight of each must-link of a closure to a matrix, less cannot-links."""
    common = common_weights(pairs)
    if common is None:
        for kind, sign in (
            (closure.must_link_pairs(), weight),
            (closure.cannot_link_pairs(), -weight),
        ):
            i, j = kind.pairs.T
            gram[i, j] += sign * kind.weights
            gram[j, i] += sign * kind.weights
        return
    must, cannot = (weight * w for w in common)
    members = np.split(closure.members, closure.indptr[1:-1])
    for g in range(closure.n_linked):
        gram[np.ix_(members[g], members[g])] += must
        gram[members[g], members[g]] -= must
    for g in np.flatnonzero(closure.has_cannot_link):
        neighbours = closure.cl_indices[closure.cl_indptr[g] : closure.cl_indptr[g + 1]]
        columns = np.concatenate([members[h] for h in neighbours])
        gram[np.ix_(members[g], columns)] -= cannot


def pair_sums(pairs, closure, labels, n_clusters):
    """Return the sums over clusters of what ``add_pairs`` adds at weight 1, (k,)."""
    common = common_weights(pairs)
    if common is None:
        sums = np.zeros(n_clusters)
        for kind, sign in (
            (closure.must_link_pairs(), 2.0),
            (closure.cannot_link_pairs(), -2.0),
        ):
            a, b = labels[kind.pairs].T
            sums += sign * np.bincount(
                a[a == b], kind.weights[a == b], minlength=n_clusters
            )
        return sums
    shape = (closure.n_components, n_clusters)
    place = closure.component * n_clusters + labels
    count = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    first, second = closure.cannot_link.T
    together = (count[: closure.n_linked] * (count[: closure.n_linked] - 1)).sum(axis=0)
    clashes = 2 * (count[first] * count[second]).sum(axis=0)
    return common[0] * together - common[1] * clashes


def _split(pairs, rng):
    """Return the pairs without a tenth, at least one, and that tenth."""
    n_must, n_pairs = pairs.n_must_link, pairs.n_must_link + pairs.n_cannot_link
    n_held_out = max(1, round(_HELD_OUT * n_pairs))
    is_held_out = np.zeros(n_pairs, dtype=bool)
    is_held_out[rng.choice(n_pairs, n_held_out, replace=False)] = True
    return (
        pairs.subset(~is_held_out[:n_must], ~is_held_out[n_must:]),
        pairs.subset(is_held_out[:n_must], is_held_out[n_must:]),
    )


def _fill(gram, kernel, distances):
    """Write the values of a kernel over those of its base into a matrix."""
    for rows in gen_batches(len(gram), _BLOCK):
        gram[rows] = kernel.of_base(distances[rows])


def _checked(gram):
    """Return an affinity if it is square, finite and symmetric."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f'X has shape {gram.shape}: affinity="precomputed" takes a square matrix, '
            "the affinities of the rows to each other."
        )
    largest = np.abs(gram).max()
    if not np.isfinite(largest):
        raise ValueError("The affinity has values that are not finite.")
    for rows in gen_batches(len(gram), _BLOCK):
        gap = np.abs(gram[rows] - gram[:, rows].T)
        if gap.max() > 1e-6 * largest:
            i, j = np.unravel_index(np.argmax(gap), gap.shape)
            i += rows.start
            raise ValueError(
                f"The affinity is not symmetric: entry ({i}, {j}) is {gram[i, j]}, "
                f"entry ({j}, {i}) is {gram[j, i]}."
            )
    return gram
