"""Lines of CSV and TSV files, found again when a message has to name one."""

import bz2
import csv
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from linkwise.cli._errors import BadInputError

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
COMPRESSIONS = tuple(_OPENERS)


def require_file(path: Path) -> None:
    """Raise unless the path is a file that can be opened."""
    if path.is_dir():
        raise BadInputError(f"{path} is a folder, not a file.")
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.") from None


def extension(path: Path) -> str:
    """Return the ending that tells the format: ".csv" also for "a.CSV.gz"."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def delimiter_of(path: Path) -> str:
    """Return the character between the fields of a text file."""
    return "\t" if extension(path) == ".tsv" else ","


def _open_bytes(path: Path) -> BinaryIO:
    opener = _OPENERS.get(path.suffix.lower(), open)
    return cast(BinaryIO, opener(path, "rb"))


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, compressed or not; damage becomes a message."""
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield cast(TextIO, file)
    except UnicodeDecodeError:
        raise BadInputError(
            f"{path}, line {_undecodable_line(path)}: not UTF-8 text. "
            "Save the file with the encoding UTF-8."
        ) from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.") from None


def _undecodable_line(path: Path) -> int:
    with _open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each record, the header first.

    Blank lines are no records, as for the readers of data and of pairs.
    """
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter_of(path), skipinitialspace=True)
        start = 1
        try:
            for record in reader:
                if len(record) > 1 or (record and record[0].strip()):
                    yield start, record
                start = reader.line_num + 1
        except csv.Error as error:
            raise BadInputError(f"{path}, line {start}: {error}.") from None


def line_of_row(path: Path, row: int) -> int:
    """Return the line on which a row of the data, counted from 0, begins."""
    return next(islice(records(path), row + 1, None))[0]


def refuse_ragged(path: Path) -> None:
    """Raise if a record has more or fewer fields than the header."""
    all_records = records(path)
    _, header = next(all_records)
    for line, record in all_records:
        if len(record) != len(header):
            raise BadInputError(
                f"{path}, line {line}: {len(record)} fields, but the header names "
                f"{len(header)} columns. Check for a missing or an extra "
                f"{delimiter_of(path)!r}; text that holds one needs quotes."
            )
