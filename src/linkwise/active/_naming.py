"""Names of rows in a log, and where these rows are now."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from linkwise.active._log import LogError, digest_of
from linkwise.active._packed import pack_digests, unpack_digests
from linkwise.active._row_digests import Digests, matched_rows, row_digests

Rename = Callable[[Any], Any]


@dataclass(frozen=True)
class Gone:
    """A row that is no longer there, or not recognised."""

    name: Any
    event: int  # by which there were such rows

    def __str__(self) -> str:
        """Return how a person is told of it."""
        return f"{self.name} (gone)"


class Naming:
    """How the rows of a session are named, and how rows of a log are found among them.

    Rows with ids are found by them. Rows without are numbered, and a log keeps a digest
    of what is in each: a row is found where its content is. Rows of equal content are
    as good as each other.

    Parameters
    ----------
    ids : ndarray of shape (n_samples,)
        Names of the rows, or their numbers.
    are_given : bool
        Whether the ids come from the data.
    rows : array, sparse matrix or data frame
        What is in the rows.
    is_kept : bool
        Whether the session outlives the run, in a file.
    """

    def __init__(self, ids: Any, are_given: bool, rows: Any, is_kept: bool) -> None:
        self.ids, self.are_given, self._rows = ids, are_given, rows
        self._by_content = is_kept and not are_given
        self.row_of = {name: row for row, name in enumerate(ids.tolist())}

    @cached_property
    def digests(self) -> Digests:
        """What is in each row, as a number."""
        return row_digests(self._rows)

    def mark(self, row: int) -> Any:
        """Return what tells a row from others that may have its place later."""
        return self.digests[row] if self._by_content else self.ids[row]

    def event(self, columns: list[str]) -> dict[str, Any]:
        """Return the names of the rows as a log keeps them."""
        numbers = np.arange(len(self.ids))
        is_numbered = self.ids.dtype.kind == "i" and np.array_equal(self.ids, numbers)
        return {
            "rows": len(self.ids),
            "ids": digest_of(self.ids.tolist()),
            "columns": digest_of(columns),
            "names": None if is_numbered else self.ids.tolist(),
            "content": pack_digests(self.digests) if self._by_content else None,
        }

    def renamed(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return events of a log with the names that their rows have now."""
        contents = _contents(events)
        found = []
        rename: Rename | None = None
        for number, event in enumerate(events):
            if number in contents:
                content = contents[number]
                rename = self._renaming(number, event, content)
                # Not as many as the event says: it may say anything.
                names = event.get("names") if content is None else range(len(content))
                if rename is not None:
                    event = {**event, "names": [rename(name) for name in names or ()]}
            elif rename is not None:
                event = _renamed(event, rename)
            found.append(event)
        return found

    def _renaming(
        self, number: int, event: dict[str, Any], content: Digests | None
    ) -> Rename | None:
        """Return what the rows of then are called now; None if nothing has changed."""
        if content is None:
            if self.are_given or event.get("names") is None:
                return None
            return lambda name: Gone(name, number)  # ids that nobody knows any more
        if self.are_given and _are_numbers(self.ids):
            return None
        places = matched_rows(content, self.digests)
        if not self.are_given and np.array_equal(places, np.arange(len(places))):
            return None
        ids = self.ids.tolist()
        known = {
            name: ids[place] for name, place in enumerate(places.tolist()) if place >= 0
        }
        return lambda name: known.get(name, Gone(name, number))

    def other_names(self, events: list[dict[str, Any]]) -> dict[Any, int]:
        """Return the rows of names that a log has as numbers and the data as texts.

        Or the other way round: one entry that is no number makes texts of a whole
        column.
        """
        found: dict[Any, int] = {}
        for event in events if self.are_given else ():
            if event["event"] not in ("session", "rows"):
                continue
            names = event.get("names")
            # Without names, numbers may be no more than places.
            n_places = min(event["rows"], len(self.ids))
            for name in range(n_places) if names is None else names:
                other = _as_number(name) if isinstance(name, str) else str(name)
                row = self.row_of.get(other)
                is_sure = names is not None or row == name
                if row is not None and name not in self.row_of and is_sure:
                    found[name] = row
        return found


def _as_number(name: str) -> int | None:
    return int(name) if name.isdecimal() and str(int(name)) == name else None


def _are_numbers(ids: Any) -> bool:
    """Tell whether ids are the numbers of the rows, also as texts."""
    return [str(name) for name in ids.tolist()] == [str(row) for row in range(len(ids))]


def _contents(events: list[dict[str, Any]]) -> dict[int, Digests | None]:
    """Return what was in the rows from each event on that is about them.

    None if they had ids, or nobody knows. Logs of earlier versions have no content: it
    is taken to be that of the same numbers, as the first version that kept it did.
    """
    found: dict[int, Digests | None] = {}
    later: Digests | None = None
    for number in range(len(events) - 1, -1, -1):
        event = events[number]
        if event["event"] not in ("session", "rows"):
            continue
        if event.get("content") is not None:
            later = unpack_digests(event["content"])
        elif event.get("names") is not None:
            later = None
        found[number] = later if later is None else later[: event["rows"]]
    return found


def _renamed(event: dict[str, Any], rename: Rename) -> dict[str, Any]:
    """Return an event with other names of its rows."""
    found = dict(event)
    for side in ("i", "j", "row"):
        if side in event:
            found[side] = rename(event[side])
    for key in ("shown", "left", "right"):
        if key in event:
            found[key] = [_all_renamed(names, rename) for names in event[key]]
    if "pairs" in event:
        found["pairs"] = [(rename(i), rename(j), same) for i, j, same in event["pairs"]]
    if "rows" in event:
        found["rows"] = [rename(name) for name in event["rows"]]
    return found


def _rows_of(event: dict[str, Any]) -> list[Any]:
    """Return the rows that an answer is about, none if an event is no answer."""
    if event["event"] in ("answer", "conflict"):
        return [event["i"], event["j"]]
    if event["event"] == "which":
        return [event["row"]]
    if event["event"] != "grid":
        return []
    # It still counts if one of its rows is there.
    there = [row for row in event["rows"] if not isinstance(row, Gone)]
    return (there or event["rows"])[:1]


def _all_renamed(names: Any, rename: Rename) -> Any:
    return [*map(rename, names)] if isinstance(names, list) else rename(names)


def check_found(
    path: Path | None,
    events: list[dict[str, Any]],
    then: dict[str, Any],
    now: dict[str, Any],
) -> None:
    """Say which answers of a log are set aside because rows are not recognised.

    ``then`` and ``now`` are the last event about rows, and the next one.

    Raises
    ------
    LogError
        If no answer is left.
    """
    answers = [rows for event in events if (rows := _rows_of(event))]
    n_all = len(answers)
    n_gone = sum(any(isinstance(row, Gone) for row in rows) for rows in answers)
    if n_gone > 0 and n_gone == n_all and then.get("content") is None:
        raise LogError(
            f"{path}: its {n_all} answers name rows by ids, and the data have none. "
            "Give the ids: id_column= or ids=."
        )
    if n_gone > 0 and n_gone == n_all:
        columns = "" if then["columns"] == now["columns"] else " and other columns"
        raise LogError(
            f"{path}: none of its {n_all} answers is about rows of these data, which "
            f"have other values{columns}. Without ids, rows are known by their values. "
            "Open the log with the data of then, or with ids=range(len(X)) if these "
            "are the same rows in the same order."
        )
    if n_gone > 0:
        warnings.warn(
            f"{path}: {n_gone} of {n_all} answers are set aside. Their rows are gone "
            "or have other values, and rows without ids are known by their values. "
            "Rows that have ids are found by them: id_column= or ids=.",
            stacklevel=4,
        )
    elif n_all > 0 and now["content"] and then.get("content") is None:
        warnings.warn(
            f"{path} does not say what is in its rows: its {n_all} answers are taken "
            "to be about the same row numbers. From now on it does, and rows are found "
            "again in any order.",
            stacklevel=4,
        )
