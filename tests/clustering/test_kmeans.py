"""k-means from start labels in any geometry (section 3 of the specification)."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel, sigmoid_kernel
from tests.clustering.plain import (
    distances_to_centres,
    draw_constraints,
    draw_problem,
    lloyd,
    locked,
    objective,
)

from linkwise.clustering import farthest_first, kmeans, labels_left_out
from linkwise.kernels import REBUILD_EVERY, FeatureSpace, GramSpace, LandmarkSpace

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=25)
SPACES = {
    "gram": lambda X, weight=None: GramSpace(X @ X.T, weight),
    "features": FeatureSpace,
}


@pytest.fixture(params=SPACES, name="space_of")
def make_space_of(request):
    return SPACES[request.param]


def line(*x):
    return np.array(x, dtype=np.float64)[:, None]


class TestExamplesOfTheSpecification:
    def test_five_points_on_a_line(self, space_of):
        space = space_of(line(0, 1, 9, 10, 11))
        start = locked(np.array([0, 1, 1, 1, 1]))
        unmoved = kmeans(space, start, 2, max_iter=0)
        assert unmoved.objective == pytest.approx(62.75, abs=1e-6)
        assert unmoved.labels.tolist() == start.tolist()
        once = kmeans(space, start, 2, max_iter=1)
        assert once.labels.tolist() == [0, 0, 1, 1, 1]
        assert once.objective == pytest.approx(2.5, abs=1e-6)
        assert not once.converged
        end = kmeans(space, start, 2)
        assert end.labels.tolist() == [0, 0, 1, 1, 1]
        assert end.objective == pytest.approx(2.5, abs=1e-6)
        assert (end.n_iter, end.converged) == (2, True)

    def test_equal_points_are_one_point_with_a_weight(self, space_of):
        many = space_of(line(0, 1, 1, 1, 9, 10)), np.array([0, 1, 1, 1, 1, 1])
        few = (
            space_of(line(0, 1, 9, 10), np.array([1.0, 3, 1, 1])),
            np.arange(4).clip(max=1),
        )
        for max_iter, expected in [(0, 87.2), (1, 1.25), (300, 1.25)]:
            for space, start in (many, few):
                result = kmeans(space, start, 2, max_iter=max_iter)
                assert result.objective == pytest.approx(expected, abs=1e-6)
        assert kmeans(*many, 2).labels.tolist() == [0, 0, 0, 0, 1, 1]
        assert kmeans(*few, 2).labels.tolist() == [0, 0, 1, 1]

    def test_a_cluster_that_loses_all_points_is_not_lost(self, space_of):
        space = space_of(line(0, 0.1, 0.2, 10, 10.1))
        result = kmeans(space, np.array([1, 0, 1, 2, 2]), 3)
        assert sorted(set(result.labels)) == [0, 1, 2]
        assert np.isfinite(result.objective)


class TestEmptyClusters:
    def test_the_costliest_point_fills_an_empty_cluster(self, space_of):
        # Centre 1 is at 0, centre 2 at 20; point 16 is the farthest from its own.
        space = space_of(line(-1, 0, 1, 16, 24, 20))
        start = np.array([1, 1, 1, 2, 2, 2])
        result = kmeans(space, start, 3, max_iter=1)
        assert result.labels.tolist() == [1, 1, 1, 0, 2, 2]

    def test_several_empty_clusters_are_filled_in_ascending_order(self, space_of):
        space = space_of(line(-1, 0, 1, 16, 25, 19))
        start = np.array([1, 1, 1, 1, 1, 1])
        result = kmeans(space, start, 3, max_iter=1)
        # The mean is 10: the farthest point is 25, then -1.
        assert result.labels.tolist() == [2, 1, 1, 1, 0, 1]

    def test_weights_count_in_the_cost(self, space_of):
        x, weight = np.array([0.0, 6.0, 10.0, 10.0]), np.array([0.1, 5.0, 1.0, 1.0])
        distance = (x - weight @ x / weight.sum()) ** 2
        assert (distance.argmax(), (weight * distance).argmax()) == (0, 2)
        result = kmeans(
            space_of(line(*x), weight), np.zeros(4, dtype=int), 2, max_iter=1
        )
        assert result.labels.tolist() == [0, 0, 1, 0]

    @quick
    @given(
        x=st.lists(st.integers(0, 3), min_size=4, max_size=10),
        seed=SEEDS,
        polish=st.booleans(),
    )
    def test_no_cluster_is_ever_empty(self, x, seed, polish):
        rng = np.random.default_rng(seed)
        start = rng.integers(4, size=len(x))
        for space_of in SPACES.values():
            for max_iter in (1, 2, 300):
                result = kmeans(
                    space_of(line(*x)), start, 4, max_iter=max_iter, polish=polish
                )
                assert sorted(set(result.labels)) == [0, 1, 2, 3]
                expected = objective(line(*x) @ line(*x).T, np.ones(len(x)), result[0])
                assert result.objective == pytest.approx(expected, abs=1e-9)

    def test_nor_if_the_kernel_is_indefinite_and_filling_raises_the_objective(self):
        result = kmeans(GramSpace(-np.eye(3)), np.zeros(3, dtype=int), 2)
        assert sorted(set(result.labels)) == [0, 1]

    def test_as_many_clusters_as_points_leave_no_scatter(self, space_of):
        result = kmeans(space_of(line(3, 1, 2)), np.zeros(3, dtype=int), 3)
        assert sorted(result.labels) == [0, 1, 2]
        assert result.objective == pytest.approx(0, abs=1e-12)


class TestTies:
    @pytest.mark.parametrize("nudge", [0.0, 1e-14, -1e-14])
    def test_a_point_between_two_centres_stays(self, space_of, nudge):
        # Centres -1 and 1, up to rounding: the point at 0 is as far from both.
        space = space_of(line(-1, 0, 2 + nudge))
        result = kmeans(space, np.array([0, 1, 1]), 2)
        assert (result.labels.tolist(), result.n_iter) == ([0, 1, 1], 1)
        result = kmeans(space, np.array([1, 0, 0]), 2)
        assert (result.labels.tolist(), result.n_iter) == ([1, 0, 0], 1)

    def test_another_tie_goes_to_the_lowest_label(self, space_of):
        # Centres 0 and 1 are at 2 and -2, the point at 0 belongs to one at 4.
        space = space_of(line(-2, 2, 106, -90, 0, 0))
        start = np.array([1, 0, 2, 2, 2, 2])
        assert kmeans(space, start, 3, max_iter=1).labels[4] == 0


class TestObjective:
    @quick
    @given(seed=SEEDS, kernel=st.sampled_from(["linear", "rbf", "laplacian"]))
    def test_it_never_rises_and_equals_its_definition(self, seed, kernel):
        problem = draw_problem(seed)
        kernels = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}
        gram = problem.gram if kernel == "linear" else kernels[kernel](problem.X)
        space = GramSpace(gram, problem.weight)
        last = np.inf
        for max_iter in range(30):
            result = kmeans(space, problem.start, problem.k, max_iter=max_iter)
            expected = objective(gram, problem.weight, result.labels)
            assert result.objective == pytest.approx(expected, abs=1e-9)
            assert result.objective <= last + 1e-10
            assert result.n_iter <= max_iter
            if result.converged:
                break
            last = result.objective
        assert result.converged

    @quick
    @given(seed=SEEDS)
    def test_the_sums_belong_to_the_labels(self, seed):
        problem = draw_problem(seed)
        for space in (
            GramSpace(problem.gram, problem.weight),
            FeatureSpace(problem.X, problem.weight),
        ):
            for options in ({"max_iter": 2}, {}, {"polish": True}):
                result = kmeans(space, problem.start, problem.k, **options)
                anew = space.group_sums(result.labels, problem.k)
                np.testing.assert_allclose(result.sums.sums, anew.sums, atol=1e-9)
                np.testing.assert_allclose(result.sums.inner, anew.inner, atol=1e-9)
                np.testing.assert_allclose(result.sums.mass, anew.mass, atol=1e-9)
                # They can move on from there.
                result.sums.move(problem.start)
                anew.move(problem.start)
                np.testing.assert_allclose(result.sums.sums, anew.sums, atol=1e-9)

    def test_long_runs_end_where_every_point_is_with_its_nearest_centre(self):
        # Evenly spread points take more iterations than sums live without a rebuild.
        x = np.linspace(0, 1, 400) ** 1.3
        gram, weight = np.outer(x, x), np.ones(400)
        start = np.arange(400).clip(max=3)
        result = kmeans(GramSpace(gram), start, 4)
        assert result.converged and result.n_iter > REBUILD_EVERY
        distance = distances_to_centres(gram, weight, result.labels, 4)
        own = distance[np.arange(400), result.labels]
        assert (own <= distance.min(axis=1) + 1e-11).all()
        expected = objective(gram, weight, result.labels)
        assert result.objective == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@settings(deadline=None, max_examples=15)
@given(seed=SEEDS)
def test_iterations_are_those_of_scikit_learn(weighted, seed):
    problem = draw_problem(seed, weighted, n=30)
    X, weight, k = problem.X, problem.weight, problem.k
    trace = lloyd(problem.gram, weight, problem.start, k)
    assume(trace is not None)  # scikit-learn fills empty clusters in its own way
    means = np.array(
        [
            np.average(
                X[problem.start == c], axis=0, weights=weight[problem.start == c]
            )
            for c in range(k)
        ]
    )
    for space in (GramSpace(problem.gram, weight), FeatureSpace(X, weight)):
        first = kmeans(space, problem.start, k, max_iter=1).labels
        assert np.array_equal(first, pairwise_distances_argmin(X, means))
        for max_iter in range(1, len(trace) + 1):
            # It ends with an assignment to the last means, so it is one step ahead.
            reference = KMeans(k, init=means, n_init=1, max_iter=max_iter, tol=0)
            reference.fit(X, sample_weight=weight)
            result = kmeans(space, problem.start, k, max_iter=max_iter + 1)
            assert np.array_equal(result.labels, reference.labels_)
        assert result.converged
        assert result.objective == pytest.approx(reference.inertia_, rel=1e-9)


@quick
@given(seed=SEEDS)
def test_every_iteration_is_that_of_the_plain_method(seed):
    problem = draw_problem(seed, n=40)
    gram = rbf_kernel(problem.X, gamma=0.3)
    trace = lloyd(gram, problem.weight, problem.start, problem.k)
    assume(trace is not None)
    space = GramSpace(gram, problem.weight)
    for max_iter, labels in enumerate(trace):
        result = kmeans(space, problem.start, problem.k, max_iter=max_iter)
        assert np.array_equal(result.labels, labels)


class TestInvariance:
    @quick
    @given(seed=SEEDS)
    def test_the_order_of_the_points_does_not_matter(self, seed):
        problem = draw_problem(seed)
        p = problem.rng.permutation(len(problem.X))
        result = kmeans(
            GramSpace(problem.gram, problem.weight), problem.start, problem.k
        )
        shuffled = kmeans(
            GramSpace(problem.gram[np.ix_(p, p)], problem.weight[p]),
            problem.start[p],
            problem.k,
        )
        assert np.array_equal(shuffled.labels, result.labels[p])
        assert shuffled.objective == pytest.approx(result.objective, abs=1e-9)

    @quick
    @given(seed=SEEDS)
    def test_the_names_of_the_clusters_do_not_matter(self, seed):
        problem = draw_problem(seed)
        names = problem.rng.permutation(problem.k)
        space = GramSpace(problem.gram, problem.weight)
        trace = lloyd(problem.gram, problem.weight, problem.start, problem.k)
        assume(trace is not None)
        result = kmeans(space, problem.start, problem.k)
        renamed = kmeans(space, names[problem.start], problem.k)
        assert np.array_equal(renamed.labels, names[result.labels])

    @quick
    @given(seed=SEEDS)
    def test_duplicates_equal_weights(self, seed):
        problem = draw_problem(seed)
        times = problem.rng.integers(1, 4, size=len(problem.X))
        trace = lloyd(problem.gram, times.astype(float), problem.start, problem.k)
        assume(trace is not None)  # one copy alone would fill an empty cluster
        repeat = np.repeat(np.arange(len(times)), times)
        few = kmeans(
            GramSpace(problem.gram, times.astype(float)), problem.start, problem.k
        )
        many = kmeans(
            GramSpace(problem.gram[np.ix_(repeat, repeat)]),
            problem.start[repeat],
            problem.k,
        )
        assert np.array_equal(many.labels, few.labels[repeat])
        assert many.objective == pytest.approx(few.objective, abs=1e-9)
        assert many.n_iter == few.n_iter

    @quick
    @given(seed=SEEDS, scale=st.sampled_from([1e-6, 0.3, 7.0, 1e5]))
    def test_the_scale_of_the_kernel_does_not_matter(self, seed, scale):
        problem = draw_problem(seed)
        result = kmeans(
            GramSpace(problem.gram, problem.weight), problem.start, problem.k
        )
        scaled = kmeans(
            GramSpace(scale * problem.gram, problem.weight), problem.start, problem.k
        )
        assert np.array_equal(scaled.labels, result.labels)
        assert scaled.objective == pytest.approx(scale * result.objective, rel=1e-8)

    @quick
    @given(seed=SEEDS, size=st.sampled_from([0.1, 10.0, 300.0]))
    def test_a_shift_of_the_origin_does_not_matter(self, seed, size):
        problem = draw_problem(seed)
        a = size * problem.rng.normal(size=(len(problem.X), 1))
        result = kmeans(
            GramSpace(problem.gram, problem.weight), problem.start, problem.k
        )
        shifted = kmeans(
            GramSpace(problem.gram + a + a.T, problem.weight), problem.start, problem.k
        )
        assert np.array_equal(shifted.labels, result.labels)
        assert shifted.objective == pytest.approx(result.objective, abs=1e-8)

    @quick
    @given(seed=SEEDS)
    def test_matrix_and_features_give_the_same(self, seed):
        problem = draw_problem(seed)
        by_gram = kmeans(
            GramSpace(problem.gram, problem.weight), problem.start, problem.k
        )
        by_features = kmeans(
            FeatureSpace(problem.X, problem.weight), problem.start, problem.k
        )
        assert np.array_equal(by_gram.labels, by_features.labels)
        assert by_gram.objective == pytest.approx(by_features.objective, abs=1e-9)


class TestPointsThatArePassedOver:
    """With many clusters, points that cannot have a new nearest centre are left out.

    Among matrices there is no such thing, so they tell what should come out.
    """

    def spaces(self, problem, scale=1.0):
        X, weight = problem.X, problem.weight
        yield FeatureSpace(X, weight)
        places = np.random.default_rng(0).normal(size=(7, X.shape[1]))
        cross, core = X @ places.T, np.linalg.pinv(places @ places.T)
        # What the kernel says of single points may be more or less than landmarks see.
        yield LandmarkSpace(cross, core, scale * problem.gram.diagonal(), weight)

    @pytest.mark.parametrize("scale", [0.0, 1.0, 2.0])
    @quick
    @given(seed=SEEDS)
    def test_every_iteration_is_that_of_the_plain_method(self, seed, scale):
        problem = draw_problem(seed, n=150, k=8 + seed % 4)
        trace = lloyd(problem.gram, problem.weight, problem.start, problem.k)
        assume(trace is not None)
        for space in self.spaces(problem, scale):
            for max_iter, labels in enumerate(trace):
                result = kmeans(space, problem.start, problem.k, max_iter=max_iter)
                assert np.array_equal(result.labels, labels)
            assert kmeans(space, problem.start, problem.k).n_iter == len(trace)

    @quick
    @given(seed=SEEDS)
    def test_empty_clusters_are_filled_alike(self, seed):
        problem = draw_problem(seed, n=60, k=9)
        for start in (np.zeros(60, dtype=int), problem.start // 2):
            gram = GramSpace(problem.gram, problem.weight)
            expected = kmeans(gram, start, problem.k)
            for space in self.spaces(problem):
                result = kmeans(space, start, problem.k)
                assert np.array_equal(result.labels, expected.labels)
                assert result.n_iter == expected.n_iter
                assert result.objective == pytest.approx(expected.objective, abs=1e-8)
                sums = expected.sums.sums
                np.testing.assert_allclose(result.sums.sums, sums, atol=1e-8)
                np.testing.assert_allclose(result.sums.mass, expected.sums.mass)

    @quick
    @given(seed=SEEDS, size=st.sampled_from([10.0, 1e3]))
    def test_far_from_the_origin_rounding_does_not_count(self, seed, size):
        problem = draw_problem(seed, n=150, k=9)
        near = kmeans(FeatureSpace(problem.X, problem.weight), problem.start, 9)
        far = kmeans(FeatureSpace(problem.X + size, problem.weight), problem.start, 9)
        assert np.array_equal(near.labels, far.labels)


class TestPolish:
    @quick
    @given(seed=SEEDS)
    def test_no_single_move_lowers_the_objective_afterwards(self, seed):
        problem = draw_problem(seed)
        gram, weight, k = problem.gram, problem.weight, problem.k
        for space in (GramSpace(gram, weight), FeatureSpace(problem.X, weight)):
            plain = kmeans(space, problem.start, k)
            result = kmeans(space, problem.start, k, polish=True)
            assert result.objective <= plain.objective + 1e-10
            reached = objective(gram, weight, result.labels)
            assert result.objective == pytest.approx(reached, abs=1e-9)
            for i, c in itertools.product(range(len(gram)), range(k)):
                moved = result.labels.copy()
                moved[i] = c
                if len(np.unique(moved)) == k:
                    assert objective(gram, weight, moved) >= reached - 1e-9

    @pytest.mark.parametrize("value", [0.3, 1.7, 2.3, 77.7])
    def test_it_ends_where_only_rounding_in_single_precision_moves(self, value):
        x = np.full((4, 1), value)
        cross = np.full((4, 1), value * value, dtype=np.float32)
        space = LandmarkSpace(cross, np.array([[value**-2]]), (x**2).ravel())
        result = kmeans(space, np.array([0, 1, 0, 1]), 2, max_iter=1, polish=True)
        assert len(set(result.labels.tolist())) == 2
        assert result.objective == pytest.approx(0.0, abs=1e-5 * value**2)

    def test_it_finds_moves_that_lloyds_iterations_cannot_see(self):
        n_better = 0
        for seed in range(40):
            problem = draw_problem(seed)
            space = GramSpace(problem.gram, problem.weight)
            plain = kmeans(space, problem.start, problem.k)
            result = kmeans(space, problem.start, problem.k, polish=True)
            n_better += result.objective < plain.objective - 1e-6
        assert n_better > 5

    def test_the_change_of_the_objective_decides_and_not_the_distance(self):
        # Point 2 is nearer to its own centre, yet moving it pays off:
        # 3/4 * 2.56 < 2/1 * 1.0.
        x = np.array([0.0, 2.0, 3.6, 3.6, 3.6])
        gram, weight = np.outer(x, x), np.ones(5)
        start = np.array([0, 0, 1, 1, 1])
        before = objective(gram, weight, start)
        moved = np.array([0, 1, 1, 1, 1])
        change = 3 / 4 * 1.6**2 - 2 / 1 * 1.0
        assert objective(gram, weight, moved) - before == pytest.approx(change)
        assert kmeans(GramSpace(gram), start, 2).labels.tolist() == start.tolist()
        polished = kmeans(GramSpace(gram), start, 2, polish=True)
        assert polished.labels.tolist() == moved.tolist()
        assert polished.objective == pytest.approx(before + change)


class TestIndefiniteKernels:
    def gram(self, kind, X, rng):
        if kind == "sigmoid":
            return sigmoid_kernel(X, gamma=2.0, coef0=-1.0)
        noise = rng.normal(size=(len(X), len(X)))
        return noise + noise.T

    @settings(deadline=None, max_examples=50)
    @given(seed=SEEDS, kind=st.sampled_from(["sigmoid", "random"]))
    @example(seed=200, kind="sigmoid")  # returns after a rise by rounding
    @example(seed=12779, kind="sigmoid")  # returns after a rise by 2e-10 of the total
    def test_the_lowest_objective_on_the_way_is_returned(self, seed, kind):
        problem = draw_problem(seed)
        gram, weight, k = self.gram(kind, problem.X, problem.rng), problem.weight, 3
        start = problem.rng.permutation(np.arange(len(gram)) % k)
        space = GramSpace(gram, weight)
        result = kmeans(space, start, k, max_iter=500)
        assert result.converged
        assert sorted(set(result.labels)) == [0, 1, 2]
        reached = objective(gram, weight, result.labels)
        assert result.objective == pytest.approx(reached, abs=1e-8)
        for max_iter in range(12):
            on_the_way = kmeans(space, start, k, max_iter=max_iter)
            assert reached <= on_the_way.objective + 1e-8
        # The next step, if there is one, would have raised it.
        following = distances_to_centres(gram, weight, result.labels, k).argmin(axis=1)
        if len(np.unique(following)) == k:
            assert objective(gram, weight, following) >= reached - 1e-8

    def test_a_labelling_that_returns_is_the_end(self):
        # Both clusters are nearer to the other's centre, so they swap names for ever.
        # The objectives of the two labellings differ by rounding.
        gram = np.array([[0.5, 0.7, 0.0], [0.7, 0.5, -0.8], [0.0, -0.8, -0.9]])
        result = kmeans(GramSpace(gram), np.array([0, 1, 0]), 2)
        assert result.converged
        assert result.n_iter < 5

    def test_some_of_these_kernels_do_stop_on_a_rise(self):
        n_rises = 0
        for seed in range(40):
            problem = draw_problem(seed)
            gram = self.gram("random", problem.X, problem.rng)
            result = kmeans(GramSpace(gram, problem.weight), problem.start, problem.k)
            following = distances_to_centres(
                gram, problem.weight, result.labels, problem.k
            ).argmin(axis=1)
            n_rises += not np.array_equal(following, result.labels)
        assert n_rises > 5

    def test_the_sums_belong_to_the_labels_after_a_rise(self):
        for seed in range(20):
            problem = draw_problem(seed)
            gram = self.gram("random", problem.X, problem.rng)
            space = GramSpace(gram, problem.weight)
            result = kmeans(space, problem.start, problem.k)
            anew = space.group_sums(result.labels, problem.k)
            np.testing.assert_allclose(result.sums.sums, anew.sums, atol=1e-9)
            assert result.sums.explained == pytest.approx(anew.explained)


def test_single_precision_gives_the_labels_of_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + 9.0 * np.repeat([[0, 0], [1, 0], [0, 1]], 30, axis=0)
    gram = rbf_kernel(X, gamma=0.02)
    start = rng.integers(3, size=90)
    double = kmeans(GramSpace(gram), start, 3)
    single = kmeans(GramSpace(gram.astype(np.float32)), start, 3)
    assert np.array_equal(single.labels, double.labels)
    assert single.objective == pytest.approx(double.objective, rel=1e-4)


def test_the_start_is_not_changed():
    problem = draw_problem(1)
    start = problem.start.copy()
    result = kmeans(GramSpace(problem.gram), start, problem.k, polish=True)
    assert np.array_equal(start, problem.start)
    assert result.labels is not start


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_start_labels_may_be_integers_of_any_kind(dtype):
    problem = draw_problem(2)
    space = GramSpace(problem.gram)
    expected = kmeans(space, problem.start, problem.k).labels
    labels = kmeans(space, problem.start.astype(dtype), problem.k).labels
    assert np.array_equal(labels, expected)


@given(seed=SEEDS, n_pairs=st.integers(0, 25), kind=st.sampled_from(["gram", "rows"]))
@settings(deadline=None, max_examples=60)
def test_pairs_as_a_start_are_their_farthest_first_labels(seed, n_pairs, kind):
    problem = draw_problem(seed)
    n, k = len(problem.X), problem.k
    closure = draw_constraints(problem.rng, n, n_pairs, k, weighted=True).closure(n)
    if kind == "gram":
        space = GramSpace(problem.gram, problem.weight)
    else:
        space = FeatureSpace(problem.X, problem.weight)
    expected = kmeans(space, farthest_first(space, closure, k), k)
    result = kmeans(space, closure, k)
    assert np.array_equal(result.labels, expected.labels)
    assert result[1:4] == expected[1:4]
    assert np.array_equal(result.sums.sums, expected.sums.sums)


class TestLabelsLeftOut:
    @pytest.mark.parametrize("seed", range(12))
    def test_they_are_the_nearest_of_clusters_without_these_points(self, seed):
        problem = draw_problem(seed, n=40, k=2 + seed)
        X, weight, k, rng = problem.X, problem.weight, problem.k, problem.rng
        points = np.sort(rng.choice(40, 3 * seed + 1, replace=False))
        left = np.setdiff1d(np.arange(40), points)
        for space in (
            GramSpace(problem.gram, weight),
            FeatureSpace(X, weight),
            LandmarkSpace(
                X.astype(np.float32),
                np.eye(X.shape[1]),
                problem.gram.diagonal(),
                weight,
            ),
        ):
            result = kmeans(space, problem.start, k)
            distance = np.full((len(points), k), np.inf)
            for place, point in enumerate(points):
                others = left if len(left) >= 20 else np.setdiff1d(range(40), point)
                for c in range(k):
                    inside = others[result.labels[others] == c]
                    if len(inside):
                        centre = np.average(X[inside], axis=0, weights=weight[inside])
                        distance[place, c] = ((X[point] - centre) ** 2).sum()
            found = labels_left_out(space, result, points)
            reached = distance[np.arange(len(points)), found]
            np.testing.assert_allclose(reached, distance.min(axis=1), atol=1e-4)
