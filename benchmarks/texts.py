"""Short texts: KernelCSC against k-means, PCKMeans and SeededKMeans.

``LINKWISE_TEXT`` names a folder with ``NAME.csv.gz`` (columns text, label),
``NAME.minilm.npy`` (sentence embeddings) and ``NAME.sif.npy`` (means of word vectors).
``python benchmarks/texts.py run`` adds what is missing to ``records/texts.csv``,
``report`` prints means, sets below k-means, and how far two seeds of the search agree.
Pairs are drawn among a quarter of the rows of each class, ARI is that of the other
rows; k-means and its relatives get the rows as they are, and k-means also with
standardised columns. On such rows two runs of k-means, each the best of ten starts,
differ much: beside one seed, the same in all cells, there is the mean of eight.
"""

import argparse
import csv
import os
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler, normalize

from linkwise import Constraints, KernelCSC
from linkwise.baselines import PCKMeans, SeededKMeans
from linkwise.experiments import derive_seed

SETS = ("agnews", "stackoverflow", "banking", "tweets")
FORMS = ("minilm", "sif", "lsa", "tfidf")
NUMBERS = (50, 200, 1000)
KINDS = ("random", "half must-links")
MAX_ROWS = 1500
N_CANDIDATES = 300
RECORDS = Path(__file__).parent / "records" / "texts.csv"
KEY = ["form", "set", "kind", "pairs", "trial", "method"]


def rows_of(name: str, form: str) -> tuple[Any, np.ndarray]:
    """Return rows and classes of a set in one form."""
    folder = Path(os.environ["LINKWISE_TEXT"])
    table = pd.read_csv(folder / f"{name}.csv.gz")
    rng = np.random.default_rng(derive_seed(name, "rows"))
    few = np.sort(rng.choice(len(table), min(MAX_ROWS, len(table)), replace=False))
    y = np.unique(table["label"].to_numpy()[few], return_inverse=True)[1]
    if form in ("minilm", "sif"):
        return np.load(folder / f"{name}.{form}.npy")[few].astype(np.float32), y
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    X = words.fit_transform(table["text"].fillna("").iloc[few])
    if form == "lsa":
        X = normalize(TruncatedSVD(100, random_state=0).fit_transform(X))
    return X, y


def draw_pairs(
    y: np.ndarray, n_pairs: int, kind: str, seed: int
) -> tuple[Constraints, np.ndarray]:
    """Return pairs among a quarter of the rows of each class, and the other rows."""
    rng = np.random.default_rng(seed)
    classes = [np.flatnonzero(y == label) for label in np.unique(y)]
    train = [rng.permutation(rows)[: -(-len(rows) // 4)] for rows in classes]
    inside = np.sort(np.concatenate(train))
    test = np.setdiff1d(np.arange(len(y)), inside)
    if kind == "random":
        return Constraints.sample(y, n_pairs, random_state=seed, rows=inside), test
    first, second = np.triu_indices(len(inside), k=1)
    ends = inside[np.stack([first, second], axis=1)]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    parts = [
        some[rng.permutation(len(some))[: n_pairs // 2]]
        for some in (ends[same], ends[~same])
    ]
    return Constraints(*parts), test


@cache
def plain_kmeans(name: str, form: str, scaled: bool, seed: int = 0) -> np.ndarray:
    """Return clusters of k-means with ten starts."""
    X, y = rows_of(name, form)
    if scaled:
        dense = X.toarray() if form == "tfidf" else X
        X = StandardScaler().fit_transform(dense)
    return KMeans(int(y.max()) + 1, n_init=10, random_state=seed).fit_predict(X)


def labels_by(
    method: str, name: str, form: str, X: Any, k: int, pairs: Constraints, trial: int
) -> list[np.ndarray]:
    """Return the clusters that a method finds, with each of its seeds."""
    if method.startswith("k-means"):
        scaled = "standardised" in method
        seeds = range(N_SEEDS if method == SEEDS else 1)
        return [plain_kmeans(name, form, scaled, seed) for seed in seeds]
    if method in ("PCKMeans", "SeededKMeans"):
        kind = PCKMeans if method == "PCKMeans" else SeededKMeans
        dense = X.toarray() if form == "tfidf" else X  # many times faster
        return [kind(k, random_state=trial).fit_predict(dense, constraints=pairs)]
    seed = trial + (100 if "other seed" in method else 0)
    model = KernelCSC(k, n_candidates=N_CANDIDATES, random_state=seed)
    return [model.fit(X, constraints=pairs).labels_]


N_SEEDS = 8
SEEDS = f"k-means, {N_SEEDS} seeds"
METHODS = (
    "KernelCSC",
    "k-means",
    SEEDS,
    "k-means standardised",
    "PCKMeans",
    "SeededKMeans",
)


def run(n_trials: int) -> None:
    """Add the records that are missing."""
    done = set()
    if RECORDS.exists():
        known = pd.read_csv(RECORDS)
        done = set(map(tuple, known[KEY].astype(str).to_numpy()))
    with RECORDS.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow([*KEY, "ari", "seconds"])
        for trial in range(n_trials):
            for form in FORMS:
                for name in SETS:
                    X, y = rows_of(name, form)
                    for kind in KINDS:
                        for n_pairs in NUMBERS:
                            seed = derive_seed(name, trial, kind, n_pairs)
                            pairs, test = draw_pairs(y, n_pairs, kind, seed)
                            for method in METHODS:
                                key = (form, name, kind, n_pairs, trial, method)
                                if tuple(map(str, key)) in done:
                                    continue
                                start = time.perf_counter()
                                found = labels_by(
                                    method,
                                    name,
                                    form,
                                    X,
                                    int(y.max()) + 1,
                                    pairs,
                                    trial,
                                )
                                seconds = time.perf_counter() - start
                                ari = np.mean(
                                    [
                                        adjusted_rand_score(y[test], labels[test])
                                        for labels in found
                                    ]
                                )
                                writer.writerow(
                                    [*key, round(ari, 4), round(seconds, 2)]
                                )
                                file.flush()


def two_seeds() -> float:
    """Return the agreement of two seeds of the search on stackoverflow."""
    X, y = rows_of("stackoverflow", "minilm")
    pairs, _ = draw_pairs(y, 200, "half must-links", derive_seed("seeds"))
    one, two = (
        labels_by(m, "stackoverflow", "minilm", X, int(y.max()) + 1, pairs, 0)[0]
        for m in ("KernelCSC", "KernelCSC, other seed")
    )
    return float(adjusted_rand_score(one, two))


def report(out: Path | None) -> None:
    """Print what the records show, and write the means to a folder."""
    table = pd.read_csv(RECORDS)
    means = table.pivot_table("ari", ["form", "kind", "pairs"], "method").round(4)
    print(means.to_string())
    if out is not None:
        means = means.reset_index()[["form", "kind", "pairs", *METHODS]]
        means.to_csv(out / "texts-means.csv", index=False)
    by_set = table.pivot_table("ari", ["form", "kind", "pairs", "set"], "method")
    for plain in ("k-means", SEEDS):
        below = by_set["KernelCSC"] - by_set[plain]
        print(f"\nSets below {plain} by more than .05")
        print(below[below < -0.05].round(3).to_string())
    print(f"\nTwo seeds on stackoverflow agree with an ARI of {two_seeds():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for the table of means")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    run(args.trials) if args.what == "run" else report(args.out)
