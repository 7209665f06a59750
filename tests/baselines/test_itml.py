"""ITML finds the metric of Davis et al. (2007), and what its pairs ask for."""

import json
import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.compiled import watch_compiled

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import _itml, _jit_projections
from linkwise.baselines._itml import ITML
from linkwise.baselines._jit_projections import project_in_turn
from linkwise.baselines._metric_learner import entailed_pairs, span_of
from linkwise.exceptions import InconsistentConstraintsError

GOLDEN = json.loads(Path(__file__).with_name("metric_learn_golden.json").read_text())
seeds = st.integers(0, 2**32 - 1)


def draw_problem(seed, n=12, d=3, n_pairs=10):
    """Return data in three groups and pairs between its rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, d) + rng.normal(size=(3, d))[y]
    return X, Constraints.sample(y, n_pairs, random_state=rng)


def plain_itml(X, pairs, bounds, gamma, n_sweeps):
    """Return the metric by the formulas, pair by pair, and the multipliers."""
    closure = pairs.closure(len(X))
    must, cannot = closure.must_link_pairs(), closure.cannot_link_pairs()
    listed = [(1.0, *p) for p in must.pairs.tolist()]
    listed += [(-1.0, *p) for p in cannot.pairs.tolist()]
    prices = gamma * np.concatenate([must.weights, cannot.weights])
    metric = np.eye(X.shape[1])
    xi = np.array([bounds[0] if sign > 0 else bounds[1] for sign, _, _ in listed])
    dual = np.zeros(len(listed))
    for _ in range(n_sweeps):
        for c, (sign, i, j) in enumerate(listed):
            v = X[i] - X[j]
            p = v @ metric @ v
            if p == 0:
                continue
            price = prices[c]
            alpha = min(dual[c], sign * price / (price + 1) * (1 / p - 1 / xi[c]))
            dual[c] -= alpha
            beta = sign * alpha / (1 - sign * alpha * p)
            xi[c] = price * xi[c] / (price + sign * alpha * xi[c])
            metric = metric + beta * np.outer(metric @ v, metric @ v)
    return metric, dual, listed


@pytest.fixture
def few_sweeps():
    """Sweeps are counted on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ITML(max_iter=50), ITML(bounds="unsquared", max_iter=5)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


# Formulas --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "v", "bounds", "bound", "dual", "metric"),
    [
        (1.0, (2.0, 0.0), (1.0, 9.0), 1.6, 0.375, [[0.4, 0.0], [0.0, 1.0]]),
        (-1.0, (1.0, 0.0), (0.5, 4.0), 1.6, 0.375, [[1.6, 0.0], [0.0, 1.0]]),
    ],
)
def test_one_pair_gives_the_values_of_the_example(kind, v, bounds, bound, dual, metric):
    A, xi, multiplier = np.eye(2), np.array([bounds[kind < 0]]), np.zeros(1)
    project_in_turn(
        np.array([v]), np.array([kind]), np.ones(1), A, xi, multiplier, np.empty(2)
    )
    assert_allclose(A, metric, atol=1e-6)
    assert_allclose(xi, [bound], atol=1e-6)
    assert_allclose(multiplier, [dual], atol=1e-6)
    pair = ([(0, 1)], []) if kind > 0 else ([], [(0, 1)])
    model = ITML(bounds=bounds).fit([[0.0, 0.0], v], constraints=pair)
    assert_allclose(model.metric_, metric, atol=1e-6)
    assert_allclose(model.components_, np.sqrt(metric), atol=1e-6)
    assert model.converged_
    assert_array_equal(model.bounds_, bounds)


@given(seeds, st.sampled_from([1.0, -1.0]), st.floats(0.01, 100.0))
@settings(deadline=None, max_examples=50)
def test_an_unclipped_projection_puts_the_pair_on_its_bound(seed, sign, gamma):
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 5)
    root = rng.normal(size=(d, d))
    A, v = root @ root.T + np.eye(d), rng.normal(size=(1, d))
    inverse = np.linalg.inv(A)
    p = float(v[0] @ A @ v[0])
    xi = np.array([p / rng.uniform(1.1, 9.0) if sign > 0 else p * rng.uniform(1.1, 9)])
    start, dual = xi.copy(), np.zeros(1)
    project_in_turn(
        v, np.array([sign]), np.array([gamma]), A, xi, dual, np.empty(int(d))
    )
    assert_allclose(v[0] @ A @ v[0], xi[0], rtol=1e-8)
    assert dual[0] > 0
    # The multiplier ties the metric and the slack together.
    assert_allclose(np.linalg.inv(A), inverse + sign * dual * v.T @ v, atol=1e-6)
    assert_allclose(1 / xi, 1 / start - sign * dual / gamma, rtol=1e-8)


def test_a_pair_that_keeps_its_bound_moves_nothing():
    X = [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 9.0]]
    model = ITML(bounds=(2.0, 4.0)).fit(X, constraints=([(0, 1)], [(2, 3)]))
    assert_array_equal(model.metric_, np.eye(2))
    assert model.objective_ == 0.0
    assert model.n_iter_ == 1


@given(seeds, st.sampled_from([0.2, 1.0, 4.0]), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_sweeps_follow_the_formulas(seed, gamma, n_sweeps):
    X, pairs = draw_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ITML(gamma=gamma, max_iter=n_sweeps, tol=0.0).fit(X, constraints=pairs)
    metric, _, _ = plain_itml(X, pairs, model.bounds_, gamma, model.n_iter_)
    assert_allclose(model.metric_, metric, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 5.0])
def test_the_limit_is_the_optimum_of_the_convex_problem(gamma):
    X, pairs = draw_problem(seed=5, n=10, d=2, n_pairs=6)
    model = ITML(gamma=gamma, tol=1e-13, max_iter=100_000).fit(X, constraints=pairs)
    _, dual, listed = plain_itml(X, pairs, model.bounds_, gamma, model.n_iter_)
    inverse = np.eye(2)
    for multiplier, (sign, i, j) in zip(dual, listed, strict=True):
        v = X[i] - X[j]
        inverse += sign * multiplier * np.outer(v, v)
        start = model.bounds_[0] if sign > 0 else model.bounds_[1]
        xi = 1 / (1 / start - sign * multiplier / gamma)
        gap = sign * (xi - v @ model.metric_ @ v)
        assert multiplier >= 0
        assert gap >= -1e-6 * xi
        assert abs(multiplier * gap) <= 1e-6
    assert_allclose(model.metric_, np.linalg.inv(inverse), rtol=1e-6)


def test_no_nearby_metric_is_better_than_the_limit():
    X, pairs = draw_problem(seed=7)
    model = ITML(tol=1e-12, max_iter=100_000).fit(X, constraints=pairs)
    closure = pairs.closure(len(X))

    def objective(A):
        value = np.trace(A) - np.linalg.slogdet(A)[1] - len(A)
        for kind, sign, bound in (
            (closure.must_link_pairs(), 1, model.bounds_[0]),
            (closure.cannot_link_pairs(), -1, model.bounds_[1]),
        ):
            v = X[kind.pairs[:, 0]] - X[kind.pairs[:, 1]]
            ratio = np.einsum("ij,jk,ik->i", v, A, v) / bound
            broken = sign * (ratio - 1) > 0
            value += (ratio - np.log(ratio) - 1)[broken].sum()
        return value

    best = objective(model.metric_)
    assert_allclose(model.objective_, best, rtol=1e-9)
    rng = np.random.default_rng(0)
    for size in (0.001, 0.01, 0.1):
        for _ in range(20):
            change = size * rng.normal(size=(3, 3))
            turn = np.eye(3) + change
            assert objective(turn @ model.metric_ @ turn.T) > best


@given(seeds)
@settings(deadline=None, max_examples=25)
def test_the_metric_is_positive_definite_and_its_root_symmetric(seed):
    X, pairs = draw_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ITML().fit(X, constraints=pairs)
    assert_array_equal(model.metric_, model.metric_.T)
    assert np.linalg.eigvalsh(model.metric_).min() > 0
    assert_allclose(model.components_, model.components_.T, atol=1e-12)
    L = model.components_
    assert_allclose(L.T @ L, model.metric_, atol=1e-9 * np.abs(model.metric_).max())
    assert_allclose(model.transform(X), X @ L.T)


def test_without_slack_pairs_that_agree_are_met():
    X = [[0.0, 0.0], [2.0, 1.0], [5.0, 0.0], [5.0, 1.0]]
    model = ITML(bounds=(1.0, 4.0), gamma=np.inf, tol=1e-9)
    model.fit(X, constraints=([(0, 1)], [(2, 3)]))
    must, cannot = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    assert_allclose(must @ model.metric_ @ must, 1.0, rtol=1e-6)
    assert_allclose(cannot @ model.metric_ @ cannot, 4.0, rtol=1e-6)


@pytest.mark.parametrize("name", GOLDEN["problems"])
def test_the_sequence_of_projections_is_that_of_metric_learn(name, few_sweeps):
    problem = GOLDEN["problems"][name]
    X, pairs = np.array(problem["X"]), (problem["must_link"], problem["cannot_link"])
    compared = 0
    for key, answer in problem["answers"].items():
        if not key.startswith("itml"):
            continue
        model = ITML(
            bounds="unsquared", gamma=answer["gamma"], max_iter=answer["max_iter"]
        ).fit(X, constraints=pairs)
        assert_allclose(model.bounds_, answer["bounds"], rtol=1e-6)
        scale = np.abs(answer["metric"]).max()
        assert_allclose(model.metric_, answer["metric"], atol=1e-6 * scale)
        assert model.n_iter_ == answer["n_iter"]
        compared += 1
    assert compared == 6


def fit_in_all_ways(monkeypatch):
    """Fit narrow and wide data, both ways."""
    with monkeypatch.context() as patch:
        for wide, swept in (
            (100, _itml._swept),
            (0, _itml._swept),
            (100, collapsed),
            (0, collapsed),
        ):
            patch.setattr(_itml, "_WIDE", wide)
            patch.setattr(_itml, "_swept", swept)
            for seed in range(2):
                X, pairs = draw_problem(seed)
                ITML(max_iter=10).fit(X, constraints=pairs)


def test_every_compiled_loop_equals_its_source(monkeypatch, few_sweeps):
    fit_in_all_ways(monkeypatch)  # compiled now, they know each other
    compiled, called = watch_compiled(monkeypatch, _jit_projections)
    fit_in_all_ways(monkeypatch)
    assert compiled <= called


# Blocks ------------------------------------------------------------------------


def draw_weighted(seed, n, d, n_pairs):
    """Return data and pairs that weigh differently."""
    X, pairs = draw_problem(seed, n, d, n_pairs)
    rng = np.random.default_rng(seed)
    return X, Constraints(
        pairs.must_link,
        pairs.cannot_link,
        rng.uniform(0.2, 5.0, pairs.n_must_link),
        rng.uniform(0.2, 5.0, pairs.n_cannot_link),
    )


@pytest.mark.parametrize("by_root", [False, True])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
@pytest.mark.parametrize(("seed", "gamma"), [(0, 1.0), (1, 0.2), (2, 20.0)])
def test_sweeps_over_wide_data_follow_the_formulas(
    seed, gamma, block, by_root, monkeypatch, few_sweeps
):
    X, pairs = draw_weighted(seed, n=90, d=60, n_pairs=150)
    assert X.shape[1] >= _itml._WIDE
    monkeypatch.setattr(_itml, "_BLOCK", block)
    if by_root:
        monkeypatch.setattr(_itml, "_swept", collapsed)
    else:
        monkeypatch.delattr(_itml, "_swept_by_root")
    model = ITML(gamma=gamma, max_iter=4, tol=0.0).fit(X, constraints=pairs)
    metric, dual, listed = plain_itml(X, pairs, model.bounds_, gamma, 4)
    assert len(listed) % 7 and len(listed) > 64
    assert 0 < (dual > 0).sum() < len(dual)
    scale = np.abs(metric).max()
    assert_allclose(model.metric_, metric, rtol=1e-7, atol=1e-10 * scale)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_change_nothing_but_rounding(seed, monkeypatch, few_sweeps):
    X, pairs = draw_problem(seed, n=80, d=60, n_pairs=120)
    model = ITML(max_iter=200).fit(X, constraints=pairs)
    monkeypatch.setattr(_itml, "_WIDE", 61)
    expected = ITML(max_iter=200).fit(X, constraints=pairs)
    assert model.n_iter_ == expected.n_iter_
    assert model.objective_ == pytest.approx(expected.objective_)
    scale = np.abs(expected.metric_).max()
    assert_allclose(model.metric_, expected.metric_, rtol=1e-6, atol=1e-9 * scale)
    assert_array_equal(model.metric_, model.metric_.T)
    assert np.linalg.eigvalsh(model.metric_).min() > 0


# Collapse ----------------------------------------------------------------------


def collapsed(*args):
    """Stand in for sweeps whose metric collapses."""
    return None, 0, False


@pytest.mark.parametrize("wide", [0, 100])
@pytest.mark.parametrize("seed", range(5))
def test_sweeps_over_a_root_give_the_same_metric(seed, wide, monkeypatch, few_sweeps):
    X, pairs = draw_problem(seed)
    monkeypatch.setattr(_itml, "_WIDE", wide)
    plain = ITML().fit(X, constraints=pairs)
    monkeypatch.setattr(_itml, "_swept", collapsed)
    by_root = ITML().fit(X, constraints=pairs)
    assert by_root.n_iter_ == plain.n_iter_
    assert_allclose(by_root.metric_, plain.metric_, rtol=1e-8, atol=1e-10)
    assert by_root.objective_ == pytest.approx(plain.objective_)


@pytest.mark.parametrize("block", [2, 64])
def test_a_collapse_in_a_block_is_left_to_the_root(block, monkeypatch, few_sweeps):
    # The first pair takes the direction away in which the second one differs.
    X = np.zeros((6, 3))
    X[1, 0], X[2, 1], X[3, 0], X[5, 2] = 1e7, 2.0, 1e7, 1.0
    X[4] = (1e7, 1e-3, 0.0)
    pairs = Constraints([(0, 1), (0, 2), (0, 4)], [(2, 5)])
    fits = {}
    for wide in (0, 100):
        monkeypatch.setattr(_itml, "_WIDE", wide)
        monkeypatch.setattr(_itml, "_BLOCK", block)
        model = ITML(bounds=(1e-4, 1.0), gamma=1e6, max_iter=3)
        problem = []

        def watched(*args, swept=_itml._swept, problem=problem):
            answer = swept(*args)
            problem.append(answer[0] is None)
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(_itml, "_swept", watched)
            fits[wide] = model.fit(X, constraints=pairs)
        assert problem == [True]
    assert fits[0].n_iter_ == fits[100].n_iter_
    assert_allclose(fits[0].metric_, fits[100].metric_, rtol=1e-6, atol=1e-12)
    assert fits[0].objective_ == pytest.approx(fits[100].objective_)


# Fewer rows than columns -------------------------------------------------------


@pytest.mark.parametrize("d", [15, 70])
@pytest.mark.parametrize("by_root", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_span_of_the_pairs_is_enough(seed, by_root, d, monkeypatch, few_sweeps):
    X, pairs = draw_problem(seed, n=12, d=d, n_pairs=14)
    if by_root:
        monkeypatch.setattr(_itml, "_swept", collapsed)
    model = ITML(max_iter=30).fit(X, constraints=pairs)
    sparse = ITML(max_iter=30).fit(csr_array(X), constraints=pairs)
    monkeypatch.setattr(_itml, "span_of", lambda X, pairs: None)
    expected = ITML(max_iter=30).fit(X, constraints=pairs)
    assert_array_equal(model.bounds_, expected.bounds_)
    scale = np.abs(expected.metric_).max()
    for fitted in (model, sparse):
        assert fitted.n_iter_ == expected.n_iter_
        assert fitted.objective_ == pytest.approx(expected.objective_)
        assert_allclose(fitted.metric_, expected.metric_, atol=1e-9 * scale)
        assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-8 * scale)
    assert_array_equal(model.metric_, model.metric_.T)
    assert np.linalg.eigvalsh(model.metric_).min() > 0


def test_a_span_may_hold_equal_and_dependent_rows(monkeypatch, few_sweeps):
    X, _ = draw_problem(seed=0, n=6, d=9)
    X[1], X[2], X[4] = X[0], 2 * X[3] - X[0], 0.0
    pairs = Constraints([(0, 1), (0, 2), (3, 2)], [(0, 4), (2, 5)])
    model = ITML(bounds=(0.5, 30.0), max_iter=20).fit(X, constraints=pairs)
    monkeypatch.setattr(_itml, "span_of", lambda X, pairs: None)
    expected = ITML(bounds=(0.5, 30.0), max_iter=20).fit(X, constraints=pairs)
    assert_allclose(model.metric_, expected.metric_, atol=1e-9)
    assert model.n_iter_ == expected.n_iter_


def test_a_span_is_taken_of_fewer_differences_than_columns_only():
    X, pairs = draw_problem(seed=0, n=9, d=8, n_pairs=20)
    listed = entailed_pairs(pairs.closure(9), pairs, None, np.random.default_rng(0))
    assert len(np.unique(np.vstack([listed.must_link, listed.cannot_link]))) == 9
    assert span_of(X, listed) is None
    wider = np.column_stack([X, X[:, 0] ** 2])
    basis = span_of(wider, listed)
    assert_allclose(basis.T @ basis, np.eye(8), atol=1e-12)
    rows = wider - wider[0]
    assert_allclose(rows @ basis @ basis.T, rows, atol=1e-12 * np.abs(rows).max())


# Bounds ----------------------------------------------------------------------


def test_bounds_are_percentiles_between_the_rows_in_pairs(few_sweeps):
    X, pairs = draw_problem(seed=1, n=40, n_pairs=60)
    rows = X[pairs.points]
    squared = ITML().fit(X, constraints=pairs)
    assert_allclose(squared.bounds_, np.percentile(pdist(rows) ** 2, [5, 95]))
    plain = ITML(bounds="unsquared").fit(X, constraints=pairs)
    table = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
    assert_allclose(plain.bounds_, np.percentile(table, [5, 95]))


def test_many_rows_give_bounds_from_a_seeded_draw(few_sweeps):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    pairs = Constraints(np.arange(5000).reshape(-1, 2))
    models = [
        ITML(max_iter=2, random_state=seed).fit(X, constraints=pairs)
        for seed in (0, 0, 1)
    ]
    assert_array_equal(models[0].bounds_, models[1].bounds_)
    assert_array_equal(models[0].metric_, models[1].metric_)
    assert not np.array_equal(models[0].bounds_, models[2].bounds_)
    # Half a squared distance has a chi-squared distribution: -4 log(1 - share).
    assert_allclose(models[0].bounds_, -4 * np.log([0.95, 0.05]), rtol=0.1)


@pytest.mark.parametrize(
    "bounds", [(0.0, 1.0), (2.0, 1.0), (1.0,), (1.0, 2.0, 3.0), ("a", "b"), (1, np.inf)]
)
def test_bad_bounds_are_refused(bounds):
    with pytest.raises(ValueError, match="0 < u <= l"):
        ITML(bounds=bounds).fit([[0.0], [1.0]], constraints=([(0, 1)], []))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("bounds", "cubed"),
        ("gamma", 0.0),
        ("tol", -1.0),
        ("max_iter", 0),
        ("max_pairs", 0),
        ("on_conflict", "keep"),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
        ITML(**{parameter: value}).fit([[0.0], [1.0]])


# Pairs -----------------------------------------------------------------------


@pytest.mark.parametrize("constraints", [None, ([], []), Constraints()])
def test_without_pairs_the_metric_is_the_identity(constraints):
    X, _ = draw_problem(seed=0)
    model = ITML().fit(X, constraints=constraints)
    assert_array_equal(model.metric_, np.eye(3))
    assert_array_equal(model.transform(X), X)
    assert model.converged_
    assert np.isnan(model.bounds_).all()


def test_pairs_of_equal_rows_are_left_out(few_sweeps):
    X, pairs = draw_problem(seed=2)
    wider = np.vstack([X, X[:1], X[:1]])
    extra = Constraints([*pairs.must_link, (12, 13)], pairs.cannot_link)
    expected = ITML().fit(X, constraints=pairs)
    model = ITML().fit(wider, constraints=extra)
    assert_array_equal(model.bounds_, expected.bounds_)
    assert_array_equal(model.metric_, expected.metric_)
    alone = ITML().fit(np.ones((3, 2)), constraints=([(0, 1)], [(1, 2)]))
    assert_array_equal(alone.metric_, np.eye(2))


def test_the_way_pairs_are_written_changes_nothing(few_sweeps):
    X, pairs = draw_problem(seed=3)
    expected = ITML().fit(X, constraints=pairs).metric_
    must, cannot = pairs.must_link, pairs.cannot_link
    turned = (
        np.vstack([must[:, ::-1], must])[::-1],
        np.vstack([cannot, cannot[:, ::-1]]),
    )
    assert_array_equal(ITML().fit(X, constraints=turned).metric_, expected)


def test_the_closure_is_used(few_sweeps):
    X, _ = draw_problem(seed=4)
    chain = Constraints([(0, 1), (1, 2)], [(2, 3)])
    listed = Constraints([(0, 1), (0, 2), (1, 2)], [(0, 3), (1, 3), (2, 3)])
    assert_array_equal(
        ITML().fit(X, constraints=chain).metric_,
        ITML().fit(X, constraints=listed).metric_,
    )


def test_the_order_of_rows_does_not_move_the_optimum():
    X, pairs = draw_problem(seed=6)
    model = ITML(tol=1e-11, max_iter=100_000)
    expected = model.fit(X, constraints=pairs).metric_
    order = np.random.default_rng(0).permutation(len(X))
    moved = model.fit(X[order], constraints=pairs.restrict(order)).metric_
    assert_allclose(moved, expected, rtol=1e-6, atol=1e-8)


def test_a_weight_multiplies_gamma():
    X, pairs = draw_problem(seed=8)
    heavy = Constraints(pairs.must_link, pairs.cannot_link, 3.0, 3.0)
    weighted = ITML(max_iter=100_000).fit(X, constraints=heavy)
    dear = ITML(gamma=3.0, max_iter=100_000).fit(X, constraints=pairs)
    assert_allclose(weighted.metric_, dear.metric_)
    assert weighted.n_iter_ == dear.n_iter_


def test_a_heavier_pair_is_met_more_closely():
    X = np.array([[0.0], [3.0], [10.0], [11.0]])
    pairs = np.array([(0, 1)]), np.array([(2, 3)])
    distances = []
    for weight in (0.1, 1.0, 10.0):
        given_pairs = Constraints(*pairs, [weight], [1.0])
        model = ITML(bounds=(1.0, 4.0), max_iter=10_000).fit(X, constraints=given_pairs)
        distances.append(9 * model.metric_[0, 0])
    assert distances[0] > distances[1] > distances[2] > 1.0


def test_labels_are_pairs(few_sweeps):
    X, _ = draw_problem(seed=9)
    y = np.array([0, 0, 1, 1, -1, -1, 2, -1, -1, -1, -1, -1])
    expected = ITML().fit(X, constraints=Constraints.from_labels(y)).metric_
    assert_array_equal(ITML().fit(X, y).metric_, expected)


def test_pairs_may_hold_ids(few_sweeps):
    X, pairs = draw_problem(seed=10)
    ids = [f"row {i}" for i in range(len(X))]
    named = Constraints(
        [(ids[i], ids[j]) for i, j in pairs.must_link],
        [(ids[i], ids[j]) for i, j in pairs.cannot_link] + [("row 0", "elsewhere")],
    )
    model = ITML().fit(X, constraints=named, sample_id=ids)
    assert_array_equal(model.metric_, ITML().fit(X, constraints=pairs).metric_)


def test_contradictions_raise_or_are_dropped(few_sweeps):
    X, _ = draw_problem(seed=11)
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2), (2, 3)])
    with pytest.raises(InconsistentConstraintsError, match="0, 2"):
        ITML().fit(X, constraints=pairs)
    kept = Constraints([(0, 1), (1, 2)], [(2, 3)])
    assert_array_equal(
        ITML(on_conflict="drop").fit(X, constraints=pairs).metric_,
        ITML().fit(X, constraints=kept).metric_,
    )


# Too many pairs --------------------------------------------------------------


def test_a_closure_of_millions_of_pairs_is_drawn_from(few_sweeps):
    n = 6000
    X = np.random.default_rng(0).normal(size=(n, 2))
    pairs = Constraints.from_labels(np.arange(n) % 2)
    model = ITML(max_iter=3, random_state=0)
    pairs.closure(n)
    tracemalloc.start()
    with pytest.warns(ConstraintWarning, match="entail 17997000 pairs; max_pairs=2000"):
        model.fit(X, constraints=pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # the list alone would take 288 MB
    with pytest.warns(ConstraintWarning):
        again = clone(model).fit(X, constraints=pairs)
    assert_array_equal(again.metric_, model.metric_)


@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_pairs_are_entailed_and_stand_for_all(weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    pairs = Constraints.sample(y, 150, random_state=0)
    if weighted:
        pairs = Constraints(
            pairs.must_link,
            pairs.cannot_link,
            rng.uniform(0.5, 2.0, pairs.n_must_link),
            rng.uniform(0.5, 2.0, pairs.n_cannot_link),
        )
    closure = pairs.closure(60)
    drawn = entailed_pairs(closure, pairs, 300, np.random.default_rng(0))
    assert len(drawn.must_link) + len(drawn.cannot_link) == 300
    for rows, weights, everything in (
        (drawn.must_link, drawn.must_link_weight, closure.must_link_pairs()),
        (drawn.cannot_link, drawn.cannot_link_weight, closure.cannot_link_pairs()),
    ):
        known = {
            tuple(pair): weight
            for pair, weight in zip(
                everything.pairs.tolist(), everything.weights, strict=True
            )
        }
        factor = len(known) / len(rows)
        expected = [factor * known[tuple(pair)] for pair in rows.tolist()]
        assert_allclose(weights, expected)
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert factor > 1


def test_a_limit_that_does_not_bite_changes_nothing(few_sweeps):
    X, pairs = draw_problem(seed=12)
    expected = ITML(max_pairs=None).fit(X, constraints=pairs).metric_
    assert_array_equal(ITML().fit(X, constraints=pairs).metric_, expected)
    closure = pairs.closure(len(X))
    limit = closure.n_must_link + closure.n_cannot_link
    model = ITML(max_pairs=limit).fit(X, constraints=pairs)
    assert_array_equal(model.metric_, expected)


# Door ------------------------------------------------------------------------


def test_sparse_rows_and_data_frames_are_taken(few_sweeps):
    X, pairs = draw_problem(seed=13)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = ITML().fit(X, constraints=pairs)
    sparse = ITML().fit(csr_array(X), constraints=pairs)
    assert_allclose(sparse.metric_, expected.metric_)
    assert_allclose(sparse.transform(csr_array(X)), expected.transform(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = ITML().fit(frame, constraints=pairs)
    assert_array_equal(named.metric_, expected.metric_)
    assert named.get_feature_names_out().tolist() == ["itml0", "itml1", "itml2"]
    shown = named.set_output(transform="pandas").transform(frame)
    assert shown.columns.tolist() == ["itml0", "itml1", "itml2"]


def test_single_precision_gives_nearly_the_same_metric(few_sweeps):
    X, pairs = draw_problem(seed=14)
    expected = ITML().fit(X, constraints=pairs).metric_
    model = ITML().fit(X.astype(np.float32), constraints=pairs)
    assert_allclose(model.metric_, expected, rtol=1e-3, atol=1e-4)


def test_a_pickled_metric_transforms_alike(few_sweeps):
    X, pairs = draw_problem(seed=15)
    model = ITML().fit(X, constraints=pairs)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))


def test_transform_needs_fit():
    with pytest.raises(NotFittedError):
        ITML().transform([[0.0]])


def test_a_metric_that_still_moves_is_said():
    X, pairs = draw_problem(seed=16)
    with pytest.warns(ConvergenceWarning, match="max_iter=1; raise") as caught:
        model = ITML(max_iter=1).fit(X, constraints=pairs)
    assert not model.converged_
    assert caught[0].filename == __file__


def test_fit_leaves_its_input_and_parameters_alone(few_sweeps):
    X, pairs = draw_problem(seed=17)
    X.flags.writeable = False
    bounds = np.array([1.0, 4.0])
    model = ITML(bounds=bounds)
    first = model.fit(X, constraints=pairs).metric_
    assert model.bounds is bounds
    assert_array_equal(bounds, [1.0, 4.0])
    assert_array_equal(model.fit(X, constraints=pairs).metric_, first)
