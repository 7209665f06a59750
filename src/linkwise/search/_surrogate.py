"""Models that guess scores of untried weights, with a spread."""

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwise._typing import FloatArray


class Prediction(NamedTuple):
    """Guessed scores of candidates."""

    mean: FloatArray  # (n_new,)
    std: FloatArray  # (n_new,)


class Surrogate(Protocol):
    """Learns from tried weights and guesses the scores of new ones."""

    def __call__(
        self,
        tried: FloatArray,  # (n_tried, n_weights)
        scores: FloatArray,  # (n_tried,), finite
        new: FloatArray,  # (n_new, n_weights)
        rng: np.random.Generator,
    ) -> Prediction:
        """Return the guesses for the rows of ``new``."""
        ...


class Forest:
    """Random forest; the spread is that of its trees."""

    def __init__(self, n_trees: int) -> None:
        self._n_trees = n_trees

    def __call__(
        self,
        tried: FloatArray,
        scores: FloatArray,
        new: FloatArray,
        rng: np.random.Generator,
    ) -> Prediction:
        """Return mean and population standard deviation over the trees."""
        from sklearn.ensemble import RandomForestRegressor

        # One thread: candidates, not trees, are what is run in parallel.
        forest = RandomForestRegressor(
            self._n_trees, bootstrap=True, n_jobs=1, random_state=_seed(rng)
        )
        forest.fit(tried, scores)
        # The trees themselves, for each check of the input costs more than a tree.
        rows = np.ascontiguousarray(new, dtype=np.float32)
        guesses = np.stack(
            [tree.tree_.predict(rows).reshape(-1) for tree in forest.estimators_]
        )
        return Prediction(guesses.mean(axis=0), guesses.std(axis=0))


class BaggedLinear:
    """Least squares on bootstrap samples; the spread is that of the fits."""

    def __init__(self, n_models: int) -> None:
        self._n_models = n_models

    def __call__(
        self,
        tried: FloatArray,
        scores: FloatArray,
        new: FloatArray,
        rng: np.random.Generator,
    ) -> Prediction:
        """Return mean and population standard deviation over the fits."""
        n = len(tried)
        # A bootstrap sample is how often each row is in it, which lets all normal
        # equations be set up and solved together.
        counts = rng.multinomial(n, np.full(n, 1 / n), size=self._n_models)
        shares = counts / n  # (n_models, n_tried)
        centres = shares @ tried
        means = shares @ scores
        moments = (tried.T * shares[:, np.newaxis, :]) @ tried
        moments -= centres[:, :, np.newaxis] * centres[:, np.newaxis, :]
        targets = (shares * scores) @ tried - means[:, np.newaxis] * centres
        # A weight that is zero throughout a sample makes its moments singular; the
        # pseudo-inverse gives the solution of least norm, as lstsq would.
        inverses = np.linalg.pinv(moments, rcond=1e-10, hermitian=True)
        slopes = (inverses @ targets[:, :, np.newaxis])[:, :, 0]
        intercepts = means - (slopes * centres).sum(axis=1)
        guesses = new @ slopes.T + intercepts  # (n_new, n_models)
        return Prediction(guesses.mean(axis=1), guesses.std(axis=1))


class GaussianProcess:
    """Matern-5/2 process on standardised scores.

    The length scale is fitted anew only when the number of tried weights passes
    ``n_initial * 1.3 ** j``: a fit costs dozens of factorisations, and the scale
    hardly moves between two of them.
    """

    def __init__(self, noise: float, n_initial: int) -> None:
        self._noise = noise
        self._next_fit = float(max(n_initial, 1))
        self._kernel: Any = None

    def __call__(
        self,
        tried: FloatArray,
        scores: FloatArray,
        new: FloatArray,
        rng: np.random.Generator,
    ) -> Prediction:
        """Return posterior mean and standard deviation."""
        if np.ptp(scores) == 0:
            # Nothing to standardise by and no scale to learn: all guesses are equal.
            return Prediction(np.full(len(new), scores[0]), np.zeros(len(new)))
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # A scale at its bound is a fair answer when scores tell little, and
            # variances next to tried weights may round to just below zero.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", message="Predicted variances smaller")
            model = self._fit(tried, scores, _seed(rng))
            mean, std = model.predict(new, return_std=True)
        return Prediction(mean, std)

    def _fit(self, tried: FloatArray, scores: FloatArray, seed: int) -> Any:
        """Return the process given the scores, its scale fitted if that is due."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import Matern

        due = self._kernel is None or len(tried) >= self._next_fit
        model = GaussianProcessRegressor(
            Matern(nu=2.5) if self._kernel is None else self._kernel,
            alpha=self._noise,
            optimizer="fmin_l_bfgs_b" if due else None,
            normalize_y=True,
            random_state=seed,
        )
        model.fit(tried, scores)
        self._kernel = model.kernel_
        while self._next_fit <= len(tried):
            self._next_fit *= 1.3
        return model


def _seed(rng: np.random.Generator) -> int:
    """Draw a seed that scikit-learn accepts."""
    return int(rng.integers(2**31))
