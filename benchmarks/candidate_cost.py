"""What one candidate of KernelCSC costs, next to a floor and to plain numpy.

Run with ``python benchmarks/candidate_cost.py``; LINKWISE_PMLB names the data folder.
Everything runs on one thread, warm, in one process: the same candidates of five kernels
each go through linkwise, through the floor and through numpy, one loop after another,
several rounds. Times are medians over candidates of the best round, in milliseconds.
"floor" is one pass over the five float32 Gram matrices of a candidate. "numpy" is
``K = sum(b * G)``, then ``K @ onehot`` and an assignment until no label changes, from
the same start; it has no start of its own and no reward. So "numpy/same work" compares
it with combine and k-means alone, "numpy/total" with the whole candidate.
"""

import argparse
import json
import time
from datetime import date

import numpy as np
from _pmlb import load, paper_trial
from threadpoolctl import threadpool_limits

from linkwise import KernelBank
from linkwise.clustering import KMeansResult, farthest_first, kmeans
from linkwise.search import Evaluator

SETS = [
    "iris",
    "breast_cancer_wisconsin",
    "vehicle",
    "vowel",
    "mfeat_zernike",
    "segmentation",
]


def candidates(rng: np.random.Generator, n_kernels: int, n: int) -> np.ndarray:
    weights = np.zeros((n, n_kernels))
    for row in weights:
        row[rng.choice(n_kernels, min(5, n_kernels), replace=False)] = rng.uniform(
            0.001, 1.0, min(5, n_kernels)
        )
    return weights


def numpy_kmeans(
    grams: list[np.ndarray], b: np.ndarray, start: np.ndarray, k: int
) -> np.ndarray:
    gram = sum(weight * matrix for weight, matrix in zip(b, grams, strict=True))
    labels = start
    for _ in range(300):
        onehot = np.zeros((len(start), k), dtype=np.float32)
        onehot[np.arange(len(start)), labels] = 1.0
        sums = gram @ onehot
        mass = onehot.sum(axis=0)
        inner = (onehot * sums).sum(axis=0)
        new_labels = (inner / mass**2 - 2.0 * sums / mass).argmin(axis=1)
        if np.array_equal(new_labels, labels):
            break
        labels = new_labels
    return labels


def timed(call, *arguments):
    tic = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - tic, result


def measure(name: str, n_candidates: int, n_rounds: int) -> dict[str, float]:
    X, y = load(name)
    k = len(np.unique(y))
    pairs, _ = paper_trial(y, trial=0)
    closure = pairs.closure(len(y))
    bank = KernelBank.build(X).with_groups(closure.linked, closure.n_linked)
    memory = bank.empty()
    grams = [bank.combine(one_hot).gram for one_hot in np.eye(bank.n_weights)]
    weights = candidates(np.random.default_rng(0), bank.n_weights, n_candidates)
    used = [[grams[i] for i in np.flatnonzero(row)] for row in weights]
    single = [row[row > 0].astype(np.float32) for row in weights]
    evaluate = Evaluator(bank, closure, k)
    evaluate(weights[0])  # compiles, and allocates its matrix
    starts = [farthest_first(bank.combine(row), closure, k) for row in weights]

    def parts(row: np.ndarray) -> tuple[list[float], KMeansResult]:
        combine, space = timed(bank.combine, row, memory)
        start, labels = timed(farthest_first, space, closure, k)
        cluster, result = timed(kmeans, space, labels, k)
        reward, _ = timed(closure.score, result.labels)
        return [combine, start, cluster, reward], result

    def floor(matrices: list[np.ndarray]) -> None:
        for gram in matrices:
            gram.sum()

    rounds = []
    for _ in range(n_rounds):
        split, results = zip(*(parts(row) for row in weights), strict=True)
        total = [timed(evaluate, row)[0] for row in weights]
        bottom = [timed(floor, matrices)[0] for matrices in used]
        plain, labels = zip(
            *(
                timed(numpy_kmeans, matrices, b, start, k)
                for matrices, b, start in zip(used, single, starts, strict=True)
            ),
            strict=True,
        )
        columns = np.column_stack([split, total, bottom, plain])
        rounds.append(1e3 * np.median(columns, axis=0))
    best = np.min(rounds, axis=0)
    keys = ["combine", "start", "kmeans", "reward", "total", "floor", "numpy"]
    row = dict(zip(keys, best.tolist(), strict=True))
    agree = [(a == r.labels).mean() for a, r in zip(labels, results, strict=True)]
    return {
        "n": len(y),
        "k": k,
        "kernels": bank.n_weights,
        **row,
        "numpy/total": row["numpy"] / row["total"],
        "numpy/same work": row["numpy"] / (row["combine"] + row["kmeans"]),
        "total/floor": row["total"] / row["floor"],
        "iterations": float(np.mean([r.n_iter for r in results])),
        "labels as numpy": float(np.mean(agree)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--json", help="write the rows to this file")
    args = parser.parse_args()
    rows = {}
    with threadpool_limits(1):
        for name in args.sets:
            rows[name] = measure(name, args.candidates, args.rounds)
            if len(rows) == 1:
                columns = list(rows[name])
                print(f"{date.today()}  " + "  ".join(columns))
            cells = "  ".join(f"{value:.4g}" for value in rows[name].values())
            print(f"{name:24s}{cells}", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"date": str(date.today()), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
