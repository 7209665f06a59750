"""Standard error for programs: with ``--json`` each of its lines is a JSON object."""

import io
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, TextIO


class JsonLines(io.TextIOBase):
    """A text stream on which each line is a JSON object; other lines become notes.

    Whoever writes to standard error need not know of it: warnings, loggers and
    libraries do not.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rest = ""  # of a line that has not ended
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Write the lines that end in the text."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in filter(str.strip, lines):
                self._stream.write(_as_object(line) + "\n")
        return len(text)

    def flush(self) -> None:
        """Let what was written be seen."""
        self._stream.flush()


def _as_object(line: str) -> str:
    try:
        is_object = isinstance(json.loads(line), dict)
    except ValueError:
        is_object = False
    return line if is_object else json.dumps({"note": line})


@contextmanager
def json_on_stderr() -> Iterator[None]:
    """Let nothing but lines of JSON come to standard error inside the block."""
    lines = JsonLines(sys.stderr)
    with redirect_stderr(lines):
        try:
            yield
        finally:
            lines.write("\n")


def say_json(**values: Any) -> None:
    """Write one line of JSON to standard error."""
    sys.stderr.write(json.dumps(values) + "\n")
    sys.stderr.flush()


def is_json_wanted() -> bool:
    """Tell whether standard error takes nothing but JSON."""
    return isinstance(sys.stderr, JsonLines)
