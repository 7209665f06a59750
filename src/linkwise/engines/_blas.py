"""BLAS on one thread, for as long as any engine is at work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401, so that its BLAS is there to be found
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_n_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread inside the block.

    The number of BLAS threads belongs to the process, so entries are counted: the
    first sets the limit and the last to leave restores what was there. Were each
    block to restore what it had found, two searches that overlap in different
    threads could leave BLAS on one thread for good.

    Examples
    --------
    >>> from linkwise.engines import one_blas_thread
    >>> with one_blas_thread():
    ...     pass  # matrix products give the same bits whatever the machine is doing
    """
    _enter()
    try:
        yield
    finally:
        _leave()


@cache
def _controller() -> ThreadpoolController:
    """Return the BLAS libraries of this process: looking for them takes 5 ms."""
    return ThreadpoolController().select(user_api="blas")


def _enter() -> None:
    """Count one block more, and set the limit if it is the first."""
    global _n_inside, _limits
    with _lock:
        if _n_inside == 0:
            _limits = _controller().limit(limits=1, user_api="blas")
        _n_inside += 1


def _leave() -> None:
    """Count one block less, and lift the limit if it was the last."""
    global _n_inside, _limits
    with _lock:
        _n_inside -= 1
        if _n_inside == 0 and _limits is not None:
            _limits.restore_original_limits()
            _limits = None
