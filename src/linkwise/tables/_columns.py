"""What a column of a table holds, and how its values are read.

That is decided once, by all values that a model is fitted on, and kept in the model: a
:class:`Reading` reads new values as it has read those, whatever stands beside them.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise._typing import BoolArray
from linkwise.tables._values import (
    DECIMALS,
    FALSE,
    NO_VALUE,
    TRUE,
    by_value,
    date_format,
    date_formats,
    dates,
    hours,
    is_number,
    number,
    per_cent,
    yes_or_no,
)

KINDS = ("number", "category", "text", "date", "id")
# The order of day and month may be said beside the kind.
ORDERS = {"date dmy": True, "date mdy": False}
# How numbers may be written.
FORMS = ("", "per cent", "yes or no", "hours")
# Share of the values of a text column that must be of a kind, so that it is of it.
_LEAST_SHARE = 0.95
# Different values up to which a column of texts is one of categories.
_MAX_CATEGORIES = 40
# Values by which most columns of texts are told from numbers.
_N_LOOKED_AT = 100
_ID_NAME = re.compile(
    r"(.*[\s_.-])?(id|ids|uuid|guid|index|key|row|nr|no|number|code)", re.IGNORECASE
)
_ID_SUFFIX = re.compile(r".*[a-z](Id|ID|Key|Nr|Index)")
# Read as 1234 or as 1.234, by what the rest of the column says.
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}(?P<mark>[.,])\d{3}")
_MARKED = re.compile(r"[.,]")
# With which a number, a share or a duration begins.
_FIRST_LETTERS = frozenset("0123456789+-\u2212.,")
_COMMA_TO_POINT = str.maketrans(",.", ".x")


class Values(NamedTuple):
    """The values of a column as they were read."""

    found: "pd.Series[Any]"  # numbers, dates or texts; missing where there are none
    unread: BoolArray  # (n_rows,), values that are there but could not be read
    unseen: BoolArray  # (n_rows,), categories that were not there at fit


@dataclass(frozen=True)
class Reading:
    """How the values of a column are read."""

    kind: str  # of KINDS, or "constant", "empty"
    form: str = ""  # of numbers, one of FORMS
    decimal: str = "."  # of DECIMALS
    day_first: bool = False
    categories: tuple[str, ...] = ()  # that were there at fit
    missing: tuple[str, ...] = ()  # that count as missing in any column

    @property
    def is_sound(self) -> bool:
        """Whether its parts are what they should be; a file may hold anything."""
        texts = (self.kind, *self.categories, *self.missing)
        return (
            all(type(text) is str for text in texts)
            and self.form in FORMS
            and self.decimal in DECIMALS
            and type(self.day_first) is bool
        )

    def read(self, column: "pd.Series[Any]") -> Values:
        """Return the values of a column, each read by itself."""
        none = np.zeros(len(column), dtype=bool)
        if self.kind == "date" and is_date(column):
            return Values(_without_zone(column), none, none)
        is_typed = pd.api.types.is_numeric_dtype(column.dtype) or is_duration(column)
        if self.kind == "number" and is_typed and self._takes(column):
            return self._read_numbers(column)
        texts = self._without_gaps(texts_of(column))
        if self.kind == "number":
            found: Any = pd.Series(by_value(texts, self._number), index=column.index)
        elif self.kind == "date":
            found = dates(texts, self.day_first)
        else:
            is_unseen = none
            if self.kind == "category":
                is_unseen = (texts.notna() & ~texts.isin(self.categories)).to_numpy()
            return Values(texts, none, is_unseen)
        return Values(found, (found.isna() & texts.notna()).to_numpy(), none)

    def _takes(self, column: "pd.Series[Any]") -> bool:
        """Tell whether numbers of this type are meant as the column's own are."""
        if is_duration(column):
            return self.form == "hours"
        is_bool = pd.api.types.is_bool_dtype(column.dtype)
        return is_bool if self.form == "yes or no" else not is_bool and not self.form

    def _read_numbers(self, column: "pd.Series[Any]") -> Values:
        if is_duration(column):
            column = column.dt.total_seconds() / 3600.0
        found = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        gaps = [number(word) for word in self.missing]
        found[np.isin(found, gaps)] = np.nan
        infinite = np.isinf(found)
        found[infinite] = np.nan
        none = np.zeros(len(column), dtype=bool)
        return Values(pd.Series(found, index=column.index), infinite, none)

    def _without_gaps(self, texts: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return texts without the words that mean that a value is missing."""
        is_gap = texts.isin(self.missing)
        if self.kind in ("number", "date", "empty"):
            is_gap |= texts.map(str.lower, na_action="ignore").isin(NO_VALUE)
        return texts.mask(is_gap, None)

    def is_read(self, text: str) -> bool:
        """Tell whether a text can be read as a number."""
        return not np.isnan(self._number(text))

    def _number(self, text: str) -> float:
        if self.form == "yes or no":
            return yes_or_no(text)
        if self.form == "hours":
            return hours(text)
        if self.form == "per cent":
            return per_cent(text, self.decimal)
        return number(text, self.decimal)


class ColumnNote(NamedTuple):
    """What was done with a column."""

    name: str
    reading: Reading
    missing: float = 0.0  # share of gaps
    detail: str = ""
    unread: int = 0  # values that could not be read and count as gaps
    example: str = ""  # the first of them

    @property
    def kind(self) -> str:
        """What the column holds: one of KINDS, or "constant", "empty"."""
        return self.reading.kind

    @property
    def is_used(self) -> bool:
        """Whether rows are clustered by it."""
        return self.kind in ("number", "category", "text", "date")

    def __str__(self) -> str:
        """Return one line for a person."""
        parts = [self.kind if not self.detail else f"{self.kind} ({self.detail})"]
        if self.missing > 0:
            parts.append(f"{self.missing:.0%} missing")
        if self.unread:
            values = "value" if self.unread == 1 else "values"
            parts.append(
                f"{self.unread:,} {values} {_not_a(self)}, e.g. {self.example!r}"
            )
        if not self.is_used:
            parts.append("left out")
        return f"{self.name}: {', '.join(parts)}"


class UnreadColumn(NamedTuple):
    """Values of a column that could not be used."""

    column: str
    kind: str
    rows: int
    unread: int  # that are not of the kind, and count as missing
    unseen: int  # categories that were not there at fit
    example: str  # the first of them

    def __str__(self) -> str:
        """Return one line for a person."""
        if self.unseen:
            values = "value" if self.unseen == 1 else "values"
            what = f"{self.unseen:,} {values} not seen at fit"
        else:
            what = f"{self.unread:,} of {self.rows:,} values {_not_a(self)}"
        return f"{self.column}: {what}, e.g. {self.example!r}"


def _not_a(note: "ColumnNote | UnreadColumn") -> str:
    return f"is not a {note.kind}" if note.unread == 1 else f"are not {note.kind}s"


def note_of(
    name: str,
    column: "pd.Series[Any]",
    *,
    asked: str | None = None,
    decimal: str | None = None,
    missing: Collection[str] = (),
) -> tuple[ColumnNote, Values]:
    """Decide how a column is read, by all of its values, and read it.

    Parameters
    ----------
    name : str
        Its name, by which ids are recognised.
    column : Series
        Its values.
    asked : str, optional
        What it holds, if a person has said so: one of ``KINDS`` or ``ORDERS``.
    decimal : {".", ","}, optional
        The mark before decimals where "1,234" or "1.234" could be meant either way.
    missing : collection of str
        Values that count as missing.
    """
    gaps = tuple(missing)
    reading, detail = _decided(column, decimal, gaps)
    if asked is not None and asked != reading.kind:
        reading, detail = _as_asked(asked, column, decimal, gaps), "as asked for"
    values = reading.read(column)
    is_bare = reading.kind == "number" and not reading.form
    if asked is None and is_bare and is_id_like(name, values.found):
        reading, detail = Reading("id"), ""
    n_unread = int(values.unread.sum())
    example = str(column.iloc[int(np.argmax(values.unread))]) if n_unread else ""
    gap = float((values.found.isna().to_numpy() & ~values.unread).mean())
    return ColumnNote(name, reading, gap, detail, n_unread, example), values


def _decided(
    column: "pd.Series[Any]", decimal: str | None, gaps: tuple[str, ...]
) -> tuple[Reading, str]:
    """Return how a column is read, and a word on how it is written."""
    typed = _decided_by_type(column, decimal, gaps)
    if typed is not None:
        return typed
    texts = texts_of(column)
    counts = texts[~texts.isin(gaps)].value_counts()
    is_word = counts.index.str.lower().isin(NO_VALUE)
    known = counts[~is_word]
    if known.empty and (len(counts) < 2 or counts.max() == 1):
        return Reading("empty"), ""  # but "none" beside "NA" may be categories
    if known.empty:
        return _categories(texts, gaps), f"{len(counts)} values"
    if len(counts) == 1:
        return Reading("constant"), ""
    found = _number_reading(known, decimal, gaps)
    # With one number alone, the word for none is the other category.
    if found is not None and (len(known) > 1 or not is_word.any()):
        return found
    order = _order_of(known, decimal)
    if order is not None:
        reading = Reading("date", day_first=order.day_first, missing=gaps)
        return reading, order.detail
    if counts.max() == 1 and not counts.index.str.contains(r"\s").any():
        return Reading("id"), ""
    detail = f"{len(counts)} values"
    if len(counts) <= min(_MAX_CATEGORIES, max(2, counts.sum() // 2)):
        return _categories(texts, gaps), detail
    return Reading("text", missing=gaps), detail


def _decided_by_type(
    column: "pd.Series[Any]", decimal: str | None, gaps: tuple[str, ...]
) -> tuple[Reading, str] | None:
    """Return how a column is read whose type tells what it holds.

    Numbers keep the usual mark before decimals: new ones may come as texts.
    """
    values = column.dropna()
    if len(values) == 0:
        return Reading("empty"), ""
    if is_date(column):
        return Reading("date", missing=gaps), ""
    if is_duration(column):
        reading, detail = Reading("number", "hours"), "hours"
    elif pd.api.types.is_bool_dtype(values.dtype):
        reading, detail = Reading("number", "yes or no"), "yes or no"
    elif pd.api.types.is_numeric_dtype(column.dtype):
        reading, detail = Reading("number", decimal=decimal or ".", missing=gaps), ""
    else:
        return None
    if values.nunique() == 1:
        return Reading("constant"), detail
    return reading, detail


def _number_reading(
    known: "pd.Series[int]", decimal: str | None, gaps: tuple[str, ...]
) -> tuple[Reading, str] | None:
    """Return how texts are read as numbers, None if too few of them are any.

    ``known`` counts the different texts.
    """
    if not _are_mostly(known, lambda text: text[0] in _FIRST_LETTERS):
        words = set(known.index.str.lower())
        if words <= TRUE | FALSE and words & TRUE and words & FALSE:
            return Reading("number", "yes or no", missing=gaps), "yes or no"
        return None
    hours_of = Reading("number", "hours", missing=gaps)
    if _are_mostly(known, hours_of.is_read):
        return hours_of, "hours"
    form, detail, numbers = "", "written as text", known
    if _are_mostly(known, lambda text: text.endswith("%")):
        form = detail = "per cent"
        numbers = known[known.index.str.endswith("%")]
        numbers.index = numbers.index.str.removesuffix("%").str.strip()
    mark, example = _decimal_of(numbers, decimal)
    if example:
        detail += f"; {example!r} is {number(example, mark):g}"
    reading = Reading("number", form, mark, missing=gaps)
    return (reading, detail) if _are_mostly(known, reading.is_read) else None


def _are_mostly(known: "pd.Series[int]", is_so: Callable[[str], bool]) -> bool:
    """Tell whether enough texts are of a kind; it ends when too many are not."""
    left = (1.0 - _LEAST_SHARE) * known.sum() + 1e-9
    for text, count in known.items():
        if not is_so(str(text)):
            left -= count
            if left < 0:
                return False
    return True


def _decimal_of(known: "pd.Series[int]", usual: str | None) -> tuple[str, str]:
    """Return the mark before decimals, and a text that could be read otherwise.

    The mark is the one with which most numbers can be read. Where "1,234" is all there
    is, it is ``usual``. If that is not known, numbers below a thousand without a mark
    say that it stands between thousands; else a comma does, and a point does not.
    """
    texts = known.index.tolist()
    n_read = {
        mark: known.to_numpy()[[is_number(text, mark) for text in texts]].sum()
        for mark in DECIMALS
    }
    best = max(DECIMALS, key=lambda mark: n_read[mark])
    ambiguous = [text for text in texts if _AMBIGUOUS.fullmatch(text)]
    is_tie = n_read["."] == n_read[","] == n_read[best]
    if not ambiguous or not is_tie:
        return best, ambiguous[0] if ambiguous and best == ".," else ""
    if usual is not None:
        return usual, ambiguous[0]
    mark = _MARKED.search(ambiguous[0])
    assert mark is not None
    bare = [abs(number(text)) for text in texts if not _MARKED.search(text)]
    bare = [value for value in bare if not np.isnan(value)]
    if bare:
        other = "," if mark[0] == "." else "."
        return other if max(bare) < 1000 else mark[0], ambiguous[0]
    return ".", ambiguous[0]


class _Order(NamedTuple):
    day_first: bool
    detail: str = ""


def _order_of(known: "pd.Series[int]", decimal: str | None) -> _Order | None:
    """Return whether days come before months, None if texts are no dates."""
    if not _are_mostly(known, lambda text: date_format(text, True) is not None):
        return None
    texts = known.index.to_series()
    formats = [date_formats(texts, day_first) for day_first in (False, True)]
    least = _LEAST_SHARE * known.sum()
    n_read = [
        int(known[dates(texts, day_first).notna().to_numpy()].sum())
        for day_first in (False, True)
    ]
    if max(n_read) < least:
        return None
    if n_read[0] != n_read[1]:
        return _Order(n_read[1] > n_read[0])
    differ = texts[(formats[0] != formats[1]).to_numpy()]
    if differ.empty:
        return _Order(False)
    # Points stand between day and month, and so do decimal commas beside them.
    day_first = "." in differ.iloc[0] or decimal == ","
    first = "day" if day_first else "month"
    return _Order(day_first, f"{first} first in {differ.iloc[0]!r}")


def _categories(texts: "pd.Series[Any]", gaps: tuple[str, ...]) -> Reading:
    values = texts[~texts.isin(gaps)].dropna().unique()
    return Reading("category", categories=tuple(sorted(values)), missing=gaps)


def _as_asked(
    asked: str, column: "pd.Series[Any]", decimal: str | None, gaps: tuple[str, ...]
) -> Reading:
    """Return how a column is read that a person has said the kind of."""
    if asked in ORDERS:
        return Reading("date", day_first=ORDERS[asked], missing=gaps)
    texts = texts_of(column)
    if asked == "category":
        return _categories(texts, gaps)
    if asked == "date":
        readings = [Reading("date", day_first=o, missing=gaps) for o in (False, True)]
    elif asked == "number":
        mark, _ = _decimal_of(texts.value_counts(), decimal)
        readings = [Reading("number", form, mark, missing=gaps) for form in FORMS]
    else:
        return Reading(asked, missing=gaps)
    return min(readings, key=lambda reading: reading.read(column).unread.sum())


def reading_of(
    name: str, column: "pd.Series[Any]", kinds: Mapping[str, str | Reading] | None
) -> Reading:
    """Return how a column is read, as ``kinds`` says or as it is found out."""
    known = None if kinds is None else kinds.get(name, "")
    if isinstance(known, Reading):
        return known
    if known is not None and known not in KINDS:
        return Reading("empty")  # left out
    return note_of(name, column, asked=known)[0].reading


def with_gaps(column: "pd.Series[Any]", decimal: str = ".") -> "pd.Series[Any]":
    """Return plain numbers beside words for none as numbers; else the column.

    Examples
    --------
    >>> import pandas as pd
    >>> with_gaps(pd.Series(["1.5", "NA", "2"])).tolist()
    [1.5, nan, 2.0]
    >>> with_gaps(pd.Series(["1.5", "NA", "x"])).tolist()
    ['1.5', 'NA', 'x']
    """
    texts = column.dropna()
    # Most columns of texts are told by their first values.
    for some in (texts.iloc[:_N_LOOKED_AT], texts):
        words = some.astype(str).str.strip()
        words = words[~words.str.lower().isin(NO_VALUE)]
        if decimal == ",":
            # A point stands between thousands then, and such numbers are not plain.
            words = words.str.translate(_COMMA_TO_POINT)
        numbers = pd.to_numeric(words, errors="coerce")
        if numbers.isna().any() or (len(words) == 0 and some is texts):
            return column
    return numbers.reindex(column.index).astype(np.float64)


def is_id_like(name: str, column: "pd.Series[Any]") -> bool:
    """Tell whether whole numbers only name the rows."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(values) < 3 or np.isnan(values).any() or (values % 1 != 0).any():
        return False
    if len(np.unique(values)) < len(values):
        return False
    name = str(name).strip()
    if _ID_NAME.fullmatch(name) or _ID_SUFFIX.fullmatch(name):
        return True
    is_nameless = not name or name.startswith("Unnamed: ")
    counts = bool((values == np.arange(len(values)) + values[0]).all())
    return counts and (is_nameless or (len(values) >= 10 and values[0] in (0.0, 1.0)))


def texts_of(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return values as texts; a whole number is written alike in any type."""
    is_gap = column.isna().to_numpy()
    values = [
        None if gap else _text(value)
        for value, gap in zip(column.tolist(), is_gap, strict=True)
    ]
    return pd.Series(values, index=column.index, dtype=object)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def is_date(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds dates as such."""
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def is_duration(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds durations as such."""
    return pd.api.types.is_timedelta64_dtype(column.dtype)


def _without_zone(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if isinstance(column.dtype, pd.ArrowDtype):
        # Encoders know the dates of pandas only.
        column = pd.Series(pd.to_datetime(column.tolist()), index=column.index)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column
