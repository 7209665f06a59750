"""PMLB data for the benchmarks, and the pairs of the paper's protocol."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from linkwise import Constraints


def folder() -> Path:
    """Return the folder of PMLB data, or end with a word on how to set it."""
    path = os.environ.get("LINKWISE_PMLB")
    if not path or not Path(path).is_dir():
        sys.exit("Set LINKWISE_PMLB to a folder with PMLB data (NAME/NAME.tsv.gz).")
    return Path(path)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes (0, 1, ...) of a PMLB data set."""
    table = pd.read_csv(folder() / name / f"{name}.tsv.gz", sep="\t")
    _, y = np.unique(table.pop("target"), return_inverse=True)
    return table.to_numpy(dtype=np.float64), y


def paper_trial(
    y: np.ndarray, trial: int, max_pairs: int = 5000
) -> tuple[Constraints, np.ndarray]:
    """Return the pairs of one trial of the paper's protocol, and the test rows.

    Of each class a quarter of the rows, rounded down, are training rows. A tenth of
    their pairs, at most ``max_pairs``, are drawn at random; closures add the rest.
    """
    rng = np.random.default_rng([trial, len(y)])
    train = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        train.append(rng.permutation(rows)[: len(rows) // 4])
    rows = np.sort(np.concatenate(train))
    n_pairs = min(len(rows) * (len(rows) - 1) // 20, max_pairs)
    pairs = Constraints.sample(y, n_pairs, random_state=rng, rows=rows)
    return pairs, np.setdiff1d(np.arange(len(y)), rows)
