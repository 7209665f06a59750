import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs, weighted
from tests.baselines.metric_twins import (
    draw_problem,
    hmrf_objective,
    lists_of,
    means,
    sweeps,
)

from linkwise.baselines._hmrf_kmeans import (
    CosineModel,
    EuclideanModel,
    HMRFKMeans,
    unit_rows,
)
from linkwise.baselines._metric_pairs import linked_pairs
from linkwise.baselines._metric_rounds import alternate, nearest_with_all_used
from linkwise.constraints import Closure, Constraints

DISTANCES = ["euclidean", "cosine"]
MODELS = {"euclidean": EuclideanModel, "cosine": CosineModel}
CORNERS = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])


def expected_failed_checks(estimator):
    if estimator.distance == "euclidean":
        return {}
    return dict.fromkeys(
        [
            "check_estimators_dtypes",
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
        ],
        "the data of the check have rows of zeros, which have no cosine",
    )


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(
    [HMRFKMeans(2), HMRFKMeans(2, distance="cosine")],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    @pytest.fixture(params=DISTANCES)
    def model(self, request):
        return HMRFKMeans(3, distance=request.param, random_state=0)


def no_pairs(n):
    return linked_pairs(Constraints(), Constraints().closure(n), 1.0)


def slope(function, a, step=1e-6):
    """Return the gradient by central differences."""
    moves = step * np.eye(len(a))
    return np.array([(function(a + m) - function(a - m)) / (2 * step) for m in moves])


class TestExampleOfTheSpecification:
    labels = np.array([0, 0, 1, 1])

    def model(self, **options):
        X = CORNERS - CORNERS.mean(axis=0)
        constraints = Constraints([(0, 2)], [(0, 1)])
        # As stated: the pairs given, without the cannot-link 1-2 that they entail.
        pairs = _GivenPairs(constraints, 4)
        return EuclideanModel(X, pairs, means(X, self.labels, 2), None, **options)

    def test_objective(self):
        model = self.model(learns=False)
        assert model.update(self.labels) == pytest.approx(37.0, abs=1e-6)
        assert model.pair_geometry().farthest[0] == pytest.approx(20.0)

    def test_gradient(self):
        model = self.model()
        far = np.array([4.0, 2.0])
        terms = model.terms(self.labels)
        got = slope(lambda a: model.objective(terms, a, far), np.ones(2))
        assert_allclose(got, [28.0, 0.0], atol=1e-6)

    def test_scatter_and_weights(self):
        model = self.model()
        scatter, cannot = model.terms(self.labels)
        assert_allclose(scatter + cannot * np.array([16.0, 4.0]), [32.0, 4.0])
        assert_allclose(
            model.best_metric((scatter, cannot)), [0.155494, 1.0], atol=1e-6
        )
        model.update(self.labels)
        assert_allclose(model.metric, [0.155494, 1.0], atol=1e-6)

    def test_weights_without_log_determinant(self):
        model = self.model(logdet=False)
        expected = [(-32 + np.sqrt(1028)) / 2, (-4 + np.sqrt(20)) / 2]
        terms = model.terms(self.labels)
        assert_allclose(model.best_metric(terms), expected, rtol=1e-9)


class _GivenPairs:
    """Pairs as given, not closed, with the part of the pairs that estimation needs."""

    def __init__(self, constraints, n):
        self.points, self.has_cannot_link = np.arange(n), True
        self._constraints = constraints

    def broken_sums(self, values, labels, n_clusters):
        sums = np.zeros((2, *values.shape))
        for kind, pairs in enumerate(
            (self._constraints.must_link, self._constraints.cannot_link)
        ):
            for i, j in pairs:
                if (labels[i] == labels[j]) == bool(kind):
                    sums[kind, i] += values[j]
                    sums[kind, j] += values[i]
        return sums


def problem(seed, distance, is_weighted=False):
    """Return a model with a metric that is not the identity, start labels, pairs."""
    X, constraints, k, start = draw_problem(seed, weighted=is_weighted)
    assume(distance == "euclidean" or X.shape[1] > 1)  # on a line cosines are 1 or -1
    rng = np.random.default_rng(seed)
    X = X + (0.0 if distance == "euclidean" else 1.0)  # one side of the origin
    pairs = linked_pairs(constraints, constraints.closure(len(X)), 1.0)
    model = MODELS[distance](X, pairs, means(X, start, k), rng)
    model.metric = rng.uniform(0.1, 1.0, X.shape[1])
    model._far = model._farthest_of(model.metric)
    return model, X, constraints, k, start


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    distance=st.sampled_from(DISTANCES),
    is_weighted=st.booleans(),
)
def test_assignment_equals_a_twin_that_judges_every_move_by_the_whole_objective(
    seed, distance, is_weighted
):
    model, X, constraints, k, start = problem(seed, distance, is_weighted)
    order = np.random.default_rng(seed).permutation(len(X))
    labels = start.copy()
    geometry = model.pair_geometry()
    model.pairs.settle(model.costs(geometry), geometry, order, labels)
    lists = lists_of(constraints, len(X))
    expected = sweeps(
        start,
        k,
        order,
        lambda c: hmrf_objective(X, c, model.centres, model.metric, lists, distance),
    )
    assert_array_equal(labels, expected)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    distance=st.sampled_from(DISTANCES),
    is_weighted=st.booleans(),
)
def test_estimation_returns_the_objective_and_never_raises_it(
    seed, distance, is_weighted
):
    model, X, constraints, k, start = problem(seed, distance, is_weighted)
    lists = lists_of(constraints, len(X))

    def objective():
        return hmrf_objective(X, start, model.centres, model.metric, lists, distance)

    before = objective()
    after = model.update(start)
    assert after == pytest.approx(objective(), rel=1e-9, abs=1e-9)
    assert after <= before + 1e-9 * abs(before)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), is_weighted=st.booleans())
def test_gradient_of_the_cosine_objective(seed, is_weighted):
    model, X, constraints, k, start = problem(seed, "cosine", is_weighted)

    def objective(a):
        return model.objective(a, start, model._far)[0]

    got = model.objective(model.metric, start, model._far)[1]
    expected = slope(objective, model.metric)
    assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * max(1.0, abs(expected).max()))


@settings(max_examples=50, deadline=None)
@given(
    scatter=st.floats(-1e6, 1e6),
    prior_scale=st.floats(0.1, 10.0),
    logdet=st.booleans(),
)
def test_the_closed_form_has_zero_gradient(scatter, prior_scale, logdet):
    X = np.zeros((7, 1))
    model = EuclideanModel(
        X, no_pairs(7), X[:1], None, prior_scale=prior_scale, logdet=logdet
    )
    (a,) = model.best_metric((np.array([scatter]), 0.0))
    n = 8 if logdet else 1
    terms = np.array([scatter, a / prior_scale**2, -n / a])
    assert a > 0.0
    assert abs(terms.sum()) <= 1e-9 * np.abs(terms).max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("form", [lambda pairs: pairs, weighted])
def test_the_objective_never_rises_and_is_that_of_the_attributes(distance, form):
    X, y, _ = make_blobs(spread=4.0, seed=3)
    wrong = np.random.default_rng(0).permutation(y)
    pairs = form(Constraints.sample(wrong, 50, random_state=0))
    lists = lists_of(pairs, len(X), factor=0.005)
    trace = []
    for max_iter in range(1, 8):
        model = HMRFKMeans(
            3,
            distance=distance,
            weight=0.005,
            prior_scale=0.8,
            max_iter=max_iter,
            random_state=0,
        ).fit(X, constraints=pairs)
        trace.append(model.objective_)
        expected = hmrf_objective(
            X,
            model.labels_,
            model.cluster_centers_,
            model.metric_,
            lists,
            distance,
            s=0.8,
        )
        assert model.objective_ == pytest.approx(expected, rel=1e-8)
        assert model.metric_.min() > 0.0
    assert model.n_violated_ > 0  # otherwise the pairs have no part in this
    assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace[:-1]))


def test_the_log_determinant_can_be_left_out():
    X, _, pairs = make_blobs(spread=3.0)
    model = HMRFKMeans(3, logdet=False, random_state=0).fit(X, constraints=pairs)
    lists = lists_of(pairs, len(X))
    expected = hmrf_objective(
        X,
        model.labels_,
        model.cluster_centers_,
        model.metric_,
        lists,
        "euclidean",
        logdet=False,
    )
    assert model.objective_ == pytest.approx(expected, rel=1e-8)
    assert model.metric_.max() < 0.1  # only the prior keeps the weights from zero


@pytest.mark.parametrize("seed", range(3))
def test_without_pairs_and_fixed_weights_it_is_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    X -= X.mean(axis=0)
    centres = X[rng.choice(60, 4, replace=False)]
    model = EuclideanModel(X, no_pairs(60), centres, rng, learns=False)
    start = nearest_with_all_used(model.costs())
    result = alternate(
        model, model.pairs, start, rng, 100, lambda old, new, moved: not moved
    )
    expected = KMeans(4, init=centres, n_init=1, tol=0.0).fit(X)
    assert_array_equal(result.labels, expected.labels_)
    # The prior of weights that are all 1.
    assert result.objective == pytest.approx(expected.inertia_ + 1.5)


@pytest.mark.parametrize("seed", range(3))
def test_without_pairs_and_fixed_weights_cosine_is_spherical_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    centres = X[rng.choice(60, 4, replace=False)]
    model = CosineModel(X, no_pairs(60), centres, rng, learns=False)
    start = nearest_with_all_used(model.costs())
    labels = alternate(
        model, model.pairs, start, rng, 100, lambda old, new, moved: not moved
    ).labels
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    directions = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    for _ in range(100):
        expected = (U @ directions.T).argmax(axis=1)
        totals = np.stack([U[expected == c].sum(axis=0) for c in range(4)])
        directions = totals / np.linalg.norm(totals, axis=1, keepdims=True)
    assert_array_equal(labels, expected)


class TestCosine:
    def test_lengths_of_rows_do_not_matter(self):
        X, _, pairs = make_blobs(spread=2.0)
        model = HMRFKMeans(3, distance="cosine", random_state=0)
        labels = model.fit_predict(X, constraints=pairs)
        factor = np.random.default_rng(0).choice([0.5, 2.0, 8.0], size=(len(X), 1))
        assert_array_equal(model.fit_predict(factor * X, constraints=pairs), labels)

    def test_weights_stay_in_their_bounds(self):
        X, _, pairs = make_blobs(spread=3.0)
        model = HMRFKMeans(3, distance="cosine", random_state=0)
        metric = model.fit(X, constraints=pairs).metric_
        assert metric.min() >= 1e-7 and metric.max() <= 1.0

    def test_a_zero_row_is_named(self):
        X = np.array(make_blobs()[0])
        model = HMRFKMeans(3, distance="cosine", random_state=0).fit(X)
        X[4] = 0.0
        with pytest.raises(ValueError, match=r"X\[4\] is zero"):
            HMRFKMeans(3, distance="cosine").fit(X)
        with pytest.raises(ValueError, match=r"X\[4\] is zero"):
            model.predict(X)

    def test_a_centre_of_opposite_rows_is_no_division_by_zero(self):
        X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.1, 1.0]])
        model = HMRFKMeans(2, distance="cosine", weight=100.0, random_state=0)
        model.fit(X, constraints=([(0, 1)], [(0, 2)]))
        assert np.isfinite(model.objective_)

    def test_unit_rows_give_the_cosine(self):
        rng = np.random.default_rng(0)
        X, a = rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, 3)
        product = (X * a) @ X.T
        lengths = np.sqrt(product.diagonal())
        got = unit_rows(X, a) @ unit_rows(X, a).T
        assert_allclose(got, product / np.outer(lengths, lengths))


@pytest.mark.parametrize("distance", DISTANCES)
def test_prediction_is_by_centres_and_weights_alone(distance):
    X, _, pairs = make_blobs(spread=3.0)
    model = HMRFKMeans(3, distance=distance, random_state=0).fit(X, constraints=pairs)
    new = np.random.default_rng(3).normal(2.0, 3.0, size=(40, 3))
    a, centres = model.metric_, model.cluster_centers_
    if distance == "euclidean":
        costs = [[(a * (x - c) ** 2).sum() for c in centres] for x in new]
    else:
        costs = [
            [-(a * x * c).sum() / np.sqrt((a * c**2).sum()) for c in centres]
            for x in new
        ]
    assert_array_equal(model.predict(new), np.argmin(costs, axis=1))


@pytest.mark.parametrize("distance", DISTANCES)
def test_millions_of_equal_pairs_are_never_listed(distance, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=6000)
    X = rng.normal(size=(6000, 2)) + 3.0 * np.eye(2)[y]
    pairs = Constraints.from_labels(np.where(rng.random(6000) < 0.7, y, -1))
    closure = pairs.closure(6000)
    assert closure.n_must_link + closure.n_cannot_link > 8e6

    def refuse(self):
        raise AssertionError("pairs were listed")

    monkeypatch.setattr(Closure, "must_link_pairs", refuse)
    monkeypatch.setattr(Closure, "cannot_link_pairs", refuse)
    model = HMRFKMeans(2, distance=distance, random_state=0).fit(X, constraints=pairs)
    assert model.constraint_score_ > 0.99
