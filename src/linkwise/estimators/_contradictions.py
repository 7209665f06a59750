"""Pairs that contradict each other."""

from typing import Any

from linkwise.constraints import Constraints, id_values
from linkwise.doors import warn_caller
from linkwise.exceptions import ConstraintWarning

# Contradictions that a warning names.
_N_NAMED = 3


def contradict(pairs: Constraints, n_clusters: int) -> bool:
    """Tell whether pairs contradict each other, with two clusters also in circles."""
    if pairs.drop_conflicts() is not pairs:
        return True
    if n_clusters != 2 or pairs.is_empty:
        return False
    closure = pairs.closure(int(pairs.points.max()) + 1)
    return not closure.has_two_sides


def warn_of_contradictions(pairs: Constraints, sample_id: Any) -> None:
    """Warn of cannot-links inside must-link groups, and name the first."""
    n_found = pairs.n_conflicts
    if n_found == 0:
        return
    names = None if sample_id is None else id_values(sample_id)
    found = [conflict.named(names) for conflict in pairs.conflicts(_N_NAMED)]
    named = "; ".join(map(str, found))
    more = f"; and {n_found - _N_NAMED} more" if n_found > _N_NAMED else ""
    warn_caller(
        f"{n_found} of {pairs.n_cannot_link} cannot-links contradict "
        f"must-links: {named}{more}. Some of these pairs are wrong; disbelieved_ "
        'lists which are most likely to be. on_conflict="raise" makes it an error.',
        ConstraintWarning,
    )
