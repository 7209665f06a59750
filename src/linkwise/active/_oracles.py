"""Those who answer: people, programs, and the truth for experiments."""

from collections.abc import Callable
from typing import Any

import numpy as np

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

    def __call__(self, i: int, j: int) -> str:
        """Return what is said about two rows."""
        draws = self._rng.random(2)
        if draws[0] < self.unsure:
            return "unsure"
        is_same = (self.y[i] == self.y[j]) != (draws[1] < self.wrong)
        return "same" if is_same else "different"


def run(
    session: Session,
    oracle: Callable[[int, int], Any],
    budget: int,
    *,
    fit_every: int = 25,
    stop: bool = False,
    on_answer: Callable[[Session, int], None] | None = None,
) -> Session:
    """Let an oracle answer the questions of a session, then fit it.

    Parameters
    ----------
    session : Session
        What asks.
    oracle : callable
        ``oracle(i, j)`` returns "same", "different" or "unsure" for two rows (True,
        False, None do as well). An ``OracleError`` ends the run with what is there.
    budget : int
        Number of answers, also of those asked for twice.
    fit_every : int, default=25
        Answers after which the clusters are made anew.
    stop : bool, default=False
        Whether to end as soon as the session says that it is enough.
    on_answer : callable, optional
        Called with the session and the number of answers after each.

    Returns
    -------
    Session
        Fitted. Contradictions are settled by asking again.
    """
    if budget < 0:
        raise ValueError(f"budget={budget!r}: it must be 0 or more.")
    if fit_every < 1:
        raise ValueError(f"fit_every={fit_every!r}: it must be 1 or more.")
    n_told = n_fitted = 0

    def answer(i: int, j: int) -> Any:
        nonlocal n_told
        n_told += 1
        return _checked(oracle(i, j))

    try:
        while n_told < budget:
            question = session.ask()
            if question is None:
                break
            told = session.tell(question, answer(question.i, question.j))
            if told.conflict is not None:
                others = {c.id for c in session.conflicts()} - {told.conflict.id}
                # An answer that is turned round may contradict further ones.
                while new := [c for c in session.conflicts() if c.id not in others]:
                    n_again = min(_MAX_AGAIN, budget - n_told)
                    settle(session, new[0], answer, n_again)
            if on_answer is not None:
                on_answer(session, n_told)
            if n_told - n_fitted >= fit_every and n_told < budget:
                session.fit()
                n_fitted = n_told
                if stop and session.status().enough:
                    return session
    except OracleError:
        if not session.constraints_.is_empty:
            session.fit()
        raise
    return session.fit()


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
    if said not in MEANING:
        raise OracleError(
            f"The oracle said {said!r}: allowed are 'same', 'different', 'unsure'."
        )
    return said


__all__ = ["OracleError", "Truth", "run", "settle"]
