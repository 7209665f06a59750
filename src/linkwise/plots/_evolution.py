"""Evolution curves: who is first with how many pairs."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from linkwise.plots._style import method_styles, new_figure, tidy


def evolution_curves(shares: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the share of data sets where each method is first.

    Parameters
    ----------
    shares : dict of str to DataFrame
        One panel for each metric: numbers of pairs by methods, see
        :func:`linkwise.experiments.first_shares`.

    Returns
    -------
    Figure
        Ties count for all who tie, so that shares may add up to more than one.
    """
    figure = new_figure(4.0 * len(shares) + 1.6, 3.6)
    panels = figure.subplots(1, len(shares), sharey=True, squeeze=False)[0]
    methods = list(next(iter(shares.values())).columns)
    styles = method_styles(methods)
    for panel, (metric, table) in zip(panels, shares.items(), strict=True):
        for place, method in enumerate(methods):
            panel.plot(
                table.index,
                table[method],
                label=method,
                linewidth=2.4 if place == 0 else 1.3,
                markersize=5,
                zorder=3 if place == 0 else 2,
                **styles[method],
            )
        panel.set_title(metric, loc="left", fontsize=11)
        panel.set_xlabel("number of pairs")
        panel.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        tidy(panel)
    panels[0].set_ylabel("share of data sets ranked first")
    panels[0].set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    return figure
