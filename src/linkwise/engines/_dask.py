"""The engine that shares items among the workers of a Dask cluster."""

import logging
import math
import operator
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeGuard

from linkwise.engines._base import Item, Result
from linkwise.engines._parcel import (
    Parcel,
    Report,
    pack,
    pack_items,
    read_report,
    run_group,
)

if TYPE_CHECKING:
    from distributed import Client as Client
    from distributed import Future

_logger = logging.getLogger(__name__)

# A task costs some milliseconds of scheduler and reader, whatever it does.
_GROUP_SECONDS = 0.05
_MIN_GROUP_SECONDS = 0.005
_MAX_GROUP = 256
_TASKS_PER_THREAD = 3
# Times that the function may be sent in a row, and an item lost with its workers.
_MAX_SENDS = 6
_MAX_LOSSES = 3


def is_dask_client(value: object) -> "TypeGuard[Client]":
    """Return whether a value is a Dask client, without importing Dask."""
    distributed = sys.modules.get("distributed")
    client_class = getattr(distributed, "Client", None)
    return client_class is not None and isinstance(value, client_class)


def connect(address: str, timeout: float = 10.0) -> "Client":
    """Return a client of the scheduler at an address; raise OSError if none answers."""
    _require_dask()
    from distributed import Client

    return Client(address, timeout=timeout, set_as_default=True)


def is_lost_work(error: BaseException) -> bool:
    """Return whether an error means that workers died over a task, again and again."""
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)


def is_task_wanted() -> bool:
    """Return whether anyone still waits for the task that calls.

    Dask cannot stop a task under way: when its client has let go of it or is gone, or
    when its worker is told to close, the task itself has to look.
    """
    from distributed import get_worker

    worker = get_worker()
    if worker.status.name in ("closing", "closed"):
        return False
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "DaskEngine needs dask and distributed: pip install linkwise[dask]"
        ) from error


@dataclass(frozen=True)
class DaskEngine:
    """Runs calls on the workers of a Dask cluster.

    The function is sent once and stays on the workers as long as both it and the
    engine exist, so that it may hold much data and be mapped often. Short calls
    travel in groups of up to 50 ms. Each thread of the cluster has three
    groups at most to work on; closing the generator takes back those not started.

    A worker that dies changes no result: what it had to do is done again elsewhere.
    An item whose workers die again and again is an error that names it, a
    ``distributed.KilledWorker``.

    Calls may therefore run more than once, and must not depend on what other calls
    have left behind. Workers need linkwise too.

    Parameters
    ----------
    client : distributed.Client
        A connection to a cluster; it stays open.

    Examples
    --------
    >>> from linkwise.engines import DaskEngine
    >>> from distributed import Client  # doctest: +SKIP
    >>> with Client("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     list(DaskEngine(client).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    client: "Client"
    _sent: "_SentFunctions" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what is no client, or one that cannot be used."""
        _require_dask()
        if not is_dask_client(self.client):
            raise TypeError(
                f"client={self.client!r}: must be a distributed.Client, such as "
                "Client('tcp://scheduler:8786')."
            )
        if self.client.asynchronous:
            raise ValueError(
                f"client={self.client!r} is asynchronous: make it with "
                "asynchronous=False."
            )
        _check_connected(self.client)
        object.__setattr__(self, "_sent", _SentFunctions(self.client))

    def __deepcopy__(self, memo: dict[int, Any]) -> "DaskEngine":
        """Return the engine itself: a connection has no copy."""
        return self

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``function(item)`` for each item, lazily and in order.

        Once the first result is asked for, workers work ahead of the reader.
        """
        _check_connected(self.client)
        n_items = operator.length_hint(items, -1)
        numbered = enumerate(items)
        first = list(islice(numbered, 1))
        if first:
            sent = self._sent.of(function)
            run = _Run(self.client, sent, first, numbered, n_items)
            yield from run.results()


class _SentFunction:
    """A function on the workers of a cluster, and how long its calls take."""

    def __init__(self, client: "Client", parcel: Parcel) -> None:
        self.seconds: float | None = None  # of one call, as far as known
        self.group_size = 1
        self.n_threads = 1
        self._client = client
        self._parcel = parcel
        self._lock = threading.Lock()
        self._future: Future | None = None
        self._is_lost = False
        self._workers: set[str] = set()

    @property
    def future(self) -> "Future":
        """Where the function is."""
        assert self._future is not None
        return self._future

    def spread(self) -> None:
        """See to it that every worker has the function."""
        with self._lock:
            for attempt in range(_MAX_SENDS):
                if self._is_spread():
                    return
                # It takes the scheduler a moment to see that a worker is gone.
                time.sleep(0.1 * 2**attempt)
        raise _lost_error()(
            f"The function ({sys.getsizeof(self._parcel):,} bytes) was lost "
            f"{_MAX_SENDS} times, with all workers that had it, before it could be "
            "used. Look for the reason in the logs of the workers; give them more "
            "memory if they had too little for it."
        )

    def _is_spread(self) -> bool:
        """Send the function to workers without it; return whether it is there."""
        from distributed import CancelledError

        try:
            if not self._is_there():
                self._workers = set()
                self._send()
            threads = self._client.nthreads()
            self.n_threads = max(1, sum(threads.values()))
            if threads.keys() != self._workers:
                self._spread_among(threads.keys())
        except (CancelledError, OSError, ValueError, AssertionError, KeyError) as error:
            # A worker has died. Who lacks the function will fetch it from another.
            _check_connected(self._client)
            _logger.info("The function did not reach all workers: %r", error)
            return self._is_there()
        self._workers = set(threads)
        return not self._is_lost

    def _spread_among(self, workers: Set[str]) -> None:
        """Send the function to workers without it, from those that have it."""
        future = self.future
        holders = self._client.who_has([future])[future.key]
        self._is_lost = not holders  # what the client may not have been told yet
        # Not scatter(broadcast=True): should a worker die meanwhile, the scheduler
        # would go on for ever to try and reach it.
        if holders and workers - set(holders):
            self._client.replicate([future])

    def _is_there(self) -> bool:
        """Return whether any worker has the function, as far as is known here."""
        future = self._future
        return future is not None and future.status == "finished" and not self._is_lost

    def _send(self) -> None:
        """Bring the function to the first worker."""
        try:
            self._future = self._client.scatter(self._parcel, hash=False)
            self._is_lost = False
        except TimeoutError as error:
            raise RuntimeError(
                f"client={self._client!r} has no workers: start some, or wait for "
                "them with client.wait_for_workers(1)."
            ) from error


class _SentFunctions:
    """The functions that are on the workers, each for as long as it exists."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._lock = threading.Lock()
        # By identity: equal functions may differ, and many cannot be hashed.
        self._entries: dict[int, tuple[weakref.ref[Any], _SentFunction]] = {}

    def of(self, function: Callable[[Any], Any]) -> _SentFunction:
        """Return a function that every worker has, sending it if need be."""
        key, entries = id(function), self._entries
        with self._lock:
            reference, sent = entries.get(key, (None, None))
            if sent is None or reference is None or reference() is not function:
                sent = _SentFunction(self._client, pack(function))
                try:
                    # The last reference to a future takes its data off the workers.
                    reference = weakref.ref(function, lambda _: entries.pop(key, None))
                except TypeError:
                    pass  # known to its caller only, and gone with it
                else:
                    entries[key] = (reference, sent)
        sent.spread()
        return sent


@dataclass
class _Task:
    """Items in a row that are on the way."""

    first: int
    items: list[Any]
    future: "Future"


class _Run:
    """One call of `DaskEngine.map`."""

    def __init__(
        self,
        client: "Client",
        sent: _SentFunction,
        first: list[tuple[int, Any]],
        numbered: Iterator[tuple[int, Any]],
        n_items: int,
    ) -> None:
        self._client = client
        self._sent = sent
        self._again = deque(first)  # items to take before all others
        self._numbered = numbered
        self._n_items = n_items  # -1 if not known
        self._n_taken = len(first)
        self._tasks: deque[_Task] = deque()
        self._n_one_by_one = 0  # items to be tried with no other beside them
        self._lost_item, self._n_losses = -1, 0

    def results(self) -> Generator[Any, None, None]:
        """Yield the results in order."""
        try:
            while self._submit():
                for report in self._reports():
                    yield from report.results
                    if report.error is not None:
                        raise report.error
        finally:
            # Unlike cancelling, this does not wait for the scheduler, and so may
            # happen in any thread: that of the garbage collector, for one.
            for task in self._tasks:
                task.future.release()
            self._tasks.clear()

    def _submit(self) -> bool:
        """Give the workers enough to do; return whether there is anything to await."""
        _check_connected(self._client)
        n_tasks = _TASKS_PER_THREAD * self._sent.n_threads
        if self._n_one_by_one:
            n_tasks = 1
        while len(self._tasks) < n_tasks:
            group = self._next_group()
            if not group:
                break
            first, items = group[0][0], [item for _, item in group]
            future = self._client.submit(
                run_group, self._sent.future, pack_items(items, first), pure=False
            )
            self._tasks.append(_Task(first, items, future))
        return bool(self._tasks)

    def _next_group(self) -> list[tuple[int, Any]]:
        """Return as many items as make a task worth its cost."""
        size = 1 if self._n_one_by_one else self._choose_size()
        group = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        new = list(islice(self._numbered, size - len(group)))
        self._n_taken += len(new)
        return group + new

    def _choose_size(self) -> int:
        """Return a number of items that take a short time and leave some to others."""
        sent = self._sent
        if sent.seconds is None:
            return 1
        wanted = _GROUP_SECONDS / sent.seconds
        # Doubling, for the first calls may have been the short ones.
        sent.group_size = max(1, min(int(wanted), 2 * sent.group_size, _MAX_GROUP))
        if self._n_items < 0:
            return sent.group_size
        n_left = self._n_items - self._n_taken + len(self._again)
        share = math.ceil(n_left / (2 * sent.n_threads))
        smallest = int(_MIN_GROUP_SECONDS / sent.seconds)
        return min(sent.group_size, max(share, smallest, 1))

    def _reports(self) -> list[Report]:
        """Wait for the first task; return the reports of all that are done by then."""
        from distributed import CancelledError, KilledWorker, wait

        head = self._tasks[0]
        try:
            wait([head.future])
            n_done = 1
            while n_done < len(self._tasks) and self._is_done(n_done):
                n_done += 1
            done = list(islice(self._tasks, n_done))
            pickled = self._client.gather([task.future for task in done])
        except CancelledError as error:
            _check_connected(self._client)
            self._do_again(error, alone=False)
            return []
        except KilledWorker as error:
            self._do_again(error, alone=True)
            return []
        reports = [read_report(each) for each in pickled]
        for task, report in zip(done, reports, strict=True):
            self._tasks.popleft()
            if report.seconds > 0:
                self._sent.seconds = report.seconds / len(task.items)
        self._n_one_by_one = max(0, self._n_one_by_one - n_done)
        return reports

    def _is_done(self, i: int) -> bool:
        """Return whether the results of a task are there."""
        return self._tasks[i].future.status == "finished"

    def _do_again(self, error: BaseException, alone: bool) -> None:
        """Take back all that is on the way, for the first of it was lost.

        Dask itself repeats tasks of a dead worker. It gives up when the function was
        lost with its last worker, and when several workers have died over a task,
        which then may have been near the culprit only: the items are therefore tried
        one by one.
        """
        head = self._tasks[0]
        was_alone = self._n_one_by_one > 0
        self._n_losses = self._n_losses + 1 if head.first == self._lost_item else 1
        self._lost_item = head.first
        if self._n_losses == _MAX_LOSSES:
            raise _lost_error()(
                f"Item {head.first} was lost with its workers, again and again, at "
                f"last while it was {'alone' if was_alone else 'with others'} on the "
                "cluster. Look for the reason in the logs of the workers: most often "
                "they had too little memory, so give them more or fewer threads; or "
                f"leave out this item: {_shortened(head.items[0])}"
            ) from error
        _logger.info("Items from %d on are done again: %s", head.first, error)
        lost = [
            (task.first + i, item)
            for task in self._tasks
            for i, item in enumerate(task.items)
        ]
        for task in self._tasks:
            task.future.release()
        self._tasks.clear()
        self._again.extendleft(reversed(lost))
        if alone or self._n_losses > 1:
            self._n_one_by_one = len(self._again)
        self._sent.spread()


@cache
def _lost_error() -> type[Exception]:
    """Return the error of work that is lost with its workers whenever it is tried."""
    from distributed import KilledWorker

    class LostWorkError(KilledWorker):  # type: ignore[misc]
        """Workers died whenever they were given this work."""

        def __init__(self, message: str) -> None:
            Exception.__init__(self, message)

        def __str__(self) -> str:
            return str(self.args[0])

    return LostWorkError


def _check_connected(client: "Client") -> None:
    """Refuse a client without a connection."""
    if client.status != "running":
        raise RuntimeError(
            f"client={client!r} is not connected to its scheduler (its status is "
            f"{client.status!r}): make a new distributed.Client."
        )


def _shortened(item: object) -> str:
    """Return how an item looks, in one line."""
    text = " ".join(repr(item).split())
    return text if len(text) <= 200 else text[:200] + "..."
