"""Tables of pairs with columns i, j, kind and weight."""

import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwise.constraints._canonical import (
    LARGEST_POSITION,
    LARGEST_WEIGHT,
    TOO_LARGE,
    WEIGHT_RULE,
    is_missing,
)
from linkwise.constraints._ids import (
    OnUnknown,
    check_on_unknown,
    positions_by_id,
    unknown_id_message,
)

COLUMNS = ("i", "j", "kind", "weight")
MUST_LINK, CANNOT_LINK = "must-link", "cannot-link"
_KINDS = {
    **dict.fromkeys(
        ("must-link", "mustlink", "must", "ml", "same", "yes", "y", "true"), MUST_LINK
    ),
    **dict.fromkeys(
        ("cannot-link", "cannotlink", "cannot", "cl", "different", "no", "n", "false"),
        CANNOT_LINK,
    ),
}
_NUMBERS = {1.0: MUST_LINK, 0.0: CANNOT_LINK, -1.0: CANNOT_LINK}
_ALLOWED_KINDS = (
    "allowed are must-link (or ML, same, yes, true, 1) and cannot-link (or CL, "
    "different, no, false, 0, -1)"
)


class Rows(NamedTuple):
    """The columns of a table, and how to name one of its rows in a message."""

    first: list[Any]
    second: list[Any]
    kind: list[Any]
    weight: list[Any] | None
    where: Callable[[int], str]


class ParsedPairs(NamedTuple):
    """Arguments of ``Constraints``, in its order."""

    must_link: list[tuple[Any, Any]]
    cannot_link: list[tuple[Any, Any]]
    must_link_weight: list[float]
    cannot_link_weight: list[float]


def parse_kind(kind: object) -> str | None:
    """Return "must-link" or "cannot-link", None if the kind is neither."""
    spelled = str(kind).strip().lower().replace("_", "-").replace(" ", "-")
    return _KINDS.get(spelled) or _NUMBERS.get(_number(kind))


def _number(kind: object) -> float:
    """Return the number that a kind is written as, NaN if it is none."""
    try:
        return float(str(kind))
    except ValueError:
        return np.nan


def table_rows(table: Any) -> Rows:
    """Return the columns of a data frame, a dict of columns, or of a list of rows.

    A row is a tuple or a dict; the case of column names does not matter.
    """
    if hasattr(table, "collect") and not hasattr(table, "__len__"):
        table = table.collect()  # a lazy frame of polars
    if not hasattr(table, "columns") and not isinstance(table, Mapping):
        table = list(table)
        if not table or not all(isinstance(entry, Mapping) for entry in table):
            return _tuple_rows(table)
        table = {name: [row.get(name) for row in table] for name in table[0]}
    names = list(table.columns if hasattr(table, "columns") else table)
    called = column_names(names)
    check_columns(called, "the table")
    columns = {
        name: _as_list(table[own]) for name, own in zip(called, names, strict=True)
    }
    if len({len(column) for column in columns.values()}) > 1:
        lengths = {name: len(column) for name, column in columns.items()}
        raise ValueError(f"The columns of the table differ in length: {lengths}.")
    weight = columns.get("weight")
    return Rows(columns["i"], columns["j"], columns["kind"], weight, _table_row)


def column_names(names: Iterable[Any]) -> list[Any]:
    """Return names of columns, those that are known in lower case.

    Examples
    --------
    >>> column_names(["I", " J", "Kind", "Note"])
    ['i', 'j', 'kind', 'Note']
    """
    return [
        plain if (plain := str(name).strip().lower()) in COLUMNS else name
        for name in names
    ]


def _table_row(row: int) -> str:
    return f"table row {row}"


def _as_list(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def check_columns(names: list[Any], table: str) -> None:
    """Raise unless the columns i, j and kind are there."""
    missing = [name for name in ("i", "j", "kind") if name not in names]
    if missing:
        raise ValueError(
            f"{table} lacks the column(s) {', '.join(missing)}: it needs i, j, kind "
            f"and may have weight; it has {', '.join(map(str, names)) or 'none'}."
        )


def _tuple_rows(table: list[Any]) -> Rows:
    """Return the columns of a list of (i, j, kind) or (i, j, kind, weight)."""
    for row, entry in enumerate(table):
        if isinstance(entry, str) or not isinstance(entry, Iterable):
            raise ValueError(f"{_table_row(row)} is {entry!r}, not (i, j, kind).")
    entries = [tuple(entry) for entry in table]
    width = len(entries[0]) if entries else 3
    for row, entry in enumerate(entries):
        if len(entry) not in (3, 4) or len(entry) != width:
            raise ValueError(
                f"{_table_row(row)} has {len(entry)} entries: all rows must be "
                f"(i, j, kind), or all (i, j, kind, weight)."
            )
    columns = [list(column) for column in zip(*entries, strict=True)] or [[], [], []]
    first, second, kind = columns[:3]
    return Rows(first, second, kind, columns[3] if width == 4 else None, _table_row)


def parse_rows(
    rows: Rows, ids: Iterable[Any] | None, on_unknown: OnUnknown
) -> ParsedPairs:
    """Return the pairs of a table; every message names the row it is about."""
    check_on_unknown(on_unknown)
    positions = None if ids is None else positions_by_id(ids)
    _refuse_zero_beside_minus_one(rows)
    parsed = ParsedPairs([], [], [], [])
    for row in range(len(rows.first)):
        try:
            kind, weight = _checked_kind(rows.kind[row]), _checked_weight(rows, row)
            ends = _checked_ends(rows.first[row], rows.second[row])
            named = ends
            if positions is not None:
                unknown = [end for end in ends if end not in positions]
                if unknown and on_unknown == "drop":
                    continue
                if unknown:
                    raise ValueError(unknown_id_message(unknown[0], positions))
                ends = positions[ends[0]], positions[ends[1]]
            elif any(isinstance(end, int) and end < 0 for end in ends):
                raise ValueError(f"{ends}: positions must not be negative.")
            if kind == CANNOT_LINK and ends[0] == ends[1]:
                raise ValueError(
                    f"cannot-link {named} joins a point to itself: correct it, or "
                    "remove it."
                )
        except ValueError as error:
            raise ValueError(f"{rows.where(row)}: {error}") from None
        is_must = kind == MUST_LINK
        (parsed.must_link if is_must else parsed.cannot_link).append(ends)
        weights = parsed.must_link_weight if is_must else parsed.cannot_link_weight
        weights.append(weight)
    return parsed


def _refuse_zero_beside_minus_one(rows: Rows) -> None:
    """Raise if 0 may mean "different", or that nothing is known."""
    kinds = [_number(kind) for kind in rows.kind]
    if 0.0 in kinds and -1.0 in kinds:
        zero, minus = kinds.index(0.0), kinds.index(-1.0)
        raise ValueError(
            f"{rows.where(zero)}: kind is {rows.kind[zero]!r}, but {rows.where(minus)} "
            f"has {rows.kind[minus]!r}. Write 1 and 0, or 1 and -1, in the whole "
            "column; remove pairs of which nothing is known."
        )


def _checked_kind(kind: object) -> str:
    found = parse_kind(kind)
    if found is None:
        is_there = not is_missing(kind) and str(kind).strip()
        what = f"kind is {kind!r}" if is_there else "the kind is missing"
        raise ValueError(f"{what}: {_ALLOWED_KINDS}. Remove the pair if nobody knows.")
    return found


def _checked_weight(rows: Rows, row: int) -> float:
    if rows.weight is None:
        return 1.0
    given = rows.weight[row]
    if is_missing(given) or given == "":
        raise ValueError("the weight is missing; write 1 for the default.")
    try:
        weight = float(given)
    except (TypeError, ValueError):
        raise ValueError(f"weight is {given!r}, not a number.") from None
    if not 0 < weight <= LARGEST_WEIGHT:
        raise ValueError(f"weight is {given}: {WEIGHT_RULE}.")
    return weight


def _checked_ends(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both ends; whole floats, as a column with gaps gives, become integers."""
    ends = []
    for column, end in (("i", first), ("j", second)):
        if is_missing(end) or end == "":
            raise ValueError(f"column {column} is missing a value.")
        if isinstance(end, bool | np.bool_):
            raise ValueError(f"column {column} is {end}, not a point.")
        if isinstance(end, numbers.Real):
            if not isinstance(end, numbers.Integral) and not float(end).is_integer():
                raise ValueError(f"column {column} is {end}, not a whole number.")
            is_whole = isinstance(end, numbers.Integral)
            if not is_whole and abs(float(end)) >= float(LARGEST_POSITION):
                raise ValueError(f"column {column} is {end}: {TOO_LARGE}.")
            end = int(end)  # type: ignore[call-overload]
        ends.append(end)
    return ends[0], ends[1]
