"""What every geometry must do; a space's test class inherits this."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwise.clustering import farthest_first, kmeans
from linkwise.constraints import Constraints
from linkwise.kernels import REBUILD_EVERY

SEEDS = st.integers(0, 10**6)
# One test is run by several classes, each with its own space.
quick = settings(
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.differing_executors],
)


def locked(array):
    """Return the array, protected against writing."""
    array.flags.writeable = False
    return array


def sums_by_definition(gram, weight, labels, n_groups):
    """Return F (k, n), Q (k,) and N (k,) of section 3, from the matrix itself."""
    member = weight * (labels == np.arange(n_groups)[:, None])
    return member @ gram, np.einsum("ki,ij,kj->k", member, gram, member), member.sum(1)


def assert_sums(sums, expected, rtol, dtype=np.float64):
    assert sums.sums.dtype == dtype
    assert sums.inner.dtype == sums.mass.dtype == np.float64
    for got, exact in zip((sums.sums, sums.inner, sums.mass), expected, strict=True):
        scale = max(1.0, np.abs(exact).max(initial=0.0))
        np.testing.assert_allclose(got, exact, rtol=0, atol=rtol * scale)


class SpaceContract:
    """A subclass provides ``space_of(X, weight)``: a space with K = XX'.

    ``rtol`` is the precision to which it holds kernel values, ``dtype_of_sums`` the
    type of its sums between groups and points, ``drift`` the error that is allowed in
    sums that have been kept up to date.
    """

    rtol = 1e-12
    dtype_of_sums = np.float64
    drift = 1e-9

    def space_of(self, X, weight=None):
        raise NotImplementedError

    def draw(self, seed, n=30, n_features=3):
        """Return data, weights and the exact Gram matrix."""
        rng = np.random.default_rng(seed)
        X = locked(rng.normal(size=(n, n_features)))
        weight = locked(rng.uniform(0.5, 3.0, size=n))
        return X, weight, X @ X.T, rng

    def test_weights_are_one_unless_given(self):
        X, weight, _, _ = self.draw(0)
        assert self.space_of(X).sample_weight.tolist() == [1.0] * len(X)
        assert self.space_of(X, weight).sample_weight.tolist() == weight.tolist()

    def test_the_diagonal_holds_squared_norms_in_double_precision(self):
        X, weight, gram, _ = self.draw(1)
        space = self.space_of(X, weight)
        assert space.n_samples == len(X)
        assert space.diagonal.dtype == np.float64
        np.testing.assert_allclose(space.diagonal, gram.diagonal(), rtol=self.rtol)

    @quick
    @given(seed=SEEDS)
    def test_pairs_are_kernel_values_in_double_precision(self, seed):
        X, weight, gram, rng = self.draw(seed)
        i, j = rng.integers(len(X), size=(2, 9))
        values = self.space_of(X, weight).pairs(i, j)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, gram[i, j], atol=50 * self.rtol)

    @pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 300])
    def test_the_diameter_is_that_of_the_farthest_pair(self, n):
        X, weight, _, _ = self.draw(n, n)
        largest = ((X[:, None] - X) ** 2).sum(axis=2).max()
        diameter = self.space_of(X, weight).squared_diameter()
        error = 50 * self.rtol
        np.testing.assert_allclose(diameter, largest, rtol=error, atol=error)

    def test_the_farthest_pair_is_found_wherever_it_lies(self):
        X, _, _, _ = self.draw(3, 300)
        for i, j in [(0, 299), (299, 0), (257, 299), (3, 4)]:
            far = X.copy()
            far[i], far[j] = 50.0, -50.0
            diameter = self.space_of(far).squared_diameter()
            np.testing.assert_allclose(diameter, 30000.0, rtol=50 * self.rtol)

    @quick
    @given(seed=SEEDS, k=st.integers(1, 5), least=st.sampled_from([-1, 0]))
    def test_group_sums_follow_their_definition(self, seed, k, least):
        X, weight, gram, rng = self.draw(seed)
        labels = locked(rng.integers(least, k, size=len(X)))
        space = self.space_of(X, weight)
        sums = space.group_sums(labels, k)
        expected = sums_by_definition(gram, weight, labels, k)
        assert_sums(sums, expected, 50 * self.rtol, self.dtype_of_sums)
        known = space.fixed_totals(labels, k)
        spread = known.totals
        if space.core is not None:
            core = space.core if space.core.size else np.eye(spread.shape[1])
            spread = spread @ core @ space.rows.T
        fixed = SimpleNamespace(sums=spread, inner=known.inner, mass=known.mass)
        assert_sums(fixed, expected, 50 * self.rtol)
        explained = (expected[1] / np.maximum(expected[2], 1e-300)).sum()
        assert sums.explained == pytest.approx(explained, rel=50 * self.rtol)

    def test_a_group_without_points_has_sums_of_zero(self):
        X, weight, _, _ = self.draw(4)
        sums = self.space_of(X, weight).group_sums(np.zeros(len(X), dtype=np.intp), 3)
        for values in (sums.sums, sums.inner, sums.mass):
            assert not values[1:].any()

    def test_there_may_be_no_groups_at_all(self):
        X, weight, _, _ = self.draw(5)
        sums = self.space_of(X, weight).group_sums(np.full(len(X), -1), 0)
        assert sums.sums.shape == (0, len(X))
        assert sums.inner.shape == sums.mass.shape == (0,)

    @quick
    @given(
        seed=SEEDS,
        shares=st.lists(st.sampled_from([0, 1, 2, 5, 14, 15, 30]), max_size=45),
    )
    def test_sums_kept_up_to_date_equal_sums_taken_anew(self, seed, shares):
        X, weight, _, rng = self.draw(seed)
        space = self.space_of(X, weight)
        labels = rng.integers(-1, 4, size=len(X))
        sums = space.group_sums(labels, 4)
        for n_touched in shares:
            rows = rng.choice(len(X), n_touched, replace=False)
            labels[rows] = rng.integers(-1, 4, size=n_touched)
            sums.move(labels)
        anew = space.group_sums(labels, 4)
        expected = anew.sums, anew.inner, anew.mass
        assert_sums(sums, expected, self.drift, self.dtype_of_sums)

    def test_rounding_errors_do_not_pile_up(self):
        X, weight, _, rng = self.draw(6)
        # A far point that comes and goes leaves its rounding errors behind.
        X = X.copy()
        X[0] = 1e8
        space = self.space_of(X, weight)
        labels = rng.integers(3, size=len(X))
        sums = space.group_sums(labels, 3)
        for _ in range(500):
            labels[0] = (labels[0] + 1) % 3
            sums.move(labels)
        labels[0] = -1
        for _ in range(REBUILD_EVERY):
            labels[rng.integers(1, len(X))] = rng.integers(3)
            sums.move(labels)
        anew = space.group_sums(labels, 3)
        np.testing.assert_allclose(
            sums.sums[:, 1:], anew.sums[:, 1:], rtol=0, atol=self.drift
        )
        np.testing.assert_allclose(sums.inner, anew.inner, rtol=0, atol=self.drift)
        np.testing.assert_allclose(sums.mass, anew.mass, rtol=0, atol=1e-9)

    def test_a_space_is_not_changed_by_its_use(self):
        X, weight, _, rng = self.draw(7)
        space, fresh = self.space_of(X, weight), self.space_of(X, weight)
        sums = space.group_sums(rng.integers(3, size=len(X)), 3)
        sums.move(rng.integers(3, size=len(X)))
        kmeans(space, rng.integers(3, size=len(X)), 3, polish=True)
        labels = np.arange(len(X)) % 2
        used, unused = (s.group_sums(labels, 2) for s in (space, fresh))
        assert np.array_equal(used.sums, unused.sums)
        assert np.array_equal(space.diagonal, fresh.diagonal)

    def test_whole_clusterings_equal_those_of_the_exact_geometry(self):
        rng = np.random.default_rng(8)
        X = rng.normal(size=(60, 2)) + 12.0 * rng.integers(3, size=(60, 1))
        X = locked(X - X.mean(axis=0))
        closure = Constraints([(0, 1), (2, 3)], [(0, 2)]).closure(60)
        start = farthest_first(self.space_of(X), closure, 3)
        result = kmeans(self.space_of(X), start, 3)
        distances = ((X[:, None] - X) ** 2).sum(axis=2)
        same = result.labels[:, None] == result.labels
        size = same.sum(axis=1)
        inertia = (same * distances / size[:, None]).sum() / 2
        assert result.converged
        assert result.objective == pytest.approx(inertia, rel=2000 * self.rtol)
