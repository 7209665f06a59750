"""What was said and done in a session: its log, and the state that this leads to."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linkwise.active._log import SCHEMA, Log
from linkwise.active._naming import Naming, check_found
from linkwise.active._state import State, apply, done_and_undone, replay


class Record:
    """The events of a session, on disk first, and the state that they lead to.

    A log that is new, or of other rows, is told which rows there are.
    """

    def __init__(self, log: Log, naming: Naming, columns: list[str], seed: int) -> None:
        self.log, self.naming = log, naming
        self.revision = 0  # grows with every change of the state
        self._signature: dict[str, Any] = {}
        rows = naming.event(columns)
        known = [e for e in log.events if e["event"] in ("session", "rows")]
        is_known = bool(known) and all(
            known[-1].get(key) == value for key, value in rows.items()
        )
        log.events = naming.renamed(log.events)
        self.row_of = naming.row_of | naming.other_names(log.events)
        self.replay()
        if not known:
            self.do(event="session", schema=SCHEMA, seed=seed, **rows)
        elif not is_known:
            check_found(log.path, log.events, known[-1], rows)
            self.do(event="rows", **rows)

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events, by their numbers."""
        return self.log.events

    def do(self, **event: Any) -> int:
        """Put an event on disk, then into the state; return its number."""
        number = self._write(**event)
        apply(self.state, number, event)
        self.revision += 1
        return number

    def _write(self, **event: Any) -> int:
        event["time"] = datetime.now(UTC).isoformat(timespec="microseconds")
        self.log.append({**event, **self._signature})
        return len(self.events) - 1

    @contextmanager
    def signed(self, who: str | None, attempt: str | None) -> Iterator[None]:
        """Put a name and the id of a request on all events of a block."""
        given = {"who": who, "attempt": attempt}
        self._signature = {k: v for k, v in given.items() if v is not None}
        try:
            yield
        finally:
            self._signature = {}

    @contextmanager
    def together(self) -> Iterator[None]:
        """Put all events of a block on disk at once; none of them if it fails."""
        try:
            with self.log.together():
                yield
        except BaseException:
            self.replay()
            raise

    def replay(self) -> None:
        """Make the state anew from the events."""
        self.state = self.state_at(len(self.events))
        self.revision += 1

    def state_at(self, n_events: int) -> State:
        """Return the state that the first events lead to."""
        return replay(self.events[:n_events], len(self.naming.ids), self.row_of)

    def undoable(self, way: str) -> list[int]:
        """Return the events that "undo" or "redo" could take now, the next first."""
        done, undone = done_and_undone(self.events)
        return (done if way == "undo" else undone)[::-1]

    def go(self, way: str, n: int, of: int | None) -> int:
        """Take back the last n events, or one, or bring them back; return how many."""
        if n < 1:
            raise ValueError(f"n={n!r}: it must be at least 1.")
        found = self.undoable(way)
        if of is None:
            n_changed, what = min(n, len(found)), {}
        else:
            n_changed, what = int(of in found), {"of": int(of)}
        if n_changed:
            self._write(event=way, n=n_changed, **what)
            self.replay()
        return n_changed

    def name(self, row: int) -> Any:
        """Return the name of a row, as the log has it."""
        ids = self.naming.ids
        return ids[row].item() if ids.dtype.kind == "i" else ids[row]

    def row(self, name: Any) -> int:
        """Return the row of a name."""
        name = name.item() if isinstance(name, np.generic) else name
        if name not in self.row_of:
            raise ValueError(f"There is no row {name!r}.")
        return self.row_of[name]

    def rows_of(self, names: Any) -> tuple[int, int]:
        """Return the two rows of a pair of names."""
        i, j = names
        found = self.row(i), self.row(j)
        if found[0] == found[1]:
            raise ValueError(f"A pair needs two rows, and {i!r} is one.")
        return found
