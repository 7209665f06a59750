"""Sizes of memory as people write them."""

import re

_UNITS = {"": 1, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(size, name="max_memory"):
    """Return a number of bytes from a number or a text such as "2GiB" or "500 MB".

    None means no limit.

    Examples
    --------
    >>> parse_bytes("2GiB"), parse_bytes("1.5 kB"), parse_bytes(4096), parse_bytes(None)
    (2147483648.0, 1500.0, 4096.0, inf)
    """
    if size is None:
        return float("inf")
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", size.lower())
        if match:
            number, unit, binary = match.groups()
            if not unit and not binary:
                return float(number)
            if unit:
                return float(number) * (1024 if binary else 1000) ** _UNITS[unit]
    elif not isinstance(size, bool) and size > 0:
        return float(size)
    raise ValueError(
        f"{name}={size!r} is not a size: give bytes as a positive number, a text such "
        'as "2GiB" or "500MB", or None for no limit.'
    )
