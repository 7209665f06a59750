"""The command ``linkwise label``: a local page in which a person makes the pairs."""

import contextlib
import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from linkwise.cli._data import Table
from linkwise.cli._errors import BadInputError
from linkwise.cli._outputs import check_outputs, write_all
from linkwise.cli._screen import Screen, counted
from linkwise.cli._sessions import (
    Opened,
    SessionJob,
    inputs_of,
    log_of,
    open_session,
    result_writers,
)
from linkwise.cli._stdin import STDIN

_KINDS = {".csv": "text/csv", ".html": "text/html", ".jsonl": "application/jsonl"}
# What an export is made of, if there are clusters.
_FILES = ("pairs.csv", "labels.csv", "clusters.csv", "model.linkwise", "report.html")
_NO_ANSWERS = (
    "{} holds no answers yet, so there is nothing to write. Answer some questions "
    "first: the same command without --export."
)


@dataclass(frozen=True)
class LabelJob(SessionJob):
    """What the user asked for."""

    images: Path | None = None
    criterion: str | None = None
    host: str = "127.0.0.1"
    port: int = 0
    browser: bool = True
    export: Path | None = None
    merge: tuple[Path, ...] = ()
    excel_safe: bool = False


def run_label(job: LabelJob, screen: Screen) -> None:
    """Open the page, or write the results, or join logs."""
    if job.data == STDIN:
        raise typer.BadParameter("DATA must be a file: answers are kept beside it.")
    needs_page = job.export is None and not job.merge
    if needs_page:
        require_extra()
    if job.images is not None and not job.images.is_dir():
        raise BadInputError(f"--images {job.images}: there is no such folder.")
    for path in job.merge:
        if not path.is_file():
            raise BadInputError(f"--merge {path}: there is no such file.")
    if job.export is not None:
        _check_folder(job)
    log = log_of(job)
    if job.export is not None and not job.merge and not log.exists():
        raise BadInputError(_NO_ANSWERS.format(log))
    if needs_page and not screen.quiet:
        typer.echo(f"Reading {job.data} ...", err=True)
    opened = open_session(job, screen)
    with opened.session:
        if job.criterion is not None:
            opened.session.describe(job.criterion)
        if job.merge:
            _join(opened, job, screen)
        if job.export is not None:
            _export(opened, job.export, job.excel_safe, screen)
        elif needs_page:
            _serve(opened, job, screen)


def require_extra() -> None:
    """Raise if the packages of the page are not there."""
    needed = ("starlette", "uvicorn")
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise BadInputError(
            "The page needs two more packages. Install them with "
            "`pip install linkwise[label]`; `linkwise ask` needs none of them."
        )


def _check_folder(job: LabelJob) -> None:
    folder = job.export
    assert folder is not None
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"--export {folder}: it is a file; give a folder.")
    if folder.is_dir():
        inputs = [*inputs_of(job), *job.merge]
        check_outputs([folder / name for name in _FILES], inputs)
    elif not folder.resolve().parent.is_dir():
        raise BadInputError(
            f"--export {folder}: there is no folder {folder.resolve().parent}."
        )


def _join(opened: Opened, job: LabelJob, screen: Screen) -> None:
    from linkwise.active import LogError

    own = opened.session.log.path.resolve()
    values: dict[str, Any] = {}
    lines = []
    for path in job.merge:
        if path.resolve() == own:
            raise BadInputError(f"--merge {path}: this is the log itself.")
        try:
            counts = opened.session.join(path)
        except LogError as error:
            raise BadInputError(str(error)) from error
        values[str(path)] = counts
        lines.append(
            f"{path}: {counted(counts['taken'], 'answer')} taken, "
            f"{counts['conflicts']} contradict others, {counts['before']} were here, "
            f"{counts['lost']} are about rows that are not"
        )
    found = opened.session.agreement()
    if found.n_pairs:
        alpha = "" if found.alpha is None else f", alpha {found.alpha:.2f}"
        lines.append(
            f"{counted(found.n_pairs, 'pair')} judged by several: they agree on "
            f"{found.share:.0%}{alpha}"
        )
    if job.export is None:
        report = {"command": "label", "joined": values, "agreement": found._asdict()}
        screen.report(report, [("joined", lines)])


def _export(opened: Opened, folder: Path, excel_safe: bool, screen: Screen) -> None:
    session = opened.session
    if session.constraints_.is_empty:
        raise BadInputError(_NO_ANSWERS.format(session.log.path))
    with screen.notes_of_warnings():
        session.fit()
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        writers = result_writers(opened, excel_safe)
        write_all([(folder / name, write) for name, write in writers.items()])
    except BaseException:
        if made:
            folder.rmdir()
        raise
    status = session.status()
    written = [str(folder / name) for name in writers]
    values = {
        "command": "label",
        "answers": status.n_answers,
        "clusters": len(set(session.labels_.tolist())),
        "conflicts": status.n_conflicts,
        "enough": status.enough,
        "written": written,
    }
    answers = f"{counted(status.n_answers, 'answer')}; {status.sentence}"
    screen.report(values, [("answers", [answers]), ("written", written)])


def _serve(opened: Opened, job: LabelJob, screen: Screen) -> None:
    from linkwise.label import FolderPictures, Rows

    table, session = opened.table, opened.session
    pictures = None
    if table.has_pictures and job.images is None:
        pictures = FolderPictures(job.data, table.frame.iloc[:, :0], session.ids)
    elif job.images is not None:
        pictures = FolderPictures(job.images, table.frame, session.ids)
        _tell_pictures(pictures, job.images, table, screen)
    rows = Rows(table.frame, session.ids, opened.shown if job.show else (), pictures)
    name = f"linkwise label {job.data}"
    serve_page(opened, rows, job, f"{name} --export results", screen)


def _tell_pictures(pictures: Any, folder: Path, table: Table, screen: Screen) -> None:
    """Say how many rows have no picture."""
    n_found = pictures.n_found
    if n_found == table.n_rows:
        return
    said = f"--images {folder}: {n_found:,} of {table.n_rows:,} pictures found."
    if not n_found:
        said += (
            f" A cell of each row, or its id, such as {table.name_of(0)}, names the "
            "file, with or without its ending."
        )
    screen.note(said)


def serve_page(
    opened: Opened, rows: Any, job: LabelJob, then: str, screen: Screen
) -> None:
    """Serve the page of a session until Ctrl-C."""
    from linkwise.label import Desk, is_local, open_browser, open_place, serve

    desk = Desk(opened.session, rows, job.who)
    try:
        with contextlib.ExitStack() as stack:
            try:
                place, opened_socket = stack.enter_context(
                    open_place(job.host, job.port, opened.session.log.path)
                )
            except (OSError, UnicodeError) as error:
                where = f"--host {job.host}" + (f" --port {job.port}" * bool(job.port))
                why = getattr(error, "strerror", None) or error
                raise BadInputError(f"{where}: {why}.") from None
            if not is_local(job.host):
                typer.secho(
                    f"warning: --host {job.host}: others in the network reach this "
                    "page, unencrypted; whoever has the address below can see and "
                    "change everything.",
                    fg=typer.colors.YELLOW,
                    err=True,
                )

            def ready() -> None:
                log = opened.session.log.path
                if screen.as_json:
                    values = {"command": "label", "url": place.url, "log": str(log)}
                    screen.report(values, [])
                else:
                    typer.echo(f"The page is at  {place.url}")
                    typer.echo(f"Answers go to   {log}")
                    typer.echo("Ctrl-C ends it.")
                if job.browser:
                    open_browser(place)

            downloads = _downloads(opened, desk.lock, job.excel_safe)
            serve(desk, place, opened_socket, downloads, ready)
    finally:
        desk.close()
    if not screen.as_json:
        typer.echo(f"Started again, it goes on. For the results: {then}")


def _downloads(
    opened: Opened, lock: Any, excel_safe: bool
) -> Callable[[str], tuple[bytes, str]]:
    """Return a function that makes a file for the page."""

    def make(name: str) -> tuple[bytes, str]:
        kind = _KINDS.get(Path(name).suffix, "application/octet-stream")
        session = opened.session
        if name == "log.jsonl":
            with lock:
                return session.log.path.read_bytes(), kind
        if name not in _FILES:
            raise ValueError(f"There is no file {name[:80]!r} to download.")
        with lock:
            writers = result_writers(opened, excel_safe)
        if name not in writers:
            raise ValueError(f"{name} comes with the clusters: there are none yet.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            with lock:
                writers[name](path)
            return path.read_bytes(), kind

    return make
