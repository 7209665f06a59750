"""Tables become numbers, whatever their columns hold."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from linkwise.tables import TablePreparation, is_id_like
from linkwise.tables._columns import dates_of, numbers_of

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


def fitted(table):
    try:
        preparation = TablePreparation().fit(table)
    except ValueError as error:  # nothing in it differs
        assert "no column to cluster by" in str(error)
        return None
    return preparation


class TestInvariants:
    @quick
    @given(tables())
    def test_numbers_are_finite_and_the_same_again(self, table):
        preparation = fitted(table)
        if preparation is None:
            return
        values = preparation.transform(table)
        assert np.isfinite(values).all()
        again = clone(preparation).fit_transform(table)
        assert_allclose(again, values, atol=1e-5)
        assert values.shape[1] == len(preparation.get_feature_names_out())
        # Rows do not depend on each other, nor on columns that are not needed.
        needed = [note.name for note in preparation.columns_ if note.is_used]
        alone = preparation.transform(table[needed[::-1]].iloc[1:3])
        assert_allclose(alone, values[1:3], atol=1e-5)

    @quick
    @given(tables(), tables(least=1))
    def test_any_other_table_is_taken(self, table, new):
        preparation = fitted(table)
        if preparation is not None:
            assert np.isfinite(preparation.transform(new)).all()

    def test_all_columns_count_alike(self):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(
            {
                "big": 1e6 * rng.normal(size=60),
                "plan": rng.choice(list("abcdef"), 60),
                "day": pd.to_datetime(rng.integers(10**9, size=60), unit="s"),
                "note": [" ".join(rng.choice(list("xyzuvw"), 5)) for _ in range(60)],
            }
        )
        preparation = TablePreparation()
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
    def test_numbers_in_any_writing(self):
        texts = ["1.5", "1,5", "1.234,5", "1,234.5", "12 345", "50 %", "yes", "x", None]
        found = numbers_of(pd.Series(texts, dtype=object))
        expected = [1.5, 1.5, 1234.5, 1234.5, 12345, 0.5, 1.0, np.nan, np.nan]
        assert_array_equal(found, expected)

    def test_days_come_first_where_months_would_not_fit(self):
        found = dates_of(pd.Series(["13/02/2020", "01/02/2020"], dtype=object))
        assert found.dt.month.tolist() == [2, 2]
        found = dates_of(pd.Series(["2020-02-01T12:00:00+02:00"], dtype=object))
        assert found.dt.hour.tolist() == [10]

    def test_a_new_category_is_none_of_the_known_and_a_gap_is_the_median(self):
        table = pd.DataFrame({"c": list("aabb"), "x": [1.0, 2.0, 3.0, 10.0]})
        preparation = TablePreparation().fit(table)
        new = preparation.transform(pd.DataFrame({"c": ["z", "a"], "x": [None, 2.5]}))
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
