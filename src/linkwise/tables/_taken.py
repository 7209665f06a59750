"""A table as it is taken apart: numbers, other plain columns, texts."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray
from linkwise.exceptions import TableWarning
from linkwise.tables._columns import ColumnNote, UnreadColumn, Values

# Kinds of columns of which each is a view of its own.
VIEW_KINDS = ("text",)


class Taken(NamedTuple):
    """The columns of a table that are used."""

    numbers: FloatArray  # (n_rows, n_numbers), with gaps
    others: pd.DataFrame  # dates and categories, as skrub takes them
    views: "dict[str, pd.Series[Any]]"  # columns of VIEW_KINDS, None for gaps

    @property
    def has_plain(self) -> bool:
        """Whether there are numbers, dates or categories."""
        return bool(self.numbers.shape[1] or self.others.shape[1])


def taken(frame: pd.DataFrame, notes: list[ColumnNote], read: list[Any]) -> Taken:
    """Return the columns of a table by what becomes of them.

    ``read`` has the values of each column that is used. Warns with a
    :class:`TableWarning` if some could not be read.
    """
    numbers: list[FloatArray] = []
    others: dict[str, Any] = {}
    views: dict[str, Any] = {}
    problems = []
    for note, values in zip(notes, read, strict=True):
        if not note.is_used:
            continue
        problem = _problem(note, frame[note.name], values)
        if problem is not None:
            problems.append(problem)
        if note.kind == "number":
            numbers.append(values.found.to_numpy())
        elif note.kind == "date":
            others[note.name] = values.found
        elif note.kind in VIEW_KINDS:
            views[note.name] = values.found
        else:
            others[note.name] = values.found.astype("str").astype("category")
    if problems:
        warnings.warn(TableWarning(problems), stacklevel=4)
    shape = (len(numbers), len(frame))
    found = np.array(numbers, dtype=np.float64).reshape(shape).T
    return Taken(found, pd.DataFrame(others, index=frame.index), views)


def _problem(
    note: ColumnNote, column: "pd.Series[Any]", values: Values
) -> UnreadColumn | None:
    """Return what could not be read in a column, None if all could.

    A column in which nothing could be read is an error.
    """
    n_unread, n_unseen = int(values.unread.sum()), int(values.unseen.sum())
    if not n_unread and not n_unseen:
        return None
    first = int(np.argmax(values.unread | values.unseen))
    problem = UnreadColumn(
        note.name,
        note.kind,
        len(column),
        n_unread,
        n_unseen,
        str(column.iloc[first]),
    )
    if n_unread and values.found.isna().all():
        raise ValueError(f"{problem}. At fit it held {_in_words(note)}.")
    return problem


def _in_words(note: ColumnNote) -> str:
    """Return how a column is read, for a message."""
    reading = note.reading
    if note.kind == "date":
        return f"dates, {'day' if reading.day_first else 'month'} first"
    marks = {".": "decimal points", ",": "decimal commas"}
    return reading.form or f"numbers with {marks.get(reading.decimal, 'decimals')}"


def as_frame(X: Any) -> pd.DataFrame:
    """Return a table of pandas with texts as names, each different."""
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        X = X.collect()
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    frame = pd.DataFrame(X)
    frame = frame.set_axis(frame.columns.map(str), axis=1).reset_index(drop=True)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"Two columns of the table have the name {twice!r}.")
    return frame
