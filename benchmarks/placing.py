"""Where rows belong: what placing adds to a fit, and why its numbers are what they are.

``python benchmarks/placing.py dump FOLDER`` fits KernelCSC with 150 candidates and
keeps what the search found; it can be stopped and goes on where it was. ``try FOLDER``
places the rows by each variant and writes ``records/placing.csv``; ``report`` prints
tables of it. LINKWISE_PMLB names the data.

Data: the paper's sets of at most 1,000 rows, 20, 50 and 200 pairs and the paper's
number, of which a share may be wrong. Settings were chosen on every other set by name
("chosen on"), with trial 0.
"""

import argparse
import pickle
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwise import Constraints, KernelCSC
from linkwise.constraints import Closure
from linkwise.experiments import derive_seed, draw_trial, load_dataset
from linkwise.experiments._datasets import expand_names
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs
from linkwise.search import Committee

N_CANDIDATES = 150
# Numbers of pairs, and shares of wrong ones.
CASES = [
    ("20", 0.0),
    ("50", 0.0),
    ("200", 0.0),
    ("paper", 0.0),
    ("200", 0.05),
    ("200", 0.1),
    ("200", 0.2),
    ("paper", 0.05),
    ("paper", 0.1),
    ("paper", 0.2),
]


class Dump(NamedTuple):
    """What a fit leaves behind."""

    name: str
    trial: int
    regime: str
    wrong: float
    labels: np.ndarray  # (n,)
    committee: Committee
    pairs: Constraints
    closure: Closure  # of the pairs that the fit believed
    disbelieved: np.ndarray  # (m, 2), pairs that the fit lists
    by_chance: bool | None
    seconds: float


class _Watched(KernelCSC):
    """Keeps the closure of the believed pairs."""

    def _without_wrong_pairs(self, given: Any, make_bank: Any, seed: int) -> Any:
        found = super()._without_wrong_pairs(given, make_bank, seed)
        self.closure_ = found.closure
        return found


def fit(name: str, trial_number: int, regime: str, wrong: float) -> Dump | None:
    """Return what one fit leaves behind; None where there are too few pairs."""
    data = load_dataset(name)
    trial = draw_trial(data.y, name, trial_number)
    n_train = len(trial.train)
    n_pairs = n_paper_pairs(n_train) if regime == "paper" else int(regime)
    if n_pairs > n_possible_pairs(n_train) // 2:
        return None
    pairs = trial.constraints(n_pairs, wrong)
    model = _Watched(
        int(data.y.max()) + 1,
        n_candidates=N_CANDIDATES,
        random_state=derive_seed(name, trial_number, "KernelCSC"),
    )
    start = time.process_time()
    model.fit(data.X, constraints=pairs)
    return Dump(
        name,
        trial_number,
        regime,
        wrong,
        model.labels_,
        model._committee,
        pairs,
        model.closure_,
        model.disbelieved_[["i", "j"]].to_numpy(dtype=int),
        model.by_chance_,
        time.process_time() - start,
    )


def dump(folder: Path, names: list[str], trials: list[int], cases: list[Any]) -> None:
    """Keep the fits that are not kept yet."""
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for number, (regime, wrong), name in product(trials, cases, names):
        path = folder / f"{name}-{number}-{regime}-{wrong}.pickle"
        if path.exists():
            continue
        found = fit(name, number, regime, wrong)
        path.write_bytes(pickle.dumps(found))


def small_sets() -> list[str]:
    """Return the sets in the order of their names."""
    return sorted(expand_names(["paper<=1000"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["dump", "try", "report"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", default="::", help="a slice of the sets by name")
    parser.add_argument("--trials", default="0,1")
    parser.add_argument("--cases", default="0:10", help="a slice of the cases")
    args = parser.parse_args()

    def part(text: str) -> slice:
        return slice(*[int(at) if at else None for at in text.split(":")])

    if args.what == "dump":
        dump(
            args.folder,
            small_sets()[part(args.sets)],
            [int(trial) for trial in args.trials.split(",")],
            CASES[part(args.cases)],
        )
