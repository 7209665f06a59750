"""What every bank must do; a bank's test class inherits this."""

import numpy as np


def scatter_of(space):
    """Return the total scatter of the points, from kernel values of all pairs."""
    n, w = space.n_samples, space.sample_weight
    i, j = np.divmod(np.arange(n * n), n)
    gram = space.pairs(i, j).reshape(n, n)
    return float(w @ gram.diagonal() - w @ gram @ w / w.sum())


class BankContract:
    """A subclass provides the fixture ``bank``."""

    def draw(self, bank, seed=0):
        return np.random.default_rng(seed).uniform(0.1, 1.0, bank.n_weights)

    def gram_of(self, space):
        n = space.n_samples
        i, j = np.divmod(np.arange(n * n), n)
        return space.pairs(i, j).reshape(n, n)

    def test_a_geometry_has_the_points_and_weights_of_the_bank(self, bank):
        space = bank.combine(self.draw(bank))
        assert space.n_samples == len(bank.sample_weight)
        assert np.array_equal(space.sample_weight, bank.sample_weight)

    def test_geometries_can_be_made_in_memory_used_before(self, bank):
        first, second = self.draw(bank, 0), self.draw(bank, 1)
        memory = bank.empty()
        memory.fill(np.nan)
        bank.combine(first, out=memory)
        reused = self.gram_of(bank.combine(second, out=memory))
        assert np.array_equal(reused, self.gram_of(bank.combine(second)))

    def test_a_new_geometry_leaves_earlier_ones_alone(self, bank):
        space = bank.combine(self.draw(bank, 0))
        before = self.gram_of(space)
        bank.combine(self.draw(bank, 1))
        assert np.array_equal(self.gram_of(space), before)

    def test_scatter_is_that_of_the_combined_geometry(self, bank):
        for seed in range(3):
            weights = self.draw(bank, seed)
            expected = scatter_of(bank.combine(weights))
            np.testing.assert_allclose(bank.scatter(weights), expected, rtol=1e-4)

    def test_weights_of_zero_leave_their_part_out(self, bank):
        weights = self.draw(bank)
        weights[1:] = 0.0
        alone = self.gram_of(bank.combine(weights))
        weights[-1] = 1e-30
        np.testing.assert_allclose(
            alone, self.gram_of(bank.combine(weights)), atol=1e-12
        )

    def test_geometries_are_the_same_each_time(self, bank):
        weights = self.draw(bank)
        weights.flags.writeable = False
        once, again = (self.gram_of(bank.combine(weights)) for _ in range(2))
        assert np.array_equal(once, again)
