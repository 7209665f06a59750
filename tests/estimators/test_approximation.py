"""Kernels with landmarks, working sets, and equal rows as one (section 6)."""

import logging
import pickle
import warnings
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans

import linkwise.estimators._blocks as blocks
import linkwise.estimators._kernel_problem as kernel_problem
from linkwise import (
    Constraints,
    KernelBank,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)
from linkwise.clustering import centres_of
from linkwise.estimators._clustering import best_on_all_rows
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import (
    RBF,
    Laplacian,
    Linear,
    PairKernel,
    Precomputed,
    Standardized,
    gram_seconds,
    landmark_seconds,
)

HOWS = ["exact", "landmarks", "working_set", "nystroem"]
APART = HOWS[1:]
KERNELS = [Linear(), RBF(0.05), Laplacian(0.1), (Standardized(), Linear())]
quick = settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Some of the problems are hopeless on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The chosen clusters are hardly")


def model(how="landmarks", n_clusters=3, kind=KernelCSC, **options):
    """Return an estimator with few landmarks and a small working set."""
    defaults = {"n_landmarks": 25, "working_rows": 30, "random_state": 0}
    if kind is KernelCSC:
        defaults |= {"kernels": "paper", "n_candidates": 12, "search": "random"}
    return kind(n_clusters, approximation=how, **(defaults | options))


def working_sets(monkeypatch):
    """Return a list to which every working set of a fit is added."""
    made = []
    original = kernel_problem.working_set

    def spy(*args, **options):
        made.append(original(*args, **options))
        return made[-1]

    monkeypatch.setattr(kernel_problem, "working_set", spy)
    return made


def brute_force(pairs, labels):
    """Return R and the number of broken pairs, from the pairs and all they entail."""
    n = len(labels)
    group = np.arange(n)
    for a, b in pairs.must_link:
        group[group == group[b]] = group[a]
    broken = total = 0
    apart = {frozenset((group[a], group[b])) for a, b in pairs.cannot_link}
    for i, j in combinations(range(n), 2):
        if group[i] == group[j]:
            total += 1
            broken += labels[i] != labels[j]
        elif frozenset((group[i], group[j])) in apart:
            total += 1
            broken += labels[i] == labels[j]
    return 1.0 - broken / total, broken


def with_copies(X, y, seed=0, n_copies=40, n_pairs=40):
    """Return rows with copies of some in random order, and pairs between all."""
    rng = np.random.default_rng(seed)
    source = rng.permutation(np.r_[np.arange(len(X)), rng.choice(len(X), n_copies)])
    return X[source], y[source], Constraints.sample(y[source], n_pairs, random_state=0)


class TestAllRowsAsLandmarks:
    @pytest.mark.parametrize("spread", [0.5, 3.0])
    @pytest.mark.parametrize("seed", range(2))
    def test_the_result_is_that_of_exact_kernels(self, make_problem, spread, seed):
        X, _, pairs = make_problem(seed, spread=spread)
        options = {"n_landmarks": 500, "random_state": seed, "n_candidates": 40}
        options["kernels"] = "rich" if seed == 0 else "paper"
        exact, other = (
            model(how, **options).fit(X, constraints=pairs)
            for how in ("exact", "landmarks")
        )
        assert exact.kernel_names_ == other.kernel_names_
        assert_array_equal(exact.labels_, other.labels_)
        assert_array_equal(exact.kernel_weights_, other.kernel_weights_)
        assert_array_equal(exact.history_["score"], other.history_["score"])
        np.testing.assert_allclose(
            exact.history_["objective"], other.history_["objective"], rtol=1e-4
        )
        assert exact.constraint_score_ == other.constraint_score_
        assert exact.objective_ == pytest.approx(other.objective_, rel=1e-4)
        assert exact.stopped_by_ == other.stopped_by_
        new = make_problem(seed + 100, spread=spread).X
        assert_array_equal(exact.predict(new), other.predict(new))

    @pytest.mark.parametrize("how", ["working_set", "nystroem"])
    def test_so_is_that_of_the_other_ways(self, overlapping, how):
        X, _, pairs = overlapping
        options = {"n_landmarks": 500, "working_rows": 500, "kernels": KERNELS}
        exact, other = (
            model(h, **options).fit(X, constraints=pairs) for h in ("exact", how)
        )
        assert_array_equal(exact.labels_, other.labels_)
        assert_array_equal(exact.kernel_weights_, other.kernel_weights_)
        assert_array_equal(exact.history_["score"], other.history_["score"])

    @pytest.mark.parametrize("cv", [0, 3])
    def test_so_is_the_single_kernel(self, overlapping, cv):
        X, _, pairs = overlapping
        exact, other = (
            model(how, kind=SingleKernelCSC, cv=cv, n_landmarks=500).fit(
                X, constraints=pairs
            )
            for how in ("exact", "landmarks")
        )
        assert_array_equal(exact.labels_, other.labels_)
        assert_array_equal(exact.kernel_weights_, other.kernel_weights_)
        assert_array_equal(exact.history_["score"], other.history_["score"])

    @pytest.mark.parametrize("final_step", ["soft", "hard"])
    def test_so_are_final_steps(self, overlapping, final_step):
        X, _, pairs = overlapping
        exact, other = (
            model(how, n_landmarks=500, final_step=final_step).fit(X, constraints=pairs)
            for how in ("exact", "landmarks")
        )
        assert_array_equal(exact.labels_, other.labels_)

    def test_sample_weights_count(self, overlapping):
        X, _, pairs = overlapping
        weight = np.random.default_rng(0).uniform(0.2, 5.0, len(X))
        exact, other = (
            model(how, n_landmarks=500).fit(X, constraints=pairs, sample_weight=weight)
            for how in ("exact", "landmarks")
        )
        assert_array_equal(exact.labels_, other.labels_)
        assert_array_equal(exact.history_["score"], other.history_["score"])


class TestEqualRows:
    @pytest.mark.parametrize("how", ["landmarks", "nystroem"])
    @pytest.mark.parametrize("seed", range(3))
    def test_without_pairs_they_are_one_row_with_their_number_as_weight(
        self, overlapping, how, seed
    ):
        X, _, pairs = with_copies(*overlapping[:2], seed, n_copies=80, n_pairs=12)
        seen, rank, first = {}, np.empty(len(X), dtype=int), []
        linked = set(np.asarray(pairs.points).tolist())
        for i, row in enumerate(X):
            key = i if i in linked else row.tobytes()
            if key not in seen:
                seen[key] = len(seen)
                first.append(i)
            rank[i] = seen[key]
        times = np.bincount(rank).astype(np.float64)
        assert len(linked) < len(first) < len(X)
        many = model(how).fit(X, constraints=pairs)
        few = model(how).fit(
            X[first],
            constraints=Constraints(rank[pairs.must_link], rank[pairs.cannot_link]),
            sample_weight=times,
        )
        columns = [c for c in many.history_ if c != "seconds"]
        assert_array_equal(many.history_[columns], few.history_[columns])
        assert_array_equal(many.labels_, few.labels_[rank])
        assert many.constraint_score_ == few.constraint_score_

    @pytest.mark.parametrize("how", APART)
    def test_they_are_never_parted(self, overlapping, how):
        X, y, pairs = with_copies(*overlapping[:2])
        labels = model(how).fit(X, constraints=pairs).labels_
        _, group = np.unique(X, axis=0, return_inverse=True)
        for g in range(group.max() + 1):
            assert len(set(labels[group.ravel() == g])) == 1

    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_the_score_counts_pairs_as_given(self, overlapping, how, kind):
        X, y, pairs = with_copies(*overlapping[:2])
        fitted = model(how, kind=kind).fit(X, constraints=pairs)
        score, n_broken = brute_force(pairs, fitted.labels_)
        assert fitted.constraint_score_ == pytest.approx(score, abs=1e-12)
        assert fitted.n_violated_ == n_broken
        # Working sets are clustered once more, and a committee scores otherwise.
        if how != "working_set" and kind is SingleKernelCSC:
            assert fitted.history_["score"].max() == pytest.approx(score, abs=1e-12)

    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize(
        "pairs",
        [
            Constraints([], [(0, 72)]),
            Constraints([(0, 72)], []),
            Constraints([(0, 1)], [(0, 72), (2, 74)]),
            Constraints([(0, 1), (72, 2)], [(1, 2)]),
            Constraints([(0, 1), (72, 2), (74, 3)], [(1, 75), (3, 4)]),
        ],
    )
    @pytest.mark.parametrize("final_step", [None, "soft"])
    def test_contradictions_through_copies_are_broken_pairs(
        self, overlapping, how, pairs, final_step
    ):
        X = np.concatenate([overlapping.X, overlapping.X[:30]])
        fitted = model(how, kernels=KERNELS, final_step=final_step)
        fitted.fit(X, constraints=pairs)
        score, n_broken = brute_force(pairs, fitted.labels_)
        assert fitted.constraint_score_ == pytest.approx(score, abs=1e-12)
        assert fitted.n_violated_ == n_broken

    @pytest.mark.parametrize("how", HOWS)
    @pytest.mark.parametrize("cv", [2, 3])
    def test_pairs_between_copies_can_be_held_out(self, overlapping, how, cv):
        X = np.concatenate([overlapping.X, overlapping.X[:30]])
        pairs = Constraints([(3, 75), (4, 76), (5, 77)], [(0, 72), (1, 73), (2, 74)])
        fitted = model(how, kind=SingleKernelCSC, cv=cv, kernels=KERNELS)
        fitted.fit(X, constraints=pairs)
        # Copies stay together whatever the kernel.
        assert fitted.n_violated_ == 3

    @pytest.mark.parametrize("how", HOWS)
    def test_the_hard_step_parts_them_where_pairs_ask_for_it(self, overlapping, how):
        X = np.concatenate([overlapping.X, overlapping.X[:30]])
        for pairs, k in [
            (Constraints([(0, 1)], [(0, 72), (2, 74)]), 3),
            (Constraints([(0, 1), (72, 2)], [(1, 2)]), 2),
            # As rows this is a path, as groups of equal rows a triangle.
            (Constraints([], [(0, 1), (1, 2), (2, 72), (73, 74)]), 2),
        ]:
            fitted = model(how, k, kernels=KERNELS, final_step="hard")
            assert fitted.fit(X, constraints=pairs).n_violated_ == 0
            assert brute_force(pairs, fitted.labels_) == (1.0, 0)

    @pytest.mark.parametrize("how", HOWS)
    @pytest.mark.parametrize("k", [5, 6, 15])
    def test_more_clusters_than_distinct_rows(self, overlapping, how, k):
        X = np.tile(overlapping.X[:5], (3, 1))
        fitted = model(how, k, kernels=KERNELS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)  # fewer groups than k
            fitted.fit(X, constraints=Constraints([(0, 1)], [(0, 2)]))
        assert_array_equal(np.unique(fitted.labels_), np.arange(k))

    @pytest.mark.parametrize("how", HOWS)
    def test_rows_that_are_all_equal_are_an_error(self, how):
        with pytest.raises(ValueError, match="tells the rows of X apart"):
            model(how).fit(np.ones((20, 2)), constraints=([(0, 1)], [(0, 2)]))

    def test_both_zeros_are_equal(self, monkeypatch, overlapping):
        made = working_sets(monkeypatch)
        X = overlapping.X.copy()
        X[0], X[1] = 0.0, -0.0
        model(kernels=KERNELS).fit(X, constraints=([(5, 6)], [(7, 8)]))
        assert len(made[0].rows) == len(X) - 1
        assert made[0].weight[0] == 2.0


class TestWorkingSet:
    @quick
    @given(seed=st.integers(0, 10**6), rows=st.integers(1, 60), weighted=st.booleans())
    def test_it_has_all_rows_with_pairs_and_stands_for_all(self, seed, rows, weighted):
        rng = np.random.default_rng(seed)
        n = 70
        X = np.round(rng.normal(size=(n, 2)), 1)  # some are equal
        y = (X[:, 0] > 0).astype(int)
        pairs = Constraints.sample(y, int(rng.integers(1, 12)), random_state=seed)
        weight = rng.uniform(0.5, 4.0, n) if weighted else None
        with pytest.MonkeyPatch.context() as patch:
            made = working_sets(patch)
            fitted = model("working_set", 2, kernels=KERNELS, working_rows=rows)
            fitted.set_params(n_candidates=3)
            fitted.fit(X, constraints=pairs, sample_weight=weight)
        (work,) = made
        linked = np.asarray(pairs.points)
        total = n if weight is None else weight.sum()
        assert work.weight.sum() == pytest.approx(total)
        assert_array_equal(work.data, X[work.rows])
        free = work.data[~np.isin(work.rows, linked)]
        assert len(np.unique(free, axis=0)) == len(free)
        assert set(linked) <= set(work.rows)
        n_chosen = min(n, len(linked) + max(rows, 2))
        assert len(work.rows) <= n_chosen + 2 * X.shape[1]  # extreme rows
        assert (work.stands_for is not None) == (n_chosen == n)
        if work.stands_for is not None:
            assert_array_equal(work.data[work.stands_for], X)
        score, n_broken = brute_force(pairs, fitted.labels_)
        assert fitted.constraint_score_ == pytest.approx(score, abs=1e-12)
        assert fitted.n_violated_ == n_broken
        assert_array_equal(fitted.predict(X), fitted.labels_)

    def test_rows_drawn_share_the_weight_of_those_left_out(
        self, monkeypatch, overlapping
    ):
        X, _, _ = overlapping
        made = working_sets(monkeypatch)
        pairs = Constraints([(3, 50)], [(3, 7)])
        weight = np.linspace(1.0, 2.0, len(X))
        model("working_set", kernels=KERNELS, working_rows=20).fit(
            X, constraints=pairs, sample_weight=weight
        )
        (work,) = made
        # Rows with pairs, and those with an extreme value, stand for themselves.
        alone = np.unique([3, 7, 50, *X.argmin(axis=0), *X.argmax(axis=0)])
        own = np.isin(work.rows, alone)
        assert own.sum() == len(alone) and len(work.rows) == 20 + len(alone)
        np.testing.assert_allclose(work.weight[own], weight[alone])
        ratio = work.weight[~own] / weight[work.rows[~own]]
        np.testing.assert_allclose(ratio, ratio[0])
        assert work.weight.sum() == pytest.approx(weight.sum())

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_separated_clusters_are_found(self, make_problem, kind):
        X, y, pairs = make_problem(spread=0.4, sizes=(300, 200, 100), n_pairs=20)
        fitted = model("working_set", kind=kind).fit(X, constraints=pairs)
        assert fitted.approximation_ == "working_set"
        assert fitted.constraint_score_ == 1.0
        for c in range(3):
            assert len(set(fitted.labels_[y == c])) == 1
        assert_array_equal(fitted.predict(X), fitted.labels_)

    def test_a_mapped_file_is_as_good(self, tmp_path, overlapping):
        X, _, pairs = overlapping
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        a, b = (
            model("working_set", kernels="paper").fit(data, constraints=pairs)
            for data in (X, mapped)
        )
        assert_array_equal(a.labels_, b.labels_)
        assert_array_equal(b.predict(mapped), b.labels_)

    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_jobs_change_nothing(self, overlapping, how, kind, monkeypatch):
        monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 16)
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        one, two = (
            model(how, kind=kind, n_jobs=n, working_rows=20).fit(X, constraints=pairs)
            for n in (1, 2)
        )
        assert_array_equal(one.labels_, two.labels_)
        assert_array_equal(one.kernel_weights_, two.kernel_weights_)
        columns = [c for c in one.history_ if c != "seconds"]
        assert_array_equal(one.history_[columns], two.history_[columns])
        assert_array_equal(one._row_shares, two._row_shares)
        assert_array_equal(one._centre_norms, two._centre_norms)

    def test_the_size_of_blocks_does_not_matter(self, overlapping, monkeypatch):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        found = []
        for size in (4096, 50, 7, 1):
            monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", size)
            fitted = model("working_set", kernels="rich")
            found.append(fitted.fit(X, constraints=pairs))
        for other in found[1:]:
            assert_array_equal(other.labels_, found[0].labels_)
            assert other.n_iter_ == found[0].n_iter_

    def test_rows_that_are_not_kept_give_the_same_labels(
        self, overlapping, monkeypatch
    ):
        X, y, _ = overlapping
        y = np.tile(y, 12)
        X = np.tile(X, (12, 1)) + 1e-3 * np.arange(len(y))[:, None]
        pairs = Constraints.sample(y, 10, random_state=0)
        monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 10)
        kept = []
        original = blocks._Rows.__init__

        def spy(self, *args):
            original(self, *args)
            kept.append(self._kept is not None)

        monkeypatch.setattr(blocks._Rows, "__init__", spy)
        options = {"kernels": KERNELS[:2], "filter": "none", "n_landmarks": 20}
        options["working_rows"] = 10
        # Enough for two kernels on the working set, but half of it not for all rows.
        small = 130_000
        assert small / 2 < 4 * 20 * len(X)
        a, b = (
            model("working_set", max_memory=memory, **options).fit(X, constraints=pairs)
            for memory in ("1GiB", small)
        )
        assert_array_equal(a.labels_, b.labels_)
        # Each once or more: the next best candidates may be tried too.
        half = len(kept) // 2
        assert kept == [True] * half + [False] * half and half

    def test_fewer_working_rows_than_clusters(self, overlapping):
        X, _, _ = overlapping
        fitted = model("working_set", 8, working_rows=1, kernels=KERNELS)
        fitted.fit(X, constraints=Constraints([(0, 1)], [(0, 2)]))
        assert_array_equal(np.unique(fitted.labels_), np.arange(8))

    def test_passes_are_reported(self, overlapping):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        fitted = model("working_set").fit(X, constraints=pairs)
        assert fitted.converged_ and fitted.n_iter_ >= 2

    @pytest.mark.parametrize("seed", range(3))
    def test_all_rows_are_clustered_until_little_is_gained(self, make_problem, seed):
        X, _, pairs = make_problem(seed, spread=3.0, sizes=(300, 300, 300))
        few = Constraints(pairs.must_link[:3], pairs.cannot_link[:3])
        options = {"kernels": [Linear()], "working_rows": 5, "random_state": seed}
        fitted = model("working_set", **options).fit(X, constraints=few)
        assert fitted.converged_ and fitted.n_iter_ > 2
        centres = np.stack([X[fitted.labels_ == c].mean(axis=0) for c in range(3)])
        further = KMeans(3, init=centres, n_init=1).fit(X)
        squares = ((X - centres[fitted.labels_]) ** 2).sum()
        assert squares < 1.01 * further.inertia_


class TestEveryClusterHasRows:
    """Rows that stand for others have left some clusters without any."""

    @staticmethod
    def few_different_rows(seed, n_values):
        rng = np.random.default_rng(seed)
        X = rng.integers(n_values, size=(200, 2)).astype(float)
        y = rng.integers(12, size=200)
        return X, Constraints.sample(y, int(rng.integers(3, 40)), random_state=seed)

    @pytest.mark.parametrize("final_step", [None, "soft"])
    @pytest.mark.parametrize("n_values", [2, 3, 100])
    @pytest.mark.parametrize("seed", range(2))
    def test_few_different_rows(self, seed, n_values, final_step):
        X, pairs = self.few_different_rows(seed, n_values)
        fitted = model(
            "working_set", 12, kernels=KERNELS, final_step=final_step, n_candidates=5
        )
        fitted.fit(X, constraints=pairs)
        assert_array_equal(np.unique(fitted.labels_), np.arange(12))
        assert fitted.n_violated_ == brute_force(pairs, fitted.labels_)[1]

    @pytest.mark.parametrize("kind", [SingleKernelCSC, MahalanobisCSC])
    @pytest.mark.parametrize("n_values", [2, 3])
    def test_other_estimators(self, kind, n_values):
        X, pairs = self.few_different_rows(0, n_values)
        options = {"working_rows": 20, "random_state": 0}
        fitted = kind(12, approximation="working_set", **options)
        fitted.fit(X, constraints=pairs)
        assert_array_equal(np.unique(fitted.labels_), np.arange(12))
        assert fitted.n_violated_ == brute_force(pairs, fitted.labels_)[1]

    @quick
    @given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
    def test_centres_that_attract_nothing_begin_anew(self, seed, k):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 2))
        places = np.full((k, 2), 100.0) + np.arange(k)[:, None]
        places[0] = 0.0
        core = np.empty((0, 0))
        given = SimpleNamespace(data=X, sample_weight=None)
        settings = SimpleNamespace(max_iter=100, n_jobs=None)
        result, labels_by = blocks.cluster_all_rows(
            settings, given, lambda rows: rows, _at(places), core, 2**30
        )
        labels = labels_by(result.centres)
        assert_array_equal(np.unique(labels), np.arange(k))
        # They are centres like others: each row is at the nearest one.
        assert_array_equal(labels, result.centres.labels(X))
        assert not np.isnan(result.means).any()

    @quick
    @given(seed=st.integers(0, 10**6))
    def test_rows_are_taken_where_they_are_not_alone(self, seed):
        rng = np.random.default_rng(seed)
        k, n = int(rng.integers(1, 8)), 20
        labels = rng.integers(int(rng.integers(1, k + 1)), size=n)
        rows = np.sort(rng.choice(n, k, replace=False))
        own, before = rng.permutation(k), labels.copy()
        work = SimpleNamespace(rows=rows)
        after = blocks.with_all_clusters(labels, k, work, own)
        assert_array_equal(np.unique(after), np.arange(k))
        n_empty = k - len(np.unique(before))
        assert np.count_nonzero(after != before) == n_empty


def _at(places):
    return centres_of(places, np.ones(len(places)), np.empty((0, 0)))


class TestFinalSteps:
    @pytest.mark.parametrize("how", HOWS)
    @pytest.mark.parametrize("final_step", ["soft", "hard"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_pairs_hold(self, overlapping, how, final_step, weighted):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 30, random_state=1)
        weight = np.linspace(0.5, 3.0, len(X)) if weighted else None
        fitted = model(how, final_step=final_step, working_rows=15)
        fitted.fit(X, constraints=pairs, sample_weight=weight)
        score, n_broken = brute_force(pairs, fitted.labels_)
        assert fitted.constraint_score_ == pytest.approx(score, abs=1e-12)
        assert fitted.n_violated_ == n_broken
        if final_step == "hard":
            assert n_broken == 0
        assert_array_equal(np.unique(fitted.labels_), np.arange(3))

    @pytest.mark.parametrize("how", APART)
    def test_copies_of_rows_with_pairs_keep_them(self, overlapping, how):
        X, y, pairs = with_copies(*overlapping[:2], n_pairs=60)
        fitted = model(how, final_step="hard", working_rows=10)
        fitted.fit(X, constraints=pairs)
        assert fitted.n_violated_ == brute_force(pairs, fitted.labels_)[1] == 0


class TestInput:
    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize("rows", [10, 500])
    def test_partial_labels_are_pairs(self, overlapping, how, rows):
        X, y, _ = overlapping
        partial = np.where(np.arange(len(y)) < 15, y, -1)
        a = model(how, working_rows=rows).fit(X, partial)
        pairs = Constraints.from_labels(partial)
        b = model(how, working_rows=rows).fit(X, constraints=pairs)
        assert_array_equal(a.labels_, b.labels_)
        assert a.constraint_score_ == pytest.approx(brute_force(pairs, a.labels_)[0])

    @pytest.mark.parametrize("how", APART)
    def test_frames_and_ids_are_as_good_as_arrays(self, overlapping, how):
        X, _, pairs = overlapping
        names = np.array([f"row {i}" for i in range(len(X))])
        named = Constraints(names[pairs.must_link], names[pairs.cannot_link])
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        a = model(how).fit(X, constraints=pairs)
        b = model(how).fit(frame, constraints=named, sample_id=names)
        assert_array_equal(a.labels_, b.labels_)
        assert_array_equal(b.predict(frame), a.predict(X))
        assert list(b.feature_names_in_) == ["a", "b", "c"]

    @pytest.mark.parametrize("how", APART)
    def test_sparse_data_are_as_good_as_dense_ones(self, overlapping, how):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        a, b = (
            model(how, kernels=KERNELS, filter="none").fit(data, constraints=pairs)
            for data in (X, csr_array(X))
        )
        assert_array_equal(a.labels_, b.labels_)
        assert_array_equal(b.predict(csr_array(X)), a.predict(X))

    @pytest.mark.parametrize("how", HOWS)
    @pytest.mark.parametrize("container", [list, np.array, tuple])
    @pytest.mark.parametrize("n_pairs", [0, 12])
    def test_objects(self, how, container, n_pairs):
        rng = np.random.default_rng(0)
        y = rng.integers(2, size=60)
        letters = ["abc", "xyz"]
        words = ["".join(rng.choice(list(letters[c] + "mno"), 5)) for c in y]

        def shared(a, b):
            return float(sum(a.count(c) * b.count(c) for c in "abcxyzmno"))

        kernels = [PairKernel(shared)]
        pairs = Constraints.sample(y, n_pairs, random_state=0) if n_pairs else None
        fitted = model(how, 2, kernels=kernels, filter="none", working_rows=20)
        if pairs is None:
            with pytest.warns(ConstraintWarning, match="no constraints"):
                fitted.fit(container(words))
        else:
            fitted.fit(container(words), constraints=pairs)
        assert_array_equal(np.unique(fitted.labels_), [0, 1])
        assert fitted.predict(container(words[:7])).shape == (7,)

    @pytest.mark.parametrize("how", HOWS)
    def test_several_views(self, overlapping, how):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        views = [X[:, :2], csr_array(X[:, 1:])]
        fitted = model(how, kernels=KERNELS, filter="none")
        fitted.fit(views, constraints=pairs)
        assert len(fitted.kernel_names_) == 2 * len(KERNELS)
        assert len(fitted.labels_) == len(X)
        if how != "exact":
            again = fitted.predict(views)
            assert np.mean(again == fitted.labels_) > 0.95

    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize("pairs", [([(0, 1)], []), ([], [(0, 1)])])
    def test_one_pair(self, overlapping, how, pairs):
        X, _, _ = overlapping
        fitted = model(how).fit(X, constraints=pairs)
        assert_array_equal(np.unique(fitted.labels_), np.arange(3))
        broken = brute_force(Constraints(*pairs), fitted.labels_)[1]
        assert fitted.n_violated_ == broken

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_no_pairs(self, blobs, kind):
        X, y, _ = blobs
        for how in HOWS:
            fitted = model(how, kind=kind)
            with pytest.warns(ConstraintWarning, match="no constraints"):
                fitted.fit(X)
            assert np.isnan(fitted.constraint_score_) and fitted.n_violated_ == 0
            for c in range(3):
                assert len(set(fitted.labels_[y == c])) == 1

    @pytest.mark.parametrize("how", APART)
    def test_given_matrices_cannot_be_approximated(self, overlapping, how):
        X, _, pairs = overlapping
        gram = X @ X.T
        for data, kernels in [
            (gram, "precomputed"),
            (X, [RBF(0.1), gram]),
            (X, [Precomputed(gram)]),
            (X, KernelBank.build(X)),
        ]:
            message = f"approximation='{how}' needs kernels that can be computed"
            with pytest.raises(ValueError, match=message):
                model(how, kernels=kernels).fit(data, constraints=pairs)
            for other in ("auto", "exact"):
                fitted = model(other, kernels=kernels).fit(data, constraints=pairs)
                assert fitted.approximation_ == "exact"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"approximation": "none"},
            {"approximation": None},
            {"n_landmarks": 0},
            {"n_landmarks": 2.5},
            {"working_rows": 0},
            {"working_rows": "all"},
        ],
    )
    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_wrong_parameters_are_named(self, overlapping, wrong, kind):
        X, _, pairs = overlapping
        (name,) = wrong
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            kind(3, **wrong).fit(X, constraints=pairs)

    def test_too_little_memory_is_an_error_that_says_so(self, overlapping):
        X, _, pairs = overlapping
        for how in APART:
            with pytest.raises(MemoryError, match="Raise max_memory, or lower n_land"):
                model(how, max_memory=1000).fit(X, constraints=pairs)


class TestAuto:
    def choice(self, caplog, X, pairs, **options):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="linkwise"):
            fitted = KernelCSC(
                3, n_candidates=3, search="random", kernels=KERNELS, **options
            ).fit(X, constraints=pairs)
        (record,) = [r for r in caplog.records if "approximation=" in r.getMessage()]
        assert record.name == "linkwise" and record.levelno == logging.INFO
        assert f"approximation='{fitted.approximation_}'" in record.getMessage()
        return fitted.approximation_, record.getMessage()

    def test_small_data_have_exact_kernels(self, caplog, overlapping):
        how, why = self.choice(caplog, overlapping.X, overlapping.pairs)
        assert how == "exact"
        assert "72 rows" in why and "by formula" in why

    def test_exact_kernels_are_preferred_while_a_candidate_costs_little(
        self, caplog, make_problem
    ):
        X, _, pairs = make_problem(sizes=(400, 400, 400))
        assert 10 * landmark_seconds(1200, 10, 3) < gram_seconds(1200) < 0.05
        assert self.choice(caplog, X, pairs, n_landmarks=10)[0] == "exact"

    def test_many_rows_have_landmarks_then_a_working_set(self, caplog, make_problem):
        X, _, pairs = make_problem(sizes=(1700, 1700, 1700))
        options = {"n_landmarks": 10}
        assert self.choice(caplog, X, pairs, **options)[0] == "landmarks"
        how, why = self.choice(caplog, X, pairs, working_rows=100, **options)
        assert how == "working_set"
        assert "working_rows=100" in why

    def test_little_memory_asks_for_landmarks(self, caplog, make_problem):
        X, _, pairs = make_problem(sizes=(200, 200, 200))
        assert self.choice(caplog, X, pairs)[0] == "exact"
        how, why = self.choice(caplog, X, pairs, max_memory="5MiB", n_landmarks=20)
        assert how == "landmarks"
        assert "more than max_memory" in why

    def test_what_is_asked_for_is_not_logged(self, caplog, overlapping):
        X, _, pairs = overlapping
        with caplog.at_level(logging.INFO, logger="linkwise"):
            model("landmarks").fit(X, constraints=pairs)
        assert not [r for r in caplog.records if "approximation=" in r.getMessage()]


class TestState:
    @pytest.mark.parametrize("how", APART)
    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_a_fit_can_be_repeated(self, overlapping, how, kind):
        X, _, pairs = overlapping
        fitted = model(how, kind=kind)
        before = fitted.get_params()
        once = fitted.fit(X, constraints=pairs).labels_
        assert fitted.get_params() == before
        again = clone(fitted).fit(X, constraints=pairs).labels_
        assert_array_equal(once, again)
        assert_array_equal(once, fitted.fit(X, constraints=pairs).labels_)

    @pytest.mark.parametrize("how", APART)
    def test_a_pickled_model_predicts(self, overlapping, how, new_rows):
        X, _, pairs = overlapping
        fitted = model(how).fit(X, constraints=pairs)
        copy = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(copy.predict(new_rows), fitted.predict(new_rows))
        assert_array_equal(copy.labels_, fitted.labels_)

    def test_a_model_keeps_landmarks_and_not_all_rows(self, make_problem):
        X, _, pairs = make_problem(sizes=(500, 500, 500))
        sizes = [
            len(pickle.dumps(model(how, kernels=KERNELS).fit(X, constraints=pairs)))
            for how in ("exact", "landmarks")
        ]
        labels = 8 * len(X)
        assert sizes[1] - labels < (sizes[0] - labels) / 2

    @pytest.mark.parametrize("how", ["landmarks", "nystroem"])
    def test_training_rows_get_their_labels_back(self, blobs, how):
        X, _, pairs = blobs
        fitted = model(how).fit(X, constraints=pairs)
        assert_array_equal(fitted.predict(X), fitted.labels_)

    @pytest.mark.parametrize("how", APART)
    def test_the_seed_draws_landmarks_and_working_rows(self, overlapping, how):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 10, random_state=0)
        objectives = {
            model(how, n_landmarks=8, random_state=seed)
            .fit(X, constraints=pairs)
            .objective_
            for seed in range(3)
        }
        assert len(objectives) == 3


class TestFinalists:
    """What a working set promises is judged once more on all rows."""

    def run(self, promised, kept, best=0):
        """Return the candidates that were clustered, and the one that was taken."""
        tried = []

        def cluster(weights):
            tried.append(weights)
            return SimpleNamespace(taken=weights, reward=kept[weights])

        trials = [SimpleNamespace(score=s, weights=i) for i, s in enumerate(promised)]
        return tried, best_on_all_rows(cluster, trials, best).taken

    def test_the_best_is_taken_if_it_keeps_its_promise(self):
        assert self.run([0.8, 0.9, 0.7], [0, 0.895, 0], best=1) == ([1], 1)

    def test_others_are_tried_if_it_does_not(self):
        assert self.run([0.9, 0.88, 0.7], [0.5, 0.87, 0]) == ([0, 1], 1)

    def test_the_best_of_the_finalists_is_taken_if_none_keeps_its_promise(self):
        tried, taken = self.run([0.9] * 8, [0.1, 0.2, 0.6, 0.3, 0.4, 0.9, 0.9, 0.9])
        assert (tried, taken) == ([0, 1, 2, 3, 4], 2)

    def test_one_candidate_is_enough(self):
        assert self.run([0.9], [0.1]) == ([0], 0)

    def test_without_a_second_judgement_the_best_of_the_search_is_taken(self):
        trials = [SimpleNamespace(score=s, weights=i) for i, s in enumerate([0.9, 0.8])]

        def cluster(weights):
            return SimpleNamespace(taken=weights, reward=None)

        assert best_on_all_rows(cluster, trials, 1).taken == 1
