"""Ranks and tables: functions of records, or of scores made from them.

Scores are a table with one row for each data set and trial and one column for each
method. A failed trial scores 0.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from linkwise.experiments._store import KEY

_DIGITS = 12  # means that differ in later digits are the same
_CONFIDENCE = 1.96  # of a normal law, 95 % on both sides
_FALLS = 10


def trial_scores(
    records: pd.DataFrame, metric: str = "ari_test", methods: list[str] | None = None
) -> pd.DataFrame:
    """Return the scores of methods by data set and trial.

    Parameters
    ----------
    records : DataFrame
        Records with one number of pairs for each data set.
    metric : str, default="ari_test"
        Column of records.
    methods : list of str or None, default=None
        Methods to keep, in their order; None is all.

    Returns
    -------
    DataFrame
        Index (dataset, trial); a trial is left out until all methods have done it.
    """
    if methods is None:
        methods = list(dict.fromkeys(records["method"]))
    counted = records.assign(score=records[metric].where(records["status"] == "ok", 0))
    wide = counted.pivot(index=["dataset", "trial"], columns="method", values="score")
    # A score can be undefined: that of an empty part, say. It is no failure to win by.
    done = counted.assign(there=1.0).pivot(
        index=["dataset", "trial"], columns="method", values="there"
    )
    is_whole = done.reindex(columns=methods).notna().all(axis=1)
    return wide.reindex(columns=methods).fillna(0.0)[is_whole]


def mean_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over trials, one row for each data set."""
    return scores.groupby(level="dataset").mean()


def rank_methods(means: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks of methods on each data set; ties take the smaller rank.

    Examples
    --------
    >>> import pandas as pd
    >>> means = pd.DataFrame([[0.5, 0.5, 0.3, 0.6]], columns=list("abcd"))
    >>> rank_methods(means).iloc[0].tolist()
    [2, 2, 4, 1]
    """
    ranks = means.round(_DIGITS).rank(axis=1, ascending=False, method="min")
    return ranks.astype(int)


def significant_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Return whether each method holds its rank significantly, by data set.

    It does if its mean less 1.96 standard errors lies above the mean and 1.96 standard
    errors of every other method of the same or a larger rank. Where there is no such
    method, or only one trial, nothing is significant.
    """
    grouped = scores.groupby(level="dataset")
    n_trials = grouped.size().to_numpy()[:, np.newaxis]
    means = mean_scores(scores)
    margin = _CONFIDENCE * grouped.std(ddof=1).to_numpy() / np.sqrt(n_trials)
    low, high = means.to_numpy() - margin, means.to_numpy() + margin
    ranks = rank_methods(means).to_numpy()
    # Axes: data set, method, other method.
    is_behind = ranks[:, np.newaxis, :] >= ranks[:, :, np.newaxis]
    is_behind &= ~np.eye(means.shape[1], dtype=bool)
    is_below = high[:, np.newaxis, :] < low[:, :, np.newaxis]
    significant = np.all(is_below | ~is_behind, axis=2) & np.any(is_behind, axis=2)
    return pd.DataFrame(significant, index=means.index, columns=means.columns)


def rank_shares(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return the share of data sets by method and rank."""
    places = range(1, ranks.shape[1] + 1)
    shares = {place: (ranks == place).mean() for place in places}
    return pd.DataFrame(shares).rename_axis(index="method", columns="rank")


def significant_shares(ranks: pd.DataFrame, significant: pd.DataFrame) -> pd.DataFrame:
    """Return the share of data sets where a rank is held significantly."""
    return rank_shares(ranks.where(significant, 0))


def summary(scores: pd.DataFrame) -> pd.DataFrame:
    """Return shares of first and top two ranks, mean rank and mean score by method."""
    means = mean_scores(scores)
    ranks = rank_methods(means)
    is_first_and_significant = (ranks == 1) & significant_ranks(scores)
    table = pd.DataFrame(
        {
            "first": (ranks == 1).mean(),
            "first_significant": is_first_and_significant.mean(),
            "top_two": (ranks <= 2).mean(),
            "mean_rank": ranks.mean(),
            "mean_score": means.mean(),
            "datasets": len(means),
        }
    )
    return table.rename_axis("method").sort_values("mean_rank", kind="stable")


def against(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return how a method does against each rival, data set by data set.

    The p-value is that of the paired Wilcoxon test of the means over trials.
    """
    from scipy.stats import wilcoxon

    means = mean_scores(scores).round(_DIGITS)
    rows = []
    for rival in means.columns.drop(reference):
        gain = means[reference] - means[rival]
        differs = bool((gain != 0).any())
        rows.append(
            {
                "rival": rival,
                "better": int((gain > 0).sum()),
                "equal": int((gain == 0).sum()),
                "worse": int((gain < 0).sum()),
                "share_better": (gain > 0).mean(),
                "mean_gain": gain.mean(),
                "median_gain": gain.median(),
                "p_value": float(wilcoxon(gain).pvalue) if differs else 1.0,
            }
        )
    columns = ["rival", "better", "equal", "worse", "share_better", "mean_gain"]
    return pd.DataFrame(rows, columns=[*columns, "median_gain", "p_value"])


def rivals_ahead(scores: pd.DataFrame, reference: str, by: float = 0.1) -> pd.DataFrame:
    """Return the data sets where the best rival wins by more than ``by``."""
    means = mean_scores(scores)
    rivals = means.drop(columns=reference)
    table = pd.DataFrame(
        {
            "best_rival": rivals.idxmax(axis=1),
            "rival_score": rivals.max(axis=1),
            reference: means[reference],
        }
    )
    table["lead"] = table["rival_score"] - table[reference]
    return table[table["lead"] > by].sort_values("lead", ascending=False).reset_index()


def split_by(
    records: pd.DataFrame,
    of_pairs: str,
    metric: str = "ari_test",
    methods: list[str] | None = None,
) -> dict[str, pd.DataFrame]:
    """Return the scores of the trials whose pairs have little and much of something.

    Parameters
    ----------
    records : DataFrame
        Records with one number of pairs for each data set.
    of_pairs : {"informativeness", "coherence"}
        What the trials of each data set are sorted by.
    metric, methods
        As for :func:`trial_scores`.

    Returns
    -------
    dict of str to DataFrame
        Scores of the "low" and of the "high" half; of an odd number of trials, the
        one in the middle is in neither.
    """
    scores = trial_scores(records, metric, methods)
    # The pairs belong to the trial; a job that was killed could not note them.
    of_trial = records.groupby(["dataset", "trial"])[of_pairs].max()
    values = of_trial.reindex(scores.index).dropna()
    place = values.groupby(level="dataset").rank(method="first")
    n_trials = values.groupby(level="dataset").transform("size")
    half = n_trials // 2
    return {
        "low": scores.loc[place.index[place <= half]],
        "high": scores.loc[place.index[place > n_trials - half]],
    }


def first_shares(
    records: pd.DataFrame, metric: str, methods: list[str] | None = None
) -> pd.DataFrame:
    """Return the share of data sets where each method is first, by number of pairs.

    A data set counts only for the numbers that it has records of. Ties count for all
    who tie.
    """
    shares = {}
    for number, same in records.groupby("n_constraints"):
        scores = trial_scores(same, metric, methods)
        if len(scores):
            shares[number] = (rank_methods(mean_scores(scores)) == 1).mean()
    return pd.DataFrame(shares).T.rename_axis(index="n_constraints", columns="method")


def wall_times(records: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each method, and how its jobs ended."""
    grouped = records.groupby("method", sort=False)
    table = grouped["seconds"].agg(
        jobs="size", total="sum", mean="mean", median="median", longest="max"
    )
    ends = pd.crosstab(records["method"], records["status"])
    others = [status for status in ends.columns if status != "ok"]
    table = table.assign(
        total_cpu=grouped["cpu_seconds"].sum(), peak_memory=grouped["peak_memory"].max()
    )
    return table.join(ends.reindex(columns=["ok", *others], fill_value=0)).reset_index()


def failures(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records without a result, with their errors."""
    failed = records[records["status"] != "ok"]
    columns = ["dataset", "n_samples", "method", "trial", "n_constraints", "status"]
    return failed[[*columns, "seconds", "error"]].reset_index(drop=True)


class Comparison(NamedTuple):
    """Two files of records side by side."""

    methods: pd.DataFrame  # index: method
    falls: pd.DataFrame  # data sets where the second is worst against the first


def compare_records(
    first: pd.DataFrame, second: pd.DataFrame, metric: str = "ari_test"
) -> Comparison:
    """Return how the jobs that two tables of records share differ.

    Failures score 0. Sets count as better or worse by their mean over trials.
    """
    both = first.merge(second, on=KEY, suffixes=("_a", "_b"))
    for side in ("a", "b"):
        is_ok = both[f"status_{side}"] == "ok"
        both[side] = both[f"{metric}_{side}"].where(is_ok, 0.0)
    both["failed_a"], both["failed_b"] = (both[f"status_{s}"] != "ok" for s in "ab")
    means = both.groupby(["method", "dataset", "n_constraints"])[["a", "b"]].mean()
    change = (means["b"] - means["a"]).round(_DIGITS)
    by_method = change.groupby(level="method")
    grouped = both.groupby("method")
    table = pd.DataFrame(
        {
            "jobs": grouped.size(),
            "mean_a": grouped["a"].mean(),
            "mean_b": grouped["b"].mean(),
            "better": by_method.apply(lambda values: int((values > 0).sum())),
            "worse": by_method.apply(lambda values: int((values < 0).sum())),
            "failed_a": grouped["failed_a"].sum(),
            "failed_b": grouped["failed_b"].sum(),
            "seconds_a": grouped["seconds_a"].sum(),
            "seconds_b": grouped["seconds_b"].sum(),
        }
    ).rename_axis("method")
    falls = means.assign(change=change)[change < 0].sort_values("change")
    return Comparison(table, falls.head(_FALLS).reset_index())
