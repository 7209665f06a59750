"""Users' pairs and weights, checked and put in canonical order."""

import numbers
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwise._typing import FloatArray, IntArray

# Positions (intp) or names (object) of points.
Pairs: TypeAlias = npt.NDArray[Any]
PairsLike: TypeAlias = npt.ArrayLike | Iterable[Any]
WeightsLike: TypeAlias = npt.ArrayLike | None

# Largest whole number that is a position.
LARGEST_POSITION = int(np.iinfo(np.intp).max)
# Sums over all pairs of points, times distances, are to stay finite.
LARGEST_WEIGHT = 1e100
# Whole numbers from here on are not all exact as floats.
_EXACT = 2.0**53
TOO_LARGE = (
    f"positions must be at most {LARGEST_POSITION}; larger ids must be whole numbers "
    "or text, not floats"
)
WEIGHT_RULE = f"weights must be positive, finite and at most {LARGEST_WEIGHT:g}"


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True


def python_values(values: Iterable[Any]) -> list[Any]:
    """Return hashable Python values; numpy numbers and strings are unboxed."""
    if not isinstance(values, np.ndarray):
        return list(values)
    flat = values.ravel()
    # tolist() would turn nanosecond dates into plain integers.
    return list(flat) if flat.dtype.kind in "mM" else flat.tolist()


def as_pairs(pairs: PairsLike, name: str) -> Pairs:
    """Return pairs as an (m, 2) array of positions, or of objects if they are names."""
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(
            f"{name} must be pairs of points, shape (n_pairs, 2), got {pairs!r}."
        )
    listed = pairs if hasattr(pairs, "__array__") else list(pairs)
    array = _as_array(listed, name)
    if array.size == 0 and array.shape in ((0,), (0, 2)):
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise _shape_error(name, array.shape)
    return _as_positions(array, name)


def _shape_error(name: str, shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"{name} has shape {shape}: it must be pairs of points, shape (n_pairs, 2)."
    )


def _as_array(listed: Any, name: str) -> Pairs:
    """Return listed pairs as an array; names keep their Python type."""
    if hasattr(listed, "__array__"):
        array = np.asarray(listed)
        return array.astype(object) if array.dtype.kind in "US" else array
    try:
        array = np.asarray(listed)
    except ValueError:  # rows of unequal length, or of unequal depth
        array = np.empty(0, dtype=object)
    plain = array.dtype.kind in "iufb" and array.ndim == 2
    if plain and array.dtype.kind == "f":
        # Whole numbers of Python too large for numpy's integers have become floats.
        plain = not (np.abs(array) >= _EXACT).any()
    if plain or not listed:
        return array
    # numpy would write the number of ("a", 1) as a string and open tuple names up.
    for row, pair in enumerate(listed):
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray):
            raise _shape_error(name, np.shape(array) or (len(listed),))
        if len(pair) != 2:
            raise ValueError(
                f"{name}[{row}] has {len(pair)} entries: a pair has two, "
                f"the shape must be (n_pairs, 2)."
            )
    objects = np.empty((len(listed), 2), dtype=object)
    for row, (first, second) in enumerate(listed):
        objects[row, 0], objects[row, 1] = first, second
    return objects


def _as_positions(array: Pairs, name: str) -> Pairs:
    """Return (m, 2) integers if the entries are positions, else objects."""
    if array.dtype.kind == "O":
        array = _narrow_objects(array, name)
    kind = array.dtype.kind
    if kind == "O":
        return array
    if kind == "f":
        bad = ~np.isfinite(array) | (array != np.rint(array))
        if bad.any():
            raise _entry_error(array, bad, name, "positions must be whole numbers")
        bad = np.abs(array) >= float(LARGEST_POSITION)
        if bad.any():
            raise _entry_error(array, bad, name, TOO_LARGE)
    elif kind == "u" and array.max() > np.iinfo(np.intp).max:
        return array.astype(object)  # hashes used as ids
    elif kind not in "iu":
        objects = np.empty(array.shape, dtype=object)
        objects.ravel()[:] = python_values(array)
        if kind == "b":
            raise _entry_error(objects, np.ones_like(array), name, "not truth values")
        return objects
    if (array < 0).any():
        raise _entry_error(array, array < 0, name, "positions must not be negative")
    return array.astype(np.intp)


def _narrow_objects(array: Pairs, name: str) -> Pairs:
    """Return numbers hidden in an object array as numbers, else names as they are."""
    values = array.ravel().tolist()
    for place, value in enumerate(values):
        where = f"{name}[{place // 2}]"
        if not isinstance(value, Hashable):
            raise ValueError(f"{where} holds {value!r}: a name must be hashable.")
        if is_missing(value):
            raise ValueError(f"{where} holds a missing value ({value!r}).")
    if all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values):
        if all(isinstance(v, numbers.Integral) for v in values):
            if min(values) < 0:
                bad = np.array([v < 0 for v in values]).reshape(array.shape)
                raise _entry_error(array, bad, name, "positions must not be negative")
            if max(values) > LARGEST_POSITION:
                return array  # hashes used as ids
        narrow = np.array([_as_number(v) for v in values]).reshape(array.shape)
        return narrow if narrow.dtype.kind in "iuf" else array
    return array


def _as_number(value: Any) -> Any:
    """Return a whole number beyond all floats as infinity."""
    try:
        float(value)
    except OverflowError:
        return np.inf
    return value


def _entry_error(
    array: Pairs, bad: npt.NDArray[np.bool_], name: str, rule: str
) -> ValueError:
    """Return the error that names the first pair with a bad entry."""
    row = int(np.flatnonzero(bad.any(axis=1))[0])
    return ValueError(f"{name}[{row}] = {tuple(array[row].tolist())}: {rule}.")


def as_weights(weight: WeightsLike, n_pairs: int, name: str) -> FloatArray:
    """Return one positive float64 weight per pair; None is 1, a scalar is repeated."""
    given = np.asarray(1.0 if weight is None else weight)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be numbers, got dtype {given.dtype}.")
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_pairs):
        raise ValueError(
            f"{name} has shape {given.shape}: it must be one number, or one number "
            f"for each of the {n_pairs} pairs."
        )
    bad = np.atleast_1d(~((given > 0) & (given <= LARGEST_WEIGHT)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = np.atleast_1d(given)[row].item()
        place = f"{name}[{row}]" if given.ndim else name
        raise ValueError(f"{place} = {value}: {WEIGHT_RULE}.")
    return np.broadcast_to(given, n_pairs).astype(np.float64)


def encode_names(*arrays: Pairs) -> tuple[list[IntArray], list[Any]]:
    """Return the arrays as ranks, and the sorted names the ranks stand for."""
    names = sorted_names(value for array in arrays for value in array.ravel().tolist())
    rank = {name: place for place, name in enumerate(names)}
    encoded: list[IntArray] = [
        np.array([rank[v] for v in a.ravel().tolist()], np.intp).reshape(-1, 2)
        for a in arrays
    ]
    return encoded, names


def sorted_names(names: Iterable[Any]) -> list[Any]:
    """Return the distinct names in an order that any mix of types has."""
    distinct = set(names)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda name: (type(name).__name__, repr(name)))


def decode_names(codes: IntArray, names: list[Any]) -> Pairs:
    """Return the names that an (m, 2) array of ranks stands for."""
    lookup = np.empty(len(names), dtype=object)
    lookup[:] = names
    return lookup[codes] if len(names) else np.empty((0, 2), dtype=object)


def merge_duplicates(
    pairs: IntArray, weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return sorted unique pairs, first < second, with the largest weight of each."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    order = np.lexsort((high, low))
    low, high, weights = low[order], high[order], weights[order]
    is_first = np.ones(len(low), dtype=bool)
    is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    starts = np.flatnonzero(is_first)
    if len(starts):
        weights = np.maximum.reduceat(weights, starts)
    return np.stack([low[starts], high[starts]], axis=1), weights


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, locked against writing."""
    array.setflags(write=False)
    return array
