"""What max_memory counts, against what is allocated."""

import tracemalloc

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from linkwise import Constraints, KernelBank, KernelCSC
from linkwise.kernels import ForestVotes, Known, LandmarkBank
from linkwise.kernels._memory import nbytes_of, views_nbytes
from linkwise.kernels._packed import packed_size


def problem(n, d=8):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=n)
    X = rng.normal(size=(n, d)) + 3.0 * np.eye(4, d)[y]
    return X, Constraints.sample(y, 200, random_state=0)


def built(monkeypatch):
    """Return a list to which every bank of a fit is added."""
    made = []
    for kind in (KernelBank, LandmarkBank):
        original = kind.build.__func__

        def spy(cls, *args, _original=original, **options):
            made.append(_original(cls, *args, **options))
            return made[-1]

        monkeypatch.setattr(kind, "build", classmethod(spy))
    return made


@pytest.mark.parametrize("kernels", ["paper", "rich"])
@pytest.mark.parametrize("how, n", [("exact", 700), ("landmarks", 3000)])
def test_the_estimate_is_about_what_a_fit_allocates(how, n, kernels, monkeypatch):
    X, pairs = problem(n)
    model = KernelCSC(
        4, n_candidates=4, kernels=kernels, approximation=how, random_state=0
    )
    some, of_some = problem(250)
    model.fit(some, constraints=of_some)  # all is compiled
    made = built(monkeypatch)
    tracemalloc.start()
    try:
        model.fit(X, constraints=pairs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (bank,) = made
    assert 0.8 * peak <= bank.peak_nbytes <= 2.0 * peak
    assert bank.nbytes <= bank.peak_nbytes


@pytest.mark.parametrize("how", ["exact", "landmarks"])
def test_views_and_trees_count(how, monkeypatch):
    X, pairs = problem(300, d=30)
    made = built(monkeypatch)
    options = {"n_candidates": 4, "approximation": how, "random_state": 0}
    model = KernelCSC(4, kernels="rich", **options).fit(X, constraints=pairs)
    (bank,) = made
    forests = [v for v in bank._views.views if isinstance(v, ForestVotes)]
    trees = [t.tree_ for t in forests[0]._forest.estimators_]
    least = sum(tree.node_count for tree in trees) * 64
    assert bank.nbytes > least
    needed = bank.peak_nbytes + 4 * 300 * (300 if how == "exact" else 150)
    if how == "exact":  # some are stored anew with another origin
        needed -= 4 * packed_size(300) * len(bank._centres)
    # One byte less than all that is needed, and not all kernels are held at once.
    for spare in (0, -1):
        made.clear()
        model.set_params(max_memory=needed + spare, n_candidates=2)
        model.fit(X, constraints=pairs)
        is_same = made[0].is_stored and made[0].peak_nbytes == bank.peak_nbytes
        assert is_same == (spare == 0)


def test_views_that_do_not_fit_are_an_error():
    X, _ = problem(300, d=30)
    known = Known(np.arange(300) % 8, 4)
    for kind in (KernelBank, LandmarkBank):
        bank = kind.build(X, "rich", known=known)
        views = views_nbytes(bank._views)
        with pytest.raises(MemoryError, match="max_memory leaves"):
            kind.build(X, "rich", known=known, max_total=views)


def test_a_forest_takes_about_what_its_pickled_nodes_do():
    X, _ = problem(300)
    forest = RandomForestClassifier(10, random_state=0).fit(X, np.arange(300) % 4)
    states = [tree.tree_.__getstate__() for tree in forest.estimators_]
    nodes = sum(state["nodes"].nbytes + state["values"].nbytes for state in states)
    assert nbytes_of(forest) == pytest.approx(nodes, rel=0.1)


def test_objects_of_unknown_kinds_count_as_nothing():
    assert nbytes_of(None) == nbytes_of("text") == nbytes_of([1, 2]) == 0
