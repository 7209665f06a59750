"""Several people: what they agree on, and logs that become one."""

import hashlib
import json
import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from linkwise.active._log import read_events
from linkwise.active._naming import Naming
from linkwise.active._pair_votes import pairs_of
from linkwise.active._state import MEANING, WORDS, replay, undone_events


class Agreement(NamedTuple):
    """How far people say the same about pairs that several of them have judged."""

    n_pairs: int  # with answers of two people or more
    share: float | None  # of two answers to a pair that are equal
    alpha: float | None  # Krippendorff's; 0 is chance, 1 is full agreement


def agreement_of(events: list[dict[str, Any]]) -> Agreement:
    """Return the agreement on same and different; each person's last answer counts."""
    undone = undone_events(events)
    said: dict[frozenset[Any], dict[Any, str]] = {}
    for number, event in enumerate(events):
        is_answer = event["event"] in ("answer", "conflict") and number not in undone
        if is_answer and event["answer"] != "unsure":
            ends = frozenset((event["i"], event["j"]))
            said.setdefault(ends, {})[event.get("who")] = event["answer"]
    units = [list(people.values()) for people in said.values() if len(people) > 1]
    if not units:
        return Agreement(0, None, None)
    both = [a == b for answers in units for a, b in combinations(answers, 2)]
    return Agreement(len(units), sum(both) / len(both), _alpha(units))


def _alpha(units: list[list[str]]) -> float | None:
    """Return Krippendorff's alpha of answers that are equal or not."""
    every = [answer for answers in units for answer in answers]
    n = len(every)
    observed = sum(_n_different(answers) / (len(answers) - 1) for answers in units) / n
    expected = _n_different(every) / (n * (n - 1))
    return None if expected == 0.0 else 1.0 - observed / expected


def _n_different(answers: list[str]) -> int:
    """Return how many ordered pairs of answers differ."""
    n_same = answers.count("same")
    return 2 * n_same * (len(answers) - n_same)


def answers_of(
    path: str | os.PathLike[str], naming: Naming
) -> Iterable[tuple[str, Any, Any, str, str]]:
    """Yield id, ends, answer and person of each answer in the log of another session.

    An answer that was changed comes with its last meaning. The id is the same in every
    copy of a log; rows have the names that they have here.
    """
    path = Path(path)
    written = read_events(path)
    events = naming.renamed(written)
    undone = undone_events(events)
    names = list(dict.fromkeys(name for e in events for name in _names_in(e)))
    state = replay(events, len(names), {name: row for row, name in enumerate(names)})
    meant = {**state.answers, **state.conflicts}
    for number, event in enumerate(events):
        # One that was asked again, and confirmed, is another opinion.
        earlier = meant.get(event.get("again", -1))
        if number in undone or number in meant or earlier is None:
            continue
        if MEANING[event["answer"]] == earlier[2]:
            meant[number] = earlier
    for number, (i, j, is_same) in sorted(meant.items()):
        event = root = written[number]
        while "i" not in root:
            root = written[root["of"]]
        who = event.get("who") or root.get("who") or path.name.split(".")[0]
        yield _id_of(root), names[i], names[j], WORDS[is_same], who
    person = path.name.split(".")[0]
    for i, j, is_same in pairs_of(state.votes):
        ends = {"i": names[i], "j": names[j], "answer": WORDS[is_same]}
        yield _id_of(ends), names[i], names[j], WORDS[is_same], person


def _names_in(event: dict[str, Any]) -> list[Any]:
    """Return the rows that an event says something about."""
    if event["event"] in ("answer", "conflict"):
        return [event["i"], event["j"]]
    if event["event"] in ("which", "start"):
        return [event["row"]] if "row" in event else []
    return list(event["rows"]) if event["event"] == "grid" else []


def _id_of(event: dict[str, Any]) -> str:
    """Return an id of an answer that no other one has."""
    what = [event.get(key) for key in ("time", "i", "j", "answer", "attempt")]
    text = json.dumps(what)
    return "joined:" + hashlib.sha256(text.encode()).hexdigest()[:32]
