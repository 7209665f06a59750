"""The command ``linkwise report``, and the page of ``linkwise cluster --report``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import linkwise
from linkwise.cli._data import Table
from linkwise.cli._embeddings import embeddings_file
from linkwise.cli._inputs import refuse_id_column
from linkwise.cli._outputs import (
    bytes_writer,
    check_outputs,
    check_report_path,
    write_all,
)
from linkwise.cli._pairs import read_pairs
from linkwise.cli._screen import Screen, counted
from linkwise.cli._text_files import TextOptions
from linkwise.constraints import Constraints
from linkwise.tables import ColumnNote


@dataclass(frozen=True)
class ReportJob:
    """What the user asked for."""

    model: Path
    data: Path
    pairs: Path | None
    out: Path
    embeddings: str | None = None
    encoder: str = "auto"
    id_column: str | None = None
    dropped: Sequence[str] = ()
    written: TextOptions = field(default_factory=TextOptions)


def run_report(job: ReportJob, screen: Screen) -> None:
    """Write a page on the clusters that a model gives to the rows of a file."""
    from linkwise.cli._predict import load_model, read_as_fitted, rows_for

    check_report_path(job.out, "--out")
    inputs = [job.model, job.data, job.pairs, *embeddings_file(job.embeddings)]
    check_outputs([job.out], [path for path in inputs if path is not None])
    with screen.notes_of_warnings():
        preparation, model = load_model(job.model, job.encoder)
    if job.data.is_dir() and job.embeddings is None:
        refuse_id_column(job.data, job.id_column)
    table = read_as_fitted(preparation, job.data, job.id_column, job.written, screen)
    table, features, _ = rows_for(
        preparation, model, job.model, table, job.dropped, job.embeddings, screen
    )
    pairs = Constraints() if job.pairs is None else read_pairs(job.pairs, table)
    notes = (preparation and preparation.columns_) or None
    page = report_of(model, features, pairs, job.pairs, table, notes, screen)
    values: dict[str, Any] = {
        "command": "report",
        "version": linkwise.__version__,
        "model": str(job.model),
        "data": str(job.data),
        "rows": table.n_rows,
        "pairs": pairs.n_must_link + pairs.n_cannot_link,
        "report": str(job.out),
        "bytes": len(page),
    }
    sections = [
        ("data", [counted(table.n_rows, "row")]),
        ("pairs", [f"{values['pairs']:,}"]),
        ("report", [f"{job.out}, {len(page) / 1e6:.1f} MB"]),
    ]
    write_all([(job.out, bytes_writer(page))], lambda: screen.report(values, sections))


def report_of(
    model: Any,
    features: Any,
    pairs: Constraints,
    pairs_path: Path | None,
    table: Table,
    notes: list[ColumnNote] | None,
    screen: Screen,
) -> bytes:
    """Return the page on a fitted model, with the names of the files in it."""
    # It brings matplotlib along, which nothing else here needs.
    from linkwise.plots import report_page

    n_pairs = pairs.n_must_link + pairs.n_cannot_link
    lines = [
        f"{table.path.name}: {counted(table.n_rows, 'row')}, "
        f"{counted(table.frame.shape[1], 'column')}"
    ]
    if pairs_path is not None:
        lines.append(f"{pairs_path.name}: {counted(n_pairs, 'pair')}")
    with screen.notes_of_warnings():
        page = report_page(
            model,
            features,
            pairs,
            table=table.frame,
            ids=table.ids,
            kinds=None if notes is None else {n.name: n.reading for n in notes},
            title=f"Clusters of {table.path.name}",
            lines=lines,
        )
    return page.encode("utf-8")
