"""Small networks of dense layers, their gradients, and two ways to descend."""

from collections.abc import Sequence

import numpy as np

from linkwise._typing import FloatArray, IntArray

# What is added to a root before slopes are divided by it.
_EPSILON = 1e-8


class DenseNetwork:
    """Dense layers with ReLU between them; the last one is linear.

    Parameters
    ----------
    sizes : sequence of int
        Width of the input, of the hidden layers and of the output.
    rng : numpy.random.Generator
        Draws the first weights as He et al. (2015): variance 2 over the inputs.

    Attributes
    ----------
    parameters : list of ndarray
        Weights (inputs, outputs) and offsets (outputs,) of each layer in turn.
    """

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator) -> None:
        self.parameters: list[FloatArray] = []
        for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
            spread = np.sqrt(2.0 / max(n_in, 1))
            self.parameters.append(spread * rng.standard_normal((n_in, n_out)))
            self.parameters.append(np.zeros(n_out))

    def forward(self, X: FloatArray) -> list[FloatArray]:
        """Return what enters each layer, and last the output."""
        values = [X]
        last = len(self.parameters) - 2
        for at in range(0, len(self.parameters), 2):
            out = values[-1] @ self.parameters[at] + self.parameters[at + 1]
            values.append(out if at == last else np.maximum(out, 0.0, out=out))
        return values

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the output for rows of X."""
        return self.forward(X)[-1]

    def backward(
        self, values: list[FloatArray], slope: FloatArray
    ) -> tuple[list[FloatArray], FloatArray]:
        """Return the slopes in the parameters, and in what the first layer gives.

        Parameters
        ----------
        values : list of ndarray
            What :meth:`forward` returned.
        slope : ndarray of shape (n, n_out)
            The slope of a loss in the output.

        Returns
        -------
        slopes : list of ndarray
            Those of the parameters.
        first : ndarray of shape (n, n_first)
            Times the first weights, transposed, it is the slope in the input.
        """
        slopes: list[FloatArray] = []
        for at in range(len(self.parameters) - 2, -1, -2):
            entered = values[at // 2]
            slopes = [entered.T @ slope, slope.sum(axis=0), *slopes]
            if at > 0:
                slope = slope @ self.parameters[at].T
                slope *= entered > 0.0
        return slopes, slope


class Adam:
    """Steps of Kingma and Ba (2015), made in place.

    Parameters
    ----------
    parameters : list of ndarray
        What moves.
    rate : float
        Size of a step.
    """

    def __init__(self, parameters: list[FloatArray], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self._mean = [np.zeros_like(p) for p in parameters]
        self._square = [np.zeros_like(p) for p in parameters]
        self._n_steps = 0

    def step(self, slopes: list[FloatArray]) -> None:
        """Move against the slopes."""
        self._n_steps += 1
        first, second = 0.9, 0.999
        rate = self.rate / (1.0 - first**self._n_steps)
        unbiased = 1.0 - second**self._n_steps
        for p, slope, mean, square in zip(
            self.parameters, slopes, self._mean, self._square, strict=True
        ):
            mean += (1.0 - first) * (slope - mean)
            square += (1.0 - second) * (slope**2 - square)
            p -= rate * mean / (np.sqrt(square / unbiased) + _EPSILON)


class RMSprop:
    """Steps over the root of the mean square of the slopes, made in place.

    Parameters
    ----------
    parameters : list of ndarray
        What moves.
    rate : float
        Size of a step.
    """

    def __init__(self, parameters: list[FloatArray], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self._square = [np.zeros_like(p) for p in parameters]

    def step(self, slopes: list[FloatArray]) -> None:
        """Move against the slopes."""
        for p, slope, square in zip(self.parameters, slopes, self._square, strict=True):
            square += (1.0 - 0.99) * (slope**2 - square)
            p -= self.rate * slope / (np.sqrt(square) + _EPSILON)


def batches_of(
    n_items: int, size: int, n_batches: int, rng: np.random.Generator
) -> list[IntArray]:
    """Return positions in batches: all items in random order, again and again.

    With no more items than ``size``, each batch has all of them. What is left at the
    end of a round is part of the next.
    """
    if n_items <= size:
        return [np.arange(n_items)] * n_batches
    n_rounds = -(-n_batches * size // n_items)
    order = np.concatenate([rng.permutation(n_items) for _ in range(n_rounds)])
    return list(order[: n_batches * size].reshape(n_batches, size))
