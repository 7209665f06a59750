"""Compilation of loops; a damaged file of compiled code is made again."""

import numba


def njit(**options):
    """Return numba's decorator of the same name.

    What was compiled before is read from a file. One that was cut off, by a full disk
    or a process that was killed, would be an error for ever.
    """

    def decorate(function):
        compiled = numba.njit(**options)(function)
        cache = compiled._cache
        read = cache.load_overload

        def read_or_forget(*arguments):
            try:
                return read(*arguments)
            except Exception:  # unpickling of half a file can raise anything
                cache.flush()
                return None

        cache.load_overload = read_or_forget
        return compiled

    return decorate
