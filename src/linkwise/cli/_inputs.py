"""What commands are given: rows as people see them, and what decides about them."""

from pathlib import Path
from typing import NamedTuple

import typer

from linkwise.cli._data import Features, Table, Wishes, read_features, read_table
from linkwise.cli._embeddings import with_embeddings
from linkwise.cli._screen import Screen
from linkwise.cli._text_files import TextOptions


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
    """Return the rows of a file, and what they are clustered by."""
    refuse_idle(wishes)
    table = read_table(path, id_column, written, screen, wishes.as_text)
    if wishes.embeddings is None:
        return Data(table, read_features(table, wishes, screen))
    table, found = with_embeddings(table, wishes.embeddings, screen)
    return Data(table, Features(found.values, [], embeddings=found))


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
