"""The committee against a count pair by pair."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.active._answers import Answer, Known
from linkwise.search import Committee


def committee_of(labels, evenness, scores=None, places=None):
    n_members = len(labels)
    scores = np.zeros(n_members) if scores is None else scores
    k = int(labels.max()) + 1
    return Committee(labels, scores, 0, k, evenness=evenness, places=places)


def known_of(y, pairs):
    known = Known()
    for number, (i, j) in enumerate(pairs):
        if known.relation(i, j) is None and i != j:
            known.add(Answer(i, j, bool(y[i] == y[j]), number))
    return known


def pairs_of(known, n_rows):
    """Return all that is known of pairs."""
    related = [(i, j, known.relation(i, j)) for i, j in combinations(range(n_rows), 2)]
    return [entry for entry in related if entry[2] is not None]


def by_pairs(labels, known, evenness, more=0.0):
    """Return the weights, counting pair by pair."""
    pairs = pairs_of(known, labels.shape[1])
    held = np.array(
        [sum((own[i] == own[j]) == s for i, j, s in pairs) for own in labels]
    )
    rows = {row for i, j, _ in pairs for row in (i, j)}
    share = (held + more) / max(1, len(pairs))
    found = min(len(pairs), len(rows)) * share + 5.0 * evenness
    weights = np.exp(found - found.max())
    return weights / weights.sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 25))
def test_weights_are_those_of_all_pairs_that_follow(seed, n_pairs):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=12)
    known = known_of(y, rng.integers(12, size=(n_pairs, 2)).tolist())
    labels, evenness = rng.integers(3, size=(6, 12)), rng.random(6)
    committee = committee_of(labels, evenness).reweighted(known.as_groups())
    np.testing.assert_allclose(committee.weights, by_pairs(labels, known, evenness))
    assert known.as_groups().n_pairs == len(pairs_of(known, 12))


def test_scores_of_the_fit_count_for_its_pairs():
    rng = np.random.default_rng(0)
    y, labels = rng.integers(2, size=10), rng.integers(2, size=(4, 10))
    then = known_of(y, [(0, 1), (1, 2), (3, 4)])
    scores = np.array([0.9, 0.2, 0.5, 1.0])
    committee = committee_of(labels, np.zeros(4), scores).since(then.as_groups())
    n_pairs = len(pairs_of(then, 10))
    rows = 5
    expected = np.exp(min(n_pairs, rows) * scores)
    np.testing.assert_allclose(committee.weights, expected / expected.sum())


def test_a_row_is_where_the_known_rows_of_its_cluster_are():
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]])
    places = np.array([0, 1, 2, 3, 4, 5, -1])
    committee = committee_of(labels, np.ones(2), places=places)
    shares = committee.shares(np.array([2, 5, 6]), [[0, 1], [3, 4]])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares[0, 0] > 0.9 and shares[1, 1] > 0.9
    np.testing.assert_allclose(shares[2], 0.5)  # nobody sees it


def test_what_nobody_sees_has_no_probability():
    places = np.array([0, 1, -1])
    committee = committee_of(np.array([[0, 0]]), np.ones(1), places=places)
    found = committee.p_same(np.array([0, 0]), np.array([1, 2]))
    assert found[0] == 1.0 and np.isnan(found[1])
