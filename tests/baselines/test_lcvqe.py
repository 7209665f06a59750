"""k-means repaired pair by pair (section 8.7 of the specification)."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.centre_contract import CentreContract, blobs, random_problem

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import _lcvqe
from linkwise.baselines._closure_pairs import ListedPairs, listed_pairs
from linkwise.baselines._jit_sweeps import repair_pairs
from linkwise.baselines._lcvqe import LCVQE, vqe_from

SEEDS = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=50)


class TestContract(CentreContract):
    @pytest.fixture
    def model(self):
        return LCVQE(3, random_state=0)


# The checks' labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([LCVQE(2)])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


def listed(pairs, n, factor=1.0):
    closure = pairs.closure(n)
    must, must_weight = closure.must_link_pairs()
    cannot, cannot_weight = closure.cannot_link_pairs()
    return ListedPairs(must, factor * must_weight, cannot, factor * cannot_weight)


def fit_from(model, X, starts, pairs):
    """Fit from given start rows, one list for each start."""
    queue = iter(map(np.array, starts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lcvqe, "distinct_points", lambda *_: next(queue))
        return model.set_params(n_init=len(starts)).fit(X, constraints=pairs)


# A twin from the formulas -------------------------------------------------------------


def plain_repair(away, labels, pairs):
    """Return labels and the sets of points that clusters pull at, with factors."""
    labels, k = labels.copy(), away.shape[1]
    gmlv, gclv = {}, {}
    for (i, j), w in zip(pairs.must_link.tolist(), pairs.must_link_weight, strict=True):
        u, v = labels[i], labels[j]
        if u != v:
            a = 0.5 * (away[i, u] + away[j, v]) + w * 0.25 * (away[i, v] + away[j, u])
            b = 0.5 * (away[i, u] + away[j, u])
            c = 0.5 * (away[i, v] + away[j, v])
            way = np.argmin(np.round([b, c, a], 10))  # ties in this order
            if way == 0:
                labels[j] = u
            elif way == 1:
                labels[i] = v
            else:
                gmlv[j, u] = max(w, gmlv.get((j, u), 0.0))
                gmlv[i, v] = max(w, gmlv.get((i, v), 0.0))
    for (i, j), w in zip(
        pairs.cannot_link.tolist(), pairs.cannot_link_weight, strict=True
    ):
        u = labels[i]
        if u == labels[j] and k > 1:
            r, s = (i, j) if away[i, u].round(10) > away[j, u].round(10) else (j, i)
            m = min((c for c in range(k) if c != u), key=lambda c: away[r, c])
            a = 0.5 * (away[i, u] + away[j, u]) + w * 0.5 * away[r, m]
            b = 0.5 * (away[s, u] + away[r, m])
            if a < b - 1e-10:
                gclv[r, m] = max(w, gclv.get((r, m), 0.0))
            else:
                labels[r] = m
    return labels, gmlv, gclv


def plain_vqe(X, centres, pairs, max_iter=100):
    """Return labels, objective and number of steps of section 8.7."""
    n, k = len(X), len(centres)
    labels, history, best = None, [], (None, np.inf)
    for step in range(max_iter):  # noqa: B007
        away = ((X[:, None] - centres) ** 2).sum(axis=2)
        near = away.argmin(axis=1)
        if labels is not None:
            stays = away[np.arange(n), labels] <= away.min(axis=1) + 1e-11
            near = np.where(stays, labels, near)
        labels, gmlv, gclv = plain_repair(away, near, pairs)
        cost = away[np.arange(n), labels].round(9)
        for c in range(k):
            if not (labels == c).any():
                counts = np.bincount(labels, minlength=k)
                worst = np.where(counts[labels] > 1, cost, -np.inf).argmax()
                labels[worst], cost[worst] = c, -np.inf
        centres = np.array(
            [
                (
                    X[labels == c].sum(axis=0)
                    + 0.5 * sum(X[i] for i, d in gmlv if d == c)
                    + sum(X[i] for i, d in gclv if d == c)
                )
                / (
                    (labels == c).sum()
                    + 0.5 * sum(d == c for _, d in gmlv)
                    + sum(d == c for _, d in gclv)
                )
                for c in range(k)
            ]
        )
        away = ((X[:, None] - centres) ** 2).sum(axis=2)
        objective = 0.5 * away[np.arange(n), labels].sum()
        objective += 0.25 * sum(w * away[key] for key, w in gmlv.items())
        objective += 0.5 * sum(w * away[key] for key, w in gclv.items())
        if objective < best[1] - 1e-12:
            best = labels, objective
        state = labels.tolist(), set(gmlv), set(gclv)
        if state in history:
            break
        history.append(state)
    return *best, step + 1


@quick
@given(SEEDS, st.booleans(), st.sampled_from([1.0, 0.5, 0.05, 3.0]))
def test_runs_equal_the_plain_twin(seed, weighted, factor):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng, weighted=weighted)
    start = X[rng.choice(len(X), k, replace=False)]
    few = listed(pairs, len(X), factor)
    labels, objective, n_iter = plain_vqe(X, start, few)
    found = vqe_from(X, start, few, 100)
    assert_array_equal(found.labels, labels)
    assert_allclose(found.objective, objective, atol=1e-9)
    assert found.n_iter == n_iter and found.converged


@quick
@given(SEEDS)
def test_a_fit_is_the_best_of_its_starts(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    starts = [rng.choice(len(X), k, replace=False) for _ in range(3)]
    model = fit_from(LCVQE(k), X, starts, pairs)
    twins = [plain_vqe(X, X[start], listed(pairs, len(X))) for start in starts]
    assert_allclose(model.objective_, min(twin[1] for twin in twins), atol=1e-9)


# The examples of the specification ----------------------------------------------------


class TestExamples:
    x = np.array([0.0, 1, 4, 5])[:, None]
    start = np.array([[0.5], [4.5]])

    def run(self, pairs, factor=1.0, max_iter=100):
        return vqe_from(self.x, self.start, listed(pairs, 4, factor), max_iter)

    def test_a_must_link(self):
        away = (self.x - self.start.T) ** 2
        # a, b, c at the start, then at the centres of the next step.
        for centres, costs in (
            ([0.5, 4.5], [6.375, 6.25, 6.25]),
            ([5 / 3, 5.0], [6.083333, 2.944444, 8.5]),
        ):
            away = (self.x - centres) ** 2
            (d1u, d1v), (d2u, d2v) = away[1], away[2]
            a = 0.5 * (d1u + d2v) + 0.25 * (d1v + d2u)
            b, c = 0.5 * (d1u + d2u), 0.5 * (d1v + d2v)
            assert_allclose([a, b, c], costs, atol=1e-6)
        found = self.run(Constraints([(1, 2)]))
        assert_array_equal(found.labels, [0, 0, 0, 1])
        assert_allclose(found.centres.ravel(), [1.666667, 5.0], atol=1e-6)
        assert found.n_iter == 2 and found.converged

    def test_a_cannot_link(self):
        found = self.run(Constraints((), [(0, 1)]), max_iter=1)
        assert_array_equal(found.labels, [0, 1, 1, 1])
        assert_allclose(found.centres.ravel(), [0.0, 3.333333], atol=1e-6)

    def test_a_small_violation_weight_keeps_them_apart(self):
        found = self.run(Constraints([(1, 2)]), factor=0.01, max_iter=1)
        assert_array_equal(found.labels, [0, 0, 1, 1])
        assert_allclose(found.centres.ravel(), [1.2, 3.8], atol=1e-6)

    def test_through_the_estimator(self):
        # Centres 0 and 4 of the first step give the start of the example.
        model = fit_from(LCVQE(2), self.x, [[0, 2]], Constraints([(1, 2)]))
        assert model.n_violated_ == 0 and model.converged_


# Rules --------------------------------------------------------------------------------


def repair(distances, labels, pairs, function=repair_pairs):
    labels = labels.copy()
    pulls = np.zeros((2, *distances.shape))
    function(distances, *pairs, 1e-12, labels, *pulls)
    return labels, pulls


@quick
@given(SEEDS)
def test_right_after_its_turn_a_pair_holds(seed):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    distances = rng.random((len(X), k))
    start = distances.argmin(axis=1)
    full = listed(pairs, len(X))
    for m in range(1, len(full.must_link) + 1):
        some = ListedPairs(full[0][:m], full[1][:m], full[2][:0], full[3][:0])
        labels, pulls = repair(distances, start, some)
        assert labels[full.must_link[m - 1, 0]] == labels[full.must_link[m - 1, 1]]
        assert not pulls.any()
    for c in range(1, len(full.cannot_link) + 1):
        some = ListedPairs(full[0], full[1], full[2][:c], full[3][:c])
        labels, pulls = repair(distances, start, some)
        i, j = full.cannot_link[c - 1]
        assert labels[i] != labels[j] and not pulls.any()


@quick
@given(SEEDS, st.sampled_from([1.0, 0.1]))
def test_the_compiled_repair_equals_its_function(seed, factor):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng, weighted=True)
    distances = rng.random((len(X), k))
    start = distances.argmin(axis=1)
    few = listed(pairs, len(X), factor)
    labels, pulls = repair(distances, start, few)
    plain_labels, plain_pulls = repair(distances, start, few, repair_pairs.py_func)
    assert_array_equal(labels, plain_labels)
    assert_array_equal(pulls, plain_pulls)


@quick
@given(SEEDS, st.booleans())
def test_no_pairs_or_weight_zero_is_lloyd(seed, has_pairs):
    rng = np.random.default_rng(seed)
    X, pairs, k = random_problem(rng)
    start = rng.choice(len(X), k, replace=False)
    model = LCVQE(k, violation_weight=0.0 if has_pairs else 1.0)
    fit_from(model, X, [start], pairs if has_pairs else None)
    centres, labels = X[start], None
    while True:
        new = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        assume(len(np.unique(new)) == k)  # no emptied cluster
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        centres = np.array([X[labels == c].mean(axis=0) for c in range(k)])
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_, centres)
    assert_array_equal(model.predict(X), labels)


def test_a_violation_weight_above_one_changes_nothing():
    # Keeping a pair broken is never the cheapest way already at one.
    X, _, pairs = blobs(spread=3.0)
    first = LCVQE(3, random_state=0).fit(X, constraints=pairs)
    second = LCVQE(3, violation_weight=5.0, random_state=0).fit(X, constraints=pairs)
    assert_array_equal(first.labels_, second.labels_)
    assert first.objective_ == second.objective_


def test_light_pairs_may_stay_broken():
    x = TestExamples.x
    start = np.array([[0.5], [4.5]])
    light = Constraints([(1, 2)], must_link_weight=[0.01])
    found = vqe_from(x, start, listed(light, 4), 1)
    heavy = vqe_from(x, start, listed(Constraints([(1, 2)]), 4), 1)
    assert found.labels[1] != found.labels[2] and heavy.labels[1] == heavy.labels[2]
    # The estimator takes the product of the two weights.
    few = LCVQE(2, violation_weight=0.5)._pairs(
        LCVQE(2)._check_fit(x, None, light, None, None)
    )
    assert_allclose(few.must_link_weight, [0.005])


def test_one_cluster_leaves_cannot_links_broken():
    model = LCVQE(1).fit(np.eye(4), constraints=([], [(0, 1), (2, 3)]))
    assert model.n_violated_ == 2


def test_fewer_components_than_clusters_break_must_links():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    with pytest.warns(ConstraintWarning, match="only 2 groups of rows"):
        model = LCVQE(3, random_state=0).fit(X, constraints=([(0, 1), (2, 3)], []))
    assert len(np.unique(model.labels_)) == 3 and model.n_violated_ == 1


def test_a_cycle_ends_with_its_lowest_objective():
    n_cycles = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, pairs, k = random_problem(rng)
        few = listed(pairs, len(X))
        start = X[rng.choice(len(X), k, replace=False)]
        found = vqe_from(X, start, few, 100)
        assert found.converged
        if found.n_iter > 2:
            before = vqe_from(X, start, few, found.n_iter - 2)
            last = vqe_from(X, start, few, found.n_iter - 1)
            assert found.objective == last.objective <= before.objective
            step = vqe_from(X, found.centres, few, 1)
            n_cycles += not np.array_equal(step.labels, found.labels)
    assert n_cycles > 0  # labels that are no fixed point, but the best of a cycle


# Many pairs ---------------------------------------------------------------------------


class TestManyPairs:
    @quick
    @given(SEEDS, st.booleans())
    def test_a_draw_is_made_of_entailed_pairs_without_repeats(self, seed, weighted):
        rng = np.random.default_rng(seed)
        X, pairs, _ = random_problem(rng, weighted=weighted)
        closure = pairs.closure(len(X))
        n_pairs = closure.n_must_link + closure.n_cannot_link
        assume(n_pairs > 1)
        n_drawn = int(rng.integers(1, n_pairs))
        drawn = listed_pairs(closure, pairs, n_drawn, rng)
        full = listed(pairs, len(X))
        assert len(drawn.must_link) + len(drawn.cannot_link) == n_drawn
        for kind in (0, 2):
            weights = dict(zip(map(tuple, full[kind]), full[kind + 1], strict=True))
            rows = list(map(tuple, drawn[kind]))
            assert rows == sorted(set(rows))
            assert [weights[row] for row in rows] == drawn[kind + 1].tolist()

    def test_every_pair_has_the_same_chance(self):
        y = np.repeat([0, 1, 2], [5, 3, 1])
        pairs = Constraints.from_labels(y)
        closure = pairs.closure(9)
        rng = np.random.default_rng(0)
        counts = np.zeros((9, 9))
        for _ in range(4000):
            must, _, cannot, _ = listed_pairs(closure, pairs, 6, rng)
            for i, j in np.concatenate([must, cannot]):
                counts[i, j] += 1
        shares = counts[np.triu_indices(9, 1)] / 4000
        assert_allclose(shares, 6 / 36, atol=0.03)  # five standard errors

    def test_the_unranking_is_exact_for_large_components(self):
        n = 60_000
        pairs = Constraints.from_labels(np.zeros(n, dtype=int))
        closure = pairs.closure(n)
        must = listed_pairs(closure, pairs, 1000, np.random.default_rng(0)).must_link
        assert (must[:, 0] < must[:, 1]).all() and must.max() < n
        assert len(np.unique(must, axis=0)) == 1000

    def test_the_cap_warns_and_still_helps(self):
        rng = np.random.default_rng(0)
        y = rng.integers(2, size=600)
        X = rng.normal(size=(600, 2)) + 3.0 * y[:, None]
        model = LCVQE(2, max_pairs=500, n_init=2, random_state=0)
        with pytest.warns(ConstraintWarning, match="max_pairs=500"):
            model.fit(X, y)
        assert model.constraint_score_ > 0.8
        with pytest.warns(ConstraintWarning, match="max_pairs=500"):
            again = model.fit(X, y).labels_
        assert_array_equal(again, model.labels_)

    def test_the_default_cap_is_quiet_for_most(self):
        X, _, pairs = blobs()
        LCVQE(3, random_state=0).fit(X, constraints=pairs)  # warnings are errors


def test_reaching_max_iter_keeps_the_lowest_objective_so_far():
    X, _, pairs = blobs(seed=1, spread=4.0)
    with pytest.warns(ConvergenceWarning):
        early = LCVQE(3, max_iter=2, random_state=0).fit(X, constraints=pairs)
    late = LCVQE(3, random_state=0).fit(X, constraints=pairs)
    assert late.objective_ <= early.objective_
