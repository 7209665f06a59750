"""k-means over blocks of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.utils import gen_batches

from linkwise.clustering import Centres, centres_of, descend_in_blocks, kmeans, share_of
from linkwise.kernels import FeatureSpace, LandmarkSpace

NO_CORE = np.empty((0, 0))
SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=25)


def draw(seed, n=80, k=3, d=2, spread=2.0):
    """Return rows and different first centres."""
    rng = np.random.default_rng(seed)
    X = spread * rng.normal(size=(n, d)) + 5.0 * rng.integers(k, size=(n, 1))
    return X, X[rng.choice(n, k, replace=False)], rng


def start_at(places, core=NO_CORE):
    return centres_of(places, np.ones(len(places)), core)


def run(X, places, *, weight=None, size=7, core=NO_CORE, max_iter=300, tol=0.0):
    def one_pass(centres):
        for block in gen_batches(len(X), size):
            yield share_of(centres, X[block], None if weight is None else weight[block])

    start = start_at(places, core)
    return descend_in_blocks(one_pass, start, core, max_iter=max_iter, tol=tol)


def lloyd(X, centres, weight=None, max_iter=300):
    """Return labels and centres where Lloyd's iterations end; plain numpy."""
    weight = np.ones(len(X)) if weight is None else weight
    labels = None
    for _ in range(max_iter):
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        if labels is not None and np.array_equal(labels, distances.argmin(axis=1)):
            break
        labels = distances.argmin(axis=1)
        centres = np.array(
            [
                np.average(X[labels == c], axis=0, weights=weight[labels == c])
                if (labels == c).any()
                else centres[c]
                for c in range(len(centres))
            ]
        )
    return labels, centres


class TestDescent:
    @quick
    @given(seed=SEEDS, k=st.integers(1, 5), size=st.integers(1, 100))
    def test_it_is_that_of_lloyd(self, seed, k, size):
        X, places, _ = draw(seed, k=k)
        result = run(X, places, size=size)
        labels, centres = lloyd(X, places)
        assert result.converged
        np.testing.assert_allclose(result.centres.coefficients.T, centres)
        np.testing.assert_allclose(result.centres.norms, (centres**2).sum(axis=1))
        assert np.array_equal(result.centres.labels(X), labels)

    @pytest.mark.parametrize("seed", range(5))
    def test_it_is_that_of_scikit_learn(self, seed):
        X, places, _ = draw(seed, n=200, d=4, k=4)
        model = KMeans(4, init=places, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
        result = run(X, places)
        assert np.array_equal(result.centres.labels(X), model.labels_)

    @quick
    @given(seed=SEEDS)
    def test_weights_equal_copies(self, seed):
        X, places, rng = draw(seed)
        times = rng.integers(1, 4, len(X))
        few = run(X, places, weight=times.astype(np.float64))
        many = run(np.repeat(X, times, axis=0), places)
        np.testing.assert_allclose(few.centres.coefficients, many.centres.coefficients)
        labels, _ = lloyd(X, places, times)
        assert np.array_equal(few.centres.labels(X), labels)

    @quick
    @given(seed=SEEDS)
    def test_any_block_size_gives_the_same_labels(self, seed):
        X, places, rng = draw(seed)
        weight = rng.uniform(0.5, 2.0, len(X))
        results = [
            run(X, places, weight=weight, size=s).centres.labels(X)
            for s in (1, 3, 80, 1000)
        ]
        for labels in results[1:]:
            assert np.array_equal(labels, results[0])

    @quick
    @given(seed=SEEDS, k=st.integers(2, 4))
    def test_a_core_gives_the_geometry_of_features(self, seed, k):
        X, places, rng = draw(seed, k=k, d=3)
        marks = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
        core = np.linalg.inv(marks @ marks.T)
        with_core = run(X @ marks.T, places @ marks.T, core=core)
        plain = run(X, places)
        labels = with_core.centres.labels(X @ marks.T)
        assert np.array_equal(labels, plain.centres.labels(X))
        np.testing.assert_allclose(
            with_core.centres.norms, plain.centres.norms, rtol=1e-6, atol=1e-6
        )

    @pytest.mark.parametrize("seed", range(5))
    def test_it_rests_where_kmeans_on_all_rows_rests(self, seed):
        X, _, rng = draw(seed, n=120, d=3)
        X = X - X.mean(axis=0)
        marks = rng.normal(size=(8, 3))
        cross = (X @ marks.T).astype(np.float32)
        space = LandmarkSpace(
            cross, np.linalg.pinv(marks @ marks.T), np.einsum("ij,ij->i", X, X), None
        )
        for geometry in (space, FeatureSpace(X)):
            done = kmeans(geometry, np.arange(120) % 3, 3)
            centres = centres_of(done.sums.totals, done.sums.mass, geometry.core)
            result = descend_in_blocks(
                lambda centres, rows=geometry.rows: (
                    share_of(centres, rows[block], None)
                    for block in gen_batches(120, 50)
                ),
                centres,
                geometry.core,
                max_iter=10,
                tol=0.0,
            )
            assert result.converged and result.n_iter <= 2
            assert np.array_equal(result.centres.labels(geometry.rows), done.labels)


class TestStopping:
    def test_the_limit_on_passes_is_kept(self):
        X, places, _ = draw(0, n=300, k=5, spread=4.0)
        whole = run(X, places)
        assert whole.converged and whole.n_iter > 3
        for max_iter in range(1, whole.n_iter):
            result = run(X, places, max_iter=max_iter)
            assert not result.converged and result.n_iter == max_iter
            _, centres = lloyd(X, places, max_iter=max_iter)
            np.testing.assert_allclose(result.centres.coefficients.T, centres)
        assert run(X, places, max_iter=whole.n_iter).converged

    def test_passes_that_gain_little_are_not_made(self):
        X, places, _ = draw(1, n=300, k=5, spread=4.0)
        n_iter = [run(X, places, tol=tol).n_iter for tol in (0.0, 1e-3, 0.5)]
        assert n_iter == sorted(n_iter, reverse=True)
        assert n_iter[0] > n_iter[-1] == 2

    def test_centres_are_those_after_the_last_pass(self):
        X, places, _ = draw(2, n=300, k=5, spread=4.0)
        result = run(X, places, tol=0.5)
        assert result.converged and result.n_iter == 2
        _, centres = lloyd(X, places, max_iter=2)
        np.testing.assert_allclose(result.centres.coefficients.T, centres)

    def test_data_at_rest_are_read_twice(self):
        X = np.array([[0.0], [1.0], [9.0], [10.0]])
        result = run(X, np.array([[0.5], [9.5]]))
        assert result.n_iter == 2 and result.converged

    def test_rows_that_are_all_zero_end_at_once(self):
        result = run(np.zeros((10, 2)), np.zeros((2, 2)))
        assert result.converged and result.n_iter == 2
        assert result.centres.labels(np.zeros((10, 2))).tolist() == [0] * 10


class TestEmptyClusters:
    def test_they_keep_their_centre(self):
        X = np.array([[0.0], [1.0], [9.0], [10.0]])
        result = run(X, np.array([[0.0], [1000.0], [9.0]]), size=3)
        assert result.converged
        centres = result.centres.coefficients[0]
        np.testing.assert_allclose(centres, [0.5, 1000.0, 9.5])
        assert result.centres.labels(X).tolist() == [0, 0, 2, 2]

    def test_they_can_be_filled_again(self):
        # In the first pass all rows are nearest to the first centre.
        X = np.array([[0.0], [0.0], [0.0], [10.0]])
        result = run(X, np.array([[8.0], [-20.0]]))
        labels, centres = lloyd(X, np.array([[8.0], [-20.0]]))
        np.testing.assert_allclose(result.centres.coefficients.T, centres)
        assert np.array_equal(result.centres.labels(X), labels)

    def test_nothing_warns_when_all_but_one_are_empty(self):
        X = np.ones((5, 2))
        result = run(X, np.array([[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]]))
        assert np.isfinite(result.centres.coefficients).all()


class TestBlocks:
    def test_a_pass_is_made_for_every_iteration(self):
        X, places, _ = draw(3)
        seen = []

        def one_pass(centres):
            for block in gen_batches(80, 30):
                seen.append(block.start)
                yield share_of(centres, X[block], None)

        start = start_at(places)
        result = descend_in_blocks(one_pass, start, NO_CORE, max_iter=300, tol=0.0)
        assert seen == [0, 30, 60] * result.n_iter

    def test_single_precision_rows_are_summed_in_double_precision(self):
        # The single precision sum of these values stops growing at 2 ** 24.
        X = np.full((2**13, 1), 4099.0, dtype=np.float32)
        X[::2] = 4097.0
        result = run(X, np.array([[4098.0]]), size=2**13)
        assert result.centres.coefficients.tolist() == [[4098.0]]

    def test_the_start_is_left_alone(self):
        X, places, _ = draw(4)
        start = start_at(places.copy())
        before = Centres(start.coefficients.copy(), start.norms.copy())
        descend_in_blocks(
            lambda centres: [share_of(centres, X, None)],
            start,
            NO_CORE,
            max_iter=5,
            tol=0.0,
        )
        assert np.array_equal(start.coefficients, before.coefficients)
        assert np.array_equal(start.norms, before.norms)

    def test_example_of_the_specification(self):
        # Section 3: x = 0, 1, 9, 10, 11, centres of the start [0, 1, 1, 1, 1].
        X = np.array([[0.0], [1.0], [9.0], [10.0], [11.0]])
        result = run(X, np.array([[0.0], [7.75]]), size=2)
        assert result.centres.labels(X).tolist() == [0, 0, 1, 1, 1]
        np.testing.assert_allclose(result.centres.coefficients, [[0.5, 10.0]])
