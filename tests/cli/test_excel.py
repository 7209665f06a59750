import csv
import datetime
import gzip
import re
import sys
import zipfile

import openpyxl
import pytest

PAIRS = "i,j,kind\n0,1,ML\n1,2,CL\n"


@pytest.fixture
def book(linkwise):
    """Write sheets into data.xlsx; the first is that of the arguments."""
    linkwise.write("pairs.csv", PAIRS)

    def write(rows, first_cell=(1, 1), **others):
        workbook = openpyxl.Workbook()
        sheet = workbook.active
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                sheet.cell(first_cell[0] + i, first_cell[1] + j, value)
        for name, more in others.items():
            added = workbook.create_sheet(name)
            for row in more:
                added.append(row)
        workbook.save(linkwise.folder / "data.xlsx")
        return linkwise

    return write


def check(linkwise, *options, data="data.xlsx"):
    return linkwise.json("check", data, "pairs.csv", *options)


def same(linkwise, rows, *options):
    """Assert that a sheet and a CSV file of the same rows are seen alike."""
    with open("data.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    excel, text = (check(linkwise, *options, data=f"data.{e}") for e in ("xlsx", "csv"))
    for key in ("rows", "features", "columns", "text_file", "components"):
        assert excel[key] == text[key]
    return excel


def test_labels_are_those_of_the_same_table_in_a_csv_file(book, files, flowers):
    X, _, pairs = flowers
    book([list(X.columns), *X.to_numpy().tolist()])
    pairs.to_csv("pairs.csv")
    options = ["-c", "pairs.csv", "-k", 3, "--candidates", 20]
    files.ok("cluster", "flowers.csv", *options, "-o", "a.csv", "--model", "m.linkwise")
    files.ok("cluster", "data.xlsx", *options, "-o", "b.csv")
    labels = (files.folder / "a.csv").read_text()
    assert (files.folder / "b.csv").read_text() == labels
    files.ok("predict", "m.linkwise", "data.xlsx", "-o", "c.csv")
    files.ok("predict", "m.linkwise", "flowers.csv", "-o", "d.csv")
    assert (files.folder / "c.csv").read_text() == (files.folder / "d.csv").read_text()


@pytest.mark.parametrize(
    "rows",
    [
        [["x", "y"], [1, 2.5], [3, 4], [5, 6.5]],
        [["x", "y"], [1, "red"], [3, 4], [5, "NA"], [7, None], [8, "red"]],
        [["x", "y"], ["1", "2"], ["3", "4"], [5, "6"]],  # numbers as texts
        [["x", "ok"], [1, True], [2, False], [4, True]],
        [["x", "y"], [1, None], [None, None], [3, 4], [8, 9]],  # a gap of a row
        [[4, 2], [1, 3], [8, 9]],  # no names
        [["x", "x", None], [4, 2, 3], [1, 3, 5], [8, 9, 1]],  # names twice, none
        [["a note, with a comma", "y"], ["one\ntwo", 2], ['"q"', 3], ["one\ntwo", 4]],
    ],
)
def test_columns_are_seen_as_in_a_csv_file(book, rows):
    same(book(rows), rows)


def test_dates_are_dates(book):
    days = [datetime.datetime(2021, month, 3) for month in (1, 2, 7, 9)]
    times = [day.replace(hour=day.month % 9) for day in days]
    linkwise = book(
        [["x", "day", "time"], *zip([1, 4, 2, 9], days, times, strict=True)]
    )
    kinds = {c["name"]: c["kind"] for c in check(linkwise)["columns"]}
    assert kinds == {"x": "number", "day": "date", "time": "date"}


def test_empty_rows_and_columns_around_the_table_are_left_out(book):
    rows = [["x", "y"], [1, 2], [1, 3], [8, 9], [" ", None], [None, ""], [None, "  "]]
    linkwise = book(rows, first_cell=(4, 3))
    values = check(linkwise, "--strict")
    assert (values["rows"], values["features"]) == (3, 2)


def test_one_column_keeps_its_gaps(book):
    rows = [["x"], [1], [None], [3], [8]]
    assert same(book(rows), [["x"], [1], [""], [3], [8]])["rows"] == 4


@pytest.mark.parametrize("ids", [["007", "NA", "a b"], [7, 9, 12], [7.0, "9", 12]])
def test_ids_name_rows_in_pairs(book, ids):
    linkwise = book([["x", "name"], *zip([1, 2, 8], ids, strict=True)])
    named = [str(i).removesuffix(".0") for i in ids]
    linkwise.write(
        "pairs.csv", f"i,j,kind\n{named[0]},{named[1]},ML\n{named[1]},{named[2]},CL\n"
    )
    values = check(linkwise, "--id-column", "name")
    assert (values["must_links"], values["cannot_links"]) == (1, 1)
    linkwise.ok(
        *("cluster", "data.xlsx", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"),
        *("--id-column", "name", "--candidates", 5),
    )
    with open("out.csv", newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["name", *named]


def test_a_sheet_is_chosen_by_its_name(book):
    other = [["a", "b", "c"], [1, 2, 3], [3, 2, 1], [9, 9, 8], [8, 9, 9]]
    linkwise = book([["x"], [1], [2], [7]], other=other)
    assert check(linkwise)["rows"] == 3
    values = check(linkwise, "--sheet", "other")
    assert (values["rows"], values["features"]) == (4, 3)


def fails(linkwise, *options, data="data.xlsx", code=3):
    arguments = ["cluster", data, "-c", "pairs.csv", "-k", 2, "-o", "out.csv", *options]
    before = linkwise.files()
    result = linkwise(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output and linkwise.files() == before
    return " ".join(line.strip("│ ") for line in result.stderr.splitlines())


def test_sheets_that_are_not_there_are_described(book):
    linkwise = book([["x"], [1], [2]], other=[])
    message = fails(linkwise, "--sheet", "mine")
    assert "--sheet 'mine': data.xlsx has no such sheet; it has Sheet, other" in message
    assert "the sheet is empty" in fails(linkwise, "--sheet", "other")
    linkwise.write("data.csv", "x,y\n1,2\n3,4\n9,8\n")
    message = fails(linkwise, "--sheet", "mine", data="data.csv", code=2)
    assert "--sheet 'mine': data.csv has no sheets" in message


def test_places_are_rows_of_the_sheet(book):
    linkwise = book([["x", "y"], [1, 2], ["one\ntwo", 3], [5, None]], first_cell=(3, 1))
    message = fails(linkwise, "--strict", "--drop-column", "x")
    assert "data.xlsx, row 6 of the sheet, column 'y': missing value" in message
    assert "'one\\ntwo' in row 5 of the sheet" in fails(linkwise, "--strict")


@pytest.mark.parametrize("damage", ["text", "cut", "zip", "empty"])
def test_broken_files_are_described(book, damage):
    linkwise = book([["x", "y"], *([i, i * i] for i in range(200))])
    path = linkwise.folder / "data.xlsx"
    if damage == "text":
        path.write_text("x,y\n1,2\n")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:2000])
    elif damage == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("a.txt", "a")
    else:
        path.write_bytes(b"")
    message = fails(linkwise)
    assert re.search("data.xlsx is not an Excel file that can be read: .+", message)


def test_without_openpyxl_the_extra_is_named(book, monkeypatch):
    linkwise = book([["x", "y"], [1, 2], [3, 4]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "pip install 'linkwise[excel]'" in fails(linkwise)


SAME = [["i", "j", "kind", "note"], [0, 1, "same", None], [1, 2, "different", "a\nb"]]


class TestPairs:
    @pytest.fixture
    def pairs(self, book):
        """Write sheets into pairs.xlsx, beside a data file of three rows."""

        def write(rows, first_cell=(1, 1), **others):
            linkwise = book(rows, first_cell, **others)
            (linkwise.folder / "data.xlsx").rename(linkwise.folder / "pairs.xlsx")
            linkwise.write("data.csv", "x,y\n1,2\n1,3\n8,9\n")
            return linkwise

        return write

    def check(self, linkwise, *options):
        return linkwise.json("check", "data.csv", "pairs.xlsx", *options)

    @pytest.mark.parametrize("kinds", [("same", "different"), (1, 0), (True, False)])
    def test_pairs_are_those_of_the_cells(self, pairs, kinds):
        rows = [SAME[0], *([*row[:2], kinds[i]] for i, row in enumerate(SAME[1:]))]
        values = self.check(pairs(rows))
        assert (values["must_links"], values["cannot_links"]) == (1, 1)

    def test_a_sheet_called_pairs_is_taken_before_the_first(self, pairs):
        values = self.check(pairs([["a"], [1]], other=[["b"]], Pairs=SAME))
        assert (values["must_links"], values["cannot_links"]) == (1, 1)

    def test_one_file_may_hold_data_and_pairs(self, book):
        linkwise = book([["x", "y"], [1, 2], [1, 3], [8, 9]], pairs=SAME)
        values = linkwise.json("check", "data.xlsx", "data.xlsx")
        assert (values["rows"], values["must_links"]) == (3, 1)
        linkwise.ok("check", "data.xlsx", "data.xlsx", "--sheet", "Sheet")

    def test_empty_rows_are_none(self, pairs):
        rows = [*SAME[:2], [None] * 4, ["", " ", None, None], SAME[2]]
        assert self.check(pairs(rows, first_cell=(3, 2)))["cannot_links"] == 1

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([*SAME, [0, 2, "maybe", ""]], "row 6 of the sheet: kind is 'maybe'"),
            ([*SAME, [0, 7, "same", ""]], "row 6 of the sheet: there is no row 7"),
            (
                [["a", "b"], [1, 2]],
                "pairs.xlsx (first sheet; none is called pairs) lacks the column",
            ),
            ([*SAME, [0, 2, 1, ""]], "row 5 of the sheet: cannot-link 1, 2"),
        ],
    )
    def test_places_are_rows_of_the_sheet(self, pairs, rows, message):
        linkwise = pairs(rows, first_cell=(3, 1))
        result = linkwise("check", "data.csv", "pairs.xlsx")
        assert message in " ".join(result.output.split())

    def test_a_broken_file_is_described(self, pairs):
        linkwise = pairs(SAME)
        linkwise.write("pairs.xlsx", "i,j,kind\n")
        result = linkwise("check", "data.csv", "pairs.xlsx")
        assert result.exit_code == 3
        assert "pairs.xlsx is not an Excel file that can be read" in result.stderr


def test_pairs_may_be_compressed(linkwise):
    linkwise.write("data.csv", "x,y\n1,2\n1,3\n8,9\n")
    with gzip.open("pairs.tsv.gz", "wt") as file:
        file.write(PAIRS.replace(",", "\t"))
    assert linkwise.json("check", "data.csv", "pairs.tsv.gz")["must_links"] == 1
