"""The columns of texts of a table: each a view, all by one encoder."""

from typing import Any

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray
from linkwise.tables._text_rows import EncoderNote, TextEncoder, Watch, is_same
from linkwise.tables._text_views import Encode, MeaningView, WordView


class TextColumns:
    """Learns how to encode columns of texts, and does it.

    The encoder is not kept: a name, or an object with ``encode(texts)``, comes with
    each call.

    Attributes
    ----------
    note : EncoderNote
        What encoded the texts of the fit.
    probe : ndarray or None
        Its rows of fixed texts, by which it is known again; None for TF-IDF.
    views : dict of {str: MeaningView or WordView}
        By column.
    """

    note: EncoderNote
    probe: FloatArray | None
    views: dict[str, MeaningView | WordView]

    def fit_transform(
        self, columns: "dict[str, pd.Series[Any]]", encoder: Any, watch: Watch
    ) -> dict[str, Any]:
        """Learn from columns of texts, None for gaps; return their rows."""
        own = TextEncoder(encoder)
        self.probe, self.views = None, {}

        def encode(texts: list[str]) -> FloatArray:
            rows, self.probe = own.rows(texts, watch)
            return rows

        rows = {}
        for name, texts in columns.items():
            self.views[name] = WordView() if own.counts_words else MeaningView()
            rows[name] = self.views[name].fit_transform(texts, encode)
        self.note = own.note(self.probe)
        return rows

    def transform(
        self, columns: "dict[str, pd.Series[Any]]", encoder: Any
    ) -> dict[str, Any]:
        """Return the rows of other texts."""
        encode = self._encode(self.note.name if is_auto(encoder) else encoder)
        return {
            name: view.transform(columns[name], encode)
            for name, view in self.views.items()
        }

    def check(self, encoder: Any) -> None:
        """Raise unless an encoder makes the rows that the one in ``fit`` made."""
        own = TextEncoder(encoder)
        if own.counts_words != (self.probe is None):
            raise ValueError(self._is_another(own))
        if not own.counts_words:
            self._rows(own, [])

    def _encode(self, encoder: Any) -> Encode:
        # It is loaded only if there is a text.
        return lambda texts: self._rows(TextEncoder(encoder), texts)

    def _rows(self, encoder: TextEncoder, texts: list[str]) -> FloatArray:
        assert self.probe is not None
        rows, probe = encoder.rows(texts, Watch())
        if not is_same(probe, self.probe):
            raise ValueError(self._is_another(encoder))
        return np.asarray(rows)

    def _is_another(self, encoder: TextEncoder) -> str:
        return (
            f"encoder {encoder.note()} makes other rows of texts than {self.note}, "
            "with which the model was fitted."
        )


def is_auto(encoder: Any) -> bool:
    """Tell whether nobody said which encoder to use."""
    return isinstance(encoder, str) and encoder == "auto"
