"""A million rows: fit and predict here and in an earlier checkout, in one run.

``python benchmarks/million.py EARLIER`` takes the folder of another checkout. The data
are ten Gaussian clusters of standard deviation 1 in 20 columns, float32; the centres
are normal with standard deviation 1.25, so that k-means from one start puts two of them
together. KernelCSC gets 1,000,000 of these rows, 1,000 pairs and 200 candidates on two
threads, then predicts 200,000 others. Every run has a process of its own, with the code
of either folder in turns; compiled code is loaded before the clock starts. Printed are
wall and processor seconds (the least of the runs), their ratios, the peak of memory and
the ARI of both, next to one run of k-means.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
N_CLUSTERS, N_COLUMNS, N_PAIRS, N_CANDIDATES = 10, 20, 1000, 200
N_NEW = 200_000
SPREAD, SEED = 1.25, 8


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their clusters."""
    rng = np.random.default_rng(SEED)
    centres = SPREAD * rng.standard_normal((N_CLUSTERS, N_COLUMNS), dtype=np.float32)
    y = rng.integers(N_CLUSTERS, size=n)
    return centres[y] + rng.standard_normal((n, N_COLUMNS), dtype=np.float32), y


def timed(call, *arguments, **options):
    """Return wall and processor seconds of a call, and its result."""
    wall, own = time.perf_counter(), time.process_time()
    result = call(*arguments, **options)
    return [time.perf_counter() - wall, time.process_time() - own], result


def run_one(n_rows: int, n_jobs: int) -> None:
    """Fit, predict and print what it took; in a process of its own."""
    from sklearn.metrics import adjusted_rand_score

    from linkwise import Constraints, KernelCSC

    warnings.simplefilter("ignore")
    X, y = draw(n_rows + N_NEW)
    X, new, y, new_y = X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:]
    few = Constraints.sample(y[:3000], 50, random_state=0)
    warm = KernelCSC(2, n_candidates=3, approximation="working_set", n_jobs=n_jobs)
    warm.set_params(working_rows=1000).fit(X[:3000], constraints=few)
    warm.predict(X[:3000])
    pairs = Constraints.sample(y, N_PAIRS, random_state=0)
    model = KernelCSC(N_CLUSTERS, n_candidates=N_CANDIDATES, n_jobs=n_jobs)
    model.set_params(random_state=0)
    fit, _ = timed(model.fit, X, constraints=pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    predict, labels = timed(model.predict, new)
    row = {
        "fit": fit,
        "predict": predict,
        "peak_gib": peak,
        "ari_fit": adjusted_rand_score(y, model.labels_),
        "ari_predict": adjusted_rand_score(new_y, labels),
        "kernels": [model.kernel_names_[i] for i in model.kernel_weights_.nonzero()[0]],
    }
    print(json.dumps(row))


def run(code: Path, n_rows: int, n_jobs: int) -> dict:
    """Return what a process with the code of a folder prints."""
    command = [sys.executable, __file__, "--one"]
    command += ["--rows", str(n_rows), "--jobs", str(n_jobs)]
    environment = {**os.environ, "PYTHONPATH": str(code / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def print_kmeans(n_rows: int) -> None:
    """Run k-means and print what it took."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    X, y = draw(n_rows + N_NEW)
    seconds, model = timed(KMeans(N_CLUSTERS, random_state=0).fit, X[:n_rows])
    ari = adjusted_rand_score(y[:n_rows], model.labels_)
    print(f"k-means: {seconds[0]:.1f} s (processor {seconds[1]:.1f}), ARI {ari:.3f}")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true")
    args = parser.parse_args()
    if args.one:
        run_one(args.rows, args.jobs)
        return
    print(f"{date.today()}, {args.rows:,} rows, {args.jobs} threads", flush=True)
    print_kmeans(args.rows)
    codes = {"here": ROOT}
    if args.earlier is not None:
        codes = {"before": args.earlier.resolve(), "here": ROOT}
    found = {name: [] for name in codes}
    for _ in range(args.runs):
        for name, code in codes.items():
            found[name].append(run(code, args.rows, args.jobs))
    best = {}
    for name, rows in found.items():
        last = rows[-1]
        best[name] = {
            f"{what}, {kind}": min(row[what][i] for row in rows)
            for what in ("fit", "predict")
            for i, kind in enumerate(("wall s", "processor s"))
        }
        best[name]["peak GiB"] = min(row["peak_gib"] for row in rows)
        print(
            f"{name}: ARI {last['ari_fit']:.4f}, of new rows {last['ari_predict']:.4f}"
        )
        print(f"  {', '.join(last['kernels'])}")
    for what, here in best["here"].items():
        line = f"{what}: {here:.2f} here"
        if "before" in best:
            before = best["before"][what]
            line += f", {before:.2f} before: {here / before:.3f}"
        print(line)


if __name__ == "__main__":
    main()
