"""The number of clusters where it is not known: KernelCSC, silhouette, gap statistic.

``python benchmarks/unknown_k.py run`` adds what is missing to ``records/unknown_k.csv``
for the paper's sets of at most 1,000 rows, ``report`` prints the share of sets on which
each finds the number of classes, and is off by one at the most. Silhouette and gap are
of k-means on standardised columns, 2 to 10 clusters. LINKWISE_PMLB names the data.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder
from rich_report import halves
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler

from linkwise import KernelCSC
from linkwise.experiments import derive_seed, draw_trial, load_dataset
from linkwise.experiments._datasets import expand_names
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs

RECORDS = Path(__file__).parent / "records" / "unknown_k.csv"
COLUMNS = ["dataset", "pairs", "classes", "auto", "silhouette", "gap"]
NUMBERS = range(2, 11)
N_REFERENCES = 10


def by_silhouette(rows: np.ndarray) -> int:
    """Return the number of clusters with the largest mean silhouette."""
    scores = [
        silhouette_score(rows, KMeans(k, n_init=10, random_state=0).fit_predict(rows))
        for k in NUMBERS
    ]
    return NUMBERS[int(np.argmax(scores))]


def by_gap(rows: np.ndarray) -> int:
    """Return the number of clusters that the gap statistic chooses."""

    def log_scatter(data: np.ndarray, k: int, n_init: int) -> float:
        return float(
            np.log(KMeans(k, n_init=n_init, random_state=0).fit(data).inertia_ + 1e-12)
        )

    low, high = rows.min(axis=0), rows.max(axis=0)
    references = [
        np.random.default_rng(b).uniform(low, high, rows.shape)
        for b in range(N_REFERENCES)
    ]
    gaps, errors = [], []
    for k in [*NUMBERS, NUMBERS[-1] + 1]:
        expected = [log_scatter(data, k, 1) for data in references]
        gaps.append(np.mean(expected) - log_scatter(rows, k, 10))
        errors.append(np.std(expected) * np.sqrt(1.0 + 1.0 / N_REFERENCES))
    for place, k in enumerate(NUMBERS):
        if gaps[place] >= gaps[place + 1] - errors[place + 1]:
            return k
    return NUMBERS[-1]


def run() -> None:
    """Add the records that are missing."""
    done = set()
    if RECORDS.exists():
        known = pd.read_csv(RECORDS)
        done = set(zip(known["dataset"], known["pairs"].astype(str), strict=True))
    with RECORDS.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for name in expand_names(["paper<=1000"]):
            if all((name, regime) in done for regime in ("50", "200", "paper")):
                continue
            data = load_dataset(name)
            rows = StandardScaler().fit_transform(data.X)
            plain = [by_silhouette(rows), by_gap(rows)]
            trial = draw_trial(data.y, name, 0)
            n_train = len(trial.train)
            for regime in ("50", "200", "paper"):
                if (name, regime) in done:
                    continue
                n_pairs = n_paper_pairs(n_train) if regime == "paper" else int(regime)
                n_pairs = min(n_pairs, n_possible_pairs(n_train))
                model = KernelCSC(
                    "auto",
                    n_candidates=150,
                    random_state=derive_seed(name, 0, "KernelCSC"),
                )
                model.fit(data.X, constraints=trial.constraints(n_pairs))
                classes = int(data.y.max()) + 1
                writer.writerow([name, regime, classes, model.n_clusters_, *plain])
                file.flush()


def report(out: Path | None) -> None:
    """Print the shares of sets, and write them to a folder."""
    table = pd.read_csv(RECORDS)
    part = halves(sorted(pd.read_csv(folder() / "MANIFEST.csv")["name"]))
    table["half"] = table["dataset"].map(part)
    table["pairs"] = table["pairs"].astype(str)
    rows = []
    for regime in ("50", "200", "paper"):
        for half in ("chosen on", "others", "all"):
            own = table[table["pairs"] == regime]
            own = own if half == "all" else own[own["half"] == half]
            off = own[["auto", "silhouette", "gap"]].sub(own["classes"], axis=0).abs()
            for what, is_so in (("right", off == 0), ("off by one at most", off <= 1)):
                rows.append([regime, half, len(own), what, *is_so.mean().round(4)])
    columns = ["pairs", "half", "sets", "what", "KernelCSC_auto", "silhouette", "gap"]
    found = pd.DataFrame(rows, columns=columns)
    print(found.to_string())
    if out is not None:
        found.to_csv(out / "unknown-k.csv", index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--out", type=Path, help="folder for the table")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    run() if args.what == "run" else report(args.out)
