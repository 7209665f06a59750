"""What the page shows of rows: cells as text, pictures by row number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from linkwise.label._pictures import Pictures

# Letters of a cell that are sent unless all are asked for.
MAX_LETTERS = 2_000


class Rows:
    """The rows of a table as a person sees them.

    Parameters
    ----------
    frame : DataFrame
        The cells.
    ids : sequence
        Names of the rows.
    show : sequence of str, optional
        Columns that are shown at once; the others are folded. All by default.
    pictures : callable, optional
        Returns the picture of a row number, or None.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        ids: Sequence[Any],
        show: Sequence[str] = (),
        pictures: Pictures | None = None,
    ) -> None:
        self.frame, self.ids = frame, ids
        self.columns = [str(name) for name in frame.columns]
        # Cells are looked up one by one, for which frames are slow.
        self._arrays: list[Any] = [column.array for _, column in frame.items()]
        first = [self.columns.index(name) for name in show]
        rest = [at for at in range(len(self.columns)) if at not in first]
        self._order = [*first, *rest]
        self.n_shown = len(first) if show else len(self.columns)
        self.pictures = pictures
        self._sorted = {
            at: np.sort(values[~np.isnan(values)])
            for at in range(len(self.columns))
            if (values := _numbers(frame.iloc[:, at])) is not None
        }

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def shown(self, row: int) -> dict[str, Any]:
        """Return a row as the page takes it."""
        return {
            "row": row,
            "id": str(self.ids[row]),
            "cells": [self._cell(row, at) for at in self._order],
            "picture": self.pictures is not None,
        }

    def _cell(self, row: int, at: int) -> dict[str, Any]:
        text = self.text(row, at)
        cell: dict[str, Any] = {"column": at, "text": text[:MAX_LETTERS]}
        if len(text) > MAX_LETTERS:
            cell["letters"] = len(text)
        if at in self._sorted and text:
            value = float(self._arrays[at][row])
            known = self._sorted[at]
            below, up_to = (
                known.searchsorted(value, side) for side in ("left", "right")
            )
            cell["value"] = value
            cell["percentile"] = round(100 * (below + up_to) / 2 / max(1, len(known)))
        return cell

    def text(self, row: int, column: int) -> str:
        """Return a whole cell as text; empty where there is a gap."""
        value: Any = self._arrays[column][row]
        text = "" if value is None or value is pd.NA or value != value else str(value)
        # Half a pair of surrogates cannot be sent.
        return text.encode("utf-8", "replace").decode("utf-8")


def _numbers(column: "pd.Series[Any]") -> Any:
    """Return a column as floats, None if it holds no numbers."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return None
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values if np.isfinite(values[~np.isnan(values)]).all() else None
