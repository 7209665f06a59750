"""Several people: what they agree on, and logs that become one."""

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from linkwise.active._log import read_events
from linkwise.active._state import undone_events


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
    path: str | os.PathLike[str],
) -> Iterable[tuple[str, Any, Any, str, str]]:
    """Yield id, ends, answer and person of each answer in the log of another session.

    An answer that was changed comes with its last meaning.
    """
    path = Path(path)
    events = read_events(path)
    undone = undone_events(events)
    last: dict[int, str] = {}
    for number, event in enumerate(events):
        if number in undone:
            continue
        if event["event"] in ("answer", "conflict"):
            last[number] = event["answer"]
        elif event["event"] == "change" and event["of"] in last:
            last[event["of"]] = event["answer"]
        elif event["event"] == "resolve":
            last |= {of: said for of, said in event["changes"]}
            if not event["keep"]:
                last.pop(event["of"], None)
    who = path.name.split(".")[0]
    began = events[0].get("time")
    for number, answer in last.items():
        event = events[number]
        if answer in ("same", "different", "unsure") and "i" in event:
            name = f"{who}:{began}:{number}"
            yield name, event["i"], event["j"], answer, event.get("who") or who
