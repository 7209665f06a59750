"""Compilation of loops: as little as is needed, and read from a file the next time."""

import gc
from contextlib import contextmanager

import numba


def njit(function=None, *, inner=False, **options):
    """Return numba's decorator of the same name, or the decorated function.

    Parameters
    ----------
    function : callable, optional
        What is to be compiled.
    inner : bool, optional
        Only compiled functions call this one: no door for Python's calls is compiled.
    **options
        Of numba, beside those that all loops have. ``inline="always"`` takes a function
        that has one caller into it: each level of calls is optimised once more.
    """
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **options}
    if "fastmath" not in options:
        options["error_model"] = "numpy"

    def decorate(function):
        compiled = numba.njit(no_cpython_wrapper=inner, **options)(function)
        _read_or_make_again(compiled._cache)
        _compile_without_collector(compiled)
        return compiled

    return decorate if function is None else decorate(function)


def _read_or_make_again(cache):
    """Let a damaged file of compiled code be made again.

    One that was cut off, by a full disk or a process that was killed, would be an error
    for ever.
    """
    read = cache.load_overload

    def read_or_forget(*arguments):
        try:
            return read(*arguments)
        except Exception:  # unpickling of half a file can raise anything
            cache.flush()
            return None

    cache.load_overload = read_or_forget


def _compile_without_collector(compiled):
    """Let the garbage collector rest meanwhile: an eighth of the time is its own."""
    compile_ = compiled.compile

    def quietly(signature):
        with _no_collector():
            return compile_(signature)

    compiled.compile = quietly


@contextmanager
def _no_collector():
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
