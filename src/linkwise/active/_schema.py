"""What the events of a log may hold.

A log may come from anybody. Each event is checked here when it is read and before it is
written; everything that reads events afterwards relies on it.
"""

import math
import reprlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from linkwise.active._packed import parts_of, unpack_digests

# Labels have 32 bits; so many ids are left for new clusters.
_MAX_CLUSTER = 2**30
_MAX_ROWS = 2**31 - 1
_MAX_SECONDS = 1e6
_MAX_FLOAT = sys.float_info.max


class EventError(ValueError):
    """An event that is not as it must be."""


class Checker:
    """Checks events one after the other; each may refer to those before it."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.n_rows = 0  # that there are now

    def check(self, event: Any) -> None:
        """Raise if an event cannot be the next one."""
        kind = event.get("event") if isinstance(event, dict) else None
        if not isinstance(kind, str) or kind not in _KINDS:
            raise EventError(f"{reprlib.repr(kind)} is no kind of event")
        if (kind == "session") != (not self.kinds):
            raise EventError(
                "a second session begins here; join logs, do not put one behind another"
                if self.kinds
                else "a log begins with the event 'session'"
            )
        needed, optional = _KINDS[kind]
        for key in needed:
            if key not in event:
                raise EventError(f"an event {kind!r} needs {key!r}")
        for key, value in event.items():
            field = needed.get(key) or optional.get(key) or _EVERYWHERE.get(key)
            if field is None and key in _KEYS:
                raise EventError(f"an event {kind!r} has no {key!r}")
            if field is not None and not field.is_fit(value, self):
                shown = reprlib.repr(value)
                raise EventError(f"{key!r} is {shown}: it must be {field.allowed}")
        if "i" in needed and event["i"] == event["j"]:
            row = reprlib.repr(event["i"])
            raise EventError(f"a pair needs two rows, and {row} is one")
        if kind in ("session", "rows"):
            self._check_names(event)
        elif kind in _GROUP_CHECKS:
            _GROUP_CHECKS[kind](event)

    def _check_names(self, event: dict[str, Any]) -> None:
        n_rows, names = event["rows"], event.get("names")
        if names is not None and len(names) != n_rows:
            raise EventError(f"'names' has {len(names)} names for {n_rows} rows")
        if names is not None and len(set(names)) != n_rows:
            raise EventError("'names' has a name twice")
        content = event.get("content")
        if content is not None and not _are_digests(content, n_rows):
            raise EventError(f"'content' is not of {n_rows} rows")

    def take(self, event: dict[str, Any]) -> None:
        """Know an event that was checked."""
        self.kinds.append(event["event"])
        if event["event"] in ("session", "rows"):
            self.n_rows = event["rows"]


class _Field(NamedTuple):
    """What a value must be, in words and as a test."""

    allowed: str
    is_fit: Callable[[Any, Checker], bool]


def _is_whole(value: Any, least: int, most: float) -> bool:
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value <= most
    )


def _is_number(value: Any) -> bool:
    is_kind = isinstance(value, int | float) and not isinstance(value, bool)
    # Whole numbers may be larger than any float.
    return is_kind and (isinstance(value, int) or math.isfinite(value))


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or _is_number(value)


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text that can be written to a file."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a character
        return False
    return True


def _are(value: Any, is_one: Callable[[Any], bool], least: int = 0) -> bool:
    is_list = isinstance(value, list | tuple)
    return is_list and len(value) >= least and all(map(is_one, value))


def _is_pair(value: Any) -> bool:
    is_three = isinstance(value, list | tuple) and len(value) == 3
    return is_three and _are(value[:2], _is_name) and isinstance(value[2], bool)


def _is_cluster(value: Any) -> bool:
    return _is_whole(value, 0, _MAX_CLUSTER)


def _is_place(value: Any) -> bool:
    return _is_whole(value, 0, _MAX_ROWS)


def _is_answer(value: Any, so_far: Checker) -> bool:
    """Tell whether a value is the number of an event that may stand for an answer."""
    is_earlier = _is_whole(value, 0, len(so_far.kinds) - 1)
    return is_earlier and so_far.kinds[value] in (
        "answer",
        "conflict",
        "change",
        "resolve",
    )


def _is_change(value: Any, so_far: Checker) -> bool:
    is_two = isinstance(value, list | tuple) and len(value) == 2
    return is_two and _is_answer(value[0], so_far) and _SAID.is_fit(value[1], so_far)


def _are_labels(value: Any, so_far: Checker) -> bool:
    """Tell whether a text stands for one label for each row, without keeping them."""
    n_labels = 0
    try:
        for part in parts_of(value):
            n_labels += len(part)
            is_in = part.min(initial=0) >= -1 and part.max(initial=0) <= _MAX_CLUSTER
            if not is_in or n_labels > so_far.n_rows:
                return False
    except (ValueError, TypeError):
        return False
    return n_labels == so_far.n_rows


def _are_digests(text: str, n_rows: int) -> bool:
    try:
        return len(unpack_digests(text)) == n_rows
    except ValueError:
        return False


def _word(*allowed: str) -> _Field:
    words = f"one of {', '.join(map(repr, allowed))}"
    return _Field(words, lambda v, _: isinstance(v, str) and v in allowed)


def _whole(least: int, most: int) -> _Field:
    words = f"a whole number from {least} to {most}"
    return _Field(words, lambda v, _: _is_whole(v, least, most))


def _plain(allowed: str, is_fit: Callable[[Any], bool]) -> _Field:
    return _Field(allowed, lambda v, _: is_fit(v))


_ANYTHING = _plain("anything", lambda v: True)
_TEXT = _plain("a text", _is_text)
_NAME = _plain("a text or a number", _is_name)
_NAMES = _plain("a list of texts and numbers", lambda v: _are(v, _is_name))
_YES_OR_NO = _plain("true or false", lambda v: isinstance(v, bool))
_CLUSTER = _plain(f"a whole number from 0 to {_MAX_CLUSTER}", _is_cluster)
_CLUSTERS = _plain("a list of two clusters or more", lambda v: _are(v, _is_cluster, 2))
_SOME_CLUSTERS = _plain("a list of clusters", lambda v: _are(v, _is_cluster, 1))
_LISTS_OF_NAMES = _plain(
    "lists of texts and numbers", lambda v: _are(v, lambda one: _are(one, _is_name))
)
_ANSWER = _Field("the number of an earlier answer", _is_answer)
_EVENT = _Field(
    "the number of an earlier event",
    lambda v, so_far: _is_whole(v, 0, len(so_far.kinds) - 1),
)
_N_EVENTS = _Field(
    "a number of earlier events",
    lambda v, so_far: _is_whole(v, 0, len(so_far.kinds)),
)
_PAIRS = _plain(
    "a list of two rows and true or false each", lambda v: _are(v, _is_pair)
)

_ROWS = {"rows": _whole(1, _MAX_ROWS), "ids": _TEXT, "columns": _TEXT}
_OF_ROWS = {
    "names": _plain(
        f"null or {_NAMES.allowed}", lambda v: v is None or _are(v, _is_name)
    ),
    "content": _plain("null or a text", lambda v: v is None or _is_text(v)),
}
_PAIR = {"i": _NAME, "j": _NAME}
_SECONDS = _plain(
    "a number of seconds", lambda v: _is_number(v) and 0 <= v <= _MAX_SECONDS
)
_OF_GROUP_ANSWER = {
    "purpose": _word("which", "start", "check", "again", "grid", "merge"),
    "p": _plain(
        "a number from 0 to 1, or a list of them",
        lambda v: _is_share(v) or _are(v, _is_share),
    ),
    "question": _TEXT,
    "seconds": _SECONDS,
    "note": _TEXT,
}
_OF_ANSWER = {
    "weight": _plain(
        "a positive number", lambda v: _is_number(v) and 0 < v <= _MAX_FLOAT
    ),
    "p": _plain("a number from 0 to 1", _is_share),
    "kind": _word("pair", "check", "again", "proof"),  # schema 1
    "purpose": _word("pair", "check", "again", "proof"),
    "seconds": _SECONDS,
    "question": _TEXT,
    "again": _EVENT,
    "note": _TEXT,
}
_CHANGES = _Field(
    "a list of earlier answers and what they are now",
    lambda v, so_far: _are(v, lambda change: _is_change(change, so_far)),
)
_SAID = _word("same", "different", "unsure")
_EVERYWHERE = {"event": _TEXT, "time": _TEXT, "who": _NAME, "attempt": _TEXT}
# Of each kind of event, what it has and what it may have.
_KINDS: dict[Any, tuple[dict[str, _Field], dict[str, _Field]]] = {
    "session": ({"schema": _ANYTHING, **_ROWS}, {"seed": _ANYTHING, **_OF_ROWS}),
    "rows": (_ROWS, {"seed": _ANYTHING, **_OF_ROWS}),
    "answer": ({**_PAIR, "answer": _SAID}, _OF_ANSWER),
    "conflict": ({**_PAIR, "answer": _word("same", "different")}, _OF_ANSWER),
    "skip": (_PAIR, {}),
    "resolve": (
        {
            "of": _ANSWER,
            "choice": _word("this", "that", "unsure", "aside"),
            "changes": _CHANGES,
            "keep": _YES_OR_NO,
        },
        {},
    ),
    "change": (
        {"of": _ANSWER, "answer": _word("same", "different", "unsure", "removed")},
        {},
    ),
    "note": ({"of": _EVENT, "text": _TEXT}, {}),
    "criterion": ({"text": _TEXT}, {}),
    "fit": (
        {
            "labels": _Field("one label for each row", _are_labels),
            "clusters": _whole(1, _MAX_CLUSTER),
        },
        {"at": _N_EVENTS},
    ),
    "rename": ({"cluster": _CLUSTER, "name": _TEXT}, {}),
    "merge": ({"pairs": _PAIRS, "clusters": _CLUSTERS, "to": _CLUSTER}, {}),
    "split": ({"pairs": _PAIRS, "rows": _NAMES, "to": _CLUSTER}, {}),
    "move": ({"pairs": _PAIRS, "rows": _NAMES, "to": _CLUSTER}, {}),
    "confirm": ({"pairs": _PAIRS, "cluster": _CLUSTER}, {}),
    "start": (
        {"first": _CLUSTER, "clusters": _CLUSTER},
        {"row": _NAME, "to": _CLUSTER},
    ),
    "which": (
        {
            "row": _NAME,
            "groups": _SOME_CLUSTERS,
            "shown": _LISTS_OF_NAMES,
            "answer": _plain(
                "a place in 'groups', 'none' or 'unsure'",
                lambda v: _is_whole(v, 0, _MAX_ROWS) or v in ("none", "unsure"),
            ),
        },
        {**_OF_GROUP_ANSWER, "to": _CLUSTER, "guess": _CLUSTER},
    ),
    "grid": (
        {
            "group": _CLUSTER,
            "shown": _NAMES,
            "rows": _NAMES,
            "answer": _plain(
                "a list of places in 'rows', or 'unsure'",
                lambda v: v == "unsure" or _are(v, _is_place),
            ),
        },
        _OF_GROUP_ANSWER,
    ),
    "groups": (
        {"groups": _CLUSTERS, "left": _NAMES, "right": _NAMES, "answer": _SAID},
        _OF_GROUP_ANSWER,
    ),
    "undo": ({"n": _whole(1, _MAX_ROWS)}, {"of": _EVENT}),
    "redo": ({"n": _whole(1, _MAX_ROWS)}, {"of": _EVENT}),
}
_KEYS = {key for kind in _KINDS.values() for fields in kind for key in fields}


def _check_which(event: dict[str, Any]) -> None:
    n_groups, answer = len(event["groups"]), event["answer"]
    if len(event["shown"]) != n_groups or len(set(event["groups"])) != n_groups:
        raise EventError(f"'shown' must have rows of each of {n_groups} groups")
    if isinstance(answer, int) and answer >= n_groups:
        raise EventError(f"'answer' is {answer}, and there are {n_groups} groups")
    if (answer == "none") != ("to" in event):
        raise EventError("'to' is needed if the answer is 'none', and only then")


def _check_grid(event: dict[str, Any]) -> None:
    n_rows, answer = len(event["rows"]), event["answer"]
    if len(set(event["rows"])) != n_rows or n_rows == 0:
        raise EventError("'rows' must name rows, each once")
    is_list = not isinstance(answer, str)
    if is_list and (max(answer, default=0) >= n_rows or len(set(answer)) < len(answer)):
        raise EventError(f"'answer' must name places below {n_rows}, each once")


def _check_two(event: dict[str, Any]) -> None:
    if len(set(event["groups"])) != 2 or len(event["groups"]) != 2:
        raise EventError("'groups' must be two groups")


def _check_start(event: dict[str, Any]) -> None:
    if event["clusters"] < 1 or event["first"] + event["clusters"] > _MAX_CLUSTER:
        raise EventError("'clusters' must be at least 1, and their ids in range")
    if ("row" in event) != ("to" in event):
        raise EventError("'row' and 'to' need each other")


_GROUP_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "which": _check_which,
    "grid": _check_grid,
    "groups": _check_two,
    "start": _check_start,
}
