"""The command ``linkwise predict``."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

import linkwise
from linkwise.cli._data import (
    Table,
    Wishes,
    check_features,
    chosen_columns,
    read_table,
    views_of,
)
from linkwise.cli._embeddings import embeddings_file, with_embeddings
from linkwise.cli._errors import BadInputError
from linkwise.cli._inputs import read_rows, refuse_id_column, refuse_idle
from linkwise.cli._outputs import (
    check_labels_path,
    check_outputs,
    labels_writer,
    write_all,
)
from linkwise.cli._pictures import described
from linkwise.cli._screen import Screen, Section, counted, listed
from linkwise.cli._text_files import TextOptions, require_file
from linkwise.cli._words import cluster_sizes
from linkwise.exceptions import TableWarning
from linkwise.model_files import ModelFileError, load
from linkwise.tables import PicturePreparation, TablePreparation

Preparation = TablePreparation | PicturePreparation | None


def run_predict(
    model_path: Path,
    data: Path,
    out: Path,
    id_column: str | None,
    dropped: Sequence[str],
    written: TextOptions,
    screen: Screen,
    strict: bool = False,
    embeddings: str | None = None,
    encoder: str = "auto",
) -> None:
    """Give the rows of a file the clusters of a model, write them, report."""
    check_labels_path(out)
    check_outputs([out], [model_path, data, *embeddings_file(embeddings)])
    with screen.notes_of_warnings():
        preparation, model = load_model(model_path, encoder)
    if data.is_dir() and embeddings is None:
        refuse_id_column(data, id_column)
    table = read_as_fitted(preparation, data, id_column, written, screen)
    table, features, unread = rows_for(
        preparation, model, model_path, table, dropped, embeddings, screen
    )
    if strict and unread:
        found = "; ".join(map(str, unread))
        raise BadInputError(f"{data}: {found}. With --strict nothing is predicted.")
    with screen.notes_of_warnings():
        labels = model.predict(features)
    sizes = cluster_sizes(labels, getattr(model, "n_clusters_", model.n_clusters))
    n_columns = sum(view.shape[1] for view in views_of(features))
    values = {
        "command": "predict",
        "version": linkwise.__version__,
        "model": str(model_path),
        "data": str(data),
        "rows": table.n_rows,
        "features": n_columns,
        "unread": [column._asdict() for column in unread],
        "cluster_sizes": sizes,
        "labels": str(out),
    }
    rows, width = counted(table.n_rows, "row"), counted(n_columns, "feature")
    sections: list[Section] = [
        ("data", [f"{rows}, {width}"]),
        *([("not read", [str(column) for column in unread])] if unread else []),
        ("clusters", [f"{listed(sizes, 20)} rows"]),
        ("labels", [str(out)]),
    ]
    write_all(
        [(out, labels_writer(out, table, labels))],
        lambda: screen.report(values, sections),
    )


def read_as_fitted(
    preparation: Preparation,
    path: Path,
    id_column: str | None,
    written: TextOptions,
    screen: Screen,
) -> Table:
    """Return a table with its columns read as those that a model was fitted on."""
    if not isinstance(preparation, TablePreparation) or path.is_dir():
        return read_rows(path, id_column, written, screen)
    # Plain numbers are read by pandas, texts by the preparation; so are other numbers,
    # unless a person says how they are written in this file.
    as_text = [
        note.name
        for note in preparation.columns_
        if note.kind != "number"
        or note.reading.form
        or (note.reading.decimal != "." and written.decimal is None)
    ]
    said = written._replace(decimal=written.decimal or ".")
    return read_table(path, id_column, said, screen, as_text)


class FittedRows(NamedTuple):
    """Rows as people see them and as a model takes them."""

    table: Table
    features: Any
    unread: list[Any]  # what was not read, by columns


def rows_for(
    preparation: Preparation,
    model: Any,
    path: Path,
    table: Table,
    dropped: Sequence[str],
    embeddings: str | None,
    screen: Screen,
) -> FittedRows:
    """Return the rows of a table for a model."""
    if embeddings is not None:
        refuse_idle(Wishes(dropped=dropped, embeddings=embeddings))
        _refuse_named(preparation, model, path)
        table, found = with_embeddings(table, embeddings, screen)
        if found.values.shape[1] != model.n_features_in_:
            raise BadInputError(
                f"{found}, but {path} was fitted on rows of {model.n_features_in_} "
                "numbers: give embeddings of the same kind."
            )
        return FittedRows(table, found.values, [])
    if table.has_pictures:
        return _pictures_for(preparation, path, table, dropped, screen)
    if isinstance(preparation, PicturePreparation):
        raise BadInputError(
            f"{path} was fitted on pictures; {table.path} is no folder of them."
        )
    if preparation is None:
        columns = _columns_of(model, path, table, dropped, screen)
        chosen = chosen_columns(table, Wishes(columns, dropped))
        return FittedRows(table, check_features(table, chosen), [])
    frame = table.frame[_needed(preparation, path, table, dropped)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        try:
            features = preparation.transform(frame)
        except ValueError as error:
            raise BadInputError(f"{table.path}: {error}") from None
    unread = []
    for warning in caught:
        if isinstance(warning.message, TableWarning):
            unread += warning.message.columns
            screen.note(f"{table.path}: {warning.message}.")
    return FittedRows(table, features, unread)


def _pictures_for(
    preparation: Preparation,
    path: Path,
    table: Table,
    dropped: Sequence[str],
    screen: Screen,
) -> FittedRows:
    """Return the pictures of a folder for a model."""
    if not isinstance(preparation, PicturePreparation):
        raise BadInputError(
            f"{table.path} is a folder of pictures, and {path} was not fitted on one. "
            "If it was fitted on embeddings of pictures: --embeddings FILE."
        )
    wishes = Wishes(dropped=dropped, views=preparation.views)
    return FittedRows(*described(table, wishes, screen))


def _refuse_named(preparation: Preparation, model: Any, path: Path) -> None:
    """Raise if a model was fitted on columns that have names."""
    if isinstance(preparation, PicturePreparation):
        raise BadInputError(
            f"{path} was fitted on pictures, not on embeddings: leave --embeddings out."
        )
    names: Any = getattr(model, "feature_names_in_", None)
    if preparation is not None:
        names = [note.name for note in preparation.columns_ if note.is_used]
    if names is not None:
        raise BadInputError(
            f"{path} was fitted on columns of a table ({listed(list(names), 5)}), not "
            "on embeddings: leave --embeddings out."
        )


def _needed(
    preparation: TablePreparation, path: Path, table: Table, dropped: Sequence[str]
) -> list[str]:
    """Return the columns of a table that a preparation needs."""
    names = [note.name for note in preparation.columns_ if note.is_used]
    present = set(map(str, table.frame.columns)) - set(dropped)
    missing = [name for name in names if name not in present]
    if missing:
        raise BadInputError(
            f"{table.path} lacks {counted(len(missing), 'column')} that {path} was "
            f"fitted on: {listed(missing)}. The file has {table.listed_columns()}."
        )
    return names


def load_model(path: Path, encoder: str = "auto") -> tuple[Preparation, Any]:
    """Return the preparation of tables that belongs to the model of a file, and it."""
    require_file(path)
    try:
        model = load(path, encoder=None if encoder == "auto" else encoder)
    except ModelFileError as error:
        raise BadInputError(str(error)) from None
    preparation = None
    if isinstance(model, Pipeline):
        preparation, model = model[0], model[1]
    is_table = isinstance(getattr(model, "n_features_in_", None), int)
    if preparation is None and not is_table:
        raise BadInputError(
            f"{path}: the model was not fitted on one table; use it from Python."
        )
    return preparation, model


def _columns_of(
    model: Any, path: Path, table: Table, dropped: Sequence[str], screen: Screen
) -> list[str]:
    """Return the columns of the data that the model takes, in its order."""
    available = [str(name) for name in table.frame.columns]
    names = getattr(model, "feature_names_in_", None)
    if names is None or not table.has_names:
        n_available = len(set(available) - set(dropped))
        if n_available != model.n_features_in_ and table.has_names:
            width = model.n_features_in_
            raise BadInputError(
                f"{path} was fitted on rows of {width} numbers without names, as "
                f"embeddings are, and {table.path} has {counted(n_available, 'column')}"
                f" to predict from. Give its embeddings, {width} numbers a row: "
                "--embeddings FILE. If its columns are those numbers, leave others out "
                "with --drop-column NAME, or name the ids with --id-column."
            )
        if n_available != model.n_features_in_:
            raise BadInputError(
                f"{table.path} has {counted(n_available, 'column')} to predict from, "
                f"but {path} was fitted on {model.n_features_in_}. Leave others out "
                "with --drop-column NAME, or name the ids with --id-column."
            )
        return []
    needed = [name for name in names if name in dropped]
    if needed:
        raise BadInputError(
            f"--drop-column {needed[0]}: {path} was fitted on that column and cannot "
            "predict without it. Fill in its missing values or leave out the rows."
        )
    missing = [name for name in names if name not in available]
    if missing:
        raise BadInputError(
            f"{table.path} lacks {counted(len(missing), 'column')} that {path} was "
            f"fitted on: {listed(missing)}. The file has {table.listed_columns()}."
        )
    extra = [name for name in available if name not in set(names) | set(dropped)]
    if extra:
        screen.note(f"columns that the model does not use: {listed(extra)}.")
    return list(names)
