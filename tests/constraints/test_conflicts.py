"""Contradictions: named, dropped, and whether k clusters are enough."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise.constraints import Conflict, Constraints
from linkwise.exceptions import InconsistentConstraintsError

quick = settings(deadline=None, max_examples=60)

N_POINTS = 7
POINT = st.integers(0, N_POINTS - 1)
PAIRS = st.lists(
    st.tuples(POINT, POINT).filter(lambda pair: pair[0] != pair[1]), max_size=10
)


@st.composite
def any_pairs(draw):
    must, cannot = draw(PAIRS), draw(PAIRS)
    weight = st.sampled_from([0.5, 1.0, 2.0])
    return Constraints(
        must, cannot, [draw(weight) for _ in must], [draw(weight) for _ in cannot]
    )


def best_paths(pairs, start, end):
    """Return the widest bottleneck between two points and its shortest length."""
    weight = {
        tuple(pair): w
        for pair, w in zip(
            pairs.must_link.tolist(), pairs.must_link_weight.tolist(), strict=True
        )
    }
    found = []
    middles = [p for p in range(N_POINTS) if p not in (start, end)]
    for n_middle in range(len(middles) + 1):
        for middle in itertools.permutations(middles, n_middle):
            path = (start, *middle, end)
            steps = [tuple(sorted(step)) for step in itertools.pairwise(path)]
            if all(step in weight for step in steps):
                found.append((min(weight[step] for step in steps), -len(path)))
    return max(found, default=None)


class TestConflicts:
    def test_the_example_of_the_specification_is_an_error(self):
        pairs = Constraints([(0, 1), (1, 2), (3, 4)], [(2, 3), (0, 2)])
        with pytest.raises(
            InconsistentConstraintsError,
            match=r"1 of 2 cannot-links(.|\n)*\(0, 2\) contradicts must-links 0-1-2"
            r'(.|\n)*on_conflict="drop"',
        ):
            pairs.closure(6)

    def test_a_long_list_is_cut(self):
        chain = [(i, i + 1) for i in range(9)]
        pairs = Constraints(chain, [(i, i + 2) for i in range(8)])
        with pytest.raises(InconsistentConstraintsError, match="and 3 more"):
            pairs.closure(10)

    def test_a_limit_below_zero_is_refused(self):
        with pytest.raises(ValueError, match="limit=-1: must be None or at least 0"):
            Constraints([(0, 1)]).conflicts(-1)

    def test_a_conflict_reads_as_a_sentence(self):
        (conflict,) = Constraints([(0, 1), (1, 2)], [(0, 2)], [3, 2], 5).conflicts()
        assert conflict == Conflict((0, 2), [0, 1, 2], 5.0, 2.0)
        assert str(conflict) == "cannot-link (0, 2) contradicts must-links 0-1-2"

    def test_the_strongest_path_is_shown_and_then_the_shortest(self):
        wide = Constraints([(0, 3), (0, 1), (1, 2), (2, 3)], [(0, 3)], [1, 2, 2, 2])
        assert wide.conflicts()[0].path == [0, 1, 2, 3]
        even = Constraints([(0, 3), (0, 1), (1, 2), (2, 3)], [(0, 3)])
        assert even.conflicts()[0].path == [0, 3]

    @settings(deadline=None, max_examples=30)
    @given(any_pairs())
    def test_each_cannot_link_inside_a_component_is_found(self, pairs):
        component = pairs.components(N_POINTS)
        inside = [
            tuple(pair)
            for pair in pairs.cannot_link.tolist()
            if component[pair[0]] == component[pair[1]]
        ]
        conflicts = pairs.conflicts()
        assert [conflict.cannot_link for conflict in conflicts] == inside
        assert pairs.n_conflicts == len(inside)
        assert pairs.conflicts(2) == conflicts[:2]
        links = set(map(tuple, pairs.must_link.tolist()))
        for conflict in conflicts:
            start, end = conflict.cannot_link
            assert (conflict.path[0], conflict.path[-1]) == (start, end)
            steps = itertools.pairwise(conflict.path)
            assert all(tuple(sorted(step)) in links for step in steps)
            best = best_paths(pairs, start, end)
            assert (conflict.path_weight, -len(conflict.path)) == best


class TestDropping:
    @pytest.mark.parametrize(
        ("must_weight", "cannot_weight", "n_must", "n_cannot"),
        [([3, 2], 1, 2, 0), ([3, 2], 2, 2, 0), ([3, 1], 2, 1, 1)],
        ids=["lighter cannot-link", "tie", "lighter must-link"],
    )
    def test_the_lighter_pair_goes(self, must_weight, cannot_weight, n_must, n_cannot):
        pairs = Constraints([(0, 1), (1, 2)], [(0, 2)], must_weight, cannot_weight)
        kept = pairs.drop_conflicts()
        assert (kept.n_must_link, kept.n_cannot_link) == (n_must, n_cannot)

    def test_every_path_is_broken(self):
        pairs = Constraints(
            [(0, 1), (1, 2), (0, 3), (2, 3)], [(0, 2)], [1, 4, 4, 2], [3]
        )
        assert pairs.drop_conflicts().must_link.tolist() == [[0, 3], [1, 2]]

    def test_a_pair_goes_only_for_the_sake_of_pairs_that_stay(self):
        # Cannot-link 0-2 costs must-link 1-2, so cannot-link 1-2 may stay.
        pairs = Constraints([(0, 1), (1, 2)], [(0, 2), (1, 2)], [4, 2], [3, 1])
        kept = pairs.drop_conflicts()
        assert kept == Constraints([(0, 1)], [(0, 2), (1, 2)], 4, [3, 1])

    @quick
    @given(any_pairs())
    def test_the_rest_is_consistent_and_nothing_could_be_put_back(self, pairs):
        kept = pairs.drop_conflicts()
        assert not kept.conflicts()
        assert kept.drop_conflicts() is kept
        assert kept | pairs == pairs
        for name in ("must_link", "cannot_link"):
            left = set(map(tuple, getattr(kept, name).tolist()))
            for pair in set(map(tuple, getattr(pairs, name).tolist())) - left:
                assert (kept | Constraints(**{name: [pair]})).conflicts()
        closure = pairs.closure(N_POINTS, on_conflict="drop")
        np.testing.assert_array_equal(closure.component, kept.components(N_POINTS))

    @quick
    @given(any_pairs(), st.randoms())
    def test_the_order_of_the_pairs_does_not_matter(self, pairs, random):
        table = list(pairs.to_table().itertuples(index=False, name=None))
        random.shuffle(table)
        again = Constraints.from_table([(j, i, kind, w) for i, j, kind, w in table])
        assert again.drop_conflicts() == pairs.drop_conflicts()


def colourable(pairs, n_clusters):
    """Return whether any of all labelings uses k clusters and satisfies all pairs."""
    must, cannot = pairs.must_link, pairs.cannot_link
    for labels in itertools.product(range(n_clusters), repeat=N_POINTS):
        labels = np.array(labels)
        if (
            len(set(labels.tolist())) == n_clusters
            and (labels[must[:, 0]] == labels[must[:, 1]]).all()
            and (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
        ):
            return True
    return False


GRAPH = st.lists(
    st.tuples(POINT, POINT).filter(lambda pair: pair[0] != pair[1]), max_size=18
)


class TestFeasibility:
    def test_a_clique_of_four_needs_more_than_three_clusters(self):
        pairs = Constraints([], itertools.combinations(range(4), 2))
        found = pairs.feasibility(n_clusters=3, n_samples=6)
        assert found.status == "infeasible" and found.colouring is None
        assert "keep 4 components apart" in found.reason
        assert "0, 1, 2, 3" in found.reason

    def test_more_clusters_than_components_are_refused(self):
        found = Constraints([(0, 1), (1, 2)]).feasibility(3, n_samples=4)
        assert found.status == "infeasible"
        assert "3 clusters need as many must-link components" in found.reason

    def test_a_contradiction_is_the_reason(self):
        found = Constraints([(0, 1)], [(0, 1)]).feasibility(2, n_samples=4)
        assert found.status == "infeasible"
        assert found.reason == "cannot-link (0, 1) contradicts must-links 0-1."

    @settings(deadline=None, max_examples=40)
    @given(GRAPH, st.lists(st.tuples(POINT, POINT), max_size=1), st.integers(1, 3))
    def test_the_answer_equals_that_of_trying_all(self, cannot, must, n_clusters):
        pairs = Constraints(must, cannot)
        found = pairs.feasibility(n_clusters, N_POINTS)
        assert (found.status == "feasible") == colourable(pairs, n_clusters)
        if found.colouring is not None:
            assert set(found.colouring.tolist()) == set(range(n_clusters))
            assert pairs.is_empty or pairs.score(found.colouring) == 1

    def test_an_odd_wheel_is_infeasible_although_it_has_no_clique(self):
        rim = [(i, (i + 1) % 5) for i in range(5)]
        pairs = Constraints([], rim + [(i, 5) for i in range(5)])
        found = pairs.feasibility(3, 6)
        assert found.status == "infeasible"
        assert "No assignment of the 6 components" in found.reason
        assert pairs.feasibility(4, 6).status == "feasible"
        assert pairs.feasible_range(6) == (4, 6, True)

    def test_a_spent_budget_is_admitted(self):
        rim = [(i, (i + 1) % 5) for i in range(5)]
        pairs = Constraints([], rim + [(i, 5) for i in range(5)])
        assert pairs.feasibility(3, 6, budget=2).status == "unknown"
        assert pairs.feasible_range(6, budget=2) == (4, 6, False)

    @settings(deadline=None, max_examples=25)
    @given(GRAPH)
    def test_the_range_starts_at_the_smallest_feasible_number(self, cannot):
        pairs = Constraints([], cannot)
        smallest, largest, is_tight = pairs.feasible_range(N_POINTS)
        assert is_tight and largest == N_POINTS
        assert pairs.feasibility(smallest, N_POINTS).status == "feasible"
        if 1 < smallest <= 4:
            assert not colourable(pairs, smallest - 1)

    def test_hidden_clusters_of_many_points_are_found(self):
        labels = np.random.default_rng(0).integers(6, size=400)
        pairs = Constraints.sample(labels, 3000, random_state=0)
        found = pairs.feasibility(6, 400)
        assert found.status == "feasible"
        assert pairs.score(found.colouring) == 1

    def test_wrong_numbers_are_named(self):
        with pytest.raises(ValueError, match="n_clusters = 0"):
            Constraints().feasibility(0, 3)
        with pytest.raises(ValueError, match="n_samples = 0"):
            Constraints().feasible_range(0)
        with pytest.raises(InconsistentConstraintsError):
            Constraints([(0, 1)], [(0, 1)]).feasible_range(3)
