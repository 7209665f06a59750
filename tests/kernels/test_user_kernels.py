"""Kernels that users bring: functions, matrices, views, several data sets."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from linkwise.kernels import (
    RBF,
    KernelBank,
    Linear,
    PairKernel,
    Precomputed,
    Raw,
    SeveralSets,
    Standardized,
)
from linkwise.kernels._packed import ROWS_PER_BLOCK

X = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 20.0] + [0.0, 5.0]
X.flags.writeable = False
NEW = X[:4] + 0.5


def cauchy(A, B):
    return 1.0 / (1.0 + cdist(A, B, "sqeuclidean"))


def normalized(gram):
    return gram / (np.trace(gram) - gram.sum() / len(gram))


def scale_of(gram):
    return np.trace(gram) - gram.sum() / len(gram)


def gram_of(bank, i=0):
    return bank.combine(np.eye(bank.n_weights)[i]).gram


class TestFunctions:
    def test_a_function_of_two_collections_of_rows(self):
        bank = KernelBank.build(X, [cauchy])
        expected = normalized(cauchy(X, X))
        np.testing.assert_allclose(gram_of(bank), expected, atol=1e-6)
        assert bank.names == ["cauchy on raw"]
        cross = bank.kernel(np.ones(1))(NEW)
        expected = cauchy(NEW, X) / scale_of(cauchy(X, X))
        np.testing.assert_allclose(cross, expected, atol=1e-6)

    def test_a_function_is_called_with_parts_of_large_data(self):
        large = np.random.default_rng(1).normal(size=(ROWS_PER_BLOCK + 30, 2))
        bank = KernelBank.build(large, [cauchy])
        expected = normalized(cauchy(large, large))
        np.testing.assert_allclose(gram_of(bank), expected, atol=1e-6)

    def test_a_function_of_two_strings(self):
        words = ["tree", "trees", "free", "apple", "apples", "ape"] * 2
        kernel = PairKernel(lambda a, b: float(len(set(a) & set(b))))
        bank = KernelBank.build(words, [kernel])
        expected = normalized(kernel(words, words))
        np.testing.assert_allclose(gram_of(bank), expected, atol=1e-6)
        cross = bank.kernel(np.ones(1))(["reef"])
        expected = kernel(["reef"], words) / scale_of(kernel(words, words))
        np.testing.assert_allclose(cross, expected, atol=1e-6)

    def test_objects_may_stand_in_an_array(self):
        words = ["tree", "trees", "free", "apple"]
        kernel = PairKernel(lambda a, b: float(len(set(a) & set(b))))
        a, b = (
            gram_of(KernelBank.build(data, [kernel]))
            for data in (words, np.array(words, dtype=object))
        )
        assert np.array_equal(a, b)

    def test_a_function_of_two_single_rows_is_refused(self):
        with pytest.raises(ValueError, match="returned shape .*PairKernel"):
            KernelBank.build(X, [lambda a, b: 1.0])


class TestMatrices:
    gram = cauchy(X, X)

    def test_a_matrix_is_a_kernel(self):
        bank = KernelBank.build(X, [self.gram])
        np.testing.assert_allclose(gram_of(bank), normalized(self.gram), atol=1e-6)
        assert bank.names == ["kernels[0]"]

    def test_a_matrix_cannot_predict(self):
        bank = KernelBank.build(X, [self.gram])
        with pytest.raises(ValueError, match=r"Precomputed\(gram, cross="):
            bank.kernel(np.ones(1))(NEW)

    def test_a_matrix_with_its_cross_values_can(self):
        given = Precomputed(self.gram, cross=lambda rows: cauchy(rows, X))
        bank = KernelBank.build(X, [RBF(0.01), given], filter="none")
        cross = bank.kernel(np.array([0.0, 1.0]))(NEW)
        expected = cauchy(NEW, X) / scale_of(self.gram)
        np.testing.assert_allclose(cross, expected, atol=1e-6)

    def test_the_matrix_given_is_not_changed(self):
        before = self.gram.copy()
        KernelBank.build(X, [self.gram, Precomputed(self.gram)])
        assert np.array_equal(self.gram, before)

    def test_a_matrix_of_another_size_is_refused(self):
        message = r"kernels\[1\] is a Gram matrix of shape \(29, 29\); .*\(30, 30\)"
        with pytest.raises(ValueError, match=message):
            KernelBank.build(X, [RBF(1.0), self.gram[:29, :29]])

    def test_a_matrix_that_is_not_symmetric_is_refused(self):
        crooked = self.gram.copy()
        crooked[3, 7] += 0.5
        with pytest.raises(ValueError, match=r"kernels\[0\] is not symmetric: .*7.*3"):
            KernelBank.build(X, [crooked])

    def test_rounding_errors_are_no_asymmetry(self):
        rough = self.gram * (1 + 1e-9 * np.random.default_rng(0).random((30, 30)))
        assert KernelBank.build(X, [rough]).n_weights == 1

    @pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
    def test_values_that_are_not_finite_drop_the_kernel(self, bad):
        broken = self.gram.copy()
        broken[2, 5] = broken[5, 2] = bad
        bank = KernelBank.build(X, [broken, self.gram], filter="none")
        assert bank.n_weights == 1
        with pytest.raises(ValueError, match="not finite"):
            KernelBank.build(X, [broken], filter="none")

    def test_a_matrix_of_equal_values_is_dropped(self):
        bank = KernelBank.build(X, [np.ones((30, 30)), self.gram], filter="none")
        assert bank.n_weights == 1

    def test_an_indefinite_matrix_with_negative_scatter_is_dropped(self):
        bank = KernelBank.build(X, [-self.gram, self.gram], filter="none")
        assert bank.n_weights == 1


class TestViews:
    @pytest.mark.parametrize("view", [Raw(), Standardized()], ids=repr)
    @pytest.mark.parametrize("kernel", [RBF(0.1), Linear(), cauchy])
    def test_a_kernel_looks_at_the_view_it_is_paired_with(self, view, kernel):
        bank = KernelBank.build(X, [(view, kernel)], filter="none")
        points, new = (view.fit(X).transform(rows).plain() for rows in (X, NEW))
        exact = kernel(points, points)
        np.testing.assert_allclose(gram_of(bank), normalized(exact), atol=1e-5)
        cross = bank.kernel(np.ones(1))(NEW)
        np.testing.assert_allclose(
            cross, kernel(new, points) / scale_of(exact), atol=1e-5
        )

    def test_one_gaussian_kernel_of_median_width(self):
        bank = KernelBank.build(X, "rbf")
        points = Standardized().fit(X).transform(X).plain()
        squared = cdist(points, points, "sqeuclidean")
        width = np.median(squared[np.triu_indices(30, 1)])
        expected = normalized(np.exp(-squared / width))
        np.testing.assert_allclose(gram_of(bank), expected, atol=1e-6)

    def test_kernels_of_all_kinds_stand_together(self):
        kernels = ["paper", "rbf", RBF(0.2), (Standardized(), cauchy), cauchy(X, X)]
        assert KernelBank.build(X, kernels, filter="none").n_weights == 62 + 4


class TestSeveralSets:
    sets = SeveralSets([X, np.random.default_rng(1).poisson(1.0, (30, 4)) * 1.0])

    def test_each_set_has_its_own_views(self):
        bank = KernelBank.build(self.sets, filter="none")
        assert bank.n_weights == 124
        assert sum(name.endswith("of X[0]") for name in bank.names) == 62
        assert sum(name.endswith("of X[1]") for name in bank.names) == 62
        alone = KernelBank.build(self.sets[1], filter="none")
        for i in (0, 7, 33, 61):
            np.testing.assert_allclose(
                gram_of(bank, 62 + i), gram_of(alone, i), rtol=1e-5, atol=1e-7
            )

    def test_a_kernel_is_applied_to_each_set(self):
        bank = KernelBank.build(self.sets, [cauchy], filter="none")
        for i, data in enumerate(self.sets):
            expected = normalized(cauchy(data, data))
            np.testing.assert_allclose(gram_of(bank, i), expected, atol=1e-6)

    def test_new_rows_come_in_as_many_sets(self):
        bank = KernelBank.build(self.sets, [cauchy], filter="none")
        new = SeveralSets([NEW, self.sets[1][:4] + 1.0])
        for i, data in enumerate(self.sets):
            cross = bank.kernel(np.eye(2)[i])(new)
            expected = cauchy(new[i], data) / scale_of(cauchy(data, data))
            np.testing.assert_allclose(cross, expected, atol=1e-6)


class TestMistakes:
    def test_no_kernel_at_all(self):
        with pytest.raises(ValueError, match=r"kernels=\[\]"):
            KernelBank.build(X, [])

    @pytest.mark.parametrize("bad", ["gauss", 3.0, None, (RBF(1.0), 2)])
    def test_something_that_is_no_kernel(self, bad):
        message = r"kernels\[1\] = .* is not a kernel: allowed are"
        with pytest.raises(ValueError, match=message):
            KernelBank.build(X, [RBF(1.0), bad])
