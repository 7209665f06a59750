"""Tables as people write them, with the values that they mean."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

WORDS_FOR_NONE = ["NA", "n/a", "null", "none", "?", "-", ""]
CATEGORIES = ["none", "NA", "null", "Köln", "5 €", "„neu“", "yes please", "-"]
ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "utf-16"]
_EITHER = re.compile(r"-?\d{1,3}[.,]\d{3}|-?\d+|x%&")
SEPARATORS = [",", ";", "\t", "|"]
DATES = [
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%Y-%m-%d",
    "%d/%m/%y",
    "%d.%m.%Y %H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%d %b %Y",
]


@dataclass(frozen=True)
class Column:
    """Texts, and what they mean: numbers, timestamps, or texts themselves."""

    kind: str
    texts: list[str]
    meaning: list[Any]  # NaN or NaT for gaps and for what cannot be read
    n_unread: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a mark in numbers may stand before decimals or thousands."""
        known = [t for t in self.texts if t not in WORDS_FOR_NONE]
        return self.kind == "number" and all(map(_EITHER.fullmatch, known))


@dataclass(frozen=True)
class MadeTable:
    """A table with a way to write it."""

    columns: dict[str, Column]
    separator: str
    encoding: str

    def frame(self, rows: Any = None) -> pd.DataFrame:
        """Return the texts, of some rows or of all."""
        frame = pd.DataFrame({name: c.texts for name, c in self.columns.items()})
        return frame if rows is None else frame.iloc[rows]

    def write(self, path: Any, rows: Any = None) -> None:
        """Write some rows, or all."""
        self.frame(rows).to_csv(
            path, index=False, sep=self.separator, encoding=self.encoding
        )


def made_table(rng: np.random.Generator, y: Any) -> MadeTable:
    """Return a table of two to five columns, most of which know the classes."""
    makers = list(MAKERS)
    columns = {
        f"c{at}": MAKERS[rng.choice(makers)](rng, y)
        for at in range(int(rng.integers(2, 6)))
    }
    return MadeTable(columns, str(rng.choice(SEPARATORS)), str(rng.choice(ENCODINGS)))


def adversarial_rows(
    table: MadeTable, rng: np.random.Generator, n_rows: int
) -> list[Any]:
    """Return choices of rows that look otherwise without the rest of the table."""
    name = str(rng.choice(list(table.columns)))
    texts = pd.Series(table.columns[name].texts)
    plain = texts.str.fullmatch(r"\d+").fillna(False)
    three = texts.str.fullmatch(r"-?\d{1,3}[.,]\d{3}").fillna(False)
    early = texts.str.match(r"(0?\d|1[012])[/.](0?\d|1[012])[/.]").fillna(False)
    found = [np.flatnonzero(mask) for mask in (plain, three, early, plain | three)]
    found += [rng.choice(n_rows, 1), np.sort(rng.choice(n_rows, n_rows // 2, False))]
    return [rows for rows in found if len(rows)]


def _decimals(mark: str, thousands: str) -> Callable[..., Column]:
    def make(rng: np.random.Generator, y: Any) -> Column:
        size = float(rng.choice([1.0, 100.0, 20_000.0]))
        digits = int(rng.choice([0, 1, 2, 3]))
        values = np.round(size * (1 + 4 * y + rng.normal(0, 0.3, len(y))), digits)
        texts = [f"{value:,.{digits}f}" for value in values]
        marks = str.maketrans({",": thousands, ".": mark})
        return _with_flaws(rng, "number", [t.translate(marks) for t in texts], values)

    return make


def _with_flaws(
    rng: np.random.Generator, kind: str, texts: list[str], meaning: Any
) -> Column:
    """Return a column with words for gaps, and with a value that is of no kind."""
    texts, found = list(texts), list(meaning)
    nothing = pd.NaT if kind == "date" else np.nan
    if rng.random() < 0.5:
        word = str(rng.choice(WORDS_FOR_NONE))
        for row in rng.choice(len(texts), 3, replace=False):
            texts[row], found[row] = word, nothing
    n_unread = 0
    if rng.random() < 0.3:
        row = int(rng.integers(len(texts)))
        texts[row], found[row], n_unread = "x%&", nothing, 1
    return Column(kind, texts, found, n_unread)


def _dates(rng: np.random.Generator, y: Any) -> Column:
    written = str(rng.choice(DATES))
    days = pd.Timestamp("2019-03-01") + pd.to_timedelta(
        500 * y + rng.integers(0, 200, len(y)), unit="D"
    )
    if "%H" in written:
        days = days + pd.to_timedelta(rng.integers(0, 24, len(y)), unit="h")
    return _with_flaws(rng, "date", [day.strftime(written) for day in days], days)


def _codes(rng: np.random.Generator, y: Any) -> Column:
    codes = np.where(y == 0, rng.choice(["007", "042"], len(y)), "103")
    codes[rng.choice(len(y), 4, replace=False)] = "A1"
    return Column("category", codes.tolist(), codes.tolist())


def _categories(rng: np.random.Generator, y: Any) -> Column:
    names = rng.choice(CATEGORIES, 4, replace=False)
    texts = names[np.where(rng.random(len(y)) < 0.8, y, 2 + (rng.random(len(y)) < 0.5))]
    return Column("category", texts.tolist(), texts.tolist())


def _shares(rng: np.random.Generator, y: Any) -> Column:
    values = rng.integers(0, 40, len(y)) + 50 * y
    texts = [f"{value} %" for value in values]
    return _with_flaws(rng, "number", texts, values / 100)


def _hours(rng: np.random.Generator, y: Any) -> Column:
    minutes = rng.integers(0, 300, len(y)) + 900 * y
    texts = [f"{m // 60}:{m % 60:02d}" for m in minutes]
    return _with_flaws(rng, "number", texts, minutes / 60)


def _flags(rng: np.random.Generator, y: Any) -> Column:
    yes, no = [("yes", "no"), ("True", "False"), ("ja", "nein")][rng.integers(3)]
    is_yes = (y == 1) ^ (rng.random(len(y)) < 0.1)
    texts = np.where(is_yes, yes, no).tolist()
    return Column("number", texts, is_yes.astype(float).tolist())


MAKERS: dict[str, Callable[..., Column]] = {
    "points": _decimals(".", ""),
    "points and commas": _decimals(".", ","),
    "commas": _decimals(",", ""),
    "commas and points": _decimals(",", "."),
    "commas and spaces": _decimals(",", " "),
    "dates": _dates,
    "codes": _codes,
    "categories": _categories,
    "shares": _shares,
    "hours": _hours,
    "flags": _flags,
}
