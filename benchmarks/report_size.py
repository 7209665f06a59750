"""How large a report is and how long it takes: 100,000 rows of several kinds.

``python benchmarks/report_size.py`` clusters rows once for each kind, with few
candidates, then writes the report on them and adds what it took to
``records/report_size.csv``: seconds by the clock, and of the processor, which depend
less on what else the machine does. The time of the fit is not counted. Kinds:
``numbers`` (20 columns), ``table`` (numbers, a category, a date, short texts, gaps,
prepared by ``table_pipeline``), ``embeddings`` (128 columns, shown as their texts) and
``sparse`` (word counts).
"""

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

from linkwise import Constraints, KernelCSC, table_pipeline
from linkwise.plots import report_page

RECORDS = Path(__file__).parent / "records" / "report_size.csv"
N_CLUSTERS = 8
N_CANDIDATES = 30
N_PAIRS = 400


def numbers(y: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return rows of normal numbers around a centre for each class."""
    X = rng.normal(size=(len(y), 20)) + 2.0 * rng.normal(size=(N_CLUSTERS, 20))[y]
    return X, None


def texts(y: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Return short texts of ten words, some of them of the class."""
    common = np.array([f"word{i}" for i in range(2000)])
    drawn = rng.integers(0, 2000, (len(y), 8))
    own = rng.integers(0, 30, (len(y), 2))
    return [
        " ".join([*common[few], *(f"topic{c}x{w}" for w in words)])
        for c, few, words in zip(y.tolist(), drawn, own.tolist(), strict=True)
    ]


def table(y: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a table with columns of any kind, and gaps."""
    frame = pd.DataFrame(
        rng.normal(size=(len(y), 6)) + 2.0 * rng.normal(size=(N_CLUSTERS, 6))[y],
        columns=[f"measure {i}" for i in range(6)],
    )
    frame["plan"] = np.array([f"plan {c}" for c in range(N_CLUSTERS)])[
        np.where(rng.random(len(y)) < 0.6, y, rng.integers(0, N_CLUSTERS, len(y)))
    ]
    days = 40 * y + rng.integers(0, 60, len(y))
    frame["opened"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")
    frame["note"] = texts(y, rng)
    return frame.mask(rng.random(frame.shape) < 0.03), None


def embeddings(y: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return vectors of length 1 and the texts that they stand for."""
    X = rng.normal(size=(len(y), 128)) + rng.normal(size=(N_CLUSTERS, 128))[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), pd.DataFrame({"text": texts(y, rng)})


def sparse(y: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return counts of words."""
    return CountVectorizer(dtype=np.float64).fit_transform(texts(y, rng)), None


KINDS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "numbers": numbers,
    "table": table,
    "embeddings": embeddings,
    "sparse": sparse,
}


def measure(kind: str, n_rows: int) -> dict[str, Any]:
    """Return what the report on rows of a kind took."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLUSTERS, n_rows)
    X, shown = KINDS[kind](y, rng)
    pairs = Constraints.sample(y, N_PAIRS, random_state=0)
    model: Any = KernelCSC(N_CLUSTERS, n_candidates=N_CANDIDATES, random_state=0)
    start = time.perf_counter()
    if kind == "table":
        model = table_pipeline(model).fit(X, cluster__constraints=pairs)
    else:
        model.fit(X, constraints=pairs)
    fitted, worked = time.perf_counter(), time.process_time()
    page = report_page(model, X, pairs, table=shown)
    return {
        "kind": kind,
        "rows": n_rows,
        "fit_seconds": f"{fitted - start:.1f}",
        "report_seconds": f"{time.perf_counter() - fitted:.1f}",
        "report_processor_seconds": f"{time.process_time() - worked:.1f}",
        "report_megabytes": f"{len(page.encode()) / 1e6:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    records = []
    for kind in options.kinds:
        records.append(measure(kind, options.rows))
        print(records[-1], flush=True)
    with RECORDS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


if __name__ == "__main__":
    main()
