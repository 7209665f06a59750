from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)

# Every estimator, cheap and repeatable; KernelCSC as in the paper.
SMALL = {
    "KernelCSC": KernelCSC(
        3,
        kernels="paper",
        n_candidates=20,
        selection="train",
        on_conflict="raise",
        random_state=0,
    ),
    "SingleKernelCSC": SingleKernelCSC(3, random_state=0),
    "MahalanobisCSC": MahalanobisCSC(3, n_candidates=20, random_state=0),
    "ConstrainedKernelKMeans": ConstrainedKernelKMeans(3, random_state=0),
}


class Problem(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    pairs: Constraints


def _make_problem(seed=0, n_features=3, spread=1.0, n_pairs=40, sizes=(20, 24, 28)):
    """Return Gaussian clusters around three corners, in random order, with pairs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centres = 5.0 * np.eye(len(sizes), n_features)
    X = centres[y] + spread * rng.standard_normal((len(y), n_features))
    X.flags.writeable = False
    return Problem(X, y, Constraints.sample(y, n_pairs, random_state=seed))


@pytest.fixture
def make_problem():
    """The function that draws problems."""
    return _make_problem


@pytest.fixture
def new_rows():
    """Rows that fit has not seen."""
    return _make_problem(seed=1, spread=3.0).X


@pytest.fixture
def blobs():
    """Three clusters that any method separates."""
    return _make_problem(spread=0.5)


@pytest.fixture
def overlapping():
    """Three clusters that no method gets quite right."""
    return _make_problem(spread=3.0, n_pairs=120)


@pytest.fixture(params=SMALL)
def estimator(request):
    """Each estimator in turn, not fitted."""
    return clone(SMALL[request.param])


@pytest.fixture(params=["KernelCSC", "SingleKernelCSC", "MahalanobisCSC"])
def searcher(request):
    """Each estimator that searches, not fitted."""
    return clone(SMALL[request.param])
