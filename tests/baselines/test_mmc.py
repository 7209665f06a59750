"""MMC spreads cannot-linked rows as far as must-linked ones allow."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import _mmc
from linkwise.baselines._mmc import MMC
from linkwise.baselines._psd_projections import alternate, nearest_metric_within
from linkwise.exceptions import InconsistentConstraintsError

GOLDEN = json.loads(Path(__file__).with_name("metric_learn_golden.json").read_text())
seeds = st.integers(0, 2**32 - 1)

pytestmark = pytest.mark.filterwarnings(
    "ignore:The metric of MMC still moved:sklearn.exceptions.ConvergenceWarning"
)


def draw_problem(seed, n=20, d=3, n_pairs=40, n_classes=3):
    """Return data in groups and pairs of both kinds between its rows."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    centres = rng.normal(size=(n_classes, d))
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, d) + centres[y]
    return X, Constraints.sample(y, n_pairs, random_state=rng)


def differences(X, pairs):
    closure = pairs.closure(len(X))
    must, cannot = closure.must_link_pairs(), closure.cannot_link_pairs()
    return (
        X[must.pairs[:, 0]] - X[must.pairs[:, 1]],
        X[cannot.pairs[:, 0]] - X[cannot.pairs[:, 1]],
        must.weights,
        cannot.weights,
    )


def spread(A, cannot, weight=1.0):
    return np.log((weight * np.sqrt(np.einsum("ij,jk,ik->i", cannot, A, cannot))).sum())


@parametrize_with_checks([MMC(max_iter=10), MMC(diagonal=True)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


# Diagonal metric -------------------------------------------------------------


def test_one_column_gives_the_values_of_the_example():
    X = [[0.0], [1.0], [5.0], [7.0]]
    model = MMC(diagonal=True).fit(X, constraints=([(0, 1)], [(2, 3)]))
    assert_allclose(model.metric_, [[0.5]], atol=1e-6)
    assert_allclose(model.objective_, 0.153426, atol=1e-6)


def test_two_columns_give_the_values_of_the_example():
    X = [[0.0, 0.0], [1.0, 2.0], [5.0, 5.0], [7.0, 6.0]]
    model = MMC(diagonal=True).fit(X, constraints=([(0, 1)], [(2, 3)]))
    assert_allclose(model.metric_, [[0.5, 0.0], [0.0, 0.0]], atol=1e-6)
    assert_allclose(model.objective_, 0.153426, atol=1e-6)
    assert_allclose(model.components_, np.sqrt(model.metric_))


@given(seeds, st.sampled_from([0.1, 1.0, 7.0]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_diagonal_weights_are_optimal(seed, c, weighted):
    X, pairs = draw_problem(seed)
    if weighted:
        rng = np.random.default_rng(seed)
        pairs = Constraints(
            pairs.must_link,
            pairs.cannot_link,
            rng.uniform(0.5, 2.0, pairs.n_must_link),
            rng.uniform(0.5, 2.0, pairs.n_cannot_link),
        )
    must, cannot, must_weight, cannot_weight = differences(X, pairs)
    if len(must) == 0 or len(cannot) == 0:
        return
    model = MMC(diagonal=True, c=c).fit(X, constraints=pairs)
    w = np.diagonal(model.metric_)
    assert_array_equal(model.metric_, np.diag(w))
    assert model.converged_
    assert w.min() >= 0
    scatter = must_weight @ must**2
    assert_allclose(scatter @ w, c / 2)
    distance = np.sqrt(cannot**2 @ w)
    total = cannot_weight @ distance
    slope = scatter - c * (cannot_weight / (2 * distance)) @ cannot**2 / total
    # In the unit of each column: no way down where w > 0, none into w < 0.
    slope = slope / scatter
    assert slope.min() > -1e-5
    assert np.abs(slope * w * scatter).max() < 1e-5 * c
    assert_allclose(model.objective_, scatter @ w - c * np.log(total), atol=1e-9)


def test_c_sets_the_scale_and_nothing_else():
    X, pairs = draw_problem(seed=0)
    one = MMC(diagonal=True).fit(X, constraints=pairs).metric_
    five = MMC(diagonal=True, c=5.0).fit(X, constraints=pairs).metric_
    assert_allclose(five, 5 * one, atol=1e-12)


def test_diagonal_weights_follow_the_units_of_columns():
    X, pairs = draw_problem(seed=1)
    unit = np.array([1e-3, 1.0, 1e4])
    expected = MMC(diagonal=True).fit(X, constraints=pairs)
    moved = MMC(diagonal=True).fit(X * unit, constraints=pairs)
    w = np.diagonal(expected.metric_)
    assert_allclose(np.diagonal(moved.metric_) * unit**2, w, atol=1e-6 * w.max())


def test_a_column_without_must_link_scatter_gets_a_large_finite_weight():
    X = [[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [7.0, 6.0]]
    model = MMC(diagonal=True).fit(X, constraints=([(0, 1)], [(2, 3)]))
    w = np.diagonal(model.metric_)
    assert np.isfinite(w).all()
    assert w[1] > 1e6 * w[0]


def test_a_constant_column_gets_no_weight():
    X, pairs = draw_problem(seed=2)
    expected = MMC(diagonal=True).fit(X, constraints=pairs).metric_
    wider = np.column_stack([X, np.full(len(X), 3.0)])
    model = MMC(diagonal=True).fit(wider, constraints=pairs)
    assert_allclose(model.metric_[:3, :3], expected, atol=1e-6 * expected.max())
    assert model.metric_[3, 3] == 0.0


# Full metric -----------------------------------------------------------------


@given(seeds)
@settings(deadline=None, max_examples=20)
def test_the_full_metric_is_feasible(seed):
    X, pairs = draw_problem(seed)
    must, cannot, _, _ = differences(X, pairs)
    if len(must) == 0 or len(cannot) == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MMC().fit(X, constraints=pairs)
    assert_array_equal(model.metric_, model.metric_.T)
    values = np.linalg.eigvalsh(model.metric_)
    assert values.min() >= -1e-12 * values.max()
    limit = (must**2).sum() / 100
    assert np.einsum("ij,jk,ik->", must, model.metric_, must) <= 1.01 * limit
    assert_allclose(model.objective_, spread(model.metric_, cannot))
    L = model.components_
    assert_allclose(L.T @ L, model.metric_, atol=1e-9 * values.max())


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_metric_is_much_better(seed):
    X, pairs = draw_problem(seed, d=2)
    must, cannot, _, _ = differences(X, pairs)
    model = MMC(t=1.0).fit(X, constraints=pairs)
    rng = np.random.default_rng(0)
    others = []
    for _ in range(2000):
        root = rng.normal(size=(2, 2)) * rng.uniform(0.0, 1.0, 2) ** 3
        A = root @ root.T
        others.append(spread(A / np.einsum("ij,jk,ik->", must, A, must), cannot))
    assert model.objective_ > max(others) - 0.01


def test_more_rounds_never_end_lower():
    X, pairs = draw_problem(seed=3)
    values = [
        MMC(max_iter=n, tol=0.0).fit(X, constraints=pairs).objective_
        for n in (1, 2, 3, 5, 8, 13, 21, 34, 55)
    ]
    assert np.diff(values).min() >= 0
    assert values[-1] > values[0]


def test_the_full_metric_does_not_depend_on_the_unit_of_the_data():
    X, pairs = draw_problem(seed=4)
    expected = MMC().fit(X, constraints=pairs).metric_
    for unit in (1e-5, 1e5):
        moved = MMC().fit(X * unit, constraints=pairs).metric_
        assert_allclose(moved, expected, rtol=1e-6, atol=1e-10)


def draw_projection(seed):
    """Return a symmetric matrix, a scatter matrix and a limit that it breaks."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    A, v = rng.normal(size=(d, d)), rng.normal(size=(rng.integers(1, 6), d))
    v *= rng.uniform(0.05, 3.0, d)
    return A + A.T + np.eye(d), v.T @ v, rng.uniform(0.01, 2.0), rng


@given(seeds)
@settings(deadline=None, max_examples=60)
def test_the_exact_projection_is_the_nearest_metric(seed):
    A, scatter, limit, rng = draw_projection(seed)
    metric = nearest_metric_within(A, scatter, limit)
    assert np.vdot(scatter, metric) < (1 + 1e-5) * limit
    assert np.linalg.eigvalsh(metric).min() > -1e-12 * (1 + np.abs(A).max())
    # From the nearest point of a convex set the way to the others leads backwards.
    for _ in range(30):
        root = rng.normal(size=A.shape) * rng.uniform(0.0, 2.0)
        other = root @ root.T
        other *= min(1.0, limit / np.vdot(scatter, other)) * rng.uniform(0.2, 1.0)
        assert np.vdot(A - metric, other - metric) < 1e-4 * (1 + np.vdot(A, A))


@given(seeds)
@settings(deadline=None, max_examples=20)
def test_alternating_projections_end_in_both_sets(seed):
    A, scatter, limit, _ = draw_projection(seed)
    metric, fits = alternate(A, scatter, limit, 2000)
    assert np.linalg.eigvalsh(metric).min() > -1e-12 * (1 + np.abs(A).max())
    assert fits == (np.vdot(scatter, metric) < 1.01 * limit)


def test_a_metric_in_both_sets_is_its_own_projection():
    inside, scatter = np.diag([0.5, 0.1]), np.diag([1.0, 2.0])
    assert_allclose(nearest_metric_within(inside, scatter, 1.0), inside)
    metric, fits = alternate(inside, scatter, 1.0, 1)
    assert fits
    assert_allclose(metric, inside)


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_of_projecting_end_at_about_the_same_objective(seed):
    X, pairs = draw_problem(seed, d=2)
    exact = MMC().fit(X, constraints=pairs)
    alternating = MMC(projection="alternating", max_projections=2000)
    alternating.fit(X, constraints=pairs)
    # 1% of excess is worth this much.
    gain = np.log(1.01) / 2
    assert_allclose(exact.objective_, alternating.objective_, atol=gain + 0.01)


def test_too_few_projections_are_made_up_for_by_scale():
    X, pairs = draw_problem(seed=5, n_pairs=12)
    must, _, _, _ = differences(X, pairs)
    model = MMC(projection="alternating", max_projections=1)
    model.fit(X, constraints=pairs)
    used = np.einsum("ij,jk,ik->", must, model.metric_, must)
    assert used <= 1.01 * (must**2).sum() / 100
    assert np.isfinite(model.metric_).all()


def test_one_column_is_scaled_to_the_limit():
    X = [[0.0], [1.0], [5.0], [7.0]]
    model = MMC().fit(X, constraints=([(0, 1)], [(2, 3)]))
    assert_allclose(model.metric_, [[0.01]])
    assert model.converged_


@pytest.mark.parametrize("name", GOLDEN["problems"])
def test_the_full_metric_is_that_of_metric_learn(name):
    problem = GOLDEN["problems"][name]
    X, pairs = np.array(problem["X"]), (problem["must_link"], problem["cannot_link"])
    for max_iter in (1, 5, 100):
        answer = problem["answers"][f"mmc max_iter={max_iter}"]
        model = MMC(projection="alternating", max_iter=max_iter)
        model.fit(X, constraints=pairs)
        scale = np.abs(answer["metric"]).max()
        assert_allclose(model.metric_, answer["metric"], atol=1e-6 * scale)
        assert model.n_iter_ == answer["n_iter"]
        assert model.converged_ == answer["converged"]


@pytest.mark.parametrize("name", GOLDEN["problems"])
def test_the_diagonal_metric_is_no_worse_than_that_of_metric_learn(name):
    problem = GOLDEN["problems"][name]
    X, pairs = np.array(problem["X"]), (problem["must_link"], problem["cannot_link"])
    model = MMC(diagonal=True).fit(X, constraints=pairs)
    for key in ("as released", "sign mended"):
        answer = problem["answers"][f"mmc diagonal, {key}"]
        if "error" not in answer:
            assert model.objective_ <= answer["objective"] + 1e-9
    if name == "few rows":
        # The one problem whose optimum metric-learn reaches, up to its stopping rule.
        assert_allclose(model.objective_, answer["objective"], atol=1e-6)
        w = np.diagonal(model.metric_)
        assert_allclose(w, answer["w"], atol=1e-4 * w.max())


# Fewer rows than columns -----------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"t": 0.3, "tol": 0.02},
        {"projection": "alternating", "max_projections": 300, "max_iter": 5},
        {"projection": "alternating", "max_projections": 1, "tol": 0.02},
    ],
)
def test_the_span_of_the_pairs_is_enough(seed, options, monkeypatch):
    X, pairs = draw_problem(seed, n=10, d=25, n_pairs=12)
    model = MMC(**options).fit(X, constraints=pairs)
    sparse = MMC(**options).fit(csr_array(X), constraints=pairs)
    monkeypatch.setattr(_mmc, "span_of", lambda X, pairs: None)
    expected = MMC(**options).fit(X, constraints=pairs)
    assert expected.n_iter_ > 0
    scale = np.abs(expected.metric_).max()
    for fitted in (model, sparse):
        assert fitted.n_iter_ == expected.n_iter_
        assert fitted.converged_ == expected.converged_
        assert fitted.objective_ == pytest.approx(expected.objective_)
        assert_allclose(fitted.metric_, expected.metric_, atol=1e-6 * scale)
    assert_array_equal(model.metric_, model.metric_.T)
    assert np.linalg.eigvalsh(model.metric_).min() > -1e-9 * scale


def test_the_diagonal_metric_needs_all_columns(monkeypatch):
    X, pairs = draw_problem(seed=0, n=10, d=25, n_pairs=12)
    model = MMC(diagonal=True).fit(X, constraints=pairs)
    monkeypatch.setattr(_mmc, "span_of", lambda X, pairs: None)
    expected = MMC(diagonal=True).fit(X, constraints=pairs)
    assert_array_equal(model.metric_, expected.metric_)
    assert not np.any(model.metric_ - np.diag(np.diagonal(model.metric_)))


# Pairs -----------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(
    "pairs", [None, ([(0, 1)], []), ([], [(0, 1)]), ([(3, 4)], [(0, 1)])]
)
def test_without_one_kind_of_pairs_the_metric_is_the_identity(diagonal, pairs):
    X = np.array([[0.0, 1.0], [1.0, 5.0], [2.0, 0.0], [7.0, 7.0], [7.0, 7.0]])
    model = MMC(diagonal=diagonal).fit(X, constraints=pairs)
    assert_array_equal(model.metric_, np.eye(2))
    assert_array_equal(model.transform(X), X)
    assert model.converged_
    assert np.isnan(model.objective_)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_way_pairs_are_written_changes_nothing(diagonal):
    X, pairs = draw_problem(seed=6)
    expected = MMC(diagonal=diagonal).fit(X, constraints=pairs).metric_
    turned = (np.tile(pairs.must_link[:, ::-1], (2, 1)), pairs.cannot_link[::-1, ::-1])
    model = MMC(diagonal=diagonal).fit(X, constraints=turned)
    assert_array_equal(model.metric_, expected)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_order_of_rows_changes_nothing(diagonal):
    X, pairs = draw_problem(seed=7)
    expected = MMC(diagonal=diagonal).fit(X, constraints=pairs).metric_
    order = np.random.default_rng(0).permutation(len(X))
    model = MMC(diagonal=diagonal).fit(X[order], constraints=pairs.restrict(order))
    assert_allclose(model.metric_, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_common_weight_changes_nothing_but_the_scale(diagonal):
    X, pairs = draw_problem(seed=8)
    heavy = Constraints(pairs.must_link, pairs.cannot_link, 2.0, 2.0)
    one = MMC(diagonal=diagonal).fit(X, constraints=pairs)
    two = MMC(diagonal=diagonal).fit(X, constraints=heavy)
    factor = 2.0 if diagonal else 1.0
    assert_allclose(factor * two.metric_, one.metric_, rtol=1e-6, atol=1e-9)


def test_a_heavier_cannot_link_stretches_its_direction():
    X = [[0.0, 0.0], [1.0, 1.0], [9.0, 0.0], [9.5, 3.0], [20.0, 9.0], [23.0, 8.5]]
    shares = []
    for weight in (0.1, 1.0, 10.0):
        pairs = Constraints([(0, 1)], [(2, 3), (4, 5)], None, [1.0, weight])
        w = np.diagonal(MMC(diagonal=True).fit(X, constraints=pairs).metric_)
        shares.append(w[0] / w.sum())
    assert shares[0] < shares[1] < shares[2]


def test_contradictions_raise_or_are_dropped():
    X, _ = draw_problem(seed=9)
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2), (2, 3)])
    with pytest.raises(InconsistentConstraintsError):
        MMC().fit(X, constraints=pairs)
    kept = Constraints([(0, 1), (1, 2)], [(2, 3)])
    assert_array_equal(
        MMC(on_conflict="drop").fit(X, constraints=pairs).metric_,
        MMC().fit(X, constraints=kept).metric_,
    )


@pytest.mark.parametrize("diagonal", [False, True])
def test_drawn_pairs_give_nearly_the_objective_of_all(diagonal):
    X, pairs = draw_problem(seed=10, n=300, n_pairs=900)
    must, cannot, _, _ = differences(X, pairs)
    options = {"diagonal": diagonal, "t": 0.5, "random_state": 0}
    whole = MMC(**options, max_pairs=None).fit(X, constraints=pairs)
    with pytest.warns(ConstraintWarning, match="max_pairs=5000"):
        drawn = MMC(**options, max_pairs=5000).fit(X, constraints=pairs)
    sums = [
        np.einsum("ij,jk,ik->", must, model.metric_, must) for model in (whole, drawn)
    ]
    assert_allclose(sums[0], 0.5, rtol=1e-4)  # t, or c / 2
    assert_allclose(sums[1], 0.5, rtol=0.1)
    best = spread(whole.metric_ / sums[0], cannot)
    assert best - 0.01 < spread(drawn.metric_ / sums[1], cannot) < best + 1e-3


# Door ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("diagonal", "yes"),
        ("t", 0.0),
        ("c", -1.0),
        ("projection", "nearest"),
        ("max_projections", 0),
        ("max_iter", 0),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
        MMC(**{parameter: value}).fit([[0.0], [1.0]])


@pytest.mark.parametrize("diagonal", [False, True])
def test_sparse_rows_and_data_frames_are_taken(diagonal):
    X, pairs = draw_problem(seed=11)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = MMC(diagonal=diagonal).fit(X, constraints=pairs)
    sparse = MMC(diagonal=diagonal).fit(csr_array(X), constraints=pairs)
    assert_allclose(sparse.transform(csr_array(X)), expected.transform(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = MMC(diagonal=diagonal).fit(frame, constraints=pairs)
    assert_array_equal(named.metric_, expected.metric_)
    assert named.get_feature_names_out().tolist() == ["mmc0", "mmc1", "mmc2"]


def test_a_pickled_metric_transforms_alike():
    X, pairs = draw_problem(seed=12)
    model = MMC().fit(X, constraints=pairs)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.filterwarnings("always::sklearn.exceptions.ConvergenceWarning")
def test_a_metric_that_still_moves_is_said():
    X, pairs = draw_problem(seed=13)
    with pytest.warns(ConvergenceWarning, match="max_iter=1; raise"):
        model = MMC(max_iter=1).fit(X, constraints=pairs)
    assert not model.converged_


# By rows or by differences --------------------------------------------------------


@pytest.mark.parametrize("d", [8, 40])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_and_differences_give_the_same_metric(d, is_sparse, monkeypatch):
    X, pairs = draw_problem(0, n=30, d=d, n_pairs=400)
    X = np.concatenate([X, X[:1]]) + 100.0  # far from zero; the last row is the first
    cannot_link = [*pairs.cannot_link.tolist(), (0, 30)]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(cannot_link))
    pairs = Constraints(pairs.must_link, cannot_link, cannot_link_weight=weight)
    data = csr_array(X) if is_sparse else X
    used, chosen = [], _mmc._apart

    def noting(*args):
        used.append(chosen(*args))
        return used[-1]

    def by_differences(X, cannot_link, differences, basis):
        return _mmc.Apart(differences.cannot_link, differences.cannot_link_weight)

    monkeypatch.setattr(_mmc, "_apart", noting)
    by_rows = MMC(max_iter=30).fit(data, constraints=pairs)
    assert [type(apart) for apart in used] == [_mmc.ApartRows]
    monkeypatch.setattr(_mmc, "_apart", by_differences)
    plain = MMC(max_iter=30).fit(data, constraints=pairs)
    assert by_rows.n_iter_ == plain.n_iter_
    assert by_rows.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    scale = np.abs(plain.metric_).max()
    assert_allclose(by_rows.metric_, plain.metric_, atol=1e-6 * scale)


def test_few_pairs_of_many_rows_are_kept_as_differences():
    X, pairs = draw_problem(0, n=60, d=3, n_pairs=20)
    differences = _mmc.differences_of(X, pairs)
    apart = _mmc._apart(X, pairs.cannot_link, differences, None)
    assert type(apart) is _mmc.Apart


def test_a_routine_that_gives_up_is_made_up_for(monkeypatch):
    X, pairs = draw_problem(0)
    expected = MMC().fit(X, constraints=pairs)

    def gives_up(matrix):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", gives_up)
    model = MMC().fit(X, constraints=pairs)
    assert model.n_iter_ == expected.n_iter_
    scale = np.abs(expected.metric_).max()
    assert_allclose(model.metric_, expected.metric_, atol=1e-8 * scale)
