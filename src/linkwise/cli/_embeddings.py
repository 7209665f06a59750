"""Embeddings beside the rows: they decide, and people see the table."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray, IntArray
from linkwise.cli._data import Table, read_table, row_blocks, values_of
from linkwise.cli._errors import BadInputError
from linkwise.cli._pictures import finder
from linkwise.cli._screen import Screen, counted, listed
from linkwise.cli._text_files import TextOptions, extension
from linkwise.tables import is_id_like


class Embeddings(NamedTuple):
    """Embeddings of the rows of a table, and where they come from."""

    values: FloatArray  # (n_rows, width), in the order of the table
    source: str  # a file, or the pattern that columns were chosen by
    matched_by: str  # "row order", or a column of ids; "" for columns of the table

    def __str__(self) -> str:
        """Return where they come from."""
        how = f", by {self.matched_by}" if self.matched_by else ""
        return f"{self.source}: {counted(self.values.shape[1], 'column')}{how}"


def embeddings_file(given: str | None) -> list[Path]:
    """Return the file that --embeddings names, if it names one."""
    return [Path(given)] if given is not None and Path(given).is_file() else []


def with_embeddings(
    table: Table, given: str, screen: Screen
) -> tuple[Table, Embeddings]:
    """Return the table that people see, and the embeddings of its rows.

    ``given`` is a file, or a pattern for columns of the table, such as ``emb_*``.
    """
    names = [
        str(name)
        for name in table.frame.columns
        if name == given or fnmatchcase(str(name), given)
    ]
    if names:
        return _from_columns(table, names, given)
    if not extension(Path(given)) and not Path(given).is_file():
        raise BadInputError(
            f"--embeddings {given}: there is no such file, and no column of "
            f"{table.path} has that name; it has {table.listed_columns(30)}."
        )
    return table, _from_file(table, Path(given), screen)


def _from_columns(
    table: Table, names: list[str], pattern: str
) -> tuple[Table, Embeddings]:
    values = _numbers(table, table.frame[names])
    rest = table.frame.drop(columns=names)
    if rest.shape[1]:
        table = table.with_frame(rest)
    return table, Embeddings(values, f"columns {pattern}", "")


def _from_file(table: Table, path: Path, screen: Screen) -> Embeddings:
    found = read_table(
        path, table.id_column, TextOptions(), screen, needs_id_column=False
    )
    frame = found.frame
    if found.has_names and found.ids is None:
        frame = _without_ids(found, screen)
    values = _numbers(found, frame)
    if table.ids is not None and found.ids is not None:
        values = values[_places(found, table, screen)]
        return Embeddings(values, str(path), f"column {table.id_column!r}")
    if found.n_rows != table.n_rows:
        remedy = (
            f"Without a column {table.id_column!r} in {path}, r"
            if table.id_column
            else "R"
        )
        raise BadInputError(
            f"{path} has {counted(found.n_rows, 'row')}, but {table.path} has "
            f"{table.n_rows:,}. {remedy}ows are matched by their order, and both files "
            "must have the same ones."
        )
    return Embeddings(values, str(path), "row order")


def _without_ids(found: Table, screen: Screen) -> pd.DataFrame:
    """Return the columns without those that count the rows."""
    ids = [
        str(name)
        for name, column in found.frame.items()
        if pd.api.types.is_numeric_dtype(column) and is_id_like(str(name), column)
    ]
    if not ids or len(ids) == found.frame.shape[1]:
        return found.frame
    screen.note(
        f"{found.path}: {listed(ids)} only names the rows and is left out; "
        f"--id-column {ids[0]} matches rows by it."
    )
    return found.frame.drop(columns=ids)


def _places(found: Table, table: Table, screen: Screen) -> IntArray:
    """Return the rows of the embeddings in the order of the table's ids."""
    assert found.ids is not None and table.ids is not None
    # As texts: 7 in one file may be "7" in the other.
    find = finder(table) if table.has_pictures else str
    place_of = {find(str(name)): place for place, name in enumerate(found.ids)}
    missing = [name for name in table.ids if str(name) not in place_of]
    if missing:
        raise BadInputError(
            f"{found.path} lacks {counted(len(missing), 'id')} of {table.path}: "
            f"{listed(missing)}. Every row needs its embedding."
        )
    extra = len(place_of) - table.n_rows
    if extra:
        screen.note(
            f"{found.path}: {counted(extra, 'embedding')} of rows that are not in "
            f"{table.path}, not used."
        )
    return np.array([place_of[str(name)] for name in table.ids], dtype=np.intp)


def _numbers(table: Table, frame: pd.DataFrame) -> FloatArray:
    """Return embeddings as an array, without names; raise if one is no number."""
    if frame.shape[1] == 1 and len(frame) and _is_vector(frame.iloc[0, 0]):
        return _stacked(table, frame)
    texts = [
        str(name)
        for name, column in frame.items()
        if not pd.api.types.is_numeric_dtype(column.dtype)
    ]
    if texts:
        remedy = f" If it names the rows, give --id-column {texts[0]}."
        raise BadInputError(
            f"{table.path}: {listed(texts)} {'do' if len(texts) > 1 else 'does'} not "
            "hold numbers, and embeddings are numbers alone."
            + (remedy if table.ids is None else "")
        )
    # Sums in another order may differ in a last digit, and questions with them.
    values = np.ascontiguousarray(values_of(frame))
    first = 0
    for block in row_blocks(values):
        wrong = np.argwhere(~np.isfinite(block))
        if len(wrong):
            row, column = wrong[0].tolist()
            raise BadInputError(
                f"{table.where(first + row)}, column {str(frame.columns[column])!r}: "
                f"{block[row, column]} is no embedding; every value must be a finite "
                "number."
            )
        first += len(block)
    return values


def _is_vector(cell: Any) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _stacked(table: Table, frame: pd.DataFrame) -> FloatArray:
    """Return a column whose cells are vectors, as Parquet files may have it."""
    cells = frame.iloc[:, 0].tolist()
    width = len(cells[0])
    for row, cell in enumerate(cells):
        if not _is_vector(cell) or len(cell) != width:
            found = f"{len(cell)} numbers" if _is_vector(cell) else repr(cell)
            raise BadInputError(
                f"{table.where(row)}: {found} in column {str(frame.columns[0])!r}, "
                f"where the first row has {width} numbers."
            )
    try:
        numbers = pd.DataFrame(np.array(cells))
    except ValueError:
        raise BadInputError(
            f"{table.path}: column {str(frame.columns[0])!r} must hold one list of "
            "numbers in each row."
        ) from None
    return _numbers(table, numbers)
