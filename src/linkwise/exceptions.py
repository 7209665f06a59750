"""Errors and warnings of linkwise.

::

    ValueError
    ├── InconsistentConstraintsError   a cannot-link contradicts must-links
    └── InfeasibleConstraintsError     no clustering satisfies every pair
    UserWarning
    └── ConstraintWarning              the pairs cannot do what was asked
"""

__all__ = [
    "ConstraintWarning",
    "InconsistentConstraintsError",
    "InfeasibleConstraintsError",
]


class InconsistentConstraintsError(ValueError):
    """A cannot-link joins two points that must-links tie together."""


class InfeasibleConstraintsError(ValueError):
    """No assignment to the asked number of clusters satisfies every pair."""


class ConstraintWarning(UserWarning):
    """The constraints cannot do what was asked of them; says what was done instead."""
