"""Colours, markers and frames that all figures share."""

from collections.abc import Sequence

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
