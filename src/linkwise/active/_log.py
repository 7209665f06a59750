"""An append-only log of events: one JSON object a line, on disk before it counts."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

SCHEMA = 1


class LogError(ValueError):
    """A log that cannot be used: damaged, of another kind, or in use."""


class Log:
    """The events of a session, in memory or in a file as well.

    A file has one writer at a time. What ``append`` has returned from is on disk. A
    last line that was torn, by a crash or a full disk, is dropped when it is opened; a
    file that does not begin as a session is left as it is.

    Parameters
    ----------
    path : path-like, optional
        The file; it is made if there is none.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.events: list[dict[str, Any]] = []
        self._file: Any = None
        if self.path is not None:
            self._open(self.path)

    def _open(self, path: Path) -> None:
        file = open(path, "a+b", buffering=0)  # noqa: SIM115
        try:
            _lock(file, path)
            file.seek(0)
            content = file.read()
            self.events, end = _parse(content, path)
            if end < len(content):
                file.truncate(end)
            if end > 0 and content[end - 1 : end] != b"\n":
                file.write(b"\n")
        except BaseException:
            file.close()
            raise
        self._file = file

    def append(self, event: dict[str, Any]) -> None:
        """Add an event; it is on disk when this returns."""
        line = json.dumps(event, ensure_ascii=False, allow_nan=False) + "\n"
        if self._file is not None:
            before = self._file.seek(0, os.SEEK_END)
            try:
                data = line.encode("utf-8", "surrogatepass")
                while data:
                    data = data[self._file.write(data) :]
                os.fsync(self._file.fileno())
            except BaseException:
                # Half a line would spoil the next one.
                self._file.truncate(before)
                raise
        elif self.path is not None:
            raise LogError(f"The log {self.path} is closed.")
        self.events.append(event)

    def close(self) -> None:
        """Let another writer have the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "Log":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a log that nobody has to be the writer of."""
    events, _ = _parse(path.read_bytes(), path)
    if not events:
        raise LogError(f"{path} holds no session.")
    return events


def _parse(content: bytes, path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the events, and where the last whole one ends."""
    events: list[dict[str, Any]] = []
    end = 0
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line.decode("utf-8", "surrogatepass"))
            if not isinstance(event, dict) or "event" not in event:
                raise ValueError("no event")
        except ValueError as error:
            if number == len(lines) and events:
                break  # torn, maybe in the middle of a block of the disk
            raise LogError(
                f"{path}, line {number}, is no event of a session: {line[:60]!r}. "
                "Give another file, or mend the line."
            ) from error
        events.append(event)
        end += len(line) + 1
    end = min(end, len(content))  # the last one may be whole but for its end of line
    if events:
        first = events[0]
        if first["event"] != "session":
            raise LogError(f"{path} does not begin as the log of a session does.")
        if first.get("schema") != SCHEMA:
            raise LogError(
                f"{path} has schema {first.get('schema')!r}; this version of linkwise "
                f"reads {SCHEMA}."
            )
    return events, end


def _lock(file: Any, path: Path) -> None:
    """Be the only writer of a file until it is closed, or the process ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows; its own are mandatory
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise LogError(
            f"{path} is in use by another session. End that one, or give another log."
        ) from error


def digest_of(values: Sequence[Any]) -> str:
    """Return a digest of names, whatever their types."""
    text = "\x1f".join(map(str, values))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
