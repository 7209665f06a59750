"""A function made ready for another process, and what is done with it there."""

import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from linkwise.engines._blas import one_blas_thread


class Report(NamedTuple):
    """What became of a group of items: results, and the error that ended them."""

    results: list[Any]
    error: BaseException | None
    seconds: float  # that the calls took, without unpacking


class Parcel:
    """A pickled function, unpickled once by the process that uses it.

    The function's arrays stay outside the pickle, so they are copied neither to be
    sent nor to be used. Because unpickling waits for the first call, a function that
    cannot be unpickled is an error of that call and not a broken connection; and a
    parcel never refers to the object it was made of, which may die meanwhile.

    Parameters
    ----------
    pickled : bytes
        The function, without its buffers.
    buffers : list of buffers
        What the pickle refers to.
    """

    def __init__(self, pickled: bytes, buffers: list[Any]) -> None:
        self._pickled = pickled
        self._buffers = buffers
        self._lock = threading.Lock()
        self._function: Callable[[Any], Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the way to make it again; arrays stay outside this pickle too."""
        buffers = [pickle.PickleBuffer(buffer) for buffer in self._buffers]
        return Parcel, (self._pickled, buffers)

    def __sizeof__(self) -> int:
        """Return the number of bytes that a worker has to keep."""
        sizes = (memoryview(buffer).nbytes for buffer in self._buffers)
        return object.__sizeof__(self) + sys.getsizeof(self._pickled) + sum(sizes)

    def function(self) -> Callable[[Any], Any]:
        """Return the function."""
        with self._lock:
            if self._function is None:
                self._function = pickle.loads(self._pickled, buffers=self._buffers)
            return self._function


def pack(function: Callable[[Any], Any]) -> Parcel:
    """Return the parcel of a function."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        pickled = _dumps(function, buffer_callback=buffers.append)
    except Exception as error:
        raise TypeError(
            f"function={function!r} cannot be sent to other processes, for it cannot "
            f"be pickled: {error}"
        ) from error
    return Parcel(pickled, [buffer.raw() for buffer in buffers])


def pack_items(items: list[Any], first: int) -> bytes:
    """Return pickled items, the first of which has the given number."""
    try:
        return _dumps(items)
    except Exception as error:
        raise TypeError(
            f"One of the items {first} to {first + len(items) - 1} cannot be sent to "
            f"other processes, for it cannot be pickled: {error}"
        ) from error


def run_group(parcel: Parcel, pickled_items: bytes) -> bytes:
    """Call the function on each item and return the pickled `Report`.

    Nothing is raised, whatever happens: an interrupt would end the worker, and an
    error says more with the results before it.
    """
    results: list[Any] = []
    error, seconds = None, 0.0
    try:
        function, items = parcel.function(), pickle.loads(pickled_items)
        start = time.perf_counter()
        with one_blas_thread():
            for item in items:
                results.append(function(item))
        seconds = time.perf_counter() - start
    except BaseException as raised:
        error = _portable(raised)
    try:
        return _dumps(Report(results, error, seconds))
    except Exception:
        return _dumps(_up_to_the_first_unpicklable(results, error))


def read_report(pickled: bytes) -> Report:
    """Return the report that `run_group` has pickled."""
    return pickle.loads(pickled)


def _up_to_the_first_unpicklable(
    results: list[Any], error: BaseException | None
) -> Report:
    """Return a report in which the first result that cannot be sent is an error."""
    for i, result in enumerate(results):
        try:
            _dumps(result)
        except Exception as raised:
            error = TypeError(
                f"A result of type {type(result).__name__} cannot be sent back from "
                f"its worker, for it cannot be pickled: {raised}"
            )
            return Report(results[:i], error, 0.0)
    return Report(results, error, 0.0)


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be sent, with its traceback as a note.

    A pickled error loses its traceback. Many a class of errors can be pickled but
    not unpickled, because its constructor wants other arguments.
    """
    where = "".join(traceback.format_exception(error)).rstrip()
    try:
        sent = pickle.loads(_dumps(error.with_traceback(None)))
        if type(sent).__name__ != type(error).__name__:
            raise TypeError("it was unpickled as something else")
    except Exception:
        sent = RuntimeError(f"{type(error).__name__}: {error}")
    sent.add_note(f"On its worker:\n{where}")
    return sent


def _dumps(value: Any, **settings: Any) -> bytes:
    """Return a pickle, also of functions and classes that no module holds."""
    import cloudpickle

    return cloudpickle.dumps(value, protocol=5, **settings)
