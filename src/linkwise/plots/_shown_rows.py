"""Rows as a person reads them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from linkwise.plots._style import shortened
from linkwise.plots._words import number_text

# Letters of a cell that are shown.
_LENGTH = 280
# Entries of a sparse row that are shown, the largest.
_N_ENTRIES = 10


class ShownRows:
    """Names and cells of rows.

    Parameters
    ----------
    X : array-like, sparse matrix, list of views or of objects
        The rows, as a model took them.
    table : DataFrame, optional
        The rows as a person knows them; made from X by default.
    ids : sequence, optional
        Names of the rows; their numbers by default.
    """

    def __init__(
        self,
        X: Any,
        table: pd.DataFrame | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        self._sparse = csr_array(X) if table is None and issparse(X) else None
        if self._sparse is not None:
            self.table = pd.DataFrame(index=range(X.shape[0]))
        else:
            self.table = _as_table(X) if table is None else table
        if ids is not None and len(ids) != self.n_rows:
            raise ValueError(f"ids has {len(ids)} entries for {self.n_rows} rows.")
        self.ids = ids
        self.columns = [str(name) for name in self.table.columns]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def has_columns(self) -> bool:
        """Whether rows have columns to compare."""
        return bool(self.columns)

    def source(self) -> Any:
        """Return that from which traits are taken."""
        return self.table if self._sparse is None else self._sparse

    def name(self, row: int) -> str:
        """Return the name of a row."""
        return shortened(row if self.ids is None else self.ids[row], 60)

    def cells(self, row: int, places: Sequence[int]) -> list[tuple[str, str]]:
        """Return names and values of some columns of a row, in words."""
        if self._sparse is not None:
            return self._entries(row)
        return [
            (shortened(self.columns[at], 40), cell_text(self.table.iat[row, at]))
            for at in places
        ]

    def _entries(self, row: int) -> list[tuple[str, str]]:
        assert self._sparse is not None
        first, last = self._sparse.indptr[row : row + 2]
        values = self._sparse.data[first:last]
        order = np.argsort(-np.abs(values), kind="stable")[:_N_ENTRIES]
        columns = self._sparse.indices[first:last][order]
        return [
            (f"x{column}", number_text(float(value)))
            for column, value in zip(columns.tolist(), values[order], strict=True)
        ]

    def differences(self, i: int, j: int) -> list[tuple[int, float]]:
        """Return places of the columns and how far two rows differ, the farthest first.

        Numbers differ by their distance in standard deviations; other values differ by
        1 or not at all.
        """
        found = []
        for place in range(self.table.shape[1]):
            a: Any = self.table.iat[i, place]
            b: Any = self.table.iat[j, place]
            column = self.table.iloc[:, place]
            is_number = pd.api.types.is_numeric_dtype(column.dtype)
            if is_number and not (pd.isna(a) or pd.isna(b)):
                found.append(abs(float(a) - float(b)) / (self._deviation(place) or 1.0))
            else:
                found.append(float(cell_text(a) != cell_text(b)))
        order = np.argsort(np.negative(found), kind="stable").tolist()
        return [(place, found[place]) for place in order]

    def _deviation(self, place: int) -> float:
        if not hasattr(self, "_deviations"):
            self._deviations: dict[int, float] = {}
        if place not in self._deviations:
            values = self.table.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
            known = values[np.isfinite(values)]
            self._deviations[place] = float(known.std()) if len(known) else 0.0
        return self._deviations[place]


def cell_text(value: Any) -> str:
    """Return a value of a table as a person reads it.

    Examples
    --------
    >>> import pandas as pd
    >>> cell_text(0.1 + 0.2), cell_text(None), cell_text(pd.Timestamp("2026-01-02"))
    ('0.3', '–', '2026-01-02')
    """
    if value is None or value is pd.NaT or value is pd.NA:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return "–" if np.isnan(value) else number_text(float(value)).replace(",", "")
    if isinstance(value, pd.Timestamp):
        text = str(value)
        return text.removesuffix(" 00:00:00")
    return shortened(value, _LENGTH)


def _as_table(X: Any) -> pd.DataFrame:
    """Return rows as a table: columns get names, other objects are one column."""
    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, (list, tuple)) and len(X) and hasattr(X[0], "shape"):
        parts = [v.toarray() if issparse(v) else np.asarray(v) for v in X]
        names = [f"X[{v}] x{i}" for v, p in enumerate(parts) for i in range(p.shape[1])]
        return pd.DataFrame(np.hstack(parts), columns=names)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        names = [f"x{i}" for i in range(X.shape[1])]
        return pd.DataFrame(X, columns=names, copy=False)
    return pd.DataFrame({"row": [str(value) for value in X]})
