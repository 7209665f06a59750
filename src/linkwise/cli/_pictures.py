"""A folder of pictures as a table: one row for each file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer

from linkwise.cli._data import Table, Wishes
from linkwise.cli._errors import BadInputError
from linkwise.cli._screen import Screen, counted, listed
from linkwise.cli._text_files import TextOptions
from linkwise.tables import (
    PICTURE_ENDINGS,
    PicturePreparation,
    UnreadPicture,
    describe_pictures,
    picture_finder,
)

# Pictures that could not be read and are named.
_N_NAMED = 5


def picture_table(folder: Path, id_column: str | None, written: TextOptions) -> Table:
    """Return the pictures of a folder and its folders, by name; none is read yet.

    ``id_column`` is what the names are called in a file of embeddings.
    """
    if any(option is not None for option in written):
        raise typer.BadParameter(
            f"{folder} is a folder of pictures: options on text files and sheets have "
            "no use with it."
        )
    names = _picture_names(folder)
    if not names:
        raise BadInputError(
            f"{folder} is a folder without pictures: no file ends in "
            f"{', '.join(PICTURE_ENDINGS)}."
        )
    frame = pd.DataFrame({"file": names})
    return Table(
        folder,
        frame,
        has_names=True,
        id_column=id_column or "picture",
        ids=names,
        has_pictures=True,
    )


def _picture_names(folder: Path) -> list[str]:
    """Return the pictures of a folder as paths inside it, hidden ones left out."""
    found = [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.suffix.lower() in PICTURE_ENDINGS and path.is_file()
    ]
    return sorted(
        path.as_posix()
        for path in found
        if not any(part.startswith(".") for part in path.parts)
    )


class PictureRows(NamedTuple):
    """The pictures that could be read."""

    table: Table  # as people see them
    views: Any  # what they are clustered by
    unread: list[UnreadPicture]  # the others


def described(table: Table, wishes: Wishes, screen: Screen) -> PictureRows:
    """Return the pictures of a table as numbers; what is not read is said."""
    _refuse_columns(table, wishes)
    names = [str(name) for name in table.ids or ()]
    inside, outside = _inside(table.path, names)
    try:
        with screen.bar("pictures") as progress:
            paths = [table.path / name for name in inside]
            found = describe_pictures(paths, inside, progress)
    except ImportError as error:
        raise BadInputError(f"{table.path}: {error}") from None
    unread = [*found.unread, *outside]
    kept = [inside[place] for place in found.places]
    _tell(table, len(kept), unread, wishes.strict, screen)
    columns: dict[str, Any] = {
        "brightness": [looks.brightness for looks in found.looks],
        "colour": [looks.colour for looks in found.looks],
    }
    folders = [name.rpartition("/")[0] for name in kept]
    if len(set(folders)) > 1:
        columns["folder"] = folders
    views = PicturePreparation(views=wishes.views).arranged(found.rows)
    shown = replace(table, frame=pd.DataFrame(columns), ids=kept)
    return PictureRows(shown, views, unread)


def _refuse_columns(table: Table, wishes: Wishes) -> None:
    given = {
        "--columns": wishes.columns,
        "--drop-column": wishes.dropped,
        "--as": wishes.kinds,
        "--missing": wishes.missing,
        "--encoder": wishes.encoder != "auto",
    }
    for option, value in given.items():
        if value:
            raise typer.BadParameter(
                f"{option}: {table.path} is a folder of pictures and has no columns. "
                "Numbers of your own for them: --embeddings FILE."
            )


def _inside(
    folder: Path, names: Sequence[str]
) -> tuple[list[str], list[UnreadPicture]]:
    """Return the names that stay inside the folder, and the links that leave it."""
    root = folder.resolve()
    inside, outside = [], []
    for name in names:
        if (folder / name).resolve().is_relative_to(root):
            inside.append(name)
        else:
            outside.append(UnreadPicture(name, "a link that leads out of the folder"))
    return inside, outside


def _tell(
    table: Table, n_read: int, unread: list[UnreadPicture], strict: bool, screen: Screen
) -> None:
    """Say how many pictures were read, and which were not."""
    if not unread:
        return
    n_all = n_read + len(unread)
    said = (
        f"{table.path}: {n_read:,} of {counted(n_all, 'picture')} read; not: "
        f"{listed(unread, _N_NAMED)}."
    )
    if not n_read:
        raise BadInputError(said)
    if strict:
        raise BadInputError(f"{said} With --strict every picture must be.")
    screen.note(said)


def finder(table: Table) -> Callable[[str], str]:
    """Return a function that finds the picture of a name.

    A name may lack the ending, if only one picture is called so, and may begin with
    the folder. Other names are returned as they are.
    """
    known = picture_finder(map(str, table.ids or ()))
    starts = {f"{table.path.as_posix()}/", f"{table.path.resolve().name}/"}

    def find(name: str) -> str:
        plain = name.replace("\\", "/")
        tries = [plain, *(plain.removeprefix(start) for start in sorted(starts))]
        return next(filter(None, map(known, tries)), name)

    return find
