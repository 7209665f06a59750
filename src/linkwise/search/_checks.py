"""Checks of search settings; each error names the argument and what is allowed."""

import math
from numbers import Integral, Real


def check_count(name: str, value: object, *, smallest: int = 1) -> None:
    """Raise ValueError unless ``value`` is an integer of at least ``smallest``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < smallest:
        raise ValueError(f"{name}={value!r}: must be an integer, at least {smallest}.")


def check_optional_count(name: str, value: object, *, smallest: int = 1) -> None:
    """Raise ValueError unless ``value`` is None or a count."""
    if value is not None:
        check_count(name, value, smallest=smallest)


def check_number(
    name: str, value: object, *, low: float, including_low: bool = True
) -> None:
    """Raise ValueError unless ``value`` is finite and not below ``low``."""
    fits = isinstance(value, Real) and math.isfinite(value)
    if not fits or not (value > low or (including_low and value == low)):  # type: ignore[operator]
        bound = "at least" if including_low else "above"
        raise ValueError(f"{name}={value!r}: must be a finite number, {bound} {low}.")
