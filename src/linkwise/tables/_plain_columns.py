"""Numbers, dates and categories as one matrix, in which each column counts alike."""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray
from linkwise.tables._columns import ColumnNote


class PlainColumns:
    """Learns how to fill, encode and scale columns, and does it.

    Categories and dates are encoded by skrub's ``TableVectorizer``, gaps get the median
    of the column, or a category of their own. What becomes of a column has a variance
    of 1 together.
    """

    def fit_transform(
        self,
        numbers: FloatArray,
        others: pd.DataFrame,
        blocks: list[FloatArray],
        notes: list[ColumnNote],
    ) -> FloatArray:
        """Learn from all columns, and return them as one matrix.

        Parameters
        ----------
        numbers : ndarray of shape (n_rows, n_numbers)
            With gaps.
        others : DataFrame
            Dates and categories.
        blocks : list of ndarray
            What became of other columns, each a matrix without gaps.
        notes : list of ColumnNote
            What the columns are.
        """
        self._medians = np.nanmedian(numbers, axis=0)
        self._encoder = None
        self._sources: list[int] = []
        encoded: FloatArray = np.empty((len(others), 0))
        if others.shape[1]:
            self._encoder = _vectorizer(notes)
            encoded = self._encoded(others, "fit_transform")
            outputs = self._encoder.input_to_outputs_
            self._sources = [len(outputs[name]) for name in others.columns]
        self._filling = np.nan_to_num(np.nanmedian(encoded, axis=0))
        values = self._filled(numbers, encoded, blocks)
        self._centre = values.mean(axis=0)
        widths = [1] * numbers.shape[1] + self._sources
        widths += [block.shape[1] for block in blocks]
        self._scale = _scale(values.var(axis=0), widths)
        return self._scaled(values)

    def transform(
        self, numbers: FloatArray, others: pd.DataFrame, blocks: list[FloatArray]
    ) -> FloatArray:
        """Return other rows as a matrix."""
        encoded: FloatArray = np.empty((len(others), 0))
        if self._encoder is not None:
            encoded = self._encoded(others, "transform")
        return self._scaled(self._filled(numbers, encoded, blocks))

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self._scale)

    def names_of_encoded(self) -> list[str]:
        """Return the names of what became of dates and categories."""
        if self._encoder is None:
            return []
        return [str(name) for name in self._encoder.get_feature_names_out()]

    def _encoded(self, others: pd.DataFrame, how: str) -> FloatArray:
        assert self._encoder is not None
        with warnings.catch_warnings():
            # Categories that were not there before are no surprise.
            warnings.filterwarnings("ignore", "Found unknown categories")
            encoded = getattr(self._encoder, how)(others)
        return np.asarray(encoded, dtype=np.float64)

    def _filled(
        self, numbers: FloatArray, encoded: FloatArray, blocks: list[FloatArray]
    ) -> FloatArray:
        numbers = np.where(np.isnan(numbers), self._medians, numbers)
        encoded = np.where(np.isnan(encoded), self._filling, encoded)
        return np.concatenate([numbers, encoded, *blocks], axis=1)

    def _scaled(self, values: FloatArray) -> FloatArray:
        return np.asarray((values - self._centre) / self._scale)


def _scale(variance: FloatArray, widths: list[int]) -> FloatArray:
    """Return what to divide columns by, so that those of one source vary by 1."""
    ends = np.cumsum(widths)
    total = np.repeat(
        [
            variance[end - width : end].sum()
            for end, width in zip(ends, widths, strict=True)
        ],
        widths,
    )
    return np.where(total > 0.0, np.sqrt(np.maximum(total, 1e-300)), 1.0)


def _vectorizer(notes: list[ColumnNote]) -> Any:
    """Return skrub's encoder for columns whose kinds are known."""
    from sklearn.preprocessing import OneHotEncoder
    from skrub import TableVectorizer

    categories = [note.name for note in notes if note.kind == "category"]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return TableVectorizer(specific_transformers=[(one_hot, categories)])
