"""What ``linkwise cluster`` takes here and in an earlier checkout, in one run.

``python benchmarks/command_time.py EARLIER`` takes the folder of another checkout. It
runs the command of start.md on its tickets, and on a table of 100,000 rows with
numbers, amounts, categories, dates, shares and gaps, in turns with the code of either
folder, and prints processor seconds (the least of the runs) and their ratio.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

from linkwise import Constraints

ROOT = Path(__file__).parent.parent
N_ROWS = 100_000


def write_table(folder: Path) -> None:
    """Write a large table and its pairs."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, N_ROWS)
    days = pd.to_timedelta(rng.integers(0, 900, N_ROWS), unit="D")
    numbers = {f"x{i}": (rng.normal(size=N_ROWS) + i * y).round(4) for i in range(3)}
    table = pd.DataFrame(
        {
            "id": np.arange(N_ROWS),
            **numbers,
            "amount": [f"{value:,.2f}" for value in rng.gamma(2, 2000, N_ROWS)],
            "city": rng.choice(["Bonn", "Paris", "Rome", "Oslo"], N_ROWS),
            "day": (pd.Timestamp("2020-01-01") + days).strftime("%d/%m/%Y"),
            "share": [f"{value} %" for value in rng.integers(0, 100, N_ROWS)],
            "gaps": np.where(rng.random(N_ROWS) < 0.1, "NA", y.astype(str)),
        }
    )
    table.to_csv(folder / "large.csv", index=False)
    Constraints.sample(y, 200, random_state=0).to_csv(folder / "large-pairs.csv")


def seconds(code: Path, folder: Path, arguments: list[str]) -> float:
    """Return the processor seconds of a command with the code of a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "linkwise", "cluster", *arguments, "--quiet"],
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(code / "src"), "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    data = ROOT / "docs" / "data"
    tickets = [str(data / "tickets.csv"), "-c", str(data / "pairs.csv"), "-k", "3"]
    commands = {
        "tickets of start.md": [*tickets, "--id-column", "ticket", "-o", "out.csv"],
        f"{N_ROWS:,} rows": ["large.csv", "-c", "large-pairs.csv", "--id-column"]
        + ["id", "-k", "4", "--candidates", "50", "-o", "out.csv"],
    }
    print(date.today())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder)
        for what, arguments in commands.items():
            found = {code: [] for code in (args.earlier.resolve(), ROOT)}
            for _ in range(args.runs):
                for code, times in found.items():
                    times.append(seconds(code, folder, arguments))
            before, here = (min(times) for times in found.values())
            print(
                f"{what}: {before:.2f} s before, {here:.2f} s here: {here / before:.2f}"
            )


if __name__ == "__main__":
    main()
