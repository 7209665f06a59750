"""Pairs from labels: all that labels entail, or a random draw."""

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwise._typing import IntArray
from linkwise.constraints._canonical import is_missing

# Up to here a whole permutation is cheap; it also serves draws of nearly all.
_SMALL_POPULATION = 1 << 20


def label_codes(y: npt.ArrayLike, unknown: Any) -> IntArray:
    """Return the class of each row as an integer, -1 where it is unknown."""
    array = np.asarray(y)
    if array.dtype.kind in "US" and not hasattr(y, "__array__"):
        array = np.asarray(y, dtype=object)  # else NaN has become the name "nan"
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y has shape {array.shape}: labels must be one-dimensional.")
    if array.dtype.kind in "fiub":
        known = np.ones(len(array), dtype=bool)
        if array.dtype.kind == "f":
            known = ~np.isnan(array)
            fractional = known & ~(np.isfinite(array) & (array == np.rint(array)))
            if fractional.any():
                row = int(np.flatnonzero(fractional)[0])
                raise ValueError(
                    f"y[{row}] = {array[row]} is not a class: partial labels must be "
                    f"whole numbers or names, with {unknown!r} where unknown."
                )
        if isinstance(unknown, int | float | np.number):
            known &= array != unknown
        codes = np.full(len(array), -1, dtype=np.intp)
        codes[known] = np.unique(array[known], return_inverse=True)[1]
        return codes
    values = array.tolist()
    if isinstance(unknown, int) and any(isinstance(value, str) for value in values):
        # numpy makes texts of numbers among texts.
        values = [unknown if value == str(unknown) else value for value in values]
    return _name_codes(values, unknown)


def _name_codes(values: list[Any], unknown: Any) -> IntArray:
    """Return class codes of labels of any type, by first appearance."""
    codes = np.full(len(values), -1, dtype=np.intp)
    seen: dict[Any, int] = {}
    for row, value in enumerate(values):
        if is_missing(value) or value == unknown:
            continue
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(
                f"y[{row}] = {value} is not a class: partial labels must be whole "
                f"numbers or names, with {unknown!r} where unknown."
            )
        codes[row] = seen.setdefault(value, len(seen))
    return codes


def spanning_pairs(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return a chain of must-links per class and one cannot-link per two classes."""
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    same = codes[rows[1:]] == codes[rows[:-1]]
    must_link = np.stack([rows[:-1][same], rows[1:][same]], axis=1)
    firsts = rows[np.concatenate([[True], ~same])] if len(rows) else rows
    low, high = np.triu_indices(len(firsts), k=1)
    return must_link, np.stack([firsts[low], firsts[high]], axis=1)


def draw_distinct(total: int, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Return distinct integers below total; a shorter draw is a prefix of a longer."""
    if total <= _SMALL_POPULATION:
        return rng.permutation(total)[:n_drawn]
    found = np.empty(0, dtype=np.int64)
    while len(found) < n_drawn:
        # First appearances in one endless stream: uniform, and the stream does not
        # depend on how many are asked for.
        fresh = rng.integers(total, size=n_drawn)
        found = np.concatenate([found, fresh])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:n_drawn]


def decode_pairs(linear: IntArray) -> IntArray:
    """Return the pairs (i, j), i < j, number j (j - 1) / 2 + i, shape (n, 2)."""
    high = ((1 + np.sqrt(1 + 8 * linear.astype(np.float64))) / 2).astype(np.int64)
    # The float root can be one off beyond 2**52.
    high -= high * (high - 1) // 2 > linear
    high += high * (high + 1) // 2 <= linear
    return np.stack([linear - high * (high - 1) // 2, high], axis=1)


def draw_pairs(n_rows: int, n_pairs: int, rng: np.random.Generator) -> IntArray:
    """Return distinct pairs of 0..n_rows-1, uniform over all of them, (n_pairs, 2)."""
    total = n_rows * (n_rows - 1) // 2
    if not 0 <= n_pairs <= total:
        raise ValueError(
            f"n_pairs = {n_pairs}: {n_rows} rows have {total} pairs, so n_pairs must "
            f"be in [0, {total}]."
        )
    return decode_pairs(draw_distinct(total, n_pairs, rng))
