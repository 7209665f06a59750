"""One job: a method on a trial of a data set with a number of pairs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwise.experiments._seeds import derive_seed


class Key(NamedTuple):
    """What tells a record from all others."""

    dataset: str
    method: str
    trial: int
    n_constraints: int
    parameters: str


@dataclass(frozen=True)
class Job:
    """One measurement, in plain values: it can be sent to any process.

    Parameters
    ----------
    dataset : str
        As for :func:`load_dataset`.
    method : str
        Name of the method in tables and figures.
    function : str
        As for :func:`find_method`.
    trial : int
        Number of the trial, from 0.
    n_constraints : int
        Number of pairs.
    parameters : str
        Parameters of the method as a JSON object, keys in order.
    time_limit : float or None
        Seconds the method may take.
    memory_limit : int or None
        Bytes its process may use.
    """

    dataset: str
    method: str
    function: str
    trial: int
    n_constraints: int
    parameters: str
    time_limit: float | None = None
    memory_limit: int | None = None

    @property
    def key(self) -> Key:
        """What tells the record of this job from all others."""
        return Key(
            self.dataset, self.method, self.trial, self.n_constraints, self.parameters
        )

    @property
    def seed(self) -> int:
        """Seed of the method.

        Variants of one method share it, and so do all numbers of pairs: what differs
        between them is not chance.
        """
        return derive_seed(self.dataset, self.trial, self.function)


class Task(NamedTuple):
    """A job made ready: what is measured, and how its result is scored."""

    run: Callable[[], Any]
    score: Callable[[Any], dict[str, Any]]
    properties: dict[str, float]  # of what the method is given


def as_parameters(values: dict[str, Any]) -> str:
    """Return parameters as text, the same for equal parameters.

    Examples
    --------
    >>> as_parameters({"b": 1, "a": "x"})
    '{"a": "x", "b": 1}'
    """
    return json.dumps(values, sort_keys=True)
