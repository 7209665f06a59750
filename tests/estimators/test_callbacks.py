"""The search speaks to scikit-learn's callbacks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkwise import ConstrainedKernelKMeans, ConstraintWarning, KernelCSC
from linkwise.kernels import RBF, Linear
from linkwise.search import Evaluator

callback = pytest.importorskip("sklearn.callback", reason="from scikit-learn 1.9 on")
FitCallback, ProgressBar, ScoringMonitor = (
    callback.FitCallback,
    callback.ProgressBar,
    callback.ScoringMonitor,
)


class Recorder:
    """Notes every call; stops, or raises, at a given candidate."""

    def __init__(self, at=None, action=lambda: True):
        self.calls, self.fitted = [], []
        self.at, self.action = at, action

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        self.fitted.append(fitted_estimator)
        self.X = X
        if context.task_name == "candidate" and context.task_id + 1 == self.at:
            return self.action()

    def teardown(self, estimator, context):
        self.calls.append("teardown")


class Propagated(Recorder):
    """A recorder that pipelines hand on to their steps."""

    max_propagation_depth = None


def failing():
    raise RuntimeError("the callback failed")


def interrupted():
    raise KeyboardInterrupt


def test_the_recorder_follows_the_protocol():
    assert isinstance(Recorder(), FitCallback)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_candidate_begins_and_ends(n_jobs, searcher, overlapping):
    X, _, pairs = overlapping
    recorder = Recorder()
    searcher.set_params(n_jobs=n_jobs).set_callbacks(recorder)
    searcher.fit(X, constraints=pairs)
    candidates = ["begin candidate", "end candidate"] * len(searcher.history_)
    expected = ["setup", "begin fit", *candidates, "end fit", "teardown"]
    assert recorder.calls == expected
    assert recorder.X is X


def test_a_fixed_kernel_reports_its_fit(blobs):
    recorder = Recorder()
    model = ConstrainedKernelKMeans(3).set_callbacks(recorder)
    model.fit(blobs.X, constraints=blobs.pairs)
    assert recorder.calls == ["setup", "begin fit", "end fit", "teardown"]
    assert_array_equal(recorder.fitted[0].predict(blobs.X), model.predict(blobs.X))


def test_a_fit_without_pairs_reports_itself(searcher, blobs):
    recorder = Recorder()
    with pytest.warns(ConstraintWarning):
        searcher.set_callbacks(recorder).fit(blobs.X)
    assert recorder.calls == ["setup", "begin fit", "end fit", "teardown"]
    assert_array_equal(recorder.fitted[0].predict(blobs.X), searcher.labels_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_can_stop_the_search(n_jobs, searcher, overlapping):
    X, _, pairs = overlapping
    searcher.set_params(n_jobs=n_jobs).set_callbacks(Recorder(at=7))
    searcher.fit(X, constraints=pairs)
    assert searcher.stopped_by_ == "callback"
    assert len(searcher.history_) == 7
    assert searcher.constraint_score_ == searcher.history_["score"].max()


def test_models_on_the_way_can_predict(searcher, overlapping):
    X, _, pairs = overlapping
    recorder = Recorder(at=7)
    searcher.set_callbacks(recorder).fit(X, constraints=pairs)
    *on_the_way, last = recorder.fitted
    best = searcher.history_["score"].cummax()
    for n_tried, model in enumerate(on_the_way, start=1):
        assert_array_equal(model.predict(X), model.labels_)
        assert model.constraint_score_ == best[n_tried - 1]
        assert model.score(X, constraints=pairs) == best[n_tried - 1]
        assert len(model.history_) == n_tried
        assert model.stopped_by_ == "callback"
    assert_array_equal(last.labels_, searcher.labels_)
    # Had the search been stopped there, nothing would differ.
    assert_array_equal(on_the_way[-1].labels_, searcher.labels_)


def test_a_look_at_models_on_the_way_costs_no_candidates(overlapping, monkeypatch):
    X, _, pairs = overlapping
    call, calls = Evaluator.__call__, []

    def counted(self, weights):
        calls.append(weights)
        return call(self, weights)

    monkeypatch.setattr(Evaluator, "__call__", counted)
    model = KernelCSC(3, n_candidates=12, random_state=0)
    plain = clone(model).fit(X, constraints=pairs)
    n_calls, recorder = len(calls), Recorder()
    model.set_callbacks(recorder).fit(X, constraints=pairs)
    assert len(recorder.fitted) == 13
    assert len(calls) == 2 * n_calls == 2 * 12
    assert_array_equal(model.labels_, plain.labels_)


def test_models_on_the_way_keep_names_of_features(overlapping):
    X, _, pairs = overlapping
    frame = pd.DataFrame(X, columns=list("abc"))
    recorder = Recorder(at=3)
    KernelCSC(3).set_callbacks(recorder).fit(frame, constraints=pairs)
    for model in recorder.fitted:
        model.predict(recorder.X)  # would warn, were the names lost


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_callback_ends_in_teardown(n_jobs, searcher, overlapping):
    X, _, pairs = overlapping
    recorder = Recorder(at=3, action=failing)
    searcher.set_params(n_jobs=n_jobs).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="the callback failed"):
        searcher.fit(X, constraints=pairs)
    assert recorder.calls[-2:] == ["end candidate", "teardown"]


def test_an_error_in_a_candidate_ends_in_teardown(overlapping, monkeypatch):
    X, _, pairs = overlapping
    recorder = Recorder()
    model = KernelCSC(3, kernels="paper", n_candidates=5).set_callbacks(recorder)
    monkeypatch.setattr("linkwise.search.Evaluator.__call__", lambda *_: failing())
    with pytest.raises(RuntimeError, match="the callback failed"):
        model.fit(X, constraints=pairs)
    assert recorder.calls == ["setup", "begin fit", "teardown"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_the_best_so_far(n_jobs, searcher, overlapping):
    X, _, pairs = overlapping
    recorder = Recorder(at=5, action=interrupted)
    searcher.set_params(n_jobs=n_jobs).set_callbacks(recorder)
    with pytest.warns(ConstraintWarning, match="Interrupted after 5 of .*best so far"):
        searcher.fit(X, constraints=pairs)
    assert searcher.stopped_by_ == "interrupt"
    assert len(searcher.history_) == 5
    assert searcher.constraint_score_ == searcher.history_["score"].max()
    assert recorder.calls[-2:] == ["end fit", "teardown"]
    stopped = clone(searcher).set_callbacks(Recorder(at=5)).fit(X, constraints=pairs)
    assert_array_equal(searcher.labels_, stopped.labels_)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("selection", ["train", "committee"])
def test_an_interrupt_inside_a_candidate_keeps_the_best(
    n_jobs, selection, overlapping, monkeypatch
):
    X, _, pairs = overlapping
    call, calls = Evaluator.__call__, iter(range(1000))

    def sometimes(self, weights):
        if next(calls) >= 4:
            raise KeyboardInterrupt
        return call(self, weights)

    monkeypatch.setattr(Evaluator, "__call__", sometimes)
    options = {"n_candidates": 20, "n_jobs": n_jobs, "random_state": 0}
    model = KernelCSC(3, selection=selection, **options)
    with pytest.warns(ConstraintWarning, match="Interrupted after 4 of 20"):
        model.fit(X, constraints=pairs)
    assert model.stopped_by_ == "interrupt"
    assert len(model.history_) == 4
    if selection == "train":
        assert model.constraint_score_ == model.history_["score"].max()


def test_an_interrupt_before_any_candidate_is_passed_on(overlapping, monkeypatch):
    X, _, pairs = overlapping
    monkeypatch.setattr("linkwise.search.Evaluator.__call__", lambda *_: interrupted())
    with pytest.raises(KeyboardInterrupt):
        KernelCSC(3, kernels="paper", n_candidates=5).fit(X, constraints=pairs)


def test_nothing_of_callbacks_is_left_on_the_model(searcher, overlapping):
    X, _, pairs = overlapping
    before = set(vars(searcher.fit(X, constraints=pairs)))
    searcher.set_callbacks(Recorder()).fit(X, constraints=pairs)
    assert set(vars(searcher.set_callbacks())) == before


class TestStockCallbacks:
    pytest.importorskip("rich")

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_the_progress_bar_shows_candidates(self, n_jobs, searcher, blobs, capsys):
        X, _, pairs = blobs
        searcher.set_params(n_jobs=n_jobs).set_callbacks(ProgressBar())
        labels = searcher.fit(X, constraints=pairs).labels_
        shown = capsys.readouterr().out
        assert f"{type(searcher).__name__} - fit" in shown
        assert "100%" in shown
        assert_array_equal(
            searcher.set_callbacks().fit(X, constraints=pairs).labels_, labels
        )

    def test_the_progress_bar_counts_candidates(self, overlapping, monkeypatch, capsys):
        from rich.progress import Progress

        X, _, pairs = overlapping
        totals, update = set(), Progress.update

        def noting(self, task_id, **options):
            totals.add(options.get("completed"))
            return update(self, task_id, **options)

        monkeypatch.setattr(Progress, "update", noting)
        model = KernelCSC(3, n_candidates=8, kernels=[Linear(), RBF(0.1)])
        model.set_params(filter="none").set_callbacks(ProgressBar())
        model.fit(X, constraints=pairs)
        assert totals >= set(range(1, len(model.history_) + 1))

    def test_the_progress_bar_works_without_a_search(self, estimator, blobs, capsys):
        estimator.set_callbacks(ProgressBar()).fit(blobs.X, constraints=blobs.pairs)
        assert "100%" in capsys.readouterr().out

    def test_the_scoring_monitor_follows_the_score_of_labels(self, overlapping):
        X, y, _ = overlapping
        partial = np.where(np.arange(len(y)) < 20, y, -1)

        def satisfied(model, X, y):
            return {"satisfied": model.score(X, y)}

        monitor = ScoringMonitor(scoring=satisfied)
        options = {"kernels": "paper", "selection": "train", "random_state": 0}
        model = KernelCSC(3, n_candidates=10, **options).set_callbacks(monitor)
        model.fit(X, partial)
        log = monitor.get_logs().data_as_pandas
        log = log[log["task_name"] == "candidate"].sort_values("task_id")
        assert_array_equal(log["satisfied"], model.history_["score"].cummax())

    def test_the_scoring_monitor_takes_the_name_of_a_metric(self, overlapping):
        X, y, pairs = overlapping
        monitor = ScoringMonitor(scoring="adjusted_rand_score")
        model = KernelCSC(
            3, kernels="paper", n_candidates=5, random_state=0
        ).set_callbacks(monitor)
        model.fit(X, y, constraints=pairs)
        log = monitor.get_logs().data_as_pandas
        assert np.isfinite(log["adjusted_rand_score"]).all()

    def test_the_scoring_monitor_has_nothing_to_say_without_labels(self, overlapping):
        X, _, pairs = overlapping
        monitor = ScoringMonitor(scoring="adjusted_rand_score")
        model = KernelCSC(
            3, kernels="paper", n_candidates=5, random_state=0
        ).set_callbacks(monitor)
        model.fit(X, constraints=pairs)
        assert "adjusted_rand_score" not in monitor.get_logs().data_as_pandas


class TestMetaEstimators:
    def test_a_pipeline_hands_callbacks_on(self, searcher, overlapping, capsys):
        X, _, pairs = overlapping
        recorder = Propagated()
        pipe = make_pipeline(StandardScaler(), searcher)
        with config_context(enable_metadata_routing=True):
            pipe.set_callbacks(recorder, ProgressBar()).fit(X, constraints=pairs)
        n_ended = recorder.calls.count("end candidate")
        assert n_ended == len(searcher.history_) > 0
        assert type(searcher).__name__ in capsys.readouterr().out

    def test_a_stop_inside_a_pipeline_stops_the_search(self, searcher, overlapping):
        X, _, pairs = overlapping
        pipe = make_pipeline(StandardScaler(), searcher.set_callbacks(Recorder(at=4)))
        with config_context(enable_metadata_routing=True):
            pipe.fit(X, constraints=pairs)
        assert (searcher.stopped_by_, len(searcher.history_)) == ("callback", 4)

    def test_a_grid_search_hands_callbacks_on(self, overlapping, capsys):
        X, _, pairs = overlapping
        grid = GridSearchCV(
            make_pipeline(
                StandardScaler(), KernelCSC(3, kernels="paper", n_candidates=5)
            ),
            {"kernelcsc__max_kernels": [1, 2]},
            cv=2,
            error_score="raise",
        )
        recorder = Propagated()
        grid.set_callbacks(recorder, ProgressBar(max_propagation_depth=None))
        with config_context(enable_metadata_routing=True):
            grid.fit(X, constraints=pairs, sample_id=np.arange(len(X)))
        n_ended = recorder.calls.count("end candidate")
        assert n_ended > 5 * len(grid.cv_results_["params"])
        assert "KernelCSC" in capsys.readouterr().out
