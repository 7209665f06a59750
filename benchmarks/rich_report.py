"""The rich bank against the paper's: tables from the records of ``linkwise bench``.

Run ``linkwise bench run rich`` and ``linkwise bench run views`` first, then ``python
benchmarks/rich_report.py rich.sqlite --views views.sqlite``; LINKWISE_PMLB names the
data folder. Views and settings were chosen on one half of the data sets there, drawn
with a seed below, and on those of at most 1,000 rows only; all means are given for both
halves, so that the gain can be seen where nothing was chosen. ``--ceiling FILE`` adds,
and keeps in that file, the test ARI of a random forest that is trained on the true
classes of the training rows.
"""

import argparse
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder
from scipy.stats import wilcoxon
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import adjusted_rand_score

from linkwise.experiments import draw_trial, load_dataset

SEED_OF_HALVES = 0
RICH, PAPER = "KernelCSC rich", "KernelCSC"


def halves(names: list[str]) -> dict[str, str]:
    """Return for each data set whether settings were chosen on it."""
    order = np.random.default_rng(SEED_OF_HALVES).permutation(len(names))
    chosen_on = {names[i] for i in order[: len(names) // 2]}
    return {name: "chosen on" if name in chosen_on else "others" for name in names}


def records(path: str) -> pd.DataFrame:
    """Return the records of a store; a failed job has an ARI of 0."""
    with sqlite3.connect(path) as connection:
        table = pd.read_sql("select * from records", connection)
    table["ari_test"] = table["ari_test"].where(table["status"] == "ok", 0.0)
    return table


def regimes(table: pd.DataFrame, numbers: list[int]) -> pd.Series:
    """Return the regime of each record: a number of pairs, or "paper"."""
    is_number = table["n_constraints"].isin(numbers)
    return table["n_constraints"].astype(str).where(is_number, "paper")


def ceiling(names: list[str], n_trials: int, path: Path) -> pd.DataFrame:
    """Return the test ARI of supervised forests; what is missing is computed."""
    columns = ["dataset", "trial", "ari_test"]
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)
    done = set(zip(known["dataset"], known["trial"], strict=True))
    rows = []
    for name in names:
        missing = [t for t in range(n_trials) if (name, t) not in done]
        if not missing:
            continue
        data = load_dataset(name)
        for number in missing:
            trial = draw_trial(data.y, name, number)
            forest = RandomForestClassifier(random_state=number)
            forest.fit(data.X[trial.train], data.y[trial.train])
            found = forest.predict(data.X[trial.test])
            ari = adjusted_rand_score(data.y[trial.test], found)
            rows.append((name, number, round(ari, 6)))
    if rows:
        known = pd.concat([known, pd.DataFrame(rows, columns=columns)])
        known.to_csv(path, index=False)
    return known


def by_regime(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the records of each regime, the paper's number of pairs last."""
    parts = {str(regime): some for regime, some in table.groupby("regime")}
    return sorted(parts.items(), key=lambda item: (not item[0].isdigit(), len(item[0])))


def shared(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each data set that all methods were run on, mean ARI."""
    return table.pivot_table("ari_test", "dataset", "method").dropna()


def means(table: pd.DataFrame, part: dict[str, str]) -> pd.DataFrame:
    """Return the mean test ARI of each method, by regime and half of the sets."""
    rows = {}
    for regime, some in by_regime(table):
        ari = shared(some)
        half = ari.index.map(part)
        for name in ("chosen on", "others", "all"):
            chosen = ari if name == "all" else ari[half == name]
            rows[regime, name] = {"sets": len(chosen), **chosen.mean().round(4)}
    found = pd.DataFrame.from_dict(rows, orient="index")
    return found.astype({"sets": int}).rename_axis(["pairs", "half"])


def gains(table: pd.DataFrame, part: dict[str, str]) -> pd.DataFrame:
    """Return how much the rich bank gains, by regime and half of the sets.

    The last regime is the mean of the others.
    """
    rows = {}
    for regime, some in [*by_regime(table), ("mean", table)]:
        ari = shared(some)
        gain = ari[RICH] - ari[PAPER]
        half = ari.index.map(part)
        for name in ("chosen on", "others", "all"):
            own = gain if name == "all" else gain[half == name]
            rows[regime, name] = {
                "sets": len(own),
                "mean_gain": round(own.mean(), 4),
                "median_gain": round(own.median(), 4),
                "better": round(np.mean(own > 0), 4),
                "worse": round(np.mean(own < 0), 4),
                "p_value": float(f"{wilcoxon(own).pvalue:.2g}"),
            }
    found = pd.DataFrame.from_dict(rows, orient="index")
    return found.astype({"sets": int}).rename_axis(["pairs", "half"])


def losses(table: pd.DataFrame, part: dict[str, str]) -> pd.DataFrame:
    """Return the sets that lose more than 0.05, those that lose most first."""
    rows = []
    for regime, some in by_regime(table):
        ari = shared(some)
        gain = (ari[RICH] - ari[PAPER]).sort_values()
        for name in gain.index[gain < -0.05]:
            before, after = ari.loc[name, PAPER], ari.loc[name, RICH]
            rows.append((regime, name, part[name], before, after, gain[name]))
    columns = ["pairs", "data_set", "half", "paper", "rich", "gain"]
    return pd.DataFrame(rows, columns=columns).round(4).set_index("pairs")


def show(title: str, table: pd.DataFrame, path: Path | None) -> None:
    """Print a table, and write it to a file if there is to be one."""
    print(f"\n{title}\n{table.to_string()}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        table = table.reset_index().rename(columns=lambda name: name.replace(" ", "_"))
        table.to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", help="records of the plan rich")
    parser.add_argument("--views", help="records of the plan views")
    parser.add_argument("--methods", nargs="*", help="only these of the plan views")
    parser.add_argument("--ceiling", type=Path, help="CSV of supervised forests")
    parser.add_argument("--out", type=Path, help="folder for the tables, as CSV")
    args = parser.parse_args()

    def file(name: str) -> Path | None:
        return None if args.out is None else args.out / name

    part = halves(sorted(pd.read_csv(folder() / "MANIFEST.csv")["name"]))
    if args.store:
        table = records(args.store)
        table = table[table["method"].isin([RICH, PAPER, "k-means"])]
        table["regime"] = regimes(table, [50, 200])
        every = [table]
        if args.ceiling is not None:
            n_trials = int(table["trial"].max()) + 1
            best = ceiling(sorted(set(table["dataset"])), n_trials, args.ceiling)
            best = best.assign(method="supervised forest")
            every += [best.assign(regime=name) for name in table["regime"].unique()]
        every = pd.concat(every)
        show("Mean test ARI", means(every, part), file("rich-means.csv"))
        show("Rich - paper", gains(table, part), file("rich-gains.csv"))
        show("Losses", losses(table, part), file("rich-losses.csv"))
    if args.views:
        views = records(args.views)
        if args.methods:
            views = views[views["method"].isin(args.methods)]
        views["regime"] = regimes(views, [100])
        found = means(views, part).T  # a line for each method
        found.columns = [f"{pairs} pairs, {half}" for pairs, half in found.columns]
        show("Each view", found.rename_axis("method"), file("views-means.csv"))


if __name__ == "__main__":
    main()
