import threading

import joblib
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
        before = threading.active_count()
        results = engine.map(abs, range(1000))
        next(results)
        results.close()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.daemon:
                thread.join(timeout=5)
        assert threading.active_count() <= before

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

    @pytest.mark.parametrize("n_jobs", [0, "2", 1.5])
    def test_what_is_no_number_of_jobs_is_refused(self, n_jobs):
        with pytest.raises(ValueError, match=f"n_jobs={n_jobs!r}"):
            engine_for(n_jobs)


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
