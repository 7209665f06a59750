"""Test ARI of KernelCSC and its siblings with the paper's protocol, on PMLB sets.

Run with ``python benchmarks/paper_protocol.py``; LINKWISE_PMLB names the data folder.
Each trial draws a quarter of each class as training rows and a tenth of their pairs,
the same for every method; all rows are clustered; ARI counts test rows only. Rows are
appended to the records file as they are done, and those already there are not run
again, so the script can be stopped and resumed.
"""

import argparse
import csv
import time
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import load, paper_trial
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import KernelCSC, MahalanobisCSC, SingleKernelCSC

SETS = ["iris", "wine_recognition", "breast_cancer_wisconsin", "vehicle", "vowel"]
COLUMNS = [
    "dataset",
    "method",
    "trial",
    "candidates",
    "ari_test",
    "ari_all",
    "constraint_score",
    "seconds",
    "date",
]


def models(k: int, n_candidates: int, seed: int) -> dict[str, object]:
    common = {"n_clusters": k, "random_state": seed}
    return {
        "KernelCSC": KernelCSC(**common, n_candidates=n_candidates),
        "SingleKernelCSC": SingleKernelCSC(**common),
        "MahalanobisCSC": MahalanobisCSC(**common, n_candidates=n_candidates),
        "k-means": KMeans(k, n_init=10, max_iter=300, tol=1e-4, random_state=seed),
    }


def run(name: str, trial: int, n_candidates: int, done: set, write) -> None:
    X, y = load(name)
    pairs, test = paper_trial(y, trial)
    for method, model in models(len(np.unique(y)), n_candidates, trial).items():
        if (name, method, trial, n_candidates) in done:
            continue
        tic = time.perf_counter()
        if method == "k-means":
            labels = model.fit_predict(StandardScaler().fit_transform(X))
        else:
            labels = model.fit(X, constraints=pairs).labels_
        write(
            {
                "dataset": name,
                "method": method,
                "trial": trial,
                "candidates": n_candidates,
                "ari_test": adjusted_rand_score(y[test], labels[test]),
                "ari_all": adjusted_rand_score(y, labels),
                "constraint_score": pairs.score(labels),
                "seconds": time.perf_counter() - tic,
                "date": date.today(),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--records", default="benchmarks/records/paper_protocol.csv")
    args = parser.parse_args()
    path = Path(args.records)
    path.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if path.exists():
        old = pd.read_csv(path)
        done = set(zip(old.dataset, old.method, old.trial, old.candidates, strict=True))
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not done:
            writer.writeheader()

        def write(row: dict) -> None:
            writer.writerow(row)
            file.flush()

        for name in args.sets:
            for trial in range(args.trials):
                run(name, trial, args.candidates, done, write)
    table = pd.read_csv(path)
    table = table[table.candidates == args.candidates]
    means = table.pivot_table("ari_test", "dataset", "method").reindex(args.sets)
    means.loc["mean"] = means.mean()
    print(means.round(3).to_string())
    seconds = table.pivot_table("seconds", "dataset", "method").reindex(args.sets)
    print("\nseconds\n" + seconds.round(2).to_string())


if __name__ == "__main__":
    main()
