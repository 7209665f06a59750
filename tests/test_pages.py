"""What README and the guide show is true."""

import importlib
import re
import subprocess
import sys

import pytest
from tests.pages import ROOT, all_pages, run_page

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize(
    "block",
    [
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ linkwise --version\nnone\n```\n",
    ],
)
def test_a_page_that_shows_something_else_is_found_out(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(block)
    with pytest.raises(AssertionError, match="but this came"):
        run_page(page)


def test_blocks_share_variables_and_commands_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nfrom pathlib import Path\nx = Path('f').write_text('two')\n```\n"
        "```pycon\n>>> x\n3\n```\n```console\n$ cat f\ntwo\n```\n"
    )
    run_page(page)


def test_readme_is_short():
    assert len(README.splitlines()) < 100


@pytest.mark.parametrize("module", ["", ".active", ".baselines"])
def test_reference_lists_the_public_names(module):
    listed = set(re.findall(r"^   (\w+)$", REFERENCE, flags=re.MULTILINE))
    public = importlib.import_module(f"linkwise{module}").__all__
    assert set(public) - {"STRATEGIES"} <= listed  # a dict has no page


def test_broken_links_of_a_built_guide_are_found(tmp_path):
    (tmp_path / "index.html").write_text(
        '<p id="here"><a href="other.html#there">x</a><a href="#here">y</a>'
        '<a href="gone.html">z</a><img src="https://example.org/a.png">'
        '<a href="https://example.org/">w</a>'
    )
    (tmp_path / "other.html").write_text('<p id="elsewhere">')
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "check_links.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "index.html: loads https://example.org/a.png",
        "index.html: no anchor other.html#there",
        "index.html: no file gone.html",
        f"3 wrong links in {tmp_path}",
    ]
