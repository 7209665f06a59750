"""The models are private, but their numbers have exact references to be held to."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor

from linkwise.search import SparseVectors
from linkwise.search._surrogate import BaggedLinear, Forest, GaussianProcess


@pytest.fixture
def tried():
    return SparseVectors(8).sample(np.random.default_rng(0), 60)


@pytest.fixture
def scores(tried):
    noise = np.random.default_rng(1).normal(0, 0.1, len(tried))
    return tried[:, 0] - tried[:, 1] + noise


@pytest.fixture
def new():
    return SparseVectors(8).sample(np.random.default_rng(2), 30)


class TestForest:
    def test_mean_and_spread_are_those_of_the_trees(self, tried, scores, new):
        mean, std = Forest(10)(tried, scores, new, np.random.default_rng(0))
        seed = int(np.random.default_rng(0).integers(2**31))
        forest = RandomForestRegressor(10, random_state=seed).fit(tried, scores)
        guesses = [tree.predict(new) for tree in forest.estimators_]
        np.testing.assert_allclose(mean, np.mean(guesses, axis=0))
        np.testing.assert_allclose(std, np.std(guesses, axis=0))


class TestBaggedLinear:
    def test_a_linear_score_is_learned_exactly(self, tried, new):
        slopes = np.arange(8)
        mean, std = BaggedLinear(20)(
            tried, tried @ slopes + 3, new, np.random.default_rng(0)
        )
        np.testing.assert_allclose(mean, new @ slopes + 3, atol=1e-6)
        np.testing.assert_allclose(std, 0, atol=1e-6)

    @pytest.mark.parametrize("n_tried", [60, 5])
    def test_each_fit_is_least_squares_of_least_norm(self, tried, scores, new, n_tried):
        tried, scores = tried[:n_tried], scores[:n_tried]
        mean, std = BaggedLinear(4)(tried, scores, new, np.random.default_rng(0))
        counts = np.random.default_rng(0).multinomial(
            n_tried, np.full(n_tried, 1 / n_tried), size=4
        )
        guesses = []
        for count in counts:
            rows = np.repeat(np.arange(n_tried), count)
            centre, level = tried[rows].mean(axis=0), scores[rows].mean()
            slopes = np.linalg.lstsq(tried[rows] - centre, scores[rows] - level)[0]
            guesses.append((new - centre) @ slopes + level)
        np.testing.assert_allclose(mean, np.mean(guesses, axis=0), atol=1e-8)
        np.testing.assert_allclose(std, np.std(guesses, axis=0), atol=1e-8)


class TestGaussianProcess:
    def test_tried_weights_keep_their_scores(self, tried, scores):
        process = GaussianProcess(noise=1e-6, n_initial=10)
        mean, std = process(tried, scores, tried, np.random.default_rng(0))
        np.testing.assert_allclose(mean, scores, atol=1e-2)
        assert std.max() < 1e-2

    def test_equal_scores_give_equal_guesses(self, tried, new):
        process = GaussianProcess(noise=1e-6, n_initial=10)
        mean, std = process(tried, np.full(60, 0.4), new, np.random.default_rng(0))
        assert set(mean) == {0.4}
        assert set(std) == {0.0}

    def test_the_scale_is_fitted_at_growing_intervals(
        self, tried, scores, new, monkeypatch
    ):
        fitted_at = []
        fit = GaussianProcessRegressor.fit

        def note(model, X, y):
            if model.optimizer is not None:
                fitted_at.append(len(X))
            return fit(model, X, y)

        monkeypatch.setattr(GaussianProcessRegressor, "fit", note)
        process = GaussianProcess(noise=1e-6, n_initial=20)
        for n in range(22, 60):
            process(tried[:n], scores[:n], new, np.random.default_rng(0))
        # Once to begin with, then past 20 * 1.3 ** j = 26, 33.8, 43.9, 57.1.
        assert fitted_at == [22, 26, 34, 44, 58]
