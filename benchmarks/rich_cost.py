"""What the rich bank costs beside the paper's: building, candidates, whole fits.

Run with ``python benchmarks/rich_cost.py``. The data are Gaussian clusters in 20
columns, ten of them, a tenth of the rows in pairs. For exact kernels the bank is built
and combined by hand: seconds to build it, milliseconds of a candidate. Whole fits have
300 random candidates, judged as in the paper and by a committee. All of one size are
measured in turn, three times; the shortest counts, and ratios are of the same run.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from datetime import date

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from linkwise import Constraints, KernelBank, KernelCSC
from linkwise.kernels import Known
from linkwise.search import Evaluator, RandomSearch, SparseVectors

N_COLUMNS, N_CLUSTERS, N_CANDIDATES, N_REPEATS = 20, 10, 300, 3


def draw(n: int) -> tuple[np.ndarray, Constraints]:
    """Return rows in overlapping clusters and pairs of a tenth of them."""
    rng = np.random.default_rng(n)
    y = rng.integers(N_CLUSTERS, size=n)
    X = rng.normal(size=(n, N_COLUMNS)) + 0.5 * rng.normal(size=(10, N_COLUMNS))[y]
    return X, Constraints.sample(y, n, random_state=rng, rows=np.arange(n // 10))


def timed(function: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    tic = time.perf_counter()
    function()
    return time.perf_counter() - tic


def bank_costs(X: np.ndarray, pairs: Constraints, kernels: str) -> tuple[float, float]:
    """Return seconds to build an exact bank, and of a candidate."""
    closure = pairs.closure(len(X))
    known = Known(closure.linked, N_CLUSTERS)
    tic = time.perf_counter()
    bank = KernelBank.build(X, kernels, known=known, max_memory=2**32)
    built = time.perf_counter() - tic
    evaluator = Evaluator(bank, closure, N_CLUSTERS)
    domain = SparseVectors(bank.n_weights, 5)
    search = RandomSearch().start(domain, 30, np.random.default_rng(0))
    candidates = search.ask()[:30]
    evaluator(candidates[0])
    return built, timed(lambda: [evaluator(w) for w in candidates]) / len(candidates)


def fit_cost(X: np.ndarray, pairs: Constraints, **options: object) -> float:
    """Return the seconds of a whole fit."""
    model = KernelCSC(
        N_CLUSTERS,
        n_candidates=N_CANDIDATES,
        search="random",
        random_state=0,
        **options,
    )
    return timed(lambda: model.fit(X, constraints=pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 5000])
    parser.add_argument("--records", default="benchmarks/records/rich_cost.csv")
    args = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in args.sizes:
            X, pairs = draw(n)
            found: dict[str, list[float]] = {}
            for _ in range(N_REPEATS):
                for kernels in ("paper", "rich"):
                    built, candidate = bank_costs(X, pairs, kernels)
                    found.setdefault(f"{kernels}: bank", []).append(built)
                    found.setdefault(f"{kernels}: candidate", []).append(candidate)
                    for selection in ("train", "committee"):
                        seconds = fit_cost(
                            X, pairs, kernels=kernels, selection=selection
                        )
                        name = f"{kernels}, {selection}: fit"
                        found.setdefault(name, []).append(seconds)
            best = {name: min(values) for name, values in found.items()}
            for name, seconds in best.items():
                what = name.split(": ")[1]
                base = best["paper, train: fit" if what == "fit" else f"paper: {what}"]
                rows.append(
                    {
                        "rows": n,
                        "what": name,
                        "seconds": f"{seconds:.4g}",
                        "times_paper": f"{seconds / base:.3g}",
                        "date": date.today(),
                    }
                )
                print(
                    f"{n:6d} rows  {name:22s} {seconds:9.4f} s  {seconds / base:.2f}x"
                )
    pd.DataFrame(rows).to_csv(args.records, index=False)


if __name__ == "__main__":
    main()
