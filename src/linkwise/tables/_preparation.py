"""Tables as people have them, made into numbers that rows are clustered by."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import sklearn
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import FloatArray
from linkwise.tables._columns import KINDS, ORDERS, ColumnNote, Values, note_of
from linkwise.tables._plain_columns import PlainColumns
from linkwise.tables._taken import VIEW_KINDS, as_frame, taken
from linkwise.tables._text_columns import TextColumns
from linkwise.tables._text_rows import EncoderNote, Watch

# Columns that a text becomes where all columns are one matrix.
_N_TEXT_COLUMNS = 30
# Columns of a view that are named.
_N_NAMED = 8


class ViewNote(NamedTuple):
    """A view of the rows: what it is made from."""

    kind: str  # "text", or "columns" for numbers, dates and categories together
    columns: tuple[str, ...]
    width: int  # number of its columns
    encoder: str = ""  # of texts

    def __str__(self) -> str:
        """Return one line for a person."""
        names = ", ".join(self.columns[:_N_NAMED])
        more = len(self.columns) - _N_NAMED
        names += f" and {more} more" if more > 0 else ""
        numbers = "number" if self.width == 1 else "numbers"
        by = f" by {self.encoder}" if self.encoder else ""
        return f"{names}: {self.width:,} {numbers}{by}"


class TablePreparation(  # type: ignore[call-arg]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,
):
    r"""Turns a table with any kinds of columns into numbers.

    What a column holds is found out in ``fit``: numbers (also written with %, thousands
    apart or a decimal comma, as hours and minutes, and yes or no), categories, dates,
    texts; ids, constant and empty columns are left out. It is decided by the whole
    column and kept: ``transform`` reads each value in the same way, whatever rows stand
    beside it.

    Numbers, categories and dates become one matrix. Categories and dates are encoded by
    skrub's ``TableVectorizer``, gaps get the median of the column, or a category of
    their own. All columns count alike: what becomes of one has a variance of 1
    together.

    Each column of texts becomes a view of its own: rows of length 1, by meaning with an
    encoder, by words without one. A table with texts beside other columns, or with
    several columns of texts, is therefore a list of views, which
    :class:`linkwise.KernelCSC` takes and weighs by the pairs.

    Parameters
    ----------
    kinds : dict of {str: str}, optional
        What columns hold, where it is known better: "number", "category", "text",
        "date" or "id"; "date dmy" and "date mdy" say whether the day or the month
        comes first.
    random_state : int, default=0
        Seed of the reduction of texts where ``views=False``.
    decimal : {".", ","}, optional
        The mark before decimals in columns that leave it open, as "1,234" does.
    missing : list of str, optional
        Values that are missing in any column, such as ``["unknown", "-99"]``. Empty
        values are always missing; in numbers and dates, so are words such as "NA",
        "null", "none" and "?". In categories and texts those words are values.
    encoder : str or object, default="auto"
        What turns texts into rows. "wordllama": vectors that come with the extra
        ``linkwise[text]``; "tfidf": counts of words and pairs of words, sparse. "auto"
        is the first if it is installed, else the second. "package:model" is a model of
        sentence-transformers, model2vec or fastembed, which may be downloaded by that
        package. An object needs ``encode(texts)``, one row for each text.
    views : bool, default=True
        False: one matrix, in which a text is thirty columns that count as one column
        does. For estimators that take no views.

    Attributes
    ----------
    columns_ : list of ColumnNote
        What was done with each column.
    views_ : list of ViewNote
        What ``transform`` returns: if there is one view, a matrix.
    encoder_ : EncoderNote or None
        Name, version and digest of what encoded the texts; None without texts.
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
        encoder: Any = "auto",
        views: bool = True,
    ):
        self.kinds = kinds
        self.decimal = decimal
        self.missing = missing
        self.random_state = random_state
        self.encoder = encoder
        self.views = views

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

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        cache: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Any:
        """Learn how to encode a table, and encode it.

        Warns with a :class:`TableWarning` if values of a column could not be read.

        Parameters
        ----------
        X : DataFrame
            The table; anything else that pandas makes a table of.
        y : None
            Not used.
        cache : path, optional
            Folder in which the rows of many texts are kept for the next time. It may
            be deleted.
        progress : callable, optional
            Called with the number of texts that are encoded, and of all.

        Returns
        -------
        ndarray, sparse matrix or list of them
            See :meth:`transform`.
        """
        frame = as_frame(X)
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        self._check_kinds(frame)
        decided = [self._note(name, frame[name]) for name in frame.columns]
        self.columns_ = [note for note, _ in decided]
        if not any(note.is_used for note in self.columns_):
            found = "; ".join(map(str, self.columns_)) or "none"
            raise ValueError(f"The table has no column to cluster by: {found}.")
        parts = taken(frame, self.columns_, [values for _, values in decided])
        watch = Watch(None if cache is None else Path(cache), progress)
        self._texts, rows = None, {}
        if parts.views:
            self._texts = TextColumns()
            rows = self._texts.fit_transform(parts.views, self.encoder, watch)
        self._reductions = {}
        if not self.views:
            self._reductions = {n: self._reduction(own) for n, own in rows.items()}
        matrices = list(rows.values()) if self.views else []
        self._plain = None
        if not matrices or parts.has_plain:
            self._plain = PlainColumns()
            plain = self._plain.fit_transform(
                parts.numbers, parts.others, self._reduced(rows), self.columns_
            )
            matrices.append(plain)
        self.views_ = self._view_notes()
        return self._output(matrices)

    def transform(self, X: Any) -> Any:
        """Encode a table with the same columns.

        Parameters
        ----------
        X : DataFrame
            New rows. Categories that were not there before are none of the known ones;
            columns that were not there are not looked at.

        Returns
        -------
        ndarray, sparse matrix or list of them, of shape (n_rows, n_columns)
            Finite numbers. A list if there are several views, in the order of
            ``views_``: each column of texts, then all others together.

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
        frame = as_frame(X)
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
        parts = taken(frame, self.columns_, read)
        rows = {}
        if self._texts is not None:
            rows = self._texts.transform(parts.views, self.encoder)
        matrices = list(rows.values()) if self.views else []
        if self._plain is not None:
            blocks = self._reduced(rows)
            matrices.append(self._plain.transform(parts.numbers, parts.others, blocks))
        return self._output(matrices)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names of the columns of numbers, of one view after the other."""
        check_is_fitted(self, "columns_")
        names: list[str] = []
        for view in self.views_:
            if view.kind in VIEW_KINDS:
                names += [f"{view.columns[0]}_{at}" for at in range(view.width)]
                continue
            assert self._plain is not None
            names += [note.name for note in self.columns_ if note.kind == "number"]
            names += self._plain.names_of_encoded()
            for column, own in self._reductions.items():
                assert self._texts is not None
                width = self._texts.views[column].width
                width = width if own is None else len(own.components_)
                names += [f"{column}_{at}" for at in range(width)]
        return np.array(names, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Say what ``transform`` returns.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            "pandas": a data frame where a view is dense.

        Returns
        -------
        self
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(
                f"transform={transform!r}: allowed are 'default' and 'pandas'."
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def encoder_(self) -> EncoderNote | None:
        """Name, version and digest of what encoded the texts; None without texts."""
        check_is_fitted(self, "columns_")
        return None if self._texts is None else self._texts.note

    def use_encoder(self, encoder: Any) -> Self:
        """Give a fitted preparation an encoder again, as after it was loaded.

        Parameters
        ----------
        encoder : str or object
            As the parameter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If it makes other rows of texts than the one in ``fit``.
        """
        check_is_fitted(self, "columns_")
        if self._texts is None:
            raise ValueError(f"encoder={encoder!r}: the table has no texts to encode.")
        self._texts.check(encoder)
        self.encoder = encoder
        return self

    def _reduction(self, rows: Any) -> TruncatedSVD | None:
        """Return what makes texts a few columns, None if they are few already."""
        n_columns = min(_N_TEXT_COLUMNS, rows.shape[0] - 1)
        if rows.shape[1] <= n_columns + 1:
            return None
        reduction = TruncatedSVD(n_columns, random_state=self.random_state)
        return reduction.fit(rows)

    def _reduced(self, rows: dict[str, Any]) -> list[FloatArray]:
        """Return texts as a few columns, where all columns are one matrix."""
        found = []
        for name, reduction in self._reductions.items():
            own = rows[name]
            if reduction is not None:
                own = reduction.transform(own)
            found.append(own.toarray() if issparse(own) else own)
        return found

    def _view_notes(self) -> list[ViewNote]:
        found = []
        if self.views and self._texts is not None:
            for name, view in self._texts.views.items():
                named = self._texts.note.name
                found.append(ViewNote("text", (name,), view.width, named))
        if self._plain is not None:
            kinds = ("number", "date", "category", *(() if self.views else VIEW_KINDS))
            names = (note.name for note in self.columns_ if note.kind in kinds)
            found.append(ViewNote("columns", tuple(names), self._plain.width))
        return found

    def _output(self, matrices: list[Any]) -> Any:
        """Return views as they were asked for, one by itself."""
        config = getattr(self, "_sklearn_output_config", {})
        wanted = config.get("transform", sklearn.get_config()["transform_output"])
        if wanted == "pandas":
            ends = np.cumsum([view.width for view in self.views_])
            names = np.split(self.get_feature_names_out(), ends[:-1])
            matrices = [
                pd.DataFrame(own, columns=some, copy=False)
                if isinstance(own, np.ndarray)
                else own
                for own, some in zip(matrices, names, strict=True)
            ]
        return matrices[0] if len(matrices) == 1 else matrices

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
        if note.kind in ("number", "date", *VIEW_KINDS) and n_read == 0:
            given = column.dropna()
            value = given.iloc[0] if len(given) else None
            raise ValueError(
                f"kinds[{name!r}]={asked!r}, but no value of the column can be read as "
                f"that; the first is {value!r}."
            )
        return note, values
