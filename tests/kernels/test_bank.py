"""Banks of kernels: scaling, storage, groups, prediction (sections 5.1 to 5.6)."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import pairwise
from sklearn.preprocessing import StandardScaler
from tests.contracts.bank import BankContract
from tests.contracts.view import counts

import linkwise.kernels
from linkwise.clustering import farthest_first, kmeans
from linkwise.constraints import Constraints
from linkwise.kernels import (
    RBF,
    FeatureScales,
    KernelBank,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    Standardized,
)
from linkwise.kernels._memory import views_nbytes
from linkwise.kernels._packed import ROWS_PER_BLOCK, packed_size

N = 60


def locked(array):
    array.flags.writeable = False
    return array


def draw(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 3.0, 0.5] + [0.0, 1.0, 2.0]
    return locked(X), locked(rng.uniform(0.5, 3.0, n))


def one_hot(bank, i):
    weights = np.zeros(bank.n_weights)
    weights[i] = 1.0
    return weights


def bytes_for(n_matrices, n=N):
    return 4 * packed_size(n) * n_matrices


def direct(name, X, weight, Y=None):
    """Return a kernel by its name, from scikit-learn's functions, scatter 1."""
    kernel, view = name.split(" on ")
    kernel = eval(kernel, vars(linkwise.kernels))
    if view == "standardized":
        scaler = StandardScaler().fit(X, sample_weight=weight)
        X, Y = scaler.transform(X), None if Y is None else scaler.transform(Y)
    Y = X if Y is None else Y

    def value(A, B):
        match kernel:
            case RBF(g):
                return pairwise.rbf_kernel(A, B, gamma=g)
            case Laplacian(g):
                return pairwise.laplacian_kernel(A, B, gamma=g)
            case Polynomial(g, degree, c):
                return pairwise.polynomial_kernel(A, B, degree, gamma=g, coef0=c)
            case Sigmoid(g, c):
                return pairwise.sigmoid_kernel(A, B, gamma=g, coef0=c)
            case Linear():
                return A @ B.T

    gram = value(X, X)
    scatter = weight @ gram.diagonal() - weight @ gram @ weight / weight.sum()
    return value(Y, X) / scatter


class TestStoredKernelBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        return KernelBank.build(X, sample_weight=weight)

    def test_it_is_stored(self, bank):
        assert bank.is_stored


class TestRegeneratedKernelBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        return KernelBank.build(X, sample_weight=weight, max_memory=bytes_for(6))

    def test_it_is_not_stored(self, bank):
        assert not bank.is_stored
        assert bank.nbytes <= bytes_for(6) + views_nbytes(bank._views)


class TestPartlyRegeneratedKernelBank(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        kernels = ["paper", np.diag(weight)]
        return KernelBank.build(
            X, kernels, sample_weight=weight, max_memory=bytes_for(7)
        )

    def test_it_is_not_stored(self, bank):
        assert not bank.is_stored
        assert bank.names[-1] == "kernels[1]"


class TestBankWithGroups(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        bank = KernelBank.build(X, sample_weight=weight)
        return bank.with_groups(np.arange(N) % 4 - 1, 3)


class TestFeatureScales(BankContract):
    @pytest.fixture
    def bank(self):
        X, weight = draw()
        centred = locked(X - weight @ X / weight.sum())
        return FeatureScales(centred, weight)

    def test_weights_are_factors_of_the_columns(self, bank):
        weights = np.array([0.5, 0.0, 2.0])
        space = bank.combine(weights)
        assert np.array_equal(space.rows, bank.X * weights)


def passes_ratio_of(gram, weight):
    mass = weight.sum()
    return weight @ gram @ weight / mass**2 < 0.6 * weight @ gram.diagonal() / mass


def without_common_part(gram):
    """Return a matrix less its row means and column means; distances stay."""
    gram = gram.astype(np.float64)
    gram = gram - gram.mean(axis=0)
    return gram - gram.mean(axis=1, keepdims=True)


class TestKernels:
    def test_two_views_have_62_kernels(self):
        X, _ = draw()
        bank = KernelBank.build(X, filter="none")
        assert bank.n_weights == len(bank.names) == len(set(bank.names)) == 62
        assert sum(name.endswith("on raw") for name in bank.names) == 31
        assert sum(name.endswith("on standardized") for name in bank.names) == 31

    @pytest.mark.parametrize("filter", ["none", "ratio"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n", [N, ROWS_PER_BLOCK + 1])
    def test_each_is_what_its_name_says_with_scatter_one(self, filter, weighted, n):
        X, weight = draw(1, n)
        sample_weight = weight if weighted else None
        weight = weight if weighted else np.ones(n)
        bank = KernelBank.build(X, filter=filter, sample_weight=sample_weight)
        for i, name in enumerate(bank.names):
            gram = bank.combine(one_hot(bank, i)).gram
            expected = direct(name, X, weight)
            if passes_ratio_of(expected, weight):
                scale = np.abs(expected).max()
                np.testing.assert_allclose(gram, expected, atol=1e-6 * scale, rtol=0)
            # Those that do not pass may be stored without their common part.
            got, expected = without_common_part(gram), without_common_part(expected)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(got, expected, atol=1e-4 * scale, rtol=0)
            double = gram.astype(np.float64)
            total = weight @ double.diagonal()
            scatter = total - weight @ double @ weight / weight.sum()
            assert scatter == pytest.approx(1.0, abs=1e-6 * total + 1e-6)

    def test_names_say_the_widths_of_the_medians(self):
        X, _ = draw()
        names = set(KernelBank.build(X, filter="none").names)
        upper = np.triu_indices(N, 1)
        for view, data in [
            ("raw", X),
            ("standardized", StandardScaler().fit_transform(X)),
        ]:
            widths = {
                RBF: pairwise.euclidean_distances(data, squared=True),
                Laplacian: pairwise.manhattan_distances(data),
            }
            for kind, base in widths.items():
                found = [
                    eval(name.split(" on ")[0], vars(linkwise.kernels)).gamma
                    for name in names
                    if name.startswith(kind.__name__) and name.endswith(view)
                ]
                median = np.median(base[upper])
                expected = np.array([0.2, 0.5, 1.0, 1.5, 2.0]) / median
                assert sorted(found) == pytest.approx(expected.tolist())

    def test_combinations_are_weighted_sums(self):
        X, weight = draw(2)
        bank = KernelBank.build(X, sample_weight=weight)
        rng = np.random.default_rng(0)
        for n_chosen in (1, 2, 5, 6, 11, bank.n_weights):
            weights = np.zeros(bank.n_weights)
            chosen = rng.choice(bank.n_weights, n_chosen, replace=False)
            weights[chosen] = rng.uniform(0.001, 1.0, n_chosen)
            gram = bank.combine(locked(weights)).gram
            parts = [weights[i] * direct(bank.names[i], X, weight) for i in chosen]
            bound = sum(np.abs(part).max() for part in parts)
            np.testing.assert_allclose(gram, sum(parts), atol=2e-6 * bound, rtol=0)
            assert np.array_equal(gram, gram.T)

    def test_scales_can_be_undone(self):
        X, _ = draw()
        bank = KernelBank.build(X, [Linear(), RBF(0.3)], filter="none")
        for i, kernel in enumerate([Linear(), RBF(0.3)]):
            gram = bank.combine(one_hot(bank, i) * bank.unscaled).gram
            np.testing.assert_allclose(gram, kernel(X, X), atol=1e-4)

    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(30)])
    def test_kernels_far_from_the_origin_keep_their_scatter(self, max_memory):
        # The constant part is 1e8 times the scatter: more than single precision holds.
        X = draw()[0] + 1e4
        bank = KernelBank.build(X, filter="none", max_memory=max_memory)
        raw_linear = bank.names.index("Linear() on raw")
        for i in range(bank.n_weights):
            gram = bank.combine(one_hot(bank, i)).gram.astype(np.float64)
            assert np.trace(gram) - gram.sum() / N == pytest.approx(1.0, abs=1e-4)
        weights = one_hot(bank, raw_linear)
        exact = (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T
        exact /= np.trace(exact)
        gram = without_common_part(bank.combine(weights).gram)
        np.testing.assert_allclose(gram, exact, atol=1e-6 * exact.max())
        cross = without_common_part(bank.kernel(weights)(X))
        np.testing.assert_allclose(cross, exact, atol=1e-6 * exact.max())

    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(6)])
    @pytest.mark.parametrize("scale", [1e-24, 1e-18, 1e-9, 1e9, 1e20])
    def test_the_unit_of_the_data_does_not_matter(self, scale, max_memory):
        X, _ = draw()
        here = KernelBank.build(X)
        there = KernelBank.build(scale * X, max_memory=max_memory)
        assert here.n_weights == there.n_weights
        for i in range(here.n_weights):
            a, b = (bank.combine(one_hot(bank, i)).gram for bank in (here, there))
            np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(a).max())

    def test_rows_that_are_all_equal_are_an_error(self):
        with pytest.raises(ValueError, match="None of the .* kernels tells the rows"):
            KernelBank.build(np.full((9, 2), 3.0))

    def test_constant_columns_do_no_harm(self):
        X, _ = draw()
        wider = np.column_stack([X, np.full(N, 0.1)])
        a, b = (KernelBank.build(data, filter="none") for data in (X, wider))
        assert a.n_weights == b.n_weights == 62
        for i in range(31, 62):  # the standardised ones
            gram_a, gram_b = (bank.combine(one_hot(bank, i)).gram for bank in (a, b))
            scale = np.abs(gram_a).max()
            np.testing.assert_allclose(gram_a, gram_b, atol=1e-6 * scale)

    def test_binary_data_of_mostly_zeros_have_all_families(self):
        X = (np.random.default_rng(0).random((N, 20)) < 0.02).astype(np.float64)
        assert np.median((X @ X.T)[np.triu_indices(N, 1)]) == 0
        bank = KernelBank.build(X, filter="none")
        assert bank.n_weights == 62
        for i in range(62):
            assert np.isfinite(bank.combine(one_hot(bank, i)).gram).all()

    def test_families_without_any_similarity_are_dropped(self):
        # Rows on different axes: all inner products are zero.
        names = KernelBank.build(np.diag([1.0, 2.0, 3.0]), filter="none").names
        raw = [name for name in names if name.endswith("on raw")]
        assert {name.split("(")[0] for name in raw} == {"RBF", "Laplacian", "Linear"}

    def test_widths_are_drawn_by_the_seed(self):
        X, _ = draw(0, 260)
        once, again, other = (
            KernelBank.build(X, rng=np.random.default_rng(seed)).names
            for seed in (1, 1, 2)
        )
        assert once == again
        assert once != other
        assert KernelBank.build(X).names == KernelBank.build(X).names

    def test_weights_equal_copies(self):
        X, _ = draw(0, 30)
        times = np.random.default_rng(0).integers(1, 4, 30)
        copy_of = np.repeat(np.arange(30), times)
        kernels = [RBF(0.2), (Standardized(), Linear()), (Standardized(), RBF(0.5))]
        few = KernelBank.build(X, kernels, sample_weight=times.astype(np.float64))
        many = KernelBank.build(X[copy_of], kernels)
        assert few.names == many.names
        for i in range(few.n_weights):
            a = few.combine(one_hot(few, i)).gram[np.ix_(copy_of, copy_of)]
            b = many.combine(one_hot(many, i)).gram
            np.testing.assert_allclose(a, b, atol=1e-6 * np.abs(b).max())

    def test_the_data_are_not_changed(self):
        X = draw()[0].copy()
        KernelBank.build(X)
        assert np.array_equal(X, draw()[0])


class TestSparseData:
    @pytest.mark.parametrize("form", [csr_matrix, csr_array])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_kernels_equal_those_of_dense_data(self, form, weighted):
        X = counts(0, (N, 6))
        weight = draw()[1] if weighted else None
        options = {"filter": "none", "sample_weight": weight}
        dense = KernelBank.build(X, **options)
        sparse = KernelBank.build(form(X), **options)
        assert dense.n_weights == sparse.n_weights == 62
        new = counts(1, (7, 6))
        for i in range(62):
            a, b = (bank.combine(one_hot(bank, i)).gram for bank in (dense, sparse))
            np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(a).max())
            cross_a = dense.kernel(one_hot(dense, i))(new)
            cross_b = sparse.kernel(one_hot(sparse, i))(form(new))
            np.testing.assert_allclose(cross_a, cross_b, atol=1e-5 * np.abs(a).max())

    def test_new_rows_may_be_dense(self):
        X, new = counts(0, (N, 6)), counts(1, (7, 6))
        bank = KernelBank.build(csr_array(X), filter="none")
        for i in (0, 8, 30, 31, 40, 45, 61):
            kernel = bank.kernel(one_hot(bank, i))
            np.testing.assert_allclose(kernel(new), kernel(csr_array(new)), atol=1e-5)

    def test_a_constant_column_tells_nothing(self):
        X = np.column_stack([counts(0, (14, 3)), np.full(14, 9.95640265732016)])
        kernels = [(Standardized(), Linear())]
        dense, sparse = (KernelBank.build(d, kernels) for d in (X, csr_array(X)))
        a, b = (bank.combine(np.ones(1)).gram for bank in (dense, sparse))
        np.testing.assert_allclose(a, b, atol=1e-5)


class TestMemory:
    def test_regenerated_kernels_equal_stored_ones(self):
        X, weight = draw(3, ROWS_PER_BLOCK + 20)
        n = len(X)
        options = {"filter": "none", "sample_weight": weight}
        stored = KernelBank.build(X, **options)
        # 6 base matrices, and sigmoid kernels that lie far from the origin.
        n_held = 6 + len(stored._centres)
        lean = KernelBank.build(X, **options, max_memory=bytes_for(n_held, n))
        assert stored.is_stored and not lean.is_stored
        assert stored.names == lean.names
        views = views_nbytes(stored._views)
        assert stored.nbytes == bytes_for(62, n) + views
        assert lean.nbytes == bytes_for(n_held, n) + views
        for i in range(62):
            a, b = (bank.combine(one_hot(bank, i)).gram for bank in (stored, lean))
            np.testing.assert_allclose(a, b, atol=5e-6 * np.abs(a).max())
        weights = np.zeros(62)
        weights[[1, 7, 20, 33, 50]] = 0.3, 0.9, 0.1, 0.5, 0.2
        a, b = (bank.combine(weights).gram for bank in (stored, lean))
        np.testing.assert_allclose(a, b, atol=5e-6 * np.abs(a).max())
        assert np.array_equal(b, b.T)

    def test_survivors_are_stored_if_only_they_fit(self):
        X, weight = draw()
        plenty = KernelBank.build(X, sample_weight=weight)
        assert plenty.n_weights < 62
        tight = KernelBank.build(
            X, sample_weight=weight, max_memory=bytes_for(plenty.n_weights)
        )
        assert tight.is_stored and tight.names == plenty.names
        views = views_nbytes(tight._views)
        assert tight.nbytes == bytes_for(plenty.n_weights) + views
        weights = np.linspace(0.1, 1.0, plenty.n_weights)
        a, b = (bank.combine(weights).gram for bank in (plenty, tight))
        assert np.array_equal(a, b)

    def test_if_even_base_matrices_do_not_fit_the_error_says_what_to_do(self):
        X, _ = draw()
        n_kernels = KernelBank.build(X).n_weights
        message = rf"{n_kernels} kernels on 60 .* 6 base matrices.*room for 5 .*max_mem"
        with pytest.raises(MemoryError, match=message):
            KernelBank.build(X, max_memory=bytes_for(6) - 1)

    def test_kernels_of_functions_cannot_be_regenerated(self):
        X, _ = draw()
        kernels = [lambda A, B: A @ B.T, lambda A, B: (A @ B.T) ** 2, RBF(0.1)]
        message = "2 kernels that must be stored.* 2 of these 3"
        with pytest.raises(MemoryError, match=message):
            KernelBank.build(X, kernels, filter="none", max_memory=bytes_for(2))


class TestGroups:
    @pytest.mark.parametrize("least", [-1, 0])
    def test_known_sums_equal_those_of_a_bank_without_groups(self, least):
        X, weight = draw(4)
        bank = KernelBank.build(X, sample_weight=weight)
        labels = locked(np.random.default_rng(0).integers(least, 3, N))
        known = bank.with_groups(labels, 3)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            weights = rng.random(bank.n_weights) * (rng.random(bank.n_weights) < 0.3)
            a = bank.combine(weights).fixed_totals(labels, 3)
            space = known.combine(weights)
            b = space.fixed_totals(labels, 3)
            scale = np.abs(a.totals).max()
            np.testing.assert_allclose(b.totals, a.totals, atol=1e-5 * scale)
            np.testing.assert_allclose(b.inner, a.inner, rtol=1e-4, atol=1e-5 * scale)
            np.testing.assert_allclose(b.mass, a.mass)
            # Other groups are summed as ever.
            other = (labels + 1) % 3
            c = space.fixed_totals(other, 3)
            d = bank.combine(weights).group_sums(other, 3)
            assert np.array_equal(c.totals, d.totals)

    def test_whole_clusterings_are_the_same(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(N, 2)) + 5.0 * rng.integers(3, size=(N, 1))
        pairs = Constraints([(i, i + 9) for i in range(0, 40, 4)])
        closure = pairs.closure(N)
        bank = KernelBank.build(X)
        known = bank.with_groups(closure.linked, closure.n_linked)
        for i in range(0, bank.n_weights, 5):
            weights = one_hot(bank, i)
            a, b = bank.combine(weights), known.combine(weights)
            start = farthest_first(a, closure, 3)
            assert np.array_equal(start, farthest_first(b, closure, 3))
            once, again = kmeans(a, start, 3), kmeans(b, start, 3)
            assert np.array_equal(once.labels, again.labels)

    def test_sums_that_do_not_fit_are_not_kept(self):
        X, _ = draw()
        bank = KernelBank.build(X)
        labels = np.arange(N) % 3
        size = 8 * bank.n_weights * 3 * N
        assert bank.with_groups(labels, 3, max_memory=size - 1) is bank
        known = bank.with_groups(labels, 3, max_memory=size)
        assert known.nbytes == bank.nbytes + size
        assert bank.with_groups(labels, 0) is bank
        lean = KernelBank.build(X, max_memory=bytes_for(6))
        assert lean.with_groups(labels, 3) is lean


class TestPrediction:
    @pytest.mark.parametrize("max_memory", [np.inf, bytes_for(16)])
    def test_training_rows_have_the_values_of_the_training_matrix(self, max_memory):
        X, weight = draw(6)
        bank = KernelBank.build(
            X, filter="none", sample_weight=weight, max_memory=max_memory
        )
        for i in range(62):
            weights = 0.7 * one_hot(bank, i)
            gram = bank.combine(weights).gram
            # Up to a constant in each row, which no comparison of clusters sees.
            rest = bank.kernel(weights)(X) - gram.astype(np.float64)
            rest -= rest.mean(axis=1, keepdims=True)
            np.testing.assert_allclose(rest, 0.0, atol=5e-6 * np.abs(gram).max())
        weights = np.zeros(62)
        weights[[3, 12, 40]] = 0.2, 1.0, 0.5
        gram, kernel = bank.combine(weights).gram, bank.kernel(weights)
        np.testing.assert_allclose(kernel(X), gram, atol=5e-6 * np.abs(gram).max())
        assert kernel.names == [bank.names[i] for i in (3, 12, 40)]

    def test_new_rows_have_the_values_of_the_kernels(self):
        X, weight = draw(6)
        new, _ = draw(7, 11)
        bank = KernelBank.build(X, filter="none", sample_weight=weight)
        for i, name in enumerate(bank.names):
            cross = bank.kernel(one_hot(bank, i))(new)
            expected = direct(name, X, weight, new)
            assert cross.shape == (11, N)
            got, expected = without_common_part(cross), without_common_part(expected)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(got, expected, atol=1e-4 * scale, rtol=0)

    def test_training_rows_get_their_clusters_back(self):
        X, weight = draw(8)
        bank = KernelBank.build(X, sample_weight=weight)
        for i in range(0, bank.n_weights, 4):
            weights = one_hot(bank, i)
            space = bank.combine(weights)
            result = kmeans(space, np.arange(N) % 3, 3)
            sums = result.sums
            share = (result.labels[:, None] == np.arange(3)) * weight[:, None]
            cross = bank.kernel(weights)(X).astype(np.float64)
            cost = -2 * cross @ share / sums.mass + sums.inner / sums.mass**2
            assert np.array_equal(cost.argmin(axis=1), result.labels)

    def test_rows_far_away_have_values_without_a_warning(self):
        X, _ = draw()
        bank = KernelBank.build(X)
        kernel = bank.kernel(np.ones(bank.n_weights))
        assert np.isfinite(kernel(1e9 * X[:3])).all()
