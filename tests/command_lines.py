"""Finds command lines of linkwise in pages, help and messages, and reads them.

A line of a code block is a whole command line. So is an example of a help text. What
stands in backticks in running text may be a part of one.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.main import get_command

from linkwise.cli import app

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(``?)(?!`)(.+?)\1(?!`)", re.DOTALL)
_EXAMPLE = re.compile(r"(?:Example|results): (linkwise .*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class CommandLine(NamedTuple):
    """A command line, without the name of the program."""

    words: tuple[str, ...]  # "..." where something is left out
    is_whole: bool

    def __str__(self) -> str:
        """Return it as one would type it."""
        return shlex.join(["linkwise", *self.words])


def of_page(text: str, without: str | None = None) -> Iterator[CommandLine]:
    """Yield the command lines of a Markdown page, those of its code blocks first."""
    for language, block in _FENCE.findall(text):
        if language == without:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            yield from _commands(line.removeprefix("$ "), is_whole=True)
    yield from _of_spans(_FENCE.sub("", text))


def of_source(path: Path) -> Iterator[CommandLine]:
    """Yield the command lines in the strings of a Python file."""
    for text in _strings(path):
        yield from _of_spans(text)
        for example in _EXAMPLE.findall(text):
            yield from _commands(example, is_whole=True)


def options_in(text: str) -> set[str]:
    """Return what a text calls options, such as --seed."""
    return set(_OPTION.findall(text))


def options_of_page(text: str) -> set[str]:
    """Return the options that a page names in running text."""
    spans = [span for _, span in _SPAN.findall(_FENCE.sub("", text))]
    own = [span for span in spans if span.startswith(("--", "linkwise "))]
    return options_in(" ".join(own))


def options_of_source(path: Path) -> set[str]:
    """Return the options that the strings of a Python file name."""
    return options_in(" ".join(_strings(path)))


def known_options() -> set[str]:
    """Return all options of all commands."""
    found = {"--help"}
    for _, command in _leaves("", get_command(app), with_groups=True):
        for parameter in command.params:
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def _of_spans(text: str) -> Iterator[CommandLine]:
    for _, span in _SPAN.findall(text):
        yield from _commands(" ".join(span.split()), is_whole=False)


def _commands(line: str, is_whole: bool) -> Iterator[CommandLine]:
    for part in line.split(" | "):
        if not re.match("linkwise [a-z-]", part.strip()):
            continue
        words = tuple(shlex.split(part, comments=True)[1:])
        yield CommandLine(words, is_whole and "..." not in words)


def _strings(path: Path) -> Iterator[str]:
    """Yield the texts of a Python file, x in the place of values."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "x") for part in node.values)
            yield "".join(part if isinstance(part, str) else "x" for part in parts)
        else:
            waiting += ast.iter_child_nodes(node)


def _leaves(
    name: str, command: Any, with_groups: bool = False
) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None or with_groups:
        yield name, command
    for part, one in (below or {}).items():
        yield from _leaves(f"{name} {part}".strip(), one, with_groups)


def parsed(words: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return the command and the values of its parameters; nothing is run.

    What typer says of a wrong command line is raised.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    root = get_command(app)
    for name, command in _leaves("", root):
        command.callback = lambda name=name, **values: found.append((name, values))
    root.main(list(words), prog_name="linkwise", standalone_mode=False)
    return found[0] if found else ("", {})


def check(line: CommandLine) -> None:
    """Raise if a command line names a command, an option or a value that is none."""
    try:
        parsed(tuple(word for word in line.words if word != "..."))
    except typer.BadParameter.__base__ as error:
        reason = error.format_message()
        # A part of a command line may lack something, or name a group of commands.
        is_short = (
            reason.startswith("Missing")
            or "requires an argument" in reason
            or type(error).__name__ == "NoArgsIsHelpError"
        )
        if line.is_whole or not is_short:
            raise AssertionError(f"{line}: {reason}") from None
