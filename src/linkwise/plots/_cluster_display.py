"""The map of the rows: clusters, pairs that hold and pairs that do not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints import Constraints, check_constraints
from linkwise.doors import is_several
from linkwise.estimators import row_map
from linkwise.plots._style import LIGHT, Theme, axes_for, finish, literal
from linkwise.plots._words import counted

# Pairs of a kind that are drawn: more would hide the rows.
_N_LINES = 300
# Letters of the name of a cluster in the legend.
_NAME_LENGTH = 40
# Clusters that the legend names.
_N_NAMED = 12
# Steps from the middle of a cluster to where its number may stand, in points.
_STEPS = [(0, 0), (0, 14), (14, 0), (0, -14), (-14, 0), (16, 16), (-16, -16)]


class ClusterDisplay:
    """The rows of a data set as points of a plane, in clusters and linked by pairs.

    Make one with :meth:`from_estimator` or :meth:`from_labels`.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, 2)
        Places of the rows, see :func:`linkwise.estimators.row_map`.
    labels : ndarray of shape (n_samples,)
        Clusters, -1 for rows in none.
    constraints : Constraints, optional
        Pairs between rows.
    what : str, default="kernel principal component"
        What the axes are.
    names : dict of {int: str}, optional
        What clusters are called in the legend, such as their words.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    points_ : list of matplotlib PathCollection
        Points of each cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import Constraints, KernelCSC
    >>> from linkwise.plots import ClusterDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Constraints.sample(y, 60, random_state=0)
    >>> model = KernelCSC(3, n_candidates=50, random_state=0).fit(X, constraints=pairs)
    >>> display = ClusterDisplay.from_estimator(model, X, constraints=pairs)
    >>> display.figure_.savefig("map.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        coordinates: FloatArray,
        labels: IntArray,
        constraints: Constraints | None = None,
        what: str = "kernel principal component",
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.coordinates, self.labels = np.asarray(coordinates), np.asarray(labels)
        if self.labels.shape != (len(self.coordinates),):
            raise ValueError(
                f"labels has shape {self.labels.shape}: it must hold one for each of "
                f"the {len(self.coordinates)} rows."
            )
        self.constraints = Constraints() if constraints is None else constraints
        self.what = what
        self.names = names or {}

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        constraints: Any = None,
        *,
        names: Mapping[int, str] | None = None,
        ax: Axes | None = None,
        theme: Theme = LIGHT,
    ) -> "ClusterDisplay":
        """Draw the rows as a fitted model sees them.

        Parameters
        ----------
        model : estimator
            Fitted to X, or able to predict; a pipeline, too.
        X : array-like, sparse matrix, list of views or of objects
            The rows, as ``fit`` took them.
        constraints : Constraints, pair, sparse matrix or table, optional
            Pairs between the rows, as ``fit`` takes them.
        names : dict of {int: str}, optional
            What clusters are called in the legend, such as their words.
        ax : matplotlib Axes, optional
            Where to draw; on a new figure by default.
        theme : Theme, optional
            Colours; for light paper by default.
        """
        return cls.from_labels(
            X,
            labels_of(model, X),
            constraints,
            model=model,
            names=names,
            ax=ax,
            theme=theme,
        )

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        constraints: Any = None,
        *,
        model: Any = None,
        names: Mapping[int, str] | None = None,
        ax: Axes | None = None,
        theme: Theme = LIGHT,
    ) -> "ClusterDisplay":
        """Draw rows with clusters from anywhere.

        Parameters
        ----------
        X : array-like, sparse matrix, list of views or of objects
            The rows.
        labels : array-like of shape (n_samples,)
            Their clusters, -1 for none.
        constraints, names, ax, theme
            As for :meth:`from_estimator`.
        model : estimator, optional
            Fitted; rows are shown as it sees them. None: by their columns.
        """
        coordinates: FloatArray = row_map(model, X)
        pairs = check_constraints(constraints, None, n_samples=len(coordinates))
        display = cls(coordinates, labels, pairs, axes_of(model), names)
        return display.plot(ax=ax, theme=theme)

    def plot(
        self, ax: Axes | None = None, *, theme: Theme = LIGHT, legend: bool = True
    ) -> "ClusterDisplay":
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; on a new figure by default.
        theme : Theme, optional
            Colours; for light paper by default.
        legend : bool, default=True
            Whether to say what is what beside the map.

        Returns
        -------
        ClusterDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        self.ax_, self.figure_ = axes_for(ax, 9.0, 5.6, theme)
        lines = self._draw_pairs(theme)
        points = self._draw_points(theme)
        self.ax_.set_xlabel(f"1st {self.what}")
        self.ax_.set_ylabel(f"2nd {self.what}")
        self.ax_.set_xticks([])
        self.ax_.set_yticks([])
        self.ax_.margins(0.06)
        finish(self.ax_, theme, grid=None)
        if legend:
            # Beside the axes, so that no row is hidden.
            self.ax_.legend(
                handles=points + lines,
                loc="upper left",
                bbox_to_anchor=(1.01, 1.0),
                borderaxespad=0.0,
                frameon=False,
                labelcolor=theme.ink,
                fontsize=9,
            )
        self._number_clusters(theme)
        return self

    def _draw_points(self, theme: Theme) -> list[Line2D]:
        n_rows = len(self.labels)
        # Many rows are small and let others shine through.
        area = float(np.clip(4e4 / max(n_rows, 1), 3.0, 42.0))
        alpha = float(np.clip(3e3 / max(n_rows, 1), 0.25, 0.9))
        self.points_, handles = [], []
        clusters, sizes = np.unique(self.labels, return_counts=True)
        named = set(clusters[np.argsort(-sizes, kind="stable")[:_N_NAMED]].tolist())
        for cluster, size in zip(clusters.tolist(), sizes.tolist(), strict=True):
            inside = self.labels == cluster
            style = theme.cluster(cluster)
            self.points_.append(
                self.ax_.scatter(
                    self.coordinates[inside, 0],
                    self.coordinates[inside, 1],
                    s=area,
                    alpha=alpha,
                    linewidths=0.4 if n_rows <= 2000 else 0.0,
                    edgecolors=theme.paper,
                    zorder=3,
                    rasterized=n_rows > 2000,
                    **style,
                )
            )
            if cluster in named:
                name = "in no cluster" if cluster < 0 else f"cluster {cluster}"
                text = f"{name}: {counted(size, 'row')}"
                if cluster in self.names:
                    text += f"\n{literal(self.names[cluster], _NAME_LENGTH)}"
                handles.append(_handle(theme, text, linestyle=""))
                handles[-1].set(**style, markersize=6.5)
        if len(clusters) > _N_NAMED:
            more = f"and {len(clusters) - _N_NAMED} more clusters"
            handles.append(_handle(theme, more, linestyle=""))
        return handles

    def _draw_pairs(self, theme: Theme) -> list[Line2D]:
        if self.constraints.is_empty:
            return []
        handles = []
        must, cannot = pairs_that_hold(self.constraints, self.labels)
        kinds = [
            ("must-link holds", self.constraints.must_link[must], "-", True),
            ("must-link broken", self.constraints.must_link[~must], "-", False),
            ("cannot-link holds", self.constraints.cannot_link[cannot], ":", True),
            ("cannot-link broken", self.constraints.cannot_link[~cannot], "--", False),
        ]
        for name, pairs, dashes, holds in kinds:
            if len(pairs) == 0:
                continue
            style: dict[str, Any] = {
                "linestyle": dashes,
                "linewidth": 0.8 if holds else 1.7,
                "color": theme.faint if holds else theme.broken,
            }
            drawn = pairs[:: -(-len(pairs) // _N_LINES)]
            collection = LineCollection(
                list(self.coordinates[drawn]),
                alpha=0.35 if holds else 0.9,
                zorder=2 if holds else 4,
                **style,
            )
            self.ax_.add_collection(collection)
            text = f"{name}: {len(pairs):,}"
            if len(drawn) < len(pairs):
                text += f" ({len(drawn)} drawn)"
            handles.append(_handle(theme, text, **style))
        return handles

    def _number_clusters(self, theme: Theme) -> None:
        """Write numbers into the clusters where there is room for them."""
        self.figure_.draw_without_rendering()
        taken: list[Any] = []
        clusters, sizes = np.unique(self.labels, return_counts=True)
        for cluster in clusters[np.argsort(-sizes, kind="stable")].tolist():
            if cluster < 0:
                continue
            middle = np.median(self.coordinates[self.labels == cluster], axis=0)
            text = self.ax_.annotate(
                str(cluster),
                middle,
                xytext=(0, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=12,
                fontweight="bold",
                color=theme.ink,
                path_effects=[withStroke(linewidth=3.5, foreground=theme.paper)],
                zorder=6,
            )
            for step in _STEPS:
                text.set_position(step)
                box = text.get_window_extent().expanded(1.3, 1.2)
                if not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    break
            else:
                text.remove()  # the legend has it


def _handle(theme: Theme, label: str, **style: Any) -> Line2D:
    return Line2D([], [], **{"color": theme.ink, "label": label} | style)


def axes_of(model: Any) -> str:
    """Return what the axes of the map of a model are."""
    own = model[-1] if hasattr(model, "steps") else model
    has_kernel = hasattr(own, "kernel_weights_") or hasattr(own, "kernel")
    return "kernel principal component" if has_kernel else "principal component"


def pairs_that_hold(
    pairs: Constraints, labels: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Return which must-links and which cannot-links hold.

    Rows in no cluster are with no other row.
    """
    same = [
        (labels[ends[:, 0]] == labels[ends[:, 1]]) & (labels[ends[:, 0]] >= 0)
        for ends in (pairs.must_link, pairs.cannot_link)
    ]
    return same[0], ~same[1]


def labels_of(model: Any, X: Any) -> Any:
    """Return the clusters of rows: of the fit if they are its rows, else predicted."""
    own = model[-1] if hasattr(model, "steps") else model
    fitted = np.asarray(own.labels_)
    if is_fitted_to(model, X):
        return fitted
    if not hasattr(own, "predict"):
        raise ValueError(
            f"X are not the {len(fitted)} rows that the model was fitted to, and it "
            "cannot predict others."
        )
    return np.asarray(model.predict(X))


def is_fitted_to(model: Any, X: Any) -> bool:
    """Tell whether X are the rows that a model was fitted to, in the same order."""
    own = model[-1] if hasattr(model, "steps") else model
    if not hasattr(own, "_is_fitted_to"):  # another's does not know its rows again
        return len(own.labels_) == (X.shape[0] if hasattr(X, "shape") else len(X))
    return bool(own._is_fitted_to(X if own is model else model[:-1].transform(X)))


def some_rows(X: Any, rows: IntArray) -> Any:
    """Return some of the rows of anything that a model takes."""
    if is_several(X):
        return [some_rows(view, rows) for view in X]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[i] for i in rows] if isinstance(X, (list, tuple)) else X[rows]
