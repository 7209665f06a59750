"""NPK: the kernel matrix of pairs and neighbours, and k-means in it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse import csr_array, csr_matrix, diags_array
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs as scikit_blobs
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs

from linkwise.baselines import NPK, _pair_kernel
from linkwise.baselines._pair_kernel import (
    SignedPairs,
    leading_vectors,
    linear_kernel,
    neighbor_graph,
    normalized_laplacian,
    signed_pairs,
    squared_hinge_kernel,
    strength_of,
)
from linkwise.constraints import Constraints

LOSSES = ["linear", "squared_hinge"]


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([NPK(2, n_init=2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    @pytest.fixture(params=LOSSES)
    def model(self, request):
        return NPK(3, loss=request.param, random_state=0)


def path(n):
    return csr_array(np.eye(n, k=1) + np.eye(n, k=-1))


def rng():
    return np.random.default_rng(0)


def signed(ends, signs):
    return SignedPairs(np.array(ends), np.array(signs, float), np.ones(len(signs)))


def positive_part(A):
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def laplacian_of(X, n_neighbors):
    graph, _ = neighbor_graph(X, n_neighbors)
    return normalized_laplacian(graph.maximum(graph.T))


def draw_problem(seed, n=12, n_pairs=8):
    """Return the Laplacian of a graph of neighbours, and signed pairs."""
    rng = np.random.default_rng(seed)
    laplacian = laplacian_of(rng.normal(size=(n, 2)), 3)
    pairs = Constraints.sample(rng.integers(2, size=n), n_pairs, random_state=seed)
    return laplacian, signed_pairs(pairs, np.arange(n))


class TestExamplesOfTheSpecification:
    def test_linear_loss_on_a_path(self):
        L = normalized_laplacian(path(4))
        pairs = signed([(0, 1), (1, 2)], [1, -1])
        A = 2.0 * pairs.matrix(pairs.sign, 4).toarray() - L.toarray()
        assert_allclose(
            np.linalg.eigvalsh(A),
            [-4.114595, -1.614595, -0.385405, 2.114595],
            atol=1e-6,
        )
        leading = linear_kernel(L, pairs, 2.0, 2, rng()).leading
        assert leading.n_positive == 1
        assert_allclose(leading.values, [2.114595, -0.385405], atol=1e-6)
        entries = leading.positive_at(np.array([(0, 1), (1, 2), (0, 0)]))
        assert_allclose(entries, [0.906917, -0.529829, 0.788263], atol=1e-6)

    def test_squared_hinge_on_a_path(self):
        pairs = signed([(0, 1), (1, 4), (0, 5)], [1, -1, -1])
        L = normalized_laplacian(path(6))
        kernel = squared_hinge_kernel(
            L, pairs, 2.0, 0.5, 2, rng(), tol=1e-9, max_iter=200
        )
        assert kernel.objective == pytest.approx(1.99808015, abs=1e-6)
        entries = kernel.leading.positive_at(pairs.ends) / 0.5
        assert_allclose(entries, [0.489196, -0.346149, -0.318865], atol=1e-5)


class TestKernel:
    @pytest.mark.parametrize("seed", range(5))
    def test_it_has_no_negative_eigenvalues(self, seed):
        L, pairs = draw_problem(seed)
        leading = linear_kernel(L, pairs, 1.5, 2, rng()).leading
        n = L.shape[0]
        grid = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=2).reshape(-1, 2)
        K = leading.positive_at(grid).reshape(n, n)
        assert np.linalg.eigvalsh(K)[0] > -1e-10
        A = pairs.matrix(1.5 * pairs.sign, n).toarray() - L.toarray()
        assert_allclose(K, positive_part(A), atol=1e-10)

    def test_no_kernel_matrix_of_its_size_fits_better(self):
        L, pairs = draw_problem(0)
        n = L.shape[0]
        A = pairs.matrix(2.0 * pairs.sign, n).toarray() - L.toarray()
        K = positive_part(A)
        best, size = np.vdot(A, K), np.linalg.norm(K)
        draw = np.random.default_rng(1)
        for _ in range(1000):
            B = draw.normal(size=(n, int(draw.integers(1, n + 1))))
            other = B @ B.T
            assert np.vdot(A, other) * size / np.linalg.norm(other) < best

    @pytest.mark.parametrize("seed", range(3))
    def test_primal_is_dual_and_both_are_what_a_factor_finds(self, seed):
        L, pairs = draw_problem(seed, n=6, n_pairs=5)
        price, ridge = 2.0, 0.5
        kernel = squared_hinge_kernel(
            L, pairs, price, ridge, 2, rng(), tol=1e-10, max_iter=500
        )
        dense = L.toarray()

        def primal(K):
            gap = np.maximum(
                0.0, 1.0 - pairs.sign * K[pairs.ends[:, 0], pairs.ends[:, 1]]
            )
            return (
                np.vdot(dense, K)
                + price * (gap**2).sum() / 2.0
                + ridge * np.vdot(K, K) / 2.0
            )

        grid = np.stack(np.meshgrid(np.arange(6), np.arange(6)), axis=2).reshape(-1, 2)
        K = kernel.leading.positive_at(grid).reshape(6, 6) / ridge
        assert primal(K) == pytest.approx(kernel.objective, abs=1e-6)
        found = min(
            minimize(
                lambda b: primal(b.reshape(6, 6) @ b.reshape(6, 6).T),
                np.random.default_rng(start).normal(size=36),
                method="L-BFGS-B",
                options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15},
            ).fun
            for start in range(2)
        )
        assert found == pytest.approx(kernel.objective, abs=1e-6)

    @pytest.mark.parametrize("n_pairs", [0, 3, 200])
    def test_lanczos_finds_what_the_whole_decomposition_does(
        self, monkeypatch, n_pairs
    ):
        draw = np.random.default_rng(0)
        X, y = draw.normal(size=(240, 2)), draw.integers(3, size=240)
        L = laplacian_of(X, 8)
        pairs = Constraints.sample(y, n_pairs, random_state=0) if n_pairs else None
        pairs = signed_pairs(pairs or Constraints(), np.arange(240))
        A = pairs.matrix(0.7 * pairs.sign, 240) - L
        whole = leading_vectors(A, 3, rng())
        monkeypatch.setattr(_pair_kernel, "_DENSE_ROWS", 100)
        few = leading_vectors(A, 3, rng())
        assert whole.n_positive == few.n_positive
        assert_allclose(whole.values, few.values, atol=1e-8)
        assert_allclose(whole.vectors, few.vectors, atol=1e-5)

    @pytest.mark.parametrize(
        ("values", "wanted"),
        [
            # As many more as the smaller half foretells, and a quarter: 1.25 (5 + 6).
            ([1.0, 0.9, 0.8, 0.7, 0.6], 13),
            ([1.0, 0.6, 0.5, 0.3, 0.1], 7),  # half as many again, at the least
            ([1.0, 0.9, 0.9, 0.9, 0.89], 20),  # four times as many, at the most
            ([1.0, 1.0, 1.0, 1.0, 1.0], 20),
        ],
    )
    def test_the_next_number_of_vectors_is_guessed(self, values, wanted):
        assert _pair_kernel._next_wanted(np.array(values[::-1])) == wanted

    def test_no_guess_leads_to_a_whole_matrix_that_is_not_needed(self, monkeypatch):
        values = np.full(2400, -1.0)
        values[:300] = 1.0 - 1e-3 * np.arange(300)
        monkeypatch.setattr(_pair_kernel, "check_matrices", None)
        found = leading_vectors(diags_array(values).tocsr(), 3, rng())
        assert found.n_positive == 300

    def test_what_rounding_leaves_of_zero_is_not_positive(self, monkeypatch):
        # Twenty components without pairs: the largest eigenvalue of -L is 0 each time.
        graph = csr_array(np.kron(np.eye(20), np.ones((12, 12)) - np.eye(12)))
        A = -normalized_laplacian(graph)
        whole = leading_vectors(A, 3, rng())
        monkeypatch.setattr(_pair_kernel, "_DENSE_ROWS", 100)
        few = leading_vectors(A, 3, rng())
        assert whole.n_positive == few.n_positive == 0
        assert whole.vectors.shape == few.vectors.shape == (240, 3)

    @pytest.mark.parametrize("status", [0, 1, 2])
    def test_only_a_search_that_ends_well_has_converged(self, monkeypatch, status):
        def ended(*args, **options):
            found = minimize(*args, **options)
            return OptimizeResult(found, status=status, success=status == 0)

        monkeypatch.setattr(_pair_kernel, "minimize", ended)
        L, pairs = draw_problem(0)
        kernel = squared_hinge_kernel(
            L, pairs, 2.0, 0.5, 2, rng(), tol=1e-6, max_iter=200
        )
        assert kernel.converged is (status == 0)

    def test_the_largest_eigenvalue_of_pairs(self):
        draw = np.random.default_rng(0)
        for n, n_pairs in ((30, 40), (280, 400)):
            y = draw.integers(4, size=n)
            pairs = signed_pairs(
                Constraints.sample(y, n_pairs, random_state=0), np.arange(n)
            )
            T = pairs.matrix(pairs.sign, n).toarray()
            assert_array_equal(T.diagonal(), 0.0)
            assert_array_equal(T, T.T)
            expected = np.linalg.eigvalsh(T)[-1]
            assert strength_of(pairs, draw) == pytest.approx(expected)


class TestGraph:
    def test_rows_are_never_neighbours_of_themselves(self):
        X = np.random.default_rng(0).normal(size=(40, 2))
        graph = neighbor_graph(X, 5)[0].toarray()
        far = ((X[:, None] - X) ** 2).sum(axis=2)
        order = far.argsort(axis=1)[:, 1:6]
        expected = np.zeros((40, 40))
        expected[np.repeat(np.arange(40), 5), order.ravel()] = 1.0
        assert_array_equal(graph, expected)

    def test_a_node_alone_divides_by_nothing(self):
        L = normalized_laplacian(csr_array(np.zeros((2, 2)))).toarray()
        assert_array_equal(L, np.zeros((2, 2)))

    def test_equal_rows_are_one_node(self):
        X, _, _ = make_blobs()
        model = NPK(3, random_state=0).fit(np.concatenate([X, X, X]))
        assert_array_equal(model.labels_[: len(X)], model.labels_[len(X) : 2 * len(X)])
        alone = NPK(3, random_state=0).fit(X)
        assert adjusted_rand_score(alone.labels_, model.labels_[: len(X)]) == 1.0


@pytest.mark.parametrize("loss", LOSSES)
class TestClusters:
    def test_two_moons(self, loss):
        X, y = make_moons(200, noise=0.05, random_state=0)
        pairs = Constraints.sample(y, 50, random_state=0)
        model = NPK(2, loss=loss, random_state=0).fit(X, constraints=pairs)
        means = KMeans(2, n_init=10, random_state=0).fit(X)
        assert adjusted_rand_score(y, means.labels_) < 0.5
        assert adjusted_rand_score(y, model.labels_) > 0.9

    def test_blobs(self, loss):
        # A row whose only pair is a cannot-link may be pushed out of its blob.
        found = []
        for seed in range(5):
            X, y = scikit_blobs(
                100, centers=[(0, 0), (8, 0), (0, 8)], random_state=seed
            )
            pairs = Constraints.sample(y, 40, random_state=seed)
            labels = NPK(3, loss=loss, random_state=0).fit_predict(X, constraints=pairs)
            found.append(adjusted_rand_score(y, labels))
        assert np.median(found) == 1.0 and min(found) > 0.9

    def test_without_pairs_it_is_k_means_on_leading_vectors(self, loss):
        X = np.random.default_rng(0).normal(size=(80, 2))
        model = NPK(3, loss=loss, random_state=0).fit(X)
        L = laplacian_of(X, 10).toarray()
        vectors = np.linalg.eigh(L)[1][:, :3]
        means = KMeans(3, n_init=20, random_state=0).fit(normalize(vectors))
        assert adjusted_rand_score(means.labels_, model.labels_) == 1.0
        assert model.n_components_ == 3 and model.strength_ == 0.0

    def test_units_do_not_matter(self, loss):
        X, _, pairs = make_blobs(spread=4.0)
        labels = NPK(3, loss=loss, random_state=0).fit_predict(X, constraints=pairs)
        other = NPK(3, loss=loss, random_state=0).fit_predict(7 * X, constraints=pairs)
        assert_array_equal(labels, other)

    def test_the_order_of_rows_does_not_matter(self, loss):
        X, _, pairs = make_blobs(spread=2.0)
        labels = NPK(3, loss=loss, random_state=0).fit_predict(X, constraints=pairs)
        order = np.random.default_rng(0).permutation(len(X))
        place = np.argsort(order)
        moved = Constraints(place[pairs.must_link], place[pairs.cannot_link])
        other = NPK(3, loss=loss, random_state=0)
        other.fit(X[order], constraints=moved)
        assert adjusted_rand_score(labels[order], other.labels_) == 1.0

    def test_a_weight_of_two_is_the_pair_twice(self, loss):
        L, pairs = draw_problem(0)
        twice = SignedPairs(*(np.concatenate([part, part]) for part in pairs))
        heavy = pairs._replace(weight=2.0 * pairs.weight)
        kernels = []
        for given in (twice, heavy):
            if loss == "linear":
                kernel = linear_kernel(L, given, 1.0, 2, rng())
            else:
                kernel = squared_hinge_kernel(
                    L, given, 1.0, 0.5, 2, rng(), tol=1e-10, max_iter=500
                )
            kernels.append(kernel)
        assert kernels[0].objective == pytest.approx(kernels[1].objective, abs=1e-8)
        assert_allclose(kernels[0].leading.values, kernels[1].leading.values, atol=1e-5)

    def test_rows_have_length_one_and_the_attributes_say_how(self, loss):
        X, _, pairs = make_blobs(spread=3.0)
        model = NPK(3, loss=loss, random_state=0).fit(X, constraints=pairs)
        assert model.embedding_.shape == (len(X), model.n_components_)
        assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1.0)
        T = np.zeros((len(X), len(X)))
        for kind, t in ((pairs.must_link, 1.0), (pairs.cannot_link, -1.0)):
            T[kind[:, 0], kind[:, 1]] = T[kind[:, 1], kind[:, 0]] = t
        expected = 2.0 / np.linalg.eigvalsh(T)[-1]
        expected *= 1.0 if loss == "linear" else 2.0
        assert model.strength_ == pytest.approx(expected)


class TestPrediction:
    def test_a_new_row_is_the_sum_of_its_neighbours(self):
        X, _, pairs = make_blobs(spread=3.0)
        model = NPK(3, random_state=0).fit(X, constraints=pairs)
        new = np.random.default_rng(3).normal(2.0, 3.0, size=(20, 3))
        graph, _ = neighbor_graph(X, 10)
        graph = graph.maximum(graph.T)
        degree = np.asarray(graph.sum(axis=1)).ravel()
        signed_ = signed_pairs(pairs, np.arange(len(X)))
        kernel = linear_kernel(
            normalized_laplacian(graph), signed_, model.strength_, 3, rng()
        )
        places = kernel.leading.embedding()
        centres = np.stack(
            [model.embedding_[model.labels_ == c].mean(axis=0) for c in range(3)]
        )
        for row, label in zip(new, model.predict(new), strict=True):
            near = ((X - row) ** 2).sum(axis=1).argsort()[:10]
            place = (places[near] / np.sqrt(10 * degree[near])[:, None]).sum(axis=0)
            place /= np.linalg.norm(place)
            assert label == ((centres - place) ** 2).sum(axis=1).argmin()


class TestInput:
    def test_matrices_of_either_kind_of_csr(self):
        X, _, pairs = make_blobs()
        dense = NPK(3, random_state=0).fit_predict(X, constraints=pairs)
        for kind in (csr_array, csr_matrix):
            labels = NPK(3, random_state=0).fit_predict(kind(X), constraints=pairs)
            assert_array_equal(labels, dense)

    def test_a_pair_of_equal_rows_has_no_effect(self):
        X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 2, axis=0)
        plain = NPK(2, random_state=0).fit(X)
        model = NPK(2, random_state=0).fit(X, constraints=([(0, 1)], []))
        assert_array_equal(plain.labels_, model.labels_)

    def test_equal_rows_alone(self):
        model = NPK(2, random_state=0).fit(np.ones((6, 2)), constraints=([(0, 1)], []))
        assert len(np.unique(model.labels_)) == 2

    def test_what_is_too_large_for_the_memory_is_said(self):
        X, _, pairs = make_blobs()
        with pytest.raises(MemoryError, match=r"54 rows.*max_memory=1000"):
            NPK(3, max_memory=1000).fit(X, constraints=pairs)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("loss", "hinge"), ("strength", -1.0), ("n_neighbors", 0), ("n_init", -1)],
    )
    def test_parameters_that_are_not_allowed_are_named(self, name, value):
        with pytest.raises(ValueError, match=f"'{name}' parameter of NPK"):
            NPK(2, **{name: value}).fit(make_blobs()[0])
