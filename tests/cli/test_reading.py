"""Files are read at predict as they were when the model was fitted."""

import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints

N_ROWS = 40
CLASSES = np.arange(N_ROWS) % 2


class Rows:
    """A table in two classes: fitted, then predicted in parts."""

    def __init__(self, linkwise):
        self.linkwise = linkwise
        Constraints.sample(CLASSES, 40, random_state=0).to_csv("pairs.csv")

    def fit(self, columns, separator=",", *options):
        self.separator = separator
        self.table = pd.DataFrame({name: list(v) for name, v in columns.items()})
        self.write("data.csv", self.table)
        values = self.linkwise.json(
            *("cluster", "data.csv", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"),
            *("--model", "model.linkwise", "--candidates", 20, *options),
        )
        self.labels = pd.read_csv("out.csv")["cluster"].to_numpy()
        return values

    def write(self, name, table):
        table.to_csv(name, index=False, sep=self.separator)

    def predict(self, table, *options):
        """Return labels and values of ``linkwise predict``."""
        self.write("new.csv", table)
        values = self.linkwise.json(
            "predict", "model.linkwise", "new.csv", "-o", "new-out.csv", *options
        )
        return pd.read_csv("new-out.csv")["cluster"].to_numpy(), values

    def refused(self, table, *options):
        self.write("new.csv", table)
        result = self.linkwise(
            "predict", "model.linkwise", "new.csv", "-o", "none.csv", *options
        )
        assert result.exit_code == 3, result.output
        assert not (self.linkwise.folder / "none.csv").exists()
        return " ".join(result.stderr.split())

    def same_alone(self, places):
        """Assert that rows get the same clusters with and without the others."""
        together, _ = self.predict(self.table)
        alone, _ = self.predict(self.table.iloc[places])
        assert alone.tolist() == together[places].tolist()


@pytest.fixture
def rows(linkwise):
    return Rows(linkwise)


def test_the_order_of_day_and_month_is_kept(rows):
    days = [
        datetime.date(2020, 1, 1 + i // 2) if i % 2 else datetime.date(2020, 11, 28)
        for i in range(N_ROWS)
    ]
    values = rows.fit({"day": [f"{day:%d/%m/%Y}" for day in days]})
    assert values["columns"][0]["kind"] == "date"
    rows.same_alone([place for place, day in enumerate(days) if day.day <= 12])


def test_a_date_that_does_not_fit_the_order_is_said(rows):
    days = [f"{1 + 14 * (i % 2) + i // 4:02d}/03/2020" for i in range(N_ROWS)]
    rows.fit({"day": days, "x": CLASSES * 10 + np.arange(N_ROWS) % 5})
    new = rows.table.replace({"day": {days[0]: "03/25/2020"}})
    _, values = rows.predict(new)
    count = int((new["day"] == "03/25/2020").sum())
    assert values["unread"] == [
        {
            "column": "day",
            "kind": "date",
            "rows": N_ROWS,
            "unread": count,
            "unseen": 0,
            "example": "03/25/2020",
        }
    ]
    assert f"day: {count} of {N_ROWS} values are not dates" in values["warnings"][-1]


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize(
    ("small", "large"),
    [
        (lambda i: f"0,{120 + i}" if i % 4 else "1,5", lambda i: f"{130 + i},5"),
        (lambda i: f"{3 + i % 4}.500", lambda i: f"{31 + i % 4}.200,56"),
    ],
)
def test_the_whole_column_tells_decimals_from_thousands(rows, small, large, separator):
    texts = [large(i) if i % 2 else small(i) for i in range(N_ROWS)]
    rows.fit({"x": texts, "y": np.arange(N_ROWS) % 3}, separator)
    assert adjusted_rand_score(CLASSES, rows.labels) == 1.0
    rows.same_alone(np.arange(0, N_ROWS, 2))
    rows.same_alone(np.arange(1, N_ROWS, 2))


def test_decimal_commas_may_be_all_that_a_model_knows(rows):
    texts = [f"{3 * (i % 2)},{5 + i % 4}" for i in range(N_ROWS)]
    plans = ["a", "b"] * (N_ROWS // 2)
    for separator in (",", ";"):
        rows.fit({"x": texts, "plan": plans}, separator)
        assert adjusted_rand_score(CLASSES, rows.labels) == 1.0
        rows.same_alone(np.arange(7))
        points = rows.table.assign(x=[text.replace(",", ".") for text in texts])
        assert "x: 40 of 40 values are not numbers" in rows.refused(points)
        labels, _ = rows.predict(points, "--decimal", ".")
        assert labels.tolist() == rows.predict(rows.table)[0].tolist()


def test_points_between_thousands_are_seen_in_a_file_with_semicolons(rows):
    numbers = [1000 + 7 * i if i % 2 else 900 + i for i in range(N_ROWS)]
    texts = [f"{value:,}".replace(",", ".") for value in numbers]
    values = rows.fit({"x": texts, "y": np.arange(N_ROWS) % 3}, ";")
    assert "'1.007' is 1007" in values["columns"][0]["detail"]
    assert adjusted_rand_score(CLASSES, rows.labels) == 1.0
    rows.same_alone([1, 3, 5, 7])


def test_decimals_that_could_be_thousands_are_said(linkwise, rows):
    texts = [f"{1 + 5 * (i % 2)}.{100 + i}" for i in range(N_ROWS)]
    values = rows.fit({"x": texts, "y": np.arange(N_ROWS) % 3}, ";")
    assert "'1.100' is 1.1; --decimal , reads it otherwise" in values["warnings"][0]
    values = rows.fit({"x": texts, "y": np.arange(N_ROWS) % 3}, ";", "--decimal", ".")
    assert values["warnings"] == []


def test_codes_with_leading_zeros_stay_codes(rows):
    codes = [["007", "042", "A1"][i % 3] for i in range(N_ROWS)]
    rows.fit({"code": codes, "x": np.arange(N_ROWS) % 3})
    places = [place for place, code in enumerate(codes) if code != "A1"]
    together, _ = rows.predict(rows.table)
    alone, values = rows.predict(rows.table.iloc[places])
    assert alone.tolist() == together[places].tolist()
    assert values["unread"] == []


def test_codes_that_were_said_to_be_categories_stay_codes(rows):
    codes = [["007", "042"][i % 2] for i in range(N_ROWS)]
    rows.fit({"code": codes, "x": np.arange(N_ROWS) % 3}, ",", "--as", "code=category")
    new = rows.table.assign(code=["7", "42", *codes[2:]])
    _, values = rows.predict(new)
    assert values["unread"][0]["unseen"] == 2


class TestUnreadable:
    @pytest.fixture
    def doses(self, rows):
        rows.fit(
            {
                "dose": 5 + 40 * CLASSES + np.arange(N_ROWS) % 7,
                "clinic": ["north", "south"] * (N_ROWS // 2),
            }
        )
        return rows

    def test_a_unit_behind_every_value_is_refused(self, doses):
        new = doses.table.assign(dose=doses.table["dose"].astype(str) + " mg")
        message = doses.refused(new)
        assert "dose: 40 of 40 values are not numbers, e.g. '5 mg'" in message
        assert "At fit it held numbers with decimal points" in message

    def test_single_values_are_counted_and_said(self, doses):
        new = doses.table.astype({"dose": str})
        new.loc[3, "dose"] = "high"
        new.loc[[0, 4], "clinic"] = "east"
        _, values = doses.predict(new)
        assert {c["column"]: (c["unread"], c["unseen"]) for c in values["unread"]} == {
            "dose": (1, 0),
            "clinic": (0, 2),
        }
        result = doses.linkwise.ok(
            "predict", "model.linkwise", "new.csv", "-o", "new-out.csv"
        )
        assert "dose: 1 of 40 values is not a number, e.g. 'high'" in result.stdout
        assert "clinic: 2 values not seen at fit, e.g. 'east'" in result.stdout

    def test_strict_refuses_them(self, doses):
        new = doses.table.assign(clinic="east")
        message = doses.refused(new, "--strict")
        assert "40 values not seen at fit, e.g. 'east'. With --strict" in message
        doses.predict(doses.table, "--strict")

    def test_a_fit_counts_them_too(self, rows):
        dose = [str(5 + 40 * c) for c in CLASSES]
        dose[3] = "high"
        values = rows.fit({"dose": dose, "x": CLASSES + np.arange(N_ROWS) % 3})
        column = values["columns"][0]
        assert (column["unread"], column["example"]) == (1, "high")


class TestWordsForNothing:
    def test_are_categories_where_others_are(self, rows):
        words = ["none", "latex", "NA"] * N_ROWS
        values = rows.fit({"allergy": words[:N_ROWS], "x": CLASSES})
        column = values["columns"][0]
        assert (column["kind"], column["missing"]) == ("category", 0.0)
        assert column["detail"] == "3 values"

    def test_are_gaps_among_numbers_also_in_new_files(self, rows):
        x = [str(value) for value in 10 * CLASSES + np.arange(N_ROWS) % 3]
        x[5] = "NA"
        values = rows.fit({"x": x, "plan": ["a", "b"] * (N_ROWS // 2)})
        assert values["columns"][0]["missing"] == 1 / N_ROWS
        _, values = rows.predict(rows.table.assign(x=["none", "null", *x[2:]]))
        assert values["unread"] == []

    def test_can_be_named_and_are_remembered(self, rows):
        plan = ["a", "b"] * (N_ROWS // 2)
        plan[4] = "unknown"
        x = 10 * CLASSES + np.arange(N_ROWS) % 3
        x[7] = -99
        options = ("--missing", "unknown", "--missing", "-99")
        values = rows.fit({"x": x, "plan": plan}, ",", *options)
        assert [c["missing"] for c in values["columns"]] == [1 / N_ROWS] * 2
        together, _ = rows.predict(rows.table)
        gaps = rows.table.astype(object).replace({-99: None, "unknown": None})
        assert rows.predict(gaps)[0].tolist() == together.tolist()


def test_the_euro_of_windows_is_kept(linkwise, rows):
    names = ["5 \u20ac", "6 \u20ac \u201cnew\u201d"] * (N_ROWS // 2)
    frame = pd.DataFrame({"price": names, "x": CLASSES})
    frame.to_csv("euro.csv", index=False, encoding="cp1252")
    values = linkwise.json("check", "euro.csv", "pairs.csv")
    assert values["text_file"] == ["encoding cp1252"]
    from linkwise.cli._data import read_table
    from linkwise.cli._screen import Screen
    from linkwise.cli._text_files import TextOptions

    path = linkwise.folder / "euro.csv"
    table = read_table(path, None, TextOptions(), Screen(quiet=True))
    assert table.frame["price"].tolist() == names
    # A byte that Windows-1252 does not have.
    path.write_bytes(path.read_bytes().replace(b"new", b"n\x81w"))
    values = linkwise.json("check", "euro.csv", "pairs.csv")
    assert values["text_file"] == ["encoding latin-1"]


class TestExcel:
    @pytest.fixture
    def book(self, linkwise, rows):
        def write(columns, **others):
            book = openpyxl.Workbook()
            for name, cells in {"Sheet": columns, **others}.items():
                sheet = book.active if name == "Sheet" else book.create_sheet(name)
                sheet.append(list(cells))
                for row in zip(*cells.values(), strict=True):
                    sheet.append(list(row))
            book.save("data.xlsx")
            return linkwise

        return write

    def kind(self, book, cells):
        book({"x": CLASSES.tolist(), "it": cells})
        values = book({"x": CLASSES.tolist(), "it": cells}).json(
            "check", "data.xlsx", "pairs.csv"
        )
        return values["columns"][1]["kind"], values["columns"][1]["detail"]

    def test_dates_beside_dates_as_texts_are_dates(self, book):
        days = [datetime.datetime(2020, 1 + i % 12, 1 + i % 28) for i in range(N_ROWS)]
        cells = [f"{day:%d.%m.%Y}" if i % 3 else day for i, day in enumerate(days)]
        assert self.kind(book, cells)[0] == "date"

    def test_durations_are_hours(self, book):
        cells = [datetime.timedelta(minutes=95 * i) for i in range(N_ROWS)]
        assert self.kind(book, cells) == ("number", "hours")
        cells = [datetime.time(i % 24, 30) for i in range(N_ROWS)]
        assert self.kind(book, cells) == ("number", "hours")

    def test_other_sheets_are_named_where_a_column_is_missing(self, book):
        linkwise = book({"x": CLASSES.tolist()}, customers={"id": ["a"], "x": [1]})
        for option in ("--id-column", "--columns", "--drop-column"):
            result = linkwise("check", "data.xlsx", "pairs.csv", option, "id")
            assert result.exit_code == 3
            message = " ".join(result.stderr.split())
            assert "it has x. Other sheets (--sheet NAME): customers." in message
