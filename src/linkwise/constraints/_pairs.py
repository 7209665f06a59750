"""Must-link and cannot-link pairs: the object that all layers share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints._canonical import (
    Pairs,
    PairsLike,
    WeightsLike,
    as_pairs,
    as_weights,
    decode_names,
    encode_names,
    merge_duplicates,
    read_only,
    sorted_names,
)
from linkwise.constraints._ids import (
    OnUnknown,
    check_on_unknown,
    locate_pairs,
    positions_by_id,
)
from linkwise.constraints._pair_consequences import PairConsequences
from linkwise.constraints._pair_forms import PairForms
from linkwise.constraints._restrict import entailed_inside, row_numbers

_ARRAYS = ("must_link", "cannot_link", "must_link_weight", "cannot_link_weight")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Constraints(PairForms, PairConsequences):
    """Must-link and cannot-link pairs between the points of a data set.

    Pairs are checked once, here, and never change afterwards. They are kept in
    canonical order: (j, i) is (i, j), a pair given twice keeps its larger weight, a
    must-link of a point with itself is dropped. So two objects made of the same
    pairs are equal, however the pairs were written.

    A pair holds positions (rows of the data, from 0), or names: strings or any other
    hashable ids. Named pairs are turned into positions by :meth:`locate`.

    The object has no length and no shape on purpose: scikit-learn slices whatever
    looks like one value per sample, and would cut a list of pairs in silence.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (n_pairs, 2), default=()
        Points that belong together, and points that do not. A pair may stand in
        both; :meth:`conflicts` finds such contradictions.
    must_link_weight, cannot_link_weight : array-like of shape (n_pairs,), \
float or None, default=None
        Positive weight of each pair, at most 1e100, or one for all. None is 1.
    n_samples : int or None, default=None
        Number of rows of the data that the pairs are for, if it is known: estimators
        then refuse data with another number of rows, such as a fold of a
        cross-validation. Pairs made of labels, a matrix or ids know it.

    Attributes
    ----------
    must_link, cannot_link : ndarray of shape (n_must_link, 2), (n_cannot_link, 2)
        Canonical pairs, read-only; dtype intp for positions, object for names.
    must_link_weight, cannot_link_weight : ndarray of float64
        Their weights, read-only.
    n_samples : int or None
        Number of rows of the data, if it is known; no part of a comparison.

    Examples
    --------
    >>> from linkwise.constraints import Constraints
    >>> pairs = Constraints(must_link=[(1, 0), (1, 2)], cannot_link=[(2, 3)])
    >>> pairs
    Constraints(n_must_link=2, n_cannot_link=1)
    >>> pairs.must_link
    array([[0, 1],
           [1, 2]])
    >>> pairs.score([0, 0, 0, 1])
    1.0
    """

    must_link: Pairs  # (m, 2)
    cannot_link: Pairs  # (c, 2)
    must_link_weight: FloatArray  # (m,)
    cannot_link_weight: FloatArray  # (c,)
    n_samples: int | None

    def __init__(
        self,
        must_link: PairsLike = (),
        cannot_link: PairsLike = (),
        must_link_weight: WeightsLike = None,
        cannot_link_weight: WeightsLike = None,
        n_samples: int | None = None,
    ) -> None:
        must = as_pairs(must_link, "must_link")
        cannot = as_pairs(cannot_link, "cannot_link")
        must_weight = as_weights(must_link_weight, len(must), "must_link_weight")
        cannot_weight = as_weights(
            cannot_link_weight, len(cannot), "cannot_link_weight"
        )
        names: list[Any] | None = None
        if must.dtype == object or cannot.dtype == object:
            (must, cannot), names = encode_names(must, cannot)
        _check_no_self_cannot_link(cannot, names)
        is_link = must[:, 0] != must[:, 1]
        must, must_weight = merge_duplicates(must[is_link], must_weight[is_link])
        cannot, cannot_weight = merge_duplicates(cannot, cannot_weight)
        if names is not None:
            must, cannot = decode_names(must, names), decode_names(cannot, names)
        values = (must, cannot, must_weight, cannot_weight)
        self.__setstate__(
            {**dict(zip(_ARRAYS, values, strict=True)), "n_samples": n_samples}
        )
        if n_samples is not None and names is None:
            self.check_range(n_samples)

    def __getstate__(self) -> dict[str, Any]:
        """Return what was given: closures can be computed again."""
        return {name: getattr(self, name) for name in (*_ARRAYS, "n_samples")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over canonical arrays and lock them."""
        for name in _ARRAYS:
            object.__setattr__(self, name, read_only(state[name]))
        object.__setattr__(self, "n_samples", state.get("n_samples"))
        object.__setattr__(self, "_closures", {})

    def __repr__(self) -> str:
        """Return the numbers of pairs."""
        kind = ", named" if self.is_named else ""
        kind += "" if self.is_unit else ", weighted"
        return (
            f"Constraints(n_must_link={self.n_must_link}, "
            f"n_cannot_link={self.n_cannot_link}{kind})"
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same pairs with the same weights."""
        if not isinstance(other, Constraints):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in _ARRAYS
        )

    def __hash__(self) -> int:
        """Return a hash of pairs and weights."""
        return hash(
            tuple(tuple(getattr(self, name).ravel().tolist()) for name in _ARRAYS)
        )

    # What is there -----------------------------------------------------------

    @property
    def n_must_link(self) -> int:
        """Number of must-links given."""
        return len(self.must_link)

    @property
    def n_cannot_link(self) -> int:
        """Number of cannot-links given."""
        return len(self.cannot_link)

    @property
    def is_empty(self) -> bool:
        """Whether there is no pair at all."""
        return self.n_must_link + self.n_cannot_link == 0

    @property
    def is_named(self) -> bool:
        """Whether pairs hold names rather than positions."""
        return self.must_link.dtype == object or self.cannot_link.dtype == object

    @property
    def is_unit(self) -> bool:
        """Whether all pairs weigh the same, so that scores follow from counts."""
        weights = np.concatenate([self.must_link_weight, self.cannot_link_weight])
        return bool((weights == weights[:1]).all())

    @property
    def points(self) -> npt.NDArray[Any]:
        """Points that take part in a pair, ascending, unique."""
        ends = np.concatenate([self.must_link.ravel(), self.cannot_link.ravel()])
        if not self.is_named:
            return np.unique(ends)
        names = sorted_names(ends.tolist())
        points = np.empty(len(names), dtype=object)
        points[:] = names
        return points

    # Other points, other pairs -----------------------------------------------

    def locate(self, ids: Iterable[Any], on_unknown: OnUnknown = "raise") -> Self:
        """Return the same pairs as positions in a list of ids.

        Parameters
        ----------
        ids : sequence of shape (n_samples,)
            Id of each row of the data, unique.
        on_unknown : {"raise", "drop"}, default="raise"
            What to do with a pair that holds another id. "drop" leaves out the
            pairs that leave a fold.

        Returns
        -------
        Constraints
            Pairs of positions.

        Examples
        --------
        >>> named = Constraints([("ann", "bob")], [("bob", "eve")])
        >>> named.locate(["eve", "bob"], on_unknown="drop").cannot_link
        array([[0, 1]])
        """
        check_on_unknown(on_unknown)
        positions = positions_by_id(ids)
        return self._moved(
            locate_pairs(self.must_link, positions, on_unknown, "must_link"),
            locate_pairs(self.cannot_link, positions, on_unknown, "cannot_link"),
            len(positions),
        )

    def restrict(self, rows: npt.ArrayLike, *, closed: bool = False) -> Self:
        """Return the pairs of ``data[rows]``, with positions in it.

        Parameters
        ----------
        rows : array-like of int or bool
            Rows to keep, in their new order, or a mask of the data.
        closed : bool, default=False
            Whether to keep what pairs entail. Must-links 0-1 and 1-2 entail 0-2:
            without row 1, True keeps 0-2 and False keeps nothing.

        Returns
        -------
        Constraints
            Pairs with both ends among the rows.

        Examples
        --------
        >>> pairs = Constraints([(0, 1), (1, 2)], [(2, 3)])
        >>> pairs.restrict([3, 2, 1]).must_link.tolist()
        [[1, 2]]
        >>> pairs.restrict([0, 2, 3], closed=True)
        Constraints(n_must_link=1, n_cannot_link=1)
        """
        given = self._positions("restrict")
        kept = row_numbers(rows, n_points=given.n_points)
        n_points = max(given.n_points, int(kept.max(initial=-1)) + 1)
        source = self._entailed_on(kept) if closed else self
        new = np.full(n_points, -1, dtype=np.intp)
        new[kept] = np.arange(len(kept))
        return source._moved(new[source.must_link], new[source.cannot_link], len(kept))

    def _entailed_on(self, rows: IntArray) -> Self:
        """Return pairs among the rows that entail what these do, same positions."""
        given = self._positions("restrict")
        self.check_consistent()
        n_points = max(given.n_points, int(rows.max(initial=-1)) + 1)
        return type(self)(*entailed_inside(given, rows, n_points))

    def _moved(
        self, must_link: IntArray, cannot_link: IntArray, n_samples: int
    ) -> Self:
        """Return pairs under new indices; those with a negative end are dropped."""
        must, cannot = (must_link >= 0).all(axis=1), (cannot_link >= 0).all(axis=1)
        return type(self)(
            must_link[must],
            cannot_link[cannot],
            self.must_link_weight[must],
            self.cannot_link_weight[cannot],
            n_samples,
        )

    def subset(
        self, must_link_mask: npt.ArrayLike, cannot_link_mask: npt.ArrayLike
    ) -> Self:
        """Return the chosen pairs.

        Parameters
        ----------
        must_link_mask, cannot_link_mask : array-like of bool or int
            Which rows of ``must_link`` and of ``cannot_link`` to keep.

        Returns
        -------
        Constraints
            The pairs kept.

        Examples
        --------
        >>> Constraints([(0, 1), (1, 2)], [(2, 3)]).subset([True, False], [False])
        Constraints(n_must_link=1, n_cannot_link=0)
        """
        must, cannot = (
            np.asarray(mask, dtype=np.intp) if np.size(mask) == 0 else np.asarray(mask)
            for mask in (must_link_mask, cannot_link_mask)
        )
        return type(self)(
            self.must_link[must],
            self.cannot_link[cannot],
            self.must_link_weight[must],
            self.cannot_link_weight[cannot],
            self.n_samples,
        )

    def merge(self, other: Self) -> Self:
        """Return the pairs of both; a pair in both keeps its larger weight.

        ``first | second`` does the same.

        Parameters
        ----------
        other : Constraints
            Pairs between the same points.

        Returns
        -------
        Constraints
            All pairs.

        Examples
        --------
        >>> Constraints([(0, 1)]) | Constraints([(1, 2)], [(2, 3)])
        Constraints(n_must_link=2, n_cannot_link=1)
        """
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        if self.is_named != other.is_named:
            raise ValueError(
                "Named pairs and positions cannot be merged: call .locate(ids) on the "
                "named ones first."
            )
        sizes = {self.n_samples, other.n_samples} - {None}
        if len(sizes) > 1:
            raise ValueError(
                f"Pairs for {self.n_samples} rows and pairs for {other.n_samples} rows "
                "cannot be merged."
            )
        arrays: Any = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in _ARRAYS
        }
        return type(self)(**arrays, n_samples=next(iter(sizes), None))

    __or__ = merge


def _check_no_self_cannot_link(cannot_link: IntArray, names: list[Any] | None) -> None:
    loops = np.flatnonzero(cannot_link[:, 0] == cannot_link[:, 1])
    if len(loops):
        row = int(loops[0])
        point = cannot_link[row, 0].item()
        shown = point if names is None else names[point]
        raise ValueError(
            f"cannot_link[{row}] = {(shown, shown)} joins a point to itself."
        )
