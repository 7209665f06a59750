"""What commands are given: rows as people see them, and what decides about them."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import typer

from linkwise.cli._data import Features, Table, Wishes, read_features, read_table
from linkwise.cli._embeddings import with_embeddings
from linkwise.cli._pictures import described, picture_table
from linkwise.cli._screen import Screen
from linkwise.cli._text_files import TextOptions
from linkwise.tables import PicturePreparation


class Data(NamedTuple):
    """The rows of a command."""

    table: Table  # as people see them
    features: Features  # what they are clustered by


def read_data(
    path: Path,
    id_column: str | None,
    written: TextOptions,
    wishes: Wishes,
    screen: Screen,
) -> Data:
    """Return the rows of a file or folder, and what they are clustered by."""
    refuse_idle(wishes)
    table = read_rows(path, id_column, written, screen, wishes.as_text)
    if wishes.embeddings is None and table.has_pictures:
        refuse_id_column(path, id_column)
        table, views, _ = described(table, wishes, screen)
        preparation = PicturePreparation(views=wishes.views)
        return Data(table, Features(views, [], preparation))
    if wishes.embeddings is None:
        return Data(table, read_features(table, wishes, screen))
    table, found = with_embeddings(table, wishes.embeddings, screen)
    return Data(table, Features(found.values, [], embeddings=found))


def read_rows(
    path: Path,
    id_column: str | None,
    written: TextOptions,
    screen: Screen,
    as_text: Collection[str] = (),
) -> Table:
    """Return the rows of a file, or the pictures of a folder."""
    if path.is_dir():
        return picture_table(path, id_column, written)
    return read_table(path, id_column, written, screen, as_text)


def refuse_id_column(path: Path, id_column: str | None) -> None:
    """Raise a usage error if a folder of pictures is said to have an id column."""
    if id_column is not None:
        raise typer.BadParameter(
            f"--id-column {id_column}: {path} is a folder of pictures, whose names are "
            "the ids. With --embeddings FILE it is a column of that file."
        )


def refuse_idle(wishes: Wishes) -> None:
    """Raise a usage error for options on columns that do not decide."""
    if wishes.embeddings is None:
        return
    given = {
        "--columns": wishes.columns,
        "--drop-column": wishes.dropped,
        "--as": wishes.kinds,
        "--strict": wishes.strict,
        "--missing": wishes.missing,
        "--encoder": wishes.encoder != "auto",
    }
    for option, value in given.items():
        if value:
            raise typer.BadParameter(
                f"{option}: with --embeddings no column of DATA decides; leave one of "
                "the two out. --show chooses what people see."
            )
