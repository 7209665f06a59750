from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs, weighted
from tests.baselines.metric_twins import lists_of
from tests.clustering.plain import draw_constraints, objective

from linkwise.baselines import _ssk_kmeans
from linkwise.baselines._ssk_kmeans import (
    SSKKMeans,
    add_pairs,
    make_kernel,
    pair_sums,
    smallest_psd_shift,
)
from linkwise.clustering import farthest_first, kmeans
from linkwise.constraints import Closure, Constraints
from linkwise.kernels import RBF, GramSpace, Linear, PairKernel, Standardized

OBJECTIVES = ["ratio_association", "ratio_cut", "normalized_cut"]
PATH = np.eye(4, k=1) + np.eye(4, k=-1)


def expected_failed_checks(estimator):
    if estimator.affinity != "precomputed":
        return {}
    return {"check_clustering": "the check gives rows in place of their affinities"}


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(
    [
        SSKKMeans(2),
        SSKKMeans(2, objective="normalized_cut", shift="psd"),
        SSKKMeans(2, affinity="precomputed"),
    ],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


class TestDoor(DoorContract):
    @pytest.fixture(params=OBJECTIVES)
    def model(self, request):
        return SSKKMeans(3, objective=request.param, random_state=0)


def no_pairs(matrix):
    pass


def signed(pairs, n):
    """Return W of lists of pairs."""
    W = np.zeros((n, n))
    for kind, sign in ((pairs.must, 1.0), (pairs.cannot, -1.0)):
        for i, j, w in kind:
            W[i, j] = W[j, i] = sign * w
    return W


def labelings(n, k):
    """Return all labellings that use k clusters."""
    return [
        np.array(labels)
        for labels in product(range(k), repeat=n)
        if len(set(labels)) == k
    ]


def draw_affinity(seed, n=None, k=None):
    """Return a graph without negative weights, sizes and a generator."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9)) if n is None else n
    A = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.7)
    A = A + A.T + np.diag(rng.uniform(0.1, 1.0, n))
    return A, n, int(rng.integers(2, 4)) if k is None else k, rng


class TestExampleOfTheSpecification:
    """A path of four points, must-link 0-1 and cannot-link 1-2, not closed."""

    W = np.zeros((4, 4))
    W[[0, 1], [1, 0]], W[[1, 2], [2, 1]] = 1.0, -1.0

    def kernel(self, name, shift=0.0):
        gram = PATH.copy()
        graph = make_kernel(
            gram, name, lambda matrix: np.add(matrix, self.W, out=matrix), shift, None
        )
        return gram, graph

    @pytest.mark.parametrize(
        ("name", "entries", "diagonal", "lowest"),
        [
            ("ratio_association", [2, 0, 1], [0, 0, 0, 0], -2.0),
            ("ratio_cut", [2, 0, 1], [-1, -2, -2, -1], -3.561553),
            ("normalized_cut", [1, 0, 0.5], [0, 0, 0, 0], -1.0),
        ],
    )
    def test_kernels(self, name, entries, diagonal, lowest):
        gram, _ = self.kernel(name)
        assert_allclose(gram.diagonal(1), entries, atol=1e-12)
        assert_allclose(gram.diagonal(), diagonal, atol=1e-12)
        assert np.linalg.eigvalsh(gram)[0] == pytest.approx(lowest, abs=1e-6)

    @pytest.mark.parametrize(
        ("name", "best"),
        [("ratio_association", 7), ("ratio_cut", 4), ("normalized_cut", 8)],
    )
    def test_optimum(self, name, best):
        gram, graph = self.kernel(name, shift=5.0)
        values = {
            tuple(labels): objective(gram, graph.node_weight, labels)
            for labels in labelings(4, 2)
            if labels[0] == 0
        }
        lowest = min(values, key=values.get)
        assert lowest == (0, 0, 1, 1)
        assert values[lowest] == pytest.approx(best, abs=1e-6)
        result = kmeans(GramSpace(gram, graph.node_weight), np.array(lowest), 2)
        assert_array_equal(result.labels, lowest)
        assert result.objective == pytest.approx(best, abs=1e-6)

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_the_estimator_finds_it(self, name):
        model = SSKKMeans(2, objective=name, affinity="precomputed", shift=5.0)
        model.fit(PATH, constraints=([(0, 1)], [(1, 2)]))
        assert_array_equal(model.labels_, [0, 0, 1, 1])
        assert model.weight_ == pytest.approx(4 / (2 * 3))  # the closure has 0-2 too

    def test_the_weight_of_pairs_that_entail_nothing(self):
        model = SSKKMeans(2, affinity="precomputed", shift=5.0)
        model.fit(PATH, constraints=([(0, 1)], [(2, 3)]))
        assert model.weight_ == 1.0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(0.0, 5.0))
def test_the_objective_is_that_of_the_affinity_and_of_broken_pairs(seed, shift):
    A, n, k, rng = draw_affinity(seed)
    constraints = draw_constraints(rng, n, 6, 3, weighted=True)
    lists = lists_of(constraints, n)
    gram = A.copy()
    make_kernel(
        gram,
        "ratio_association",
        lambda m: add_pairs(m, constraints, constraints.closure(n), 1.0),
        shift,
        rng,
    )
    labels = rng.permutation(np.arange(n) % k)
    size = np.bincount(labels)
    expected = objective(A, np.ones(n), labels) + shift * (n - k)
    for kind, sign in ((lists.must, -2.0), (lists.cannot, 2.0)):
        for i, j, w in kind:
            if labels[i] == labels[j]:
                expected += sign * w / size[labels[i]]
    assert objective(gram, np.ones(n), labels) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(0.0, 3.0))
def test_cuts_are_those_of_the_graph(seed, shift):
    A, n, k, rng = draw_affinity(seed)
    degree = A.sum(axis=1)
    kernels = {}
    for name in OBJECTIVES[1:]:
        gram = A.copy()
        kernels[name] = gram, make_kernel(gram, name, no_pairs, shift, rng).node_weight
    for labels in labelings(n, k)[:40]:
        sets = [labels == c for c in range(k)]
        cut = [A[np.ix_(s, ~s)].sum() for s in sets]
        ratio = sum(c / s.sum() for c, s in zip(cut, sets, strict=True))
        normalized = sum(c / degree[s].sum() for c, s in zip(cut, sets, strict=True))
        constant = (A.diagonal() - degree).sum() + shift * (n - k)
        got = objective(*kernels["ratio_cut"], labels)
        assert got == pytest.approx(ratio + constant, abs=1e-9)
        constant = (A.diagonal() / degree).sum() + shift * (n - k) - k
        got = objective(*kernels["normalized_cut"], labels)
        assert got == pytest.approx(normalized + constant, abs=1e-9)


@pytest.mark.parametrize("n", [20, 260])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_psd_shift_is_the_smallest(name, n):
    A, n, k, rng = draw_affinity(n, n=n)
    constraints = draw_constraints(rng, n, 30, 3)
    gram = A.copy()
    graph = make_kernel(
        gram,
        name,
        lambda m: add_pairs(m, constraints, constraints.closure(n), 0.7),
        "psd",
        rng,
    )
    root = np.sqrt(graph.node_weight)
    lowest = np.linalg.eigvalsh(root[:, None] * gram * root)[0]
    assert lowest == pytest.approx(0.0, abs=1e-8 * np.abs(gram).max())
    assert graph.shift > 0.0


def test_no_shift_for_a_psd_affinity():
    X = make_blobs()[0]
    assert smallest_psd_shift(X @ X.T, np.ones(len(X)), None) < 1e-9


def test_lanczos_without_end_gives_way_to_all_eigenvalues(monkeypatch):
    def fail(*args, **options):
        raise _ssk_kmeans.ArpackNoConvergence("no convergence", [], [])

    A, n, _, rng = draw_affinity(0, n=210)
    expected = -np.linalg.eigvalsh(A)[0]
    monkeypatch.setattr(_ssk_kmeans, "eigsh", fail)
    assert smallest_psd_shift(A, np.ones(n), rng) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_objective_never_rises_under_a_psd_kernel(name):
    X, _, pairs = make_blobs(spread=5.0, n_pairs=60, seed=1)
    affinity = rbf_kernel(X, gamma=0.05)
    options = {"objective": name, "affinity": "precomputed", "shift": "psd"}
    trace = [
        SSKKMeans(3, max_iter=i, random_state=0, **options)
        .fit(affinity, constraints=pairs)
        .objective_
        for i in range(1, 10)
    ]
    assert np.all(np.diff(trace) <= 1e-9 * np.abs(trace[:-1]))


@pytest.mark.parametrize("form", [lambda pairs: pairs, weighted])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_reported_objective_is_that_of_the_labels(name, form):
    X, _, pairs = make_blobs(spread=4.0, n_pairs=50)
    A, n = rbf_kernel(X, gamma=0.05), len(X)
    model = SSKKMeans(3, objective=name, affinity="precomputed").fit(
        A, constraints=form(pairs)
    )
    S = A + model.weight_ * signed(lists_of(form(pairs), n), n)
    degree = A.sum(axis=1)
    weight = degree if name == "normalized_cut" else np.ones(n)
    if name == "ratio_cut":
        S -= np.diag(degree)
    elif name == "normalized_cut":
        S = S / np.outer(degree, degree)
    S += np.diag(0.001 / weight)
    assert model.objective_ == pytest.approx(objective(S, weight, model.labels_))
    n_pairs = pairs.closure(n).n_must_link + pairs.closure(n).n_cannot_link
    assert model.weight_ == pytest.approx(n / (3 * n_pairs))


@pytest.mark.parametrize("seed", range(5))
def test_without_weight_and_shift_it_is_kernel_kmeans(seed):
    X, _, pairs = make_blobs(spread=4.0, n_pairs=60, seed=seed)
    model = SSKKMeans(3, affinity=Linear(), weight=0.0, shift=0.0)
    model.fit(X, constraints=pairs)
    space = GramSpace(X @ X.T)
    start = farthest_first(space, pairs.closure(len(X)), 3)
    expected = kmeans(space, start, 3)
    assert_array_equal(model.labels_, expected.labels)
    assert model.objective_ == pytest.approx(expected.objective)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), is_weighted=st.booleans())
def test_pairs_enter_the_matrix_once_each_way(seed, is_weighted):
    rng = np.random.default_rng(seed)
    constraints = draw_constraints(rng, 12, 10, 3, weighted=is_weighted)
    closure = constraints.closure(12)
    expected = signed(lists_of(constraints, 12), 12)
    matrix = np.zeros((12, 12))
    add_pairs(matrix, constraints, closure, 0.3)
    assert_allclose(matrix, 0.3 * expected, atol=1e-15)
    labels = rng.integers(4, size=12)
    sums = [expected[np.ix_(labels == c, labels == c)].sum() for c in range(4)]
    assert_allclose(pair_sums(constraints, closure, labels, 4), sums, atol=1e-12)


def test_millions_of_equal_pairs_are_never_listed(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1500)
    pairs = Constraints.from_labels(y)
    assert pairs.closure(1500).n_must_link + pairs.closure(1500).n_cannot_link > 1e6

    def refuse(self):
        raise AssertionError("pairs were listed")

    monkeypatch.setattr(Closure, "must_link_pairs", refuse)
    monkeypatch.setattr(Closure, "cannot_link_pairs", refuse)
    X = rng.normal(size=(1500, 2)) + 2.0 * y[:, None]
    model = SSKKMeans(2, affinity=Linear()).fit(X, constraints=pairs)
    assert model.constraint_score_ > 0.8


class TestWidth:
    def test_is_the_one_that_held_out_pairs_favour(self, monkeypatch):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=80, seed=5)
        splits = []
        split = _ssk_kmeans._split

        def keep(*args):
            splits.append(split(*args))
            return splits[-1]

        monkeypatch.setattr(_ssk_kmeans, "_split", keep)
        model = SSKKMeans(3, random_state=0).fit(X, constraints=pairs)
        ((train, held_out),) = splits
        assert held_out.n_must_link + held_out.n_cannot_link == 8
        assert train | held_out == pairs
        Z = Standardized().fit(X).transform(X).values
        upper = np.triu_indices(len(Z), k=1)
        median = np.median(((Z[:, None] - Z) ** 2).sum(axis=2)[upper])
        grid = np.array([0.2, 0.5, 1.0, 1.5, 2.0]) / median
        scores = [
            held_out.score(
                SSKKMeans(3, affinity="precomputed").fit_predict(
                    rbf_kernel(Z, gamma=gamma), constraints=train
                ),
                closed=False,
            )
            for gamma in grid
        ]
        assert len(set(scores)) > 1  # otherwise there is nothing to choose
        assert model.gamma_ == pytest.approx(grid[np.argmax(scores)])

    def test_of_held_out_pairs_only_those_given_count(self, monkeypatch):
        class HeldOut:
            def score(self, labels, *, closed):
                asked.append(closed)
                return 0.0

        asked = []
        X, _, pairs = make_blobs()
        monkeypatch.setattr(_ssk_kmeans, "_split", lambda *args: (pairs, HeldOut()))
        SSKKMeans(3, random_state=0).fit(X, constraints=pairs)
        assert asked == [False] * 5

    def test_the_chosen_width_is_fitted_with_all_pairs(self):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=80)
        model = SSKKMeans(3, random_state=0).fit(X, constraints=pairs)
        Z = Standardized().fit(X).transform(X).values
        other = SSKKMeans(3, affinity=RBF(model.gamma_)).fit(Z, constraints=pairs)
        assert_array_equal(model.labels_, other.labels_)
        assert model.objective_ == pytest.approx(other.objective_)
        assert other.gamma_ is None
        new = np.random.default_rng(0).normal(1.0, 4.0, size=(30, 3))
        assert_array_equal(
            model.predict(new),
            other.predict(Standardized().fit(X).transform(new).values),
        )

    def test_without_pairs_it_is_the_median(self):
        X = make_blobs()[0]
        Z = Standardized().fit(X).transform(X).values
        upper = np.triu_indices(len(Z), k=1)
        median = np.median(((Z[:, None] - Z) ** 2).sum(axis=2)[upper])
        assert SSKKMeans(3).fit(X).gamma_ == pytest.approx(1.0 / median)

    def test_one_pair_is_enough(self):
        X = make_blobs()[0]
        model = SSKKMeans(3, random_state=0).fit(X, constraints=([(0, 1)], []))
        assert model.gamma_ > 0.0

    def test_equal_rows_have_no_width(self):
        model = SSKKMeans(2).fit(np.ones((6, 2)), constraints=([(0, 1)], [(0, 2)]))
        assert len(np.unique(model.labels_)) == 2


class TestPrediction:
    @pytest.mark.parametrize("seed", range(3))
    def test_training_rows_keep_their_labels_where_promised(self, seed):
        X = make_blobs(spread=4.0, seed=seed)[0]
        for affinity in (Linear(), RBF(0.05)):
            model = SSKKMeans(3, affinity=affinity, shift=0.0).fit(X)
            assert model.converged_
            assert_array_equal(model.predict(X), model.labels_)

    @pytest.mark.parametrize("form", [lambda pairs: pairs, weighted])
    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_new_rows_are_compared_without_pairs_and_shift(self, name, form):
        X, _, pairs = make_blobs(spread=4.0, n_pairs=60)
        A, n = rbf_kernel(X, gamma=0.05), len(X)
        model = SSKKMeans(3, objective=name, affinity="precomputed", shift=0.5)
        labels = model.fit_predict(A, constraints=form(pairs))
        new = rbf_kernel(
            np.random.default_rng(0).normal(1.0, 4.0, size=(30, 3)), X, gamma=0.05
        )
        degree, weight, S, cross = A.sum(axis=1), np.ones(n), A, new
        if name == "normalized_cut":
            S, weight = A / np.outer(degree, degree), degree
            cross = new / np.outer(new.sum(axis=1), degree)
        distances = []
        for c in range(3):
            share = weight * (labels == c) / weight[labels == c].sum()
            distances.append(share @ S @ share - 2 * cross @ share)
        assert_array_equal(model.predict(new), np.argmin(distances, axis=0))

    def test_a_kernel_function_is_its_matrix(self):
        X, _, pairs = make_blobs(spread=3.0)
        by_function = SSKKMeans(3, affinity=rbf_kernel).fit(X, constraints=pairs)
        by_matrix = SSKKMeans(3, affinity="precomputed")
        by_matrix.fit(rbf_kernel(X), constraints=pairs)
        assert_array_equal(by_function.labels_, by_matrix.labels_)
        new = X[::2] + 0.5
        assert_array_equal(
            by_function.predict(new), by_matrix.predict(rbf_kernel(new, X))
        )

    def test_a_row_far_from_everything_has_a_cluster(self):
        X, _, pairs = make_blobs()
        model = SSKKMeans(3, objective="normalized_cut", random_state=0)
        model.fit(X, constraints=pairs)
        assert model.predict([[1e6, 1e6, 1e6]])[0] in range(3)


class TestInput:
    def test_objects_with_a_kernel_of_their_own(self):
        words = ["ab", "abc", "bca", "xy", "xyz", "zyx", "yx"]
        shared = PairKernel(lambda a, b: float(len(set(a) & set(b))))
        model = SSKKMeans(2, affinity=shared).fit(words, constraints=([], [(0, 3)]))
        assert_array_equal(model.labels_, model.labels_[[0, 0, 0, 3, 3, 3, 3]])
        assert model.predict(["cab"])[0] == model.labels_[0]

    def test_the_matrix_of_the_user_is_left_alone(self):
        A = rbf_kernel(make_blobs()[0])
        A.flags.writeable = False
        for affinity in ("precomputed", lambda X, Y: A):
            SSKKMeans(3, affinity=affinity).fit(A, constraints=([(0, 1)], []))

    def test_what_is_too_large_for_the_memory_is_said_before_it_is_made(self):
        X = np.zeros((50_000, 1))
        X[::2] = 1.0
        with pytest.raises(
            MemoryError, match=r"50000 rows.*37.25 GiB.*max_memory='4GiB'"
        ):
            SSKKMeans(2).fit(X)

    def test_memory_may_be_a_number_or_unlimited(self):
        X = make_blobs()[0]
        with pytest.raises(MemoryError, match="max_memory=1000"):
            SSKKMeans(3, max_memory=1000).fit(X)
        SSKKMeans(3, max_memory=None).fit(X)

    def test_a_matrix_must_be_square_and_symmetric(self):
        model = SSKKMeans(2, affinity="precomputed")
        with pytest.raises(ValueError, match="square"):
            model.fit(np.ones((4, 3)))
        A = np.ones((4, 4))
        A[1, 3] = 5.0
        with pytest.raises(ValueError, match=r"entry \(1, 3\) is 5.0"):
            model.fit(A)

    def test_a_kernel_function_must_give_finite_values(self):
        with pytest.raises(ValueError, match="not finite"):
            SSKKMeans(2, affinity=lambda X, Y: np.full((len(X), len(Y)), np.nan)).fit(
                make_blobs()[0]
            )

    def test_a_point_without_affinity_has_no_normalized_cut(self):
        A = np.zeros((4, 4))
        A[:3, :3] = 1.0
        model = SSKKMeans(2, affinity="precomputed", objective="normalized_cut")
        with pytest.raises(ValueError, match="Row 3 of the affinity sums to 0"):
            model.fit(A)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("objective", "cut"), ("affinity", "cosine"), ("shift", -1), ("weight", -1)],
    )
    def test_parameters_that_are_not_allowed_are_named(self, name, value):
        with pytest.raises(ValueError, match=f"'{name}' parameter of SSKKMeans"):
            SSKKMeans(2, **{name: value}).fit(make_blobs()[0])
