"""Banks for many rows: kernels known by their values with a few landmarks.

The combined kernel K is approximated by C W^+ C', where C (n, q) holds its values
between all rows and the landmarks, W (q, q) those among the landmarks. Both are linear
in the weights, so a candidate needs no projection of all rows. Distances to centres
are exact for the points; only the centres are confined to the span of the landmarks.

Centres are means of many rows. Where rows are nearly orthogonal, a mean of many is far
from the span of a few. So some landmarks can be means themselves: of rows that are
nearest to the same group of rows known to belong together. Not of the group itself: its
rows would be drawn to the mean that they are part of, under any kernel, and so seem to
keep together.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack
from scipy.sparse import issparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._bank import ScaledKernels
from linkwise.kernels._distinct import distinct_rows
from linkwise.kernels._eigen import eigen
from linkwise.kernels._entries import (
    CombinedKernel,
    Entry,
    Means,
    SeveralSets,
    Views,
    called,
    merged,
    name_of,
    own_base,
    own_values,
    relearnt,
    resolve,
    sources_of,
)
from linkwise.kernels._evaluation import Base
from linkwise.kernels._families import ElementwiseKernel, Precomputed
from linkwise.kernels._jit import add_rows
from linkwise.kernels._learnt_views import WithinWhitened
from linkwise.kernels._memory import block_nbytes, views_nbytes
from linkwise.kernels._scaling import (
    KernelSums,
    is_far_from_origin,
    scatter,
    survivors,
)
from linkwise.kernels._spaces import RowSpace, Totals, largest_distance, row_totals
from linkwise.kernels._views import BASES, Known, Points, Standardized, View

LandmarkChoice = Literal["uniform", "kmeans++"]

# Rows whose kernel values are held in double precision at a time. Fixed, so that
# results do not depend on memory.
ROWS_PER_BLOCK = 4096
# Of all landmarks, the share that may be means of groups; and how many rows they are
# made of at the most, in numbers of landmarks.
_SHARE_OF_MEANS = 1 / 3
_ROWS_OF_MEANS = 4
# A group much smaller than the largest would take rows from the clusters of those.
_LEAST_SIZE = 0.1
# What is added to the diagonal of W, as a share of its trace: the least that rounding
# to float32 allows. In an indefinite W, small eigenvalues are dropped instead.
_RIDGE = 1e-9
_LEAST_EIGENVALUE = 1e-6


def landmark_seconds(n_samples: int, n_landmarks: int, n_clusters: int) -> float:
    """Return roughly how long it takes to cluster under some weights.

    Per value for the sum and for some 20 iterations, and for the inverse.
    """
    n_values = n_samples * n_landmarks
    return (5e-9 + 1.5e-9 * n_clusters) * n_values + 1e-9 * n_landmarks**3


class LandmarkSpace(RowSpace):
    """The geometry of a kernel that is known by its values with landmarks.

    Parameters
    ----------
    cross : ndarray of shape (n_samples, n_landmarks), float32
        Kernel values between points and landmarks.
    core : ndarray of shape (n_landmarks, n_landmarks)
        Pseudo-inverse of the kernel values among the landmarks.
    diagonal : ndarray of shape (n_samples,)
        The exact K_ii: points keep the part of them that landmarks do not see.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each point; one by default.
    """

    core: FloatArray

    def fixed_totals(self, labels: IntArray, n_groups: int) -> Totals:
        """Return totals over groups: here nothing is known before."""
        totals, mass = row_totals(self, labels, n_groups)
        return Totals(totals, np.einsum("ij,ij->i", totals @ self.core, totals), mass)

    def pairs(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the approximate kernel values of the listed pairs."""
        return np.einsum("ij,ij->i", self.rows[i] @ self.core, self.rows[j])

    def squared_diameter(self) -> float:
        """Return the largest squared distance of two points."""
        spread = self.core @ self.rows.T
        return largest_distance(self.diagonal, lambda block: self.rows[block] @ spread)


@dataclass(frozen=True)
class LandmarkBank(ScaledKernels):
    """Base kernels over views of one data set, by their values with landmarks.

    Make one with :meth:`LandmarkBank.build`. As in a :class:`KernelBank` every kernel
    has total scatter 1. The origin of each is the mean of the landmarks.

    Attributes
    ----------
    n_samples, n_weights : int
        Number of points and of kernels.
    names : list of str
        What each kernel is.
    n_landmarks : int
        Number of landmarks, the same for all kernels.
    landmarks : ndarray of shape (n_rows,)
        Rows that are landmarks; then those of which further ones are means.
    is_stored : bool
        Whether the values of all kernels are held; otherwise those that can be are
        regenerated from the base matrices of their views whenever they are combined.
    peak_nbytes : int
        Bytes that were needed at the most to build it, by a formula.
    """

    n_samples: int
    sample_weight: FloatArray  # (n,)
    names: list[str]
    n_landmarks: int
    landmarks: IntArray  # (r,), r = q if none is a mean
    _entries: list[Entry]
    _views: Views  # with the landmarks as points
    _norms: FloatArray  # (p,), reciprocal of the total scatter of each kernel
    _centres: list[FloatArray]  # (q,) each, what brings the origin to the landmarks
    _among: FloatArray  # (p, q, q), values among the landmarks, with scatter 1
    _diagonals: FloatArray  # (p, n), float32, with scatter 1
    _stored: dict[int, FloatArray]  # (n, q) each, float32, with scatter 1
    _bases: dict[Base, "_StoredBase"]  # from which the other kernels are regenerated
    _separate: bool = False
    _means: Means | None = None
    peak_nbytes: int = 0

    @classmethod
    def build(
        cls,
        X: Any,
        kernels: Any = "paper",
        *,
        n_landmarks: int = 150,
        choice: LandmarkChoice = "uniform",
        separate: bool = False,
        filter: str = "ratio",
        sample_weight: FloatArray | None = None,
        max_memory: float = np.inf,
        max_total: float = np.inf,
        rng: np.random.Generator | None = None,
        known: Known | None = None,
    ) -> "LandmarkBank":
        """Return the bank of some kernels on the rows of X.

        Parameters
        ----------
        X, kernels, filter, sample_weight, max_memory, max_total, rng
            As for :meth:`KernelBank.build`.
        n_landmarks : int, default=150
            Number of landmarks; all rows if there are fewer.
        choice : {"uniform", "kmeans++"}, default="uniform"
            How landmarks are drawn from the rows: all alike, or far from each other in
            the standardised data, by weight.
        separate : bool, default=False
            Approximate each kernel by itself and then add them up, as the paper does:
            a little more accurate, but a combination is as many times wider as it has
            kernels, and slower. There are no means among the landmarks then.
        known : Known, optional
            What is known of the rows. Up to a third of the landmarks are means of rows
            that are nearest to the same group, so that centres of clusters are near
            the span of the landmarks; only for one matrix of numbers.

        Raises
        ------
        ValueError
            If no kernel tells the rows apart.
        MemoryError
            If the bank does not fit.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        sources = sources_of(X)
        n_samples = Points(sources[0]).n_points
        weight = np.ones(n_samples) if sample_weight is None else sample_weight
        entries, views = resolve(sources, kernels, sample_weight, n_samples, rng, known)
        if any(isinstance(entry.kernel, Precomputed) for entry in entries):
            raise ValueError(
                "kernels holds Gram matrices: landmarks need kernels that can be "
                "computed. Use a KernelBank."
            )
        groups = None if known is None or separate else known.groups
        landmarks, means = _drawn(sources, n_landmarks, weight, choice, groups, rng)
        rows = _Crossing(n_samples, landmarks, means, entries, views)
        return cls._of(rows, weight, filter, max_memory, separate, max_total)[0]

    @classmethod
    def _of(
        cls,
        rows: "_Crossing",
        weight: FloatArray,
        filter: str,
        max_memory: float,
        separate: bool,
        max_total: float = np.inf,
    ) -> tuple["LandmarkBank", list[int]]:
        """Return the bank of kernels on fitted views, and which of them it has kept."""
        n_samples, landmarks, means, entries, views = rows
        n_landmarks = rows.n_landmarks
        besides, block = rows.held_nbytes(), rows.block_nbytes()
        # How many blocks of all rows may be held, with room for work and without.
        one = 4.0 * n_samples * n_landmarks
        room = max(0.0, min(max_memory, max_total - besides - block)) / one
        last_room = max(0.0, min(max_memory, max_total - besides)) / one
        stored: dict[int, FloatArray] = {}
        if len(entries) <= room:
            shape = (n_samples, n_landmarks)
            stored = {i: np.empty(shape, np.float32) for i in range(len(entries))}
        held = sum(block.nbytes for block in stored.values())
        parts = rows.measure(weight, stored)
        mass = float(weight.sum())
        sums = [part.sums for part in parts]
        kept = survivors(sums, mass, filter)
        bases: dict[Base, _StoredBase] = {}
        if not stored:
            bases, stored = rows.regenerable(parts, kept, mass, last_room)
            blocks = [*stored.values(), *(base.matrix for base in bases.values())]
            held = sum(block.nbytes for block in blocks)
        norms = np.array([1.0 / scatter(parts[i].inner, mass) for i in kept])
        scaled = {}
        for new, old in enumerate(kept):
            if old in stored:
                scaled[new] = stored.pop(old)
                scaled[new] *= np.float32(norms[new] * parts[old].sums.unit)
        del stored
        points = [p if p.values is None else p[landmarks] for p in views.points]
        bank = cls(
            n_samples,
            weight,
            [name_of(entries[i], views) for i in kept],
            n_landmarks,
            landmarks,
            [entries[i] for i in kept],
            views._replace(points=points),
            norms,
            [parts[i].centre for i in kept],
            np.stack([parts[i].among * n for i, n in zip(kept, norms, strict=True)]),
            np.stack(
                [
                    (parts[i].diagonal * n).astype(np.float32)
                    for i, n in zip(kept, norms, strict=True)
                ]
            ),
            scaled,
            bases,
            separate,
            means,
            peak_nbytes=besides + block + held,
        )
        return bank, kept

    def relearnt(
        self, X: Any, known: Known, max_memory: float = np.inf
    ) -> "LandmarkBank":
        """Return this bank with views learnt anew, as :meth:`KernelBank.relearnt`."""
        positions, views = relearnt(
            self._entries, self._views, sources_of(X), self.sample_weight, known
        )
        if not positions:
            return self
        entries = [self._entries[i] for i in positions]
        rows = _Crossing(self.n_samples, self.landmarks, self._means, entries, views)
        try:
            part, kept = self._of(
                rows, self.sample_weight, "none", max_memory, self._separate
            )
        except ValueError:  # none of them is of any use
            return self
        views, changes = merged(
            self._entries, self._views, part._views, positions, kept
        )
        changed = {self._entries[i].view for _, i in changes}
        bases = {base: b for base, b in part._bases.items() if base[0] in changed}
        norms, stored, centres = (
            self._norms.copy(),
            dict(self._stored),
            list(self._centres),
        )
        among, diagonals = self._among.copy(), self._diagonals.copy()
        for j, i in changes:
            norms[i], centres[i] = part._norms[j], part._centres[j]
            among[i], diagonals[i] = part._among[j], part._diagonals[j]
            stored.pop(i, None)
            if j in part._stored:
                stored[i] = part._stored[j]
        return replace(
            self,
            _views=views,
            _norms=norms,
            _centres=centres,
            _among=among,
            _diagonals=diagonals,
            _stored=stored,
            _bases=self._bases | bases,
        )

    def __repr__(self) -> str:
        """Return the size of the bank in words."""
        return (
            f"LandmarkBank(n_samples={self.n_samples}, n_kernels={self.n_weights}, "
            f"n_landmarks={self.n_landmarks})"
        )

    @property
    def nbytes(self) -> int:
        """Bytes held by matrices and views."""
        arrays = [*self._stored.values(), *(b.matrix for b in self._bases.values())]
        arrays += [self._among, self._diagonals, *self._centres]
        return views_nbytes(self._views) + sum(a.nbytes for a in arrays)

    def empty(self) -> FloatArray:
        """Return memory for one combined block, for ``combine(..., out=)``."""
        return np.empty((self.n_samples, self.n_landmarks), dtype=np.float32)

    def combine(
        self, weights: FloatArray, out: FloatArray | None = None
    ) -> LandmarkSpace:
        """Return the geometry of the weighted sum of the kernels.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Not negative, not all zero.
        out : ndarray of shape (n_samples, n_landmarks), float32, optional
            Where to put the values; a geometry made there before is overwritten.
        """
        chosen = weights.nonzero()[0]
        factors = weights[chosen]
        diagonal = factors @ self._diagonals[chosen]
        if self._separate:
            cross = self._side_by_side(chosen, factors)
            return LandmarkSpace(
                cross, self.core(weights), diagonal, self.sample_weight
            )
        cross = self.empty() if out is None else out
        if self.is_stored:
            for first in range(0, len(chosen), 5):
                held = [self._stored[i] for i in chosen[first : first + 5].tolist()]
                n_fill = 5 - len(held)
                a, b, c, d, e = held + held[:1] * n_fill
                v, w, x, y, z = factors[first : first + 5].tolist() + [0.0] * n_fill
                add_rows(a, b, c, d, e, v, w, x, y, z, first == 0, cross)
        else:
            self._regenerate(chosen, factors, cross)
        return LandmarkSpace(cross, self.core(weights), diagonal, self.sample_weight)

    def core(self, weights: FloatArray) -> FloatArray:
        """Return the core of the geometry of some weights, see LandmarkSpace."""
        chosen = weights.nonzero()[0]
        factors, among = weights[chosen], self._among[chosen]
        if not self._separate:
            return positive_inverse(np.tensordot(factors, among, axes=1))
        inverses = [
            positive_inverse(f * w) for f, w in zip(factors, among, strict=True)
        ]
        return scipy.linalg.block_diag(*inverses)

    def _side_by_side(self, chosen: IntArray, factors: FloatArray) -> FloatArray:
        """Return the values of weighted kernels beside each other."""
        size = self.n_landmarks
        cross = np.empty((self.n_samples, size * len(chosen)), dtype=np.float32)
        one = self.empty()
        for p in range(len(chosen)):
            self._regenerate(chosen[p : p + 1], factors[p : p + 1], one)
            cross[:, p * size : (p + 1) * size] = one
        return cross

    def _regenerate(
        self, chosen: IntArray, factors: FloatArray, cross: FloatArray
    ) -> None:
        cross[:] = 0.0
        for i, factor in zip(chosen.tolist(), factors.tolist(), strict=True):
            if i in self._stored:
                cross += np.float32(factor) * self._stored[i]
                continue
            view, kernel = self._entries[i]
            assert view is not None and isinstance(kernel, ElementwiseKernel)
            matrix, unit = self._bases[view, kernel.base]
            kernel, scale = kernel.in_unit(unit)
            for block in gen_batches(self.n_samples, ROWS_PER_BLOCK):
                values = scale * kernel.of_base(matrix[block])
                values = values if self._means is None else self._means(values)
                values = moved_origin(values, self._centres[i])
                cross[block] += np.float32(factor * self._norms[i]) * values

    def candidate_seconds(self, n_clusters: int) -> float:
        """Return roughly how long it takes to cluster under some weights."""
        return landmark_seconds(self.n_samples, self.n_landmarks, n_clusters)

    def kernel(self, weights: FloatArray) -> CombinedKernel:
        """Return the combined kernel of new rows with the landmarks."""
        chosen = np.flatnonzero(weights)
        return CombinedKernel(
            [self.names[i] for i in chosen],
            weights[chosen] * self._norms[chosen],
            [self._entries[i] for i in chosen],
            [self._centres[i] for i in chosen.tolist()],
            self._views.only({self._entries[i].view for i in chosen.tolist()}),
            self._separate,
            self._means,
        )


class _StoredBase(NamedTuple):
    """A base matrix between all rows and the landmarks, divided by a unit."""

    matrix: FloatArray  # (n, r), float32
    unit: float


class _Part(NamedTuple):
    """What is known of one kernel after a pass over the rows."""

    sums: KernelSums  # of the kernel as it is
    inner: KernelSums  # of the kernel with its origin at the landmarks
    centre: FloatArray  # (q,)
    among: FloatArray  # (q, q), origin at the landmarks
    diagonal: FloatArray  # (n,), origin at the landmarks


class _Crossing(NamedTuple):
    """Kernels between all rows and the landmarks, never all at once."""

    n_samples: int
    landmarks: IntArray
    means: Means | None
    entries: list[Entry]
    views: Views

    @property
    def n_landmarks(self) -> int:
        """Number of landmarks: of rows, and of means of rows."""
        if self.means is None:
            return len(self.landmarks)
        return self.means.n_kept + self.means.shares.shape[1]

    def held_nbytes(self) -> int:
        """Return the bytes of views, of diagonals and of values among landmarks."""
        p, n, q = len(self.entries), self.n_samples, self.n_landmarks
        # As they are and with another origin; of rows, diagonals and means as well.
        return views_nbytes(self.views) + 2 * 8 * p * q**2 + (3 * 8 + 4) * p * n

    def block_nbytes(self) -> int:
        """Return the bytes of values of some rows while kernels are evaluated."""
        r = len(self.landmarks)
        n_rows = max(min(self.n_samples, ROWS_PER_BLOCK), r)
        return block_nbytes(self.entries, n_rows, r)

    def measure(
        self, sample_weight: FloatArray, stored: dict[int, FloatArray]
    ) -> list[_Part]:
        """Return what is to be known of all kernels; fill the blocks ``stored``.

        What is stored has its origin at the landmarks and is in units of
        ``KernelSums.unit``, so that float32 can hold it.
        """
        q = self.n_landmarks
        mass = float(sample_weight.sum())
        parts = []
        with np.errstate(over="ignore", invalid="ignore"):
            among = self._among()
            centres = [w.mean(axis=0) - 0.5 * w.mean() for w in among]
        units = [largest_of(w) for w in among]
        totals = np.zeros((len(self.entries), q))
        diagonals = np.empty((len(self.entries), self.n_samples))
        means = np.empty((len(self.entries), self.n_samples))
        largest = np.zeros(len(self.entries))
        for block in gen_batches(self.n_samples, ROWS_PER_BLOCK):
            bases: dict[Base, FloatArray] = {}
            own: dict[Base, FloatArray] = {}
            for i in range(len(self.entries)):
                # Overflow shows in the sums; such a kernel is not kept.
                with np.errstate(over="ignore", invalid="ignore"):
                    values = self._values(i, block, bases)
                    diagonals[i, block] = self._diagonal(i, block, own)
                    means[i, block] = values.mean(axis=1)
                    values = moved_origin(values, centres[i])
                    totals[i] += sample_weight[block] @ values
                    largest[i] = max(largest[i], largest_of(values) / units[i])
                    if i in stored:
                        stored[i][block] = values / units[i]
        for i in range(len(self.entries)):
            with np.errstate(over="ignore", invalid="ignore"):
                moved = moved_origin(among[i], centres[i])
                moved_diagonal = diagonals[i] - 2.0 * means[i] + among[i].mean()
                trace = float(sample_weight @ diagonals[i])
                moved_trace = float(sample_weight @ moved_diagonal)
                rest = float(sample_weight @ means[i]) * 2.0 * mass
                rest -= float(among[i].mean()) * mass**2
            finite = largest[i] < np.finfo(np.float32).max and np.isfinite(trace)
            finite = bool(finite and np.isfinite(moved).all())
            total = 0.0
            if finite:
                # No rounding to float32 here, so that small eigenvalues count.
                inverse = positive_inverse(moved, 1e-12)
                total = float(totals[i] @ inverse @ totals[i])
            least = float(diagonals[i].min())
            parts.append(
                _Part(
                    KernelSums(trace, total + rest, least, finite, units[i]),
                    KernelSums(moved_trace, total, least, finite, units[i]),
                    centres[i],
                    moved,
                    moved_diagonal,
                )
            )
        return parts

    def regenerable(
        self, parts: list[_Part], kept: list[int], mass: float, room: float
    ) -> tuple[dict[Base, _StoredBase], dict[int, FloatArray]]:
        """Return base matrices from which kernels follow, and the kernels with none.

        Kernels far from the origin are not regenerated either: in float32 it is too
        late to move it.
        """
        bases = {
            i: self._base_of(i)
            for i in kept
            if not is_far_from_origin(parts[i].sums, mass)
        }
        names = dict.fromkeys(base for base in bases.values() if base is not None)
        others = [i for i in kept if bases.get(i) is None]
        width = len(self.landmarks) / self.n_landmarks
        n_blocks = width * len(names) + len(others)
        if n_blocks > room:
            one = 4 * self.n_samples * self.n_landmarks / 2**20
            raise MemoryError(
                f"{len(kept)} kernels between {self.n_samples} rows and "
                f"{self.n_landmarks} landmarks need {n_blocks * one:.3g} MiB: "
                f"{len(names)} base matrices from which others are regenerated, and "
                f"{len(others)} kernels that must be stored; max_memory leaves "
                f"{room * one:.3g} MiB beside views, diagonals and values among "
                f"landmarks ({self.held_nbytes() / 2**20:.3g} MiB). Raise "
                "max_memory, or lower n_landmarks or working_rows."
            )
        held = {}
        for name in names:
            matrix = np.empty((self.n_samples, len(self.landmarks)), np.float32)
            unit = 0.0
            for block in gen_batches(self.n_samples, ROWS_PER_BLOCK):
                values = self._base(*name, block)
                unit = unit or float(np.abs(values).max()) or 1.0
                matrix[block] = values / unit
            held[name] = _StoredBase(matrix, unit)
        shape = (self.n_samples, self.n_landmarks)
        stored = {i: np.empty(shape, np.float32) for i in others}
        for block in gen_batches(self.n_samples, ROWS_PER_BLOCK):
            cache: dict[Base, FloatArray] = {}
            for i, target in stored.items():
                values = self._values(i, block, cache)
                values = moved_origin(values, parts[i].centre)
                target[block] = values / parts[i].sums.unit
        return held, stored

    def _base_of(self, i: int) -> Base | None:
        view, kernel = self.entries[i]
        assert view is not None
        return (view, kernel.base) if isinstance(kernel, ElementwiseKernel) else None

    def _among(self) -> list[FloatArray]:
        """Return the values of all kernels among the landmarks, (q, q) each."""
        bases: dict[Base, FloatArray] = {}
        found = []
        for i in range(len(self.entries)):
            values = self._values(i, self.landmarks, bases)
            found.append(values if self.means is None else self.means(values.T).T)
        return found

    def _values(
        self, i: int, rows: slice | IntArray, bases: dict[Base, FloatArray]
    ) -> FloatArray:
        """Return a kernel's values between some rows and the landmarks."""
        view, kernel = self.entries[i]
        assert view is not None and not isinstance(kernel, Precomputed)
        if not isinstance(kernel, ElementwiseKernel):
            points = self.views.points[view]
            values = called(kernel, points[rows], points[self.landmarks])
        else:
            key = view, kernel.base
            if key not in bases:
                bases[key] = self._base(*key, rows)
            values = kernel.of_base(bases[key])
        return values if self.means is None else self.means(values)

    def _base(self, view: int, name: str, rows: slice | IntArray) -> FloatArray:
        points = self.views.points[view]
        return BASES[name](points[rows], points[self.landmarks])

    def _diagonal(self, i: int, rows: slice, own: dict[Base, FloatArray]) -> FloatArray:
        """Return a kernel's values of some rows with themselves."""
        view, kernel = self.entries[i]
        assert view is not None and not isinstance(kernel, Precomputed)
        points = self.views.points[view][rows]
        if not isinstance(kernel, ElementwiseKernel):
            return own_values(kernel, points)
        key = view, kernel.base
        if key not in own:
            own[key] = own_base(kernel.base, points)
        return kernel.of_base(own[key])


def moved_origin(values: FloatArray, centre: FloatArray) -> FloatArray:
    """Return values with landmarks after the origin has moved to their mean.

    Parameters
    ----------
    values : ndarray of shape (n, n_landmarks)
        Kernel values between rows and landmarks.
    centre : ndarray of shape (n_landmarks,)
        Mean of each landmark's values among the landmarks, less half the mean of all:
        so the means of rows that are taken away say where the origin is (see
        ``CombinedKernel.squared_norms``).
    """
    values = values - centre.astype(values.dtype)
    values -= values.mean(axis=1, keepdims=True)
    return values


def largest_of(values: FloatArray) -> float:
    """Return the largest size of a value; 1 if that is 0 or not finite."""
    largest = max(float(values.max()), -float(values.min()))
    return largest if 0.0 < largest < np.inf else 1.0


def positive_inverse(among: FloatArray, ridge: float = _RIDGE) -> FloatArray:
    """Return the inverse of a symmetric matrix, of its positive part if indefinite.

    A little is added to the diagonal, in shares of the trace: kernels are often of low
    rank, and the directions that are missing must not divide by zero.
    """
    size = len(among)
    regular = among.copy()
    least = ridge * float(np.trace(among))
    regular[np.diag_indices(size)] += least
    factor, failed = lapack.dpotrf(regular, lower=1, overwrite_a=1)
    if not failed:
        inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    # Smaller eigenvalues than what was added: some were negative before.
    if failed or 2.0 < least * inverse.diagonal().max():
        # Negative eigenvalues of an indefinite kernel are no geometry: dropped.
        values, vectors = eigen(among, "evd")
        kept = values > _LEAST_EIGENVALUE * values[-1]
        vectors = vectors[:, kept] / np.sqrt(values[kept])
        return vectors @ vectors.T
    lower = np.tril(inverse, -1)
    return np.ascontiguousarray(lower + lower.T + np.diag(inverse.diagonal()))


def _drawn(
    sources: SeveralSets,
    n_landmarks: int,
    sample_weight: FloatArray,
    choice: LandmarkChoice,
    groups: IntArray | None,
    rng: np.random.Generator,
) -> tuple[IntArray, Means | None]:
    """Return the rows of which landmarks are made, and how.

    No two rows that are landmarks by themselves are equal, and they are ascending.
    """
    X = sources[0]
    if len(sources) == 1:
        rows = distinct_rows(X)[0]
    else:
        rows = np.arange(len(sample_weight))
    if n_landmarks >= len(rows):
        return rows, None
    members: list[IntArray] = []
    if groups is not None and len(sources) == 1 and _is_matrix(X):
        members = _members(X, groups, n_landmarks, sample_weight, rng)
    n_single = n_landmarks - len(members)
    if choice == "kmeans++":
        single = _far_rows(X, n_single, sample_weight, rng)
    else:
        single = np.sort(rng.choice(rows, n_single, replace=False))
    if not members:
        return single, None
    sizes = [len(m) for m in members]
    shares = scipy.linalg.block_diag(*[np.full((s, 1), 1.0 / s) for s in sizes])
    return np.concatenate([single, *members]), Means(len(single), shares)


def _members(
    X: Any,
    groups: IntArray,
    n_landmarks: int,
    sample_weight: FloatArray,
    rng: np.random.Generator,
) -> list[IntArray]:
    """Return rows that are nearest to each of the largest groups, a sample of them."""
    sizes = np.bincount(groups[groups >= 0])
    largest = np.argsort(-sizes, kind="stable")[: int(_SHARE_OF_MEANS * n_landmarks)]
    sizes = sizes[largest]
    largest = largest[(sizes > 1) & (sizes >= _LEAST_SIZE * sizes.max(initial=0))]
    if len(largest) == 0:
        return []
    # Under a metric learnt from the groups, so that rows of one cluster are together.
    view: View = Standardized() if issparse(X) else WithinWhitened()
    points = view.fit(X, sample_weight, Known(groups, len(largest))).transform(X).values
    centres = np.concatenate(
        [np.reshape(points[groups == g].mean(axis=0), (1, -1)) for g in largest]
    )
    nearest = pairwise_distances_argmin(points, centres)
    members = [np.flatnonzero(nearest == j) for j in range(len(largest))]
    members = [rows for rows in members if len(rows) > 1]
    sizes = np.array([len(rows) for rows in members])
    limit = _largest_limit(sizes, _ROWS_OF_MEANS * n_landmarks)
    return [
        rows if len(rows) <= limit else np.sort(rng.choice(rows, limit, replace=False))
        for rows in members
    ]


def _largest_limit(sizes: IntArray, total: int) -> int:
    """Return how many each may have at the most, so that all have no more than this."""
    low, high = 1, max(1, int(sizes.max(initial=1)))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(sizes, middle).sum() <= total:
            low = middle
        else:
            high = middle - 1
    return low


def _is_matrix(X: Any) -> bool:
    return hasattr(X, "shape") and len(X.shape) == 2


def _scaled(X: Any, sample_weight: FloatArray) -> Any:
    """Return the rows with columns of spread 1."""
    spread = Standardized().fit(X, sample_weight).scale
    assert spread is not None
    return X.multiply(1.0 / spread).tocsr() if issparse(X) else X / spread


def _far_rows(
    X: Any, n_landmarks: int, sample_weight: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Return different rows that lie far from each other in the standardised data."""
    if not _is_matrix(X):
        raise ValueError(
            'choice="kmeans++" needs rows of numbers; X holds other objects. Use '
            'choice="uniform".'
        )
    seed = int(rng.integers(2**31))
    scaled = _scaled(X, sample_weight)
    found = kmeans_plusplus(
        scaled, n_landmarks, sample_weight=sample_weight, random_state=seed
    )[1]
    return np.unique(found).astype(np.intp)
