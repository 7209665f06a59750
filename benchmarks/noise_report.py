"""Wrong pairs: mean test ARI by method and share, from the records of plan ``noise``.

``python benchmarks/noise_report.py noise.sqlite [--only FILE]``; FILE lists data sets.
"""

import argparse
from pathlib import Path

import pandas as pd
from rich_report import records, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--only", type=Path, help="file with names of data sets")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    table = records(args.store)
    if args.only is not None:
        table = table[table["dataset"].isin(args.only.read_text().split())]
    named = table["method"].str.extract(r"^(?P<name>.*), (?P<wrong>\d+) % wrong$")
    table = table.assign(method=named["name"], wrong=named["wrong"].astype(int))
    means = table.pivot_table("ari_test", "method", "wrong").round(4)
    means = means.sort_values(10, ascending=False)
    means.columns = [f"{share}_%_wrong" for share in means.columns]
    n_sets = table["dataset"].nunique()
    path = None if args.out is None else args.out / "noise-means.csv"
    show(f"Mean test ARI, {n_sets} sets", pd.DataFrame(means), path)


if __name__ == "__main__":
    main()
