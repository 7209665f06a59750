"""Pairs come in many forms; equal pairs give equal results."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_matrix

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    ConstraintWarning,
    InconsistentConstraintsError,
    KernelCSC,
    SingleKernelCSC,
)


def as_lists(pairs, n):
    return pairs.must_link.tolist(), pairs.cannot_link.tolist()


def as_matrix(pairs, n):
    i, j = np.concatenate([pairs.must_link, pairs.cannot_link]).T
    sign = np.repeat([1.0, -1.0], [pairs.n_must_link, pairs.n_cannot_link])
    return coo_array((sign, (i, j)), shape=(n, n)).tocsr()


def as_table(pairs, n):
    return pairs.to_table()


def turned_and_repeated(pairs, n):
    ml, cl = pairs.must_link[:, ::-1], pairs.cannot_link[:, ::-1]
    return np.concatenate([ml, pairs.must_link, ml]), np.concatenate([cl, cl])


def with_pairs_of_a_point_with_itself(pairs, n):
    return [*pairs.must_link.tolist(), (4, 4)], pairs.cannot_link


FORMS = [
    as_lists,
    as_matrix,
    as_table,
    turned_and_repeated,
    with_pairs_of_a_point_with_itself,
]


@pytest.mark.parametrize("form", FORMS)
def test_equal_pairs_in_any_form_give_equal_results(form, estimator, overlapping):
    X, _, pairs = overlapping
    expected = estimator.fit(X, constraints=pairs)
    expected_labels, expected_score = expected.labels_, expected.constraint_score_
    estimator.fit(X, constraints=form(pairs, len(X)))
    assert_array_equal(estimator.labels_, expected_labels)
    assert estimator.constraint_score_ == expected_score


def test_an_old_sparse_matrix_is_a_matrix_too(blobs):
    X, _, pairs = blobs
    model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    labels = model.fit_predict(X, constraints=csr_matrix(as_matrix(pairs, len(X))))
    assert_array_equal(labels, model.fit_predict(X, constraints=pairs))


def test_partial_labels_equal_their_pairs(estimator, overlapping):
    X, y, _ = overlapping
    partial = np.where(np.arange(len(y)) < 20, y, -1)
    labels = estimator.fit(X, partial).labels_
    pairs = Constraints.from_labels(partial)
    assert_array_equal(labels, estimator.fit(X, constraints=pairs).labels_)


@pytest.mark.parametrize("kind", [list, pd.Series, lambda y: y.astype(object)])
def test_partial_labels_may_be_any_sequence(kind, blobs):
    X, y, _ = blobs
    model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    assert_array_equal(model.fit_predict(X, kind(y)), model.fit_predict(X, y))


def test_partial_labels_may_be_names(blobs):
    X, y, _ = blobs
    names = np.array(["ann", "bob", "eve"], dtype=object)[y]
    names[::2] = -1
    numbers = np.where(np.arange(len(y)) % 2 == 0, -1, y)
    model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    assert_array_equal(model.fit_predict(X, names), model.fit_predict(X, numbers))


def test_labels_and_pairs_add_up(estimator, overlapping):
    X, y, pairs = overlapping
    partial = np.where(np.arange(len(y)) < 12, y, -1)
    labels = estimator.fit(X, partial, constraints=pairs).labels_
    both = pairs | Constraints.from_labels(partial)
    assert_array_equal(labels, estimator.fit(X, constraints=both).labels_)


def test_pairs_may_name_ids(estimator, overlapping):
    X, _, pairs = overlapping
    ids = [f"row {i}" for i in range(len(X))]
    named = Constraints(
        [(ids[i], ids[j]) for i, j in pairs.must_link],
        [(ids[i], ids[j]) for i, j in pairs.cannot_link],
    )
    labels = estimator.fit(X, constraints=named, sample_id=ids).labels_
    assert_array_equal(labels, estimator.fit(X, constraints=pairs).labels_)


def test_pairs_that_leave_the_data_are_dropped_with_ids(estimator, overlapping):
    X, _, pairs = overlapping
    rows = np.arange(10, 60)
    labels = estimator.fit(X[rows], constraints=pairs, sample_id=rows).labels_
    inside = pairs.restrict(rows)
    assert_array_equal(labels, estimator.fit(X[rows], constraints=inside).labels_)


def test_heavy_pairs_count_more(blobs):
    X, y, _ = blobs
    right = np.flatnonzero(y == 0)[:2]
    wrong = [np.flatnonzero(y == 1)[0], np.flatnonzero(y == 2)[0]]
    pairs = Constraints([right, wrong], must_link_weight=[3.0, 1.0])
    model = SingleKernelCSC(3, random_state=0).fit(X, constraints=pairs)
    a, b = (model.labels_[i] == model.labels_[j] for i, j in (right, wrong))
    assert model.constraint_score_ == (3.0 * a + 1.0 * b) / 4.0


class TestContradictions:
    pairs = ([(0, 1), (1, 2), (5, 6)], [(0, 2), (6, 9)])

    def test_the_error_holds_the_path(self, estimator, blobs):
        with pytest.raises(InconsistentConstraintsError, match="0-1-2"):
            estimator.fit(blobs.X, constraints=self.pairs)

    def test_dropping_equals_the_consistent_pairs(self, estimator, overlapping):
        X = overlapping.X
        estimator.set_params(on_conflict="drop")
        labels = estimator.fit(X, constraints=self.pairs).labels_
        kept = Constraints(*self.pairs).drop_conflicts()
        assert_array_equal(labels, estimator.fit(X, constraints=kept).labels_)

    def test_dropping_works_with_folds(self, overlapping):
        X, y, pairs = overlapping
        a, b = np.flatnonzero(y == 0)[:2]
        wrong = pairs | Constraints([(a, b)], [(a, b)])
        model = SingleKernelCSC(3, cv=3, on_conflict="drop", random_state=0)
        assert 0 <= model.fit(X, constraints=wrong).constraint_score_ <= 1

    def test_score_follows_on_conflict(self, estimator, blobs):
        X, _, pairs = blobs
        estimator.fit(X, constraints=pairs)
        with pytest.raises(InconsistentConstraintsError, match="0-1-2"):
            estimator.score(X, constraints=self.pairs)
        estimator.set_params(on_conflict="drop")
        assert 0 <= estimator.score(X, constraints=self.pairs) <= 1

    def test_labels_that_contradict_pairs_are_found(self, estimator, blobs):
        X, y, _ = blobs
        a, b = np.flatnonzero(y == 0)[:2]
        with pytest.raises(InconsistentConstraintsError, match=f"{a}-{b}"):
            estimator.fit(X, y, constraints=([], [(a, b)]))


class TestNoPairs:
    @pytest.mark.parametrize(
        "nothing", [None, Constraints(), ([], []), coo_array((72, 72))]
    )
    def test_a_search_without_pairs_warns(self, nothing, searcher, blobs):
        with pytest.warns(ConstraintWarning, match="has no constraints to choose"):
            searcher.fit(blobs.X, constraints=nothing)
        assert searcher.stopped_by_ == "no pairs"
        assert len(searcher.history_) == 0
        assert np.isnan(searcher.constraint_score_) and searcher.n_violated_ == 0

    def test_all_labels_unknown_is_no_pair(self, searcher, blobs):
        with pytest.warns(ConstraintWarning, match="has no constraints to choose"):
            searcher.fit(blobs.X, np.full(len(blobs.X), -1))

    def test_pairs_that_all_leave_the_data_are_no_pairs(self, searcher, blobs):
        ids = np.arange(1000, 1000 + len(blobs.X))
        with pytest.warns(ConstraintWarning, match="has no constraints to choose"):
            searcher.fit(blobs.X, constraints=blobs.pairs, sample_id=ids)

    def test_a_fixed_kernel_needs_no_pairs(self, blobs):
        labels = ConstrainedKernelKMeans(3, random_state=0).fit_predict(blobs.X)
        assert len(np.unique(labels)) == 3
