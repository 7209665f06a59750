"""What to do next, as it follows from the numbers of a clustering."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linkwise.estimators import HARDLY_COMPACT
from linkwise.plots._findings import Findings
from linkwise.plots._words import counted, joined, share_text

# Part of the search, at its end, in which the best candidate must not have come up.
LAST_PART = 0.25
# Share of the pairs that may be broken before it is worth a word.
MANY_BROKEN = 0.1
# Share of the rows that may be in doubt before it is worth a word.
MANY_IN_DOUBT = 0.1
# Share of the pairs of clusters with no cannot-link between them that is too large.
MANY_UNTOLD = 0.5
# Clusters of this size, or less, are named.
TINY = 2
_N_NAMED = 8


class Advice(NamedTuple):
    """One thing to do, and why."""

    title: str
    text: str


def advice_on(found: Findings) -> list[Advice]:
    """Return what to do next, the most urgent first.

    Parameters
    ----------
    found : Findings
        Numbers of a clustering.
    """
    rules = (
        _no_pairs,
        _by_chance,
        _contradictions,
        _hardly_compact,
        _too_few_pairs,
        _many_broken,
        _still_improving,
        _moving,
        _doubt,
        _tiny,
    )
    advice = [one for rule in rules for one in rule(found)]
    if advice:
        return advice
    n_broken = len(found.broken)
    all_hold = "All pairs hold" if n_broken == 0 else f"All pairs but {n_broken:,} hold"
    return [
        Advice(
            "Nothing stands out",
            f"{all_hold}, every cluster is touched by some of them, the search had "
            "come to rest, and few rows are in doubt. Look at the typical rows of each "
            "cluster: if they make sense to you, use the clusters.",
        )
    ]


def _no_pairs(found: Findings) -> Iterator[Advice]:
    if found.n_pairs == 0 and found.had_pairs:
        yield Advice(
            "Give the pairs to the report",
            "The model was made with pairs, but the report has none: with them "
            "(--constraints) it shows which hold and which rows they are about.",
        )
    elif found.n_pairs == 0:
        yield Advice(
            "Give some pairs",
            "Without pairs nothing says which of many possible clusterings you mean, "
            "and nothing here tells whether this one is any good. "
            f"{_which_next(found)}",
        )


def _by_chance(found: Findings) -> Iterator[Advice]:
    if found.by_chance:
        yield Advice(
            "Do not trust these clusters",
            "No more pairs hold than by chance: clusterings made without your pairs "
            "satisfy them no better than shuffled ones. The columns do not show what "
            "the pairs are about. Check that the pairs name the right rows, give "
            "columns that have to do with them, or give more pairs.",
        )


def _contradictions(found: Findings) -> Iterator[Advice]:
    n_doubted = len(found.disbelieved)
    if found.n_conflicts:
        yield Advice(
            "Correct contradictory pairs",
            f"{counted(found.n_conflicts, 'cannot-link')} "
            f"{_verb(found.n_conflicts, 'contradicts', 'contradict')} must-links, so "
            "that some pairs must be wrong. They are listed below with the must-links "
            "against them.",
        )
    if n_doubted:
        yield Advice(
            "Look again at pairs that are not believed",
            f"{counted(n_doubted, 'pair')} "
            f"{_verb(n_doubted, 'does', 'do')} not fit what the other pairs and good "
            "clusterings say: wrong, or right for a reason that the columns do not "
            "show. They are listed below.",
        )


def _hardly_compact(found: Findings) -> Iterator[Advice]:
    search = found.search
    if search is not None and search.objective > HARDLY_COMPACT:
        yield Advice(
            "Do not trust rows without pairs",
            "The clusters are hardly more compact than random ones (relative scatter "
            f"{search.objective:.3f}, where 1 is chance). Give more pairs, or columns "
            "that have to do with what you mean.",
        )


def _too_few_pairs(found: Findings) -> Iterator[Advice]:
    k = found.n_clusters
    if found.n_pairs == 0 or k < 2:
        return
    touched = np.unique(found.labels[found.pairs.points.astype(np.intp)])
    missing = [str(c) for c in range(k) if c not in set(touched.tolist())]
    if missing:
        named = missing[:_N_NAMED]
        more = len(missing) - len(named)
        if more:
            named.append(f"{more} more")
        yield Advice(
            "Judge pairs in clusters that have none",
            f"No pair has a row in {_verb(len(missing), 'cluster', 'clusters')} "
            f"{joined(named)}: nothing says whether "
            f"{_verb(len(missing), 'it is', 'they are')} right.",
        )
    ends = found.labels[found.pairs.cannot_link]
    told = {frozenset(pair) for pair in ends.tolist() if pair[0] != pair[1]}
    told = {pair for pair in told if min(pair) >= 0}
    n_couples = k * (k - 1) // 2
    untold = n_couples - len(told)
    if untold > MANY_UNTOLD * n_couples and not missing:
        yield Advice(
            f"Give more pairs for {k} clusters",
            f"Of the {counted(n_couples, 'couple')} of clusters, {untold:,} "
            f"({share_text(untold, n_couples)}) have no cannot-link between them: "
            "nothing but the columns says that they differ.",
        )


def _many_broken(found: Findings) -> Iterator[Advice]:
    n_broken = len(found.broken)
    if found.n_pairs and n_broken > MANY_BROKEN * found.n_pairs:
        yield Advice(
            "Find out why pairs are broken",
            f"{n_broken:,} of {counted(found.n_pairs, 'pair')} "
            f"({share_text(n_broken, found.n_pairs)}) do not hold. Either some of them "
            "are wrong, or there are more or fewer groups than "
            f"{found.n_clusters} clusters, or the columns do not show what the pairs "
            "are about. The broken pairs below, side by side, tell which.",
        )


def _still_improving(found: Findings) -> Iterator[Advice]:
    search = found.search
    if search is None or not np.isfinite(search.scores).any():
        return
    n_tried = len(search.scores)
    first_best = int(np.nanargmax(search.scores))
    best = float(search.scores[first_best])
    if search.stopped_by in ("time", "interrupt"):
        why = "the time was up" if search.stopped_by == "time" else "it was interrupted"
        yield Advice(
            "Search longer",
            f"The search ended after {counted(n_tried, 'candidate')} because {why}.",
        )
    elif best < 1.0 and first_best >= (1.0 - LAST_PART) * n_tried and n_tried > 1:
        yield Advice(
            "Search longer",
            f"The best score came up at candidate {first_best + 1:,} of {n_tried:,}: "
            "more candidates may find a better one.",
        )


def _moving(found: Findings) -> Iterator[Advice]:
    if not found.converged:
        yield Advice(
            "Let k-means come to rest",
            "Labels still moved in the last iteration; raise max_iter.",
        )


def _doubt(found: Findings) -> Iterator[Advice]:
    known = ~np.isnan(found.doubt)
    n_doubted, n_known = int(found.in_doubt.sum()), int(known.sum())
    if found.n_pairs == 0 or n_doubted <= MANY_IN_DOUBT * n_known:
        return
    reason = (
        "other good clusterings often put them elsewhere"
        if found.doubt_from == "committee"
        else "they lie near the border of two clusters"
    )
    yield Advice(
        "Judge rows that are in doubt",
        f"{n_doubted:,} of {counted(n_known, 'row')} "
        f"({share_text(n_doubted, n_known)}) are in doubt: {reason}. "
        f"{_which_next(found)}",
    )


def _tiny(found: Findings) -> Iterator[Advice]:
    if found.n_rows <= TINY * found.n_clusters:
        return
    tiny = [str(c) for c in np.flatnonzero(found.sizes <= TINY).tolist()]
    if tiny:
        named = tiny[:_N_NAMED]
        if len(tiny) > _N_NAMED:
            named.append(f"{len(tiny) - _N_NAMED} more")
        yield Advice(
            "Try fewer clusters",
            f"{_verb(len(tiny), 'Cluster', 'Clusters')} {joined(named)} "
            f"{_verb(len(tiny), 'has', 'have')} at most {counted(TINY, 'row')}: rows "
            "that are unlike all others, or one cluster more than there are.",
        )


def _which_next(found: Findings) -> str:
    if not found.in_doubt.any():
        return "Any rows that you know well will do."
    return "The pairs under “Which pairs to judge next” are the best to begin with."


def _verb(n: int, one: str, many: str) -> str:
    return one if n == 1 else many
