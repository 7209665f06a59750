"""Pictures of rows for the page: found in a folder, as browsers take them."""

import io
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from linkwise.tables import UnreadableError, picture_finder, read_picture

_MAX_IMAGE_BYTES = 20 * 2**20
# A picture is what begins like one. SVG, which can hold scripts, is none.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"RIFF", "image/webp"),
)
# Pixels on a side of pictures that browsers do not show as they are.
_MAX_SIDE = 1_600
_MAX_NAME = 256


class Picture(NamedTuple):
    """The content of an image file."""

    content: bytes
    kind: str  # such as image/png


Pictures = Callable[[int], Picture | None]


class FolderPictures:
    """The pictures of rows in a folder, called with the number of a row.

    A file is named by a cell of its row, or by its id, with or without the ending.
    What lies outside the folder, also through a link, or is no image, is not read.

    Parameters
    ----------
    folder : Path
        The folder; files in its folders are named with theirs.
    frame : DataFrame
        The cells.
    ids : sequence
        Names of the rows.
    """

    def __init__(self, folder: Path, frame: pd.DataFrame, ids: Sequence[Any]) -> None:
        self._root = folder.resolve()
        self._ids = ids
        self._columns = [
            column.tolist()
            for _, column in frame.items()
            if not pd.api.types.is_numeric_dtype(column)
        ]
        self._find = picture_finder(list(_files(self._root)))

    def __call__(self, row: int) -> Picture | None:
        """Return the picture of a row, None if there is none."""
        found = (self._read(name) for name in self._names(row))
        return next((picture for picture in found if picture is not None), None)

    @property
    def n_found(self) -> int:
        """Number of rows for which there is a file."""
        return sum(any(True for _ in self._names(row)) for row in range(len(self._ids)))

    def _names(self, row: int) -> Iterator[str]:
        """Yield the files that cells and id name."""
        cells = [column[row] for column in self._columns]
        for name in (*cells, str(self._ids[row])):
            if isinstance(name, str) and 0 < len(name) < _MAX_NAME:
                found = self._find(posixpath.normpath(name))
                if found is not None:
                    yield found

    def _read(self, name: str) -> Picture | None:
        try:
            path = (self._root / name).resolve()
            if not path.is_relative_to(self._root) or not path.is_file():
                return None
            is_large = path.stat().st_size > _MAX_IMAGE_BYTES
            content = b"" if is_large else path.read_bytes()
        except OSError:  # it may not be read, or is gone
            return None
        return _as_it_is(content) or _converted(path)


def _files(root: Path) -> Iterator[str]:
    """Yield the files of a folder as paths inside it; links are not followed."""
    for folder, _, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        yield from ((inside / name).as_posix() for name in names)


def _as_it_is(content: bytes) -> Picture | None:
    """Return a picture that browsers show, None if it is no such."""
    for begin, kind in _MAGIC:
        is_other = kind == "image/webp" and content[8:12] != b"WEBP"
        if content.startswith(begin) and not is_other:
            return Picture(content, kind)
    return None


def _converted(path: Path) -> Picture | None:
    """Return another picture as PNG, or a large one shrunk; None if it is none."""
    try:
        image = read_picture(path, _MAX_SIDE)
    except (UnreadableError, ImportError):
        return None
    content = io.BytesIO()
    image.save(content, "png")
    return Picture(content.getvalue(), "image/png")
