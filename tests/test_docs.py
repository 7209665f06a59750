"""Pages under docs/ show what their files hold."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.fixture
def fill_tables():
    spec = importlib.util.spec_from_file_location("fill", DOCS / "fill_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_files(page, fill_tables):
    assert fill_tables.filled(page) == page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_and_pages_that_are_shown_are_there(page):
    made = ("gallery/", "api/")  # by the build, which checks them
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith(("https://", *made)):
            assert (page.parent / target).exists(), target


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
