import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from linkwise.experiments import (
    PAPER_METHODS,
    against,
    check_claims,
    compare_records,
    failures,
    first_shares,
    mean_scores,
    rank_methods,
    rank_shares,
    rivals_ahead,
    significant_ranks,
    significant_shares,
    split_by,
    summary,
    trial_scores,
    wall_times,
)
from linkwise.experiments._store import COLUMNS


def make_records(scores, **columns):
    """Return records of scores {dataset: {method: [one for each trial]}}."""
    rows = [
        {
            "dataset": dataset,
            "method": method,
            "trial": trial,
            "n_constraints": 10,
            "parameters": "{}",
            "status": "error" if score is None else "ok",
            "error": "",
            "seconds": 1.0,
            "n_samples": 100,
            "n_clusters": 2,
            "ari_test": np.nan if score is None else score,
        }
        for dataset, by_method in scores.items()
        for method, values in by_method.items()
        for trial, score in enumerate(values)
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS).assign(**columns)


def as_scores(*rows, methods="abcd"):
    index = pd.MultiIndex.from_product(
        [["set"], range(len(rows))], names=["dataset", "trial"]
    )
    return pd.DataFrame(rows, index=index, columns=list(methods[: len(rows[0])]))


def test_ties_take_the_smaller_rank():
    means = pd.DataFrame([[0.5, 0.5, 0.3, 0.6]], columns=list("abcd"))
    assert rank_methods(means).iloc[0].tolist() == [2, 2, 4, 1]


def test_rounding_errors_break_no_tie():
    means = pd.DataFrame([[0.1 + 0.2, 0.3]], columns=list("ab"))
    assert rank_methods(means).iloc[0].tolist() == [1, 1]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=6))
@settings(deadline=None, max_examples=50)
def test_a_rank_is_one_more_than_the_number_of_better_methods(values):
    means = pd.DataFrame([values], dtype=float)
    better = [sum(other > value for other in values) for value in values]
    assert rank_methods(means).iloc[0].tolist() == [1 + n for n in better]


def test_a_failed_trial_scores_0():
    scores = trial_scores(make_records({"s": {"a": [0.5, None], "b": [0.2, 0.2]}}))
    assert scores["a"].tolist() == [0.5, 0]
    assert mean_scores(scores).loc["s"].tolist() == [0.25, 0.2]


def test_a_trial_counts_when_all_methods_have_done_it():
    records = make_records({"s": {"a": [0.5, 0.7], "b": [0.2]}, "t": {"a": [1.0]}})
    assert trial_scores(records).index.tolist() == [("s", 0)]
    assert trial_scores(records, methods=["a"])["a"].tolist() == [0.5, 0.7, 1.0]


def test_a_rank_is_significant_if_intervals_lie_apart():
    # Half-widths are 1.96 * sd / sqrt(2), sd = .0141, .0141, .1414: .0196, .0196, .196.
    scores = as_scores([0.99, 0.79, 0.5], [0.97, 0.77, 0.7])
    assert significant_ranks(scores).loc["set"].tolist() == [True, False, False]
    # With .74 and .0196 against .6 and .0196 the second is significant, too.
    scores = as_scores([0.99, 0.75, 0.61], [0.97, 0.73, 0.59])
    assert significant_ranks(scores).loc["set"].tolist() == [True, True, False]


def test_intervals_that_touch_are_not_significant():
    # Means .6 and .5, sd .0721: half-widths .0999 each, then .0499.
    def scores(spread):
        return as_scores([0.6 + spread, 0.5 + spread], [0.6 - spread, 0.5 - spread])

    assert significant_ranks(scores(0.0254)).loc["set"].tolist() == [True, False]
    assert significant_ranks(scores(0.0256)).loc["set"].tolist() == [False, False]


def test_nothing_is_significant_after_one_trial_or_in_a_tie():
    assert not significant_ranks(as_scores([0.9, 0.1])).to_numpy().any()
    tie = as_scores([0.9, 0.9, 0.1], [0.9, 0.9, 0.1])
    assert not significant_ranks(tie).to_numpy().any()


@pytest.fixture
def two_sets():
    """Means s: a .8, b .6, c .1; t: a .3, b .7, c .3, two trials each."""
    return make_records(
        {
            "s": {"a": [0.79, 0.81], "b": [0.6, 0.6], "c": [0.1, 0.1]},
            "t": {"a": [0.3, 0.3], "b": [0.7, 0.7], "c": [0.3, 0.3]},
        }
    )


def test_shares_of_ranks(two_sets):
    ranks = rank_methods(mean_scores(trial_scores(two_sets)))
    assert rank_shares(ranks).to_numpy().tolist() == [
        [0.5, 0.5, 0],
        [0.5, 0.5, 0],
        [0, 0.5, 0.5],
    ]
    significant = significant_ranks(trial_scores(two_sets))
    assert significant_shares(ranks, significant).to_numpy().tolist() == [
        [0.5, 0, 0],
        [0.5, 0.5, 0],
        [0, 0, 0],
    ]


def test_the_summary_of_ranks(two_sets):
    table = summary(trial_scores(two_sets))
    assert table.index.tolist() == ["a", "b", "c"]
    assert table["first"].tolist() == [0.5, 0.5, 0]
    assert table["first_significant"].tolist() == [0.5, 0.5, 0]
    assert table["top_two"].tolist() == [1, 1, 0.5]
    assert table["mean_rank"].tolist() == [1.5, 1.5, 2.5]
    assert table["mean_score"].tolist() == pytest.approx([0.55, 0.65, 0.2])
    assert table["datasets"].tolist() == [2, 2, 2]


def test_a_method_against_its_rivals(two_sets):
    table = against(trial_scores(two_sets), "a").set_index("rival")
    assert table.loc["b", ["better", "equal", "worse"]].tolist() == [1, 0, 1]
    assert table.loc["c", ["better", "equal", "worse"]].tolist() == [1, 1, 0]
    assert table.loc["c", "share_better"] == 0.5
    assert table.loc["b", "mean_gain"] == pytest.approx(-0.1)


def test_the_test_of_a_difference_is_the_paired_one_of_wilcoxon():
    rng = np.random.default_rng(0)
    pairs = rng.uniform(size=(12, 2))
    records = make_records(
        {f"s{i:02d}": {"a": [x], "b": [y]} for i, (x, y) in enumerate(pairs)}
    )
    expected = wilcoxon(pairs[:, 0], pairs[:, 1]).pvalue
    assert against(trial_scores(records), "a")["p_value"][0] == pytest.approx(expected)
    same = make_records({"s": {"a": [0.5], "b": [0.5]}})
    assert against(trial_scores(same), "a")["p_value"][0] == 1


def test_sets_where_a_rival_is_ahead_are_listed(two_sets):
    table = rivals_ahead(trial_scores(two_sets), "a")
    assert table[["dataset", "best_rival"]].to_numpy().tolist() == [["t", "b"]]
    assert table["lead"].tolist() == pytest.approx([0.4])
    assert rivals_ahead(trial_scores(two_sets), "a", by=0.5).empty


def test_trials_are_split_in_halves_within_each_set():
    records = make_records({"s": {"a": [0.1, 0.2, 0.3, 0.4, 0.5], "b": [0.0] * 5}})
    records["coherence"] = records["trial"].map({0: 0.9, 1: 0.1, 2: 0.5, 3: 0.8, 4: 0})
    # One job was killed before it could note what its pairs were like.
    records.loc[0, "coherence"] = np.nan
    halves = split_by(records, "coherence")
    assert sorted(halves["low"]["a"]) == [0.2, 0.5]
    assert sorted(halves["high"]["a"]) == [0.1, 0.4]


def test_trials_without_a_value_are_in_no_half():
    records = make_records({"s": {"a": [0.1, 0.2, 0.3]}})
    records["coherence"] = [np.nan, 0.2, 0.4]
    halves = split_by(records, "coherence")
    assert halves["low"]["a"].tolist() == [0.2] and halves["high"]["a"].tolist() == [
        0.3
    ]


def test_first_ranks_by_number_of_pairs_count_ties_for_all():
    few = make_records({"s": {"a": [0.5], "b": [0.5]}, "t": {"a": [0.5], "b": [0.1]}})
    many = make_records({"s": {"a": [0.5], "b": [0.6]}}, n_constraints=99)
    table = first_shares(pd.concat([few, many]), "ari_test")
    assert table.index.tolist() == [10, 99]
    assert table.loc[10].tolist() == [1, 0.5] and table.loc[99].tolist() == [0, 1]


def test_times_and_failures_are_counted_by_method():
    records = make_records({"s": {"a": [0.5, None], "b": [0.1, 0.2]}})
    table = wall_times(records).set_index("method")
    assert table["total"].tolist() == [2, 2] and table["error"].tolist() == [1, 0]
    assert failures(records)[["method", "trial"]].to_numpy().tolist() == [["a", 1]]


def test_claims_are_checked_with_the_methods_they_speak_of():
    rest = {name: [0.2] for name in PAPER_METHODS[2:]}
    records = make_records(
        {
            "s": {"KernelCSC": [0.9], "MMC+LCVQE": [0.5], **rest},
            "t": {"KernelCSC": [0.4], "MMC+LCVQE": [0.5], **rest},
            "u": {"KernelCSC": [0.1], "MMC+LCVQE": [0.1], **rest},
        }
    )
    table = check_claims(records)
    assert table["here"].tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 3, 2 / 3])
    assert table["paper"].tolist() == [0.377, 0.534, 0.171, 0.219]
    pair = make_records(
        {
            "s": {"KernelCSC": [0.9], "SingleKernelCSC": [0.9]},
            "t": {"KernelCSC": [0.9], "SingleKernelCSC": [0.8]},
        }
    )
    row = check_claims(pair).iloc[0]
    assert row[["here", "tied", "datasets"]].tolist() == [0.5, 0.5, 2]


def test_two_files_are_compared_on_the_jobs_they_share():
    first = make_records({"s": {"a": [0.5, 0.5], "b": [0.4]}, "t": {"a": [0.5]}})
    second = make_records({"s": {"a": [0.3, 0.5], "b": [None]}, "u": {"a": [0.5]}})
    methods, falls = compare_records(first, second)
    assert methods["jobs"].tolist() == [2, 1]
    assert methods["mean_b"].tolist() == [0.4, 0]
    assert methods["worse"].tolist() == [1, 1] and methods["better"].tolist() == [0, 0]
    assert methods["failed_b"].tolist() == [0, 1]
    assert falls["change"].tolist() == pytest.approx([-0.4, -0.1])
    assert compare_records(first, first).falls.empty
