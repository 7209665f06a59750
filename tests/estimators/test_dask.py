"""Dask: candidates on the workers of a cluster, and rows that only they hold."""

import os
import signal
from contextlib import contextmanager
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    KernelCSC,
    MahalanobisCSC,
)
from linkwise.engines import DaskEngine

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N_CLUSTERS = 4
KERNEL_CSC = KernelCSC(
    N_CLUSTERS, n_candidates=30, n_landmarks=20, working_rows=200, random_state=0
)
ESTIMATORS = {
    "KernelCSC": clone(KERNEL_CSC).set_params(kernels="paper"),
    "MahalanobisCSC": MahalanobisCSC(
        N_CLUSTERS, n_candidates=30, working_rows=200, random_state=0
    ),
}
# With views that are learnt from pairs; slower, and alike in most ways.
AND_RICH = ESTIMATORS | {"rich": clone(KERNEL_CSC).set_params(kernels="rich")}


@cache
def draw(n=900):
    """Return overlapping clusters and pairs that no candidate satisfies all."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLUSTERS, size=n)
    X = 3.0 * np.eye(N_CLUSTERS, 5)[y] + rng.standard_normal((n, 5))
    X.flags.writeable = False
    return X, Constraints.sample(y, 150, random_state=0)


@contextmanager
def client_of_two(**settings):
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",
            **settings,
        ) as cluster,
        distributed.Client(cluster, timeout=20) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    """Workers in this process; all that is sent to them is pickled nevertheless."""
    with client_of_two(processes=False) as client:
        yield client


@pytest.fixture
def client_of_processes():
    with client_of_two(processes=True) as client:
        yield client


class KillsAWorker:
    """A callback that kills one of the workers after some candidates."""

    def __init__(self, client, after):
        self.pids = list(client.run(os.getpid).values())
        self.after = after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, **details):
        if context.task_name == "candidate" and context.task_id + 1 == self.after:
            os.kill(self.pids[0], signal.SIGKILL)

    def teardown(self, estimator, context):
        pass


@pytest.fixture(params=ESTIMATORS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return clone(AND_RICH[name])


@cache
def fitted_here(name):
    """Return a model that was fitted to rows in memory as to those of Dask."""
    X, pairs = draw()
    model = clone(AND_RICH[name]).set_params(approximation="working_set")
    return model.fit(X, constraints=pairs)


@pytest.mark.parametrize("name", AND_RICH)
def test_candidates_on_workers_give_the_labels_of_threads(client, model, name):
    X, pairs = draw()
    here = clone(model).fit(X, constraints=pairs)
    # A client and its engine are the same, so they need not both be tried by all.
    n_jobs = DaskEngine(client) if name == "MahalanobisCSC" else client
    there = clone(model).set_params(n_jobs=n_jobs).fit(X, constraints=pairs)
    assert np.array_equal(there.labels_, here.labels_)
    columns = there.history_.columns.drop("seconds")
    pd.testing.assert_frame_equal(there.history_[columns], here.history_[columns])


@pytest.mark.slow
def test_a_killed_worker_changes_neither_labels_nor_history(client_of_processes):
    client = client_of_processes
    pytest.importorskip("sklearn.callback", reason="from scikit-learn 1.9 on")
    X, pairs = draw(300)
    model = KernelCSC(
        N_CLUSTERS, n_candidates=100, search="random", random_state=0, n_jobs=1
    )
    here = clone(model).fit(X, constraints=pairs)
    client.wait_for_workers(2, timeout=60)
    killer = KillsAWorker(client, after=20)
    there = clone(model).set_params(n_jobs=client).set_callbacks(killer)
    there.fit(X, constraints=pairs)
    assert np.array_equal(there.labels_, here.labels_)
    columns = there.history_.columns.drop("seconds")
    pd.testing.assert_frame_equal(there.history_[columns], here.history_[columns])
    client.wait_for_workers(2, timeout=60)
    assert killer.pids[0] not in client.run(os.getpid).values()


@pytest.mark.parametrize(
    ("name", "chunks"),
    [
        *product(ESTIMATORS, [(900, 5), (250, 2), (37, 5)]),
        ("rich", (250, 2)),
    ],
)
def test_rows_in_chunks_get_the_labels_of_rows_in_memory(model, name, chunks):
    X, pairs = draw()
    here = fitted_here(name)
    there = clone(model).fit(da.from_array(X, chunks=chunks), constraints=pairs)
    assert isinstance(there.labels_, da.Array)
    assert there.approximation_ == "working_set"
    assert np.array_equal(there.labels_.compute(), here.labels_)
    assert there.constraint_score_ == here.constraint_score_
    predicted = there.predict(da.from_array(X, chunks=chunks))
    assert isinstance(predicted, da.Array)
    assert np.array_equal(predicted.compute(), here.predict(X))
    assert there.score(da.from_array(X), constraints=pairs) == there.constraint_score_


def test_chunks_are_worked_on_by_the_cluster(client, model, name):
    X, pairs = draw()
    rows = da.from_array(X, chunks=(200, 5))
    there = clone(model).set_params(n_jobs=client).fit(rows, constraints=pairs)
    assert np.array_equal(there.labels_.compute(), fitted_here(name).labels_)


def test_no_call_sees_all_rows(model):
    X, pairs = draw()
    seen = []

    def watch(block):
        seen.append(len(block))
        return block

    rows = da.from_array(X, chunks=(100, 5)).map_blocks(watch, dtype=X.dtype)
    clone(model).set_params(working_rows=50).fit(rows, constraints=pairs)
    assert max(seen) <= 100


def test_data_frames_keep_their_names(model, name):
    X, pairs = draw()
    frame = pd.DataFrame(X, columns=list("abcde"))
    there = clone(model).fit(dd.from_pandas(frame, npartitions=4), constraints=pairs)
    assert there.feature_names_in_.tolist() == list("abcde")
    expected = fitted_here(name).labels_
    assert np.array_equal(there.labels_.compute(), expected)
    assert np.array_equal(there.predict(frame), expected)
    with pytest.raises(ValueError, match="feature names"):
        there.predict(dd.from_pandas(frame[list("edcba")], npartitions=2))


def test_chunks_of_unknown_length_are_measured(model, name):
    X, pairs = draw()
    rows = da.from_array(X, chunks=(300, 5))
    unknown = rows[rows[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    there = clone(model).fit(unknown, constraints=pairs)
    assert np.array_equal(there.labels_.compute(), fitted_here(name).labels_)


def test_weights_follow_their_rows(model):
    X, pairs = draw()
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    here = clone(model).set_params(approximation="working_set")
    here.fit(X, constraints=pairs, sample_weight=weight)
    rows = da.from_array(X, chunks=(130, 5))
    there = clone(model).fit(rows, constraints=pairs, sample_weight=weight)
    assert np.array_equal(there.labels_.compute(), here.labels_)


@pytest.mark.parametrize("final_step", ["soft", "hard"])
def test_the_final_step_decides_rows_with_pairs(final_step):
    X, pairs = draw()
    model = clone(ESTIMATORS["KernelCSC"]).set_params(final_step=final_step)
    here = clone(model).set_params(approximation="working_set")
    here.fit(X, constraints=pairs)
    there = clone(model).fit(da.from_array(X, chunks=(77, 5)), constraints=pairs)
    labels = there.labels_.compute()
    assert np.array_equal(labels, here.labels_)
    assert there.constraint_score_ == pairs.score(labels)
    if final_step == "hard":
        assert there.n_violated_ == 0


def test_few_rows_come_as_a_dask_array_too():
    X, pairs = draw(150)
    model = clone(ESTIMATORS["KernelCSC"])
    there = model.fit(da.from_array(X, chunks=(40, 5)), constraints=pairs)
    assert isinstance(there.labels_, da.Array)
    assert pairs.score(there.labels_.compute()) == there.constraint_score_


class TestErrors:
    @pytest.mark.parametrize("how", ["exact", "landmarks", "nystroem"])
    def test_approximations_that_need_all_rows(self, how):
        X, pairs = draw()
        model = clone(ESTIMATORS["KernelCSC"]).set_params(approximation=how)
        with pytest.raises(ValueError, match=f"approximation='{how}' needs all rows"):
            model.fit(da.from_array(X), constraints=pairs)

    def test_missing_values(self, model):
        X, pairs = draw()
        X = X.copy()
        X[7, 2] = np.nan
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(da.from_array(X, chunks=(100, 5)), constraints=pairs)

    def test_one_dimension(self, model):
        X, pairs = draw()
        with pytest.raises(ValueError, match="1 dimensions"):
            model.fit(da.from_array(X[:, 0]), constraints=pairs)

    def test_estimators_that_take_no_dask(self):
        X, pairs = draw()
        with pytest.raises(TypeError, match="ConstrainedKernelKMeans does not take"):
            ConstrainedKernelKMeans(N_CLUSTERS).fit(da.from_array(X), constraints=pairs)

    def test_another_number_of_columns(self, model):
        X, pairs = draw()
        model.fit(da.from_array(X), constraints=pairs)
        with pytest.raises(ValueError, match="expecting 5 features"):
            model.predict(da.from_array(X[:, :3]))


def test_far_rows_are_refused_before_the_work(monkeypatch):
    def fit(*args, **kwargs):
        raise AssertionError("the search has begun")

    monkeypatch.setattr(KernelCSC, "_check_fit", fit)
    rows = da.from_array(np.eye(6), chunks=3)
    with pytest.raises(ValueError, match="far=0.1 needs all rows in one place"):
        KernelCSC(2, far=0.1).fit(rows, constraints=([(0, 1)], []))
