"""Sizes of memory as people write them."""

import re

_SIZE = r"(\d+(?:\.\d*)?)\s*(?:([kmgt])(i?))?b?"
_UNITS = {None: 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(size: float | str | None, name: str = "max_memory") -> float:
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
        match = re.fullmatch(_SIZE, size.strip().lower())
        if match and float(match[1]) > 0:
            return float(match[1]) * (1024 if match[3] else 1000) ** _UNITS[match[2]]
    elif not isinstance(size, bool) and size > 0:
        return float(size)
    raise ValueError(
        f"{name}={size!r} is not a size: give bytes as a positive number, a text such "
        'as "2GiB" or "500MB", or None for no limit.'
    )


def check_matrices(
    n_rows: int,
    n_matrices: int,
    max_memory: float | str | None,
    what: str,
    *,
    predicts: bool = True,
) -> None:
    """Raise if square matrices of all rows, 8 bytes an entry, need too much memory.

    Parameters
    ----------
    n_rows : int
        Rows of each matrix, and its columns.
    n_matrices : int
        How many there are at once.
    max_memory : int, str or None
        As of :func:`parse_bytes`.
    what : str
        What the matrix is, for the error.
    predicts : bool, default=True
        Whether rows that are left out can be predicted.
    """
    needed = 8.0 * n_matrices * n_rows**2
    if needed > parse_bytes(max_memory):
        others = " and predict the others" if predicts else ""
        raise MemoryError(
            f"The {what} of {n_rows} rows, with all that is made of it, needs "
            f"{needed / 2**30:.2f} GiB, more than max_memory={max_memory!r}. Raise "
            f"max_memory, or cluster a sample of the rows{others}."
        )
