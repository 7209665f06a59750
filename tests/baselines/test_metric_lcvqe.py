"""MetricLCVQE is a metric learner and LCVQE, one after the other."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkwise import Constraints, ConstraintWarning
from linkwise.baselines._itml import ITML
from linkwise.baselines._lcvqe import LCVQE
from linkwise.baselines._metric_lcvqe import MetricLCVQE
from linkwise.baselines._mmc import MMC
from linkwise.baselines._rca import RCA
from linkwise.exceptions import InconsistentConstraintsError

pytestmark = pytest.mark.filterwarnings(
    "ignore:The metric of:sklearn.exceptions.ConvergenceWarning"
)
LEARNERS = {
    "itml": partial(ITML, random_state=0),
    "mmc": partial(MMC, random_state=0),
    "rca": RCA,
}


def draw_problem(seed=0, n=90, n_noise=3, n_pairs=80):
    """Return three groups in one column beside wide columns of noise, with pairs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    informative = 2.0 * y + 0.2 * rng.standard_normal(n)
    noise = 3.0 * rng.standard_normal((n, n_noise))
    X = np.column_stack([informative, noise])
    n_pairs = min(n_pairs, n * (n - 1) // 2)
    return X, y, Constraints.sample(y, n_pairs, random_state=seed)


@pytest.fixture(params=LEARNERS)
def metric(request):
    """Each metric by name."""
    return request.param


# Labels of the checks may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(
    [
        MetricLCVQE(2, metric=ITML(max_iter=50)),
        MetricLCVQE(2, metric="mmc"),
    ]
)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)


def test_it_equals_a_pipeline_with_routing(metric):
    X, _, pairs = draw_problem()
    model = MetricLCVQE(3, metric=metric, random_state=0).fit(X, constraints=pairs)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(LEARNERS[metric](), LCVQE(3, random_state=0)).fit(
            X, constraints=pairs
        )
        assert_array_equal(pipe[-1].labels_, model.labels_)
        assert_array_equal(pipe.predict(X), model.predict(X))
        assert pipe.score(X, constraints=pairs) == model.score(X, constraints=pairs)
        assert_array_equal(pipe.fit_predict(X, constraints=pairs), model.labels_)


def test_it_stands_in_a_pipeline_after_a_scaler(metric):
    X, _, pairs = draw_problem()
    model = MetricLCVQE(3, metric=metric, random_state=0)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), model).fit(X, constraints=pairs)
    alone = MetricLCVQE(3, metric=metric, random_state=0)
    alone.fit(StandardScaler().fit_transform(X), constraints=pairs)
    assert_array_equal(pipe[-1].labels_, alone.labels_)


def test_a_pipeline_takes_ids_of_rows(metric):
    X, _, pairs = draw_problem()
    ids = np.arange(len(X)) + 1000
    moved = Constraints(pairs.must_link + 1000, pairs.cannot_link + 1000)
    expected = MetricLCVQE(3, metric=metric, random_state=0)
    expected.fit(X, constraints=pairs)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(LEARNERS[metric](), LCVQE(3, random_state=0))
        pipe.fit(X, constraints=moved, sample_id=ids)
    assert_array_equal(pipe[-1].labels_, expected.labels_)
    named = MetricLCVQE(3, metric=metric, random_state=0)
    named.fit(X, constraints=moved, sample_id=ids)
    assert_array_equal(named.labels_, expected.labels_)


def test_the_metric_finds_groups_that_noise_hides(metric):
    X, y, pairs = draw_problem(n_pairs=150)
    plain = LCVQE(3, random_state=0).fit(X)
    model = MetricLCVQE(3, metric=metric, random_state=0).fit(X, constraints=pairs)
    assert adjusted_rand_score(y, plain.labels_) < 0.5
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.constraint_score_ == 1.0
    assert model.n_violated_ == 0


def test_without_pairs_it_is_lcvqe(metric):
    X, _, _ = draw_problem()
    model = MetricLCVQE(3, metric=metric, random_state=0).fit(X)
    plain = LCVQE(3, random_state=0).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert model.objective_ == plain.objective_
    assert np.isnan(model.constraint_score_)


def test_a_metric_learner_of_the_users_is_cloned():
    X, _, pairs = draw_problem()
    learner = ITML(gamma=5.0, max_iter=20)
    model = MetricLCVQE(3, metric=learner, random_state=0).fit(X, constraints=pairs)
    assert not hasattr(learner, "metric_")
    assert_array_equal(
        model.metric_learner_.metric_, learner.fit(X, constraints=pairs).metric_
    )
    assert model.set_params(metric__gamma=2.0).metric.gamma == 2.0


def test_attributes_are_those_of_the_clusterer(metric):
    X, _, pairs = draw_problem()
    model = MetricLCVQE(3, metric=metric, random_state=0).fit(X, constraints=pairs)
    for name in ("labels_", "objective_", "n_iter_", "converged_", "n_violated_"):
        assert_array_equal(getattr(model, name), getattr(model.clusterer_, name))
    closure = pairs.closure(len(X))
    assert model.constraint_score_ == closure.score(model.labels_)
    rows = model.metric_learner_.transform(X)
    nearest = ((rows[:, None] - model.clusterer_.cluster_centers_) ** 2).sum(axis=2)
    assert_array_equal(model.predict(X), nearest.argmin(axis=1))


def test_parameters_reach_the_clusterer():
    X, _, pairs = draw_problem()
    model = MetricLCVQE(
        3, violation_weight=0.5, n_init=2, max_pairs=10**6, max_iter=50, random_state=1
    ).fit(X, constraints=pairs)
    expected = {
        "n_clusters": 3,
        "violation_weight": 0.5,
        "n_init": 2,
        "max_pairs": 10**6,
        "max_iter": 50,
        "random_state": 1,
    }
    assert expected.items() <= model.clusterer_.get_params().items()


def test_the_same_seed_gives_the_same_labels(metric):
    X, _, pairs = draw_problem()
    model = MetricLCVQE(3, metric=metric, random_state=3)
    first = model.fit(X, constraints=pairs).labels_
    assert_array_equal(model.fit(X, constraints=pairs).labels_, first)


@pytest.mark.parametrize("k", [1, 12])
def test_extreme_numbers_of_clusters(metric, k):
    X, _, _ = draw_problem(n=12)
    pairs = Constraints([(0, 1)], [(2, 3)]) if k == 1 else Constraints()
    model = MetricLCVQE(k, metric=metric, random_state=0).fit(X, constraints=pairs)
    assert len(np.unique(model.labels_)) == k
    with pytest.raises(ValueError, match="n_clusters=13 is more than the 12 rows"):
        MetricLCVQE(13, metric=metric).fit(X, constraints=pairs)


def test_too_few_groups_of_rows_warn_once(metric):
    X, _, _ = draw_problem(n=4)
    pairs = Constraints([(0, 1), (1, 2)], [(2, 3)])
    with pytest.warns(ConstraintWarning, match="only 2 groups") as caught:
        MetricLCVQE(3, metric=metric, random_state=0).fit(X, constraints=pairs)
    groups = [w for w in caught if "groups of rows" in str(w.message)]
    assert len(groups) == 1
    assert groups[0].filename == __file__


def test_contradictions_raise_or_are_dropped(metric):
    X, _, _ = draw_problem()
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2), (2, 3)])
    with pytest.raises(InconsistentConstraintsError):
        MetricLCVQE(3, metric=metric).fit(X, constraints=pairs)
    kept = Constraints([(0, 1), (1, 2)], [(2, 3)])
    model = MetricLCVQE(3, metric=metric, on_conflict="drop", random_state=0)
    expected = MetricLCVQE(3, metric=metric, random_state=0)
    assert_array_equal(
        model.fit_predict(X, constraints=pairs),
        expected.fit_predict(X, constraints=kept),
    )


def test_sparse_rows_data_frames_and_pickles(metric):
    X, _, pairs = draw_problem()
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    model = MetricLCVQE(3, metric=metric, random_state=0).fit(X, constraints=pairs)
    sparse = MetricLCVQE(3, metric=metric, random_state=0)
    sparse.fit(csr_array(X), constraints=pairs)
    assert adjusted_rand_score(model.labels_, sparse.labels_) == 1.0
    assert_array_equal(sparse.predict(csr_array(X)), sparse.predict(X))
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = MetricLCVQE(3, metric=metric, random_state=0).fit(frame, constraints=pairs)
    assert_array_equal(named.labels_, model.labels_)
    assert named.feature_names_in_.tolist() == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("metric", "lmnn"), ("metric", 3), ("n_init", 0), ("violation_weight", -1.0)],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter"):
        MetricLCVQE(2, **{parameter: value}).fit([[0.0], [1.0]])
