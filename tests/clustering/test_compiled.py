"""Compiled loops of the clustering methods do what their source says."""

import numpy as np
from tests.clustering.plain import draw_constraints, draw_problem
from tests.contracts.compiled import watch_compiled

from linkwise.clustering import (
    _jit,
    _jit_settled,
    _jit_starts,
    farthest_first,
    hard_kmeans,
    kmeans,
    soft_kmeans,
)
from linkwise.constraints import Constraints
from linkwise.kernels import FeatureSpace, GramSpace, LandmarkSpace


def test_every_compiled_loop_equals_its_source(monkeypatch):
    compiled, called = watch_compiled(monkeypatch, _jit, _jit_settled, _jit_starts)
    for seed in range(5):
        # The last has so many clusters that points are passed over.
        problem = draw_problem(seed, n=40, k=9) if seed == 4 else draw_problem(seed)
        n, k, rng = len(problem.X), problem.k, problem.rng
        noise = rng.normal(size=(n, n))
        closure = draw_constraints(rng, n, 10, k, weighted=True).closure(n)
        for space in (
            GramSpace(problem.gram, problem.weight),
            GramSpace(problem.gram.astype(np.float32), problem.weight),
            GramSpace(noise + noise.T, problem.weight),
            FeatureSpace(problem.X, problem.weight),
            LandmarkSpace(
                problem.X.astype(np.float32),
                np.eye(problem.X.shape[1]),
                problem.gram.diagonal(),
                problem.weight,
            ),
        ):
            for rule in ("min", "sum"):
                start = farthest_first(
                    space, closure, k, rule=rule, cl_aware_seeds=rule == "sum"
                )
            kmeans(space, problem.start, k, polish=True)
            kmeans(space, np.zeros(n, dtype=int), k)
            kmeans(space, closure, k)
            kmeans(space, closure, k, draws=rng.random(k))
            soft_kmeans(space, start, k, closure, order=rng.permutation(n))
            if closure.n_components >= k:
                hard_kmeans(space, problem.start, k, closure, rng=rng)
        crown = np.array([(i, j) for i in range(6) for j in range(i) if (i - j) % 3])
        closure = Constraints(cannot_link=crown[rng.random(len(crown)) < 0.8])
        X = rng.normal(size=(6, 2))
        hard_kmeans(
            FeatureSpace(X),
            np.arange(6) % 3,
            3,
            closure.closure(6),
            rng=rng,
            n_retries=0,
        )
    assert compiled <= called


def test_another_layout_is_not_compiled_again_and_changes_nothing():
    problem = draw_problem(0, n=40, k=9)
    closure = draw_constraints(problem.rng, 40, 10, 9, weighted=True).closure(40)

    draws = problem.rng.random(9)

    def strided(array):
        wide = np.zeros([2 * size for size in array.shape], array.dtype)
        part = tuple(slice(None, None, 2) for _ in array.shape)
        wide[part] = array
        return wide[part]

    def read_only(array):
        array = array.copy()
        array.flags.writeable = False
        return array

    def spaces(as_layout):
        weight, diagonal = as_layout(problem.weight), as_layout(problem.gram.diagonal())
        yield GramSpace(as_layout(problem.gram), weight)
        yield FeatureSpace(as_layout(problem.X), weight)
        cross = as_layout(problem.X.astype(np.float32))
        core = as_layout(np.eye(problem.X.shape[1]))
        yield LandmarkSpace(cross, core, diagonal, weight)

    def labels(as_layout):
        found = []
        for space in spaces(as_layout):
            found += [farthest_first(space, closure, 9), kmeans(space, closure, 9)[0]]
            found += [kmeans(space, problem.start, 9, polish=True)[0]]
            found += [kmeans(space, closure, 9, draws=as_layout(draws))[0]]
        return found

    expected = labels(np.array)
    loops = (_jit.descend, _jit.start_and_descend, _jit_starts.seed_and_place)
    compiled = [len(loop.signatures) for loop in loops]
    for as_layout in (np.asfortranarray, strided, read_only):
        np.testing.assert_array_equal(labels(as_layout), expected)
    assert [len(loop.signatures) for loop in loops] == compiled
