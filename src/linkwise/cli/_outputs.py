"""Results on disk: all of them or none, and never half a file."""

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer

from linkwise._typing import IntArray
from linkwise._unfinished import unfinished
from linkwise.cli._data import NO_PYARROW, Table
from linkwise.cli._errors import BadInputError, DiskFullError, is_disk_full

# What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
LABEL_ENDINGS = (".csv", ".tsv", ".npy", ".parquet")

Writer = Callable[[Path], None]


def check_labels_path(path: Path) -> None:
    """Raise a usage error if labels cannot be written under such a name."""
    if path.suffix.lower() not in LABEL_ENDINGS:
        raise typer.BadParameter(
            f"{path} must end in {', '.join(LABEL_ENDINGS)}.", param_hint="--out"
        )


def check_report_path(path: Path | None, option: str) -> None:
    """Raise a usage error if a page cannot be written under such a name."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"{path} must end in .html.", param_hint=option)


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise if a result could not be written, before the work is done.

    A result must not replace what it is made from, nor another result.
    """
    taken = [path.resolve() for path in inputs]
    for path in outputs:
        if path.resolve() in taken:
            raise typer.BadParameter(
                f"{path} is also another file of this command; choose another name."
            )
        taken.append(path.resolve())
        if path.is_dir():
            raise BadInputError(f"{path} is a folder; give the name of a file.")
        folder = path.resolve().parent
        if not folder.is_dir():
            raise BadInputError(f"{path}: there is no folder {folder}; make it first.")
        if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
            raise BadInputError(NO_PYARROW.format(path))
        # Trying is the only sure test: permissions, quotas, read-only mounts.
        probe = unfinished(path.resolve())
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            if is_disk_full(error):
                raise DiskFullError(path) from None
            raise BadInputError(
                f"{path}: the folder cannot be written to: {error.strerror}."
            ) from None


def write_all(
    writers: Sequence[tuple[Path, Writer]], report: Callable[[], None] = lambda: None
) -> None:
    """Write files beside their places, then move all of them in, and report.

    Ctrl-C has no effect any more as soon as the first file is moved.
    """
    # In the folder that a link leads to.
    parts = [unfinished(path.resolve()) for path, _ in writers]
    try:
        for (path, write), part in zip(writers, parts, strict=True):
            try:
                write(part)
            except OSError as error:
                if is_disk_full(error):
                    raise DiskFullError(path) from None
                raise BadInputError(
                    f"{path} cannot be written: {error.strerror or error}."
                ) from None
        with _uninterrupted():
            for (path, _), part in zip(writers, parts, strict=True):
                os.replace(part, path.resolve())
            report()
    finally:
        with _uninterrupted():
            for part in parts:
                part.unlink(missing_ok=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C have no effect inside the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C comes to the main thread only
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def for_excel(frame: Any) -> Any:
    """Return a table in which no text is a formula: they get a single quote before."""

    def safe(value: Any) -> Any:
        is_formula = isinstance(value, str) and value.startswith(_FORMULA)
        return f"'{value}" if is_formula else value

    columns = {name: [safe(value) for value in frame[name]] for name in frame.columns}
    return type(frame)(columns).rename(columns=safe)


def labels_writer(
    path: Path,
    table: Table,
    labels: IntArray,
    names: dict[int, str] | None = None,
    excel_safe: bool = False,
) -> Writer:
    """Return a function that writes the cluster of each row, and its name if any."""

    def write(part: Path) -> None:
        import pandas as pd

        if path.suffix.lower() == ".npy":
            content = io.BytesIO()
            np.save(content, labels)
            # numpy does not say why it could not write to a file.
            part.write_bytes(content.getvalue())
            return
        ids: Sequence[Any] = range(len(labels)) if table.ids is None else table.ids
        name = table.id_column or "row"
        columns = {"id" if name == "cluster" else name: ids, "cluster": labels}
        frame = pd.DataFrame(columns)
        if names:
            frame["cluster_name"] = [names.get(label, "") for label in labels.tolist()]
        frame = for_excel(frame) if excel_safe else frame
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(part, index=False)
        else:
            sep = "\t" if path.suffix.lower() == ".tsv" else ","
            frame.to_csv(part, sep=sep, index=False)

    return write


def bytes_writer(content: bytes) -> Writer:
    """Return a function that writes what is ready."""

    def write(part: Path) -> None:
        part.write_bytes(content)

    return write


def model_writer(model: Any) -> Writer:
    """Return a function that writes a fitted model."""

    def write(part: Path) -> None:
        from linkwise.model_files import save

        save(model, part)

    return write
