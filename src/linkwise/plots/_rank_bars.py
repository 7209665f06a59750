"""Rank bars: how often each method comes first, second and so on."""

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from linkwise.experiments import (
    mean_scores,
    rank_methods,
    rank_shares,
    significant_ranks,
    significant_shares,
)
from linkwise.plots._style import new_figure, tidy

_LEAST_LABEL = 0.04  # narrower parts have no room for a number


def rank_bars(scores: pd.DataFrame, title: str = "") -> Figure:
    """Draw the shares of ranks of each method, one bar for each.

    Parameters
    ----------
    scores : DataFrame
        Scores by data set and trial, see :func:`linkwise.experiments.trial_scores`.
    title : str, default=""
        What is ranked.

    Returns
    -------
    Figure
        Hatched parts are ranks held significantly. The method with the smallest mean
        rank is at the top.
    """
    means = mean_scores(scores)
    ranks = rank_methods(means)
    shares = rank_shares(ranks)
    significant = significant_shares(ranks, significant_ranks(scores))
    order = ranks.mean().sort_values(kind="stable").index
    figure = new_figure(8.5, 1.6 + 0.42 * len(order))
    axes = figure.subplots()
    # From dark to light: order can be read without colours, too.
    colours = colormaps["cividis"].resampled(shares.shape[1])
    left = pd.Series(0.0, index=order)
    for place, rank in enumerate(shares.columns):
        widths, sure = shares.loc[order, rank], significant.loc[order, rank]
        axes.barh(order, widths, left=left, color=colours(place), edgecolor="white")
        axes.barh(
            order,
            sure,
            left=left,
            color="none",
            edgecolor="white",
            hatch="////",
            linewidth=0,
        )
        left += widths
    for row, method in enumerate(order):
        first = shares.loc[method, 1]
        if first >= _LEAST_LABEL:
            axes.text(
                first / 2,
                row,
                f"{100 * first:.0f} %",
                ha="center",
                va="center",
                color="white",
                fontsize=8,
                fontweight="bold",
            )
        axes.text(1.01, row, f"{ranks[method].mean():.2f}", va="center", fontsize=8.5)
    axes.text(1.01, -0.85, "mean rank", fontsize=8.5, va="center")
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.set_xlabel(f"share of {len(ranks)} data sets")
    axes.set_title(title, loc="left", fontsize=11, pad=14)
    tidy(axes, "x")
    handles = [
        Patch(color=colours(place), label=f"{rank}")
        for place, rank in enumerate(shares.columns)
    ]
    handles.append(
        Patch(facecolor="#777777", edgecolor="white", hatch="////", label="significant")
    )
    figure.legend(
        handles=handles,
        title="rank",
        loc="outside right center",
        frameon=False,
        fontsize=8.5,
    )
    return figure
