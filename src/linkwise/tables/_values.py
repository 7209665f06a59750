"""Texts as numbers, hours and dates, each value by itself.

How a value is read depends on its column alone, by what was decided when a model was
fitted: the mark before decimals, the order of day and month. Never on other rows.
"""

import re
from typing import Any

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray

# Words for yes and no, and for a missing number or date.
TRUE = frozenset({"true", "t", "yes", "y", "ja", "j", "oui", "si", "on"})
FALSE = frozenset({"false", "f", "no", "n", "nein", "non", "off"})
NO_VALUE = frozenset(
    {"", "na", "n/a", "nan", "-nan", "null", "none", "-", "--", "?", "."}
    | {"#n/a", "#na", "<na>", "n.a.", "missing"}
)
# Marks before decimals; with both, none stands between thousands.
DECIMALS = (".", ",", ".,")
_SPACES = "\\s\u00a0\u202f'\u2019"
_HOURS = re.compile(r"(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_DAYS = re.compile(r"(-?\d+) days?,? (\d+:\d{2}(?::\d{2}(?:\.\d+)?)?)")
_DATE = re.compile(
    r"(?P<week>[A-Za-z]{3,9},\s)?"
    r"(?P<first>\d{1,4}|[A-Za-z]{3,9})(?P<mark>[-/., ]+)"
    r"(?P<second>\d{1,2}|[A-Za-z]{3,9})(?P<mark2>[-/., ]+)(?P<third>\d{4}|\d{1,2})"
    r"(?:(?P<gap>T|,? +)(?P<hour>\d{1,2}):\d{2}(?P<second_mark>:\d{2})?"
    r"(?P<fraction>\.\d+)?(?P<half>\s?[AaPp][Mm])?(?P<zone>\s?(?:Z|[+-]\d{2}:?\d{2}))?)?"
)
_SHORT_DATES = {"00000000": "%Y%m%d", "0000-00": "%Y-%m", "0000": "%Y"}
_DIGITS = str.maketrans("123456789", "0" * 9)


def _pattern(decimal: str) -> "re.Pattern[str]":
    marks = _SPACES + {".": ",", ",": ".", ".,": ""}[decimal]
    grouped = rf"[1-9]\d{{0,2}}(?P<mark>[{marks}])\d{{3}}(?:(?P=mark)\d{{3}})*"
    return re.compile(
        rf"[+\u2212-]?(?:(?:{grouped}|\d+)(?:[{decimal}]\d*)?|[{decimal}]\d+)"
        r"(?:[eE][+-]?\d+)?"
    )


_NUMBER = {decimal: _pattern(decimal) for decimal in DECIMALS}
_BETWEEN_THOUSANDS = {
    decimal: re.compile(f"[{_SPACES}{other}]")
    for decimal, other in ((".", ","), (",", "."), (".,", ""))
}


def by_value(texts: "pd.Series[Any]", read: Any) -> FloatArray:
    """Return a number for each text, NaN where it has none; gaps are None."""
    codes, different = pd.factorize(texts.to_numpy(dtype=object))
    found = np.array([read(text) for text in different] + [np.nan], dtype=np.float64)
    return found[codes]


def number(text: str, decimal: str = ".") -> float:
    """Return the number that a text is, NaN if it is none.

    Examples
    --------
    >>> number("1,234.5"), number("1.234,5", ","), number("0,125"), number("0,125", ",")
    (1234.5, 1234.5, nan, 0.125)
    """
    if not is_number(text, decimal):
        return np.nan
    plain = _BETWEEN_THOUSANDS[decimal].sub("", text)
    return float(plain.replace(",", ".").replace("\u2212", "-"))


def is_number(text: str, decimal: str = ".") -> bool:
    """Tell whether a text is a number with this mark before decimals."""
    return _NUMBER[decimal].fullmatch(text) is not None


def per_cent(text: str, decimal: str = ".") -> float:
    """Return the share that a text such as "12 %" is, NaN if it is none."""
    if not text.endswith("%"):
        return np.nan
    return 0.01 * number(text.removesuffix("%").strip(), decimal)


def yes_or_no(text: str) -> float:
    """Return 1 for a word that means yes, 0 for no, NaN for others."""
    word = text.lower()
    return 1.0 if word in TRUE else 0.0 if word in FALSE else np.nan


def hours(text: str) -> float:
    """Return the hours of a time or duration such as "1:30", "2 days 04:00:00"."""
    days = _DAYS.fullmatch(text)
    if days:
        return 24.0 * float(days[1]) + hours(days[2])
    match = _HOURS.fullmatch(text)
    if match is None or int(match[2]) > 59 or float(match[3] or 0) >= 60:
        return np.nan
    return int(match[1]) + int(match[2]) / 60 + float(match[3] or 0) / 3600


def date_format(text: str, day_first: bool) -> str | None:
    """Return how a date is written, None if it is no date.

    Examples
    --------
    >>> date_format("3/4/2021 10:30", day_first=True)
    '%d/%m/%Y %H:%M'
    >>> date_format("2021-04-03", day_first=True), date_format("4.5", day_first=True)
    ('%Y-%m-%d', None)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return _SHORT_DATES.get(text.translate(_DIGITS))
    first, second, third = match["first"], match["second"], match["third"]
    year = "%Y" if len(third) == 4 else "%y"
    if len(first) == 4 and first.isdigit():
        parts = ("%Y", "%m", "%d") if second.isdigit() else ("%Y", _month(second), "%d")
    elif first.isalpha():
        parts = (_month(first), "%d", year)
    elif second.isalpha():
        parts = ("%d", _month(second), year)
    elif len(first) > 2:
        return None
    else:
        parts = ("%d", "%m", year) if day_first else ("%m", "%d", year)
    week = match["week"]
    found = "" if week is None else ("%a" if len(week) == 5 else "%A") + week[-2:]
    found += parts[0] + match["mark"] + parts[1] + match["mark2"] + parts[2]
    if match["hour"] is None:
        return found
    found += match["gap"] + ("%I" if match["half"] else "%H") + ":%M"
    found += ":%S" if match["second_mark"] else ""
    found += ".%f" if match["fraction"] else ""
    for name, code in (("half", "%p"), ("zone", "%z")):
        if match[name]:
            found += (" " if match[name][0].isspace() else "") + code
    return found


def _month(word: str) -> str:
    return "%b" if len(word) == 3 else "%B"


def dates(texts: "pd.Series[Any]", day_first: bool) -> "pd.Series[Any]":
    """Return texts as dates without a zone (UTC), NaT where they are none."""
    found = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[us]")
    formats = date_formats(texts, day_first)
    for written in formats.dropna().unique():
        places = np.flatnonzero((formats == written).to_numpy(dtype=bool))
        parsed = pd.to_datetime(
            texts.iloc[places], format=written, errors="coerce", utc=True
        )
        found[places] = parsed.dt.tz_localize(None).to_numpy("datetime64[us]")
    return pd.Series(found, index=texts.index)


def date_formats(texts: "pd.Series[Any]", day_first: bool) -> "pd.Series[Any]":
    """Return how dates are written, None for what is no date."""
    # Dates of one shape are written in one format: few shapes for many dates.
    shapes, different = pd.factorize(
        texts.map(lambda text: text.translate(_DIGITS), na_action="ignore")
    )
    formats = [date_format(shape, day_first) for shape in different] + [None]
    return pd.Series(
        np.array(formats, dtype=object)[shapes], index=texts.index, dtype=object
    )
