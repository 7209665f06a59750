"""Pairs in CSV files: the only module of the layer that touches files."""

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from linkwise._unfinished import unfinished
from linkwise.constraints._ids import OnUnknown, positions_by_id
from linkwise.constraints._tables import (
    COLUMNS,
    ParsedPairs,
    Rows,
    check_columns,
    column_names,
    parse_rows,
    table_rows,
)

# 3.0 is what a column of numbers with gaps is saved as.
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")


def read_csv(
    path: str | os.PathLike[str],
    ids: Iterable[Any] | None,
    on_unknown: OnUnknown,
    delimiter: str,
    encoding: str,
) -> ParsedPairs:
    """Return the pairs of a CSV file; every message names the file and the line."""
    path = Path(path)
    try:
        with path.open(newline="", encoding=encoding) as file:
            records = list(_records(file, path, delimiter))
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}, line {_undecodable_line(path)} is not UTF-8 text: save the file "
            "as UTF-8."
        ) from None
    if not records:
        raise ValueError(f"{path} is empty: its first line must name the columns.")
    return parse_records(
        records, ids, on_unknown, str(path), lambda line: f"{path}, line {line}"
    )


def parse_records(
    records: Sequence[tuple[int, list[str]]],
    ids: Iterable[Any] | None,
    on_unknown: OnUnknown,
    table: str,
    where: Callable[[int], str],
) -> ParsedPairs:
    """Return the pairs of records of text, each with its number.

    The first one names the columns. ``table`` and ``where(number)`` are what messages
    call the whole and a record.
    """
    header = column_names(name.strip() for name in records[0][1])
    check_columns(header, table)
    # Spreadsheets write empty rows as marks without anything between them.
    pairs = [(number, r) for number, r in records[1:] if any(map(str.strip, r))]
    for number, record in pairs:
        if len(record) != len(header):
            raise ValueError(
                f"{where(number)}: {len(record)} fields, but the header names "
                f"{len(header)} columns."
            )
    rows = table_rows(
        {
            name: [r[place].strip() for _, r in pairs]
            for place, name in enumerate(header)
        }
    )
    # Read once: ids may be a generator.
    ids = None if ids is None else list(positions_by_id(ids))
    first, second = _typed(rows.first, rows.second, ids)
    located = Rows(
        first, second, rows.kind, rows.weight, lambda row: where(pairs[row][0])
    )
    return parse_rows(located, ids, on_unknown)


def _undecodable_line(path: Path) -> int:
    """Return the number of the first line that is not UTF-8."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return 1


def _records(
    file: TextIO, path: Path, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each record, the header first."""
    reader = csv.reader(file, delimiter=delimiter)
    try:
        for record in reader:
            if record:
                yield reader.line_num, record
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"
        raise ValueError(f"{where} is not a line of CSV: {error}.") from None


def _typed(
    first: list[str], second: list[str], ids: list[Any] | None
) -> tuple[list[Any], list[Any]]:
    """Return the texts as integers if that is what they are meant to be.

    Ids decide if there are any, so that "007" stays a name among names; without
    ids, a file of nothing but whole numbers holds positions.
    """
    if ids is not None and any(isinstance(name, str) for name in ids):
        return first, second
    names = {text for text in (*first, *second) if not _WHOLE_NUMBER.fullmatch(text)}
    # A blank is no name: it is reported as missing later.
    if ids is None and names - {""}:
        return first, second

    def numbers(column: list[str]) -> list[Any]:
        return [
            text if text in names else int(text.partition(".")[0]) for text in column
        ]

    return numbers(first), numbers(second)


def write_csv(path: str | os.PathLike[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows of i, j, kind, weight; the file is replaced at once or not at all."""
    path = Path(path)
    part = unfinished(path)
    try:
        with part.open("x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
