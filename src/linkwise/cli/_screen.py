"""What the user sees: notes, progress, the report."""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer

from linkwise.cli._json_lines import say_json

# A heading and the lines that stand beside it.
Section = tuple[str, Sequence[str]]

# Meant for those who write programs, not for those who run them.
_DEVELOPER_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


# The bar adds up all steps at each step: with very many it would outlast the work.
_MAX_BAR = 5000


@dataclass
class Screen:
    """The terminal: notes and progress on stderr, one report on stdout."""

    as_json: bool = False
    quiet: bool = False
    progress: bool = True
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Show a remark on stderr, once, and keep it for the report."""
        text = " ".join(text.split())
        if text in self.warnings:
            return
        self.warnings.append(text)
        if self.as_json and not self.quiet:
            say_json(note=text)
        elif not self.quiet:
            typer.secho("note: ", fg=typer.colors.YELLOW, err=True, nl=False)
            typer.echo(text, err=True)

    @contextmanager
    def notes_of_warnings(self) -> Iterator[None]:
        """Show Python warnings of the block as notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Said before, with line numbers and the names of rows.
            warnings.filterwarnings("ignore", ".* contradict must-links")
            try:
                yield
            finally:
                from linkwise.cli._words import in_options

                for warning in caught:
                    if not issubclass(warning.category, _DEVELOPER_WARNINGS):
                        self.note(in_options(str(warning.message)))

    def watch(self, model: Any) -> None:
        """Give a model a progress bar, if somebody may be looking."""
        if self.quiet or not self.progress or not sys.stderr.isatty():
            return
        if model.get_params().get("n_candidates", 0) > _MAX_BAR:
            return
        import rich

        try:
            from sklearn.callback import ProgressBar
        except ImportError:  # scikit-learn before 1.9 has none
            return
        # The bar draws on rich's own console, and stdout belongs to the report.
        rich.reconfigure(stderr=True)
        model.set_callbacks(ProgressBar())

    @contextmanager
    def bar(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """Give what counts the parts of a long task, None if nobody is looking."""
        if self.quiet or self.as_json or not self.progress or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as shown:
            task = shown.add_task(what, start=False)

            def advance(done: int, total: int) -> None:
                shown.start_task(task)
                shown.update(task, completed=done, total=total)

            yield advance

    def report(self, values: dict[str, Any], sections: Sequence[Section]) -> None:
        """Print the result: as one JSON object, or as sections to read."""
        if self.as_json:
            values = {**values, "warnings": self.warnings}
            typer.echo(json.dumps(_plain(values), allow_nan=False))
        elif not self.quiet:
            _print_sections(sections)


def _print_sections(sections: Sequence[Section]) -> None:
    width = max(len(heading) for heading, _ in sections) + 2
    for heading, lines in sections:
        for place, line in enumerate(lines):
            shown = heading if place == 0 else ""
            typer.secho(f"  {shown:<{width}}" if line else "", bold=True, nl=False)
            typer.echo(line)


def _plain(value: Any) -> Any:
    """Return what JSON can hold: Python numbers, null for what is no number."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is due."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[Any], limit: int = 10) -> str:
    """Return names with commas between them, the first few of many."""
    shown = ", ".join(map(str, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"
