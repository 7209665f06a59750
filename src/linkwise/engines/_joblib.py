"""The engine that shares items among joblib's threads."""

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from joblib import Parallel, delayed, effective_n_jobs

from linkwise.engines._base import Item, Result, SerialEngine
from linkwise.engines._blas import one_blas_thread


@dataclass(frozen=True)
class JoblibEngine:
    """Runs calls on threads: compiled loops release the GIL and data is not copied.

    Each thread is one joblib task that takes item after item from a common queue.
    One task per item or per chunk of items would be felt: joblib needs about 0.1 ms
    to start a task and looks for finished ones only every 10 ms, longer than many
    candidates take. A queue also hands on each result as soon as it is there.

    Parameters
    ----------
    n_jobs : int
        Number of threads, with joblib's meaning: -1 for one per core.

    Examples
    --------
    >>> from linkwise.engines import JoblibEngine
    >>> list(JoblibEngine(2).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    n_jobs: int

    def __post_init__(self) -> None:
        """Refuse zero threads."""
        if self.n_jobs == 0:
            raise ValueError(
                "n_jobs=0 has no meaning: it must be a positive number of threads, "
                "or negative to count back from all cores (-1)."
            )

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``function(item)`` for each item, lazily and in order.

        Once the first result is asked for, threads work ahead of the reader.
        """
        items = list(items)
        n_threads = min(effective_n_jobs(self.n_jobs), len(items))
        if n_threads < 2:
            yield from SerialEngine().map(function, items)
            return
        with one_blas_thread():
            yield from _map_on_threads(function, items, n_threads)


def _map_on_threads(
    function: Callable[[Item], Result], items: list[Item], n_threads: int
) -> Generator[Result, None, None]:
    """Yield the results in order, as threads bring them."""
    futures: list[Future[Result]] = [Future() for _ in items]
    queue: SimpleQueue[tuple[Future[Result], Item]] = SimpleQueue()
    for entry in zip(futures, items, strict=True):
        queue.put(entry)
    threads = Parallel(
        n_jobs=n_threads,
        backend="threading",
        return_as="generator",
        pre_dispatch="all",
        batch_size=1,
    )(delayed(_work_off)(function, queue) for _ in range(n_threads))
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
        # Reading joblib's own results to the end waits for calls under way and keeps
        # it from warning about unused ones. Yielding the GIL first lets the last
        # thread report before joblib looks, or else it sleeps for 10 ms.
        time.sleep(0)
        for _ in threads:
            pass


def _work_off(
    function: Callable[[Item], Result],
    queue: "SimpleQueue[tuple[Future[Result], Item]]",
) -> None:
    """Call the function on items from the queue until none is left."""
    while True:
        try:
            future, item = queue.get_nowait()
        except Empty:
            return
        if not future.set_running_or_notify_cancel():
            continue
        # An error is kept with its item, to be raised in its turn: joblib would raise
        # the first to happen, and results before it would be lost or not by chance.
        try:
            future.set_result(function(item))
        except BaseException as error:
            future.set_exception(error)
