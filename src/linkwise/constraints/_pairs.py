"""Must-link and cannot-link pairs: the object that all layers share."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from linkwise._typing import BoolArray, FloatArray, IntArray
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
from linkwise.constraints._closure import (
    Closure,
    EntailedWeight,
    as_labels,
    build_closure,
)
from linkwise.constraints._conflicts import (
    Conflict,
    WeightedPairs,
    conflicting,
    consistent,
    explain,
    raise_inconsistent,
)
from linkwise.constraints._feasibility import (
    Feasibility,
    FeasibleRange,
    feasibility,
    feasible_range,
)
from linkwise.constraints._files import read_csv, write_csv
from linkwise.constraints._graphs import must_link_components
from linkwise.constraints._ids import (
    OnUnknown,
    check_on_unknown,
    locate_pairs,
    positions_by_id,
)
from linkwise.constraints._matrix import signed_entries
from linkwise.constraints._restrict import entailed_inside, row_numbers
from linkwise.constraints._sampling import draw_pairs, label_codes, spanning_pairs
from linkwise.constraints._tables import (
    CANNOT_LINK,
    COLUMNS,
    MUST_LINK,
    parse_rows,
    table_rows,
)

if TYPE_CHECKING:
    import pandas as pd

_ARRAYS = ("must_link", "cannot_link", "must_link_weight", "cannot_link_weight")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Constraints:
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

    # Ways to make them -------------------------------------------------------

    @classmethod
    def from_labels(cls, y: npt.ArrayLike, unknown: Any = -1) -> "Constraints":
        """Make pairs from partial labels.

        Only as many pairs are made as the labels need: the points of a class are
        chained by must-links, and one cannot-link joins each two classes. The
        closure entails all the others.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class of each row: whole numbers or names.
        unknown : object, default=-1
            Marks rows without a label. NaN and None always do.

        Returns
        -------
        Constraints
            Pairs of weight 1.

        Examples
        --------
        >>> pairs = Constraints.from_labels([0, 1, -1, 0, 0, 1])
        >>> pairs.must_link.tolist(), pairs.cannot_link.tolist()
        ([[0, 3], [1, 5], [3, 4]], [[0, 1]])
        """
        codes = label_codes(y, unknown)
        return cls(*spanning_pairs(codes), n_samples=len(codes))

    @classmethod
    def from_matrix(cls, matrix: Any) -> "Constraints":
        """Make pairs from a signed matrix.

        Parameters
        ----------
        matrix : sparse or dense matrix of shape (n_samples, n_samples)
            A positive entry is a must-link, a negative one a cannot-link, its size
            the weight. Symmetric or triangular. If (i, j) and (j, i) differ in sign
            both are kept, and :meth:`conflicts` reports them.

        Returns
        -------
        Constraints
            The pairs of the non-zero entries.

        Examples
        --------
        >>> pairs = Constraints.from_matrix([[0, 2, 0], [0, 0, -1], [0, 0, 0]])
        >>> pairs.must_link.tolist(), pairs.must_link_weight.tolist()
        ([[0, 1]], [2.0])
        >>> pairs.cannot_link.tolist()
        [[1, 2]]
        """
        pairs, values = signed_entries(matrix)
        is_matrix = hasattr(matrix, "shape")
        must, cannot = values > 0, values < 0
        parts = pairs[must], pairs[cannot], values[must], -values[cannot]
        return cls(*parts, n_samples=matrix.shape[0] if is_matrix else len(matrix))

    @classmethod
    def from_table(
        cls,
        table: Any,
        ids: Iterable[Any] | None = None,
        on_unknown: OnUnknown = "raise",
    ) -> "Constraints":
        """Make pairs from a table.

        Parameters
        ----------
        table : DataFrame, dict of columns or list of tuples
            Columns ``i``, ``j``, ``kind`` and, if wanted, ``weight``. The kind is
            "must-link" or "cannot-link"; "ML", "must_link", 1, "CL", "cannot_link"
            and -1 are understood too.
        ids : sequence of shape (n_samples,) or None, default=None
            Id of each row of the data. Then ``i`` and ``j`` are ids. Without it,
            numbers are positions, and names make named pairs.
        on_unknown : {"raise", "drop"}, default="raise"
            What to do with a pair whose id is not in ``ids``.

        Returns
        -------
        Constraints
            The pairs of the table.

        Examples
        --------
        >>> rows = [("ann", "bob", "must-link"), ("bob", "eve", "cannot-link")]
        >>> Constraints.from_table(rows, ids=["ann", "bob", "eve"]).cannot_link
        array([[1, 2]])
        """
        ids = None if ids is None else list(ids)
        found = parse_rows(table_rows(table), ids, on_unknown)
        return cls(*found, n_samples=None if ids is None else len(ids))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        ids: Iterable[Any] | None = None,
        on_unknown: OnUnknown = "raise",
        delimiter: str = ",",
        encoding: str = "utf-8-sig",
    ) -> "Constraints":
        """Read pairs from a CSV file with the columns of :meth:`from_table`.

        Parameters
        ----------
        path : str or path
            The file; its first line names the columns.
        ids : sequence of shape (n_samples,) or None, default=None
            Id of each row of the data. Without it, a file of nothing but whole
            numbers holds positions, any other holds names.
        on_unknown : {"raise", "drop"}, default="raise"
            What to do with a pair whose id is not in ``ids``.
        delimiter : str, default=","
            Character between the fields.
        encoding : str, default="utf-8-sig"
            Encoding of the text: UTF-8, with or without a mark at the beginning.

        Returns
        -------
        Constraints
            The pairs of the file.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "pairs.csv"
        ...     Constraints([(0, 1)]).to_csv(path)
        ...     Constraints.from_csv(path)
        Constraints(n_must_link=1, n_cannot_link=0)
        """
        ids = None if ids is None else list(ids)
        found = read_csv(path, ids, on_unknown, delimiter, encoding)
        return cls(*found, n_samples=None if ids is None else len(ids))

    @classmethod
    def sample(
        cls,
        labels: npt.ArrayLike,
        n_pairs: int,
        random_state: Any = None,
        rows: npt.ArrayLike | None = None,
    ) -> "Constraints":
        """Draw pairs at random and take their kinds from known labels.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            True class of each row.
        n_pairs : int
            Number of pairs, drawn uniformly without replacement. For one seed, the
            pairs of a smaller draw are among those of a larger.
        random_state : int, numpy Generator or None, default=None
            Seed of the draw.
        rows : array-like of int or bool, or None, default=None
            Rows that pairs may join; None is all.

        Returns
        -------
        Constraints
            ``n_pairs`` pairs of weight 1.

        Examples
        --------
        >>> Constraints.sample([0, 0, 1, 1], n_pairs=6, random_state=0)
        Constraints(n_must_link=2, n_cannot_link=4)
        """
        codes = label_codes(labels, unknown=None)
        inside = np.arange(len(codes)) if rows is None else row_numbers(rows)
        if len(inside) and inside.max() >= len(codes):
            raise ValueError(
                f"rows holds {inside.max()}, but there are {len(codes)} labels."
            )
        unlabelled = inside[codes[inside] < 0]
        if len(unlabelled):
            raise ValueError(
                f"labels[{unlabelled[0]}] is missing: pass the labelled rows as rows."
            )
        rng = np.random.default_rng(random_state)
        pairs = inside[draw_pairs(len(inside), n_pairs, rng)]
        same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        return cls(pairs[same], pairs[~same], n_samples=len(codes))

    # Ways out ----------------------------------------------------------------

    def to_table(self) -> "pd.DataFrame":
        """Return the pairs as a data frame with columns i, j, kind and weight.

        Returns
        -------
        pandas.DataFrame
            Must-links first; :meth:`from_table` gives the same object back.

        Examples
        --------
        >>> Constraints([(0, 1)], [(1, 2)], 1, 0.5).to_table()
           i  j         kind  weight
        0  0  1    must-link     1.0
        1  1  2  cannot-link     0.5
        """
        import pandas as pd

        columns = zip(*self._rows(), strict=True)
        table = pd.DataFrame(dict(zip(COLUMNS, columns, strict=False)), columns=COLUMNS)
        dtype = object if self.is_named else np.intp
        return table.astype({"i": dtype, "j": dtype, "kind": object, "weight": float})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs to a CSV file that :meth:`from_csv` reads back exactly.

        The file is replaced as a whole: a crash leaves the old one. Names that look
        like whole numbers come back as positions unless ``ids`` are passed.

        Parameters
        ----------
        path : str or path
            The file to write.

        Examples
        --------
        See :meth:`from_csv`.
        """
        write_csv(path, self._rows())

    def _rows(self) -> list[tuple[Any, Any, str, float]]:
        kinds = (
            (MUST_LINK, self.must_link, self.must_link_weight),
            (CANNOT_LINK, self.cannot_link, self.cannot_link_weight),
        )
        return [
            (i, j, kind, weight)
            for kind, pairs, weights in kinds
            for (i, j), weight in zip(pairs.tolist(), weights.tolist(), strict=True)
        ]

    # Other points, other pairs -----------------------------------------------

    def locate(
        self, ids: Iterable[Any], on_unknown: OnUnknown = "raise"
    ) -> "Constraints":
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

    def restrict(self, rows: npt.ArrayLike, *, closed: bool = False) -> "Constraints":
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

    def _entailed_on(self, rows: IntArray) -> "Constraints":
        """Return pairs among the rows that entail what these do, same positions."""
        given = self._positions("restrict")
        self.check_consistent()
        n_points = max(given.n_points, int(rows.max(initial=-1)) + 1)
        return Constraints(*entailed_inside(given, rows, n_points))

    def _moved(
        self, must_link: IntArray, cannot_link: IntArray, n_samples: int
    ) -> "Constraints":
        """Return pairs under new indices; those with a negative end are dropped."""
        must, cannot = (must_link >= 0).all(axis=1), (cannot_link >= 0).all(axis=1)
        return Constraints(
            must_link[must],
            cannot_link[cannot],
            self.must_link_weight[must],
            self.cannot_link_weight[cannot],
            n_samples,
        )

    def subset(
        self, must_link_mask: npt.ArrayLike, cannot_link_mask: npt.ArrayLike
    ) -> "Constraints":
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
        return Constraints(
            self.must_link[must],
            self.cannot_link[cannot],
            self.must_link_weight[must],
            self.cannot_link_weight[cannot],
            self.n_samples,
        )

    def merge(self, other: "Constraints") -> "Constraints":
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
        return Constraints(**arrays, n_samples=next(iter(sizes), None))

    __or__ = merge

    # What follows from them --------------------------------------------------

    def check_range(self, n_samples: int) -> None:
        """Raise ``ValueError`` if a pair points outside the data.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.

        Examples
        --------
        >>> Constraints([(0, 9)]).check_range(10)
        """
        self._positions("check_range")
        for name in ("must_link", "cannot_link"):
            pairs = getattr(self, name)
            outside = np.flatnonzero((pairs >= n_samples).any(axis=1))
            if len(outside):
                row = int(outside[0])
                raise ValueError(
                    f"{name}[{row}] = {tuple(pairs[row].tolist())} points outside the "
                    f"data: indices must be in [0, {n_samples})."
                )

    def components(self, n_samples: int) -> IntArray:
        """Return the must-link component of each sample.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Components are numbered by size, largest first, then by smallest member.

        Examples
        --------
        >>> Constraints([(2, 3), (3, 4), (0, 1)]).components(6)
        array([1, 1, 0, 0, 0, 2])
        """
        self.check_range(n_samples)
        return must_link_components(self.must_link, n_samples)

    @property
    def n_conflicts(self) -> int:
        """Number of cannot-links that contradict must-links."""
        return int(conflicting(self._positions("n_conflicts")).sum())

    def conflicts(self, limit: int | None = None) -> list[Conflict]:
        """Return every cannot-link that contradicts must-links, with a path.

        Parameters
        ----------
        limit : int, optional
            Number of contradictions to explain at the most: of many, finding a path for
            each takes long.

        Returns
        -------
        list of Conflict
            In the order of ``cannot_link``; empty if the pairs are consistent.

        Examples
        --------
        >>> print(*Constraints([(0, 1), (1, 2)], [(0, 2)]).conflicts())
        cannot-link (0, 2) contradicts must-links 0-1-2
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit={limit!r}: must be None or at least 0.")
        given = self._positions("conflicts")
        return explain(given, np.flatnonzero(conflicting(given))[:limit])

    def drop_conflicts(self) -> "Constraints":
        """Return consistent pairs: of each contradiction the lighter pair goes.

        A cannot-link stands against the weakest must-link of the strongest path
        between its ends; if they weigh the same the cannot-link goes. Contradictions
        are settled by falling weight, so a pair is dropped only for the sake of
        pairs that stay.

        Returns
        -------
        Constraints
            The pairs kept; the object itself if nothing contradicts.

        Examples
        --------
        >>> pairs = Constraints([(0, 1), (1, 2)], [(0, 2)], [3, 1], [2])
        >>> pairs.drop_conflicts().must_link.tolist()
        [[0, 1]]
        """
        given = self._positions("drop_conflicts")
        if not conflicting(given).any():
            return self
        return self.subset(*consistent(given))

    def closure(
        self,
        n_samples: int,
        on_conflict: Literal["raise", "drop"] = "raise",
        weight: EntailedWeight = "bottleneck",
    ) -> Closure:
        """Return everything that follows from the pairs.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.
        on_conflict : {"raise", "drop"}, default="raise"
            Whether contradictions raise ``InconsistentConstraintsError`` or are
            settled by :meth:`drop_conflicts`.
        weight : {"bottleneck", "product"}, default="bottleneck"
            Weight of an entailed pair: the smallest on the best path, or, for
            weights in (0, 1], the largest product along a path.

        Returns
        -------
        Closure
            Computed once per set of arguments and kept.

        Examples
        --------
        >>> Constraints([(0, 1), (1, 2)], [(2, 3)]).closure(4).n_cannot_link
        3
        """
        key = (int(n_samples), on_conflict, weight)
        cache: dict[tuple[int, str, str], Closure] = self.__dict__["_closures"]
        if key not in cache:
            _check_choice("on_conflict", on_conflict, ("raise", "drop"))
            _check_choice("weight", weight, ("bottleneck", "product"))
            self.check_range(n_samples)
            if on_conflict == "raise":
                self.check_consistent()
                source = self
            else:
                source = self.drop_conflicts()
            given = source._positions("closure")
            cache[key] = build_closure(given, int(n_samples), weight)
        return cache[key]

    def score(self, labels: npt.ArrayLike, *, closed: bool = True) -> float:
        """Return the share of the weight that a partition satisfies.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each row, 0 or larger.
        closed : bool, default=True
            Whether to count all entailed pairs or only those given.

        Returns
        -------
        float
            In [0, 1]; NaN without pairs.

        Examples
        --------
        >>> pairs = Constraints([(0, 1), (1, 2)], [(2, 3)])
        >>> pairs.score([0, 0, 1, 1]), pairs.score([0, 0, 1, 1], closed=False)
        (0.5, 0.3333333333333333)
        """
        if closed:
            return self.closure(len(np.asarray(labels))).score(labels)
        must, cannot = self.satisfied(labels)
        weight = np.concatenate([self.must_link_weight, self.cannot_link_weight])
        kept = np.concatenate([must, cannot])
        return float((weight * kept).sum() / weight.sum()) if len(weight) else np.nan

    def satisfied(self, labels: npt.ArrayLike) -> tuple[BoolArray, BoolArray]:
        """Return which of the given pairs a partition satisfies.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each row, 0 or larger.

        Returns
        -------
        must_link, cannot_link : ndarray of bool, (n_must_link,), (n_cannot_link,)
            One value per row of ``must_link`` and of ``cannot_link``.

        Examples
        --------
        >>> Constraints([(0, 1), (1, 2)], [(2, 3)]).satisfied([0, 0, 1, 1])
        (array([ True, False]), array([False]))
        """
        checked = as_labels(labels, len(np.asarray(labels)))
        self.check_range(len(checked))
        must, cannot = checked[self.must_link], checked[self.cannot_link]
        return must[:, 0] == must[:, 1], cannot[:, 0] != cannot[:, 1]

    def feasibility(
        self, n_clusters: int, n_samples: int, budget: int = 100_000
    ) -> Feasibility:
        """Return whether some partition into k clusters satisfies every pair.

        This is colouring of the cannot-link graph of the components, hard in
        general: DSATUR with backtracking stops after ``budget`` steps.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, none of them empty.
        n_samples : int
            Number of rows of the data.
        budget : int, default=100_000
            Nodes of the search after which the answer is "unknown".

        Returns
        -------
        Feasibility
            Status, a partition if one was found, and the reason.

        Examples
        --------
        >>> clique = Constraints(cannot_link=[(0, 1), (0, 2), (1, 2)])
        >>> clique.feasibility(n_clusters=2, n_samples=3).status
        'infeasible'
        >>> clique.feasibility(n_clusters=3, n_samples=3).colouring
        array([0, 1, 2])
        """
        if n_clusters < 1:
            raise ValueError(f"n_clusters = {n_clusters}: it must be at least 1.")
        self.check_range(n_samples)
        given = self._positions("feasibility")
        contradictory = np.flatnonzero(conflicting(given))
        if len(contradictory):
            conflict = explain(given, contradictory[:1])[0]
            return Feasibility("infeasible", None, f"{conflict}.")
        return feasibility(self.closure(n_samples), n_clusters, budget)

    def feasible_range(self, n_samples: int, budget: int = 100_000) -> FeasibleRange:
        """Return for how many clusters every pair can be satisfied.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.
        budget : int, default=100_000
            Nodes of the search for each number of clusters tried.

        Returns
        -------
        FeasibleRange
            Smallest and largest number, and whether the smallest is proven to be.

        Examples
        --------
        >>> Constraints([(3, 4)], [(0, 1), (0, 2), (1, 2)]).feasible_range(5)
        FeasibleRange(smallest=3, largest=4, is_tight=True)
        """
        if n_samples < 1:
            raise ValueError(f"n_samples = {n_samples}: it must be at least 1.")
        return feasible_range(self.closure(n_samples), budget)

    def _positions(self, method: str) -> WeightedPairs:
        """Return the arrays, or raise if they hold names."""
        if self.is_named:
            raise ValueError(
                f"{method} needs positions, but these pairs hold names: call "
                f".locate(ids) first, with the id of each row of the data."
            )
        return WeightedPairs(*(getattr(self, name) for name in _ARRAYS))

    def check_consistent(self, names: Sequence[Any] | None = None) -> None:
        """Raise ``InconsistentConstraintsError`` if pairs contradict each other.

        Parameters
        ----------
        names : sequence of shape (n_samples,), optional
            Ids by which the error calls points, if not by positions.

        Examples
        --------
        >>> Constraints([(0, 1)], [(1, 2)]).check_consistent()
        """
        given = self._positions("check_consistent")
        is_conflict = conflicting(given)
        if is_conflict.any():
            raise_inconsistent(given, is_conflict, names)


def _check_no_self_cannot_link(cannot_link: IntArray, names: list[Any] | None) -> None:
    loops = np.flatnonzero(cannot_link[:, 0] == cannot_link[:, 1])
    if len(loops):
        row = int(loops[0])
        point = cannot_link[row, 0].item()
        shown = point if names is None else names[point]
        raise ValueError(
            f"cannot_link[{row}] = {(shown, shown)} joins a point to itself."
        )


def _check_choice(name: str, value: str, allowed: tuple[str, str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")
