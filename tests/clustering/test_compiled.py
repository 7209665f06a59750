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
            soft_kmeans(space, start, k, closure, order=rng.permutation(n))
            if closure.n_components >= k:
                hard_kmeans(space, problem.start, k, closure, rng=rng)
    assert compiled <= called
