from copy import deepcopy
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs, weighted
from tests.baselines.metric_twins import (
    draw_problem,
    lists_of,
    means,
    mpck_objective,
    plain_mpck,
    sweeps,
)
from tests.contracts.compiled import assert_close, source_of

from linkwise.baselines import _metric_pairs
from linkwise.baselines._metric_pairs import (
    ComponentPairs,
    ListedPairs,
    linked_pairs,
)
from linkwise.baselines._metric_rounds import (
    Farthest,
    alternate,
    farthest_pair,
    nearest_with_all_used,
)
from linkwise.baselines._mpck_means import (
    MetricModel,
    MPCKMeans,
    _is_at_rest,
    best_metric,
)
from linkwise.constraints import Closure, Constraints

VARIANTS = [(m, c) for m in ("single", "per_cluster") for c in ("diagonal", "full")]
CORNERS = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(
    [MPCKMeans(2), MPCKMeans(2, metric="per_cluster", covariance="full")]
)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    @pytest.fixture(params=[VARIANTS[0], VARIANTS[-1]], ids="-".join)
    def model(self, request):
        metric, covariance = request.param
        return MPCKMeans(3, metric=metric, covariance=covariance, random_state=0)


def shape_of(metric, covariance, k, d):
    m = 1 if metric == "single" else k
    return (m, d) if covariance == "diagonal" else (m, d, d)


def full(metric, k):
    """Return one full matrix for each cluster."""
    matrices = [np.diag(m) if m.ndim == 1 else m for m in metric]
    return np.stack(matrices * (k // len(matrices)))


def full_of(model):
    """Return the metrics of a fitted model as full matrices, one for each cluster."""
    single = model.metric == "single"
    return full(model.metric_[None] if single else model.metric_, model.n_clusters)


class TestExampleOfTheSpecification:
    labels = np.array([0, 0, 1, 1])

    def step(self, constraints, shape=(1, 2)):
        X = CORNERS - CORNERS.mean(axis=0)
        pairs = linked_pairs(constraints, constraints.closure(4), 1.0)
        centres = means(X, self.labels, 2)
        fixed = MetricModel(X, pairs, centres, shape, None, learns=False)
        learnt = MetricModel(X, pairs, centres, shape, None)
        return fixed.update(self.labels), learnt.update(self.labels), learnt.metric

    def test_broken_must_link(self):
        before, after, metric = self.step(Constraints([(0, 2)]))
        assert before == pytest.approx(20.0, abs=1e-6)
        assert after == pytest.approx(13.545177, abs=1e-6)
        assert_allclose(metric, [[0.25, 1.0]], atol=1e-6)

    def test_broken_cannot_link(self):
        _, _, metric = self.step(Constraints([], [(0, 1)]))
        assert_allclose(metric, [[0.25, 1.0]], atol=1e-6)

    def test_full_metric_is_the_same_here_up_to_the_floor(self):
        _, after, metric = self.step(Constraints([(0, 2)]), (1, 2, 2))
        assert after == pytest.approx(13.545177, abs=1e-6)
        assert_allclose(metric, [np.diag([0.25, 1.0])], atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    variant=st.sampled_from(VARIANTS),
    is_weighted=st.booleans(),
)
def test_equals_a_twin_that_judges_every_move_by_the_whole_objective(
    seed, variant, is_weighted
):
    X, constraints, k, start = draw_problem(seed, weighted=is_weighted)
    metric, covariance = variant
    pairs = linked_pairs(constraints, constraints.closure(len(X)), 1.0)
    shape = shape_of(metric, covariance, k, X.shape[1])
    centres = means(X, start, k)
    model = MetricModel(X, pairs, centres, shape, None)
    result = alternate(
        model, pairs, start.copy(), np.random.default_rng(seed), 20, _is_at_rest
    )
    labels, metrics, trace = plain_mpck(
        X,
        constraints,
        start,
        centres,
        k,
        np.random.default_rng(seed),
        metric == "single",
        covariance == "diagonal",
        20,
    )
    assert_array_equal(result.labels, labels)
    assert result.n_iter == len(trace)
    assert result.objective == pytest.approx(trace[-1], rel=1e-6, abs=1e-6)
    assert_allclose(full(model.metric, k), metrics, rtol=1e-5, atol=1e-8)
    assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace[:-1]))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    variant=st.sampled_from(VARIANTS),
    is_weighted=st.booleans(),
)
@example(seed=9, variant=("per_cluster", "diagonal"), is_weighted=False)
@example(seed=9, variant=("per_cluster", "full"), is_weighted=True)
def test_assignment_under_any_metrics_equals_the_twin(seed, variant, is_weighted):
    X, constraints, k, start = draw_problem(seed, weighted=is_weighted, n_pairs=15)
    pairs = linked_pairs(constraints, constraints.closure(len(X)), 1.0)
    shape = shape_of(*variant, k, X.shape[1])
    rng = np.random.default_rng(seed)
    model = MetricModel(X, pairs, means(X, start, k), shape, rng)
    size = np.exp(rng.normal(size=shape[0]))  # clusters differ in scale
    model.metric = (size * rng.uniform(0.5, 1.0, size=shape).T).T
    if len(shape) == 3:
        model.metric = model.metric @ model.metric.transpose(0, 2, 1)
    model._far = model._farthest_of(model.metric)
    order, labels = rng.permutation(len(X)), start.copy()
    geometry = model.pair_geometry()
    pairs.settle(model.costs(geometry), geometry, order, labels)
    metrics, lists = full(model.metric, k), lists_of(constraints, len(X))
    expected = sweeps(
        start,
        k,
        order,
        lambda c: mpck_objective(X, c, model.centres, metrics, lists),
    )
    assert_array_equal(labels, expected)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), variant=st.sampled_from(VARIANTS))
def test_components_give_what_listed_pairs_give(seed, variant):
    X, constraints, k, start = draw_problem(seed, n=40, n_pairs=60)
    closure = constraints.closure(len(X))
    results = []
    for pairs in (
        ComponentPairs(closure, 0.5, 0.5),
        ListedPairs(closure, 0.5),
    ):
        shape = shape_of(*variant, k, X.shape[1])
        model = MetricModel(X, pairs, means(X, start, k), shape, None)
        rng = np.random.default_rng(seed)
        result = alternate(model, pairs, start.copy(), rng, 20, _is_at_rest)
        results.append((result, model.metric))
    (one, one_metric), (two, two_metric) = results
    assert_array_equal(one.labels, two.labels)
    assert one.objective == pytest.approx(two.objective, rel=1e-9, abs=1e-9)
    assert_allclose(one_metric, two_metric, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@pytest.mark.parametrize("form", [lambda pairs: pairs, weighted])
def test_the_objective_never_rises(variant, form):
    X, _, pairs = make_blobs(spread=4.0, n_pairs=50, seed=3)
    options = dict(zip(("metric", "covariance"), variant, strict=True), random_state=1)
    trace = []
    for max_iter in range(1, 12):
        model = MPCKMeans(3, max_iter=max_iter, n_init=1, **options)
        model.fit(X, constraints=form(pairs))
        trace.append(model.objective_)
        for matrix in full_of(model):
            assert np.linalg.eigvalsh(matrix).min() > 0.0
    assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace[:-1]))
    assert trace[-1] < trace[0]


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@pytest.mark.parametrize("form", [lambda pairs: pairs, weighted])
def test_the_reported_objective_is_that_of_the_attributes(variant, form):
    X, _, pairs = make_blobs(spread=4.0, n_pairs=30, seed=2)
    model = MPCKMeans(
        3, metric=variant[0], covariance=variant[1], weight=0.05, random_state=0
    ).fit(X, constraints=form(pairs))
    lists = lists_of(form(pairs), len(X), factor=0.05)
    expected = mpck_objective(
        X, model.labels_, model.cluster_centers_, full_of(model), lists
    )
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    assert model.n_violated_ > 0  # otherwise the pairs have no part in this


@pytest.mark.parametrize("seed", range(5))
def test_without_pairs_and_metric_it_is_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    X -= X.mean(axis=0)
    centres = X[rng.choice(60, 4, replace=False)]
    nothing = Constraints()
    pairs = linked_pairs(nothing, nothing.closure(60), 1.0)
    model = MetricModel(X, pairs, centres, (1, 3), rng, learns=False)
    start = nearest_with_all_used(model.costs(model.pair_geometry()))
    result = alternate(model, pairs, start, rng, 100, lambda old, new, moved: not moved)
    expected = KMeans(4, init=centres, n_init=1, tol=0.0).fit(X)
    assert_array_equal(result.labels, expected.labels_)
    assert result.objective == pytest.approx(expected.inertia_)


def test_a_weight_of_zero_leaves_pairs_only_the_start():
    X, constraints, k, start = draw_problem(4, n=30)
    nothing = Constraints()
    results = [
        alternate(
            MetricModel(X, pairs, means(X, start, k), (1, X.shape[1]), None),
            pairs,
            start.copy(),
            np.random.default_rng(0),
            50,
            _is_at_rest,
        )
        for pairs in (
            linked_pairs(constraints, constraints.closure(30), 0.0),
            linked_pairs(nothing, nothing.closure(30), 1.0),
        )
    ]
    assert_array_equal(results[0].labels, results[1].labels)
    assert results[0].objective == pytest.approx(results[1].objective)


def test_a_weight_on_all_pairs_is_the_weight():
    X, _, pairs = make_blobs(spread=4.0, n_pairs=60)
    heavy = Constraints(pairs.must_link, pairs.cannot_link, 3.0, 3.0)
    one = MPCKMeans(3, random_state=0).fit(X, constraints=heavy)
    two = MPCKMeans(3, weight=3.0, random_state=0).fit(X, constraints=pairs)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == pytest.approx(two.objective_)


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_more_runs_never_end_higher(variant):
    X, _, pairs = make_blobs(spread=4.0, n_pairs=50, seed=3)
    options = dict(zip(("metric", "covariance"), variant, strict=True), random_state=0)
    values = [
        MPCKMeans(3, n_init=n, **options).fit(X, constraints=pairs).objective_
        for n in (1, 3, 10)
    ]
    assert values == sorted(values, reverse=True)


def test_pairs_teach_the_metric_which_feature_matters():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.column_stack([3.0 * y + rng.normal(size=60), 10.0 * rng.normal(size=60)])
    pairs = Constraints.sample(y, 60, random_state=0)
    model = MPCKMeans(2, random_state=0).fit(X, constraints=pairs)
    assert model.metric_[0] > 5.0 * model.metric_[1]


def test_prediction_is_by_centres_and_metrics_alone():
    X, _, pairs = make_blobs(spread=3.0)
    model = MPCKMeans(3, metric="per_cluster", covariance="full", random_state=0)
    model.fit(X, constraints=pairs)
    new = np.random.default_rng(3).normal(2.0, 3.0, size=(40, 3))
    costs = [
        [(x - c) @ A @ (x - c) - np.log(np.linalg.det(A)) for x in new]
        for c, A in zip(model.cluster_centers_, model.metric_, strict=True)
    ]
    assert_array_equal(model.predict(new), np.argmin(costs, axis=0))


def test_the_data_may_lie_far_from_zero():
    X, _, pairs = make_blobs(spread=3.0)
    model = MPCKMeans(3, random_state=0)
    labels = model.fit_predict(X, constraints=pairs)
    assert_array_equal(model.fit_predict(X + 1e5, constraints=pairs), labels)


class TestMetricStep:
    def test_no_scatter_is_a_large_weight_and_not_a_division_by_zero(self):
        scatter = np.array([[0.0, 2.0]])
        assert_allclose(best_metric(scatter, np.array([4.0])), [[4e9, 2.0]])

    @pytest.mark.parametrize(
        "matrix",
        [np.zeros((2, 2)), np.diag([1.0, 0.0]), np.diag([2.0, -1.0]), -np.eye(2)],
    )
    def test_any_scatter_gives_a_positive_definite_metric(self, matrix):
        (metric,) = best_metric(matrix[None], np.array([3.0]))
        assert np.isfinite(metric).all()
        assert np.linalg.eigvalsh(metric).min() > 0.0

    def test_a_regular_scatter_is_inverted(self):
        matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
        (metric,) = best_metric(matrix[None], np.array([3.0]))
        assert_allclose(metric, 3.0 * np.linalg.inv(matrix))


class TestFarthestPair:
    @settings(max_examples=40, deadline=None)
    @given(seed=st.integers(0, 10_000))
    def test_is_that_of_all_pairs(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rng.integers(2, 600), rng.integers(1, 5)))
        X = X**3 + 10.0 * rng.normal(size=X.shape[1])
        i, j = farthest_pair(X)
        largest = max(((X[a] - X[b:]) ** 2).sum(axis=1).max() for a, b in _rows(len(X)))
        assert ((X[i] - X[j]) ** 2).sum() == pytest.approx(largest, rel=1e-12)

    def test_under_a_full_metric(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 3))
        root = rng.normal(size=(3, 3))
        A = root @ root.T
        f = Farthest(X, rng)(A)
        lengths = [(a - b) @ A @ (a - b) for a, b in combinations(X, 2)]
        assert f @ A @ f == pytest.approx(max(lengths))

    def test_of_many_points_an_outlier_is_found_outside_the_sample(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 3))
        X[4321] = 50.0
        f = Farthest(X, rng)(np.ones(3))
        exact = ((X - X[4321]) ** 2).sum(axis=1).max()
        assert f @ f == pytest.approx(exact)

    def test_of_equal_points(self):
        assert_array_equal(Farthest(np.ones((5, 2)), None)(np.ones(2)), [0.0, 0.0])


def _rows(n):
    return [(a, a + 1) for a in range(n - 1)]


def test_millions_of_equal_pairs_are_never_listed(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=6000)
    X = rng.normal(size=(6000, 2)) + y[:, None]
    pairs = Constraints.from_labels(np.where(rng.random(6000) < 0.7, y, -1))
    closure = pairs.closure(6000)
    assert closure.n_must_link + closure.n_cannot_link > 8e6

    def refuse(self):
        raise AssertionError("pairs were listed")

    monkeypatch.setattr(Closure, "must_link_pairs", refuse)
    monkeypatch.setattr(Closure, "cannot_link_pairs", refuse)
    model = MPCKMeans(2, random_state=0).fit(X, constraints=pairs)
    assert model.constraint_score_ > 0.99


def test_compiled_sweeps_equal_their_source(monkeypatch):
    called = set()
    for name in ("sweep_components", "sweep_pairs"):
        function = getattr(_metric_pairs, name)
        source = source_of(function, called, {})

        def check(*args, function=function, source=source):
            plain = deepcopy(args)
            expected, result = source(*plain), function(*args)
            assert result == expected
            for got, exact in zip(args, plain, strict=True):
                assert_close(got, exact)
            return result

        monkeypatch.setattr(_metric_pairs, name, check)
    X, _, pairs = make_blobs(spread=4.0, n_pairs=50)
    for form in (pairs, weighted(pairs)):
        for metric in ("single", "per_cluster"):
            MPCKMeans(3, metric=metric, random_state=0).fit(X, constraints=form)
    assert called == {"sweep_components", "sweep_pairs", "cheapest", "dot", "carry"}
