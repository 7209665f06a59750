"""Views: the forms in which kernels see the data."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import manhattan_distances

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._jit import add_squares, city_block


@dataclass(frozen=True, eq=False)
class Points:
    """Points of one view.

    Sparse values may be meant relative to an origin: subtracting it would fill them.
    """

    values: Any  # (n, d) array or CSR matrix, or a sequence of any objects
    origin: FloatArray | None = None  # (d,), to be subtracted from each row

    @property
    def n_points(self) -> int:
        """Number of points."""
        return self.values.shape[0] if issparse(self.values) else len(self.values)

    def plain(self) -> Any:
        """Return the values as a kernel function of the user expects them."""
        if not issparse(self.values) or self.origin is None:
            return self.values
        return self.values.toarray() - self.origin

    def __getitem__(self, rows: Any) -> "Points":
        """Return some of the points: a slice or an array of positions."""
        if isinstance(self.values, list) and not isinstance(rows, slice):
            return Points([self.values[i] for i in rows], self.origin)
        return Points(self.values[rows], self.origin)


class Known(NamedTuple):
    """What is known of the rows, for views that are learnt from it."""

    groups: IntArray  # (n,), group of rows that belong together; -1: not known
    n_clusters: int
    seed: int = 0

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(np.unique(self.groups[self.groups >= 0]))


class View(Protocol):
    """A form of the data; ``fit`` learns it, ``transform`` applies it to any rows.

    A view whose training points are not what ``transform`` makes of the training rows
    has ``fit_transform`` as well, with the parameters of ``fit``: it returns the fitted
    view and the points. One that is learnt from groups says as ``least_groups`` how
    many it needs, and as ``is_honest`` whether it places their rows as it does others.
    """

    def fit(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> Self:
        """Return this view, fitted to X."""

    def transform(self, X: Any) -> Points:
        """Return the points of X in this view."""


@dataclass(frozen=True)
class Raw:
    """The data as they are."""

    def fit(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "Raw":
        """Return this view: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Points:
        """Return the rows of X as points."""
        return Points(X.tocsr() if issparse(X) else X)


@dataclass(frozen=True)
class Standardized:
    """Columns with mean 0 and standard deviation 1; constant columns become 0."""

    mean: FloatArray | None = field(default=None, repr=False, compare=False)  # (d,)
    scale: FloatArray | None = field(default=None, repr=False, compare=False)  # (d,)

    def fit(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "Standardized":
        """Return this view with the means and deviations of the columns of X."""
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        weight = weight / weight.sum()
        if issparse(X):
            X = X.tocsr()
            mean = X.T @ weight
            # Two passes, as for dense data: the difference of the mean square and the
            # squared mean would lose columns far from zero.
            row_weight = np.repeat(weight, np.diff(X.indptr))
            deviation = (X.data - mean[X.indices]) ** 2
            n_columns = X.shape[1]
            variance = np.zeros(n_columns)
            np.add.at(variance, X.indices, row_weight * deviation)
            filled = np.zeros(n_columns)
            np.add.at(filled, X.indices, row_weight)
            has_zeros = np.bincount(X.indices, minlength=n_columns) < X.shape[0]
            variance += np.where(has_zeros, 1.0 - filled, 0.0) * mean**2
        else:
            mean = weight @ X
            variance = weight @ (X - mean) ** 2
        # A deviation at the rounding level of the mean is no deviation.
        rounding = 10 * np.finfo(np.float64).eps * X.shape[0] * np.abs(mean)
        varies = np.sqrt(variance) > np.maximum(rounding, np.finfo(np.float64).tiny)
        scale = np.where(varies, np.sqrt(variance), np.inf)
        return replace(self, mean=mean, scale=scale)

    def transform(self, X: Any) -> Points:
        """Return the standardised rows of X."""
        assert self.mean is not None and self.scale is not None, "fit comes first"
        if issparse(X):
            return Points(X.multiply(1.0 / self.scale).tocsr(), self.mean / self.scale)
        return Points((X - self.mean) / self.scale)


def _alike(left: Points, right: Points) -> Points:
    """Return ``left`` in the form of ``right``: both sparse, or both dense."""
    if issparse(left.values) == issparse(right.values):
        return left
    if issparse(left.values):
        values = left.plain()
        return Points(values.toarray() if issparse(values) else values)
    origin = 0.0 if right.origin is None else right.origin
    return Points(csr_array(left.values + origin), right.origin)


def inner_products(left: Points, right: Points) -> FloatArray:
    """Return the inner products, shape (len(left), len(right))."""
    left = _alike(left, right)
    product = left.values @ right.values.T
    if issparse(product):
        product = product.toarray()
    if left.origin is None:
        return np.asarray(product)
    shift = left.origin
    product -= np.asarray(left.values @ shift)[:, None]
    product -= np.asarray(right.values @ shift)
    product += shift @ shift
    return product


def squared_distances(left: Points, right: Points) -> FloatArray:
    """Return the squared Euclidean distances, shape (len(left), len(right))."""
    left = _alike(left, right)
    if issparse(left.values):
        product = (left.values @ right.values.T).toarray()
        if product.dtype.kind != "f":  # whole numbers
            product = product.astype(np.float64)
        product *= -2.0
        norms = [_squared_norms(p.values) for p in (left, right)]
    else:
        # Near the origin little is lost in the difference of large norms.
        centre = right.values.mean(axis=0)
        a, b = left.values - centre, right.values - centre
        norms = [np.einsum("ij,ij->i", x, x) for x in (a, b)]
        b *= -2.0
        product = a @ b.T
    # In place: for many rows no second matrix is wanted.
    add_squares(product, *norms)
    return product


def manhattan(left: Points, right: Points) -> FloatArray:
    """Return the L1 distances, shape (len(left), len(right))."""
    left = _alike(left, right)
    if issparse(left.values):
        return manhattan_distances(left.values, right.values)
    distances = np.empty((left.n_points, right.n_points))
    city_block(left.values, np.ascontiguousarray(right.values.T), distances)
    return distances


def _squared_norms(values: Any) -> FloatArray:
    return np.asarray(values.multiply(values).sum(axis=1)).ravel()


# The matrices from which every elementwise kernel of a view follows.
BASES = {
    "squared_distances": squared_distances,
    "manhattan": manhattan,
    "inner_products": inner_products,
}
