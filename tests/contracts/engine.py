"""What every engine must do; an engine's test class inherits this.

Calls may run in other processes, so they tell of themselves through files.
"""

import time
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from linkwise.engines import SerialEngine


def blas_threads():
    return [
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


class Notes:
    """A list of items that calls in any process append to."""

    def __init__(self, path):
        self.path = path
        path.touch()

    def append(self, item):
        with self.path.open("a") as file:
            file.write(f"{item}\n")

    def __len__(self):
        return len(self.path.read_text().splitlines())


def await_file(path, seconds=10):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class EngineContract:
    """A subclass provides the fixture ``engine``."""

    seconds_to_stop = 0.0  # that the news of an early close may take

    @pytest.fixture
    def called(self, tmp_path):
        return Notes(tmp_path / "called")

    def test_results_come_in_the_order_of_the_items(self, engine):
        def late_if_early(i):
            time.sleep(0.01 if i < 3 else 0)
            return i

        assert list(engine.map(late_if_early, range(20))) == list(range(20))

    def test_no_items_give_no_results(self, engine):
        assert list(engine.map(abs, [])) == []

    def test_one_item_gives_one_result(self, engine):
        assert list(engine.map(abs, [-1])) == [1]

    def test_thousands_of_items_give_as_many_results(self, engine):
        assert list(engine.map(abs, range(-3000, 0))) == list(range(3000, 0, -1))

    def test_nothing_runs_before_the_first_result_is_asked_for(self, engine, called):
        results = engine.map(called.append, [1, 2, 3])
        time.sleep(self.seconds_to_stop)
        assert len(called) == 0
        results.close()
        time.sleep(self.seconds_to_stop)
        assert len(called) == 0

    def test_a_result_is_there_before_later_items_are_done(self, engine, tmp_path):
        release = tmp_path / "release"

        def wait_unless_first(i):
            if i > 0:
                await_file(release)
            return i

        results = engine.map(wait_unless_first, range(4))
        assert next(results) == 0
        release.touch()
        assert list(results) == [1, 2, 3]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_error_is_raised_after_the_results_before_it(self, engine, error):
        def fail_at_seven(i):
            if i == 7:
                raise error("seven")
            time.sleep(0.002 if i < 7 else 0)
            return i

        results = engine.map(fail_at_seven, range(20))
        assert [next(results) for _ in range(7)] == list(range(7))
        with pytest.raises(error, match="seven"):
            next(results)

    def test_closing_early_abandons_what_was_not_started(self, engine, called):
        def note(i):
            called.append(i)
            time.sleep(0.002)
            return i

        results = engine.map(note, range(1000))
        assert [next(results), next(results)] == [0, 1]
        results.close()
        time.sleep(self.seconds_to_stop)
        n_called = len(called)
        assert n_called < 100
        time.sleep(0.02)
        assert len(called) == n_called

    def test_an_engine_works_again_after_an_early_close(self, engine):
        results = engine.map(abs, range(100))
        next(results)
        results.close()
        assert list(engine.map(abs, range(100))) == list(range(100))

    def test_a_forgotten_generator_lets_go_of_its_function(self, engine):
        class Square:
            def __call__(self, i):
                return i * i

        square = Square()
        reference = weakref.ref(square)
        results = engine.map(square, range(100))
        next(results)
        del results, square
        deadline = time.monotonic() + 5
        while reference() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert reference() is None

    def test_results_equal_those_of_the_serial_engine_bit_for_bit(self, engine):
        def product(seed):
            factor = np.random.default_rng(seed).random((120, 150))
            return factor @ factor.T

        expected = list(SerialEngine().map(product, range(12)))
        for got, serial in zip(engine.map(product, range(12)), expected, strict=True):
            assert np.array_equal(got, serial)

    def test_calls_find_blas_on_one_thread(self, engine):
        with threadpool_limits(2, user_api="blas"):
            for counts in engine.map(lambda _: blas_threads(), range(4)):
                assert set(counts) == {1}

    @pytest.mark.parametrize("end", ["exhausted", "closed", "failed"])
    def test_blas_threads_are_restored(self, engine, end):
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            results = engine.map(lambda i: 12 // i, [3, 2, 1, end != "failed"])
            assert next(results) == 4
            if end == "exhausted":
                assert list(results) == [6, 12, 12]
            elif end == "closed":
                results.close()
            else:
                with pytest.raises(ZeroDivisionError):
                    list(results)
            assert blas_threads() == before
