"""What a fit of the rivals of the related work costs: 1,000 rows, 20 columns, a thread.

``python benchmarks/related_cost.py`` measures each in a process of its own, after a fit
of a fifth of the rows, so that all is imported and compiled. It writes seconds of wall
and processor time and the peak of resident memory, before and in the fit, to
``benchmarks/records/related_cost.csv``. Five overlapping clusters, 1,000 pairs.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path

METHODS = {
    "NPK": ("NPK", {}),
    "NPK squared hinge": ("NPK", {"loss": "squared_hinge"}),
    "KCL": ("PairNetwork", {"loss": "kcl"}),
    "MCL": ("PairNetwork", {"loss": "mcl"}),
    "SKMS": ("SKMS", {}),
    "Adaptive-SSK": ("AdaptiveSSKKMeans", {}),
    "CPAC": ("CPAC", {}),
    "CCL": ("ConstrainedCompleteLink", {}),
    "RCA+LCVQE": ("MetricLCVQE", {"metric": "rca"}),
}
COLUMNS = [
    "method",
    "rows",
    "columns",
    "pairs",
    "seconds",
    "cpu_seconds",
    "ari",
    "before_gib",
    "peak_gib",
    "date",
]


def problem(n_rows: int, n_columns: int, n_pairs: int):
    """Return rows, their classes and pairs."""
    import numpy as np

    from linkwise import Constraints

    rng = np.random.default_rng(0)
    y = rng.integers(5, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(5, n_columns))[y]
    return X, y, Constraints.sample(y, n_pairs, random_state=0)


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(name: str, n_rows: int, n_columns: int, n_pairs: int) -> None:
    """Fit one rival and print what it took."""
    from sklearn.metrics import adjusted_rand_score

    from linkwise import baselines

    kind, options = METHODS[name]
    model = getattr(baselines, kind)(5, **options)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    warnings.simplefilter("ignore")
    X, _, pairs = problem(n_rows // 5, n_columns, n_pairs // 5)
    model.fit(X, constraints=pairs)
    X, y, pairs = problem(n_rows, n_columns, n_pairs)
    before = peak_gib()
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(X, constraints=pairs)
    row = {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "ari": adjusted_rand_score(y, model.labels_),
        "before_gib": before,
        "peak_gib": peak_gib(),
    }
    print(json.dumps({key: round(value, 3) for key, value in row.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "records/related_cost.csv"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = args.rows, args.columns, args.pairs
    if args.one:
        measure(args.one, *sizes)
        return
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    rows = []
    for name in args.methods:
        command = [sys.executable, __file__, "--one", name]
        for option, size in zip(("--rows", "--columns", "--pairs"), sizes, strict=True):
            command += [option, str(size)]
        run = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **single}
        )
        assert run.returncode == 0, run.stderr
        found = json.loads(run.stdout.splitlines()[-1])
        known = dict(zip(("rows", "columns", "pairs"), sizes, strict=True))
        rows.append({"method": name, **known, **found, "date": date.today()})
        print(rows[-1], flush=True)
    with args.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
