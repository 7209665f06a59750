"""Banks: from weights to a geometry."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.kernels._entries import (
    CombinedKernel,
    Entry,
    Views,
    merged,
    name_of,
    relearnt,
    resolve,
    sources_of,
)
from linkwise.kernels._evaluation import Base, Evaluation, PackedBase
from linkwise.kernels._families import ElementwiseKernel, Linear, Precomputed
from linkwise.kernels._jit import combine_sums, mirror
from linkwise.kernels._memory import block_nbytes, views_nbytes
from linkwise.kernels._packed import (
    ROWS_PER_BLOCK,
    blocks,
    combine_packed,
    packed_size,
)
from linkwise.kernels._scaling import (
    is_far_from_origin,
    scatter,
    survivors,
)
from linkwise.kernels._spaces import FeatureSpace, GramSpace, Space, Totals
from linkwise.kernels._views import Known, Points, Standardized


class Bank(Protocol):
    """Turns weights into a geometry."""

    @property
    def sample_weight(self) -> FloatArray:
        """Multiplicity of each point, shape (n,)."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""

    def empty(self) -> FloatArray:
        """Return memory for one geometry, for ``combine(..., out=)``."""

    def combine(self, weights: FloatArray, out: FloatArray | None = None) -> Space:
        """Return the geometry of some weights."""

    def scatter(self, weights: FloatArray) -> float:
        """Return the total scatter of the points in that geometry."""

    def candidate_seconds(self, n_clusters: int) -> float:
        """Return roughly how long it takes to cluster under some weights.

        A formula and not a clock, so that what rests on it can be repeated.
        """


def gram_seconds(n_samples: int) -> float:
    """Return roughly how long it takes to cluster under some weights.

    Per entry of the matrix, as benchmarks/candidate_cost.py measures it on one core for
    stored kernels; regenerated ones take little longer, and the choice of a search is
    not to depend on memory.
    """
    return 2.7e-9 * n_samples**2


class Plain(NamedTuple):
    """The kernel of plain k-means."""

    kernel: int
    credit: float  # number of pairs by which other clusters have to be better


# Rows of one length, such as embeddings of texts, are made to be compared by their
# angles: a few pairs do not tell that this is wrong.
_CREDIT_OF_ANGLES = 5.0


class ScaledKernels:
    """What banks of kernels share: each kernel has total scatter 1."""

    _entries: list[Entry]
    _views: Views
    _norms: FloatArray  # (p,), reciprocal of the total scatter of each kernel
    _stored: dict[int, FloatArray]  # matrices of the kernels that are held

    def __deepcopy__(self, memo: Any) -> Self:
        """Return the bank itself: it never changes, and it may be large."""
        return self

    @property
    def n_weights(self) -> int:
        """Number of kernels."""
        return len(self._entries)

    @property
    def is_stored(self) -> bool:
        """Whether the matrices of all kernels are held in memory."""
        return len(self._stored) == self.n_weights

    @property
    def plain(self) -> Plain | None:
        """The kernel under which k-means is what people run without pairs, if any."""
        linear = {
            i: self._views.views[view]
            for i, (view, kernel) in enumerate(self._entries)
            if view is not None and isinstance(kernel, Linear)
        }
        for i, view in linear.items():
            if getattr(view, "had_one_length", False):
                return Plain(i, _CREDIT_OF_ANGLES)
        for i, view in linear.items():
            if view == Standardized():
                return Plain(i, 0.0)
        return None

    @property
    def angular_sources(self) -> list[int]:
        """Data sets whose rows are sparse or of one length, as texts and embeddings."""
        views = zip(self._views.sources, self._views.views, strict=True)
        return sorted(
            {source for source, own in views if getattr(own, "had_one_length", False)}
        )

    @property
    def is_learnt(self) -> BoolArray:
        """Which kernels look at views that are learnt from groups, (n_weights,)."""
        views = (entry.view for entry in self._entries)
        return np.array(
            [
                view is not None
                and getattr(self._views.views[view], "least_groups", 0) > 0
                for view in views
            ]
        )

    @property
    def is_honest(self) -> BoolArray:
        """Which kernels place no row by its own pairs, shape (n_weights,).

        They are not learnt from groups, or their view is honest in spite of it.
        """
        views = (entry.view for entry in self._entries)
        is_honest = [
            view is not None and getattr(self._views.views[view], "is_honest", False)
            for view in views
        ]
        return ~self.is_learnt | np.array(is_honest)

    @property
    def unscaled(self) -> FloatArray:
        """Weights under which the kernels have their own scale, shape (n_weights,)."""
        return 1.0 / self._norms

    def scatter(self, weights: FloatArray) -> float:
        """Return the total scatter of the points in the geometry of some weights.

        With landmarks it is that of the single kernels; their sum sees a little less.
        """
        return sum(weights.tolist())  # for so few, faster than numpy


@dataclass(frozen=True)
class KernelBank(ScaledKernels):
    """Base kernels over views of one data set, scaled and filtered.

    Make one with :meth:`KernelBank.build`. Every kernel has total scatter 1, so weights
    mean the same for all of them.

    Attributes
    ----------
    n_samples, n_weights : int
        Number of points and of kernels.
    names : list of str
        What each kernel is.
    is_stored : bool
        Whether all Gram matrices are held; otherwise those that can be are regenerated
        from the base matrices of their views whenever they are combined.
    peak_nbytes : int
        Bytes that were needed at the most to build it, by a formula.
    """

    n_samples: int
    sample_weight: FloatArray  # (n,)
    names: list[str]
    _entries: list[Entry]
    _views: Views
    _norms: FloatArray  # (p,), reciprocal of the total scatter of each kernel
    _stored: dict[int, FloatArray]  # packed Gram matrices with total scatter 1
    _bases: dict[Base, PackedBase]  # from which the other kernels are regenerated
    _centres: dict[int, FloatArray]  # of kernels stored without their common part
    _known: "_KnownGroups | None" = None
    peak_nbytes: int = 0

    @classmethod
    def build(
        cls,
        X: Any,
        kernels: Any = "paper",
        *,
        filter: str = "ratio",
        sample_weight: FloatArray | None = None,
        max_memory: float = np.inf,
        max_total: float = np.inf,
        rng: np.random.Generator | None = None,
        known: Known | None = None,
    ) -> "KernelBank":
        """Return the bank of some kernels on the rows of X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or sequence
            The data; a :class:`SeveralSets` holds several with the same rows.
        kernels : "paper", "rich" or list, default="paper"
            Of a list, each element is "paper", "rich", "rbf" (one Gaussian kernel on
            the standardised data, its width the median distance), the name of a learnt
            view ("whitened", "within", "discriminant", "diffusion", "forest") for its
            kernels, a kernel, a pair (view, kernel), a Gram matrix or a
            :class:`Precomputed`. A kernel is anything that returns a matrix when called
            with two collections of rows.
        filter : {"ratio", "none"}, default="ratio"
            Which usable kernels to keep, see :func:`passes_ratio`. If none passes the
            ratio rule, all usable ones are kept.
        sample_weight : ndarray of shape (n_samples,), optional
            Multiplicity of each row.
        max_memory : float, default=inf
            Bytes that matrices may take.
        max_total : float, default=inf
            Bytes that all may take: matrices, views with their trees, and blocks of
            values on the way.
        rng : numpy.random.Generator, optional
            Draws the rows from which kernel widths are set.
        known : Known, optional
            What is known of the rows, for views that are learnt from it.

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
        return cls._of(entries, views, weight, filter, max_memory, max_total)[0]

    @classmethod
    def _of(
        cls,
        entries: list[Entry],
        views: Views,
        weight: FloatArray,
        filter: str,
        max_memory: float,
        max_total: float = np.inf,
    ) -> tuple["KernelBank", list[int]]:
        """Return the bank of kernels on fitted views, and which of them it has kept."""
        n_samples, mass = len(weight), float(weight.sum())
        evaluation = Evaluation(n_samples, entries, views)
        size = packed_size(n_samples)
        held = views_nbytes(views)
        block = block_nbytes(entries, min(ROWS_PER_BLOCK, n_samples), n_samples)
        # How many packed matrices may be held, with room for work and without.
        room = min(max_memory, max_total - held - block) / (4 * size)
        last_room = min(max_memory, max_total - held) / (4 * size)

        # Store while summing if everything fits; else first see what survives.
        stored: dict[int, FloatArray] = {}
        if len(entries) <= room:
            stored = {i: np.empty(size, np.float32) for i in range(len(entries))}
        sums = evaluation.sums(weight, stored)
        kept = survivors(sums, mass, filter)
        units = {i: sums[i].unit for i in kept}
        far = [i for i in kept if is_far_from_origin(sums[i], mass)]
        centres = {}
        for i, row_means in evaluation.row_means(far, weight).items():
            centres[i] = row_means - sums[i].total / mass**2 / 2
            units[i] = scatter(sums[i], mass) / mass
        bases: dict[Base, PackedBase] = {}
        if stored:
            stored |= evaluation.packed({i: units[i] for i in far}, centres)
            n_held = len(entries) + len(far)
        elif len(kept) <= room:
            stored = evaluation.packed(units, centres)
            n_held = len(stored)
        else:
            bases, stored = _regenerable(evaluation, units, centres, last_room)
            n_held = len(stored) + len(bases)
        norms = np.array([1.0 / scatter(sums[i], mass) for i in kept])
        packed = {}
        for new, old in enumerate(kept):
            if old in stored:
                packed[new] = stored[old]
                packed[new] *= np.float32(norms[new] * units[old])
        bank = cls(
            n_samples,
            weight,
            [name_of(entries[i], views) for i in kept],
            [entries[i] for i in kept],
            views,
            norms,
            packed,
            bases,
            {new: centres[old] for new, old in enumerate(kept) if old in centres},
            peak_nbytes=held + block + 4 * size * n_held,
        )
        return bank, kept

    def relearnt(
        self, X: Any, known: Known, max_memory: float = np.inf
    ) -> "KernelBank":
        """Return this bank with views learnt anew from other groups.

        The kernels are the same, and matrices that do not depend on groups are shared.
        A kernel that is of no use with these groups stays as it was.

        Parameters
        ----------
        X : array or SeveralSets
            The data that the bank was built from.
        known : Known
            A view that needs more groups stays as it was.
        max_memory : float, default=inf
            Bytes for the matrices that are new.
        """
        positions, views = relearnt(
            self._entries, self._views, sources_of(X), self.sample_weight, known
        )
        if not positions:
            return self
        entries = [self._entries[i] for i in positions]
        try:
            part, kept = self._of(
                entries, views, self.sample_weight, "none", max_memory
            )
        except ValueError:  # none of them is of any use
            return self
        views, changes = merged(
            self._entries, self._views, part._views, positions, kept
        )
        changed = {self._entries[i].view for _, i in changes}
        bases = {base: b for base, b in part._bases.items() if base[0] in changed}
        norms, stored, centres = self._norms.copy(), dict(self._stored), self._centres
        for j, i in changes:
            norms[i] = part._norms[j]
            stored.pop(i, None)
            centres = {at: c for at, c in centres.items() if at != i}
            if j in part._stored:
                stored[i] = part._stored[j]
            if j in part._centres:
                centres[i] = part._centres[j]
        return replace(
            self,
            _views=views,
            _norms=norms,
            _stored=stored,
            _bases=self._bases | bases,
            _centres=centres,
            _known=None,
        )

    def __repr__(self) -> str:
        """Return the size of the bank in words."""
        return f"KernelBank(n_samples={self.n_samples}, n_kernels={self.n_weights})"

    @property
    def nbytes(self) -> int:
        """Bytes held by matrices, sums and views."""
        arrays = [*self._stored.values(), *(b.matrix for b in self._bases.values())]
        known = 0 if self._known is None else self._known.sums.nbytes
        return known + views_nbytes(self._views) + sum(a.nbytes for a in arrays)

    def with_groups(
        self, labels: IntArray, n_groups: int, max_memory: float = np.inf
    ) -> "KernelBank":
        """Return this bank with the sums over some groups known for every kernel.

        They combine linearly, so a geometry made by the new bank has them at once. The
        matrices are shared. Nothing changes if the sums would not fit into
        ``max_memory`` bytes, or if the kernels are not stored: then a pass over the
        combined matrix is cheaper.
        """
        size = 8.0 * self.n_weights * n_groups * self.n_samples
        if n_groups == 0 or not self.is_stored or size > max_memory:
            return self
        sums = np.empty((self.n_weights, n_groups, self.n_samples))
        gram = self.empty()
        for i in range(self.n_weights):
            one_hot = np.zeros(self.n_weights)
            one_hot[i] = 1.0
            space = self.combine(one_hot, out=gram)
            known = space.group_sums(labels, n_groups)
            sums[i] = known.sums
        return replace(self, _known=_KnownGroups(labels, known.mass, sums))

    def empty(self) -> FloatArray:
        """Return memory for one combined Gram matrix, for ``combine(..., out=)``."""
        return np.empty((self.n_samples, self.n_samples), dtype=np.float32)

    def combine(self, weights: FloatArray, out: FloatArray | None = None) -> GramSpace:
        """Return the geometry of the weighted sum of the kernels.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            Not negative, not all zero.
        out : ndarray of shape (n_samples, n_samples), float32, optional
            Where to put the matrix; a geometry made there before is overwritten.
        """
        chosen = weights.nonzero()[0]
        factors = weights[chosen]
        gram = self.empty() if out is None else out
        if self.is_stored:
            combine_packed([self._stored[i] for i in chosen.tolist()], factors, gram)
        else:
            self._regenerate(chosen, factors, gram)
        space = GramSpace(gram, self.sample_weight)
        if self._known is not None:
            known = self._known.combine(chosen, factors, self.sample_weight)
            space.remember(self._known.groups, known)
        return space

    def _regenerate(
        self, chosen: IntArray, weights: FloatArray, gram: FloatArray
    ) -> None:
        parts: list[tuple[FloatArray, ElementwiseKernel | None, float]] = []
        for i, weight in zip(chosen.tolist(), weights.tolist(), strict=True):
            if i in self._stored:
                parts.append((self._stored[i], None, weight))
            else:
                view, kernel = self._entries[i]
                matrix, unit = self._bases[view, kernel.base]
                kernel, factor = kernel.in_unit(unit)
                parts.append((matrix, kernel, factor * weight * self._norms[i]))
        for block in blocks(self.n_samples):
            target = gram[block.first : block.last, : block.last]
            target[:] = 0.0
            for matrix, kernel, factor in parts:
                values = matrix[block.start : block.stop].reshape(-1, block.last)
                values = values if kernel is None else kernel.of_base(values)
                target += np.float32(factor) * values
        mirror(ROWS_PER_BLOCK, gram)

    def candidate_seconds(self, n_clusters: int) -> float:
        """Return roughly how long it takes to cluster under some weights."""
        return gram_seconds(self.n_samples)

    def kernel(self, weights: FloatArray) -> CombinedKernel:
        """Return the combined kernel as a function of new rows."""
        chosen = np.flatnonzero(weights)
        entries = [self._entries[i] for i in chosen]
        return CombinedKernel(
            [self.names[i] for i in chosen],
            weights[chosen] * self._norms[chosen],
            [
                # The training matrix itself is not needed for new rows.
                e._replace(kernel=replace(e.kernel, gram=np.empty((0, 0))))
                if isinstance(e.kernel, Precomputed)
                else e
                for e in entries
            ],
            [self._centres.get(i) for i in chosen.tolist()],
            self._views.only({e.view for e in entries}),
        )


class _KnownGroups(NamedTuple):
    """Group sums of each kernel of a bank; those of a combination follow linearly."""

    groups: IntArray  # (n,), -1: in no group
    mass: FloatArray  # (g,)
    sums: FloatArray  # (p, g, n)

    def combine(
        self, chosen: IntArray, weights: FloatArray, sample_weight: FloatArray
    ) -> Totals:
        """Return the group sums of the weighted sum of some kernels."""
        sums = np.empty(self.sums.shape[1:])
        inner = np.empty(len(sums))
        combine_sums(
            self.sums, chosen, weights, self.groups, sample_weight, sums, inner
        )
        return Totals(sums, inner, self.mass)


def feature_seconds(n_samples: int, n_features: int, n_clusters: int) -> float:
    """Return roughly how long it takes to cluster under some weights.

    A few nanoseconds per row, cluster and column, over all iterations.
    """
    return 3e-9 * n_clusters * n_samples * n_features


@dataclass(frozen=True)
class FeatureScales:
    """The bank of MahalanobisCSC: one weight for each column of the data.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred columns.
    sample_weight : ndarray of shape (n_samples,)
        Multiplicity of each row.
    """

    X: FloatArray
    sample_weight: FloatArray

    @property
    def n_weights(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def empty(self) -> FloatArray:
        """Return memory for the scaled columns, for ``combine(..., out=)``."""
        return np.empty_like(self.X)

    def combine(
        self, weights: FloatArray, out: FloatArray | None = None
    ) -> FeatureSpace:
        """Return the geometry of the columns times their weights."""
        return FeatureSpace(np.multiply(self.X, weights, out=out), self.sample_weight)

    def scatter(self, weights: FloatArray) -> float:
        """Return the total scatter of the points in the geometry of some weights."""
        return float(weights**2 @ (self.sample_weight @ self.X**2))

    def candidate_seconds(self, n_clusters: int) -> float:
        """Return roughly how long it takes to cluster under some weights."""
        return feature_seconds(len(self.X), self.n_weights, n_clusters)


def _regenerable(
    evaluation: Evaluation,
    units: dict[int, float],
    centres: dict[int, FloatArray],
    room: float,
) -> tuple[dict[Base, PackedBase], dict[int, FloatArray]]:
    """Return base matrices from which kernels follow, and the kernels with none.

    Kernels with a centre are not regenerated either: in float32 it is too late for it.
    """
    bases = {i: evaluation.base_of(i) for i in units if i not in centres}
    names = dict.fromkeys(base for base in bases.values() if base is not None)
    others = {i: unit for i, unit in units.items() if bases.get(i) is None}
    n_matrices = len(names) + len(others)
    if n_matrices > room:
        one = 4 * packed_size(evaluation.n_samples) / 2**20
        raise MemoryError(
            f"{len(units)} kernels on {evaluation.n_samples} rows need "
            f"{n_matrices * one:.1f} MiB: {len(names)} base matrices from which others "
            f"are regenerated, and {len(others)} kernels that must be stored; "
            f"max_memory leaves room for {int(room)} of these {n_matrices}. Raise "
            "max_memory, or cluster a sample of the rows and predict the others."
        )
    return evaluation.packed_bases(names), evaluation.packed(others, centres)
