"""RCA: the covariance inside must-link groups, inverted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import make_blobs

from linkwise import Constraints, InconsistentConstraintsError
from linkwise.baselines import RCA, MetricLCVQE


@parametrize_with_checks([RCA()])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


def test_the_example_of_the_specification():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 1.0], [10.0, 3.0]])
    model = RCA().fit(X, constraints=([(0, 1), (2, 3)], []))
    assert_allclose(np.linalg.inv(model.metric_), np.diag([0.5, 0.5]), atol=1e-6)
    assert model.objective_ == pytest.approx(2.0 + np.log(0.25))


def test_with_many_rows_it_is_the_inverse_of_the_covariance_inside_groups():
    rng = np.random.default_rng(0)
    spread = np.array([[2.0, 0.5], [0.0, 0.3]])
    y = np.repeat(np.arange(4), 2000)
    X = rng.normal(size=(4, 2))[y] * 9.0 + rng.normal(size=(len(y), 2)) @ spread
    C = np.mean([np.cov(X[y == c].T, bias=True) for c in range(4)], axis=0)
    model = RCA().fit(X, y)
    share = 2.0 / (2.0 + len(y) - 4.0)
    shrunk = (1.0 - share) * C + share * np.trace(C) / 2.0 * np.eye(2)
    assert_allclose(model.metric_ @ shrunk, np.eye(2), atol=1e-6)
    assert_allclose(np.cov(model.transform(X[y == 0]).T), np.eye(2), atol=0.1)


def test_few_rows_shrink_it_towards_a_multiple_of_the_identity():
    X = np.random.default_rng(0).normal(size=(6, 20))
    metric = RCA().fit(X, constraints=([(0, 1), (2, 3)], [])).metric_
    values = np.linalg.eigvalsh(metric)
    assert values[0] > 0.0 and values[-1] / values[0] < 20.0


def test_cannot_links_play_no_part():
    X, _, pairs = make_blobs(spread=3.0)
    with_both = RCA().fit(X, constraints=pairs).metric_
    alone = RCA().fit(X, constraints=(pairs.must_link, [])).metric_
    assert_array_equal(with_both, alone)


def test_without_must_links_it_is_the_identity():
    X, _, pairs = make_blobs()
    for given in (None, ([], pairs.cannot_link)):
        assert_array_equal(RCA().fit(X, constraints=given).metric_, np.eye(3))


def test_groups_of_equal_rows_have_no_spread():
    X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 4, axis=0)
    metric = RCA().fit(X, constraints=([(0, 1), (4, 5)], [])).metric_
    assert_allclose(metric, metric[0, 0] * np.eye(2))


def test_sparse_rows_are_the_array():
    X, _, pairs = make_blobs(spread=3.0)
    dense, sparse = RCA().fit(X, constraints=pairs), RCA()
    sparse.fit(csr_array(X), constraints=pairs)
    assert_allclose(dense.metric_, sparse.metric_)


def test_contradictions_raise_or_are_dropped():
    X = make_blobs()[0]
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2)])
    with pytest.raises(InconsistentConstraintsError):
        RCA().fit(X, constraints=pairs)
    RCA(on_conflict="drop").fit(X, constraints=pairs)


def test_lcvqe_takes_it_by_name():
    X, _, pairs = make_blobs(spread=3.0)
    by_name = MetricLCVQE(3, metric="rca", random_state=0).fit(X, constraints=pairs)
    by_object = MetricLCVQE(3, metric=RCA(), random_state=0).fit(X, constraints=pairs)
    assert_array_equal(by_name.labels_, by_object.labels_)
    assert by_name.n_violated_ == pairs.closure(len(X)).n_violated(by_name.labels_)
