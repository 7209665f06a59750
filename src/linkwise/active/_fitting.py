"""A fit that another thread can do while answers come."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import get_config

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Known
from linkwise.active._committee import committee_of, last_step
from linkwise.constraints import Constraints
from linkwise.exceptions import ConstraintWarning
from linkwise.search import Committee

# Answers after which clusters are made anew: the first times, then each so many.
_FIT_AT = (5, 15)
_FIT_EVERY = 20


def is_fit_due(n_answers: int) -> bool:
    """Tell whether clusters are to be made anew after so many answers."""
    return n_answers in _FIT_AT or (n_answers > 0 and n_answers % _FIT_EVERY == 0)


class FitStopped(Exception):
    """A fit was given up because its result is no longer wanted."""


@dataclass
class Fitting:
    """A fit of a session as it was: nothing in it changes with later answers.

    ``run`` may be called in any thread; ``Session.finish_fit`` takes the result.
    """

    model: Any
    X: Any
    constraints: Constraints
    known: Known  # what followed from answers then
    features: FloatArray
    rows: IntArray  # those that may be asked about
    at: int  # number of events that it knows
    n_more: int = 0  # clusters that corrections had made, less those they had merged
    is_new: bool = True  # else the committee of an earlier run is made again
    committee: Committee | None = field(default=None, init=False)
    labels: Any = field(default=None, init=False)  # clusters of the rows
    doubt: Any = field(default=None, init=False)  # of each row, None if nobody knows

    def run(self, go_on: Callable[[int], bool] | None = None) -> "Fitting":
        """Cluster the rows.

        Parameters
        ----------
        go_on : callable, optional
            Told the number of candidates tried so far; if it returns False, the fit
            is given up with ``FitStopped``. It is called from scikit-learn 1.9 on,
            which has callbacks.
        """
        last = last_step(self.model)
        name = "constraints"
        if self.model is not last and not get_config()["enable_metadata_routing"]:
            name = f"{self.model.steps[-1][0]}__constraints"
        with _watched(last, go_on), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            self.model.fit(self.X, **{name: self.constraints})
        self.committee = committee_of(self.model, self.features, self.rows, self.known)
        self.labels = np.asarray(last.labels_)
        self.doubt = getattr(last, "doubt_", None)
        return self


@contextmanager
def _watched(model: Any, go_on: Callable[[int], bool] | None) -> Iterator[None]:
    """Tell ``go_on`` of each candidate of a fit, where scikit-learn has callbacks."""
    has_callbacks = find_spec("sklearn.callback") and hasattr(model, "set_callbacks")
    if go_on is None or not has_callbacks:
        yield
        return
    own = vars(model).get("_skl_callbacks", ())
    model.set_callbacks(*own, _Progress(go_on))
    try:
        yield
    finally:
        model.set_callbacks(*own)  # who watched is no part of the result


class _Progress:
    """A callback of scikit-learn that counts candidates and can give the fit up."""

    def __init__(self, go_on: Callable[[int], bool]) -> None:
        self._go_on, self._n_done = go_on, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing, as at all ends but those of candidates."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a candidate. Returning True would still make clusters of the best."""
        if context.max_subtasks == 0:  # not the fit as a whole
            self._n_done += 1
            if not self._go_on(self._n_done):
                raise FitStopped
