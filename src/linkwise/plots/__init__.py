"""Pictures of models and of records, and pages to show them on.

Only this layer imports matplotlib; nothing here runs a method.
"""

from linkwise.plots._cluster_display import ClusterDisplay
from linkwise.plots._doubt_display import DoubtDisplay
from linkwise.plots._evolution import evolution_curves
from linkwise.plots._halves import halves_figure
from linkwise.plots._page import Part, figure_bytes, html_page
from linkwise.plots._rank_bars import rank_bars
from linkwise.plots._report import report_page
from linkwise.plots._scatter import scatter_against
from linkwise.plots._search_display import SearchDisplay
from linkwise.plots._style import DARK, LIGHT, Theme
from linkwise.plots._traits_display import TraitsDisplay
from linkwise.plots._weights_display import WeightsDisplay

__all__ = [
    "DARK",
    "LIGHT",
    "ClusterDisplay",
    "DoubtDisplay",
    "Part",
    "SearchDisplay",
    "Theme",
    "TraitsDisplay",
    "WeightsDisplay",
    "evolution_curves",
    "figure_bytes",
    "halves_figure",
    "html_page",
    "rank_bars",
    "report_page",
    "scatter_against",
]
