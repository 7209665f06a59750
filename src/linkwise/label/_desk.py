"""The session as the page sees it: questions, answers, clusters, one at a time."""

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwise.active import Question, Session, is_fit_due
from linkwise.active._state import WORDS
from linkwise.estimators import row_map
from linkwise.label._clusters import (
    broken,
    list_clusters,
    look_of,
    members,
    name_of,
    traits_of,
)
from linkwise.label._rows import Rows
from linkwise.label._worker import Worker
from linkwise.tables import TextTerms

# Answers that the page shows below the question.
_N_LAST = 10
# Seconds after which a page that was not heard of gives its question back.
_ABSENT = 600.0
# Pages that have questions of their own.
_MAX_PAGES = 20
# Questions that are kept with what was expected of them.
_MAX_ASKED = 1_000
# Corrections of clusters, and what they are called with.
_CORRECTIONS = ("merge", "split", "move", "confirm", "rename")
NO_LABEL = 65_535

_LATE = "Somebody has settled this pair meanwhile; here is the next one."
_OTHER_ROWS = "The data have changed, and other rows are in these places; look again."


class LateError(Exception):
    """An answer to a question that was settled meanwhile, or is about other rows."""

    def __init__(self, text: str = _LATE) -> None:
        super().__init__(text)


class Desk:
    """A session that several pages use, with fits in the background.

    All that changes goes through the session, which writes it to its log first.

    Parameters
    ----------
    session : Session
        What is asked and told.
    rows : Rows
        What is shown of the rows.
    who : str, optional
        Who answers, where the page does not say so.
    """

    def __init__(self, session: Session, rows: Rows, who: str | None = None) -> None:
        self.session, self.rows, self.who = session, rows, who
        session.waits_for_fits = False
        self.lock = threading.RLock()
        self.is_over = False
        self.listeners: list[Callable[[], None]] = []
        # Questions that pages show now, and when those were last heard of.
        self._shown: dict[str, tuple[Question | None, float]] = {}
        self._asked: dict[str, Question] = {}
        self._row_of = {name: row for row, name in enumerate(session.ids.tolist())}
        self._map = self._mapped(None)
        self._traits: dict[int, list[str]] = {}
        self._words: dict[int, list[str]] = {}
        self._terms: TextTerms | None = None
        self._n_fitted = -1
        self.worker = Worker(session, self.lock, self.tell, self._draw)
        if session.is_fitted:
            self.worker.want()  # the committee of the last time

    def close(self) -> None:
        """End the fits and let another session have the log."""
        self.worker.close()
        self.session.close()

    def hang_up(self) -> None:
        """Let no page wait for news any longer."""
        self.is_over = True
        self.tell()

    def tell(self) -> None:
        """Wake everybody who waits for news."""
        for listener in list(self.listeners):
            listener()

    def _draw(self, model: Any) -> None:
        self._map = self._mapped(model)
        frame, labels = self.rows.frame, self.session.labels_
        self._traits = traits_of(frame, labels)
        self._terms = self._terms or TextTerms(frame)
        self._words = self._terms.words(labels)

    def _mapped(self, model: Any) -> Any:
        """Return the rows as 16-bit points."""
        xy = row_map(model, self.session.X_)
        low, span = xy.min(axis=0), np.ptp(xy, axis=0).max()
        middle = low + np.ptp(xy, axis=0) / 2
        scaled = (xy - middle) / (span if span > 0 else 1.0) + 0.5
        return np.clip(scaled * 65_535, 0, 65_535).astype("<u2")

    # What the page shows

    def revision(self) -> int:
        """Return a number that grows with every change."""
        return len(self.session.log.events)

    def news(self) -> dict[str, Any]:
        """Return what pages are told when something has changed."""
        return {"revision": self.revision(), "worker": self.worker.state()}

    def state(self, client: str) -> dict[str, Any]:
        """Return everything that is on the page at once."""
        session, status = self.session, self.session.status()
        # What is not known yet is NaN, which JSON has not.
        numbers = {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in status._asdict().items()
        }
        return {
            **self.news(),
            "rows": len(self.rows),
            "columns": self.rows.columns,
            "shown": self.rows.n_shown,
            "criterion": session.criterion,
            "who": self.who,
            "status": numbers,
            "check_least": _least_share(*status.check),
            "follow": session.n_follow,
            "question": self._as_json(self.question(client) if client else None),
            "conflicts": [self._conflict(c) for c in session.conflicts()],
            "last": self._last(),
            "clusters": session.is_fitted,
        }

    def question(self, client: str) -> Question | None:
        """Return the question for a page: the same until its answer is known."""
        now = time.monotonic()
        self._shown = {
            name: (question, when)
            for name, (question, when) in list(self._shown.items())
            if question is not None
            and now - when < _ABSENT
            and self.session.is_open(question)
        }
        found = self._shown.get(client, (None, 0.0))[0]
        if found is None:
            found = self._next([q for q, _ in list(self._shown.values()) if q])
        self._show(client, found)
        return found

    def leave(self, client: str) -> None:
        """Give a question back that nobody looks at any more; it needs no lock."""
        self._shown.pop(client, None)

    def _show(self, client: str, question: Question | None) -> None:
        while len(self._shown) >= _MAX_PAGES:
            self._shown.pop(next(iter(list(self._shown))), None)
        self._shown[client] = (question, time.monotonic())
        if question is not None:
            self._asked[question.id] = question
        while len(self._asked) > _MAX_ASKED:  # the session recalls older ones
            self._asked.pop(next(iter(self._asked)))

    def _next(self, others: list[Question]) -> Question | None:
        """Return a question that no other page shows, if there is one."""
        taken = {frozenset((q.i, q.j)) for q in others}
        found: Question | None = None
        if taken:
            several = self.session.ask(len(taken) + 1)
            free = (q for q in several if frozenset((q.i, q.j)) not in taken)
            found = next(free, None)
        return self.session.ask() if found is None else found

    def _as_json(self, question: Question | None) -> dict[str, Any] | None:
        if question is None:
            return None
        return {
            "id": question.id,
            "kind": question.purpose,
            "left": self.rows.shown(question.i),
            "right": self.rows.shown(question.j),
        }

    def _last(self) -> list[dict[str, Any]]:
        """Return the last answers that count, the newest first."""
        events, found = self.session.log.events, []
        for number, (i, j, is_same) in reversed(self.session.answers.items()):
            said = WORDS[is_same]
            ends = {"i": str(self.rows.ids[i]), "j": str(self.rows.ids[j])}
            who = events[number].get("who")
            found.append({"event": number, "answer": said, "who": who, **ends})
            if len(found) == _N_LAST:
                break
        return found

    def _conflict(self, conflict: Any) -> dict[str, Any]:
        beliefs = self.session.beliefs()
        chain = [
            {
                "event": answer.event,
                "answer": WORDS[answer.is_same],
                "left": self.rows.shown(answer.i),
                "right": self.rows.shown(answer.j),
                "who": self.session.log.events[answer.event].get("who"),
                "time": self.session.log.events[answer.event].get("time"),
                "belief": beliefs.get(answer.event),
            }
            for answer in conflict.chain
        ]
        return {
            "id": conflict.id,
            "answer": conflict.answer,
            "left": self.rows.shown(conflict.i),
            "right": self.rows.shown(conflict.j),
            "chain": chain,
            "weakest": self.session.weakest(conflict).event if chain else None,
        }

    def answers(self) -> dict[str, Any]:
        """Return all that was said and done, the newest first, and who agrees."""
        table = self.session.history.iloc[::-1]
        table = table.astype(object).where(table.notna(), None)
        events = table.to_dict(orient="records")
        for event in events:
            for side in ("i", "j"):
                event[side] = None if event[side] is None else str(event[side])
        return {"events": events, "agreement": self.session.agreement()}

    def clusters(self) -> list[dict[str, Any]]:
        """Return all clusters in words and numbers."""
        return list_clusters(self.session, self._traits, self._words)

    def cluster(self, cluster: int) -> dict[str, Any]:
        """Return a cluster with some of its members."""
        found = members(self.session, cluster)
        shown = {
            part: [self.rows.shown(r) for r in rows] for part, rows in found.items()
        }
        return {"id": cluster, "name": self._name_of(cluster), **shown}

    def _name_of(self, cluster: int) -> str:
        return name_of(self.session, cluster, self._words)

    def points(self) -> bytes:
        """Return where rows are on the map: x and y of each, 16 bits."""
        return bytes(self._map.tobytes())

    def labels(self) -> tuple[bytes, list[dict[str, Any]]]:
        """Return the place of each row's cluster in the list that comes with it."""
        if not self.session.is_fitted:
            return np.full(len(self.rows), NO_LABEL, dtype="<u2").tobytes(), []
        labels = self.session.labels_
        found, place = np.unique(labels, return_inverse=True)
        place = np.where(labels < 0, NO_LABEL, place).astype("<u2")
        palette = [
            {"id": int(c), "name": self._name_of(int(c)), **look_of(int(c))}
            for c in found
        ]
        return place.tobytes(), palette

    def pairs(self) -> bytes:
        """Return ends of pairs (two numbers of 32 bits each), then a byte for each."""
        ends, kinds = broken(self.session)
        return bytes(ends.astype("<u4").tobytes() + kinds.tobytes())

    # What the page does

    def answer(self, client: str, name: str, word: str, note: str = "") -> Any:
        """Take an answer to a question."""
        try:
            question = self._asked.get(name) or self.session.recall(name)
        except LookupError:
            raise LateError(_OTHER_ROWS) from None
        if not self.session.is_open(question):
            raise LateError
        told = self.session.tell(question, word, note=note)
        self._shown.pop(client, None)
        self._fit_if_due()
        return {
            "event": told.event,
            "implied": told.n_implied,
            "conflict": None if told.conflict is None else told.conflict.id,
            "expected": question.p_same,
        }

    def undo(self, client: str, way: str = "undo", who: str | None = None) -> Any:
        """Take the last thing of a person back, or bring it back.

        The question of an answer that is taken back comes again.
        """
        events, found = self.session.log.events, self.session.undoable(way)
        number = next((n for n in found if self._is_own(events[n], client, who)), None)
        if number is None:
            whose = events[found[0]].get("who", "another page") if found else None
            return {"undone": 0, "whose": whose}
        event = events[number]
        go = self.session.undo if way == "undo" else self.session.redo
        n_changed = go(event=number)
        self._shown.pop(client, None)
        question = self._question_of(event) if way == "undo" else None
        if question is not None and self.session.is_open(question):
            self._show(client, question)
        if event["event"] in _CORRECTIONS:
            self.worker.want()
        return {"undone": n_changed, "what": event["event"]}

    def _is_own(self, event: dict[str, Any], client: str, who: str | None) -> bool:
        """Tell whether a page may take an event back: not what others have done.

        An event without a name is anybody's, unless another open page has sent it.
        """
        attempt = event.get("attempt", "")
        if attempt.startswith(f"{client}-"):
            return True
        others = [name for name in list(self._shown) if name != client]
        if any(attempt.startswith(f"{name}-") for name in others):
            return who is not None and event.get("who") == who
        return event.get("who") in (None, who)

    def _question_of(self, event: dict[str, Any]) -> Question | None:
        """Return the question of an answer, None if its rows are gone."""
        if event.get("question") is None:
            return None
        i, j = (self._row_of.get(event[side]) for side in ("i", "j"))
        if i is None or j is None:
            return None
        purpose = event.get("purpose", event.get("kind", "pair"))
        return Question(i, j, event["question"], purpose, event.get("p"))

    def change(self, event: int, answer: str) -> Any:
        """Give an earlier answer another meaning."""
        told = self.session.change(event, answer)
        return {"conflict": None if told.conflict is None else told.conflict.id}

    def resolve(self, conflict: int, choice: str, wrong: int | None) -> Any:
        """Settle a contradiction."""
        for found in self.session.conflicts():
            if found.id == conflict:
                answer = next((a for a in found.chain if a.event == wrong), None)
                if wrong is not None and answer is None:
                    raise ValueError(f"wrong={wrong}: it is not in the chain.")
                self.session.resolve(found, choice, answer)
                return {}
        raise LateError

    def correct(self, kind: str, given: dict[str, Any]) -> Any:
        """Do something to clusters; rows are numbers here."""
        if kind not in _CORRECTIONS:
            raise ValueError(f"kind={kind!r}: allowed are {', '.join(_CORRECTIONS)}.")
        session, new = self.session, None
        rows = [session.ids[row] for row in given.get("rows", ())]
        if kind == "merge":
            new = session.merge(*given["clusters"])
        elif kind == "split":
            new = session.split(given["cluster"], rows)
        elif kind == "move":
            session.move(rows, given["to"])
        elif kind == "confirm":
            session.confirm(given["cluster"], complete=given.get("complete", False))
        else:
            session.rename(given["cluster"], given["name"])
        if kind != "rename":
            self.worker.want()
        return {"cluster": new}

    def _fit_if_due(self) -> None:
        n_answers = self.session.n_answers
        if is_fit_due(n_answers) and n_answers != self._n_fitted:
            self._n_fitted = n_answers
            self.worker.want()


def _least_share(n_right: int, n_all: int) -> float | None:
    """Return the lower end of Wilson's 95 % interval of a share."""
    if n_all == 0:
        return None
    share, z = n_right / n_all, 1.96
    middle = share + z * z / (2 * n_all)
    half = z * math.sqrt(share * (1 - share) / n_all + z * z / (4 * n_all * n_all))
    return max(0.0, (middle - half) / (1 + z * z / n_all))
