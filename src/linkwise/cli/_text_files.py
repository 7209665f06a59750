"""CSV and TSV files: how they are written, and lines found again for messages."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from linkwise.cli._errors import BadInputError
from linkwise.cli._stdin import STDIN, stdin_bytes

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
COMPRESSIONS = tuple(_OPENERS)
# Marks between fields that are recognised, those that text seldom holds first.
_MARKS = ("\t", ";", "|", ",")
_UTF_16_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")
# Letters of a cell; Python's own limit is that of short texts.
_MAX_CELL = 2**27
# Records by which it is decided how a file is written.
_N_LOOKED_AT = 50
_CHUNK = 2**20
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+")


class TextOptions(NamedTuple):
    """How a text file is written, as far as a person has said it."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | None = None  # of an Excel file


@dataclass(frozen=True)
class TextFile:
    """A text file and how it is written."""

    path: Path
    separator: str
    decimal: str = "."
    encoding: str = "utf-8-sig"
    has_header: bool = True
    # What to read in place of the file, if that is not text itself.
    content: bytes | None = None

    def described(self) -> list[str]:
        """Return what is not as the ending of the name promises, in words."""
        found = []
        if self.separator != _separator_by_name(self.path):
            found.append(f"{self.separator!r} between fields")
        if self.decimal != ".":
            found.append("decimal commas")
        if self.encoding != "utf-8-sig":
            found.append(f"encoding {self.encoding}")
        if not self.has_header:
            found.append("no line of column names")
        return found


def require_file(path: Path) -> None:
    """Raise unless the path is a file that can be opened."""
    if path == STDIN:
        return
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


def recognised(path: Path, asked: TextOptions | None = None) -> TextFile:
    """Return how a text file is written: as was said, else as it looks."""
    asked = asked or TextOptions()
    encoding = asked.encoding or _encoding_of(path)
    usual = asked.separator or _separator_by_name(path)
    file = TextFile(path, usual, encoding=encoding)
    if asked.separator is None:
        file = TextFile(path, _separator_of(file), encoding=encoding)
    first = [record for _, record in islice(records(file), _N_LOOKED_AT)]
    decimal = asked.decimal or _decimal_of(file.separator, first)
    has_header = _has_header(first, decimal, asked)
    return TextFile(path, file.separator, decimal, encoding, has_header)


def made_text(path: Path, content: bytes, asked: TextOptions) -> TextFile:
    """Return CSV text that was made from a file of another format."""
    file = TextFile(path, ",", content=content)
    first = [record for _, record in islice(records(file), 1)]
    return replace(file, has_header=_has_header(first, file.decimal, asked))


def _has_header(first: list[list[str]], decimal: str, asked: TextOptions) -> bool:
    """Return whether the first record names the columns: as was said, else seen."""
    if asked.header is not None:
        return asked.header
    return not first or _is_header(first[0], decimal)


def _separator_by_name(path: Path) -> str:
    return "\t" if extension(path) == ".tsv" else ","


def _encoding_of(path: Path) -> str:
    """Return UTF-16 if a file begins so, else what all of it can be read as."""
    with _open_bytes(path) as file:
        start = file.read(2)
    if start in _UTF_16_MARKS:
        return _UTF_16_MARKS[start]
    # Windows-1252 is latin-1 with the euro and quotes; some bytes it does not have.
    return next(name for name in _ENCODINGS if _is_readable(path, name))


def _is_readable(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with _open_bytes(path) as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _separator_of(file: TextFile) -> str:
    """Return the mark that parts the first records into equally many fields."""
    for mark in _MARKS:
        look = TextFile(file.path, mark, encoding=file.encoding)
        try:
            counts = {len(r) for _, r in islice(records(look), _N_LOOKED_AT)}
        except BadInputError:
            continue
        if len(counts) == 1 and counts != {1}:
            return mark
    return file.separator


def _decimal_of(separator: str, first: list[list[str]]) -> str:
    """Return the mark before decimals: a comma if there are some and no points."""
    if separator == ",":
        return "."
    fields = [field.strip() for record in first for field in record]
    if any(_WITH_POINT.fullmatch(field) for field in fields):
        return "."
    return "," if any(_WITH_COMMA.fullmatch(field) for field in fields) else "."


def _is_header(record: list[str], decimal: str) -> bool:
    """Tell whether a first record names columns: if it does not hold numbers only.

    Numbers that count the columns are names, as other programs write them.
    """
    fields = [field.strip() for field in record]
    if not all(_is_number(field.replace(decimal, ".")) for field in fields if field):
        return True
    if not any(fields):
        return True
    # A nameless first column is that of an index.
    names = fields[1:] if not fields[0] else fields
    if len(names) < 2 and names == fields:
        return False
    return any(
        names == [str(i) for i in range(start, start + len(names))] for start in (0, 1)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _open_bytes(path: Path, content: bytes | None = None) -> BinaryIO:
    if content is not None:
        return io.BytesIO(content)
    if path == STDIN:
        return io.BytesIO(stdin_bytes())
    opener = _OPENERS.get(path.suffix.lower(), open)
    return cast(BinaryIO, opener(path, "rb"))


@contextmanager
def reading(path: Path, encoding: str = "") -> Iterator[None]:
    """Turn damage of a file into a message."""
    try:
        yield
    except UnicodeError as error:
        raise BadInputError(
            f"{path} is no text in the encoding {encoding}: {error}. Say which it is "
            "with --encoding."
        ) from None
    except LookupError:
        raise BadInputError(
            f"--encoding {encoding} is not known; write for example utf-8, utf-16 or "
            "cp1252."
        ) from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.") from None


@contextmanager
def open_text(file: TextFile) -> Iterator[TextIO]:
    """Open a text file, compressed or not; damage becomes a message."""
    with reading(file.path, file.encoding):
        with (
            _open_bytes(file.path, file.content) as raw,
            io.TextIOWrapper(raw, encoding=file.encoding, newline="") as opened,
        ):
            yield opened


def records(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each record, the header first.

    Blank lines are no records, unless there is one column: then they are gaps, but for
    those at the beginning and at the end.
    """
    with open_text(file) as opened:
        csv.field_size_limit(_MAX_CELL)
        reader = csv.reader(opened, delimiter=file.separator, skipinitialspace=True)
        start = 1
        width = 0
        gaps: list[tuple[int, list[str]]] = []
        try:
            for record in reader:
                if len(record) > 1 or (record and record[0].strip()):
                    width = width or len(record)
                    yield from gaps
                    gaps = []
                    yield start, record
                elif width == 1:
                    gaps.append((start, [""]))
                start = reader.line_num + 1
        except csv.Error as error:
            raise BadInputError(f"{file.path}, line {start}: {error}.") from None


def line_of_row(file: TextFile, row: int) -> int:
    """Return the line on which a row of the data, counted from 0, begins."""
    return next(islice(records(file), row + file.has_header, None))[0]


def refuse_ragged(file: TextFile) -> None:
    """Raise if a record has more or fewer fields than the first."""
    all_records = records(file)
    _, first = next(all_records)
    named = "the header names" if file.has_header else "the first line has"
    for line, record in all_records:
        if len(record) != len(first):
            raise BadInputError(
                f"{file.path}, line {line}: {len(record)} fields, but {named} "
                f"{len(first)} columns. Check for a missing or an extra "
                f"{file.separator!r}; text that holds one needs quotes."
            )
