"""Pairs files, and contradictions in the words of the files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from linkwise.cli._data import Table
from linkwise.cli._endings import unknown_ending
from linkwise.cli._errors import BadInputError
from linkwise.cli._excel import EXCEL, read_sheet, sheet_called
from linkwise.cli._pictures import finder
from linkwise.cli._stdin import STDIN
from linkwise.cli._text_files import (
    TextFile,
    TextOptions,
    extension,
    reading,
    recognised,
    records,
    require_file,
)
from linkwise.constraints import Constraints
from linkwise.constraints._files import parse_records
from linkwise.constraints._tables import CANNOT_LINK, parse_kind

# What the sheet of an Excel file is called that is taken, if it is not the first.
_SHEET = "pairs"
_N_CONFLICTS = 20


def read_pairs(path: Path, table: Table) -> Constraints:
    """Return the pairs of a file as row numbers of the data."""
    file = _read(path, table)
    try:
        parsed = parse_records(file.records, table.ids, "raise", file.name, file.where)
        n_samples = None if table.ids is None else table.n_rows
        pairs = Constraints(*parsed, n_samples=n_samples)
    except ValueError as error:
        # The library's way out is an argument that the command does not have.
        message, cut, _ = str(error).partition(' Pass on_unknown="drop"')
        if cut:
            where = f"in column {table.id_column!r} of {table.path}"
            if table.has_pictures:
                where = f"the names of the pictures in {table.path}"
            message += f" Correct it, or remove the line; the ids are {where}."
        if not message.startswith(str(path)):
            message = f"{path}: {message}"
        raise BadInputError(message) from None
    if table.ids is None:
        _refuse_outside(file, pairs, table)
    return pairs


class _PairsFile(NamedTuple):
    """The records of a pairs file, the header first, and how messages call them."""

    path: Path
    name: str
    records: list[tuple[int, list[str]]]  # with the line, or the row of the sheet
    is_sheet: bool

    def place(self, number: int) -> str:
        """Return where in the file a record stands."""
        return f"row {number} of the sheet" if self.is_sheet else f"line {number}"

    def where(self, number: int) -> str:
        """Return the file and the place of a record."""
        return f"{self.path}, {self.place(number)}"

    def pairs(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield number, i, j and kind of each pair."""
        header = [name.strip().lower() for name in self.records[0][1]]
        places = [header.index(name) for name in ("i", "j", "kind")]
        for number, record in self.records[1:]:
            if any(map(str.strip, record)):
                i, j, kind = (record[place].strip() for place in places)
                yield number, i, j, kind


def _read(path: Path, table: Table) -> _PairsFile:
    """Return what a pairs file holds; its first line names the columns.

    Pictures may be named without their ending.
    """
    file = _read_file(path)
    if not table.has_pictures:
        return file
    find = finder(table)
    header = [name.strip().lower() for name in file.records[0][1]]
    ends = [place for place, name in enumerate(header) if name in ("i", "j")]
    known = [
        (n, [find(x.strip()) if at in ends else x for at, x in enumerate(record)])
        for n, record in file.records[1:]
    ]
    return file._replace(records=[file.records[0], *known])


def _read_file(path: Path) -> _PairsFile:
    require_file(path)
    ending = extension(path)
    if ending in EXCEL:
        return _read_sheet(path)
    if ending not in (".csv", ".tsv") and path != STDIN:
        raise unknown_ending(
            path,
            "Pairs files end in .csv, .tsv (both also .gz, .bz2, .xz) or .xlsx and "
            "have the columns i, j, kind and perhaps weight",
        )
    with reading(path):
        text = recognised(path, TextOptions(header=True))
    found = list(records(text))
    if not found:
        raise BadInputError(f"{path} is empty: its first line must name the columns.")
    return _PairsFile(path, str(path), found, is_sheet=False)


def _read_sheet(path: Path) -> _PairsFile:
    """Return the sheet that is called pairs, the first one if none is."""
    sheet_name = sheet_called(path, _SHEET)
    sheet = read_sheet(path, sheet_name)
    rows = records(TextFile(path, ",", content=sheet.content))
    numbered = [(sheet.first_row + at, row) for at, (_, row) in enumerate(rows)]
    which = f"sheet {sheet_name}"
    if sheet_name is None:
        which = "first sheet; none is called pairs"
    return _PairsFile(path, f"{path} ({which})", numbered, is_sheet=True)


def _refuse_outside(file: _PairsFile, pairs: Constraints, table: Table) -> None:
    """Raise if the pairs are no row numbers of the data."""
    n_rows = table.n_rows
    if not pairs.is_named and pairs.points.max(initial=-1) < n_rows:
        return
    for number, i, j, _ in file.pairs():
        for end in (i, j):
            row = _as_row(end)
            if row is None:
                raise BadInputError(
                    f"{file.where(number)}: {end!r} is not a row number. If the pairs "
                    "name ids, say which column of the data holds them: "
                    "--id-column NAME."
                )
            if row >= n_rows:
                hint = (
                    " Rows count from 0: if the file counts from 1, subtract 1 from "
                    "all i and j."
                    if row == n_rows
                    else ""
                )
                raise BadInputError(
                    f"{file.where(number)}: there is no row {row} in {table.path}, "
                    f"whose {n_rows:,} rows have the numbers 0 to {n_rows - 1}.{hint}"
                )


def _as_row(text: str) -> int | None:
    whole, _, rest = text.partition(".")
    is_whole = whole.removeprefix("+").isdecimal() and not rest.strip("0")
    return int(whole) if is_whole else None


class Contradictions(NamedTuple):
    """The cannot-links that contradict must-links."""

    total: int
    # The first few: line of the cannot-link (None if not found), ends, path.
    first: list[tuple[int | None, tuple[str, str], list[str]]]
    place: Callable[[int], str] = str  # of a line

    def lines(self) -> list[str]:
        """Return one line of text for each of the first few, and one for the rest."""
        lines = [
            f"{'' if line is None else f'{self.place(line)}: '}cannot-link {i}, {j} "
            f"contradicts must-links {' - '.join(path)}"
            for line, (i, j), path in self.first
        ]
        more = self.total - len(self.first)
        return [*lines, f"and {more:,} more"] if more else lines


def contradictions(pairs: Constraints, path: Path, table: Table) -> Contradictions:
    """Return the contradictions, the first few with their must-link paths."""
    n_found = pairs.n_conflicts
    if n_found == 0:
        return Contradictions(0, [])
    file = _read(path, table)
    line_of = {
        frozenset((i, j)): line
        for line, i, j, kind in reversed(list(file.pairs()))
        if parse_kind(kind) == CANNOT_LINK
    }
    first = []
    for conflict in pairs.conflicts(_N_CONFLICTS):
        i, j = (table.name_of(end) for end in conflict.cannot_link)
        walk = [table.name_of(point) for point in conflict.path]
        first.append((line_of.get(frozenset((i, j))), (i, j), walk))
    return Contradictions(n_found, first, file.place)
