"""What a column of a table holds."""

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

KINDS = ("number", "category", "text", "date", "id")
# Share of the values of a text column that must be of a kind, so that it is of it.
_LEAST_SHARE = 0.95
# Different values up to which a column of texts is one of categories.
_MAX_CATEGORIES = 40
_ID_NAME = re.compile(
    r"(.*[\s_.-])?(id|ids|uuid|guid|index|key|row|nr|no|number|code)", re.IGNORECASE
)
_ID_SUFFIX = re.compile(r".*[a-z](Id|ID|Key|Nr|Index)")
_TRUE = {"true", "t", "yes", "y", "ja", "j", "oui", "si", "on"}
_FALSE = {"false", "f", "no", "n", "nein", "non", "off"}
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "-", "--", "?", "."}
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,\s\u00a0']\d{3})+(\.\d+)?")
_COMMA = re.compile(r"[+-]?(\d{1,3}([.\s\u00a0']\d{3})+|\d+),\d+")
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[A-Za-z]{3,9}\.? \d|\d{1,2} [A-Za-z]"
)


class ColumnNote(NamedTuple):
    """What was done with a column."""

    name: str
    kind: str  # of KINDS, or "constant", "empty"
    missing: float  # share of gaps
    detail: str = ""

    @property
    def is_used(self) -> bool:
        """Whether rows are clustered by it."""
        return self.kind in ("number", "category", "text", "date")

    def __str__(self) -> str:
        """Return one line for a person."""
        parts = [self.kind if not self.detail else f"{self.kind} ({self.detail})"]
        if self.missing > 0:
            parts.append(f"{self.missing:.0%} missing")
        if not self.is_used:
            parts.append("left out")
        return f"{self.name}: {', '.join(parts)}"


def without_gaps_in_words(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column in which words for a missing value are missing values."""
    if pd.api.types.is_numeric_dtype(column.dtype) or is_date(column):
        return column
    is_gap = column.isna().to_numpy()
    values = [
        None if gap or _is_gap(value) else _stripped(value)
        for value, gap in zip(column.tolist(), is_gap, strict=True)
    ]
    return pd.Series(values, index=column.index, dtype=object)


def _is_gap(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _NO_VALUE


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def texts_of(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return values as texts; a whole number is written alike in any type."""
    is_gap = column.isna().to_numpy()
    values = [
        None if gap else _text(value)
        for value, gap in zip(column.tolist(), is_gap, strict=True)
    ]
    return pd.Series(values, index=column.index, dtype=object)


def _text(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def is_date(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds dates as such."""
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def kind_of(name: str, column: "pd.Series[Any]") -> tuple[str, str]:
    """Return what a column holds, and a word on how that was written."""
    values = column.dropna()
    if len(values) == 0:
        return "empty", ""
    if is_date(column):
        return "date", ""
    if pd.api.types.is_bool_dtype(values.dtype):
        return ("constant" if values.nunique() == 1 else "number"), "yes or no"
    if pd.api.types.is_numeric_dtype(column.dtype):
        if values.nunique() == 1:
            return "constant", ""
        return ("id", "") if is_id_like(name, column) else ("number", "")
    texts = texts_of(values).astype(str)
    if texts.nunique() == 1:
        return "constant", ""
    lower = set(texts.str.lower())
    if lower <= _TRUE | _FALSE and lower & _TRUE and lower & _FALSE:
        return "number", "yes or no"
    parsed = numbers_of(values)
    if parsed.notna().mean() >= _LEAST_SHARE:
        is_share = texts.str.endswith("%").mean() >= _LEAST_SHARE
        if not is_share and is_id_like(name, parsed):
            return "id", ""
        return "number", "per cent" if is_share else "written as text"
    if texts.str.match(_DATE).mean() >= _LEAST_SHARE:
        if dates_of(values).notna().mean() >= _LEAST_SHARE:
            return "date", ""
    n_different = texts.nunique()
    if n_different == len(texts) and not texts.str.contains(r"\s").any():
        return "id", ""
    if n_different <= min(_MAX_CATEGORIES, max(2, len(texts) // 2)):
        return "category", f"{n_different} values"
    return "text", f"{n_different} values"


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


def numbers_of(column: "pd.Series[Any]") -> "pd.Series[float]":
    """Return texts as numbers: with %, with thousands apart, with a decimal comma."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(np.float64)
    return column.map(_number).astype(np.float64)


def _number(value: Any) -> float:
    if value is None or value is pd.NA or value is pd.NaT:
        return np.nan
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            return np.nan
    text = value.strip()
    lower = text.lower()
    if lower in _TRUE or lower in _FALSE:
        return float(lower in _TRUE)
    scale = 0.01 if text.endswith("%") else 1.0
    text = text.removesuffix("%").strip()
    if _PLAIN.fullmatch(text):
        return scale * float(text)
    if _THOUSANDS.fullmatch(text):
        return scale * float(re.sub(r"[,\s\u00a0']", "", text))
    if _COMMA.fullmatch(text):
        whole, _, rest = text.rpartition(",")
        return scale * float(re.sub(r"[.\s\u00a0']", "", whole) + "." + rest)
    return np.nan


def dates_of(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return texts as dates; the day comes first if a month would not fit."""
    if is_date(column):
        found = column
        if isinstance(column.dtype, pd.ArrowDtype):
            # Encoders know the dates of pandas only.
            found = pd.Series(pd.to_datetime(column.tolist()), index=column.index)
    else:
        texts = texts_of(column)
        found = _parsed_dates(texts, day_first=False)
        other = _parsed_dates(texts, day_first=True)
        if other.notna().sum() > found.notna().sum():
            found = other
    if getattr(found.dtype, "tz", None) is not None:
        found = found.dt.tz_convert("UTC").dt.tz_localize(None)
    return found


def _parsed_dates(texts: "pd.Series[Any]", day_first: bool) -> "pd.Series[Any]":
    with warnings.catch_warnings():
        # One format for all is looked for; that none was found shows in the values.
        warnings.simplefilter("ignore")
        try:
            found = pd.to_datetime(texts, errors="coerce", dayfirst=day_first)
        except (ValueError, TypeError):
            found = pd.to_datetime(texts, errors="coerce", dayfirst=day_first, utc=True)
    return pd.Series(found, index=texts.index)
