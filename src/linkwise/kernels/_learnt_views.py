"""Views that are learnt from all rows, or from what is known of some of them.

Each looks at standardised columns. What is known are groups of rows that belong
together; which groups differ is not used. Pairs shape the view, they do not become
distances: whether a view is any good, the search finds out.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, diags_array, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn import config_context
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._distinct import distinct_rows
from linkwise.kernels._eigen import eigen
from linkwise.kernels._neighbors import nearest_of
from linkwise.kernels._views import Known, Points, Standardized, View

# Share of the variance that principal components keep, and how many they are at most:
# the time of what follows grows with their third power.
_VARIANCE_KEPT = 0.999
_MAX_COMPONENTS = 300
# Rows among which neighbours are looked for; others are placed by their neighbours.
_MAX_GRAPH_ROWS = 5_000
# Difference of lengths that rounding to half precision may cause, relative, and the
# share of rows that must be alike; a text without a known word has length 0.
_ROUNDING = 1e-3
_LEAST_ALIKE = 0.95
# Memory for distances among which neighbours are found, MiB.
_WORKING_MEMORY = 256
_DENSE_GRAPH_ROWS = 500
# Least eigenvalue by which the place of a new row is divided.
_LEAST_EIGENVALUE = 0.1
_DIFFUSION_STEPS = 4
# Of the trees of a forest: how many there are, the share of the columns that each split
# chooses from, how many these are at the most, and the most classes, since every node
# has a share of each.
_N_TREES = 50
_COLUMNS_TRIED = 0.5
_MAX_COLUMNS_TRIED = 64
# Rows in groups for each direction that is whitened, so that no row comes near the
# others of its group just because it is one of them.
_ROWS_FOR_A_DIRECTION = 8
# Rows in groups that a forest of the rich bank needs, for each cluster.
_LEAST_ROWS = 3
_MAX_CLASSES = 256
# Columns from which on rows are taken for embeddings, and those that sparse rows are
# reduced to.
_WIDE = 50
_REDUCED_COLUMNS = 100


def is_wide(X: Any) -> bool:
    """Tell whether rows are like embeddings or texts: sparse, or of many columns."""
    return issparse(X) or (len(X.shape) == 2 and X.shape[1] >= _WIDE)


def learnt_views(name: str, X: Any, known: Known | None) -> list[View]:
    """Return the views of a name, a key of LEARNT_VIEWS or "rich".

    Those that need groups are left out where too few are known, of "rich" also a forest
    that would be grown with less than three rows for each cluster: it tells these rows
    apart and nothing else. Sparse rows are first reduced to a few columns.
    """
    varies = _varies(X)
    if X.shape[0] < 3 or (issparse(X) and not varies):
        return []
    names = [name]
    n_groups = known.n_groups if known is not None and varies else 0
    if name == "rich":
        names = [*RICH_VIEWS, *(WIDE_VIEWS if is_wide(X) else ())]
        n_grouped = 0 if known is None else int(np.sum(known.groups >= 0))
        if known is not None and n_grouped < _LEAST_ROWS * known.n_clusters:
            names.remove("forest")
    views = [LEARNT_VIEWS[key] for key in names]
    views = [view for view in views if n_groups >= getattr(view, "least_groups", 0)]
    if not issparse(X) or not views:
        return views
    reduction = _reduction(X)
    return [Reduced(view, reduction) for view in views]


def _varies(X: Any) -> bool:
    """Tell whether any two rows differ: of equal ones a forest would make noise."""
    if issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).nnz)
    return bool((X.max(axis=0) != X.min(axis=0)).any())


@dataclass(frozen=True)
class _Linear:
    """A linear map of the standardised columns."""

    _scaling: Standardized | None = field(default=None, repr=False, compare=False)
    _map: FloatArray | None = field(default=None, repr=False, compare=False)  # (d, c)

    def fit(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> Any:
        """Return this view, fitted to X."""
        scaling = Standardized().fit(X, sample_weight)
        scaled = scaling.transform(X).values
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        components, variances = _principal(scaled, weight / weight.sum())
        found = self._of_components(scaled @ components, variances, known)
        return replace(self, _scaling=scaling, _map=components @ found)

    def _of_components(
        self, rows: FloatArray, variances: FloatArray, known: Known | None
    ) -> FloatArray:
        """Return the map of the principal components."""
        raise NotImplementedError

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""
        assert self._scaling is not None, "fit comes first"
        return Points(self._scaling.transform(X).plain() @ self._map)


@dataclass(frozen=True)
class Whitened(_Linear):
    """Principal components, each of variance 1."""

    def _of_components(
        self, rows: FloatArray, variances: FloatArray, known: Known | None
    ) -> FloatArray:
        return np.diag(1.0 / np.sqrt(variances))


@dataclass(frozen=True)
class WithinWhitened(_Linear):
    """Directions in which rows of one group differ get the same spread as others.

    The pooled covariance inside groups is shrunk towards a multiple of the identity,
    the more the fewer rows there are for its size.
    """

    least_groups: ClassVar[int] = 1

    # Whether rows of groups are placed as others are: with few rows for its size, the
    # covariance brings just these rows together.
    is_honest: bool = field(default=False, repr=False, compare=False)

    def fit(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "WithinWhitened":
        """Return this view, fitted to X."""
        assert known is not None, "this view needs groups"
        found: WithinWhitened = super().fit(X, sample_weight, known)
        assert found._map is not None
        n_free = int(np.sum(known.groups >= 0)) - known.n_groups
        is_honest = n_free >= _ROWS_FOR_A_DIRECTION * found._map.shape[1]
        return replace(found, is_honest=is_honest)

    def _of_components(
        self, rows: FloatArray, variances: FloatArray, known: Known | None
    ) -> FloatArray:
        assert known is not None, "this view needs groups"
        within, _, _ = within_groups(rows, known)
        values, vectors = eigen(within, "evr")
        return np.asarray(vectors / np.sqrt(values))


@dataclass(frozen=True)
class Discriminant(_Linear):
    """Directions in which groups differ most, relative to the spread inside them."""

    least_groups: ClassVar[int] = 2

    def _of_components(
        self, rows: FloatArray, variances: FloatArray, known: Known | None
    ) -> FloatArray:
        assert known is not None, "this view needs groups"
        within, means, sizes = within_groups(rows, known)
        means = means - sizes @ means / sizes.sum()
        between = means.T @ (sizes[:, None] * means) / sizes.sum()
        n_directions = min(max(2, known.n_clusters - 1), len(sizes) - 1, len(within))
        first = len(within) - n_directions
        _, vectors = scipy.linalg.eigh(
            between, within, subset_by_index=[first, len(within) - 1]
        )
        return np.asarray(vectors[:, ::-1])


@dataclass(frozen=True)
class Unit:
    """Rows of length 1, as they are or as angles under another spread.

    Parameters
    ----------
    spread : {"own", "half", "within"}, default="own"
        "half": principal components whose variances are replaced by their square
        roots. "within": whitened inside groups, as :class:`WithinWhitened`. Rows are
        brought to length 1 before and after.
    """

    spread: Literal["own", "half", "within"] = "own"

    # Whether rows are as they were.
    had_one_length: bool = field(default=False, repr=False, compare=False)
    _mean: FloatArray | None = field(default=None, repr=False, compare=False)  # (d,)
    _map: FloatArray | None = field(default=None, repr=False, compare=False)  # (d, c)

    @property
    def least_groups(self) -> int:
        """Number of groups that are needed."""
        return 1 if self.spread == "within" else 0

    def fit(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "Unit":
        """Return this view, fitted to X."""
        rows = normalize(X)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        share = weight / weight.sum()
        mean = share @ rows
        if self.spread == "own":
            lengths = np.linalg.norm(X, axis=1)
            usual = np.median(lengths)
            is_usual = np.abs(lengths - usual) <= _ROUNDING * usual
            is_alike = bool(usual > 0.0 and is_usual.mean() >= _LEAST_ALIKE)
            return replace(self, had_one_length=is_alike, _mean=mean)
        components, variances = _principal(rows - mean, share)
        if self.spread == "half":
            found = components / variances**0.25
        else:
            assert known is not None, "this view needs groups"
            within, _, _ = within_groups((rows - mean) @ components, known)
            values, vectors = eigen(within, "evr")
            found = components @ (vectors / np.sqrt(values))
        return replace(self, _mean=mean, _map=found)

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""
        assert self._mean is not None, "fit comes first"
        rows = normalize(X) - self._mean
        return Points(rows if self._map is None else normalize(rows @ self._map))


@dataclass(frozen=True)
class Reduced:
    """Another view of sparse rows, which are first reduced to a few columns."""

    view: View
    _reduction: Any = field(default=None, repr=False, compare=False)

    @property
    def least_groups(self) -> int:
        """Number of groups that the view needs."""
        return getattr(self.view, "least_groups", 0)

    @property
    def is_honest(self) -> bool:
        """Whether rows of groups are placed as others are."""
        return getattr(self.view, "is_honest", False)

    @property
    def had_one_length(self) -> bool:
        """Whether the view is that of rows of length 1."""
        return getattr(self.view, "had_one_length", False)

    def fit_transform(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> tuple["Reduced", Points]:
        """Return this view, fitted to X, and the points of X."""
        found, points = fitted_view(self.view, self._few(X), sample_weight, known)
        return replace(self, view=found), points

    def fit(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "Reduced":
        """Return this view, fitted to X."""
        return self.fit_transform(X, sample_weight, known)[0]

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""
        return self.view.transform(self._few(X))

    def _few(self, X: Any) -> FloatArray:
        rows = X if issparse(X) else csr_array(X)
        return np.asarray(normalize(self._reduction.transform(rows)))


def _reduction(X: Any) -> TruncatedSVD:
    """Return a truncated singular value decomposition of sparse rows, fitted."""
    n_columns = max(1, min(_REDUCED_COLUMNS, X.shape[1] - 1, X.shape[0] - 1))
    return TruncatedSVD(n_columns, random_state=0).fit(X)


def fitted_view(
    view: View, X: Any, sample_weight: FloatArray | None, known: Known | None
) -> tuple[View, Points]:
    """Return a view that is fitted to X, and the points of X in it."""
    if hasattr(view, "fit_transform"):
        learnt, points = view.fit_transform(X, sample_weight, known)
        return learnt, points
    learnt = view.fit(X, sample_weight, known)
    return learnt, learnt.transform(X)


def _principal(rows: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return principal directions of centred rows, (d, c), and their variances."""
    n, d = rows.shape
    if d <= n:
        values, vectors = eigen(rows.T @ (share[:, None] * rows), "evr")
    else:
        root = np.sqrt(share)[:, None] * rows
        values, left = eigen(root @ root.T, "evr")
        vectors = root.T @ left / np.sqrt(np.maximum(values, 1e-300))
    values, vectors = values[::-1], vectors[:, ::-1]
    total = np.cumsum(np.maximum(values, 0.0))
    n_kept = 1 + int(np.searchsorted(total, _VARIANCE_KEPT * total[-1]))
    n_kept = min(
        n_kept, _MAX_COMPONENTS, max(1, int(np.sum(values > 1e-9 * values[0])))
    )
    variances = np.maximum(values[:n_kept], np.finfo(np.float64).tiny)
    return np.ascontiguousarray(vectors[:, :n_kept]), variances


def within_groups(
    rows: FloatArray, known: Known
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the covariance inside groups, shrunk, and the groups' means and sizes."""
    inside = known.groups >= 0
    _, group = np.unique(known.groups[inside], return_inverse=True)
    rows = rows[inside]
    sizes = np.bincount(group).astype(np.float64)
    member = csr_array((np.ones(len(rows)), (group, np.arange(len(rows)))))
    means = np.asarray(member @ rows) / sizes[:, None]
    rest = rows - means[group]
    d, n_free = rows.shape[1], len(rows) - len(sizes)
    covariance = rest.T @ rest / max(n_free, 1)
    size = float(np.trace(covariance)) / d
    # Groups of equal rows, up to the rounding of their means.
    if size <= 1e-24 * max(1.0, float(np.square(means).mean())):
        return np.eye(d), means, sizes
    # The last term keeps directions without any spread from dividing by zero.
    share = d / (d + n_free)
    shrunk = (1.0 - share) * covariance + (share + 1e-9) * size * np.eye(d)
    return shrunk, means, sizes


class _Placed:
    """A view whose training rows are not placed as new rows are."""

    def fit(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> Any:
        """Return this view, fitted to X."""
        return self.fit_transform(X, sample_weight, known)[0]

    def fit_transform(
        self, X: FloatArray, sample_weight: FloatArray | None, known: Known | None
    ) -> tuple[Any, Points]:
        """Return this view, fitted to X, and the points of X."""
        raise NotImplementedError


@dataclass(frozen=True)
class Diffusion(_Placed):
    """Where a random walk between neighbours leads: rows of one dense region are near.

    The coordinates of a new row are those of its neighbours, averaged. For a training
    row that is about, but not exactly, where it was in training, for the neighbours
    that it is a neighbour of count there as well.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each row.
    """

    n_neighbors: int = 10
    _scaling: Standardized | None = field(default=None, repr=False, compare=False)
    _index: Any = field(default=None, repr=False, compare=False)
    _places: FloatArray | None = field(default=None, repr=False, compare=False)

    def fit_transform(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> tuple["Diffusion", Points]:
        """Return this view, fitted to X, and the points of X."""
        scaling = Standardized().fit(X, sample_weight)
        scaled = scaling.transform(X).values
        seed, n_clusters = (0, 8) if known is None else (known.seed, known.n_clusters)
        few = np.arange(len(X))
        if len(X) > _MAX_GRAPH_ROWS:
            rng = np.random.default_rng(seed)
            few = np.sort(rng.choice(len(X), _MAX_GRAPH_ROWS, replace=False))
        is_whole = len(few) == len(X)
        # Which of many copies are neighbours would be left to chance.
        first, copy_of = distinct_rows(scaled[few])
        few = few[first]
        # A row is a neighbour of itself, as a new one is of its likeness.
        n_neighbors = min(self.n_neighbors + 1, len(few))
        index = NearestNeighbors(n_neighbors=n_neighbors).fit(scaled[few])
        near = neighbors(index, scaled[few])
        rows = np.repeat(np.arange(len(few)), n_neighbors)
        graph = csr_array((np.ones(near.size), (rows, near.ravel())))
        graph = graph.maximum(graph.T).maximum(eye_array(len(few), format="csr"))
        degree = np.asarray(graph.sum(axis=1)).ravel()
        root = diags_array(1.0 / np.sqrt(degree))
        values, vectors = _leading(
            root @ graph @ root, np.sqrt(degree), min(n_clusters, len(few) - 1)
        )
        places = vectors * np.maximum(values, 0.0) ** _DIFFUSION_STEPS
        places *= np.sqrt(len(few))
        # What a neighbour adds to the place of a new row.
        steps = np.maximum(values, _LEAST_EIGENVALUE)
        shares = places / steps / np.sqrt(n_neighbors * degree)[:, None]
        fitted = replace(self, _scaling=scaling, _index=index, _places=shares)
        points = Points(places[copy_of]) if is_whole else fitted.transform(X)
        return fitted, points

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""
        assert self._scaling is not None and self._places is not None
        rows = self._scaling.transform(X).plain()
        near = nearest_of(self._index._fit_X, rows, self._index.n_neighbors)
        return Points(self._places[near].sum(axis=1))


def neighbors(index: Any, rows: Any, n_neighbors: int | None = None) -> IntArray:
    """Return the neighbours of rows, by default as many as the index is made for.

    By plain products of matrices where there is no tree: which of equally far rows
    scikit-learn's compiled loops return depends on threads and on the other rows.
    """
    with config_context(
        enable_cython_pairwise_dist=False, working_memory=_WORKING_MEMORY
    ):
        return np.asarray(index.kneighbors(rows, n_neighbors, return_distance=False))


def _leading(
    matrix: Any, first: FloatArray, n_vectors: int
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a walk between neighbours, and the vectors.

    Component by component: an eigenvalue that several share is multiple, and Lanczos
    iterations may find it once. The largest of each is 1, with the vector ``first``.
    """
    n_vectors = max(1, n_vectors)
    n_parts, part = connected_components(matrix, directed=False)
    order = np.argsort(-np.bincount(part), kind="stable")
    all_values, all_vectors = [], []
    for p in order[:n_vectors]:  # others have no place: all their values are below 1
        rows = np.flatnonzero(part == p)
        found, own = np.ones(1), first[rows, None] / np.linalg.norm(first[rows])
        n_others = min(n_vectors - 1, len(rows) - 1) if n_parts < n_vectors else 0
        if n_others > 0:
            more, others = _largest(matrix[rows][:, rows], n_others + 1)
            more, others = more[:-1], others[:, :-1]
            more = np.where(more > 1e-9, more, 0.0)  # what is left by rounding
            found, own = np.r_[found, more], np.column_stack([own, others])
        wide = np.zeros((len(part), len(found)))
        wide[rows] = own
        all_values.append(found)
        all_vectors.append(wide)
    values = np.concatenate(all_values)
    vectors = np.concatenate(all_vectors, axis=1)
    kept = np.argsort(-values, kind="stable")[:n_vectors]
    return values[kept], vectors[:, kept]


def _largest(matrix: Any, n_vectors: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a sparse matrix, ascending, and the vectors."""
    size = matrix.shape[0]
    if size <= max(_DENSE_GRAPH_ROWS, 3 * n_vectors):
        return eigen(matrix.toarray(), "evr", n_vectors)
    start = np.random.default_rng(0).normal(size=size)
    values, vectors = eigsh(matrix, n_vectors, which="LA", v0=start, tol=1e-6)
    order = np.argsort(values)
    return values[order], vectors[:, order]


@dataclass(frozen=True)
class ForestVotes(_Placed):
    """To which group the trees of a random forest would count a row.

    The trees are grown with the groups as classes, of too many with the largest. Votes
    are scaled to unit length: rows on which trees agree stand apart, and k-means parts
    them where the majority changes, also if one class is much larger than another. For
    rows of these groups, only those trees vote that were grown without them; as new
    rows they would be judged by all trees, and so be nearer to their own group.
    """

    least_groups: ClassVar[int] = 2
    is_honest: ClassVar[bool] = True  # a row is placed by trees grown without it

    _scaling: Standardized | None = field(default=None, repr=False, compare=False)
    _forest: Any = field(default=None, repr=False, compare=False)
    _mean: FloatArray | None = field(default=None, repr=False, compare=False)

    def fit_transform(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> tuple["ForestVotes", Points]:
        """Return this view, fitted to X, and the points of X."""
        assert known is not None, "this view needs groups"
        # Trees see rows in single precision, which is lost far from zero.
        scaling = Standardized().fit(X, sample_weight)
        X = scaling.transform(X).plain()
        sizes = np.bincount(known.groups[known.groups >= 0])
        largest = np.argsort(-sizes, kind="stable")[:_MAX_CLASSES]
        inside = np.flatnonzero(np.isin(known.groups, largest))
        forest = RandomForestClassifier(
            _N_TREES,
            max_features=max(
                1, min(_MAX_COLUMNS_TRIED, int(_COLUMNS_TRIED * X.shape[1]))
            ),
            oob_score=True,
            random_state=known.seed % 2**32,
        )
        with warnings.catch_warnings():
            # Of rows that every tree was grown with, there is no vote: see below.
            warnings.simplefilter("ignore")
            forest.fit(X[inside], known.groups[inside])
        votes = forest.predict_proba(X)
        own = forest.oob_decision_function_
        own[own.sum(axis=1) == 0.0] = sizes[forest.classes_] / len(inside)
        votes[inside] = own
        votes = normalize(votes)
        mean = np.average(votes, axis=0, weights=sample_weight)
        fitted = replace(self, _forest=forest, _scaling=scaling, _mean=mean)
        return fitted, Points(votes - mean)

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""
        assert self._scaling is not None
        scaled = self._scaling.transform(X).plain()
        return Points(normalize(self._forest.predict_proba(scaled)) - self._mean)


LEARNT_VIEWS: dict[str, View] = {
    "whitened": Whitened(),
    "within": WithinWhitened(),
    "discriminant": Discriminant(),
    "diffusion": Diffusion(),
    "forest": ForestVotes(),
    "unit": Unit(),
    "unit_half": Unit("half"),
    "unit_within": Unit("within"),
}
# Those of the rich bank, and those it has for rows of many columns besides; the others
# did not earn their place on most data.
RICH_VIEWS = ("within", "forest", "diffusion")
WIDE_VIEWS = ("unit", "unit_half", "unit_within")
