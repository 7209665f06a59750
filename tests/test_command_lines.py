"""Command lines of pages, help and messages can be typed, and most of them run."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from tests.command_lines import (
    CommandLine,
    check,
    known_options,
    of_page,
    of_source,
    options_of_page,
    options_of_source,
    parsed,
)
from tests.pages import DATA, ROOT
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.cli import app
from linkwise.cli._stdin import STDIN

PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
PACKAGE = ROOT / "src" / "linkwise"
COMMAND = sorted((PACKAGE / "cli").glob("*.py"))
# Their strings with two dashes are variables of style sheets.
STYLES = ("_page.py", "_report_style.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_of_pages_can_be_typed(page):
    text = page.read_text(encoding="utf-8")
    for line in of_page(text):
        check(line)
    assert options_of_page(text) <= known_options()


def test_command_lines_of_help_docstrings_and_messages_can_be_typed():
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    lines = [line for path in sources for line in of_source(path)]
    assert len(lines) > 30
    for line in lines:
        check(line)


def test_options_that_the_package_names_exist():
    known = known_options()
    for path in PACKAGE.rglob("*.py"):
        if path.name not in STYLES:
            assert options_of_source(path) <= known, path.name


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("cluster a.csv -c p.csv -k 3 -o o.csv --jobs 2", "No such option: --jobs"),
        ("check a.csv p.csv --clusters few", "Invalid value for '--clusters'"),
        ("check a.csv p.csv q.csv", "unexpected extra argument"),
        ("check a.csv", "Missing argument 'PAIRS'"),
        ("cook a.csv", "No such command 'cook'"),
    ],
)
def test_a_wrong_line_is_found_out(line, reason, tmp_path):
    (found,) = of_page(f"```\nlinkwise {line}  # a comment\n```\n")
    with pytest.raises(AssertionError, match=reason):
        check(found)
    (tmp_path / "a.py").write_text(f"x = f'Example: linkwise {line}'")
    assert list(of_source(tmp_path / "a.py")) == [found]
    (part,) = of_page(f"Text with `linkwise\n{line} ...` in it.")
    assert part == CommandLine((*found.words, "..."), is_whole=False)
    if "Missing" in reason:
        check(part)


@pytest.fixture
def try_out(tmp_path, monkeypatch):
    """Run a command line if its files are there; return whether they are."""
    monkeypatch.setattr("linkwise.plots._report.picture", lambda *_: "")
    monkeypatch.setattr("linkwise.cli._label.serve_page", answer_some)
    monkeypatch.setattr("linkwise.cli._label_demo.serve_page", answer_some)
    shutil.copytree(DATA, tmp_path / "tickets")
    n_tickets = len(pd.read_csv(DATA / "tickets.csv"))
    embeddings = np.random.default_rng(0).normal(size=(n_tickets, 4))
    np.save(tmp_path / "tickets" / "rows.npy", embeddings)
    (tmp_path / "tickets" / "photos").mkdir()
    (tmp_path / "rows").mkdir()
    write_rows(tmp_path / "rows")

    def run(line):
        own = "tickets" if "tickets.csv" in line.words else "rows"
        monkeypatch.chdir(tmp_path / own)
        try:
            name, values = parsed(line.words)
        except typer.BadParameter.__base__:  # a part of a command line
            return False
        if name not in RUN or not all(path.exists() for path in inputs(name, values)):
            return False
        few = () if "--candidates" in line.words else RUN[name]
        text = Path("data.csv").read_text() if "-" in line.words else "y\nn\nu\nq\n"
        words = [*line.words, *few]
        result = CliRunner().invoke(app, words, input=text, prog_name="linkwise")
        assert result.exit_code == 0, f"{line}\n{result.output}"
        return True

    return run


# Commands that are tried out, with what makes them fast.
FAST = ("--candidates", "20")
RUN = {"cluster": FAST, "ask": FAST, "label": FAST, "demo": FAST}
RUN |= {"check": (), "predict": (), "report": (), "bench plans": (), "": ()}


def inputs(name, values):
    """The files that a command reads."""
    keys = ["data", "constraints"]
    keys += {"check": ["pairs"], "predict": ["model"], "report": ["model"]}.get(
        name, []
    )
    paths = [values.get(key) for key in keys] + list(values.get("merge") or [])
    return [Path(path) for path in paths if path is not None and path != STDIN]


def write_rows(folder):
    """Write what pages call data, rows, embeddings, flowers and pairs."""
    classes = np.arange(60) % 3
    rows = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(3, 4)[classes]
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    for name in ("data.csv", "new.csv"):
        frame.to_csv(folder / name, index=False)
    frame.assign(name=range(60)).to_csv(folder / "flowers.csv", index=False)
    texts = pd.DataFrame({"text": [f"text {row} of {row % 7}" for row in range(60)]})
    texts.to_csv(folder / "texts.csv", index=False)
    for name in ("rows.npy", "embeddings.npy"):
        np.save(folder / name, rows)
    Constraints.sample(classes, 40, random_state=0).to_csv(folder / "pairs.csv")


def answer_some(opened, *_):
    """Do what a person does on the page."""
    for answer in ("same", "different", "unsure"):
        opened.session.tell(opened.session.ask(), answer)


# Those of console blocks are run with the page, and their output is compared.
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_of_pages_run(page, try_out):
    for line in of_page(page.read_text(encoding="utf-8"), without="console"):
        try_out(line)


def test_command_lines_of_the_help_run(try_out):
    lines = [line for path in COMMAND for line in of_source(path) if line.is_whole]
    assert sum(map(try_out, lines)) >= 8


def test_a_line_that_cannot_run_is_found_out(try_out):
    (line,) = of_page("```\nlinkwise ask tickets.csv --show title\n```\n")
    check(line)
    with pytest.raises(AssertionError, match="--show title: .* no such column"):
        try_out(line)
