"""The one door for constraints."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from linkwise.constraints import Constraints, check_constraints

EXPECTED = Constraints([(0, 1)], [(1, 2)])


@pytest.mark.parametrize(
    "constraints",
    [
        EXPECTED,
        ([(0, 1)], [(1, 2)]),
        [np.array([[0, 1]]), [(1, 2)]],
        sparse.csr_array([[0, 1, 0], [0, 0, -1], [0, 0, 0]]),
        pd.DataFrame({"i": [0, 1], "j": [1, 2], "kind": ["ml", "cl"]}),
        {"i": [0, 1], "j": [1, 2], "kind": ["ml", "cl"]},
        [(0, 1, "must-link"), (1, 2, "cannot-link")],
        ((0, 1, 1), (1, 2, -1)),
        [(0, 1, "ml", 1.0), (1, 2, "cl", 1.0), (1, 0, "ml", 0.5)],
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_form_becomes_the_same_constraints(constraints):
    assert check_constraints(constraints, n_samples=3) == EXPECTED


def test_none_is_no_pairs():
    assert check_constraints(None, n_samples=3).is_empty
    assert check_constraints((None, [(0, 1)]), n_samples=2).n_cannot_link == 1


def test_checked_constraints_are_passed_on_with_their_cache():
    assert check_constraints(EXPECTED, n_samples=3) is EXPECTED


def test_lists_of_three_pairs_are_not_taken_for_rows():
    pairs = ([(0, 1), (1, 2), (2, 3)], [(0, 4), (1, 4), (2, 4)])
    assert check_constraints(pairs, n_samples=5) == Constraints(*pairs)


def test_partial_labels_add_up():
    found = check_constraints(([(0, 1)], None), [-1, 0, 1, 0], n_samples=4)
    assert found == Constraints([(0, 1), (1, 3)], [(1, 2)])


def test_labels_follow_rows_and_pairs_follow_ids():
    found = check_constraints(
        ([("a", "b"), ("a", "z")], []),
        [0, -1, 1],
        n_samples=3,
        sample_id=["b", "c", "a"],
    )
    assert found == Constraints([(0, 2)], [(0, 2)])


def test_pairs_that_leave_the_fold_are_dropped():
    pairs = Constraints([(10, 20)], [(20, 30)])
    for ids in (np.array([30, 20]), pd.Series([30, 20]), [30, 20]):
        found = check_constraints(pairs, n_samples=2, sample_id=ids)
        assert found == Constraints([], [(0, 1)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraints": ([(0, 9)], [])}, r"must_link\[0\] = \(0, 9\).*\[0, 3\)"),
        ({"constraints": ([("a", "b")], [])}, "pass sample_id"),
        (
            {"constraints": ([(0, 1)], []), "sample_id": [0, 1]},
            "sample_id has 2 ids, but the data have 3 rows",
        ),
        (
            {"constraints": ([(0, 1)], []), "sample_id": [0, 1, 1]},
            "ids must be unique: 1",
        ),
        (
            {"constraints": None, "y": [0, 1]},
            "y has 2 labels, but the data have 3 rows",
        ),
        ({"constraints": None, "y": [0.5, 1, 1]}, r"y\[0\] = 0.5 is not a class"),
        ({"constraints": sparse.eye_array(4)}, "are for 4 rows, but the data have 3"),
    ],
)
def test_a_wrong_value_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_constraints(**arguments, n_samples=3)


@pytest.mark.parametrize(
    "constraints",
    [np.zeros((3, 3)), np.zeros((2, 1, 2)), 5, "pairs.csv", [(0, 1)], [1, 2, 3]],
    ids=str,
)
def test_anything_else_is_refused_with_what_is_accepted(constraints):
    with pytest.raises(TypeError, match=r"must be a Constraints, a pair \(must_link"):
        check_constraints(constraints, n_samples=3)


def test_ids_of_another_kind_than_the_pairs_are_refused():
    with pytest.raises(ValueError, match="such as 0, but sample_id .* '0'"):
        check_constraints(([(0, 1)], []), n_samples=2, sample_id=["0", "1"])


def test_a_fold_without_pairs_is_no_error():
    found = check_constraints(([(0, 1)], []), n_samples=2, sample_id=[7, 8])
    assert found.is_empty


def test_constraints_in_the_place_of_labels_are_refused():
    with pytest.raises(TypeError, match="pass it as constraints="):
        check_constraints(None, Constraints([(0, 1)]), n_samples=2)


def test_the_text_minus_one_among_names_is_unknown():
    pairs = Constraints.from_labels(["a", "a", "-1", "b", "-1"])
    assert (pairs.n_must_link, pairs.n_cannot_link) == (1, 1)


@pytest.mark.parametrize("end", [2**63, 2**70, "1", "9" * 30], ids=repr)
def test_a_name_in_place_of_a_position_is_shown_with_its_pair(end):
    named = [("0", end)] if isinstance(end, str) else [(0, 1), (0, end)]
    shown = rf"cannot_link\[{len(named) - 1}\] = .*{end}.*whole numbers in \[0, 5\)"
    with pytest.raises(ValueError, match=shown):
        check_constraints(([], named), n_samples=5)
