"""Kernels known by their values with landmarks (section 6)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import pairwise
from tests.contracts.bank import BankContract
from tests.contracts.space import SpaceContract, locked
from tests.contracts.view import counts

from linkwise.clustering import farthest_first, kmeans
from linkwise.constraints import Constraints
from linkwise.engines import one_blas_thread
from linkwise.kernels import (
    RBF,
    GramSpace,
    KernelBank,
    LandmarkBank,
    LandmarkSpace,
    Laplacian,
    Linear,
    PairKernel,
    Polynomial,
    Precomputed,
    SeveralSets,
    Sigmoid,
    Standardized,
)
from linkwise.kernels import _entries as entries
from linkwise.kernels import _landmark_values as landmark_values
from linkwise.kernels import _landmarks as landmarks
from linkwise.kernels._landmark_space import positive_inverse
from linkwise.kernels._landmark_values import moved_origin
from linkwise.kernels._views import Known

N = 60
# Positive definite ones: of others, the negative part is dropped.
KERNELS = [
    Linear(),
    RBF(0.1),
    RBF(0.5),
    Laplacian(0.2),
    Polynomial(0.1, 2, 1.0),
    (Standardized(), Linear()),
    (Standardized(), RBF(0.3)),
    (Standardized(), Laplacian(0.3)),
    (Standardized(), Polynomial(0.2, 3, 1.0)),
]


def draw(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 3.0, 0.5] + [0.0, 1.0, 2.0]
    return locked(X), locked(rng.uniform(0.5, 3.0, n))


def some_weights(bank, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1.0, bank.n_weights)


def one_hot(bank, i):
    weights = np.zeros(bank.n_weights)
    weights[i] = 1.0
    return weights


def each_and_all(bank):
    """Return the weights of every kernel by itself, and of a mixture."""
    return [*np.eye(bank.n_weights), some_weights(bank)]


def gram_of(space):
    n = space.n_samples
    i, j = np.divmod(np.arange(n * n), n)
    return space.pairs(i, j).reshape(n, n)


def distances_of(space):
    gram = gram_of(space)
    return space.diagonal[:, None] - 2.0 * gram + space.diagonal


def assert_same_geometry(space, exact, rtol):
    expected = distances_of(exact)
    scale = expected.max()
    np.testing.assert_allclose(distances_of(space), expected, rtol=0, atol=rtol * scale)


def centred(gram, weight=None):
    """Return a Gram matrix with the origin at the weighted mean of the points."""
    share = np.full(len(gram), 1 / len(gram)) if weight is None else weight
    share = share / share.sum()
    mean = gram @ share
    return gram - mean - mean[:, None] + share @ mean


def positive_root(among):
    """Return U e^(-1/2) of section 6, small and negative eigenvalues dropped."""
    values, vectors = np.linalg.eigh(among)
    kept = values > 1e-7 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def features_of(cross, among):
    """Return the plain Nystroem features of rows, with the origin at the landmarks."""
    centre = among.mean(axis=0)
    cross = cross - centre - cross.mean(axis=1, keepdims=True) + among.mean()
    among = among - centre - centre[:, None] + among.mean()
    return cross @ positive_root(among)


def bytes_for(n_blocks, n, q):
    return 4 * n * q * n_blocks


@pytest.fixture(autouse=True)
def _one_thread():
    """As in an estimator; matrices are too small for more."""
    with one_blas_thread():
        yield


class TestSpace(SpaceContract):
    """The landmarks span the rows: the geometry is that of the rows themselves."""

    rtol = 1e-6
    dtype_of_sums = np.float32
    drift = 1e-5

    def space_of(self, X, weight=None):
        places = np.array([[1.0, 0.2, 0.0], [-0.3, 1.0, 0.1], [0.0, 0.4, 1.0]])
        places = places[: X.shape[1], : X.shape[1]]
        cross = locked((X @ places.T).astype(np.float32))
        core = np.linalg.inv(places @ places.T)
        return LandmarkSpace(cross, core, np.einsum("ij,ij->i", X, X), weight)


class TestSpaceWithMoreLandmarksThanDimensions(SpaceContract):
    rtol = 1e-6
    dtype_of_sums = np.float32
    drift = 1e-5

    def space_of(self, X, weight=None):
        places = np.random.default_rng(0).normal(size=(7, X.shape[1]))
        cross = locked((X @ places.T).astype(np.float32))
        core = np.linalg.pinv(places @ places.T)
        return LandmarkSpace(cross, core, np.einsum("ij,ij->i", X, X), weight)


class TestStoredBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        return LandmarkBank.build(X, KERNELS, n_landmarks=N, sample_weight=weight)

    def test_it_is_stored(self, bank):
        assert bank.is_stored
        assert repr(bank) == (
            f"LandmarkBank(n_samples=60, n_kernels={bank.n_weights}, n_landmarks=60)"
        )


class TestRegeneratedBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        return LandmarkBank.build(
            X,
            KERNELS,
            n_landmarks=N,
            sample_weight=weight,
            max_memory=bytes_for(6, N, N),
        )

    def test_it_is_not_stored(self, bank):
        assert not bank.is_stored


class TestSeparateBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        return LandmarkBank.build(
            X, KERNELS, n_landmarks=N, sample_weight=weight, separate=True
        )


class TestAllRowsAsLandmarks:
    """The geometry is that of a KernelBank."""

    def both(self, X, kernels=KERNELS, **options):
        exact = KernelBank.build(X, kernels, **options)
        bank = LandmarkBank.build(X, kernels, n_landmarks=10**6, **options)
        assert bank.names == exact.names
        assert np.array_equal(bank.landmarks, np.arange(bank.n_samples))
        np.testing.assert_allclose(bank.unscaled, exact.unscaled, rtol=1e-5)
        return bank, exact

    def compare(self, X, kernels=KERNELS, rtol=2e-5, **options):
        bank, exact = self.both(X, kernels, **options)
        for weights in each_and_all(bank):
            space = bank.combine(weights)
            assert_same_geometry(space, exact.combine(weights), rtol)
            assert bank.scatter(weights) == exact.scatter(weights)
        return bank, exact

    @pytest.mark.parametrize("filter", ["none", "ratio"])
    @pytest.mark.parametrize("separate", [False, True])
    def test_of_any_definite_kernels(self, filter, separate):
        X, weight = draw()
        exact = KernelBank.build(X, KERNELS, filter=filter, sample_weight=weight)
        bank = LandmarkBank.build(
            X,
            KERNELS,
            n_landmarks=N,
            filter=filter,
            sample_weight=weight,
            separate=separate,
        )
        assert bank.names == exact.names
        np.testing.assert_allclose(bank.unscaled, exact.unscaled, rtol=1e-6)
        for weights in each_and_all(bank):
            assert_same_geometry(bank.combine(weights), exact.combine(weights), 2e-5)

    def test_of_the_kernels_of_the_paper(self):
        X, _ = draw(1)
        bank, exact = self.both(X, "paper")
        for weights in np.eye(bank.n_weights):
            (i,) = weights.nonzero()[0]
            if not bank.names[i].startswith("Sigmoid"):
                assert_same_geometry(
                    bank.combine(weights), exact.combine(weights), 2e-5
                )

    def test_the_paper_kernels_have_the_same_names_without_a_filter(self):
        X, _ = draw(2, 230)  # more rows than kernel widths are set from
        options = {"filter": "none"}
        a = KernelBank.build(X, rng=np.random.default_rng(3), **options)
        b = LandmarkBank.build(
            X, n_landmarks=230, rng=np.random.default_rng(3), **options
        )
        assert a.names == b.names

    @pytest.mark.parametrize("offset", [1e4, 1e5, 1e6])
    @pytest.mark.parametrize("spread", [1.0, 100.0])
    def test_far_from_the_origin(self, offset, spread):
        X, weight = draw(3)
        X = spread * X + offset
        kernels = [Linear(), RBF(0.1 / spread**2), *KERNELS[5:]]
        # What is left of products of such numbers in double precision.
        rtol = 2e-5 + 1e-14 * (offset / spread) ** 2
        self.compare(X, kernels, rtol, filter="none", sample_weight=weight)

    @pytest.mark.parametrize("form", [csr_matrix, csr_array])
    def test_of_sparse_data(self, form):
        X = counts(0, (N, 6))
        bank, _ = self.compare(form(X), filter="none")
        dense = LandmarkBank.build(X, KERNELS, n_landmarks=N, filter="none")
        for weights in each_and_all(bank):
            assert_same_geometry(bank.combine(weights), dense.combine(weights), 2e-5)

    def test_means_of_sparse_rows_are_the_same_in_either_form(self):
        X = counts(0, (N, 6))
        known = Known(np.where(np.arange(N) < 20, np.arange(N) % 2, -1), 2)
        matrix, array = (
            LandmarkBank.build(form(X), KERNELS, n_landmarks=9, known=known)
            for form in (csr_matrix, csr_array)
        )
        np.testing.assert_array_equal(matrix.landmarks, array.landmarks)
        assert matrix.n_landmarks == 9 < len(matrix.landmarks)

    def test_of_functions(self):
        X, weight = draw(4)

        def linear(A, B):
            return A @ B.T

        def broad(A, B):
            return np.exp(-0.1 * pairwise.euclidean_distances(A, B))

        kernels = [linear, broad, (Standardized(), linear)]
        self.compare(X, kernels, filter="none", sample_weight=weight)

    @pytest.mark.parametrize("container", [list, np.array])
    def test_of_objects(self, container):
        rng = np.random.default_rng(5)
        words = ["".join(rng.choice(list("abcde"), 6)) for _ in range(150)]

        def shared(a, b):
            return float(sum(a.count(c) * b.count(c) for c in "abcde"))

        self.compare(container(words), [PairKernel(shared)], filter="none")

    def test_of_several_sets(self):
        X, weight = draw(6)
        several = SeveralSets([X[:, :2], csr_array(X[:, 1:])])
        options = {"filter": "none", "sample_weight": weight}
        bank, _ = self.compare(several, **options)
        assert bank.n_weights == 2 * len(KERNELS)

    @pytest.mark.parametrize("scale", [1e-18, 1e-9, 1e9, 1e18])
    def test_in_any_unit(self, scale):
        X, _ = draw()
        here, there = (
            LandmarkBank.build(f * X, n_landmarks=N, filter="ratio")
            for f in (1.0, scale)
        )
        assert here.n_weights == there.n_weights
        for weights in np.eye(here.n_weights)[::3]:
            assert_same_geometry(here.combine(weights), there.combine(weights), 1e-4)

    @settings(deadline=None, max_examples=15)
    @given(seed=st.integers(0, 10**6), k=st.integers(2, 4), spread=st.floats(0.3, 4.0))
    def test_clusters_are_the_same(self, seed, k, spread):
        rng = np.random.default_rng(seed)
        y = rng.integers(k, size=N)
        X = spread * rng.normal(size=(N, 3)) + 5.0 * np.eye(k, 3)[y]
        weight = rng.uniform(0.5, 3.0, N)
        # No narrow ones: they put all far points at the same distance, up to rounding.
        width = 0.2 / X.var(axis=0).sum()
        kernels = [Linear(), RBF(width), *KERNELS[5:]]
        bank, exact = self.both(X, kernels, sample_weight=weight)
        closure = Constraints.sample(y, 12, random_state=seed).closure(N)
        for weights in each_and_all(bank):
            a, b = bank.combine(weights), exact.combine(weights)
            once, again = kmeans(a, closure, k), kmeans(b, closure, k)
            assert np.array_equal(
                farthest_first(a, closure, k), farthest_first(b, closure, k)
            )
            assert np.array_equal(once.labels, again.labels)
            assert once.objective == pytest.approx(again.objective, rel=1e-4)


class TestFewLandmarks:
    def bank(self, X, kernels=KERNELS, q=12, **options):
        options = {"filter": "none"} | options
        return LandmarkBank.build(X, kernels, n_landmarks=q, **options)

    def plain(self, kernel, X, weight, rows):
        """Return cross and among values of one kernel, from scikit-learn functions."""
        kernel = kernel if isinstance(kernel, tuple) else (None, kernel)
        if kernel[0] is not None:
            mean = weight @ X / weight.sum()
            X = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
        match kernel[1]:
            case RBF(g):
                cross = pairwise.rbf_kernel(X, X[rows], gamma=g)
            case Laplacian(g):
                cross = pairwise.laplacian_kernel(X, X[rows], gamma=g)
            case Polynomial(g, degree, c):
                cross = pairwise.polynomial_kernel(X, X[rows], degree, gamma=g, coef0=c)
            case Linear():
                cross = X @ X[rows].T
        return cross, cross[rows]

    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(6, N, 12)])
    def test_shared_ones_equal_features_of_the_combined_kernel(self, max_memory):
        X, weight = draw(7)
        bank = self.bank(X, sample_weight=weight, max_memory=max_memory)
        assert bank.is_stored == (max_memory == np.inf)
        for weights in each_and_all(bank):
            cross, among = 0.0, 0.0
            for kernel, factor in zip(KERNELS, weights / bank.unscaled, strict=True):
                c, w = self.plain(kernel, X, weight, bank.landmarks)
                cross, among = cross + factor * c, among + factor * w
            phi = features_of(cross, among)
            gram = gram_of(bank.combine(weights))
            atol = 1e-4 * np.abs(gram).max()
            np.testing.assert_allclose(gram, phi @ phi.T, rtol=0, atol=atol)

    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(6, N, 12)])
    def test_separate_ones_equal_features_side_by_side(self, max_memory):
        X, weight = draw(8)
        options = {"sample_weight": weight, "max_memory": max_memory}
        bank = self.bank(X, separate=True, **options)
        for weights in each_and_all(bank):
            chosen = weights.nonzero()[0]
            factors = np.sqrt(weights / bank.unscaled)
            phi = np.hstack(
                [
                    factors[i]
                    * features_of(*self.plain(KERNELS[i], X, weight, bank.landmarks))
                    for i in chosen
                ]
            )
            space = bank.combine(weights)
            assert space.rows.shape == (N, 12 * len(chosen))
            gram = gram_of(space)
            atol = 1e-4 * np.abs(gram).max()
            np.testing.assert_allclose(gram, phi @ phi.T, rtol=0, atol=atol)

    @pytest.mark.parametrize("separate", [False, True])
    def test_scales_are_those_of_each_kernel_by_its_landmarks(self, separate):
        X, weight = draw(9)
        bank = self.bank(X, sample_weight=weight, separate=separate)
        for kernel, scatter in zip(KERNELS, bank.unscaled, strict=True):
            cross, among = self.plain(kernel, X, weight, bank.landmarks)
            phi = features_of(cross, among)
            own = [self.plain(kernel, X, weight, [i])[0][i, 0] for i in range(N)]
            diagonal = own - 2.0 * cross.mean(axis=1) + among.mean()
            total = weight @ phi
            expected = weight @ diagonal - total @ total / weight.sum()
            assert scatter == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("separate", [False, True])
    def test_points_keep_their_own_norms(self, separate):
        X, weight = draw(10)
        bank = self.bank(X, sample_weight=weight, separate=separate)
        exact = LandmarkBank.build(
            X, KERNELS, n_landmarks=N, filter="none", sample_weight=weight
        )
        for weights in np.eye(bank.n_weights):
            i = weights.argmax()
            # Distances to the mean of the landmarks, in the kernel's own scale.
            got = bank.combine(weights * bank.unscaled).diagonal
            whole = distances_of(exact.combine(weights * exact.unscaled))
            rows = bank.landmarks
            expected = (
                whole[:, rows].mean(axis=1) - whole[np.ix_(rows, rows)].mean() / 2
            )
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * got.max())
            assert bank.names[i] == exact.names[i]

    def test_more_landmarks_lose_less(self):
        X, _ = draw(11, 120)
        exact = KernelBank.build(X, KERNELS, filter="none")
        weights = some_weights(exact) / exact.unscaled
        whole = centred(gram_of(exact.combine(weights * exact.unscaled)))
        errors = []
        for q in (2, 8, 30, 60, 120):
            bank = self.bank(X, q=q)
            gram = centred(gram_of(bank.combine(weights * bank.unscaled)))
            errors.append(np.linalg.norm(gram - whole) / np.linalg.norm(whole))
        assert errors == sorted(errors, reverse=True)
        assert errors[0] > 0.1 and errors[-2] < 0.05 and errors[-1] < 1e-4

    def test_separate_ones_lose_less_than_shared_ones(self):
        # In the order of positive matrices: exact >= separate >= shared.
        X, _ = draw(12)
        exact = KernelBank.build(X, KERNELS, filter="none")
        weights = some_weights(exact)
        q = 10
        shared, separate = (self.bank(X, q=q, separate=s) for s in (False, True))
        factors = weights / exact.unscaled
        share = np.zeros(N)
        share[shared.landmarks] = 1.0
        whole = centred(gram_of(exact.combine(weights)), share)
        grams = [
            centred(gram_of(bank.combine(factors * bank.unscaled)), share)
            for bank in (shared, separate)
        ]
        small = 1e-5 * np.abs(whole).max() * N
        assert np.linalg.eigvalsh(grams[1] - grams[0])[0] > -small
        assert np.linalg.eigvalsh(whole - grams[1])[0] > -small

    @pytest.mark.parametrize("separate", [False, True])
    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(6, N, 12)])
    def test_new_rows_have_the_values_of_training_rows(self, separate, max_memory):
        X, weight = draw(13)
        options = {"sample_weight": weight, "max_memory": max_memory}
        bank = self.bank(X, separate=separate, **options)
        for weights in each_and_all(bank):
            rows = bank.combine(weights).rows
            cross = bank.kernel(weights)(X)
            assert cross.dtype == rows.dtype == np.float32
            atol = 5e-6 * np.abs(rows).max()
            np.testing.assert_allclose(cross, rows, rtol=0, atol=atol)

    def test_new_rows_of_several_sets_and_of_sparse_data(self):
        X, _ = draw(14)
        for data in (SeveralSets([X, csr_array(counts(0, (N, 5)))]), csr_array(X)):
            bank = self.bank(data)
            weights = some_weights(bank)
            rows = bank.combine(weights).rows
            atol = 5e-6 * np.abs(rows).max()
            cross = bank.kernel(weights)(data)
            np.testing.assert_allclose(cross, rows, rtol=0, atol=atol)

    def test_weights_equal_copies(self, monkeypatch):
        X, _ = draw(15, 30)
        times = np.random.default_rng(0).integers(1, 4, 30)
        copy_of = np.repeat(np.arange(30), times)
        few = self.bank(X, q=9, sample_weight=times.astype(np.float64))
        firsts = np.searchsorted(copy_of, few.landmarks)
        monkeypatch.setattr(landmarks, "drawn_landmarks", lambda *args: (firsts, None))
        many = self.bank(X[copy_of], q=9)
        # Values are float32, of which differences are taken.
        np.testing.assert_allclose(few.unscaled, many.unscaled, rtol=1e-5)
        for weights in each_and_all(few):
            a, b = few.combine(weights), many.combine(weights)
            gram = gram_of(b)
            np.testing.assert_allclose(
                gram_of(a)[np.ix_(copy_of, copy_of)],
                gram,
                rtol=0,
                atol=2e-5 * np.abs(gram).max(),
            )
            np.testing.assert_allclose(a.diagonal[copy_of], b.diagonal, rtol=1e-4)
            labels = np.arange(30) % 3
            inner = [
                space.group_sums(group, 3).inner
                for space, group in ((a, labels), (b, labels[copy_of]))
            ]
            np.testing.assert_allclose(*inner, rtol=1e-3, atol=1e-5)

    def test_one_landmark_has_nothing_to_see(self):
        # The origin is at the only landmark: all centres coincide.
        X, _ = draw(16)
        bank = self.bank(X, [RBF(0.1)], q=1)
        space = bank.combine(np.ones(1))
        np.testing.assert_allclose(gram_of(space), 0.0, atol=1e-12)
        assert np.isfinite(kmeans(space, np.arange(N) % 3, 3).objective)

    def test_copies_among_the_landmarks_do_no_harm(self):
        X, _ = draw(17, 20)
        bank = self.bank(np.repeat(X, 3, axis=0), q=60)
        single = self.bank(X, q=20)
        for weights in each_and_all(bank):
            gram = gram_of(bank.combine(weights * bank.unscaled))[::3, ::3]
            expected = gram_of(single.combine(weights * single.unscaled))
            atol = 2e-4 * np.abs(expected).max()
            np.testing.assert_allclose(gram, expected, rtol=0, atol=atol)

    @pytest.mark.parametrize("q", [4, 30])
    def test_kernels_of_low_rank_are_exact_from_their_rank_on(self, q):
        X, _ = draw(18)
        bank = self.bank(X, [Linear()], q=q)
        exact = KernelBank.build(X, [Linear()], filter="none")
        assert bank.unscaled == pytest.approx(exact.unscaled, rel=1e-6)
        assert_same_geometry(bank.combine(np.ones(1)), exact.combine(np.ones(1)), 1e-5)

    @pytest.mark.parametrize("offset", [1e4, 1e6])
    @pytest.mark.parametrize("lean", [False, True])
    def test_far_from_the_origin_as_near_it(self, offset, lean):
        X, _ = draw(19)
        kernels = [RBF(0.1), (Standardized(), Polynomial(0.2, 2, 1.0)), Linear()]
        memory = bytes_for(3, N, 12) if lean else np.inf
        far = self.bank(1000.0 * X + offset, [RBF(1e-7), *kernels[1:]])
        near = self.bank(1000.0 * X, [RBF(1e-7), *kernels[1:]], max_memory=memory)
        assert near.names == far.names
        rtol = 2e-5 + 1e-14 * (offset / 1000.0) ** 2
        for weights in each_and_all(near):
            a = far.combine(weights)
            assert_same_geometry(a, near.combine(weights), rtol)


class TestClustering:
    """Starts and descents are those of the approximate Gram matrix."""

    @settings(deadline=None, max_examples=30)
    @given(
        seed=st.integers(0, 10**6),
        k=st.integers(1, 6),
        n_must=st.integers(0, 12),
        n_cannot=st.integers(0, 8),
        rule=st.sampled_from(["min", "sum"]),
        aware=st.booleans(),
    )
    def test_it_equals_that_of_the_matrix(self, seed, k, n_must, n_cannot, rule, aware):
        rng = np.random.default_rng(seed)
        n = 50
        X = rng.normal(size=(n, 4))
        X -= X.mean(axis=0)
        marks = rng.normal(size=(6, 4))
        weight = rng.uniform(0.5, 3.0, n)
        # In float32 one run in a thousand takes another way at a near tie.
        cross = X @ marks.T
        core = np.linalg.pinv(marks @ marks.T)
        gram = cross @ core @ cross.T
        gram = (gram + gram.T) / 2.0
        must = rng.permutation(n)[: 2 * n_must].reshape(-1, 2)
        cannot = rng.choice(n, (n_cannot, 2))
        cannot = cannot[cannot[:, 0] != cannot[:, 1]]
        closure = Constraints(must, cannot).closure(n, on_conflict="drop")
        spaces = (
            LandmarkSpace(cross, core, gram.diagonal().copy(), weight),
            GramSpace(gram, weight),
        )
        options = {"rule": rule, "cl_aware_seeds": aware}
        starts = [farthest_first(s, closure, k, **options) for s in spaces]
        assert np.array_equal(*starts)
        ends = [kmeans(s, closure, k) for s in spaces]
        assert np.array_equal(ends[0].labels, ends[1].labels)
        assert ends[0].objective == pytest.approx(ends[1].objective, rel=1e-9)
        polished = [kmeans(s, closure, k, polish=True).labels for s in spaces]
        assert np.array_equal(*polished)


class TestIndefiniteKernels:
    @pytest.mark.parametrize("q", [15, N])
    def test_only_the_positive_part_counts(self, q):
        X, _ = draw(20)
        sigmoid = Sigmoid(0.5, -0.5)
        gram = sigmoid(X, X)
        assert np.linalg.eigvalsh(centred(gram))[0] < -0.1
        bank = LandmarkBank.build(X, [sigmoid], n_landmarks=q, filter="none")
        space = bank.combine(bank.unscaled)
        rows = bank.landmarks
        phi = features_of(gram[:, rows], gram[np.ix_(rows, rows)])
        np.testing.assert_allclose(gram_of(space), phi @ phi.T, atol=1e-2)
        assert np.linalg.eigvalsh(gram_of(space))[0] > -1e-3

    def test_the_kernels_of_the_paper_stay_finite(self):
        for seed in range(3):
            X, weight = draw(seed)
            bank = LandmarkBank.build(
                X, n_landmarks=20, filter="none", sample_weight=weight
            )
            for weights in each_and_all(bank):
                space = bank.combine(weights)
                result = kmeans(space, np.arange(N) % 3, 3)
                assert np.isfinite(space.rows).all() and np.isfinite(space.core).all()
                assert np.isfinite(result.objective)

    def test_a_kernel_without_a_positive_part_puts_all_points_together(self):
        def negative(A, B):
            return -(A @ B.T)

        X, _ = draw(21)
        with pytest.raises(ValueError, match="None of the 1 kernels"):
            LandmarkBank.build(X, [negative], n_landmarks=10, filter="none")


class TestPositiveInverse:
    @settings(deadline=None, max_examples=30)
    @given(seed=st.integers(0, 10**6), size=st.integers(1, 12))
    def test_of_a_definite_matrix_it_is_the_inverse(self, seed, size):
        root = np.random.default_rng(seed).normal(size=(size, size + 3))
        matrix = locked(root @ root.T)
        inverse = positive_inverse(matrix)
        np.testing.assert_allclose(inverse @ matrix, np.eye(size), atol=1e-4)
        assert np.array_equal(inverse, inverse.T)

    @settings(deadline=None, max_examples=30)
    @given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-30, 1.0, 1e30]))
    def test_of_a_singular_matrix_it_inverts_what_is_there(self, seed, scale):
        root = np.random.default_rng(seed).normal(size=(9, 3))
        matrix = scale * root @ root.T
        # Between vectors of its range it is the pseudo-inverse.
        got = matrix @ positive_inverse(matrix) @ matrix
        np.testing.assert_allclose(got, matrix, atol=1e-6 * np.abs(matrix).max())

    @pytest.mark.parametrize("least", [-1.1, -1.001, -1.0, -0.999999, -0.9, 0.0, 1.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_nothing_that_is_barely_negative_is_blown_up(self, seed, least):
        # The negative eigenvalue is about as large as what is added to the diagonal.
        rng = np.random.default_rng(seed)
        vectors = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        values = np.array([1.0, 0.5, 0.2, 0.1, 0.05, least * 1.85e-9])
        inverse = positive_inverse((vectors * values) @ vectors.T)
        largest = np.linalg.eigvalsh(inverse)[-1]
        assert largest <= 30.0 / (1e-9 * values.sum())

    @pytest.mark.parametrize("size", [1, 2, 5])
    def test_zero_and_negative_matrices_have_none(self, size):
        for matrix in (np.zeros((size, size)), -np.eye(size)):
            assert not positive_inverse(matrix).any()

    def test_the_origin_moves_to_the_mean_of_the_landmarks(self):
        X, _ = draw(22)
        places = X[:7]
        among = places @ places.T
        moved = moved_origin(X @ places.T, among.mean(axis=0) - among.mean())
        shifted = X - places.mean(axis=0)
        np.testing.assert_allclose(moved, shifted @ shifted[:7].T, atol=1e-12)


class TestMeans:
    """Landmarks that are means of groups of rows."""

    groups = np.where(np.arange(N) < 20, np.arange(N) % 3, -1)

    def rows_of(self, bank):
        """Return the rows of every landmark."""
        n_single, shares = bank._means
        rows = [[row] for row in bank.landmarks[:n_single]]
        others = bank.landmarks[n_single:]
        return rows + [others[part > 0.0] for part in shares.T]

    def test_are_those_of_the_groups(self):
        X = np.repeat(np.eye(3), 20, axis=0)
        X += 0.1 * np.random.default_rng(0).normal(size=X.shape)
        groups = np.full(N, -1)
        groups[[0, 1, 2, 20, 21, 40, 41]] = [0, 0, 0, 1, 1, 2, 2]
        bank = LandmarkBank.build(X, KERNELS, n_landmarks=16, known=Known(groups, 3))
        rows = self.rows_of(bank)
        assert bank.n_landmarks == len(rows) == 16
        assert [len(r) for r in rows[:13]] == [1] * 13
        for group, members in enumerate(rows[13:]):
            assert np.array_equal(members, 20 * group + np.arange(20))

    @pytest.mark.parametrize("n_others", [20, 21])
    def test_a_group_much_smaller_than_the_largest_has_none(self, n_others):
        X, _ = draw(40)
        groups = np.full(N, -1)
        groups[:2], groups[2 : n_others + 2] = 0, 1
        bank = LandmarkBank.build(X, KERNELS, n_landmarks=12, known=Known(groups, 2))
        assert len(bank._means.shares.T) == (2 if n_others == 20 else 1)

    @pytest.mark.parametrize("memory", [np.inf, bytes_for(40, N, 12)])
    def test_values_are_means_of_values(self, memory):
        X, _ = draw(41)
        options = {
            "known": Known(self.groups, 3),
            "filter": "none",
            "max_memory": memory,
        }
        bank = LandmarkBank.build(X, n_landmarks=12, **options)
        assert bank.is_stored == (memory == np.inf)
        spread = np.zeros((N, 12))
        for j, rows in enumerate(self.rows_of(bank)):
            spread[rows, j] = 1.0 / len(rows)
        exact = KernelBank.build(X, filter="none")
        for weights in each_and_all(bank):
            got = bank.combine(weights * bank.unscaled)
            gram = gram_of(exact.combine(weights * exact.unscaled))
            cross, among = gram @ spread, spread.T @ gram @ spread
            centre = among.mean(axis=0) - among.mean()
            expected = moved_origin(cross, centre)
            atol = 1e-4 * np.abs(expected).max()
            np.testing.assert_allclose(got.rows, expected, rtol=0, atol=atol)
            core = positive_inverse(moved_origin(among, centre))
            known = expected @ core @ expected.T
            np.testing.assert_allclose(
                gram_of(got), known, rtol=0, atol=1e-3 * np.abs(known).max()
            )

    def test_new_rows_are_seen_like_old_ones(self):
        X, _ = draw(42)
        bank = LandmarkBank.build(
            X, KERNELS, n_landmarks=12, known=Known(self.groups, 3)
        )
        for weights in each_and_all(bank):
            space = bank.combine(weights)
            atol = 1e-5 * np.abs(space.rows).max()
            np.testing.assert_allclose(
                bank.kernel(weights)(X), space.rows, rtol=0, atol=atol
            )

    def test_a_sum_of_kernels_has_the_values_and_norms_of_its_parts(self):
        X, _ = draw(43)
        bank = LandmarkBank.build(
            X, KERNELS, n_landmarks=12, known=Known(self.groups, 3)
        )
        weights = np.linspace(0.5, 2.0, bank.n_weights)
        parts = [bank.kernel(row).with_norms(X) for row in np.diag(weights)]
        values, norms = (sum(part) for part in zip(*parts, strict=True))
        got = bank.kernel(weights).with_norms(X)
        atol = 1e-5 * np.abs(values).max()
        np.testing.assert_allclose(got[0], values, rtol=0, atol=atol)
        np.testing.assert_allclose(got[1], norms, rtol=1e-9)

    def test_centres_of_groups_are_known_exactly(self):
        # Rows that are orthogonal to each other: the worst case for landmarks.
        labels = np.arange(60) % 3
        X = np.concatenate([np.eye(60), 0.1 * np.eye(3)[labels]], axis=1)
        member = np.eye(3)[labels] / np.sqrt(20.0)

        def between(bank):
            gram = centred(gram_of(bank.combine(bank.unscaled)))
            return np.trace(member.T @ gram @ member)

        options = {"n_landmarks": 15, "filter": "none"}
        exact = between(KernelBank.build(X, [Linear()], filter="none"))
        plain = between(LandmarkBank.build(X, [Linear()], **options))
        means = between(
            LandmarkBank.build(X, [Linear()], known=Known(labels, 3), **options)
        )
        assert plain < 0.5 * exact
        assert means == pytest.approx(exact, rel=1e-4)

    def test_many_and_large_groups_are_sampled(self):
        groups = np.repeat(np.arange(30), 20)
        X = np.eye(30)[groups] + 0.01 * np.random.default_rng(0).normal(size=(600, 30))
        bank = LandmarkBank.build(X, KERNELS, n_landmarks=12, known=Known(groups, 3))
        sizes = [len(rows) for rows in self.rows_of(bank)]
        assert sizes == [1] * 8 + [12] * 4  # 4 groups, 48 rows

    def test_all_rows_need_no_means(self):
        X, _ = draw(44)
        bank = LandmarkBank.build(
            X, KERNELS, n_landmarks=N, known=Known(self.groups, 3)
        )
        assert np.array_equal(bank.landmarks, np.arange(N)) and bank._means is None

    def test_rows_of_no_group_make_no_means(self):
        X, _ = draw(45)
        for groups in (np.full(N, -1), np.where(np.arange(N) < 3, np.arange(N), -1)):
            bank = LandmarkBank.build(
                X, KERNELS, n_landmarks=12, known=Known(groups, 3)
            )
            assert bank._means is None and len(bank.landmarks) == 12


class TestMemory:
    def test_regenerated_kernels_equal_stored_ones(self):
        X, weight = draw(23, 300)
        q = 40
        options = {"n_landmarks": q, "filter": "none", "sample_weight": weight}
        stored = LandmarkBank.build(X, **options)
        lean = LandmarkBank.build(X, **options, max_memory=bytes_for(30, 300, q))
        assert stored.is_stored and not lean.is_stored
        assert stored.names == lean.names and stored.n_weights == 62
        assert np.array_equal(stored.landmarks, lean.landmarks)
        assert np.array_equal(stored.unscaled, lean.unscaled)
        assert lean.nbytes < stored.nbytes
        for weights in each_and_all(stored):
            a, b = (bank.combine(weights) for bank in (stored, lean))
            atol = 5e-6 * np.abs(a.rows).max()
            np.testing.assert_allclose(b.rows, a.rows, rtol=0, atol=20 * atol)
            assert np.array_equal(a.core, b.core)
            assert np.array_equal(a.diagonal, b.diagonal)

    def test_rows_in_several_blocks_are_as_in_one(self, monkeypatch):
        X, weight = draw(24)
        options = {"n_landmarks": 20, "filter": "none", "sample_weight": weight}
        kernels = ["paper", lambda A, B: A @ B.T]
        whole = LandmarkBank.build(X, kernels, **options)
        for module in (landmarks, landmark_values):
            monkeypatch.setattr(module, "ROWS_PER_BLOCK", 7)
        monkeypatch.setattr(entries, "_ROWS_FOR_DIAGONAL", 3)
        for memory in (np.inf, bytes_for(30, N, 20)):
            parts = LandmarkBank.build(X, kernels, **options, max_memory=memory)
            np.testing.assert_allclose(parts.unscaled, whole.unscaled, rtol=1e-5)
            for weights in each_and_all(whole)[::3]:
                a, b = whole.combine(weights), parts.combine(weights)
                atol = 1e-4 * np.abs(a.rows).max()
                np.testing.assert_allclose(b.rows, a.rows, rtol=0, atol=atol)
                np.testing.assert_allclose(a.diagonal, b.diagonal, rtol=1e-5)

    def test_if_base_matrices_do_not_fit_the_error_says_what_to_do(self):
        X, _ = draw()
        bank = LandmarkBank.build(X, KERNELS, n_landmarks=20)
        message = (
            rf"{bank.n_weights} kernels between 60 rows and 20 landmarks need .*MiB: "
            r"\d base matrices.* and \d kernels that must be stored; max_memory leaves "
            r"0.00687 MiB beside views.*\. Raise max_memory, or lower n_landmarks"
        )
        with pytest.raises(MemoryError, match=message):
            LandmarkBank.build(
                X, KERNELS, n_landmarks=20, max_memory=bytes_for(1.5, N, 20)
            )

    def test_room_is_never_negative(self):
        X, _ = draw()
        with pytest.raises(MemoryError, match="leaves 0 MiB"):
            LandmarkBank.build(X, KERNELS, n_landmarks=20, max_memory=-1e6)

    def test_functions_cannot_be_regenerated(self):
        X, _ = draw()
        kernels = [lambda A, B: A @ B.T, lambda A, B: (A @ B.T) ** 2, RBF(0.1)]
        message = (
            "need 0.0137 MiB: 1 base matrices.* 2 kernels that must be stored.* "
            "leaves 0.00916 MiB"
        )
        with pytest.raises(MemoryError, match=message):
            LandmarkBank.build(
                X,
                kernels,
                n_landmarks=20,
                filter="none",
                max_memory=bytes_for(2, N, 20),
            )
        lean = LandmarkBank.build(
            X, [*kernels, RBF(0.2)], n_landmarks=20, filter="none", max_memory=4 * 3600
        )
        assert not lean.is_stored
        whole = LandmarkBank.build(
            X, [*kernels, RBF(0.2)], n_landmarks=20, filter="none"
        )
        for weights in each_and_all(whole):
            a, b = (bank.combine(weights).rows for bank in (whole, lean))
            np.testing.assert_allclose(a, b, atol=5e-6 * np.abs(a).max())


class TestChoice:
    def test_uniform_landmarks_are_distinct_rows_in_order(self):
        X, _ = draw()
        for seed in range(5):
            rng = np.random.default_rng(seed)
            rows = LandmarkBank.build(X, KERNELS, n_landmarks=20, rng=rng).landmarks
            assert len(rows) == 20 and (np.diff(rows) > 0).all()

    def test_the_seed_decides(self):
        X, _ = draw()
        once, again, other = (
            LandmarkBank.build(
                X, KERNELS, n_landmarks=20, rng=np.random.default_rng(seed)
            )
            for seed in (1, 1, 2)
        )
        assert np.array_equal(once.landmarks, again.landmarks)
        assert not np.array_equal(once.landmarks, other.landmarks)
        weights = some_weights(once)
        a, b = (bank.combine(weights) for bank in (once, again))
        assert np.array_equal(a.rows, b.rows) and np.array_equal(a.core, b.core)

    @pytest.mark.parametrize("form", [np.array, csr_array, csr_matrix])
    def test_spread_out_landmarks_reach_small_groups(self, form):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 2))
        X[:3] += 1000.0
        for seed in range(4):
            bank = LandmarkBank.build(
                form(X),
                [RBF(0.1)],
                n_landmarks=10,
                choice="kmeans++",
                rng=np.random.default_rng(seed),
            )
            assert len(bank.landmarks) == 10 and (np.diff(bank.landmarks) > 0).all()
            assert bank.landmarks[0] < 3

    def test_objects_cannot_be_spread_out(self):
        words = ["ab", "b", "cc", "dab"] * 5
        kernel = PairKernel(lambda a, b: float(len(set(a) & set(b))))
        with pytest.raises(ValueError, match="kmeans"):
            LandmarkBank.build(words, [kernel], n_landmarks=3, choice="kmeans++")


class TestErrors:
    @pytest.mark.parametrize("wrap", [lambda gram: gram, Precomputed])
    def test_gram_matrices_cannot_have_landmarks(self, wrap):
        X, _ = draw()
        with pytest.raises(ValueError, match="Gram matrices.*Use a KernelBank"):
            LandmarkBank.build(X, [RBF(0.1), wrap(X @ X.T)], n_landmarks=10)

    @pytest.mark.parametrize("q", [2, 30])
    def test_rows_that_are_all_equal_are_an_error(self, q):
        with pytest.raises(ValueError, match="None of the .* kernels tells the rows"):
            LandmarkBank.build(np.full((9, 2), 3.0), n_landmarks=q)

    def test_kernels_that_are_not_finite_are_dropped(self):
        X, _ = draw()

        def somewhere_nan(A, B):
            return np.where((A @ B.T) > 20.0, np.nan, A @ B.T)

        def somewhere_infinite(A, B):
            return np.where((A @ B.T) > 20.0, np.inf, A @ B.T)

        def off_the_diagonal(A, B):
            values = A @ B.T
            values[(values < -5.0)] = -np.inf
            return values

        kernels = [somewhere_nan, Linear(), somewhere_infinite, off_the_diagonal]
        bank = LandmarkBank.build(X, kernels, n_landmarks=10, filter="none")
        assert bank.names == ["Linear() on raw"]
        huge = LandmarkBank.build(1e120 * X, n_landmarks=10, filter="none")
        exact = KernelBank.build(1e120 * X, filter="none")
        assert huge.names == exact.names

    def test_the_data_are_not_changed(self):
        X = draw()[0].copy()
        bank = LandmarkBank.build(X, n_landmarks=10)
        bank.kernel(some_weights(bank))(X)
        assert np.array_equal(X, draw()[0])
