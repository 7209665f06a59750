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
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils import gen_batches

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.kernels._bank import ScaledKernels
from linkwise.kernels._entries import (
    CombinedKernel,
    Entry,
    Means,
    Views,
    merged,
    name_of,
    relearnt,
    resolve,
    sources_of,
)
from linkwise.kernels._evaluation import Base
from linkwise.kernels._families import ElementwiseKernel, Precomputed
from linkwise.kernels._jit import add_rows
from linkwise.kernels._landmark_choice import LandmarkChoice, drawn_landmarks
from linkwise.kernels._landmark_space import LandmarkSpace, positive_inverse
from linkwise.kernels._landmark_values import (
    ROWS_PER_BLOCK,
    Crossing,
    StoredBase,
    moved_origin,
)
from linkwise.kernels._memory import views_nbytes
from linkwise.kernels._scaling import scatter, survivors
from linkwise.kernels._views import Known, Points


def landmark_seconds(n_samples: int, n_landmarks: int, n_clusters: int) -> float:
    """Return roughly how long it takes to cluster under some weights.

    Per value for the sum and for some 20 iterations, and for the inverse.
    """
    n_values = n_samples * n_landmarks
    return (5e-9 + 1.5e-9 * n_clusters) * n_values + 1e-9 * n_landmarks**3


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
    _bases: dict[Base, "StoredBase"]  # from which the other kernels are regenerated
    _separate: bool = False
    _means: Means | None = None
    peak_nbytes: int = 0

    @property
    def is_honest(self) -> BoolArray:
        """Which kernels place no row by its own pairs: none beside means of groups."""
        return super().is_honest & (self._means is None)

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
        landmarks, means = drawn_landmarks(
            sources, n_landmarks, weight, choice, groups, rng
        )
        rows = Crossing(n_samples, landmarks, means, entries, views)
        return cls._of(rows, weight, filter, max_memory, separate, max_total)[0]

    @classmethod
    def _of(
        cls,
        rows: "Crossing",
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
        bases: dict[Base, StoredBase] = {}
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
        rows = Crossing(self.n_samples, self.landmarks, self._means, entries, views)
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
