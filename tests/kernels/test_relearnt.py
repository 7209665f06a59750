"""Banks whose views are learnt anew from other groups."""

import numpy as np
import pytest
from tests.contracts.bank import BankContract, scatter_of
from tests.contracts.space import locked

from linkwise.clustering import kmeans
from linkwise.constraints import Constraints
from linkwise.engines import one_blas_thread
from linkwise.kernels import (
    RBF,
    Diffusion,
    Discriminant,
    ForestVotes,
    KernelBank,
    Known,
    LandmarkBank,
    Laplacian,
    Linear,
    SeveralSets,
    Standardized,
    Whitened,
    WithinWhitened,
)
from linkwise.kernels import _landmarks as landmarks
from linkwise.kernels import _learnt_views as learnt
from linkwise.kernels._packed import packed_size

N = 60
KERNELS = [
    Linear(),
    (WithinWhitened(), RBF(0.1)),
    (WithinWhitened(), Laplacian(0.2)),
    (Standardized(), RBF(0.3)),
    (Discriminant(), Linear()),
    (Discriminant(), RBF(0.05)),
    (Whitened(), RBF(0.2)),
    (ForestVotes(), RBF(1.0)),
    (ForestVotes(), RBF(2.0)),
    (Diffusion(5), RBF(1.0)),
]
CHANGING = [1, 2, 4, 5, 7, 8]
STAYING = [0, 3, 6, 9]
NOBODY = np.full(N, -1)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Small forests, and one thread as in an estimator."""
    monkeypatch.setattr(learnt, "_N_TREES", 12)
    with one_blas_thread():
        yield


def draw(seed=0):
    """Return rows in three clusters, and two sets of groups."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 3
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)) + 3.0 * np.eye(3, 4)[y]
    first = np.where(np.arange(N) < 24, y, -1)
    return locked(X), locked(first), locked(np.where(np.arange(N) >= 30, y, -1))


def each_and_all(bank):
    mixture = np.random.default_rng(0).uniform(0.1, 1.0, bank.n_weights)
    return [*np.eye(bank.n_weights), mixture]


class Exact:
    """Banks of whole matrices."""

    one = 4 * packed_size(N)

    def build(self, X, groups, kernels=KERNELS, n_blocks=np.inf, **options):
        options = {"filter": "none", "max_memory": n_blocks * self.one} | options
        return KernelBank.build(X, kernels, known=Known(groups, 3), **options)


class Landmarks:
    """Banks of values with landmarks, some of them means of groups."""

    q = 15
    separate = False

    @property
    def one(self):
        return 4 * N * self.q

    def build(self, X, groups, kernels=KERNELS, n_blocks=np.inf, **options):
        options = {"filter": "none", "max_memory": n_blocks * self.one} | options
        return LandmarkBank.build(
            X,
            kernels,
            known=Known(groups, 3),
            n_landmarks=self.q,
            separate=self.separate,
            **options,
        )


class Separate(Landmarks):
    """Landmarks for each kernel by itself."""

    separate = True


class AllRows(Landmarks):
    """All rows are landmarks."""

    q = N


@pytest.fixture(params=[Exact, Landmarks, Separate, AllRows], ids=lambda c: c.__name__)
def kind(request):
    return request.param()


class TestRelearnt:
    def fresh_like(self, monkeypatch, kind, bank, X, groups, **options):
        """Return a bank built from other groups, with the landmarks of this one."""
        if isinstance(bank, LandmarkBank):
            drawn = bank.landmarks, bank._means
            monkeypatch.setattr(landmarks, "drawn_landmarks", lambda *args: drawn)
        return kind.build(X, groups, **options)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_as_built_from_the_new_groups(self, kind, monkeypatch, weighted):
        X, first, second = draw()
        weight = np.random.default_rng(1).uniform(0.5, 3.0, N) if weighted else None
        bank = kind.build(X, first, sample_weight=weight)
        again = bank.relearnt(X, Known(second, 3))
        options = {"sample_weight": weight}
        fresh = self.fresh_like(monkeypatch, kind, bank, X, second, **options)
        assert bank.names == again.names == fresh.names and again.is_stored
        assert np.array_equal(again.unscaled, fresh.unscaled)
        assert not np.array_equal(again.unscaled, bank.unscaled)
        for weights in each_and_all(bank):
            a, b = again.combine(weights), fresh.combine(weights)
            assert np.array_equal(a.rows, b.rows)
            assert np.array_equal(a.diagonal, b.diagonal)
            assert a.core is b.core is None or np.array_equal(a.core, b.core)

    @pytest.mark.parametrize(("n_old", "n_new"), [(9, 6), (np.inf, 5), (9, np.inf)])
    def test_memory_does_not_matter(self, monkeypatch, n_old, n_new):
        kind = Exact()
        X, first, second = draw(1)
        whole = kind.build(X, first)
        bank = kind.build(X, first, n_blocks=n_old)
        again = bank.relearnt(X, Known(second, 3), n_new * kind.one)
        assert whole.is_stored and bank.is_stored == (n_old == np.inf)
        assert not again.is_stored
        exact = whole.relearnt(X, Known(second, 3))
        np.testing.assert_allclose(again.unscaled, exact.unscaled, rtol=1e-12)
        for weights in each_and_all(bank):
            a, b = again.combine(weights).gram, exact.combine(weights).gram
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())

    @pytest.mark.parametrize("kind", [Separate(), AllRows(), Landmarks()])
    @pytest.mark.parametrize("lean", ["bank", "part", "both"])
    def test_memory_for_landmarks_does_not_matter(self, kind, lean):
        X, first, second = draw(2)
        whole = kind.build(X, first)
        # Bases have a column for every row that is part of a mean.
        width = len(whole.landmarks) / whole.n_landmarks
        kernels = KERNELS * 8
        n_old = 9.5 * width if lean != "part" else np.inf
        n_new = 6.5 * width if lean != "bank" else np.inf
        bank = kind.build(X, first, kernels, n_blocks=n_old)
        assert bank.is_stored == (lean == "part")
        again = bank.relearnt(X, Known(second, 3), n_new * kind.one)
        assert not again.is_stored
        assert all((i in again._stored) == (lean == "bank") for i in CHANGING)
        exact = whole.relearnt(X, Known(second, 3))
        for i, weights in enumerate(np.eye(len(KERNELS))):
            a, b = again.combine(np.eye(bank.n_weights)[i]), exact.combine(weights)
            atol = 2e-5 * np.abs(b.rows).max()
            np.testing.assert_allclose(a.rows, b.rows, rtol=0, atol=atol)
            np.testing.assert_allclose(a.core, b.core, rtol=1e-6)

    def test_what_does_not_depend_on_groups_is_shared(self, kind):
        X, first, second = draw(3)
        bank = kind.build(X, first)
        again = bank.relearnt(X, Known(second, 3))
        for i in STAYING:
            assert again._stored[i] is bank._stored[i]
        for i in CHANGING:
            assert not np.array_equal(again._stored[i], bank._stored[i])

    def test_the_old_bank_stays_as_it_was(self, kind):
        X, first, second = draw(4)
        bank, twin = kind.build(X, first), kind.build(X, first)
        bank.relearnt(X, Known(second, 3))
        assert np.array_equal(bank.unscaled, twin.unscaled)
        new = draw(5)[0]
        for weights in each_and_all(bank):
            a, b = bank.combine(weights), twin.combine(weights)
            assert np.array_equal(a.rows, b.rows)
            assert np.array_equal(a.diagonal, b.diagonal)
            assert np.array_equal(bank.kernel(weights)(new), twin.kernel(weights)(new))

    def test_the_way_does_not_matter(self, kind):
        X, first, second = draw(6)
        bank = kind.build(X, first)
        there = bank.relearnt(X, Known(second, 3))
        back = there.relearnt(X, Known(first, 3))
        assert np.array_equal(back.unscaled, bank.unscaled)
        for weights in each_and_all(bank):
            a, b = back.combine(weights), bank.combine(weights)
            assert np.array_equal(a.rows, b.rows)
            assert np.array_equal(a.diagonal, b.diagonal)

    def test_every_kernel_has_scatter_one(self, kind):
        X, first, second = draw(7)
        again = kind.build(X, first).relearnt(X, Known(second, 3))
        if isinstance(kind, Exact | AllRows):
            for weights in np.eye(again.n_weights):
                assert scatter_of(again.combine(weights)) == pytest.approx(1, rel=1e-4)
        assert again.scatter(np.ones(10)) == 10.0

    def test_too_few_groups_change_nothing(self, kind):
        X, first, _ = draw(8)
        bank = kind.build(X, first)
        assert bank.relearnt(X, Known(NOBODY, 3)) is bank

    def test_one_group_is_enough_for_some_views(self, kind, monkeypatch):
        X, first, second = draw(9)
        bank = kind.build(X, first)
        one = np.minimum(second, 0)
        again = bank.relearnt(X, Known(one, 3))
        for i in set(range(10)) - {1, 2}:
            assert again._stored[i] is bank._stored[i]
        fresh = self.fresh_like(monkeypatch, kind, bank, X, one, kernels=KERNELS[:4])
        for i in (1, 2):
            a, b = again.combine(np.eye(10)[i]), fresh.combine(np.eye(4)[i])
            assert np.array_equal(a.rows, b.rows)

    def test_a_bank_without_such_views_stays_as_it_is(self, kind):
        X, first, second = draw(10)
        kernels = [KERNELS[i] for i in STAYING]
        bank = kind.build(X, first, kernels)
        assert bank.relearnt(X, Known(second, 3)) is bank

    def test_new_rows_are_seen_like_old_ones(self, kind, monkeypatch):
        X, first, second = draw(11)
        bank = kind.build(X, first)
        again = bank.relearnt(X, Known(second, 3))
        fresh = self.fresh_like(monkeypatch, kind, bank, X, second)
        new = draw(12)[0]
        for i in CHANGING:
            weights = np.eye(10)[i]
            got = again.kernel(weights)(new)
            assert np.array_equal(got, fresh.kernel(weights)(new))
        for i in (1, 2, 4, 5):  # of forests, training points are not those of new rows
            weights = np.eye(10)[i]
            got, rows = again.kernel(weights)(X), again.combine(weights).rows
            got = got - got.mean(axis=1, keepdims=True)
            rows = rows - rows.mean(axis=1, keepdims=True)
            centre = (rows - got).mean(axis=0)
            np.testing.assert_allclose(got + centre, rows, atol=1e-5 * np.ptp(rows))

    @pytest.mark.parametrize(
        "kind",
        [
            pytest.param(
                Exact(),
            ),
            Landmarks(),
            Separate(),
        ],
        ids=lambda kind: type(kind).__name__,
    )
    def test_other_kernels_see_new_rows_as_before(self, kind):
        X, first, second = draw(13)
        bank = kind.build(X, first)
        again = bank.relearnt(X, Known(second, 3))
        new = draw(14)[0]
        for i in STAYING:
            weights = np.eye(10)[i]
            expected = bank.kernel(weights)(new)
            assert np.array_equal(again.kernel(weights)(new), expected)

    def test_of_several_sets_each_has_its_views(self, kind, monkeypatch):
        X, first, second = draw(15)
        several = SeveralSets([locked(X[:, :2].copy()), locked(X[:, 1:].copy())])
        kernels = [KERNELS[i] for i in (0, 1, 4, 7)]
        bank = kind.build(several, first, kernels)
        again = bank.relearnt(several, Known(second, 3))
        assert bank.n_weights == 8 and again.names == bank.names
        fresh = self.fresh_like(
            monkeypatch, kind, bank, several, second, kernels=kernels
        )
        for weights in each_and_all(bank):
            a, b = again.combine(weights), fresh.combine(weights)
            assert np.array_equal(a.rows, b.rows)

    def test_filters_are_not_asked_again(self, kind):
        X, first, second = draw(16)
        bank = kind.build(X, first, filter="ratio")
        again = bank.relearnt(X, Known(second, 3))
        assert again.names == bank.names

    def test_clusters_are_those_of_a_fresh_bank(self, kind, monkeypatch):
        X, first, second = draw(17)
        pairs = Constraints.sample(np.arange(N) % 3, 20, random_state=0)
        closure = pairs.closure(N)
        bank = kind.build(X, first)
        if isinstance(bank, KernelBank):
            bank = bank.with_groups(closure.linked, closure.n_linked)
        again = bank.relearnt(X, Known(second, 3))
        fresh = self.fresh_like(monkeypatch, kind, bank, X, second)
        for weights in each_and_all(bank):
            a, b = (kmeans(k.combine(weights), closure, 3) for k in (again, fresh))
            assert np.array_equal(a.labels, b.labels)


def of_no_use():
    """Return data, groups and kernels of which two become useless with other groups.

    Rows of the first group are nearly equal, so that the view is very wide.
    """
    X, _, second = draw(18)
    rng = np.random.default_rng(0)
    X = X.copy()
    X[:10] = X[0] + 1e-8 * rng.normal(size=(10, 4))
    first = np.where(np.arange(N) < 10, 0, -1)
    view = WithinWhitened()
    width = np.square(np.ptp(view.fit(X, None, Known(first, 3)).transform(X).values))
    kernels = [Linear(), (view, RBF(0.1)), (view, RBF(1.0 / width)), (view, Linear())]
    return locked(X), first, second, kernels


class TestUselessKernels:
    """Kernels of no use with the new groups stay as they were."""

    @pytest.fixture(params=[Exact, Landmarks, Separate], ids=lambda c: c.__name__)
    def kind(self, request):
        return request.param()

    def test_their_matrices_stay(self, kind):
        X, first, second, kernels = of_no_use()
        bank = kind.build(X, first, kernels)
        again = bank.relearnt(X, Known(second, 3))
        for i in (0, 2):
            assert again._stored[i] is bank._stored[i]
        assert again.unscaled[2] == bank.unscaled[2]

    def test_new_rows_are_seen_as_before(self, kind):
        X, first, second, kernels = of_no_use()
        bank = kind.build(X, first, kernels)
        again = bank.relearnt(X, Known(second, 3))
        weights = np.eye(4)[2]
        assert np.array_equal(again.kernel(weights)(X), bank.kernel(weights)(X))

    def test_regenerated_ones_stay(self, kind):
        X, first, second, kernels = of_no_use()
        kernels = [*kernels, (WithinWhitened(), RBF(0.2))] * 4
        bank = kind.build(X, first, kernels)
        width = 1.0
        if isinstance(bank, LandmarkBank):
            width = len(bank.landmarks) / bank.n_landmarks
        bank = kind.build(X, first, kernels, n_blocks=3.5 * width)
        again = bank.relearnt(X, Known(second, 3), 2.5 * width * kind.one)
        assert not bank.is_stored and not again.is_stored
        weights = np.eye(bank.n_weights)[2]
        a, b = bank.combine(weights).rows, again.combine(weights).rows
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-6 * np.abs(a).max())

    def test_all_of_them_may_be_useless(self, kind):
        X, first, second, kernels = of_no_use()
        bank = kind.build(X, first, [kernels[0], kernels[2]])
        again = bank.relearnt(X, Known(second, 3))
        for weights in np.eye(2):
            a, b = bank.combine(weights).rows, again.combine(weights).rows
            assert np.array_equal(a, b)


def test_too_little_memory_for_the_new_part_is_an_error():
    X, first, second = draw()
    for kind, message in ((Exact(), "kernels on 60 rows"), (Landmarks(), "landmarks")):
        with pytest.raises(MemoryError, match=message):
            kind.build(X, first).relearnt(X, Known(second, 3), 1.5 * kind.one)


class TestContract(BankContract):
    """A bank with views learnt anew is a bank like others."""

    @pytest.fixture(params=["stored", "lean", "all rows"])
    def bank(self, request):
        X, first, second = draw(19)
        weight = np.random.default_rng(1).uniform(0.5, 3.0, N)
        options = {"sample_weight": weight}
        if request.param == "all rows":
            return AllRows().build(X, first, **options).relearnt(X, Known(second, 3))
        kind = Exact()
        memory = 6 * kind.one if request.param == "lean" else np.inf
        bank = kind.build(X, first, **options)
        return bank.relearnt(X, Known(second, 3), memory)
