"""Whether noise is called noise, and whether listed pairs are wrong.

``python benchmarks/comfort.py run`` fits KernelCSC with 150 candidates and writes
``records/comfort.csv`` (ten minutes on one core); ``report`` prints tables of it, and
``report --before FILE`` compares it with the records of another version. LINKWISE_PMLB
names the data folder.

- Noise: columns that know nothing of the classes, 2 to 5 of them, with 100 and 300
  pairs. ``by_chance_`` calls them noise.
- Real data: the paper's sets of at most 1,000 rows, with 50, 100 and 200 pairs and the
  paper's number, of which 0, 5, 10 and 20 % are turned into their opposite. Settings
  were chosen on every other set by name ("chosen on"), with trial 0.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC
from linkwise.experiments import derive_seed, draw_trial, load_dataset
from linkwise.experiments._datasets import expand_names
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs

RECORDS = Path(__file__).parent / "records" / "comfort.csv"
N_CANDIDATES = 150
SEEDS = range(5000, 5030)
REGIMES = ("50", "100", "200", "paper")
SHARES = (0.0, 0.05, 0.1, 0.2)
# Real data whose clusters agree with the classes must not be called noise.
GOOD = 0.3


def noise(seed: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of one of three kinds, and classes that they know nothing of."""
    rng = np.random.default_rng([seed, k])
    shape = int(rng.choice([150, 300, 600])), int(rng.choice([3, 8, 20, 60]))
    X = [rng.normal, rng.standard_cauchy, lambda size: rng.integers(2, size=size)]
    return np.asarray(X[seed % 3](size=shape), dtype=float), rng.integers(
        k, size=shape[0]
    )


def found_by(model: KernelCSC, y: np.ndarray, pairs: Constraints) -> dict[str, Any]:
    """Return what a fitted model says of the pairs, and what is true of that."""
    listed = model.disbelieved_
    i, j = listed["i"].to_numpy(dtype=int), listed["j"].to_numpy(dtype=int)
    is_wrong = (y[i] == y[j]) != (listed["kind"] == "must-link").to_numpy()
    n_wrong = (np.diff(y[pairs.must_link]) != 0).sum()
    n_wrong += (np.diff(y[pairs.cannot_link]) == 0).sum()
    return {
        "by_chance": getattr(model, "by_chance_", None),
        "p_value": getattr(model, "p_value_", np.nan),
        "noise": model.noise_,
        "n_pairs": pairs.n_must_link + pairs.n_cannot_link,
        "n_wrong": int(n_wrong),
        "listed": len(listed),
        "listed_wrong": int(is_wrong.sum()),
    }


def on_noise() -> Iterator[dict[str, Any]]:
    """Yield a record for each fit on noise."""
    for seed in SEEDS:
        for k in (2, 3, 4, 5):
            X, y = noise(seed, k)
            for n_pairs in (100, 300):
                pairs = Constraints.sample(y, n_pairs, random_state=seed)
                model = KernelCSC(k, n_candidates=N_CANDIDATES, random_state=seed)
                model.fit(X, constraints=pairs)
                yield {
                    "dataset": f"noise {seed}",
                    "regime": str(n_pairs),
                    "classes": k,
                    "wrong": 0.0,
                    "trial": 0,
                    "ari_test": adjusted_rand_score(y, model.labels_),
                    **found_by(model, y, pairs),
                }


def on_real_data(n_trials: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each fit on real data."""
    for name in expand_names(["paper<=1000"]):
        data = load_dataset(name)
        k = int(data.y.max()) + 1
        for number in range(n_trials):
            trial = draw_trial(data.y, name, number)
            n_train = len(trial.train)
            for regime in REGIMES:
                n = n_paper_pairs(n_train) if regime == "paper" else int(regime)
                n = min(n, n_possible_pairs(n_train))
                for wrong in SHARES:
                    pairs = trial.constraints(n, wrong)
                    seed = derive_seed(name, number, "KernelCSC")
                    model = KernelCSC(k, n_candidates=N_CANDIDATES, random_state=seed)
                    model.fit(data.X, constraints=pairs)
                    test = trial.test
                    yield {
                        "dataset": name,
                        "regime": regime,
                        "classes": k,
                        "wrong": wrong,
                        "trial": number,
                        "ari_test": adjusted_rand_score(
                            data.y[test], model.labels_[test]
                        ),
                        **found_by(model, data.y, pairs),
                    }


def run(path: Path, n_trials: int) -> None:
    """Write the records."""
    warnings.simplefilter("ignore")
    records = [*on_noise(), *on_real_data(n_trials)]
    pd.DataFrame(records).round(6).to_csv(path, index=False)


def read(path: Path) -> pd.DataFrame:
    """Return records with the half that each set belongs to."""
    table = pd.read_csv(path)
    table["regime"] = table["regime"].astype(str)
    table["is_noise"] = table["dataset"].str.startswith("noise ")
    names = sorted(table.loc[~table["is_noise"], "dataset"].unique())
    part = {name: ("chosen on", "others")[i % 2] for i, name in enumerate(names)}
    table["half"] = table["dataset"].map(part)
    return table


def standard_error(values: pd.Series) -> float:
    """Return the standard error of a mean."""
    return float(values.std() / np.sqrt(len(values)))


def report_of_noise(table: pd.DataFrame) -> None:
    """Print how often noise, and good real data, are called noise."""
    table = table[(table["wrong"] == 0.0)]
    called = table["by_chance"].astype(str) == "True"
    noise = table.assign(called=called)[table["is_noise"]]
    print("\nNoise that is called noise")
    rates = noise.groupby(["regime", "classes"])["called"].agg(["sum", "count"])
    print(rates.unstack("classes").to_string())
    print(f"all: {noise['called'].sum()} of {len(noise)}")
    good = table.assign(called=called)[~table["is_noise"] & (table["ari_test"] > GOOD)]
    print(f"\nSets with a test ARI above {GOOD} that are called noise")
    rates = good.groupby(["regime", "half"])["called"].agg(["sum", "count"])
    print(rates.unstack("half").to_string())
    print(", ".join(sorted(good.loc[good["called"], "dataset"].unique())) or "none")


def report_of_wrong_pairs(table: pd.DataFrame) -> None:
    """Print what is estimated and listed, by the share of wrong pairs."""
    table = table[~table["is_noise"]]
    n_true = table["n_pairs"] - table["n_wrong"]
    n_listed_true = table["listed"] - table["listed_wrong"]
    table = table.assign(true_listed=n_listed_true / n_true)
    keys = ["half", "wrong", "regime"]
    groups = table.groupby(keys)
    found = groups.agg(
        sets=("dataset", "size"),
        noise=("noise", "mean"),
        noise_se=("noise", standard_error),
        true_listed=("true_listed", "mean"),
        true_listed_se=("true_listed", standard_error),
        ari=("ari_test", "mean"),
    )
    sums = groups[["n_wrong", "listed", "listed_wrong"]].sum()
    found["precision"] = sums["listed_wrong"] / sums["listed"]
    found["recall"] = sums["listed_wrong"] / sums["n_wrong"]
    print("\nEstimated share of wrong pairs, and pairs that are listed")
    print(found.round(4).to_string())


def report_of_change(table: pd.DataFrame, before: pd.DataFrame) -> None:
    """Print how much better the clusters are than before, and the standard error."""
    keys = ["dataset", "regime", "classes", "wrong", "trial"]
    both = table.merge(before[[*keys, "ari_test"]], on=keys, suffixes=("", "_before"))
    both = both[~both["is_noise"]]
    both["gain"] = both["ari_test"] - both["ari_test_before"]
    found = both.groupby(["half", "wrong", "regime"])["gain"].agg(
        ["mean", standard_error, "count"]
    )
    print("\nTest ARI less that before")
    print(found.round(4).to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--before", type=Path, help="records of another version")
    parser.add_argument("--trials", type=int, default=1)
    args = parser.parse_args()
    if args.what == "run":
        run(args.records, args.trials)
    else:
        records = read(args.records)
        report_of_noise(records)
        report_of_wrong_pairs(records)
        if args.before is not None:
            report_of_change(records, read(args.before))
