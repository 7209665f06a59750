"""Numbers of pairs that hold: they add up, and mean the same wherever they are said."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import Constraints
from linkwise.cli._words import held_line, held_values

N_ROWS = 7
ENDS = st.lists(
    st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, N_ROWS - 1)).filter(
        lambda pair: pair[0] < pair[1]
    ),
    max_size=8,
    unique=True,
)
WEIGHTS = st.lists(st.floats(0.1, 10), min_size=16, max_size=16)
LABELS = st.lists(st.integers(0, 2), min_size=N_ROWS, max_size=N_ROWS)
LINE = re.compile(
    r"(?P<held>\d+) of (?P<given>\d+) pairs? holds? \((?P<share>[\d.]+) %\)"
    r"(; with what follows from them (?P<held_all>\d+) of (?P<all>\d+) "
    r"\((?P<share_all>[\d.]+) %\))?"
)


def all_pairs(pairs):
    """The pairs as given, and with what follows from those that are consistent."""
    given = {(True, i, j) for i, j in pairs.must_link.tolist()}
    given |= {(False, i, j) for i, j in pairs.cannot_link.tolist()}
    kept = pairs.drop_conflicts()
    group = kept.components(N_ROWS)
    apart = {frozenset(group[[i, j]].tolist()) for i, j in kept.cannot_link.tolist()}
    follows = {
        (group[i] == group[j], i, j)
        for i, j in combinations(range(N_ROWS), 2)
        if group[i] == group[j] or frozenset(group[[i, j]].tolist()) in apart
    }
    return given, given | follows


def n_held(found, labels):
    return sum((labels[i] == labels[j]) == is_same for is_same, i, j in found)


@settings(deadline=None, max_examples=200)
@given(ENDS, ENDS, WEIGHTS, LABELS)
def test_numbers_are_those_of_the_pairs_counted_one_by_one(must, cannot, weight, by):
    pairs = Constraints(
        must, cannot, weight[: len(must)], weight[len(must) : len(must) + len(cannot)]
    )
    labels = np.array(by)
    given, everything = all_pairs(pairs)
    values = held_values(pairs, labels)
    assert values["must_links"] + values["cannot_links"] == len(given)
    n_all = values["entailed_must_links"] + values["entailed_cannot_links"]
    assert n_all == len(everything)
    assert values["entailed_must_links"] == sum(same for same, _, _ in everything)
    assert values["violated_given"] == len(given) - n_held(given, labels)
    assert values["violated"] == n_all - n_held(everything, labels)
    if given:
        assert values["satisfaction"] == n_held(everything, labels) / n_all
        assert_line_adds_up(held_line(values), values)
    else:
        assert held_line(values) == "no pairs"


def assert_line_adds_up(line, values):
    said = LINE.fullmatch(line)
    assert said, line
    n_given = values["must_links"] + values["cannot_links"]
    n_all = values["entailed_must_links"] + values["entailed_cannot_links"]
    assert int(said["given"]) == n_given
    assert int(said["held"]) == n_given - values["violated_given"]
    assert float(said["share"]) == pytest.approx(
        100 * int(said["held"]) / n_given, abs=0.1
    )
    assert (said["all"] is None) == (n_all == n_given)
    if said["all"]:
        assert int(said["all"]) == n_all
        assert int(said["held_all"]) == n_all - values["violated"]
        assert float(said["share_all"]) == pytest.approx(
            100 * values["satisfaction"], abs=0.1
        )


@pytest.fixture
def contradictory(files, flowers):
    """Weighted pairs of the flowers, every eighth of them wrong."""
    pairs = Constraints.sample(flowers[1], 80, random_state=1).to_table()
    is_wrong = np.arange(len(pairs)) % 8 == 0
    swapped = pairs["kind"].map(
        {"must-link": "cannot-link", "cannot-link": "must-link"}
    )
    pairs["kind"] = np.where(is_wrong, swapped, pairs["kind"])
    pairs["weight"] = 1 + np.arange(len(pairs)) % 3
    pairs.to_csv("pairs.csv", index=False)
    assert Constraints.from_csv("pairs.csv").n_conflicts > 0
    return files


@pytest.mark.parametrize(
    "options",
    [
        ("--on-conflict", "warn"),
        ("--on-conflict", "drop"),
        ("--noise", 0.2),
        ("--on-conflict", "drop", "--final-step", "hard"),
    ],
)
def test_text_json_page_and_labels_agree(contradictory, options, monkeypatch):
    monkeypatch.setattr("linkwise.plots._report.picture", lambda *_: "")
    command = [
        *("cluster", "flowers.csv", "-c", "pairs.csv", "-k", 3, "--candidates", 20),
        *("--out", "out.csv", "--report", "page.html", *options),
    ]
    values = contradictory.json(*command)
    n_all = values["entailed_must_links"] + values["entailed_cannot_links"]
    assert values["satisfaction"] == pytest.approx(1 - values["violated"] / n_all)
    text = contradictory.ok(*command).stdout
    (line,) = re.findall(r"^  satisfied +(.*)$", text, flags=re.MULTILINE)
    assert_line_adds_up(line, values)

    pairs = Constraints.from_csv("pairs.csv")
    must, cannot = pairs.satisfied(pd.read_csv("out.csv")["cluster"].to_numpy())
    assert values["must_links"] == len(must)
    assert values["cannot_links"] == len(cannot)
    assert values["violated_given"] == (~must).sum() + (~cannot).sum()
    page = (contradictory.folder / "page.html").read_text()
    assert f"{must.sum()} of {len(must)} must-links" in page
    assert f"{cannot.sum()} of {len(cannot)} cannot-links hold" in page

    n_kept = sum(map(len, pairs.drop_conflicts().satisfied(np.zeros(60, dtype=int))))
    is_dropping = "drop" in options
    assert values["pairs_dropped"] == is_dropping * (80 - n_kept)
    assert ("left out" in text) <= is_dropping
