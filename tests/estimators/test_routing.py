"""Pairs travel through pipelines and cross-validation."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from linkwise import ConstrainedKernelKMeans, Constraints, KernelCSC
from linkwise.kernels import Linear

passes_pairs_to_scores = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="cross-validation gives a pipeline's score no metadata",
)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


class Recording(KernelCSC):
    """Notes the pairs that fit and score have found among their rows."""

    seen = None  # a list, shared by clones: [(method, n_samples, pairs)]

    def _check_pairs(self, constraints, y, n_samples, sample_id):
        pairs = super()._check_pairs(constraints, y, n_samples, sample_id)
        rows = np.asarray(sample_id)
        self.seen.append(
            (
                tuple(rows.tolist()),
                {tuple(sorted(rows[p].tolist())) for p in pairs.must_link},
                {tuple(sorted(rows[p].tolist())) for p in pairs.cannot_link},
            )
        )
        return pairs


@pytest.fixture
def recording():
    Recording.seen = []
    return Recording(3, n_candidates=5, random_state=0)


def assert_only_pairs_inside(seen, rows, pairs):
    inside = set(rows.tolist())
    ids, must_link, cannot_link = seen
    assert ids == tuple(rows.tolist())
    for found, given in (
        (must_link, pairs.must_link),
        (cannot_link, pairs.cannot_link),
    ):
        expected = {tuple(p) for p in given.tolist() if set(p) <= inside}
        assert found == expected
        assert expected


def test_a_pipeline_takes_pairs(estimator, overlapping, routing):
    X, _, pairs = overlapping
    pipe = make_pipeline(StandardScaler(), estimator).fit(X, constraints=pairs)
    scaled = StandardScaler().fit_transform(X)
    alone = estimator.fit(scaled, constraints=pairs)
    assert_array_equal(pipe[-1].labels_, alone.labels_)
    assert pipe.score(X, constraints=pairs) == alone.score(scaled, constraints=pairs)
    labels = pipe.fit_predict(X, constraints=pairs)
    assert_array_equal(labels, alone.labels_)


def test_a_pipeline_takes_pairs_by_step_name_without_routing(overlapping):
    X, _, pairs = overlapping
    pipe = make_pipeline(
        StandardScaler(), KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    )
    pipe.fit(X, kernelcsc__constraints=pairs)
    expected = pipe[-1].labels_
    with config_context(enable_metadata_routing=True):
        assert_array_equal(pipe.fit(X, constraints=pairs)[-1].labels_, expected)


def test_a_pipeline_takes_labels(overlapping):
    X, y, _ = overlapping
    partial = np.where(np.arange(len(y)) < 30, y, -1)
    pipe = make_pipeline(
        StandardScaler(), KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    )
    assert 0 <= pipe.fit(X, partial).score(X, partial) <= 1


@passes_pairs_to_scores
def test_each_fold_sees_only_its_own_pairs(recording, overlapping, routing):
    X, _, pairs = overlapping
    ids = np.arange(len(X)) * 10
    named = Constraints(10 * pairs.must_link, 10 * pairs.cannot_link)
    folds = list(KFold(2, shuffle=True, random_state=0).split(X))
    result = cross_validate(
        make_pipeline(StandardScaler(), recording),
        X,
        cv=folds,
        params={"constraints": named, "sample_id": ids},
        return_estimator=True,
        error_score="raise",
    )
    assert len(recording.seen) == 4
    for i, (train, test) in enumerate(folds):
        assert_only_pairs_inside(recording.seen[2 * i], ids[train], named)
        assert_only_pairs_inside(recording.seen[2 * i + 1], ids[test], named)
        labels = result["estimator"][i].predict(X[test])
        assert result["test_score"][i] == pairs.restrict(test).score(labels)
        train_score = result["estimator"][i][-1].constraint_score_
        assert train_score == pairs.restrict(train).score(
            result["estimator"][i][-1].labels_
        )


@passes_pairs_to_scores
def test_a_grid_search_takes_pairs(recording, overlapping, routing):
    X, _, pairs = overlapping
    ids = np.arange(len(X))
    folds = list(KFold(2, shuffle=True, random_state=0).split(X))
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), recording),
        {"recording__max_kernels": [1, 3]},
        cv=folds,
        error_score="raise",
    )
    grid.fit(X, constraints=pairs, sample_id=ids)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert len(recording.seen) == 2 * 4 + 1
    for i in range(2):
        for j, (train, test) in enumerate(folds):
            at = 4 * i + 2 * j
            assert_only_pairs_inside(recording.seen[at], train, pairs)
            assert_only_pairs_inside(recording.seen[at + 1], test, pairs)
    assert_only_pairs_inside(recording.seen[-1], ids, pairs)
    assert grid.score(X, constraints=pairs, sample_id=ids) > 0


def test_pairs_can_be_named_by_anything(overlapping, routing):
    X, _, pairs = overlapping
    ids = np.array([f"p{i}" for i in range(len(X))])
    named = Constraints(ids[pairs.must_link].tolist(), ids[pairs.cannot_link].tolist())
    model = KernelCSC(3, kernels="paper", n_candidates=5, random_state=0)
    scores = [
        cross_val_score(model, X, cv=3, params=params, error_score="raise")
        for params in (
            {"constraints": named, "sample_id": ids},
            {"constraints": pairs, "sample_id": np.arange(len(X))},
        )
    ]
    assert_array_equal(*scores)


def test_a_gram_matrix_is_cut_along_both_axes(overlapping, routing):
    X, _, pairs = overlapping
    params = {"constraints": pairs, "sample_id": np.arange(len(X))}
    options = {"cv": 3, "params": params, "error_score": "raise"}
    given = ConstrainedKernelKMeans(3, kernel="precomputed", random_state=0)
    computed = ConstrainedKernelKMeans(3, kernel=Linear(), random_state=0)
    assert_array_equal(
        cross_val_score(given, X @ X.T, **options),
        cross_val_score(computed, X, **options),
    )


def test_weights_of_rows_are_routed_on_request(blobs, routing):
    X, _, pairs = blobs
    model = KernelCSC(
        3, kernels="paper", n_candidates=5, random_state=0
    ).set_fit_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipe.fit(X, constraints=pairs, sample_weight=np.full(len(X), 2.0))
    assert pipe[-1].constraint_score_ == 1.0


def test_requests_can_be_turned_off(blobs, routing):
    model = KernelCSC(3, kernels="paper", n_candidates=5).set_fit_request(
        constraints=False
    )
    pipe = make_pipeline(StandardScaler(), model)
    with pytest.raises(TypeError, match="constraints"):
        pipe.fit(blobs.X, constraints=blobs.pairs)
