"""Methods that ask about pairs themselves, measured by the number of answers.

They are called with X, an oracle, ``askable``, ``n_answers``, ``n_clusters``,
``random_state`` and parameters, and return what they have come to.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Constraints
from linkwise.experiments._datasets import Dataset, read_only_dataset
from linkwise.experiments._jobs import Job, Task
from linkwise.experiments._methods import standardised
from linkwise.experiments._protocol import Trial, draw_trial, score_labels
from linkwise.experiments._seeds import derive_seed

# A session clusters after so many answers, and then after every 25: those of the plan
# `active` are among them, so that a session can go on from one number to the next.
_FITS = (10, 25, 50, 75, 100, 120, 150, 175, 200)
_FIT_EVERY = 25


class Asked(NamedTuple):
    """What a method has come to that asks."""

    labels: IntArray
    constraints: Constraints  # what was answered
    notes: dict[str, Any]  # what it says of itself


class Running:
    """A session that can go on; it is the same as one that begins anew."""

    def __init__(self, make: Callable[[], tuple[Any, Any]]) -> None:
        self._make = make
        self._begin()

    def _begin(self) -> None:
        self.session, self.oracle = self._make()
        self._n_told = 0

    def after(self, n_answers: int) -> Asked:
        """Return what it has come to after some answers."""
        from linkwise.active import run

        if n_answers <= self._n_told:
            self._begin()
        for number in fits_before(n_answers):
            if number > self._n_told:
                left = number - self._n_told
                run(self.session, self.oracle, left, fit_every=left)
                self._n_told = number
        session, status = self.session, self.session.status()
        notes = status._asdict()
        del notes["sentence"]
        return Asked(np.asarray(session.labels_), session.constraints_, notes)


def fits_before(n_answers: int) -> list[int]:
    """Return after which answers a session clusters that ends after some.

    Examples
    --------
    >>> fits_before(60)
    [10, 25, 50, 60]
    """
    later = range(_FITS[-1] + _FIT_EVERY, n_answers, _FIT_EVERY)
    return [*(n for n in (*_FITS, *later) if n < n_answers), n_answers]


def session(
    X: FloatArray,
    oracle: Any,
    *,
    askable: IntArray,
    n_clusters: int,
    random_state: int,
    model: str = "KernelCSC",
    strategy: str = "neighbourhoods",
    checks: bool = True,
    known_clusters: bool = True,
    n_candidates: int = 150,
) -> Running:
    """Return a session by which clusters are found.

    ``model`` is "KernelCSC" or "MPCK"; without ``known_clusters`` their number is
    found as well.
    """
    from linkwise import baselines, estimators
    from linkwise.active import Session

    mpck: Any = baselines.MPCKMeans  # estimators carry no types
    kernel_csc: Any = estimators.KernelCSC
    if model == "MPCK":
        X = standardised(X)
        estimator: Any = mpck(n_clusters, random_state=random_state)
    else:
        estimator = kernel_csc(
            n_clusters if known_clusters else "auto",
            n_candidates=n_candidates,
            random_state=random_state,
        )

    def make() -> tuple[Any, Any]:
        begun = Session(
            X,
            estimator,
            askable=askable,
            strategy=strategy,
            checks=checks,
            random_state=random_state,
        )
        return begun, oracle()

    return Running(make)


class _Cobras:
    """COBRAS begins anew for each number of answers: that is part of what it does."""

    def __init__(self, X: FloatArray, oracle: Any, options: dict[str, Any]) -> None:
        self._X, self._oracle, self._options = standardised(X), oracle, options

    def after(self, n_answers: int) -> Asked:
        """Return what it has come to after some answers."""
        from linkwise import baselines

        cobras: Any = baselines.COBRAS
        oracle = self._oracle()
        kinds: dict[bool, list[tuple[int, int]]] = {True: [], False: []}

        def answer(i: int, j: int) -> Any:
            said = oracle(i, j)
            if said != "unsure":
                kinds[said == "same"].append((i, j))
            return said

        model = cobras(answer, budget=n_answers, **self._options).fit(self._X)
        pairs = Constraints(kinds[True], kinds[False])
        return Asked(model.labels_, pairs, {})


def cobras(
    X: FloatArray,
    oracle: Any,
    *,
    askable: IntArray,
    n_clusters: int,
    random_state: int,
) -> _Cobras:
    """Return COBRAS, which finds the number of clusters itself."""
    return _Cobras(X, oracle, {"askable": askable, "random_state": random_state})


class _RandomPairs:
    """Pairs that nobody chose: drawn beforehand, as many as there are answers.

    Some follow from others; the strategy "random" of a session passes over those.
    """

    def __init__(
        self, X: FloatArray, oracle: Any, pairs: IntArray, estimator: Any
    ) -> None:
        self._X, self._oracle = X, oracle
        self._pairs, self._estimator = pairs, estimator

    def after(self, n_answers: int) -> Asked:
        """Return what it has come to after some answers."""
        oracle = self._oracle()
        pairs = self._pairs[:n_answers]
        said = np.array([oracle(int(i), int(j)) for i, j in pairs])
        given = Constraints(pairs[said == "same"], pairs[said == "different"])
        model = self._estimator.fit(self._X, constraints=given)
        return Asked(model.labels_, given, {})


def random_pairs(
    X: FloatArray,
    oracle: Any,
    *,
    askable: IntArray,
    n_clusters: int,
    random_state: int,
    n_candidates: int = 150,
) -> _RandomPairs:
    """Return KernelCSC with random pairs of rows, all different."""
    from linkwise import estimators

    kernel_csc: Any = estimators.KernelCSC
    first, second = np.triu_indices(len(askable), 1)
    drawn = np.random.default_rng(random_state).permutation(len(first))
    pairs = np.stack([askable[first[drawn]], askable[second[drawn]]], axis=1)
    estimator = kernel_csc(
        n_clusters, n_candidates=n_candidates, random_state=random_state
    )
    return _RandomPairs(X, oracle, pairs, estimator)


# What asks, by its name in plans: each has ``after(n_answers)``.
ASKING: dict[str, Callable[..., Any]] = {
    "session": session,
    "random pairs": random_pairs,
    "COBRAS": cobras,
}
# Parameters of all that ask which are not their own: shares of wrong answers and of
# those that are "unsure".
_WRONG, _UNSURE = "wrong_answers", "unsure_answers"
# One row of so many may be asked about.
_ASKABLE_SHARE = 2


class _Problem(NamedTuple):
    """A data set, and what asks about it at present."""

    data: Dataset
    trial: Trial
    running: dict[tuple[str, str], Any]


@lru_cache(maxsize=1)
def _prepare(dataset: str, trial: int) -> _Problem:
    data = read_only_dataset(dataset)
    return _Problem(data, draw_trial(data.y, dataset, trial, _ASKABLE_SHARE), {})


def question_task(job: Job) -> Task:
    """Return what a method does that asks; one that has asked before goes on."""
    problem = _prepare(job.dataset, job.trial)
    trial = problem.trial
    key = (job.function, job.parameters)
    if key not in problem.running:
        given = json.loads(job.parameters)
        seed = derive_seed(job.dataset, job.trial, "answers")
        problem.running[key] = ask_about(
            problem.data.X,
            problem.data.y,
            trial.train,
            given,
            ASKING[job.function],
            job.seed,
            seed,
        )

    def run() -> Asked:
        found: Asked = problem.running[key].after(job.n_constraints)
        return found

    def score(asked: Asked) -> dict[str, Any]:
        notes = {"notes": json.dumps(asked.notes)}
        return score_labels(trial, asked.labels, asked.constraints) | notes

    return Task(run, score, {})


def ask_about(
    X: FloatArray,
    y: IntArray,
    askable: IntArray,
    parameters: dict[str, Any],
    method: Callable[..., Any],
    seed: int = 0,
    answer_seed: int = 0,
) -> Any:
    """Return a method that asks about rows of known classes."""
    from linkwise.active import Truth

    own = {k: v for k, v in parameters.items() if k not in (_WRONG, _UNSURE)}
    wrong, unsure = parameters.get(_WRONG, 0.0), parameters.get(_UNSURE, 0.0)
    return method(
        X,
        lambda: Truth(y, wrong, unsure, answer_seed),
        askable=askable,
        n_clusters=int(y.max()) + 1,
        random_state=seed,
        **own,
    )
