"""The search: what each candidate was worth, and the best so far."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linkwise._typing import FloatArray
from linkwise.plots._style import LIGHT, Theme, axes_for, finish


class SearchDisplay:
    """Scores of the candidates of a search, in the order in which they were tried.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        Share of the pairs that hold under each candidate; NaN where it failed.
    chosen : int, optional
        Which candidate was taken.

    Attributes
    ----------
    ax_, figure_
        As in :class:`ClusterDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.plots import SearchDisplay
    >>> SearchDisplay(np.array([0.5, 0.9, 0.7])).best.tolist()
    [0.5, 0.9, 0.9]
    """

    def __init__(self, scores: FloatArray, chosen: int | None = None) -> None:
        self.scores, self.chosen = np.asarray(scores, dtype=np.float64), chosen

    @property
    def best(self) -> FloatArray:
        """The best score up to each candidate."""
        return np.maximum.accumulate(np.nan_to_num(self.scores, nan=0.0))

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Axes | None = None, theme: Theme = LIGHT
    ) -> "SearchDisplay":
        """Draw the search of a fitted model.

        Parameters
        ----------
        model : KernelCSC, SingleKernelCSC, MahalanobisCSC or pipeline
            Fitted with pairs.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure by default.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        own = model[-1] if hasattr(model, "steps") else model
        history = own.history_
        display = cls(history["score"].to_numpy(), chosen_candidate(own))
        return display.plot(ax=ax, theme=theme)

    def plot(self, ax: Axes | None = None, *, theme: Theme = LIGHT) -> "SearchDisplay":
        """Draw it; parameters as for :meth:`from_estimator`."""
        self.ax_, self.figure_ = axes_for(ax, 6.4, 3.8, theme)
        number = np.arange(1, len(self.scores) + 1)
        self.ax_.scatter(
            number,
            self.scores,
            s=float(np.clip(6e3 / max(len(number), 1), 5.0, 30.0)),
            color=theme.clusters[4],
            alpha=0.7,
            linewidths=0.0,
            rasterized=len(number) > 2000,
            label="a candidate",
            zorder=3,
        )
        self.ax_.step(
            number,
            self.best,
            where="post",
            color=theme.clusters[0],
            linewidth=1.8,
            label="best so far",
        )
        if self.chosen is not None:
            self.ax_.plot(
                number[self.chosen],
                self.scores[self.chosen],
                marker="*",
                markersize=14,
                linestyle="",
                color=theme.broken,
                markeredgecolor=theme.paper,
                label="chosen",
                zorder=4,
            )
        self.ax_.set_xlabel("candidate, in the order of the search")
        self.ax_.set_ylabel("pairs that hold")
        self.ax_.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        self.ax_.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        finish(self.ax_, theme)
        self.ax_.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            borderaxespad=0.0,
            ncols=3,
            frameon=False,
            labelcolor=theme.ink,
            fontsize=9,
        )
        return self


def chosen_candidate(model: Any) -> int | None:
    """Return which row of the history has the weights of a model."""
    history = model.history_
    weights = getattr(model, "kernel_weights_", None)
    if weights is None:
        weights = getattr(model, "feature_weights_", None)
    if weights is None or len(history) == 0:
        return None
    same = (history.iloc[:, 3:].to_numpy() == weights).all(axis=1)
    return int(same.argmax()) if same.any() else None
