"""Measure what the constants of the automatic choice of a search rest on.

Run it on an otherwise idle machine: ``python benchmarks/surrogate_cost.py``. It
prints the seconds that each surrogate needs for one choice among 1000 draws, and the
line that fits the forest's costs; constants that follow from them stand in
``linkwise/search/_resolve.py``. What a candidate costs is measured by
``candidate_cost.py``.
"""

import time
from collections.abc import Callable

import numpy as np

from linkwise.engines import one_blas_thread
from linkwise.search import SparseVectors
from linkwise.search._surrogate import BaggedLinear, Forest, GaussianProcess

N_DRAWS = 1000


def seconds(call: Callable[[], object], n_runs: int = 3) -> float:
    """Return the shortest time of a few runs."""
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def time_surrogates() -> None:
    rng = np.random.default_rng(0)
    models = {
        "forest": lambda: Forest(100),
        "bagged linear": lambda: BaggedLinear(150),
        "gp, refitted": lambda: GaussianProcess(1e-6, 1),
    }
    rows = []  # (forest seconds, trials, trials * weights)
    for n_weights in (5, 20, 62):
        domain = SparseVectors(n_weights)
        effect = rng.random(n_weights)
        for n_trials in (100, 300, 1000):
            tried = domain.sample(rng, n_trials)
            new = domain.sample(rng, N_DRAWS)
            # Scores are fractions of few pairs, so they come in steps.
            scores = np.round(tried @ effect + rng.normal(0, 0.1, n_trials), 2)
            for name, make in models.items():
                took = seconds(
                    lambda make=make, data=(tried, scores, new): make()(*data, rng)
                )
                print(f"{name:14} {n_trials:5} trials {n_weights:3} weights {took:.3f}")
                if name == "forest":
                    rows.append((took, n_trials, n_trials * n_weights))
    table = np.array(rows)
    design = np.column_stack([np.ones(len(table)), table[:, 1:]])
    # Relative errors count: the choice turns on ratios of costs.
    scale = table[:, :1]
    solution = np.linalg.lstsq(design / scale, np.ones(len(table)), rcond=None)[0]
    print("forest = {:.3g} + {:.3g} trials + {:.3g} trials * weights".format(*solution))


if __name__ == "__main__":
    with one_blas_thread():
        time_surrogates()
