"""A table with every kind of column, clustered as it is and after work by hand.

``python benchmarks/any_table.py write FOLDER`` writes ``customers.csv`` (semicolons,
decimal commas, latin-1) and ``pairs.csv``; ``compare`` prints the mean ARI over draws
of pairs of the command's preparation and of one made by hand. The table is that of
scikit-learn's wine: some columns stay numbers, others become what people have in their
files. A tenth of the values of most columns is missing.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC, table_pipeline

N_PAIRS = 100
N_DRAWS = 10
GAPS = 0.1
WORDS = ("pale and thin", "light straw", "amber tones", "deep ruby", "rosé-tinted")
LEVELS = ("low", "middle", "high", "very high")


def columns_and_classes() -> tuple[pd.DataFrame, np.ndarray]:
    """Return what was measured, with gaps, and the classes."""
    frame, y = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    frame = frame.mask(rng.random(frame.shape) < GAPS)
    return frame, y.to_numpy()


def as_people_have_it(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same in categories, dates, shares, words and numbers."""
    rng = np.random.default_rng(1)
    low, high = frame["hue"].min(), frame["hue"].max()
    share = (frame["hue"] - low) / (high - low)
    is_dilute = frame["od280/od315_of_diluted_wines"] > 2.6
    day = pd.Timestamp("2019-01-01") + pd.to_timedelta(frame["proline"], unit="D")
    level = pd.qcut(frame["flavanoids"], len(LEVELS), labels=list(LEVELS))
    colour = pd.qcut(frame["color_intensity"], len(WORDS), labels=list(WORDS))
    phrase = [
        np.nan if pd.isna(word) else f"{word}, glass {rng.integers(1000)}"
        for word in colour.astype(object)
    ]
    plain = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium"]
    return pd.DataFrame(
        {
            "bottle_id": rng.permutation(9000)[: len(frame)] + 1000,
            **{name: frame[name].round(3) for name in plain},
            "phenols": frame["total_phenols"].round(2),
            "flavour": level.astype(object),
            "bright": [np.nan if pd.isna(s) else f"{100 * s:.1f} %" for s in share],
            "dilute": np.where(is_dilute, "yes", "no"),
            "bottled": day.dt.strftime("%d.%m.%Y"),
            "remark": phrase,
            "shop": "corner",
        }
    )


def by_hand(frame: pd.DataFrame) -> np.ndarray:
    """Return the same columns as a careful person would make numbers of them."""
    rows = pd.DataFrame(
        {
            name: frame[name]
            for name in (
                "alcohol",
                "malic_acid",
                "ash",
                "alcalinity_of_ash",
                "magnesium",
                "total_phenols",
                "hue",
                "proline",
            )
        }
    )
    rows["dilute"] = (frame["od280/od315_of_diluted_wines"] > 2.6).astype(float)
    rows = rows.fillna(rows.median())
    levels = pd.get_dummies(pd.qcut(frame["flavanoids"], len(LEVELS)))
    colours = pd.get_dummies(pd.qcut(frame["color_intensity"], len(WORDS)))
    return np.concatenate(
        [StandardScaler().fit_transform(rows), levels.to_numpy(), colours.to_numpy()],
        axis=1,
    )


def write(folder: Path) -> None:
    """Write the table and pairs for the command."""
    frame, y = columns_and_classes()
    table = as_people_have_it(frame)
    table.to_csv(
        folder / "customers.csv", sep=";", decimal=",", index=False, encoding="latin-1"
    )
    Constraints.sample(y, N_PAIRS, random_state=0).to_csv(folder / "pairs.csv")


def compare() -> None:
    """Print the mean ARI of both, and its standard error."""
    frame, y = columns_and_classes()
    ways = {"as it is": as_people_have_it(frame), "made by hand": by_hand(frame)}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for draw in range(N_DRAWS):
        pairs = Constraints.sample(y, N_PAIRS, random_state=draw)
        for name, rows in ways.items():
            model = KernelCSC(3, random_state=draw)
            if name == "as it is":
                pipeline = table_pipeline(model)
                pipeline.fit(rows, cluster__constraints=pairs)
            else:
                model.fit(rows, constraints=pairs)
            found[name].append(adjusted_rand_score(y, model.labels_))
    for name, values in found.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        print(f"{name:14} {np.mean(values):.3f} (error {error:.3f})")
    gain = np.subtract(found["as it is"], found["made by hand"])
    print(f"difference     {gain.mean():+.3f} (error {gain.std(ddof=1) / 10**0.5:.3f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("."))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    write(args.folder) if args.what == "write" else compare()
