"""Data files: read, checked, and every complaint with its place and its remedy."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

import numpy as np
import pandas as pd
import typer

from linkwise._typing import BoolArray, FloatArray
from linkwise.cli._endings import unknown_ending
from linkwise.cli._errors import BadInputError
from linkwise.cli._excel import EXCEL, read_sheet
from linkwise.cli._screen import Screen, counted, listed
from linkwise.cli._stdin import STDIN
from linkwise.cli._text_files import (
    TextFile,
    TextOptions,
    extension,
    line_of_row,
    made_text,
    open_text,
    reading,
    recognised,
    records,
    refuse_ragged,
    require_file,
)
from linkwise.exceptions import TableWarning
from linkwise.tables import (
    ColumnNote,
    PicturePreparation,
    Reading,
    TablePreparation,
    is_id_like,
    note_of,
    with_gaps,
)

# Before pandas 3.1 the default is off by a last digit now and then.
_HAS_EXACT_FLOATS = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
_EXACT_FLOATS: dict[str, Any] = (
    {} if _HAS_EXACT_FLOATS else {"float_precision": "round_trip"}
)
_TEXT = (".csv", ".tsv")
# Rows that are looked at together.
_BLOCK = 16_384
# What is missing, and how to get it; the place is for the file.
NO_PYARROW = (
    "{}: Parquet files need pyarrow. Install it with `pip install 'linkwise[parquet]'`."
)
_PARQUET = (".parquet", ".pq")
# Folder beside the data for the rows of many texts.
CACHE = ".linkwise-cache"
_ACCEPTED = ".csv, .tsv (both also .gz, .bz2, .xz), .xlsx, .parquet or .npy"


@dataclass(frozen=True)
class Table:
    """The content of a data file, its id column set apart."""

    path: Path
    frame: pd.DataFrame
    has_names: bool
    id_column: str | None = None
    ids: list[Any] | None = None
    text: TextFile | None = None
    # The mark before decimals, if a person said it or it was seen to be a comma.
    decimal: str | None = None
    # Other sheets of an Excel file.
    other_sheets: Sequence[str] = ()
    # Where the first row of data stands in the sheet of an Excel file.
    first_row: int | None = None
    # Whether the rows are the pictures of a folder, and their names the ids.
    has_pictures: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def place(self, row: int) -> str:
        """Return where in the file a row stands."""
        if self.first_row is not None:
            return f"row {self.first_row + row} of the sheet"
        if self.text is not None:
            return f"line {line_of_row(self.text, row)}"
        return f"row {row} (counted from 0)"

    def where(self, row: int) -> str:
        """Return the file and the place of a row."""
        return f"{self.path}, {self.place(row)}"

    def listed_columns(self, limit: int = 10) -> str:
        """Return the names of the columns, and of sheets that may have others."""
        found = listed(list(self.frame.columns), limit)
        if self.other_sheets:
            found += f". Other sheets (--sheet NAME): {listed(self.other_sheets)}"
        return found

    def with_frame(self, frame: pd.DataFrame) -> "Table":
        """Return a table of the same rows with other columns."""
        return replace(self, frame=frame)

    def name_of(self, row: int) -> str:
        """Return the id of a row, its number without ids."""
        return str(row if self.ids is None else self.ids[row])


def read_table(
    path: Path,
    id_column: str | None,
    written: TextOptions,
    screen: Screen,
    as_text: Collection[str] = (),
    needs_id_column: bool = True,
) -> Table:
    """Return the content of a data file; its ending tells the format.

    Columns named in ``as_text`` are texts, whatever they look like: 007 is not 7.
    Unless it is needed, the id column may be missing; there are no ids then.
    """
    require_file(path)
    ending = extension(path)
    if written.sheet is not None and ending not in EXCEL:
        raise typer.BadParameter(
            f"--sheet {written.sheet!r}: {path} has no sheets; only files that end in "
            f"{' or '.join(EXCEL)} have."
        )
    if ending == ".npy":
        table = Table(path, _read_npy(path), has_names=False)
    elif ending in _PARQUET:
        table = Table(path, _read_parquet(path, id_column), has_names=True)
    elif ending in EXCEL:
        sheet = read_sheet(path, written.sheet)
        text = made_text(path, sheet.content, written)
        first_row = sheet.first_row + text.has_header
        table = replace(
            _text_table(text, id_column, written, as_text),
            first_row=first_row,
            other_sheets=sheet.others,
        )
    elif ending in _TEXT or path == STDIN:
        with reading(path):
            text = recognised(path, written)
        table = _text_table(text, id_column, written, as_text)
    else:
        raise unknown_ending(path, f"Data files end in {_ACCEPTED}")
    if table.text is not None and not table.has_names and written.header is None:
        screen.note(
            f"the first line of {path} holds nothing but numbers and is taken for a "
            "row; if it names the columns, say --header."
        )
    if table.n_rows == 0:
        raise BadInputError(f"{path} has no rows of data.")
    if id_column is None:
        return table
    if id_column not in table.frame.columns and not needs_id_column:
        return table
    return _with_ids(table, id_column)


def _text_table(
    text: TextFile,
    id_column: str | None,
    written: TextOptions,
    as_text: Collection[str],
) -> Table:
    frame = _read_text(text, {*as_text, id_column} - {None})
    decimal = written.decimal or ("," if text.decimal == "," else None)
    return Table(text.path, frame, text.has_header, text=text, decimal=decimal)


def _read_text(file: TextFile, as_text: Collection[Any]) -> pd.DataFrame:
    frame = _parsed(file, dtype=dict.fromkeys(as_text, str))
    for mark in (";", "\t", "|"):
        if frame.shape[1] == 1 and mark in str(frame.columns[0]):
            raise BadInputError(
                f"{file.path} seems to have {mark!r} between its fields, but not "
                "equally many in all lines. Say what it is with --separator."
            )
    for name in frame.columns:
        if name in as_text:
            frame[name] = frame[name].str.strip()
        elif not pd.api.types.is_numeric_dtype(frame[name].dtype):
            frame[name] = with_gaps(frame[name], file.decimal)
    return frame


def _parsed(file: TextFile, **options: Any) -> pd.DataFrame:
    """Return what pandas reads; where it would guess, complain."""
    first = next(records(file), None)
    if first is None:
        raise BadInputError(f"{file.path} is empty.")
    n_columns = len(first[1])
    n_rows = None
    if n_columns == 1:
        # An empty line is a gap, but for those before and after all others.
        n_rows = sum(1 for _ in records(file)) - file.has_header
        options |= {"skip_blank_lines": False, "skiprows": first[0] - 1}
    if not file.has_header:
        options |= {"header": None, "names": [str(i) for i in range(n_columns)]}
    with open_text(file) as opened, warnings.catch_warnings():
        # Rows with more fields than the header would be cut.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        source: Any = _Source(opened)
        try:
            frame = pd.read_csv(
                source,
                sep=file.separator,
                decimal=file.decimal,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                # Words such as NA may be values: what a column holds decides.
                keep_default_na=False,
                na_values=[""],
                **_EXACT_FLOATS,
                **options,
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            if "Calling read" in str(error):
                # If nothing went wrong in it, then on the way there: Ctrl-C.
                raise source.error or KeyboardInterrupt from None
            refuse_ragged(file)
            text = str(error).removeprefix("Error tokenizing data. C error: ")
            raise BadInputError(f"{file.path} cannot be read: {text}.") from None
    return frame if n_rows is None else frame.iloc[:n_rows]


class _Source:
    """A text that is read; pandas forgets what went wrong there, Ctrl-C too."""

    def __init__(self, opened: TextIO) -> None:
        self._opened = opened
        self.error: BaseException | None = None

    def read(self, size: int = -1) -> str:
        """Return the next part of the text."""
        try:
            return self._opened.read(size)
        except BaseException as error:
            self.error = error
            raise

    def __iter__(self) -> Iterator[str]:
        """Yield lines; pandas asks for it to see that this is a file."""
        return iter(self._opened)


def _read_parquet(path: Path, id_column: str | None) -> pd.DataFrame:
    # It brings all of the doors along, which other formats do not need.
    from linkwise.doors._parquet import read_numbers

    try:
        numbers = read_numbers(path, id_column)
        if numbers is not None:
            return _frame_of(*numbers, id_column)
        frame = pd.read_parquet(path)
    except ImportError:
        raise BadInputError(NO_PYARROW.format(path)) from None
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise BadInputError(f"{path} is not a Parquet file: {reason}") from None
    if id_column is not None and frame.index.name == id_column:
        frame = frame.reset_index()
    return frame.set_axis(frame.columns.map(str), axis=1)


def _frame_of(
    names: list[str], values: FloatArray, ids: Any, id_column: str | None
) -> pd.DataFrame:
    """Return a frame that shares the memory of the values."""
    frame = pd.DataFrame(values, columns=names, copy=False)
    if ids is not None:
        frame[id_column] = ids
    return frame


def _read_npy(path: Path) -> pd.DataFrame:
    try:
        # Mapped, not read: a file may be larger than memory.
        array = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as error:
        if "Python objects" in str(error):
            raise BadInputError(
                f"{path} holds Python objects, which are not loaded because they can "
                "run code. Save numbers: np.save(path, array.astype(float))."
            ) from None
        raise BadInputError(f"{path} is not an .npy file: {error}.") from None
    if array.ndim != 2:
        raise BadInputError(
            f"{path} holds an array of shape {array.shape}: it must have two "
            "dimensions, rows and features."
        )
    if array.dtype.kind not in "biuf":
        raise BadInputError(f"{path} holds {array.dtype} values, not real numbers.")
    names = [str(i) for i in range(array.shape[1])]
    return pd.DataFrame(array, columns=names, copy=False)


def _with_ids(table: Table, id_column: str) -> Table:
    """Return the table with the id column set apart; ids are unique and complete."""
    if not table.has_names and table.text is None:
        raise BadInputError(
            f"{table.path}: an .npy file has no column names for --id-column; name "
            "rows by their numbers, from 0."
        )
    if id_column not in table.frame.columns:
        raise BadInputError(
            f"{table.path} has no column {id_column!r} for --id-column; it has "
            f"{table.listed_columns()}."
        )
    column = table.frame[id_column]
    missing = np.flatnonzero((column.isna() | (column.astype(str) == "")).to_numpy())
    if len(missing):
        raise BadInputError(
            f"{table.where(int(missing[0]))}: the id in column {id_column!r} is "
            f"missing ({counted(len(missing), 'missing id')} in all). "
            "Give every row an id."
        )
    repeated = np.flatnonzero(column.duplicated().to_numpy())
    if len(repeated):
        value = column.iloc[repeated[0]]
        first = int(np.flatnonzero((column == value).to_numpy())[0])
        raise BadInputError(
            f"{table.where(int(repeated[0]))}: the id {value!r} was used before, in "
            f"{table.place(first)}. The ids in column "
            f"{id_column!r} must be unique."
        )
    frame = table.frame.drop(columns=id_column)
    return replace(table, frame=frame, id_column=id_column, ids=_as_ids(column))


def _as_ids(column: "pd.Series[Any]") -> list[Any]:
    """Return integers if all ids are, else texts: the two that a pairs file can name.

    An id such as 007 is a text, and so are then all others.
    """
    values = column.tolist()
    if column.dtype.kind == "f" and all(value.is_integer() for value in values):
        values = [int(value) for value in values]
    texts = [str(value) for value in values]
    if all(text.removeprefix("-").isdecimal() for text in texts):
        numbers = [int(text) for text in texts]
        if [str(number) for number in numbers] == texts:
            return numbers
    return texts


class Wishes(NamedTuple):
    """What a person says about columns."""

    columns: Sequence[str] = ()  # to use; all if there are none
    dropped: Sequence[str] = ()  # to leave out
    kinds: Mapping[str, str] = MappingProxyType({})  # what columns hold
    strict: bool = False  # nothing but complete columns of numbers
    missing: Sequence[str] = ()  # values that are missing in any column
    embeddings: str | None = None  # a file, or a pattern for columns
    encoder: str = "auto"  # of texts
    cache: bool = True  # whether rows of texts may be kept beside the data
    views: bool = True  # whether texts are views of their own

    @property
    def as_text(self) -> list[str]:
        """Columns whose texts count: 007 is not the category 7."""
        return [name for name, kind in self.kinds.items() if kind != "number"]


class Features(NamedTuple):
    """What rows are clustered by."""

    # (n_rows, n_features), finite; a frame if the file names columns; several views
    # are a list of them.
    values: Any
    notes: list[ColumnNote]
    # Unless all were numbers already.
    preparation: TablePreparation | PicturePreparation | None = None
    embeddings: Any = None  # Embeddings, if they decide in place of the columns

    @property
    def width(self) -> int:
        """Number of columns of all views."""
        return sum(view.shape[1] for view in views_of(self.values))


def views_of(values: Any) -> list[Any]:
    """Return the views of features; one matrix is one view."""
    return values if isinstance(values, list) else [values]


def read_features(table: Table, wishes: Wishes, screen: Screen) -> Features:
    """Return the features of a table, prepared if they are not complete numbers."""
    frame = chosen_columns(table, wishes)
    if wishes.strict:
        if wishes.missing:
            raise typer.BadParameter("--missing: with --strict nothing may be missing.")
        return Features(check_features(table, frame), _as_numbers(frame))
    frame = _with_thousands(table, frame, screen)
    named = set(resolve_names(table, wishes.columns, "--columns")) | set(wishes.kinds)
    if _is_plain(frame) and not wishes.kinds and not wishes.missing:
        left_out = [
            ColumnNote(str(name), Reading("id"))
            for name in frame.columns
            if name not in named and is_id_like(str(name), frame[name])
        ]
        if len(left_out) == frame.shape[1]:
            left_out = []  # counting rows is all there is
        for note in left_out:
            screen.note(
                f"column {note.name!r} of {table.path} only names the rows and is left "
                f"out; --as {_quoted(note.name)}=number takes it in, "
                f"--id-column {_quoted(note.name)} lets pairs use it."
            )
        if left_out:
            frame = frame.drop(columns=[note.name for note in left_out])
        return Features(check_features(table, frame), left_out + _as_numbers(frame))
    if table.text is not None:
        refuse_ragged(table.text)
    numbers = frame.select_dtypes("number")
    infinite = np.isinf(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    _refuse_where(table, numbers, infinite, "infinite value", "Replace")
    preparation = TablePreparation(
        dict(wishes.kinds) or None,
        decimal=table.decimal,
        missing=list(wishes.missing) or None,
        encoder=wishes.encoder,
        views=wishes.views,
    )
    preparation.set_output(transform="pandas")
    cache = None
    if wishes.cache and table.path != STDIN:
        cache = table.path.absolute().parent / CACHE
    with warnings.catch_warnings():
        # The notes of the columns say it.
        warnings.simplefilter("ignore", TableWarning)
        try:
            with screen.bar("texts") as progress:
                values = preparation.fit_transform(
                    frame, cache=cache, progress=progress
                )
        except ValueError as error:
            raise BadInputError(f"{table.path}: {error}") from None
    _note_encoder(preparation, wishes, screen)
    return Features(values, preparation.columns_, preparation)


def _note_encoder(
    preparation: TablePreparation, wishes: Wishes, screen: Screen
) -> None:
    """Say what an encoder would bring, or that there is nothing for it to do."""
    used = preparation.encoder_
    if used is None and wishes.encoder != "auto":
        screen.note(f"--encoder {wishes.encoder}: no column holds texts to encode.")
    if used is not None and wishes.encoder == "auto" and used.name == "tfidf":
        screen.note(
            "texts are compared by their words; by meaning with pip install "
            "'linkwise[text]' (--encoder tfidf: words are wanted)."
        )


def _with_thousands(table: Table, frame: pd.DataFrame, screen: Screen) -> pd.DataFrame:
    """Return columns as texts that were read as decimals but are thousands.

    "1.092" may be either where commas do not part the fields; what else stands in the
    column tells.
    """
    if table.text is None or table.text.separator == ",":
        return frame
    names = [name for name in frame.columns if _may_be_thousands(frame[name])]
    if not names:
        return frame
    texts = _parsed(table.text, usecols=names, dtype=str)
    for name in names:
        note, _ = note_of(str(name), texts[name], decimal=table.decimal)
        if note.kind == "number" and note.reading.decimal != table.text.decimal:
            frame = frame.assign(**{str(name): texts[name]})
        elif ";" in note.detail and table.decimal is None:
            shown = note.detail.partition("; ")[2]
            screen.note(
                f"column {name!r} of {table.path}: {shown}; --decimal , reads it "
                "otherwise."
            )
    return frame


def _may_be_thousands(column: "pd.Series[Any]") -> bool:
    """Tell whether all decimals of a column could be groups of three digits."""
    if not pd.api.types.is_float_dtype(column.dtype):
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.abs(values[np.isfinite(values)])
    values = values[values % 1 != 0]
    if not len(values) or values.max() >= 1000 or values.min() < 1:
        return False
    thousandfold = 1000 * values
    return bool((np.abs(thousandfold - thousandfold.round()) < 1e-6).all())


def chosen_columns(table: Table, wishes: Wishes) -> pd.DataFrame:
    """Return the columns to use."""
    chosen = resolve_names(table, wishes.columns, "--columns")
    left_out = set(resolve_names(table, wishes.dropped, "--drop-column"))
    names = [n for n in chosen or table.frame.columns if n not in left_out]
    if not names:
        raise BadInputError(f"{table.path}: no column is left to cluster by.")
    for name in resolve_names(table, list(wishes.kinds), "--as"):
        if name not in names:
            raise BadInputError(f"--as {name}: the column is left out.")
    # A choice of all columns would copy them.
    is_all = names == list(table.frame.columns)
    return table.frame if is_all else table.frame[names]


def _as_numbers(frame: pd.DataFrame) -> list[ColumnNote]:
    return [ColumnNote(str(name), Reading("number")) for name in frame.columns]


def _is_plain(frame: pd.DataFrame) -> bool:
    """Tell whether all columns are complete numbers."""
    # Column by column: a copy of all would be the largest thing in memory.
    return all(
        pd.api.types.is_numeric_dtype(column.dtype)
        and np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan)).all()
        for _, column in frame.items()
    )


def check_features(table: Table, frame: pd.DataFrame) -> pd.DataFrame | FloatArray:
    """Return features as estimators take them if they are finite numbers, else raise.

    Returns
    -------
    DataFrame or ndarray of shape (n_rows, n_features)
        A frame if the file names its columns. float32 if all columns are, else
        float64; columns that are one array already are not copied.
    """
    _refuse_text(table, frame)
    values = values_of(frame)
    if not all(np.isfinite(block).all() for block in row_blocks(values)):
        _refuse_where(table, frame, np.isnan(values), "missing value", "Fill in")
        _refuse_where(table, frame, np.isinf(values), "infinite value", "Replace")
    if not table.has_names:
        return values
    return pd.DataFrame(values, columns=frame.columns, copy=False)


def values_of(frame: pd.DataFrame) -> FloatArray:
    """Return columns of numbers as one array, float32 if all of them are."""
    kinds = set(frame.dtypes)
    if kinds in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        return frame.to_numpy()
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def row_blocks(values: Any) -> Iterator[Any]:
    """Yield rows a block at a time: what is made of all would be as large as they."""
    for first in range(0, len(values), _BLOCK):
        yield values[first : first + _BLOCK]


def split_names(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names in the values of an option, each a name or a list of names."""
    names = []
    for text in given:
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return names


def resolve_names(table: Table, given: Sequence[str], option: str) -> list[str]:
    """Return column names from the values of an option, each a name or a list."""
    known = set(table.frame.columns)
    names = split_names(given, known)
    # Leaving out the id column is no error: it is no feature anyway.
    names = [name for name in names if name != table.id_column]
    for name in names:
        if name not in known:
            raise BadInputError(
                f"{table.path} has no column {name!r} for {option}; it has "
                f"{table.listed_columns(30)}."
            )
    return list(dict.fromkeys(names))


def _refuse_text(table: Table, frame: pd.DataFrame) -> None:
    wrong = [
        str(name)
        for name in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[name].dtype)
    ]
    if not wrong:
        return
    if table.text is not None:
        refuse_ragged(table.text)
    lines = []
    for name in wrong[:10]:
        column = frame[name]
        is_number = pd.to_numeric(column, errors="coerce").notna() | column.isna()
        # A column of nothing but dates or of gaps is no number either.
        row = int(np.argmin(is_number.to_numpy()))
        value = str(column.iloc[row])
        lines.append(f"  {name}: {value!r} in {table.place(row)}")
    more = [f"  and {len(wrong) - 10} more"] if len(wrong) > 10 else []
    options = " ".join(f"--drop-column {_quoted(name)}" for name in wrong[:10])
    raise BadInputError(
        f"{table.path}: {counted(len(wrong), 'column')} "
        f"{'does' if len(wrong) == 1 else 'do'} not hold numbers:\n"
        + "\n".join([*lines, *more])
        + f"\nEncode them as numbers, or leave them out: {options}"
        + ("" if table.ids is not None else " (a column of ids: --id-column NAME)")
    )


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _refuse_where(
    table: Table, frame: pd.DataFrame, wrong: BoolArray, what: str, remedy: str
) -> None:
    """Raise if any value is wrong, naming the first."""
    if not wrong.any():
        return
    if table.text is not None:
        refuse_ragged(table.text)
    row, column = np.argwhere(wrong)[0].tolist()
    name = frame.columns[column]
    n_columns = int(wrong.any(axis=0).sum())
    raise BadInputError(
        f"{table.where(row)}, column {name!r}: {what} "
        f"({counted(int(wrong.sum()), what)} in {counted(n_columns, 'column')} in "
        f"all). {remedy} them, remove those rows, or leave the "
        f"{'column' if n_columns == 1 else 'columns'} out with --drop-column."
    )
