"""The number of clusters where it is not known: KernelCSC, silhouette, gap statistic.

``python benchmarks/unknown_k.py run`` adds what is missing to ``records/unknown_k.csv``
for the paper's sets of at most 1,000 rows, and ``blobs`` to
``records/unknown_k_blobs.csv`` for overlapping Gaussian classes; ``report`` prints how
often each finds the number of classes. "most_pairs" is the number under which some
candidate of a small search satisfies the most pairs, which KernelCSC took before.
Silhouette and gap are of k-means on standardised columns, 2 to 10 clusters. Settings of
``KernelCSC("auto")`` were chosen on one half of the sets and on the working seeds.
LINKWISE_PMLB names the data.
"""

import argparse
import csv
import warnings
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder
from rich_report import halves
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC
from linkwise.estimators._n_clusters import numbers_to_try
from linkwise.experiments import derive_seed, draw_trial, load_dataset
from linkwise.experiments._datasets import expand_names
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs

RECORDS = Path(__file__).parent / "records" / "unknown_k.csv"
COLUMNS = ["dataset", "pairs", "classes", "auto", "most_pairs", "silhouette", "gap"]
NUMBERS = range(2, 11)
N_REFERENCES = 10
N_CANDIDATES = 150
BLOBS = RECORDS.with_name("unknown_k_blobs.csv")
BLOBS_COLUMNS = ["seed", "kind", "pairs", "classes", "ari", "auto", "most_pairs"]
SEEDS = {
    "working": range(12),
    "shown": range(100, 112),
    "further": range(112, 148),
}
KINDS = ("95 % cannot-links", "at random")


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


def by_auto(rows: np.ndarray, pairs: Constraints, seed: int) -> int:
    """Return the number that KernelCSC chooses."""
    model = KernelCSC("auto", n_candidates=N_CANDIDATES, random_state=seed)
    return int(model.fit(rows, constraints=pairs).n_clusters_)


def by_most_pairs(rows: np.ndarray, pairs: Constraints, seed: int) -> int:
    """Return the number under which some candidate satisfies the most pairs."""
    numbers = numbers_to_try("auto", pairs, len(rows))
    few = max(30, N_CANDIDATES // 5)
    scores = [
        KernelCSC(k, n_candidates=few, on_conflict="drop", random_state=seed)
        .fit(rows, constraints=pairs)
        .history_["score"]
        .max()
        for k in numbers
    ]
    return numbers[int(np.nanargmax(scores))]


def overlapping(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return rows of 3 to 6 Gaussian classes, the classes, and the ARI of k-means.

    That is .6 to .9, with the true number of clusters.
    """
    rng = np.random.default_rng([28, seed])
    k, n_columns = 3 + seed % 4, int(rng.integers(2, 7))
    y = np.arange(100 * k) % k
    while True:
        centres = rng.uniform(0.0, rng.uniform(3.0, 10.0), (k, n_columns))
        rows = centres[y] + rng.normal(size=(len(y), n_columns))
        found = KMeans(k, n_init=10, random_state=0).fit_predict(rows)
        ari = float(adjusted_rand_score(y, found))
        if 0.6 <= ari <= 0.9:
            return rows, y, ari


def draw_pairs(y: np.ndarray, n_pairs: int, kind: str, seed: int) -> Constraints:
    """Return true pairs: at random, or 5 % must-links and 95 % cannot-links."""
    if kind == "at random":
        return Constraints.sample(y, n_pairs, random_state=seed)
    every = Constraints.sample(y, n_possible_pairs(len(y)), random_state=seed)
    rng = np.random.default_rng([29, seed])
    n_must = round(0.05 * n_pairs)
    return Constraints(
        rng.permutation(every.must_link)[:n_must],
        rng.permutation(every.cannot_link)[: n_pairs - n_must],
    )


def run_blobs() -> None:
    """Add the records of overlapping blobs that are missing."""
    table = pd.DataFrame(columns=BLOBS_COLUMNS)
    if BLOBS.exists():
        table = pd.read_csv(BLOBS)
    for seed in chain(*SEEDS.values()):
        if seed in set(table["seed"]):
            continue
        X, y, ari = overlapping(seed)
        rows = []
        for kind, n_pairs in product(KINDS, (100, 300)):
            pairs = draw_pairs(y, n_pairs, kind, seed)
            found = [by(X, pairs, seed) for by in (by_auto, by_most_pairs)]
            classes = int(y.max()) + 1
            rows.append([seed, kind, n_pairs, classes, round(ari, 4), *found])
        new = pd.DataFrame(rows, columns=BLOBS_COLUMNS)
        table = new if table.empty else pd.concat([table, new])
        table.to_csv(BLOBS, index=False)


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
                pairs = trial.constraints(n_pairs)
                seed = derive_seed(name, 0, "KernelCSC")
                found = [by(data.X, pairs, seed) for by in (by_auto, by_most_pairs)]
                classes = int(data.y.max()) + 1
                writer.writerow([name, regime, classes, *found, *plain])
                file.flush()


def report(out: Path | None) -> None:
    """Print how often each finds the number, and write it to a folder."""
    for name, table in (("unknown-k", of_sets()), ("unknown-k-blobs", of_blobs())):
        print(table.to_string())
        if out is not None:
            table.to_csv(out / f"{name}.csv", index=False)


def of_sets() -> pd.DataFrame:
    """Return the shares of sets on which each finds the number of classes.

    The gain is that of "auto" over "most_pairs", with its standard error.
    """
    table = pd.read_csv(RECORDS)
    part = halves(sorted(pd.read_csv(folder() / "MANIFEST.csv")["name"]))
    table["half"] = table["dataset"].map(part)
    table["pairs"] = table["pairs"].astype(str)
    methods = COLUMNS[3:]
    rows = []
    for regime in ("50", "200", "paper"):
        for half in ("chosen on", "others", "all"):
            own = table[table["pairs"] == regime]
            own = own if half == "all" else own[own["half"] == half]
            off = own[methods].sub(own["classes"], axis=0).abs()
            for what, is_so in (("right", off == 0), ("off by one at most", off <= 1)):
                gain = is_so["auto"].astype(float) - is_so["most_pairs"]
                error = gain.std() / np.sqrt(len(gain))
                found = [*is_so.mean(), gain.mean(), error]
                rows.append([regime, half, len(own), what, *np.round(found, 4)])
    columns = ["pairs", "half", "sets", "what", "KernelCSC_auto", *methods[1:]]
    return pd.DataFrame(rows, columns=[*columns, "gain", "standard_error"])


def of_blobs() -> pd.DataFrame:
    """Return on how many seeds the number of overlapping blobs is found."""
    table = pd.read_csv(BLOBS)
    rows = []
    for half, seeds in SEEDS.items():
        for (kind, n_pairs), own in table.groupby(["kind", "pairs"]):
            own = own[own["seed"].isin(seeds)]
            off = own[["auto", "most_pairs"]].sub(own["classes"], axis=0).abs()
            n_right, mean = (off == 0).sum(), off.mean().round(2)
            rows.append([half, kind, n_pairs, len(own)])
            for method in off:
                error = off[method].std() / np.sqrt(len(off))
                rows[-1] += [n_right[method], mean[method], round(error, 2)]
    columns = ["seeds", "kind", "pairs", "of"]
    for name in ("KernelCSC_auto", "most_pairs"):
        columns += [f"{name}_right", f"{name}_off_by", f"{name}_error"]
    found = pd.DataFrame(rows, columns=columns)
    return found[found["of"] > 0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "blobs", "report"])
    parser.add_argument("--out", type=Path, help="folder for the tables")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "report":
        report(args.out)
    else:
        run() if args.what == "run" else run_blobs()
