"""Tables as people have them: numbers, categories, dates, texts, gaps."""

from linkwise.tables._columns import KINDS, ColumnNote, is_id_like
from linkwise.tables._preparation import TablePreparation, table_pipeline

__all__ = [
    "KINDS",
    "ColumnNote",
    "TablePreparation",
    "is_id_like",
    "table_pipeline",
]
