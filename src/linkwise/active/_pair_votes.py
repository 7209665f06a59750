"""Pairs as votes, and votes as pairs."""

from copy import deepcopy

from linkwise.active._answers import Known
from linkwise.active._state import State
from linkwise.active._votes import JUDGED, NAMED, Votes

# Groups that only pairs have put together have ids from here on.
_PAIR_IDS = 2**20


def with_pairs(state: State) -> Votes:
    """Return the votes with those of answers about pairs."""
    if not state.answers:
        return state.votes
    votes = deepcopy(state.votes)
    known, home = state.known, {}
    for group in known.groups():
        rows = known.members(group)
        counts: dict[int, float] = {}
        for row in rows:
            for id_, count in state.votes.of.get(row, {}).items():
                counts[id_] = counts.get(id_, 0.0) + count
        best = max(counts, key=lambda id_: (counts[id_], -id_), default=None)
        if best is not None and counts[best] > 0.0:
            home[group] = best
        elif len(rows) > 1:
            home[group] = _PAIR_IDS + min(rows)
        if group in home:
            for row in rows:
                own = votes.of.setdefault(row, {})
                own[home[group]] = own.get(home[group], 0.0) + NAMED
    for group in known.groups():
        for other in known.different_from(group):
            for row in known.members(group) if other in home else ():
                own = votes.of.setdefault(row, {})
                own[home[other]] = own.get(home[other], 0.0) - JUDGED
    return votes


def pairs_of(votes: Votes) -> list[tuple[int, int, bool]]:
    """Return the pairs that follow from votes: they contradict each other nowhere.

    Rows of a group are tied to the one with most votes. Groups differ if a row of one
    was refused by the other, or a person said so; a row without a group differs from
    those that refused it.
    """
    anchor: dict[int, int] = {}
    found: list[tuple[int, int, bool]] = []
    homes = {row: votes.home(row) for row in votes.of}
    for group, rows in votes.members().items():
        anchor[group] = max(rows, key=lambda row: (votes.of[row][group], -row))
        ends = anchor[group]
        found += [(ends, row, True) for row in rows if row != ends]
    apart = {
        ends
        for ends, said in votes.merges.items()
        if sum({True: 1, False: -1, None: 0}[same] for _, same in said) < 0
    }
    for row, own in votes.of.items():
        home = homes[row]
        for group, count in own.items():
            if count >= 0.0 or group not in anchor:
                continue
            if home is None:
                found.append((row, anchor[group], False))
            elif home != group:
                apart.add((min(home, group), max(home, group)))
    found += [
        (anchor[a], anchor[b], False)
        for a, b in sorted(apart)
        if a in anchor and b in anchor
    ]
    return found


def learn_votes(known: Known, votes: Votes) -> None:
    """Add the pairs of votes to what is known, but for those that contradict it."""
    for i, j, is_same in pairs_of(votes):
        if i != j:
            known.learn(i, j, is_same)
