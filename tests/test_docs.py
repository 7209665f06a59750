"""Pages under docs/ show what their files hold."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import linkwise

DOCS = Path(__file__).parent.parent / "docs"
START = (DOCS / "index.md").read_text()
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fill_tables():
    return script("fill_tables")


@pytest.mark.parametrize("name", script("make_summaries").SUMMARIES)
def test_summaries_are_those_of_the_records(name):
    made = script("make_summaries").SUMMARIES[name]().to_csv(index=False)
    assert (DOCS / "experiments" / name).read_text() == made


def test_the_tickets_of_the_guide_are_those_of_their_script(monkeypatch, tmp_path):
    tickets = script("make_tickets")
    monkeypatch.setattr(tickets, "FOLDER", tmp_path)
    tickets.main()
    for path in sorted((DOCS / "data").iterdir()):
        assert (tmp_path / path.name).read_text() == path.read_text(), path.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_files(page, fill_tables):
    assert fill_tables.filled(page) == page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_and_pages_that_are_shown_are_there(page):
    made = ("gallery/", "api/")  # by the build, which checks them
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith(("https://", *made)):
            assert (page.parent / target).exists(), target
            # The guide has pages of its own for these, such as records.md.
            outside = target.startswith("../") and target.endswith(".md")
            assert not outside, target


def test_the_picture_of_the_layers_shows_those_that_are_checked():
    layers = script("make_layers")
    path = DOCS.parent / "pyproject.toml"
    rules = tomllib.loads(path.read_text())["tool"]["importlinter"]["contracts"]
    checked = [names.replace("linkwise.", "") for names in rules[0]["layers"]]
    assert [name for name, _ in layers.LAYERS] == checked
    assert layers.PICTURE.read_text() == layers.picture()


def test_the_version_to_cite_is_the_version():
    cited = (DOCS.parent / "CITATION.cff").read_text()
    assert f"\nversion: {linkwise.__version__}\n" in cited


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        ("I have embeddings and 30 pairs", "texts", "I have embeddings and thirty"),
        ("I don't know the number of clusters", "choosing-k", 'KernelCSC("auto")'),
        ("Some of my pairs are wrong", "noise", "disbelieved_"),
        ("I have 5 million rows", "many-rows", "I have five million rows"),
        ("Can I use it with BERTopic", "topics", "hdbscan_model"),
        ("What is the licence", "project", "BSD 3-Clause"),
        ("How do I add a kernel", "kernels", "How do I add a kernel"),
    ],
)
def test_a_strangers_question_is_one_click_from_the_start(question, page, answer):
    (line,) = [text for text in START.splitlines() if question in text]
    assert f"({page}.md)" in line
    assert answer in (DOCS / f"{page}.md").read_text()


def test_a_table_is_written_as_asked_for(tmp_path, fill_tables):
    table = {"name": ["a", "b"], "part_of": [0.25, None], "size": [1234.5, 2.0]}
    pd.DataFrame({**table, "n": [3, 4]}).to_csv(tmp_path / "t.csv", index=False)
    options = "columns=name,size,part_of,n percent=part_of digits=1"
    page = tmp_path / "page.md"
    page.write_text(f"Before\n<!-- table t.csv {options} -->\nold\n<!-- end -->\nafter")
    rows = [
        "| name | size | part of | n |",
        "| --- | --- | --- | --- |",
        "| a | 1,234.5 | 25.0 % | 3 |",
        "| b | 2.0 |  | 4 |",
    ]
    expected = ["Before", f"<!-- table t.csv {options} -->", *rows, "<!-- end -->"]
    assert fill_tables.filled(page) == "\n".join([*expected, "after"])
