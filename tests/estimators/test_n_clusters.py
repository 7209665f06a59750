"""KernelCSC where the number of clusters is not known; pairs in the constructor."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, ConstraintWarning, KernelCSC
from linkwise.estimators._n_clusters import numbers_to_try


def small(n_clusters, **options):
    defaults = {"kernels": "paper", "n_candidates": 40, "random_state": 0}
    return KernelCSC(n_clusters, **(defaults | options))


@pytest.mark.parametrize("asked_for", ["auto", range(2, 6), [5, 3, 2]])
def test_it_is_found_where_clusters_are_plain(blobs, asked_for):
    X, y, pairs = blobs
    model = small(asked_for).fit(X, constraints=pairs)
    assert model.n_clusters_ == 3 and model.n_clusters is asked_for
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert set(model.predict(X)) == {0, 1, 2}
    known = small(3).fit(X, constraints=pairs)
    assert_array_equal(model.labels_, known.labels_)


def test_what_was_asked_for_survives_an_error(blobs):
    X, _, _ = blobs
    model = small("auto", on_conflict="raise")
    with pytest.raises(ValueError, match="contradict"):
        model.fit(X, constraints=([(0, 1)], [(0, 1)]))
    assert clone(model).n_clusters == model.n_clusters == "auto"


def test_cannot_links_say_how_many_there_are_at_least():
    clique = [(i, j) for i in range(5) for j in range(i)]
    assert numbers_to_try("auto", Constraints(cannot_link=clique), 100)[0] == 5
    assert numbers_to_try("auto", Constraints([(0, 1)]), 100) == list(range(2, 11))
    assert numbers_to_try("auto", Constraints([(0, 1)]), 4) == [2, 3, 4]
    contradictory = Constraints([(0, 1)], [*clique, (0, 7)])
    assert numbers_to_try("auto", contradictory, 100)[0] == 2


@pytest.mark.parametrize("wrong", [[], [0, 1], range(2, 500), [2.5], "some", 0])
def test_what_is_no_number_of_clusters_is_an_error(blobs, wrong):
    X, _, pairs = blobs
    with pytest.raises(ValueError, match="n_clusters"):
        small(wrong).fit(X, constraints=pairs)


def test_without_pairs_there_is_nothing_to_choose_by(blobs):
    with pytest.warns(ConstraintWarning, match="no constraints"):
        model = small("auto").fit(blobs.X)
    assert model.n_clusters_ == 2


@pytest.mark.filterwarnings("ignore:No more pairs hold")  # the others are none
def test_pairs_may_come_with_the_estimator(blobs):
    X, _, pairs = blobs
    own = small(3, constraints=pairs).fit(X)
    given = small(3).fit(X, constraints=pairs)
    assert_array_equal(own.labels_, given.labels_)
    assert_array_equal(clone(own).fit_predict(X), own.labels_)
    other = Constraints.sample(np.arange(len(X)) % 3, 30, random_state=0)
    assert_array_equal(
        small(3, constraints=pairs).fit(X, constraints=other).labels_,
        small(3).fit(X, constraints=other).labels_,
    )
