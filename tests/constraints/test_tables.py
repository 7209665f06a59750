"""Pairs from and to tables and files."""

import csv
import os
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwise.constraints import Constraints

EXPECTED = Constraints([(0, 1)], [(1, 2)], 2.0, 0.5)
ROWS = [(0, 1, "must-link", 2.0), (1, 2, "cannot-link", 0.5)]
COLUMNS = ["i", "j", "kind", "weight"]


class TestTables:
    @pytest.mark.parametrize(
        "table",
        [
            ROWS,
            pd.DataFrame(ROWS, columns=COLUMNS),
            pd.DataFrame(ROWS, columns=COLUMNS, index=[7, 7]).assign(note="x"),
            dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)),
            [[np.int64(0), 1.0, "ML", 2], [np.float32(1), np.uint8(2), -1, "0.5"]],
        ],
    )
    def test_every_form_gives_the_same_pairs(self, table):
        assert Constraints.from_table(table) == EXPECTED

    @pytest.mark.parametrize(
        "kind",
        [
            *("must-link", "must_link", "Must Link", "mustlink", "must", "ml", "ML"),
            *("same", " Same ", "YES", "y", "true", True, np.True_),
            *(1, "+1", 1.0, "1.0", np.int8(1)),
        ],
    )
    def test_must_link_may_be_spelled_in_many_ways(self, kind):
        assert Constraints.from_table([(0, 1, kind)]) == Constraints([(0, 1)])

    @pytest.mark.parametrize(
        "kind",
        [
            *("cannot-link", "cannot_link", "CANNOT-LINK", "cannot", "cl", "CL"),
            *("different", "Different", "no", "N", "FALSE", False, np.False_),
            *(-1, " -1 ", 0, "0", 0.0, "-1.0"),
        ],
    )
    def test_cannot_link_may_be_spelled_in_many_ways(self, kind):
        assert Constraints.from_table([(0, 1, kind)]) == Constraints([], [(0, 1)])

    def test_yes_and_no_of_a_frame_are_kinds(self):
        frame = pd.DataFrame({"i": [0, 1], "j": [1, 2], "kind": [True, False]})
        assert Constraints.from_table(frame) == Constraints([(0, 1)], [(1, 2)])

    def test_ids_become_positions(self):
        table = [("b", "a", "ml"), ("c", "b", "cl")]
        expected = Constraints([(0, 1)], [(1, 2)])
        assert Constraints.from_table(table, ids=["a", "b", "c"]) == expected
        assert Constraints.from_table(table).locate(["a", "b", "c"]) == expected

    def test_without_ids_names_stay_names(self):
        assert Constraints.from_table([("7", "8", "ml")]).is_named

    def test_pairs_with_unknown_ids_can_be_dropped(self):
        table = [("b", "a", "ml"), ("c", "b", "cl")]
        pairs = Constraints.from_table(table, ids=["a", "b"], on_unknown="drop")
        assert pairs == Constraints([(0, 1)])

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ([(0, 1, "ml"), (0, 1, "maybe")], "table row 1: kind is 'maybe': allowed"),
            ([(0, 1, "unsure")], "kind is 'unsure'.*Remove the pair if nobody knows"),
            ([(0, 1, 2)], "table row 0: kind is 2: allowed .* same, yes"),
            ([(0, 1, None)], "table row 0: the kind is missing: allowed"),
            ([(0, 1, np.nan)], "table row 0: the kind is missing"),
            (
                [(0, 1, 1), (0, 2, -1), (1, 2, 0)],
                "table row 2: kind is 0, but table row 1 has -1. Write 1 and 0, or",
            ),
            ([(0, 1, "0"), (0, 2, -1.0)], "row 0: kind is '0', but table row 1 has -1"),
            ([(0, None, "ml")], "table row 0: column j is missing a value"),
            ([(np.nan, 0, "ml")], "table row 0: column i is missing a value"),
            ([(pd.NA, 0, "ml")], "table row 0: column i is missing a value"),
            ([(0.5, 0, "ml")], "table row 0: column i is 0.5, not a whole number"),
            ([(0, True, "ml")], "table row 0: column j is True, not a point"),
            ([(-4, 0, "ml")], r"table row 0: \(-4, 0\): positions must not be neg"),
            ([(3, 3, "cl")], r"table row 0: cannot-link \(3, 3\) joins a point"),
            ([(0, 1, "ml", 0)], "table row 0: weight is 0: weights must be positive"),
            ([(0, 1, "ml", "x")], "table row 0: weight is 'x', not a number"),
            ([(0, 1, "ml", np.nan)], "table row 0: the weight is missing"),
            ([(0, 1, "ml", np.inf)], "table row 0: weight is inf"),
            ([(0, 1)], "table row 0 has 2 entries"),
            ([(0, 1, "ml"), (0, 1, "ml", 2)], "table row 1 has 4 entries"),
            ([5], "table row 0 is 5, not"),
            ({"i": [0], "j": [1]}, r"lacks the column\(s\) kind.*it has i, j"),
            ({"i": [0], "j": [], "kind": []}, "differ in length"),
        ],
    )
    def test_a_wrong_row_is_named(self, table, message):
        with pytest.raises(ValueError, match=message):
            Constraints.from_table(table)

    def test_an_unknown_id_is_named_with_its_row(self):
        table = [("ann", "bob", "ml"), ("ann", "bop", "ml")]
        with pytest.raises(ValueError, match="table row 1: id 'bop'.*mean 'bob'"):
            Constraints.from_table(table, ids=["ann", "bob"])

    def test_repeated_ids_are_named(self):
        with pytest.raises(ValueError, match="ids must be unique: 'a'"):
            Constraints.from_table([], ids=["a", "a"])

    @pytest.mark.parametrize(
        "pairs", [EXPECTED, Constraints(), Constraints([("a", "b")], [("a", "c")])]
    )
    def test_a_table_gives_the_same_pairs_back(self, pairs):
        table = pairs.to_table()
        assert list(table.columns) == COLUMNS
        assert Constraints.from_table(table) == pairs


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "pairs.csv"
        path.write_text(text, encoding=encoding)
        return path

    return write


FINITE = st.floats(min_value=1e-300, max_value=1e100)
POINT = st.integers(0, 50)


class TestFiles:
    @settings(
        deadline=None,
        max_examples=40,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(st.tuples(POINT, POINT, FINITE), max_size=8), st.booleans())
    def test_a_file_gives_the_same_pairs_back(self, tmp_path, rows, named):
        pairs = [
            (f"p, {i}", f"p, {j}") if named else (i, j) for i, j, _ in rows if i != j
        ]
        weights = [w for i, j, w in rows if i != j]
        half = len(pairs) // 2
        written = Constraints(
            pairs[:half], pairs[half:], weights[:half], weights[half:]
        )
        written.to_csv(tmp_path / "pairs.csv")
        assert Constraints.from_csv(tmp_path / "pairs.csv") == written

    def test_a_file_is_replaced_as_a_whole(self, tmp_path, monkeypatch):
        path = tmp_path / "pairs.csv"
        EXPECTED.to_csv(path)

        def fail(*_):
            raise OSError("disk full")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            Constraints([(5, 6)]).to_csv(path)
        assert Constraints.from_csv(path) == EXPECTED
        assert os.listdir(tmp_path) == ["pairs.csv"]

    def test_a_header_alone_holds_no_pairs(self, write):
        assert Constraints.from_csv(write("i,j,kind\n")).is_empty

    def test_a_byte_order_mark_blank_lines_and_another_delimiter_are_fine(self, write):
        path = write("j ;i;kind\n\n1; 0 ;ml\n", encoding="utf-8-sig")
        assert Constraints.from_csv(path, delimiter=";") == Constraints([(0, 1)])

    @pytest.mark.parametrize("kinds", ["same,different", "1,0", "1,-1", "Yes,no"])
    def test_kinds_are_those_of_a_table(self, write, kinds):
        same, different = kinds.split(",")
        path = write(f"i,j,kind\n0,1,{same}\n1,2,{different}\n")
        assert Constraints.from_csv(path) == Constraints([(0, 1)], [(1, 2)])

    def test_lines_of_nothing_but_marks_are_blank(self, write):
        path = write("i,j,kind\n0,1,ml\n,,\n , ,\n")
        assert Constraints.from_csv(path) == Constraints([(0, 1)])

    def test_whole_numbers_are_positions_and_anything_else_a_name(self, write):
        assert Constraints.from_csv(write("i,j,kind\n1,2.0,ml\n")) == Constraints(
            [(1, 2)]
        )
        named = Constraints.from_csv(write("i,j,kind\n1,2,ml\n1,b,cl\n"))
        assert named.must_link.tolist() == [["1", "2"]]

    def test_ids_decide_what_a_number_is(self, write):
        path = write("i,j,kind\n007,12,ml\n")
        expected = Constraints([(0, 1)])
        assert Constraints.from_csv(path, ids=["007", "12"]) == expected
        assert Constraints.from_csv(path, ids=[7, 12]) == expected
        assert Constraints.from_csv(path, ids=iter([7, 12])) == expected

    def test_a_name_that_looks_missing_is_a_name(self, write):
        path = write("i,j,kind\nNA,null,ml\n")
        assert Constraints.from_csv(path).must_link.tolist() == [["NA", "null"]]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty: its first line must name the columns"),
            ("i,j\n0,1\n", r"lacks the column\(s\) kind"),
            ("i,j,kind\n0,1,ml\n0,1,huh\n", "line 3: kind is 'huh'"),
            ("i,j,kind\n0,1,same\n0,1,\n", "line 3: the kind is missing"),
            ("i,j,kind\n0,1,1\n0,2,0\n0,3,-1\n", "line 3: kind is '0', but .* line 4"),
            ("i,j,kind\n0,1,ml\n\n0,1\n", "line 4: 2 fields, but the header names 3"),
            ("i,j,kind\n0,,ml\n", "line 2: column j is missing a value"),
            ("i,j,kind,weight\n0,1,ml,\n", "line 2: the weight is missing"),
            ("i,j,kind,weight\n0,1,ml,-2\n", "line 2: weight is -2"),
            ("i,j,kind\n0,-1,ml\n", r"line 2: \(0, -1\): positions must not"),
            ("i,j,kind\n0,1,ml\n4,4,cl\n", r"line 3: cannot-link \(4, 4\)"),
        ],
    )
    def test_a_wrong_line_is_named_with_its_file(self, write, text, message):
        path = write(text)
        with pytest.raises(ValueError, match=re.escape(str(path)) + ".*" + message):
            Constraints.from_csv(path)

    def test_an_unknown_id_is_named_with_its_line(self, write):
        path = write("i,j,kind\nann,bob,ml\nann,eve,cl\n")
        with pytest.raises(ValueError, match="pairs.csv, line 3: id 'eve'"):
            Constraints.from_csv(path, ids=["ann", "bob"])
        kept = Constraints.from_csv(path, ids=["ann", "bob"], on_unknown="drop")
        assert kept == Constraints([(0, 1)])


def test_a_file_that_is_not_utf8_is_refused_with_the_line(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"i,j,kind\n0,1,ML\n0,\xff,ML\n")
    with pytest.raises(ValueError, match="line 3 is not UTF-8"):
        Constraints.from_csv(path)


def test_a_field_that_is_too_long_for_csv_is_refused_with_the_line(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("i,j,kind\n0," + "x" * 140_000 + ",ML\n")
    csv.field_size_limit(131_072)  # Python's own; the command has another
    with pytest.raises(ValueError, match="line 2 is not a line of CSV"):
        Constraints.from_csv(path)
