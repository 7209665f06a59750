"""The systems of the paper's related work against KernelCSC's default and all rivals.

``python benchmarks/related_report.py fixed.sqlite few.sqlite --out docs/experiments``:
the first store has the rivals with the paper's number of pairs, the second the default
of KernelCSC with the same trials and pairs (plan ``few``). That they are the same is
checked by what k-means, which is in both, has found. Only trials that all methods have
done count; a method that has done less than nine tenths of the sets is not ranked, and
compared with the default on its own sets. A failed job has an ARI of 0. Which half of
the sets the default was chosen on is known from the list of data sets, so LINKWISE_PMLB
is to be set.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder
from rich_report import halves, records, show

from linkwise.experiments import (
    against,
    failures,
    rivals_ahead,
    summary,
    trial_scores,
)

DEFAULT = "KernelCSC"
OLD = ["MMC+LCVQE", "ITML+LCVQE", "MPCK", "HMRF", "LCVQE", "COP", "SSK", "k-means"]
NEW = ["NPK", "KCL", "MCL", "SKMS", "CPAC", "Adaptive-SSK", "CCL", "RCA+LCVQE"]
KEYS = ["dataset", "trial", "n_constraints"]


def together(fixed: str, few: str) -> pd.DataFrame:
    """Return the rivals' records and those of the default, on the same pairs."""
    rivals, default = records(fixed), records(few)
    plain = [table[table["method"] == "k-means"] for table in (rivals, default)]
    both = plain[0].merge(plain[1], on=KEYS)
    same = both["ari_test_x"] == both["ari_test_y"]
    assert len(both) and same.all(), "the two stores have other trials or pairs"
    rivals = rivals[rivals["method"].isin([*OLD, *NEW])]
    # The paper's number of pairs is the one that the rivals were run with alone.
    numbers = rivals[rivals["method"] == "HMRF"][KEYS].drop_duplicates()
    default = default[default["method"] == DEFAULT]
    return pd.concat([rivals, default]).merge(numbers, on=KEYS)


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many sets each new rival has done whole, and the largest of them."""
    rows = []
    for method in NEW:
        own = table[table["method"] == method]
        whole = own.groupby("dataset").filter(lambda part: len(part) >= 3)
        rows.append(
            {
                "method": method,
                "sets": whole["dataset"].nunique(),
                "jobs": len(own),
                "failed": int((own["status"] != "ok").sum()),
                "largest_rows": int(own["n_samples"].max()) if len(own) else 0,
                "mean_cpu_seconds": own["cpu_seconds"].mean(),
                "longest_cpu_seconds": own["cpu_seconds"].max(),
                "largest_memory_gib": own["peak_memory"].max() / 2**30,
            }
        )
    return pd.DataFrame(rows).set_index("method").round(3)


def whole_sets(table: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Return the scores of the sets of which methods have done all trials."""
    scores = trial_scores(table, methods=methods)
    n_trials = scores.groupby(level="dataset").size()
    whole = n_trials.index[n_trials >= 3]
    return scores[scores.index.get_level_values("dataset").isin(whole)]


def places(table: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return how the default ranks among fewer rivals, on all sets and on these."""
    every = trial_scores(table, methods=[DEFAULT, *OLD])
    here = every[every.index.get_level_values("dataset").isin(scores.index.unique(0))]
    found = {
        ("eight old ones", "all"): every,
        ("eight old ones", "those of all ranked"): here,
        ("all ranked", "those of all ranked"): scores,
    }
    rows = {key: summary(part).loc[DEFAULT] for key, part in found.items()}
    ranked = pd.DataFrame.from_dict(rows, orient="index").round(4)
    return ranked.astype({"datasets": int}).rename_axis(["rivals", "sets"])


def against_by_half(scores: pd.DataFrame) -> pd.DataFrame:
    """Return how the default does against each rival, by half of the sets.

    Its settings were chosen on one half; on the others nothing was.
    """
    half = halves(sorted(pd.read_csv(folder() / "MANIFEST.csv")["name"]))
    half_of_row = scores.index.get_level_values("dataset").map(half)
    found = {}
    for name in ("chosen on", "others"):
        versus = against(scores[half_of_row == name], DEFAULT).set_index("rival")
        for column in ("better", "equal", "worse", "mean_gain", "p_value"):
            found[f"{column} {name}"] = versus[column]
    return pd.DataFrame(found).round(4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fixed")
    parser.add_argument("few")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    table = together(args.fixed, args.few)
    covered = coverage(table)
    is_ranked = covered["sets"] >= 0.9 * covered["sets"].max()
    ranked = [method for method in NEW if is_ranked[method]]
    scores = whole_sets(table, [DEFAULT, *ranked, *OLD])
    versus = [against(scores, DEFAULT)]
    for method in NEW:
        if method not in ranked:
            versus.append(against(whole_sets(table, [DEFAULT, method]), DEFAULT))
    ahead = rivals_ahead(scores[[DEFAULT, *ranked]], DEFAULT)
    sizes = table.drop_duplicates("dataset").set_index("dataset")["n_samples"]
    ahead.insert(1, "rows", ahead["dataset"].map(sizes).astype(int))
    best_old = scores[OLD].groupby(level="dataset").mean().max(axis=1)
    ahead["best_old_rival"] = ahead["dataset"].map(best_old)
    lost = failures(table[table["method"].isin(NEW)])
    lost = lost.assign(error=lost["error"].fillna("").str.slice(0, 60))
    lost = (
        lost.groupby(["dataset", "method", "status", "error"])
        .size()
        .rename("trials")
        .reset_index()
        .set_index("dataset")
    )
    parts = {
        "related-summary": summary(scores).round(4),
        "related-places": places(table, scores),
        "related-against": pd.concat(versus).set_index("rival").round(4),
        "related-halves": against_by_half(scores),
        "related-ahead": ahead.set_index("dataset").round(3),
        "related-coverage": covered,
        "related-left-out": lost,
    }
    for name, part in parts.items():
        show(name, part, None if args.out is None else args.out / f"{name}.csv")
    if args.out is not None:
        from linkwise.plots import rank_bars

        figure = rank_bars(scores, f"Ranks on {scores.index.unique(0).size} sets")
        figure.savefig(args.out / "ranks-related.png", dpi=150, bbox_inches="tight")
    first = np.mean(
        scores.groupby(level="dataset").mean().round(12).idxmax(axis=1) == DEFAULT
    )
    print(f"The default is first on {first:.1%} of {scores.index.unique(0).size} sets.")


if __name__ == "__main__":
    main()
