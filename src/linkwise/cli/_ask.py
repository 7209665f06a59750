"""The command ``linkwise ask``: one pair at a time, in a terminal or through a pipe."""

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from linkwise.cli._data import Table
from linkwise.cli._outputs import Writer, check_outputs, labels_writer, write_all
from linkwise.cli._screen import Screen, counted
from linkwise.cli._sessions import (
    SessionJob,
    beside,
    inputs_of,
    open_session,
    pairs_writer,
)

# Keys, what they mean and what is shown for them; lines of a pipe may have the words.
KEYS = {
    "same": ("ay", "y", "same"),
    "different": ("xn", "n", "different"),
    "unsure": ("u ", "u", "unsure"),
    "undo": ("z\x7f\x08", "z", "undo"),
    "quit": ("q\x1b\x03\x04", "q", "quit"),
}
# Seconds within which letters are of one key.
_SAME_KEY = 0.05
# Letters of a cell that are shown.
_MAX_LETTERS = 600


@dataclass(frozen=True)
class AskJob(SessionJob):
    """What the user asked for."""

    pairs_out: Path | None = None
    out: Path | None = None
    limit: int | None = None


def run_ask(job: AskJob, screen: Screen) -> None:
    """Ask until nothing is left, it is enough, or the person leaves."""
    pairs_out = job.pairs_out or beside(job.data, ".pairs.csv")
    outputs = [pairs_out, *([job.out] if job.out else [])]
    check_outputs(outputs, inputs_of(job))
    opened = open_session(job, screen)
    session, table = opened.session, opened.table
    with session:
        _converse(session, job, table, opened.shown, screen)
        if session.constraints_.is_empty:
            screen.note("No pairs yet; nothing was written.")
            nothing = {"command": "ask", "answers": 0, "written": []}
            screen.report(nothing, [("written", ["nothing"])])
            return
        with screen.notes_of_warnings():
            session.fit()
        writers: list[tuple[Path, Writer]] = [(pairs_out, pairs_writer(session))]
        if job.out is not None:
            labels = session.labels_
            writers.append((job.out, labels_writer(job.out, table, labels)))
        write_all(writers)
        _report(session, [path for path, _ in writers], screen)


def _report(session: Any, written: list[Path], screen: Screen) -> None:
    status = session.status()
    labels, sizes = np.unique(session.labels_, return_counts=True)
    values = {
        "command": "ask",
        "answers": status.n_answers,
        "unsure": status.n_unsure,
        "groups": status.n_groups,
        "enough": status.enough,
        "clusters": len(labels),
        "cluster_sizes": sizes.tolist(),
        "written": [str(path) for path in written],
    }
    lines = [f"{status.n_answers} pairs, {status.n_unsure} unsure; {status.sentence}"]
    clusters = [f"{len(labels)} of {', '.join(map(str, sizes))} rows"]
    files = [str(path) for path in written]
    screen.report(
        values, [("answers", lines), ("clusters", clusters), ("written", files)]
    )


def _converse(
    session: Any, job: AskJob, table: Table, shown: list[str], screen: Screen
) -> None:
    """Ask and take answers until somebody or something ends it."""
    from linkwise.active import is_fit_due

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not screen.as_json
    paint = _Terminal(table, shown) if is_terminal else _Pipe(table, shown, screen)
    n_told, n_fitted, told_enough = 0, 0, False
    with paint.reading() as read:
        while job.limit is None or n_told < job.limit:
            question = session.ask()
            if question is None:
                paint.say("Everything that can be asked is known.")
                return
            paint.ask(question, session)
            word = read()
            if word == "quit":
                return
            if word == "undo":
                paint.say("Taken back." if session.undo() else "Nothing to take back.")
                n_told = max(0, n_told - 1)
                continue
            told = session.tell(question, word, who=job.who)
            n_told += 1
            if told.conflict is not None:
                if not _settle(session, told.conflict, paint, read):
                    return
            else:
                paint.follow(word, told.n_implied)
            n_all = session.status().n_answers
            if is_fit_due(n_all) and n_all != n_fitted:
                n_fitted = n_all
                paint.say("Clustering ...")
                with screen.notes_of_warnings():
                    session.fit()
                status = session.status()
                paint.say(status.sentence)
                if status.enough and not told_enough:
                    told_enough = True
                    paint.say("You may stop now (q), or go on.")


def _settle(session: Any, conflict: Any, paint: Any, read: Callable[[], str]) -> bool:
    """Show the chain of a contradiction; return False if the person leaves.

    It is open then, and neither settled nor forgotten.
    """
    paint.conflict(conflict, session)
    for answer in conflict.chain:
        paint.again(answer, session)
        word = read()
        if word == "quit":
            return False
        if word == "undo":
            break
        if word in ("same", "different") and (word == "same") != answer.is_same:
            session.resolve(conflict, "that", answer)
            paint.say("Changed; the new answer counts.")
            return True
    session.resolve(conflict, "aside")
    paint.say("The new answer is set aside; the others count.")
    return True


def _cell(table: Table, row: int, name: str) -> str:
    frame = table.frame
    at = [str(column) for column in frame.columns].index(name)
    is_gap = frame.iloc[[row], at].isna().iloc[0]
    text = "" if is_gap else str(frame.iloc[row, at])
    # What steers a terminal is shown, not done.
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= _MAX_LETTERS else text[:_MAX_LETTERS] + " ..."


class _Pipe:
    """Questions as lines of JSON or text, answers as lines of words."""

    def __init__(self, table: Table, shown: list[str], screen: Screen) -> None:
        self.table, self.shown, self.screen = table, shown, screen

    @contextmanager
    def reading(self) -> Iterator[Callable[[], str]]:
        yield self._read

    def _read(self) -> str:
        while True:
            line = sys.stdin.readline()
            if not line:
                return "quit"
            word = line.strip().lower()
            for meaning, (_, key, name) in KEYS.items():
                if word in (key, name) or (len(word) == 1 and word in KEYS[meaning][0]):
                    return meaning
            allowed = ", ".join(name for _, _, name in KEYS.values())
            self.say(f"{line.strip()!r} is no answer: {allowed}, or their keys.")

    def ask(self, question: Any, session: Any) -> None:
        rows = {
            side: {name: _cell(self.table, row, name) for name in self.shown}
            for side, row in (("left", question.i), ("right", question.j))
        }
        names = [self.table.name_of(row) for row in (question.i, question.j)]
        if self.screen.as_json:
            value = {"question": question.id, "kind": question.kind}
            value |= {"i": names[0], "j": names[1], **rows}
            typer.echo(json.dumps(value), err=True)
            return
        first = "Once more: " if question.kind == "again" else ""
        words = f"{first}{names[0]} and {names[1]}: same, different or unsure?"
        typer.echo(words, err=True)
        for name in self.shown:
            left, right = rows["left"][name], rows["right"][name]
            mark = " " if left == right else "*"
            typer.echo(f" {mark} {name}: {left} | {right}", err=True)

    def again(self, answer: Any, session: Any) -> None:
        names = [self.table.name_of(row) for row in (answer.i, answer.j)]
        said = "same" if answer.is_same else "different"
        self.say(f"{names[0]} and {names[1]} were said to be {said}; once more?")

    def conflict(self, conflict: Any, session: Any) -> None:
        names = [self.table.name_of(row) for row in (conflict.i, conflict.j)]
        self.say(
            f"{names[0]} and {names[1]} {conflict.answer}: this contradicts "
            f"{counted(len(conflict.chain), 'earlier answer')}. Look at them again."
        )

    def follow(self, word: str, n_implied: int) -> None:
        if n_implied > 1:
            self.say(f"{counted(n_implied, 'pair')} follow from it.")

    def say(self, text: str) -> None:
        if not self.screen.quiet:
            typer.echo(text, err=True)


class _Terminal(_Pipe):
    """Two rows side by side, one key for an answer."""

    def __init__(self, table: Table, shown: list[str]) -> None:
        super().__init__(table, shown, Screen())

    @contextmanager
    def reading(self) -> Iterator[Callable[[], str]]:
        try:
            import termios
            import tty
        except ImportError:  # lines in place of keys
            yield self._read
            return
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        try:
            tty.setcbreak(descriptor)
            yield self._read_key
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)

    def _read_key(self) -> str:
        while True:
            key = _key(sys.stdin.fileno())
            if not key:
                return "quit"
            for meaning, (keys, _, _) in KEYS.items():
                if len(key) == 1 and key.lower() in keys:
                    typer.echo(f"  {meaning}")
                    return meaning

    def ask(self, question: Any, session: Any) -> None:
        title = "Do these two belong together?"
        if question.kind == "again":
            title = "Once more: do these two belong together?"
        self._rows(question.i, question.j, title)

    def again(self, answer: Any, session: Any) -> None:
        said = "same" if answer.is_same else "different"
        self._rows(answer.i, answer.j, f"You said {said} here. And now?")

    def _rows(self, i: int, j: int, title: str) -> None:
        from rich.console import Console
        from rich.table import Table as Grid
        from rich.text import Text

        names = [self.table.name_of(row) for row in (i, j)]
        grid = Grid(title=title, title_justify="left", show_lines=False, expand=False)
        grid.add_column("", style="dim")
        for name in names:
            grid.add_column(Text(name), overflow="fold", ratio=1)
        for name in self.shown:
            left, right = (_cell(self.table, row, name) for row in (i, j))
            mark = "  " if left == right else "* "
            grid.add_row(Text(mark + name), _marked(left, right), _marked(right, left))
        console = Console()
        console.print(grid)
        keys = "   ".join(f"[{key}] {name}" for _, key, name in KEYS.values())
        console.print(Text(keys, style="bold"))


def _key(descriptor: int) -> str:
    """Return the next key of a terminal; arrows and the like are several letters."""
    key = os.read(descriptor, 1)
    if key != b"\x1b" or not _has_more(descriptor):
        return key.decode("latin-1")
    key += os.read(descriptor, 1)
    if key[1:] in (b"[", b"O"):
        while _has_more(descriptor):
            key += os.read(descriptor, 1)
            if b"@" <= key[-1:] <= b"~":
                break
    return key.decode("latin-1")


def _has_more(descriptor: int) -> bool:
    """Tell whether a terminal sends on at once, which no person does."""
    return bool(select.select([descriptor], [], [], _SAME_KEY)[0])


def _marked(text: str, other: str) -> Any:
    """Return a cell to show: dim if both are equal, else the words of both in bold."""
    from rich.text import Text

    if text == other:
        return Text(text, style="dim")
    shared = set(other.lower().split())
    found = Text()
    for place, word in enumerate(text.split(" ")):
        style = "bold" if word and word.lower() in shared else ""
        found.append((" " if place else "") + word, style=style)
    return found
