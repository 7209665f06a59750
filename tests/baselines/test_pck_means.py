"""k-means with one price for every broken pair (section 8.4 of the specification)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.centre_contract import (
    CentreContract,
    blobs,
    inertia,
    random_problem,
)

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import _pck_means
from linkwise.baselines._jit_sweeps import (
    cheapest,
    relabel_by_counts,
    relabel_by_pairs,
)
from linkwise.baselines._pck_means import PCKMeans, _CountedPairs, _PricedPairs
from linkwise.baselines._seeds import neighbourhood_seeds

SEEDS = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=50)


class TestContract(CentreContract):
    @pytest.fixture
    def model(self):
        return PCKMeans(3, random_state=0)


# The checks' labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([PCKMeans(2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


# A twin that takes the whole objective anew for every move ----------------------------


def weighted_pairs(pairs, n):
    closure = pairs.closure(n)
    must, cannot = closure.must_link_pairs(), closure.cannot_link_pairs()
    return (
        list(zip(must.pairs.tolist(), must.weights, strict=True)),
        list(zip(cannot.pairs.tolist(), cannot.weights, strict=True)),
    )


def plain_objective(X, labels, centres, must, cannot, weight):
    price = sum(w for (i, j), w in must if labels[i] != labels[j])
    price += sum(w for (i, j), w in cannot if labels[i] == labels[j])
    return 0.5 * ((X - centres[labels]) ** 2).sum() + weight * price


def plain_pck(X, pairs, k, weight, orders, max_iter):
    """Return the labels and the objectives of each sweep, from section 1.3's start."""
    must, cannot = weighted_pairs(pairs, len(X))
    centres = neighbourhood_seeds(X, pairs.closure(len(X)), k, "largest")
    away = ((X[:, None] - centres) ** 2).sum(axis=2)
    labels = away.round(12).argmin(axis=1)
    cost = away[np.arange(len(X)), labels].round(9)
    for c in range(k):
        if not (labels == c).any():
            counts = np.bincount(labels, minlength=k)
            worst = np.where(counts[labels] > 1, cost, -np.inf).argmax()
            labels[worst], cost[worst] = c, -np.inf
    trace = [plain_objective(X, labels, centres, must, cannot, weight)]
    for sweep in range(max_iter):
        before = labels.copy()
        for i in orders[sweep]:
            if (labels == labels[i]).sum() == 1:
                continue
            values = []
            for c in range(k):
                trial = labels.copy()
                trial[i] = c
                values.append(plain_objective(X, trial, centres, must, cannot, weight))
            if min(values) < values[labels[i]] - 1e-10:
                labels[i] = int(np.argmin(np.round(values, 10)))
        trace.append(plain_objective(X, labels, centres, must, cannot, weight))
        centres = np.array([X[labels == c].mean(axis=0) for c in range(k)])
        trace.append(plain_objective(X, labels, centres, must, cannot, weight))
        if sweep > 0 and np.array_equal(before, labels):
            break
    return labels, trace, sweep + 1


def orders_of(seed, n, n_sweeps):
    """Return the orders that a fit with this random_state draws."""
    rng = _pck_means.PCKMeans(random_state=seed)._check_fit(
        np.zeros((max(n, 8), 1)), None, None, None, None
    ).rng  # fmt: skip
    return [rng.permutation(n) for _ in range(n_sweeps)]


@quick
@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.25, 1.0, 8.0]))
def test_sweeps_equal_the_plain_twin_and_the_objective_never_rises(
    seed, weighted, weight
):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng, weighted=weighted)
    orders = orders_of(3, len(X), 100)
    labels, trace, n_iter = plain_pck(X, pairs, k, weight, orders, 100)
    model = PCKMeans(k, weight=weight, n_init=1, random_state=3).fit(
        X, constraints=pairs
    )
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.objective_, trace[-1], atol=1e-9)
    assert model.n_iter_ == n_iter and model.converged_
    assert (np.diff(trace) <= 1e-9).all()
    # The objective is what it says, whatever way pairs were counted.
    must, cannot = weighted_pairs(pairs, len(X))
    centres = model.cluster_centers_
    full = plain_objective(X, model.labels_, centres, must, cannot, weight)
    assert_allclose(model.objective_, full, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_of_a_fit_never_rises_with_more_sweeps():
    X, _, pairs = blobs(spread=4.0, n_pairs=120)
    objectives = [
        PCKMeans(3, max_iter=m, n_init=1, random_state=0)
        .fit(X, constraints=pairs)
        .objective_
        for m in range(1, 15)
    ]
    assert (np.diff(objectives) <= 1e-9).all() and objectives[-1] < objectives[0]


# The example of the specification -----------------------------------------------------


@pytest.mark.parametrize(
    "weight, expected, costs",
    [(1.0, [0, 0, 1, 1], [1.125, 6.125]), (10.0, [0, 1, 1, 1], [10.125, 6.125])],
)
@pytest.mark.parametrize("listed", [False, True])
def test_example_point_1_moves_if_the_pair_is_dear(weight, expected, costs, listed):
    x, centres = np.array([0.0, 1, 4, 5]), np.array([0.5, 4.5])
    closure = Constraints([(1, 2)]).closure(4)
    half = 0.5 * np.subtract.outer(x, centres) ** 2
    # What a move costs against the cost of staying.
    assert_allclose(half[1] + [weight, 0.0], costs)
    labels = np.array([0, 0, 1, 1])
    pairs = (
        _PricedPairs(closure, weight)
        if listed
        else _CountedPairs(closure, weight, labels, 2)
    )
    n_moves = pairs.relabel(half, np.array([1]), np.array([2, 2]), labels)
    assert_array_equal(labels, expected)
    assert n_moves == (weight == 10.0)


# Relations ----------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_weight_zero_is_k_means_from_the_same_start(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    start = neighbourhood_seeds(X, pairs.closure(len(X)), k, "largest")
    if len(np.unique(((X[:, None] - start) ** 2).sum(2).argmin(1))) < k:
        return  # an empty cluster is filled in another way there
    model = PCKMeans(k, weight=0.0, n_init=1, random_state=0).fit(X, constraints=pairs)
    parent = KMeans(k, init=start, n_init=1, tol=0.0).fit(X)
    # One sweep with the last member kept is not Lloyd's; without that they agree.
    if (np.bincount(parent.labels_, minlength=k) > 1).all() and (
        np.bincount(model.labels_, minlength=k) > 1
    ).all():
        assert_allclose(2.0 * model.objective_, parent.inertia_)
        assert_array_equal(model.labels_, parent.labels_)


@quick
@given(SEEDS)
def test_counted_pairs_equal_listed_pairs(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    closure = pairs.closure(len(X))
    start = rng.permutation(np.arange(len(X)) % k)
    distances = rng.random((len(X), k))
    labels = [start.copy(), start.copy()]
    counted = _CountedPairs(closure, 0.25, labels[0], k)
    listed = _PricedPairs(closure, 0.25)
    n_members = np.bincount(start, minlength=k), np.bincount(start, minlength=k)
    for _ in range(3):
        order = rng.permutation(len(X))
        n_moves = counted.relabel(distances, order, n_members[0], labels[0])
        assert n_moves == listed.relabel(distances, order, n_members[1], labels[1])
        assert_array_equal(labels[0], labels[1])
        assert_array_equal(n_members[0], np.bincount(labels[0], minlength=k))
        assert_allclose(counted.of(labels[0]), listed.of(labels[1]))


@quick
@given(SEEDS)
def test_compiled_sweeps_equal_the_functions_they_were_made_from(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    closure = pairs.closure(len(X))
    start = rng.permutation(np.arange(len(X)) % k)
    distances, order = rng.random((len(X), k)), rng.permutation(len(X))

    def run(counts, listed):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_pck_means, "relabel_by_counts", counts)
            patch.setattr(_pck_means, "relabel_by_pairs", listed)
            first, second = start.copy(), start.copy()
            a = _CountedPairs(closure, 0.5, first, k)
            b = _PricedPairs(closure, 0.5)
            a.relabel(distances, order, np.bincount(start, minlength=k), first)
            b.relabel(distances, order, np.bincount(start, minlength=k), second)
            return first, second

    plain = run(relabel_by_counts.py_func, relabel_by_pairs.py_func)
    assert_array_equal(run(relabel_by_counts, relabel_by_pairs), plain)


@pytest.mark.parametrize("function", [cheapest, cheapest.py_func])
def test_ties_keep_the_current_cluster_else_the_lowest(function):
    cost = np.array([2.0, 1.0 + 1e-14, 1.0, 3.0])
    assert [function(cost, current) for current in range(4)] == [1, 1, 2, 1]


def test_a_common_weight_is_a_factor():
    X, _, pairs = blobs(spread=3.0)
    heavy = Constraints(
        pairs.must_link,
        pairs.cannot_link,
        np.full(pairs.n_must_link, 4.0),
        np.full(pairs.n_cannot_link, 4.0),
    )
    first = PCKMeans(3, random_state=0).fit(X, constraints=heavy)
    second = PCKMeans(3, weight=4.0, random_state=0).fit(X, constraints=pairs)
    assert_array_equal(first.labels_, second.labels_)
    assert_allclose(first.objective_, second.objective_)


def test_dear_pairs_hold():
    X, _, pairs = blobs(spread=3.0)
    model = PCKMeans(3, weight=1e4, random_state=0).fit(X, constraints=pairs)
    cheap = PCKMeans(3, weight=1e-4, random_state=0).fit(X, constraints=pairs)
    assert model.n_violated_ < cheap.n_violated_


def test_large_closures_are_not_listed(monkeypatch):
    # All labelled: 4000 rows of 4 classes entail 8 million pairs.
    def listed(self):
        raise AssertionError("pairs were listed")

    monkeypatch.setattr("linkwise.constraints.Closure.must_link_pairs", listed)
    monkeypatch.setattr("linkwise.constraints.Closure.cannot_link_pairs", listed)
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=4000)
    X = rng.normal(size=(4000, 3)) + 0.5 * y[:, None]
    model = PCKMeans(4, random_state=0).fit(X, y)
    price = inertia(X, model.labels_) / 2 + model.n_violated_
    assert_allclose(model.objective_, price)


def test_the_order_of_rows_does_not_matter_on_separated_data():
    X, y, pairs = blobs(sizes=(16, 20, 24))
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    moved = Constraints(place[pairs.must_link], place[pairs.cannot_link])
    first = PCKMeans(3, n_init=1, random_state=0).fit_predict(X, constraints=pairs)
    second = PCKMeans(3, n_init=1, random_state=0).fit_predict(
        X[order], constraints=moved
    )
    together = np.equal.outer(first[order], first[order])
    assert_array_equal(np.equal.outer(second, second), together)


def test_fewer_components_than_clusters_break_must_links():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    with pytest.warns(ConstraintWarning, match="only 2 groups of rows"):
        model = PCKMeans(3, random_state=0).fit(X, constraints=([(0, 1), (2, 3)], []))
    assert len(np.unique(model.labels_)) == 3 and model.n_violated_ == 1


def test_small_problems_end_near_the_best_of_all_partitions():
    # ICM is a local search: never below the optimum, and mostly on it.
    n_best = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, pairs, k = random_problem(rng, n_max=6)
        must, cannot = weighted_pairs(pairs, len(X))
        best = min(
            inertia(X, labels) / 2
            + sum(w for (i, j), w in must if labels[i] != labels[j])
            + sum(w for (i, j), w in cannot if labels[i] == labels[j])
            for labels in map(np.array, itertools.product(range(k), repeat=len(X)))
            if len(np.unique(labels)) == k
        )
        found = PCKMeans(k, random_state=0).fit(X, constraints=pairs).objective_
        assert found >= best - 1e-9
        n_best += found <= best + 1e-9
    assert n_best >= 4
