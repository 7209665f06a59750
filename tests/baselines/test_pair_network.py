"""PairNetwork: clusters that a network learns from pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs as scikit_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.metric_contract import DoorContract, make_blobs
from tests.baselines.slopes import numeric_slope

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines import PairNetwork
from linkwise.baselines._pair_losses import PairEnds, kcl_loss, mcl_loss, mean_loss

LOSSES = ["mcl", "kcl"]
QUICK = {"hidden": (16,), "learning_rate": 0.02, "max_iter": 200, "n_init": 1}
# Networks as small as these are quick, and may still move.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MUST, CANNOT = np.array([True]), np.array([False])


# Checks know nothing of pairs: it is k-means there, and says so.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks([PairNetwork(2, **{**QUICK, "max_iter": 30})])
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:There are no cannot-links")
class TestDoor(DoorContract):
    # Clusters may stay empty, rows are dense, and both kinds of pairs are needed.
    test_as_many_clusters_as_rows = None
    test_sparse_and_data_frame_are_the_array = None
    test_pairs_of_one_kind_only = None
    test_fewer_groups_than_clusters_warn = None

    @pytest.fixture(params=LOSSES)
    def model(self, request):
        return PairNetwork(3, loss=request.param, **QUICK, random_state=0)

    @pytest.mark.filterwarnings("ignore:Without pairs:linkwise.ConstraintWarning")
    @pytest.mark.parametrize("nothing", [None, ([], []), Constraints()])
    def test_no_pairs(self, model, nothing):
        super().test_no_pairs(model, nothing)

    def test_equal_rows_do_no_harm(self, model):
        X = np.repeat([[1.0, 2.0], [3.0, 1.0], [9.0, 7.0]], 4, axis=0)
        model.fit(X, constraints=([(0, 1), (4, 5)], [(0, 4)]))
        assert np.isfinite(model.objective_)
        assert_array_equal(model.labels_, np.repeat(model.labels_[::4], 4))


class TestExampleOfTheSpecification:
    p, q = np.log([[0.7, 0.3]]), np.log([[0.2, 0.8]])

    def test_kcl(self):
        assert kcl_loss(self.p, self.q, MUST, 2.0)[0] == pytest.approx(1.116796, 1e-6)
        assert kcl_loss(self.p, self.q, CANNOT, 2.0)[0] == pytest.approx(2.883204, 1e-6)
        # Each divergence alone: what a margin between the two leaves.
        a, b = 0.582685, 0.534111
        cost = kcl_loss(self.p, self.q, CANNOT, 0.55)[0]
        assert cost == pytest.approx(0.55 - min(a, b), abs=1e-6)

    def test_mcl(self):
        cost, slope, _ = mcl_loss(self.p, self.q, MUST)
        assert cost == pytest.approx(0.967584, abs=1e-6)
        assert_allclose(slope, [[0.331579, -0.331579]], atol=1e-6)
        assert mcl_loss(self.p, self.q, CANNOT)[0] == pytest.approx(0.478036, abs=1e-6)


def draw_logits(seed, n=9, k=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=(n, k)), rng.random(n) < 0.5


class TestLosses:
    @pytest.mark.parametrize("seed", range(3))
    def test_slopes_of_mcl_are_those_of_finite_differences(self, seed):
        p, q, is_must = draw_logits(seed)
        _, in_p, in_q = mcl_loss(p, q, is_must)
        by_p = numeric_slope(lambda z: mcl_loss(z, q, is_must)[0].sum(), p)
        by_q = numeric_slope(lambda z: mcl_loss(p, z, is_must)[0].sum(), q)
        assert_allclose(in_p, by_p, atol=1e-6)
        assert_allclose(in_q, by_q, atol=1e-6)

    @pytest.mark.parametrize("seed", range(3))
    def test_slopes_of_kcl_hold_the_other_side_in_place(self, seed):
        logits_p, logits_q, is_must = draw_logits(seed)
        margin = 0.8

        def one_side(held, moved):
            p, q = softmax(held, axis=1), softmax(moved, axis=1)
            divergence = (p * np.log(p / q)).sum(axis=1)
            short = np.maximum(0.0, margin - divergence)
            return float(np.where(is_must, divergence, short).sum())

        cost, in_p, in_q = kcl_loss(logits_p, logits_q, is_must, margin)
        both = one_side(logits_p, logits_q) + one_side(logits_q, logits_p)
        assert cost.sum() == pytest.approx(both)
        by_p = numeric_slope(lambda z: one_side(logits_q, z), logits_p)
        by_q = numeric_slope(lambda z: one_side(logits_p, z), logits_q)
        assert_allclose(in_p, by_p, atol=1e-6)
        assert_allclose(in_q, by_q, atol=1e-6)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_ends_may_change_places(self, loss):
        p, q, is_must = draw_logits(0)
        pairs = PairEnds(np.zeros((9, 2), dtype=int), is_must, np.ones(9))
        one, slope = mean_loss(np.concatenate([p, q]), pairs, loss=loss, margin=2.0)
        two, turned = mean_loss(np.concatenate([q, p]), pairs, loss=loss, margin=2.0)
        assert one == pytest.approx(two, rel=1e-12)
        assert_allclose(slope, np.concatenate(np.split(turned, 2)[::-1]))

    @pytest.mark.parametrize("loss", LOSSES)
    def test_a_weight_of_two_is_the_pair_twice(self, loss):
        p, q, is_must = draw_logits(0)
        weight = np.where(np.arange(9) < 3, 2.0, 1.0)
        pairs = PairEnds(np.zeros((9, 2)), is_must, weight / weight.mean())
        heavy, slope = mean_loss(np.concatenate([p, q]), pairs, loss=loss, margin=2.0)
        rows = np.concatenate([np.arange(9), np.arange(3)])
        twice = PairEnds(np.zeros((12, 2)), is_must[rows], np.ones(12))
        logits = np.concatenate([p[rows], q[rows]])
        loss_twice, slopes = mean_loss(logits, twice, loss=loss, margin=2.0)
        assert heavy == pytest.approx(loss_twice)
        slopes[:3] += slopes[9:12]
        assert_allclose(slope[:9], slopes[:9])

    @pytest.mark.parametrize("loss", LOSSES)
    def test_certain_outputs_have_finite_slopes(self, loss):
        p = np.array([[500.0, -500.0], [500.0, -500.0]])
        q = np.array([[-500.0, 500.0], [500.0, -500.0]])
        pairs = PairEnds(np.zeros((2, 2)), np.array([True, False]), np.ones(2))
        cost, slope = mean_loss(np.concatenate([p, q]), pairs, loss=loss, margin=2.0)
        assert np.isfinite(cost) and np.isfinite(slope).all()


@pytest.mark.parametrize("loss", LOSSES)
class TestClusters:
    def test_four_blobs(self, loss):
        X, y = scikit_blobs(120, centers=4, cluster_std=0.6, random_state=3)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        pairs = Constraints.sample(y, 200, random_state=0)
        model = PairNetwork(4, loss=loss, n_init=2, random_state=0)
        model.fit(X, constraints=pairs)
        assert model.constraint_score_ == 1.0
        assert adjusted_rand_score(y, model.labels_) > 0.9

    def test_the_best_of_several_starts_is_kept(self, loss):
        X, _, pairs = make_blobs(spread=3.0)
        model = PairNetwork(3, loss=loss, **QUICK, random_state=0)
        first = clone(model).fit(X, constraints=pairs).objective_
        several = clone(model).set_params(n_init=3).fit(X, constraints=pairs)
        assert several.objective_ <= first

    def test_the_objective_is_the_loss_of_all_pairs(self, loss):
        X, _, pairs = make_blobs(spread=3.0)
        model = PairNetwork(3, loss=loss, **QUICK, random_state=0)
        model.fit(X, constraints=pairs)
        closure = pairs.closure(len(X))
        logits = np.log(model.predict_proba(X))
        costs = []
        for kind, is_must in (
            (closure.must_link_pairs().pairs, True),
            (closure.cannot_link_pairs().pairs, False),
        ):
            first, second = logits[kind[:, 0]], logits[kind[:, 1]]
            given = np.full(len(kind), is_must)
            of = mcl_loss if loss == "mcl" else lambda *a: kcl_loss(*a, 2.0)
            costs.append(of(first, second, given)[0])
        assert model.objective_ == pytest.approx(np.concatenate(costs).mean())


def test_must_links_alone_give_one_cluster_and_a_warning():
    X, _, pairs = make_blobs()
    model = PairNetwork(3, **QUICK, random_state=0)
    with pytest.warns(ConstraintWarning, match="no cannot-links"):
        model.fit(X, constraints=(pairs.must_link, []))
    assert len(np.unique(model.labels_)) == 1


def test_without_pairs_it_is_k_means_and_a_warning():
    X, _, _ = make_blobs(spread=1.0)
    with pytest.warns(ConstraintWarning, match="nothing to learn from"):
        model = PairNetwork(3, random_state=0).fit(X)
    assert model.converged_
    means = KMeans(3, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(means.labels_, model.labels_) == 1.0
    assert model.objective_ == pytest.approx(means.inertia_)
    assert_array_equal(model.predict(X), model.labels_)


def test_too_many_pairs_are_drawn_from():
    X, _, pairs = make_blobs()
    model = PairNetwork(3, **QUICK, max_pairs=50, random_state=0)
    with pytest.warns(ConstraintWarning, match="max_pairs=50: as many"):
        model.fit(X, constraints=pairs)


def test_shares_are_outputs_and_labels_the_largest():
    X, _, pairs = make_blobs(spread=3.0)
    model = PairNetwork(3, **QUICK, random_state=0).fit(X, constraints=pairs)
    shares = model.predict_proba(X)
    assert shares.shape == (len(X), 3) and shares.min() >= 0.0
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(shares.argmax(axis=1), model.labels_)
    assert_array_equal(model.predict(X), model.labels_)


def test_callbacks_see_every_start_and_may_stop():
    callback = pytest.importorskip(
        "sklearn.callback", reason="from scikit-learn 1.9 on"
    )
    assert callback
    seen = []

    class Counter:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            seen.append(context.task_name)
            return context.task_name == "part" and context.task_id == 1

        def teardown(self, estimator, context):
            pass

    X, _, pairs = make_blobs()
    model = PairNetwork(3, **{**QUICK, "n_init": 5, "max_iter": 60}, random_state=0)
    model.set_callbacks(Counter()).fit(X, constraints=pairs)
    assert seen == ["part", "part", "fit"]


def test_sparse_rows_are_refused():
    X, _, pairs = make_blobs()
    with pytest.raises(TypeError, match="dense data is required"):
        PairNetwork(3).fit(csr_array(X), constraints=pairs)


@pytest.mark.parametrize(
    ("name", "value"), [("loss", "hinge"), ("margin", 0.0), ("batch_size", 0)]
)
def test_parameters_that_are_not_allowed_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of PairNetwork"):
        PairNetwork(2, **{name: value}).fit(make_blobs()[0])


def test_widths_of_layers_are_whole_numbers():
    with pytest.raises(ValueError, match=r"hidden=\(5, 0\).*whole numbers"):
        PairNetwork(2, hidden=(5, 0)).fit(make_blobs()[0])
