"""From the names of points to their positions."""

import difflib
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from linkwise.constraints._canonical import Pairs, python_values

OnUnknown = Literal["raise", "drop"]


def positions_by_id(ids: Iterable[Any]) -> dict[Any, int]:
    """Return the position of each id; ids must be unique."""
    positions: dict[Any, int] = {}
    for position, name in enumerate(id_values(ids)):
        if positions.setdefault(name, position) != position:
            raise ValueError(
                f"ids must be unique: {name!r} stands at positions "
                f"{positions[name]} and {position}."
            )
    return positions


def id_values(ids: Iterable[Any]) -> list[Any]:
    """Return ids as Python values, from an array, a column or any sequence."""
    return python_values(np.asarray(ids) if hasattr(ids, "__array__") else ids)


def unknown_id_message(name: object, positions: dict[Any, int]) -> str:
    """Return what is wrong with an id that is not in the data, with a guess."""
    message = f"id {name!r} is not among the {len(positions)} ids of the data"
    twin = next((known for known in positions if str(known) == str(name)), None)
    if twin is not None:
        kinds = f"{type(name).__name__}, not {type(twin).__name__}"
        return f"{message}; {twin!r} is: the pair holds a {kinds}."
    close = difflib.get_close_matches(str(name), map(str, positions), n=1)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    return f'{message}.{guess} Pass on_unknown="drop" to leave such pairs out.'


def locate_pairs(
    pairs: Pairs, positions: dict[Any, int], on_unknown: OnUnknown, name: str
) -> Pairs:
    """Return positions of the ends, shape (m, 2), -1 where an id is unknown."""
    values = pairs.ravel().tolist()
    located = np.array([positions.get(value, -1) for value in values], dtype=np.intp)
    if on_unknown == "raise" and (located < 0).any():
        first = int(np.flatnonzero(located < 0)[0])
        message = unknown_id_message(values[first], positions)
        raise ValueError(f"{name}[{first // 2}]: {message}")
    return located.reshape(-1, 2)


def check_on_unknown(on_unknown: str) -> None:
    """Raise unless the value is one of the two allowed."""
    if on_unknown not in ("raise", "drop"):
        raise ValueError(f'on_unknown must be "raise" or "drop", got {on_unknown!r}.')
