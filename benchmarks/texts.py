"""Short texts: KernelCSC against k-means, PCKMeans and SeededKMeans.

``LINKWISE_TEXT`` names a folder with ``NAME.csv.gz`` (columns text, label),
``NAME.minilm.npy`` (sentence embeddings) and ``NAME.sif.npy`` (means of word vectors).
``python benchmarks/texts.py run`` adds what is missing to ``records/texts.csv``,
``report`` prints means, sets below k-means, and how far two seeds of the search agree.
Pairs are drawn among a quarter of the rows of each class, ARI is that of the other
rows; k-means and its relatives get the rows as they are, and k-means also with
standardised columns. On such rows two runs of k-means, each the best of ten starts,
differ much: beside one seed, the same in all cells, there is the mean of eight.

``placed`` asks what placing rows by mixtures gains: 1,000 rows, four forms (wordllama's
vectors beside the others), KernelCSC with and without its last step, records in
``records/texts-placed.csv``; ``placed-report`` prints them. Numbers of the rule were
chosen on stackoverflow and tweets.
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
PLACED_FORMS = ("wordllama", "minilm", "sif", "tfidf")
PLACED_PAIRS = (("half must-links", 200), ("random", 200), ("random", 50))
PLACED_ROWS = 1000
PLACED_CANDIDATES = 100
CHOSEN_ON = ("stackoverflow", "tweets")
NUMBERS = (50, 200, 1000)
KINDS = ("random", "half must-links")
MAX_ROWS = 1500
N_CANDIDATES = 300
RECORDS = Path(__file__).parent / "records" / "texts.csv"
PLACED = RECORDS.with_name("texts-placed.csv")
KEY = ["form", "set", "kind", "pairs", "trial", "method"]


def rows_of(name: str, form: str, max_rows: int = MAX_ROWS) -> tuple[Any, np.ndarray]:
    """Return rows and classes of a set in one form."""
    folder = Path(os.environ["LINKWISE_TEXT"])
    table = pd.read_csv(folder / f"{name}.csv.gz")
    rng = np.random.default_rng(derive_seed(name, "rows"))
    few = np.sort(rng.choice(len(table), min(max_rows, len(table)), replace=False))
    y = np.unique(table["label"].to_numpy()[few], return_inverse=True)[1]
    if form in ("minilm", "sif"):
        return np.load(folder / f"{name}.{form}.npy")[few].astype(np.float32), y
    texts = table["text"].fillna("").iloc[few]
    if form == "wordllama":
        return wordllama_vectors(texts.tolist()), y
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    X = words.fit_transform(texts)
    if form == "lsa":
        X = normalize(TruncatedSVD(100, random_state=0).fit_transform(X))
    return X, y


def wordllama_vectors(texts: list[str]) -> np.ndarray:
    """Return vectors of length 1 by the weights that wordllama brings along."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return np.asarray(model.embed(texts, norm=True), dtype=np.float32)


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


def run_placed(n_trials: int) -> None:
    """Add the records of placing that are missing."""
    done = set()
    if PLACED.exists():
        known = pd.read_csv(PLACED)
        done = set(map(tuple, known[KEY[:-1]].astype(str).to_numpy()))
    with PLACED.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow([*KEY, "ari", "seconds"])
        for trial in range(n_trials):
            for form in PLACED_FORMS:
                for name in SETS:
                    cells = [
                        (form, name, kind, n_pairs, trial)
                        for kind, n_pairs in PLACED_PAIRS
                    ]
                    for cell in cells:
                        if tuple(map(str, cell)) not in done:
                            writer.writerows(placed_records(cell))
                            file.flush()


def placed_records(cell: tuple[str, str, str, int, int]) -> list[list[Any]]:
    """Return the records of one cell: k-means, and KernelCSC without and with it."""
    form, name, kind, n_pairs, trial = cell
    X, y, plain = placed_problem(name, form)
    seed = derive_seed(name, trial, kind, n_pairs)
    pairs, test = draw_pairs(y, n_pairs, kind, seed)
    scores = [adjusted_rand_score(y[test], labels[test]) for labels in plain]
    found = [[*cell, SEEDS, round(np.mean(scores), 4), 0.0]]
    for method, step in (("KernelCSC, not placed", None), ("KernelCSC", "auto")):
        model = KernelCSC(
            int(y.max()) + 1,
            n_candidates=PLACED_CANDIDATES,
            final_step=step,
            random_state=trial,
        )
        start = time.perf_counter()
        labels = model.fit(X, constraints=pairs).labels_
        seconds = time.perf_counter() - start
        ari = adjusted_rand_score(y[test], labels[test])
        found.append([*cell, method, round(ari, 4), round(seconds, 2)])
    return found


@cache
def placed_problem(name: str, form: str) -> tuple[Any, np.ndarray, list[np.ndarray]]:
    """Return rows, classes, and clusters of k-means with eight seeds."""
    X, y = rows_of(name, form, PLACED_ROWS)
    k = int(y.max()) + 1
    plain = [
        KMeans(k, n_init=10, random_state=seed).fit_predict(X)
        for seed in range(N_SEEDS)
    ]
    return X, y, plain


def report_placed(out: Path | None) -> None:
    """Print means by form and set, and sets below k-means; write means to a folder."""
    table = pd.read_csv(PLACED)
    of = ["form", "kind", "pairs"]
    if out is not None:
        parts = [("all four", table), ("not chosen on", others_of(table))]
        means = [
            part.pivot_table("ari", of, "method").assign(sets=name).reset_index()
            for name, part in parts
        ]
        columns = ["sets", *of, "KernelCSC", "KernelCSC, not placed", SEEDS]
        found = pd.concat(means)[columns].round(4)
        found.to_csv(out / "texts-placed.csv", index=False)
    print(table.pivot_table("ari", of, "method").round(3).to_string())
    shown = others_of(table)
    print("\nSets on which nothing was chosen")
    print(shown.pivot_table("ari", of, "method").round(3).to_string())
    by_set = table.pivot_table("ari", [*of, "set"], "method")
    print(f"\n{by_set.round(3).to_string()}")
    below = by_set["KernelCSC"] - by_set[SEEDS]
    print(f"\nSets below k-means by more than .02: {int((below < -0.02).sum())}")
    print(below[below < -0.02].round(3).to_string())
    print(
        f"\nSeconds\n{table.groupby('method')['seconds'].mean().round(2).to_string()}"
    )


def others_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the records of sets on which nothing was chosen."""
    return table[~table["set"].isin(CHOSEN_ON)]


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
    parser.add_argument("what", choices=["run", "report", "placed", "placed-report"])
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for the table of means")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "run":
        run(args.trials)
    elif args.what == "report":
        report(args.out)
    elif args.what == "placed":
        run_placed(args.trials)
    else:
        report_placed(args.out)
