"""Tables as people have them: numbers, categories, dates, texts, gaps."""

from linkwise.tables._columns import (
    KINDS,
    ORDERS,
    ColumnNote,
    Reading,
    is_id_like,
    note_of,
    with_gaps,
)
from linkwise.tables._preparation import TablePreparation, table_pipeline
from linkwise.tables._traits import cluster_traits

__all__ = [
    "KINDS",
    "ORDERS",
    "ColumnNote",
    "Reading",
    "TablePreparation",
    "cluster_traits",
    "is_id_like",
    "note_of",
    "table_pipeline",
    "with_gaps",
]
