"""Few pairs on digits, and many rows of many columns: scores and times.

``python benchmarks/few_and_wide.py digits`` compares KernelCSC with k-means on
scikit-learn's digits, ten draws of 20, 50 and 100 pairs. ``... wide ROWS`` makes 50
clusters in 384 columns of float32, draws 300 pairs, and fits with 300 candidates; the
time is that of one thread unless ``--n-jobs`` says otherwise. ``... banking`` does so
with the sentence embeddings of that set in the folder LINKWISE_TEXT.
"""

import argparse
import os
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC


def digits() -> None:
    """Print the mean ARI for each number of pairs."""
    X, y = load_digits(return_X_y=True)
    scaled = StandardScaler().fit_transform(X)
    plain = {
        name: adjusted_rand_score(
            y, KMeans(10, n_init=10, random_state=0).fit_predict(rows)
        )
        for name, rows in (("as they are", X), ("standardised", scaled))
    }
    print("k-means:", {name: round(ari, 3) for name, ari in plain.items()})
    for n_pairs in (20, 50, 100):
        found = []
        for seed in range(10):
            pairs = Constraints.sample(y, n_pairs, random_state=seed)
            model = KernelCSC(10, n_candidates=300, random_state=seed)
            labels = model.fit(X, constraints=pairs).labels_
            found.append(adjusted_rand_score(y, labels))
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        print(f"{n_pairs} pairs: {np.mean(found):.3f} (error {error:.3f})")


def timed(X: np.ndarray, y: np.ndarray, pairs: Constraints, n_jobs: int) -> None:
    """Print time, memory and ARI of one fit."""
    small = np.random.default_rng(0).normal(size=(60, 60))
    few = Constraints([(0, 1), (2, 3)], [(0, 2)])
    KernelCSC(9, n_candidates=5, random_state=0).fit(small, constraints=few)
    k = int(y.max()) + 1
    start = time.perf_counter()
    model = KernelCSC(k, n_candidates=300, n_jobs=n_jobs, random_state=0)
    model.fit(X, constraints=pairs)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ari = adjusted_rand_score(y, model.labels_)
    plain = KMeans(k, n_init=1, random_state=0).fit_predict(X)
    print(
        f"{X.shape[0]:,} rows, {seconds:.1f} s, peak {peak:.2f} GiB, "
        f"{model.approximation_}, ARI {ari:.3f}; k-means, one start, "
        f"{adjusted_rand_score(y, plain):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["digits", "wide", "banking"])
    parser.add_argument("rows", nargs="?", type=int, default=3000)
    parser.add_argument("--n-jobs", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "digits":
        digits()
    elif args.what == "wide":
        rng = np.random.default_rng(0)
        y = rng.integers(50, size=args.rows)
        X = rng.normal(size=(50, 384))[y] + 2.5 * rng.normal(size=(args.rows, 384))
        X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
        timed(X, y, Constraints.sample(y, 300, random_state=0), args.n_jobs)
    else:
        folder = Path(os.environ["LINKWISE_TEXT"])
        y = pd.read_csv(folder / "banking.csv.gz")["label"].to_numpy()
        y = np.unique(y, return_inverse=True)[1]
        X = np.load(folder / "banking.minilm.npy").astype(np.float32)
        timed(X, y, Constraints.sample(y, 1000, random_state=0), args.n_jobs)


if __name__ == "__main__":
    main()
