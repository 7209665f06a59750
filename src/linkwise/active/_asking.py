"""Which question comes next, and whether its answer is still to be had."""

from typing import Any, NamedTuple

import numpy as np

from linkwise.active._answers import Answer
from linkwise.active._beliefs import beliefs_of, p_of, unproved, worth_again
from linkwise.active._features import are_embeddings
from linkwise.active._log import digest_of
from linkwise.active._state import pair
from linkwise.active._strategies import STRATEGIES, Neighbourhoods, RandomPairs

# One question in so many is a check.
_CHECK_EVERY = 10
# From so many clusters on groups that all differ take too many answers to be found.
_MANY_CLUSTERS = 8


class Question(NamedTuple):
    """Two rows of which a person may know whether they belong together."""

    i: int
    j: int
    id: str
    # "check": drawn at random; "again": it was asked before; "proof": the answer should
    # follow from others
    kind: str = "pair"
    p_same: float | None = None  # what the committee expects


class Asking:
    """The questions of a session."""

    def ask(self: Any, n: int | None = None) -> Any:
        """Return the next question, None if nothing is left to ask.

        Parameters
        ----------
        n : int, optional
            Number of questions, at least 1; a list is returned then, in which no answer
            settles another question.
        """
        is_number = isinstance(n, int | np.integer) and not isinstance(n, bool)
        if n is not None and not (is_number and n >= 1):
            raise ValueError(f"n={n!r}: it must be a whole number, at least 1.")
        wanted = 1 if n is None else int(n)
        found: list[Question] = []
        if n is None:
            found = self._extra_question()
        if not found:
            pairs = self.strategy.select(self._view(), wanted)
            if not pairs:
                pairs = RandomPairs().select(self._view(), wanted)
            found = [self._question(i, j) for i, j in pairs]
        if n is None:
            return found[0] if found else None
        return found

    def _question(
        self: Any, i: int, j: int, kind: str = "pair", of: int = 0
    ) -> Question:
        p = p_of(self._view(), i, j)
        name = f"{len(self.log.events)}:{i}:{j}:{self._ends_digest(i, j)}"
        name += f":{of}" if kind == "again" else ""
        return Question(i, j, name, kind, None if np.isnan(p) else round(p, 6))

    def _ends_digest(self: Any, i: int, j: int) -> str:
        """Return a few letters by which other rows in the same places are known."""
        return digest_of([self._naming.mark(i), self._naming.mark(j)])[:12]

    def is_askable(self: Any, i: int, j: int) -> bool:
        """Tell whether both rows may be asked about."""
        return bool(self._is_askable[i] and self._is_askable[j])

    def is_open(self: Any, question: Question) -> bool:
        """Tell whether the answer to a question is still to be had."""
        state, ends = self._state, pair(question.i, question.j)
        if question.kind in ("again", "proof") and ends in state.doubted:
            return False
        if question.kind == "again":
            of = int(question.id.split(":")[-1])
            return of in state.answers and state.support[of] == 1
        if ends in state.unsure or ends in state.skipped:
            return False
        if any(ends == pair(i, j) for i, j, _ in state.conflicts.values()):
            return False
        if question.kind == "proof":
            return all(ends != pair(i, j) for i, j, _ in state.answers.values())
        return state.known.relation(*ends) is None

    def recall(self: Any, name: str) -> Question:
        """Return the question of an id, which an earlier run may have asked.

        Raises
        ------
        LookupError
            If other rows are in the places of those that were asked about.
        """
        try:
            _, i_text, j_text, digest, *of = name.split(":")
            i, j = int(i_text), int(j_text)
            of = [str(int(number)) for number in of]
        except ValueError:
            raise ValueError(f"question={name!r} is no id of a question.") from None
        if i < 0 or j < 0 or i == j or len(of) > 1:
            raise ValueError(f"question={name!r} names no two rows.")
        if max(i, j) >= len(self.ids) or digest != self._ends_digest(i, j):
            raise LookupError(f"question={name!r}: the rows have changed.")
        is_known = self._state.known.relation(i, j) is not None
        return Question(i, j, name, "again" if of else "proof" if is_known else "pair")

    def _extra_question(self: Any) -> list[Question]:
        """Return a check, or a question that is asked again, where one is due."""
        n = len(self._state.answers)
        if not self.checks or n == 0:
            return []
        if isinstance(self.strategy, Neighbourhoods):
            for i, j in unproved(self._view(), self._state, self._said()):
                return [self._question(i, j, "proof")]
        if self._judged() is None:
            return []
        askable = {
            event: belief
            for event, belief in self.beliefs().items()
            if self.is_askable(*self._state.answers[event][:2])
        }
        worst = worth_again(self._state, askable)
        if worst is not None:
            i, j, _ = self._state.answers[worst]
            return [self._question(i, j, "again", worst)]
        if n % _CHECK_EVERY == _CHECK_EVERY // 2:
            draw = getattr(self.strategy, "check", RandomPairs().check)
            pairs = draw(self._view())
            return [self._question(i, j, "check") for i, j in pairs]
        return []

    def beliefs(self: Any) -> dict[int, float]:
        """Return how probable the committee holds each answer, by event number."""
        return beliefs_of(self._view(), self._said())

    def _said(self: Any) -> dict[int, Answer]:
        """Return the answers other than unsure, by event number."""
        return {
            event: Answer(i, j, is_same, event)
            for event, (i, j, is_same) in self._state.answers.items()
            if is_same is not None
        }

    def skip(self: Any, question: Question) -> None:
        """Leave a question out; it does not come again."""
        i, j = self._name(question.i), self._name(question.j)
        self._do(event="skip", i=i, j=j)


def strategy_of(strategy: Any, X: Any, n_clusters: Any) -> Any:
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
