"""Models are repeatable, can be copied and stored, and keep no more than they need."""

import gc
import pickle
import subprocess
import sys
import weakref

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from linkwise import KernelBank, KernelCSC, MahalanobisCSC, SingleKernelCSC
from linkwise.kernels import RBF, Laplacian, Linear

# A few kernels leave most of a small budget to the search.
KERNELS = [Linear(), RBF(0.02), RBF(0.05), Laplacian(0.1)]


def table(model):
    return model.history_.drop(columns="seconds")


def assert_same_fit(one, other):
    assert_array_equal(one.labels_, other.labels_)
    assert one.objective_ == other.objective_
    if hasattr(one, "history_"):
        pd.testing.assert_frame_equal(table(one), table(other), check_exact=True)


class TestRepeatability:
    def test_a_second_fit_gives_the_same(self, estimator, overlapping):
        X, _, pairs = overlapping
        first = clone(estimator).fit(X, constraints=pairs)
        assert_same_fit(estimator.fit(X, constraints=pairs), first)
        assert_same_fit(estimator.fit(X, constraints=pairs), first)

    def test_a_fit_to_other_data_leaves_no_trace(self, estimator, overlapping, blobs):
        X, _, pairs = overlapping
        estimator.fit(blobs.X[:40, :2], constraints=([(0, 1)], [(0, 2), (1, 3)]))
        estimator.fit(X, constraints=pairs)
        assert_same_fit(estimator, clone(estimator).fit(X, constraints=pairs))

    @pytest.mark.parametrize("search", ["random", "forest", "gp", "bagged_linear"])
    def test_the_number_of_jobs_changes_nothing(self, search, overlapping):
        X, _, pairs = overlapping
        for model in (
            KernelCSC(
                3, kernels=KERNELS, n_candidates=20, search=search, random_state=0
            ),
            MahalanobisCSC(3, n_candidates=12, search=search, random_state=0),
        ):
            one = clone(model).set_params(n_jobs=1).fit(X, constraints=pairs)
            two = clone(model).set_params(n_jobs=2).fit(X, constraints=pairs)
            assert_same_fit(one, two)
            assert one.stopped_by_ == "budget"

    @pytest.mark.parametrize("cv", [0, 3])
    def test_the_number_of_jobs_changes_no_single_kernel(self, cv, overlapping):
        X, _, pairs = overlapping
        one = SingleKernelCSC(3, cv=cv, random_state=0, n_jobs=1)
        two = SingleKernelCSC(3, cv=cv, random_state=0, n_jobs=2)
        assert_same_fit(one.fit(X, constraints=pairs), two.fit(X, constraints=pairs))

    def test_a_random_state_object_moves_on(self, overlapping):
        X, _, pairs = overlapping
        options = {"n_candidates": 20, "kernels": KERNELS}
        model = KernelCSC(3, random_state=np.random.RandomState(0), **options)
        first = table(model.fit(X, constraints=pairs))
        assert not table(model.fit(X, constraints=pairs)).equals(first)
        model.set_params(random_state=np.random.RandomState(0))
        assert table(model.fit(X, constraints=pairs)).equals(first)

    def test_the_global_seed_is_left_alone(self, estimator, overlapping):
        X, _, pairs = overlapping
        np.random.seed(3)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        estimator.fit(X, constraints=pairs)
        assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    def test_another_process_gives_the_same(self, overlapping):
        X, _, pairs = overlapping
        code = (
            "import sys, pickle\n"
            "models, X, pairs = pickle.load(sys.stdin.buffer)\n"
            "fitted = [m.fit(X, constraints=pairs) for m in models]\n"
            "pickle.dump(fitted, sys.stdout.buffer)\n"
        )
        models = [
            KernelCSC(3, n_candidates=20, random_state=0),
            MahalanobisCSC(3, n_candidates=8, search="forest", random_state=0),
        ]
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps((models, X, pairs)),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        for there, here in zip(pickle.loads(done.stdout), models, strict=True):
            assert_same_fit(there, here.fit(X, constraints=pairs))


class TestStoring:
    def test_pickle_and_joblib_keep_predictions(
        self, estimator, overlapping, new_rows, tmp_path
    ):
        X, _, pairs = overlapping
        expected = estimator.fit(X, constraints=pairs).predict(new_rows)
        joblib.dump(estimator, tmp_path / "model")
        for loaded in (
            pickle.loads(pickle.dumps(estimator)),
            joblib.load(tmp_path / "model"),
        ):
            assert_array_equal(loaded.predict(new_rows), expected)
            assert_same_fit(loaded, estimator)

    def test_a_model_is_little_larger_than_its_data(self, estimator):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 30))
        if isinstance(estimator, KernelCSC):
            estimator.set_params(kernels="paper")
        estimator.fit(X, np.where(np.arange(400) < 6, np.arange(400) % 3, -1))
        # The raw and the standardised rows; labels, shares; the history.
        assert len(pickle.dumps(estimator)) < 2 * X.nbytes + 40 * len(X) + 60_000

    def test_given_gram_matrices_are_not_kept(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 4))
        model = KernelCSC(3, kernels="precomputed", n_candidates=10)
        model.fit([X @ X.T, RBF(1.0)(X, X)], constraints=([(0, 1)], [(0, 2)]))
        assert len(pickle.dumps(model)) < 40_000

    @pytest.mark.parametrize(
        "model", [KernelCSC(3, n_candidates=10), SingleKernelCSC(3)]
    )
    def test_the_bank_is_not_kept(self, model, overlapping, monkeypatch):
        X, _, pairs = overlapping
        banks, build = [], KernelBank.build

        def noting(*args, **options):
            bank = build(*args, **options)
            banks.append(weakref.ref(bank))
            return bank

        monkeypatch.setattr(KernelBank, "build", noting)
        model.fit(X, constraints=pairs)
        gc.collect()
        assert len(banks) == 1 and banks[0]() is None


class TestParameters:
    def test_fit_changes_none(self, estimator, overlapping):
        X, _, pairs = overlapping
        before = dict(estimator.get_params())
        estimator.fit(X, constraints=pairs)
        after = estimator.get_params()
        assert all(after[name] is before[name] for name in before)

    def test_fit_changes_no_data(self, estimator, overlapping):
        X = overlapping.X.copy()
        estimator.fit(X, constraints=overlapping.pairs)
        assert_array_equal(X, overlapping.X)

    def test_lists_of_kernels_are_left_alone(self, overlapping):
        X, _, pairs = overlapping
        kernels = [Linear(), RBF(0.1), X @ X.T]
        model = KernelCSC(3, kernels=kernels, n_candidates=5).fit(X, constraints=pairs)
        assert model.kernels is kernels and len(kernels) == 3

    def test_a_clone_is_not_fitted(self, estimator, overlapping):
        X, _, pairs = overlapping
        copy = clone(estimator.fit(X, constraints=pairs))
        assert copy.get_params() == estimator.get_params()
        assert not hasattr(copy, "labels_")

    def test_set_params_takes_effect(self, estimator, overlapping):
        X, _, pairs = overlapping
        estimator.set_params(n_clusters=4).fit(X, constraints=pairs)
        assert len(np.unique(estimator.labels_)) == 4

    def test_the_representation_shows_what_was_changed(self):
        model = KernelCSC(3, kernels=[Linear()], final_step="hard")
        assert repr(model) == (
            "KernelCSC(final_step='hard', kernels=[Linear()], n_clusters=3)"
        )
        assert "KernelCSC" in model._repr_html_()
