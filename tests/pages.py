"""Runs the examples of a Markdown page, as a reader would from top to bottom.

Blocks marked ``python`` are executed, in ``pycon`` blocks what is printed must be what
the page shows, and so in ``console`` blocks, whose lines after ``$`` are commands.
Three dots stand for anything; blanks and line breaks count alike. All blocks of a page
share their variables and a folder, which starts with the files of ``docs/data``.
"""

import doctest
import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

from typer.testing import CliRunner

from linkwise import ConstraintWarning
from linkwise.cli import app

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"
_BLOCK = re.compile(r"^```(python|pycon|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def all_pages() -> list[Path]:
    """Return README and the pages of the guide that have examples."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in pages if _BLOCK.search(page.read_text(encoding="utf-8"))]


def run_page(page: Path) -> None:
    """Execute the blocks of a page in the current folder."""
    for path in DATA.iterdir():
        shutil.copy(path, path.name)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        # Pages may show pairs that contradict each other.
        warnings.simplefilter("ignore", ConstraintWarning)
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            where = f"{page.name}:{line}"
            if block[1] == "python":
                exec(compile(block[2], where, "exec"), names)
            elif block[1] == "pycon":
                _run_session(block[2], names, where)
            else:
                _run_commands(block[2], where)


def _run_session(block: str, names: dict[str, object], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, where, where, 0)
    runner = doctest.DebugRunner(optionflags=_FLAGS)
    try:
        runner.run(test, clear_globs=False)
    except doctest.DocTestFailure as failure:
        raise AssertionError(_told(where, failure.example.want, failure.got)) from None
    except doctest.UnexpectedException as failure:
        raise failure.exc_info[1] from None
    names.update(test.globs)


def _run_commands(block: str, where: str) -> None:
    # A backslash at the end of a line joins it with the next.
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)
    for part in parts[1:]:
        command, _, wanted = part.partition("\n")
        got = _output(command)
        if not doctest.OutputChecker().check_output(wanted, got, _FLAGS):
            raise AssertionError(_told(f"{where}: {command}", wanted, got))


def _output(command: str) -> str:
    words = shlex.split(command)
    if words[0] == "linkwise":
        runner = CliRunner(env={"COLUMNS": "100"})
        return runner.invoke(app, words[1:], prog_name="linkwise").output
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _told(where: str, wanted: str, got: str) -> str:
    return f"{where}\nthe page shows:\n{wanted}\nbut this came:\n{got}"
