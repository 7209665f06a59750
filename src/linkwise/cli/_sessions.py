"""Sessions of a data file: opened, and written out, for all commands that ask."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwise.cli._data import Table, Wishes, split_names
from linkwise.cli._embeddings import embeddings_file
from linkwise.cli._errors import BadInputError
from linkwise.cli._inputs import read_data
from linkwise.cli._outputs import Writer, for_excel, labels_writer, model_writer
from linkwise.cli._pairs import read_pairs
from linkwise.cli._screen import Screen, counted
from linkwise.cli._text_files import TextOptions
from linkwise.cli._words import in_options
from linkwise.constraints import Constraints


@dataclass(frozen=True)
class SessionJob:
    """What the user asked for, as far as all commands that ask have it in common."""

    data: Path
    n_clusters: int | str
    log: Path | None = None
    pairs: Path | None = None
    show: tuple[str, ...] = ()
    id_column: str | None = None
    who: str | None = None
    wishes: Wishes = field(default_factory=Wishes)
    written: TextOptions = field(default_factory=TextOptions)
    n_candidates: int = 300
    seed: int = 0
    questions: Any = "pair"


class Opened(NamedTuple):
    """A session and where it comes from."""

    session: Any
    table: Table
    shown: list[str]
    preparation: Any  # of the table, None if all were numbers


def beside(data: Path, ending: str) -> Path:
    """Return a file beside the data that is named after them."""
    if data.is_dir():
        return data.resolve().with_name(data.resolve().name + ending)
    stem = data.with_suffix("")
    return stem.with_name(stem.name + ending)


def log_of(job: SessionJob) -> Path:
    """Return the log of a session."""
    return job.log or beside(job.data, ".linkwise.jsonl")


def inputs_of(job: SessionJob) -> list[Path]:
    """Return the files that results must not replace."""
    pairs = [job.pairs] if job.pairs else []
    return [job.data, log_of(job), *pairs, *embeddings_file(job.wishes.embeddings)]


def open_session(job: SessionJob, screen: Screen) -> Opened:
    """Return the session of a data file, which goes on where its log ends."""
    from linkwise.active import LogError, Session
    from linkwise.estimators import KernelCSC

    table, features = read_data(
        job.data, job.id_column, job.written, job.wishes, screen
    )
    if isinstance(job.n_clusters, int) and job.n_clusters > table.n_rows:
        raise BadInputError(
            f"{job.data} has {counted(table.n_rows, 'row')}, too few for "
            f"--clusters {job.n_clusters}."
        )
    if table.n_rows < 2:
        raise BadInputError(f"{job.data} has 1 row: there is nothing to compare.")
    shown = _shown(table, job.show)
    model = KernelCSC(
        job.n_clusters, n_candidates=job.n_candidates, random_state=job.seed
    )
    known = None if job.pairs is None else read_pairs(job.pairs, table)
    try:
        with screen.notes_of_warnings():
            session = Session(
                features.values,
                model,
                ids=table.ids,
                original=table.frame,
                log=log_of(job),
                constraints=None if known is None else _by_id(known, table),
                questions=job.questions,
                random_state=job.seed,
            )
    except LogError as error:
        raise BadInputError(in_options(str(error))) from error
    return Opened(session, table, shown, features.preparation)


def _by_id(pairs: Any, table: Table) -> Any:
    """Return pairs that name ids, as a session takes them."""
    if table.ids is None:
        return pairs
    names = np.array(table.ids, dtype=object)
    return Constraints(
        names[pairs.must_link],
        names[pairs.cannot_link],
        pairs.must_link_weight,
        pairs.cannot_link_weight,
    )


def _shown(table: Table, given: tuple[str, ...]) -> list[str]:
    columns = [str(name) for name in table.frame.columns]
    names = split_names(given, columns)
    missing = [name for name in names if name not in columns]
    if missing:
        raise BadInputError(
            f"--show {missing[0]}: {table.path} has no such column; it has "
            f"{', '.join(columns[:20])}."
        )
    return names or columns


def pairs_writer(session: Any, excel_safe: bool = False) -> Writer:
    """Return a function that writes the pairs that count."""
    import pandas as pd

    def write(part: Path) -> None:
        pairs = session.constraints_
        rows = [
            (session.ids[i], session.ids[j], kind, weight)
            for ends, weights, kind in (
                (pairs.must_link, pairs.must_link_weight, "must-link"),
                (pairs.cannot_link, pairs.cannot_link_weight, "cannot-link"),
            )
            for (i, j), weight in zip(ends.tolist(), weights.tolist(), strict=True)
        ]
        columns = ["i", "j", "kind", "weight"]
        frame = pd.DataFrame(rows, columns=columns)
        (for_excel(frame) if excel_safe else frame).to_csv(part, index=False)

    return write


def result_writers(opened: Opened, excel_safe: bool = False) -> dict[str, Writer]:
    """Return what can be taken along of a session, by the names of its files."""
    session, table = opened.session, opened.table
    writers: dict[str, Writer] = {"pairs.csv": pairs_writer(session, excel_safe)}
    if not session.is_fitted:
        return writers
    labels = session.labels_
    writers["labels.csv"] = labels_writer(
        Path("labels.csv"), table, labels, session.names, excel_safe
    )
    writers["clusters.csv"] = _clusters_writer(session, labels, excel_safe)
    if session.model_ is not None:
        from linkwise.cli._cluster import with_preparation

        model = with_preparation(opened.preparation, session.model_)
        writers["model.linkwise"] = model_writer(model)
    writers["report.html"] = _text_writer(lambda: _report(opened))
    return writers


def _clusters_writer(session: Any, labels: Any, excel_safe: bool) -> Writer:
    """Return a function that writes what clusters are called, also by the model.

    A session keeps the ids of clusters over all fits; a model numbers them from 0.
    """
    import pandas as pd

    def write(part: Path) -> None:
        found, sizes = np.unique(labels, return_counts=True)
        columns: dict[str, Any] = {"cluster": found, "rows": sizes}
        columns["name"] = [session.names.get(int(c), "") for c in found]
        if session.model_ is not None:
            own = session.model_.labels_
            columns["predicted_as"] = [
                np.bincount(own[labels == c]).argmax() for c in found
            ]
        frame = pd.DataFrame(columns)
        (for_excel(frame) if excel_safe else frame).to_csv(part, index=False)

    return write


def _report(opened: Opened) -> str:
    """Return the clusters as a page."""
    from linkwise.plots import report_page

    session, table = opened.session, opened.table
    return report_page(
        session.model_,
        session.X_,
        session.constraints_,
        table=table.frame,
        ids=session.ids.tolist(),
        labels=session.labels_,
        names=session.names,
        title=f"Clusters of {table.path.name}",
        lines=[session.criterion, session.status().sentence],
    )


def _text_writer(make: Callable[[], str]) -> Writer:
    def write(part: Path) -> None:
        part.write_text(make(), encoding="utf-8")

    return write
