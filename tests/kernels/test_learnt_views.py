"""Views that are learnt from the rows and from groups of them."""

import pickle

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler, normalize
from tests.contracts.space import locked
from threadpoolctl import threadpool_limits

from linkwise.engines import one_blas_thread
from linkwise.kernels import (
    RBF,
    Diffusion,
    Discriminant,
    ForestVotes,
    KernelBank,
    Known,
    Laplacian,
    Linear,
    Unit,
    Whitened,
    WithinWhitened,
)
from linkwise.kernels import _learnt_views as learnt
from linkwise.kernels._families import base_scales, learnt_kernels
from linkwise.kernels._learnt_views import (
    LEARNT_VIEWS,
    RICH_VIEWS,
    Reduced,
    fitted_view,
    learnt_views,
)
from linkwise.kernels._views import BASES, Points

VIEWS = [Whitened(), WithinWhitened(), Discriminant(), Diffusion(5), ForestVotes()]
LINEAR = VIEWS[:3]
N = 60
N_LEARNT = len(learnt_kernels(dict.fromkeys(BASES, 1.0)))


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Small forests, and one thread as in an estimator."""
    monkeypatch.setattr(learnt, "_N_TREES", 20)
    with one_blas_thread():
        yield


def draw(seed=0, n=N, d=4):
    """Return correlated columns in three clusters, and groups of the first half."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0 * np.eye(3, d)[y]
    X = X * (1.0 + np.arange(d)) + 5.0
    return locked(X), locked(np.where(np.arange(n) < n // 2, y, -1))


def points_of(view, X, groups, n_clusters=3, seed=0, weight=None):
    """Return the training points of a view, and the fitted view."""
    fitted, points = fitted_view(view, X, weight, Known(groups, n_clusters, seed))
    return points.plain(), fitted


def products(values):
    """Return inner products: what is left if no sign and no basis counts."""
    return values @ values.T


def assert_same_shape(got, expected, rtol=1e-7):
    """Compare points up to a rotation about the origin."""
    exact = products(expected)
    atol = rtol * np.abs(exact).max()
    np.testing.assert_allclose(products(got), exact, rtol=0, atol=atol)


def shrunk_within(Z, groups):
    """Return the shrunk covariance inside groups, by loops."""
    d = Z.shape[1]
    total, n_free = np.zeros((d, d)), 0
    for group in np.unique(groups[groups >= 0]):
        members = Z[groups == group]
        for row in members - members.mean(axis=0):
            total += np.outer(row, row)
        n_free += len(members) - 1
    total /= n_free
    share = d / (d + n_free)
    unit = np.trace(total) / d * np.eye(d)
    return (1.0 - share) * total + (share + 1e-9) * unit


def rings(n, seed=0):
    """Return two rings around each other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = 1.0 + 3.0 * y + 0.1 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def far_clusters(n, k=3, seed=0, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 50.0 * np.eye(k, d)[y] + rng.normal(size=(n, d)), y


def odd_data():
    """Return (X, groups, n_clusters) that views meet now and then."""
    rng = np.random.default_rng(0)
    X, groups = draw()
    nobody = np.full(N, -1)
    constant = X.copy()
    constant[:, 1] = 1e6 / 3.0
    equal = X.copy()
    for group in range(3):
        equal[groups == group] = X[group]
    apart, y = far_clusters(N, 5, d=5)
    outlier = X.copy()
    outlier[-1] = 1e7
    pairs = np.array([0, 0, 1, 1, 2, 2, *[-1] * (N - 6)])
    wide = rng.normal(size=(12, 40))
    return {
        "a constant column": (constant, groups, 3),
        "equal rows": (np.full((N, 3), 0.1), groups, 3),
        "more columns than rows": (wide, np.array([0, 0, 0, 1, 1, 1, *[-1] * 6]), 3),
        "one column": (X[:, :1], groups, 3),
        "two rows in each group": (X, pairs, 3),
        "groups of equal rows": (equal, groups, 3),
        "groups of one row": (X, np.where(np.arange(N) < 3, np.arange(N), -1), 3),
        "one group": (X, np.minimum(groups, 0), 3),
        "no groups": (X, nobody, 3),
        "numbers of groups with gaps": (X, np.where(groups > 0, 7 * groups, -1), 3),
        "groups of all rows": (X, np.arange(N) % 3, 3),
        "as many groups as pairs": (X, np.arange(N) // 2, 3),
        "three rows": (X[:3], np.array([0, 0, -1]), 2),
        "four rows": (X[:4], np.array([0, 0, 1, 1]), 2),
        "copies of rows": (np.repeat(X[:6], 10, axis=0), groups, 3),
        "two different rows": (np.repeat(X[:2], 30, axis=0), np.arange(N) // 30, 2),
        "several components": (apart, np.where(groups < 0, -1, y), 2),
        "more clusters than rows": (X[:8], np.arange(8) // 2, 50),
        "one cluster": (X, groups, 1),
        "zeros and ones": (rng.integers(2, size=(N, 5)).astype(float), groups, 3),
        "an outlier": (outlier, groups, 3),
        "small numbers": (1e-30 * X, groups, 3),
        "large numbers": (1e30 * X, groups, 3),
        "integers": (X.astype(int).astype(float), groups, 3),
    }


ODD = odd_data()


class TestEveryView:
    @pytest.fixture(params=VIEWS, ids=repr)
    def view(self, request):
        return request.param

    def test_fitting_returns_a_view_and_leaves_the_old_one(self, view):
        X, groups = draw(0)
        first = view.fit(X, None, Known(groups, 3))
        seen = first.transform(X).plain()
        second = first.fit(X[::-1] + 7.0, None, Known(groups[::-1], 2))
        assert np.array_equal(first.transform(X).plain(), seen)
        # Fitted or not, a view is the same key.
        assert first == second == view
        assert hash(first) == hash(second) == hash(view)
        assert repr(first) == repr(view)

    def test_other_views_are_other_keys(self):
        every = [*LEARNT_VIEWS.values(), Diffusion(5), Diffusion(20)]
        assert len(set(every)) == len(every) == 10

    def test_every_row_becomes_one_point(self, view):
        X, groups = draw(1)
        points, fitted = points_of(view, X, groups)
        assert points.shape[0] == N
        assert fitted.transform(X[:7]).plain().shape == (7, points.shape[1])

    def test_rows_are_seen_alike_alone_and_together(self, view):
        X, groups = draw(2)
        fitted = points_of(view, X, groups)[1]
        new = draw(3)[0]
        alone = fitted.transform(new[7:9]).plain()
        np.testing.assert_allclose(alone, fitted.transform(new).plain()[7:9], 1e-12)

    def test_the_same_seed_gives_the_same_points(self, view):
        X, groups = draw(4)
        once, again = (points_of(view, X, groups, seed=3)[0] for _ in range(2))
        assert np.array_equal(once, again)

    def test_any_seed_will_do(self, view):
        X, groups = draw(4)
        for seed in (0, 2**31 - 1, 2**63 - 1):
            assert np.isfinite(points_of(view, X, groups, seed=seed)[0]).all()

    def test_what_groups_are_called_does_not_matter(self, view):
        X, groups = draw(5)
        renamed = np.where(groups < 0, -1, np.array([9, 0, 4])[groups])
        a, b = points_of(view, X, groups)[0], points_of(view, X, renamed)[0]
        assert_same_shape(a, b, 1e-10)

    def test_units_of_columns_do_not_matter(self, view):
        X, groups = draw(6)
        units = 2.0 ** np.array([-7, 0, 3, 12])
        a, b = points_of(view, X, groups)[0], points_of(view, units * X, groups)[0]
        assert_same_shape(a, b, 1e-9)

    def test_the_order_of_rows_does_not_matter(self, view):
        if isinstance(view, ForestVotes):
            pytest.skip("trees draw rows by their place")
        X, groups = draw(7)
        order = np.random.default_rng(0).permutation(N)
        a, b = points_of(view, X, groups)[0], points_of(view, X[order], groups[order])
        assert_same_shape(b[0], a[order], 1e-9)

    def test_a_pickled_view_sees_the_same(self, view):
        X, groups = draw(8)
        fitted = points_of(view, X, groups)[1]
        copy = pickle.loads(pickle.dumps(fitted))
        new = draw(9)[0]
        assert np.array_equal(
            copy.transform(new).plain(), fitted.transform(new).plain()
        )

    @pytest.mark.parametrize("case", ODD)
    def test_odd_data_do_no_harm(self, view, case):
        X, groups, n_clusters = ODD[case]
        known = Known(groups, n_clusters)
        if known.n_groups < getattr(view, "least_groups", 0):
            pytest.skip("too few groups")
        points, fitted = points_of(view, locked(X), groups, n_clusters)
        assert points.shape[0] == len(X) and points.shape[1] >= 1
        assert np.isfinite(points).all()
        new = np.random.default_rng(1).normal(size=(9, X.shape[1])) * X.std(axis=0)
        for rows in (X, X.mean(axis=0) + new, np.zeros((1, X.shape[1]))):
            assert np.isfinite(fitted.transform(rows).plain()).all()
        kernels = learnt_kernels(base_scales(Points(points), np.random.default_rng(0)))
        assert all(np.isfinite(kernel(points, points)).all() for kernel in kernels)

    @settings(deadline=None, max_examples=20)
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(4, 25),
        d=st.integers(1, 30),
        n_groups=st.integers(2, 5),
        rounded=st.booleans(),
    )
    def test_points_are_always_finite(self, seed, n, d, n_groups, rounded):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
        X = np.round(X) if rounded else X
        groups = rng.integers(-1, n_groups, n)
        groups[:4] = [0, 0, 1, 1]
        for view in VIEWS[:4]:
            points, fitted = points_of(view, X, groups, n_groups)
            assert np.isfinite(points).all()
            if view in LINEAR:
                np.testing.assert_allclose(
                    fitted.transform(X).plain(), points, rtol=0, atol=0
                )


class TestWhitened:
    @pytest.mark.parametrize("shape", [(60, 4), (200, 9), (9, 30)])
    def test_points_are_those_of_scikit_learn(self, shape):
        X = np.random.default_rng(0).normal(size=shape) @ np.diag(
            1.0 + np.arange(shape[1])
        )
        Z = StandardScaler().fit_transform(X)
        n_components = min(shape[1], shape[0] - 1)
        pca = PCA(n_components, whiten=True, svd_solver="full").fit(Z)
        expected = pca.transform(Z) * np.sqrt(shape[0] / (shape[0] - 1))
        points, fitted = points_of(Whitened(), X, None)
        assert points.shape[1] == n_components
        assert_same_shape(points, expected)
        new = np.random.default_rng(1).normal(size=(5, shape[1]))
        got = fitted.transform(new).plain() @ points.T
        scaled = StandardScaler().fit(X).transform(new)
        exact = pca.transform(scaled) @ expected.T * np.sqrt(shape[0] / (shape[0] - 1))
        np.testing.assert_allclose(got, exact, atol=1e-7 * np.abs(exact).max())

    def test_the_covariance_is_the_identity(self):
        X, _ = draw(10)
        weight = np.random.default_rng(0).uniform(0.2, 3.0, N)
        points = points_of(Whitened(), X, None, weight=weight)[0]
        share = weight / weight.sum()
        np.testing.assert_allclose(share @ points, 0.0, atol=1e-12)
        covariance = points.T @ (share[:, None] * points)
        np.testing.assert_allclose(covariance, np.eye(4), atol=1e-10)

    def test_directions_of_hardly_any_variance_are_left_out(self):
        X, _ = draw(11)
        X = np.column_stack([X, X @ [1.0, 2.0, -1.0, 0.5]])
        X += 1e-4 * np.random.default_rng(0).normal(size=X.shape)
        assert points_of(Whitened(), X, None)[0].shape == (N, 4)

    def test_the_number_of_directions_has_a_limit(self, monkeypatch):
        X = np.random.default_rng(0).normal(size=(40, 20))
        full = points_of(Whitened(), X, None)[0]
        monkeypatch.setattr(learnt, "_MAX_COMPONENTS", 5)
        few = points_of(Whitened(), X, None)[0]
        assert few.shape == (40, 5)
        assert_same_shape(few, full[:, :5])

    def test_groups_play_no_part(self):
        X, groups = draw(12)
        a, b = points_of(Whitened(), X, groups)[0], Whitened().fit(X).transform(X)
        assert np.array_equal(a, b.plain())


class TestWithinWhitened:
    @pytest.mark.parametrize("n_known", [6, 30, 60])
    def test_distances_are_those_of_mahalanobis(self, n_known):
        X, _ = draw(13)
        groups = np.where(np.arange(N) < n_known, np.arange(N) % 3, -1)
        Z = StandardScaler().fit_transform(X)
        inverse = np.linalg.inv(shrunk_within(Z, groups))
        points = points_of(WithinWhitened(), X, groups)[0]
        expected = pdist(Z, "mahalanobis", VI=inverse)
        np.testing.assert_allclose(pdist(points), expected, rtol=1e-7)

    def test_many_rows_have_the_same_spread_inside_groups_in_all_directions(self):
        rng = np.random.default_rng(0)
        y = np.arange(3000) % 3
        X = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 4)) + 3.0 * np.eye(3, 4)[y]
        points = points_of(WithinWhitened(), X, y)[0]
        rest = np.concatenate(
            [points[y == g] - points[y == g].mean(0) for g in range(3)]
        )
        np.testing.assert_allclose(rest.T @ rest / len(rest), np.eye(4), atol=0.05)

    def test_long_strips_become_short(self):
        rng = np.random.default_rng(0)
        y = np.arange(300) % 3
        along, across = 4.0 * rng.normal(size=300), y + 0.2 * rng.normal(size=300)
        X = np.column_stack([along + across, along - across])
        groups = np.where(np.arange(300) < 60, y, -1)
        clusters = KMeans(3, n_init=5, random_state=0)
        assert adjusted_rand_score(y, clusters.fit_predict(X)) < 0.1
        points = points_of(WithinWhitened(), X, groups)[0]
        assert adjusted_rand_score(y, clusters.fit_predict(points)) > 0.85

    @pytest.mark.parametrize(
        "size",
        [
            2,
            pytest.param(
                6,
            ),
        ],
    )
    def test_groups_of_equal_rows_leave_standardised_columns(self, size):
        X = draw(14)[0].copy()
        groups = np.full(N, -1)
        for group in range(3):
            rows = slice(group * size, (group + 1) * size)
            X[rows], groups[rows] = X[group * size], group
        points = points_of(WithinWhitened(), X, groups)[0]
        assert_same_shape(points, StandardScaler().fit_transform(X))

    def test_rows_without_a_group_only_set_scales(self):
        X, groups = draw(15)
        moved = X.copy()
        moved[N // 2 :] = X[N // 2 :][::-1]
        a, b = (points_of(WithinWhitened(), rows, groups)[0] for rows in (X, moved))
        assert_same_shape(a[: N // 2], b[: N // 2])


class TestDiscriminant:
    def by_hand(self, X, groups, n_directions):
        """Return the points on the leading directions, by a general eigensolver."""
        Z = StandardScaler().fit_transform(X)
        within = shrunk_within(Z, groups)
        inside = groups >= 0
        mean, between = Z[inside].mean(axis=0), np.zeros_like(within)
        for group in np.unique(groups[inside]):
            members = Z[groups == group]
            step = members.mean(axis=0) - mean
            between += len(members) / inside.sum() * np.outer(step, step)
        values, vectors = np.linalg.eig(np.linalg.solve(within, between))
        vectors = vectors.real[:, np.argsort(-values.real)[:n_directions]]
        vectors /= np.sqrt(np.einsum("ij,ik,kj->j", vectors, within, vectors))
        return Z @ vectors

    @pytest.mark.parametrize("sizes", [(10, 10, 10), (2, 5, 20), (30, 2, 2)])
    def test_points_lie_on_the_leading_directions(self, sizes):
        X, _ = draw(16)
        groups = np.concatenate([np.repeat(np.arange(3), sizes), np.full(N, -1)])[:N]
        points = points_of(Discriminant(), X, groups)[0]
        expected = self.by_hand(X, groups, 2)
        assert points.shape == (N, 2)
        np.testing.assert_allclose(
            np.abs(points), np.abs(expected), rtol=1e-6, atol=1e-9
        )

    def test_many_rows_span_what_scikit_learns_directions_do(self):
        X, _ = draw(17, 1500)
        y = np.arange(1500) % 3
        points = points_of(Discriminant(), X, y)[0]
        other = LinearDiscriminantAnalysis(solver="eigen").fit_transform(X, y)
        centred = points - points.mean(axis=0), other - other.mean(axis=0)
        angles = scipy.linalg.subspace_angles(*centred)
        assert angles.max() < 0.02

    @pytest.mark.parametrize(
        ("n_clusters", "n_groups", "n_directions"),
        [(2, 2, 1), (2, 3, 2), (3, 6, 2), (5, 6, 4), (5, 3, 2), (40, 6, 4)],
    )
    def test_there_are_no_more_directions_than_can_differ(
        self, n_clusters, n_groups, n_directions
    ):
        X, _ = draw(18)
        groups = np.where(np.arange(N) < 40, np.arange(N) % n_groups, -1)
        points = points_of(Discriminant(), X, groups, n_clusters)[0]
        assert points.shape == (N, n_directions)
        assert_same_shape(points, self.by_hand(X, groups, n_directions), 1e-6)

    def test_noise_is_left_out(self):
        rng = np.random.default_rng(0)
        y = np.arange(200) % 2
        X = np.column_stack(
            [3.0 * y + rng.normal(size=200), rng.normal(size=(200, 30))]
        )
        groups = np.where(np.arange(200) < 60, y, -1)
        points = points_of(Discriminant(), X, groups, 2)[0]
        assert points.shape == (200, 1)
        right = np.corrcoef(points[60:, 0], y[60:])[0, 1] ** 2
        plain = np.corrcoef(X[60:].sum(axis=1), y[60:])[0, 1] ** 2
        assert right > 0.4 > plain


@pytest.mark.parametrize("view", LINEAR, ids=repr)
class TestLinearViews:
    def test_training_points_are_those_of_the_training_rows(self, view):
        X, groups = draw(19)
        points, fitted = points_of(view, X, groups)
        assert np.array_equal(fitted.transform(X).plain(), points)

    def test_the_view_is_a_linear_map(self, view):
        X, groups = draw(20)
        fitted = points_of(view, X, groups)[1]
        a, b = fitted.transform(X[:9]).plain(), fitted.transform(X[9:18]).plain()
        middle = fitted.transform(0.3 * X[:9] + 0.7 * X[9:18]).plain()
        np.testing.assert_allclose(middle, 0.3 * a + 0.7 * b, atol=1e-9)

    def test_a_weight_counts_like_copies_that_are_in_no_group(self, view):
        X, groups = draw(21)
        weight = np.arange(N) % 3 + 1.0
        copies = np.repeat(np.arange(N), weight.astype(int) - 1)
        points = points_of(view, X, groups, weight=weight)[0]
        more = np.concatenate([groups, np.full(len(copies), -1)])
        repeated = points_of(view, np.concatenate([X, X[copies]]), more)[0]
        assert_same_shape(repeated[:N], points, 1e-9)

    def test_weights_of_any_unit_will_do(self, view):
        X, groups = draw(22)
        weight = np.random.default_rng(0).uniform(0.2, 3.0, N)
        a, b = (points_of(view, X, groups, weight=f * weight)[0] for f in (1.0, 1e-3))
        assert_same_shape(a, b, 1e-9)


class TestDiffusion:
    def by_hand(self, X, n_neighbors, n_vectors, steps=4):
        """Return places, eigenvalues and degrees from dense matrices."""
        Z = StandardScaler().fit_transform(X)
        n = len(Z)
        near = np.argsort(cdist(Z, Z), axis=1)[:, : n_neighbors + 1]
        graph = np.eye(n)
        for i in range(n):
            for j in near[i]:
                graph[i, j] = graph[j, i] = 1.0
        degree = graph.sum(axis=1)
        values, vectors = np.linalg.eigh(graph / np.sqrt(np.outer(degree, degree)))
        values, vectors = values[-n_vectors:], vectors[:, -n_vectors:]
        places = np.sqrt(n) * vectors * np.maximum(values, 0.0) ** steps
        return places, values, degree

    def one_piece(self, n, seed=0):
        """Return rows whose neighbours hang together, in three bulges."""
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 3
        X = np.column_stack([2.5 * y, 0.0 * y, 0.0 * y]) + rng.normal(size=(n, 3))
        return X * [1.0, 0.7, 0.2], y

    @pytest.mark.parametrize("n_neighbors", [5, 10, 20])
    @pytest.mark.parametrize("n_clusters", [1, 3, 6])
    def test_points_are_those_of_dense_matrices(self, n_neighbors, n_clusters):
        X, _ = self.one_piece(80)
        points, _ = points_of(Diffusion(n_neighbors), X, None, n_clusters)
        expected = self.by_hand(X, n_neighbors, n_clusters)[0]
        assert points.shape == (80, n_clusters)
        assert_same_shape(points, expected, 1e-9)

    @pytest.mark.parametrize("n_neighbors", [5, 20])
    def test_many_rows_are_placed_as_by_dense_matrices(self, n_neighbors):
        X, _ = self.one_piece(600)
        points, _ = points_of(Diffusion(n_neighbors), X, None)
        assert_same_shape(points, self.by_hand(X, n_neighbors, 3)[0], 1e-5)

    @pytest.mark.parametrize(
        "n",
        [
            120,
            pytest.param(
                600,
            ),
        ],
    )
    @pytest.mark.parametrize("k", [2, 3])
    def test_components_are_apart_whatever_their_size(self, n, k):
        X, y = far_clusters(n, k)
        points, _ = points_of(Diffusion(20), X, None, k)
        assert_same_shape(points, self.by_hand(X, 20, k)[0], 1e-5)
        # The walk does not leave a component: rows of different ones are orthogonal.
        assert np.abs(products(points)[y[:, None] != y]).max() < 1e-6

    def test_new_rows_are_placed_by_their_neighbours(self):
        X, _ = self.one_piece(90)
        places, values, degree = self.by_hand(X, 10, 3)
        points, fitted = points_of(Diffusion(10), X, None)
        new, _ = self.one_piece(30, seed=1)
        scaler = StandardScaler().fit(X)
        near = cdist(scaler.transform(new), scaler.transform(X)).argsort(axis=1)[:, :11]
        # One more row of the graph with these neighbours, solved for its own place.
        expected = np.array(
            [
                (places[j] / np.sqrt(11 * degree[j])[:, None]).sum(0) / values
                for j in near
            ]
        )
        got = fitted.transform(new).plain()
        np.testing.assert_allclose(
            got @ points.T, expected @ places.T, rtol=0, atol=1e-8 * N
        )

    @pytest.mark.parametrize("n_neighbors", [5, 10, 20])
    def test_training_rows_come_near_where_they_were(self, n_neighbors):
        X, _ = self.one_piece(150)
        points, fitted = points_of(Diffusion(n_neighbors), X, None)
        again = fitted.transform(X).plain()
        distances = np.corrcoef(pdist(points), pdist(again))[0, 1]
        assert distances > 0.9
        moved = np.linalg.norm(points - again, axis=1)
        assert np.median(moved) < 0.3 * np.median(pdist(points))

    def test_training_rows_find_their_own_cluster(self):
        X, y = far_clusters(150)
        points, fitted = points_of(Diffusion(10), X, None)
        nearest = cdist(fitted.transform(X).plain(), points).argmin(axis=1)
        assert np.array_equal(y[nearest], y)

    def test_rings_come_apart(self):
        X, y = rings(200)
        clusters = KMeans(2, n_init=5, random_state=0)
        assert adjusted_rand_score(y, clusters.fit_predict(X)) < 0.1
        points, fitted = points_of(Diffusion(10), X, None, 2)
        assert adjusted_rand_score(y, clusters.fit_predict(points)) == 1.0
        new, z = rings(50, seed=1)
        assert (
            adjusted_rand_score(z, clusters.predict(fitted.transform(new).plain())) == 1
        )

    def test_of_many_rows_some_make_the_graph(self, monkeypatch):
        X, y = self.one_piece(150)
        monkeypatch.setattr(learnt, "_MAX_GRAPH_ROWS", 100)
        groups = np.full(150, -1)
        points, fitted = points_of(Diffusion(10), X, groups, seed=1)
        assert fitted._index.n_samples_fit_ == 100
        assert np.array_equal(points, fitted.transform(X).plain())
        again = points_of(Diffusion(10), X, groups, seed=1)[0]
        other = points_of(Diffusion(10), X, groups, seed=2)[0]
        assert np.array_equal(points, again) and not np.array_equal(points, other)
        monkeypatch.undo()
        whole = points_of(Diffusion(10), X, groups)[0]
        assert np.corrcoef(pdist(points), pdist(whole))[0, 1] > 0.85

    def test_the_number_of_threads_changes_nothing(self):
        X = np.random.default_rng(0).integers(2, size=(600, 20)).astype(float)
        found = []
        for n_threads in (1, 2):
            with threadpool_limits(n_threads, user_api="openmp"):
                found.append(points_of(Diffusion(10), X, None)[0])
        assert_same_shape(*found)

    def test_without_groups_there_are_eight_directions(self):
        X, _ = draw()
        assert Diffusion().fit(X).transform(X).plain().shape == (N, 8)

    @pytest.mark.parametrize("n_neighbors", [5, 10, 20])
    def test_equal_rows_are_in_one_place(self, n_neighbors):
        X = np.repeat(np.random.default_rng(0).normal(size=(6, 3)), 10, axis=0)
        points = points_of(Diffusion(n_neighbors), X, None)[0]
        np.testing.assert_allclose(points, points[::10].repeat(10, axis=0), atol=1e-6)

    @pytest.mark.parametrize("n", [7, 11, 21])
    def test_if_all_rows_are_neighbours_there_is_nothing_to_see(self, n):
        X = np.random.default_rng(0).normal(size=(n, 3))
        points = points_of(Diffusion(20), X, None)[0]
        kernels = learnt_kernels(base_scales(Points(points), np.random.default_rng(0)))
        assert kernels == [Linear()]


class TestForestVotes:
    def forest(self, X, groups, seed=0):
        inside = groups >= 0
        forest = RandomForestClassifier(
            20, max_features=0.5, oob_score=True, random_state=seed
        )
        return forest.fit(X[inside], groups[inside])

    def unit(self, votes):
        return votes / np.sqrt((votes**2).sum(axis=1, keepdims=True))

    @pytest.mark.parametrize("seed", [0, 5])
    def test_rows_of_groups_are_judged_by_trees_grown_without_them(self, seed):
        X, groups = draw(23)
        points, fitted = points_of(ForestVotes(), X, groups, seed=seed)
        forest = self.forest(X, groups, seed)
        inside = groups >= 0
        expected = self.unit(forest.predict_proba(X))
        expected[inside] = self.unit(forest.oob_decision_function_)
        mean = expected.mean(axis=0)
        np.testing.assert_allclose(points, expected - mean, atol=1e-12)
        new = draw(24)[0]
        got = fitted.transform(new).plain()
        votes = self.unit(forest.predict_proba(new))
        np.testing.assert_allclose(got, votes - mean, atol=1e-12)
        again = fitted.transform(X).plain()
        votes = self.unit(forest.predict_proba(X))
        np.testing.assert_allclose(again, votes - mean, atol=1e-12)

    def test_of_too_many_groups_the_largest_are_classes(self, monkeypatch):
        X, _ = draw(28)
        groups = np.full(N, -1)
        groups[:20] = [7] * 8 + [2] * 4 + [5] * 5 + [0] * 3
        monkeypatch.setattr(learnt, "_MAX_CLASSES", 2)
        points, fitted = points_of(ForestVotes(), X, groups)
        few = np.where(np.isin(groups, [7, 5]), groups, -1)
        expected, other = points_of(ForestVotes(), X, few)
        np.testing.assert_array_equal(points, expected)
        assert points.shape == (N, 2)
        np.testing.assert_array_equal(
            fitted.transform(X).plain(), other.transform(X).plain()
        )

    def test_kmeans_parts_rows_where_the_majority_of_trees_changes(self):
        # A small class, much of which lies among a large one. Square roots of votes,
        # the usual way to compare distributions, make k-means cut the large class.
        rng = np.random.default_rng(0)
        y = (np.arange(1000) % 5 == 0).astype(int)
        X = rng.normal(size=(1000, 6)) + 0.9 * y[:, None]
        groups = np.where(np.arange(1000) < 300, y, -1)
        points, fitted = points_of(ForestVotes(), X, groups)
        points = points + fitted._mean
        roots = np.sqrt(points / points.sum(axis=1, keepdims=True))
        kmeans = KMeans(2, n_init=5, random_state=0)
        of_points, of_roots = (
            adjusted_rand_score(points.argmax(axis=1), kmeans.fit_predict(places))
            for places in (points, roots)
        )
        assert of_points > 0.65 and of_roots < 0.5

    def test_rows_that_all_trees_were_grown_with_get_the_shares_of_groups(
        self, monkeypatch
    ):
        monkeypatch.setattr(learnt, "_N_TREES", 1)
        X, _ = draw(26)
        groups = np.where(np.arange(N) < 40, np.arange(N) // 10, -1)
        points, fitted = points_of(ForestVotes(), X, groups)
        np.testing.assert_allclose(((points + fitted._mean) ** 2).sum(axis=1), 1.0)

    def test_groups_that_no_data_tell_apart_do_not_come_apart(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        groups = np.where(np.arange(200) < 100, rng.integers(2, size=200), -1)
        points = points_of(ForestVotes(), X, groups)[0]
        right = points[:100].argmax(axis=1) == groups[:100]
        assert right.mean() < 0.65

    @pytest.mark.parametrize(
        "offset",
        [
            0.0,
            1e6,
            pytest.param(1e9),
        ],
    )
    def test_columns_far_from_zero_are_as_good(self, offset):
        X, y = far_clusters(N)
        groups = np.where(np.arange(N) < 30, y, -1)
        points = points_of(ForestVotes(), 0.05 * X + offset, groups)[0]
        assert np.mean(points.argmax(axis=1) == y) > 0.95

    def test_numbers_may_be_huge(self):
        X, groups = draw(27)
        assert np.isfinite(points_of(ForestVotes(), 1e60 * X, groups)[0]).all()


class TestOneLength:
    """Whether rows are angles already; a few may be empty or rounded."""

    @pytest.mark.parametrize(("n_empty", "is_so"), [(0, True), (3, True), (4, False)])
    def test_a_few_rows_may_be_empty(self, n_empty, is_so):
        X = normalize(draw()[0])
        X[:n_empty] = 0.0
        assert Unit().fit(X).had_one_length == is_so

    @pytest.mark.parametrize(("by", "is_so"), [(0.0005, True), (0.002, False)])
    def test_lengths_may_be_rounded(self, by, is_so):
        X = normalize(draw()[0])
        X[::3] *= 1.0 + by
        assert Unit().fit(X).had_one_length == is_so

    def test_other_spreads_change_it(self):
        X = normalize(draw()[0])
        assert not Unit("half").fit(X).had_one_length


class TestLearntViews:
    def names(self, name, X, known):
        return [repr(view) for view in learnt_views(name, X, known)]

    def test_a_name_stands_for_its_views(self):
        X, groups = draw()
        known = Known(groups, 3)
        assert self.names("whitened", X, known) == ["Whitened()"]
        assert self.names("within", X, known) == ["WithinWhitened()"]
        assert self.names("discriminant", X, known) == ["Discriminant()"]
        assert self.names("forest", X, known) == ["ForestVotes()"]
        assert self.names("diffusion", X, known) == ["Diffusion(n_neighbors=10)"]

    def test_rich_has_those_that_earn_their_place(self):
        X, groups = draw()
        expected = [WithinWhitened(), ForestVotes(), Diffusion()]
        assert learnt_views("rich", X, Known(groups, 3)) == expected

    def test_a_forest_needs_three_rows_in_groups_for_each_cluster(self):
        X, _ = draw()
        groups = np.where(np.arange(N) < 12, np.arange(N) % 4, -1)
        for n_clusters in (4, 5):
            found = learnt_views("rich", X, Known(groups, n_clusters))
            assert (ForestVotes() in found) == (n_clusters == 4)

    def test_rows_of_many_columns_have_angles_besides(self):
        X, groups = draw()
        wide = np.tile(X, 20)
        found = learnt_views("rich", wide, Known(groups, 3))
        assert found[3:] == [Unit(), Unit("half"), Unit("within")]
        assert len(learnt_views("rich", wide, None)) == 3

    def test_those_that_need_more_groups_are_left_out(self):
        X, groups = draw()
        for known in (None, Known(np.full(N, -1), 3)):
            assert self.names("rich", X, known) == ["Diffusion(n_neighbors=10)"]
            assert self.names("whitened", X, known) == ["Whitened()"]
            assert self.names("within", X, known) == []
        one = Known(np.minimum(groups, 0), 3)
        expected = ["WithinWhitened()", "Diffusion(n_neighbors=10)"]
        assert self.names("rich", X, one) == expected
        assert self.names("forest", X, one) == self.names("discriminant", X, one) == []

    @pytest.mark.parametrize("name", LEARNT_VIEWS)
    def test_those_of_sparse_rows_see_a_few_columns_of_rows_of_length_one(
        self, monkeypatch, name
    ):
        monkeypatch.setattr(learnt, "_REDUCED_COLUMNS", 2)
        X, groups = draw()
        X = csr_array(X)
        known = Known(groups, 3)
        (view,) = learnt_views(name, X, known)
        few = normalize(TruncatedSVD(2, random_state=0).fit_transform(X))
        assert isinstance(view, Reduced) and view.view == LEARNT_VIEWS[name]
        expected, _ = points_of(LEARNT_VIEWS[name], few, groups)
        found, fitted = points_of(view, X, groups)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        new = X[:5].toarray()
        np.testing.assert_array_equal(
            fitted.transform(new).plain(), fitted.transform(csr_array(new)).plain()
        )

    def test_sparse_rows_have_angles_besides_however_few_their_columns(self):
        X, groups = draw()
        found = learnt_views("rich", csr_array(X), Known(groups, 3))
        views = [WithinWhitened(), ForestVotes(), Diffusion()]
        assert [view.view for view in found] == [
            *views,
            *(Unit(), Unit("half"), Unit("within")),
        ]

    @pytest.mark.parametrize("name", ["rich", *LEARNT_VIEWS])
    def test_sparse_rows_that_are_all_equal_have_none(self, name):
        _, groups = draw()
        assert learnt_views(name, csr_array(np.ones((N, 4))), Known(groups, 3)) == []

    def test_two_rows_have_none(self):
        X, _ = draw()
        assert learnt_views("rich", X[:2], Known(np.zeros(2, int), 2)) == []


class TestBanks:
    """Names of views among the kernels of a bank."""

    def build(self, kernels, X, groups=None, **options):
        known = None if groups is None else Known(groups, 3)
        return KernelBank.build(X, kernels, filter="none", known=known, **options)

    @pytest.mark.parametrize("name", LEARNT_VIEWS)
    def test_a_view_has_a_few_kernels(self, name):
        X, groups = draw()
        bank = self.build([name], X, groups)
        scales = base_scales(
            Points(points_of(LEARNT_VIEWS[name], X, groups)[0]),
            np.random.default_rng(0),
        )
        kernels = learnt_kernels(scales)
        assert len(kernels) == bank.n_weights == N_LEARNT
        for got, kernel in zip(bank.names, kernels, strict=True):
            assert got == f"{kernel!r} on {name}"

    def test_kernels_have_the_width_of_their_view(self):
        kernels = learnt_kernels(
            {"squared_distances": 4.0, "manhattan": 0.5, "inner_products": 9.0}
        )
        assert RBF(1.0 / 4.0) in kernels and Laplacian(1.0 / 0.5) in kernels
        assert kernels[-1] == Linear()
        nothing = dict.fromkeys(BASES, 0.0)
        assert learnt_kernels(nothing) == [Linear()]

    def test_rich_has_kernels_of_the_paper_but_most_polynomials_and_views(self):
        X, groups = draw()
        rich, paper = self.build("rich", X, groups), self.build("paper", X, groups)
        own = rich.names[:26]
        assert set(own) <= set(paper.names)
        assert {n for n in paper.names if not n.startswith(("Poly", "Sigmoid"))} < set(
            own
        )
        assert sum(n.startswith("Poly") for n in own) == 4
        apart = self.build([*RICH_VIEWS], X, groups)
        assert rich.n_weights == 26 + 3 * N_LEARNT
        assert [n.split(" on ")[1] for n in rich.names[26:]] == [
            n.split(" on ")[1] for n in apart.names
        ]

    def test_without_groups_some_are_missing(self):
        X, _ = draw()
        assert self.build("rich", X).n_weights == 26 + N_LEARNT

    def test_rows_of_many_columns_have_linear_kernels_on_wide_views(self):
        X, groups = draw()
        wide = np.random.default_rng(0).normal(size=(N, 60))
        wide[:, : X.shape[1]] += X
        names = self.build("rich", wide, groups).names
        assert not any(name.startswith(("Poly", "Laplacian(")) for name in names[:6])
        on_units = [name for name in names if " on unit" in name]
        assert on_units == [
            "Linear() on unit",
            "Linear() on unit_half",
            "Linear() on unit_within",
        ]

    def test_sparse_data_have_learnt_views_too(self):
        rng = np.random.default_rng(0)
        X = csr_array(rng.poisson(0.7, size=(N, 5)).astype(float))
        bank = self.build("rich", X, np.arange(N) % 3)
        views = {name.split(" on ")[1] for name in bank.names}
        assert {"within", "forest", "diffusion", "unit_within"} <= views
        weights = np.ones(bank.n_weights)
        few = bank.kernel(weights)(X[:4])
        dense = bank.kernel(weights)(X[:4].toarray())
        np.testing.assert_allclose(few, dense, rtol=1e-3, atol=1e-4)

    def test_training_matrices_are_those_of_the_training_points(self):
        X, groups = draw(28)
        weight = np.random.default_rng(0).uniform(0.2, 3.0, N)
        pairs = [(view, Linear()) for view in VIEWS]
        bank = self.build(pairs, X, groups, sample_weight=weight)
        for view, weights in zip(VIEWS, np.eye(bank.n_weights), strict=True):
            values = points_of(view, X, groups, weight=weight)[0]
            gram = bank.combine(weights * bank.unscaled).gram.astype(float)
            exact = products(values)
            # Up to a common part, which no distance depends on.
            got, exact = (
                np.add.outer(g.diagonal(), g.diagonal()) - 2.0 * g
                for g in (gram, exact)
            )
            np.testing.assert_allclose(got, exact, rtol=0, atol=1e-4 * exact.max())

    @pytest.mark.parametrize("case", sorted(set(ODD) - {"equal rows"}))
    def test_odd_data_make_a_bank(self, case):
        X, groups, n_clusters = ODD[case]
        bank = KernelBank.build(X, "rich", known=Known(groups, n_clusters))
        weights = np.ones(bank.n_weights)
        assert np.isfinite(bank.combine(weights).gram).all()
        assert np.isfinite(bank.kernel(weights)(X[:3] + 1e-3 * X.std())).all()

    @pytest.mark.parametrize("name", ["whitened", "diffusion", "rich"])
    def test_rows_that_are_all_equal_are_an_error(self, name):
        X, groups, n_clusters = ODD["equal rows"]
        with pytest.raises(ValueError, match="None of the .* tells the rows"):
            KernelBank.build(X, [name], known=Known(groups, n_clusters))

    def test_an_unknown_name_is_answered_with_the_names_there_are(self):
        X, groups = draw()
        with pytest.raises(ValueError, match=r'kernels\[1\].*"rich".*\'forest\''):
            self.build(["paper", "trees"], X, groups)

    def test_names_tell_views_apart(self):
        X, groups = draw()
        kernels = [(Diffusion(5), Linear()), (Diffusion(20), Linear())]
        first, second = self.build(kernels, X, groups).names
        assert first != second

    @pytest.mark.parametrize("name", ["within", "discriminant", "forest"])
    def test_too_few_groups_for_any_kernel_are_an_error_that_says_so(self, name):
        X, _ = draw()
        with pytest.raises(ValueError, match="group|must-link"):
            self.build([name], X, np.full(N, -1))

    @pytest.mark.parametrize("view", [WithinWhitened(), Discriminant(), ForestVotes()])
    def test_a_view_that_lacks_groups_says_so(self, view):
        X, _ = draw()
        with pytest.raises(ValueError, match="needs .*groups"):
            self.build([(view, Linear())], X, np.full(N, -1))
