"""The sections of a report on pairs: the next ones, broken ones, contradictions."""

from collections.abc import Iterator

from linkwise.plots._findings import BrokenPair, Findings
from linkwise.plots._page import escaped
from linkwise.plots._report_parts import side_by_side, why_doubt
from linkwise.plots._shown_rows import ShownRows
from linkwise.plots._words import share_text

# What is listed before "and N more".
_N_QUESTIONS = 5
_N_BROKEN = 20
_N_DISBELIEVED = 20


def question_section(found: Findings, shown: ShownRows) -> Iterator[str]:
    """Yield the pairs that are worth to be judged next."""
    questions = found.questions(_N_QUESTIONS)
    if not questions:
        return
    yield (
        "<section><h2>Which pairs to judge next</h2><p>Each has a row in doubt and the "
        "most typical row of its cluster. Do the two belong together? The answers are "
        "must-links and cannot-links.</p><ol class='pairs'>"
    )
    for i, j in questions:
        cluster = int(found.labels[i])
        heading = (
            f"{escaped(shown.name(i))} and {escaped(shown.name(j))} "
            f'<span class="note">cluster {cluster}; {escaped(why_doubt(found, i))}'
            "</span>"
        )
        yield f'<li class="card"><h3>{heading}</h3>{side_by_side(shown, i, j)}</li>'
    yield "</ol></section>"


def broken_section(found: Findings, shown: ShownRows) -> Iterator[str]:
    """Yield the pairs that do not hold, their rows side by side."""
    if found.n_pairs == 0:
        return
    yield "<section><h2>Pairs that do not hold</h2>"
    if not found.broken:
        yield "<p>All pairs hold.</p></section>"
        return
    belief = _beliefs(found)
    yield "<ol class='pairs'>"
    for pair in found.broken[:_N_BROKEN]:
        yield (
            f'<li class="card"><h3>{escaped(shown.name(pair.i))} and '
            f'{escaped(shown.name(pair.j))} <span class="why">'
            f"{escaped(_what_is_wrong(found, pair, belief))}</span></h3>"
            f"{side_by_side(shown, pair.i, pair.j)}</li>"
        )
    yield "</ol>"
    more = len(found.broken) - _N_BROKEN
    if more > 0:
        yield f'<p class="note">and {more:,} more</p>'
    yield "</section>"


def _beliefs(found: Findings) -> dict[tuple[int, int, str], float]:
    table = found.disbelieved
    return {
        (int(row.i), int(row.j), str(row.kind)): float(row.belief)  # type: ignore
        for row in table.itertuples()
    }


def _what_is_wrong(
    found: Findings, pair: BrokenPair, belief: dict[tuple[int, int, str], float]
) -> str:
    a, b = int(found.labels[pair.i]), int(found.labels[pair.j])
    if pair.kind == "must-link":
        text = f"must-link, but in {_named_cluster(a)} and {_named_cluster(b)}"
    else:
        text = f"cannot-link, but both in {_named_cluster(a)}"
    known = belief.get((pair.i, pair.j, pair.kind))
    if known is not None:
        text += f"; believed by {share_text(known)} only"
    return text


def _named_cluster(label: int) -> str:
    return "no cluster" if label < 0 else f"cluster {label}"


def contradiction_section(found: Findings, shown: ShownRows) -> Iterator[str]:
    """Yield contradictions, and pairs that are not believed."""
    if found.n_conflicts:
        yield (
            "<section><h2>Contradictions</h2><p>Each cannot-link stands against a "
            "chain of must-links; one of these pairs is wrong.</p><ul>"
        )
        for conflict in found.conflicts:
            ends = (escaped(shown.name(end)) for end in conflict.cannot_link)
            chain = " – ".join(escaped(shown.name(point)) for point in conflict.path)
            named = "</b>, <b>".join(ends)
            yield f"<li>cannot-link <b>{named}</b>; must-links {chain}</li>"
        yield "</ul>"
        more = found.n_conflicts - len(found.conflicts)
        if more > 0:
            yield f'<p class="note">and {more:,} more</p>'
        yield "</section>"
    if len(found.disbelieved):
        yield (
            "<section><h2>Pairs that are not believed</h2><p>By the other pairs, and "
            "by the clusterings that satisfy them.</p><ul>"
        )
        for (i, j, kind), belief in list(_beliefs(found).items())[:_N_DISBELIEVED]:
            yield (
                f"<li>{escaped(kind)} <b>{escaped(shown.name(i))}</b>, "
                f"<b>{escaped(shown.name(j))}</b>: {share_text(belief)}</li>"
            )
        yield "</ul>"
        more = len(found.disbelieved) - _N_DISBELIEVED
        if more > 0:
            yield f'<p class="note">and {more:,} more</p>'
        yield "</section>"
