"""Excel files: a sheet becomes the text of a CSV file, so that both are read alike."""

import csv
import datetime
import importlib
import io
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise.cli._errors import BadInputError
from linkwise.cli._screen import listed

EXCEL = (".xlsx", ".xlsm")
_MIDNIGHT = datetime.time()


class Sheet(NamedTuple):
    """The table of a sheet."""

    content: bytes  # CSV text, UTF-8
    first_row: int  # where the table begins in the sheet, counted from 1
    others: list[str]  # names of the other sheets


def sheet_called(path: Path, name: str) -> str | None:
    """Return the sheet of that name, whatever its case, None if there is none."""
    _require_openpyxl(path)
    with suppress(Exception):  # reading a sheet says what is wrong with a file
        with pd.ExcelFile(path, engine="openpyxl") as book:
            own = {sheet.strip().lower(): sheet for sheet in map(str, book.sheet_names)}
            return own.get(name)
    return None


def read_sheet(path: Path, name: str | None) -> Sheet:
    """Return the table of a sheet, the first one unless another is named.

    Rows and columns that are empty are left out before and after all others.
    """
    cells, others = _cells(path, name)
    is_full = (cells != "").to_numpy()
    rows, columns = (np.flatnonzero(is_full.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        there = f" ({listed(others)})" if others else ""
        raise BadInputError(
            f"{path}: the sheet is empty; --sheet NAME takes another{there}."
        )
    table = cells.iloc[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    texts = [_texts(table[column].tolist()) for column in table]
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(zip(*texts, strict=True))
    return Sheet(file.getvalue().encode(), int(rows[0]) + 1, others)


def _cells(path: Path, name: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Return the cells of a sheet, "" where there is nothing, and other sheets."""
    _require_openpyxl(path)
    try:
        with warnings.catch_warnings():
            # Of styles and the like, which say nothing about the values.
            warnings.simplefilter("ignore", UserWarning)
            with pd.ExcelFile(path, engine="openpyxl") as book:
                if name is not None and name not in book.sheet_names:
                    raise BadInputError(
                        f"--sheet {name!r}: {path} has no such sheet; it has "
                        f"{listed(book.sheet_names)}."
                    )
                chosen = book.sheet_names[0] if name is None else name
                others = [str(n) for n in book.sheet_names if n != chosen]
                cells = pd.read_excel(
                    book,
                    sheet_name=chosen,
                    header=None,
                    dtype=object,
                    na_filter=False,
                )
    except (BadInputError, MemoryError):
        raise
    except Exception as error:  # a damaged file has many ways to fail
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadInputError(
            f"{path} is not an Excel file that can be read: {reason.rstrip('.')}. Save "
            "it again as .xlsx, without a password, or as .csv."
        ) from None
    return cells.map(lambda cell: "" if _is_empty(cell) else cell), others


def _require_openpyxl(path: Path) -> None:
    try:
        importlib.import_module("openpyxl")
    except ImportError:
        raise BadInputError(
            f"{path}: Excel files need openpyxl. Install it with "
            "`pip install 'linkwise[excel]'`."
        ) from None


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or bool(pd.isna(cell))


def _texts(cells: Sequence[Any]) -> list[str]:
    """Return the cells of a column as a CSV file would hold them."""
    dates = [cell for cell in cells if isinstance(cell, datetime.datetime)]
    has_times = any(date.time() != _MIDNIGHT for date in dates)

    def text(cell: Any) -> str:
        if isinstance(cell, datetime.datetime) and not has_times:
            return cell.date().isoformat()
        if isinstance(cell, datetime.timedelta):
            return _hours(cell)
        return str(cell)

    return [text(cell) for cell in cells]


def _hours(duration: datetime.timedelta) -> str:
    """Return a duration as hours, minutes and seconds, as Excel shows it."""
    minutes, seconds = divmod(duration.total_seconds(), 60)
    return f"{int(minutes // 60)}:{int(minutes % 60):02d}:{seconds:02.0f}"
