"""The default with few and many pairs, against the commit before it changed.

``python benchmarks/few_report.py few.sqlite fixed.sqlite before20.sqlite``: the first
store has the plan ``few``, the others have "KernelCSC rich" as it was (with 50 and 200
pairs and the paper's number in the store of ``fixed``, with 20 pairs in the other).
Means over the trials of each data set; LINKWISE_PMLB names the data folder. Settings
were chosen on one half of the sets, those of at most 1,000 rows.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder
from rich_report import RICH, halves, records, regimes, show

NEW, PLAIN = "KernelCSC", "k-means"
# By how much a set is below k-means to be counted.
MARGIN = 0.02


def by_set(table: pd.DataFrame, method: str, n_trials: int) -> pd.Series:
    """Return the mean test ARI of a method by regime and set, all trials done."""
    own = table[table["method"] == method].drop_duplicates(
        ["dataset", "trial", "n_constraints"]
    )
    found = own.groupby(["regime", "dataset"])["ari_test"].agg(["mean", "count"])
    return found["mean"][found["count"] >= n_trials]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("few")
    parser.add_argument("before", nargs="+")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    new, old = records(args.few), pd.concat([records(path) for path in args.before])
    for table in (new, old):
        table["regime"] = regimes(table, [20, 50, 200])
    ari = pd.DataFrame(
        {
            "before": by_set(old, RICH, 3),
            "now": by_set(new, NEW, 3),
            "kmeans": by_set(pd.concat([new, old]), PLAIN, 3),
        }
    ).dropna()
    part = halves(sorted(pd.read_csv(folder() / "MANIFEST.csv")["name"]))
    ari["half"] = [part[name] for _, name in ari.index]
    rows = {}
    for regime in ("20", "50", "200", "paper"):
        every = ari.loc[regime] if regime in ari.index else ari.iloc[:0]
        for half in ("chosen on", "others", "all"):
            own = every if half == "all" else every[every["half"] == half]
            gain = own["now"] - own["before"]
            rows[regime, half] = {
                "sets": len(own),
                "before": own["before"].mean(),
                "now": own["now"].mean(),
                "kmeans": own["kmeans"].mean(),
                "gain": gain.mean(),
                "error": gain.std() / np.sqrt(max(len(own), 1)),
                "below_kmeans_before": (own["before"] < own["kmeans"] - MARGIN).sum(),
                "below_kmeans_now": (own["now"] < own["kmeans"] - MARGIN).sum(),
            }
    found = pd.DataFrame.from_dict(rows, orient="index").round(4)
    whole = ["sets", "below_kmeans_before", "below_kmeans_now"]
    found = found.astype(dict.fromkeys(whole, int)).rename_axis(["pairs", "half"])
    path = None if args.out is None else args.out / "few-gains.csv"
    show("Now and before", found, path)


if __name__ == "__main__":
    main()
