"""How sure the clusters of rows are."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linkwise._typing import FloatArray, IntArray
from linkwise.plots._style import LIGHT, Theme, axes_for, finish

# Steps of doubt: none to speak of, some, much, more against than for.
STEPS = {"below 5 %": 0.05, "5 to 20 %": 0.2, "20 to 50 %": 0.5, "over 50 %": np.inf}
_ALPHAS = (0.15, 0.4, 0.7, 1.0)
_HATCHES = ("", "", "//", "xx")
_MAX_CLUSTERS = 30


def doubt_shares(doubt: FloatArray, labels: IntArray) -> dict[int, FloatArray]:
    """Return for each cluster the shares of rows on each step of doubt.

    Rows whose doubt is not known do not count; clusters without any other are left out.

    Examples
    --------
    >>> import numpy as np
    >>> doubt_shares(np.array([0.0, 0.1, 0.6, np.nan]), np.array([0, 0, 1, 1]))
    {0: array([0.5, 0.5, 0. , 0. ]), 1: array([0., 0., 0., 1.])}
    """
    known = ~np.isnan(doubt) & (labels >= 0)
    step = np.searchsorted(list(STEPS.values()), doubt[known], side="right")
    found = {}
    for cluster in np.unique(labels[known]).tolist():
        counts = np.bincount(step[labels[known] == cluster], minlength=len(STEPS))
        found[cluster] = counts / counts.sum()
    return found


class DoubtDisplay:
    """For each cluster, how many of its rows other good clusterings put elsewhere.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    doubt : ndarray of shape (n_samples,)
        In [0, 1], NaN where it is not known; see ``doubt_`` of KernelCSC.
    labels : ndarray of shape (n_samples,)
        Clusters, -1 for none.

    Attributes
    ----------
    ax_, figure_
        As in :class:`ClusterDisplay`.
    """

    def __init__(self, doubt: FloatArray, labels: IntArray) -> None:
        self.doubt = np.asarray(doubt, dtype=np.float64)
        self.labels = np.asarray(labels)

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Axes | None = None, theme: Theme = LIGHT
    ) -> "DoubtDisplay":
        """Draw the doubt about the rows of a fitted model.

        Parameters
        ----------
        model : KernelCSC or pipeline
            Fitted with ``selection="committee"``.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure by default.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        own = model[-1] if hasattr(model, "steps") else model
        doubt = getattr(own, "doubt_", None)
        if doubt is None:
            raise ValueError(
                f"{type(own).__name__} has no doubt_: only KernelCSC with "
                'selection="committee" and with pairs knows how sure its clusters are.'
            )
        return cls(doubt, own.labels_).plot(ax=ax, theme=theme)

    def plot(self, ax: Axes | None = None, *, theme: Theme = LIGHT) -> "DoubtDisplay":
        """Draw it; parameters as for :meth:`from_estimator`."""
        shares = doubt_shares(self.doubt, self.labels)
        shown = dict(list(shares.items())[:_MAX_CLUSTERS])
        places = np.arange(len(shown))
        self.ax_, self.figure_ = axes_for(ax, 6.4, 1.5 + 0.32 * len(shown), theme)
        left = np.zeros(len(shown))
        table = np.array(list(shown.values())).reshape(len(shown), len(STEPS))
        for step, name in enumerate(STEPS):
            self.ax_.barh(
                places,
                table[:, step],
                left=left,
                height=0.72,
                color=theme.clusters[0],
                alpha=_ALPHAS[step],
                hatch=_HATCHES[step],
                edgecolor=theme.paper,
                linewidth=0.5,
                label=name,
            )
            left += table[:, step]
        self.ax_.set_yticks(places, list(map(str, shown)))
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0.0, 1.0)
        self.ax_.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        self.ax_.set_xlabel("share of the rows, by how much is against their cluster")
        more = len(shares) - len(shown)
        self.ax_.set_ylabel(f"cluster (and {more} more)" if more else "cluster")
        finish(self.ax_, theme, grid=None)
        self.ax_.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            borderaxespad=0.0,
            ncols=len(STEPS),
            frameon=False,
            labelcolor=theme.ink,
            fontsize=9,
            handlelength=1.6,
            columnspacing=1.2,
        )
        return self
