"""Embeddings beside the rows: they decide, and people see the table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

N, WIDTH = 40, 8
CLUSTER = ("-c", "pairs.csv", "-k", 2, "-o", "labels.csv", "--candidates", 10)
NAMED = ("-c", "named.csv", *CLUSTER[2:], "--id-column", "key")


@pytest.fixture
def texts(linkwise):
    """Write texts with ids, their embeddings in several forms, and pairs."""
    rows, classes = make_blobs(N, WIDTH, centers=2, random_state=3)
    keys = [f"t{row}" for row in range(N)]
    words = [f"{'red' if c else 'blue'} thing {row}" for row, c in enumerate(classes)]
    frame = pd.DataFrame({"key": keys, "text": words})
    frame.to_csv("texts.csv", index=False)
    np.save("rows.npy", rows)
    numbers = pd.DataFrame(rows, columns=[f"emb_{at}" for at in range(WIDTH)])
    pd.concat([frame, numbers], axis=1).to_csv("both.csv", index=False)
    shuffled = pd.concat([frame[["key"]], numbers], axis=1)
    shuffled.sample(frac=1, random_state=0).to_parquet("rows.parquet", index=False)
    lists = pd.DataFrame({"key": keys, "vector": list(rows)})
    lists.iloc[::-1].to_parquet("lists.parquet", index=False)
    ends = [np.flatnonzero(classes == c)[:2].tolist() for c in (0, 1)]
    pairs = [(*ends[0], "ML"), (*ends[1], "ML"), (ends[0][0], ends[1][0], "CL")]
    pairs = pd.DataFrame(pairs, columns=["i", "j", "kind"])
    pairs.to_csv("pairs.csv", index=False)
    pairs.assign(
        i=[keys[i] for i in pairs["i"]], j=[keys[j] for j in pairs["j"]]
    ).to_csv("named.csv", index=False)
    return rows, classes


def labels(path="labels.csv"):
    return pd.read_csv(path)["cluster"].tolist()


@pytest.mark.parametrize(
    "arguments, how",
    [
        (("texts.csv", "--embeddings", "rows.npy", *CLUSTER), "by row order"),
        (("texts.csv", "--embeddings", "rows.npy", *NAMED), "by row order"),
        (("texts.csv", "--embeddings", "rows.parquet", *NAMED), "by column 'key'"),
        (("texts.csv", "--embeddings", "lists.parquet", *NAMED), "by column 'key'"),
        (("both.csv", "--embeddings", "emb_*", *NAMED), "columns emb_*: 8 columns"),
    ],
)
def test_clusters_are_those_of_the_embeddings_alone(linkwise, texts, arguments, how):
    linkwise.ok("cluster", "rows.npy", *CLUSTER)
    alone = labels()
    said = linkwise.ok("cluster", *arguments).stdout
    assert labels() == alone
    assert how in said and f"{N} rows, {WIDTH} features" in said


def test_columns_of_vectors_in_the_table_itself(linkwise, texts):
    linkwise.ok("cluster", "rows.npy", *CLUSTER)
    alone = labels()
    table = pd.read_csv("texts.csv").assign(vector=list(texts[0].astype(np.float32)))
    table.to_parquet("all.parquet", index=False)
    values = linkwise.json("cluster", "all.parquet", "--embeddings", "vector", *NAMED)
    assert labels() == alone
    assert values["embeddings"]["columns"] == WIDTH and values["columns"] == []


def questions(linkwise, *arguments):
    # Words that are no answer to a question are passed over.
    answers = "same\n1\nall\ndifferent\nnone\n2\nunsure\n" * 20
    said = linkwise(
        *("ask", *arguments, "--json", "-k", 2, "--candidates", 10, "--limit", 12),
        *("--log", f"{len(linkwise.files())}.jsonl"),
        stdin=answers,
    )
    assert said.exit_code == 0, said.stderr
    lines = [line for line in said.stderr.splitlines() if line.startswith("{")]
    return [line for line in map(json.loads, lines) if "question" in line]


def rows_of(shown):
    """Return the names of all rows that a question shows, in their order."""
    if isinstance(shown, list):
        return [rows_of(part) for part in shown]
    if not isinstance(shown, dict):
        return []
    own = [shown[key] for key in ("id", "i", "j", "kind") if key in shown]
    return own + [found for part in shown.values() if (found := rows_of(part))]


@pytest.mark.parametrize("kinds", ["pair", "auto"])
def test_people_see_texts_and_questions_are_those_of_the_embeddings(
    linkwise, texts, kinds
):
    kinds = ("--questions", kinds)
    alone = questions(linkwise, "rows.npy", *kinds)
    beside = questions(linkwise, "texts.csv", "--embeddings", "rows.npy", *kinds)
    columns = questions(linkwise, "both.csv", "--embeddings", "emb_*", *kinds)
    assert len(alone) == 12 and rows_of(alone) == rows_of(beside)
    assert beside == columns
    words = pd.read_csv("texts.csv")["text"].tolist()
    for question in beside:
        shown = json.dumps(question)
        assert "emb_" not in shown and " thing " in shown
        if "i" in question:
            assert question["left"]["text"] == words[int(question["i"])]


@pytest.mark.slow
def test_a_session_is_exported_with_texts_and_goes_on(linkwise, texts):
    job = ("label", "texts.csv", "--embeddings", "rows.npy", "--id-column", "key")
    linkwise.ok(
        *("ask", *job[1:], "-k", 2, "--candidates", 10, "--limit", 2),
        *("-c", "named.csv"),
        stdin="u\nu\n",
    )
    linkwise.ok(*job, "-k", 2, "--candidates", 10, "--export", "out")
    assert "“blue”" in Path("out/report.html").read_text()
    found = ("predict", "out/model.linkwise", "texts.csv", "--embeddings", "rows.npy")
    linkwise.ok(*found, "--out", "again.csv")
    own = pd.read_csv("out/clusters.csv").set_index("cluster")["predicted_as"]
    assert [own[c] for c in labels("out/labels.csv")] == labels("again.csv")


def test_check_takes_embeddings(linkwise, texts):
    values = linkwise.json(
        "check", "texts.csv", "pairs.csv", "--embeddings", "rows.npy"
    )
    assert values["features"] == WIDTH
    assert values["embeddings"]["source"] == "rows.npy"


def test_a_model_asks_for_embeddings_of_its_width(linkwise, texts):
    linkwise.ok(
        "cluster", "texts.csv", "--embeddings", "rows.npy", *CLUSTER, "--model", "m"
    )
    predict = ("predict", "m", "texts.csv", "--out", "new.csv")
    linkwise.ok(*predict, "--embeddings", "rows.npy")
    assert labels("new.csv") == labels()
    linkwise.ok("predict", "m", "rows.npy", "--out", "new.csv")
    assert labels("new.csv") == labels()
    message = linkwise(*predict).stderr
    assert f"embeddings, {WIDTH} numbers a row: --embeddings FILE" in message
    np.save("narrow.npy", texts[0][:, :5])
    message = linkwise(*predict, "--embeddings", "narrow.npy").stderr
    assert "narrow.npy: 5 columns" in message and f"rows of {WIDTH} numbers" in message


def test_a_model_of_columns_takes_no_embeddings(linkwise, texts):
    linkwise.ok("cluster", "both.csv", *NAMED, "--drop-column", "text", "--model", "m")
    predict = ("predict", "m", "both.csv", "--out", "new.csv")
    result = linkwise(*predict, "--embeddings", "rows.npy")
    assert result.exit_code == 3
    assert "fitted on columns of a table (emb_0, emb_1" in result.stderr


@pytest.mark.parametrize("command", ["cluster", "check", "ask", "label"])
def test_options_on_columns_are_refused(linkwise, texts, command):
    more = {"cluster": CLUSTER, "check": ("pairs.csv",)}.get(command, ())
    if command == "label":
        more = ("--merge", "pairs.csv")
    result = linkwise(
        *(command, "texts.csv", *more, "--embeddings", "rows.npy", "--columns", "text")
    )
    assert result.exit_code == 2 and "--columns: with --embeddings" in result.stderr


@pytest.mark.parametrize(
    "name, make, words",
    [
        (
            "few.npy",
            lambda rows: np.save("few.npy", rows[:9]),
            "few.npy has 9 rows, but",
        ),
        (
            "nan.npy",
            lambda rows: np.save("nan.npy", rows * np.nan),
            "nan is no embedding",
        ),
        ("none.npy", lambda rows: None, "none.npy: there is no such file"),
        (
            "emb-*",
            lambda rows: None,
            "no column of texts.csv has that name; it has text",
        ),
        (
            "less.csv",
            lambda rows: pd.DataFrame({"key": ["t1", "t2"], "a": [1, 2]}).to_csv(
                "less.csv", index=False
            ),
            "lacks 38 ids of texts.csv: t0, t3",
        ),
        (
            "words.csv",
            lambda rows: pd.DataFrame({"a": rows[:, 0], "b": "x"}).to_csv(
                "words.csv", index=False
            ),
            "b does not hold numbers",
        ),
        (
            "twice.csv",
            lambda rows: pd.DataFrame({"key": ["t1", "t1"], "a": [1, 2]}).to_csv(
                "twice.csv", index=False
            ),
            "was used before",
        ),
        (
            "ragged.parquet",
            lambda rows: pd.DataFrame({"v": [[1.0, 2.0]] * 39 + [[1.0]]}).to_parquet(
                "ragged.parquet"
            ),
            "row 39 (counted from 0): 1 numbers in column 'v'",
        ),
    ],
)
def test_what_does_not_fit_is_said(linkwise, texts, name, make, words):
    make(texts[0])
    result = linkwise("cluster", "texts.csv", *NAMED, "--embeddings", name)
    assert result.exit_code == 3, result.output
    assert words in " ".join(result.stderr.split())
    assert "labels.csv" not in linkwise.files()


def test_more_embeddings_than_rows_are_a_note(linkwise, texts):
    pd.read_csv("texts.csv").iloc[5:25].to_csv("part.csv", index=False)
    linkwise.write("two.csv", "i,j,kind\nt5,t6,ML\n")
    result = linkwise.ok(
        *("cluster", "part.csv", "-c", "two.csv", *NAMED[2:]),
        *("--embeddings", "rows.parquet"),
    )
    assert "20 embeddings of rows that are not in part.csv" in result.stderr


def test_a_column_that_counts_rows_is_no_embedding(linkwise, texts):
    frame = pd.DataFrame(texts[0], columns=[f"e{at}" for at in range(WIDTH)])
    frame.insert(0, "row_id", range(N))
    frame.to_csv("counted.csv", index=False)
    result = linkwise.ok(
        "cluster", "texts.csv", "--embeddings", "counted.csv", *CLUSTER
    )
    assert "row_id only names the rows and is left out" in result.stderr
    assert f"{N} rows, {WIDTH} features" in result.stdout


def test_results_never_replace_embeddings(linkwise, texts):
    result = linkwise(
        "cluster",
        "texts.csv",
        "--embeddings",
        "rows.npy",
        *CLUSTER[:-4],
        "-o",
        "rows.npy",
    )
    assert result.exit_code == 2 and "another file of this command" in result.stderr
