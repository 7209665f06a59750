"""Which question comes next, and whether its answer is still to be had."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwise.active._answers import Answer
from linkwise.active._beliefs import beliefs_of, p_of, unproved, worth_again
from linkwise.active._corrections import with_merges
from linkwise.active._features import are_embeddings
from linkwise.active._fitter import Fitter
from linkwise.active._kinds import Question
from linkwise.active._log import digest_of
from linkwise.active._record import Record
from linkwise.active._state import State, pair
from linkwise.active._strategies import (
    STRATEGIES,
    Neighbourhoods,
    RandomPairs,
    Strategy,
    View,
)

# One question in so many is a check.
_CHECK_EVERY = 10
# From so many clusters on groups that all differ take too many answers to be found.
_MANY_CLUSTERS = 8


@dataclass
class Asker:
    """Chooses the questions of a session."""

    record: Record
    fitter: Fitter
    strategy: Strategy
    seed: int
    _seen: tuple[int, View] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        every = np.arange(len(self.fitter.features))
        self.is_askable = np.isin(every, self.fitter.rows)

    @property
    def view(self) -> View:
        """What strategies see, found once for each revision of the state."""
        state, committee = self.record.state, self.fitter.committee
        if self._seen is not None:
            revision, view = self._seen
            if revision == self.record.revision and view.committee is committee:
                return view
        closed = state.unsure | state.skipped
        closed |= {pair(i, j) for i, j, _ in state.conflicts.values()}
        view = View(
            self.fitter.features,
            self.fitter.rows,
            with_merges(state),
            _said(state),
            closed,
            self.fitter.n_clusters,
            committee,
            state.labels,
            self.is_askable,
            self._rng(),
        )
        self._seen = self.record.revision, view
        return view

    def _rng(self) -> np.random.Generator:
        state = self.record.state
        return np.random.default_rng(
            [self.seed, len(state.answers), len(state.skipped)]
        )

    def _own_view(self) -> View:
        """Return the view for a strategy, with its random numbers from the start."""
        view = copy(self.view)  # with what was found out from it before
        view.rng = self._rng()
        return view

    def select(self, n: int) -> list[Question]:
        """Return up to n questions of the strategy, or else about random pairs."""
        pairs = self.strategy.select(self._own_view(), n)
        if not pairs:
            pairs = RandomPairs().select(self._own_view(), n)
        return [self._question(i, j) for i, j in pairs]

    def extra(self) -> Question | None:
        """Return a check, or a question that is asked again, where one is due."""
        state = self.record.state
        n = len(state.answers)
        if n == 0:
            return None
        if isinstance(self.strategy, Neighbourhoods):
            for i, j in unproved(self.view, state.doubted):
                return self._question(i, j, "proof")
        if self.view.committee is None:
            return None
        askable = {
            event: belief
            for event, belief in self.beliefs().items()
            if self.may_ask(*state.answers[event][:2])
        }
        worst = worth_again(state, askable)
        if worst is not None:
            i, j, _ = state.answers[worst]
            return self._question(i, j, "again", worst)
        if n % _CHECK_EVERY == _CHECK_EVERY // 2:
            draw = getattr(self.strategy, "check", RandomPairs().check)
            for i, j in draw(self._own_view()):
                return self._question(i, j, "check")
        return None

    def _question(self, i: int, j: int, purpose: str = "pair", of: int = 0) -> Question:
        p = p_of(self.view, i, j)
        name = f"{len(self.record.events)}:{i}:{j}:{self._digest(i, j)}"
        name += f":{of}" if purpose == "again" else ""
        return Question(i, j, name, purpose, None if np.isnan(p) else round(p, 6))

    def _digest(self, i: int, j: int) -> str:
        """Return a few letters by which other rows in the same places are known."""
        naming = self.record.naming
        return digest_of([naming.mark(i), naming.mark(j)])[:12]

    def beliefs(self) -> dict[int, float]:
        """Return how probable the committee holds each answer, by event number."""
        return beliefs_of(self.view)

    def may_ask(self, i: int, j: int) -> bool:
        """Tell whether both rows may be asked about."""
        return bool(self.is_askable[i] and self.is_askable[j])

    def recall(self, name: str) -> Question:
        """Return the question of an id, see ``Session.recall``."""
        try:
            _, i_text, j_text, digest, *of = name.split(":")
            i, j = int(i_text), int(j_text)
            of = [str(int(number)) for number in of]
        except ValueError:
            raise ValueError(f"question={name!r} is no id of a question.") from None
        if i < 0 or j < 0 or i == j or len(of) > 1:
            raise ValueError(f"question={name!r} names no two rows.")
        if max(i, j) >= len(self.is_askable) or digest != self._digest(i, j):
            raise LookupError(f"question={name!r}: the rows have changed.")
        is_known = self.record.state.known.relation(i, j) is not None
        return Question(i, j, name, "again" if of else "proof" if is_known else "pair")


def _said(state: State) -> dict[int, Answer]:
    """Return the answers other than unsure, by event number."""
    return {
        event: Answer(i, j, is_same, event)
        for event, (i, j, is_same) in state.answers.items()
        if is_same is not None
    }


def is_open(state: State, question: Question) -> bool:
    """Tell whether the answer to a question is still to be had."""
    ends = pair(question.i, question.j)
    if question.purpose in ("again", "proof") and ends in state.doubted:
        return False
    if question.purpose == "again":
        of = int(question.id.split(":")[-1])
        return of in state.answers and state.support[of] == 1
    if ends in state.unsure or ends in state.skipped:
        return False
    if any(ends == pair(i, j) for i, j, _ in state.conflicts.values()):
        return False
    if question.purpose == "proof":
        return all(ends != pair(i, j) for i, j, _ in state.answers.values())
    return state.known.relation(*ends) is None


def strategy_of(strategy: Any, X: Any, n_clusters: Any) -> Strategy:
    """Return a strategy by its name; an object that selects is one.

    "auto": the clusters of embeddings are asked about, if there are many, and the
    groups of other rows are looked for.
    """
    if hasattr(strategy, "select"):
        return strategy
    if strategy == "auto":
        is_known = isinstance(n_clusters, int | np.integer)
        are_many = is_known and n_clusters >= _MANY_CLUSTERS
        strategy = "members" if are_many and are_embeddings(X) else "neighbourhoods"
    if strategy not in STRATEGIES:
        allowed = ", ".join(map(repr, ["auto", *STRATEGIES]))
        raise ValueError(
            f"strategy={strategy!r}: allowed are {allowed}, or an object with select."
        )
    return STRATEGIES[strategy]()
