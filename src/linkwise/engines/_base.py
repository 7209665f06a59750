"""What an engine is, and the one that works in the calling thread."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from linkwise.engines._blas import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Runs one function over many items."""

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``function(item)`` for each item, lazily and in order.

        Nothing runs before the first result is asked for. An error of ``function``
        is raised in place of its item's result, after the results before it. Closing
        the generator abandons the items that have not been started.
        """
        ...


@dataclass(frozen=True)
class SerialEngine:
    """Runs each call in this thread, when its result is asked for.

    Examples
    --------
    >>> from linkwise.engines import SerialEngine
    >>> list(SerialEngine().map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield ``function(item)`` for each item, lazily and in order."""
        with one_blas_thread():
            for item in items:
                yield function(item)
