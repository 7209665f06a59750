"""Why a rival is ahead of KernelCSC: a closer look at the sets where it leads by much.

Run ``linkwise bench report fixed`` first, then ``python benchmarks/lost_sets.py
fixed-report/ahead-rivals.csv``; LINKWISE_PMLB names the data folder. For each set on
which a rival leads by more than 0.1, trial 0 is looked at again, if it has at most
2,500 rows (--max-rows), with 300 candidates of the paper's kernels: share of the pairs
that hold (R) and the test ARI of the winner, the best test ARI of any candidate with
its R, and the share of the variance that lies between the classes, in standardised
columns and after whitening inside the groups of rows that the pairs put together.
"Seen" is the share of the test rows that equal a training row.

``python benchmarks/lost_sets.py docs/experiments/related-ahead.csv --kernels rich
--max-rows 11000 --out docs/experiments/related-leads.csv`` does the same with the
default's kernels where a system of the related work leads
(``benchmarks/related_report.py``). Beyond 4,000 rows kernels are approximated as they
are by default, and candidates are those that the model has kept.
"""

import argparse
import warnings
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from linkwise import Constraints, KernelBank, KernelCSC
from linkwise.experiments import (
    Dataset,
    Trial,
    draw_trial,
    load_dataset,
    n_paper_pairs,
)
from linkwise.kernels import Known, Standardized, WithinWhitened
from linkwise.search import Evaluator

N_CANDIDATES = 300
LEAD = 0.1
MAX_ROWS = 2_500
EXACT_ROWS = 4_000


def between(points: np.ndarray, y: np.ndarray) -> float:
    """Return the share of the variance that lies between the classes."""
    points = points - points.mean(axis=0)
    sums = sum(
        np.count_nonzero(y == label) * np.square(points[y == label].mean(axis=0)).sum()
        for label in np.unique(y)
    )
    return float(sums / np.square(points).sum())


def best_of(
    data: Dataset, trial: Trial, pairs: Constraints, kernels: Any
) -> dict[str, float]:
    """Return what the chosen and the best of 300 candidates, or of those kept, are."""
    n_clusters, closure = len(np.unique(data.y)), pairs.closure(len(data.y))
    is_exact = len(data.y) <= EXACT_ROWS
    if is_exact:
        known = Known(closure.groups(n_clusters), n_clusters)
        kernels = KernelBank.build(data.X, kernels, known=known)
    model = KernelCSC(
        n_clusters,
        kernels=kernels,
        n_candidates=N_CANDIDATES,
        search="random",
        approximation="exact" if is_exact else "auto",
        random_state=0,
    ).fit(data.X, constraints=pairs)

    def ari(labels: np.ndarray) -> float:
        return adjusted_rand_score(data.y[trial.test], labels[trial.test])

    if is_exact:
        evaluator = Evaluator(kernels, closure, n_clusters)
        weights = model.history_.iloc[:, 3:].to_numpy()
        every = [evaluator.cluster(kernels.combine(w), w).labels for w in weights]
    else:
        every = [own[model._committee_rows] for own in model._committee.labels]
    scores = [ari(labels) for labels in every]
    best = int(np.argmax(scores))
    return {
        "R": closure.score(model.labels_),
        "ARI": ari(model.labels_),
        "best_ARI": scores[best],
        "its_R": closure.score(every[best]),
    }


def seen(data: Dataset, trial: Trial) -> float:
    """Return the share of the test rows that equal a training row."""
    known = {row.tobytes() for row in data.X[trial.train]}
    return float(np.mean([row.tobytes() in known for row in data.X[trial.test]]))


def look(name: str, data: Dataset, kernels: str) -> dict[str, object]:
    """Return what is seen in trial 0 of a data set."""
    trial = draw_trial(data.y, name, 0)
    pairs = trial.constraints(n_paper_pairs(len(trial.train)))
    n_clusters = len(np.unique(data.y))
    known = Known(pairs.closure(len(data.y)).groups(n_clusters), n_clusters)
    views = Standardized().fit(data.X), WithinWhitened().fit(data.X, known=known)
    shares = [between(view.transform(data.X).values, data.y) for view in views]
    return {
        **best_of(data, trial, pairs, kernels),
        "between_classes": shares[0],
        "whitened": shares[1],
        "seen": seen(data, trial),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ahead", help="ahead-rivals.csv of a report")
    parser.add_argument("--kernels", default="paper", choices=("paper", "rich"))
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS)
    parser.add_argument("--out", default="docs/experiments/lost-sets.csv")
    args = parser.parse_args()
    ahead = pd.read_csv(args.ahead)
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in ahead[ahead["lead"] > LEAD].itertuples():
            data = load_dataset(row.dataset)
            if len(data.y) <= args.max_rows:
                found = look(row.dataset, data, args.kernels)
                rows.append({"data_set": row.dataset, **found})
                print(rows[-1], flush=True)
    table = pd.DataFrame(rows).round(4)
    table.assign(date=date.today()).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
