"""Kinds of question: what each shows, which answers it takes and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

# Groups of one page of "which", and pages at the most.
PAGE = 9
PAGES = 2
# Rows of a grid, and rows by which a group is shown.
GRID = 12
EXAMPLES = 3


@dataclass(frozen=True)
class Prices:
    """Seconds that a person needs for each kind of question.

    Parameters
    ----------
    pair, which, grid, merge : float
        For one question.
    page : float
        For a second page of "which".
    row, click : float
        For each row of a grid, and for each that is marked.
    """

    pair: float = 4.0
    which: float = 6.0
    grid: float = 8.0
    merge: float = 6.0
    page: float = 3.0
    row: float = 0.0
    click: float = 1.0

    @classmethod
    def of(cls, given: "Mapping[str, float] | Prices | None") -> "Prices":
        """Return prices from a mapping; what it does not name stays."""
        if given is None or isinstance(given, Prices):
            return given or cls()
        known = [entry.name for entry in fields(cls)]
        for name, price in given.items():
            if name not in known:
                raise ValueError(
                    f"prices has {name!r}: allowed are {', '.join(known)}."
                )
            if not (isinstance(price, int | float) and 0.0 <= price < 1e6):
                raise ValueError(
                    f"prices[{name!r}]={price!r}: it must be a number of seconds."
                )
        return cls(**given)


class Question(NamedTuple):
    """Two rows of which a person may know whether they belong together."""

    i: int
    j: int
    id: str
    # "check": drawn at random; "again": it was asked before; "proof": the answer should
    # follow from others
    purpose: str = "pair"
    p_same: float | None = None  # what the clusters expect

    @property
    def kind(self) -> str:
        """The kind of question."""
        return "pair"

    def seconds(self, answer: Any, prices: Prices) -> float:
        """Return what the answer costs."""
        return prices.pair


class Which(NamedTuple):
    """A row, and groups of which a person may know the one that it belongs to."""

    row: int
    groups: list[list[int]]  # rows by which each group is shown, the likeliest first
    id: str
    ids: list[int]  # of the groups
    purpose: str = "which"
    p: float | None = None  # of the first group
    guess: int | None = None  # the group in which the row is now

    @property
    def kind(self) -> str:
        """The kind of question."""
        return "which"

    def seconds(self, answer: Any, prices: Prices) -> float:
        """Return what the answer costs: a second page takes longer."""
        is_first = isinstance(answer, int) and answer < PAGE
        is_second = not is_first and len(self.groups) > PAGE
        return prices.which + (prices.page if is_second else 0.0)


class Grid(NamedTuple):
    """A group, and rows of which a person may know whether they belong to it."""

    examples: list[int]  # rows by which the group is shown
    rows: list[int]
    id: str
    group: int  # its id
    purpose: str = "grid"
    p: tuple[float, ...] = ()  # of each row

    @property
    def kind(self) -> str:
        """The kind of question."""
        return "grid"

    def seconds(self, answer: Any, prices: Prices) -> float:
        """Return what the answer costs: each row that is marked takes longer."""
        n_marked = 0 if isinstance(answer, str) else len(answer)
        return prices.grid + prices.row * len(self.rows) + prices.click * n_marked


class Merge(NamedTuple):
    """Two groups of which a person may know whether they are one thing."""

    left: list[int]  # rows by which they are shown
    right: list[int]
    id: str
    groups: tuple[int, int]  # their ids
    purpose: str = "merge"
    p_same: float | None = None

    @property
    def kind(self) -> str:
        """The kind of question."""
        return "merge"

    def seconds(self, answer: Any, prices: Prices) -> float:
        """Return what the answer costs."""
        return prices.merge


KINDS: dict[str, type] = {
    "pair": Question,
    "which": Which,
    "grid": Grid,
    "merge": Merge,
}


def kinds_of(questions: Any) -> tuple[str, ...]:
    """Return the kinds of question that are meant.

    Examples
    --------
    >>> kinds_of("auto"), kinds_of("pair")
    (('pair', 'which', 'grid', 'merge'), ('pair',))
    """
    if isinstance(questions, str):
        given = tuple(KINDS) if questions == "auto" else (questions,)
    else:
        given = tuple(questions)
    for kind in given:
        if kind not in KINDS:
            raise ValueError(
                f"questions={questions!r}: allowed are 'auto', {', '.join(KINDS)}."
            )
    if given != ("pair",) and "which" not in given:
        raise ValueError(
            f"questions={questions!r}: without 'which' no groups are found; give "
            "'pair' alone, or 'which' as well."
        )
    return tuple(kind for kind in KINDS if kind in given)
