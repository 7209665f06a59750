"""SKMS: mean shift under a kernel that pairs have bent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs as scikit_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import SKMS, _kernel_mean_shift
from linkwise.baselines._closure_pairs import ListedPairs
from linkwise.baselines._itml import nearest_metric
from linkwise.baselines._kernel_mean_shift import (
    ascend,
    bandwidths,
    bend,
    choose_width,
    distinct_modes,
    in_order,
    leading_rank,
    low_rank,
    neighbor_rank,
    pair_costs,
)
from linkwise.baselines._metric_learner import Differences


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([SKMS()])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:There are:sklearn.exceptions.ConvergenceWarning")
class TestDoor(DoorContract):
    # There are never more clusters than modes.
    test_as_many_clusters_as_rows = None
    test_fewer_groups_than_clusters_warn = None

    @pytest.fixture
    def model(self):
        return SKMS(3, random_state=0)

    def test_equal_rows_do_no_harm(self, model):
        X = np.repeat([[1.0, 2.0], [3.0, 1.0], [9.0, 7.0]], 4, axis=0)
        model.fit(X, constraints=([(0, 1), (4, 5)], [(0, 4)]))
        assert np.isfinite(model.objective_)
        assert_array_equal(model.labels_, np.repeat(model.labels_[::4], 4))


def circles(seed=0, n_circles=3):
    """Return rows on circles about the origin, and pairs of eight rows of each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_circles), 100)
    angle = rng.uniform(0.0, 2.0 * np.pi, len(y))
    X = (y + 1.0)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X += 0.08 * rng.normal(size=X.shape)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), 8, replace=False) for c in range(n_circles)]
    )
    ends = rows[np.stack(np.triu_indices(len(rows), k=1), axis=1)]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    must, cannot = ends[same], ends[~same]
    return X, y, Constraints(must, rng.permutation(cannot)[: len(must)])


def listed(must=(), cannot=()):
    must, cannot = (np.array(p, dtype=int).reshape(-1, 2) for p in (must, cannot))
    return ListedPairs(must, np.ones(len(must)), cannot, np.ones(len(cannot)))


class TestExamplesOfTheSpecification:
    def test_costs_of_a_width(self):
        costs = pair_costs(
            np.array([0.5, 0.05, 1.0, 1.95]), np.array([True, True, False, False])
        )
        assert_allclose(costs, [0.809438, 0.0, 0.258146, 0.0], atol=1e-6)

    def test_a_step(self):
        F, h = np.array([[0.0], [1.0], [4.0]]), np.array([1.0, 1.0, 2.0])
        places, n_iter, _ = ascend(F[:1], F, h**2, tol=0.0, max_iter=1)
        assert places[0, 0] == pytest.approx(0.415288, abs=1e-6) and n_iter == 1

    def test_a_projection(self):
        one = Differences(
            np.array([[1.0, -1.0]]), np.empty((0, 2)), np.ones(1), np.empty(0)
        )
        K = nearest_metric(one, (0.1, 1.9), 100.0, tol=0.01, max_iter=1).metric
        assert_allclose(K, [[0.525237, 0.474763], [0.474763, 0.525237]], atol=1e-6)
        assert K[0, 0] + K[1, 1] - 2 * K[0, 1] == pytest.approx(0.100950, abs=2e-6)


def test_projections_on_single_pairs_are_limited(monkeypatch):
    X, _, pairs = circles()
    sweeps = []

    def counted(*args, max_iter, **options):
        sweeps.append(max_iter)
        return nearest_metric(*args, max_iter=max_iter, **options)

    monkeypatch.setattr(_kernel_mean_shift, "nearest_metric", counted)
    closure = pairs.closure(len(X))
    n_pairs = closure.n_must_link + closure.n_cannot_link
    SKMS().fit(X, constraints=pairs)
    for limit in (3 * n_pairs, n_pairs // 2):
        monkeypatch.setattr(_kernel_mean_shift, "_MAX_PROJECTIONS", limit)
        SKMS().fit(X, constraints=pairs)
    assert sweeps == [100_000 // n_pairs, 3, 1]


class TestCircles:
    @pytest.mark.parametrize("seed", [0, 1, 3])
    def test_the_number_of_three_circles_is_found(self, seed):
        X, y, pairs = circles(seed)
        model = SKMS(random_state=0).fit(X, constraints=pairs)
        assert model.n_clusters_ == 3 and len(model.modes_) == 3
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert_array_equal(model.predict(X), model.labels_)

    def test_a_narrow_width_has_more_modes(self):
        X, _, pairs = circles()
        width = 0.11 * np.median(pdist(X))
        assert SKMS(width=width).fit(X, constraints=pairs).n_clusters_ > 5


@pytest.mark.parametrize("seed", range(3))
def test_two_far_blobs_have_two_modes(seed):
    X, y = scikit_blobs(100, centers=[(0, 0), (15, 0)], random_state=seed)
    pairs = Constraints.sample(y, 60, random_state=seed)
    model = SKMS().fit(StandardScaler().fit_transform(X), constraints=pairs)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) == 1.0


class TestKernel:
    def features(self, seed=0, n=30):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        gram = np.exp(-cdist(X, X, "sqeuclidean") / 2.0)
        values, vectors = low_rank(gram)
        return gram, vectors * np.sqrt(values)

    def test_a_low_rank_keeps_its_share_of_the_trace(self):
        assert leading_rank(np.array([98.1, 1.0, 0.9])) == 1
        assert leading_rank(np.array([98.0, 1.0, 1.0])) == 2
        gram, G = self.features()
        assert np.sqrt(np.square(G).sum() / np.trace(gram)) >= 0.99
        assert np.abs(G @ G.T - gram).max() < 0.1

    def test_many_equal_rows_are_no_target(self):
        # The fifth percentile is what rounding leaves of the distance of equal rows.
        X = np.random.default_rng(0).integers(0, 2, size=(80, 3)).astype(float)
        values, vectors = low_rank(np.exp(-cdist(X, X, "sqeuclidean") / 0.5))
        G = vectors * np.sqrt(values)
        assert np.percentile(pdist(G, "sqeuclidean"), 5) < 1e-20
        far = int(np.flatnonzero((X != X[0]).any(axis=1))[0])
        bent = bend(G, listed([(0, far)]), 100.0, max_rank=25)
        assert bent.must_target == 0.1 and np.isfinite(bent.objective)

    def test_without_pairs_the_kernel_stays(self):
        _, G = self.features()
        bent = bend(G, listed(), 100.0, max_rank=99)
        F = bent.features
        lost = np.trace(G @ G.T) - np.trace(F @ F.T)
        assert 0.0 <= lost <= 0.02 * np.trace(G @ G.T) and bent.objective == 0.0

    def test_the_bent_kernel_has_no_negative_eigenvalues_and_keeps_to_pairs(self):
        _, G = self.features()
        pairs = listed([(0, 1), (2, 3)], [(0, 2), (4, 5)])
        bent = bend(G, pairs, 100.0, max_rank=99)
        K = bent.features @ bent.features.T
        assert np.linalg.eigvalsh(K)[0] > -1e-10
        before = ((G[[0, 2]] - G[[1, 3]]) ** 2).sum(axis=1)
        F = bent.features
        after = ((F[[0, 2]] - F[[1, 3]]) ** 2).sum(axis=1)
        assert (after < before).all() and (after < 0.2).all()
        assert_allclose(G @ bent.rotation, F)

    def test_without_slack_pairs_meet_their_targets(self):
        _, G = self.features()
        pairs = listed([(0, 1), (2, 3)], [(0, 2)])
        differences = Differences(
            G[[0, 2]] - G[[1, 3]], G[[0]] - G[[2]], np.ones(2), np.ones(1)
        )
        learned = nearest_metric(
            differences, (0.1, 1.9), np.inf, tol=1e-9, max_iter=10_000
        )
        v = np.concatenate([differences.must_link, differences.cannot_link])
        lengths = np.einsum("ij,jk,ik->i", v, learned.metric, v)
        assert (lengths[:2] <= 0.1 + 1e-6).all() and lengths[2] >= 1.9 - 1e-6
        assert len(pairs.must_link) == 2

    def test_one_projection_meets_its_slackened_bound(self):
        # One pair at price g gets the length (g + 1) / (g / bound + 1 / length).
        v, g = np.array([[0.6, -1.1]]), 7.0
        one = Differences(v, np.empty((0, 2)), np.ones(1), np.empty(0))
        metric = nearest_metric(one, (0.1, 1.9), g, tol=0.5, max_iter=1).metric
        before, after = float((v**2).sum()), float((v @ metric @ v.T)[0, 0])
        assert after == pytest.approx((g + 1.0) / (g / 0.1 + 1.0 / before))


class TestWidth:
    def test_pairs_choose_the_width_under_which_they_are_near_their_targets(self):
        lengths, is_must = np.array([0.2, 0.3, 3.0, 4.0]), np.array([1, 1, 0, 0], bool)
        width = choose_width(lengths, is_must, 2.0)
        others = 2.0 * np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0])
        squared = [2 - 2 * np.exp(-(lengths**2) / (2 * w**2)) for w in others]
        costs = [pair_costs(s, is_must).sum() for s in squared]
        assert width == others[np.argmin(costs)]

    def test_of_widths_that_cost_nothing_the_narrowest_is_taken(self):
        lengths = np.array([0.001, 9.0])
        assert choose_width(lengths, np.array([True, False]), 1.0) == 0.02

    def test_pairs_of_one_kind_say_nothing(self):
        assert choose_width(np.array([9.0]), np.array([False]), 1.0) == 0.5
        assert choose_width(np.array([9.0]), np.array([True]), 1.0) == 0.5
        assert choose_width(np.empty(0), np.empty(0, bool), 3.0) == 1.5

    def test_a_cannot_link_of_equal_rows_costs_nothing(self):
        assert pair_costs(np.zeros(1), np.array([False])) == 0.0

    def test_more_pairs_of_one_kind_do_not_count_more(self):
        lengths, is_must = np.array([0.4, 1.5]), np.array([True, False])
        many = np.repeat([0, 1], [1, 50])
        assert choose_width(lengths, is_must, 1.0) == choose_width(
            lengths[many], is_must[many], 1.0
        )


class TestModes:
    def test_positions_of_partners(self):
        x = np.array([[0.0], [1.0], [1.5], [10.0]])
        squared = cdist(x, x, "sqeuclidean")
        # From 0 partner 2 is third, from 2 partner 0 is third.
        assert neighbor_rank(squared, np.array([(0, 2)]), 5.0) == 3
        # Too far to count: ceil(log 4) + 1.
        assert neighbor_rank(squared, np.array([(0, 3)]), 5.0) == 3
        assert neighbor_rank(squared, np.empty((0, 2), dtype=int), 5.0) == 3
        assert_array_equal(bandwidths(squared, 2), [1.0, 0.25, 0.25, 72.25])

    def test_a_row_equal_to_its_partner_is_no_bandwidth(self):
        squared = np.zeros((3, 3))
        assert neighbor_rank(squared, np.array([(0, 1)]), 0.1) == 2
        assert (bandwidths(squared, 2) == 1e-8).all()

    def test_steps_are_means_weighed_by_all_rows(self):
        rng = np.random.default_rng(0)
        F, h2 = rng.normal(size=(40, 3)), rng.uniform(0.2, 1.0, 40)
        places, _, _ = ascend(F, F, h2, tol=0.0, max_iter=1)
        for start, place in zip(F, places, strict=True):
            g = np.exp(-((start - F) ** 2).sum(axis=1) / (2 * h2)) / h2 ** (5 / 2)
            assert_allclose(place, g @ F / g.sum())

    def test_density_rises_on_the_way(self):
        rng = np.random.default_rng(1)
        F, h2 = rng.normal(size=(40, 2)), np.full(40, 0.1)

        def density(z):
            return np.exp(-cdist(z, F, "sqeuclidean") / (2 * h2)).sum(axis=1)

        places = F
        for _ in range(5):
            moved, _, _ = ascend(places, F, h2, tol=0.0, max_iter=1)
            assert (density(moved) >= density(places) - 1e-12).all()
            places = moved

    def test_far_starts_have_finite_weights(self):
        F = np.random.default_rng(0).normal(size=(10, 2))
        places, _, _ = ascend(F + 1e4, F, np.full(10, 0.01), tol=1e-6, max_iter=50)
        assert np.isfinite(places).all()

    def test_modes_are_numbered_by_their_first_rows(self):
        places = np.array([[5.0], [0.0], [5.001], [0.0], [9.0]])
        modes, mode_of = distinct_modes(places, np.ones(5))
        assert_array_equal(mode_of, [0, 1, 0, 1, 2])
        assert_array_equal(modes, [[5.0], [0.0], [9.0]])
        assert_array_equal(in_order(["b", "a", "b"])[1], [0, 1, 0])


class TestNumberOfClusters:
    def test_more_modes_are_merged_by_average_linkage_of_rows(self):
        X, _, pairs = circles()
        width = 0.11 * np.median(pdist(X))
        modes = SKMS(width=width).fit(X, constraints=pairs)
        model = SKMS(4, width=width).fit(X, constraints=pairs)
        assert model.n_clusters_ == 4
        rows = modes.modes_[modes.labels_]
        tree = AgglomerativeClustering(4, linkage="average").fit(rows)
        assert adjusted_rand_score(tree.labels_, model.labels_) == 1.0
        assert_array_equal(model.predict(X), model.labels_)

    def test_fewer_modes_stay_with_a_warning(self):
        X, _, pairs = circles()
        model = SKMS(7, random_state=0)
        with pytest.warns(ConvergenceWarning, match="3 modes, fewer than n_clusters=7"):
            model.fit(X, constraints=pairs)
        assert model.n_clusters_ == 3


def test_the_order_of_rows_does_not_matter():
    X, _, pairs = make_blobs(spread=0.5)
    labels = SKMS().fit_predict(X, constraints=pairs)
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(place[pairs.must_link], place[pairs.cannot_link])
    other = SKMS().fit_predict(X[order], constraints=moved)
    assert adjusted_rand_score(labels[order], other) == 1.0


def test_given_width_and_neighbours_are_used():
    X, _, pairs = make_blobs()
    model = SKMS(width=2.0, n_neighbors=9).fit(X, constraints=pairs)
    assert model.width_ == 2.0 and model.n_neighbors_ == 9


def test_too_many_pairs_are_drawn_from():
    X, _, pairs = make_blobs()
    with pytest.warns(ConstraintWarning, match="max_pairs=50: as many"):
        SKMS(3, max_pairs=50, random_state=0).fit(X, constraints=pairs)


def test_what_is_too_large_for_the_memory_is_said_before_it_is_made():
    with pytest.raises(MemoryError, match=r"50000 rows.*93.13 GiB.*max_memory='4GiB'"):
        SKMS().fit(np.zeros((50_000, 1)))


def test_constants_are_those_of_the_specification():
    assert _kernel_mean_shift._TARGETS == (0.1, 1.9)
    assert _kernel_mean_shift._METRIC_TOL == 0.01
    assert SKMS().gamma == 100.0 and SKMS().max_rank == 25


@pytest.mark.parametrize(
    ("name", "value"), [("width", 0.0), ("n_neighbors", 1), ("n_clusters", 0)]
)
def test_parameters_that_are_not_allowed_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of SKMS"):
        SKMS(**{name: value}).fit(make_blobs()[0])
