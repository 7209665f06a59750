"""The transitive closure of pairs, kept by component, and its scores."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints._canonical import read_only
from linkwise.constraints._conflicts import WeightedPairs
from linkwise.constraints._entailed import BottleneckReach, ProductReach, Reach
from linkwise.constraints._graphs import (
    must_link_components,
    own_and_opposite,
    ranked,
    sides,
)
from linkwise.constraints._jit import count_equal_pairs

EntailedWeight = Literal["bottleneck", "product"]


class EntailedPairs(NamedTuple):
    """Pairs of points with their weights.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Points, first < second, rows sorted.
    weights : ndarray of shape (n_pairs,)
        One positive weight per pair.
    """

    pairs: IntArray
    weights: FloatArray


class _ScorePlan(NamedTuple):
    """What the compiled loop needs of the components that take part in a pair."""

    points: IntArray  # (m,), grouped by component
    indptr: IntArray  # (g' + 1,)
    cl_indptr: IntArray  # (g' + 1,), each cannot-linked pair of components once
    cl_indices: IntArray


@dataclass(frozen=True, eq=False)
class Closure:
    """Everything that follows from a consistent set of pairs.

    Points tied by must-links form components. Every pair inside a component is an
    entailed must-link; every pair between two components joined by a cannot-link is
    an entailed cannot-link. They are kept by component and listed only on demand.
    Made by :meth:`linkwise.Constraints.closure`.

    Attributes
    ----------
    n_samples : int
        Number of points.
    component : ndarray of shape (n_samples,)
        Component of each point. Components are numbered by size, largest first,
        then by smallest member; a point without must-link is a component of one.
    size : ndarray of shape (n_components,)
        Number of points of each component.
    indptr, members : ndarray of shape (n_components + 1,) and (n_samples,)
        Points of component g, ascending: ``members[indptr[g]:indptr[g + 1]]``.
    cannot_link : ndarray of shape (p, 2)
        Component pairs joined by a cannot-link, first < second, unique, sorted.
    n_must_link, n_cannot_link : int
        Number of entailed pairs of points.
    weight : {"bottleneck", "product"}
        Rule for the weight of an entailed pair.

    Examples
    --------
    >>> from linkwise.constraints import Constraints
    >>> pairs = Constraints(must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(2, 3)])
    >>> closure = pairs.closure(n_samples=6)
    >>> closure.component
    array([0, 0, 0, 1, 1, 2])
    >>> closure.n_must_link, closure.n_cannot_link
    (4, 6)
    >>> closure.score([0, 0, 0, 1, 1, 1])
    1.0
    """

    n_samples: int
    component: IntArray
    size: IntArray
    indptr: IntArray
    members: IntArray
    cannot_link: IntArray
    n_must_link: int
    n_cannot_link: int
    weight: EntailedWeight
    _given: WeightedPairs = field(repr=False)

    @property
    def n_components(self) -> int:
        """Number of components, single points included."""
        return len(self.size)

    @cached_property
    def n_linked(self) -> int:
        """Number of components of two or more points; they come first."""
        return int(np.count_nonzero(self.size > 1))

    @cached_property
    def linked(self) -> IntArray:
        """Component of each point that has a must-link, else -1, shape (n_samples,)."""
        return _linked(self.component)

    def groups(self, n_clusters: int) -> IntArray:
        """Return the group of each point that must share a cluster, shape (n_samples,).

        These are the components; with two clusters, also what cannot-links say: two
        points that cannot join a third are in the other cluster, together. Cannot-links
        that no two clusters satisfy say nothing.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.

        Returns
        -------
        ndarray of shape (n_samples,)
            Groups of two or more points, numbered like components; -1 for points
            without a group.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> closure = Constraints(cannot_link=[(0, 1), (1, 2)]).closure(n_samples=4)
        >>> closure.groups(n_clusters=2)
        array([ 0, -1,  0, -1])
        """
        if n_clusters != 2:
            return self.linked
        side = sides(self.cannot_link, self.n_components)
        return _linked(ranked(side[self.component]))

    @cached_property
    def has_two_sides(self) -> bool:
        """Whether two clusters can satisfy all cannot-links."""
        own, opposite = own_and_opposite(self.cannot_link, self.n_components)
        return not bool((own == opposite).any())

    @cached_property
    def tier(self) -> IntArray:
        """Rank of each component as a seed, shape (n_components,).

        0 for several points, 1 for a single point with a cannot-link, 2 for others.
        """
        single = np.where(self.has_cannot_link, 1, 2)
        return read_only(np.where(self.size > 1, 0, single))

    @cached_property
    def is_single(self) -> IntArray:
        """1 for components of a single point, 0 for others, shape (n_components,)."""
        return read_only(np.where(self.size > 1, 0, 1))

    @cached_property
    def has_cannot_link(self) -> BoolArray:
        """Whether a cannot-link touches the component, shape (n_components,)."""
        touched = np.zeros(self.n_components, dtype=bool)
        touched[self.cannot_link.ravel()] = True
        return read_only(touched)

    @cached_property
    def is_unit(self) -> bool:
        """Whether all entailed pairs weigh the same."""
        common = self._common_weights
        return common is not None and common[0] == common[1]

    @cached_property
    def _common_weights(self) -> tuple[float, float] | None:
        """The one weight of entailed must-links and that of cannot-links, if any.

        With one weight per kind, scores follow from counts. A cannot-link carried
        along must-links must not lose weight on the way.
        """
        must, cannot = self._given.must_link_weight, self._given.cannot_link_weight
        if (must != must[:1]).any() or (cannot != cannot[:1]).any():
            return None
        must_weight = float(must[0]) if len(must) else None
        cannot_weight = float(cannot[0]) if len(cannot) else None
        if must_weight is None:
            return cannot_weight or 1.0, cannot_weight or 1.0
        if self.weight == "product" and must_weight != 1:
            return None
        if cannot_weight is None:
            return must_weight, must_weight
        return (must_weight, cannot_weight) if cannot_weight <= must_weight else None

    @cached_property
    def cannot_link_weight(self) -> FloatArray:
        """Total weight of the entailed cannot-links of each pair, shape (p,)."""
        first, second = self.cannot_link.T
        if self._common_weights is not None:
            total = self._common_weights[1] * (self.size[first] * self.size[second])
        else:
            total = np.array([block.sum() for block in self._cannot_link_blocks()])
        return read_only(total.astype(np.float64))

    @cached_property
    def cl_indptr(self) -> IntArray:
        """Row pointers of the cannot-link graph, shape (n_components + 1,)."""
        return self._adjacency[0]

    @cached_property
    def cl_indices(self) -> IntArray:
        """Neighbours of each component in the cannot-link graph, shape (2 p,)."""
        return self._adjacency[1]

    @cached_property
    def cl_weights(self) -> FloatArray:
        """Total weight to each neighbour, shape (2 p,)."""
        return read_only(self.cannot_link_weight[self._adjacency[2]])

    @cached_property
    def _adjacency(self) -> tuple[IntArray, IntArray, IntArray]:
        """Symmetric CSR: row pointers, neighbours (sorted), row of cannot_link."""
        row = np.concatenate([self.cannot_link[:, 0], self.cannot_link[:, 1]])
        col = np.concatenate([self.cannot_link[:, 1], self.cannot_link[:, 0]])
        order = np.lexsort((col, row))
        source = np.tile(np.arange(len(self.cannot_link)), 2)[order]
        indptr = _row_pointers(row, self.n_components)
        return indptr, read_only(col[order]), read_only(source)

    # Entailed pairs of points, on demand -------------------------------------

    def must_link_pairs(self) -> EntailedPairs:
        """Return the entailed must-links.

        Returns
        -------
        EntailedPairs
            ``pairs`` (n_must_link, 2) and ``weights`` (n_must_link,).
        """
        return self._must_link_pairs

    def cannot_link_pairs(self) -> EntailedPairs:
        """Return the entailed cannot-links.

        Returns
        -------
        EntailedPairs
            ``pairs`` (n_cannot_link, 2) and ``weights`` (n_cannot_link,).
        """
        return self._cannot_link_pairs

    @cached_property
    def _must_link_pairs(self) -> EntailedPairs:
        n_linked_points = int(self.indptr[self.n_linked])
        place = np.arange(n_linked_points)
        end = self.indptr[self.component[self.members[:n_linked_points]] + 1]
        first, second = _ranges(place, place + 1, end)
        pairs = np.stack([self.members[first], self.members[second]], axis=1)
        if self._common_weights is not None:
            weights = np.full(len(pairs), self._common_weights[0])
        else:
            rows = [
                self._reach.from_point(point)[row + 1 :]
                for point, row in zip(
                    self.members[:n_linked_points].tolist(),
                    (place - self.indptr[self.component[self.members[place]]]).tolist(),
                    strict=True,
                )
            ]
            weights = np.concatenate([np.empty(0), *rows])
        return _sorted_pairs(pairs, weights)

    @cached_property
    def _cannot_link_pairs(self) -> EntailedPairs:
        left, right = self.cannot_link.T
        n_pairs = self.size[left] * self.size[right]
        block = np.repeat(np.arange(len(n_pairs)), n_pairs)
        inner = np.arange(len(block)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
        width = self.size[right][block]
        first = self.members[self.indptr[left[block]] + inner // width]
        second = self.members[self.indptr[right[block]] + inner % width]
        pairs = np.stack([first, second], axis=1)
        pairs.sort(axis=1)
        if self._common_weights is not None:
            weights = np.full(len(pairs), self._common_weights[1])
        else:
            blocks = [b.ravel() for b in self._cannot_link_blocks()]
            weights = np.concatenate([np.empty(0), *blocks])
        return _sorted_pairs(pairs, weights)

    @cached_property
    def _reach(self) -> Reach:
        must_link, _, weights, _ = self._given
        if self.weight == "bottleneck":
            return BottleneckReach(must_link, weights, self.n_samples)
        return ProductReach(
            must_link, weights, self.component, self.indptr, self.members
        )

    def _cannot_link_blocks(self) -> list[FloatArray]:
        """Return the entailed weights (n_g, n_h) of each row of ``cannot_link``."""
        weaken = np.minimum if self.weight == "bottleneck" else np.multiply
        first, second = self.cannot_link.T
        blocks = [
            np.zeros((self.size[g], self.size[h]))
            for g, h in zip(first.tolist(), second.tolist(), strict=True)
        ]
        which, flipped = _component_pairs(
            self.component[self._given.cannot_link], self.cannot_link, self.n_components
        )
        for (a, b), w, block, flip in zip(
            self._given.cannot_link.tolist(),
            self._given.cannot_link_weight.tolist(),
            which.tolist(),
            flipped.tolist(),
            strict=True,
        ):
            a, b = (b, a) if flip else (a, b)
            from_a = weaken(self._reach.from_point(a), w)
            carried = weaken.outer(from_a, self._reach.from_point(b))
            np.maximum(blocks[block], carried, out=blocks[block])
        return blocks

    # Scores of a partition ---------------------------------------------------

    def score(self, labels: npt.ArrayLike) -> float:
        """Return the share of the entailed weight that a partition satisfies.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each point, 0 or larger.

        Returns
        -------
        float
            In [0, 1]; 1 if every pair is satisfied. NaN if there are no pairs:
            then there is nothing to satisfy.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(0, 3)])
        >>> pairs.closure(5).score([0, 0, 1, 1, 1])
        0.6
        """
        must, cannot, must_total, cannot_total = self._satisfied(labels)
        total = must_total + cannot_total
        return (must + cannot) / total if total else np.nan

    def balanced_score(self, labels: npt.ArrayLike) -> float:
        """Return the mean of the satisfied shares of must-links and cannot-links.

        With many clusters most entailed pairs are cannot-links and rule ``score``;
        here both kinds count the same. A kind without pairs is left out.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each point, 0 or larger.

        Returns
        -------
        float
            In [0, 1]; NaN if there are no pairs.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(0, 3)])
        >>> round(pairs.closure(5).balanced_score([0, 0, 1, 1, 1]), 6)
        0.583333
        """
        must, cannot, must_total, cannot_total = self._satisfied(labels)
        shares = [
            satisfied / total
            for satisfied, total in ((must, must_total), (cannot, cannot_total))
            if total
        ]
        return sum(shares) / len(shares) if shares else np.nan

    def n_violated(self, labels: npt.ArrayLike) -> int:
        """Return how many entailed pairs a partition violates.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each point, 0 or larger.

        Returns
        -------
        int
            Number of pairs, whatever their weights.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(0, 1), (1, 2)]).closure(3).n_violated([0, 0, 1])
        2
        """
        together, clashes = self._count_equal(labels)
        return self.n_must_link - together + clashes

    def _satisfied(self, labels: npt.ArrayLike) -> tuple[float, float, float, float]:
        """Return satisfied must-link and cannot-link weight, then both totals."""
        common = self._common_weights
        if common is not None:
            together, clashes = self._count_equal(labels)
            # Only the ratio matters, and equal weights then give exact fractions.
            ratio = common[1] / common[0]
            apart = self.n_cannot_link - clashes
            return together, ratio * apart, self.n_must_link, ratio * self.n_cannot_link
        checked = as_labels(labels, self.n_samples)
        (must, must_weight), (cannot, cannot_weight) = self._listed
        same = checked[must[0]] == checked[must[1]]
        different = checked[cannot[0]] != checked[cannot[1]]
        must_total, cannot_total = self._totals
        # Sums of the same shape as the totals, so that all satisfied gives exactly 1.
        return (
            float((must_weight * same).sum()),
            float((cannot_weight * different).sum()),
            must_total,
            cannot_total,
        )

    @cached_property
    def _listed(self) -> tuple[tuple[IntArray, FloatArray], ...]:
        """Entailed pairs as contiguous (2, n_pairs) arrays, with weights."""
        both = (self.must_link_pairs(), self.cannot_link_pairs())
        return tuple((np.ascontiguousarray(p.T), w) for p, w in both)

    @cached_property
    def _totals(self) -> tuple[float, float]:
        (_, must_weight), (_, cannot_weight) = self._listed
        return float(must_weight.sum()), float(cannot_weight.sum())

    def _count_equal(self, labels: npt.ArrayLike) -> tuple[int, int]:
        """Return the entailed must-link and cannot-link pairs with equal labels."""
        if (
            isinstance(labels, np.ndarray)
            and labels.dtype == np.intp
            and labels.shape == (self.n_samples,)
        ):
            # As our own clusterings give them: this is called very often.
            counts = count_equal_pairs(labels, *self._score_plan)
            if counts[0] >= 0:
                return counts
        return count_equal_pairs(as_labels(labels, self.n_samples), *self._score_plan)

    @cached_property
    def _score_plan(self) -> _ScorePlan:
        active = np.flatnonzero((self.size > 1) | self.has_cannot_link)
        compact = np.zeros(self.n_components, dtype=np.intp)
        compact[active] = np.arange(len(active))
        _, place = _ranges(active, self.indptr[active], self.indptr[active + 1])
        cl = compact[self.cannot_link]
        indptr = np.concatenate([[0], np.cumsum(self.size[active])])
        return _ScorePlan(
            read_only(self.members[place]),
            read_only(indptr.astype(np.intp)),
            _row_pointers(cl[:, 0], len(active)),
            read_only(np.ascontiguousarray(cl[:, 1])),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; arrays come back writeable and are locked again."""
        for value in (*state.values(), *state["_given"]):
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: what is cached can be made again."""
        names = self.__dataclass_fields__
        return {name: self.__dict__[name] for name in names}


def build_closure(
    given: WeightedPairs, n_samples: int, weight: EntailedWeight
) -> Closure:
    """Return the closure of consistent pairs."""
    if weight == "product":
        weights = np.concatenate([given.must_link_weight, given.cannot_link_weight])
        heaviest = weights.max(initial=0)
        if heaviest > 1:
            raise ValueError(
                f'weight="product" needs weights in (0, 1], got {heaviest}: a product '
                f'of larger ones would grow along a path. Use weight="bottleneck".'
            )
    component = must_link_components(given.must_link, n_samples)
    size = np.bincount(component)
    indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.intp)
    joined = np.sort(component[given.cannot_link], axis=1)
    cannot_link = np.unique(joined, axis=0).astype(np.intp).reshape(-1, 2)
    first, second = cannot_link.T
    return Closure(
        n_samples=n_samples,
        component=read_only(component),
        size=read_only(size),
        indptr=read_only(indptr),
        members=read_only(np.argsort(component, kind="stable")),
        cannot_link=read_only(cannot_link),
        n_must_link=int((size * (size - 1) // 2).sum()),
        n_cannot_link=int((size[first] * size[second]).sum()),
        weight=weight,
        _given=given,
    )


def as_labels(labels: npt.ArrayLike, n_samples: int) -> IntArray:
    """Return checked labels as intp, shape (n_samples,)."""
    array = np.asarray(labels)
    if array.shape != (n_samples,):
        raise ValueError(
            f"labels has shape {array.shape}: one label for each of the {n_samples} "
            f"samples is needed, shape ({n_samples},)."
        )
    if array.dtype.kind not in "iu":
        raise ValueError(f"labels must be integers, got dtype {array.dtype}.")
    if array.size and array.min() < 0:
        row = int(np.argmin(array))
        raise ValueError(
            f"labels[{row}] = {array[row]}: a cluster label must be 0 or larger."
        )
    if array.size and array.max() > n_samples:
        # Wild values would make histograms of labels long.
        array = np.unique(array, return_inverse=True)[1]
    return array.astype(np.intp, copy=False)


def _linked(component: IntArray) -> IntArray:
    """Return components of two or more points, -1 for single points."""
    size = np.bincount(component)
    return read_only(np.where(size[component] > 1, component, -1))


def _row_pointers(rows: IntArray, n_rows: int) -> IntArray:
    """Return CSR row pointers, shape (n_rows + 1,), for entries of these rows."""
    counts = np.bincount(rows, minlength=n_rows)
    return read_only(np.concatenate([[0], np.cumsum(counts)]).astype(np.intp))


def _ranges(key: IntArray, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return (key repeated, value) over all values of all ranges start..end-1."""
    length = end - start
    offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(key, length), np.repeat(start, length) + offset


def _sorted_pairs(pairs: IntArray, weights: FloatArray) -> EntailedPairs:
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return EntailedPairs(read_only(pairs[order]), read_only(weights[order]))


def _component_pairs(
    ends: IntArray, pairs: IntArray, n_components: int
) -> tuple[IntArray, BoolArray]:
    """Return the row of ``pairs`` each end pair falls in, and whether it is turned."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = pairs[:, 0] * n_components + pairs[:, 1]
    return np.searchsorted(keys, low * n_components + high), ends[:, 0] != low
