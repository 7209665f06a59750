"""Why the rich bank loses: a closer look where it does so by most.

Run ``python benchmarks/rich_report.py STORE --out docs/experiments`` first, then
``python benchmarks/rich_losses.py docs/experiments/rich-losses.csv``; LINKWISE_PMLB
names the data folder. The five largest losses are looked at again, three trials each,
with other seeds of candidates and views: how many rows are in groups, from which views
are learnt, the share of the pairs that hold (R) and the test ARI of the winner with
300 candidates of the paper's bank and of the rich one, the share of the weights that
the latter gives to learnt kernels, and, for sets of at most 2,500 rows, the best test
ARI of any rich candidate with its R.
"""

import argparse
import warnings
from datetime import date

import numpy as np
import pandas as pd
from lost_sets import MAX_ROWS, N_CANDIDATES, best_of
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from linkwise import Constraints, KernelCSC
from linkwise.experiments import (
    Dataset,
    Trial,
    draw_trial,
    load_dataset,
    n_paper_pairs,
)
from linkwise.kernels import RICH_VIEWS

N_WORST, N_TRIALS = 5, 3


def look(data: Dataset, trial: Trial, pairs: Constraints) -> dict[str, float]:
    """Return what is seen in one trial of a data set."""
    n_clusters = len(np.unique(data.y))
    groups = pairs.closure(len(data.y)).groups(n_clusters)
    row: dict[str, float] = {"grouped": int(np.count_nonzero(groups >= 0))}
    for kernels in ("paper", "rich"):
        model = KernelCSC(
            n_clusters,
            kernels=kernels,
            n_candidates=N_CANDIDATES,
            search="random",
            random_state=0,
        ).fit(data.X, constraints=pairs)
        found = model.labels_[trial.test]
        row[f"{kernels}_R"] = model.constraint_score_
        row[f"{kernels}_ARI"] = adjusted_rand_score(data.y[trial.test], found)
    is_learnt = [name.endswith(RICH_VIEWS) for name in model.kernel_names_]
    weights = model.kernel_weights_
    row["learnt"] = weights[is_learnt].sum() / weights.sum()
    if len(data.y) <= MAX_ROWS:
        best = best_of(data, trial, pairs, "rich")
        row |= {"best_ARI": best["best_ARI"], "its_R": best["its_R"]}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("losses", help="rich-losses.csv of rich_report.py")
    parser.add_argument("--out", default="docs/experiments/rich-worst.csv")
    args = parser.parse_args()
    rows = []
    worst = pd.read_csv(args.losses, dtype={"pairs": str}).sort_values("gain")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for loss in worst.head(N_WORST).itertuples():
            data = load_dataset(loss.data_set)
            for number in range(N_TRIALS):
                trial = draw_trial(data.y, loss.data_set, number)
                fixed = n_paper_pairs(len(trial.train))
                n_pairs = fixed if loss.pairs == "paper" else int(loss.pairs)
                row = {"data_set": loss.data_set, "pairs": n_pairs, "trial": number}
                rows.append(row | look(data, trial, trial.constraints(n_pairs)))
                print(rows[-1], flush=True)
    table = pd.DataFrame(rows).round(4)
    table.assign(date=date.today()).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
