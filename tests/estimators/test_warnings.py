"""Warnings point at the line of the user's."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    ConstraintWarning,
    InfeasibleConstraintsError,
    KernelCSC,
)
from linkwise.kernels import RBF, Linear


def only_warning(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    assert len(caught) == 1
    return caught[0]


def calls(model, *args, **options):
    """Return every way to fit a model that a user's line may hold."""
    return [
        lambda: model.fit(*args, **options),
        lambda: model.fit_predict(*args, **options),
    ]


def test_too_few_rounds(estimator, overlapping):
    X, _, pairs = overlapping
    estimator.set_params(max_iter=1)
    if isinstance(estimator, ConstrainedKernelKMeans):
        estimator.set_params(mode="hard")  # the soft one may rest after one round
    for call in calls(estimator, X, constraints=pairs):
        warning = only_warning(call)
        assert warning.category is ConvergenceWarning
        assert "Labels still moved at max_iter=1; raise max_iter" in str(
            warning.message
        )
        assert warning.filename == __file__


def test_no_pairs(searcher, blobs):
    for call in calls(searcher, blobs.X):
        warning = only_warning(call)
        assert warning.category is ConstraintWarning
        assert warning.filename == __file__


def test_fewer_groups_than_clusters(estimator, blobs):
    X, y, _ = blobs
    estimator.set_params(n_clusters=5)
    for call in calls(estimator, X, y):
        warning = only_warning(call)
        assert warning.category is ConstraintWarning
        assert "only 3 groups of rows for n_clusters=5" in str(warning.message)
        assert warning.filename == __file__


def test_through_a_pipeline(blobs):
    pipe = make_pipeline(StandardScaler(), KernelCSC(3))
    assert only_warning(lambda: pipe.fit(blobs.X)).filename == __file__


def test_from_a_subclass_of_the_users(blobs):
    class Mine(KernelCSC):
        def fit(self, X, y=None):
            return super().fit(X, y)

    assert only_warning(lambda: Mine(3).fit(blobs.X)).filename == __file__


def test_a_good_fit_is_silent(estimator, blobs):
    estimator.fit(blobs.X, constraints=blobs.pairs)


def test_too_few_groups_for_hard_pairs_is_an_error_and_no_warning(blobs):
    for model in (
        KernelCSC(5, final_step="hard"),
        ConstrainedKernelKMeans(5, mode="hard"),
    ):
        with pytest.raises(InfeasibleConstraintsError):
            model.fit(blobs.X, blobs.y)


def test_clusters_no_more_compact_than_random_ones_are_reported():
    # With 17 columns of noise, all rows are about equally far apart: narrow kernels
    # keep k-means at its start, and the start satisfies every pair.
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.standard_normal((150, 20))
    X[:, :3] += 3 * np.eye(3)[y]
    pairs = Constraints.sample(y, 60, random_state=0)
    options = {"n_candidates": 200, "selection": "train", "random_state": 0}
    model = KernelCSC(3, kernels="paper", **options)
    with pytest.warns(ConstraintWarning, match="hardly more compact than random"):
        model.fit(X, constraints=pairs)
    assert model.constraint_score_ == 1.0
    assert model.objective_ > 0.99


def test_only_the_chosen_kernel_is_judged():
    X = (
        np.concatenate([np.zeros(10), np.full(10, 9.0)])[:, None]
        + np.arange(20)[:, None] / 50
    )
    model = KernelCSC(
        2, kernels=[RBF(1e6), Linear()], filter="none", tie_break="objective"
    )
    model.fit(X, constraints=([(0, 9), (10, 19)], [(0, 10)]))  # warnings are errors
    assert model.kernel_weights_[1] > 0
    assert model.objective_ < 0.2
