"""Answers about groups: checked, written down, and what they come to."""

from collections.abc import Collection
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from linkwise.active._fitter import Fitter
from linkwise.active._group_asker import GroupAsker
from linkwise.active._group_status import group_status
from linkwise.active._kinds import Grid, Merge, Prices, Which
from linkwise.active._record import Record
from linkwise.active._state import MEANING, WORDS
from linkwise.active._status import Status

# Questions whose time is remembered, and seconds after which nobody was looking.
_MAX_ASKED = 1_000
_MAX_SECONDS = 600.0


class Stored(NamedTuple):
    """What became of an answer about groups."""

    event: int
    n_pairs: int  # of rows about which it says something


@dataclass
class GroupDesk:
    """Asks about groups, takes the answers, and says how far they lead."""

    record: Record
    asker: GroupAsker
    _asked: dict[str, float] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        record: Record,
        fitter: Fitter,
        kinds: Collection[str],
        seed: int,
        has_checks: bool,
        prices: Prices | None,
    ) -> "GroupDesk":
        """Return the desk of a session, which knows its start clusters."""
        asker = GroupAsker(record, fitter, kinds, seed, has_checks, prices)
        asker.begin()
        return cls(record, asker)

    def select(self, n: int) -> list[Any]:
        """Return up to n questions."""
        found = self.asker.select(n)
        for question in found:
            self._asked.setdefault(question.id, monotonic())
        while len(self._asked) > _MAX_ASKED:
            del self._asked[next(iter(self._asked))]
        return found

    def tell(
        self, question: Any, answer: Any, who: Any, note: str, seconds: Any
    ) -> Stored:
        """Write an answer down."""
        answer = checked_answer(question, answer)
        before = self.record.state.asked.get(question.id)
        if before is not None and before[0] == answer:
            return Stored(before[1], 0)  # the same answer once more
        event = _event_of(self.record, question, answer)
        event |= {"question": question.id, "purpose": question.purpose}
        taken = self._seconds(question, answer, seconds)
        more = {"who": who, "note": note or None, "seconds": taken}
        event |= {key: value for key, value in more.items() if value is not None}
        return Stored(self.record.do(**event), _n_pairs(question, answer))

    def _seconds(self, question: Any, answer: Any, given: Any) -> float | None:
        if given is not None:
            if not (isinstance(given, int | float) and 0.0 <= given < 1e6):
                raise ValueError(f"seconds={given!r}: it must be a number, 0 or more.")
            return float(given)
        if self.asker.prices is not None:
            return float(question.seconds(answer, self.asker.prices))
        then = self._asked.get(question.id)
        if then is None:
            return None
        return round(min(monotonic() - then, _MAX_SECONDS), 1)

    @property
    def n_clusters(self) -> int:
        """Number of clusters now."""
        return len(np.unique(self.asker.labels()))

    def status(self) -> Status:
        """Return how far the session is."""
        return group_status(self.record, self.asker)


def checked_answer(question: Any, answer: Any) -> Any:
    """Return an answer as the log has it.

    Raises
    ------
    ValueError
        If a question of its kind has no such answer.
    """
    if isinstance(question, Merge):
        if not isinstance(answer, list) and answer in MEANING:
            return WORDS[MEANING[answer]]
        raise ValueError(
            f"answer={answer!r}: allowed are 'same', 'different' and 'unsure'."
        )
    if answer is None or isinstance(answer, str) and answer == "unsure":
        return "unsure"
    if isinstance(question, Grid):
        return _places(question, answer)
    if isinstance(answer, str) and answer == "none":
        return "none"
    n = len(question.groups)
    if _is_place(answer, n):
        return int(answer)
    raise ValueError(
        f"answer={answer!r}: allowed are 0 to {n - 1}, 'none' and 'unsure'."
    )


def _places(question: Grid, answer: Any) -> list[int]:
    n = len(question.rows)
    is_list = isinstance(answer, list | tuple | np.ndarray)
    if not is_list or not all(_is_place(at, n) for at in answer):
        raise ValueError(
            f"answer={answer!r}: allowed is a list of places of rows, 0 to {n - 1}, "
            "or 'unsure'."
        )
    return sorted({int(at) for at in answer})


def _is_place(at: Any, n: int) -> bool:
    is_whole = isinstance(at, int | np.integer) and not isinstance(at, bool)
    return is_whole and bool(0 <= at < n)


def _event_of(record: Record, question: Any, answer: Any) -> dict[str, Any]:
    """Return what the log says of an answer."""

    def names(rows: list[int]) -> list[Any]:
        return [record.name(row) for row in rows]

    if isinstance(question, Merge):
        return {
            "event": "groups",
            "groups": list(question.groups),
            "left": names(question.left),
            "right": names(question.right),
            "answer": answer,
        }
    if isinstance(question, Grid):
        return {
            "event": "grid",
            "group": question.group,
            "shown": names(question.examples),
            "rows": names(question.rows),
            "answer": answer,
            "p": list(question.p),
        }
    event = {
        "event": "which",
        "row": record.name(question.row),
        "groups": question.ids,
        "shown": [names(rows) for rows in question.groups],
        "answer": answer,
    }
    if question.p is not None:
        event["p"] = question.p
    if question.guess is not None:
        event["guess"] = question.guess
    if answer == "none":
        event["to"] = _new_id(record, question)
    return event


def _new_id(record: Record, question: Which) -> int:
    """Return the id of a new group: that of the start cluster it comes from, if free.

    So a cluster keeps its id when its first row is asked about.
    """
    state, guess = record.state, question.guess
    is_start = question.purpose == "start" and guess is not None
    if is_start and guess not in state.votes.groups_ever:
        return int(guess)  # type: ignore[arg-type]
    return state.next_id


def _n_pairs(question: Any, answer: Any) -> int:
    if isinstance(answer, str) and answer == "unsure":
        return 0
    if isinstance(question, Grid):
        return len(question.rows)
    if isinstance(question, Which) and answer == "none":
        return len(question.groups)
    return 1
