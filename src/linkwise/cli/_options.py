"""The arguments and options that commands share, and their checks."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwise.cli._stdin import file_or_stdin

if TYPE_CHECKING:
    from linkwise.cli._text_files import TextOptions

# Headings of the help, in groups so that the columns stay narrow.
COLUMNS, TEXT, SEARCH, OUTPUT = "Columns", "Text files", "Search", "Screen"

_SIZE = re.compile(r"\d+(\.\d*)?\s*([kmgt]i?)?b?", re.IGNORECASE)


class Method(StrEnum):
    """How to use the pairs."""

    KERNEL = "kernel"
    SINGLE = "single"
    MAHALANOBIS = "mahalanobis"


class Search(StrEnum):
    """How candidates are chosen."""

    AUTO = "auto"
    RANDOM = "random"
    FOREST = "forest"
    BAGGED_LINEAR = "bagged_linear"
    GP = "gp"


class FinalStep(StrEnum):
    """What follows the search."""

    AUTO = "auto"
    NONE = "none"
    SOFT = "soft"
    HARD = "hard"


class Kernels(StrEnum):
    """Which base kernels are combined."""

    PAPER = "paper"
    RICH = "rich"


class Selection(StrEnum):
    """How candidates are judged."""

    COMMITTEE = "committee"
    TRAIN = "train"


class Approximation(StrEnum):
    """What is done about many rows."""

    AUTO = "auto"
    EXACT = "exact"
    LANDMARKS = "landmarks"
    WORKING_SET = "working_set"
    NYSTROEM = "nystroem"


class OnConflict(StrEnum):
    """What to do with contradictions."""

    WARN = "warn"
    RAISE = "raise"
    DROP = "drop"


class Dataset(StrEnum):
    """Data sets that come with scikit-learn."""

    BREAST_CANCER = "breast-cancer"
    DIGITS = "digits"
    IRIS = "iris"
    WINE = "wine"


def _positive(seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise typer.BadParameter(f"{seconds} is not a positive number of seconds.")
    return seconds


def _jobs(n_jobs: int) -> int:
    if n_jobs == 0:
        raise typer.BadParameter("0 jobs do nothing; -1 is one for each core.")
    return n_jobs


def _size(text: str | None) -> str | None:
    if text is None or text == "none":
        return text
    # Of zeros alone there is no memory to work in.
    if not _SIZE.fullmatch(text.strip()) or not re.search("[1-9]", text):
        raise typer.BadParameter(
            f"{text!r} is not a size; write for example 500MB, 4GiB, or none."
        )
    return text


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        callback=file_or_stdin,
        help="Rows to cluster: .csv or .tsv (also .gz, .bz2, .xz), .xlsx, .parquet, "
        ".npy, a folder of pictures, or - for a CSV or TSV table from standard input.",
        show_default=False,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=COLUMNS,
        help="Column of DATA that names the rows. It is no feature.",
        show_default=False,
    ),
]
EncoderOf = Annotated[
    str,
    typer.Option(
        "--encoder",
        rich_help_panel=COLUMNS,
        metavar="NAME",
        help="What turns texts into numbers: wordllama (needs linkwise[text]), tfidf "
        "(their words), or a model of sentence-transformers, model2vec or fastembed, "
        "as package:model.",
        show_default="wordllama if installed, else tfidf",
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        rich_help_panel=COLUMNS,
        help="Do not keep the numbers of many texts in .linkwise-cache beside DATA.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        rich_help_panel=COLUMNS,
        metavar="NAMES",
        help="Use only these columns; commas between them, or repeat the option.",
        show_default=False,
    ),
]
DropColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--drop-column",
        rich_help_panel=COLUMNS,
        metavar="NAME",
        help="Leave out a column; repeat the option for more.",
        show_default=False,
    ),
]
AsKind = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        rich_help_panel=COLUMNS,
        metavar="NAME=KIND",
        help="What a column holds, if it is not seen: number, category, text, date "
        "(date dmy: day first, date mdy: month first) or id; repeat the option for "
        "more.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        rich_help_panel=COLUMNS,
        help="Refuse columns that are not complete numbers.",
    ),
]
StrictRows = Annotated[
    bool,
    typer.Option(
        "--strict",
        rich_help_panel=COLUMNS,
        help="Refuse values that cannot be read or were not seen when the model was "
        "fitted.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        rich_help_panel=COLUMNS,
        metavar="VALUE",
        help="A value that means nothing is known, such as unknown or -99; repeat the "
        "option for more.",
        show_default="empty; NA and the like among numbers and dates",
    ),
]
EmbeddingsOf = Annotated[
    str | None,
    typer.Option(
        "--embeddings",
        metavar="FILE",
        rich_help_panel=COLUMNS,
        help="Cluster by these numbers; people still see DATA. An .npy, .parquet or "
        ".csv file with one row for each row of DATA (in its order, or with the "
        '--id-column), or columns of DATA such as "emb_*".',
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=TEXT,
        metavar="MARK",
        help="Between the fields of DATA; tab for a tabulator.",
        show_default="found out",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=TEXT,
        metavar="MARK",
        help="Before decimals: a point or a comma.",
        show_default="found out",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=TEXT,
        metavar="NAME",
        help="Encoding of DATA, such as utf-8, utf-16, cp1252.",
        show_default="found out",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        rich_help_panel=TEXT,
        help="Whether the first line of DATA names the columns.",
        show_default="found out",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=TEXT,
        metavar="NAME",
        help="Sheet of an Excel file.",
        show_default="the first",
    ),
]
ClustersToFind = Annotated[
    str,
    typer.Option(
        "--clusters",
        "-k",
        metavar="K",
        help="Number of clusters; auto: as many as groups are found that differ.",
    ),
]
PairsBefore = Annotated[
    Path | None,
    typer.Option(
        "--constraints", "--pairs", "-c", metavar="PAIRS", help="Pairs known before."
    ),
]
Show = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to show, in this order (the page has the others behind them); "
        "commas between them, or repeat the option.",
        show_default="all",
    ),
]
Who = Annotated[str | None, typer.Option(metavar="NAME", help="Who answers.")]
AnswersFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File in which answers are kept.",
        show_default="DATA.linkwise.jsonl",
    ),
]
LabelsFile = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="LABELS",
        help="File for the clusters: .csv, .tsv, .parquet or .npy. It is replaced only "
        "when all went well.",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        rich_help_panel=OUTPUT,
        help="Print one JSON object instead of text; notes and errors are JSON too.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", rich_help_panel=OUTPUT, help="Print nothing but errors."
    ),
]
NoProgress = Annotated[
    bool,
    typer.Option(
        "--no-progress",
        rich_help_panel=OUTPUT,
        help="Show no progress bar (nor is there one for more than 5,000 candidates).",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        max=2**32 - 1,
        metavar="N",
        rich_help_panel=SEARCH,
        help="Seed; the same seed gives the same result.",
    ),
]
Candidates = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=SEARCH,
        help="Combinations of kernels that are tried in a fit.",
    ),
]
NJobs = Annotated[
    int,
    typer.Option(
        callback=_jobs,
        metavar="N",
        rich_help_panel=SEARCH,
        help="Threads; -1 for all cores. The result is the same.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        callback=_positive,
        metavar="SECONDS",
        rich_help_panel=SEARCH,
        help="Then the search ends with the best so far.",
        show_default=False,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        callback=_size,
        metavar="SIZE",
        rich_help_panel=SEARCH,
        help="Memory for kernel matrices, such as 500MB; none for no limit.",
        show_default="4GiB",
    ),
]


def text_options(
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool | None,
    sheet: str | None = None,
) -> "TextOptions":
    """Return how a text file is written, checked."""
    from linkwise.cli._text_files import TextOptions

    if separator is not None:
        separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
        if len(separator) != 1:
            raise typer.BadParameter(
                f"--separator {separator!r} must be one character, or tab."
            )
    if decimal is not None:
        decimal = {"point": ".", "comma": ","}.get(decimal, decimal)
        if decimal not in (".", ","):
            raise typer.BadParameter(f"--decimal {decimal!r} must be . or , alone.")
        if decimal == separator:
            raise typer.BadParameter(
                f"--decimal {decimal!r} is also the --separator; they must differ."
            )
    return TextOptions(separator, decimal, encoding, header, sheet)


def kinds_of_columns(given: list[str] | None) -> dict[str, str]:
    """Return what columns hold, from NAME=KIND."""
    from linkwise.tables import KINDS, ORDERS

    kinds = {}
    for text in given or []:
        name, is_pair, kind = text.rpartition("=")
        allowed = (*KINDS, *ORDERS)
        if not is_pair or kind not in allowed:
            raise typer.BadParameter(
                f"--as {text!r} must be NAME=KIND, with a KIND of {', '.join(allowed)}."
            )
        kinds[name] = kind
    return kinds
