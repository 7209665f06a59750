"""Eigenvalues where the routine of first choice gives up."""

import numpy as np
import pytest
import scipy.linalg

from linkwise import KernelCSC
from linkwise.baselines import MPCKMeans
from linkwise.baselines._metric_rounds import Farthest
from linkwise.baselines._mpck_means import best_metric
from linkwise.constraints import Constraints
from linkwise.kernels import WithinWhitened, eigen
from linkwise.kernels._landmark_space import positive_inverse
from linkwise.kernels._views import Known


@pytest.fixture
def giving_up(monkeypatch):
    """Numpy's routine and scipy's fast ones find nothing; counts how often."""
    by_scipy = scipy.linalg.eigh
    calls = []

    def gives_up(matrix, *args, **options):
        if options.get("driver") == "ev":
            return by_scipy(matrix, *args, **options)
        calls.append(matrix)
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", gives_up)
    monkeypatch.setattr(scipy.linalg, "eigh", gives_up)
    return calls


def symmetric(size=6, seed=0):
    half = np.random.default_rng(seed).normal(size=(size, size))
    return half + half.T


@pytest.mark.parametrize("driver", [None, "evd", "evr"])
def test_another_routine_finds_them(driver, giving_up):
    matrix = symmetric()
    values, vectors = eigen(matrix, driver)
    assert len(giving_up) == 1
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12)


def test_the_largest_alone(giving_up, monkeypatch):
    matrix = symmetric()
    values, vectors = eigen(matrix, "evr", 2)
    monkeypatch.undo()
    for found in ((values, vectors), eigen(matrix, "evr", 2)):
        np.testing.assert_allclose(found[0], np.linalg.eigvalsh(matrix)[-2:])
        np.testing.assert_allclose(matrix @ found[1], found[1] * found[0], atol=1e-12)


def test_the_first_choice_is_taken_where_it_works():
    matrix = symmetric()
    for found, expected in zip(eigen(matrix), np.linalg.eigh(matrix), strict=True):
        np.testing.assert_array_equal(found, expected)


class TestWhereItIsUsed:
    """Each place gives the same as before."""

    def check(self, compute, giving_up, monkeypatch):
        found = compute()
        assert giving_up
        monkeypatch.undo()
        np.testing.assert_allclose(found, compute(), rtol=1e-9, atol=1e-9)

    def test_inverse_among_landmarks(self, giving_up, monkeypatch):
        indefinite = np.diag([3.0, 1.0, -2.0])
        self.check(lambda: positive_inverse(indefinite), giving_up, monkeypatch)

    def test_metric_of_a_cluster(self, giving_up, monkeypatch):
        scatter = symmetric() @ symmetric()
        mass = np.array([5.0])
        self.check(lambda: best_metric(scatter[None], mass), giving_up, monkeypatch)

    def test_farthest_points_under_a_metric(self, giving_up, monkeypatch):
        rows = np.random.default_rng(0).normal(size=(30, 6))
        metric = symmetric() @ symmetric()
        self.check(lambda: np.abs(Farthest(rows, None)(metric)), giving_up, monkeypatch)

    def test_whitening_inside_groups(self, giving_up, monkeypatch):
        X = np.random.default_rng(0).normal(size=(40, 3))
        known = Known(np.arange(40) % 4, 4)

        def gram():
            points = WithinWhitened().fit(X, None, known).transform(X).values
            return points @ points.T

        self.check(gram, giving_up, monkeypatch)


@pytest.mark.parametrize(
    "model",
    [
        MPCKMeans(3, covariance="full", random_state=0),
        KernelCSC(3, n_candidates=10, approximation="landmarks", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_get_on(model, giving_up):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = 4.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    model.fit(X, constraints=Constraints.sample(y, 30, random_state=0))
    assert giving_up
    assert model.constraint_score_ > 0.8
