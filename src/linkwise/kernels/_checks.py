"""A kernel that comes from a file, checked before it is called.

Compiled code follows the nodes of a tree and the columns of a sparse matrix without a
look at where they lead: one that points elsewhere raises no error, it ends the process.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import TREE_LEAF, Tree

from linkwise.kernels._entries import CombinedKernel, Entry, Means, Views
from linkwise.kernels._families import (
    RBF,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from linkwise.kernels._learnt_views import (
    Diffusion,
    Discriminant,
    ForestVotes,
    Reduced,
    Unit,
    Whitened,
    WithinWhitened,
)
from linkwise.kernels._views import Points, Raw, Standardized

# A polynomial kernel multiplies as often.
_MAX_DEGREE = 1000

Shape = tuple[int | None, ...]  # None: any length


def check_kernel(kernel: Any, n_features: Sequence[int]) -> int | None:
    """Return how many values a stored kernel has for a row; raise if it is damaged.

    Parameters
    ----------
    kernel : CombinedKernel
        As it was read.
    n_features : sequence of int
        Number of columns of each data set.

    Returns
    -------
    int or None
        None: it cannot be called, since a Gram matrix has no values of new rows.
    """
    need_type(kernel, "the kernel", CombinedKernel)
    entries, views, means = kernel._entries, kernel._views, kernel._means
    n_kernels = len(entries)
    need(n_kernels > 0 and len(kernel._centres) == n_kernels, "a kernel is missing")
    check_array(kernel.coefficients, (n_kernels,), "coefficients")
    need_type(views, "the set of views", Views)
    n_views = len(views.views)
    need(len(views.points) == len(views.sources) == n_views, "a view is missing")
    for entry in entries:
        need_type(entry, "a kernel of the sum", Entry)
    used = {entry.view for entry in entries if type(entry.kernel) is not Precomputed}
    n_points = {v: _n_points(v, views, n_features) for v in used}
    widths = []
    for entry, centre in zip(entries, kernel._centres, strict=True):
        if type(entry.kernel) is Precomputed:
            width = _n_given(entry.kernel, n_features)
        else:
            _check_family(entry.kernel)
            width = n_points[entry.view]
        if width is None:
            return None
        if means is not None:
            width = _n_means(means, width)
        if centre is not None:
            check_array(centre, (width,), "the centre")
        widths.append(width)
    need(kernel.separate or len(set(widths)) == 1, "kernels differ in their rows")
    return sum(widths) if kernel.separate else widths[0]


def need(holds: bool, text: str) -> None:
    """Raise an error with a text unless something holds."""
    if not holds:
        raise ValueError(f"{text}.")


def need_type(value: Any, name: str, *types: type) -> None:
    """Raise an error unless a value is of one of these types itself."""
    need(type(value) in types, f"{name} is a {type(value).__name__}")


def is_whole(value: Any, least: int, most: float) -> bool:
    """Tell whether a value is a whole number in a range, both ends included."""
    return isinstance(value, int | np.integer) and bool(least <= value <= most)


def check_array(values: Any, shape: Shape, name: str) -> tuple[int, ...]:
    """Return the shape of numbers, dense or in sparse rows; raise if it is another."""
    if type(values) in (csr_array, csr_matrix):
        _check_sparse(values, name)
        kind = values.data.dtype.kind
    else:
        need_type(values, f"the array of {name}", np.ndarray)
        kind = values.dtype.kind
    found = tuple(values.shape)
    is_right = len(found) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, found, strict=True)
    )
    wanted = str(shape).replace("None", "any")
    need(kind in "fiu", f"{name} are no numbers")
    need(is_right, f"{name} have the shape {found}, not {wanted}")
    return found


def _check_sparse(matrix: Any, name: str) -> None:
    """Raise if entries of a sparse matrix lie outside of it."""
    ends = matrix.indptr
    # scipy does not look at the ends if there is no entry before the last of them.
    is_ordered = ends.dtype.kind == "i" and bool((np.diff(ends) >= 0).all())
    need(is_ordered, f"{name} have rows that do not follow each other")
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name}: {error}.") from None


def _n_points(v: Any, views: Views, n_features: Sequence[int]) -> int:
    """Return how many training points there are in a view."""
    need(is_whole(v, 0, len(views.views) - 1), f"there is no view {v}")
    source, points = views.sources[v], views.points[v]
    need(is_whole(source, 0, len(n_features) - 1), f"there is no data set {source}")
    n_columns = _n_columns(views.views[v], n_features[source])
    need_type(points, "the set of points", Points)
    if points.origin is not None:
        check_array(points.origin, (n_columns,), "the origin")
    return check_array(points.values, (None, n_columns), "points")[0]


def _n_given(kernel: Precomputed, n_features: Sequence[int]) -> int | None:
    """Return how many values of new rows are given, None if they are not."""
    if kernel.cross is None:
        return None
    place: Any = getattr(kernel.cross, "position", None)
    need(is_whole(place, 0, len(n_features) - 1), f"there is no matrix {place}")
    return n_features[place]


def _check_family(kernel: Any) -> None:
    need_type(kernel, "a kernel", RBF, Laplacian, Linear, Polynomial, Sigmoid)
    for name, value in vars(kernel).items():
        need(isinstance(value, Real), f"{name} of a kernel is no number")
    if type(kernel) is Polynomial:
        is_degree = is_whole(kernel.degree, 1, _MAX_DEGREE)
        need(is_degree, f"a kernel has the degree {kernel.degree}")


def _n_means(means: Any, n_values: int) -> int:
    """Return how many values are left where some are averaged."""
    need_type(means, "the set of means", Means)
    n_others, n_means = check_array(means.shares, (None, None), "means")
    need(means.n_kept == n_values - n_others >= 0, "a landmark is missing")
    return n_values - n_others + n_means


def _n_columns(view: Any, n: int) -> int:
    """Return how many columns a view makes of n columns."""
    if type(view) is Raw:
        return n
    if type(view) is Reduced:
        return _n_columns(view.view, _n_components(view._reduction, n))
    if type(view) is Standardized:
        check_array(view.mean, (n,), "means of columns")
        check_array(view.scale, (n,), "scales of columns")
        return n
    if type(view) is Unit:
        check_array(view._mean, (n,), "means of columns")
        return n if view._map is None else _mapped(view, n)
    linear = (Whitened, WithinWhitened, Discriminant)
    need_type(view, "a view", *linear, Diffusion, ForestVotes)
    need_type(view._scaling, "the scaling of a view", Standardized)
    _n_columns(view._scaling, n)
    if type(view) is Diffusion:
        n_rows = _rebuild(view._index, n)
        return check_array(view._places, (n_rows, None), "places of rows")[1]
    if type(view) is ForestVotes:
        n_classes = _n_classes(view._forest, n)
        return check_array(view._mean, (n_classes,), "means of votes")[0]
    return _mapped(view, n)


def _mapped(view: Any, n: int) -> int:
    return check_array(view._map, (n, None), "directions")[1]


def _n_components(reduction: Any, n: int) -> int:
    need_type(reduction, "the reduction of sparse rows", TruncatedSVD)
    return check_array(reduction.components_, (None, n), "components")[0]


def _rebuild(index: Any, n: int) -> int:
    """Build an index of neighbours again from its rows; return how many they are.

    What the file says of its tree is not used.
    """
    need_type(index, "the index of neighbours", NearestNeighbors)
    rows, n_neighbors = index._fit_X, index.n_neighbors
    n_rows, _ = check_array(rows, (None, n), "rows of the index")
    is_there = is_whole(n_neighbors, 1, n_rows)
    need(is_there, f"{n_rows} rows have no {n_neighbors} neighbours")
    vars(index).clear()
    index.__init__(n_neighbors=n_neighbors)
    index.fit(rows)
    return n_rows


def _n_classes(forest: Any, n: int) -> int:
    """Return how many classes the trees of a forest know."""
    need_type(forest, "the forest", RandomForestClassifier)
    n_classes = len(forest.classes_)
    need(len(forest.estimators_) > 0, "the forest has no tree")
    need(forest.n_jobs is None and not forest.verbose, "the forest has other settings")
    for part in (forest, *forest.estimators_):
        need_type(part, "a tree", type(forest), DecisionTreeClassifier)
        found = (part.n_features_in_, part.n_outputs_, part.n_classes_)
        need(found == (n, 1, n_classes), "a tree is of another forest")
    for part in forest.estimators_:
        _check_tree(part.tree_, n, n_classes)
    return n_classes


def _check_tree(tree: Any, n: int, n_classes: int) -> None:
    """Raise unless each branch leads to later nodes, by a column that is there."""
    need_type(tree, "a tree", Tree)
    n_nodes = tree.node_count
    found = (tree.n_features, tree.n_outputs, tree.max_n_classes, tree.capacity)
    need(found == (n, 1, n_classes, n_nodes) and n_nodes > 0, "a tree has other sizes")
    places = np.flatnonzero(tree.children_left != TREE_LEAF)
    for children in (tree.children_left[places], tree.children_right[places]):
        is_wrong = (children <= places) | (children >= n_nodes)
        if is_wrong.any():
            at = int(np.argmax(is_wrong))
            raise ValueError(
                f"node {places[at]} of a tree leads to node {children[at]}; it has "
                f"{n_nodes} nodes."
            )
    columns = tree.feature[places]
    is_wrong = (columns < 0) | (columns >= n)
    if is_wrong.any():
        at = int(np.argmax(is_wrong))
        raise ValueError(
            f"node {places[at]} of a tree looks at column {columns[at]} of {n}."
        )
