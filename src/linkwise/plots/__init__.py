"""Figures from records, and a page to show them on; nothing here runs a method.

Only this layer imports matplotlib.
"""

from linkwise.plots._evolution import evolution_curves
from linkwise.plots._halves import halves_figure
from linkwise.plots._page import Part, figure_bytes, html_page
from linkwise.plots._rank_bars import rank_bars
from linkwise.plots._scatter import scatter_against

__all__ = [
    "Part",
    "evolution_curves",
    "figure_bytes",
    "halves_figure",
    "html_page",
    "rank_bars",
    "scatter_against",
]
