"""The state of a session as the replay of its events."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.active._answers import Known
from linkwise.active._kinds import PAGE, Prices
from linkwise.active._packed import unpack
from linkwise.active._votes import Votes

# Events that can be taken back.
UNDOABLE = frozenset(
    ["answer", "conflict", "skip", "resolve", "change", "note", "criterion"]
    + ["merge", "split", "move", "confirm", "rename"]
    + ["which", "grid", "groups"]
)
# Answers to questions about groups.
GROUP_ANSWERS = frozenset(["which", "grid", "groups"])
_RELABELLING = frozenset(["merge", "split", "move"])
# What is said of a pair, and what it means.
MEANING: dict[Any, bool | None] = {
    "same": True,
    "different": False,
    "unsure": None,
    True: True,
    False: False,
    None: None,
}
WORDS = {True: "same", False: "different", None: "unsure"}
# What an answer is changed to so that it no longer counts.
REMOVED = "removed"


@dataclass
class State:
    """What the events of a log come to.

    ``answers`` has, by the number of its event, each pair that counts; ``derived`` the
    pairs that corrections of clusters stand for, which give way to answers. Only a
    merge is stronger than earlier answers: it sets ``outranked`` ones aside.
    """

    n_samples: int
    row_of: dict[Any, int]
    answers: dict[int, tuple[int, int, bool | None]] = field(default_factory=dict)
    support: dict[int, int] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    unsure: set[tuple[int, int]] = field(default_factory=set)
    derived: list[tuple[int, int, bool]] = field(default_factory=list)
    outranked: set[int] = field(default_factory=set)
    conflicts: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    # By the event of a change that is a conflict: what was changed, and its meaning.
    before: dict[int, tuple[int, bool | None]] = field(default_factory=dict)
    skipped: set[tuple[int, int]] = field(default_factory=set)
    doubted: set[tuple[int, int]] = field(default_factory=set)  # asked as proof, again
    trust: list[float] = field(default_factory=list)
    checks: list[bool] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)  # by event
    criterion: str = ""
    corrections: list[dict[str, Any]] = field(default_factory=list)
    labels: IntArray | None = None
    fits: list[tuple[int, IntArray]] = field(default_factory=list)  # the last two
    change: tuple[int, float] | None = None  # between the last fits, once it is known
    n_more: int = 0  # clusters beyond those asked for: split ones, less merged ones
    asked: dict[str, tuple[str, int]] = field(default_factory=dict)
    next_id: int = 0
    n_lost: int = 0
    n_contradicted: int = 0  # answers that contradicted others when they came
    names_then: list[Any] | None = None  # ids of the rows when a fit was made
    votes: Votes = field(default_factory=Votes)
    start: tuple[int, int] | None = None  # first id and number of the start clusters
    n_group_answers: int = 0  # to questions about groups, other than unsure
    n_group_unsure: int = 0
    # Seconds that answers took without what is charged for rows, pages and marks.
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def rows(self, event: dict[str, Any]) -> tuple[int, int] | None:
        """Return the rows that an event names; None if they are no longer there."""
        i, j = (self.row_of.get(event[side]) for side in ("i", "j"))
        # Two names of one row: it is a number here and a text there.
        if i is None or j is None or i == j:
            self.n_lost += 1
            return None
        return i, j

    @property
    def n_answers(self) -> int:
        """Number of answers other than unsure."""
        pairs = sum(is_same is not None for _, _, is_same in self.answers.values())
        return pairs + self.n_group_answers

    def use_ids(self, highest: int) -> None:
        """Give ids up to this one to no other cluster, whatever becomes of it."""
        self.next_id = max(self.next_id, highest + 1)

    def remove(self, number: int) -> None:
        """Let the answer of an event count no longer."""
        del self.answers[number]
        self._build()

    def clusters_of_groups(self) -> dict[int, int]:
        """Return the cluster of each group of known rows: where most of them are."""
        assert self.labels is not None
        found = {}
        for group in self.known.groups():
            there, sizes = np.unique(
                self.labels[self.known.members(group)], return_counts=True
            )
            found[group] = int(there[sizes.argmax()])
        return found

    def outrank(self, clusters: list[int]) -> None:
        """Set aside answers by which clusters differ that are one from now on."""
        cluster_of, group_of = self.clusters_of_groups(), self.known.group_of
        found = []
        for number, (i, j, is_same) in self.answers.items():
            if is_same is False:
                a, b = cluster_of[group_of(i)], cluster_of[group_of(j)]
                if a != b and a in clusters and b in clusters:
                    found.append(number)
        for number in found:
            del self.answers[number]
        self.outranked.update(found)
        if found:
            self._build()

    def put(self, number: int, i: int, j: int, is_same: bool | None) -> None:
        """Set the answer of an event, a new or an old one.

        One that contradicts the others is a conflict.
        """
        is_new = number not in self.answers
        self.answers[number] = (i, j, is_same)
        self.support.setdefault(number, 1)
        if is_new:
            self._learn(number, i, j, is_same)
        else:
            self._build()

    def _learn(self, number: int, i: int, j: int, is_same: bool | None) -> None:
        if is_same is None:
            self.unsure.add(pair(i, j))
        elif self.known.learn(i, j, is_same, number):
            self.unsure.discard(pair(i, j))
        else:
            del self.answers[number]
            self.conflicts[number] = (i, j, is_same)

    def _build(self) -> None:
        """Learn all answers anew; conflicts that are none any more are answers."""
        self.known, self.unsure = Known(), set()
        conflicts, self.conflicts = self.conflicts, {}
        for number, answer in list(self.answers.items()):
            self._learn(number, *answer)
        for number, conflict in conflicts.items():
            self.put(number, *conflict)


def pair(i: int, j: int) -> tuple[int, int]:
    """Return two rows in order."""
    return (i, j) if i < j else (j, i)


def replay(
    events: list[dict[str, Any]], n_samples: int, row_of: dict[Any, int]
) -> State:
    """Return the state that a list of events leads to."""
    state = State(n_samples, row_of)
    taken = _taken_back(events)
    for number, event in enumerate(events):
        is_off = number in taken or (
            # Its clusters are of a correction that is off.
            event["event"] == "fit"
            and any(
                of < number < by and events[of]["event"] in _RELABELLING
                for of, by in taken.items()
            )
        )
        if not is_off:
            apply(state, number, event)
        elif event["event"] == "fit":
            state.use_ids(unpack(event["labels"], 0)[1])
        elif event.get("to") is not None and event["event"] in ("split", "which"):
            state.use_ids(event["to"])
    return state


def undone_events(events: list[dict[str, Any]]) -> set[int]:
    """Return the numbers of the events that were taken back."""
    return set(_taken_back(events))


def _taken_back(events: list[dict[str, Any]]) -> dict[int, int]:
    """Return the events that were taken back, and by which others."""
    return _stacks(events)[2]


def done_and_undone(events: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Return what an undo and what a redo could take now, the next one last."""
    return _stacks(events)[:2]


def _stacks(
    events: list[dict[str, Any]],
) -> tuple[list[int], list[int], dict[int, int]]:
    done: list[int] = []
    undone: list[int] = []
    found: dict[int, int] = {}
    for number, event in enumerate(events):
        if event["event"] == "undo":
            for of in _taken(done, event):
                undone.append(of)
                found[of] = number
        elif event["event"] == "redo":
            for of in _taken(undone, event):
                done.append(of)
                del found[of]
        elif event["event"] in UNDOABLE:
            done.append(number)
            undone.clear()  # what was taken back before stays so
    return done, undone, found


def _taken(stack: list[int], event: dict[str, Any]) -> list[int]:
    """Take what an undo or redo is about from a stack: the last ones, or one of it."""
    of = event.get("of")
    if of is None:
        return [stack.pop() for _ in range(min(event["n"], len(stack)))]
    if of not in stack:
        return []
    stack.remove(of)
    return [of]


def apply(state: State, number: int, event: dict[str, Any]) -> None:
    """Bring a state up to date with one more event."""
    kind = event["event"]
    if event.get("note"):
        state.notes[number] = event["note"]
    if kind in ("session", "rows"):
        state.names_then = event.get("names")
    elif kind == "answer":
        _apply_answer(state, number, event)
    elif kind == "skip":
        rows = state.rows(event)
        if rows is not None:
            state.skipped.add(pair(*rows))
    elif kind == "conflict":
        rows = state.rows(event)
        if rows is not None:
            state.put(number, *rows, event["answer"] == "same")
            state.n_contradicted += 1
            _doubt(state, rows, event)
    elif kind == "resolve":
        _apply_resolve(state, number, event)
    elif kind == "change":
        _apply_change(state, number, event)
    elif kind == "note":
        state.notes[event["of"]] = event["text"]
    elif kind == "criterion":
        state.criterion = event["text"]
    elif kind == "fit":
        _apply_fit(state, number, event)
    elif kind == "rename":
        state.names[event["cluster"]] = event["name"]
    elif kind in ("merge", "split", "move", "confirm"):
        _apply_correction(state, event)
    elif kind == "start":
        _apply_start(state, event)
    elif kind in GROUP_ANSWERS:
        _apply_group_answer(state, number, event)


def _apply_answer(state: State, number: int, event: dict[str, Any]) -> None:
    rows = state.rows(event)
    if rows is None:
        return
    if event.get("question") is not None:
        state.asked[event["question"]] = (event["answer"], number)
    _doubt(state, rows, event)
    is_same = MEANING[event["answer"]]
    if event.get("p") is not None and is_same is not None:
        state.trust.append(event["p"] if is_same else 1.0 - event["p"])
        if purpose_of(event) == "check":
            state.checks.append(state.trust[-1] > 0.5)
    earlier = event.get("again")
    if earlier in state.answers and is_same is not None:
        state.support[earlier] += 1
        return
    state.put(number, *rows, is_same)


def purpose_of(event: dict[str, Any]) -> str:
    """Return what a question was for; logs of schema 1 call it its kind."""
    return str(event.get("purpose", event.get("kind", "pair")))


def _doubt(state: State, rows: tuple[int, int], event: dict[str, Any]) -> None:
    """Keep in mind that a pair was asked for a second opinion; it is not once more."""
    if purpose_of(event) in ("proof", "again"):
        state.doubted.add(pair(*rows))


def _apply_resolve(state: State, number: int, event: dict[str, Any]) -> None:
    found = state.conflicts.pop(event["of"], None)
    of, meaning = state.before.pop(event["of"], (None, None))
    if found is not None and of is not None and event["choice"] in ("this", "aside"):
        state.put(of, *found[:2], meaning)  # the change is off
    for of, said in event["changes"]:
        if of in state.answers:
            i, j, _ = state.answers[of]
            state.put(of, i, j, MEANING[said])
    if found is not None and event["keep"]:
        state.put(number, *found)


def _apply_change(state: State, number: int, event: dict[str, Any]) -> None:
    of = event["of"]
    if of not in state.answers:
        return
    i, j, before = state.answers[of]
    state.remove(of)
    if event["answer"] == REMOVED:
        return
    is_same = MEANING[event["answer"]]
    if is_same is not None and state.known.relation(i, j) not in (None, is_same):
        state.conflicts[number] = (i, j, is_same)
        state.before[number] = (of, before)
        state.n_contradicted += 1
    else:
        state.put(of, i, j, is_same)


def _apply_fit(state: State, number: int, event: dict[str, Any]) -> None:
    ids = state.names_then
    n_most = state.n_samples if ids is None else len(ids)
    found, highest = unpack(event["labels"], n_most)
    labels = np.full(state.n_samples, -1)
    if ids is None:
        labels[: len(found)] = found
    else:
        for label, name in zip(found, ids, strict=True):
            if name in state.row_of:
                labels[state.row_of[name]] = label
    state.labels = labels
    state.fits = [*state.fits[-1:], (number, labels)]
    state.use_ids(highest)


def _apply_correction(state: State, event: dict[str, Any]) -> None:
    for i, j, is_same in event["pairs"]:
        ends = state.row_of.get(i), state.row_of.get(j)
        if None not in ends:
            state.derived.append((*ends, is_same))  # type: ignore[arg-type]
    state.corrections.append(event)
    if state.start is not None:
        _vote_correction(state, event)
    if event["event"] == "merge":
        state.n_more -= len(set(event["clusters"])) - 1
        if state.labels is not None:
            state.outrank(event["clusters"])
    elif event["event"] == "split":
        state.n_more += 1
        state.use_ids(event["to"])
    if state.labels is not None:
        rows = [
            state.row_of[name] for name in event.get("rows", ()) if name in state.row_of
        ]
        state.labels = relabelled(state.labels, event, rows)


def _vote_correction(state: State, event: dict[str, Any]) -> None:
    """Count what a person does to clusters as votes that outweigh earlier ones."""
    to = event["cluster"] if event["event"] == "confirm" else event["to"]
    if event["event"] == "merge":
        for cluster in event["clusters"]:
            state.votes.join(to, cluster)
    if event["event"] in ("merge", "confirm"):
        names = [name for *ends, is_same in event["pairs"] if is_same for name in ends]
    else:
        names = event["rows"]
    group = state.votes.group(to)
    for name in dict.fromkeys(names):
        row = state.row_of.get(name)
        if row is not None:
            state.votes.correct(row, group)


def _apply_start(state: State, event: dict[str, Any]) -> None:
    state.start = (event["first"], event["clusters"])
    state.use_ids(event["first"] + event["clusters"] - 1)
    row = state.row_of.get(event.get("row"))
    if row is not None and not state.votes.of:
        state.votes.found(row, event["to"])


def _apply_group_answer(state: State, number: int, event: dict[str, Any]) -> None:
    answer = event["answer"]
    if event.get("question") is not None:
        state.asked[event["question"]] = (answer, number)
    if event.get("to") is not None:
        state.use_ids(event["to"])
    if answer == "unsure":
        state.n_group_unsure += 1
    else:
        state.n_group_answers += 1
    if "seconds" in event:
        state.seconds.setdefault(event["event"], []).append(_bare_seconds(event))
    if event["event"] == "groups":
        left, right = event["groups"]
        state.votes.merge(left, right, MEANING[answer])
    elif event["event"] == "grid":
        places = [state.row_of.get(name) for name in event["rows"]]
        there = [at for at, row in enumerate(places) if row is not None]
        if not isinstance(answer, str):
            answer = [new for new, at in enumerate(there) if at in set(answer)]
        rows = [places[at] for at in there]
        state.votes.grid(event["group"], rows, answer)  # type: ignore[arg-type]
    else:
        _apply_which(state, event)


def _apply_which(state: State, event: dict[str, Any]) -> None:
    row, answer = state.row_of.get(event["row"]), event["answer"]
    if row is None:
        state.n_lost += 1
        return
    if purpose_of(event) == "check" and answer != "unsure":
        said = event["to"] if answer == "none" else event["groups"][answer]
        guess = event.get("guess", -1)
        state.checks.append(state.votes.group(said) == state.votes.group(guess))
    state.votes.which(row, event["groups"], answer, event.get("to"))


def _bare_seconds(event: dict[str, Any]) -> float:
    """Return the seconds of an answer without those of marks and of a second page."""
    more = 0.0
    if event["event"] == "grid" and event["answer"] != "unsure":
        more = Prices.click * len(event["answer"])
    elif event["event"] == "which" and len(event["groups"]) > PAGE:
        is_first = isinstance(event["answer"], int) and event["answer"] < PAGE
        more = 0.0 if is_first else Prices.page
    return max(0.0, event["seconds"] - more)


def relabelled(labels: IntArray, event: dict[str, Any], rows: Any) -> IntArray:
    """Return labels after a correction that concerns some rows."""
    labels = labels.copy()
    if event["event"] == "merge":
        labels[np.isin(labels, event["clusters"])] = event["to"]
    elif event["event"] in ("split", "move"):
        labels[rows] = event["to"]
    return labels
