"""Methods on real data sets."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC
from linkwise.baselines import ITML, _itml

FOLDER = os.environ.get("LINKWISE_PMLB")

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="set LINKWISE_PMLB to a folder of PMLB data to run this"
)


def load(name):
    table = pd.read_csv(Path(FOLDER) / name / f"{name}.tsv.gz", sep="\t")
    _, y = np.unique(table.pop("target"), return_inverse=True)
    return table.to_numpy(dtype=np.float64), y


def test_pairs_improve_on_k_means_on_rows_without_pairs():
    scores = []
    for name in ("iris", "wine_recognition", "breast_cancer_wisconsin"):
        X, y = load(name)
        k = len(np.unique(y))
        rng = np.random.default_rng(0)
        train = np.sort(rng.permutation(len(y))[: len(y) // 4])
        n_pairs = len(train) * (len(train) - 1) // 20
        pairs = Constraints.sample(y, n_pairs, random_state=0, rows=train)
        model = KernelCSC(k, n_candidates=100, random_state=0)
        labels = model.fit(X, constraints=pairs).labels_
        plain = KMeans(k, n_init=10, random_state=0)
        plain = plain.fit_predict(StandardScaler().fit_transform(X))
        test = np.setdiff1d(np.arange(len(y)), train)
        scores.append(
            [adjusted_rand_score(y[test], found[test]) for found in (labels, plain)]
        )
    kernel_csc, k_means = np.mean(scores, axis=0)
    assert kernel_csc > k_means


def test_columns_that_are_nearly_equal_do_not_ruin_itml(monkeypatch):
    X, y = load("Hill_Valley_with_noise")
    X = StandardScaler().fit_transform(X)
    pairs = Constraints.sample(y, 500, random_state=0, rows=np.arange(300))
    model = ITML(max_iter=20, max_pairs=5000, random_state=0)
    by_root = []
    monkeypatch.setattr(
        _itml,
        "_swept_by_root",
        lambda *args, sweep=_itml._swept_by_root: (
            by_root.append(sweep(*args)) or by_root[0]
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, constraints=pairs)
    # Rounding makes the metric itself indefinite within two sweeps.
    assert len(by_root) == 1
    values = np.linalg.eigvalsh(model.metric_)
    assert values[0] > -1e-12 * values[-1]
    assert np.isfinite(model.objective_) and np.isfinite(model.components_).all()
