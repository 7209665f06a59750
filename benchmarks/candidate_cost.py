"""What one candidate of KernelCSC costs, next to a floor and to plain numpy.

Run with ``python benchmarks/candidate_cost.py``; LINKWISE_PMLB names the data folder.
Everything runs on one thread, warm, in one process. Times are medians over candidates
of five kernels each, in milliseconds. "floor" is one pass over the five float32 Gram
matrices of a candidate; "numpy" is ``K = sum(b * G)``, then ``K @ onehot`` and an
assignment in every iteration, from the same start to the same end.
"""

import argparse
import json
import time
from datetime import date

import numpy as np
from _pmlb import load, paper_trial
from threadpoolctl import threadpool_limits

from linkwise import KernelBank
from linkwise.clustering import farthest_first, kmeans
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
    grams: list[np.ndarray], b: np.ndarray, start: np.ndarray, k: int, n_iter: int
) -> np.ndarray:
    gram = sum(weight * matrix for weight, matrix in zip(b, grams, strict=True))
    labels = start
    for _ in range(n_iter):
        onehot = np.zeros((len(start), k), dtype=np.float32)
        onehot[np.arange(len(start)), labels] = 1.0
        sums = gram @ onehot
        mass = onehot.sum(axis=0)
        inner = (onehot * sums).sum(axis=0)
        labels = (inner / mass**2 - 2.0 * sums / mass).argmin(axis=1)
    return labels


def measure(name: str, n_candidates: int) -> dict[str, float]:
    X, y = load(name)
    k = len(np.unique(y))
    pairs, _ = paper_trial(y, trial=0)
    closure = pairs.closure(len(y))
    bank = KernelBank.build(X).with_groups(closure.linked, closure.n_linked)
    memory = bank.empty()
    grams = []
    for one_hot in np.eye(bank.n_weights):
        grams.append(bank.combine(one_hot).gram)
    parts: dict[str, list[float]] = {
        key: []
        for key in ("combine", "start", "kmeans", "reward", "total", "floor", "numpy")
    }
    iterations, agree = [], []
    weights = candidates(np.random.default_rng(0), bank.n_weights, n_candidates)
    evaluate = Evaluator(bank, closure, k)
    for row in weights[:3]:
        evaluate(row)  # compiles, and allocates its matrix
    for row in weights:
        chosen = np.flatnonzero(row)
        t = [time.perf_counter()]
        space = bank.combine(row, out=memory)
        t.append(time.perf_counter())
        start = farthest_first(space, closure, k)
        t.append(time.perf_counter())
        result = kmeans(space, start, k)
        t.append(time.perf_counter())
        closure.score(result.labels)
        t.append(time.perf_counter())
        for key, seconds in zip(parts, np.diff(t), strict=False):
            parts[key].append(seconds)
        evaluate(np.roll(row, 1))  # other kernels, so the next ones are not cached
        used = [grams[i] for i in chosen]
        tic = time.perf_counter()
        for gram in used:
            gram.sum()
        parts["floor"].append(time.perf_counter() - tic)
        tic = time.perf_counter()
        expected = numpy_kmeans(
            used, row[chosen].astype(np.float32), start, k, result.n_iter
        )
        parts["numpy"].append(time.perf_counter() - tic)
        tic = time.perf_counter()
        evaluate(row)
        parts["total"].append(time.perf_counter() - tic)
        iterations.append(result.n_iter)
        agree.append(float((expected == result.labels).mean()))
    row = {key: 1e3 * float(np.median(values)) for key, values in parts.items()}
    return {
        "n": len(y),
        "k": k,
        "kernels": bank.n_weights,
        **row,
        "numpy/total": row["numpy"] / row["total"],
        "total/floor": row["total"] / row["floor"],
        "iterations": float(np.mean(iterations)),
        "labels as numpy": float(np.mean(agree)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--json", help="write the rows to this file")
    args = parser.parse_args()
    rows = {}
    with threadpool_limits(1):
        for name in args.sets:
            rows[name] = measure(name, args.candidates)
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
