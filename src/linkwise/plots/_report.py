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

import linkwise
from linkwise._typing import FloatArray
from linkwise.constraints import Constraints, check_constraints
from linkwise.estimators import row_map
from linkwise.plots._advice import advice_on
from linkwise.plots._cluster_display import ClusterDisplay, axes_of
from linkwise.plots._doubt_display import DoubtDisplay
from linkwise.plots._findings import Findings, findings_of
from linkwise.plots._page import breakable, document, escaped
from linkwise.plots._report_clusters import N_CLUSTERS, cluster_section
from linkwise.plots._report_pairs import (
    broken_section,
    contradiction_section,
    question_section,
)
from linkwise.plots._report_parts import colour_rules, glyph, line_key, picture
from linkwise.plots._report_style import REPORT_STYLE
from linkwise.plots._search_display import SearchDisplay
from linkwise.plots._shown_rows import ShownRows
from linkwise.plots._style import Theme, new_figure, shortened
from linkwise.plots._traits_display import clear_traits, varied_traits
from linkwise.plots._weights_display import WeightsDisplay
from linkwise.plots._words import counted, joined, share_text, short_name
from linkwise.tables import Reading, cluster_traits, cluster_words, words_text

# What is listed before "and N more".
_N_TRAITS = 7
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
    kinds: Mapping[str, str | Reading] | None = None,
    names: Mapping[int, str] | None = None,
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
    kinds : dict of {str: str or Reading}, optional
        What the columns of the table hold, see :func:`linkwise.tables.cluster_traits`.
    names : dict of {int: str}, optional
        What clusters are called; by default the words that set their texts apart.
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
    >>> "4 rows in 2 clusters: 2 and 2." in page
    True
    """
    if hasattr(model, "steps"):
        # Once: texts take long to prepare.
        table, X = X if table is None else table, model[:-1].transform(X)
        model = model[-1]
    shown = ShownRows(X, table, ids)
    pairs: Constraints = check_constraints(constraints, None, n_samples=shown.n_rows)
    found = findings_of(model, X, pairs, labels)
    traits = cluster_traits(
        shown.source(), found.labels, kinds=kinds, n_largest=5 * _N_TRAITS
    )
    traits = varied_traits(clear_traits(traits), _N_TRAITS)
    called = _names(shown, found, kinds) | {
        cluster: name for cluster, name in (names or {}).items() if name
    }
    body = [
        f"<header><h1>{escaped(title)}</h1>",
        *(f'<p class="note">{escaped(line)}</p>' for line in lines),
        "</header>",
        *_summary(found),
        *_advice(found),
        *_map(found, model, X, called),
        *cluster_section(found, shown, traits, called),
        *question_section(found, shown),
        *broken_section(found, shown),
        *contradiction_section(found, shown),
        *_search(found, model),
        f'<footer class="note">Made by linkwise {escaped(linkwise.__version__)}. '
        "The file holds everything it shows and loads nothing.</footer>",
    ]
    return document(title, body, REPORT_STYLE + colour_rules())


def _summary(found: Findings) -> Iterator[str]:
    yield "<section><h2>In short</h2><ul class='plainly'>"
    for sentence in _sentences(found):
        yield f"<li>{escaped(sentence)}</li>"
    yield "</ul></section>"


def _sentences(found: Findings) -> Iterator[str]:
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
    if found.is_predicted:
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


def _names(
    shown: ShownRows, found: Findings, kinds: Mapping[str, str | Reading] | None
) -> dict[int, str]:
    """Return the words of clusters, as far as their rows have texts."""
    source = shown.source()
    if not isinstance(source, pd.DataFrame):
        return {}
    words = cluster_words(source, found.labels, kinds=kinds)
    return {cluster: words_text(own) for cluster, own in words.items() if own}


def _map(
    found: Findings, model: Any, X: Any, names: Mapping[int, str]
) -> Iterator[str]:
    coordinates: FloatArray = row_map(model, X)
    display = ClusterDisplay(coordinates, found.labels, found.pairs, axes_of(model))

    def draw(theme: Theme) -> Figure:
        figure = new_figure(6.0, 4.4)
        display.plot(figure.subplots(), theme=theme, legend=False)
        return figure

    how = "their columns"
    if hasattr(model, "kernel_weights_"):
        how = "the learnt kernel"
    elif axes_of(model).startswith("kernel"):
        how = "the kernel"
    elif hasattr(model, "feature_weights_"):
        how = "the learnt weights of their columns"
    yield (
        "<section><h2>Map of the rows</h2>"
        f"<p>Rows that are alike by {how} lie near each other, as far as a plane can "
        "show it: rows that lie together may differ in other directions. Lines are "
        "pairs.</p>"
    )
    yield "<div class='map'>"
    yield picture(draw, "Map of the rows with clusters and pairs", "large")
    yield f"{_map_legend(found, names)}</div></section>"


def _map_legend(found: Findings, names: Mapping[int, str]) -> str:
    items = []
    for cluster, size in enumerate(found.sizes.tolist()[:N_CLUSTERS]):
        item = f"{glyph(cluster)} cluster {cluster}: {counted(size, 'row')}"
        if cluster in names:
            item += f" <span class='words'>{breakable(names[cluster])}</span>"
        items.append(item)
    if found.n_clusters > N_CLUSTERS:
        items.append(f"and {found.n_clusters - N_CLUSTERS} more clusters")
    for name, holds in zip(("must-link", "cannot-link"), found.holds, strict=True):
        n_held, n_broken = int(holds.sum()), int((~holds).sum())
        short = name.split("-")[0]
        if n_held:
            items.append(f"{line_key(short, 'held')} {name} holds: {n_held:,}")
        if n_broken:
            items.append(f"{line_key(short, 'broken')} {name} broken: {n_broken:,}")
    return (
        "<ul class='legend'>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    )


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
        yield f"<div><p>{escaped(text)}</p>{picture(draw, text, 'small')}</div>"
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
        f"{escaped(shortened(short_name(model.kernel_names_[i]), 80))}</li>"
        for i in order[:_N_KERNELS]
    ]
    more = len(order) - _N_KERNELS
    if more > 0:
        items.append(f"<li>and {more} more</li>")
    return f"<h3>Chosen kernels</h3><ul>{''.join(items)}</ul>"
