"""A mixture on the sphere that learns from answers, and the rows that it sees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linkwise.clustering import (
    Mixture,
    MixtureSettings,
    UnitRows,
    Votes,
    directions_of,
    fit_mixture,
    with_logistic,
)
from linkwise.kernels import Known

SEEDS = st.integers(0, 10**6)
quick = settings(deadline=None, max_examples=25)


def draw_rows(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def draw_votes(seed, n=40, k=3, n_known=8):
    rng = np.random.default_rng(seed + 1)
    rows = rng.permutation(n)[:n_known]
    return Votes(rows, rng.choice([-4.0, 0.0, 4.0], size=(n_known, k)))


def plain_step(mixture, rows, votes, is_sure, multiplicity, settings):
    """One step of expectation and maximisation, row by row."""
    k = len(mixture.centres)
    known = {row: place for place, row in enumerate(votes.rows.tolist())}
    sums_of_others, sums_of_known = np.zeros((2, k, rows.shape[1]))
    others, shares = np.zeros((2, k))
    for i, row in enumerate(rows.astype(float)):
        logs = mixture.kappa * mixture.centres @ row + mixture.log_priors
        if i in known:
            logs = logs + votes.log_votes[known[i]]
        chances = np.exp(logs - logs.max())
        chances = multiplicity[i] * chances / chances.sum()
        shares = shares + chances
        if i in known:
            weight = settings.weight if is_sure[known[i]] else 1.0
            sums_of_known += weight * np.outer(chances, row)
        else:
            others += chances
            sums_of_others += np.outer(chances, row)
    scale = np.minimum(1.0, settings.cap / others)
    centres = scale[:, None] * sums_of_others + sums_of_known
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return centres, np.log((shares + 1) / (shares + 1).sum())


class TestMixture:
    def test_one_answer_moves_its_component_only(self):
        rows = np.array([[0, 1], [0, 1], [1, 0], [1, 0]], dtype=np.float32)
        votes = Votes(np.array([3]), np.array([[50.0, -50.0]]))
        one_step = MixtureSettings(n_iter=1)
        found = fit_mixture(rows, np.eye(2)[::-1], votes, settings=one_step)
        # Up: two rows of weight 1; the answered one points right and weighs 5.
        expected = np.array([5.0, 2.0]) / np.sqrt(29.0)
        assert found.centres[0] == pytest.approx(expected, abs=1e-3)
        assert found.centres[1] == pytest.approx([1.0, 0.0], abs=1e-3)

    @given(SEEDS)
    @quick
    def test_a_step_is_that_of_a_loop_over_rows(self, seed):
        rows, votes = draw_rows(seed), draw_votes(seed)
        rng = np.random.default_rng(seed)
        is_sure = rng.random(8) < 0.5
        multiplicity = rng.integers(1, 4, size=40).astype(float)
        own = MixtureSettings(kappa=8.0, cap=9.0, n_iter=1)
        start = rows[:3]
        even = np.full(3, -np.log(3.0))
        centres, priors = plain_step(
            Mixture(start.astype(float), even, 8.0),
            rows,
            votes,
            is_sure,
            multiplicity,
            own,
        )
        found = fit_mixture(
            rows,
            start,
            votes,
            is_sure=is_sure,
            sample_weight=multiplicity,
            settings=own,
        )
        assert found.centres == pytest.approx(centres, abs=1e-4)
        assert found.log_priors == pytest.approx(priors, abs=1e-4)

    @given(SEEDS)
    @quick
    def test_probabilities_sum_to_one_and_components_can_be_renamed(self, seed):
        rows, votes = draw_rows(seed), draw_votes(seed)
        order = np.random.default_rng(seed).permutation(3)
        one = fit_mixture(rows, rows[:3], votes)
        other = fit_mixture(
            rows, rows[:3][order], Votes(votes.rows, votes.log_votes[:, order])
        )
        chances = one.posterior(rows)
        assert chances.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-5)
        assert other.posterior(rows) == pytest.approx(chances[:, order], abs=1e-2)

    @given(SEEDS)
    @quick
    def test_a_row_that_counts_twice_is_two_rows(self, seed):
        rows = draw_rows(seed)
        twice = np.concatenate([rows, rows[:10]])
        weight = np.where(np.arange(40) < 10, 2.0, 1.0)
        one = fit_mixture(rows, rows[:3], sample_weight=weight)
        other = fit_mixture(twice, rows[:3])
        assert one.centres == pytest.approx(other.centres, abs=1e-3)

    def test_other_rows_do_not_swamp_the_answers(self):
        rows = np.array([[1.0, 0.0]] * 300 + [[0.0, 1.0]] * 5, dtype=np.float32)
        votes = Votes(np.arange(300, 305), np.full((5, 1), 9.0))

        def centre(cap):
            own = MixtureSettings(cap=cap, weight=5.0)
            return fit_mixture(rows, np.eye(2)[:1], votes, settings=own).centres[0]

        # 25 against 300, and 25 against 25.
        assert centre(np.inf)[1] < 0.1
        assert centre(25.0) == pytest.approx(np.sqrt([0.5, 0.5]), abs=1e-3)

    def test_a_warm_start_that_is_at_rest_stays(self):
        rows, votes = draw_rows(3), draw_votes(3)
        own = MixtureSettings(n_iter=200)
        one = fit_mixture(rows, rows[:3], votes, settings=own)
        two = fit_mixture(rows, one.centres, votes, settings=own)
        assert two.posterior(rows) == pytest.approx(one.posterior(rows), abs=0.02)

    def test_centres_of_groups_leave_out_rows_without_one(self):
        rows = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
        found = directions_of(rows, np.array([1, 1, -1]), 3)
        expected = [[0, 0], np.sqrt([0.5, 0.5]), [0, 0]]
        assert found == pytest.approx(np.array(expected), abs=1e-6)


class TestLogisticRegression:
    @pytest.mark.parametrize("n_known", [2, 3])
    def test_it_has_half_of_the_say_on_components_with_answers(self, n_known):
        rows = draw_rows(0, n=60)
        mixture = fit_mixture(rows, rows[:4])
        labels = np.arange(30) % n_known
        both = with_logistic(mixture, rows[:30], labels)
        own, chances = mixture.posterior(rows), both.posterior(rows)
        assert chances.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
        assert chances[:, n_known:] == pytest.approx(own[:, n_known:], abs=1e-6)
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=10.0, max_iter=500, tol=1e-6)
        learnt = model.fit(rows[:30].astype(float), labels).predict_proba(rows)
        learnt *= own[:, :n_known].sum(axis=1, keepdims=True)
        expected = 0.5 * (own[:, :n_known] + learnt)
        assert chances[:, :n_known] == pytest.approx(expected, abs=0.02)

    def test_it_needs_three_rows_of_each_component(self):
        rows = draw_rows(0)
        mixture = fit_mixture(rows, rows[:3])
        few = np.array([0, 0, 0, 1, 1])
        assert with_logistic(mixture, rows[:5], few) is mixture
        assert with_logistic(mixture, rows[:5], np.zeros(5, int)) is mixture
        enough = np.array([0, 0, 0, 1, 1, 1])
        assert with_logistic(mixture, rows[:6], enough).logistic is not None


class TestUnitRows:
    @given(SEEDS)
    @quick
    def test_angles_between_centred_rows_are_kept(self, seed):
        rows = draw_rows(seed, n=30, d=6).astype(np.float64)
        centred = rows - rows.mean(axis=0)
        expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        found = UnitRows.fit(3.0 * rows)(3.0 * rows)
        assert found.dtype == np.float32
        assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-4)

    def test_more_columns_than_rows_give_the_same_angles(self):
        rows = draw_rows(1, n=10, d=30).astype(np.float64)
        centred = rows - rows.mean(axis=0)
        expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        found = UnitRows.fit(rows)(rows)
        assert found.shape == (10, 9)
        assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-4)

    def test_sparse_rows_are_seen_as_dense_ones_where_all_directions_are_kept(self):
        rows = np.abs(draw_rows(2, n=50, d=8)).astype(np.float64)
        rows[np.random.default_rng(0).random(rows.shape) < 0.5] = 0.0
        rows[:, 7] = 0.0
        dense, sparse = UnitRows.fit(rows)(rows), UnitRows.fit(csr_array(rows))
        found = sparse(csr_array(rows))
        assert found @ found.T == pytest.approx(dense @ dense.T, abs=1e-3)
        assert sparse(rows) == pytest.approx(found, abs=1e-5)

    def test_only_the_main_directions_are_kept(self):
        rows = draw_rows(4, n=100, d=20)
        assert UnitRows.fit(rows, n_components=7)(rows).shape == (100, 7)

    def test_a_row_is_placed_by_itself(self):
        rows = draw_rows(5, n=100, d=20)
        prepared = UnitRows.fit(rows)
        assert prepared(rows[3:4]) == pytest.approx(prepared(rows)[3:4], abs=1e-6)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_the_unit_of_a_row_does_not_matter(self, scale):
        rows = draw_rows(6).astype(np.float64)
        prepared = UnitRows.fit(rows)
        assert prepared(scale * rows) == pytest.approx(prepared(rows), abs=1e-5)

    def test_equal_rows_and_rows_of_zeros_are_no_error(self):
        rows = np.zeros((4, 3))
        assert not UnitRows.fit(rows)(rows).any()
        assert np.isfinite(UnitRows.fit(rows + 1.0)(rows)).all()

    def test_directions_inside_groups_shrink(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        # The first column tells the groups, the second is what rows of one differ in.
        rows = rng.normal(size=(60, 3)) * [0.1, 2.0, 0.1]
        rows[:, 0] += 2.0 * y - 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows.astype(np.float32)
        found = UnitRows.fit_within(rows, Known(y, 2))(rows)

        def inside(rows):
            return (rows @ rows.T)[y == 0][:, y == 0].mean()

        assert inside(rows) < 0.5 and inside(found) > 0.7

    def test_rows_without_groups_are_only_centred(self):
        rows = draw_rows(8)
        nobody = Known(np.full(40, -1), 2)
        centred = rows - rows.mean(axis=0)
        centred /= np.linalg.norm(centred, axis=1, keepdims=True)
        found = UnitRows.fit_within(rows, nobody)(rows)
        assert found == pytest.approx(centred, abs=1e-5)

    def test_weights_of_rows_are_multiplicities(self):
        rows = draw_rows(7)
        twice = np.concatenate([rows, rows[:10]])
        weight = np.where(np.arange(40) < 10, 2.0, 1.0)
        one = UnitRows.fit(rows, sample_weight=weight)(rows)
        other = UnitRows.fit(twice)(rows)
        assert one @ one.T == pytest.approx(other @ other.T, abs=1e-4)
