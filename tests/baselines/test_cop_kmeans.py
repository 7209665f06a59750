"""k-means that breaks no pair (section 8.3 of the specification)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.centre_contract import (
    CentreContract,
    blobs,
    inertia,
    random_problem,
)

from linkwise import Constraints, InfeasibleConstraintsError
from linkwise.baselines import _cop_kmeans
from linkwise.baselines._cop_kmeans import COPKMeans
from linkwise.baselines._jit_sweeps import (
    improve_placement,
    nearest_allowed,
    place_points_in_turn,
)
from linkwise.constraints import Feasibility

MODES = ["blocks", "pointwise"]
SEEDS = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=40)


class TestBlocks(CentreContract):
    @pytest.fixture
    def model(self):
        return COPKMeans(3, random_state=0)


class TestPointwise(CentreContract):
    @pytest.fixture
    def model(self):
        return COPKMeans(3, mode="pointwise", random_state=0)


class Unlabelled(COPKMeans):
    """Without the labels of scikit-learn's checks: they may be more than clusters."""

    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        return super().fit(X)


@parametrize_with_checks([Unlabelled(2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


# A twin of both modes from given start rows -------------------------------------------


def components_of(pairs, n):
    component = pairs.components(n)
    return [np.flatnonzero(component == g) for g in range(component.max() + 1)]


def broken(labels, pairs):
    return any(labels[i] != labels[j] for i, j in pairs.must_link) or any(
        labels[i] == labels[j] for i, j in pairs.cannot_link
    )


def plain_pass(away, pairs, mode):
    """Return the labels of one greedy pass, or None at a dead end.

    All entailed pairs between rows placed so far are checked anew for every cluster.
    """
    n, k = away.shape
    closure, groups = pairs.closure(n), components_of(pairs, n)
    must = closure.must_link_pairs().pairs.tolist()
    cannot = closure.cannot_link_pairs().pairs.tolist()
    if mode == "blocks":
        degree = np.bincount(closure.cannot_link.ravel(), minlength=len(groups))
        turns = [groups[g] for g in np.argsort(-degree, kind="stable")]
    else:
        turns = [[i] for i in range(n)]
    labels = np.full(n, -1)
    for turn in turns:
        options = []
        for c in range(k):
            trial = labels.copy()
            trial[turn] = c
            trial = trial.tolist()
            if all(
                trial[i] == trial[j] or min(trial[i], trial[j]) < 0 for i, j in must
            ):
                if all(trial[i] != trial[j] or trial[i] < 0 for i, j in cannot):
                    options.append(c)
        if not options:
            return None
        labels[turn] = min(options, key=lambda c: away[turn, c].sum().round(9))  # noqa: B023
    return labels


def plain_cop(X, start, pairs, mode):
    """Return labels and inertia of the best pass, or None at a dead end."""
    groups, k = components_of(pairs, len(X)), len(start)
    centres, labels, best = X[start], None, (None, np.inf)
    for _ in range(100):
        away = ((X[:, None] - centres) ** 2).sum(axis=2)
        new = plain_pass(away, pairs, mode)
        if new is None:
            return None
        firsts = [group[0] for group in groups]
        cost = np.array([away[g, new[g]].sum() for g in groups]).round(9)
        for c in range(k):
            if not (new == c).any():
                counts = np.bincount(new[firsts], minlength=k)
                cost_now = np.where(counts[new[firsts]] > 1, cost, -np.inf)
                worst = int(np.argmax(cost_now))
                new[groups[worst]], cost[worst] = c, -np.inf
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        centres = np.array([X[labels == c].mean(axis=0) for c in range(k)])
        if inertia(X, labels) < best[1]:
            best = labels, inertia(X, labels)
    return best


# Greedy passes may go round in circles.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mode", MODES)
def test_runs_equal_the_plain_twin(mode):
    n_compared = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X, pairs, k = random_problem(rng)
        # Both rows of a component of two as starts would be equally near to it.
        firsts = [group[0] for group in components_of(pairs, len(X))]
        starts = [rng.choice(firsts, k, replace=False) for _ in range(2)]
        twins = [plain_cop(X, start, pairs, mode) for start in starts]
        if None in twins:
            continue  # dead ends are met with random orders
        n_compared += 1
        model = fit_from(COPKMeans(k, mode=mode), X, starts, pairs)
        lowest = min(objective for _, objective in twins)
        assert_allclose(model.objective_, lowest, atol=1e-9)
        assert any(
            # Two passes may show the same partition under other numbers.
            adjusted_rand_score(model.labels_, labels) == 1.0
            and objective <= lowest + 1e-9
            for labels, objective in twins
        ), seed
    assert n_compared > 40


# The examples of the specification ----------------------------------------------------


def place(x, centres, pairs, order, current=None):
    n, k = len(x), len(centres)
    closure = pairs.closure(n)
    placed = np.full(closure.n_components, -1)
    is_stuck = np.zeros(1, dtype=bool)
    place_points_in_turn(
        np.subtract.outer(np.asarray(x, float), centres) ** 2,
        np.asarray(order),
        closure.component,
        np.zeros(closure.n_components, dtype=np.int32),
        closure.cl_indptr,
        closure.cl_indices,
        np.full(n, -1) if current is None else np.asarray(current),
        1e-12,
        placed,
        is_stuck,
    )
    assert k >= placed.max()
    return None if is_stuck[0] else placed[closure.component]


def fit_from(model, X, starts, pairs):
    """Fit from given start rows, one list for each start."""
    queue = iter(map(np.array, starts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cop_kmeans, "distinct_points", lambda *_: next(queue))
        return model.set_params(n_init=len(starts)).fit(X, constraints=pairs)


class TestExamples:
    x = np.array([0.0, 1, 2, 10])[:, None]
    pairs = Constraints([(2, 3)])

    def test_points_one_by_one_leave_a_cluster_empty(self):
        labels = place(self.x.ravel(), [0.0, 10.0], self.pairs, [0, 1, 2, 3])
        assert_array_equal(labels, [0, 0, 0, 0])

    def test_blocks_choose_by_their_sums(self):
        for mode in MODES:  # the empty cluster of the other mode takes the block
            model = fit_from(COPKMeans(2, mode=mode), self.x, [[0, 3]], self.pairs)
            assert_array_equal(model.labels_, [0, 0, 1, 1])
            assert_allclose(model.objective_, 0.5 + 32.0)

    def test_the_order_decides_about_a_dead_end(self):
        pairs = Constraints((), [(0, 2), (1, 2)])
        assert place([0, 10, 5], [0.0, 10.0], pairs, [0, 1, 2]) is None
        labels = place([0, 10, 5], [0.0, 10.0], pairs, [2, 0, 1])
        assert_array_equal(labels, [1, 1, 0])

    @pytest.mark.parametrize("mode", MODES)
    def test_a_dead_end_is_met_with_other_orders(self, mode):
        X = np.array([[0.0], [10.0], [5.0]])
        pairs = Constraints((), [(0, 2), (1, 2)])
        model = fit_from(COPKMeans(2, mode=mode), X, [[0, 1]], pairs)
        assert model.n_violated_ == 0
        assert_array_equal(model.labels_, [1, 1, 0])

    @pytest.mark.parametrize("mode", MODES)
    def test_a_triangle_needs_three_clusters(self, mode):
        pairs = Constraints((), [(0, 1), (1, 2), (0, 2)])
        with pytest.raises(InfeasibleConstraintsError, match="3 components.*0, 1, 2"):
            COPKMeans(2, mode=mode).fit(self.x, constraints=pairs)


# Hard means hard ----------------------------------------------------------------------


def any_partition(pairs, n, k):
    """Tell by trying all whether k clusters can hold every pair."""
    groups = components_of(pairs, n)
    component = pairs.components(n)
    edges = {tuple(sorted(component[[i, j]])) for i, j in pairs.cannot_link}
    if len(groups) < k:
        return False
    # A graph has a colouring with k colours if and only if one starts with colour 0.
    return any(
        all(colours[g] != colours[h] for g, h in edges)
        for colours in itertools.product([0], *[range(k)] * (len(groups) - 1))
    )


def dense_problem(rng):
    """Return rows and pairs without contradiction; many need more than k clusters."""
    n = int(rng.integers(4, 9))
    k = int(rng.integers(1, 4))
    n_groups = int(rng.integers(2, n + 1))
    hidden = rng.integers(n_groups, size=n)
    i, j = np.triu_indices(n, 1)
    drawn = rng.random(len(i)) < rng.uniform(0.1, 0.8)
    same = hidden[i] == hidden[j]
    both = np.stack([i, j], axis=1)
    pairs = Constraints(both[drawn & same], both[drawn & ~same])
    return rng.normal(size=(n, 2)), pairs, k


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_200_feasible_problems_hold_and_80_infeasible_ones_raise():
    n_feasible = n_infeasible = seed = 0
    while n_feasible < 200 or n_infeasible < 80:
        rng = np.random.default_rng(seed)
        X, pairs, k = dense_problem(rng)
        mode = MODES[seed % 2]
        model = COPKMeans(k, mode=mode, n_init=1, n_retries=seed % 3, random_state=0)
        if any_partition(pairs, len(X), k):
            if n_feasible < 200:
                model.fit(X, constraints=pairs)
                assert not broken(model.labels_, pairs), seed
                assert model.n_violated_ == 0
                assert_array_equal(np.unique(model.labels_), np.arange(k))
            n_feasible += 1
        elif n_infeasible < 80:
            with pytest.raises(InfeasibleConstraintsError) as caught:
                model.fit(X, constraints=pairs)
            message = str(caught.value)
            assert (
                "components" in message  # too few, or kept apart: names points
                or "not proven feasible within the budget" in message
            )
            n_infeasible += 1
        seed += 1
    assert n_feasible >= 200 and n_infeasible == 80


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_retries", [0, 50])
def test_larger_problems_hold_all_pairs(mode, n_retries):
    # Many small parts of the cannot-link graph, of which some are always stuck.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2)) + 3.0 * y[:, None]
    pairs = Constraints.sample(y, 300, random_state=0)
    model = COPKMeans(2, mode=mode, n_init=2, n_retries=n_retries, random_state=0)
    assert model.fit(X, constraints=pairs).n_violated_ == 0
    if mode == "pointwise":  # colours of each part are matched to the near clusters
        assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("mode", MODES)
def test_a_search_that_gives_up_says_so(mode, monkeypatch):
    # A crown: greedy orders can fail, and no colouring is handed out.
    pairs = Constraints((), [(0, 3), (3, 1), (1, 4), (4, 2), (2, 5), (5, 0)])
    X = np.array([0.0, 10, 0.1, 0, 10.1, 10])[:, None]
    given_up = Feasibility("unknown", None, "The search budget ran out.")
    for module in ("linkwise.clustering._hard", "linkwise.baselines._cop_kmeans"):
        monkeypatch.setattr(f"{module}.feasibility", lambda *_: given_up)
    model = COPKMeans(2, mode=mode, n_init=1, n_retries=0)
    with pytest.raises(
        InfeasibleConstraintsError, match="not proven feasible within the budget"
    ):
        fit_from(model, X, [[0, 1]], pairs)


# Without pairs, and other rules -------------------------------------------------------


@quick
@given(SEEDS, st.sampled_from(MODES))
def test_no_pairs_is_lloyd(seed, mode):
    rng = np.random.default_rng(seed)
    X, _, k = random_problem(rng)
    start = rng.choice(len(X), k, replace=False)
    model = fit_from(COPKMeans(k, mode=mode), X, [start], Constraints())
    centres, labels = X[start], None
    while True:
        new = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        if len(np.unique(new)) < k:
            return  # an emptied cluster
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        centres = np.array([X[labels == c].mean(axis=0) for c in range(k)])
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_, centres)
    assert_array_equal(model.predict(X), labels)


@pytest.mark.parametrize("mode", MODES)
def test_fewer_components_than_clusters_are_an_error(mode):
    with pytest.raises(InfeasibleConstraintsError, match="form only 2"):
        COPKMeans(3, mode=mode).fit(np.eye(4), constraints=([(0, 1), (2, 3)], []))


@pytest.mark.parametrize("mode", MODES)
def test_one_cluster_and_a_cannot_link_are_an_error(mode):
    with pytest.raises(InfeasibleConstraintsError, match="one point of each: 0, 1"):
        COPKMeans(1, mode=mode).fit(np.eye(4), constraints=([], [(0, 1)]))


@pytest.mark.parametrize("mode", MODES)
def test_more_starts_are_never_worse(mode):
    X, _, pairs = blobs(spread=3.0)
    objectives = [
        COPKMeans(3, mode=mode, n_init=n, random_state=0)
        .fit(X, constraints=pairs)
        .objective_
        for n in (1, 10)
    ]
    assert objectives[1] <= objectives[0]


@pytest.mark.parametrize("mode", MODES)
def test_weights_of_pairs_do_not_matter(mode):
    X, _, pairs = blobs(spread=3.0)
    heavy = Constraints(
        pairs.must_link,
        pairs.cannot_link,
        np.linspace(1.0, 2.0, pairs.n_must_link),
        np.linspace(0.5, 1.0, pairs.n_cannot_link),
    )
    model = COPKMeans(3, mode=mode, random_state=0)
    labels = model.fit(X, constraints=pairs).labels_
    assert_array_equal(model.fit(X, constraints=heavy).labels_, labels)


# Compiled loops -----------------------------------------------------------------------


@quick
@given(SEEDS)
def test_improved_placements_break_nothing_and_cost_less(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    closure = pairs.closure(len(X))
    witness = pairs.feasibility(k, len(X)).colouring
    placed = witness[closure.members[closure.indptr[:-1]]]
    cost = rng.random((closure.n_components, k))
    which = np.arange(closure.n_components)
    before = cost[which, placed].sum()
    other = placed.copy()
    arguments = (cost, which, closure.cl_indptr, closure.cl_indices, 0.0)
    improve_placement(*arguments, placed)
    improve_placement.py_func(*arguments, other)
    assert_array_equal(placed, other)
    assert not broken(placed[closure.component], pairs)
    assert cost[which, placed].sum() <= before


def test_the_current_cluster_stays_where_it_is_as_near():
    arguments = (np.array([1.0, 1.0, 2.0]), 0, np.array([0, 0]), np.empty(0, np.intp))
    closed = np.empty(3, dtype=bool)
    for function in (nearest_allowed, nearest_allowed.py_func):
        for current, expected in ((-1, 0), (0, 0), (1, 1), (2, 0)):
            placed = np.array([-1])
            assert function(*arguments, current, 1e-12, placed, closed) == expected


def test_colours_of_each_part_are_matched_to_the_cheapest_clusters():
    # Two paths; what is cheap for one is dear for the other.
    pairs = Constraints((), [(0, 1), (1, 2), (3, 4), (4, 5)])
    rng = np.random.default_rng(0)
    placer = _cop_kmeans._PointPlacer(pairs.closure(6), 2, rng, n_retries=0)
    near = np.array([1, 0, 1, 0, 1, 0])
    cost = 1.0 - np.eye(2)[near]
    placed = np.full(6, -1)
    placer._colour(np.arange(6), cost, 0.0, placed)
    assert_array_equal(placed, near)


def test_greedy_passes_that_go_round_in_circles_come_to_an_end():
    X, pairs, k = dense_problem(np.random.default_rng(215))
    model = COPKMeans(k, n_init=2, max_iter=1000, random_state=0)
    model.fit(X, constraints=pairs)
    assert model.converged_ and model.n_iter_ < 1000
    assert model.n_violated_ == 0
