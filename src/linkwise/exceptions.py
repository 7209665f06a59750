"""Errors and warnings of linkwise.

::

    ValueError
    ├── InconsistentConstraintsError   a cannot-link contradicts must-links
    └── InfeasibleConstraintsError     no clustering satisfies every pair
    UserWarning
    ├── ConstraintWarning              the pairs cannot do what was asked
    └── TableWarning                   values of a table could not be read
"""

from collections.abc import Sequence
from typing import Any

__all__ = [
    "ConstraintWarning",
    "InconsistentConstraintsError",
    "InfeasibleConstraintsError",
    "TableWarning",
]


class InconsistentConstraintsError(ValueError):
    """A cannot-link joins two points that must-links tie together."""


class InfeasibleConstraintsError(ValueError):
    """No assignment to the asked number of clusters satisfies every pair."""


class ConstraintWarning(UserWarning):
    """The constraints cannot do what was asked of them; says what was done instead."""


class TableWarning(UserWarning):
    """Values of a table could not be read, or were not there in ``fit``.

    ``columns`` has an entry for each column with such values.
    """

    def __init__(self, columns: Sequence[Any]) -> None:
        super().__init__("; ".join(map(str, columns)))
        self.columns = list(columns)
