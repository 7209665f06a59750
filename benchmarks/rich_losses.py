"""Why the rich bank loses: a closer look where it does so by most.

Run ``python benchmarks/rich_report.py STORE --out docs/experiments`` first, then
``python benchmarks/rich_losses.py docs/experiments/rich-losses.csv``; LINKWISE_PMLB
names the data folder. The five sets and numbers of pairs with the largest losses, of
sets with at most 2,500 rows, are looked at again, three trials each: the share of the
pairs that hold (R) and the test ARI of the winner, and the best test ARI of any
candidate with its R, with 300 candidates of the paper's bank and of the rich one.
"""

import argparse
import warnings
from datetime import date

import pandas as pd
from lost_sets import MAX_ROWS, best_of
from threadpoolctl import threadpool_limits

from linkwise.experiments import draw_trial, load_dataset, n_paper_pairs

N_WORST, N_TRIALS = 5, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("losses", help="rich-losses.csv of rich_report.py")
    parser.add_argument("--out", default="docs/experiments/rich-worst.csv")
    args = parser.parse_args()
    rows = []
    worst = pd.read_csv(args.losses, dtype={"pairs": str}).sort_values("gain")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for loss in worst.itertuples():
            data = load_dataset(loss.data_set)
            if len(data.y) > MAX_ROWS or len(rows) == N_WORST * N_TRIALS:
                continue
            for number in range(N_TRIALS):
                trial = draw_trial(data.y, loss.data_set, number)
                fixed = n_paper_pairs(len(trial.train))
                n_pairs = fixed if loss.pairs == "paper" else int(loss.pairs)
                pairs = trial.constraints(n_pairs)
                row = {"data_set": loss.data_set, "pairs": n_pairs, "trial": number}
                for kernels in ("paper", "rich"):
                    found = best_of(data, trial, pairs, kernels)
                    row |= {f"{kernels}_{key}": found[key] for key in found}
                rows.append(row)
                print(row, flush=True)
    table = pd.DataFrame(rows).round(4)
    table.assign(date=date.today()).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
