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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC
from linkwise.constraints import Closure, believe
from linkwise.estimators import _kernel_csc
from linkwise.estimators._committee import believed_closure
from linkwise.estimators._contradictions import contradict
from linkwise.estimators._placing import SETTINGS, Placing, learn_placing
from linkwise.estimators._trees import Trees
from linkwise.experiments import derive_seed, draw_trial, load_dataset
from linkwise.experiments._datasets import expand_names
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs
from linkwise.search import Committee

RECORDS = Path(__file__).parent / "records" / "placing.csv"
KEYS = ["dataset", "trial", "pairs", "wrong"]
N_CANDIDATES = 150
# Numbers of pairs, of trial 0, with which all variants are tried.
ABLATED = ("50", "200", "paper")
# By how much a set is below k-means to be counted.
MARGIN = 0.02
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


@contextmanager
def watched_beliefs() -> Iterator[list[Any]]:
    """Yield a list that gets the problem of each fit, with the pairs it believes."""
    problems = []
    original = _kernel_csc.believed

    def watched(model: Any, problem: Any) -> Any:
        problems.append(original(model, problem))
        return problems[-1]

    _kernel_csc.believed = watched
    try:
        yield problems
    finally:
        _kernel_csc.believed = original


def _half(rule: Placing, which: int) -> Placing:
    """Return the rule with the first or with the second of its forests."""
    forests = [own for own in rule.learners if isinstance(own, Trees)]
    others = tuple(own for own in rule.learners if not isinstance(own, Trees))
    halves = tuple(
        replace(own, roots=np.array_split(own.roots, 2)[which]) for own in forests
    )
    return replace(rule, learners=halves + others)


def fit(name: str, trial_number: int, regime: str, wrong: float) -> Dump | None:
    """Return what one fit leaves behind; None where there are too few pairs."""
    data = load_dataset(name)
    trial = draw_trial(data.y, name, trial_number)
    n_train = len(trial.train)
    n_pairs = n_paper_pairs(n_train) if regime == "paper" else int(regime)
    if n_pairs > n_possible_pairs(n_train) // 2:
        return None
    pairs = trial.constraints(n_pairs, wrong)
    model = KernelCSC(
        int(data.y.max()) + 1,
        n_candidates=N_CANDIDATES,
        final_step=None,
        random_state=derive_seed(name, trial_number, "KernelCSC"),
    )
    start = time.process_time()
    with watched_beliefs() as problems:
        model.fit(data.X, constraints=pairs)
    return Dump(
        name,
        trial_number,
        regime,
        wrong,
        model.labels_,
        model._committee,
        pairs,
        problems[0].local.closure,
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


def believed(found: Dump, opinions: np.ndarray) -> Closure:
    """Return the closure of the pairs that the committee of the search believes."""
    given = SimpleNamespace(pairs=found.pairs, closure=found.closure)
    return believed_closure(given, believe(found.pairs, opinions))


# What changes if the rule is learnt with another number.
LEARNT = {
    "1 member": {"n_members": 1},
    "2 members": {"n_members": 2},
    "3 members": {"n_members": 3},
    "10 members": {"n_members": 10},
    "60 members": {"n_members": 60},
    "trust 0": {"trust": 0.0},
    "smooth 1": {"smooth": 1.0},
    "0 rounds": {"n_rounds": 0},
    "1 round": {"n_rounds": 1},
    "15 trees": {"n_trees": 15},
    "60 trees": {"n_trees": 60},
    "least rows 0": {"least_rows": 0.0},
    "forests only": {"least_for_ridge": 10**9},
    "always both": {"clearly": 1e-9},
    "ridge from 20 rows": {"least_for_ridge": 20},
}
# What changes if a part of the rule that was learnt is left out.
PARTS: dict[str, Callable[[Placing], Placing]] = {
    "committee alone": lambda rule: replace(rule, learners=()),
    "learners alone": lambda rule: replace(rule, committee_weight=0.0),
    "balanced forest": lambda rule: _half(rule, 0),
    "extra trees": lambda rule: _half(rule, 1),
    "half each": lambda rule: replace(rule, committee_weight=0.5),
}


def variants(found: Dump, features: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the labels of each variant."""
    committee, labels = found.committee, found.labels

    def learn(closure: Closure, **numbers: Any) -> Placing | None:
        settings = replace(SETTINGS, **numbers)
        return learn_placing(
            committee, labels, closure, features, seed=0, settings=settings
        )

    def placed(rule: Placing | None) -> np.ndarray:
        if rule is None:
            return labels
        clusters = committee.labels[rule.members]
        return rule.probabilities(clusters, features).argmax(axis=1)

    closure = found.closure
    if contradict(found.pairs, committee.n_clusters):
        closure = believed(found, committee.opinions(labels))
    rule = learn(closure)
    yield "placed", placed(rule)
    if found.wrong > 0.0:
        yield "believed before the search", placed(learn(found.closure))
        return
    if found.trial > 0 or found.regime not in ABLATED:
        return
    for name, change in PARTS.items():
        yield name, placed(None if rule is None else change(rule))
    for name, numbers in LEARNT.items():
        yield name, placed(learn(closure, **numbers))
    beliefs = believed(found, committee.opinions(labels))
    yield "believed always", placed(learn(beliefs))


def record(found: Dump) -> dict[str, Any]:
    """Return the test ARI of k-means, of the fit and of each variant."""
    data = load_dataset(found.name)
    test = draw_trial(data.y, found.name, found.trial).test
    rows = StandardScaler().fit_transform(data.X)
    plain = KMeans(found.committee.n_clusters, n_init=10, random_state=found.trial)
    labels = {"k-means": plain.fit_predict(rows), "fit": found.labels}
    labels |= dict(variants(found, data.X))
    return {
        "dataset": found.name,
        "trial": found.trial,
        "pairs": found.regime,
        "wrong": found.wrong,
        "classes": found.committee.n_clusters,
        **{
            name: round(adjusted_rand_score(data.y[test], own[test]), 4)
            for name, own in labels.items()
        },
    }


def try_variants(folder: Path, path: Path, trials: list[int], cases: list[Any]) -> None:
    """Add what is missing to the records."""
    warnings.simplefilter("ignore")
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEYS)
    done = set(known[KEYS].astype(str).itertuples(index=False, name=None))
    records = known.to_dict("records")
    for number, (regime, wrong) in product(trials, cases):
        for name in small_sets():
            file = folder / f"{name}-{number}-{regime}-{wrong}.pickle"
            if (name, str(number), regime, str(wrong)) in done or not file.exists():
                continue
            found = pickle.loads(file.read_bytes())
            if found is not None:
                records.append(record(found))
        pd.DataFrame(records).to_csv(path, index=False)


def gains(table: pd.DataFrame, name: str) -> dict[str, Any]:
    """Return how much a variant gains over the fit, in each half and together."""
    gain = table[name] - table["fit"]
    halves = {"chosen on": table["half"] == 0, "others": table["half"] == 1}
    return {
        "sets": len(table),
        "fit": table["fit"].mean(),
        "gain": gain.mean(),
        "error": gain.sem(),
        **{half: gain[inside].mean() for half, inside in halves.items()},
        "below k-means, fit": (table["fit"] < table["k-means"] - MARGIN).sum(),
        "below k-means": (table[name] < table["k-means"] - MARGIN).sum(),
    }


def report(path: Path) -> None:
    """Print what placing gains, and what its numbers are worth."""
    table = pd.read_csv(path, dtype={"pairs": str})
    half = {name: at % 2 for at, name in enumerate(small_sets())}
    table["half"] = table["dataset"].map(half)
    order = {"20": 0, "50": 1, "200": 2, "paper": 3}
    for number, some in table.groupby("trial"):
        groups = some.groupby(["wrong", "pairs"])
        rows = {key: gains(own, "placed") for key, own in groups}
        found = pd.DataFrame.from_dict(rows, orient="index")
        found = found.sort_index(key=lambda at: at.map(lambda v: order.get(v, v)))
        print(f"\nTrial {number}: gain of placing over the fit")
        print(found.round(4).to_string())
    first = table[(table["trial"] == 0) & (table["wrong"] == 0.0)]
    first = first[first["pairs"].isin(ABLATED)]
    rows = {}
    for name in ["placed", *PARTS, *LEARNT, "believed always"]:
        change = (first[name] - first["placed"]).groupby(first["dataset"]).mean()
        is_in = change.index.map(half) == 0
        by_pairs = (first[name] - first["fit"]).groupby(first["pairs"]).mean()
        rows[name] = {
            **by_pairs,
            "change, chosen on": change[is_in].mean(),
            "error": change[is_in].sem(),
            "change, others": change[~is_in].mean(),
            "error, others": change[~is_in].sem(),
        }
    print("\nGain over the fit by variant, and change from the rule (trial 0)")
    print(pd.DataFrame.from_dict(rows, orient="index").round(4).to_string())
    noisy = table[table["wrong"] > 0.0]
    change = (noisy["believed before the search"] - noisy["fit"]).groupby(
        [noisy["pairs"], noisy["wrong"]]
    )
    print("\nGain if pairs are believed as before the search")
    print(change.agg(["mean", "sem"]).round(4).to_string())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["dump", "try", "report"])
    parser.add_argument("folder", type=Path, nargs="?", help="of the fits")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--trials", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--cases", type=int, nargs="+", default=range(len(CASES)))
    args = parser.parse_args()
    some = [CASES[at] for at in args.cases]
    if args.what == "dump":
        dump(args.folder, small_sets(), args.trials, some)
    elif args.what == "try":
        try_variants(args.folder, args.records, args.trials, some)
    else:
        report(args.records)
