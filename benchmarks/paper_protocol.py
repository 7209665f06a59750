"""Test ARI of KernelCSC, its siblings and its rivals with the paper's protocol.

Run with ``python benchmarks/paper_protocol.py``; LINKWISE_PMLB names the data folder.
Each trial draws a quarter of each class as training rows and a tenth of their pairs,
the same for every method; all rows are clustered; ARI counts test rows only. Rows are
appended to the records file as they are done, and those already there are not run
again, so the script can be stopped and resumed. Rivals work on standardised data. A
method that fails scores 0, and its error is printed.
"""

import argparse
import csv
import time
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from _pmlb import load, paper_trial
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC, MahalanobisCSC, SingleKernelCSC
from linkwise.baselines import (
    LCVQE,
    ConstrainedKMeans,
    COPKMeans,
    HMRFKMeans,
    MetricLCVQE,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    SSKKMeans,
)

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
    "error",
]


def models(k: int, n_candidates: int, seed: int) -> dict[str, object]:
    common = {"n_clusters": k, "random_state": seed}
    rivals = {
        "COPKMeans": COPKMeans(**common),
        "SeededKMeans": SeededKMeans(**common),
        "ConstrainedKMeans": ConstrainedKMeans(**common),
        "PCKMeans": PCKMeans(**common),
        "MPCKMeans": MPCKMeans(**common),
        "HMRFKMeans": HMRFKMeans(**common),
        "LCVQE": LCVQE(**common),
        "SSKKMeans": SSKKMeans(**common),
        "ITML+LCVQE": MetricLCVQE(**common, metric="itml"),
        "MMC+LCVQE": MetricLCVQE(**common, metric="mmc"),
    }
    return {
        "KernelCSC": KernelCSC(
            **common, kernels="paper", selection="train", n_candidates=n_candidates
        ),
        "SingleKernelCSC": SingleKernelCSC(**common),
        "MahalanobisCSC": MahalanobisCSC(**common, n_candidates=n_candidates),
        "k-means": KMeans(k, n_init=10, max_iter=300, tol=1e-4, random_state=seed),
        **{
            name: Standardized(StandardScaler(), model)
            for name, model in rivals.items()
        },
    }


class Standardized(NamedTuple):
    """A model that is given standardised data."""

    scaler: StandardScaler
    model: object

    def fit_predict(self, X: np.ndarray, constraints: Constraints) -> np.ndarray:
        """Standardise the rows of X and cluster them."""
        scaled = self.scaler.fit_transform(X)
        return self.model.fit_predict(scaled, constraints=constraints)


def run(name: str, trial: int, n_candidates: int, done: set, write) -> None:
    X, y = load(name)
    pairs, test = paper_trial(y, trial)
    for method, model in models(len(np.unique(y)), n_candidates, trial).items():
        if (name, method, trial, n_candidates) in done:
            continue
        tic = time.perf_counter()
        error = ""
        try:
            if method == "k-means":
                labels = model.fit_predict(StandardScaler().fit_transform(X))
            else:
                labels = model.fit_predict(X, constraints=pairs)
            scores = {
                "ari_test": adjusted_rand_score(y[test], labels[test]),
                "ari_all": adjusted_rand_score(y, labels),
                "constraint_score": pairs.score(labels),
            }
        except Exception as failure:
            scores = {"ari_test": 0.0, "ari_all": 0.0, "constraint_score": np.nan}
            error = " ".join(f"{type(failure).__name__}: {failure}".split())[:200]
            print(f"{name}, {method}, trial {trial}: {error}", flush=True)
        write(
            {
                "dataset": name,
                "method": method,
                "trial": trial,
                "candidates": n_candidates,
                **scores,
                "seconds": time.perf_counter() - tic,
                "date": date.today(),
                "error": error,
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
    means = table.pivot_table("ari_test", "method", "dataset")[args.sets]
    means["mean"] = means.mean(axis=1)
    print("test ARI, mean over trials")
    print(means.sort_values("mean", ascending=False).round(3).to_string())
    seconds = table.pivot_table("seconds", "method", "dataset")[args.sets]
    print("\nseconds, mean over trials\n" + seconds.round(2).to_string())


if __name__ == "__main__":
    main()
