import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import pandas as pd
import pytest
from tests.contracts.engine import EngineContract, blas_threads
from threadpoolctl import threadpool_limits

from linkwise.engines import JoblibEngine, SerialEngine, engine_for, one_blas_thread


class TestSerialEngine(EngineContract):
    @pytest.fixture
    def engine(self):
        return SerialEngine()

    def test_calls_run_in_the_calling_thread(self, engine):
        threads = set(engine.map(lambda _: threading.get_ident(), range(5)))
        assert threads == {threading.get_ident()}


class TestJoblibEngine(EngineContract):
    @pytest.fixture
    def engine(self):
        return JoblibEngine(2)

    def test_calls_run_on_several_threads(self, engine):
        both = threading.Barrier(2, timeout=10)

        def meet(_):
            both.wait()
            return threading.get_ident()

        threads = set(engine.map(meet, range(4)))
        assert len(threads) == 2
        assert threading.get_ident() not in threads

    def test_an_engine_inside_an_engine_gives_the_same_results(self, engine):
        def inner(i):
            return sum(JoblibEngine(2).map(abs, range(i)))

        assert list(engine.map(inner, range(6))) == [sum(range(i)) for i in range(6)]

    def test_no_thread_is_left_behind(self, engine):
        before = set(threading.enumerate())
        results = engine.map(abs, range(1000))
        next(results)
        results.close()
        for thread in set(threading.enumerate()) - before:
            thread.join(timeout=5)
        assert set(threading.enumerate()) <= before

    def test_zero_threads_are_refused(self):
        with pytest.raises(ValueError, match="n_jobs=0"):
            JoblibEngine(0)


class TestEngineFor:
    @pytest.mark.parametrize("n_jobs", [None, 1])
    def test_one_job_is_the_serial_engine(self, n_jobs):
        assert engine_for(n_jobs) == SerialEngine()

    def test_two_jobs_are_two_threads(self):
        assert engine_for(2) == JoblibEngine(2)

    def test_minus_one_is_all_cores(self):
        n_cores = joblib.cpu_count()
        assert engine_for(-1) == (
            SerialEngine() if n_cores == 1 else JoblibEngine(n_cores)
        )

    def test_none_follows_the_surrounding_parallel_config(self):
        with joblib.parallel_config(backend="threading", n_jobs=3):
            assert engine_for(None) == JoblibEngine(3)

    def test_an_engine_stands_for_itself(self):
        engine = JoblibEngine(3)
        assert engine_for(engine) is engine

    def test_an_engine_of_the_user_stands_for_itself(self):
        class Reversed:
            def map(self, function, items):
                yield from map(function, reversed(items))

        engine = Reversed()
        assert engine_for(engine) is engine

    def test_zero_jobs_are_refused(self):
        with pytest.raises(ValueError, match="n_jobs=0"):
            engine_for(0)

    @pytest.mark.parametrize(
        "n_jobs", ["2", 1.5, SerialEngine, pd.Series([1]), ThreadPoolExecutor(1)]
    )
    def test_what_is_neither_a_number_nor_an_engine_is_refused(self, n_jobs):
        allowed = "None, an integer, a distributed.Client or an engine"
        with pytest.raises(TypeError, match=allowed) as caught:
            engine_for(n_jobs)
        assert f"n_jobs={n_jobs!r}" in str(caught.value)


class TestOneBlasThread:
    def test_blocks_that_overlap_restore_blas_when_the_last_is_left(self):
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            first, second = one_blas_thread(), one_blas_thread()
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            assert set(blas_threads()) == {1}
            second.__exit__(None, None, None)
            assert blas_threads() == before
