"""The Dask engine on a real cluster of two processes."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from tests.contracts import engine as contract
from tests.contracts.engine import EngineContract

from linkwise import Constraints
from linkwise.engines import DaskEngine, SerialEngine, engine_for
from linkwise.kernels import KernelBank
from linkwise.search import Evaluator, RandomSearch, SparseVectors, run_search

cloudpickle = pytest.importorskip("cloudpickle")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

SETTINGS = {
    # Deaths of workers over one task that Dask itself makes good.
    "distributed.scheduler.allowed-failures": 1,
    # So that it is the engine that sets BLAS to one thread, and not Dask.
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 2,
        "OPENBLAS_NUM_THREADS": 2,
    },
}


def make_cluster(**settings):
    return distributed.LocalCluster(
        dashboard_address="127.0.0.1:0", threads_per_worker=1, **settings
    )


@contextmanager
def client_of_two_processes(settings=SETTINGS):
    with (
        dask.config.set(settings),
        make_cluster(n_workers=2, processes=True, host="127.0.0.1") as cluster,
        distributed.Client(cluster, timeout=20) as client,
    ):
        yield client


@pytest.fixture(scope="module", autouse=True)
def tests_travel():
    """Workers cannot import the tests, so functions of theirs travel whole."""
    modules = contract, sys.modules[__name__]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="module")
def shared_client():
    with client_of_two_processes() as client:
        yield client


@pytest.fixture
def other_client():
    no_failures = {"distributed.scheduler.allowed-failures": 0}
    with client_of_two_processes(SETTINGS | no_failures) as client:
        yield client


@pytest.fixture
def client(shared_client):
    shared_client.wait_for_workers(2, timeout=60)
    return shared_client


@pytest.fixture
def engine(client):
    return DaskEngine(client)


@pytest.fixture
def scattered(client, monkeypatch):
    """The objects sent to the workers."""
    sent, scatter = [], client.scatter

    def note(data, **settings):
        sent.append(data)
        return scatter(data, **settings)

    monkeypatch.setattr(client, "scatter", note)
    return sent


def pids(client):
    return sorted(client.run(os.getpid).values())


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def n_holders(client, engine):
    """Return how many workers have the only function of an engine."""
    ((_, sent),) = engine._sent._entries.values()
    return len(client.who_has([sent.future])[sent.future.key])


def slow_square(i):
    time.sleep(0.02)
    return i * i


class TestDaskEngine(EngineContract):
    seconds_to_stop = 0.3

    def test_calls_run_on_all_workers(self, client, engine):
        def pid(_):
            time.sleep(0.05)
            return os.getpid()

        assert sorted(set(engine.map(pid, range(12)))) == pids(client)

    def test_items_are_taken_only_as_they_are_needed(self, engine):
        taken = []

        def items():
            for i in range(10**9):
                taken.append(i)
                yield i

        results = engine.map(slow_square, items())
        assert [next(results) for _ in range(3)] == [0, 1, 4]
        results.close()
        assert len(taken) < 50

    def test_short_calls_travel_in_groups(self, client, engine, monkeypatch):
        submitted, submit = [], client.submit

        def note(*args, **settings):
            submitted.append(args)
            return submit(*args, **settings)

        monkeypatch.setattr(client, "submit", note)
        assert list(engine.map(abs, range(2000))) == list(range(2000))
        assert len(submitted) < 400

    def test_an_engine_equals_another_of_the_same_client(self, client):
        assert DaskEngine(client) == DaskEngine(client)
        assert "_sent" not in repr(DaskEngine(client))

    def test_the_copy_of_an_engine_is_itself(self, engine):
        assert copy.deepcopy(engine) is engine


class TestSendingTheFunction:
    def test_many_maps_send_it_once(self, engine, scattered):
        for n in range(1, 8):
            assert list(engine.map(slow_square, range(n))) == [i * i for i in range(n)]
        assert len(scattered) == 1

    def test_every_worker_has_it_before_the_first_call(self, client, engine):
        next(engine.map(slow_square, range(3)))
        assert n_holders(client, engine) == 2

    def test_no_items_send_nothing(self, engine, scattered):
        assert list(engine.map(slow_square, [])) == []
        assert scattered == []

    def test_equal_functions_are_not_confused(self, engine):
        class Add:
            def __init__(self, term):
                self.term = term

            def __call__(self, i):
                return i + self.term

            def __eq__(self, other):
                return True

            __hash__ = None

        one, two = Add(1), Add(2)
        assert list(engine.map(one, [0, 1])) == [1, 2]
        assert list(engine.map(two, [0, 1])) == [2, 3]

    def test_workers_forget_a_function_that_is_gone(self, client, engine):
        def function(i):
            return i

        list(engine.map(function, [1]))
        ((_, sent),) = engine._sent._entries.values()
        key = sent.future.key
        del function, sent
        wait_until(lambda: all(key not in has for has in client.has_what().values()))
        assert engine._sent._entries == {}

    def test_a_function_without_weak_references_is_sent(self, engine):
        class Double:
            __slots__ = ()

            def __call__(self, i):
                return 2 * i

        double = Double()
        for _ in range(2):
            assert list(engine.map(double, [1, 2])) == [2, 4]

    def test_arrays_are_not_copied_into_the_pickle(self, engine, scattered):
        table = np.arange(10**6, dtype=float)

        class Lookup:
            def __call__(self, i):
                return self.table[i]

        lookup = Lookup()
        lookup.table = table
        assert list(engine.map(lookup, [3, 5])) == [3.0, 5.0]
        (parcel,) = scattered
        assert len(parcel._pickled) < 10_000
        assert sys.getsizeof(parcel) > table.nbytes

    def test_an_in_process_cluster_does_not_keep_it_alive(self):
        with (
            make_cluster(n_workers=1, processes=False) as cluster,
            distributed.Client(cluster) as client,
        ):
            engine = DaskEngine(client)
            EngineContract().test_a_forgotten_generator_lets_go_of_its_function(engine)


class TestErrors:
    def test_the_traceback_of_the_worker_is_noted(self, engine):
        def broken(i):
            return 1 // i

        with pytest.raises(ZeroDivisionError) as caught:
            list(engine.map(broken, [0]))
        assert "in broken" in caught.value.__notes__[0]

    def test_an_error_that_cannot_be_pickled_becomes_one_that_can(self, engine):
        class Odd(Exception):
            def __init__(self, one, two):
                super().__init__(f"{one} and {two}")

        def broken(i):
            raise Odd("this", "that")

        with pytest.raises(RuntimeError, match="Odd: this and that"):
            list(engine.map(broken, [0]))

    def test_a_result_that_cannot_be_pickled_is_an_error_in_its_place(self, engine):
        def lock_at_two(i):
            return threading.Lock() if i == 2 else i

        results = engine.map(lock_at_two, range(5))
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(TypeError, match="result of type lock cannot be sent"):
            next(results)

    def test_a_function_that_cannot_be_pickled_is_refused(self, engine):
        lock = threading.Lock()
        with pytest.raises(TypeError, match="function=.* cannot be pickled"):
            list(engine.map(lambda i: lock, [1]))

    def test_an_item_that_cannot_be_pickled_is_refused(self, engine):
        with pytest.raises(TypeError, match="items 0 to 0 cannot be sent"):
            list(engine.map(id, [threading.Lock()]))

    def test_a_function_that_cannot_be_unpickled_is_an_error(self, engine):
        class Stubborn:
            def __reduce__(self):
                return int, ("no number",)

            def __call__(self, i):
                return i

        with pytest.raises(ValueError, match="no number"):
            list(engine.map(Stubborn(), [1]))

    def test_what_is_no_client_is_refused(self):
        with pytest.raises(TypeError, match="client='tcp://somewhere': must be a"):
            DaskEngine("tcp://somewhere")

    def test_a_closed_client_is_refused(self, client):
        other = distributed.Client(client.scheduler.address, timeout=20)
        engine = DaskEngine(other)
        results = engine.map(slow_square, range(1000))
        next(results)
        other.close()
        for use in (
            lambda: list(results),
            lambda: list(engine.map(abs, [1])),
            lambda: DaskEngine(other),
            lambda: engine_for(other),
        ):
            with pytest.raises(RuntimeError, match="not connected to its scheduler"):
                use()

    def test_a_cluster_without_workers_is_an_error(self):
        with (
            make_cluster(n_workers=0, processes=False) as cluster,
            distributed.Client(cluster, timeout=0.5) as client,
            pytest.raises(RuntimeError, match="has no workers"),
        ):
            list(DaskEngine(client).map(abs, [1]))

    def test_without_dask_the_error_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(ImportError, match=r"pip install linkwise\[dask\]"):
            DaskEngine(None)


class TestDyingWorkers:
    def test_a_killed_worker_changes_nothing(self, client, engine, scattered):
        victim = pids(client)[0]
        results = []
        for result in engine.map(slow_square, range(60)):
            results.append(result)
            if len(results) == 10:
                kill(victim)
        assert results == [i * i for i in range(60)]
        # The worker that takes its place is given the function. The scheduler may list
        # the dead one for a while: two must answer.
        wait_until(lambda: len({*pids(client)} - {victim}) == 2, seconds=60)
        assert list(engine.map(slow_square, [2])) == [4]
        assert n_holders(client, engine) == 2
        assert len(scattered) == 1

    @pytest.mark.slow
    def test_a_function_lost_with_all_workers_is_sent_again(
        self, client, engine, scattered
    ):
        results = []
        for result in engine.map(slow_square, range(40)):
            results.append(result)
            if len(results) == 10:
                kill(*pids(client))
        assert results == [i * i for i in range(40)]
        assert len(scattered) >= 2

    # These two on workers of their own: a nanny gives up if its worker dies while it
    # starts.
    @pytest.mark.slow
    def test_a_function_lost_between_maps_is_sent_again(self):
        squares = [i * i for i in range(9)]
        with client_of_two_processes() as client:
            engine = DaskEngine(client)
            for _ in range(3):
                assert list(engine.map(slow_square, range(9))) == squares
                client.wait_for_workers(2, timeout=60)
                kill(*pids(client))
            assert list(engine.map(slow_square, range(9))) == squares

    @pytest.mark.slow
    def test_an_item_that_kills_its_workers_is_named(self, other_client):
        def deadly_at_two(i):
            if i == 2:
                kill(os.getpid())
            return i

        results = DaskEngine(other_client).map(deadly_at_two, range(8))
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(distributed.KilledWorker, match="Item 2 was lost .* memory"):
            next(results)


@pytest.fixture(scope="module")
def evaluator():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + labels[:, None] * [1.0, 0, 0.5, 0]
    constraints = Constraints.from_labels(np.where(rng.random(90) < 0.3, labels, -1))
    closure = constraints.closure(90)
    return Evaluator(KernelBank.build(X), closure, 3)


def search_with(engine, evaluator, on_trial=None):
    n_weights = evaluator._bank.n_weights
    searcher = RandomSearch(batch_size=20).start(
        SparseVectors(n_weights), 150, np.random.default_rng(0)
    )
    result = run_search(
        searcher,
        evaluator,
        engine,
        n_candidates=150,
        stop_score=None,
        on_trial=on_trial,
    )
    return [
        (trial.weights.tolist(), trial.score, trial.objective)
        for trial in result.trials
    ], result.best


@pytest.fixture(scope="module")
def expected(evaluator):
    return search_with(SerialEngine(), evaluator)


class TestSearch:
    def test_an_evaluator_may_be_pickled(self, evaluator):
        weights = np.eye(evaluator._bank.n_weights)[0]
        before = evaluator(weights)
        copied = pickle.loads(pickle.dumps(evaluator))
        assert copied(weights) == copied(weights) == before
        assert copied._workspace is not evaluator._workspace

    def test_it_makes_the_trials_of_the_serial_engine(
        self, engine, evaluator, expected, scattered
    ):
        assert search_with(engine, evaluator) == expected
        assert len(scattered) == 1

    def test_a_killed_worker_does_not_change_them(
        self, client, engine, evaluator, expected
    ):
        victim = pids(client)[0]

        def kill_at_seventy(index, trial, best):
            if index == 70:
                kill(victim)

        assert search_with(engine, evaluator, kill_at_seventy) == expected


class TestEngineFor:
    def test_a_client_is_a_dask_engine(self, client):
        assert engine_for(client) == DaskEngine(client)

    def test_linkwise_does_not_import_dask(self):
        code = (
            "import sys, linkwise, linkwise.engines as engines; engines.DaskEngine; "
            "engines.engine_for(2); "
            "assert not {'dask', 'distributed'} & sys.modules.keys()"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
