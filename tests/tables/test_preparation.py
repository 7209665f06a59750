"""Tables become numbers, whatever their columns hold."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn.base import clone

from linkwise.exceptions import TableWarning
from linkwise.tables import TablePreparation, is_id_like
from linkwise.tables._values import DECIMALS, date_format, dates, hours, number

GAP = st.none()
COLUMNS = {
    "number": GAP | st.floats(-1e6, 1e6),
    "flag": GAP | st.booleans(),
    "word": GAP | st.sampled_from(["red", "green", "blue", "n/a", ""]),
    "share": GAP | st.integers(0, 100).map("{} %".format),
    "day": GAP | st.dates().map(str),
    "text": GAP | st.text("abc äö", max_size=20),
    "mixed": GAP | st.integers(0, 3) | st.sampled_from(["x", "y"]),
}
quick = settings(deadline=None, max_examples=15)


@st.composite
def tables(draw, least=4):
    n = draw(st.integers(least, 12))
    return pd.DataFrame(
        {
            name: pd.Series([draw(values) for _ in range(n)], dtype=object)
            for name, values in COLUMNS.items()
        }
    )


def fitted(table, **options):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            preparation = TablePreparation(**options).fit(table)
    except ValueError as error:  # nothing in it differs
        assert "no column to cluster by" in str(error)
        return None
    return preparation


def side_by_side(views):
    """Return all views as one matrix."""
    views = views if isinstance(views, list) else [views]
    return np.hstack([v.toarray() if issparse(v) else v for v in views])


any_way = st.sampled_from(
    [
        {"encoder": "wordllama"},
        {"encoder": "tfidf"},
        {"encoder": "wordllama", "views": False},
        {"encoder": "tfidf", "views": False},
    ]
)


class TestInvariants:
    @quick
    @given(tables(), any_way)
    def test_numbers_are_finite_and_the_same_again(self, table, options):
        preparation = fitted(table, **options)
        if preparation is None:
            return
        values = side_by_side(preparation.transform(table))
        assert np.isfinite(values).all()
        again = side_by_side(clone(preparation).fit_transform(table))
        assert_allclose(again, values, atol=1e-5)
        assert values.shape[1] == len(preparation.get_feature_names_out())
        # Rows do not depend on each other, nor on columns that are not needed.
        needed = [note.name for note in preparation.columns_ if note.is_used]
        alone = preparation.transform(table[needed[::-1]].iloc[1:3])
        assert_allclose(side_by_side(alone), values[1:3], atol=1e-5)

    @quick
    @given(tables(), tables(least=1), any_way)
    def test_any_other_table_is_taken(self, table, new, options):
        preparation = fitted(table, **options)
        if preparation is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            try:
                values = preparation.transform(new)
            except ValueError as error:  # nothing in a column can be read
                assert " values " in str(error) and "At fit it held" in str(error)
            else:
                assert np.isfinite(side_by_side(values)).all()

    @pytest.mark.parametrize("encoder", ["tfidf", "wordllama"])
    def test_all_columns_of_one_matrix_count_alike(self, encoder):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(
            {
                "big": 1e6 * rng.normal(size=60),
                "plan": rng.choice(list("abcdef"), 60),
                "day": pd.to_datetime(rng.integers(10**9, size=60), unit="s"),
                "note": [" ".join(rng.choice(list("xyzuvw"), 5)) for _ in range(60)],
            }
        )
        preparation = TablePreparation(encoder=encoder, views=False)
        values = preparation.fit_transform(table)
        names = preparation.get_feature_names_out()
        for column in table.columns:
            own = [i for i, name in enumerate(names) if name.startswith(column)]
            assert values[:, own].var(axis=0).sum() == pytest.approx(1.0)


class TestKinds:
    def note(self, *values, name="x", kinds=None):
        table = pd.DataFrame({"other": np.arange(len(values)) ** 2.0, name: values})
        return TablePreparation(kinds).fit(table).columns_[1]

    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ((1.5, 2.0, None, 7.0), "number"),
            (("1,5", "1.234,5", "7", "2,25"), "number"),
            (("1,234", "12,345,678", "5", "n/a"), "number"),
            (("10 %", "20%", "-3,5 %", None), "number"),
            (("ja", "nein", "ja", "JA"), "number"),
            ((True, False, True, True), "number"),
            (("2020-01-31", "2021-02-01", "", "1999-12-31"), "date"),
            (("31/01/2020", "01/02/2021", "13/12/1999", "3/4/2001"), "date"),
            (("red", "blue", "red", "blue"), "category"),
            (("a lot", "of text", "in each", "of these"), "text"),
            (("k-1", "k-2", "k-3", "k-4"), "id"),
            (("same", "same", None, "same"), "constant"),
            ((3, 3, 3, 3), "constant"),
            ((None, None, "NA", "-"), "empty"),
            (("NA", "NA", "NA", ""), "empty"),
            (("NA", "none", "NA", "none"), "category"),
            ((None, " ", None, ""), "empty"),
        ],
    )
    def test_are_seen(self, values, kind):
        assert self.note(*values).kind == kind

    def test_can_be_corrected(self):
        assert self.note(1, 2, 1, 2, kinds={"x": "category"}).kind == "category"
        assert self.note(1, 2, 1, 2, kinds={"x": "id"}).kind == "id"
        with pytest.raises(ValueError, match=r"kinds\['x'\]='colour': allowed are"):
            self.note(1, 2, 1, 2, kinds={"x": "colour"})
        with pytest.raises(ValueError, match="names a column 'z'; the table has other"):
            self.note(1, 2, 1, 2, kinds={"z": "id"})
        with pytest.raises(ValueError, match="the first is 'red'"):
            self.note("red", "blue", "red", "blue", kinds={"x": "date"})

    def test_a_line_for_a_person(self):
        assert str(self.note("a", "b", "a", None)) == (
            "x: category (2 values), 25% missing"
        )

    @pytest.mark.parametrize(
        ("name", "values", "expected"),
        [
            ("customer_id", [9, 4, 7], True),
            ("customerId", [9, 4, 7], True),
            ("valid", [9, 4, 7], False),
            ("id", [9, 9, 7], False),
            ("id", [9, 4.5, 7], False),
            ("id", [9, np.nan, 7], False),
            ("size", list(range(1, 20)), True),
            ("size", list(range(5, 20)), False),
            ("Unnamed: 0", [0, 1, 2], True),
        ],
    )
    def test_numbers_that_only_name_rows(self, name, values, expected):
        assert is_id_like(name, pd.Series(values)) is expected


class TestValues:
    @pytest.mark.parametrize(
        ("text", "with_point", "with_comma", "with_both"),
        [
            ("1.5", 1.5, np.nan, 1.5),
            ("1,5", np.nan, 1.5, 1.5),
            ("1.234,5", np.nan, 1234.5, np.nan),
            ("1,234.5", 1234.5, np.nan, np.nan),
            ("1,234", 1234.0, 1.234, 1.234),
            ("1.234", 1.234, 1234.0, 1.234),
            ("0,125", np.nan, 0.125, 0.125),
            ("12,34,567", np.nan, np.nan, np.nan),
            ("12 345", 12345.0, 12345.0, 12345.0),
            ("1'234,5", np.nan, 1234.5, 1234.5),
            ("-1e3", -1000.0, -1000.0, -1000.0),
            ("\u22125", -5.0, -5.0, -5.0),
            ("x", np.nan, np.nan, np.nan),
            ("1_000", np.nan, np.nan, np.nan),
            ("inf", np.nan, np.nan, np.nan),
        ],
    )
    def test_numbers_in_any_writing(self, text, with_point, with_comma, with_both):
        found = [number(text, mark) for mark in DECIMALS]
        assert_array_equal(found, [with_point, with_comma, with_both])

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1:30", 1.5),
            ("26:00:36", 26.01),
            ("2 days 03:00:00", 51.0),
            ("1 day, 0:30:00", 24.5),
            ("1:75", np.nan),
            ("noon", np.nan),
        ],
    )
    def test_hours(self, text, expected):
        assert_allclose(hours(text), expected)

    @pytest.mark.parametrize(
        ("text", "day_first", "month_first"),
        [
            ("3/4/2021", "2021-04-03", "2021-03-04"),
            ("03.04.21 10:30", "2021-04-03 10:30", "2021-03-04 10:30"),
            ("13/02/2020", "2020-02-13", None),
            ("2021-04-03T12:00:00+02:00", "2021-04-03 10:00", "2021-04-03 10:00"),
            ("Apr 3, 2021 1:05 PM", "2021-04-03 13:05", "2021-04-03 13:05"),
            ("Sat, 3 April 2021", "2021-04-03", "2021-04-03"),
            ("9999-12-31", "9999-12-31", "9999-12-31"),
            ("30/02/2021", None, None),
            ("1.5", None, None),
        ],
    )
    def test_dates_in_any_writing(self, text, day_first, month_first):
        for order, expected in ((True, day_first), (False, month_first)):
            (found,) = dates(pd.Series([text], dtype=object), order)
            assert str(found) == str(pd.Timestamp(expected or "NaT"))

    @quick
    @given(st.datetimes(), st.sampled_from(["%d/%m/%Y", "%d.%m.%Y %H:%M", "%d %b %Y"]))
    def test_a_date_is_read_as_it_was_written(self, date, written):
        text = date.strftime(written)
        if date.year >= 1000:
            assert date_format(text, day_first=True) == written
            (found,) = dates(pd.Series([text], dtype=object), True)
            assert found.strftime(written) == text

    def test_a_new_category_is_none_of_the_known_and_a_gap_is_the_median(self):
        table = pd.DataFrame({"c": list("aabb"), "x": [1.0, 2.0, 3.0, 10.0]})
        preparation = TablePreparation().fit(table)
        with pytest.warns(TableWarning, match="c: 1 value not seen at fit, e.g. 'z'"):
            new = preparation.transform(
                pd.DataFrame({"c": ["z", "a"], "x": [None, 2.5]})
            )
        middle = preparation.transform(pd.DataFrame({"c": ["a"], "x": [2.5]}))
        assert new[0, 0] == new[1, 0] == middle[0, 0]
        assert (new[0, 1:] < new[1, 1:].max()).all()

    def test_whole_numbers_are_the_same_category_in_any_type(self):
        table = pd.DataFrame({"c": [1, 2, 1, 2], "x": [1.0, 2.0, 3.0, 10.0]})
        preparation = TablePreparation({"c": "category"}).fit(table)
        expected = preparation.transform(table)
        for values in ([1.0, 2.0, None, 2.0], ["1", "2", None, "2"], [1, 2, None, 2]):
            new = table.assign(c=pd.Series(values, dtype=object))
            found = preparation.transform(new)
            assert_allclose(found[[0, 1, 3]], expected[[0, 1, 3]])

    def test_columns_that_lack_are_named(self):
        preparation = TablePreparation().fit(pd.DataFrame({"a": [1, 5], "b": [2, 7]}))
        with pytest.raises(ValueError, match="lacks the column.*'b'"):
            preparation.transform(pd.DataFrame({"a": [1]}))

    def test_two_columns_of_one_name_are_refused(self):
        with pytest.raises(ValueError, match="Two columns .* 'a'"):
            TablePreparation().fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))


@pytest.mark.parametrize("tz", [None, "Europe/Paris"])
def test_dates_of_pyarrow_are_dates(tz):
    pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2021-01-01", periods=6, freq="40D", tz=tz))
    days[2] = pd.NaT
    table = pd.DataFrame({"day": days, "x": [1.0, 5, 2, 4, 3, 9]})
    expected = TablePreparation().fit(table)
    arrow = table.convert_dtypes(dtype_backend="pyarrow")
    found = TablePreparation().fit(arrow)
    assert isinstance(arrow["day"].dtype, pd.ArrowDtype)
    assert found.columns_ == expected.columns_
    np.testing.assert_allclose(found.transform(arrow), expected.transform(table))


def table_of(**columns):
    n = len(next(iter(columns.values())))
    return pd.DataFrame({"other": np.arange(n) ** 2.0, **columns})


class TestOneReadingForEver:
    """A value is read as at fit, whatever rows stand beside it."""

    @pytest.mark.parametrize(
        "values",
        [
            ["01/02/2021", "13/02/2021", "03/04/2021", "25/12/2020", "05/06/2021"],
            ["1,5", "0,125", "1,234", "7", "12,5"],
            ["1.500", "1.234,56", "2.000", "7", "12,5"],
            ["007", "042", "A1", "007", "042", "A1", "042"],
            ["none", "nan", "NA", "none", "nan", "NA", "none"],
            ["10 %", "5,5 %", "1,250 %", "2 %", "7 %"],
            ["1:30", "26:00", "0:15", "2:45", "3:00"],
            ["yes", "no", "n/a", "no", "yes"],
        ],
    )
    def test_rows_alone_are_as_among_others(self, values):
        table = table_of(x=values)
        preparation = TablePreparation().fit(table)
        together = preparation.transform(table)
        for row in range(len(table)):
            alone = preparation.transform(table.iloc[[row]])
            assert_allclose(alone[0], together[row], atol=1e-12)

    @quick
    @given(st.lists(st.dates(), min_size=4, max_size=12, unique=True), st.booleans())
    def test_the_order_of_day_and_month_is_kept(self, days, day_first):
        written = "%d/%m/%Y" if day_first else "%m/%d/%Y"
        # 25 December tells which comes first.
        days = [*days, type(days[0])(2020, 12, 25)]
        texts = [
            f"{day:{written}}".replace(f"{day:%Y}", f"{day.year:04d}") for day in days
        ]
        table = table_of(day=texts)
        preparation = TablePreparation().fit(table)
        early = [place for place, day in enumerate(days) if day.day <= 12]
        if early and preparation.columns_[1].kind == "date":
            expected = preparation.transform(table)[early]
            assert_allclose(preparation.transform(table.iloc[early]), expected)

    def test_an_order_that_is_open_is_said_and_can_be_set(self):
        table = table_of(day=["01/02/2021", "03/04/2021", "05/06/2021"])
        note = TablePreparation().fit(table).columns_[1]
        assert str(note) == "day: date (month first in '01/02/2021')"
        preparation = TablePreparation({"day": "date dmy"}).fit(table)
        with pytest.raises(
            ValueError, match="day: 1 of 1 values is not a date"
        ) as found:
            preparation.transform(table_of(day=["12/25/2021"]))
        assert "At fit it held dates, day first." in str(found.value)

    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            (["1,5", "0,125"], [1.5, 0.125]),
            (["1,5", "1,234"], [1.5, 1.234]),
            (["1.500", "1.234,56"], [1500.0, 1234.56]),
            (["999", "1.092"], [999.0, 1092.0]),
            (["999", "1,092"], [999.0, 1092.0]),
            (["2500", "1.092"], [2500.0, 1.092]),
            (["1,092", "2,184"], [1092.0, 2184.0]),
            (["1.092", "2.184"], [1.092, 2.184]),
            (["1,5", "2.5", "1.092"], [1.5, 2.5, 1.092]),
            (["1.5", "1,092"], [1.5, 1092.0]),
            (["1.234.567", "1.092"], [1234567.0, 1092.0]),
        ],
    )
    def test_the_whole_column_decides_about_decimals(self, texts, expected):
        note = TablePreparation().fit(table_of(x=[*texts, *texts])).columns_[1]
        assert note.kind == "number"
        found = note.reading.read(pd.Series(texts, dtype=object)).found
        assert_allclose(found, expected)

    def test_decimals_that_are_open_are_said_and_can_be_set(self):
        table = table_of(x=["1,092", "2,184", "7,000"])
        note = TablePreparation().fit(table).columns_[1]
        assert note.detail == "written as text; '1,092' is 1092"
        note = TablePreparation(decimal=",").fit(table).columns_[1]
        assert note.detail == "written as text; '1,092' is 1.092"
        with pytest.raises(ValueError, match="decimal=';': allowed are '.' and ','"):
            TablePreparation(decimal=";").fit(table)

    @quick
    @given(st.lists(st.integers(1, 9_999_999), min_size=2, max_size=20, unique=True))
    def test_thousands_are_read_back(self, numbers):
        written = [f"{value:,}".replace(",", ".") for value in numbers]
        preparation = TablePreparation(decimal=",", kinds={"x": "number"})
        preparation.fit(table_of(x=written))
        found = preparation.columns_[1].reading.read(pd.Series(written)).found
        assert_array_equal(found, numbers)


class TestWhatCouldNotBeRead:
    def table(self):
        return table_of(dose=[str(value) for value in range(5, 45)])

    def test_a_column_of_which_nothing_can_be_read_is_an_error(self):
        table = self.table()
        preparation = TablePreparation().fit(table)
        new = table.assign(dose=table["dose"] + " mg")
        with pytest.raises(ValueError, match="dose: 40 of 40 values are not numbers"):
            preparation.transform(new)

    def test_single_values_are_counted_in_a_warning(self):
        table = self.table()
        preparation = TablePreparation().fit(table)
        new = table.assign(dose=["5 mg", "inf", *table["dose"][2:]])
        with pytest.warns(TableWarning) as caught:
            values = preparation.transform(new)
        assert str(caught[0].message) == (
            "dose: 2 of 40 values are not numbers, e.g. '5 mg'"
        )
        (column,) = caught[0].message.columns
        assert (column.unread, column.unseen, column.rows) == (2, 0, 40)
        middle = preparation.transform(table.assign(dose="24.5"))
        assert_allclose(values[:2, 1], middle[:2, 1])

    def test_infinite_numbers_are_not_read(self):
        table = self.table().astype({"dose": float})
        preparation = TablePreparation().fit(table)
        with pytest.warns(TableWarning, match="1 of 40 values is not a number"):
            preparation.transform(table.replace({"dose": {5.0: np.inf}}))

    def test_a_fit_says_what_it_could_not_read(self):
        table = table_of(dose=["n.d.", *map(str, range(5, 44))])
        with pytest.warns(TableWarning, match="dose: 1 of 40 values is not a number"):
            note = TablePreparation().fit(table).columns_[1]
        assert str(note) == (
            "dose: number (written as text), 1 value is not a number, e.g. 'n.d.'"
        )

    def test_a_per_cent_sign_is_not_forgotten(self):
        preparation = TablePreparation().fit(table_of(share=["10 %", "20 %", "35 %"]))
        with pytest.raises(ValueError, match="At fit it held per cent"):
            preparation.transform(table_of(share=["10", "20", "35"]))


class TestGaps:
    def test_words_are_values_of_categories(self):
        values = ["none", "latex", "none", "none", "latex", "NA", "NA"]
        note = TablePreparation().fit(table_of(allergy=values)).columns_[1]
        assert str(note) == "allergy: category (3 values)"
        preparation = TablePreparation().fit(table_of(allergy=values))
        assert preparation.transform(table_of(allergy=values)).shape == (7, 4)

    def test_words_are_gaps_among_numbers_and_dates(self):
        note = TablePreparation().fit(table_of(x=["1", "none", "NA", "5"])).columns_[1]
        assert (note.kind, note.missing) == ("number", 0.5)
        days = ["2020-01-01", "null", "2020-05-01", "2020-07-01"]
        note = TablePreparation().fit(table_of(day=days)).columns_[1]
        assert (note.kind, note.missing) == ("date", 0.25)

    def test_one_number_beside_a_word_is_a_category(self):
        note = (
            TablePreparation().fit(table_of(x=["none", "1", "none", "1"])).columns_[1]
        )
        assert str(note) == "x: category (2 values)"

    def test_values_that_are_missing_can_be_named(self):
        table = table_of(
            plan=["a", "unknown", "b", "a", "b"], x=[1.0, -99.0, 3.0, 4.0, 9.0]
        )
        preparation = TablePreparation(missing=["unknown", -99]).fit(table)
        assert [note.missing for note in preparation.columns_] == [0.0, 0.2, 0.2]
        found = preparation.transform(table)
        gaps = table.assign(plan=["a", None, "b", "a", "b"], x=[1.0, None, 3, 4, 9])
        assert_allclose(preparation.transform(gaps), found)
        with pytest.raises(ValueError, match="missing='NA': give a list"):
            TablePreparation(missing="NA").fit(table)


def test_durations_are_hours():
    table = table_of(spent=pd.to_timedelta([90, 30, 300, 45], unit="min"))
    preparation = TablePreparation().fit(table)
    assert str(preparation.columns_[1]) == "spent: number (hours)"
    texts = table.assign(spent=["1:30", "0:30:00", "5:00", "0:45"])
    assert_allclose(preparation.transform(texts), preparation.transform(table))
