"""COBRAS: what its clusters and questions have to hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from linkwise.baselines import COBRAS

X, Y = make_blobs(60, centers=4, cluster_std=0.6, random_state=2)


class Asked:
    def __init__(self, y):
        self.y, self.pairs = y, []

    def __call__(self, i, j):
        self.pairs.append((i, j))
        return "same" if self.y[i] == self.y[j] else "different"


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(2, 30))
def test_it_asks_no_pair_twice_and_not_too_many(seed, budget, n):
    rng = np.random.default_rng(seed)
    data, y = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 3, n)
    askable = np.unique(rng.integers(0, n, n))
    asked = Asked(y)
    model = COBRAS(asked, budget=budget, askable=askable, random_state=0).fit(data)
    assert len(asked.pairs) == model.n_queries_ <= budget
    assert len({frozenset(pair) for pair in asked.pairs}) == len(asked.pairs)
    assert all(i != j for i, j in asked.pairs)
    if model.n_queries_:
        assert np.isin(asked.pairs, askable).all()
    assert set(model.labels_) == set(range(model.labels_.max() + 1))


def test_with_many_answers_it_has_the_classes():
    model = COBRAS(Asked(Y), budget=500, random_state=0).fit(X)
    assert adjusted_rand_score(Y, model.labels_) == 1.0


def test_pieces_that_were_not_merged_are_no_clusters():
    for budget in range(60):
        model = COBRAS(Asked(Y), budget=budget, random_state=0).fit(X)
        assert len(set(model.labels_)) <= 6


def test_no_answers_is_one_cluster():
    assert set(COBRAS(Asked(Y), budget=0).fit(X).labels_) == {0}


def test_an_example_by_hand():
    # Two halves that differ; each is halved once more, is the same, and merges again.
    data = np.array([[0.0], [1.0], [10.0], [11.0]])
    asked = Asked(np.array([0, 0, 1, 1]))
    model = COBRAS(asked, budget=20, random_state=0).fit(data)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert {0, 1} & set(asked.pairs[0]) and {2, 3} & set(asked.pairs[0])


@pytest.mark.parametrize("options", [{"budget": -1}, {"oracle": None}])
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        COBRAS(Asked(Y)).set_params(**options).fit(X)
