"""Trials whose pairs have little of something against those that have much."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from linkwise.experiments import summary
from linkwise.plots._style import new_figure, tidy

_HALVES = {
    "low": {"color": "#56B4E9", "marker": "o"},
    "high": {"color": "#D55E00", "marker": "D"},
}
_PANELS = {
    "first": "share of data sets ranked first",
    "mean_rank": "mean rank",
    "mean_score": "mean test ARI",
}


def halves_figure(halves: Mapping[str, pd.DataFrame], of_pairs: str) -> Figure:
    """Draw how methods do with pairs of low and of high value.

    Parameters
    ----------
    halves : dict of str to DataFrame
        Scores of the trials "low" and "high", as
        :func:`linkwise.experiments.split_by` gives them.
    of_pairs : str
        What the trials are divided by.

    Returns
    -------
    Figure
        Share of first ranks, mean rank and mean score.
    """
    tables = {name: summary(scores) for name, scores in halves.items()}
    order = tables["high"].index
    figure = new_figure(11.0, 1.5 + 0.34 * len(order))
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    rows = range(len(order))
    for panel, (column, label) in zip(panels, _PANELS.items(), strict=True):
        ends = [tables[name].loc[order, column] for name in _HALVES]
        panel.hlines(rows, *ends, color="#BBBBBB", linewidth=2, zorder=1)
        for values, (name, style) in zip(ends, _HALVES.items(), strict=True):
            panel.scatter(values, rows, s=42, zorder=2, label=name, **style)
        panel.set_xlabel(label)
        tidy(panel)
    panels[0].xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    panels[1].invert_xaxis()  # in all panels, better is to the right
    panels[0].set_yticks(rows, order)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title=of_pairs,
        loc="outside right center",
        frameon=False,
    )
    return figure
