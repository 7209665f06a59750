"""A clustering as one page for a person: what was found, how sure it is, what next.

``report_page(model, X, constraints, table=..., ids=...)`` returns the page as a text.
It needs no other file, runs no script and loads nothing. ``linkwise report``,
``linkwise cluster --report`` and the export of a labelling session all call it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path as Outline

import linkwise
from linkwise._typing import FloatArray
from linkwise.constraints import Constraints, check_constraints
from linkwise.estimators import row_map
from linkwise.plots._advice import advice_on
from linkwise.plots._cluster_display import ClusterDisplay
from linkwise.plots._doubt_display import DoubtDisplay
from linkwise.plots._findings import BrokenPair, Findings, findings_of
from linkwise.plots._page import document, escaped, figure_bytes, image
from linkwise.plots._report_style import REPORT_STYLE
from linkwise.plots._search_display import SearchDisplay
from linkwise.plots._shown_rows import ShownRows
from linkwise.plots._style import DARK, LIGHT, Theme, new_figure, shortened
from linkwise.plots._traits_display import clear_traits, trait_name
from linkwise.plots._weights_display import WeightsDisplay
from linkwise.plots._words import counted, joined, number_text, share_text
from linkwise.tables import cluster_traits

# What is listed before "and N more".
_N_CLUSTERS = 30
_N_BROKEN = 20
_N_TRAITS = 7
_N_ROWS = 3
_N_CELLS = 6
_N_COMPARED = 12
_N_QUESTIONS = 5
_N_DISBELIEVED = 20
_N_KERNELS = 10
_ENDS = {
    "budget": "all of them were tried",
    "score": "every pair holds",
    "patience": "no better one came up for long",
    "time": "the time was up",
    "callback": "a callback stopped it",
    "interrupt": "it was interrupted",
    "exhausted": "there was nothing else to try",
}


def report_page(
    model: Any,
    X: Any,
    constraints: Any = None,
    *,
    table: pd.DataFrame | None = None,
    ids: Sequence[Any] | None = None,
    labels: Any = None,
    kinds: Mapping[str, str] | None = None,
    title: str = "Clusters",
    lines: Sequence[str] = (),
) -> str:
    """Return a clustering as one page of HTML.

    Parameters
    ----------
    model : estimator, pipeline or None
        Fitted. None: only ``labels`` are shown.
    X : array-like, sparse matrix, list of views or of objects, table of a pipeline
        The rows, as the model took them; those of the fit or others.
    constraints : Constraints, pair, sparse matrix or table, optional
        Pairs between the rows, as ``fit`` takes them.
    table : DataFrame, optional
        The same rows as a person knows them, such as texts in place of embeddings; X by
        default.
    ids : sequence, optional
        Names of the rows; their numbers from 0 by default.
    labels : array-like of shape (n_samples,), optional
        Clusters, -1 for none, where they are not those of the model.
    kinds : dict of {str: str}, optional
        What the columns of the table hold, see :func:`linkwise.tables.cluster_traits`.
    title : str, default="Clusters"
        Heading.
    lines : sequence of str
        What stands under it, such as where the rows come from.

    Returns
    -------
    str
        HTML that needs no other file. The same arguments give the same text.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.plots import report_page
    >>> page = report_page(None, np.eye(4), ([(0, 1)], []), labels=[0, 0, 1, 1])
    >>> "All 1 must-link hold" in page or "1 must-link" in page
    True
    """
    shown = ShownRows(X, table, ids)
    pairs: Constraints = check_constraints(constraints, None, n_samples=shown.n_rows)
    found = findings_of(model, X, pairs, labels)
    own = model[-1] if hasattr(model, "steps") else model
    traits = clear_traits(
        cluster_traits(shown.source(), found.labels, kinds=kinds, n_largest=_N_TRAITS)
    )
    body = [
        f"<header><h1>{escaped(title)}</h1>",
        *(f'<p class="note">{escaped(line)}</p>' for line in lines),
        "</header>",
        *_summary(found, own),
        *_advice(found),
        *_map(found, model, X),
        *_clusters(found, shown, traits),
        *_questions(found, shown),
        *_broken_pairs(found, shown),
        *_contradictions(found, shown),
        *_search(found, own),
        f'<footer class="note">Made by linkwise {escaped(linkwise.__version__)}. '
        "The file holds everything it shows and loads nothing.</footer>",
    ]
    return document(title, body, REPORT_STYLE + _colour_rules())


def _colour_rules() -> str:
    """Return the colours of clusters as rules of the style."""

    def rules(theme: Theme) -> str:
        return "".join(
            f".c{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(theme.clusters)
        )

    dark = rules(DARK)
    return (
        rules(LIGHT) + f"@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n"
    )


def _summary(found: Findings, model: Any) -> Iterator[str]:
    yield "<section><h2>In short</h2><ul class='plainly'>"
    for sentence in _sentences(found, model):
        yield f"<li>{escaped(sentence)}</li>"
    yield "</ul></section>"


def _sentences(found: Findings, model: Any) -> Iterator[str]:
    sizes = found.sizes.tolist()
    listed = [f"{size:,}" for size in sizes[:12]]
    if len(sizes) > 12:
        listed.append(f"{len(sizes) - 12} more")
    n_inside = int(found.sizes.sum())
    yield (
        f"{counted(n_inside, 'row')} in {counted(found.n_clusters, 'cluster')}: "
        f"{joined(listed)}."
    )
    if n_inside < found.n_rows:
        yield f"{counted(found.n_rows - n_inside, 'row')} in no cluster."
    if model is not None and not found.is_of_fit:
        yield "These are not the rows of the fit: their clusters are predicted."
    if found.n_pairs:
        yield _pairs_sentence(found)
    n_known = int((~np.isnan(found.doubt)).sum())
    n_doubted = int(found.in_doubt.sum())
    if n_known:
        of_known = f"{counted(n_doubted, 'row')} ({share_text(n_doubted, n_known)})"
        of_known += "" if n_known == found.n_rows else f" of {n_known:,} looked at"
        yield (
            f"{of_known} {'is' if n_doubted == 1 else 'are'} in doubt: a fifth or more "
            "of the weight of all clusterings tried puts them elsewhere."
            if found.doubt_from == "committee"
            else f"{of_known} {'lies' if n_doubted == 1 else 'lie'} near the border of "
            "two clusters."
        )
    if found.search is not None:
        n_tried = len(found.search.scores)
        ended = _ENDS.get(found.search.stopped_by, found.search.stopped_by)
        tried = counted(n_tried, "candidate")
        yield f"{tried} in the search, which ended because {ended}."


def _pairs_sentence(found: Findings) -> str:
    parts = []
    for name, holds in zip(("must-link", "cannot-link"), found.holds, strict=True):
        if len(holds):
            parts.append(f"{int(holds.sum()):,} of {counted(len(holds), name)}")
    n_broken = len(found.broken)
    share = share_text(found.n_pairs - n_broken, found.n_pairs)
    verb = "holds" if found.n_pairs == 1 else "hold"
    return f"{joined(parts)} {verb} ({share} of the pairs)."


def _advice(found: Findings) -> Iterator[str]:
    yield "<section><h2>What to do next</h2><ol class='advice'>"
    for one in advice_on(found):
        yield f"<li><b>{escaped(one.title)}.</b> {escaped(one.text)}</li>"
    yield "</ol></section>"


def _map(found: Findings, model: Any, X: Any) -> Iterator[str]:
    coordinates: FloatArray = row_map(model, X)  # type: ignore[no-untyped-call]
    own = model[-1] if hasattr(model, "steps") else model
    is_kernel = hasattr(own, "kernel_weights_")
    what = "kernel principal component" if is_kernel else "principal component"
    display = ClusterDisplay(coordinates, found.labels, found.pairs, what)

    def draw(theme: Theme) -> Figure:
        figure = new_figure(6.4, 4.5)
        display.plot(figure.subplots(), theme=theme, legend=False)
        return figure

    how = "the learnt kernel" if is_kernel else "their columns"
    yield (
        "<section><h2>Map of the rows</h2>"
        f"<p>Rows that are alike by {how} lie near each other, as far as a plane can "
        "show it: rows that lie together may differ in other directions. Lines are "
        "pairs.</p>"
    )
    yield _picture(draw, "Map of the rows with clusters and pairs", "map")
    yield _map_legend(found)
    yield "</section>"


def _map_legend(found: Findings) -> str:
    items = []
    for cluster, size in enumerate(found.sizes.tolist()[:_N_CLUSTERS]):
        items.append(f"{_glyph(cluster)} cluster {cluster}: {counted(size, 'row')}")
    if found.n_clusters > _N_CLUSTERS:
        items.append(f"and {found.n_clusters - _N_CLUSTERS} more clusters")
    for name, holds in zip(("must-link", "cannot-link"), found.holds, strict=True):
        n_held, n_broken = int(holds.sum()), int((~holds).sum())
        short = name.split("-")[0]
        if n_held:
            items.append(f"{_line(short, 'held')} {name} holds: {n_held:,}")
        if n_broken:
            items.append(f"{_line(short, 'broken')} {name} broken: {n_broken:,}")
    return (
        "<ul class='legend'>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    )


def _line(kind: str, state: str) -> str:
    return (
        f'<svg class="key {kind} {state}" viewBox="0 0 26 10" aria-hidden="true">'
        '<path d="M0 5H26"/></svg>'
    )


def _glyph(cluster: int) -> str:
    """Return the marker of a cluster as a small drawing."""
    style = LIGHT.cluster(cluster)
    place = LIGHT.clusters.index(style["color"]) if cluster >= 0 else 0
    marker = MarkerStyle(style["marker"])
    outline = marker.get_path().transformed(marker.get_transform())
    return (
        f'<svg class="key" viewBox="-0.75 -0.75 1.5 1.5" aria-hidden="true">'
        f'<path class="c{place}" d="{_svg_path(outline)}"/></svg>'
    )


def _svg_path(outline: Outline) -> str:
    parts = []
    for points, code in outline.iter_segments(curves=True):
        letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
        numbers = (np.asarray(points).reshape(-1, 2) * [1.0, -1.0]).ravel()
        if letter == "Z":
            numbers = numbers[:0]
        parts.append(letter + " ".join(f"{value:.3f}" for value in numbers))
    return "".join(parts)


def _picture(draw: Any, title: str, name: str) -> str:
    """Return a figure twice, for light and for dark paper; the style shows one."""
    light, dark = (figure_bytes(draw(theme), "svg") for theme in (LIGHT, DARK))
    return (
        f'<figure class="{name}">{image(light, title, "on-light")}'
        f"{image(dark, title, 'on-dark')}</figure>"
    )


def _clusters(found: Findings, shown: ShownRows, traits: pd.DataFrame) -> Iterator[str]:
    yield (
        "<section><h2>Clusters</h2><p>Bars tell how many standard deviations the mean "
        "of a cluster, or the share of its rows with a value or a word, lies above "
        "(right) or below (left) that of the other rows. Typical rows are nearest to "
        "the centre.</p>"
    )
    for cluster in range(min(found.n_clusters, _N_CLUSTERS)):
        yield from _cluster(found, shown, traits, cluster)
    if found.n_clusters > _N_CLUSTERS:
        yield f'<p class="note">and {found.n_clusters - _N_CLUSTERS} more clusters</p>'
    yield "</section>"


def _cluster(
    found: Findings, shown: ShownRows, traits: pd.DataFrame, cluster: int
) -> Iterator[str]:
    size = int(found.sizes[cluster])
    share = share_text(size, found.n_rows)
    own = traits[traits["cluster"] == cluster]
    yield (
        f'<article class="card"><h3>{_glyph(cluster)} Cluster {cluster} '
        f'<span class="note">{counted(size, "row")}, {share}</span></h3>'
        '<div class="halves"><div>'
    )
    yield _profile(own, cluster)
    yield "</div><div>"
    columns = _telling_columns(own, shown)
    typical = found.typical(cluster, _N_ROWS)
    if typical:
        yield "<h4>Typical rows</h4>" + _row_list(shown, typical, columns, {})
    doubtful = [
        row for row in found.doubtful(cluster, _N_ROWS) if row not in set(typical)
    ]
    if doubtful:
        why = {row: _why_doubt(found, row) for row in doubtful}
        yield "<h4>Rows in doubt</h4>" + _row_list(shown, doubtful, columns, why)
    yield "</div></div></article>"


def _why_doubt(found: Findings, row: int) -> str:
    nearest = int(found.next_cluster[row])
    other = "" if nearest < 0 else f"; next cluster {nearest}"
    if found.doubt_from == "committee":
        return f"{share_text(float(found.doubt[row]))} against{other}"
    return f"near the border{other}"


def _telling_columns(own: pd.DataFrame, shown: ShownRows) -> list[int]:
    """Return places of the columns to show, those that set a cluster apart first."""
    places = {name: at for at, name in reversed(list(enumerate(shown.columns)))}
    first = [places[name] for name in own["column"] if name in places]
    return list(dict.fromkeys([*first, *range(len(shown.columns))]))[:_N_CELLS]


def _profile(own: pd.DataFrame, cluster: int) -> str:
    if len(own) == 0:
        return '<p class="note">No column sets it apart clearly.</p>'
    colour = LIGHT.clusters.index(LIGHT.cluster(cluster)["color"])
    largest = max(1.0, float(own["difference"].abs().max()))
    rows = []
    for trait in own.itertuples():
        name = trait_name(str(trait.column), str(trait.kind), str(trait.value))
        width = 50.0 * float(trait.difference) / largest  # type: ignore[arg-type]
        left = 50.0 + min(width, 0.0)
        bar = (
            f'<svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" '
            f'aria-label="{float(trait.difference):+.2f}">'  # type: ignore[arg-type]
            f'<rect class="c{colour}" x="{left:.2f}" y="1" width="{abs(width):.2f}" '
            'height="10"/><path class="axis" d="M50 0V12"/></svg>'
        )
        here, elsewhere = (
            _mean_text(str(trait.kind), float(value))  # type: ignore[arg-type]
            for value in (trait.here, trait.elsewhere)
        )
        rows.append(
            f"<tr><th>{escaped(shortened(name, 40))}</th><td class='bar'>{bar}</td>"
            f"<td>{escaped(here)}</td><td>{escaped(elsewhere)}</td></tr>"
        )
    return (
        '<table class="profile"><thead><tr><th>sets it apart</th><th></th>'
        f"<th>here</th><th>elsewhere</th></tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table>"
    )


def _mean_text(kind: str, value: float) -> str:
    if kind == "date":
        day = pd.Timestamp(0) + pd.Timedelta(days=value)
        return str(day.date())
    return number_text(float(f"{value:.4g}")) if kind == "number" else share_text(value)


def _row_list(
    shown: ShownRows,
    rows: Sequence[int],
    columns: Sequence[int],
    why: Mapping[int, str],
) -> str:
    items = []
    for row in rows:
        note = f' <span class="why">{escaped(why[row])}</span>' if row in why else ""
        items.append(f"<li>{_row(shown, row, columns)}{note}</li>")
    return f"<ul class='rows'>{''.join(items)}</ul>"


def _row(shown: ShownRows, row: int, columns: Sequence[int]) -> str:
    """Return a row in one flowing line: its name, then cells."""
    cells = "".join(
        f'<span class="cell"><i>{escaped(name)}</i> {escaped(value)}</span> '
        for name, value in shown.cells(row, columns)
    )
    return f"<b>{escaped(shown.name(row))}</b> {cells}"


def _questions(found: Findings, shown: ShownRows) -> Iterator[str]:
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
            f'<span class="note">cluster {cluster}; {escaped(_why_doubt(found, i))}'
            "</span>"
        )
        yield f'<li class="card"><h3>{heading}</h3>{_side_by_side(shown, i, j)}</li>'
    yield "</ol></section>"


def _broken_pairs(found: Findings, shown: ShownRows) -> Iterator[str]:
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
            f"{_side_by_side(shown, pair.i, pair.j)}</li>"
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


def _side_by_side(shown: ShownRows, i: int, j: int) -> str:
    if not shown.has_columns:
        both = "".join(f"<li>{_row(shown, row, [])}</li>" for row in (i, j))
        return f"<ul class='rows'>{both}</ul>"
    order = shown.difference(i, j)
    places = order[:_N_COMPARED]
    rows = []
    for (name, a), (_, b) in zip(
        shown.cells(i, places), shown.cells(j, places), strict=True
    ):
        mark = ' class="differs"' if a != b else ""
        rows.append(
            f"<tr{mark}><th>{escaped(name)}</th><td>{escaped(a)}</td>"
            f"<td>{escaped(b)}</td></tr>"
        )
    more = len(order) - len(places)
    if more > 0:
        rows.append(
            f"<tr><td colspan='3' class='note'>and {counted(more, 'more column')}</td>"
            "</tr>"
        )
    return (
        "<table class='beside'><thead><tr><th></th>"
        f"<th>{escaped(shown.name(i))}</th><th>{escaped(shown.name(j))}</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _contradictions(found: Findings, shown: ShownRows) -> Iterator[str]:
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


def _search(found: Findings, model: Any) -> Iterator[str]:
    pictures = []
    if found.doubt_from == "committee" and not np.isnan(found.doubt).all():
        display = DoubtDisplay(found.doubt, found.labels)
        text = (
            "How sure the rows of each cluster are: the share of all clusterings "
            "tried, by weight, that put a row elsewhere."
        )
        pictures.append((text, lambda theme: display.plot(theme=theme).figure_))
    if found.search is not None:
        text = "The search: the share of the pairs that hold under each candidate."
        pictures.append(
            (
                text,
                lambda theme: SearchDisplay.from_estimator(model, theme=theme).figure_,
            )
        )
    if hasattr(model, "kernel_weights_") or hasattr(model, "feature_weights_"):
        text = "What the rows are compared by: " + (
            "kernels by the view of the rows that they look at, and by family."
            if hasattr(model, "kernel_weights_")
            else "weights of the features."
        )
        pictures.append(
            (
                text,
                lambda theme: WeightsDisplay.from_estimator(model, theme=theme).figure_,
            )
        )
    if not pictures:
        return
    yield "<section><h2>How the clusters were found</h2><div class='pictures'>"
    for text, draw in pictures:
        yield f"<div><p>{escaped(text)}</p>{_picture(draw, text, 'small')}</div>"
    yield "</div>"
    yield _kernels(model)
    yield "</section>"


def _kernels(model: Any) -> str:
    """Return the chosen kernels, the heaviest first."""
    if not hasattr(model, "kernel_weights_"):
        return ""
    weights = np.asarray(model.kernel_weights_)
    order = [i for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
    items = [
        f"<li>{share_text(weights[i], weights.sum())} "
        f"{escaped(shortened(model.kernel_names_[i], 80))}</li>"
        for i in order[:_N_KERNELS]
    ]
    more = len(order) - _N_KERNELS
    if more > 0:
        items.append(f"<li>and {more} more</li>")
    return f"<h3>Chosen kernels</h3><ul>{''.join(items)}</ul>"
