"""Names of rows in a log, and where these rows are now."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.utils import gen_batches

from linkwise._typing import IntArray
from linkwise.active._log import digest_of
from linkwise.active._packed import pack_digests, unpack_digests

Digests = npt.NDArray[np.uint64]
Rename = Callable[[Any], Any]

# Cells that are looked at together: they fit the cache of a core.
_CELLS_AT_ONCE = 1 << 16


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
    for side in ("i", "j"):
        if side in event:
            found[side] = rename(event[side])
    if "pairs" in event:
        found["pairs"] = [(rename(i), rename(j), same) for i, j, same in event["pairs"]]
    if "rows" in event:
        found["rows"] = [rename(name) for name in event["rows"]]
    return found


def matched_rows(then: Digests, now: Digests) -> IntArray:
    """Return where each row of then is now, -1 if it is not there.

    Of equal rows, the first of then is the first of now.

    Examples
    --------
    >>> then, now = np.array([5, 7, 5, 9]), np.array([9, 5, 5])
    >>> matched_rows(then, now).tolist()
    [1, -1, 2, 0]
    """
    order, own = np.argsort(then, kind="stable"), np.argsort(now, kind="stable")
    then, now = then[order], now[own]
    place = np.searchsorted(now, then) + np.arange(len(then))
    place -= np.searchsorted(then, then)
    is_there = place < np.searchsorted(now, then, side="right")
    found = np.full(len(then), -1)
    found[order[is_there]] = own[place[is_there]]
    return found


def row_digests(rows: Any) -> Digests:
    """Return a number for each row, the same for equal rows in any order or company.

    Numbers are equal whatever their types, and so are numbers and texts that are read
    as such: one odd cell makes texts of a whole column.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1, 2], "b": ["x", "3.0"]})
    >>> other = pd.DataFrame({"a": ["2", "oops"], "b": [3, 5]})
    >>> bool(row_digests(frame)[1] == row_digests(other)[0])
    True
    """
    found = np.zeros(rows.shape[0], dtype=np.uint64)
    if sparse.issparse(rows):
        rows = rows.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        np.add.at(found, row, _mixed(_bits(rows.data) + _salts(rows.indices)))
        return _mixed(found)
    salts = _salts(np.arange(rows.shape[1]))
    for block in gen_batches(len(found), max(1, _CELLS_AT_ONCE // rows.shape[1])):
        part = rows.iloc[block] if isinstance(rows, pd.DataFrame) else rows[block]
        found[block] = _mixed(_cells(part) + salts).sum(axis=1)
    return _mixed(found)


def _salts(columns: IntArray) -> Digests:
    """Return numbers by which equal cells of different columns differ."""
    return _mixed(columns.astype(np.uint64) + np.uint64(1))


def _mixed(numbers: Digests) -> Digests:
    """Return numbers whose bits all depend on all bits of others (splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _cells(rows: Any) -> Any:
    """Return cells as 64 bits each."""
    if not isinstance(rows, pd.DataFrame):
        return _bits(np.asarray(rows))
    if all(pd.api.types.is_numeric_dtype(kind) for kind in rows.dtypes):
        return _bits(rows.to_numpy(dtype=np.float64, na_value=np.nan))
    columns = [_column_cells(rows.iloc[:, at]) for at in range(rows.shape[1])]
    return np.column_stack(columns)


def _column_cells(column: "pd.Series[Any]") -> Any:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _bits(column.to_numpy(dtype=np.float64, na_value=np.nan))
    column, is_there = column.astype(object), column.notna()
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    texts = column.where(is_there, "").astype(str).to_numpy(dtype=object)
    is_text = np.isnan(numbers) & is_there.to_numpy()
    return np.where(is_text, pd.util.hash_array(texts), _bits(numbers))


def _bits(numbers: Any) -> Any:
    """Return numbers as their 64 bits; there is one zero, and one gap."""
    found = np.asarray(numbers, dtype=np.float64) + 0.0
    found[np.isnan(found)] = np.nan
    return found.view(np.uint64)
