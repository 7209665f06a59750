"""Numbers of a clustering against brute force, and the advice that follows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from linkwise import Constraints, ConstraintWarning, KernelCSC
from linkwise.plots._advice import advice_on
from linkwise.plots._findings import Search, findings_of


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    pairs = Constraints.sample(y, 100, random_state=0)
    model = KernelCSC(3, n_candidates=30, random_state=0).fit(X, constraints=pairs)
    return findings_of(model, X, pairs)


@pytest.fixture
def calm():
    """Two clusters that nothing speaks against."""
    X = (np.repeat([0.0, 9.0], 20) + np.arange(40) / 99)[:, None]
    labels = np.repeat([0, 1], 20)
    pairs = Constraints([(0, 1), (20, 21)], [(0, 20)])
    found = findings_of(None, X, pairs, labels)
    scores = np.array([0.5, 1.0, 0.7, 0.7])
    return replace(found, search=Search(scores, "budget", 1, 0.3))


def titles(found):
    return [one.title for one in advice_on(found)]


def test_typical_and_doubtful_rows_are_those_of_a_plain_sort(wine):
    for cluster in range(3):
        inside = np.flatnonzero(wine.labels == cluster)
        nearest = sorted(inside, key=lambda row: wine.distances[row, cluster])
        assert wine.typical(cluster, 5) == nearest[:5]
        doubted = [row for row in inside if wine.doubt[row] >= 0.2]
        expected = sorted(doubted, key=lambda row: -wine.doubt[row])
        assert wine.doubtful(cluster, len(inside)) == expected


def test_the_next_cluster_is_the_nearest_other_one(wine):
    for row in range(wine.n_rows):
        others = [c for c in range(3) if c != wine.labels[row]]
        expected = min(others, key=lambda c: wine.distances[row, c])
        assert wine.next_cluster[row] == expected


def test_broken_pairs_are_those_that_do_not_hold(wine):
    broken = {(p.i, p.j, p.kind) for p in wine.broken}
    expected = set()
    for i, j in wine.pairs.must_link.tolist():
        if wine.labels[i] != wine.labels[j]:
            expected.add((i, j, "must-link"))
    for i, j in wine.pairs.cannot_link.tolist():
        if wine.labels[i] == wine.labels[j]:
            expected.add((i, j, "cannot-link"))
    assert broken == expected


def test_the_heaviest_broken_pair_comes_first():
    X, labels = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    pairs = Constraints([(0, 4), (1, 5)], [(0, 1)], [1.0, 3.0], [2.0])
    found = findings_of(None, X, pairs, labels)
    assert [p.weight for p in found.broken] == [3.0, 2.0, 1.0]


def test_questions_join_a_doubtful_row_with_a_typical_one_and_are_not_known(wine):
    closure = wine.pairs.closure(wine.n_rows)
    apart = {tuple(sorted(pair)) for pair in closure.cannot_link.tolist()}
    questions = wine.questions(5)
    assert questions
    for row, centre in questions:
        assert wine.in_doubt[row]
        assert wine.labels[row] == wine.labels[centre]
        assert centre in wine.typical(int(wine.labels[row]), 5)
        groups = closure.component[[row, centre]]
        assert groups[0] != groups[1] and tuple(sorted(groups)) not in apart
    doubt = [wine.doubt[row] for row, _ in questions]
    assert doubt == sorted(doubt, reverse=True)


def test_without_a_committee_rows_near_a_border_are_in_doubt():
    X = np.array([0.0, 1.0, 2.0, 4.99, 5.01, 8.0, 9.0, 10.0])[:, None]
    found = findings_of(None, X, labels=np.repeat([0, 1], 4))
    assert found.doubt_from == "border"
    assert np.flatnonzero(found.in_doubt).tolist() == [3, 4]
    centre = X[:4].mean(), X[4:].mean()
    ratio = (4.99 - centre[0]) ** 2 / (4.99 - centre[1]) ** 2
    assert found.doubt[3] == pytest.approx(ratio)


def test_of_very_many_rows_some_are_looked_at(monkeypatch, wine):
    monkeypatch.setattr("linkwise.plots._findings._N_LOOKED_AT", 60)
    X, y = load_wine(return_X_y=True)
    model = KernelCSC(3, n_candidates=30, random_state=0).fit(X, constraints=wine.pairs)
    some = findings_of(model, X, wine.pairs)
    known = np.isfinite(some.distances).all(axis=1)
    assert known.sum() == 60
    np.testing.assert_allclose(some.distances[known], wine.distances[known])
    assert known[np.argsort(-wine.doubt, kind="stable")[:15]].all()
    for cluster in range(3):
        assert known[some.typical(cluster, 3)].all()
    plain = findings_of(None, X, labels=y)
    known = np.isfinite(plain.distances).any(axis=1)
    assert known.sum() == 60 and (np.isnan(plain.doubt) == ~known).all()


def test_a_calm_clustering_needs_nothing(calm):
    assert titles(calm) == ["Nothing stands out"]
    assert "All pairs hold" in advice_on(calm)[0].text


def test_no_pairs_are_the_first_thing_to_give(calm):
    assert titles(replace(calm, pairs=Constraints()))[0] == "Give some pairs"


def test_clusters_without_a_pair_are_named(calm):
    labels = calm.labels.copy()
    labels[30:] = 2
    distances = np.column_stack([calm.distances, calm.distances[:, 1] + 1])
    found = replace(calm, labels=labels, distances=distances)
    advice = {one.title: one.text for one in advice_on(found)}
    assert "cluster 2:" in advice["Judge pairs in clusters that have none"]


def test_too_few_pairs_for_many_clusters_are_counted():
    X = np.arange(60.0)[:, None]
    labels = np.arange(60) // 10
    chain = [(10 * c, 10 * c + 10) for c in range(5)]
    found = findings_of(None, X, Constraints([], chain), labels)
    text = {one.title: one.text for one in advice_on(found)}
    # 15 couples of 6 clusters, 5 of which have a cannot-link between them.
    assert (
        "15 couples of clusters, 10 (67\xa0%)" in text["Give more pairs for 6 clusters"]
    )


def test_more_than_a_tenth_of_broken_pairs_is_worth_a_word(calm):
    must = [(i, i + 1) for i in range(9)] + [(0, 25)]
    nine_of_ten = replace(calm, pairs=Constraints(must, [(0, 20)]))
    assert titles(nine_of_ten) == ["Nothing stands out"]
    assert "All pairs but 1 hold" in advice_on(nine_of_ten)[0].text
    worse = replace(calm, pairs=Constraints([*must, (1, 26)], [(0, 20)]))
    assert "Find out why pairs are broken" in titles(worse)


def test_contradictions_and_disbelieved_pairs_come_first(calm):
    pairs = Constraints([(0, 1), (1, 2), (20, 21)], [(0, 2), (0, 20)])
    doubted = pd.DataFrame({"i": [0], "j": [2], "kind": "cannot-link", "belief": 0.2})
    found = replace(calm, pairs=pairs, disbelieved=doubted)
    assert titles(found)[:2] == [
        "Correct contradictory pairs",
        "Look again at pairs that are not believed",
    ]


def test_pairs_that_hold_and_that_none_contradicts_need_no_second_look():
    X, labels = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    model = KernelCSC(2, kernels="paper", n_candidates=5, random_state=0)
    pairs = Constraints([(0, 1), (0, 4)], [(0, 5)])
    model.fit(X, constraints=pairs)
    model.labels_ = labels
    rows = {"i": [0, 0, 0], "j": [1, 4, 5], "belief": 0.1}
    kinds = ["must-link", "must-link", "cannot-link"]
    model.disbelieved_ = pd.DataFrame(rows | {"kind": kinds})
    found = findings_of(model, X, pairs, labels).disbelieved
    assert found[["i", "j"]].to_numpy().tolist() == [[0, 4]]
    against = Constraints([(0, 1), (0, 4), (1, 4)], [(0, 5), (1, 0)])
    assert len(findings_of(model, X, against, labels).disbelieved) == 3


def test_a_search_that_still_got_better_at_its_end_is_to_go_on(calm):
    for best_at, expected in ((14, False), (15, True), (19, True)):
        scores = np.full(20, 0.5)
        scores[best_at:] = 0.8
        found = replace(calm, search=Search(scores, "budget", best_at, 0.3))
        assert ("Search longer" in titles(found)) == expected
    done = np.array([0.5] * 19 + [1.0])  # better than all pairs is nothing
    assert "Search longer" not in titles(
        replace(calm, search=Search(done, "budget", 19, 0.3))
    )
    for end in ("time", "interrupt"):
        found = replace(calm, search=Search(np.array([1.0]), end, 0, 0.3))
        assert "Search longer" in titles(found)


def test_clusters_like_chance_are_not_to_be_trusted(calm):
    found = replace(calm, search=Search(np.array([1.0, 0.5]), "budget", 0, 0.995))
    assert titles(found)[0] == "Do not trust rows without pairs"


def test_doubt_unrest_and_tiny_clusters_are_said(calm):
    doubt = np.zeros(40)
    doubt[:4] = 1.0
    few = replace(calm, doubt=doubt, doubt_from="committee")
    assert titles(few) == ["Nothing stands out"]
    doubt = np.where(np.arange(40) < 5, 0.3, 0.0)
    many = replace(calm, doubt=doubt, doubt_from="committee", converged=False)
    assert titles(many) == ["Let k-means come to rest", "Judge rows that are in doubt"]
    labels = calm.labels.copy()
    labels[labels == 1] = 0
    labels[20:22] = 1
    tiny = findings_of(None, np.arange(40.0)[:, None], calm.pairs, labels)
    assert "Try fewer clusters" in titles(tiny)


def test_pairs_that_hold_by_chance_come_first(calm):
    advice = advice_on(replace(calm, by_chance=True))
    assert advice[0].title == "Do not trust these clusters"
    assert "by chance" in advice[0].text and "columns" in advice[0].text
    assert "Do not trust these clusters" not in titles(calm)


def test_the_model_says_whether_pairs_hold_by_chance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.integers(3, size=120)
    pairs = Constraints.sample(y, 100, random_state=0)
    model = KernelCSC(3, n_candidates=60, random_state=0)
    with pytest.warns(ConstraintWarning, match="by chance"):
        model.fit(X, constraints=pairs)
    assert findings_of(model, X, pairs).by_chance
    assert not findings_of(model, X[::-1], pairs).by_chance  # these are other rows
    model.by_chance_ = None
    assert not findings_of(model, X, pairs).by_chance
