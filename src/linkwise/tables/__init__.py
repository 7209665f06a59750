"""Tables as people have them: numbers, categories, dates, texts, gaps."""

from linkwise.tables._columns import KINDS, ColumnNote, is_id_like
from linkwise.tables._preparation import TablePreparation, table_pipeline
from linkwise.tables._traits import cluster_traits

__all__ = [
    "KINDS",
    "ColumnNote",
    "TablePreparation",
    "cluster_traits",
    "is_id_like",
    "table_pipeline",
]
