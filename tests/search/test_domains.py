import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from linkwise.search import Cube, SparseVectors

sparse_domains = st.builds(
    SparseVectors, st.integers(1, 40), max_nonzero=st.integers(1, 45)
)
domains = sparse_domains | st.builds(Cube, st.integers(1, 40))
seeds = st.integers(0, 2**32 - 1)


@given(domains, seeds, st.integers(0, 50))
@settings(deadline=None)
def test_draws_lie_in_the_domain(domain, seed, n):
    drawn = domain.sample(np.random.default_rng(seed), n)
    assert drawn.shape == (n, domain.n_weights)
    assert all(domain.contains(weights) for weights in drawn)


@given(domains)
@settings(deadline=None)
def test_first_candidates_lie_in_the_domain(domain):
    assert all(domain.contains(weights) for weights in domain.first())


@given(sparse_domains, seeds)
@settings(deadline=None)
def test_draws_have_two_weights_at_least_unless_only_one_is_possible(domain, seed):
    drawn = domain.sample(np.random.default_rng(seed), 20)
    sizes = np.count_nonzero(drawn, axis=1)
    smallest = 1 if domain.ends_with_first else 2
    assert sizes.min() >= smallest
    assert sizes.max() <= min(domain.max_nonzero, domain.n_weights)
    assert drawn[drawn > 0].min() >= 0.001


@given(domains, seeds)
@settings(deadline=None)
def test_a_seed_determines_the_draws(domain, seed):
    once, again = (domain.sample(np.random.default_rng(seed), 10) for _ in range(2))
    assert np.array_equal(once, again)


class TestDrawsOfSparseVectors:
    @pytest.fixture
    def drawn(self):
        return SparseVectors(9, max_nonzero=5).sample(np.random.default_rng(0), 20_000)

    def test_sizes_are_uniform(self, drawn):
        sizes, counts = np.unique(np.count_nonzero(drawn, axis=1), return_counts=True)
        assert sizes.tolist() == [2, 3, 4, 5]
        assert chisquare(counts).pvalue > 0.01

    def test_every_place_is_equally_likely(self, drawn):
        assert chisquare(np.count_nonzero(drawn, axis=0)).pvalue > 0.01

    @pytest.mark.parametrize("size", [2, 3])
    def test_every_support_of_a_size_is_equally_likely(self, drawn, size):
        of_size = drawn[np.count_nonzero(drawn, axis=1) == size]
        _, counts = np.unique(of_size > 0, axis=0, return_counts=True)
        assert len(counts) == {2: 36, 3: 84}[size]
        assert chisquare(counts).pvalue > 0.01

    def test_values_are_uniform_at_every_size(self, drawn):
        sizes = np.count_nonzero(drawn, axis=1)
        for size in (2, 5):
            values = drawn[sizes == size]
            assert kstest(values[values > 0], "uniform").pvalue > 0.01


def test_draws_of_a_cube_are_uniform_in_each_weight():
    drawn = Cube(3).sample(np.random.default_rng(0), 5000)
    for column in drawn.T:
        assert kstest(column, "uniform").pvalue > 0.01


def test_a_cube_never_gives_the_zero_vector():
    class Zeros:
        def random(self, shape):
            return np.zeros(shape)

    assert Cube(3).sample(Zeros(), 2).all()


@pytest.mark.parametrize(
    "weights",
    [[0, 0, 0], [1, 1, 1], [0.5, 1.1, 0], [-0.1, 0.5, 0], [np.nan, 0, 0.5], [0.5, 0.5]],
    ids=str,
)
def test_sparse_vectors_contain_no_other(weights):
    assert not SparseVectors(3, max_nonzero=2).contains(np.array(weights))


@pytest.mark.parametrize(
    "weights", [[0, 0], [0.5, 1.1], [-0.1, 0.5], [np.nan, 0.5], [0.5]], ids=str
)
def test_a_cube_contains_no_other(weights):
    assert not Cube(2).contains(np.array(weights))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SparseVectors(0), "n_weights=0"),
        (lambda: SparseVectors(3, max_nonzero=0), "max_nonzero=0"),
        (lambda: SparseVectors(3, max_nonzero=1.5), "max_nonzero=1.5"),
        (lambda: Cube(-1), "n_weights=-1"),
    ],
)
def test_domains_of_no_size_are_refused(make, message):
    with pytest.raises(ValueError, match=f"{message}: must be an integer, at least 1"):
        make()
