"""What the sections of a report are made of: keys, pictures, rows."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path as Outline

from linkwise.plots._findings import Findings
from linkwise.plots._page import breakable, escaped, figure_bytes, image
from linkwise.plots._shown_rows import ShownRows
from linkwise.plots._style import DARK, LIGHT, Theme
from linkwise.plots._words import counted, share_text

# Columns that are compared side by side.
_N_COMPARED = 8
# Standard deviations from which on a difference is marked.
_LARGE = 1.0
# Letters of a short cell.
_SHORT = 36


def colour_rules() -> str:
    """Return the colours of clusters as rules of the style."""

    def rules(theme: Theme) -> str:
        return "".join(
            f".c{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(theme.clusters)
        )

    dark = rules(DARK)
    return (
        rules(LIGHT) + f"@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n"
    )


def line_key(kind: str, state: str) -> str:
    """Return the key of a kind of pairs: "must" or "cannot", "held" or "broken"."""
    return (
        f'<svg class="key {kind} {state}" viewBox="0 0 26 10" aria-hidden="true">'
        '<path d="M0 5H26"/></svg>'
    )


def glyph(cluster: int) -> str:
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


def picture(draw: Callable[[Theme], Figure], title: str, name: str) -> str:
    """Return a figure twice, for light and for dark paper; the style shows one."""
    light, dark = (figure_bytes(draw(theme), "svg") for theme in (LIGHT, DARK))
    return (
        f'<figure class="{name}">{image(light, title, "on-light")}'
        f"{image(dark, title, 'on-dark')}</figure>"
    )


def row_list(
    shown: ShownRows,
    rows: Sequence[int],
    columns: Sequence[int],
    why: Mapping[int, str],
) -> str:
    """Return rows as a list, each with a note if there is one."""
    items = []
    for row in rows:
        note = f' <span class="why">{escaped(why[row])}</span>' if row in why else ""
        items.append(f"<li>{row_line(shown, row, columns)}{note}</li>")
    return f"<ul class='rows'>{''.join(items)}</ul>"


def row_line(shown: ShownRows, row: int, columns: Sequence[int]) -> str:
    """Return a row in one flowing line: its name, then cells."""
    is_one = len(shown.columns) == 1  # needs no name
    cells = []
    for name, value in shown.cells(row, columns):
        # Short ones are not broken over two lines.
        kind = "cell short" if len(name) + len(value) <= _SHORT else "cell"
        named = "" if is_one else f"<i>{breakable(name)}</i> "
        cells.append(f'<span class="{kind}">{named}{escaped(value)}</span> ')
    return f"<b>{escaped(shown.name(row))}</b> {''.join(cells)}"


def side_by_side(shown: ShownRows, i: int, j: int) -> str:
    """Return two rows as a table, the columns in which they differ most first."""
    if not shown.has_columns:
        both = "".join(f"<li>{row_line(shown, row, [])}</li>" for row in (i, j))
        return f"<ul class='rows'>{both}</ul>"
    if len(shown.columns) == 1:  # needs no name
        a, b = (shown.cells(row, [0])[0][1] for row in (i, j))
        names = f"<th>{escaped(shown.name(i))}</th><th>{escaped(shown.name(j))}</th>"
        return (
            f"<table class='beside two'><thead><tr>{names}</tr></thead>"
            f"<tbody><tr><td>{escaped(a)}</td><td>{escaped(b)}</td></tr></tbody></table>"
        )
    order = shown.differences(i, j)
    places = [place for place, _ in order[:_N_COMPARED]]
    rows = []
    for (_, amount), (name, a), (_, b) in zip(
        order, shown.cells(i, places), shown.cells(j, places), strict=False
    ):
        mark = ' class="differs"' if amount >= _LARGE else ""
        rows.append(
            f"<tr{mark}><th>{breakable(name)}</th><td>{escaped(a)}</td>"
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


def why_doubt(found: Findings, row: int) -> str:
    """Return in words why a row is in doubt."""
    nearest = int(found.next_cluster[row])
    other = "" if nearest < 0 else f"; next cluster {nearest}"
    if found.doubt_from == "committee":
        return f"{share_text(float(found.doubt[row]))} against{other}"
    return f"near the border{other}"
