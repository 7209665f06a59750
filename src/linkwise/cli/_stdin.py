"""Standard input in the place of a text file, read once."""

import sys
from pathlib import Path
from typing import TextIO
from weakref import WeakKeyDictionary

import typer

from linkwise.cli._errors import BadInputError

# What stands for it among paths, and is its name in messages. As the name of a file it
# would have no ending, so nothing could be read from that anyway.
STDIN = Path("standard input")

# How formats begin that are no text.
_NO_TEXT = {
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"PK\x03\x04": "an Excel or a zip file",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "an .npy file",
}
_kept: WeakKeyDictionary[TextIO, bytes] = WeakKeyDictionary()


def file_or_stdin(path: Path) -> Path:
    """Return the path that was given, or what stands for standard input if "-" was."""
    if str(path) != "-":
        return path
    if sys.stdin is None or sys.stdin.isatty():
        raise typer.BadParameter(
            "- is standard input, but nothing is piped into it; write for example "
            "`cat data.csv | linkwise ...`, or name a file."
        )
    return STDIN


def refuse_both(data: Path, pairs: Path, pairs_name: str) -> None:
    """Raise a usage error if data and pairs are both to come from standard input."""
    if data == STDIN and pairs == STDIN:
        raise typer.BadParameter(
            f"DATA and {pairs_name} are both -; only one of them can be standard "
            "input, the other must be a file."
        )


def stdin_bytes() -> bytes:
    """Return all of standard input; it is read when first asked for, then kept."""
    if sys.stdin not in _kept:
        content = sys.stdin.buffer.read()
        if not content.strip():
            raise BadInputError(f"{STDIN} is empty.")
        for mark, what in _NO_TEXT.items():
            if content.startswith(mark):
                raise BadInputError(
                    f"{STDIN} is {what}; it must be a CSV or TSV table as plain text. "
                    "Other formats are read from files."
                )
        _kept[sys.stdin] = content
    return _kept[sys.stdin]
