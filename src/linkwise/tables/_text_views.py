"""A column of texts as a view: rows of length 1."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from linkwise._typing import FloatArray

# Turns texts into rows of length 1, or of zeros.
Encode = Callable[[list[str]], FloatArray]

# Terms that are counted at the most: the most frequent.
_MAX_TERMS = 50_000
# Letters of scripts that put no spaces between words: Thai to Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_LETTER = re.compile(r"[^\W\d_]")
# Rows by which the script is told.
_N_LOOKED_AT = 1_000


class MeaningView:
    """Texts by an encoder; a gap is where the mean of all texts points to.

    Attributes
    ----------
    filling : ndarray of shape (width,)
        The row of a gap.
    """

    def fit_transform(self, texts: "pd.Series[Any]", encode: Encode) -> FloatArray:
        """Return the rows of texts; None is a gap."""
        places, rows = _encoded(texts, encode)
        self.filling = _direction(rows[places[places >= 0]])
        return self._filled(places, rows)

    def transform(self, texts: "pd.Series[Any]", encode: Encode) -> FloatArray:
        """Return the rows of other texts."""
        if not texts.notna().any():
            return np.tile(self.filling, (len(texts), 1))
        return self._filled(*_encoded(texts, encode))

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.filling)

    def _filled(self, places: Any, rows: FloatArray) -> FloatArray:
        rows = np.vstack([rows, self.filling])  # place -1
        rows[~rows.any(axis=1)] = self.filling
        return rows[places]


def _encoded(texts: "pd.Series[Any]", encode: Encode) -> tuple[Any, FloatArray]:
    """Return the place of each text among the different ones, -1: none; their rows."""
    places, different = pd.factorize(texts.to_numpy(dtype=object))
    return places, encode([str(text) for text in different])


def _direction(rows: FloatArray) -> FloatArray:
    mean = rows.mean(axis=0, dtype=np.float64)[None]
    return np.asarray(normalize(mean)[0], dtype=np.float32)


class WordView:
    """Texts by their words and pairs of words: TF-IDF, sparse."""

    def fit_transform(self, texts: "pd.Series[Any]", encode: Encode) -> csr_array:
        """Return the rows of texts; a gap has a row of zeros."""
        known = texts.fillna("").tolist()
        for settings in _settings(known):
            self.vectorizer = TfidfVectorizer(
                sublinear_tf=True,
                max_features=_MAX_TERMS,
                dtype=np.float32,
                **settings,
            )
            try:
                rows = csr_array(self.vectorizer.fit_transform(known))
            except ValueError:  # no term is in two texts, or none is a word
                continue
            # Plain numbers take less room in a model file than numpy's do.
            terms = self.vectorizer.vocabulary_
            self.vectorizer.vocabulary_ = {term: int(terms[term]) for term in terms}
            return rows
        raise ValueError("The texts hold nothing but spaces.")

    def transform(self, texts: "pd.Series[Any]", encode: Encode) -> csr_array:
        """Return the rows of other texts."""
        return csr_array(self.vectorizer.transform(texts.fillna("").tolist()))

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.vectorizer.vocabulary_)


def _settings(texts: list[str]) -> list[dict[str, Any]]:
    """Return how terms may be found, the best way first."""
    words: dict[str, Any] = {"analyzer": "word", "ngram_range": (1, 2)}
    letters: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 2)}
    first = letters if _is_unspaced(texts[:_N_LOOKED_AT]) else words
    return [{**first, "min_df": 2}, {**first, "min_df": 1}, {**letters, "min_df": 1}]


def _is_unspaced(texts: list[str]) -> bool:
    """Tell whether most letters are of scripts without spaces between words."""
    joined = " ".join(text[:_N_LOOKED_AT] for text in texts)
    return 2 * len(_UNSPACED.findall(joined)) > len(_LETTER.findall(joined))
