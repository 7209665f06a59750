"""The command ``linkwise ask``: one question at a time, in a terminal or a pipe."""

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
from linkwise.cli._errors import BadInputError
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
# Keys of rows of a grid and of groups.
_PLACES = "123456789abc"
_NONE = "0"
_MORE = "m"
_DONE = "\r\n"
_PAIR_LIKE = ("pair", "merge")
_OTHER_KEYS = "[u] unsure   [z] undo   [q] quit"
# Groups of one page.
PAGE = 9
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


def parse_questions(text: str) -> tuple[str, ...]:
    """Return the kinds of question of an option."""
    from linkwise.active._kinds import kinds_of

    words = [word.strip() for word in text.split(",")]
    try:
        return kinds_of(words[0] if len(words) == 1 else words)
    except ValueError as error:
        allowed = "auto, pair, or which, with grid and merge after commas"
        raise BadInputError(f"--questions {text}: allowed are {allowed}.") from error


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
    lines = [f"{status.n_answers} answers, {status.n_unsure} unsure; {status.sentence}"]
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
            word = paint.answer(question, read)
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
                paint.follow(told.n_implied)
            n_all = session.status().n_answers
            if is_fit_due(n_all) and n_all != n_fitted:
                n_fitted = n_all
                if session.needs_fits:
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

    def answer(self, question: Any, read: Callable[[], str]) -> Any:
        """Return an answer to a question of any kind, "undo" or "quit"."""
        if question.kind in _PAIR_LIKE:
            return read()
        return (
            self._read_which(question)
            if question.kind == "which"
            else (self._read_grid(question))
        )

    def _read_which(self, question: Any) -> Any:
        """Read the number of a group."""
        n = len(question.groups)
        while True:
            word = self._line()
            if word.isdecimal() and 1 <= int(word) <= n:
                return int(word) - 1
            if word in ("none", _NONE):
                return "none"
            if (found := _command(word)) is not None:
                return found
            self.say(f"{word!r} is no answer: 1 to {n}, none, unsure, undo, quit.")

    def _read_grid(self, question: Any) -> Any:
        """Read the numbers of the rows that do not belong."""
        n = len(question.rows)
        while True:
            word = self._line()
            numbers = word.replace(",", " ").split()
            if word in ("", "all"):
                return []
            if all(at.isdecimal() and 1 <= int(at) <= n for at in numbers):
                return [int(at) - 1 for at in numbers]
            if (found := _command(word)) is not None:
                return found
            self.say(
                f"{word!r} is no answer: the numbers of those that do not belong, 1 to "
                f"{n}, all if every row belongs, unsure, undo, quit."
            )

    def _line(self) -> str:
        line = sys.stdin.readline()
        return line.strip().lower() if line else "quit"

    def _texts(self, rows: list[int]) -> list[str]:
        """Return rows in one line each; pictures have their names before it."""
        texts = [
            " | ".join(_cell(self.table, row, name) for name in self.shown)
            for row in rows
        ]
        if not self.table.has_pictures:
            return texts
        names = map(self.table.name_of, rows)
        return [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]

    def _values(self, rows: list[int]) -> list[dict[str, str]]:
        return [
            {"id": str(self.table.name_of(row))}
            | {name: _cell(self.table, row, name) for name in self.shown}
            for row in rows
        ]

    def ask(self, question: Any, session: Any) -> None:
        if question.kind == "pair":
            self._ask_pair(question)
        elif self.screen.as_json:
            typer.echo(json.dumps(self._as_json(question)), err=True)
        else:
            for line in self._lines(question):
                typer.echo(line, err=True)

    def _as_json(self, question: Any) -> dict[str, Any]:
        value: dict[str, Any] = {"question": question.id, "kind": question.kind}
        value["purpose"] = question.purpose
        if question.kind == "which":
            value["row"] = self._values([question.row])[0]
            value["groups"] = [self._values(rows) for rows in question.groups]
        elif question.kind == "grid":
            value["examples"] = self._values(question.examples)
            value["rows"] = self._values(question.rows)
        else:
            value["left"] = self._values(question.left)
            value["right"] = self._values(question.right)
        return value

    def _lines(self, question: Any) -> list[str]:
        """Return a question about groups as lines of text."""
        if question.kind == "which":
            found = ["Where does this belong?", f"  {self._texts([question.row])[0]}"]
            for number, rows in enumerate(question.groups, start=1):
                found.append(f"{number:>3}  " + "  /  ".join(self._texts(rows)))
            return [*found, "  0  none of these"]
        if question.kind == "grid":
            found = ["Which of these do not belong to this group?"]
            found += [f"     {text}" for text in self._texts(question.examples)]
            found.append("  Rows:")
            texts = self._texts(question.rows)
            return found + [f"{at:>3}  {text}" for at, text in enumerate(texts, 1)]
        found = ["Are these two groups one thing?", "  first:"]
        found += [f"     {text}" for text in self._texts(question.left)]
        found.append("  second:")
        return found + [f"     {text}" for text in self._texts(question.right)]

    def _ask_pair(self, question: Any) -> None:
        rows = {
            side: {name: _cell(self.table, row, name) for name in self.shown}
            for side, row in (("left", question.i), ("right", question.j))
        }
        names = [self.table.name_of(row) for row in (question.i, question.j)]
        if self.screen.as_json:
            value = {"question": question.id, "kind": question.kind}
            value |= {"purpose": question.purpose, "i": names[0], "j": names[1], **rows}
            typer.echo(json.dumps(value), err=True)
            return
        first = "Once more: " if question.purpose == "again" else ""
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

    def follow(self, n_implied: int) -> None:
        if n_implied > 1:
            self.say(f"{counted(n_implied, 'pair')} follow from it.")

    def say(self, text: str) -> None:
        if not self.screen.quiet:
            typer.echo(text, err=True)


class _Terminal(_Pipe):
    """Two rows side by side, one key for an answer."""

    def __init__(self, table: Table, shown: list[str]) -> None:
        super().__init__(table, shown, Screen())
        self._has_keys = False

    @contextmanager
    def reading(self) -> Iterator[Callable[[], str]]:
        try:
            import termios
            import tty
        except ImportError:  # lines in place of keys
            yield self._read
            return
        self._has_keys = True
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

    def _read_which(self, question: Any) -> Any:
        """Read the key of a group; more groups are on a second page."""
        page, n_pages = 0, -(-len(question.groups) // PAGE)
        while self._has_keys:
            key = _key(sys.stdin.fileno())
            at = _PLACES[:PAGE].find(key) + page * PAGE if key else -1
            if key in _PLACES[:PAGE] and len(key) == 1 and at < len(question.groups):
                return self._told(at, key)
            if key == _NONE:
                return self._told("none", "none of these")
            if key == _MORE and n_pages > 1:
                page = (page + 1) % n_pages
                self._paint_which(question, page)
            elif (found := _meaning(key)) is not None:
                return self._told(found, found)
        return super()._read_which(question)

    def _read_grid(self, question: Any) -> Any:
        """Mark rows by their keys until Enter."""
        marked: set[int] = set()
        while self._has_keys:
            key = _key(sys.stdin.fileno())
            at = _PLACES.find(key.lower()) if len(key) == 1 else -1
            if 0 <= at < len(question.rows):
                marked ^= {at}
                self._paint_grid(question, marked)
            elif key and key in _DONE:
                return self._told(sorted(marked), f"{len(marked)} do not belong")
            elif (found := _meaning(key)) is not None:
                return self._told(found, found)
        return super()._read_grid(question)

    def _told(self, answer: Any, words: str) -> Any:
        typer.echo(f"  {words}")
        return answer

    def _paint_which(self, question: Any, page: int = 0) -> None:
        title = "Where does this belong?"
        body = [(self._texts([question.row])[0], "bold"), ("", "")]
        groups = question.groups[page * PAGE : (page + 1) * PAGE]
        for key, rows in zip(_PLACES, groups, strict=False):
            first, *others = self._texts(rows)
            body.append((f"[{key}] {first}", ""))
            body += [(f"    {text}", "dim") for text in others]
        keys = "[0] none of these   "
        if len(question.groups) > PAGE:
            keys += f"[{_MORE}] more groups   "
        self._paint(title, body, keys + _OTHER_KEYS)

    def _paint_grid(self, question: Any, marked: set[int]) -> None:
        body = [(text, "dim") for text in self._texts(question.examples)]
        body.append(("", ""))
        for at, text in enumerate(self._texts(question.rows)):
            mark = "x" if at in marked else " "
            body.append((f"[{_PLACES[at]}]{mark} {text}", "red" if mark == "x" else ""))
        title = "Mark those that do not belong to this group"
        self._paint(title, body, f"[1 to c] mark   [Enter] done   {_OTHER_KEYS}")

    def _paint_merge(self, question: Any) -> None:
        body = [(text, "") for text in self._texts(question.left)]
        body.append(("", ""))
        body += [(text, "") for text in self._texts(question.right)]
        keys = f"[y] one thing   [n] two things   {_OTHER_KEYS}"
        self._paint("Are these two groups one thing?", body, keys)

    def _paint(self, title: str, body: list[tuple[str, str]], keys: str) -> None:
        from rich.console import Console
        from rich.text import Text

        console = Console()
        console.print(Text(title, style="italic"))
        for text, style in body:
            console.print(Text(text, style=style))
        console.print(Text(keys, style="bold"))

    def ask(self, question: Any, session: Any) -> None:
        if question.kind == "which":
            self._paint_which(question)
        elif question.kind == "grid":
            self._paint_grid(question, set())
        elif question.kind == "merge":
            self._paint_merge(question)
        else:
            self._ask_two(question)

    def _ask_two(self, question: Any) -> None:
        title = "Do these two belong together?"
        if question.purpose == "again":
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


def _command(word: str) -> str | None:
    """Return what a word means that answers no question by itself."""
    for meaning in ("unsure", "undo", "quit"):
        keys, key, name = KEYS[meaning]
        if word in (key, name) or (len(word) == 1 and word in keys):
            return meaning
    return None


def _meaning(key: str) -> str | None:
    """Return what a key means that answers no question by itself."""
    return _command(key.lower()) if key else "quit"


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
