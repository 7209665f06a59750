"""Votes: what answers say of rows and groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log

# Votes of a person who names the group of a row, and who judges one group alone.
NAMED = 2.0
JUDGED = 1.0
# Votes of a correction beyond all others: it is stronger than what rows look like.
CORRECTED = 10.0
# Questions between two of the same thing.
APART = 10
# Share of wrong answers before any is known: so many, of so many.
_WRONG, _ALL = 1.0, 20.0
_LEAST_WRONG, _MOST_WRONG = 0.005, 0.3


@dataclass
class Votes:
    """Votes for and against rows being in groups, answer by answer.

    Groups have the ids of clusters. A group is there as long as some row has more votes
    for it than against it, and for no other group more.
    """

    of: dict[int, dict[int, float]] = field(default_factory=dict)  # by row and group
    n_questions: int = 0
    asked: dict[int, int] = field(default_factory=dict)  # times a row was the question
    judged: dict[tuple[int, int], int] = field(default_factory=dict)  # row in a group
    seen: dict[int, int] = field(default_factory=dict)  # last question about a row
    merges: dict[tuple[int, int], list[tuple[int, bool | None]]] = field(
        default_factory=dict
    )
    joined: dict[int, int] = field(default_factory=dict)
    groups_ever: set[int] = field(default_factory=set)  # that had votes for them
    founded: list[bool] = field(default_factory=list)  # whether answers found groups
    n_agreed: int = 0  # judgements that were made before, and came out the same
    n_contradicted: int = 0

    @property
    def error(self) -> float:
        """Share of the answers that are wrong, from what was judged twice."""
        wrong = _WRONG + 0.5 * self.n_contradicted
        share = wrong / (_ALL + self.n_agreed + 1.5 * self.n_contradicted)
        return min(max(share, _LEAST_WRONG), _MOST_WRONG)

    @property
    def strength(self) -> float:
        """Logarithm of the odds that one vote is right."""
        return log((1.0 - self.error) / self.error)

    def group(self, id_: int) -> int:
        """Return the group that a group is part of now."""
        while id_ in self.joined:
            id_ = self.joined[id_]
        return id_

    def found(self, row: int, group: int) -> None:
        """Begin with a group that nobody was asked about."""
        self.groups_ever.add(group)
        self.of.setdefault(row, {})[group] = JUDGED

    def correct(self, row: int, group: int) -> None:
        """Count the correction of a person: it outweighs earlier votes."""
        self.groups_ever.add(group)
        own = self.of.setdefault(row, {})
        own[group] = max([0.0, *own.values()]) + CORRECTED

    def home(self, row: int) -> int | None:
        """Return the group that a row has most votes for, None if there is none."""
        own = self.of.get(row)
        if not own:
            return None
        best = max(own, key=lambda id_: (own[id_], -id_))
        return best if own[best] > 0.0 else None

    def members(self) -> dict[int, list[int]]:
        """Return the rows of each group, in the order in which they came."""
        found: dict[int, list[int]] = {}
        for row in self.of:
            home = self.home(row)
            if home is not None:
                found.setdefault(home, []).append(row)
        return found

    def add(self, row: int, group: int, votes: float) -> None:
        """Count votes of one answer for a row in a group, against if negative."""
        own = self.of.setdefault(row, {})
        group = self.group(group)
        before = own.get(group, 0.0)
        if before != 0.0 and votes != 0.0:
            if (before > 0.0) == (votes > 0.0):
                self.n_agreed += 1
            else:
                self.n_contradicted += 1
        own[group] = before + votes

    def which(
        self, row: int, groups: Sequence[int], answer: int | str, new: int | None
    ) -> None:
        """Take the answer to "which of these": a place, "none" or "unsure"."""
        self._ask([row])
        self.asked[row] = self.asked.get(row, 0) + 1
        if answer == "unsure":
            return
        self.founded.append(answer == "none")
        if answer == "none":
            for group in groups:
                self.add(row, group, -JUDGED)
            assert new is not None
            self.groups_ever.add(new)
            self.of.setdefault(row, {})[new] = NAMED
        else:
            self.add(row, groups[int(answer)], NAMED)

    def grid(self, group: int, rows: Sequence[int], out: Iterable[int] | str) -> None:
        """Take the answer to a grid: the places of rows that do not belong."""
        self._ask(rows)
        if isinstance(out, str):
            for row in rows:
                self.asked[row] = self.asked.get(row, 0) + 1
            return
        wrong = set(out)
        for at, row in enumerate(rows):
            self.add(row, group, -JUDGED if at in wrong else JUDGED)
            key = (row, self.group(group))
            self.judged[key] = self.judged.get(key, 0) + 1

    def merge(self, left: int, right: int, is_same: bool | None) -> None:
        """Take the answer to whether two groups are one thing."""
        self._ask(())
        a, b = self.group(left), self.group(right)
        if a == b:
            return
        said = self.merges.setdefault((min(a, b), max(a, b)), [])
        said.append((self.n_questions, is_same))
        yes = [at for at, same in said if same]
        no = sum(same is False for _, same in said)
        if len(yes) - no >= 2 and yes[-1] - yes[0] >= APART:
            self.join(a, b)

    def join(self, a: int, b: int) -> None:
        """Make two groups one, which keeps the lower id."""
        a, b = sorted((self.group(a), self.group(b)))
        if a == b:
            return
        self.joined[b] = a
        for own in self.of.values():
            if b in own:
                own[a] = own.get(a, 0.0) + own.pop(b)
        self.judged = _renamed(self.judged, b, a)
        merges: dict[tuple[int, int], list[tuple[int, bool | None]]] = {}
        for (left, right), said in self.merges.items():
            left, right = self.group(left), self.group(right)
            if left != right:
                merges.setdefault((min(left, right), max(left, right)), []).extend(said)
        self.merges = {key: sorted(said) for key, said in merges.items()}

    def _ask(self, rows: Sequence[int]) -> None:
        self.n_questions += 1
        for row in rows:
            self.seen[row] = self.n_questions


def _renamed(
    judged: dict[tuple[int, int], int], old: int, new: int
) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for (row, group), n in judged.items():
        key = (row, new if group == old else group)
        found[key] = found.get(key, 0) + n
    return found
