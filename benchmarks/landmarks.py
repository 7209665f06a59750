"""Exact kernels against landmarks, on all PMLB sets with 500 to 5,000 rows.

Run with ``python benchmarks/landmarks.py``; LINKWISE_PMLB names the data folder. Each
set has one trial of the paper's protocol and 200 random candidates, the same for all;
KernelCSC is run with exact kernels and with 150 and 300 landmarks. Rows are appended to
the records file as they are done, and those already there are not run again. At the
end: the mean difference in test ARI, the sets that lose more than 0.05, and with
``--figure FILE`` the scatter.
"""

import argparse
import csv
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from _pmlb import folder, load, paper_trial
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from linkwise import KernelCSC

SETTINGS = {
    "exact": {"approximation": "exact"},
    "150 landmarks": {"approximation": "landmarks", "n_landmarks": 150},
    "300 landmarks": {"approximation": "landmarks", "n_landmarks": 300},
}
COLUMNS = [
    "dataset",
    "rows",
    "columns",
    "clusters",
    "trial",
    "setting",
    "ari_test",
    "score",
    "seconds",
    "date",
]


def sets() -> list[str]:
    """Return the names of the sets, small ones first."""
    table = pd.read_csv(folder() / "MANIFEST.csv")
    chosen = table[table["n_samples"].between(500, 5000)]
    return chosen.sort_values(["n_samples", "name"])["name"].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--records", default="benchmarks/records/landmarks.csv")
    parser.add_argument("--figure", help="PNG file for the scatter")
    args = parser.parse_args()
    path = Path(args.records)
    path.parent.mkdir(parents=True, exist_ok=True)
    done, is_new = set(), not path.exists()
    if not is_new:
        old = pd.read_csv(path)
        done = set(zip(old.dataset, old.trial, old.setting, strict=True))
    with path.open("a", newline="") as file, threadpool_limits(1):
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        for name in args.sets or sets():
            X, y = load(name)
            for trial in range(args.trials):
                pairs, test = paper_trial(y, trial)
                for setting, options in SETTINGS.items():
                    if (name, trial, setting) in done:
                        continue
                    model = KernelCSC(
                        len(np.unique(y)),
                        kernels="paper",
                        selection="train",
                        n_candidates=args.candidates,
                        search="random",
                        random_state=trial,
                        **options,
                    )
                    tic = time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        model.fit(X, constraints=pairs)
                    seconds = time.perf_counter() - tic
                    ari = adjusted_rand_score(y[test], model.labels_[test])
                    writer.writerow(
                        {
                            "dataset": name,
                            "rows": X.shape[0],
                            "columns": X.shape[1],
                            "clusters": model.n_clusters,
                            "trial": trial,
                            "setting": setting,
                            "ari_test": f"{ari:.6g}",
                            "score": f"{model.constraint_score_:.6g}",
                            "seconds": f"{seconds:.4g}",
                            "date": date.today(),
                        }
                    )
                    file.flush()
    report(pd.read_csv(path), args.figure)


def report(records: pd.DataFrame, figure: str | None) -> None:
    """Print what landmarks lose, and draw it."""
    ari = records.pivot_table("ari_test", "dataset", "setting")[list(SETTINGS)]
    seconds = records.pivot_table("seconds", "dataset", "setting")[list(SETTINGS)]
    n_rows = records.groupby("dataset").rows.first()
    print(f"{len(ari)} sets; mean test ARI, seconds\n")
    print(pd.DataFrame({"ARI": ari.mean(), "s": seconds.sum()}).round(4).to_string())
    for setting in list(SETTINGS)[1:]:
        change = (ari[setting] - ari["exact"]).sort_values()
        print(
            f"\n{setting}: mean change {change.mean():+.4f}, median "
            f"{change.median():+.4f}; better on {(change > 0).sum()}, worse on "
            f"{(change < 0).sum()}; worse by more than 0.05:"
        )
        for name, value in change[change < -0.05].items():
            print(f"  {name} ({n_rows[name]} rows): {value:+.3f}")
    if figure:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        shape, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True)
        for panel, setting in zip(axes, list(SETTINGS)[1:], strict=True):
            panel.plot([-0.1, 1], [-0.1, 1], color="0.7", linewidth=1)
            panel.scatter(ari["exact"], ari[setting], s=n_rows[ari.index] / 50)
            panel.set(xlabel="test ARI, exact kernels", title=setting)
        axes[0].set_ylabel("test ARI, landmarks")
        shape.tight_layout()
        shape.savefig(figure, dpi=150)


if __name__ == "__main__":
    main()
