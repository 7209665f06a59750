"""The command ``linkwise report`` and ``linkwise cluster --report``."""

import numpy as np
import pandas as pd
import pytest

CLUSTER = ["cluster", "named.csv", "-c", "named-pairs.csv", "--id-column", "name"]
CLUSTER += ["-k", 3, "-o", "out.csv", "--candidates", 20]
REPORT = ["report", "model.linkwise", "named.csv", "--id-column", "name"]


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    """Pictures take long, and have tests of their own."""
    monkeypatch.setattr("linkwise.plots._report.picture", lambda *_: "")


@pytest.fixture
def fitted(files):
    files.ok(*CLUSTER, "--model", "model.linkwise", "--report", "page.html")
    return files


def text_of(path):
    return path.read_text(encoding="utf-8")


def test_cluster_writes_a_page_with_names_of_rows_and_files(fitted):
    page = text_of(fitted.folder / "page.html")
    assert "<h1>Clusters of named.csv</h1>" in page
    assert "named.csv: 60 rows, 4 columns" in page
    assert "named-pairs.csv: 30 pairs" in page
    assert "<b>f0" in page and "sepal length" in page


def test_a_model_file_gives_the_same_page_again(fitted):
    values = fitted.json(*REPORT, "-c", "named-pairs.csv")
    again = (fitted.folder / "report.html").read_bytes()
    assert again == (fitted.folder / "page.html").read_bytes()
    assert values["bytes"] == len(again) and values["pairs"] == 30
    assert values["report"] == "report.html"


def test_pairs_may_be_left_out_and_the_page_named(fitted):
    fitted.ok(*REPORT, "--out", "other.html")
    assert "Give the pairs to the report" in text_of(fitted.folder / "other.html")


def test_rows_that_were_not_in_the_fit_are_predicted(fitted):
    table = pd.read_csv("named.csv").iloc[:20]
    table.to_csv("new.csv", index=False)
    fitted.ok("report", "model.linkwise", "new.csv", "--id-column", "name")
    assert "their clusters are predicted" in text_of(fitted.folder / "report.html")


def test_texts_dates_categories_and_gaps_are_told(linkwise):
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 30)
    table = pd.DataFrame(
        {
            "ticket_id": range(60),
            "text": [
                f"{['card is lost', 'app crashes again'][k]} since day{i}"
                for i, k in enumerate(kind)
            ],
            "plan": np.where(kind == 0, "basic", "gold"),
            "opened": pd.Timestamp("2026-01-01") + pd.to_timedelta(kind * 90, "D"),
            "age": np.where(rng.random(60) < 0.2, np.nan, 30.0 + 10 * kind),
        }
    )
    table.to_csv("tickets.csv", index=False)
    linkwise.write("pairs.csv", "i,j,kind\n0,1,ML\n30,31,ML\n0,30,CL\n")
    linkwise.ok(
        *("cluster", "tickets.csv", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"),
        *("--candidates", 10, "--report", "page.html"),
    )
    page = text_of(linkwise.folder / "page.html")
    assert page.count('<span class="words">app crashes</span>') == 1
    assert page.count("<span class='words'>app crashes</span>") == 1  # in the legend
    for trait in ("“app crashes”", "plan = gold", "opened", "2026-01-01"):
        assert trait in page
    assert "<th>ticket_id</th><td class='bar'>" not in page


def test_embeddings_are_shown_as_the_texts_that_they_stand_for(linkwise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) + 4 * (np.arange(40) % 2)[:, None]
    np.save("rows.npy", X)
    names = [f"t{i}" for i in range(40)]
    texts = [f"{'red' if i % 2 else 'blue'} thing number{i}" for i in range(40)]
    pd.DataFrame({"key": names, "text": texts}).to_csv("texts.csv", index=False)
    linkwise.write("rows.csv", "i,j,kind\n0,2,ML\n0,1,CL\n")
    linkwise.write("named.csv", "i,j,kind\nt0,t2,ML\nt0,t1,CL\n")
    linkwise.ok(
        *("cluster", "rows.npy", "-c", "rows.csv", "-k", 2, "-o", "out.csv"),
        *("--candidates", 10, "--model", "model.linkwise"),
    )
    command = ["report", "model.linkwise", "texts.csv", "--embeddings", "rows.npy"]
    linkwise.ok(*command, "--id-column", "key", "-c", "named.csv")
    page = text_of(linkwise.folder / "report.html")
    assert "“blue”" in page and "<b>t" in page and "1 of 1 must-link" in page
    np.save("few.npy", X[:9])
    result = linkwise(*command[:-1], "few.npy")
    assert result.exit_code == 3
    assert "few.npy has 9 rows, but texts.csv has 40" in result.stderr


def test_a_wrong_name_or_place_is_refused_before_the_work(files):
    for arguments, code, words in [
        ([*CLUSTER, "--report", "page.pdf"], 2, "must end in .html"),
        ([*CLUSTER, "--report", "nowhere/page.html"], 3, "there is no folder"),
        ([*CLUSTER, "--model", "x.html", "--report", "x.html"], 2, "another file"),
        (["report", "named.csv", "named.csv"], 3, "is not a model file"),
        (["report", "none.linkwise", "named.csv"], 3, "none.linkwise"),
        ([*REPORT, "--out", "page.txt"], 2, "must end in .html"),
    ]:
        before = files.files()
        result = files(*arguments)
        assert result.exit_code == code, result.output
        assert words in " ".join(result.stderr.split()).replace("│ ", "")
        assert files.files() == before


def test_hostile_tables_do_no_harm(linkwise):
    bad = "<script>alert(1)</script>"
    rows = "\n".join(f'"{bad}{i}",{i % 2 * 9 + i / 10},"{bad}"' for i in range(20))
    linkwise.write("rows.csv", f'"{bad}","x{bad}","c"\n{rows}\n')
    linkwise.write("pairs.csv", f"i,j,kind\n{bad}0,{bad}2,ML\n{bad}0,{bad}1,CL\n")
    linkwise.ok(
        *("cluster", "rows.csv", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"),
        *("--id-column", bad, "--candidates", 5, "--report", "page.html"),
    )
    page = text_of(linkwise.folder / "page.html")
    assert "<script" not in page and "&lt;script&gt;" in page


def test_a_model_with_an_automatic_number_of_clusters_predicts(files):
    files.ok(
        *("cluster", "flowers.csv", "-c", "pairs.csv", "-k", "auto", "-o", "out.csv"),
        *("--candidates", 3, "--kernels", "paper", "--model", "model.linkwise"),
    )
    values = files.json("predict", "model.linkwise", "flowers.csv", "-o", "again.csv")
    assert sum(values["cluster_sizes"]) == 60
    files.ok("report", "model.linkwise", "flowers.csv", "-c", "pairs.csv")
