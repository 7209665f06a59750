"""What questions are worth: test ARI against the number of answers, by method.

``python benchmarks/active.py active.sqlite [--out docs/experiments]`` reads the records
of plan ``active`` of ``linkwise bench`` and prints means with standard errors over
sets, for tables and texts, what wrong answers cost, and what the stop signal is worth.
With ``--out`` it writes tables and a figure. Settings were chosen on some of
the tables (TRIED); a set counts where a method has all numbers of it.
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from linkwise.active import _status
from linkwise.experiments import read_records

NUMBERS = [10, 25, 50, 100, 120, 200]
FIRST, REFERENCE = "neighbourhoods", "random pairs"
STRATEGIES = ["members", "committee", "nearest", "npu", "random"]
RIVALS = ["COBRAS", "NPU + MPCK"]
WRONG = {"5 % wrong": 0.05, "15 % wrong": 0.15}
VARIANTS = [*WRONG, "10 % unsure", "unknown k"]
METHODS = [FIRST, REFERENCE, *RIVALS, *STRATEGIES, *VARIANTS]
RUN = ["dataset", "trial", "method"]
# Tables on which settings were chosen.
TRIED = """
analcatdata_boxing1 analcatdata_creditscore analcatdata_lawsuit backache biomed
breast_cancer bupa cars clean1 cleveland cloud collins corral dermatology ecoli
glass2 hayes_roth heart_h hepatitis house_votes_84 ionosphere irish liver_disorder
lymphography mux6 prnn_fglass saheart solar_flare_1 spectf vote
""".split()


def records(store: str) -> pd.DataFrame:
    """Return the records of whole runs, with what the sessions say of themselves."""
    table = read_records(store)
    table = table[table["status"] == "ok"]
    whole = table.groupby(RUN)["n_constraints"].transform("nunique")
    table = table[whole == len(NUMBERS)].reset_index(drop=True)
    notes = pd.DataFrame([json.loads(text or "{}") for text in table["notes"]])
    table = table.join(notes)
    # By the rules of today: they change nothing in what is asked.
    table["quality"] = _status.quality_of(table["trust"], table["change"])
    is_enough = (table["quality"] >= _status._QUALITY) & (
        table["change"] <= _status._CHANGE
    )
    table["enough"] = is_enough.astype(float)
    is_text = table["dataset"].str.startswith("text:")
    table["half"] = np.where(table["dataset"].isin(TRIED), "tried", "others")
    table["half"] = table["half"].mask(is_text, "texts")
    return table


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over sets, and its standard error, by method and number."""
    by_set = table.groupby(["method", "n_constraints", "dataset"])["ari_test"].mean()
    found = by_set.groupby(level=[0, 1]).agg(["mean", "sem", "size"])
    return found.reindex(METHODS, level=0)


def shown(table: pd.DataFrame) -> str:
    found = means(table)
    cells = found["mean"].map("{:.3f}".format) + found["sem"].map(" ({:.3f})".format)
    wide = cells.unstack("n_constraints").reindex(METHODS).dropna(how="all")
    wide.insert(0, "sets", found["size"].groupby(level=0).max())
    return wide.to_string()


def common(table: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Return the runs of sets and trials that all of some methods have."""
    own = table[table["method"].isin(methods)]
    n_methods = own.groupby(["dataset", "trial"])["method"].transform("nunique")
    return own[n_methods == len(methods)]


def losses(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each variant loses against the same sessions without it.

    ``at_best`` is what wrong answers cost at the least if each is worth as many right
    ones as it carries information, by the curve of perfect answers.
    """
    rows = []
    for variant in VARIANTS:
        own = common(table, [FIRST, variant])
        if own.empty:
            continue
        wide = own.pivot_table("ari_test", ["dataset", "n_constraints"], "method")
        lost = (wide[FIRST] - wide[variant]).groupby("n_constraints")
        found = pd.DataFrame({"loss": lost.mean(), "error": lost.sem()})
        found["at_best"] = np.nan
        if variant in WRONG:
            curve = wide[FIRST].groupby("n_constraints").mean()
            worth = curve.index * (1.0 - entropy([WRONG[variant], 1 - WRONG[variant]]))
            found["at_best"] = curve - np.interp(worth, curve.index, curve)
        conflicts = own.loc[own["method"] == variant, "n_conflicts"].max()
        found = found.assign(sets=own["dataset"].nunique(), open_conflicts=conflicts)
        rows.append(found.assign(variant=variant).reset_index(names="answers"))
    return pd.concat(rows).set_index("variant") if rows else pd.DataFrame()


def entropy(chances: list[float]) -> float:
    """Return the entropy of some chances in bits."""
    return -sum(p * np.log2(p) for p in chances)


def against_reference(table: pd.DataFrame) -> None:
    """Print what 50 questions are worth against 120 random pairs."""
    own = common(table, [FIRST, REFERENCE])
    wide = own.pivot_table("ari_test", "dataset", ["method", "n_constraints"])
    gain = wide[FIRST, 50] - wide[REFERENCE, 120]
    half = np.where(gain.index.isin(TRIED), "tried", "others")
    # With two classes an answer about any pair is one bit: 50 are less than 120.
    k = own.groupby("dataset")["n_clusters"].first()[gain.index]
    classes = np.where(k == 2, "two classes", "three classes or more")
    print("\n50 answers less 120 random pairs (error), where both are there")
    parts = [("all", gain), *gain.groupby(half), *gain.groupby(classes)]
    for name, part in parts:
        print(f"{name}: {part.mean():+.3f} ({part.sem():.3f}) of {len(part)}")


def stop_signal(table: pd.DataFrame) -> None:
    """Print what the stop signal tells, over all runs that have one."""
    asks_on_its_own = table["method"].isin([FIRST, *VARIANTS])
    told = table[table["quality"].notna() & asks_on_its_own]
    for half in ("tried", "others", "texts"):
        own = told[told["half"] == half]
        if len(own) > 2:
            ranks = own[["quality", "ari_test"]].rank().corr().iloc[0, 1]
            print(f"rank correlation with ARI, {half}: {ranks:.3f} of {len(own)}")
    if len(told) > 2:
        ranks = told[["quality", "ari_test"]].rank().corr().iloc[0, 1]
        print(f"rank correlation with ARI, all: {ranks:.3f} of {len(told)}")
    wide = told.pivot_table("ari_test", [*RUN, "half"], "n_constraints")
    said = told.pivot_table("enough", [*RUN, "half"], "n_constraints")[100] > 0.5
    gains = (wide[200] - wide[100])[said]
    print(f"enough is said after 100 answers in {said.mean():.3f} of {len(said)} runs")
    halves = gains.groupby(level="half")
    for half, part in [("all", gains), *halves]:
        share = (part > 0.03).mean()
        print(f"  {half}: {share:.3f} of {len(part)} gain more than .03 by 100 more")


def right_numbers(table: pd.DataFrame) -> None:
    own = table[(table["method"] == "unknown k") & (table["n_constraints"] == 100)]
    own = own[own["n_clusters"] <= 8]
    if len(own):
        share = (own["n_groups"] == own["n_clusters"]).mean()
        print(f"unknown k, at most 8 classes, right after 100: {share:.3f}", len(own))


def texts_against(table: pd.DataFrame) -> None:
    """Print what asking about the clusters of texts is worth against the others."""
    own = table[table["half"] == "texts"]
    for rival in (FIRST, REFERENCE):
        both = common(own, ["members", rival])
        if both.empty:
            continue
        wide = both.pivot_table("ari_test", ["dataset", "n_constraints"], "method")
        gain = (wide["members"] - wide[rival]).unstack("n_constraints")
        print(f"\nTexts: members less {rival}\n{gain.round(3).to_string()}")
        print(f"mean: {gain.mean().round(3).to_dict()}")


def groups_of_texts(table: pd.DataFrame) -> None:
    """Print how many groups are known to differ after 200 answers, by set of texts."""
    own = table[(table["half"] == "texts") & (table["method"] == FIRST)]
    own = own[own["n_constraints"] == 200].groupby("dataset")
    for name, part in own:
        k, found = part["n_clusters"].iloc[0], part["n_groups"].mean()
        print(f"{name}: {found:.1f} of {k} groups are found by 200 answers")


def run_widely(table: pd.DataFrame) -> pd.DataFrame:
    """Return the records of methods that have been run on half of the sets or more."""
    n_sets = table.groupby("method")["dataset"].nunique()
    return table[table["method"].map(n_sets) * 2 >= n_sets.max()]


def figure(table: pd.DataFrame, path: Path) -> None:
    """Draw ARI against the number of answers: methods, and wrong answers."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    parts = [[FIRST, REFERENCE, *RIVALS], [FIRST, *VARIANTS[:3]]]
    for ax, methods in zip(axes, parts, strict=True):
        there = [name for name in methods if (table["method"] == name).any()]
        own = common(table[table["half"] != "texts"], there)
        found = means(own)
        for name in there:
            line = found.loc[name]
            label = "perfect answers" if ax is axes[1] and name == FIRST else name
            style = {"marker": "o", "capsize": 2, "label": label}
            ax.errorbar(line.index, line["mean"], line["sem"], **style)
        n_sets = own["dataset"].nunique()
        ax.set_xlabel(f"answers ({n_sets} tables)")
        ax.set_ylim(0.0, None)
        ax.grid(alpha=0.3)
        ax.legend(loc="lower right")
    axes[0].set_ylabel("mean ARI of rows that were not asked about")
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--out", type=Path, help="folder for the means and a figure")
    args = parser.parse_args()
    table = records(args.store)
    print(f"{table['dataset'].nunique()} sets, trials {table['trial'].nunique()}")
    for half in ("tried", "others", "texts"):
        own = table[table["half"] == half]
        if len(own):
            print(f"\nMean test ARI (error), {half}\n{shown(own)}")
    tables = table[table["half"] != "texts"]
    print(f"\nMean test ARI (error), all tables\n{shown(tables)}")
    print("\nMean test ARI (error), tables and trials that all have")
    print(shown(common(tables, [FIRST, REFERENCE, *RIVALS])))
    against_reference(tables)
    lost = losses(tables).round(4)
    print(f"\nLoss against perfect answers\n{lost.to_string()}\n")
    stop_signal(table)
    right_numbers(table)
    texts_against(table)
    groups_of_texts(table)
    if args.out is not None:
        parts = []
        halves = {"tables": ["tried", "others"], "tried": ["tried"]}
        halves |= {"others": ["others"], "texts": ["texts"]}
        for kind, own in halves.items():
            part = run_widely(table[table["half"].isin(own)])
            if part.empty:
                continue
            found = means(part)
            wide = found["mean"].unstack("n_constraints").reindex(METHODS).dropna()
            wide.columns = [f"{number}_answers" for number in wide.columns]
            wide.insert(0, "sets", found["size"].groupby(level=0).max())
            # Those that all sets have; some may have more.
            trials = part.groupby(["method", "dataset"])["trial"].nunique()
            wide.insert(1, "trials", trials.groupby(level=0).min().reindex(wide.index))
            errors = found["sem"].groupby(level=0).max()
            parts.append(wide.assign(largest_error=errors, data=kind))
        pd.concat(parts).round(4).to_csv(args.out / "active.csv")
        lost.to_csv(args.out / "active-losses.csv")
        figure(run_widely(table), args.out / "active.png")


if __name__ == "__main__":
    main()
