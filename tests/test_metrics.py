"""Scores of partitions against the specification, definitions and scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as theirs

from linkwise.metrics import agreement_scores, pair_counts, pairwise_f_score

TRUE, PREDICTED = [0, 0, 1, 1, 1], [0, 0, 1, 2, 1]
LABELS = st.lists(
    st.tuples(st.integers(-1, 3), st.sampled_from("abc")), min_size=1, max_size=12
)


def test_pairs_of_the_worked_example():
    assert pair_counts(TRUE, PREDICTED) == (2, 4, 2)


@pytest.mark.parametrize(
    ("average", "nmi", "ami"),
    [
        ("arithmetic", 0.778979, 0.635350),
        ("geometric", 0.798733, None),
        ("max", None, 0.465578),
    ],
)
def test_scores_of_the_worked_example(average, nmi, ami):
    scores = agreement_scores(TRUE, PREDICTED, average)
    assert scores.ari == pytest.approx(0.545455, abs=1e-6)
    assert scores.fmi == pytest.approx(0.707107, abs=1e-6)
    assert scores.f_score == pytest.approx(0.666667, abs=1e-6)
    if nmi is not None:
        assert scores.nmi == pytest.approx(nmi, abs=1e-6)
    if ami is not None:
        assert scores.ami == pytest.approx(ami, abs=1e-6)


@settings(deadline=None)
@given(LABELS)
def test_pairs_are_counted_as_if_one_by_one(labels):
    true, predicted = zip(*labels, strict=True)
    pairs = list(combinations(range(len(labels)), 2))
    in_true = {p for p in pairs if true[p[0]] == true[p[1]]}
    in_predicted = {p for p in pairs if predicted[p[0]] == predicted[p[1]]}
    counts = (len(in_true & in_predicted), len(in_true), len(in_predicted))
    assert pair_counts(true, predicted) == counts
    total = len(in_true) + len(in_predicted)
    expected = 2 * counts[0] / total if total else 1.0
    assert pairwise_f_score(true, predicted) == pytest.approx(expected)


@settings(deadline=None)
@given(LABELS)
def test_pair_counts_give_scikit_learns_rand_and_fowlkes_mallows_scores(labels):
    true, predicted = (np.array(column) for column in zip(*labels, strict=True))
    both, in_true, in_predicted = pair_counts(true, predicted)
    n_pairs = len(labels) * (len(labels) - 1) / 2
    chance = in_true * in_predicted / n_pairs if n_pairs else 0.0
    spread = (in_true + in_predicted) / 2 - chance
    ari = (both - chance) / spread if spread else 1.0
    assert ari == pytest.approx(theirs.adjusted_rand_score(true, predicted))
    fmi = both / np.sqrt(in_true * in_predicted) if both else 0.0
    assert fmi == pytest.approx(theirs.fowlkes_mallows_score(true, predicted))


def test_names_of_clusters_do_not_matter():
    renamed = [7, 7, -3, 5, -3]
    expected = pytest.approx(agreement_scores(TRUE, PREDICTED))
    assert agreement_scores(TRUE, renamed) == expected


def test_millions_of_points_do_not_overflow():
    labels = np.zeros(5_000_000, dtype=np.int8)
    assert pair_counts(labels, labels)[0] == 5_000_000 * 4_999_999 // 2


def test_single_points_agree_with_each_other():
    assert pairwise_f_score([0, 1, 2], [2, 1, 0]) == 1.0


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match="labels_true has 2 labels and .* 3"):
        pair_counts([0, 1], [0, 1, 2])
