"""Compiled loops must do what their Python source says; checked call by call."""

import sys
from copy import deepcopy
from types import FunctionType

import numpy as np


def assert_close(got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    if expected.dtype.kind == "f":
        rtol = 1e-5 if expected.dtype == np.float32 else 1e-11
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * scale)
    else:
        np.testing.assert_array_equal(got, expected)


def source_of(compiled, called, known):
    """Return a compiled function as plain Python, down to all that it calls."""
    if compiled not in known:
        source = compiled.py_func
        namespace = dict(source.__globals__)
        plain = FunctionType(source.__code__, namespace, argdefs=source.__defaults__)

        def counted(*args):
            called.add(source.__name__)
            return plain(*args)

        known[compiled] = counted
        for name, value in source.__globals__.items():
            if hasattr(value, "py_func"):
                namespace[name] = source_of(value, called, known)
    return known[compiled]


def watch_compiled(monkeypatch, *modules):
    """Check each call of a compiled function of the modules against its source.

    Returns the names of the modules' compiled functions and a set that fills with the
    names of those that were called.
    """
    called, known = set(), {}
    compiled = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if hasattr(value, "py_func") and value.__module__ == module.__name__
    }

    def watched(function):
        source = source_of(function, called, known)

        def check(*args):
            plain = deepcopy(args)  # one array given twice stays one array
            with np.errstate(over="ignore"):  # integers wrap around when compiled
                expected = source(*plain)
            result = function(*args)
            assert (result is None) == (expected is None)
            if result is not None:
                for got, exact in zip(
                    np.atleast_1d(result), np.atleast_1d(expected), strict=True
                ):
                    assert_close(got, exact)
            for got, exact in zip(args, plain, strict=True):
                assert_close(got, exact)
            return result

        return check

    for owner in list(sys.modules.values()):
        name = getattr(owner, "__name__", "")
        # Compiled functions know each other from when they were compiled.
        if name.startswith("linkwise") and "._jit" not in name:
            for attribute, value in list(vars(owner).items()):
                if any(value is function for function in compiled.values()):
                    monkeypatch.setattr(owner, attribute, watched(value))
    return set(compiled), called
