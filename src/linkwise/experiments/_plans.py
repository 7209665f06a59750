"""What an experiment consists of: plans, ready ones and those of users."""

import re
import sys
import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from linkwise.experiments._datasets import dataset_size, expand_names
from linkwise.experiments._jobs import Job, as_parameters
from linkwise.experiments._methods import find_method, takes
from linkwise.experiments._protocol import n_paper_pairs, n_possible_pairs

_DECIMAL = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(f"(?:{_DECIMAL}h)?(?:{_DECIMAL}m)?(?:{_DECIMAL}s?)?")
_FIELDS = {
    "description",
    "datasets",
    "methods",
    "rankings",
    "trials",
    "constraints",
    "candidates",
    "time_limit",
    "memory_limit",
}


class PlanError(ValueError):
    """A plan cannot be used as it is; the text says why."""


@dataclass(frozen=True)
class MethodEntry:
    """A method of a plan: what is called, and with which parameters."""

    function: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Data sets x methods x trials x numbers of pairs.

    Parameters
    ----------
    name : str
        What the plan is called.
    datasets : list of str
        Names as for :func:`load_dataset`.
    methods : dict of str to MethodEntry
        By their names in tables and figures. The first is the one that the others
        are compared with.
    trials : int
        Number of trials.
    constraints : list of int or "paper"
        Numbers of pairs. "paper": a tenth of the training pairs, at most 5,000. A data
        set takes part only in numbers that its training pairs suffice for.
    candidates : int or None
        ``n_candidates`` of each method that has such a parameter; None is its default.
    rankings : dict of str to list of str
        Methods that are ranked against each other, by the name of the ranking. It is
        about the first: as long as that has no records, it is not reported.
    time_limit, memory_limit : float or None, int or None
        Seconds and bytes for one job.
    description : str
        One line about it.
    """

    name: str
    datasets: list[str]
    methods: dict[str, MethodEntry]
    trials: int = 10
    constraints: list[int | Literal["paper"]] = field(default_factory=lambda: ["paper"])
    candidates: int | None = None
    rankings: dict[str, list[str]] = field(default_factory=dict)
    time_limit: float | None = None
    memory_limit: int | None = None
    description: str = ""

    def jobs(self) -> list[Job]:
        """Return all jobs: small data sets first, then trial by trial."""
        sizes = {name: dataset_size(name) for name in self.datasets}
        parameters = {
            label: as_parameters(self._parameters(entry))
            for label, entry in self.methods.items()
        }
        return [
            Job(
                name,
                label,
                entry.function,
                trial,
                n_pairs,
                parameters[label],
                self.time_limit,
                self.memory_limit,
            )
            for name in sorted(sizes, key=lambda name: (sizes[name], name))
            for trial in range(self.trials)
            for n_pairs in self.pair_numbers(sizes[name].n_train)
            for label, entry in self.methods.items()
        ]

    def pair_numbers(self, n_train: int) -> list[int]:
        """Return the numbers of pairs that so many training rows suffice for."""
        numbers = [
            n_paper_pairs(n_train) if number == "paper" else number
            for number in self.constraints
        ]
        possible = n_possible_pairs(n_train)
        return sorted({number for number in numbers if 0 < number <= possible})

    def _parameters(self, entry: MethodEntry) -> dict[str, Any]:
        if self.candidates and takes(find_method(entry.function), "n_candidates"):
            return {"n_candidates": self.candidates, **entry.parameters}
        return entry.parameters


def ready_plans() -> list[str]:
    """Return the names of the plans that come with linkwise."""
    folder = files("linkwise.experiments").joinpath("plans")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir())


def load_plan(
    name: str,
    *,
    trials: int | None = None,
    candidates: int | None = None,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
) -> Plan:
    """Return a plan by its name or from a TOML file.

    Parameters
    ----------
    name : str
        One of :func:`ready_plans`, or the path of a file that ends in .toml. Modules
        beside that file can be named in it.
    trials, candidates, datasets, methods : optional
        What to use in place of the plan's own; methods must be some of its own.

    Returns
    -------
    Plan
        The plan, checked; data are not read yet.

    Examples
    --------
    >>> plan = load_plan("fixed", trials=3)
    >>> len(plan.datasets), plan.trials
    (146, 3)
    """
    if name.endswith(".toml"):
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.append(folder)
        name = path.stem
    elif name in ready_plans():
        resource = files("linkwise.experiments").joinpath("plans", f"{name}.toml")
        text = resource.read_text(encoding="utf-8")
    else:
        raise PlanError(
            f"There is no plan {name!r}: it must be one of {', '.join(ready_plans())}, "
            "or the path of a .toml file."
        )
    try:
        plan = _plan_from(name, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"The plan {name!r} is no valid TOML: {error}.") from None
    if methods is not None:
        plan = _with_methods(plan, methods)
    return replace(
        plan,
        trials=plan.trials if trials is None else trials,
        candidates=plan.candidates if candidates is None else candidates,
        datasets=plan.datasets if datasets is None else expand_names(datasets),
    )


def parse_duration(text: str | float) -> float:
    """Return seconds from a number or a text.

    Examples
    --------
    >>> parse_duration("1h30m"), parse_duration("90s"), parse_duration(5)
    (5400.0, 90.0, 5.0)
    """
    match = _DURATION.fullmatch(str(text).strip().replace(" ", "").lower())
    parts = [float(part or 0) for part in match.groups()] if match else [0.0]
    if not match or not any(parts):
        raise ValueError(
            f"{text!r} is not a time: write for example 90s, 30m, 2h or 1h30m."
        )
    hours, minutes, seconds = parts
    return 3600 * hours + 60 * minutes + seconds


def _plan_from(name: str, values: dict[str, Any]) -> Plan:
    unknown = sorted(set(values) - _FIELDS)
    if unknown:
        raise PlanError(
            f"The plan {name!r} has an unknown entry {unknown[0]!r}: allowed are "
            f"{', '.join(sorted(_FIELDS))}."
        )
    for needed in ("datasets", "methods"):
        if not values.get(needed):
            raise PlanError(f"The plan {name!r} has no {needed}.")
    try:
        given = dict(values)
        if "time_limit" in given:
            given["time_limit"] = parse_duration(given["time_limit"])
        if "memory_limit" in given:
            given["memory_limit"] = _bytes(given["memory_limit"])
        given["methods"] = {
            label: _entry(label, dict(entry))
            for label, entry in given["methods"].items()
        }
        given["datasets"] = expand_names(given["datasets"])
        plan = Plan(name, **given)
        _check_numbers(plan)
    except (ValueError, ImportError, AttributeError) as error:
        raise PlanError(f"The plan {name!r}: {error}") from error
    for ranking, labels in plan.rankings.items():
        for label in set(labels) - set(plan.methods):
            raise PlanError(
                f"The plan {name!r}: ranking {ranking!r} names {label!r}, which is "
                "none of its methods."
            )
    return plan


def _bytes(size: Any) -> int:
    from linkwise.doors import parse_bytes

    return int(parse_bytes(size, "memory_limit"))


def _entry(label: str, values: dict[str, Any]) -> MethodEntry:
    function = values.pop("method", label)
    find_method(function)
    if values.get("final_step") == "none":  # TOML has no word for None
        values["final_step"] = None
    return MethodEntry(function, values)


def _check_numbers(plan: Plan) -> None:
    if not isinstance(plan.trials, int) or plan.trials < 1:
        raise ValueError(f"trials = {plan.trials!r}: it must be 1 or larger.")
    for number in plan.constraints:
        if number != "paper" and (not isinstance(number, int) or number < 1):
            raise ValueError(
                f"constraints holds {number!r}: it must hold positive whole numbers "
                'or "paper".'
            )


def _with_methods(plan: Plan, labels: list[str]) -> Plan:
    for label in labels:
        if label not in plan.methods:
            raise PlanError(
                f"The plan {plan.name!r} has no method {label!r}: it has "
                f"{', '.join(plan.methods)}."
            )
    return replace(
        plan,
        methods={label: plan.methods[label] for label in labels},
        rankings={
            name: kept
            for name, ranked in plan.rankings.items()
            if len(kept := [label for label in ranked if label in labels]) > 1
        },
    )
