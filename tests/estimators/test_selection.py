"""How the winner of a search is chosen, and kernels on learnt views."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import linkwise.kernels._learnt_views as learnt
from linkwise import (
    Constraints,
    ConstraintWarning,
    KernelBank,
    KernelCSC,
    SingleKernelCSC,
    constraint_folds,
)
from linkwise.clustering import farthest_first, kmeans
from linkwise.doors import as_generator
from linkwise.estimators._clustering import best_on_all_rows
from linkwise.estimators._held_out import MeanOverFolds
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.kernels import (
    RBF,
    Discriminant,
    ForestVotes,
    Known,
    Laplacian,
    Linear,
    Standardized,
    Whitened,
    WithinWhitened,
)
from linkwise.kernels._families import learnt_kernels, rich_kernels
from linkwise.kernels._packed import packed_size
from linkwise.kernels._views import BASES
from linkwise.search import Evaluator, reward_of

# Some of the problems are hopeless on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The chosen clusters are hardly")

KERNELS = [
    Linear(),
    RBF(0.05),
    (Standardized(), Laplacian(0.5)),
    (Whitened(), RBF(0.3)),
    (WithinWhitened(), RBF(0.1)),
    (WithinWhitened(), Linear()),
    (Discriminant(), Linear()),
    (Discriminant(), RBF(0.5)),
]
NAMES = ["whitened", "within", "discriminant", "diffusion", "forest"]
# Kernels of each learnt view.
N_LEARNT = len(learnt_kernels(dict.fromkeys(BASES, 1.0)))
# Kernels of the rich bank that learn nothing from groups: on the data as they are, on
# standardised ones, and on walks between neighbours.
N_PLAIN = 2 * len(rich_kernels(dict.fromkeys(BASES, 1.0))) + N_LEARNT


@pytest.fixture(autouse=True)
def _small_forests(monkeypatch):
    monkeypatch.setattr(learnt, "_N_TREES", 12)


def small(n_clusters=3, **options):
    defaults = {
        "kernels": KERNELS,
        "filter": "none",
        "n_candidates": 60,
        "search": "random",
        "random_state": 0,
    }
    return KernelCSC(n_clusters, **(defaults | options))


def rich(n_clusters=3, kind=KernelCSC, **options):
    defaults = {"kernels": "rich", "random_state": 0}
    if kind is KernelCSC:
        defaults |= {"n_candidates": 30, "search": "random"}
    return kind(n_clusters, **(defaults | options))


def table(model):
    return model.history_.drop(columns="seconds")


def assert_same_fit(one, other):
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.kernel_weights_, other.kernel_weights_)
    assert one.objective_ == other.objective_
    pd.testing.assert_frame_equal(table(one), table(other), check_exact=True)


def view_seed(model):
    """Return the seed of folds and views that a fit draws first."""
    rng = as_generator(model.random_state)
    return int(rng.spawn(1)[0].integers(2**31))


def share_held(pairs, labels, reward):
    """Return the share of the pairs that hold, and of all that follow from them."""
    n = len(labels)
    group = np.arange(n)
    for a, b in pairs.must_link:
        group[group == group[b]] = group[a]
    same = labels[:, None] == labels
    linked = (group[:, None] == group) & np.tri(n, k=-1, dtype=bool)
    apart = np.zeros((n, n), dtype=bool)
    for a, b in pairs.cannot_link:
        block = (group == group[a])[:, None] & (group == group[b])
        apart |= block | block.T
    apart &= np.tri(n, dtype=bool)
    kinds = [same[linked], ~same[apart]]
    if reward == "share":
        return np.mean(np.concatenate(kinds))
    return np.mean([kind.mean() for kind in kinds if len(kind)])


class TestJudge:
    def both(self, overlapping):
        X, y, _ = overlapping
        bank = KernelBank.build(X, KERNELS[:3], filter="none")
        closures = [
            Constraints.sample(y, 30, random_state=seed).closure(len(X))
            for seed in (0, 1)
        ]
        return bank, *closures

    @pytest.mark.parametrize("reward", ["share", "balanced"])
    def test_labels_are_scored_by_the_other_pairs(self, overlapping, reward):
        bank, closure, judge = self.both(overlapping)
        plain = Evaluator(bank, closure, 3, reward=reward)
        judged = Evaluator(bank, closure, 3, judge=reward_of(judge, reward))
        differ = 0
        for weights in np.eye(3):
            space = bank.combine(weights)
            # The start is that of its own pairs.
            labels = kmeans(space, farthest_first(space, closure, 3), 3).labels
            name = "score" if reward == "share" else "balanced_score"
            score, objective = judged(weights)
            assert score == getattr(judge, name)(labels)
            assert plain(weights) == (getattr(closure, name)(labels), objective)
            assert_array_equal(judged.start(space), plain.start(space))
            differ += score != plain(weights)[0]
        assert differ > 0

    def test_a_judge_of_its_own_pairs_changes_nothing(self, overlapping):
        bank, closure, _ = self.both(overlapping)
        a = Evaluator(bank, closure, 3)
        b = Evaluator(bank, closure, 3, judge=reward_of(closure, "share"))
        assert all(a(weights) == b(weights) for weights in np.eye(3))

    def test_another_process_judges_alike(self, overlapping):
        bank, closure, judge = self.both(overlapping)
        evaluator = Evaluator(bank, closure, 3, judge=reward_of(judge, "share"))
        copy = pickle.loads(pickle.dumps(evaluator))
        assert all(evaluator(weights) == copy(weights) for weights in np.eye(3))


class TestMeanOverFolds:
    def test_each_fold_has_its_own_pairs_starts_and_views(self, overlapping):
        X, _, pairs = overlapping
        closure = pairs.closure(len(X))
        bank = KernelBank.build(
            X, KERNELS, filter="none", known=Known(closure.linked, 3)
        )
        given = SimpleNamespace(
            data=X, pairs=pairs, closure=closure, n_clusters=3, rng=7
        )
        problem = SimpleNamespace(local=given, fold_memory=np.inf)
        evaluate = MeanOverFolds(SingleKernelCSC(3, cv=4), problem, bank)
        for weights in np.eye(len(KERNELS)):
            expected = []
            for train, held_out in constraint_folds(pairs, 4, 7):
                linked = train.closure(len(X)).linked
                known = Known(linked, 3)
                own = KernelBank.build(X, KERNELS, filter="none", known=known)
                space = own.combine(weights)
                start = farthest_first(space, train.closure(len(X)), 3)
                labels = kmeans(space, start, 3).labels
                expected.append(share_held(held_out, labels, "share"))
            assert evaluate(weights)[0] == pytest.approx(np.mean(expected))

    def test_too_few_pairs_are_an_error(self, overlapping):
        pairs = Constraints([(0, 1)], [(0, 2)])
        closure = pairs.closure(72)
        given = SimpleNamespace(pairs=pairs, closure=closure, n_clusters=3, rng=0)
        problem = SimpleNamespace(local=given, fold_memory=np.inf)
        with pytest.raises(ValueError, match="cv=3: .*too few"):
            MeanOverFolds(SingleKernelCSC(3, cv=3), problem, None)


class TestWorkingSets:
    def run(self, scores, chosen, kept):
        """Return the candidates that were clustered, and the one that was taken."""
        tried = []

        def cluster(weights):
            tried.append(weights)
            return SimpleNamespace(taken=weights, reward=kept[weights])

        trials = [SimpleNamespace(score=s, weights=i) for i, s in enumerate(scores)]
        return tried, best_on_all_rows(cluster, trials, chosen).taken

    def test_others_are_tried_by_their_scores(self):
        scores, kept = [0.7, 0.5, 0.9], [0.3, 0.9, 0.9]
        assert self.run(scores, 0, kept) == ([0, 2], 2)

    def test_a_chosen_one_counts_as_much_as_the_best(self):
        scores = [1.0, 0.9]
        assert self.run(scores, 1, scores) == ([1], 1)

    def test_failed_candidates_are_tried_last(self):
        scores = [0.9, np.nan, 0.8]
        assert self.run(scores, 0, [0.1, 0.2, 0.7]) == ([0, 2], 2)


class TestMemory:
    @pytest.mark.parametrize("how", ["exact", "landmarks"])
    def test_little_of_it_gives_the_same_clusters(self, blobs, how):
        X, y, pairs = blobs
        kernels = ["paper", "within", "discriminant"]
        options = {"kernels": kernels, "approximation": how, "n_landmarks": 20}
        n_bytes = 600_000 if how == "exact" else 1_000_000
        stored = []
        original = KernelProblem.bank

        def spy(self):
            bank = original(self)
            if self.how == how:  # not the small fit that compares with chance
                stored.append(bank.is_stored)
            return bank

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(KernelProblem, "bank", spy)
            a, b = (
                small(max_memory=memory, **options).fit(X, constraints=pairs)
                for memory in ("1GiB", n_bytes)
            )
        assert stored == [True, False]
        assert_array_equal(a.labels_, b.labels_)
        assert_array_equal(a.kernel_names_, b.kernel_names_)

    @pytest.mark.parametrize("selection", ["train", "committee"])
    @pytest.mark.parametrize("how", ["exact", "landmarks"])
    def test_without_a_limit_all_is_stored(self, blobs, monkeypatch, selection, how):
        X, _, pairs = blobs
        stored = []
        original = KernelProblem.bank

        def spy(self):
            bank = original(self)
            if self.how == how:  # not the small fit that compares with chance
                stored.append(bank.is_stored)
            return bank

        monkeypatch.setattr(KernelProblem, "bank", spy)
        small(max_memory=None, approximation=how, selection=selection).fit(
            X, constraints=pairs
        )
        assert stored == [True]

    @pytest.mark.parametrize(
        ("kernels", "memory", "how"),
        [
            ("paper", "7.3MB", "landmarks"),
            ("paper", "7.5MB", "exact"),
            ("rich", "16MB", "landmarks"),
            ("rich", "17MB", "exact"),
        ],
    )
    def test_auto_uses_landmarks_where_matrices_do_not_fit(
        self, make_problem, kernels, memory, how
    ):
        X, _, pairs = make_problem(sizes=(200, 200, 200))
        # The sum of kernels and, packed, three base matrices for each view.
        n_views = {"paper": 2, "rich": 5}[kernels]
        needed = 4 * (600**2 + 3 * n_views * packed_size(600))
        assert (needed <= float(memory[:-2]) * 1e6) == (how == "exact")
        options = {"filter": "ratio", "n_landmarks": 10, "n_candidates": 3}
        model = small(kernels=kernels, max_memory=memory, **options)
        assert model.fit(X, constraints=pairs).approximation_ == how

    @pytest.mark.parametrize(("cv", "how"), [(0, "exact"), (3, "landmarks")])
    def test_auto_leaves_memory_for_kernels_of_folds(self, make_problem, cv, how):
        X, _, pairs = make_problem(sizes=(200, 200, 200))
        model = SingleKernelCSC(
            3, kernels="rich", cv=cv, max_memory="20MB", n_landmarks=10, random_state=0
        )
        assert model.fit(X, constraints=pairs).approximation_ == how


def test_the_defaults_are_rich_kernels_and_a_committee():
    model = KernelCSC()
    assert (model.kernels, model.selection) == ("rich", "committee")
    assert (model.noise, model.on_conflict) == ("auto", "warn")


class TestRich:
    @pytest.mark.parametrize("selection", ["train", "committee"])
    def test_it_finds_clusters_that_are_there(self, blobs, make_problem, selection):
        X, y, pairs = blobs
        model = rich(selection=selection).fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        new = make_problem(seed=1, spread=0.5)
        assert adjusted_rand_score(new.y, model.predict(new.X)) == 1.0

    @pytest.mark.parametrize("how", ["exact", "landmarks"])
    def test_it_finds_rings(self, how):
        rng = np.random.default_rng(0)
        y = np.arange(160) % 2
        angle = rng.uniform(0.0, 2.0 * np.pi, 160)
        radius = 1.0 + 2.0 * y + 0.1 * rng.normal(size=160)
        X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        pairs = Constraints.sample(y, 40, random_state=0)
        model = rich(2, approximation=how, n_candidates=240, n_landmarks=60)
        model.fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) > 0.9

    def test_it_finds_long_strips(self):
        rng = np.random.default_rng(0)
        y = np.arange(150) % 3
        along, across = 4.0 * rng.normal(size=150), y + 0.15 * rng.normal(size=150)
        X = np.column_stack([along + across, along - across])
        pairs = Constraints.sample(y, 120, random_state=0)
        paper, more = (
            rich(3, kernels=kernels, n_candidates=240).fit(X, constraints=pairs).labels_
            for kernels in ("paper", "rich")
        )
        assert adjusted_rand_score(y, more) > 0.9 > adjusted_rand_score(y, paper)

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_sparse_data_have_learnt_views(self, blobs, kind):
        X, y, pairs = blobs
        data = csr_array(np.where(X > 1.0, X, 0.0))
        model = rich(kind=kind).fit(data, constraints=pairs)
        assert any(" on forest" in name for name in model.kernel_names_)
        assert adjusted_rand_score(y, model.labels_) > 0.85
        assert adjusted_rand_score(y, model.predict(data)) > 0.85

    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set"])
    def test_several_matrices_have_their_own_views(self, blobs, how):
        X, y, pairs = blobs
        views = [X, csr_array(np.abs(X))]
        model = rich(approximation=how, n_landmarks=30, working_rows=30, filter="none")
        model.fit(views, constraints=pairs)
        names = model.kernel_names_
        assert sum(n.endswith("on forest of X[0]") for n in names) == N_LEARNT
        assert sum(n.endswith("on forest of X[1]") for n in names) == N_LEARNT
        assert any("on unit of X[1]" in n for n in names)  # it is sparse
        assert adjusted_rand_score(y, model.labels_) > 0.9
        assert adjusted_rand_score(y, model.predict(views)) > 0.9

    @pytest.mark.parametrize(
        "how",
        [
            "exact",
            pytest.param(
                "landmarks",
            ),
        ],
    )
    def test_there_may_be_as_many_matrices_as_clusters(self, blobs, how):
        X, y, pairs = blobs
        views = [X[:, :2], X[:, 1:], X]
        model = rich(approximation=how, n_landmarks=30).fit(views, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) > 0.9

    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set", "nystroem"])
    def test_a_pickled_model_predicts(self, overlapping, how, new_rows):
        X, _, pairs = overlapping
        model = rich(approximation=how, n_landmarks=25, working_rows=20, max_kernels=9)
        model.fit(X, constraints=pairs)
        copy = pickle.loads(pickle.dumps(model))
        assert_array_equal(copy.predict(new_rows), model.predict(new_rows))
        assert set(model.predict(new_rows)) <= {0, 1, 2}

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set"])
    def test_views_may_be_asked_for_by_name(self, blobs, make_problem, name, how):
        X, y, pairs = blobs
        options = {"approximation": how, "n_landmarks": 25, "working_rows": 20}
        model = rich(kernels=[name], n_candidates=10, **options)
        model.fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        new = make_problem(seed=1, spread=0.5)
        assert adjusted_rand_score(new.y, model.predict(new.X)) > 0.9
        assert pickle.loads(pickle.dumps(model)).predict(X).shape == (72,)

    def test_names_may_be_mixed_with_others(self, overlapping):
        X, _, pairs = overlapping
        kernels = ["forest", RBF(0.1), "paper", (Standardized(), Linear()), "within"]
        model = rich(kernels=kernels, filter="none").fit(X, constraints=pairs)
        assert len(model.kernel_names_) == N_LEARNT + 1 + 62 + 1 + N_LEARNT
        assert model.kernel_names_[N_LEARNT - 1] == "Linear() on forest"
        assert model.kernel_names_[-1] == "Linear() on within"

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_an_unknown_name_is_answered_with_those_there_are(self, blobs, kind):
        X, _, pairs = blobs
        for kernels in (["paper", "diffused"], ["Rich"]):
            with pytest.raises(ValueError, match="is not a kernel: allowed") as error:
                rich(kind=kind, kernels=kernels).fit(X, constraints=pairs)
            for name in ("paper", "rich", "rbf", *NAMES):
                assert name in str(error.value)
        with pytest.raises(ValueError, match="The 'kernels' parameter") as error:
            rich(kind=kind, kernels="poor").fit(X, constraints=pairs)
        assert "'rich'" in str(error.value)

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    @pytest.mark.parametrize("how", ["exact", "landmarks"])
    def test_the_number_of_jobs_changes_nothing(self, overlapping, kind, how):
        X, _, pairs = overlapping
        options = {"kind": kind, "approximation": how, "n_landmarks": 25}
        one, two = (
            rich(n_jobs=n_jobs, **options).fit(X, constraints=pairs)
            for n_jobs in (1, 2)
        )
        assert_same_fit(one, two)

    def test_the_seed_decides(self, overlapping):
        X, _, pairs = overlapping
        kernels = ["forest"]
        once, again, other = (
            rich(kernels=kernels, random_state=seed).fit(X, constraints=pairs)
            for seed in (0, 0, 1)
        )
        assert_same_fit(once, again)
        assert once.kernel_names_ != other.kernel_names_

    def test_partial_labels_are_pairs(self, overlapping):
        X, y, _ = overlapping
        partial = np.where(np.arange(len(y)) < 20, y, -1)
        a = rich().fit(X, partial)
        b = rich().fit(X, constraints=Constraints.from_labels(partial))
        assert_same_fit(a, b)

    @pytest.mark.parametrize("kind", [KernelCSC, SingleKernelCSC])
    def test_without_pairs_it_is_as_with_the_kernels_of_the_paper(self, blobs, kind):
        X, _, _ = blobs
        found = []
        for kernels in ("rich", "paper"):
            with pytest.warns(ConstraintWarning, match="standardised linear kernel"):
                found.append(rich(kind=kind, kernels=kernels).fit(X))
        assert_array_equal(found[0].labels_, found[1].labels_)
        assert found[0].kernel_names_ == ["Linear() on standardized"]

    def test_without_pairs_names_in_a_list_are_all_used(self, blobs):
        X, y, _ = blobs
        for kernels in (["paper", "forest"], ["diffusion"], ["rich"]):
            with pytest.warns(ConstraintWarning, match="all kernels alike"):
                model = rich(kernels=kernels).fit(X)
            assert not any("forest" in name for name in model.kernel_names_)
            assert adjusted_rand_score(y, model.labels_) > 0.9

    @pytest.mark.parametrize(
        ("pairs", "n_views"),
        [
            (([], [(0, 1), (2, 3)]), 0),
            (([(0, 1)], []), 1),
            (([(0, 1), (2, 3)], []), 1),  # too few rows for a forest
            (([(0, 1), (2, 3), (4, 5), (4, 6), (5, 7)], [(0, 2)]), 1),
            (([(0, 1), (2, 3), (4, 5), (4, 6), (5, 7), (7, 8)], [(0, 2)]), 2),
        ],
    )
    @pytest.mark.parametrize("selection", ["train", "committee"])
    def test_a_few_pairs_are_enough(self, overlapping, pairs, n_views, selection):
        X, _, _ = overlapping
        model = rich(filter="none", selection=selection).fit(X, constraints=pairs)
        assert len(model.kernel_names_) == N_PLAIN + n_views * N_LEARNT
        assert set(model.labels_) == {0, 1, 2}

    @pytest.mark.parametrize("selection", ["train", "committee"])
    def test_two_clusters_learn_from_cannot_links_alone(self, make_problem, selection):
        X, y, _ = make_problem(seed=0)
        y = y > 0
        some = np.random.default_rng(0).choice(len(X), (30, 2))
        pairs = ([], some[y[some[:, 0]] != y[some[:, 1]]])
        options = {"filter": "none", "n_candidates": 5, "selection": selection}
        two, three = (rich(k, **options).fit(X, constraints=pairs) for k in (2, 3))
        assert len(two.kernel_names_) == N_PLAIN + 2 * N_LEARNT
        assert len(three.kernel_names_) == N_PLAIN

    @pytest.mark.parametrize("n", [2, 3, 4, 6])
    def test_a_few_rows_are_enough(self, n):
        X = np.random.default_rng(n).normal(size=(n, 2))
        model = rich(2).fit(X, constraints=([], [(0, 1)]))
        assert set(model.labels_) == {0, 1}
        assert model.predict(X).shape == (n,)

    def test_weights_of_rows_count(self, overlapping):
        X, _, pairs = overlapping
        plain = rich().fit(X, constraints=pairs)
        equal = rich().fit(X, constraints=pairs, sample_weight=np.full(72, 2.0))
        assert_array_equal(plain.labels_, equal.labels_)
        weight = np.where(X[:, 0] > 2.0, 20.0, 0.1)
        kernels = [(Whitened(), Linear()), (WithinWhitened(), Linear())]
        a, b = (
            rich(kernels=kernels).fit(X, constraints=pairs, sample_weight=w)
            for w in (None, weight)
        )
        assert a.objective_ != b.objective_

    def test_parameters_survive_a_clone(self, overlapping):
        X, _, pairs = overlapping
        model = rich(kernels=["paper", "forest"], selection="committee")
        before = model.get_params()
        assert before["selection"] == "committee"
        model.fit(X, constraints=pairs)
        assert model.get_params() == before
        copy = clone(model)
        assert copy.get_params() == before
        assert_same_fit(copy.fit(X, constraints=pairs), model)

    @pytest.mark.parametrize("final_step", ["soft", "hard"])
    def test_final_steps(self, overlapping, final_step):
        X, y, _ = overlapping
        pairs = Constraints.sample(y, 30, random_state=1)
        model = rich(final_step=final_step, selection="committee")
        model.fit(X, constraints=pairs)
        if final_step == "hard":
            assert model.n_violated_ == 0

    @pytest.mark.parametrize("how", ["exact", "landmarks"])
    def test_copies_of_rows_do_no_harm(self, blobs, how):
        X, y, _ = blobs
        X, y = np.repeat(X[:30], 4, axis=0), np.repeat(y[:30], 4)
        pairs = Constraints.sample(y, 30, random_state=0)
        model = rich(approximation=how, n_landmarks=25).fit(X, constraints=pairs)
        assert adjusted_rand_score(y, model.labels_) > 0.9

    def test_views_that_are_not_used_are_not_kept(self, blobs):
        X, _, pairs = blobs
        sizes = []
        for kernels in ([Linear()], [Linear(), "forest", "diffusion"]):
            model = rich(kernels=kernels, n_candidates=2, max_kernels=1)
            model.set_params(search=_First()).fit(X, constraints=pairs)
            assert model.kernel_weights_[0] == 1.0
            sizes.append(len(pickle.dumps(model._kernel)))
        assert sizes[1] < 2 * sizes[0]


class _First:
    """A search that tries the first kernel only."""

    def start(self, domain, n_candidates, rng):
        class Searcher:
            def __init__(self):
                self.left = [domain.first()[:1]]

            def ask(self):
                return self.left.pop() if self.left else domain.first()[:0]

            def tell(self, trials):
                pass

        return Searcher()


class TestSingleKernels:
    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set"])
    def test_folds_are_made_once(self, how, overlapping, monkeypatch):
        X, y, _ = overlapping
        made = []

        def spy(*args):
            made.append(constraint_folds(*args))
            return made[-1]

        monkeypatch.setattr("linkwise.estimators._held_out.constraint_folds", spy)
        model = SingleKernelCSC(3, kernels=KERNELS, cv=3, approximation=how)
        pairs = Constraints.sample(y, 20, random_state=0)
        model.set_params(working_rows=20, random_state=0).fit(X, constraints=pairs)
        assert [len(folds) for folds in made] == [3]

    @pytest.mark.parametrize("reward", ["share", "balanced"])
    def test_folds_have_views_of_their_own(self, overlapping, reward):
        X, _, pairs = overlapping
        model = SingleKernelCSC(3, kernels=KERNELS, filter="none", cv=3, random_state=0)
        model.set_params(reward=reward).fit(X, constraints=pairs)
        rng = as_generator(0)
        rng.integers(2**63)  # the seed of the final step is drawn first
        scores = np.zeros(len(KERNELS))
        for train, held_out in constraint_folds(pairs, 3, rng):
            closure = train.closure(len(X))
            known = Known(closure.linked, 3)
            bank = KernelBank.build(X, KERNELS, filter="none", known=known)
            for i, weights in enumerate(np.eye(len(KERNELS))):
                space = bank.combine(weights)
                labels = kmeans(space, farthest_first(space, closure, 3), 3).labels
                scores[i] += share_held(held_out, labels, reward) / 3.0
        np.testing.assert_allclose(model.history_["score"], scores)
        assert model.kernel_weights_.argmax() == model.history_["score"].argmax()

    @pytest.mark.parametrize("cv", [0, 3])
    @pytest.mark.parametrize("how", ["exact", "landmarks", "working_set"])
    def test_the_best_of_rich_kernels(self, blobs, cv, how):
        X, y, pairs = blobs
        options = {"approximation": how, "n_landmarks": 25, "working_rows": 20}
        model = rich(kind=SingleKernelCSC, cv=cv, filter="none", **options)
        model.fit(X, constraints=pairs)
        n_kernels = N_PLAIN + 2 * N_LEARNT
        assert len(model.history_) == len(model.kernel_names_) == n_kernels
        assert sorted(model.kernel_weights_)[-2:] == [0.0, 1.0]
        assert adjusted_rand_score(y, model.labels_) == 1.0

    def test_a_view_of_known_pairs_is_no_proof_by_held_out_ones(self):
        # Groups at random: a forest grown with all pairs could tell them apart.
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 5))
        labels = np.where(np.arange(80) < 60, rng.integers(2, size=80), -1)
        pairs = Constraints.from_labels(labels)
        kernels = [(ForestVotes(), Linear()), (Discriminant(), Linear())]
        model = SingleKernelCSC(2, kernels=kernels, filter="none", cv=3, random_state=0)
        model.fit(X, constraints=pairs)
        assert (model.history_["score"] < 0.65).all()

    def test_folds_have_no_more_memory_than_there_is(self, blobs, monkeypatch):
        X, _, pairs = blobs
        limits = []
        original = KernelBank.relearnt

        def spy(self, X, known, max_memory=np.inf):
            limits.append(max_memory)
            return original(self, X, known, max_memory)

        monkeypatch.setattr(KernelBank, "relearnt", spy)
        model = SingleKernelCSC(3, kernels=KERNELS, cv=3, max_memory=10**7)
        model.fit(X, constraints=pairs)
        assert sum(limits) < 10**7
