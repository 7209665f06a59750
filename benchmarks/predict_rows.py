"""Whether a model predicts what it showed: training rows, and rows held out of a fit.

``python benchmarks/predict_rows.py`` fits KernelCSC on 40 data sets of PMLB of at most
700 rows, with the pairs of four of the paper's trials (one trial alone has an error of
.014). It prints the share of training rows that get their label back, the same for rows
that were moved by a billionth, and the ARI of three tenths of the rows that are
predicted by a fit of the others, beside their ARI when they are in the fit. Pairs are
between the others. LINKWISE_PMLB names the data.
"""

import warnings

import numpy as np
import pandas as pd
from _pmlb import load, paper_trial
from golden import MAX_ROWS, N_SETS
from sklearn.metrics import adjusted_rand_score

from linkwise import KernelCSC
from linkwise.experiments import dataset_size, paper_datasets

N_TRIALS = 4


def record(name: str, trial: int) -> dict[str, float]:
    """Return what is predicted of one set."""
    X, y = load(name)
    pairs, _ = paper_trial(y, trial, max_pairs=300)
    k = len(np.unique(y))
    model = KernelCSC(k, n_candidates=100, random_state=trial)
    model.fit(X, constraints=pairs)
    moved = X + 1e-9 * np.random.default_rng(0).standard_normal(X.shape)
    found = {
        "same": float(np.mean(model.predict(X) == model.labels_)),
        "moved": float(np.mean(model.predict(moved) == model.labels_)),
        "is_placed": float(model._rule is not None),
    }
    free = np.setdiff1d(np.arange(len(X)), pairs.points)
    n_out = min(len(free), int(0.3 * len(X)))
    out = np.sort(np.random.default_rng(trial + 1).choice(free, n_out, replace=False))
    kept = np.setdiff1d(np.arange(len(X)), out)
    part = KernelCSC(k, n_candidates=100, random_state=trial)
    part.fit(X[kept], constraints=pairs.restrict(kept))
    found["predicted"] = adjusted_rand_score(y[out], part.predict(X[out]))
    found["fitted"] = adjusted_rand_score(y[out], model.labels_[out])
    return found


def main() -> None:
    """Print the means over the sets."""
    warnings.simplefilter("ignore")
    names = [n for n in paper_datasets() if dataset_size(n).n_samples <= MAX_ROWS]
    names = names[:: max(1, len(names) // N_SETS)][:N_SETS]
    trials = [
        pd.DataFrame([record(name, trial) for name in names], index=names)
        for trial in range(N_TRIALS)
    ]
    table = sum(trials) / N_TRIALS
    n_placed = N_TRIALS * table["is_placed"].sum()
    print(f"{len(table)} sets, {N_TRIALS} trials; rows placed in {n_placed:.0f} fits")
    print(f"training rows that get their label back: {table['same'].mean():.4%}")
    print(f"the same, moved by a billionth: {table['moved'].mean():.4%}")
    gap = table["predicted"] - table["fitted"]
    print(
        f"ARI of rows held out: predicted {table['predicted'].mean():.4f}, in the fit"
    )
    print(f"{table['fitted'].mean():.4f}: {gap.mean():+.4f} (error {gap.sem():.4f})")


if __name__ == "__main__":
    main()
