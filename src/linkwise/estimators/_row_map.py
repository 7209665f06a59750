"""Rows as points of a plane, for pictures of a model."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray, IntArray, Seed
from linkwise.doors import as_generator, is_several, n_rows, rows_of
from linkwise.engines import is_dask_collection, one_blas_thread
from linkwise.estimators._kernel_clusterer import KernelClusterer
from linkwise.estimators._mahalanobis_csc import MahalanobisCSC
from linkwise.kernels import Standardized, eigen, in_double

_ROWS_PER_BLOCK = 4096
# Matrices so small are decomposed as a whole.
_SMALL = 50
# Of the kernel values among landmarks, relative to the largest.
_LEAST_EIGENVALUE = 1e-8
# Rows from which directions are learnt, and columns scaled, when there are more.
_ROWS_FOR_DIRECTIONS = 20_000
# Scatter of a row, in units of the largest kernel value, that is but rounding errors.
_ROUNDING = 1e-13


def row_map(
    model: Any,
    X: Any,
    *,
    max_exact: int = 3000,
    n_landmarks: int = 300,
    random_state: Seed = 0,
) -> FloatArray:
    """Return the rows as points of a plane, where near ones are alike to a model.

    For a model with a learnt kernel or metric it is kernel PCA under it: the two
    directions in which the rows vary most. For other models, and without one, it is PCA
    of the standardised columns; those of sparse rows are left in their units.

    Parameters
    ----------
    model : estimator or None
        Fitted; a pipeline prepares X with its first steps. None: only the rows count.
    X : array-like, sparse matrix, list of views or of objects
        The rows to show, such as those of ``fit``.
    max_exact : int, default=3000
        Number of rows up to which the kernel matrix of all of them is used.
    n_landmarks : int, default=300
        For more rows, the number of rows in whose span the two directions are sought
        (Nystroem); all rows are looked at block by block.
    random_state : int, RandomState instance or None, default=0
        Seed of the landmarks.

    Returns
    -------
    ndarray of shape (n_samples, 2)
        Finite. The mean is 0, up to the landmarks, and of each column the largest value
        by size is positive. A column is 0 if the rows do not vary so much.

    Notes
    -----
    If a chosen kernel was given as a Gram matrix, rows have no values with other rows
    than those of training: then a square X is that matrix, and otherwise its columns
    count.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import Constraints, KernelCSC
    >>> from linkwise.estimators import row_map
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Constraints.sample(y, 60, random_state=0)
    >>> model = KernelCSC(3, n_candidates=50, random_state=0).fit(X, constraints=pairs)
    >>> row_map(model, X).shape
    (150, 2)
    """
    model, X = last_step(model, X)
    rng = as_generator(random_state)
    with one_blas_thread():
        gram = _given_gram(model, X)
        if gram is not None:
            return _exact(gram)
        geometry = _geometry(model, X, rng)
        if geometry.n_rows <= max_exact:
            points = geometry.points(slice(None))
            return _exact(geometry.between(points, points))
        return _by_landmarks(geometry, n_landmarks, rng)


class _Geometry(NamedTuple):
    """Inner products of rows, some of them at a time."""

    n_rows: int
    points: Callable[[Any], Any]  # of a slice or of positions, what `between` takes
    between: Callable[[Any, Any], FloatArray]  # inner products of two sets of points


def _given_gram(model: Any, X: Any) -> Any:
    """Return the kernel matrix of the rows if it was given in place of them."""
    if not isinstance(model, KernelClusterer):
        return None
    check_is_fitted(model, "labels_")
    if model._kernel.is_of_rows:
        return None
    try:
        gram = model._kernel(model._check_data(X, reset=False)).astype(np.float64)
    except ValueError:  # of a chosen Gram matrix, no more is known
        return None
    return gram if gram.shape[0] == gram.shape[1] else None


def _geometry(model: Any, X: Any, rng: np.random.Generator) -> _Geometry:
    check, between = as_it_is, _inner_products
    if isinstance(model, KernelClusterer) and model._kernel.is_of_rows:
        check, points = model._check_data, model._kernel.points
        between = model._kernel.between
    elif isinstance(model, MahalanobisCSC):
        check_is_fitted(model, "labels_")
        check, points = model._check_data, model._scaled
    else:
        X, points = plain_rows(X, rng)
    n_samples, read = reader(X, check)
    return _Geometry(n_samples, lambda rows: points(read(rows)), between)


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the clusterer of a model and the rows that it gets, in memory."""
    if is_dask_collection(X):
        raise TypeError(
            "X is a Dask collection: bring the rows, or some of them, into memory with "
            "X.compute()."
        )
    if not isinstance(model, Pipeline):
        return model, X
    return model[-1], X if len(model) == 1 else model[:-1].transform(X)


def as_it_is(X: Any, *, reset: bool) -> Any:
    """Return rows that need no check."""
    return X


def reader(X: Any, check: Callable[..., Any]) -> tuple[int, Callable[[Any], Any]]:
    """Return the number of rows, and what reads some of them, checked."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) > 0:
        # Checked some at a time: a mapped file may be larger than memory.
        return len(X), lambda rows: check(X[rows], reset=False)
    data = check(X, reset=False)
    return n_rows(data), lambda rows: rows_of(data, rows)


def _columns(X: Any) -> Any:
    """Return the rows as one matrix, whose columns are all that is known of them."""
    if is_several(X):
        return np.hstack([v.toarray() if issparse(v) else np.asarray(v) for v in X])
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X"
    )


def plain_rows(X: Any, rng: np.random.Generator) -> tuple[Any, Callable[[Any], Any]]:
    """Return rows as one matrix, and what makes their columns comparable.

    Of many rows, means and deviations are those of a sample; sparse rows are left as
    they are.
    """
    X = _columns(X)
    if issparse(X):
        return X, lambda rows: rows
    some = X
    if len(X) > _ROWS_FOR_DIRECTIONS:
        some = X[_drawn(len(X), _ROWS_FOR_DIRECTIONS, rng)]
    view = Standardized().fit(in_double(some))
    return X, lambda rows: view.transform(rows).values


def _inner_products(left: Any, right: Any) -> FloatArray:
    product = left @ right.T
    return product.toarray() if issparse(product) else np.asarray(product, np.float64)


def _drawn(n_samples: int, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Return some of the rows in their order."""
    return np.sort(rng.choice(n_samples, n_drawn, replace=False))


def _exact(gram: FloatArray) -> FloatArray:
    """Return the two leading coordinates of the rows of a kernel matrix."""
    gram, _, least = _centred(gram)
    values, vectors = _leading(gram, least)
    return _with_signs(vectors * np.sqrt(values))


def _centred(gram: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return a kernel matrix with its origin in the mean of the rows.

    Also the means of its columns before, and the least eigenvalue that is more than
    rounding errors.
    """
    gram = (gram + gram.T) / 2.0
    least = _ROUNDING * len(gram) * float(np.abs(gram).max())
    means = gram.mean(axis=0)
    return gram + means.mean() - means - means[:, None], means, least


def _leading(matrix: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Return the two largest eigenvalues, 0 below ``least``, and their vectors."""
    size = len(matrix)
    try:
        if size < _SMALL:
            raise ArpackError(0)
        # A start that does not depend on what was drawn before.
        start = np.random.default_rng(0).standard_normal(size)
        values, vectors = eigsh(matrix, 2, which="LA", v0=start)
    except ArpackError:
        values, vectors = eigen(matrix)
    found, directions = np.zeros(2), np.zeros((size, 2))
    order = [i for i in np.argsort(-values)[:2] if values[i] > least]
    found[: len(order)], directions[:, : len(order)] = values[order], vectors[:, order]
    return found, directions


def _by_landmarks(
    geometry: _Geometry, n_landmarks: int, rng: np.random.Generator
) -> FloatArray:
    """Return coordinates in the span of some rows, block by block."""
    n_samples = geometry.n_rows
    landmarks = geometry.points(_drawn(n_samples, min(n_landmarks, n_samples), rng))
    among, means, least = _centred(geometry.between(landmarks, landmarks))
    values, vectors = eigen(among)
    kept = values > max(_LEAST_EIGENVALUE * values[-1], least)
    # Takes kernel values with the landmarks to coordinates.
    basis = vectors[:, kept] / np.sqrt(values[kept])
    basis -= basis.mean(axis=0)  # whatever is added to a row of values has no effect
    origin = means @ basis

    def coordinates(rows: IntArray) -> Iterator[FloatArray]:
        blocks = [rows[block] for block in gen_batches(len(rows), _ROWS_PER_BLOCK)]
        return (
            geometry.between(geometry.points(block), landmarks) @ basis - origin
            for block in blocks
        )

    rows: IntArray = np.arange(n_samples)
    some = rows
    if n_samples > _ROWS_FOR_DIRECTIONS:
        some = _drawn(n_samples, _ROWS_FOR_DIRECTIONS, rng)
    sample = np.concatenate(list(coordinates(some)))
    centre = sample.mean(axis=0)
    _, directions = _leading((sample - centre).T @ (sample - centre), 0.0)
    found = [sample] if some is rows else coordinates(rows)
    return _with_signs(np.concatenate([(c - centre) @ directions for c in found]))


def _with_signs(coordinates: FloatArray) -> FloatArray:
    """Return coordinates, of which the largest by size is positive in each column."""
    largest = np.abs(coordinates).argmax(axis=0)
    signs = np.where(coordinates[largest, [0, 1]] < 0.0, -1.0, 1.0)
    return coordinates * signs
