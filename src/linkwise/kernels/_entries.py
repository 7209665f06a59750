"""Which kernels look at which views."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import csc_array, issparse
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray
from linkwise.kernels._families import (
    RBF,
    ElementwiseKernel,
    Kernel,
    Precomputed,
    base_scales,
    is_elementwise,
    learnt_kernels,
    paper_kernels,
    rich_kernels,
)
from linkwise.kernels._jit import move_origin
from linkwise.kernels._learnt_views import (
    LEARNT_VIEWS,
    Reduced,
    fitted_view,
    is_wide,
    learnt_views,
)
from linkwise.kernels._views import (
    BASES,
    Known,
    Points,
    Raw,
    Standardized,
    View,
)

# Rows whose values are summed up at a time: they stay in the processor's cache.
_ROWS_PER_SUM = 128
# Rows of which a kernel function gets all pairs, where only each with itself counts.
_ROWS_FOR_DIAGONAL = 64


class Entry(NamedTuple):
    """One kernel of a bank and the view it looks at; a Gram matrix looks at none."""

    view: int | None
    kernel: Kernel | ElementwiseKernel | Precomputed


class Views(NamedTuple):
    """The fitted views of a bank, their sources and their training points."""

    sources: list[int]  # which data set of several each view looks at
    views: list[View]
    points: list[Points]

    def only(self, used: set[int | None]) -> "Views":
        """Return these views without what belongs to others than the ``used``."""
        return Views(
            self.sources,
            [view if v in used else Raw() for v, view in enumerate(self.views)],
            [p if v in used else Points(None) for v, p in enumerate(self.points)],
        )

    def transform(self, view: int, X: Sequence[Any]) -> Points:
        """Return the points of new data in one view."""
        return self.views[view].transform(in_double(X[self.sources[view]]))


class SeveralSets(list[Any]):
    """Several data sets with the same rows, one for each source of views."""


def in_double(X: Any) -> Any:
    """Return rows in single precision in double precision, others as they are."""
    if isinstance(X, SeveralSets):
        return SeveralSets(map(in_double, X))
    is_single = getattr(X, "dtype", None) == np.float32
    return X.astype(np.float64) if is_single else X


def sources_of(X: Any) -> SeveralSets:
    """Return the data sets of X: itself, unless it holds several."""
    return X if isinstance(X, SeveralSets) else SeveralSets([X])


class Means(NamedTuple):
    """Which columns of kernel values are kept, and which are averaged.

    The kernel value with the mean of some rows is the mean of the values with them.
    """

    n_kept: int
    shares: FloatArray  # (n_others, n_means), part of each column in each mean

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the first columns as they are, and the means of the others."""
        kept, others = values[:, : self.n_kept], values[:, self.n_kept :]
        return np.concatenate([kept, others @ self.shares.astype(values.dtype)], axis=1)


@dataclass(frozen=True)
class CombinedKernel:
    """The kernel of some weights, with what it needs for new rows.

    Calling it with new data returns the kernel values with the training rows, shape
    (n_new, n_samples), up to a constant in each row where a kernel has a centre: which
    cluster is nearest does not depend on it. Where the bank has landmarks, they stand
    in place of the training rows; ``separate`` kernels come beside each other.
    """

    names: list[str]
    coefficients: FloatArray  # one per kernel; the kernel's scale is included
    _entries: list[Entry]
    _centres: Sequence[FloatArray | None]  # (n,), to be subtracted from each row
    _views: Views
    separate: bool = False
    _means: Means | None = None  # of rows of which landmarks are made

    def __call__(self, X: Any) -> FloatArray:
        """Return the kernel values of new rows with the training rows."""
        X, points = sources_of(X), self.points(X)
        if self._has_one_origin:
            return self._of_sum(points)[0]
        return self._joined([part for part, _ in self._parts(X, points)])

    def with_norms(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return what calling this returns, and what makes squared distances of it.

        For a mean of training rows with squared norm q and a mean value v with it, the
        squared distance of a row is its norm - 2 v + q; norms have shape (n_new,).
        """
        X, points = sources_of(X), self.points(X)
        if self._has_one_origin:
            found, constants = self._of_sum(points)
            own = np.stack([self._own(entry, points) for entry in self._entries])
            return found, self.coefficients @ own - 2.0 * constants
        parts, norms = [], np.zeros(Points(X[0]).n_points)
        for entry, coefficient, (part, constant) in zip(
            self._entries, self.coefficients, self._parts(X, points), strict=True
        ):
            parts.append(part)
            norms = norms + coefficient * (self._own(entry, points) - 2.0 * constant)
        return self._joined(parts), norms

    def _joined(self, parts: list[FloatArray]) -> FloatArray:
        """Return the values of all kernels together."""
        if self.separate:
            return np.concatenate(parts, axis=1)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    @property
    def _has_one_origin(self) -> bool:
        """Whether the sum of the kernels can be moved to its origin at once.

        So it is with landmarks. Exact kernels are rounded one by one, as the training
        matrices are, so that training rows find their labels.
        """
        are_moved = all(centre is not None for centre in self._centres)
        return are_moved and self.is_of_rows and not self.separate

    def _of_sum(self, points: dict[int, Points]) -> tuple[FloatArray, FloatArray]:
        """Return the values of the sum, and the constants taken from their rows."""
        others = dict(enumerate(self._views.points))
        centre = self.coefficients @ np.array(self._centres, dtype=np.float64)
        n_rows = next(iter(points.values())).n_points
        found = np.empty((n_rows, len(centre)), dtype=np.float32)
        constants = np.empty(n_rows)
        means = self._means or Means(len(centre), np.empty((0, 0)))
        parts = csc_array(means.shares)
        # Products of sparse rows begin with work that is the same for any number.
        is_dense = all(isinstance(p.values, np.ndarray) for p in points.values())
        for rows in gen_batches(n_rows, _ROWS_PER_SUM if is_dense else n_rows):
            some = {view: own[rows] for view, own in points.items()}
            move_origin(
                self.between(some, others),
                means.n_kept,
                parts.indptr,
                parts.indices,
                parts.data,
                centre,
                found[rows],
                constants[rows],
            )
        return found, constants

    @property
    def is_of_rows(self) -> bool:
        """Whether any two rows have a value, not only new ones with training rows."""
        return not any(isinstance(e.kernel, Precomputed) for e in self._entries)

    def points(self, X: Any) -> dict[int, Points]:
        """Return rows as the kernels see them, for ``between``: points by view."""
        X, used = sources_of(X), {entry.view for entry in self._entries}
        return {v: self._views.transform(v, X) for v in used if v is not None}

    def between(self, left: dict[int, Points], right: dict[int, Points]) -> FloatArray:
        """Return the kernel values of any rows with any rows, which ``points`` gave.

        Training rows count as new ones here, as in ``predict``.
        """
        bases: dict[tuple[int, str], FloatArray] = {}
        one = next(iter(left))
        total = np.zeros((left[one].n_points, right[one].n_points))
        weighted = np.empty_like(total)
        for entry, coefficient in zip(self._entries, self.coefficients, strict=True):
            v, kernel = entry
            assert v is not None and not isinstance(kernel, Precomputed)
            part = values(kernel, v, left[v], right[v], bases)
            total += np.multiply(part, coefficient, out=weighted)
        return total

    def _parts(
        self, X: SeveralSets, points: dict[int, Points]
    ) -> Iterator[tuple[FloatArray, Any]]:
        """Yield the values of each kernel, and the constants taken from their rows."""
        bases: dict[tuple[int, str], FloatArray] = {}
        for entry, coefficient, centre in zip(
            self._entries, self.coefficients, self._centres, strict=True
        ):
            part = self._cross(entry, X, points, bases)
            if self._means is not None:
                part = self._means(part)
            constant: Any = 0.0
            if centre is not None:
                part = part - centre
                constant = part.mean(axis=1, keepdims=True)
                part -= constant
                constant = constant[:, 0]
            # Rounded as the training matrices, so that training rows find their labels.
            yield (coefficient * part).astype(np.float32), constant

    def _own(self, entry: Entry, points: dict[int, Points]) -> FloatArray:
        """Return the values of a kernel of each row with itself, shape (n_new,)."""
        kernel = entry.kernel
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "Distances of rows need their kernel values with themselves, which a "
                "Gram matrix of new rows with training rows does not hold."
            )
        assert entry.view is not None
        return own_values(kernel, points[entry.view])

    def _cross(
        self,
        entry: Entry,
        X: SeveralSets,
        points: dict[int, Points],
        bases: dict[tuple[int, str], FloatArray],
    ) -> FloatArray:
        kernel = entry.kernel
        if isinstance(kernel, Precomputed):
            if kernel.cross is None:
                raise ValueError(
                    "predict needs the kernel values of new rows, but a chosen kernel "
                    "was given as a plain Gram matrix. Pass "
                    "Precomputed(gram, cross=function_of_new_data) in `kernels`, or "
                    'use kernels="precomputed".'
                )
            return np.asarray(kernel.cross(X[0] if len(X) == 1 else X))
        assert entry.view is not None
        new, old = points[entry.view], self._views.points[entry.view]
        return values(kernel, entry.view, new, old, bases)


def values(
    kernel: Kernel | ElementwiseKernel,
    view: int,
    left: Points,
    right: Points,
    bases: dict[tuple[int, str], FloatArray],
) -> FloatArray:
    """Return kernel values of points of a view; base values that are known are used.

    Those that are new are kept in ``bases``.
    """
    if not is_elementwise(kernel):
        return called(cast(Kernel, kernel), left, right)
    key = view, kernel.base
    if key not in bases:
        bases[key] = BASES[kernel.base](left, right)
    return kernel.of_base(bases[key])


def resolve(
    sources: SeveralSets,
    kernels: Any,
    sample_weight: FloatArray | None,
    n_samples: int,
    rng: np.random.Generator,
    known: Known | None = None,
) -> tuple[list[Entry], Views]:
    """Return the kernels asked for, each with its view, and the fitted views."""
    entries: list[Entry] = []
    fitted: dict[tuple[int, View], int] = {}
    views = Views([], [], [])

    def view_of(source: int, view: View) -> int:
        if (source, view) not in fitted:
            n_groups = 0 if known is None else known.n_groups
            needed = getattr(view, "least_groups", 0)
            if n_groups < needed:
                raise ValueError(
                    f"{view!r} among the kernels needs {needed} or more "
                    f"must-link groups; there are {n_groups}."
                )
            fitted[source, view] = len(views.views)
            learnt, points = fitted_view(view, sources[source], sample_weight, known)
            views.sources.append(source)
            views.views.append(learnt)
            views.points.append(points)
        return fitted[source, view]

    items = [kernels] if isinstance(kernels, str) else list(kernels)
    if not items:
        raise ValueError("kernels=[]: give at least one kernel.")
    for position, item in enumerate(items):
        if isinstance(item, str) and item in ("paper", "rich", *LEARNT_VIEWS):
            for source in range(len(sources)):
                if item in ("paper", "rich"):
                    for view in (Raw(), Standardized()):
                        v = view_of(source, view)
                        scales = base_scales(views.points[v], rng)
                        if item == "paper":
                            found = paper_kernels(scales)
                        else:
                            found = rich_kernels(scales, is_wide(sources[source]))
                        entries += [Entry(v, kernel) for kernel in found]
                if item != "paper":
                    for learnt in learnt_views(item, sources[source], known):
                        v = view_of(source, learnt)
                        scales = base_scales(views.points[v], rng)
                        found = learnt_kernels(scales, is_wide(views.points[v].values))
                        entries += [Entry(v, kernel) for kernel in found]
        elif isinstance(item, str) and item == "rbf":
            for source in range(len(sources)):
                v = view_of(source, Standardized())
                width = base_scales(views.points[v], rng)["squared_distances"]
                entries.append(Entry(v, RBF(1.0 / width if width > 0.0 else 1.0)))
        elif isinstance(item, Precomputed):
            entries.append(Entry(None, _checked(item, n_samples, position)))
        elif isinstance(item, np.ndarray):
            gram = _checked(Precomputed(item), n_samples, position)
            entries.append(Entry(None, gram))
        elif isinstance(item, tuple) and len(item) == 2 and callable(item[1]):
            view, kernel = item
            for source in range(len(sources)):
                entries.append(Entry(view_of(source, view), kernel))
        elif callable(item):
            for source in range(len(sources)):
                entries.append(Entry(view_of(source, Raw()), item))
        else:
            raise ValueError(
                f"kernels[{position}] = {item!r} is not a kernel: allowed are "
                f'"paper", "rich", "rbf", {", ".join(map(repr, LEARNT_VIEWS))}, a '
                "kernel object or function of two collections of rows, a pair (view, "
                "kernel), a Gram matrix (ndarray), or Precomputed."
            )
    if not entries:
        raise ValueError(
            f"kernels={items} need must-link groups, of which there are too few: add "
            "other kernels, or give more must-links."
        )
    return entries, views


def relearnt(
    entries: list[Entry],
    views: Views,
    sources: SeveralSets,
    sample_weight: FloatArray | None,
    known: Known,
) -> tuple[list[int], Views]:
    """Return which kernels look at views learnt from groups, and these views anew.

    Other views are as they were, and have no points.
    """
    learnt, points = list(views.views), [Points(None) for _ in views.views]
    changed = set()
    for v, view in enumerate(views.views):
        if 0 < getattr(view, "least_groups", 0) <= known.n_groups:
            X = sources[views.sources[v]]
            learnt[v], points[v] = fitted_view(view, X, sample_weight, known)
            changed.add(v)
    positions = [i for i, entry in enumerate(entries) if entry.view in changed]
    return positions, views._replace(views=learnt, points=points)


def merged(
    entries: list[Entry], old: Views, new: Views, positions: list[int], kept: list[int]
) -> tuple[Views, list[tuple[int, int]]]:
    """Return the views after some are learnt anew, and which kernels change.

    A view with a kernel that is now of no use stays as it was, with all its kernels.
    The changes are pairs (place among ``kept``, place among ``entries``).
    """
    idle = {entries[i].view for j, i in enumerate(positions) if j not in set(kept)}
    changes = [
        (j, positions[p])
        for j, p in enumerate(kept)
        if entries[positions[p]].view not in idle
    ]
    changed = {entries[i].view for _, i in changes}

    def chosen(before: list[Any], after: list[Any]) -> list[Any]:
        both = zip(before, after, strict=True)
        return [b if v in changed else a for v, (a, b) in enumerate(both)]

    return (
        old._replace(
            views=chosen(old.views, new.views), points=chosen(old.points, new.points)
        ),
        changes,
    )


def _checked(kernel: Precomputed, n_samples: int, position: int) -> Precomputed:
    """Return the Gram matrix as given if it is square, of the right size, symmetric."""
    gram = np.asarray(kernel.gram)
    if gram.shape != (n_samples, n_samples):
        raise ValueError(
            f"kernels[{position}] is a Gram matrix of shape {gram.shape}; for "
            f"{n_samples} rows of X it must be ({n_samples}, {n_samples})."
        )
    finite = gram[np.isfinite(gram)]
    slack = 1e-6 * np.abs(finite).max(initial=0.0)
    if not np.allclose(gram, gram.T, rtol=1e-6, atol=slack, equal_nan=True):
        i, j = np.unravel_index(np.nanargmax(np.abs(gram - gram.T)), gram.shape)
        raise ValueError(
            f"kernels[{position}] is not symmetric: entry ({i}, {j}) is {gram[i, j]}, "
            f"entry ({j}, {i}) is {gram[j, i]}."
        )
    name = f"kernels[{position}]" if kernel.name is None else kernel.name
    return replace(kernel, gram=gram, name=name)


def called(kernel: Callable[..., Any], left: Points, right: Points) -> FloatArray:
    """Return what a kernel function gives for two collections, checked."""
    result = np.asarray(kernel(left.plain(), right.plain()), dtype=np.float64)
    expected = (left.n_points, right.n_points)
    if result.shape != expected:
        raise ValueError(
            f"kernel {kernel!r} returned shape {result.shape} for {expected[0]} and "
            f"{expected[1]} rows; it must return {expected}. Wrap a function of two "
            "single objects in PairKernel."
        )
    return result


def own_values(kernel: Kernel | ElementwiseKernel, points: Points) -> FloatArray:
    """Return the values of a kernel of each point with itself, shape (n,)."""
    if isinstance(kernel, ElementwiseKernel):
        return kernel.of_base(own_base(kernel.base, points))
    return np.concatenate(
        [
            called(kernel, points[few], points[few]).diagonal()
            for few in gen_batches(points.n_points, _ROWS_FOR_DIAGONAL)
        ]
    )


def own_base(name: str, points: Points) -> FloatArray:
    """Return the base values of points with themselves, shape (n,)."""
    if name != "inner_products":
        return np.zeros(points.n_points)
    values = points.plain() if points.origin is not None else points.values
    if issparse(values):
        return np.asarray(values.multiply(values).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", values, values)


def name_of(entry: Entry, views: Views) -> str:
    """Return what a kernel is called in reports."""
    kernel = entry.kernel
    if isinstance(kernel, Precomputed):
        return str(kernel.name)
    assert entry.view is not None
    name = getattr(kernel, "__name__", None) or repr(kernel)
    view = views.views[entry.view]
    if isinstance(view, Reduced):
        view = view.view
    called = repr(view).removesuffix("()").lower()
    for asked_for, learnt in LEARNT_VIEWS.items():
        if type(view) is type(learnt) and view == learnt:
            called = asked_for
    several = max(views.sources) > 0
    return f"{name} on {called}" + (
        f" of X[{views.sources[entry.view]}]" if several else ""
    )
