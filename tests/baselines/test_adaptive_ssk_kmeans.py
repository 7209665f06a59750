"""AdaptiveSSKKMeans: clusters and the width of the kernel, in turn."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs, weighted
from tests.clustering.plain import draw_constraints

from linkwise import ConstrainedKernelKMeans, Constraints
from linkwise.baselines import AdaptiveSSKKMeans, _adaptive_ssk_kmeans, _width_search
from linkwise.baselines._closure_pairs import ListedPairs
from linkwise.baselines._width_search import (
    WidthProblem,
    adapt,
    best_width,
    first_width,
    width_bounds,
)
from linkwise.kernels import RBF

seeds = st.integers(0, 10_000)


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([AdaptiveSSKKMeans(2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    @pytest.fixture(params=["mean", "random"])
    def model(self, request):
        return AdaptiveSSKKMeans(3, reference=request.param, random_state=0)


def problem_of(X, pairs, n_clusters, **options):
    closure = pairs.closure(len(X))
    listed = ListedPairs(*closure.must_link_pairs(), *closure.cannot_link_pairs())
    given = {"penalty_weight": 1.0, "spread_weight": 0.75, **options}
    return WidthProblem(
        cdist(X, X, "sqeuclidean"), listed, n_clusters, **given
    ), closure


class TestExampleOfTheSpecification:
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    labels = np.array([0, 0, 1, 1])
    # As listed: the closure of these would have the pair 0-2 too.
    pairs = ListedPairs(np.array([(1, 2)]), np.ones(1), np.array([(0, 1)]), np.ones(1))
    nothing = ListedPairs(
        np.empty((0, 2), dtype=int),
        np.empty(0),
        np.empty((0, 2), dtype=int),
        np.empty(0),
    )

    def problem(self, pairs, spread_weight=0.75):
        squared = cdist(self.X, self.X, "sqeuclidean")
        return WidthProblem(squared, pairs, 2, 1.0, spread_weight)

    @pytest.mark.parametrize(
        ("width", "scatter", "broken", "total", "objective", "slope"),
        [
            (2.0, 0.235006, 3.027815, 1.797873, 0.566012, -0.113394),
            (1.0, 0.786939, 3.190836, 2.387578, 0.396408, 0.792754),
        ],
    )
    def test_parts(self, width, scatter, broken, total, objective, slope):
        problem = self.problem(self.pairs)
        terms, _ = problem.terms(width, self.labels)
        assert_allclose(terms, (scatter, broken, total), atol=1e-6)
        assert_allclose(
            problem.objective(width, self.labels), (objective, slope), atol=1e-6
        )

    @pytest.mark.parametrize(
        ("spread", "best", "least"),
        [(0.75, 1.1817, -2.814652), (0.5, 1.4101, -1.70683)],
    )
    def test_best_width_without_pairs(self, spread, best, least):
        problem = self.problem(self.nothing, spread)
        width, objective = best_width(problem, self.labels, 3.0, (0.3, 10.0))
        assert width == pytest.approx(best, abs=1e-4)
        assert objective == pytest.approx(least, abs=1e-6)

    def test_without_the_last_term_the_width_runs_off(self):
        problem = self.problem(self.nothing, 0.0)
        width, _ = best_width(problem, self.labels, 3.0, (0.3, 1e4))
        assert width == pytest.approx(1e4)


@pytest.mark.parametrize("reference", [None, 3])
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_slopes_are_those_of_finite_differences(reference, seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 3
    X, labels = rng.normal(size=(n, 2)), rng.permutation(np.arange(n) % k)
    pairs = draw_constraints(rng, n, 8, 3, weighted=True)
    problem, _ = problem_of(X, pairs, k, penalty_weight=1.7, reference=reference)
    at, step = np.log(rng.uniform(0.3, 3.0)), 1e-5
    ends = [problem.objective(np.exp(at + s * step), labels)[0] for s in (1, -1)]
    slope = problem.objective(np.exp(at), labels)[1]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_the_objective_is_that_of_its_formula(seed):
    rng = np.random.default_rng(seed)
    n, k, width = 10, 3, float(rng.uniform(0.3, 3.0))
    X, labels = rng.normal(size=(n, 2)), rng.permutation(np.arange(n) % k)
    pairs = draw_constraints(rng, n, 8, 3)
    problem, closure = problem_of(X, pairs, k)
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * width**2))
    D = 2 - 2 * K
    W = sum(
        (K[i, i] for i in range(n)),
        -sum(
            K[np.ix_(labels == c, labels == c)].sum() / (labels == c).sum()
            for c in range(k)
        ),
    )
    broken = sum(
        D[i, j] for i, j in closure.must_link_pairs().pairs if labels[i] != labels[j]
    )
    broken += sum(
        D.max() - D[i, j]
        for i, j in closure.cannot_link_pairs().pairs
        if labels[i] == labels[j]
    )
    T = n - K.sum() / n
    assert problem.objective(width, labels)[0] == pytest.approx(W + broken - 1.5 * T)
    # One random row: twice T is the sum of squared distances to it; the mean over rows
    # is the T of all.
    totals = []
    for row in range(n):
        one, _ = problem_of(X, pairs, k, reference=row)
        totals.append(one.terms(width, labels)[0].total)
        assert totals[-1] == pytest.approx(D[row].sum() / 2)
        assert one.total(width) == pytest.approx(totals[-1])
    assert np.mean(totals) == pytest.approx(T) == problem.total(width)


def test_a_weight_of_two_is_the_pair_twice():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(12, 2)), rng.permutation(np.arange(12) % 3)
    squared = cdist(X, X, "sqeuclidean")
    must, cannot = (
        np.array([(0, 1), (2, 3), (4, 5)]),
        np.array([(0, 2), (6, 7), (8, 9)]),
    )
    twice = ListedPairs(
        np.concatenate([must, must]),
        np.ones(6),
        np.concatenate([cannot, cannot]),
        np.ones(6),
    )
    heavy = ListedPairs(must, np.full(3, 2.0), cannot, np.full(3, 2.0))
    found = [
        WidthProblem(squared, pairs, 3, 1.0, 0.75).objective(0.8, labels)
        for pairs in (twice, heavy)
    ]
    assert_allclose(found[0], found[1])


class TestRounds:
    @pytest.mark.parametrize("seed", range(4))
    def test_the_objective_never_rises(self, seed):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=60, seed=seed)
        problem, closure = problem_of(X, weighted(pairs), 3)
        start = first_width(problem.squared)
        order = np.random.default_rng(seed).permutation(len(X))
        result = adapt(
            problem,
            closure,
            start,
            width_bounds(problem, start),
            order,
            max_iter=50,
            tol=0.0,
        )
        assert len(result.objectives) == 2 * result.n_iter
        assert (np.diff(result.objectives) <= 1e-9).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_no_other_width_is_better_for_the_final_labels(self, seed):
        X, _, pairs = make_blobs(spread=3.0, n_pairs=50, seed=seed)
        model = AdaptiveSSKKMeans(3, tol=0.0, random_state=0)
        model.fit(X, constraints=pairs)
        problem, _ = problem_of(X, pairs, 3)
        start = first_width(problem.squared)
        low, high = width_bounds(problem, start)
        width = (2.0 * model.gamma_) ** -0.5
        assert low <= width <= high * (1 + 1e-9)
        least = problem.objective(width, model.labels_)[0]
        assert least == pytest.approx(model.objective_)
        for other in np.geomspace(low, high, 200):
            assert problem.objective(other, model.labels_)[0] >= least - 1e-6

    @pytest.mark.parametrize("seed", range(3))
    def test_with_a_fixed_width_it_is_constrained_kernel_k_means(
        self, seed, monkeypatch
    ):
        X, _, pairs = make_blobs(spread=3.0, n_pairs=60, seed=seed)
        monkeypatch.setattr(
            _adaptive_ssk_kmeans, "width_bounds", lambda problem, start: (start, start)
        )
        model = AdaptiveSSKKMeans(3, random_state=0).fit(X, constraints=pairs)
        assert model.gamma_ == model.start_gamma_
        other = ConstrainedKernelKMeans(
            3, kernel=RBF(model.gamma_), penalty="hmrf", random_state=0
        ).fit(X, constraints=pairs)
        assert adjusted_rand_score(model.labels_, other.labels_) == 1.0


class TestWidth:
    def test_the_first_one_is_that_of_the_median(self):
        X, _, _ = make_blobs(spread=2.0)
        model = AdaptiveSSKKMeans(3, random_state=0).fit(X)
        expected = 1.0 / np.median(pdist(X, "sqeuclidean"))
        assert model.start_gamma_ == pytest.approx(expected)
        assert AdaptiveSSKKMeans(3, width=2.0).fit(X).start_gamma_ == 0.125

    def test_bounds_are_near_rows_and_half_the_scatter(self):
        X, _, pairs = make_blobs(spread=2.0)
        problem, _ = problem_of(X, pairs, 3)
        start = first_width(problem.squared)
        low, high = width_bounds(problem, start)
        distances = cdist(X, X)
        np.fill_diagonal(distances, np.inf)
        assert low == pytest.approx(np.median(distances.min(axis=1)))
        assert problem.total(high) == pytest.approx(problem.total(start) / 2.0)

    def test_equal_rows_alone_have_no_width_to_look_for(self):
        problem, _ = problem_of(np.ones((5, 2)), Constraints(), 2)
        assert width_bounds(problem, 1.0) == (1.0, 1.0)

    def test_units_do_not_matter(self):
        X, _, pairs = make_blobs(spread=3.0)
        labels = AdaptiveSSKKMeans(3, width=1.5, random_state=0)
        other = AdaptiveSSKKMeans(3, width=6.0, random_state=0)
        assert_array_equal(
            labels.fit_predict(X, constraints=pairs),
            other.fit_predict(4.0 * X, constraints=pairs),
        )
        assert labels.gamma_ == pytest.approx(16.0 * other.gamma_)

    def test_the_search_finds_what_a_bounded_one_does(self):
        X, y, pairs = make_blobs(spread=3.0)
        problem, _ = problem_of(X, pairs, 3)
        low, high = width_bounds(problem, first_width(problem.squared))
        width, least = best_width(problem, y, low, (low, high))
        found = minimize_scalar(
            lambda at: problem.objective(np.exp(at), y)[0],
            bounds=np.log((low, high)),
            method="bounded",
        )
        assert least <= found.fun + 1e-7
        assert width == pytest.approx(np.exp(found.x), rel=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_prediction_takes_the_nearest_centre_under_the_kernel(seed):
    X, _, pairs = make_blobs(spread=3.0, seed=seed)
    model = AdaptiveSSKKMeans(3, random_state=0).fit(X, constraints=pairs)
    new = np.random.default_rng(seed).normal(2.0, 3.0, size=(40, 3))
    K, cross = rbf_kernel(X, gamma=model.gamma_), rbf_kernel(new, X, gamma=model.gamma_)
    distances = []
    for c in range(3):
        own = model.labels_ == c
        distances.append(K[np.ix_(own, own)].mean() - 2 * cross[:, own].mean(axis=1))
    assert_array_equal(model.predict(new), np.argmin(distances, axis=0))


def test_what_is_too_large_for_the_memory_is_said_before_it_is_made():
    with pytest.raises(MemoryError, match=r"50000 rows.*55.88 GiB.*max_memory='4GiB'"):
        AdaptiveSSKKMeans(2).fit(np.zeros((50_000, 1)))


def test_a_fit_holds_no_more_matrices_than_it_says(monkeypatch):
    # With fewer rows blocks of some of them, which are no matrix, would count for more.
    monkeypatch.setattr(_width_search, "_BLOCK", 16)
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1000)
    X, pairs = (
        rng.normal(size=(1000, 3)) + 3.0 * y[:, None],
        Constraints.sample(y, 60, random_state=0),
    )
    model = AdaptiveSSKKMeans(3, random_state=0)
    model.fit(X[:50])  # what is compiled is there
    tracemalloc.start()
    model.fit(X, constraints=pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.gamma_ != model.start_gamma_  # so there were two kernels in turn
    assert peak < _adaptive_ssk_kmeans._N_MATRICES * 8 * 1000**2


@pytest.mark.parametrize(
    ("name", "value"),
    [("width", 0.0), ("reference", "median"), ("spread_weight", -1.0)],
)
def test_parameters_that_are_not_allowed_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of AdaptiveSSKKMeans"):
        AdaptiveSSKKMeans(2, **{name: value}).fit(make_blobs()[0])
