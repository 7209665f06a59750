"""Columns of texts on the command line: encoders, views, what is kept and said."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from linkwise import ModelFileError, load
from linkwise.tables import _encoders

SAID = {
    "late": ["the parcel is late", "where is my delivery", "no courier came today"],
    "money": ["the invoice is wrong", "I was charged twice", "refund my card please"],
}
CLUSTER = ("-c", "pairs.csv", "-k", 2, "-o", "labels.csv", "--id-column", "id")
FEW = (*CLUSTER, "--candidates", 20)


@pytest.fixture
def notes(linkwise):
    """Write 24 notes in two groups beside a number, and pairs by id."""
    kinds = ["late", "money"] * 12
    texts = [f"{SAID[kind][at % 3]} ({at})" for at, kind in enumerate(kinds)]
    table = pd.DataFrame({"id": [f"n{at}" for at in range(24)], "text": texts})
    table["age"] = [20 + 7 * at % 40 for at in range(24)]
    table.to_csv("notes.csv", index=False)
    linkwise.write(
        "pairs.csv", "i,j,kind\nn0,n2,ML\nn4,n6,ML\nn1,n3,ML\nn0,n1,CL\nn5,n6,CL\n"
    )
    return linkwise


def test_check_says_which_views_there_are(notes):
    shown = notes.ok("check", "notes.csv", "pairs.csv", "--id-column", "id").output
    assert "views " in shown and "text: 256 numbers by wordllama" in shown
    assert "age: 1 number" in shown
    found = notes.json("check", "notes.csv", "pairs.csv", "--id-column", "id")
    assert [view["columns"] for view in found["views"]] == [["text"], ["age"]]
    assert found["features"] == 257
    assert found["encoder"]["name"] == "wordllama"
    assert len(found["encoder"]["digest"]) == 16


def test_clusters_are_described_by_their_words(notes):
    shown = notes.ok("cluster", "notes.csv", *FEW).output
    assert "parcel is late" in shown and "charged twice" in shown
    found = notes.json("cluster", "notes.csv", *FEW)
    assert sorted(map(len, found["cluster_words"])) == [3, 3]
    found = notes.json("cluster", "notes.csv", *FEW, "--columns", "age")
    assert found["cluster_words"] == []


def test_a_model_with_views_predicts_and_reports_what_it_showed(notes):
    notes.ok("cluster", "notes.csv", *FEW, "--model", "m", "--report", "r.html")
    notes.ok("predict", "m", "notes.csv", "-o", "again.csv", "--id-column", "id")
    before, after = pd.read_csv("labels.csv"), pd.read_csv("again.csv")
    assert_array_equal(before["cluster"], after["cluster"])
    found = notes.json("report", "m", "notes.csv", "--id-column", "id")
    assert found["rows"] == 24


@pytest.mark.parametrize("method", ["single", "mahalanobis"])
def test_other_methods_take_texts(notes, method):
    found = notes.json("cluster", "notes.csv", *CLUSTER, "--method", method)
    assert found["rows"] == 24
    assert (len(found["views"]) == 1) == (method == "mahalanobis")


def test_without_the_extra_words_count_and_it_is_said_once(notes, monkeypatch):
    monkeypatch.setattr(_encoders, "is_bundled_there", lambda: False)
    shown = notes.ok("cluster", "notes.csv", *FEW).output
    assert shown.count("by meaning with pip install 'linkwise[text]'") == 1
    assert "numbers by tfidf" in shown
    shown = notes.ok("cluster", "notes.csv", *FEW, "--encoder", "tfidf").output
    assert "pip install" not in shown
    shown = notes("cluster", "notes.csv", *FEW, "--encoder", "wordllama")
    assert shown.exit_code == 3 and "needs wordllama" in shown.output


def test_an_encoder_without_texts_is_said(notes):
    options = ("--id-column", "id", "--columns", "age", "--as", "age=number")
    shown = notes.ok("check", "notes.csv", "pairs.csv", *options, "--encoder", "tfidf")
    assert "--encoder tfidf: no column holds texts" in shown.output


def test_rows_of_many_texts_are_kept_beside_the_data(notes, monkeypatch):
    monkeypatch.setattr("linkwise.tables._text_rows._MANY", 5)
    notes.ok("cluster", "notes.csv", *FEW, "--no-cache")
    assert ".linkwise-cache" not in notes.files()
    first = pd.read_csv("labels.csv")
    notes.ok("cluster", "notes.csv", *FEW)
    assert len(list((notes.folder / ".linkwise-cache").glob("*.npy"))) == 1
    monkeypatch.setattr(_encoders.Bundled, "encode", lambda self, texts: 1 / 0)
    notes.ok("cluster", "notes.csv", *FEW)
    assert_array_equal(pd.read_csv("labels.csv"), first)


def test_a_named_encoder_is_named_again(notes, monkeypatch):
    class Model:
        def encode(self, texts):
            return [[len(text), text.count("e"), text.count("i")] for text in texts]

    monkeypatch.setattr(_encoders, "version", lambda name: "1.2")
    bundled = _encoders.Bundled()
    monkeypatch.setattr(
        "linkwise.tables._text_rows.loaded",
        lambda name: Model() if name.model else bundled,
    )
    name = "model2vec:some/model"
    pytest.importorskip("model2vec")
    notes.ok("cluster", "notes.csv", *FEW, "--encoder", name, "--model", "m")
    rows = ("m", "notes.csv", "-o", "again.csv", "--id-column", "id")
    refused = notes("predict", *rows)
    assert refused.exit_code == 3 and f"--encoder {name}" in refused.output
    notes.ok("predict", *rows, "--encoder", name)
    assert_array_equal(pd.read_csv("again.csv"), pd.read_csv("labels.csv"))
    other = notes("predict", *rows, "--encoder", "wordllama")
    assert other.exit_code == 3 and "makes other rows of texts" in other.output
    with pytest.raises(ModelFileError, match="model2vec:some/model 1.2"):
        load("m")


def test_questions_are_asked_about_texts_and_columns(notes):
    asked = notes.ok(
        "ask",
        "notes.csv",
        "-k",
        2,
        "--id-column",
        "id",
        "--questions",
        "pair",
        stdin="y\nn\ny\nq\n",
    )
    assert "parcel" in asked.output or "invoice" in asked.output
