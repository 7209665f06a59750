"""KernelCSC with a committee: wrong pairs, doubts, the floor, honest starts."""

import pickle
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from linkwise import Constraints, ConstraintWarning, KernelBank, KernelCSC
from linkwise.clustering import kmeans
from linkwise.estimators import _committee
from linkwise.estimators._committee import (
    believed_closure,
    choose,
    committee_evaluator,
    committee_of,
    first_committee,
    n_members,
)
from linkwise.estimators._contradictions import contradict
from linkwise.exceptions import InconsistentConstraintsError
from linkwise.kernels import RBF, Known, Linear, Standardized
from linkwise.kernels._bank import Plain
from linkwise.search import Committee, Evaluator, GivenPairs, Starts, Trial


def flipped(pairs, n_wrong, seed=0):
    """Return pairs of which some are turned into the opposite, and which."""
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    is_must = np.arange(len(ends)) < pairs.n_must_link
    wrong = np.random.default_rng(seed).choice(len(ends), n_wrong, replace=False)
    is_must[wrong] ^= True
    return Constraints(ends[is_must], ends[~is_must]), set(map(tuple, ends[wrong]))


def small(n_clusters=3, **options):
    defaults = {"kernels": "paper", "n_candidates": 40, "random_state": 0}
    return KernelCSC(n_clusters, **(defaults | options))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = 4.0 * np.eye(3)[y] + rng.normal(size=(120, 3))
    return X, y, Constraints.sample(y, 300, random_state=0)


class TestWrongPairs:
    def test_they_are_named_and_do_little_harm(self, problem):
        X, y, pairs = problem
        given, wrong = flipped(pairs, 30)
        with pytest.warns(ConstraintWarning, match="contradict must-links: cannot"):
            model = small(kernels="rich").fit(X, constraints=given)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        found = set(map(tuple, model.disbelieved_[["i", "j"]].to_numpy()))
        assert len(found & wrong) >= 18 and len(found - wrong) <= 6
        assert model.disbelieved_["belief"].is_monotonic_increasing
        assert set(model.disbelieved_["kind"]) <= {"must-link", "cannot-link"}
        assert 0.05 <= model.noise_ <= 0.2

    def test_they_can_be_an_error_or_be_dropped(self, problem):
        X, y, pairs = problem
        given, _ = flipped(pairs, 30)
        with pytest.raises(InconsistentConstraintsError, match="contradict"):
            small(on_conflict="raise").fit(X, constraints=given)
        dropped = small(on_conflict="drop").fit(X, constraints=given)
        by_hand = small().fit(X, constraints=given.drop_conflicts())
        assert_array_equal(dropped.labels_, by_hand.labels_)

    def test_clean_pairs_are_all_believed(self, problem):
        X, _, pairs = problem
        model = small().fit(X, constraints=pairs)
        assert len(model.disbelieved_) == 0 and model.noise_ < 0.03

    @pytest.mark.parametrize("seed", range(3))
    def test_of_a_contradiction_at_least_one_pair_is_listed(self, problem, seed):
        X, y, _ = problem
        rows = np.random.default_rng(seed).choice(120, 3, replace=False)
        a, b, c = np.sort(rows)
        pairs = Constraints([(a, b), (b, c)], [(a, c)])
        with pytest.warns(ConstraintWarning, match="contradict must-links"):
            model = small().fit(X, constraints=pairs)
        assert 1 <= len(model.disbelieved_) < 3
        wrong = (y[[a, b, a]] == y[[b, c, c]]) != [True, True, False]
        least = model.disbelieved_.iloc[0]
        assert wrong[[(a, b), (b, c), (a, c)].index((least["i"], least["j"]))]

    def test_few_right_pairs_are_called_wrong_where_clusters_overlap(self):
        listed, shares = 0, []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            y = np.arange(200) % 5
            X = 2.0 * np.eye(5)[y] + rng.normal(size=(200, 5))
            pairs = Constraints.sample(y, 100, random_state=seed)
            model = small(5, kernels="rich", n_candidates=60).fit(X, constraints=pairs)
            listed += len(model.disbelieved_)
            shares.append(model.noise_)
        assert listed <= 8 and np.mean(shares) < 0.02

    @pytest.mark.filterwarnings("ignore:.*contradict must-links")
    def test_with_no_noise_pairs_are_facts(self, problem):
        X, _, pairs = problem
        given, _ = flipped(pairs, 30)
        model = small(noise=0).fit(X, constraints=given)
        assert len(model.disbelieved_) == 0 and model.noise_ == 0.0

    def test_their_share_may_be_told(self, problem):
        X, y, pairs = problem
        model = small(noise=0.1).fit(X, constraints=pairs)
        assert model.noise_ == 0.1
        assert adjusted_rand_score(y, model.labels_) > 0.9

    @pytest.mark.parametrize("noise", [-0.1, 0.5, 1, "much"])
    def test_a_wrong_share_is_an_error(self, problem, noise):
        X, _, pairs = problem
        with pytest.raises(ValueError, match="The 'noise' parameter"):
            small(noise=noise).fit(X, constraints=pairs)

    @pytest.mark.filterwarnings("ignore:.*contradict must-links")
    @pytest.mark.parametrize("how", ["landmarks", "working_set"])
    def test_rows_keep_their_numbers(self, problem, how):
        X, y, pairs = problem
        given, wrong = flipped(pairs, 30)
        model = small(approximation=how, n_landmarks=40, working_rows=30)
        model.fit(X, constraints=given)
        found = set(map(tuple, model.disbelieved_[["i", "j"]].to_numpy()))
        assert len(found & wrong) >= 18

    @pytest.mark.filterwarnings("ignore:.*contradict must-links")
    def test_the_number_of_jobs_changes_nothing(self, problem):
        X, _, pairs = problem
        given, _ = flipped(pairs, 30)
        one, two = (small(n_jobs=n).fit(X, constraints=given) for n in (1, 2))
        assert_array_equal(one.labels_, two.labels_)
        assert_array_equal(one.doubt_, two.doubt_)
        assert one.disbelieved_.equals(two.disbelieved_)


class TestContradictions:
    def brute_force(self, pairs, n, k):
        """Tell whether no labels in k clusters satisfy all pairs."""
        must, cannot = pairs.must_link, pairs.cannot_link
        for code in range(k**n):
            labels = np.array([code // k**i % k for i in range(n)])
            if (labels[must[:, 0]] == labels[must[:, 1]]).all():
                if (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all():
                    return False
        return True

    @pytest.mark.parametrize("seed", range(40))
    def test_two_clusters_see_all_of_them(self, seed):
        rng = np.random.default_rng(seed)
        every = np.array(list(combinations(range(6), 2)))
        chosen = every[rng.choice(len(every), 6, replace=False)]
        is_must = rng.random(6) < 0.3
        pairs = Constraints(chosen[is_must], chosen[~is_must])
        assert contradict(pairs, 2) == self.brute_force(pairs, 6, 2)

    def test_more_clusters_see_those_of_must_links(self):
        triangle = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
        assert contradict(triangle, 2) and not contradict(triangle, 3)
        assert contradict(Constraints([(0, 1), (1, 2)], [(0, 2)]), 5)


class TestDoubt:
    def test_rows_between_clusters_are_doubtful(self):
        rng = np.random.default_rng(0)
        y = np.arange(150) % 3
        X = 5.0 * np.eye(3)[y] + rng.normal(size=(150, 3))
        X[0] = X.mean(axis=0)
        pairs = Constraints.sample(y, 60, random_state=0, rows=np.arange(1, 150))
        model = small(n_candidates=100).fit(X, constraints=pairs)
        assert model.doubt_.shape == (150,)
        assert ((model.doubt_ >= 0) & (model.doubt_ <= 1)).all()
        assert model.doubt_[0] > np.quantile(model.doubt_, 0.9)

    def test_rows_outside_a_working_set_have_none(self, blobs):
        X, _, pairs = blobs
        model = small(approximation="working_set", working_rows=10, n_landmarks=15)
        model.fit(X, constraints=Constraints(pairs.must_link[:4]))
        assert 0 < np.isnan(model.doubt_).sum() < len(X)

    def test_without_a_committee_there_is_none(self, blobs):
        X, _, pairs = blobs
        model = small(selection="train").fit(X, constraints=pairs)
        assert model.doubt_ is None and len(model.disbelieved_) == 0
        with pytest.warns(ConstraintWarning, match="no constraints"):
            assert small().fit(X).doubt_ is None


def test_groups_are_made_of_pairs_that_are_rather_right():
    pairs = Constraints([(0, 1), (2, 3)], [(4, 5), (6, 7)])
    given = SimpleNamespace(pairs=pairs, closure=pairs.closure(8))
    beliefs = SimpleNamespace(must_link=np.r_[0.55, 0.45], cannot_link=np.r_[0.4, 0.6])
    closure = believed_closure(given, beliefs)
    assert closure.component[0] == closure.component[1]
    assert closure.component[2] != closure.component[3]
    assert len(closure.cannot_link) == 1


class TestJudgement:
    def evaluator(self, X, pairs, k, **options):
        n = len(X)
        bank = KernelBank.build(
            X, [RBF(1e4), (Standardized(), Linear())], filter="none"
        )
        starts = Starts(
            pairs.points,
            Constraints().closure(n),
            np.random.default_rng(0).random((5, k, 1)),
            plain=bank.plain.kernel,
            **options,
        )
        return bank, Evaluator(
            bank, pairs.closure(n), k, judge=GivenPairs(pairs), starts=starts
        )

    @pytest.mark.parametrize("k", [3, 9])
    def test_a_kernel_that_tells_nothing_apart_earns_nothing(self, k):
        rng = np.random.default_rng(0)
        y = np.arange(180) % k
        X = 6.0 * np.eye(k)[y] + rng.normal(size=(180, k))
        pairs = Constraints.from_labels(np.where(np.arange(180) < 5 * k, y, -1))
        bank, evaluator = self.evaluator(X, pairs, k)
        flat, _, labels, _ = evaluator(np.array([1.0, 0.0]))
        plain, *_ = evaluator(np.array([0.0, 1.0]))
        assert plain > 0.95 and flat < 0.8

    def objectives(self, n_clusters, n_groups):
        """Yield objectives: of what is taken, and of each kind of start."""
        y = np.arange(20 * n_clusters) % n_clusters
        is_known = (np.arange(len(y)) < 5 * n_clusters) & (y < n_groups)
        pairs = Constraints.from_labels(np.where(is_known, y, -1))
        blind, informed = Constraints().closure(len(y)), pairs.closure(len(y))
        for seed in range(8, 20):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(len(y), 2)) + 2.0 * rng.normal(size=(n_clusters, 2))[y]
            bank, evaluator = self.evaluator(X, pairs, n_clusters)
            weights = rng.random(2)
            space = bank.combine(weights)
            draws = evaluator._starts.draws[0][:, :1]
            yield (
                evaluator.cluster(space, weights).objective,
                kmeans(space, blind, n_clusters, draws=draws).objective,
                kmeans(space, informed, n_clusters, draws=draws).objective,
                kmeans(space, informed, n_clusters).objective,
            )

    @pytest.mark.parametrize("n_groups", [4, 8])
    def test_of_many_clusters_the_more_compact_of_two_starts_count(self, n_groups):
        found = list(self.objectives(n_clusters=8, n_groups=n_groups))
        for taken, blind, drawn, paper in found:
            assert taken in (min(blind, drawn), min(blind, paper))
        assert 0 < sum(taken < blind for taken, blind, _, _ in found) < len(found)

    def test_of_many_clusters_with_few_groups_none_start_with_the_pairs(self):
        found = list(self.objectives(n_clusters=8, n_groups=3))
        assert all(taken == blind for taken, blind, _, _ in found)
        assert any(blind not in (drawn, paper) for _, blind, drawn, paper in found)

    def test_few_clusters_have_one_start_with_or_without_the_pairs(self):
        found = list(self.objectives(n_clusters=7, n_groups=7))
        for taken, blind, drawn, paper in found:
            assert taken in (blind, drawn, paper)
        assert any(taken > blind for taken, blind, _, _ in found)
        assert any(taken not in informed for taken, _, *informed in found)

    def test_plain_kmeans_is_the_most_compact_of_several(self, blobs):
        X, _, pairs = blobs
        bank, evaluator = self.evaluator(X, pairs, 7)
        space = bank.combine(np.array([0.0, 1.0]))
        found = [
            kmeans(space, Constraints().closure(len(X)), 7, draws=draws).objective
            for draws in evaluator._starts.draws
        ]
        assert found[0] > min(found)
        taken = evaluator.cluster(space, np.array([0.0, 1.0]))
        assert taken.objective == min(found)

    @pytest.mark.parametrize(("credit", "n_trials"), [(0.0, 1), (5.0, 4)])
    def test_plain_kmeans_has_five_starts(self, blobs, credit, n_trials):
        X, _, pairs = blobs
        closure = pairs.closure(len(X))
        given = SimpleNamespace(pairs=pairs, closure=closure, n_clusters=8)
        problem = SimpleNamespace(local=given, view_seed=0, unrest=0.0)
        bank = SimpleNamespace(plain=Plain(0, credit), sample_weight=np.ones(len(X)))
        found = committee_evaluator(KernelCSC(8), problem, bank)._starts
        assert found.draws.shape == (5, 8, n_trials) and found.plain == 0

    @pytest.mark.parametrize(("n_candidates", "n_first"), [(3, 30), (150, 50)])
    def test_at_least_thirty_say_which_pairs_are_wrong(
        self, problem, monkeypatch, n_candidates, n_first
    ):
        X, _, pairs = problem
        wrong, _ = flipped(pairs, 20)
        sizes = []

        def spy(*args, **options):
            found = first_committee(*args, **options)
            sizes.append(len(found.labels))
            return found

        monkeypatch.setattr(_committee, "first_committee", spy)
        with pytest.warns(ConstraintWarning, match="contradict"):
            small(n_candidates=n_candidates).fit(X, constraints=wrong)
        assert sizes == [n_first]

    def test_labels_of_at_least_thirty_candidates_are_kept(self):
        assert n_members(1000) == 2**28 // 1000 and n_members(10**9) == 30

    def test_labels_come_in_few_bytes(self, blobs):
        X, _, pairs = blobs
        _, evaluator = self.evaluator(X, pairs, 3)
        assert evaluator(np.array([0.5, 1.0]))[2].dtype == np.uint8

    def test_another_process_judges_alike(self, blobs):
        X, _, pairs = blobs
        _, evaluator = self.evaluator(X, pairs, 3)
        copy = pickle.loads(pickle.dumps(evaluator))
        for weights in np.random.default_rng(0).random((6, 2)):
            for a, b in zip(evaluator(weights), copy(weights), strict=True):
                assert_array_equal(a, b)

    def test_pairs_count_as_given(self):
        pairs = Constraints([(0, 1), (1, 2)], [(0, 3)], [1, 2], [1])
        judge = GivenPairs(pairs)
        assert judge(np.array([0, 0, 1, 1])) == pytest.approx(2 / 4)
        assert judge.n_pairs == pytest.approx(16 / 6)
        of_five_rows = Constraints(list(combinations(range(5), 2)))
        assert GivenPairs(of_five_rows).n_pairs == 5.0
        balanced = GivenPairs(pairs, "balanced")
        assert balanced(np.array([0, 0, 1, 1])) == pytest.approx(0.5 * (1 / 3 + 1))

    def test_clusters_satisfy_as_many_pairs_as_those_of_plain_kmeans(self):
        X, y = load_digits(return_X_y=True)
        X, y = X[:300], y[:300]
        for seed in range(3):
            pairs = Constraints.sample(y, 30, random_state=seed)
            model = KernelCSC(10, n_candidates=30, random_state=seed)
            model.fit(X, constraints=pairs)
            plain = model.kernel_names_.index("Linear() on standardized")
            alone = model.history_.iloc[:, 3 + plain] == 1.0
            floor = model.history_["score"][alone].max()
            weights = model.history_.iloc[:, 3:].to_numpy()
            chosen = (weights == model.kernel_weights_).all(axis=1)
            assert model.history_["score"][chosen].max() >= floor


class TestCredit:
    """Rows of one length: plain k-means stays unless several pairs speak against."""

    labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1]])
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])

    def chosen(self, gain, plain):
        scores = np.array([0.5, 0.5, 0.5]) + np.array([0, gain, gain]) / 20
        trials = [
            Trial(w, s, 0.0, 0.0) for w, s in zip(self.weights, scores, strict=True)
        ]
        return choose(Committee(self.labels, scores, 20.0, 2), trials, plain)

    @pytest.mark.parametrize(
        ("gain", "plain", "expected"),
        [
            (0, Plain(0, 0.0), 1),
            (4, Plain(0, 5.0), 0),
            (5, Plain(0, 5.0), 1),
            (-1, Plain(0, 0.0), 0),
            (4, None, 1),
        ],
    )
    def test_so_many_pairs_more_have_to_hold(self, gain, plain, expected):
        assert self.chosen(gain, plain) == expected

    def test_it_is_given_to_angles_alone(self):
        rng = np.random.default_rng(0)
        few, many = rng.normal(size=(30, 5)), rng.normal(size=(30, 60))
        for rows in (few, normalize(few), many):
            table = KernelBank.build(rows, "rich", rng=rng)
            assert table.plain.credit == 0.0
            assert table.names[table.plain.kernel] == "Linear() on standardized"
        texts = normalize(many).astype(np.float16)
        texts[0] = 0.0
        for rows in (texts.astype(np.float64), csr_array(np.abs(many))):
            bank = KernelBank.build(rows, "rich", rng=rng)
            assert bank.plain.credit == 5.0
            assert bank.names[bank.plain.kernel] == "Linear() on unit"
        assert KernelBank.build(few, [RBF(1.0)], rng=rng).plain is None

    def test_there_views_learnt_from_the_pairs_pay_three_of_them(self):
        rng = np.random.default_rng(0)
        groups = np.where(np.arange(40) < 24, np.arange(40) % 2, -1)
        known = Known(groups, 2, 0)
        table = rng.normal(size=(40, 60))
        for rows, price in ((table, None), (normalize(table), 3.0)):
            bank = KernelBank.build(rows, "rich", rng=rng, known=known)
            learnt = [
                name.split(" on ")[1] in ("within", "forest", "unit_within")
                for name in bank.names
            ]
            assert_array_equal(bank.is_learnt, learnt)
            assert 0 < sum(learnt) < len(learnt)
            both = np.zeros(len(learnt))
            both[np.flatnonzero(learnt)[0]] = 0.3
            both[np.flatnonzero(~np.array(learnt))[0]] = 0.1
            trials = [
                Trial(weights, 0.9, 1.0, 0.0, np.arange(40) % 2)
                for weights in (*np.eye(len(learnt)), both)
            ]
            judge = GivenPairs(Constraints([(0, 2)], [(0, 1)]))
            evaluator = SimpleNamespace(judge=judge, n_clusters=2)
            committee, _ = committee_of(trials, evaluator, bank)
            if price is None:
                assert committee.handicap is None
            else:
                expected = [*(price * np.array(learnt)), 0.75 * price]
                np.testing.assert_allclose(committee.handicap, expected)


def test_the_same_clusters_under_the_most_compact_kernel_on_request(blobs):
    X, _, pairs = blobs
    chosen = {}
    for tie_break in ("first", "objective"):
        model = small(tie_break=tie_break).fit(X, constraints=pairs)
        chosen[tie_break] = model
        assert model.constraint_score_ == 1.0
    first, compact = chosen["first"], chosen["objective"]
    assert adjusted_rand_score(first.labels_, compact.labels_) == 1.0
    assert compact.objective_ < first.objective_
    assert_array_equal(first.history_["score"], compact.history_["score"])


def test_few_pairs_do_no_harm_on_digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    plain = KernelCSC(10, kernels=[(Standardized(), Linear())], random_state=0)
    gains = []
    for seed in range(3):
        pairs = Constraints.sample(y, 20, random_state=seed)
        model = KernelCSC(10, n_candidates=60, random_state=seed)
        found = model.fit(X, constraints=pairs).labels_
        base = plain.fit(X, constraints=pairs).labels_
        gains.append(adjusted_rand_score(y, found) - adjusted_rand_score(y, base))
    assert np.mean(gains) > 0.0
