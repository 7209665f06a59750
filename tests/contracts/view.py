"""What every view must do; a view's test class inherits this."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from linkwise.kernels._views import BASES

FORMS = {
    "dense": np.asarray,
    "csr_matrix": csr_matrix,
    "csr_array": csr_array,
    "csc_array": csc_array,
}


def counts(seed=0, shape=(40, 5)):
    """Return data with many zeros, read-only."""
    X = np.random.default_rng(seed).poisson(0.7, size=shape).astype(np.float64)
    X.flags.writeable = False
    return X


class ViewContract:
    """A subclass provides the fixture ``view``, not yet fitted."""

    @pytest.fixture(params=FORMS, name="form")
    def make_form(self, request):
        return FORMS[request.param]

    def test_fitting_returns_a_view_and_leaves_the_old_one(self, view):
        first = view.fit(counts(1))
        seen = first.transform(counts(3)).plain()
        second = first.fit(counts(2) + 7.0)
        assert np.array_equal(first.transform(counts(3)).plain(), seen)
        # Fitted or not, a view is the same key.
        assert first == second == view
        assert hash(first) == hash(second) == hash(view)
        assert repr(first) == repr(view)

    def test_every_row_becomes_one_point(self, view, form):
        X = form(counts())
        points = view.fit(X).transform(X)
        assert points.n_points == 40
        assert points[3:10].n_points == 7
        assert points[np.array([5, 2, 2])].n_points == 3

    def test_a_part_of_the_points_is_that_part_of_their_values(self, view, form):
        X = form(counts())
        points = view.fit(X).transform(X)
        plain = self.as_dense(points)
        for rows in (slice(3, 10), np.array([5, 2, 2])):
            assert np.array_equal(self.as_dense(points[rows]), plain[rows])

    def test_rows_are_seen_alike_alone_and_together(self, view, form):
        X = counts()
        fitted = view.fit(form(X))
        alone = self.as_dense(fitted.transform(form(X[7:9])))
        together = self.as_dense(fitted.transform(form(X)))[7:9]
        np.testing.assert_allclose(alone, together, rtol=1e-14)

    def test_a_weight_counts_like_that_many_rows(self, view, form):
        X, weight = counts(), np.arange(40) % 3 + 1.0
        weighted = view.fit(form(X), weight)
        repeated = view.fit(form(np.repeat(X, weight.astype(int), axis=0)))
        np.testing.assert_allclose(
            self.as_dense(weighted.transform(form(X))),
            self.as_dense(repeated.transform(form(X))),
            atol=1e-12,
        )

    @pytest.mark.parametrize("base", BASES)
    def test_sparse_rows_have_the_base_matrices_of_dense_ones(self, view, form, base):
        X, Y = counts(0), counts(1, (9, 5))
        dense = view.fit(X)
        fitted = view.fit(form(X))
        got = BASES[base](fitted.transform(form(Y)), fitted.transform(form(X)))
        exact = BASES[base](dense.transform(Y), dense.transform(X))
        assert isinstance(got, np.ndarray) and got.shape == (9, 40)
        np.testing.assert_allclose(got, exact, atol=1e-11)

    @pytest.mark.parametrize("base", BASES)
    def test_base_matrices_follow_their_definition(self, view, base):
        X, Y = counts(0), counts(1, (9, 5))
        fitted = view.fit(X)
        left, right = fitted.transform(Y), fitted.transform(X)
        a, b = left.values[:, None], right.values[None]
        exact = {
            "squared_distances": ((a - b) ** 2).sum(axis=2),
            "manhattan": np.abs(a - b).sum(axis=2),
            "inner_products": (a * b).sum(axis=2),
        }
        np.testing.assert_allclose(BASES[base](left, right), exact[base], atol=1e-11)

    @staticmethod
    def as_dense(points):
        """Return the points as a plain array."""
        plain = points.plain()
        return plain.toarray() if hasattr(plain, "toarray") else np.asarray(plain)
