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
from linkwise.tables._encoders import is_bundled_there
from linkwise.tables._picture_preparation import PicturePreparation
from linkwise.tables._pictures import (
    PICTURE_ENDINGS,
    UnreadableError,
    UnreadPicture,
    describe_pictures,
    picture_finder,
    read_picture,
)
from linkwise.tables._pipeline import TablePipeline, table_pipeline
from linkwise.tables._preparation import TablePreparation, ViewNote
from linkwise.tables._text_rows import EncoderNote
from linkwise.tables._traits import cluster_traits
from linkwise.tables._words import TextTerms, cluster_words, words_text

__all__ = [
    "KINDS",
    "ORDERS",
    "PICTURE_ENDINGS",
    "PicturePreparation",
    "ColumnNote",
    "EncoderNote",
    "Reading",
    "TablePipeline",
    "TablePreparation",
    "TextTerms",
    "UnreadPicture",
    "UnreadableError",
    "ViewNote",
    "cluster_traits",
    "cluster_words",
    "describe_pictures",
    "is_bundled_there",
    "is_id_like",
    "note_of",
    "picture_finder",
    "read_picture",
    "table_pipeline",
    "with_gaps",
    "words_text",
]
