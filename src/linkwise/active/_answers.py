"""What answers say about rows: groups, differences, and the chain that proves it."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from linkwise.search import KnownGroups


class Answer(NamedTuple):
    """One pair of rows and what was said about it."""

    i: int
    j: int
    is_same: bool
    event: int  # the number of the event it comes from


class Known:
    """Groups of rows that are the same, and groups that differ.

    Grows answer by answer; none of them may contradict the others, see ``relation``.
    """

    def __init__(self) -> None:
        self._group: dict[int, int] = {}  # of rows with an answer
        self._members: dict[int, list[int]] = {}
        self._differs: dict[int, dict[int, Answer]] = {}  # between groups, the first
        self._same: dict[int, list[tuple[int, Answer]]] = {}  # between rows
        self._apart: dict[int, list[tuple[int, Answer]]] = {}

    def group_of(self, row: int) -> int:
        """Return the group of a row, named by one of its rows."""
        return self._group.get(row, row)

    def members(self, group: int) -> list[int]:
        """Return the rows of a group, in the order in which they came."""
        return self._members.get(group, [group])

    def groups(self) -> Iterator[int]:
        """Yield the groups of rows that have an answer."""
        return iter(list(self._members))

    def different_from(self, group: int) -> set[int]:
        """Return the groups that a group is known to differ from."""
        return set(self._differs.get(group, ()))

    def relation(self, i: int, j: int) -> bool | None:
        """Tell whether two rows are the same, or different, by the answers."""
        a, b = self.group_of(i), self.group_of(j)
        if a == b:
            return True
        return False if b in self._differs.get(a, ()) else None

    def add(self, answer: Answer) -> None:
        """Take an answer that contradicts none."""
        i, j = answer.i, answer.j
        for row in (i, j):
            if row not in self._group:
                self._group[row] = row
                self._members[row] = [row]
                self._differs[row] = {}
                self._same[row], self._apart[row] = [], []
        a, b = self._group[i], self._group[j]
        if not answer.is_same:
            self._apart[i].append((j, answer))
            self._apart[j].append((i, answer))
            self._differs[a].setdefault(b, answer)
            self._differs[b].setdefault(a, answer)
            return
        self._same[i].append((j, answer))
        self._same[j].append((i, answer))
        if a != b:
            self._join(a, b)

    def learn(self, i: int, j: int, is_same: bool, event: int = -1) -> bool:
        """Take an answer unless it contradicts others; tell whether it was taken."""
        is_taken = self.relation(i, j) in (None, is_same)
        if is_taken:
            self.add(Answer(i, j, is_same, event))
        return is_taken

    def _join(self, a: int, b: int) -> None:
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        for row in self._members[b]:
            self._group[row] = a
        self._members[a] += self._members.pop(b)
        for other, answer in self._differs.pop(b).items():
            del self._differs[other][b]
            self._differs[other].setdefault(a, answer)
            self._differs[a].setdefault(other, answer)

    def copy(self) -> "Known":
        """Return the same, on which later answers have no effect."""
        found = Known()
        found._group = dict(self._group)
        found._members = {group: list(rows) for group, rows in self._members.items()}
        found._differs = {group: dict(of) for group, of in self._differs.items()}
        found._same = {row: list(of) for row, of in self._same.items()}
        found._apart = {row: list(of) for row, of in self._apart.items()}
        return found

    def as_groups(self) -> KnownGroups:
        """Return the groups as a committee is judged by them."""
        place = {group: at for at, group in enumerate(self._members)}
        apart = [
            (at, place[other])
            for group, at in place.items()
            for other in self._differs[group]
            if at < place[other]
        ]
        return KnownGroups(list(self._members.values()), apart)

    def chain(self, i: int, j: int) -> list[Answer]:
        """Return the fewest answers from which the relation of two rows follows."""
        relation = self.relation(i, j)
        if relation is None or i == j:
            return []
        near, ways = self._ways(i)
        if relation:
            return _path(ways, j)
        far, ways_back = self._ways(j)
        best: tuple[int, int, int, Answer] | None = None
        for row, distance in near.items():
            for other, answer in self._apart.get(row, ()):
                if other in far:
                    length = distance + far[other]
                    if best is None or length < best[0]:
                        best = (length, row, other, answer)
        if best is None:
            return []
        _, row, other, answer = best
        return [*_path(ways, row), answer, *reversed(_path(ways_back, other))]

    def _ways(self, start: int) -> tuple[dict[int, int], dict[int, tuple[int, Answer]]]:
        """Return the distance of each row of a group, and the way back to the start."""
        distance, ways = {start: 0}, {}
        queue = deque([start])
        while queue:
            row = queue.popleft()
            for other, answer in self._same.get(row, ()):
                if other not in distance:
                    distance[other] = distance[row] + 1
                    ways[other] = (row, answer)
                    queue.append(other)
        return distance, ways


def _path(ways: dict[int, tuple[int, Answer]], end: int) -> list[Answer]:
    path = []
    while end in ways:
        end, answer = ways[end]
        path.append(answer)
    return path[::-1]
