"""Peak memory of an exact KernelCSC under a memory limit.

Run with ``python benchmarks/memory_limit.py``. Random data of 5,000 rows and 20 columns
in 5 groups, 500 pairs, max_memory="2GiB". Prints the peak resident set of the process,
what the bank holds, and the time.
"""

import argparse
import resource
import time
from datetime import date

from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--max-memory", default="2GiB")
    parser.add_argument("--n-jobs", type=int, default=None)
    args = parser.parse_args()
    X, y = make_blobs(
        args.rows, args.columns, centers=5, cluster_std=8.0, random_state=0
    )
    pairs = Constraints.sample(y, 500, random_state=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tic = time.perf_counter()
    model = KernelCSC(
        5,
        kernels="paper",
        selection="train",
        n_candidates=args.candidates,
        search="random",
        approximation="exact",
        max_memory=args.max_memory,
        n_jobs=args.n_jobs,
        random_state=0,
    ).fit(X, constraints=pairs)
    seconds = time.perf_counter() - tic
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{date.today()}  rows={args.rows} columns={args.columns} "
        f"kernels={len(model.kernel_names_)} candidates={len(model.history_)} "
        f"max_memory={args.max_memory}: peak {peak / 2**20:.2f} GiB "
        f"(before fit {before / 2**20:.2f}), {seconds:.1f} s, "
        f"{1e3 * model.history_.seconds.median():.0f} ms per candidate, "
        f"satisfied {model.constraint_score_:.3f}, "
        f"ARI {adjusted_rand_score(y, model.labels_):.3f}"
    )


if __name__ == "__main__":
    main()
