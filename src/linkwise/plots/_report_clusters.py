"""The section of a report on each cluster: profile, typical rows, rows in doubt."""

from collections.abc import Iterator, Mapping

import pandas as pd

from linkwise.plots._findings import Findings
from linkwise.plots._page import breakable, escaped
from linkwise.plots._report_parts import glyph, row_list, why_doubt
from linkwise.plots._shown_rows import ShownRows
from linkwise.plots._style import LIGHT, shortened
from linkwise.plots._traits_display import trait_name
from linkwise.plots._words import counted, number_text, share_text

# Clusters that are listed before "and N more", rows of each kind, and their cells.
N_CLUSTERS = 30
_N_ROWS = 3
_N_CELLS = 6


def cluster_section(
    found: Findings,
    shown: ShownRows,
    traits: pd.DataFrame,
    names: Mapping[int, str],
) -> Iterator[str]:
    """Yield all clusters, the first ones in full."""
    yield (
        "<section><h2>Clusters</h2><p>Bars tell how many standard deviations the mean "
        "of a cluster, or the share of its rows with a value or a word, lies above "
        "(right) or below (left) that of the other rows. Typical rows are nearest to "
        "the centre.</p>"
    )
    for cluster in range(min(found.n_clusters, N_CLUSTERS)):
        yield from _cluster(found, shown, traits, cluster, names.get(cluster, ""))
    if found.n_clusters > N_CLUSTERS:
        yield f'<p class="note">and {found.n_clusters - N_CLUSTERS} more clusters</p>'
    yield "</section>"


def _cluster(
    found: Findings, shown: ShownRows, traits: pd.DataFrame, cluster: int, name: str
) -> Iterator[str]:
    size = int(found.sizes[cluster])
    share = share_text(size, found.n_rows)
    own = traits[traits["cluster"] == cluster]
    yield (
        f'<article class="card"><h3>{glyph(cluster)} Cluster {cluster} '
        f'<span class="words">{breakable(name)}</span> '
        f'<span class="note">{counted(size, "row")}, {share}</span></h3>'
        '<div class="halves"><div>'
    )
    yield _profile(own, cluster)
    yield "</div><div>"
    columns = _telling_columns(own, shown)
    typical = found.typical(cluster, _N_ROWS)
    if typical:
        yield "<h4>Typical rows</h4>" + row_list(shown, typical, columns, {})
    doubtful = [
        row for row in found.doubtful(cluster, _N_ROWS) if row not in set(typical)
    ]
    if doubtful:
        why = {row: why_doubt(found, row) for row in doubtful}
        yield "<h4>Rows in doubt</h4>" + row_list(shown, doubtful, columns, why)
    yield "</div></div></article>"


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
            f"<tr><th>{breakable(shortened(name, 40))}</th><td class='bar'>{bar}</td>"
            f"<td>{escaped(here)}</td><td>{escaped(elsewhere)}</td></tr>"
        )
    return (
        '<table class="profile"><thead><tr><th>sets it apart</th><th></th>'
        f"<th>here</th><th>others</th></tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table>"
    )


def _mean_text(kind: str, value: float) -> str:
    if kind == "date":
        day = pd.Timestamp(0) + pd.Timedelta(days=value)
        return str(day.date())
    return number_text(float(f"{value:.4g}")) if kind == "number" else share_text(value)
