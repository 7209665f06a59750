"""KernelCSC where the number of clusters is not known; pairs in the constructor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, ConstraintWarning, KernelCSC
from linkwise.estimators import _n_clusters
from linkwise.estimators._n_clusters import numbers_to_try


def small(n_clusters, **options):
    defaults = {"kernels": "paper", "n_candidates": 40, "random_state": 0}
    return KernelCSC(n_clusters, **(defaults | options))


def overlapping(n_pairs, seed, n_clusters=4, must_share=0.05):
    """Return rows of classes that overlap, the classes, and mostly cannot-links."""
    rng = np.random.default_rng(seed)
    y = np.arange(60 * n_clusters) % n_clusters
    X = 3.0 * np.eye(n_clusters)[y] + rng.normal(size=(len(y), n_clusters))
    n_must = round(must_share * n_pairs)
    first, second = np.triu_indices(len(y), k=1)
    ends = rng.permutation(np.column_stack([first, second]))
    is_must = y[ends[:, 0]] == y[ends[:, 1]]
    pairs = Constraints(ends[is_must][:n_must], ends[~is_must][: n_pairs - n_must])
    return X, y, pairs


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
    nine = Constraints.from_labels(range(9))
    assert numbers_to_try("auto", nine, 100) == list(range(9, 14))
    contradictory = Constraints([(0, 1)], [*clique, (0, 7)])
    assert numbers_to_try("auto", contradictory, 100)[0] == 2


def test_a_number_is_ruled_out_by_proof_only():
    y = np.arange(400) % 4
    drawn = Constraints.sample(y, 4000, random_state=0)
    pairs = Constraints(cannot_link=drawn.cannot_link)
    assert pairs.feasible_range(len(y), budget=1000).smallest > 4
    assert numbers_to_try("auto", pairs, len(y))[0] <= 4


@pytest.mark.parametrize(
    ("seed", "selection"), [(2, "committee"), (3, "train"), (4, "committee")]
)
def test_cannot_links_that_hold_by_themselves_do_not_make_clusters(seed, selection):
    X, _, pairs = overlapping(200, seed)
    model = small("auto", selection=selection, random_state=seed)
    assert model.fit(X, constraints=pairs).n_clusters_ == 4


def test_a_long_search_does_not_make_the_choice_longer(blobs, monkeypatch):
    X, _, pairs = blobs
    tried = []
    original = KernelCSC.fit

    def spy(self, *args, **options):
        tried.append((self.n_clusters, self.n_candidates))
        return original(self, *args, **options)

    monkeypatch.setattr(KernelCSC, "fit", spy)
    for n_candidates in (100, 5):
        small([3, 4], n_candidates=n_candidates).fit(X, constraints=pairs)
    assert tried[1:3] == [(3, 30), (4, 30)] and tried[4:] == [(3, 5), (4, 5)]


@pytest.mark.parametrize(
    ("of_two", "of_three", "chosen"),
    [
        ([5.0] * 9, [9.0, 3.0, 3.0] + [0.0] * 6, 2),  # one is lucky
        ([5.0] * 9, [6.0, 6.0, 6.0] + [0.0] * 6, 3),
        ([5.0] * 9, [5.7] * 9, 2),  # not worth a cluster
        ([5.0] * 9, [5.8] * 9, 3),
        ([5.0], [5.8], 3),
    ],
)
def test_a_third_of_the_candidates_has_to_speak_for_a_further_cluster(
    blobs, monkeypatch, of_two, of_three, chosen
):
    evidence = {2: np.array(of_two), 3: np.array(of_three)}
    monkeypatch.setattr(
        _n_clusters, "_evidence", lambda fitted, pairs: evidence[fitted.n_clusters]
    )
    X, _, pairs = blobs
    model = small([2, 3], n_candidates=2).fit(X, constraints=pairs)
    assert model.n_clusters_ == chosen


class TestEvidence:
    counts = st.tuples(*[st.integers(0, 60)] * 3)
    chances = st.floats(0.01, 0.99)

    @settings(deadline=None)
    @given(counts, chances)
    def test_clusters_never_say_less_than_none(self, counts, chance):
        n_must, n_cannot, n_broken = counts
        total = n_must + n_cannot + n_broken
        assert _n_clusters.log_ratio_to_chance(n_must, n_cannot, total, chance) >= 0.0

    @settings(deadline=None)
    @given(counts, chances)
    def test_it_grows_with_what_holds(self, counts, chance):
        n_must, n_cannot, n_broken = counts
        total = n_must + n_cannot + n_broken + 1
        fewer = _n_clusters.log_ratio_to_chance(n_must, n_cannot, total, chance)
        assert (
            _n_clusters.log_ratio_to_chance(n_must + 1, n_cannot, total, chance)
            >= fewer
        )
        assert (
            _n_clusters.log_ratio_to_chance(n_must, n_cannot + 1, total, chance)
            >= fewer
        )

    @pytest.mark.parametrize("n_clusters", [2, 5, 10])
    def test_pairs_that_all_hold_say_what_chance_does_not(self, n_clusters):
        chance = 1.0 / n_clusters
        found = _n_clusters.log_ratio_to_chance(5.0, 7.0, 12.0, chance)
        expected = -5.0 * np.log(chance) - 7.0 * np.log(1.0 - chance)
        assert found == pytest.approx(expected, rel=0.02)

    def test_pairs_that_hold_as_often_as_by_chance_say_nothing(self):
        for chance in (0.1, 0.25, 0.5):
            found = _n_clusters.log_ratio_to_chance(
                100 * chance, 100 * (1 - chance), 200, chance
            )
            assert found == pytest.approx(0.0, abs=1e-6)

    def test_one_cluster_of_all_rows_says_nothing(self):
        assert _n_clusters.log_ratio_to_chance(8.0, 0.0, 20.0, 1.0) == pytest.approx(
            0.0, abs=1e-6
        )

    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set"])
    def test_weights_of_pairs_are_relative(self, how):
        X, _, pairs = overlapping(60, 0)
        model = small(4, approximation=how, n_landmarks=30, working_rows=100)
        model.fit(X, constraints=pairs)
        plain, heavy = (
            _n_clusters._evidence(
                model,
                Constraints(
                    pairs.must_link,
                    pairs.cannot_link,
                    np.full(pairs.n_must_link, weight),
                    np.full(pairs.n_cannot_link, weight),
                ),
            )
            for weight in (1.0, 7.0)
        )
        np.testing.assert_allclose(plain, heavy)
        assert plain.max() > 10.0 and len(plain) == 40

    def test_pairs_of_the_same_rows_say_little_more_than_these_rows(self):
        X, y, pairs = overlapping(60, 0)
        model = small(4).fit(X, constraints=pairs)
        within = Constraints.sample(y, 190, random_state=0, rows=np.arange(20))
        # Pairs that all hold say log(4) or log(4 / 3); 190 of them would say 100.
        assert 5.0 < _n_clusters._evidence(model, within).max() < 15.0


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
    other = Constraints.sample(np.arange(len(X)) % 3, 29, random_state=0)
    assert_array_equal(
        small(3, constraints=pairs).fit(X, constraints=other).labels_,
        small(3).fit(X, constraints=other).labels_,
    )
