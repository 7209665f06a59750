import base64
import re

import pandas as pd
import pytest

from linkwise.experiments import read_records, ready_plans

PLAN = """
description = "Three quick methods"
datasets = ["sklearn:iris", "sklearn:wine"]
trials = 2
constraints = ["paper", 30, 40]
candidates = 3
[methods]
MahalanobisCSC = {}
COP = {}
k-means = {}
wrong = { method = "COP", approximation = "exact" }
wrong2 = { method = "COP", approximation = "landmarks" }
[rankings]
quick = ["MahalanobisCSC", "COP", "k-means"]
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a plan and the store of its run."""
    from typer.testing import CliRunner

    from linkwise.cli import app

    folder = tmp_path_factory.mktemp("bench")
    (folder / "quick.toml").write_text(PLAN)
    arguments = ["bench", "run", str(folder / "quick.toml")]
    arguments += ["--store", str(folder / "records.sqlite"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return folder, result


def test_a_run_says_how_far_it_came_and_shows_progress(done, linkwise):
    folder, result = done
    assert '"done": 60' in result.stdout and '"left": 0' in result.stdout
    assert '"failed": 24' in result.stdout
    assert "60 jobs" in result.stderr  # progress goes there
    text = linkwise.ok(
        "bench", "run", folder / "quick.toml", "--store", folder / "records.sqlite"
    ).stdout
    assert "60 of 60 jobs done, 24 of them failed" in text


def test_a_run_without_time_leaves_all_for_the_next(done, linkwise):
    folder, _ = done
    report = linkwise.json(
        *("bench", "run", folder / "quick.toml", "--time-limit", "0.001s")
    )
    assert report["done"] <= 1 and report["done"] + report["left"] == 60
    assert linkwise.files() == ["linkwise-bench.sqlite"]


def test_a_report_has_every_figure_table_and_one_page(done, linkwise):
    folder, _ = done
    report = linkwise.json(
        *("bench", "report", folder / "quick.toml"),
        *("--store", folder / "records.sqlite", "--out", "report"),
    )
    files = {path.name for path in (linkwise.folder / "report").iterdir()}
    assert files == set(report["files"])
    figures = [
        "ranks-quick",
        "scatter-rivals",
        "scatter-nystrom",
        "evolution",
        "informativeness-quick",
        "coherence-quick",
    ]
    for name in figures:
        assert {f"{name}.png", f"{name}.svg"} <= files
    assert {"times.csv", "failures.csv", "summary-quick.csv", "records.csv.gz"} <= files
    # Settings of one method are not rivals of each other.
    assert "ahead-rivals.csv" in files and "ahead-nystrom.csv" not in files
    page = (linkwise.folder / "report" / "report.html").read_text()
    images = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(images) == len(figures)
    assert all(b"<svg" in base64.b64decode(image) for image in images)
    assert "Wall time by method" in page and "24 of them failed" in page
    summary = pd.read_csv(linkwise.folder / "report" / "summary-quick.csv")
    assert sorted(summary["method"]) == ["COP", "MahalanobisCSC", "k-means"]
    assert (summary["datasets"] == 2).all()


def test_a_report_can_be_made_from_the_records_of_another(done, linkwise):
    folder, _ = done
    report = ("bench", "report", folder / "quick.toml", "--constraints", "paper")
    report += ("--method", "COP,k-means")
    linkwise.ok(*report, "--store", folder / "records.sqlite", "-o", "one")
    linkwise.ok(*report, "--store", "one/records.csv.gz", "-o", "two")
    one, two = linkwise.folder / "one", linkwise.folder / "two"
    assert sorted(p.name for p in one.iterdir()) == sorted(
        p.name for p in two.iterdir()
    )
    names = ["summary-quick.csv", "ranks-quick.svg"]
    if pd.__version__ >= "3":  # older ones read the last digit of some numbers wrongly
        names.append("records.csv.gz")
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_two_stores_are_compared_method_by_method(done, linkwise):
    folder, _ = done
    table = read_records(folder / "records.sqlite")
    is_cop = (table["method"] == "COP") & (table["dataset"] == "sklearn:iris")
    table.loc[is_cop, "ari_test"] -= 0.25
    table.to_csv("worse.csv", index=False)
    compare = ("bench", "compare", folder / "records.sqlite")
    report = linkwise.json(*compare, "worse.csv")
    by_method = {row["method"]: row for row in report["methods"]}
    assert (by_method["COP"]["worse"], by_method["COP"]["better"]) == (3, 0)
    assert (by_method["k-means"]["worse"], by_method["k-means"]["better"]) == (0, 0)
    assert {fall["dataset"] for fall in report["falls"]} == {"sklearn:iris"}
    assert report["falls"][0]["change"] == pytest.approx(-0.25)
    text = linkwise.ok(*compare, folder / "records.sqlite").stdout
    assert "60 jobs" in text and "none" in text


def test_ready_plans_are_listed(linkwise):
    text = linkwise.ok("bench", "plans").stdout
    assert all(name in text for name in ready_plans())
    assert [
        p["name"] for p in linkwise.json("bench", "plans")["plans"]
    ] == ready_plans()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "fix"], 2, "no plan 'fix'"),
        (["run", "none.toml"], 3, "none.toml"),
        (["run", "bad.toml"], 3, "no valid TOML"),
        (["run", "fixed", "--jobs", "0"], 2, "0 jobs"),
        (["run", "fixed", "--time-limit", "soon"], 2, "is not a time"),
        (["run", "fixed", "--constraints", "few"], 2, "is no number of pairs"),
        (["run", "fixed", "--method", "Mine"], 3, "no method 'Mine'"),
        (["run", "smoke", "--store", "bad.toml"], 3, "cannot be used as a store"),
        (["run", "fixed", "--dataset", "sklearn:moons"], 3, "no data set 'moons'"),
        (["report", "smoke", "--store", "none.sqlite"], 3, "no file of records"),
        (["compare", "none.sqlite", "none.sqlite"], 3, "no file of records"),
    ],
)
def test_errors_say_what_is_wrong(linkwise, arguments, code, message):
    linkwise.write("bad.toml", "datasets = [" + "\n" * 99)
    result = linkwise("bench", *arguments)
    assert result.exit_code == code, result.output
    assert message in " ".join(re.sub("[│╭╮╰╯─]", "", result.output).split())


def test_a_report_without_records_says_how_to_make_them(done, linkwise):
    folder, _ = done
    report = ("bench", "report", "smoke", "--dataset", "sklearn:digits")
    result = linkwise(*report, "--store", folder / "records.sqlite")
    assert result.exit_code == 3 and "linkwise bench run smoke" in result.stderr
