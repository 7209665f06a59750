"""Pairs in other forms: made of labels, matrices, tables and files, and written."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from linkwise._typing import FloatArray
from linkwise.constraints._canonical import Pairs, PairsLike, WeightsLike
from linkwise.constraints._files import read_csv, write_csv
from linkwise.constraints._ids import OnUnknown
from linkwise.constraints._matrix import signed_entries
from linkwise.constraints._restrict import row_numbers
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


class PairForms:
    """The part of ``Constraints`` that makes pairs of other things and writes them."""

    must_link: Pairs
    cannot_link: Pairs
    must_link_weight: FloatArray
    cannot_link_weight: FloatArray

    if TYPE_CHECKING:

        def __init__(
            self,
            must_link: PairsLike = (),
            cannot_link: PairsLike = (),
            must_link_weight: WeightsLike = None,
            cannot_link_weight: WeightsLike = None,
            n_samples: int | None = None,
        ) -> None: ...

        @property
        def is_named(self) -> bool: ...

    @classmethod
    def from_labels(cls, y: npt.ArrayLike, unknown: Any = -1) -> Self:
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
        >>> from linkwise.constraints import Constraints
        >>> pairs = Constraints.from_labels([0, 1, -1, 0, 0, 1])
        >>> pairs.must_link.tolist(), pairs.cannot_link.tolist()
        ([[0, 3], [1, 5], [3, 4]], [[0, 1]])
        """
        codes = label_codes(y, unknown)
        return cls(*spanning_pairs(codes), n_samples=len(codes))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
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
        >>> from linkwise.constraints import Constraints
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
    ) -> Self:
        """Make pairs from a table.

        Parameters
        ----------
        table : DataFrame, dict of columns or list of tuples
            Columns ``i``, ``j``, ``kind`` and, if wanted, ``weight``. The kind is
            "must-link" (also "ML", "same", "yes", true, 1) or "cannot-link" (also "CL",
            "different", "no", false, 0, -1). 0 beside -1 is an error: it may mean that
            nothing is known. So are a missing kind and words such as "unsure".
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
        >>> from linkwise.constraints import Constraints
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
    ) -> Self:
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
        >>> from linkwise.constraints import Constraints
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
    ) -> Self:
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
        >>> from linkwise.constraints import Constraints
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

    def to_table(self) -> "pd.DataFrame":
        """Return the pairs as a data frame with columns i, j, kind and weight.

        Returns
        -------
        pandas.DataFrame
            Must-links first; :meth:`from_table` gives the same object back.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
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
