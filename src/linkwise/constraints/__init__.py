"""What the user knows: pairs of points, what follows from them, how well they hold."""

from linkwise.constraints._beliefs import Beliefs, believe
from linkwise.constraints._chance import LEAST_PAIRS, Chance, against_chance
from linkwise.constraints._check import check_constraints
from linkwise.constraints._closure import Closure
from linkwise.constraints._conflicts import Conflict
from linkwise.constraints._feasibility import Feasibility, feasibility
from linkwise.constraints._folds import constraint_folds
from linkwise.constraints._ids import id_values
from linkwise.constraints._pairs import Constraints
from linkwise.constraints._scores import coherence, informativeness

__all__ = [
    "LEAST_PAIRS",
    "Beliefs",
    "Chance",
    "Closure",
    "Conflict",
    "Constraints",
    "Feasibility",
    "against_chance",
    "believe",
    "check_constraints",
    "coherence",
    "constraint_folds",
    "feasibility",
    "id_values",
    "informativeness",
]
