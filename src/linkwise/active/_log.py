"""An append-only log of events: one JSON object a line, on disk before it counts."""

import hashlib
import json
import logging
import os
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from linkwise.active._schema import Checker

# Of logs that are written, and of those that are read.
SCHEMA = 2
_READ = (1, 2)
_log = logging.getLogger(__name__)


class LogError(ValueError):
    """A log that cannot be used: damaged, of another kind, or in use."""


class Log:
    """The events of a session, in memory or in a file as well.

    A file has one writer at a time. What ``append`` has returned from is on disk. A
    last line that was not written to its end, by a crash or a full disk, is dropped
    when it is opened. A file with any other line that does not fit is refused, and left
    as it is.

    Parameters
    ----------
    path : path-like, optional
        The file; it is made if there is none, for its owner alone. One that is there
        keeps its permissions.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.events: list[dict[str, Any]] = []
        self._checker = Checker()
        self._last: dict[str, int] = {}  # event of each attempt
        self._file: Any = None
        self._is_together = False
        if self.path is not None:
            self._open(self.path)

    def _open(self, path: Path) -> None:
        file = open(path, "a+b", buffering=0, opener=_for_owner)  # noqa: SIM115
        try:
            _lock(file, path)
            file.seek(0)
            content = file.read()
            events, end = _parse(content, path)
            if end < len(content):
                _log.warning(
                    "%s: the last line was not written to its end and is dropped: %r",
                    path,
                    content[end : end + 200],
                )
                file.truncate(end)
            if end > 0 and content[end - 1 : end] != b"\n":
                file.write(b"\n")
        except BaseException:
            file.close()
            raise
        self._file = file
        for event in events:
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        self._checker.take(event)
        if "attempt" in event:
            self._last[event["attempt"]] = len(self.events)
        self.events.append(event)

    def append(self, event: dict[str, Any]) -> None:
        """Add an event; it is on disk when this returns, or else when ``together``."""
        self._checker.check(event)
        line = json.dumps(event, ensure_ascii=False, allow_nan=False) + "\n"
        if self._file is not None:
            before = self._file.seek(0, os.SEEK_END)
            try:
                data = line.encode("utf-8", "surrogatepass")
                while data:
                    data = data[self._file.write(data) :]
                if not self._is_together:
                    os.fsync(self._file.fileno())
            except BaseException:
                # Half a line would spoil the next one.
                self._file.truncate(before)
                raise
        elif self.path is not None:
            raise LogError(f"The log {self.path} is closed.")
        self._take(event)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Put all events of a block on disk at its end, or none if it fails."""
        n_events = len(self.events)
        end = 0 if self._file is None else self._file.seek(0, os.SEEK_END)
        self._is_together = True
        try:
            yield
            if self._file is not None:
                os.fsync(self._file.fileno())
        except BaseException:
            if self._file is not None:
                self._file.truncate(end)
            events, self.events = self.events[:n_events], []
            self._checker, self._last = Checker(), {}
            for event in events:
                self._take(event)
            raise
        finally:
            self._is_together = False

    def last_of(self, attempt: str) -> int | None:
        """Return the number of the last event of an attempt, None if there is none."""
        return self._last.get(attempt)

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
    checker, end = Checker(), 0
    *lines, rest = content.split(b"\n")
    for number, line in enumerate([*lines, rest] if rest else lines, start=1):
        try:
            event = json.loads(
                line.decode("utf-8", "surrogatepass"), parse_constant=_refuse
            )
            if number == 1:
                _check_first(event, path)
            checker.check(event)
        except (json.JSONDecodeError, UnicodeDecodeError):
            if number > len(lines) and events:
                break  # it was not written to its end
            raise _unfit(path, number, repr(line[:60])) from None
        except LogError:
            raise
        except ValueError as error:
            raise _unfit(path, number, str(error)) from None
        except RecursionError:
            raise _unfit(path, number, "lists in lists, too deep") from None
        checker.take(event)
        events.append(event)
        end += len(line) + 1
    return events, min(end, len(content))  # the last line may lack its end alone


def _check_first(event: Any, path: Path) -> None:
    """Raise if a file does not begin as a log that can be read."""
    if not isinstance(event, dict) or event.get("event") != "session":
        raise LogError(f"{path} does not begin as the log of a session does.")
    schema = event.get("schema")
    if isinstance(schema, bool) or schema not in _READ:
        raise LogError(
            f"{path} has schema {reprlib.repr(schema)}; this version of linkwise "
            f"reads {' and '.join(map(str, _READ))}."
        )


def _unfit(path: Path, number: int, why: str) -> LogError:
    return LogError(
        f"{path}, line {number}, is no event of a session: {why}. Mend the line, or "
        "give another file."
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _for_owner(path: str, flags: int) -> int:
    """Open a file; a new one is for its owner alone."""
    return os.open(path, flags, 0o600)


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
