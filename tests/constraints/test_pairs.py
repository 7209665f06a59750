"""Rules of the `Constraints` object itself."""

import copy
import dataclasses
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.validation import _is_arraylike, _num_samples

from linkwise.constraints import Constraints
from linkwise.exceptions import InconsistentConstraintsError

quick = settings(deadline=None, max_examples=60)

N_POINTS = 8
PAIR = st.tuples(st.integers(0, N_POINTS - 1), st.integers(0, N_POINTS - 1))
PROPER_PAIR = PAIR.filter(lambda pair: pair[0] != pair[1])
WEIGHTED_PAIRS = st.lists(
    st.tuples(PROPER_PAIR, st.sampled_from([0.25, 0.5, 1.0, 2.0])), max_size=10
)


def make(must, cannot):
    return Constraints(
        [pair for pair, _ in must],
        [pair for pair, _ in cannot],
        [weight for _, weight in must],
        [weight for _, weight in cannot],
    )


def as_dict(pairs, weights):
    return {tuple(p): w for p, w in zip(pairs.tolist(), weights.tolist(), strict=True)}


class TestCanonicalForm:
    def test_pairs_are_sorted_unique_and_keep_the_larger_weight(self):
        pairs = Constraints([(3, 1), (0, 2), (1, 3)], must_link_weight=[1, 2, 5])
        np.testing.assert_array_equal(pairs.must_link, [[0, 2], [1, 3]])
        np.testing.assert_array_equal(pairs.must_link_weight, [2, 5])
        assert pairs.must_link.dtype == np.intp
        assert pairs.must_link_weight.dtype == np.float64

    @quick
    @given(WEIGHTED_PAIRS, WEIGHTED_PAIRS, st.randoms())
    def test_order_direction_and_repetition_change_nothing(self, must, cannot, random):
        again = [(pair[::-1], weight) for pair, weight in must] + must
        random.shuffle(again)
        assert make(must, cannot) == make(again, cannot[::-1] + cannot)

    @quick
    @given(WEIGHTED_PAIRS)
    def test_duplicates_merge_to_the_largest_weight(self, must):
        expected = {}
        for pair, weight in must:
            key = tuple(sorted(pair))
            expected[key] = max(weight, expected.get(key, 0))
        pairs = make(must, [])
        assert as_dict(pairs.must_link, pairs.must_link_weight) == expected
        assert pairs.must_link.tolist() == sorted(map(list, expected))

    def test_self_must_links_are_dropped(self):
        pairs = Constraints([(1, 1), (0, 1)], must_link_weight=[9, 2])
        assert pairs.must_link.tolist() == [[0, 1]]
        assert pairs.must_link_weight.tolist() == [2]

    def test_a_pair_of_both_kinds_is_allowed_until_it_is_used(self):
        assert len(Constraints([(0, 1)], [(1, 0)]).conflicts()) == 1

    def test_one_weight_serves_all_pairs(self):
        assert Constraints([(0, 1), (1, 2)], must_link_weight=3).is_unit
        assert not Constraints([(0, 1)], [(1, 2)], 3, 2).is_unit

    @pytest.mark.parametrize(
        "pairs",
        [
            np.array([[0, 1], [1, 2]], dtype=np.int32),
            np.array([[0, 1], [1, 2]], dtype=np.uint8),
            np.array([[0.0, 1.0], [1.0, 2.0]]),
            np.array([[0, 1], [1, 2]], dtype=object),
            {(0, 1), (1, 2)},
            ((i, i + 1) for i in range(2)),
            pd.DataFrame({"a": [0, 1], "b": [1, 2]}),
            [[np.int64(0), 1], [1.0, np.float32(2)]],
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_any_listing_of_whole_numbers_is_accepted(self, pairs):
        assert Constraints(pairs) == Constraints([(0, 1), (1, 2)])

    def test_no_pairs_may_be_written_in_several_ways(self):
        assert Constraints() == Constraints([], np.empty((0, 2))) == Constraints(set())
        assert Constraints().is_empty

    def test_the_callers_arrays_stay_writeable_and_apart(self):
        mine = np.array([[0, 1]])
        pairs = Constraints(mine)
        mine[0, 1] = 5
        assert pairs.must_link.tolist() == [[0, 1]]


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"cannot_link": [(0, 1), (2, 2)]}, r"cannot_link\[1\] = \(2, 2\) joins"),
            ({"cannot_link": [("a", "a")]}, r"cannot_link\[0\] = \('a', 'a'\) joins"),
            ({"must_link": [(0, 1), (0, -3)]}, r"must_link\[1\] = \(0, -3\).*negative"),
            ({"must_link": [(0, 1.5)]}, r"must_link\[0\] = \(0.0, 1.5\).*whole"),
            ({"must_link": [(0, np.inf)]}, r"must_link\[0\].*whole"),
            ({"must_link": [(0, 1, 2)]}, r"must_link has shape \(1, 3\)"),
            ({"must_link": [0, 1]}, r"must_link has shape \(2,\)"),
            ({"must_link": np.array(3)}, r"must_link has shape \(\)"),
            ({"must_link": [(0, 1), (2,)]}, r"must_link\[1\] has 1 entries"),
            ({"must_link": [("a", "b", "c")]}, r"must_link\[0\] has 3 entries"),
            ({"must_link": [(True, False)]}, "truth values"),
            ({"must_link": [("a", None)]}, r"must_link\[0\] holds a missing value"),
            ({"must_link": [("a", np.nan)]}, r"must_link\[0\] holds a missing value"),
            ({"must_link": [("a", {})]}, "a name must be hashable"),
            (
                {"must_link": [(0, 1)], "must_link_weight": [0.0]},
                r"must_link_weight\[0\] = 0.0: weights must be positive",
            ),
            (
                {"must_link": [(0, 1)], "must_link_weight": -1},
                "must_link_weight = -1: weights must be positive",
            ),
            (
                {"cannot_link": [(0, 1)], "cannot_link_weight": [np.nan]},
                r"cannot_link_weight\[0\] = nan: .*finite",
            ),
            (
                {"cannot_link": [(0, 1)], "cannot_link_weight": [1, 2]},
                r"cannot_link_weight has shape \(2,\).*each of the 1 pairs",
            ),
            (
                {"cannot_link": [(0, 1)], "cannot_link_weight": ["a"]},
                "cannot_link_weight must be numbers",
            ),
        ],
    )
    def test_a_wrong_value_is_named(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Constraints(**arguments)

    @pytest.mark.parametrize("pairs", [None, 3, "ab"])
    def test_what_is_no_list_of_pairs_is_a_type_error(self, pairs):
        with pytest.raises(TypeError, match="must_link must be pairs of points"):
            Constraints(pairs)

    def test_a_pair_outside_the_data_is_named(self):
        pairs = Constraints([(0, 1), (2, 7)], [(1, 9)])
        with pytest.raises(ValueError, match=r"must_link\[1\] = \(2, 7\).*\[0, 6\)"):
            pairs.check_range(6)
        with pytest.raises(ValueError, match=r"cannot_link\[0\] = \(1, 9\).*\[0, 9\)"):
            pairs.closure(9)
        pairs.check_range(10)


class TestObject:
    def test_it_does_not_look_like_an_array(self):
        pairs = Constraints([(0, 1)])
        for name in ("__len__", "shape", "__array__", "__iter__", "__getitem__"):
            assert not hasattr(pairs, name)
        assert not _is_arraylike(pairs)
        with pytest.raises(TypeError):
            _num_samples(pairs)

    def test_it_cannot_be_changed(self):
        pairs = Constraints([(0, 1)], [(1, 2)])
        with pytest.raises(dataclasses.FrozenInstanceError):
            pairs.must_link = np.zeros((0, 2))
        for name in ("must_link", "cannot_link", "must_link_weight"):
            assert not getattr(pairs, name).flags.writeable

    @pytest.mark.parametrize("pairs", [[(0, 1), (1, 2)], [("a", "b")]])
    def test_pickles_and_copies_are_equal_and_locked(self, pairs):
        pairs = Constraints(pairs, must_link_weight=0.5)
        if not pairs.is_named:
            pairs.closure(5)
        for twin in (pickle.loads(pickle.dumps(pairs)), copy.deepcopy(pairs)):
            assert twin == pairs and hash(twin) == hash(pairs)
            assert not twin.must_link.flags.writeable

    def test_equality_looks_at_pairs_and_weights(self):
        pairs = Constraints([(0, 1)], [(1, 2)])
        assert pairs != Constraints([(0, 1)], [(1, 2)], 2)
        assert pairs != Constraints([(0, 1), (1, 2)])
        assert pairs != "pairs"

    def test_repr_is_short(self):
        assert repr(Constraints([(0, 1)], [(1, 2)], 1, 2)) == (
            "Constraints(n_must_link=1, n_cannot_link=1, weighted)"
        )
        assert "named" in repr(Constraints([("a", "b")]))

    def test_points_are_those_in_a_pair(self):
        assert Constraints([(7, 3)], [(3, 1)]).points.tolist() == [1, 3, 7]
        assert Constraints([("b", "a")], [("c", 4)]).points.tolist() == [
            4,
            "a",
            "b",
            "c",
        ]
        assert Constraints().points.tolist() == []


class TestNames:
    def test_names_keep_their_type(self):
        pairs = Constraints([("b", "a"), (2, "a")], [((1, 2), "a")])
        assert pairs.is_named
        assert pairs.must_link.tolist() == [[2, "a"], ["a", "b"]]
        assert pairs.cannot_link.tolist() == [["a", (1, 2)]]

    def test_names_in_any_order_give_equal_objects(self):
        first = Constraints([("b", "a"), ("c", "b")], [("z", "a")], [1, 2])
        assert first == Constraints([("b", "c"), ("a", "b")], [("a", "z")], [2, 1])

    @pytest.mark.parametrize(
        "use",
        [
            lambda pairs: pairs.closure(3),
            lambda pairs: pairs.components(3),
            lambda pairs: pairs.conflicts(),
            lambda pairs: pairs.drop_conflicts(),
            lambda pairs: pairs.restrict([0]),
            lambda pairs: pairs.check_range(3),
            lambda pairs: pairs.feasibility(2, 3),
            lambda pairs: pairs.score([0, 0, 1]),
        ],
    )
    def test_what_needs_positions_says_to_locate(self, use):
        with pytest.raises(ValueError, match=re.escape(".locate(ids)")):
            use(Constraints([("a", "b")]))

    def test_locate_gives_positions(self):
        pairs = Constraints([("b", "a")], [("a", "c")], 2.0, 3.0)
        ids = np.array(["c", "x", "a", "b"])
        assert pairs.locate(ids) == Constraints([(2, 3)], [(0, 2)], 2.0, 3.0)
        assert pairs.locate(pd.Series(ids)) == pairs.locate(list(ids))

    def test_locate_works_for_whole_number_ids(self):
        pairs = Constraints([(100, 200)], [(200, 300)])
        assert pairs.locate([300, 200, 100]) == Constraints([(1, 2)], [(0, 1)])

    def test_dates_are_names(self):
        days = pd.date_range("2000-01-01", periods=3).to_numpy()
        assert Constraints([days[:2]]).locate(days).must_link.tolist() == [[0, 1]]

    @quick
    @given(WEIGHTED_PAIRS, WEIGHTED_PAIRS, st.permutations(range(N_POINTS)), st.data())
    def test_locate_in_a_fold_keeps_the_pairs_inside(self, must, cannot, ids, data):
        fold = ids[: data.draw(st.integers(0, N_POINTS))]
        named = make(
            [((f"p{i}", f"p{j}"), w) for (i, j), w in must],
            [((f"p{i}", f"p{j}"), w) for (i, j), w in cannot],
        )
        located = named.locate([f"p{i}" for i in fold], on_unknown="drop")

        def moved(pairs):
            return [
                ((fold.index(i), fold.index(j)), w)
                for (i, j), w in pairs
                if i in fold and j in fold
            ]

        assert located == make(moved(must), moved(cannot))
        plain = make(must, cannot)
        assert plain.locate(fold, on_unknown="drop") == located
        assert plain.restrict(np.array(fold, dtype=int)) == located

    def test_an_unknown_id_is_named_with_a_guess(self):
        pairs = Constraints([("apple", "pear")])
        with pytest.raises(ValueError, match=r"must_link\[0\]: id 'apple'.*'appel'"):
            pairs.locate(["appel", "pear"])
        with pytest.raises(ValueError, match=r"must_link\[0\]: id 3.*holds a int, not"):
            Constraints([(3, 4)]).locate(["3", "4"])
        with pytest.raises(ValueError, match="ids must be unique: 'a'.* 0 and 2"):
            pairs.locate(["a", "b", "a"])
        with pytest.raises(ValueError, match='on_unknown must be "raise" or "drop"'):
            pairs.locate(["a"], on_unknown="ignore")


class TestOtherPairs:
    def test_restrict_takes_a_mask(self):
        pairs = Constraints([(0, 1), (2, 4)], [(1, 4)])
        mask = np.array([False, True, True, False, True])
        assert pairs.restrict(mask) == Constraints([(1, 2)], [(0, 2)])

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([True], r"mask of length 1, but pairs reach index 3"),
            ([0, 1, 0], "rows holds 0 more than once"),
            ([0, -1], "rows holds -1"),
            ([0.5], "integers or a mask"),
            ([[0]], r"rows has shape \(1, 1\)"),
        ],
    )
    def test_restrict_names_wrong_rows(self, rows, message):
        with pytest.raises(ValueError, match=message):
            Constraints([(0, 3)]).restrict(rows)

    def test_rows_beyond_the_pairs_are_fine(self):
        assert Constraints([(0, 1)]).restrict([9, 1, 0]).must_link.tolist() == [[1, 2]]

    @quick
    @given(st.data())
    def test_closed_restriction_is_the_closure_seen_on_the_rows(self, data):
        labels = data.draw(
            st.lists(st.integers(0, 2), min_size=N_POINTS, max_size=N_POINTS)
        )
        drawn = data.draw(WEIGHTED_PAIRS)
        pairs = make(
            [(p, w) for p, w in drawn if labels[p[0]] == labels[p[1]]],
            [(p, w) for p, w in drawn if labels[p[0]] != labels[p[1]]],
        )
        rows = sorted(data.draw(st.sets(st.integers(0, N_POINTS - 1))))
        inside = pairs.restrict(np.array(rows, dtype=int), closed=True)
        whole, part = pairs.closure(N_POINTS), inside.closure(len(rows))
        for listed in ("must_link_pairs", "cannot_link_pairs"):
            expected = {
                (rows.index(i), rows.index(j)): w
                for (i, j), w in as_dict(*getattr(whole, listed)()).items()
                if i in rows and j in rows
            }
            assert as_dict(*getattr(part, listed)()) == expected

    @pytest.mark.parametrize("seed", range(8))
    def test_closed_restriction_keeps_all_bottlenecks(self, seed):
        rng = np.random.default_rng(seed)
        drawn = Constraints.sample(np.arange(16) % 2, 45, random_state=rng)
        pairs = Constraints(
            drawn.must_link,
            drawn.cannot_link,
            rng.uniform(0.1, 1, drawn.n_must_link),
            rng.uniform(0.1, 2, drawn.n_cannot_link),
        )
        rows = np.sort(rng.permutation(16)[:8])
        whole = pairs.closure(16)
        part = pairs.restrict(rows, closed=True).closure(8)
        for listed in ("must_link_pairs", "cannot_link_pairs"):
            expected = as_dict(*getattr(whole, listed)())
            found = as_dict(*getattr(part, listed)())
            found = {(rows[i], rows[j]): w for (i, j), w in found.items()}
            inside = {p: w for p, w in expected.items() if np.isin(p, rows).all()}
            assert found == inside

    def test_merge_adds_up(self):
        both = Constraints([(0, 1)], must_link_weight=2) | Constraints([(1, 0), (3, 4)])
        assert both == Constraints([(0, 1), (3, 4)], must_link_weight=[2, 1])
        assert Constraints([("a", "b")]).merge(Constraints()).is_named

    def test_names_and_positions_do_not_merge(self):
        with pytest.raises(ValueError, match="cannot be merged"):
            Constraints([("a", "b")]).merge(Constraints([(0, 1)]))

    def test_subset_takes_masks_and_row_numbers(self):
        pairs = Constraints([(0, 1), (1, 2)], [(2, 3)])
        assert pairs.subset([False, True], []) == Constraints([(1, 2)])
        assert pairs.subset([0], [0]) == Constraints([(0, 1)], [(2, 3)])


class TestFromLabels:
    @quick
    @given(st.lists(st.integers(-1, 3), max_size=15))
    def test_the_closure_holds_exactly_what_the_labels_say(self, y):
        pairs = Constraints.from_labels(y)
        closure = pairs.closure(len(y))
        known = [i for i, label in enumerate(y) if label >= 0]
        together = {(i, j) for i in known for j in known if i < j and y[i] == y[j]}
        apart = {(i, j) for i in known for j in known if i < j and y[i] != y[j]}
        assert set(map(tuple, closure.must_link_pairs().pairs.tolist())) == together
        assert set(map(tuple, closure.cannot_link_pairs().pairs.tolist())) == apart
        assert pairs.n_must_link <= len(y)
        if known:
            labels = np.maximum(y, 0)
            assert len(known) < 2 or pairs.score(labels) == 1

    @pytest.mark.parametrize(
        "y",
        [
            [0.0, -1.0, 0.0, 1.0],
            [0, np.nan, 0, 1],
            ["a", None, "a", "b"],
            ["a", np.nan, "a", "b"],
            np.array(["a", np.nan, "a", "b"], dtype=object),
            pd.Series(["a", None, "a", "b"]),
            [[5], [-1], [5], [7]],
            [0, None, 0, 1],
        ],
    )
    def test_numbers_names_and_gaps_are_understood(self, y):
        assert Constraints.from_labels(y) == Constraints([(0, 2)], [(0, 3)])

    def test_another_mark_may_mean_unknown(self):
        assert Constraints.from_labels([0, 9, 0], unknown=9) == Constraints([(0, 2)])
        assert Constraints.from_labels(["?", "a", "a"], unknown="?").n_must_link == 1
        unsigned = np.array([0, 0], dtype=np.uint8)
        assert Constraints.from_labels(unsigned) == Constraints([(0, 1)])

    @pytest.mark.parametrize("y", [[0, 0.37], np.array([0, 0.37], dtype=object)])
    def test_continuous_values_are_refused(self, y):
        with pytest.raises(ValueError, match=r"y\[1\] = 0.37 is not a class"):
            Constraints.from_labels(y)

    def test_two_columns_are_refused(self):
        with pytest.raises(ValueError, match=r"y has shape \(1, 2\)"):
            Constraints.from_labels([[0, 1]])


class TestFromMatrix:
    EXPECTED = Constraints([(0, 1)], [(1, 2)], 2.0, 0.5)
    UPPER = np.array([[0, 2.0, 0], [0, 0, -0.5], [0, 0, 0]])

    @pytest.mark.parametrize(
        "layout", [np.asarray, sparse.csr_array, sparse.coo_matrix]
    )
    def test_sign_is_kind_and_size_is_weight(self, layout):
        for matrix in (self.UPPER, self.UPPER.T, self.UPPER + self.UPPER.T):
            assert Constraints.from_matrix(layout(matrix)) == self.EXPECTED

    def test_opposite_signs_are_kept_as_a_conflict(self):
        pairs = Constraints.from_matrix([[0, 1], [-1, 0]])
        assert [c.cannot_link for c in pairs.conflicts()] == [(0, 1)]

    def test_a_positive_diagonal_is_dropped(self):
        assert Constraints.from_matrix(self.UPPER + np.eye(3)) == self.EXPECTED

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[0, 1, 0]], r"has shape \(1, 3\): it must be square"),
            ([[0, 0], [0, -1]], r"matrix\[1, 1\] = -1.0: a point cannot be"),
            ([[0, np.nan], [0, 0]], r"matrix\[0, 1\] = nan: entries must be finite"),
            ([["a"]], "must hold numbers"),
        ],
    )
    def test_a_wrong_matrix_is_explained(self, matrix, message):
        with pytest.raises(ValueError, match=message):
            Constraints.from_matrix(matrix)


class TestNumbersBeyondPositions:
    @pytest.mark.parametrize(
        "pairs",
        [
            [(1, 2), (0, 2**63)],
            [(1, 2), (0, 2**70)],
            np.array([[1, 2], [0, 2**63]], dtype=np.uint64),
            np.array([[1, 2], [0, 2**63]], dtype=object),
        ],
        ids=["int", "larger", "uint64", "objects"],
    )
    def test_whole_numbers_are_ids_and_keep_every_digit(self, pairs):
        named = Constraints(pairs)
        largest = max(max(pair) for pair in np.asarray(pairs, dtype=object).tolist())
        assert named.is_named
        assert [0, largest] in named.must_link.tolist()
        assert named.locate([2, 1, largest, 0]).must_link.tolist() == [[0, 1], [2, 3]]

    @settings(deadline=None)
    @given(st.integers(2**63, 2**200), st.integers(0, 2**62))
    def test_neighbours_are_different_ids(self, first, second):
        named = Constraints([(first, first + 1), (second, first)])
        assert named.points.tolist() == sorted({first, first + 1, second})

    @pytest.mark.parametrize("value", [1e300, 2.0**63, -1e300, np.float32(1e30)])
    @pytest.mark.parametrize("form", [list, np.array, "table"])
    def test_floats_are_refused(self, value, form):
        if form == "table":
            with pytest.raises(ValueError, match=r"row 1: column j is .*at most 9223"):
                Constraints.from_table([(1, 2, "ml"), (0, value, "ml")])
        else:
            with pytest.raises(ValueError, match=r"must_link\[1\] = .*at most 9223"):
                Constraints(form([(1, 2), (0, value)]))

    def test_a_mix_of_floats_and_numbers_beyond_all_floats_is_refused(self):
        with pytest.raises(ValueError, match=r"must_link\[0\]"):
            Constraints([(0.5, 10**400)])

    def test_negative_numbers_are_refused_whatever_their_size(self):
        with pytest.raises(ValueError, match=r"must_link\[1\] = .*negative"):
            Constraints([(0, 1), (1, -(2**70))])

    def test_the_last_position_is_one(self):
        assert Constraints([(0, 2**63 - 1)]).must_link.tolist() == [[0, 2**63 - 1]]


class TestLargeWeights:
    @pytest.mark.parametrize("weight", [1.1e100, 1e308])
    def test_those_whose_sums_might_overflow_are_refused(self, weight):
        with pytest.raises(ValueError, match=r"_weight\[1\] = .*at most 1e\+100"):
            Constraints([(0, 1), (1, 2)], (), [1.0, weight])
        with pytest.raises(ValueError, match=r"cannot_link_weight = .*at most 1e\+100"):
            Constraints([], [(0, 1)], None, weight)
        with pytest.raises(ValueError, match=r"table row 0: weight is .*1e\+100"):
            Constraints.from_table([(0, 1, "ml", weight)])
        with pytest.raises(ValueError, match=r"must_link_weight\[0\]"):
            Constraints.from_matrix([[0, weight], [0, 0]])

    def test_the_largest_allowed_are_counted_exactly(self):
        pairs = Constraints([(0, 1), (1, 2)], [(2, 3)], [1e100, 5e99], [1e100])
        assert pairs.score([0, 0, 1, 0], closed=False) == pytest.approx(0.8)
        closure = pairs.closure(4)
        assert closure.score([0, 0, 0, 1]) == 1.0
        assert closure.balanced_score([0, 0, 0, 1]) == 1.0


def test_a_point_cannot_linked_to_itself_is_called_by_its_id():
    with pytest.raises(ValueError, match=r"table row 0: cannot-link \('b', 'b'\)"):
        Constraints.from_table([("b", "b", "cannot-link")], ids=["a", "b"])


def test_contradictions_are_called_by_ids():
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2)])
    with pytest.raises(InconsistentConstraintsError, match=r"\('a', 'c'\).*a-b-c"):
        pairs.check_consistent(["a", "b", "c"])
    with pytest.raises(InconsistentConstraintsError, match=r"\(0, 2\).*0-1-2"):
        pairs.check_consistent()
