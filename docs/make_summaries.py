"""Sum up committed records for the tables of README and of the guide.

``python docs/make_summaries.py`` reads records of ``benchmarks/records`` and tables of
``docs/experiments``, and writes further tables there; ``fill_tables.py`` shows them.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "docs" / "experiments"
RECORDS = ROOT / "benchmarks" / "records"


def five_sets() -> pd.DataFrame:
    """Return the mean test ARI of each method on the five sets of one benchmark."""
    records = pd.read_csv(RECORDS / "paper_protocol.csv")
    # A failed trial scores 0, as in all experiments.
    records["ari_test"] = records["ari_test"].fillna(0.0)
    means = records.pivot_table("ari_test", "method", "dataset", sort=False)
    means["mean"] = means.mean(axis=1)
    return means.sort_values("mean", ascending=False).round(3).reset_index()


def other_packages() -> pd.DataFrame:
    """Return speed and objective of rivals beside those of other libraries."""
    records = pd.read_csv(RECORDS / "rivals_peers.csv")
    columns = ["method", "dataset", "rows", "seconds", "peer_seconds", "ratio"]
    names = {"ratio": "times_faster", "better": "better_objective"}
    table = records[[*columns, "better"]].rename(columns=names)
    order = records["method"].drop_duplicates().tolist()
    by_method = table["method"].map(order.index)
    return table.iloc[by_method.argsort(kind="stable")]


def landmarks() -> pd.DataFrame:
    """Return the mean test ARI with exact kernels and with landmarks."""
    records = pd.read_csv(RECORDS / "landmarks.csv")
    means = records.groupby("setting", sort=False)["ari_test"].mean()
    sets = records.groupby("setting", sort=False)["dataset"].nunique()
    return pd.DataFrame({"sets": sets, "ARI": means.round(3)}).reset_index()


def headlines() -> pd.DataFrame:
    """Return the five figures of README, each with its page."""
    few = pd.read_csv(TABLES / "few-gains.csv").query("half == 'all'")
    few = few.set_index("pairs")
    noise = pd.read_csv(TABLES / "noise-means.csv").set_index("method")
    rivals = noise.drop(index="KernelCSC")["20_%_wrong"]
    texts = pd.read_csv(TABLES / "texts-means.csv")
    chosen = "form == 'minilm' and kind == 'half must-links' and pairs == 200"
    text = texts.query(chosen).iloc[0]
    large = pd.read_csv(RECORDS / "kddcup.csv").query("run == 'default'")
    growth = pd.read_csv(RECORDS / "growth.csv").set_index("rows").loc[10_000_000]

    def of(page: str, words: str) -> str:
        return f"[{words}](docs/{page}.md)"

    return pd.DataFrame(
        [
            (
                of("pairs", "146 data sets"),
                "mean ARI on rows without pairs",
                f"{_ari(few.now['50'])} with 50 pairs, {_ari(few.now['200'])} with 200",
                f"{_ari(few.kmeans['200'])}, k-means",
            ),
            (
                of("noise", "84 data sets"),
                "the same, 200 pairs of which a fifth are wrong",
                _ari(noise.loc["KernelCSC", "20_%_wrong"]),
                f"{_ari(rivals.max())}, the best of {len(rivals)} others",
            ),
            (
                of("texts", "4 sets of short texts"),
                "the same on sentence embeddings, 200 pairs, half must-links",
                _ari(text["KernelCSC"]),
                f"{_ari(text['k-means'])}, k-means",
            ),
            (
                of("measured", "494,020 rows"),
                "the paper's large run, 1,000 candidates",
                f"{large.seconds.min():.0f} to {large.seconds.max():.0f} s",
                "396 minutes in the paper, on another machine",
            ),
            (
                of("measured", "10,000,000 rows"),
                "fit from a file, two threads",
                f"{growth.seconds:.0f} s, {growth.peak_gib:.1f} GiB",
                "",
            ),
        ],
        columns=["on", "what", "linkwise", "beside"],
    )


def _ari(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


SUMMARIES: dict[str, Callable[[], pd.DataFrame]] = {
    "five-sets.csv": five_sets,
    "other-packages.csv": other_packages,
    "landmarks.csv": landmarks,
    "headlines.csv": headlines,
}

if __name__ == "__main__":
    for name, summary in SUMMARIES.items():
        summary().to_csv(TABLES / name, index=False)
