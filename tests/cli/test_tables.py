"""Tables as people have them: how they are written, and what columns hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints

PAIRS = "i,j,kind\n0,1,ML\n1,2,CL\n"


@pytest.fixture
def check(linkwise):
    """Write a file and return what ``linkwise check`` says of it."""

    def run(text, *options, name="data.csv"):
        data = text if isinstance(text, bytes) else text.encode()
        (linkwise.folder / name).write_bytes(data)
        linkwise.write("pairs.csv", PAIRS)
        return linkwise.json("check", name, "pairs.csv", *options)

    return run


def kinds(values):
    return {column["name"]: column["kind"] for column in values["columns"]}


class TestText:
    def test_a_first_line_of_numbers_is_a_row(self, check):
        found = check("5.1,3\n4.9,3\n4.7,4\n4.6,1\n")
        assert found["rows"] == 4
        assert found["text_file"] == ["no line of column names"]
        assert "is taken for a row; if it names" in found["warnings"][0]
        assert check("1,2\n5,1\n4,9\n7,4\n")["rows"] == 3  # names that count
        asked = check("1,2\n5,1\n4,9\n7,4\n", "--no-header")
        assert asked["rows"] == 4 and not asked["warnings"]
        assert check("5,2\n5,1\n4,9\n7,4\n", "--header")["rows"] == 3
        assert check(",0,1\n0,5,1\n1,4,9\n2,7,4\n")["rows"] == 3

    def test_an_empty_line_of_a_single_column_is_a_gap(self, check):
        found = check("\nx\n1\n\n5\n7\n\n\n")
        assert found["rows"] == 4
        assert found["columns"][0]["missing"] == 0.25

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("x;y\n1,5;2\n3,25;1.234,5\n0,5;7\n", ["';' between", "decimal commas"]),
            ("x\ty\n1.5\t2\n3.25\t1234.5\n0.5\t7\n", ["between fields"]),
            ("x|y\n1.5|2\n3.25|1234.5\n0.5|7\n", ["'|' between fields"]),
        ],
    )
    def test_marks_between_and_inside_numbers_are_found(self, check, text, said):
        found = check(text)
        assert kinds(found) == {"x": "number", "y": "number"}
        assert len(found["text_file"]) == len(said)
        for words, expected in zip(found["text_file"], said, strict=True):
            assert expected in words
        assert found["columns"][0]["detail"] == ""

    def test_dates_with_points_are_no_numbers(self, check):
        text = "x;since\n1,5;01.12.2021\n3,5;24.12.2021\n0,5;31.01.2020\n"
        assert kinds(check(text)) == {"x": "number", "since": "date"}

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_encodings_are_found(self, check, encoding):
        text = "gr\u00f6\u00dfe,y\n1,2\n3,4\n5,7\n"
        found = check(text.encode(encoding))
        assert list(kinds(found)) == ["gr\u00f6\u00dfe", "y"]
        is_usual = encoding.startswith("utf-8")
        assert found["text_file"] == ([] if is_usual else [f"encoding {encoding}"])

    def test_pairs_may_have_semicolons_and_capitals(self, linkwise):
        linkwise.write("data.csv", "x,y\n1,2\n3,4\n5,7\n")
        linkwise.write("pairs.csv", "I;J;Kind\n0;1;ML\n1;2;CL\n")
        found = linkwise.json("check", "data.csv", "pairs.csv")
        assert (found["must_links"], found["cannot_links"]) == (1, 1)


class TestColumns:
    def test_whole_numbers_that_name_rows_are_left_out(self, check):
        found = check("customer_id,x\n17,1.5\n5,2.5\n9,9.5\n")
        assert kinds(found) == {"customer_id": "id", "x": "number"}
        assert found["features"] == 1
        assert "only names the rows" in found["warnings"][0]
        counted = "".join(f"{i},{i % 3}\n" for i in range(1, 13))
        assert check("n,x\n" + counted)["features"] == 1
        assert check("n,x\n1,5\n2,5.5\n3,1\n")["features"] == 2
        assert check(",x\n0,5\n1,5.5\n2,1\n")["features"] == 1
        # Not these: repeated, not whole, asked for, or alone.
        assert check("id,x\n1,5\n1,5.5\n3,1\n")["features"] == 2
        assert check("id,x\n1,5\n2.5,5.5\n3,1\n")["features"] == 2
        assert check("id,x\n7,5\n2,5.5\n3,1\n", "--columns", "id,x")["features"] == 2
        assert check("id,x\n7,5\n2,5.5\n3,1\n", "--as", "id=number")["features"] == 2
        assert check("x\n0\n1\n2\n")["features"] == 1

    def test_every_kind_is_seen_and_can_be_corrected(self, check):
        text = (
            "key,size,share,paid,plan,since,note,same,nothing\n"
            "a1,1.5,10 %,yes,gold,2020-01-31,late with the rent,x,\n"
            "a2,,20 %,no,basic,2021-02-01,likes red cars,x,\n"
            "a3,2.5,n/a,yes,gold,2022-12-24,late again this year,x,\n"
            "a4,9.0,40 %,no,basic,2020-05-05,moved to the sea,x,\n"
            "a5,3.5,15 %,no,gold,2019-07-14,no cars at all,x,\n"
        )
        found = check(text)
        assert kinds(found) == {
            "key": "id",
            "size": "number",
            "share": "number",
            "paid": "number",
            "plan": "category",
            "since": "date",
            "note": "text",
            "same": "constant",
            "nothing": "empty",
        }
        corrected = check(text, "--as", "note=category", "--as", "size=category")
        assert kinds(corrected)["note"] == kinds(corrected)["size"] == "category"


@pytest.fixture
def customers(linkwise):
    """Write a table that shows classes in several kinds of columns; return them."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    cities = np.array([["Bonn", "Köln"], ["Lyon", "Nice"], ["Rom", "Bari"]])
    table = pd.DataFrame(
        {
            "id": rng.permutation(10_000)[:120],
            "umsatz": [
                f"{v:.2f}".replace(".", ",") for v in 10 * y + rng.normal(size=120)
            ],
            "stadt": cities[y, rng.integers(2, size=120)],
            "quote": [f"{v:.0f} %" for v in 20 * y + rng.normal(size=120)],
            "seit": pd.Timestamp("2020-01-01") + pd.to_timedelta(400 * y, unit="D"),
            "kunde": np.where(rng.random(120) < 0.5, "ja", "nein"),
        }
    )
    table.loc[::7, "stadt"] = None
    table.loc[::11, "umsatz"] = None
    table.to_csv("customers.csv", sep=";", index=False, encoding="latin-1")
    Constraints.sample(y, 60, random_state=0).to_csv("pairs.csv")
    return y


def test_a_table_is_clustered_and_new_rows_are_predicted(linkwise, customers):
    values = linkwise.json(
        *("cluster", "customers.csv", "-c", "pairs.csv", "-k", 3, "--out", "out.csv"),
        *("--model", "model.linkwise", "--candidates", 60),
    )
    labels = pd.read_csv("out.csv")["cluster"].to_numpy()
    assert adjusted_rand_score(customers, labels) > 0.95
    assert kinds(values)["stadt"] == "category" and kinds(values)["id"] == "id"
    linkwise.write(
        "new.csv",
        "kunde;seit;quote;stadt;umsatz\n"
        "ja;2022-03-11;41 %;Paris;\nnein;2020-01-05;1 %;Bonn;\n",
    )
    linkwise.ok("predict", "model.linkwise", "new.csv", "--out", "new-labels.csv")
    found = pd.read_csv("new-labels.csv")["cluster"].tolist()
    assert found == [labels[2], labels[0]]
    linkwise.write("new.csv", "seit;quote\n2022-03-11;41 %\n2022-03-12;41 %\n")
    result = linkwise("predict", "model.linkwise", "new.csv", "--out", "new-labels.csv")
    assert result.exit_code == 3 and "lacks 3 columns" in result.stderr


def test_the_summary_says_what_was_done(linkwise, customers):
    result = linkwise.ok(
        *("cluster", "customers.csv", "-c", "pairs.csv", "-k", 3, "--out", "out.csv"),
        *("--candidates", 10),
    )
    for words in (
        "';' between fields, decimal commas, encoding cp1252",
        "id: id, left out",
        "umsatz: number, 9% missing",
        "stadt: category (6 values), 15% missing",
        "quote: number (per cent)",
        "seit: date",
        "kunde: number (yes or no)",
    ):
        assert words in result.stdout, result.stdout
