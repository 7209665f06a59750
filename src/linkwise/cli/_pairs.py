"""Pairs files, and contradictions in the words of the files."""

import csv
from pathlib import Path
from typing import NamedTuple

from linkwise.cli._data import Table
from linkwise.cli._errors import BadInputError
from linkwise.cli._stdin import STDIN, as_file
from linkwise.cli._text_files import (
    COMPRESSIONS,
    TextFile,
    TextOptions,
    extension,
    reading,
    recognised,
    records,
    require_file,
)
from linkwise.constraints import Constraints

_N_CONFLICTS = 20


def read_pairs(path: Path, table: Table) -> Constraints:
    """Return the pairs of a file as row numbers of the data."""
    require_file(path)
    is_text = extension(path) in (".csv", ".tsv") or path == STDIN
    if not is_text or path.suffix.lower() in COMPRESSIONS:
        raise BadInputError(
            f"{path}: a pairs file ends in .csv or .tsv and has the columns i, j, kind "
            "and perhaps weight."
        )
    file = _text(path)
    with as_file(path) as source:
        pairs = _parsed(source, path, file, table)
    if table.ids is None:
        _refuse_outside(path, pairs, table)
    return pairs


def _parsed(source: Path, path: Path, file: TextFile, table: Table) -> Constraints:
    """Return the pairs of a source, with the words of the command in messages."""
    try:
        return Constraints.from_csv(
            source, table.ids, delimiter=file.separator, encoding=file.encoding
        )
    except (ValueError, csv.Error) as error:
        text = str(error).replace(str(source), str(path))
        # The library's way out is an argument that the command does not have.
        message, cut, _ = text.partition(' Pass on_unknown="drop"')
        if cut:
            message += (
                " Correct it, or remove the line; the ids are in column "
                f"{table.id_column!r} of {table.path}."
            )
        if not message.startswith(str(path)):
            message = f"{path}: {message}"
        raise BadInputError(message) from None


def _text(path: Path) -> TextFile:
    """Return how a pairs file is written; its first line names the columns."""
    with reading(path):
        return recognised(path, TextOptions(header=True))


def _refuse_outside(path: Path, pairs: Constraints, table: Table) -> None:
    """Raise if the pairs are no row numbers of the data."""
    n_rows = table.n_rows
    if not pairs.is_named and pairs.points.max(initial=-1) < n_rows:
        return
    for line, i, j, _ in _pair_records(path):
        for end in (i, j):
            row = _as_row(end)
            if row is None:
                raise BadInputError(
                    f"{path}, line {line}: {end!r} is not a row number. If the pairs "
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
                    f"{path}, line {line}: there is no row {row} in {table.path}, "
                    f"whose {n_rows:,} rows have the numbers 0 to {n_rows - 1}.{hint}"
                )


def _as_row(text: str) -> int | None:
    whole, _, rest = text.partition(".")
    is_whole = whole.removeprefix("+").isdecimal() and not rest.strip("0")
    return int(whole) if is_whole else None


def _pair_records(path: Path) -> list[tuple[int, str, str, str]]:
    """Return line, i, j and kind of each pair."""
    all_records = records(_text(path))
    header = [name.strip().lower() for name in next(all_records)[1]]
    places = [header.index(name) for name in ("i", "j", "kind")]
    found = []
    for line, record in all_records:
        i, j, kind = (record[place].strip() for place in places)
        found.append((line, i, j, kind))
    return found


class Contradictions(NamedTuple):
    """The cannot-links that contradict must-links."""

    total: int
    # The first few: line of the cannot-link (None if not found), ends, path.
    first: list[tuple[int | None, tuple[str, str], list[str]]]

    def lines(self) -> list[str]:
        """Return one line of text for each of the first few, and one for the rest."""
        lines = [
            f"{'' if line is None else f'line {line}: '}cannot-link {i}, {j} "
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
    line_of = {
        frozenset((i, j)): line
        for line, i, j, kind in reversed(_pair_records(path))
        if kind.lower().startswith(("c", "-"))
    }
    first = []
    for conflict in pairs.conflicts(_N_CONFLICTS):
        i, j = (table.name_of(end) for end in conflict.cannot_link)
        walk = [table.name_of(point) for point in conflict.path]
        first.append((line_of.get(frozenset((i, j))), (i, j), walk))
    return Contradictions(n_found, first)
