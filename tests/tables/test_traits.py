"""What sets clusters apart, against a brute-force twin."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linkwise.tables import cluster_traits, cluster_words


def brute_force(values, labels, cluster):
    """Means inside and outside, and their difference in standard deviations."""
    known = [(v, c) for v, c in zip(values, labels, strict=True) if v == v]
    inside = [v for v, c in known if c == cluster]
    outside = [v for v, c in known if c != cluster]
    if not inside or not outside:
        return None
    everything = [v for v, _ in known]
    mean = sum(everything) / len(everything)
    deviation = (sum((v - mean) ** 2 for v in everything) / len(everything)) ** 0.5
    here, elsewhere = sum(inside) / len(inside), sum(outside) / len(outside)
    error = (1 / len(inside) + 1 / len(outside)) ** 0.5
    return here, elsewhere, (here - elsewhere) / deviation, error


def row_of(traits, cluster, column, value=""):
    found = traits[
        (traits["cluster"] == cluster)
        & (traits["column"] == column)
        & (traits["value"] == value)
    ]
    assert len(found) == 1
    return found.iloc[0][["here", "elsewhere", "difference", "error"]].tolist()


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_numbers_are_compared_as_by_hand(data):
    n = data.draw(st.integers(6, 30))
    values = data.draw(
        st.lists(st.integers(-50, 50) | st.just(np.nan), min_size=n, max_size=n)
    )
    values[:2] = [1.5, -2.25]
    labels = data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    table = pd.DataFrame({"height": np.array(values, dtype=float)})
    traits = cluster_traits(table, labels, kinds={"height": "number"})
    traits = traits[traits["kind"] == "number"]
    for cluster in range(3):
        expected = brute_force(values, labels, cluster)
        if expected is None or abs(expected[2]) < 1e-9:
            continue
        assert row_of(traits, cluster, "height") == pytest.approx(expected, abs=1e-9)
    assert (traits["cluster"] >= 0).all()


def test_categories_words_and_gaps_are_compared_by_shares():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    plan = np.where(rng.random(90) < 0.7, labels, rng.integers(0, 3, 90))
    words = np.array(["red rose", "dry White; wine", "sweet red cake"])
    text = [f"{words[c]} n{i % 7}" for i, c in enumerate(plan)]
    table = pd.DataFrame({"plan": np.array(["a", "b", "c"])[plan], "text": text})
    table.loc[labels == 1, "plan"] = None
    kinds = {"plan": "category", "text": "text"}
    traits = cluster_traits(table, labels, kinds=kinds, n_largest=100)
    for cluster in range(3):
        for value in "abc":
            has_it = (table["plan"] == value).astype(float)
            expected = brute_force(has_it, labels, cluster)
            assert row_of(traits, cluster, "plan", value) == pytest.approx(expected)
        words = cluster_words(text, labels, n_words=8)[cluster]
        own = traits[(traits["cluster"] == cluster) & (traits["kind"] == "word")]
        assert words and set(own["value"]) == set(words)
        for word in words:
            plain = [t.lower().replace(";", " ;") for t in text]
            has_it = [float(f" {word} " in f" {t} ") for t in plain]
            expected = brute_force(has_it, labels, cluster)
            assert row_of(traits, cluster, "text", word) == pytest.approx(expected)
    gaps = traits[traits["kind"] == "gap"].set_index("cluster")
    assert gaps.loc[1, ["here", "elsewhere"]].tolist() == [1.0, 0.0]


def test_dates_are_days():
    dates = pd.to_datetime(["2020-01-01", "2020-01-03", "2021-01-01", "2021-01-05"])
    traits = cluster_traits(pd.DataFrame({"day": dates}), [0, 0, 1, 1])
    days = [(d - pd.Timestamp("1970-01-01")).days for d in dates]
    expected = brute_force(list(map(float, days)), [0, 0, 1, 1], 0)
    assert row_of(traits, 0, "day") == pytest.approx(expected)


def test_the_largest_differences_come_first_and_no_more_than_asked_for():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 200)
    X = rng.normal(size=(200, 12)) + np.arange(12) * labels[:, None] / 6
    traits = cluster_traits(X, labels, n_largest=5)
    assert traits.groupby("cluster").size().tolist() == [5, 5, 5, 5]
    for _, part in traits.groupby("cluster"):
        assert part["difference"].abs().is_monotonic_decreasing
    assert traits["column"].iloc[0] == "x11"


def test_sparse_rows_count_by_what_is_not_zero():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (60, 8)).astype(float)
    labels = rng.integers(0, 2, 60)
    traits = cluster_traits(csr_array(X), labels, n_largest=100)
    for column in range(8):
        expected = brute_force((X[:, column] > 0).astype(float), labels, 0)
        assert row_of(traits, 0, "", f"x{column}") == pytest.approx(expected)


def test_ids_constants_and_one_cluster_say_nothing():
    table = pd.DataFrame({"id": range(20), "same": 3, "empty": None, "x": 0.5})
    assert cluster_traits(table, np.arange(20) % 2).empty
    numbers = pd.DataFrame({"x": np.arange(20.0) ** 2})
    assert cluster_traits(numbers, np.zeros(20, int)).empty
    assert cluster_traits(numbers, np.full(20, -1)).empty


def test_numbers_far_from_zero_lose_nothing():
    values = 1e9 + np.arange(40.0) % 4
    labels = np.arange(40) // 20
    labels[:3] = 1
    traits = cluster_traits(pd.DataFrame({"x": values}), labels)
    expected = brute_force(values - 1e9, labels, 0)
    assert row_of(traits, 0, "x")[2:] == pytest.approx(expected[2:])


def test_names_may_be_given_twice_and_labels_must_fit():
    table = pd.DataFrame([[1.0, 5.0], [2.0, 4.0], [3.0, 9.0]], columns=["a", "a"])
    assert len(cluster_traits(table, [0, 0, 1])) == 4
    with pytest.raises(ValueError, match=r"labels has shape \(2,\)"):
        cluster_traits(table, [0, 1])
