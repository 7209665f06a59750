"""Computing base kernels block by block, within a memory limit."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray
from linkwise.kernels._entries import Entry, Views, called
from linkwise.kernels._families import ElementwiseKernel, Precomputed
from linkwise.kernels._packed import Block, blocks, packed_size
from linkwise.kernels._scaling import KernelSums
from linkwise.kernels._views import BASES

Base = tuple[int, str]  # a view and the name of one of its base matrices


class PackedBase(NamedTuple):
    """A packed base matrix, divided by a typical large value."""

    matrix: FloatArray
    unit: float


class Evaluation(NamedTuple):
    """Kernels to be evaluated on their training points, never all at once."""

    n_samples: int
    entries: list[Entry]
    views: Views

    def sums(
        self,
        sample_weight: FloatArray,  # (n,)
        stored: dict[int, FloatArray],
    ) -> list[KernelSums]:
        """Return the sums of all kernels; fill the packed matrices ``stored``.

        What is stored is in units of ``KernelSums.unit``, so that float32 can hold it.
        """
        totals = [_Totals(sample_weight) for _ in self.entries]
        for block in blocks(self.n_samples):
            bases: dict[Base, FloatArray] = {}
            for i, total in enumerate(totals):
                # Overflow shows in the sums; such a kernel is not kept.
                with np.errstate(over="ignore", invalid="ignore"):
                    values = self._values(i, block, bases)
                    total.add(values, block)
                    if i in stored:
                        part = (values / total.unit).ravel()
                        stored[i][block.start : block.stop] = part
        return [total.result() for total in totals]

    def row_means(
        self, chosen: Iterable[int], sample_weight: FloatArray
    ) -> dict[int, FloatArray]:
        """Return the weighted mean of each row of some kernels, shape (n_samples,)."""
        sums = {i: np.zeros(self.n_samples) for i in chosen}
        for block in blocks(self.n_samples):
            bases: dict[Base, FloatArray] = {}
            rows = slice(block.first, block.last)
            for i, total in sums.items():
                values = self._values(i, block, bases)
                total[rows] += values @ sample_weight[: block.last]
                left = values[:, : block.first]
                total[: block.first] += sample_weight[rows] @ left
        mass = sample_weight.sum()
        return {i: total / mass for i, total in sums.items()}

    def packed(
        self, units: dict[int, float], centres: dict[int, FloatArray]
    ) -> dict[int, FloatArray]:
        """Return the packed matrices of some kernels, in given units.

        Where there is a centre c, K_ij - c_i - c_j takes the place of K_ij: distances
        are the same, and what is common to all entries is gone.
        """
        size = packed_size(self.n_samples)
        stored = {i: np.empty(size, dtype=np.float32) for i in units}
        for block in blocks(self.n_samples):
            bases: dict[Base, FloatArray] = {}
            for i, matrix in stored.items():
                values = self._values(i, block, bases)
                if i in centres:
                    centre = centres[i]
                    values = values - centre[block.first : block.last, None]
                    values -= centre[: block.last]
                matrix[block.start : block.stop] = (values / units[i]).ravel()
        return stored

    def packed_bases(self, names: Iterable[Base]) -> dict[Base, "PackedBase"]:
        """Return packed base matrices of views, each in a unit of its own."""
        size = packed_size(self.n_samples)
        bases = {}
        for name in names:
            matrix = np.empty(size, dtype=np.float32)
            unit = 0.0
            for block in blocks(self.n_samples):
                values = self._base(*name, block)
                unit = unit or float(np.abs(values).max()) or 1.0
                matrix[block.start : block.stop] = (values / unit).ravel()
            bases[name] = PackedBase(matrix, unit)
        return bases

    def base_of(self, i: int) -> Base | None:
        """Return the base matrix from which a kernel follows entry by entry, if any."""
        view, kernel = self.entries[i]
        if view is None or not isinstance(kernel, ElementwiseKernel):
            return None
        return view, kernel.base

    def _values(
        self, i: int, block: Block, bases: dict[Base, FloatArray]
    ) -> FloatArray:
        """Return a kernel's rows of a block, shape (last - first, last)."""
        view, kernel = self.entries[i]
        if isinstance(kernel, Precomputed):
            return kernel.gram[block.first : block.last, : block.last]
        assert view is not None
        if not isinstance(kernel, ElementwiseKernel):
            points = self.views.points[view]
            return called(
                kernel, points[block.first : block.last], points[: block.last]
            )
        key = view, kernel.base
        if key not in bases:
            bases[key] = self._base(*key, block)
        return kernel.of_base(bases[key])

    def _base(self, view: int, name: str, block: Block) -> FloatArray:
        points = self.views.points[view]
        return BASES[name](points[block.first : block.last], points[: block.last])


class _Totals:
    """Running sums of one kernel matrix over its blocks."""

    def __init__(self, sample_weight: FloatArray) -> None:
        self._weight = sample_weight
        self._trace = self._total = 0.0
        self._least_diagonal = np.inf
        self._largest = 0.0
        self.unit = 0.0  # the largest value of the first blocks

    def add(self, values: FloatArray, block: Block) -> None:
        """Count a block of the lower triangle, and its mirror image."""
        weight = self._weight[block.first : block.last]
        own = values[:, block.first :]
        left = values[:, : block.first] @ self._weight[: block.first]
        self._total += float(weight @ (own @ weight + 2.0 * left))
        self._trace += float(weight @ own.diagonal())
        self._least_diagonal = min(self._least_diagonal, float(own.diagonal().min()))
        largest = max(float(values.max()), -float(values.min()))
        self._largest = max(self._largest, largest) if largest == largest else np.nan
        if self.unit == 0.0:
            self.unit = largest if 0.0 < largest < np.inf else 1.0

    def result(self) -> KernelSums:
        """Return the sums; a kernel counts as finite if float32 can hold it."""
        is_finite = self._largest / self.unit < float(np.finfo(np.float32).max)
        return KernelSums(
            self._trace, self._total, self._least_diagonal, is_finite, self.unit
        )
