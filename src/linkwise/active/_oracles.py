"""Those who answer: people, programs, and the truth for experiments."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwise.active._kinds import Grid, Merge, Prices, Question, Which
from linkwise.active._session import Conflict, Session
from linkwise.active._state import MEANING

# Times that answers of a contradiction are asked for again.
_MAX_AGAIN = 8


class OracleError(RuntimeError):
    """An oracle that cannot answer, now or at all."""


class Truth:
    """Answers by known classes, sometimes wrongly or not at all, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes of the rows.
    wrong : float, default=0.0
        Share of the answers that are wrong, drawn anew for each.
    unsure : float, default=0.0
        Share of the answers that are "unsure".
    random_state : int, default=0
        Seed.
    """

    def __init__(
        self, y: Any, wrong: float = 0.0, unsure: float = 0.0, random_state: int = 0
    ) -> None:
        self.y = np.asarray(y)
        self.wrong, self.unsure = wrong, unsure
        self._rng = np.random.default_rng(random_state)

    def answer(self, question: Any) -> Any:
        """Return what is said to a question of any kind.

        A group means what most of the rows are by which it is shown. Of a grid, each
        row is drawn by itself whether it is wrong.
        """
        if isinstance(question, Question):
            return self(question.i, question.j)
        if self._rng.random() < self.unsure:
            return "unsure"
        if isinstance(question, Merge):
            is_same = self._class_of(question.left) == self._class_of(question.right)
            is_wrong = self._rng.random() < self.wrong
            return "same" if is_same != is_wrong else "different"
        if isinstance(question, Grid):
            is_out = self.y[question.rows] != self._class_of(question.examples)
            is_out ^= self._rng.random(len(is_out)) < self.wrong
            return np.flatnonzero(is_out).tolist()
        return self._which(question)

    def _which(self, question: Which) -> Any:
        meant = [self._class_of(rows) for rows in question.groups]
        own = self.y[question.row]
        right = next((at for at, group in enumerate(meant) if group == own), "none")
        if self._rng.random() >= self.wrong:
            return right
        others = [at for at in (*range(len(meant)), "none") if at != right]
        return others[self._rng.integers(len(others))]

    def _class_of(self, rows: list[int]) -> Any:
        classes, counts = np.unique(self.y[rows], return_counts=True)
        return classes[counts.argmax()]

    def __call__(self, i: int, j: int) -> str:
        """Return what is said about two rows."""
        draws = self._rng.random(2)
        if draws[0] < self.unsure:
            return "unsure"
        is_same = (self.y[i] == self.y[j]) != (draws[1] < self.wrong)
        return "same" if is_same else "different"


def run(
    session: Session,
    oracle: Any,
    budget: int | None = None,
    *,
    seconds: float | None = None,
    prices: Any = None,
    fit_every: int = 25,
    stop: bool = False,
    until: str | None = None,
    on_answer: Callable[[Session, int], None] | None = None,
) -> Session:
    """Let an oracle answer the questions of a session, then fit it.

    Parameters
    ----------
    session : Session
        What asks.
    oracle : callable, or object with answer
        ``oracle(i, j)`` returns "same", "different" or "unsure" for two rows (True,
        False, None do as well). One with ``answer(question)`` answers all kinds; others
        are asked about pairs of rows where a question is about groups. An
        ``OracleError`` ends the run with what is there.
    budget : int, optional
        Number of answers, also of those asked for twice.
    seconds : float, optional
        Time that the answers may cost at ``prices``. Needed if there is no budget.
    prices : mapping or Prices, optional
        Seconds that each kind of question costs; those of the session by default.
    fit_every : int, default=25
        Answers after which the clusters are made anew. Where clusters follow every
        answer, that is done once, at the end.
    stop : bool, default=False
        Whether to end as soon as the session says that it is enough.
    until : {"enough"}, optional
        The same as ``stop``.
    on_answer : callable, optional
        Called with the session and the number of answers after each.

    Returns
    -------
    Session
        Fitted. Contradictions are settled by asking again.
    """
    if budget is None and seconds is None:
        raise ValueError("Give budget= or seconds=, or both.")
    if budget is not None and budget < 0:
        raise ValueError(f"budget={budget!r}: it must be 0 or more.")
    if seconds is not None and seconds < 0:
        raise ValueError(f"seconds={seconds!r}: it must be 0 or more.")
    if fit_every < 1:
        raise ValueError(f"fit_every={fit_every!r}: it must be 1 or more.")
    if until not in (None, "enough"):
        raise ValueError(f"until={until!r}: allowed is 'enough'.")
    purse = _Purse(budget, seconds, Prices.of(prices or session.prices))
    stop = stop or until == "enough"
    try:
        _ask_on(session, oracle, purse, fit_every, stop, on_answer)
    except OracleError:
        if not session.constraints_.is_empty:
            session.fit()
        raise
    return session.fit()


@dataclass
class _Purse:
    """Answers and seconds that are left."""

    budget: int | None
    seconds: float | None
    prices: Prices
    n_told: int = 0
    spent: float = 0.0

    @property
    def n_left(self) -> int:
        """Answers about pairs that can still be paid for."""
        left = sys.maxsize if self.budget is None else self.budget - self.n_told
        if self.seconds is not None and self.prices.pair > 0.0:
            left = min(left, int((self.seconds - self.spent) / self.prices.pair))
        return left

    def pays(self, cost: float) -> bool:
        """Tell whether one more answer of this cost is left."""
        if self.budget is not None and self.n_told >= self.budget:
            return False
        return self.seconds is None or self.spent + cost <= self.seconds

    def pay(self, cost: float) -> None:
        self.n_told += 1
        self.spent += cost


def _ask_on(
    session: Session,
    oracle: Any,
    purse: _Purse,
    fit_every: int,
    stop: bool,
    on_answer: Callable[[Session, int], None] | None,
) -> None:
    n_fitted = 0

    def again(i: int, j: int) -> Any:
        purse.pay(purse.prices.pair)
        return _checked(oracle(i, j))

    while purse.pays(0.0):
        question = session.ask()
        if question is None:
            break
        answer = answer_to(oracle, question)
        cost = question.seconds(answer, purse.prices)
        if not purse.pays(cost):
            break
        purse.pay(cost)
        told = session.tell(question, answer, seconds=cost)
        if told.conflict is not None:
            others = {c.id for c in session.conflicts()} - {told.conflict.id}
            # An answer that is turned round may contradict further ones.
            while new := [c for c in session.conflicts() if c.id not in others]:
                settle(session, new[0], again, min(_MAX_AGAIN, purse.n_left))
        if on_answer is not None:
            on_answer(session, purse.n_told)
        if session.follows_answers and not session.needs_fits:
            if stop and session.status().enough:
                return
        elif purse.n_told - n_fitted >= fit_every and purse.pays(0.0):
            session.fit()
            n_fitted = purse.n_told
            if stop and session.status().enough:
                return


def answer_to(oracle: Any, question: Any) -> Any:
    """Return what an oracle says to a question of any kind."""
    if hasattr(oracle, "answer"):
        found = oracle.answer(question)
        return _checked(found) if isinstance(question, Question) else found
    if isinstance(question, Question):
        return _checked(oracle(question.i, question.j))
    if isinstance(question, Merge):
        return _checked(oracle(question.left[0], question.right[0]))
    if isinstance(question, Grid):
        example = question.examples[0]
        said = [MEANING[_checked(oracle(row, example))] for row in question.rows]
        return [at for at, is_same in enumerate(said) if is_same is False]
    for at, rows in enumerate(question.groups):
        if MEANING[_checked(oracle(question.row, rows[0]))]:
            return at
    return "none"


def settle(
    session: Session,
    conflict: Conflict,
    answer: Callable[[int, int], Any],
    budget: int,
) -> None:
    """Settle a contradiction by asking for its answers again, the least believed first.

    The first that is answered otherwise is changed. If none is, or there is no budget,
    the least believed is left out. Rows that are not askable are not asked about.
    """
    beliefs = session.beliefs()
    asked = [(beliefs.get(a.event, 0.5), at, a) for at, a in enumerate(conflict.chain)]
    said = {True: "same", False: "different"}
    for _, _, old in sorted(asked, key=lambda entry: entry[:2]):
        if budget <= 0:
            break
        if not session.is_askable(old.i, old.j):
            continue
        budget -= 1
        again = MEANING[answer(old.i, old.j)]
        if again is not None and again != old.is_same:
            session.resolve(conflict, "that", old)
            return
    if budget > 0 and session.is_askable(conflict.i, conflict.j):
        again = MEANING[answer(conflict.i, conflict.j)]
        if again is None or said[again] != conflict.answer:
            session.resolve(conflict, "this")
            return
    session.resolve(conflict, "unsure")


def _checked(said: Any) -> Any:
    if isinstance(said, np.bool_):
        said = bool(said)
    if isinstance(said, list) or said not in MEANING:
        raise OracleError(
            f"The oracle said {said!r}: allowed are 'same', 'different', 'unsure'."
        )
    return said


__all__ = ["OracleError", "Truth", "run", "settle"]
