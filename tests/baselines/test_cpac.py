"""CPAC: codes that gather along a graph of neighbours and pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs as scikit_blobs
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs
from tests.baselines.slopes import numeric_slope

from linkwise import Constraints
from linkwise.baselines import CPAC
from linkwise.baselines._networks import DenseNetwork
from linkwise.baselines._pair_kernel import (
    SignedPairs,
    neighbor_graph,
    signed_pairs,
)
from linkwise.baselines._robust_graph import (
    Edges,
    Scales,
    edges_loss,
    latent_rows,
    near_components,
    neighbor_edges,
    pull_of,
    robust,
    scales_of,
    with_pairs,
)
from linkwise.kernels._learnt_views import neighbors

QUICK = {"hidden": (16,), "pretrain_epochs": 20, "max_iter": 60}
# Networks as small as these are quick, and may still move.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([CPAC(2, hidden=(8,), pretrain_epochs=2, max_iter=2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    test_sparse_and_data_frame_are_the_array = None  # rows are dense

    @pytest.fixture
    def model(self):
        return CPAC(3, **QUICK, random_state=0)


class TestRobust:
    def test_the_example_of_the_specification(self):
        value, slope = robust(2.0, 3.0)
        assert value == pytest.approx(1.2, abs=1e-6)
        assert slope == pytest.approx(0.36, abs=1e-6)

    def test_slopes_are_those_of_finite_differences(self):
        q = np.array([0.0, 0.3, 2.0, 50.0]) + 1e-3
        by_steps = (robust(q + 1e-6, 3.0)[0] - robust(q - 1e-6, 3.0)[0]) / 2e-6
        assert_allclose(robust(q, 3.0)[1], by_steps, atol=1e-8)

    def test_without_a_bend_it_is_the_identity(self):
        q = np.array([0.0, 1.0, 7.0])
        value, slope = robust(q, 1e12)
        assert_allclose(value, q, rtol=1e-9)
        assert_allclose(slope, 1.0, rtol=1e-9)

    def test_it_never_exceeds_its_bend(self):
        assert robust(1e9, 3.0)[0] < 3.0


def problem(seed=0, n=7, d=3, n_latent=2):
    """Return all that the loss of some edges depends on."""
    rng = np.random.default_rng(seed)
    encoder = DenseNetwork([d, 4, n_latent], rng)
    decoder = DenseNetwork([n_latent, 4, d], rng)
    for p in encoder.parameters + decoder.parameters:
        p += 0.1 * rng.normal(size=p.shape)
    X, vectors = rng.normal(size=(n, d)), rng.normal(size=(n, n_latent))
    ends = np.array([(0, 1), (1, 2), (0, 2), (3, 4), (4, 6)])
    edges = Edges(ends, rng.uniform(0.5, 2.0, len(ends)), np.zeros(len(ends), bool))
    scales = Scales(1.5, 0.8, 0.1, 0.1, 0.1)
    return X, vectors, encoder, decoder, edges, scales


def plain_loss(X, vectors, encoder, decoder, edges, degree, pull, scales):
    """Return the loss by its formula, edge by edge."""

    def rho(q, mu):
        return mu * q / (mu + q)

    Z = encoder(X)
    decoded = decoder(Z)
    latent, columns = vectors.shape[1], X.shape[1]
    loss = 0.0
    for (i, j), w in zip(edges.ends, edges.weight, strict=True):
        apart = ((vectors[i] - vectors[j]) ** 2).sum()
        loss += pull / latent * w * rho(apart, scales.mu2)
        for at in (i, j):
            away = ((vectors[at] - Z[at]) ** 2).sum()
            loss += rho(away, scales.mu1) / degree[at] / latent
            loss += ((X[at] - decoded[at]) ** 2).sum() / degree[at] / columns
    return loss


class TestLoss:
    @pytest.mark.parametrize("part", [slice(None), slice(1, 4)])
    def test_it_is_that_of_its_formula(self, part):
        X, vectors, encoder, decoder, edges, scales = problem()
        degree, some = edges.degree(len(X)), edges.at(np.arange(5)[part])
        loss, _ = edges_loss(X, vectors, encoder, decoder, some, degree, 0.7, scales)
        expected = plain_loss(X, vectors, encoder, decoder, some, degree, 0.7, scales)
        assert loss == pytest.approx(expected)

    def test_batches_add_up_to_all_edges(self):
        X, vectors, encoder, decoder, edges, scales = problem()
        degree = edges.degree(len(X))
        parts = [
            edges_loss(
                X, vectors, encoder, decoder, edges.at(batch), degree, 0.7, scales
            )
            for batch in (np.array([0, 3]), np.array([1, 2, 4]))
        ]
        whole = edges_loss(X, vectors, encoder, decoder, edges, degree, 0.7, scales)
        assert whole[0] == pytest.approx(parts[0][0] + parts[1][0])
        both = parts[0][1].vectors + parts[1][1].vectors
        assert_allclose(whole[1].vectors, both, atol=1e-12)

    def test_slopes_are_those_of_finite_differences(self):
        X, vectors, encoder, decoder, edges, scales = problem()
        degree = edges.degree(len(X))

        def loss(u=vectors):
            return edges_loss(X, u, encoder, decoder, edges, degree, 0.7, scales)[0]

        slopes = edges_loss(X, vectors, encoder, decoder, edges, degree, 0.7, scales)[1]
        assert_allclose(slopes.vectors, numeric_slope(loss, vectors), atol=1e-6)
        assert not slopes.vectors[5].any()  # in no edge
        for network, found in ((encoder, slopes.encoder), (decoder, slopes.decoder)):
            for at, slope in enumerate(found):
                kept = network.parameters[at]

                def of_parameter(p, network=network, at=at):
                    network.parameters[at] = p
                    return loss()

                assert_allclose(slope, numeric_slope(of_parameter, kept), atol=1e-6)
                network.parameters[at] = kept

    def test_without_edges_a_vector_rests_at_its_code(self):
        X, _, encoder, decoder, edges, scales = problem()
        codes, degree = encoder(X), edges.degree(len(X))
        loose = edges._replace(weight=np.zeros(5))
        _, slopes = edges_loss(X, codes, encoder, decoder, loose, degree, 0.7, scales)
        assert_allclose(slopes.vectors, 0.0, atol=1e-12)
        none = edges.at(np.arange(0))
        loss, slopes = edges_loss(X, codes, encoder, decoder, none, degree, 0.7, scales)
        assert loss == 0.0 and not slopes.vectors.any()


class TestGraph:
    def test_mutual_neighbours_and_a_spanning_tree(self):
        X = np.random.default_rng(0).normal(size=(40, 2))
        edges = neighbor_edges(X, 4)
        near = cdist(X, X).argsort(axis=1)[:, 1:5]
        has = {(a, b) for a in range(40) for b in near[a].tolist()}
        mutual = {(a, b) for a, b in has if a < b and (b, a) in has}
        either = {(min(p), max(p)) for p in has}
        found = set(map(tuple, edges.ends.tolist()))
        assert mutual <= found <= either
        size = len(found - mutual)
        graph = csr_array((np.ones(len(edges.ends)), edges.ends.T), shape=(40, 40))
        full = csr_array(
            (np.ones(len(either)), np.array(sorted(either)).T), shape=(40, 40)
        )
        assert (
            connected_components(graph, directed=False)[0]
            == connected_components(full, directed=False)[0]
        )
        assert size <= 39
        degree = edges.degree(40)
        i, j = edges.ends.T
        assert_allclose(edges.weight, degree.mean() / np.sqrt(degree[i] * degree[j]))

    def test_of_equally_far_rows_both_kinds_of_edges_have_the_same(self):
        draw = np.random.default_rng(0).integers(0, 2, size=(120, 20))
        X = np.unique(draw, axis=0).astype(float)
        _, index = neighbor_graph(X, 5)
        near = neighbors(index, X, 6)
        has = {(a, b) for a in range(len(X)) for b in near[a].tolist() if a != b}
        mutual = {(a, b) for a, b in has if a < b and (b, a) in has}
        either = {(min(p), max(p)) for p in has}
        found = set(map(tuple, neighbor_edges(X, 5).ends.tolist()))
        assert mutual <= found <= either

    def test_must_links_are_added_and_edges_of_cannot_links_deleted(self):
        edges = Edges(
            np.array([(0, 1), (1, 2), (2, 3), (3, 4)]),
            np.array([1.0, 2.0, 1.0, 1.5]),
            np.zeros(4, bool),
        )
        pairs = Constraints([(0, 1), (0, 4)], [(1, 2)], [1.0, 3.0], [1.0])
        closure = pairs.closure(5)
        signed = signed_pairs(pairs, np.arange(5))
        found = with_pairs(edges, signed, closure.component, closure)
        # 2-3 and 3-4 are left of the graph; 1-2 is forbidden.
        assert found.ends.tolist() == [[2, 3], [3, 4], [0, 1], [0, 4]]
        assert_allclose(found.weight, [1.0, 1.5, 1.5 / 0.5, 3.0 * 1.5 / 0.5])
        assert found.is_must.tolist() == [False, False, True, True]

    def test_an_entailed_cannot_link_deletes_its_edge(self):
        edges = Edges(np.array([(0, 2), (1, 3)]), np.ones(2), np.zeros(2, bool))
        pairs = Constraints([(0, 1)], [(1, 2)])
        closure = pairs.closure(4)
        signed = signed_pairs(pairs, np.arange(4))
        found = with_pairs(edges, signed, closure.component, closure)
        assert [0, 2] not in found.ends.tolist() and [1, 3] in found.ends.tolist()

    def test_a_cannot_link_on_the_only_bridge_separates_two_blobs(self):
        X, y = scikit_blobs(60, centers=[(0, 0), (9, 0)], random_state=0)
        # As many neighbours as the smaller blob has would be too many to stay inside.
        edges = neighbor_edges(X, 5)
        crosses = y[edges.ends[:, 0]] != y[edges.ends[:, 1]]
        far = cdist(X, X)
        far[y[:, None] == y] = np.inf
        bridge = np.array(np.unravel_index(far.argmin(), far.shape))
        edges = Edges(
            np.concatenate([edges.ends[~crosses], np.sort(bridge)[None]]),
            np.append(edges.weight[~crosses], 1.0),
            np.append(edges.is_must[~crosses], False),
        )
        nothing = SignedPairs(np.empty((0, 2), int), np.empty(0), np.empty(0))
        empty = Constraints().closure(60)
        whole = with_pairs(edges, nothing, np.arange(60), empty)
        assert near_components(X, whole, np.inf)[0] == 1
        pairs = Constraints([], [bridge])
        closure = pairs.closure(60)
        cut = with_pairs(
            edges, signed_pairs(pairs, np.arange(60)), closure.component, closure
        )
        n_parts, part = near_components(X, cut, np.inf)
        assert n_parts == 2 and adjusted_rand_score(y, part) == 1.0

    def test_scales(self):
        codes = np.array([[0.0], [1.0], [3.0], [3.0], [10.0]])
        ends = np.array([(0, 1), (1, 2), (2, 3), (3, 4)])
        edges = Edges(ends, np.ones(4), np.zeros(4, bool))
        scales = scales_of(codes, edges)
        # Equal rows have no length of their own; the longest is 7, the shortest 1.
        assert scales.mu2 == pytest.approx(3 * 49) and scales.epsilon == 1.0
        away = np.abs(codes - codes.mean()).mean()
        assert scales.least_mu1 == pytest.approx(away / 2) and scales.least_mu2 == 0.5
        assert scales.mu1 == 2000.0
        halved = scales.halved()
        assert (halved.mu1, halved.mu2) == (1000.0, 3 * 49 / 2)
        for _ in range(60):
            halved = halved.halved()
        assert (halved.mu1, halved.mu2) == (scales.least_mu1, 0.5)

    def test_the_pull_is_the_norm_of_codes_over_that_of_the_laplacian(self):
        rng = np.random.default_rng(0)
        for n in (20, 250):
            codes = rng.normal(size=(n, 3))
            edges = neighbor_edges(codes, 4)
            A = np.zeros((n, n))
            A[tuple(edges.ends.T)] = edges.weight
            A += A.T
            largest = np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A)[-1]
            expected = np.linalg.norm(codes, 2) / largest
            assert pull_of(codes, edges, rng) == pytest.approx(expected)

    def test_codes_are_compared_by_cosine(self):
        rows = latent_rows(np.random.default_rng(0).normal(2.0, 3.0, size=(20, 4)))
        assert_allclose(np.linalg.norm(rows, axis=1), 1.0)


class TestClusters:
    def test_blobs(self):
        X, y = scikit_blobs(90, centers=[(0, 0), (8, 0), (0, 8)], random_state=0)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        pairs = Constraints.sample(y, 60, random_state=0)
        model = CPAC(3, random_state=0).fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert model.converged_ and model.n_clusters_ == 3

    def test_two_moons(self):
        X, y = make_moons(200, noise=0.05, random_state=0)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        pairs = Constraints.sample(y, 200, random_state=0)
        means = KMeans(2, n_init=10, random_state=0).fit(X)
        assert adjusted_rand_score(y, means.labels_) < 0.6
        labels = CPAC(2, random_state=0).fit_predict(X, constraints=pairs)
        assert adjusted_rand_score(y, labels) > 0.9

    def test_without_a_number_near_vectors_are_a_cluster(self):
        X, y, pairs = make_blobs()
        model = CPAC(**QUICK, random_state=0).fit(X, constraints=pairs)
        assert model.n_clusters_ == len(np.unique(model.labels_)) >= 3
        # No cluster holds rows of two blobs.
        for c in range(model.n_clusters_):
            assert len(np.unique(y[model.labels_ == c])) == 1
        assert model.labels_[0] == 0

    def test_the_graph_may_be_that_of_codes(self):
        X, y, pairs = make_blobs()
        model = CPAC(3, graph="latent", **QUICK, random_state=0)
        assert adjusted_rand_score(y, model.fit_predict(X, constraints=pairs)) > 0.8

    def test_vectors_are_the_embedding_and_prediction_goes_to_the_nearest(self):
        X, _, pairs = make_blobs(spread=2.0)
        model = CPAC(3, **QUICK, random_state=0).fit(X, constraints=pairs)
        assert model.embedding_.shape == (len(X), 3)
        new = np.random.default_rng(1).normal(2.0, 3.0, size=(30, 3))
        codes = model._encoder(new)
        nearest = cdist(codes, model.embedding_).argmin(axis=1)
        assert_array_equal(model.predict(new), model.labels_[nearest])

    def test_equal_rows_share_a_vector(self):
        X, _, pairs = make_blobs()
        model = CPAC(3, **QUICK, random_state=0)
        given = (pairs.must_link, pairs.cannot_link)
        model.fit(np.concatenate([X, X]), constraints=given)
        assert_array_equal(model.labels_[: len(X)], model.labels_[len(X) :])

    def test_one_row_again_and_again(self):
        model = CPAC(2, **QUICK, random_state=0).fit(np.ones((6, 2)))
        assert len(np.unique(model.labels_)) == 2 and np.isfinite(model.objective_)


def test_widths_of_layers_are_whole_numbers():
    with pytest.raises(ValueError, match=r"hidden=\(5, 0\).*whole numbers"):
        CPAC(2, hidden=(5, 0)).fit(make_blobs()[0])


def test_sparse_rows_are_refused():
    X, _, pairs = make_blobs()
    with pytest.raises(TypeError, match="dense data is required"):
        CPAC(3).fit(csr_array(X), constraints=pairs)


@pytest.mark.parametrize(
    ("name", "value"), [("graph", "codes"), ("n_latent", 0), ("vector_rate", 0.0)]
)
def test_parameters_that_are_not_allowed_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of CPAC"):
        CPAC(2, **{name: value}).fit(make_blobs()[0])
