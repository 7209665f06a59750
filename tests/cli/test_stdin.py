import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkwise.cli import _stdin

PAIRS = "i,j,kind\n0,1,ML\n1,2,CL\n"
DATA = "x,y\n1,2\n1,3\n8,9\n8,8\n"
CLUSTER = ["--clusters", 2, "--out", "out.csv", "--candidates", 5]


def said(result):
    """The text of an error, without the frame around it."""
    return " ".join(line.strip("│ ") for line in result.stderr.splitlines())


def test_labels_are_those_of_the_same_table_in_a_file(files):
    options = ["--clusters", 3, "--candidates", 20]
    text = Path("flowers.csv").read_bytes()
    files.ok("cluster", "flowers.csv", "-c", "pairs.csv", "-o", "a.csv", *options)
    files.ok("cluster", "-", "-c", "pairs.csv", "-o", "b.csv", *options, stdin=text)
    pairs = Path("pairs.csv").read_bytes()
    files.ok("cluster", "flowers.csv", "-c", "-", "-o", "c.csv", *options, stdin=pairs)
    labels = [Path(name).read_text() for name in ("a.csv", "b.csv", "c.csv")]
    assert labels[0] == labels[1] == labels[2]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DATA.encode(), []),
        (DATA.replace(",", "\t").encode(), ["'\\t' between fields"]),
        (
            "Größe;y\n1,5;2\n1,5;3\n8,5;9\n".encode("latin-1"),
            ["';' between fields", "decimal commas", "encoding cp1252"],
        ),
        ("größe,y\n1,2\n1,3\n8,9\n".encode("utf-16"), ["encoding utf-16"]),
        (b"4,2\n1,3\n8,9\n", ["no line of column names"]),
    ],
)
def test_the_table_is_recognised_as_in_a_file(linkwise, text, found):
    linkwise.write("pairs.csv", PAIRS)
    values = linkwise.json("check", "-", "pairs.csv", stdin=text)
    assert values["text_file"] == found
    assert values["features"] == 2
    assert values["data"] == "standard input"


def test_options_say_how_it_is_written(linkwise):
    linkwise.write("pairs.csv", PAIRS)
    text = b"1:2\n1:3\n8:9\n"
    options = ["--separator", ":", "--no-header"]
    values = linkwise.json("check", "-", "pairs.csv", *options, stdin=text)
    assert (values["rows"], values["features"]) == (3, 2)


def test_new_rows_may_come_from_it(files):
    text = Path("flowers.csv").read_bytes()
    files.ok(
        *("cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "-o", "a.csv"),
        *("--model", "m.linkwise", "--candidates", 5),
    )
    files.ok("predict", "m.linkwise", "flowers.csv", "-o", "a.csv")
    files.ok("predict", "m.linkwise", "-", "-o", "b.csv", stdin=text)
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_ids_name_rows_and_pairs(files):
    options = ["--id-column", "name"]
    text = Path("named.csv").read_bytes()
    a = files.json("check", "-", "named-pairs.csv", *options, stdin=text)
    pairs = Path("named-pairs.csv").read_bytes()
    b = files.json("check", "named.csv", "-", *options, stdin=pairs)
    assert a["must_links"] == b["must_links"] > 0
    assert a["components"] == b["components"]


def test_it_is_read_once(linkwise, monkeypatch):
    linkwise.write("pairs.csv", PAIRS)
    reads = []
    kept = _stdin.stdin_bytes

    def counted():
        if sys.stdin not in _stdin._kept:
            reads.append(sys.stdin)
        return kept()

    monkeypatch.setattr("linkwise.cli._text_files.stdin_bytes", counted)
    for _ in range(2):
        linkwise.ok("check", "-", "pairs.csv", stdin=DATA)
    assert len(reads) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "standard input is empty"),
        (b"\n \n", "standard input is empty"),
        (b"x,y\n", "standard input has no rows"),
        (b"x,y\n1,2\n3,4,5\n6,7\n", "standard input, line 3: 3 fields"),
        (b"\x1f\x8b\x08\x00", "standard input is compressed with gzip; it must be"),
        (b"PAR1\x00", "standard input is a Parquet file; it must be"),
    ],
)
def test_bad_data_is_described(linkwise, text, words):
    linkwise.write("pairs.csv", PAIRS)
    result = linkwise("cluster", "-", "-c", "pairs.csv", *CLUSTER, stdin=text)
    assert result.exit_code == 3 and words in result.stderr
    assert linkwise.files() == ["pairs.csv"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "standard input is empty"),
        (b"i,j,kind\n0,9,ML\n", "standard input, line 2: there is no row 9"),
        (b"i,j,kind\n0,1,XX\n", "standard input, line 2"),
        (b"i,j\n0,1\n", "standard input"),
    ],
)
def test_bad_pairs_are_described(linkwise, text, words):
    linkwise.write("data.csv", DATA)
    result = linkwise("cluster", "data.csv", "-c", "-", *CLUSTER, stdin=text)
    assert result.exit_code == 3 and words in result.stderr
    assert "stdin.csv" not in result.stderr


def test_contradictions_have_the_lines_of_the_input(linkwise):
    linkwise.write("data.csv", DATA)
    pairs = "i,j,kind\n0,1,ML\n1,2,ML\n0,2,CL\n"
    result = linkwise("check", "data.csv", "-", stdin=pairs)
    assert result.exit_code == 4
    assert "line 4: cannot-link 0, 2" in result.stdout


def test_data_and_pairs_cannot_both_come_from_it(linkwise):
    for arguments, name in [
        (["cluster", "-", "--constraints", "-", *CLUSTER], "--constraints"),
        (["check", "-", "-"], "PAIRS"),
    ]:
        result = linkwise(*arguments, stdin=DATA)
        assert result.exit_code == 2
        assert f"DATA and {name} are both -" in said(result)


@pytest.mark.skipif(sys.platform == "win32", reason="makes a terminal with a pty")
def test_a_terminal_is_refused(linkwise):
    linkwise.write("pairs.csv", PAIRS)
    ours, theirs = os.openpty()
    try:
        command = [sys.executable, "-m", "linkwise.cli", "check", "-", "pairs.csv"]
        done = subprocess.run(
            command, stdin=theirs, capture_output=True, text=True, timeout=120
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2 and done.stdout == ""
    assert "nothing is piped into it" in said(done)


def test_labels_need_a_file(linkwise):
    linkwise.write("pairs.csv", PAIRS)
    arguments = ["cluster", "-", "-c", "pairs.csv", "-k", 2]
    result = linkwise(*arguments, stdin=DATA)
    assert result.exit_code == 2 and "--out" in said(result)
    result = linkwise(*arguments, "--out", "-", stdin=DATA)
    assert result.exit_code == 2 and "must end in" in said(result)
