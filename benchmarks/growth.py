"""Time and memory as rows grow from 10 thousand to 10 million.

Run with ``python benchmarks/growth.py``. The data are ten overlapping Gaussian clusters
in 20 columns, 1,000 pairs, 200 candidates; ``--max-memory`` goes to KernelCSC. From a
million rows on they are in a mapped .npy file. Every size has a process of its own.
Memory is the peak of what the process itself holds (anonymous pages), read from /proc
while it works, and beside it the peak with the pages of the mapped file, which the
system may drop at any time. Rows are appended to the records file as they are done, and
those already there are not run again.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

SIZES = [10**4, 10**5, 10**6, 10**7]
N_COLUMNS, N_CLUSTERS, N_PAIRS, N_CANDIDATES = 20, 10, 1000, 200
MAPPED_FROM = 10**6
COLUMNS = [
    "rows",
    "approximation",
    "seconds",
    "candidates",
    "seconds_search",
    "microseconds_per_row",
    "passes",
    "peak_gib",
    "peak_gib_with_file",
    "max_memory",
    "score",
    "ari",
    "predict_seconds",
    "date",
]


def draw(n: int, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their clusters; many rows in a mapped file."""
    rng = np.random.default_rng(n)
    centres = 0.7 * rng.standard_normal((N_CLUSTERS, N_COLUMNS))
    shape = (n, N_COLUMNS)
    if n >= MAPPED_FROM:
        X = np.lib.format.open_memmap(path, "w+", np.float64, shape)
    else:
        X = np.empty(shape)
    y = np.empty(n, dtype=np.intp)
    for first in range(0, n, 10**5):
        block = slice(first, min(first + 10**5, n))
        y[block] = rng.integers(N_CLUSTERS, size=block.stop - first)
        noise = rng.standard_normal((block.stop - first, N_COLUMNS))
        X[block] = centres[y[block]] + noise
    if n >= MAPPED_FROM:
        X.flush()
        X = np.load(path, mmap_mode="r")
    return X, y


class Watch(threading.Thread):
    """Reads the memory of this process again and again."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.whole = 0.0
        self._end = threading.Event()

    def run(self) -> None:
        """Keep the largest values."""
        while not self._end.wait(0.02):
            values = {}
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name.startswith("Rss") or name == "VmRSS":
                    values[name] = int(value.split()[0]) / 2**20
            self.own = max(self.own, values["RssAnon"])
            self.whole = max(self.whole, values["VmRSS"])

    def stop(self) -> None:
        """End the thread."""
        self._end.set()
        self.join()


def run_one(n: int, max_memory: str, n_jobs: int) -> None:
    from sklearn.metrics import adjusted_rand_score

    from linkwise import Constraints, KernelCSC

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        X, y = draw(n, Path(folder) / "rows.npy")
        pairs = Constraints.sample(y, N_PAIRS, random_state=0)
        model = KernelCSC(
            N_CLUSTERS,
            kernels="paper",
            selection="train",
            n_candidates=N_CANDIDATES,
            patience=None,
            search="random",
            max_memory=max_memory,
            n_jobs=n_jobs,
            random_state=0,
        )
        # Compiled code is loaded before the clock starts.
        few = KernelCSC(2, n_candidates=3, approximation="working_set")
        few.set_params(working_rows=1000, n_jobs=n_jobs)
        some = Constraints.sample(y[:3000], 50, random_state=0)
        few.fit(np.array(X[:3000]), constraints=some)
        watch = Watch()
        watch.start()
        tic = time.perf_counter()
        model.fit(X, constraints=pairs)
        seconds = time.perf_counter() - tic
        tic = time.perf_counter()
        agree = np.array_equal(model.predict(X), model.labels_)
        predict_seconds = time.perf_counter() - tic
        watch.stop()
        assert agree or model.approximation_ != "working_set"
        row = {
            "rows": n,
            "approximation": model.approximation_,
            "seconds": seconds,
            "candidates": len(model.history_),
            "seconds_search": model.history_["seconds"].sum() / n_jobs,
            "microseconds_per_row": 1e6 * seconds / n,
            "passes": model.n_iter_,
            "peak_gib": watch.own,
            "peak_gib_with_file": watch.whole,
            "max_memory": max_memory,
            "score": model.constraint_score_,
            "ari": adjusted_rand_score(y, model.labels_),
            "predict_seconds": predict_seconds,
        }
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--max-memory", default="3GiB")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", default="benchmarks/records/growth.csv")
    parser.add_argument("--one", type=int)
    args = parser.parse_args()
    if args.one:
        run_one(args.one, args.max_memory, args.jobs)
        return
    path = Path(args.records)
    path.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {int(row["rows"]) for row in csv.DictReader(file)}
    for n in args.sizes:
        if n in done:
            continue
        command = [sys.executable, __file__, "--one", str(n), "--jobs", str(args.jobs)]
        command += ["--max-memory", args.max_memory]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        row = json.loads(run.stdout.strip().splitlines()[-1])
        row = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if is_new:
                writer.writeheader()
            writer.writerow({**row, "date": date.today()})
        print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
