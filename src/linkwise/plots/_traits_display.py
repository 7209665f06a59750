"""What sets clusters apart."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from linkwise.plots._cluster_display import labels_of
from linkwise.plots._style import LIGHT, Theme, finish, literal, new_figure
from linkwise.plots._words import counted
from linkwise.tables import cluster_traits

_COLUMNS = 3
_MAX_CLUSTERS = 12
# Errors that a difference has to have, so that it is shown.
CLEAR = 3.0


def trait_name(column: str, kind: str, value: str) -> str:
    """Return what a trait is called: a column, a value of it, or a word.

    Examples
    --------
    >>> trait_name("plan", "category", "gold"), trait_name("text", "word", "card")
    ('plan = gold', '“card”')
    """
    if kind == "word":
        return f"“{value}”"
    if kind == "gap":
        return f"{column} is missing"
    return f"{column} = {value}" if kind == "category" else column


def clear_traits(traits: pd.DataFrame) -> pd.DataFrame:
    """Return the traits that chance would hardly give to a cluster of this size."""
    return traits[traits["difference"].abs() >= CLEAR * traits["error"]]


def varied_traits(traits: pd.DataFrame, n: int, per_column: int = 4) -> pd.DataFrame:
    """Return up to n traits of each cluster; others come before a fifth of a column.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = ["text"] * 3 + ["age"]
    >>> traits = pd.DataFrame({"cluster": 0, "column": columns, "value": [*"abc", ""]})
    >>> varied_traits(traits, 3, per_column=2)["value"].tolist()
    ['a', 'b', '']
    """
    turn = traits.groupby(["cluster", "column"]).cumcount() // per_column
    order = turn.sort_values(kind="stable").index
    kept = traits.loc[order].groupby("cluster").head(n)
    return kept.sort_index()


class TraitsDisplay:
    """For each cluster, the columns, values or words that set it apart.

    Make one with :meth:`from_labels` or :meth:`from_estimator`.

    Parameters
    ----------
    traits : DataFrame
        See :func:`linkwise.tables.cluster_traits`.
    sizes : dict of {int: int}
        Number of rows of each cluster.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each cluster.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, traits: pd.DataFrame, sizes: dict[int, int]) -> None:
        self.traits, self.sizes = traits, sizes

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, table: Any = None, *, theme: Theme = LIGHT
    ) -> "TraitsDisplay":
        """Draw what sets the clusters of a fitted model apart.

        Parameters
        ----------
        model : estimator
            Fitted to X, or able to predict.
        X : array-like, sparse matrix or DataFrame
            The rows, as ``fit`` took them.
        table : DataFrame, optional
            The rows as a person knows them, if that is something else.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        return cls.from_labels(
            X if table is None else table, labels_of(model, X), theme=theme
        )

    @classmethod
    def from_labels(
        cls, table: Any, labels: Any, *, n_largest: int = 6, theme: Theme = LIGHT
    ) -> "TraitsDisplay":
        """Draw what sets clusters from anywhere apart.

        Parameters
        ----------
        table : DataFrame, array or sparse matrix
            The rows.
        labels : array-like of shape (n_rows,)
            Their clusters, -1 for none.
        n_largest : int, default=6
            Number of traits of each cluster.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        labels = np.asarray(labels)
        found = cluster_traits(table, labels, n_largest=5 * n_largest)
        found = varied_traits(clear_traits(found), n_largest)
        clusters, sizes = np.unique(labels[labels >= 0], return_counts=True)
        counts = dict(zip(clusters.tolist(), sizes.tolist(), strict=True))
        return cls(found, counts).plot(theme=theme)

    def plot(
        self, figure: Figure | None = None, *, theme: Theme = LIGHT
    ) -> "TraitsDisplay":
        """Draw it, on a new figure by default; the theme holds the colours."""
        shown = list(self.sizes)[:_MAX_CLUSTERS]
        n_columns = max(1, min(_COLUMNS, len(shown)))
        n_rows = max(1, math.ceil(len(shown) / n_columns))
        most = max([4, *self.traits.groupby("cluster").size().tolist()])
        height = n_rows * (1.1 + 0.26 * most)
        if figure is None:
            figure = new_figure(4.5 * n_columns, height)
        figure.set_facecolor(theme.paper)
        panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
        self.figure_, self.axes_ = figure, list(panels.ravel()[: len(shown)])
        for panel in panels.ravel()[len(shown) :]:
            panel.set_visible(False)
        for ax, cluster in zip(self.axes_, shown, strict=True):
            self._draw(ax, cluster, theme)
        more = len(self.sizes) - len(shown)
        if more > 0:
            figure.suptitle(
                f"and {counted(more, 'more cluster')}", color=theme.faint, fontsize=9
            )
        return self

    def _draw(self, ax: Any, cluster: int, theme: Theme) -> None:
        own = self.traits[self.traits["cluster"] == cluster]
        ax.set_facecolor(theme.paper)
        places = np.arange(len(own))
        ax.barh(places, own["difference"], color=theme.cluster(cluster)["color"])
        ax.axvline(0.0, color=theme.faint, linewidth=0.9)
        names = [
            literal(trait_name(str(row.column), str(row.kind), str(row.value)), 26)
            for row in own.itertuples()
        ]
        ax.set_yticks(places, names)
        if len(own) == 0:
            ax.set_ylim(1.0, 0.0)
            if len(self.traits) == 0:  # otherwise panels share the limits of others
                ax.set_xlim(-1.0, 1.0)
            ax.text(
                0.5,
                0.5,
                "nothing stands out",
                transform=ax.transAxes,
                ha="center",
                color=theme.faint,
            )
        else:
            ax.invert_yaxis()
        ax.set_title(
            f"cluster {cluster}: {counted(self.sizes[cluster], 'row')}",
            loc="left",
            fontsize=10,
        )
        ax.set_xlabel("standardised difference", fontsize=9)
        ax.set_ylabel("column or word", fontsize=9)
        ax.tick_params(labelsize=9)
        finish(ax, theme, grid="x")
