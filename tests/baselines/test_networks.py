"""Dense layers, their slopes, and the two ways to descend."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.baselines.slopes import numeric_slope

from linkwise.baselines._networks import Adam, DenseNetwork, RMSprop, batches_of


def rng(seed=0):
    return np.random.default_rng(seed)


def test_layers_are_products_with_relu_between_them():
    network = DenseNetwork([3, 4, 2], rng())
    W, a, V, b = network.parameters
    a[:], b[:] = rng(1).normal(size=4), rng(2).normal(size=2)
    X = rng(3).normal(size=(5, 3))
    assert_allclose(network(X), np.maximum(X @ W + a, 0.0) @ V + b)


@pytest.mark.parametrize("sizes", [[3, 2], [3, 5, 2], [2, 6, 5, 4]])
def test_slopes_are_those_of_finite_differences(sizes):
    network = DenseNetwork(sizes, rng())
    for p in network.parameters:
        p += 0.1 * rng(1).normal(size=p.shape)
    X, goal = rng(2).normal(size=(7, sizes[0])), rng(3).normal(size=(7, sizes[-1]))

    def loss():
        return float(((network(X) - goal) ** 2).sum())

    values = network.forward(X)
    slopes, first = network.backward(values, 2.0 * (values[-1] - goal))
    assert len(slopes) == len(network.parameters)
    for at, slope in enumerate(slopes):
        kept = network.parameters[at]

        def of_parameter(p, at=at):
            network.parameters[at] = p
            return loss()

        assert_allclose(slope, numeric_slope(of_parameter, kept), atol=1e-5)
        network.parameters[at] = kept
    expected = numeric_slope(lambda Z: float(((network(Z) - goal) ** 2).sum()), X)
    assert_allclose(first @ network.parameters[0].T, expected, atol=1e-5)


def test_first_weights_keep_the_size_of_what_passes():
    X = rng().normal(size=(200, 300))
    values = DenseNetwork([300, 300, 300, 300], rng(1)).forward(X)
    assert np.square(values[-1]).mean() == pytest.approx(2.0, rel=0.3)


def test_the_first_step_of_adam_has_the_size_of_its_rate():
    p = np.array([1.0, -2.0])
    Adam([p], 0.1).step([np.array([30.0, -0.001])])
    assert_allclose(p, [0.9, -1.9], atol=1e-5)


def test_adam_by_its_formulas():
    p, plain = np.array([0.5]), np.array([0.5])
    descent, m, v = Adam([p], 0.01), 0.0, 0.0
    for t in range(1, 6):
        slope = np.array([np.sin(t)])
        descent.step([slope])
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
        plain = plain - 0.01 * mean / (np.sqrt(square) + 1e-8)
    assert_allclose(p, plain, rtol=1e-12)


def test_rmsprop_by_its_formulas():
    p, plain, v = np.array([0.5]), np.array([0.5]), 0.0
    descent = RMSprop([p], 0.01)
    for t in range(1, 6):
        slope = np.array([np.cos(t)])
        descent.step([slope])
        v = 0.99 * v + 0.01 * slope**2
        plain = plain - 0.01 * slope / (np.sqrt(v) + 1e-8)
    assert_allclose(p, plain, rtol=1e-12)


@pytest.mark.parametrize("descent", [Adam, RMSprop])
def test_both_find_the_lowest_point_of_a_bowl(descent):
    p = np.array([3.0, -4.0])
    steps = descent([p], 0.05)
    for _ in range(2000):
        steps.step([2.0 * (p - [1.0, 2.0])])
    assert_allclose(p, [1.0, 2.0], atol=0.1)


def test_batches_pass_over_all_items_before_one_returns():
    batches = batches_of(10, 4, 5, rng())
    assert [len(batch) for batch in batches] == [4] * 5
    order = np.concatenate(batches)
    assert_array_equal(np.sort(order[:10]), np.arange(10))
    assert_array_equal(np.sort(order[10:]), np.arange(10))
    for batch in batches_of(3, 4, 2, rng()):
        assert_array_equal(batch, np.arange(3))
