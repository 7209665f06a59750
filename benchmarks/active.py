"""Asking for pairs: test ARI against the number of answers, by strategy.

``python benchmarks/active.py run RECORDS.csv [--strategy ...] [--wrong ...]`` adds what
is missing to the records, one line for each number of answers; it can be stopped and
started again. ``python benchmarks/active.py report RECORDS.csv`` prints the tables.
Half of the rows may be asked about, ARI is taken on the others. Needs LINKWISE_PMLB.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder, load
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import KernelCSC
from linkwise.active import STRATEGIES, Session, Truth, run
from linkwise.baselines import COBRAS, MPCKMeans

BUDGETS = (10, 25, 50, 100, 120, 200)
COLUMNS = ["dataset", "trial", "strategy", "wrong", "unsure", "k", "answers"]
COLUMNS += ["ari", "trust", "change", "enough", "groups", "conflicts", "seconds"]
RIVALS = ("COBRAS", "NPU + MPCK")
SELECTION = {"NPU + MPCK": "npu", "COBRAS": "random"}
# Settings are chosen on the sets in odd places of the list.
MAX_ROWS = 1_000


def names() -> list[str]:
    """Return the sets of at most MAX_ROWS rows, from the folder."""
    found = []
    for path in sorted(folder().glob("*/*.tsv.gz")):
        name = path.parent.name
        if path.stat().st_size < 400_000 and len(load(name)[1]) <= MAX_ROWS:
            found.append(name)
    return found


def one(name: str, trial: int, args: argparse.Namespace, strategy: str, wrong: float):
    """Yield the records of one session."""
    X, y = load(name)
    k = len(np.unique(y))
    rng = np.random.default_rng([trial, len(y)])
    askable = np.sort(rng.permutation(len(y))[: len(y) // 2])
    test = np.setdiff1d(np.arange(len(y)), askable)
    clusters = "auto" if args.auto else k
    model = KernelCSC(clusters, n_candidates=args.candidates, random_state=trial)
    if strategy == "NPU + MPCK":
        model = MPCKMeans(k, random_state=trial)
        X = StandardScaler().fit_transform(X)
    session = Session(
        X,
        model,
        askable=askable,
        strategy=SELECTION.get(strategy, strategy),
        checks=strategy not in ("random", *RIVALS),
        random_state=trial,
    )
    oracle = Truth(y, wrong, args.unsure, trial)
    if strategy == "COBRAS":
        yield from cobras(name, trial, wrong, args, X, y, askable, test)
        return
    told, tic = 0, time.perf_counter()
    for budget in BUDGETS:
        run(session, oracle, budget - told, fit_every=25)
        told = budget
        status = session.status()
        labels = session.labels_
        yield {
            "dataset": name,
            "trial": trial,
            "strategy": strategy,
            "wrong": wrong,
            "unsure": args.unsure,
            "k": "auto" if args.auto else "known",
            "answers": budget,
            "ari": round(adjusted_rand_score(y[test], labels[test]), 5),
            "trust": round(status.trust, 4),
            "change": round(status.change, 4),
            "enough": status.enough,
            "groups": f"{status.n_groups}/{k}",
            "conflicts": status.n_conflicts,
            "seconds": round(time.perf_counter() - tic, 2),
        }


def cobras(name, trial, wrong, args, X, y, askable, test):
    """Yield the records of COBRAS, which has no session."""
    X = StandardScaler().fit_transform(X)
    for budget in BUDGETS:
        tic = time.perf_counter()
        oracle = Truth(y, wrong, args.unsure, trial)
        model = COBRAS(oracle, budget=budget, askable=askable, random_state=trial)
        labels = model.fit(X).labels_
        yield {
            "dataset": name,
            "trial": trial,
            "strategy": "COBRAS",
            "wrong": wrong,
            "unsure": args.unsure,
            "k": "known",
            "answers": budget,
            "ari": round(adjusted_rand_score(y[test], labels[test]), 5),
            "enough": False,
            "seconds": round(time.perf_counter() - tic, 2),
        }


def run_all(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    done = set()
    if args.records.exists():
        table = pd.read_csv(args.records)
        done = {tuple(key) for key in table[COLUMNS[:6]].itertuples(index=False)}
    is_new = not args.records.exists()
    with args.records.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        chosen = names()[args.half :: 2] if args.half is not None else names()
        for trial in range(args.trials):
            for name in chosen[: args.sets]:
                for strategy in args.strategy:
                    for wrong in args.wrong:
                        clusters = "auto" if args.auto else "known"
                        key = (name, trial, strategy, wrong, args.unsure, clusters)
                        if key in done:
                            continue
                        try:
                            found = list(one(name, trial, args, strategy, wrong))
                        except ValueError as error:  # such as fewer rows than clusters
                            print(name, strategy, error)
                            continue
                        writer.writerows(found)
                        file.flush()


def report(args: argparse.Namespace) -> None:
    table = pd.read_csv(args.records)
    places = {name: place for place, name in enumerate(names())}
    part = table["dataset"].map(places) % 2
    n_sets, n_trials = table["dataset"].nunique(), table["trial"].nunique()
    print(f"{n_sets} sets, {n_trials} trials")
    keys = ["k", "unsure", "wrong", "strategy"]
    for name, own in [
        ("sets in odd places", table[part == 0]),
        ("sets in even places", table[part == 1]),
        ("all sets", table),
    ]:
        print(f"\nMean test ARI, {name}")
        print(own.pivot_table("ari", keys, "answers").round(3).to_string())
    if args.out is not None:
        means = table.pivot_table("ari", keys, "answers").round(3)
        means.columns = [f"{answers}_answers" for answers in means.columns]
        means.insert(0, "sets", table.groupby(keys)["dataset"].nunique())
        means.reset_index().to_csv(args.out, index=False)
    by_set = table.groupby([*keys, "answers", "dataset"])["ari"].mean()
    error = by_set.groupby(level=list(range(5))).sem().unstack("answers").round(3)
    print("\nStandard errors over sets")
    print(error.to_string())
    told = table[table["trust"].notna()]
    if len(told):
        ranks = told[["trust", "ari"]].rank().corr().iloc[0, 1]
        print(f"\nrank correlation of trust and ARI: {ranks:.3f} ({len(told)} records)")
    runs = ["dataset", "trial", "strategy", "wrong", "unsure", "k"]
    wide = table.pivot_table("ari", runs, "answers")
    said = table.pivot_table("enough", runs, "answers")[100] > 0.5
    gains = (wide[200] - wide[100])[said]
    print(f"enough after 100 answers: {said.mean():.2f} of the runs;", end=" ")
    print(f"of them {(gains > 0.03).mean():.3f} gain more than .03 by 100 more")
    found = table[(table["k"] == "auto") & (table["answers"] == 100)]
    if len(found):
        counts = found["groups"].str.split("/", expand=True).astype(int)
        few = counts[1] <= 8
        right = (counts[0] == counts[1])[few].mean()
        print(f"right number of at most 8 classes after 100 answers: {right:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("records", type=Path)
    parser.add_argument("--out", type=Path, help="file for the means of a report")
    parser.add_argument("--strategy", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--wrong", nargs="+", type=float, default=[0.0])
    parser.add_argument("--unsure", type=float, default=0.0)
    parser.add_argument("--auto", action="store_true", help="k is not known")
    parser.add_argument("--candidates", type=int, default=150)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--sets", type=int, help="number of sets")
    parser.add_argument("--half", type=int, choices=[0, 1])
    args = parser.parse_args()
    run_all(args) if args.what == "run" else report(args)


if __name__ == "__main__":
    main()
