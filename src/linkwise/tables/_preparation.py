"""Tables as people have them, made into numbers that rows are clustered by."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray
from linkwise.exceptions import TableWarning
from linkwise.tables._columns import (
    KINDS,
    ORDERS,
    ColumnNote,
    UnreadColumn,
    Values,
    note_of,
)

# Columns that a text becomes.
_N_TEXT_COLUMNS = 30


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turns a table with any kinds of columns into numbers.

    What a column holds is found out in ``fit``: numbers (also written with %, thousands
    apart or a decimal comma, as hours and minutes, and yes or no), categories, dates,
    texts; ids, constant and empty columns are left out. It is decided by the whole
    column and kept: ``transform`` reads each value in the same way, whatever rows stand
    beside it. Categories, dates and texts are encoded by skrub's ``TableVectorizer``,
    gaps get the median of the column, or a category of their own. All columns count
    alike: what becomes of one has a variance of 1 together.

    Parameters
    ----------
    kinds : dict of {str: str}, optional
        What columns hold, where it is known better: "number", "category", "text",
        "date" or "id"; "date dmy" and "date mdy" say whether the day or the month
        comes first.
    decimal : {".", ","}, optional
        The mark before decimals in columns that leave it open, as "1,234" does.
    missing : list of str, optional
        Values that are missing in any column, such as ``["unknown", "-99"]``. Empty
        values are always missing; in numbers and dates, so are words such as "NA",
        "null", "none" and "?". In categories and texts those words are values.
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

    def __init__(
        self,
        kinds: dict[str, str] | None = None,
        random_state: int = 0,
        *,
        decimal: str | None = None,
        missing: Sequence[str] | None = None,
    ):
        self.kinds = kinds
        self.decimal = decimal
        self.missing = missing
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
        """Learn how to encode a table, and encode it.

        Warns with a :class:`TableWarning` if values of a column could not be read.
        """
        frame = _as_frame(X)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        self._check_kinds(frame)
        decided = [self._note(name, frame[name]) for name in frame.columns]
        self.columns_ = [note for note, _ in decided]
        if not any(note.is_used for note in self.columns_):
            found = "; ".join(map(str, self.columns_)) or "none"
            raise ValueError(f"The table has no column to cluster by: {found}.")
        numbers, others = self._taken(frame, [values for _, values in decided])
        self._medians = np.nanmedian(numbers, axis=0)
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

        Raises
        ------
        ValueError
            If no value of a column of numbers or dates can be read.

        Warns
        -----
        TableWarning
            If some values cannot be read, which then count as missing, or are
            categories that were not there in ``fit``.
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
        read = [
            note.reading.read(frame[note.name]) if note.is_used else None
            for note in self.columns_
        ]
        numbers, others = self._taken(frame, read)
        encoded: FloatArray = np.empty((len(frame), 0))
        if self._encoder is not None:
            encoded = self._encoded(others, "transform")
        return self._scaled(self._filled(numbers, encoded))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names of the columns of numbers."""
        check_is_fitted(self, "columns_")
        names = self._names("number")
        if self._encoder is not None:
            names += list(self._encoder.get_feature_names_out())
        return np.array(list(map(str, names)), dtype=object)

    def _check_kinds(self, frame: pd.DataFrame) -> None:
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r}: allowed are '.' and ','.")
        if isinstance(self.missing, str):
            raise ValueError(f"missing={self.missing!r}: give a list of values.")
        for name, kind in (self.kinds or {}).items():
            if kind not in (*KINDS, *ORDERS):
                allowed = ", ".join((*KINDS, *ORDERS))
                raise ValueError(f"kinds[{name!r}]={kind!r}: allowed are {allowed}.")
            if name not in frame.columns:
                raise ValueError(
                    f"kinds names a column {name!r}; the table has "
                    f"{', '.join(map(str, frame.columns))}."
                )

    def _note(self, name: str, column: "pd.Series[Any]") -> tuple[ColumnNote, Values]:
        """Decide how a column is read, and read it."""
        asked = (self.kinds or {}).get(name)
        missing = [str(value) for value in self.missing or ()]
        note, values = note_of(
            name, column, asked=asked, decimal=self.decimal, missing=missing
        )
        n_read = len(column) - round(note.missing * len(column)) - note.unread
        if note.kind in ("number", "date") and n_read == 0:
            given = column.dropna()
            value = given.iloc[0] if len(given) else None
            raise ValueError(
                f"kinds[{name!r}]={asked!r}, but no value of the column can be read as "
                f"that; the first is {value!r}."
            )
        return note, values

    def _names(self, *kinds: str) -> list[str]:
        return [note.name for note in self.columns_ if note.kind in kinds]

    def _taken(
        self, frame: pd.DataFrame, read: list[Any]
    ) -> tuple[FloatArray, pd.DataFrame]:
        """Return numbers, with gaps, and the other columns as skrub takes them.

        ``read`` has the values of each column that is used.
        """
        numbers: list[FloatArray] = []
        others: dict[str, Any] = {}
        problems = []
        for note, values in zip(self.columns_, read, strict=True):
            if not note.is_used:
                continue
            problem = _problem(note, frame[note.name], values)
            if problem is not None:
                problems.append(problem)
            if note.kind == "number":
                numbers.append(values.found.to_numpy())
            elif note.kind == "date":
                others[note.name] = values.found
            else:
                texts = values.found.astype("str")
                is_category = note.kind == "category"
                others[note.name] = texts.astype("category") if is_category else texts
        if problems:
            warnings.warn(TableWarning(problems), stacklevel=3)
        shape = (len(numbers), len(frame))
        found = np.array(numbers, dtype=np.float64).reshape(shape).T
        return found, pd.DataFrame(others, index=frame.index)

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


def _problem(
    note: ColumnNote, column: "pd.Series[Any]", values: Values
) -> UnreadColumn | None:
    """Return what could not be read in a column, None if all could.

    A column in which nothing could be read is an error.
    """
    n_unread, n_unseen = int(values.unread.sum()), int(values.unseen.sum())
    if not n_unread and not n_unseen:
        return None
    first = int(np.argmax(values.unread | values.unseen))
    problem = UnreadColumn(
        note.name,
        note.kind,
        len(column),
        n_unread,
        n_unseen,
        str(column.iloc[first]),
    )
    if n_unread and values.found.isna().all():
        raise ValueError(f"{problem}. At fit it held {_in_words(note)}.")
    return problem


def _in_words(note: ColumnNote) -> str:
    """Return how a column is read, for a message."""
    reading = note.reading
    if note.kind == "date":
        return f"dates, {'day' if reading.day_first else 'month'} first"
    marks = {".": "decimal points", ",": "decimal commas"}
    return reading.form or f"numbers with {marks.get(reading.decimal, 'decimals')}"


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
    >>> new = pd.DataFrame({"plan": ["a"], "age": [21]})
    >>> bool(model.predict(new)[0] == model["cluster"].labels_[0])
    True
    """
    return Pipeline([("table", TablePreparation(**options)), ("cluster", estimator)])
