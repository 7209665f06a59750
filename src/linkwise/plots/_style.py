"""Colours, markers and frames that all figures share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito, then Tol: told apart by all kinds of eyes. Markers help, too.
_COLOURS = (
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C8C8C",
    "#882255",
    "#999933",
    "#44AA99",
    "#332288",
)
_MARKERS = "osD^vP*X<>hp"
_GRID = "#DDDDDD"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, inches; it belongs to no window."""
    return Figure(figsize=(width, height), layout="constrained")


def new_grid(width: float, height: float) -> Figure:
    """Return an empty figure for panels whose two axes have one scale."""
    return Figure(figsize=(width, height), layout="compressed")


def tidy(axes: Axes, grid: str = "both") -> None:
    """Leave only the lines that help to read values."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color=_GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def method_styles(methods: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return colour and marker of each method, the first the most striking."""
    return {
        method: {
            "color": _COLOURS[place % len(_COLOURS)],
            "marker": _MARKERS[place % len(_MARKERS)],
        }
        for place, method in enumerate(methods)
    }


# Colours of clusters: none of them is that of broken pairs, or of text.
_CLUSTERS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#999933",
    "#882255",
    "#8C8C8C",
    "#44AA99",
    "#7B5EA7",
    "#B8A038",
)
_CLUSTERS_ON_DARK = (
    "#3D93DC",
    "#FFC94A",
    "#35D0A6",
    "#CF79AF",
    "#9BD4F5",
    "#C4C45C",
    "#D16BA5",
    "#B5B5B5",
    "#79D6C6",
    "#B9A0E8",
    "#E3CC68",
)
_CLUSTER_MARKERS = "osD^vPX<>hp*d"


class Theme(NamedTuple):
    """Colours of a figure on light or on dark paper."""

    paper: str = "#FFFFFF"
    ink: str = "#1F2328"
    faint: str = "#6E7781"
    grid: str = "#DDDDDD"
    broken: str = "#D55E00"
    clusters: tuple[str, ...] = _CLUSTERS

    def cluster(self, place: int) -> dict[str, Any]:
        """Return colour and marker of a cluster; -1 is for rows in none.

        Colours and markers come back, but 143 clusters have both different.
        """
        if place < 0:
            return {"color": self.faint, "marker": "."}
        n = len(self.clusters)
        markers = _CLUSTER_MARKERS
        turn = place + place // (n * len(markers))
        return {
            "color": self.clusters[place % n],
            "marker": markers[turn % len(markers)],
        }


LIGHT = Theme()
DARK = Theme("#16191D", "#E6EDF3", "#9BA5B0", "#363C44", "#FF7B3D", _CLUSTERS_ON_DARK)


def axes_for(
    ax: Axes | None, width: float, height: float, theme: Theme
) -> tuple[Axes, Figure]:
    """Return axes to draw on, new ones if there are none, in the colours of a theme."""
    if ax is None:
        ax = new_figure(width, height).subplots()
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.set_facecolor(theme.paper)
    ax.set_facecolor(theme.paper)
    return ax, figure


def finish(ax: Axes, theme: Theme, grid: str | None = "both") -> None:
    """Leave the lines that help to read values, in the colours of a theme."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(theme.faint)
    ax.tick_params(colors=theme.ink, labelcolor=theme.ink)
    ax.xaxis.label.set_color(theme.ink)
    ax.yaxis.label.set_color(theme.ink)
    ax.title.set_color(theme.ink)
    if grid is not None:
        ax.grid(axis=grid, color=theme.grid, linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def shortened(text: object, length: int = 32) -> str:
    """Return a text without line breaks that is not longer than a number of letters.

    Examples
    --------
    >>> shortened("a long name of a column", 12)
    'a long name…'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def literal(text: object, length: int = 32) -> str:
    """Return a text, shortened, in which matplotlib sees no formulas."""
    return shortened(text, length).replace("$", r"\$")
