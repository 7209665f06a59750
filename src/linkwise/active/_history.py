"""What was said and done, as a table."""

from typing import Any

import pandas as pd

from linkwise.active._state import (
    GROUP_ANSWERS,
    REMOVED,
    UNDOABLE,
    WORDS,
    State,
    undone_events,
)

_COLUMNS = ["event", "active", "what", "i", "j", "answer", "now", "who", "time", "note"]
_SHORT = ("i", "j", "answer", "who", "time", "kind", "name", "text", "of", "to")


def history_of(events: list[dict[str, Any]], state: State) -> pd.DataFrame:
    """Return one row for each event that a person has caused."""
    undone = undone_events(events)
    rows = []
    for number, event in enumerate(events):
        if event["event"] not in UNDOABLE or event["event"] == "note":
            continue
        row = {"event": number, "active": number not in undone, "what": event["event"]}
        row |= {key: event.get(key) for key in _SHORT}
        if event["event"] in GROUP_ANSWERS:
            row |= _of_groups(event)
        if event["event"] in ("change", "resolve"):
            row |= _ends(events, event)
        row["now"] = _now(state, number, event) if row["active"] else "undone"
        row["note"] = state.notes.get(number, "")
        rows.append(row)
    # Objects: a name that is half of a character is no text for pandas.
    table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    return table.astype({"event": int, "active": bool})


def _of_groups(event: dict[str, Any]) -> dict[str, Any]:
    """Return rows that an answer about groups is about, and the answer in words."""
    answer = event["answer"]
    if event["event"] == "groups":
        return {
            "i": next(iter(event["left"]), None),
            "j": next(iter(event["right"]), None),
        }
    if event["event"] == "grid":
        n = len(event["rows"])
        said = answer if isinstance(answer, str) else f"{len(answer)} of {n} do not"
        return {
            "i": event["rows"][0],
            "j": next(iter(event["shown"]), None),
            "answer": said,
        }
    is_place = isinstance(answer, int)
    shown = event["shown"][answer] if is_place else []
    said = "same" if is_place else answer
    return {"i": event["row"], "j": next(iter(shown), None), "answer": said}


def _ends(events: list[dict[str, Any]], event: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that a change or a settlement is about."""
    of = events[event["of"]]
    while "i" not in of:
        of = events[of["of"]]
    said = {"answer": event["choice"]} if event["event"] == "resolve" else {}
    return {"i": of["i"], "j": of["j"], **said}


def _now(state: State, number: int, event: dict[str, Any]) -> str | None:
    """Return what an answer means now, None for what is no answer."""
    if number in state.conflicts:
        return "conflict"
    if number in state.answers:
        return WORDS[state.answers[number][2]]
    if number in state.outranked:
        return "merged"
    if event["event"] == "answer":
        return "again" if event.get("again") is not None else REMOVED
    return None
