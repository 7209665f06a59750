"""Tables as people have them, made into numbers that rows are clustered by."""

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray
from linkwise.tables._columns import (
    KINDS,
    ColumnNote,
    dates_of,
    kind_of,
    numbers_of,
    texts_of,
    without_gaps_in_words,
)

# Columns that a text becomes.
_N_TEXT_COLUMNS = 30


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turns a table with any kinds of columns into numbers.

    What a column holds is found out: numbers (also written with %, thousands apart or
    a decimal comma, and yes or no), categories, dates, texts; ids, constant and empty
    columns are left out. Categories, dates and texts are encoded by skrub's
    ``TableVectorizer``, gaps get the median of the column, or a category of their own.
    All columns count alike: what becomes of one has a variance of 1 together.

    Parameters
    ----------
    kinds : dict of {str: str}, optional
        What columns hold, where it is known better: "number", "category", "text",
        "date" or "id".
    random_state : int, default=0
        Seed of the encoding of texts.

    Attributes
    ----------
    columns_ : list of ColumnNote
        What was done with each column.
    feature_names_in_ : ndarray of str
        Names of the columns that were given.
    n_features_in_ : int
        Number of columns that were given.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkwise.tables import TablePreparation
    >>> table = pd.DataFrame({
    ...     "customer_id": [7, 3, 9, 4],
    ...     "share": ["10 %", "35 %", None, "20 %"],
    ...     "plan": ["basic", "gold", "basic", "gold"],
    ... })
    >>> preparation = TablePreparation().fit(table)
    >>> print(*preparation.columns_, sep="\n")
    customer_id: id, left out
    share: number (per cent), 25% missing
    plan: category (2 values)
    >>> preparation.transform(table).shape
    (4, 3)
    """

    def __init__(self, kinds: dict[str, str] | None = None, random_state: int = 0):
        self.kinds = kinds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what the columns hold, and learn how to encode them.

        Parameters
        ----------
        X : DataFrame
            The table; anything else that pandas makes a table of.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Learn how to encode a table, and encode it."""
        frame = _as_frame(X)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        self._check_kinds(frame)
        self.columns_ = [self._note(name, frame[name]) for name in frame.columns]
        if not any(note.is_used for note in self.columns_):
            found = "; ".join(map(str, self.columns_)) or "none"
            raise ValueError(f"The table has no column to cluster by: {found}.")
        numbers = self._numbers(frame)
        self._medians = np.nanmedian(numbers, axis=0)
        others = self._others(frame)
        self._encoder = None
        if others.shape[1]:
            self._encoder = _vectorizer(self.columns_, len(frame), self.random_state)
            encoded = self._encoded(others, "fit_transform")
            outputs = self._encoder.input_to_outputs_
            self._sources = [len(outputs[name]) for name in others.columns]
        else:
            encoded = np.empty((len(frame), 0))
            self._sources = []
        self._filling = np.nan_to_num(np.nanmedian(encoded, axis=0))
        values = self._filled(numbers, encoded)
        self._centre = values.mean(axis=0)
        variance = values.var(axis=0)
        widths = [1] * numbers.shape[1] + self._sources
        ends = np.cumsum(widths)
        total = np.repeat(
            [
                variance[end - width : end].sum()
                for end, width in zip(ends, widths, strict=True)
            ],
            widths,
        )
        self._scale = np.where(total > 0.0, np.sqrt(np.maximum(total, 1e-300)), 1.0)
        return self._scaled(values)

    def transform(self, X: Any) -> FloatArray:
        """Encode a table with the same columns.

        Parameters
        ----------
        X : DataFrame
            New rows. Categories that were not there before are none of the known ones;
            columns that were not there are not looked at.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Finite numbers.
        """
        check_is_fitted(self, "columns_")
        frame = _as_frame(X)
        needed = [note.name for note in self.columns_ if note.is_used]
        missing = [name for name in needed if name not in frame.columns]
        if missing:
            raise ValueError(
                f"The table lacks the column(s) {', '.join(map(repr, missing))} that "
                "it was learnt with."
            )
        encoded: FloatArray = np.empty((len(frame), 0))
        if self._encoder is not None:
            encoded = self._encoded(self._others(frame), "transform")
        return self._scaled(self._filled(self._numbers(frame), encoded))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names of the columns of numbers."""
        check_is_fitted(self, "columns_")
        names = self._names("number")
        if self._encoder is not None:
            names += list(self._encoder.get_feature_names_out())
        return np.array(list(map(str, names)), dtype=object)

    def _check_kinds(self, frame: pd.DataFrame) -> None:
        for name, kind in (self.kinds or {}).items():
            if kind not in KINDS:
                raise ValueError(
                    f"kinds[{name!r}]={kind!r}: allowed are {', '.join(KINDS)}."
                )
            if name not in frame.columns:
                raise ValueError(
                    f"kinds names a column {name!r}; the table has "
                    f"{', '.join(map(str, frame.columns))}."
                )

    def _note(self, name: str, column: "pd.Series[Any]") -> ColumnNote:
        column = without_gaps_in_words(column)
        missing = float(column.isna().mean())
        kind, detail = kind_of(name, column)
        asked = (self.kinds or {}).get(name)
        if asked is not None and asked != kind:
            kind, detail = asked, "as asked for"
            found = {"number": numbers_of, "date": dates_of}.get(kind)
            if found is not None and found(column).notna().sum() == 0:
                value = column.dropna().iloc[0] if column.notna().any() else None
                raise ValueError(
                    f"kinds[{name!r}]={kind!r}, but no value of the column can be read "
                    f"as that; the first is {value!r}."
                )
        return ColumnNote(name, kind, missing, detail)

    def _names(self, *kinds: str) -> list[str]:
        return [note.name for note in self.columns_ if note.kind in kinds]

    def _numbers(self, frame: pd.DataFrame) -> FloatArray:
        """Return the columns of numbers, with gaps, shape (n_rows, n_numbers)."""
        names = self._names("number")
        columns = [
            numbers_of(without_gaps_in_words(frame[name])).to_numpy() for name in names
        ]
        found = np.array(columns, dtype=np.float64).reshape(len(names), len(frame)).T
        return np.where(np.isfinite(found), found, np.nan)

    def _others(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the other columns as skrub takes them."""
        found = {}
        for note in self.columns_:
            if note.kind not in ("category", "text", "date"):
                continue
            column = without_gaps_in_words(frame[note.name])
            if note.kind == "date":
                found[note.name] = dates_of(column)
            else:
                texts = texts_of(column).astype("str")
                is_category = note.kind == "category"
                found[note.name] = texts.astype("category") if is_category else texts
        return pd.DataFrame(found, index=frame.index)

    def _encoded(self, others: pd.DataFrame, how: str) -> FloatArray:
        assert self._encoder is not None
        with warnings.catch_warnings():
            # Categories that were not there before are no surprise.
            warnings.filterwarnings("ignore", "Found unknown categories")
            # Few different texts have fewer columns.
            warnings.filterwarnings("ignore", "The matrix shape is")
            encoded = getattr(self._encoder, how)(others)
        return np.asarray(encoded, dtype=np.float64)

    def _filled(self, numbers: FloatArray, encoded: FloatArray) -> FloatArray:
        numbers = np.where(np.isnan(numbers), self._medians, numbers)
        encoded = np.where(np.isnan(encoded), self._filling, encoded)
        return np.concatenate([numbers, encoded], axis=1)

    def _scaled(self, values: FloatArray) -> FloatArray:
        return np.asarray((values - self._centre) / self._scale)


def _vectorizer(notes: list[ColumnNote], n_rows: int, seed: int) -> Any:
    """Return skrub's encoder for columns whose kinds are known."""
    from sklearn.preprocessing import OneHotEncoder
    from skrub import StringEncoder, TableVectorizer

    texts = [note.name for note in notes if note.kind == "text"]
    categories = [note.name for note in notes if note.kind == "category"]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    n_columns = max(1, min(_N_TEXT_COLUMNS, n_rows - 1))
    encoder = StringEncoder(n_components=n_columns, random_state=seed)
    return TableVectorizer(
        specific_transformers=[(one_hot, categories), (encoder, texts)]
    )


def _as_frame(X: Any) -> pd.DataFrame:
    """Return a table of pandas with texts as names, each different."""
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        X = X.collect()
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    frame = pd.DataFrame(X)
    frame = frame.set_axis(frame.columns.map(str), axis=1).reset_index(drop=True)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"Two columns of the table have the name {twice!r}.")
    return frame


def table_pipeline(estimator: Any, **options: Any) -> Pipeline:
    """Return a pipeline that prepares a table and clusters its rows.

    Parameters
    ----------
    estimator : clusterer
        Such as ``KernelCSC(3)``.
    **options
        Parameters of :class:`TablePreparation`.

    Returns
    -------
    Pipeline
        With the steps "table" and "cluster"; pairs go to
        ``fit(table, cluster__constraints=pairs)``.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkwise import KernelCSC, table_pipeline
    >>> table = pd.DataFrame({"plan": ["a", "a", "b", "b"], "age": [20, 22, 40, None]})
    >>> model = table_pipeline(KernelCSC(2, kernels="paper", random_state=0))
    >>> model = model.fit(table, cluster__constraints=([(0, 1)], [(1, 2)]))
    >>> new = pd.DataFrame({"plan": ["c"], "age": [21]})
    >>> bool(model.predict(new)[0] == model["cluster"].labels_[0])
    True
    """
    return Pipeline([("table", TablePreparation(**options)), ("cluster", estimator)])
