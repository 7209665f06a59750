"""Trees as arrays vote as the forests that they come from."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from tests.contracts.compiled import watch_compiled

from linkwise.estimators import _jit
from linkwise.estimators._trees import Trees


def forests(n_classes, seed=0, n_trees=7):
    """Return two forests that know the same classes, and other rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    y = 2 * rng.integers(n_classes, size=80)  # ids need not follow each other
    found = [
        kind(n_trees, random_state=seed).fit(X, y)
        for kind in (RandomForestClassifier, ExtraTreesClassifier)
    ]
    return found, rng.normal(size=(50, 4))


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_votes_are_the_mean_of_the_forests(n_classes):
    both, rows = forests(n_classes)
    expected = sum(forest.predict_proba(rows) for forest in both) / 2
    trees = Trees.of(both)
    np.testing.assert_allclose(trees.shares(rows), expected, atol=1e-6)
    np.testing.assert_array_equal(trees.classes, 2 * np.arange(n_classes))


def test_rows_at_a_threshold_go_to_the_left():
    X = np.array([[0.0], [1.0]])
    forest = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, [0, 1])
    rows = np.array([[0.5], [np.nextafter(np.float32(0.5), np.float32(1))]])
    found = Trees.of([forest]).shares(rows)
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    np.testing.assert_array_equal(found, forest.predict_proba(rows))


def test_they_are_smaller_than_the_forests():
    both, _ = forests(3, n_trees=60)
    assert 3 * len(pickle.dumps(Trees.of(both))) < len(pickle.dumps(both))


def test_every_compiled_loop_equals_its_source(monkeypatch):
    compiled, called = watch_compiled(monkeypatch, _jit)
    both, rows = forests(3)
    Trees.of(both).shares(rows)
    assert called == compiled
