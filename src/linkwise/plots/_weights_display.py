"""What a model looks at: kernels by view and family, or weights of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from linkwise._typing import FloatArray
from linkwise.plots._style import LIGHT, Theme, axes_for, finish, literal
from linkwise.plots._words import share_text

# Features that are drawn, the heaviest.
_N_FEATURES = 20
# Text is light on cells from this share on.
_DEEP = 0.55


def kernel_shares(names: Sequence[str], weights: FloatArray) -> pd.DataFrame:
    """Return the share of the weight of each view (rows) and family (columns).

    The heaviest view and family come first; those without a weight are there, too.

    Examples
    --------
    >>> names = ["RBF(gamma=1.0) on raw", "RBF(gamma=2.0) on raw", "Linear() on within"]
    >>> kernel_shares(names, [0.25, 0.5, 0.25])
             RBF  Linear
    raw     0.75    0.00
    within  0.00    0.25
    """
    weights = np.asarray(weights, dtype=np.float64)
    rows = []
    for name, weight in zip(names, weights / weights.sum(), strict=True):
        kernel, on, view = str(name).rpartition(" on ")
        kernel, view = (kernel, view) if on else (view, "as given")
        rows.append((view, kernel.partition("(")[0] or kernel, weight))
    table = pd.DataFrame(rows, columns=["view", "family", "share"])
    shares = table.pivot_table(
        index="view", columns="family", values="share", aggfunc="sum", fill_value=0.0
    )
    by_row = shares.sum(axis=1).sort_values(ascending=False, kind="stable").index
    by_column = shares.sum().sort_values(ascending=False, kind="stable").index
    return shares.loc[by_row, by_column].rename_axis(index=None, columns=None)


class WeightsDisplay:
    """Weights of the chosen kernels by view and family, or of features.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    names : sequence of str
        What the weights belong to.
    weights : ndarray of shape (n_weights,)
        Not negative, not all zero.
    are_kernels : bool, default=True
        Whether names are those of kernels, as in ``kernel_names_``.

    Attributes
    ----------
    ax_, figure_
        As in :class:`ClusterDisplay`.
    """

    def __init__(
        self, names: Sequence[str], weights: FloatArray, are_kernels: bool = True
    ) -> None:
        self.names, self.weights = list(map(str, names)), np.asarray(weights)
        self.are_kernels = are_kernels

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Axes | None = None, theme: Theme = LIGHT
    ) -> "WeightsDisplay":
        """Draw what a fitted model looks at.

        Parameters
        ----------
        model : KernelCSC, SingleKernelCSC, MahalanobisCSC or pipeline
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure by default.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        own = model[-1] if hasattr(model, "steps") else model
        if hasattr(own, "kernel_weights_"):
            display = cls(own.kernel_names_, own.kernel_weights_)
        else:
            names = own._feature_names()
            display = cls(names, own.feature_weights_, are_kernels=False)
        return display.plot(ax=ax, theme=theme)

    def plot(self, ax: Axes | None = None, *, theme: Theme = LIGHT) -> "WeightsDisplay":
        """Draw it; parameters as for :meth:`from_estimator`."""
        if self.are_kernels:
            self._plot_grid(ax, theme)
        else:
            self._plot_bars(ax, theme)
        return self

    def _plot_grid(self, ax: Axes | None, theme: Theme) -> None:
        shares = kernel_shares(self.names, self.weights)
        n_rows, n_columns = shares.shape
        size = (2.4 + 1.0 * n_columns, 1.3 + 0.42 * n_rows)
        self.ax_, self.figure_ = axes_for(ax, *size, theme)
        colours = LinearSegmentedColormap.from_list(
            "shares", [theme.paper, theme.clusters[0]]
        )
        self.ax_.pcolormesh(
            shares.to_numpy(),
            cmap=colours,
            vmin=0.0,
            vmax=1.0,
            edgecolors=theme.grid,
            linewidth=1.0,
        )
        values = shares.to_numpy()
        for row, column in np.argwhere(values > 0).tolist():
            share = float(values[row, column])
            self.ax_.text(
                column + 0.5,
                row + 0.5,
                share_text(share),
                ha="center",
                va="center",
                fontsize=10,
                color=theme.paper if share >= _DEEP else theme.ink,
            )
        self.ax_.set_xticks(
            np.arange(n_columns) + 0.5, [literal(name, 14) for name in shares.columns]
        )
        self.ax_.set_yticks(
            np.arange(n_rows) + 0.5, [literal(name, 22) for name in shares.index]
        )
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("family of kernels, share of the weight")
        self.ax_.set_ylabel("view of the rows")
        finish(self.ax_, theme, grid=None)
        self.ax_.tick_params(length=0)

    def _plot_bars(self, ax: Axes | None, theme: Theme) -> None:
        order = np.argsort(-self.weights, kind="stable")[:_N_FEATURES]
        more = len(self.weights) - len(order)
        self.ax_, self.figure_ = axes_for(ax, 6.0, 1.2 + 0.26 * len(order), theme)
        self.ax_.barh(
            np.arange(len(order)), self.weights[order], color=theme.clusters[0]
        )
        self.ax_.set_yticks(
            np.arange(len(order)), [literal(self.names[i], 28) for i in order]
        )
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0.0, 1.0)
        self.ax_.set_xlabel("weight of the standardised feature")
        self.ax_.set_ylabel(f"feature (and {more:,} more)" if more else "feature")
        finish(self.ax_, theme, grid="x")
