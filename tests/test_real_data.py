"""KernelCSC on real data sets, with the pairs of the paper's protocol."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC

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
