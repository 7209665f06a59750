"""The committee that a fit leaves to a session."""

from dataclasses import replace
from typing import Any

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Known
from linkwise.search import Committee

# Members that are kept, and rows outside a working set that they judge, at the most.
_MAX_MEMBERS = 300
_MAX_UNSEEN = 5_000


def last_step(model: Any) -> Any:
    """Return the estimator that clusters: the last one of a pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def left_by(model: Any) -> tuple[Committee, IntArray] | None:
    """Return the committee of a fitted model and the column of each row in its labels.

    None if it has no committee. All that is read of a model's private attributes.
    """
    committee = getattr(model, "_committee", None)
    return None if committee is None else (committee, model._committee_rows)


def committee_of(
    model: Any, features: FloatArray, rows: IntArray, then: Known
) -> Committee | None:
    """Return the committee of a fit with what was known ``then``, None if it has none.

    Of ``rows``, those that the search has not looked at are judged as the nearest one
    that it has.
    """
    left = left_by(last_step(model))
    if left is None:
        return None
    committee, places = left
    places = _with_nearest(places, features, rows[:_MAX_UNSEEN])
    return replace(committee.best(_MAX_MEMBERS), places=places).since(then.as_groups())


def _with_nearest(places: IntArray, features: FloatArray, rows: IntArray) -> IntArray:
    """Return places in which unseen rows have the place of the nearest seen one."""
    seen, unseen = (places >= 0).nonzero()[0], rows[places[rows] < 0]
    found = places.copy()
    for first in range(0, len(unseen), 500):
        part = unseen[first : first + 500]
        squared = (features[seen] ** 2).sum(axis=1)
        far = squared - 2.0 * features[part] @ features[seen].T
        found[part] = places[seen[far.argmin(axis=1)]]
    return found
