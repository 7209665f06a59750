"""The command ``linkwise demo``."""

import time
from typing import Any

import numpy as np
import typer
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import linkwise
from linkwise.cli._screen import Screen, counted
from linkwise.cli._words import (
    chosen_lines,
    chosen_parts,
    pairs_line,
    pairs_values,
    per_cent,
    search_line,
)
from linkwise.constraints import Constraints
from linkwise.estimators import KernelCSC

_LOADERS = {
    "breast-cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
}


def run_demo(
    dataset: str, n_pairs: int, seed: int, n_candidates: int, screen: Screen
) -> None:
    """Cluster a known data set with and without pairs, and compare."""
    start = time.perf_counter()
    X, classes = _LOADERS[dataset](return_X_y=True)
    n_rows, n_clusters = len(X), len(np.unique(classes))
    n_possible = n_rows * (n_rows - 1) // 2
    if n_pairs > n_possible:
        raise typer.BadParameter(
            f"{dataset} has only {n_possible:,} pairs.", param_hint="--pairs"
        )
    pairs = Constraints.sample(classes, n_pairs, random_state=seed)
    free = np.ones(n_rows, dtype=bool)
    free[pairs.points] = False

    model = KernelCSC(
        n_clusters, n_candidates=n_candidates, random_state=seed, n_jobs=-1
    )
    screen.watch(model)
    fit_start = time.perf_counter()
    with screen.notes_of_warnings():
        model.fit(X, constraints=pairs)
        fit_seconds = time.perf_counter() - fit_start
        scaled = StandardScaler().fit_transform(X)
        kmeans = KMeans(n_clusters, n_init=10, random_state=seed).fit(scaled)

    values: dict[str, Any] = {
        "command": "demo",
        "version": linkwise.__version__,
        "dataset": dataset,
        "rows": n_rows,
        "features": X.shape[1],
        "clusters": n_clusters,
        **pairs_values(pairs, n_rows),
        "rows_without_pairs": int(free.sum()),
        "kmeans": _scores(kmeans.labels_, classes, free, pairs),
        "kernel_csc": _scores(model.labels_, classes, free, pairs),
        "chosen": chosen_parts(model),
        "candidates": len(model.history_),
        "stopped_by": model.stopped_by_,
        "seconds_fit": fit_seconds,
        "seconds": time.perf_counter() - start,
    }
    screen.report(
        values,
        [
            (
                "data",
                [
                    f"{dataset}: {counted(n_rows, 'row')}, "
                    f"{counted(X.shape[1], 'feature')}, {n_clusters} classes"
                ],
            ),
            ("pairs", [pairs_line(values), f"drawn at random, seed {seed}"]),
            ("search", [search_line(model, fit_seconds)]),
            ("kernels", chosen_lines(values["chosen"])),
            ("result", _comparison(values)),
            ("", ["", *_explanation(values, seed)]),
        ],
    )


def _scores(
    labels: Any, classes: Any, free: Any, pairs: Constraints
) -> dict[str, float]:
    """Return the share of pairs that hold, and the agreement on the other rows."""
    agreement = (
        float(adjusted_rand_score(classes[free], labels[free]))
        if free.any()
        else np.nan
    )
    return {"satisfaction": pairs.score(labels), "ari": agreement}


def _comparison(values: dict[str, Any]) -> list[str]:
    lines = [f"{'':<12}{'pairs that hold':>15}{'ARI on other rows':>20}"]
    for name, key in (("k-means", "kmeans"), ("KernelCSC", "kernel_csc")):
        scores = values[key]
        ari = "-" if np.isnan(scores["ari"]) else f"{scores['ari']:.3f}"
        lines.append(f"{name:<12}{per_cent(scores['satisfaction']):>15}{ari:>20}")
    return lines


def _explanation(values: dict[str, Any], seed: int) -> list[str]:
    return [
        "k-means does not see the pairs (standardised features, best of 10 starts).",
        f"ARI: agreement with the true classes on the {values['rows_without_pairs']:,} "
        "rows in no pair;",
        "1 is perfect, 0 is chance. Gains differ from draw to draw, and some are "
        "losses:",
        f"try --seed {seed + 1}, or --pairs 20.",
    ]
