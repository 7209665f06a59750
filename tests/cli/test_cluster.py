import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linkwise import Constraints, KernelCSC, MahalanobisCSC, SingleKernelCSC, load
from linkwise.search import Evaluator

TO_CLUSTER = ["--constraints", "pairs.csv", "--clusters", 3, "--candidates", 20]


@pytest.fixture
def cluster(files):
    def run(*options, data="flowers.csv"):
        return files.json("cluster", data, *TO_CLUSTER, "--out", "out.csv", *options)

    return run


def labels_of(path):
    return pd.read_csv(path)["cluster"].to_numpy()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_labels_are_those_of_the_estimator(cluster, flowers, n_jobs):
    X, _, pairs = flowers
    cluster("--n-jobs", n_jobs, "--seed", 3)
    model = KernelCSC(n_clusters=3, n_candidates=20, random_state=3)
    np.testing.assert_array_equal(
        labels_of("out.csv"), model.fit(X, constraints=pairs).labels_
    )


def test_options_reach_the_estimator(cluster):
    cluster(
        *("--max-kernels", 2, "--search", "random", "--final-step", "soft"),
        *("--on-conflict", "drop", "--time-limit", 60, "--max-memory", "1 GiB"),
        *("--seed", 5, "--n-jobs", 2, "--model", "model.linkwise"),
        *("--approximation", "landmarks", "--landmarks", 17),
        *("--kernels", "rich", "--selection", "train", "--noise", 0.1),
    )
    params = load("model.linkwise").get_params()
    expected = {
        "n_clusters": 3,
        "n_candidates": 20,
        "max_kernels": 2,
        "search": "random",
        "final_step": "soft",
        "on_conflict": "drop",
        "time_limit": 60,
        "max_memory": "1 GiB",
        "approximation": "landmarks",
        "n_landmarks": 17,
        "kernels": "rich",
        "selection": "train",
        "noise": 0.1,
        "random_state": 5,
        "n_jobs": 2,
    }
    assert expected.items() <= params.items()


def test_the_number_of_clusters_can_be_found_out(files):
    common = ["--constraints", "pairs.csv", "--out", "out.csv", "--candidates", 20]
    files.ok("cluster", "flowers.csv", *common, "--clusters", "auto")
    assert 2 <= len(set(labels_of("out.csv"))) <= 10
    for wrong in (["auto", "--method", "single"], ["some"], ["0"], ["2.5"]):
        result = files("cluster", "flowers.csv", *common, "--clusters", *wrong)
        assert result.exit_code == 2 and "--clusters" in result.stderr


def test_none_lifts_the_memory_limit_and_the_final_step(cluster):
    cluster("--max-memory", "none", "--final-step", "none", "--model", "m.linkwise")
    model = load("m.linkwise")
    assert model.max_memory is None and model.final_step is None


def test_other_methods_are_their_estimators(files, flowers):
    X, _, pairs = flowers
    common = ["--constraints", "pairs.csv", "--clusters", 3, "--out", "out.csv"]
    files.ok("cluster", "flowers.csv", *common, "--method", "single")
    single = SingleKernelCSC(n_clusters=3, random_state=0).fit(X, constraints=pairs)
    np.testing.assert_array_equal(labels_of("out.csv"), single.labels_)

    command = ["cluster", "flowers.csv", *common, "--method", "mahalanobis"]
    report = files.json(*command, "--candidates", 20)
    other = MahalanobisCSC(n_clusters=3, n_candidates=20, random_state=0)
    other.fit(X, constraints=pairs)
    np.testing.assert_array_equal(labels_of("out.csv"), other.labels_)
    heaviest = X.columns[other.feature_weights_.argmax()]
    assert report["chosen"][0]["name"] == heaviest


def test_all_file_formats_give_the_same_labels(cluster, flowers):
    X, _, _ = flowers
    cluster()
    expected = labels_of("out.csv")
    X.to_parquet("flowers.parquet")
    np.save("flowers.npy", X.to_numpy())
    X.to_csv("flowers.tsv", index=False, sep="\t")
    X.to_csv("flowers.csv.gz", index=False)
    for ending in ("parquet", "npy", "tsv", "csv.gz"):
        cluster(data=f"flowers.{ending}")
        np.testing.assert_array_equal(labels_of("out.csv"), expected, ending)


def test_labels_can_be_written_in_all_formats(cluster):
    cluster()
    expected = labels_of("out.csv")
    for name in ("out.npy", "out.parquet", "out.tsv"):
        cluster("--out", name)
    np.testing.assert_array_equal(np.load("out.npy"), expected)
    frame = pd.read_parquet("out.parquet")
    np.testing.assert_array_equal(frame["cluster"], expected)
    assert list(frame["row"]) == list(range(60))
    np.testing.assert_array_equal(pd.read_csv("out.tsv", sep="\t"), frame)


def test_pairs_may_name_ids(cluster):
    cluster()
    expected = labels_of("out.csv")
    options = ["--constraints", "named-pairs.csv", "--id-column", "name"]
    cluster(*options, data="named.csv")
    frame = pd.read_csv("out.csv")
    assert list(frame.columns) == ["name", "cluster"]
    assert frame["name"].iloc[7] == "f007"
    np.testing.assert_array_equal(frame["cluster"], expected)


def test_ids_with_leading_zeros_and_ids_that_spell_a_gap_stay_as_they_are(files):
    files.write("data.csv", "id,x\n007,1\nNA,2\n7,8\nnull,9\n")
    files.write("links.csv", "i,j,kind\n007,NA,ML\n7,null,ML\n007,7,CL\n")
    files.ok(
        *("cluster", "data.csv", "-c", "links.csv", "-k", 2, "-o", "out.csv"),
        *("--id-column", "id", "--candidates", 5),
    )
    lines = (files.folder / "out.csv").read_text().splitlines()
    ids, clusters = zip(*(line.split(",") for line in lines[1:]), strict=True)
    assert ids == ("007", "NA", "7", "null")
    assert clusters[0] == clusters[1] != clusters[2] == clusters[3]


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64"])
def test_number_ids_of_a_parquet_file_are_found(files, dtype):
    frame = pd.DataFrame({"id": [30, 10, 20, 40], "x": [0.0, 0.1, 5.0, 5.1]})
    frame.astype({"id": dtype}).to_parquet("data.parquet")
    files.write("links.csv", "i,j,kind\n30,10,ML\n10.0,40,CL\n")
    report = files.json("check", "data.parquet", "links.csv", "--id-column", "id")
    assert report["must_links"] == report["cannot_links"] == 1


def test_columns_are_chosen_and_left_out(cluster):
    assert cluster("--columns", "sepal length,petal width")["features"] == 2
    assert cluster("--drop-column", "sepal width")["features"] == 3
    options = ["--columns", "sepal length", "--columns", "sepal width"]
    assert cluster(*options, "--drop-column", "sepal width")["features"] == 1


def test_the_report_counts(cluster, flowers):
    X, _, pairs = flowers
    report = cluster("--model", "model.linkwise")
    model = load("model.linkwise")
    closure = pairs.closure(len(X))
    assert report["rows"] == 60 and report["features"] == 4
    assert report["must_links"] + report["cannot_links"] == 30
    assert report["entailed_must_links"] == closure.n_must_link
    assert report["satisfaction"] == closure.score(labels_of("out.csv"))
    assert report["violated"] == closure.n_violated(model.labels_)
    assert sum(report["cluster_sizes"]) == 60 and len(report["cluster_sizes"]) == 3
    assert report["candidates"] == len(model.history_) <= 20
    assert report["stopped_by"] in ("budget", "score")
    assert report["labels"] == "out.csv" and report["pairs_dropped"] == 0
    assert {"name", "weight"} == set(report["chosen"][0])


def test_the_summary_says_the_essentials(files):
    result = files.ok("cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv")
    for words in (
        "60 rows, 4 features",
        "30 (",
        "violated",
        "candidates in",
        "out.csv",
    ):
        assert words in result.stdout
    assert result.stderr == ""


def test_quiet_prints_nothing(files):
    command = ["cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv"]
    assert files.ok(*command, "--quiet").output == ""


def test_a_model_holds_no_progress_bar_and_predicts(cluster, flowers):
    cluster("--kernels", "paper", "--model", "model.linkwise")
    model = load("model.linkwise")
    assert not hasattr(model, "_skl_callbacks")
    np.testing.assert_array_equal(model.predict(flowers[0]), labels_of("out.csv"))


def test_dropped_contradictions_are_counted(cluster, files):
    text = (files.folder / "pairs.csv").read_text()
    first = text.splitlines()[1].split(",")
    files.write("pairs.csv", f"{text}{first[0]},{first[1]},cannot-link,0.5\n")
    assert cluster("--on-conflict", "drop")["pairs_dropped"] == 1
    command = ["cluster", "flowers.csv", *TO_CLUSTER, "--out", "new.csv"]
    result = files(*command, "--on-conflict", "raise")
    assert result.exit_code == 4
    assert "1 contradiction:" in result.stderr and "line 32" in result.stderr
    assert "--on-conflict drop" in result.stderr
    assert "new.csv" not in files.files()


def test_contradictions_are_noted_and_doubtful_pairs_listed(cluster, files):
    text = (files.folder / "pairs.csv").read_text()
    rows = [line.split(",") for line in text.splitlines()[1:]]
    must = next(row for row in rows if row[2] == "must-link")
    files.write("pairs.csv", f"{text}{must[0]},{must[1]},cannot-link,1\n")
    report = cluster()
    assert "1 contradiction" in report["warnings"][0]
    for pair in report["disbelieved"]:
        assert set(pair) == {"i", "j", "kind", "belief"}
    result = files("cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv")
    assert result.exit_code == 0 and "1 contradiction" in result.stderr
    single = ("--method", "single", "--on-conflict", "warn")
    result = files("cluster", "flowers.csv", *TO_CLUSTER, *single, "--out", "o.csv")
    assert result.exit_code == 2 and "has no --on-conflict warn" in result.stderr


def test_who_has_no_pairs_is_told_how_to_get_them(files):
    result = files("cluster", "flowers.csv", "--clusters", "3", "--out", "out.csv")
    assert result.exit_code == 2
    assert "--constraints is missing" in result.stderr
    assert "linkwise ask flowers.csv" in result.stderr


def test_without_pairs_there_is_a_note_and_null_for_the_score(cluster, files):
    files.write("pairs.csv", "i,j,kind\n")
    report = cluster()
    assert report["satisfaction"] is None
    assert "no constraints" in report["warnings"][0]
    assert "linkwise ask" in report["warnings"][0]  # not: an argument of Python
    result = files.ok("cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv")
    assert result.stderr.startswith("note: ") and result.stderr.count("\n") == 1


def test_a_file_that_a_link_points_to_is_replaced_and_the_link_stays(cluster, files):
    files.write("real.csv", "old")
    (files.folder / "out.csv").symlink_to("real.csv")
    cluster()
    assert (files.folder / "out.csv").is_symlink()
    assert len(labels_of("real.csv")) == 60


def interrupt_at(monkeypatch, call):
    evaluate, calls = Evaluator.__call__, []

    def interrupted(self, weights):
        calls.append(weights)
        if len(calls) == call:
            raise KeyboardInterrupt
        return evaluate(self, weights)

    monkeypatch.setattr(Evaluator, "__call__", interrupted)


def test_an_interrupted_search_keeps_its_best(files, flowers, monkeypatch):
    # Classes at random, so that no candidate satisfies all pairs and ends the search.
    files.write("pairs.csv", "i,j,kind\n0,59,ML\n0,1,CL\n1,2,CL\n30,58,ML\n30,31,CL\n")
    interrupt_at(monkeypatch, 4)
    command = ["cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv"]
    result = files.ok(*command, "--json")
    report = json.loads(result.stdout)
    assert report["stopped_by"] == "interrupt" and report["candidates"] == 3
    assert "Interrupted after 3 of 20" in report["warnings"][0]
    assert len(labels_of("out.csv")) == 60


def test_an_interrupt_without_a_result_leaves_the_old_file(files, monkeypatch):
    files.write("out.csv", "old")
    interrupt_at(monkeypatch, 1)
    before = files.files()
    result = files("cluster", "flowers.csv", *TO_CLUSTER, "--out", "out.csv")
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted; nothing was written.\n"
    assert files.files() == before
    assert (files.folder / "out.csv").read_text() == "old"


def test_noise_is_called_noise(linkwise):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(120, 4))).to_csv("noise.csv", index=False)
    pairs = Constraints.sample(rng.integers(3, size=120), 100, random_state=0)
    pairs.to_table().to_csv("pairs.csv", index=False)
    command = ["cluster", "noise.csv", "--constraints", "pairs.csv", "--clusters", "3"]
    command += ["--candidates", "60", "--out", "out.csv", "--report", "report.html"]
    result = linkwise.ok(*command)
    assert "by chance" in result.stdout and "no better than shuffled" in result.stdout
    assert "No more pairs hold than by chance" in result.stderr
    assert "Do not trust these clusters" in Path("report.html").read_text()
    report = linkwise.json(*command)
    assert report["by_chance"] is True and 0.05 < report["p_value"] <= 1.0
    assert any("than by chance" in text for text in report["warnings"])


def test_flowers_are_not_called_noise(cluster):
    report = cluster("--candidates", "100")
    assert report["by_chance"] is False and report["p_value"] < 0.1
    report = cluster("--candidates", "5")
    assert report["by_chance"] is None and report["p_value"] is None
