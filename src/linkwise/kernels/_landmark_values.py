"""Kernel values between all rows and landmarks, a block of rows at a time."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.kernels._entries import Entry, Means, Views, called, own_base, own_values
from linkwise.kernels._evaluation import Base
from linkwise.kernels._families import ElementwiseKernel, Precomputed
from linkwise.kernels._landmark_space import positive_inverse
from linkwise.kernels._memory import block_nbytes, views_nbytes
from linkwise.kernels._scaling import KernelSums, is_far_from_origin
from linkwise.kernels._views import BASES

# Rows whose kernel values are held in double precision at a time. Fixed, so that
# results do not depend on memory.
ROWS_PER_BLOCK = 4096


class StoredBase(NamedTuple):
    """A base matrix between all rows and the landmarks, divided by a unit."""

    matrix: FloatArray  # (n, r), float32
    unit: float


class Part(NamedTuple):
    """What is known of one kernel after a pass over the rows."""

    sums: KernelSums  # of the kernel as it is
    inner: KernelSums  # of the kernel with its origin at the landmarks
    centre: FloatArray  # (q,)
    among: FloatArray  # (q, q), origin at the landmarks
    diagonal: FloatArray  # (n,), origin at the landmarks


class Crossing(NamedTuple):
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
    ) -> list[Part]:
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
                Part(
                    KernelSums(trace, total + rest, least, finite, units[i]),
                    KernelSums(moved_trace, total, least, finite, units[i]),
                    centres[i],
                    moved,
                    moved_diagonal,
                )
            )
        return parts

    def regenerable(
        self, parts: list[Part], kept: list[int], mass: float, room: float
    ) -> tuple[dict[Base, StoredBase], dict[int, FloatArray]]:
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
            held[name] = StoredBase(matrix, unit)
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
        ``CombinedKernel.with_norms``).
    """
    values = values - centre.astype(values.dtype)
    values -= values.mean(axis=1, keepdims=True)
    return values


def largest_of(values: FloatArray) -> float:
    """Return the largest size of a value; 1 if that is 0 or not finite."""
    largest = max(float(values.max()), -float(values.min()))
    return largest if 0.0 < largest < np.inf else 1.0
