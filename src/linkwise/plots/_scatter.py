"""Scatter plots: a method against each rival, one point for each data set."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from linkwise.plots._style import new_grid, tidy

_COLUMNS = 4
_PANEL = 2.7  # inches


def scatter_against(
    means: pd.DataFrame,
    sizes: pd.DataFrame,
    reference: str,
    metric: str = "ARI",
) -> Figure:
    """Draw the scores of a method over those of each rival.

    Parameters
    ----------
    means : DataFrame
        Mean scores by data set, one column for each method.
    sizes : DataFrame
        Columns n_samples and n_clusters by data set: size and colour of the points.
    reference : str
        The method on the vertical axes; above the line it is better.
    metric : str, default="ARI"
        What the scores are.

    Returns
    -------
    Figure
        One panel for each rival.
    """
    rivals = means.columns.drop(reference)
    sizes = sizes.loc[means.index]
    n_columns = min(_COLUMNS, len(rivals))
    n_rows = math.ceil(len(rivals) / n_columns)
    figure = new_grid(_PANEL * n_columns + 1.4, _PANEL * n_rows + 0.4)
    panels = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=True, sharey=True
    ).ravel()
    n_clusters = sizes["n_clusters"]
    most = max(3, int(n_clusters.max()))
    norm = LogNorm(2, most)
    low = min(0.0, float(means.min().min())) - 0.03
    for panel, rival in zip(panels, rivals, strict=False):
        panel.plot([low, 1.03], [low, 1.03], color="#888888", linewidth=0.8)
        points = panel.scatter(
            means[rival],
            means[reference],
            s=_areas(sizes["n_samples"].to_numpy(dtype=float)),
            c=n_clusters,
            norm=norm,
            cmap="viridis",
            alpha=0.8,
            edgecolor="white",
            linewidth=0.4,
        )
        _note_winner(panel, means[reference], means[rival])
        panel.set(xlim=(low, 1.03), ylim=(low, 1.03), aspect="equal")
        panel.set_xlabel(f"{rival}")
        tidy(panel)
    for panel in panels[len(rivals) :]:
        panel.set_visible(False)
    figure.supylabel(f"{reference}, mean test {metric}", fontsize=10)
    bar = figure.colorbar(points, ax=panels.tolist(), shrink=0.7, pad=0.01)
    bar.set_label("number of classes k")
    ticks = [tick for tick in (2, 3, 5, 10, 20, 50, 100) if tick <= most]
    bar.set_ticks(ticks, labels=list(map(str, ticks)))
    bar.minorticks_off()
    figure.legend(
        handles=[_size_handle(n) for n in (100, 1000, 10_000)],
        title="rows n",
        loc="outside upper right",
        ncols=3,
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )
    return figure


def _areas(n_samples: np.ndarray) -> np.ndarray:
    """Return the areas of points; they grow with the logarithm of the rows."""
    return 8 + 28 * np.clip(np.log10(n_samples) - 1.5, 0, None)


def _size_handle(n_samples: int) -> Line2D:
    size = math.sqrt(float(_areas(np.array([float(n_samples)]))[0]))
    return Line2D(
        [],
        [],
        linestyle="",
        marker="o",
        markersize=size,
        color="#777777",
        label=f"{n_samples:,}",
    )


def _note_winner(panel: Axes, reference: pd.Series, rival: pd.Series) -> None:
    above, below = int((reference > rival).sum()), int((reference < rival).sum())
    style: dict[str, Any] = {"transform": panel.transAxes, "fontsize": 9}
    panel.text(0.04, 0.93, f"above: {above}", va="top", **style)
    panel.text(0.97, 0.04, f"below: {below}", ha="right", **style)
