"""Rows of texts on disk: beside the data, found by a digest, safe to delete."""

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from linkwise._typing import FloatArray
from linkwise._unfinished import unfinished

# Files that a folder keeps; the oldest go first.
_MAX_FILES = 16


class VectorCache:
    """A folder of rows; without one, nothing is found and nothing kept.

    What cannot be read, or is not as it was written, is not there. What cannot be
    written is not kept.

    Parameters
    ----------
    folder : Path or None
        It is made when it is needed.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def key(self, encoder: str, stamp: str, texts: Iterable[str]) -> str:
        """Return the digest of texts and of what encodes them."""
        if self.folder is None:
            return ""
        digest = hashlib.sha256()
        for part in (encoder, stamp, *texts):
            own = part.encode("utf-8", "surrogatepass")
            digest.update(len(own).to_bytes(8, "little") + own)
        return digest.hexdigest()[:32]

    def read(self, key: str, n_rows: int) -> FloatArray | None:
        """Return the rows of a key, None if there are none."""
        if self.folder is None:
            return None
        try:
            rows = np.load(self.folder / f"{key}.npy", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        is_right = rows.ndim == 2 and len(rows) == n_rows and rows.dtype == np.float32
        if not is_right or not np.isfinite(rows).all():
            return None
        lengths = np.linalg.norm(rows, axis=1)
        is_unit = (np.abs(lengths - 1.0) < 1e-3) | (lengths == 0.0)
        return rows if is_unit.all() else None

    def write(self, key: str, rows: FloatArray) -> None:
        """Keep rows under a key, as a whole or not at all."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            self._prepare()
            part = unfinished(self.folder / f"{key}.npy")
            try:
                np.save(part, rows, allow_pickle=False)
                os.replace(part, self.folder / f"{key}.npy")
            finally:
                part.unlink(missing_ok=True)
            self._remove_oldest()

    def _prepare(self) -> None:
        assert self.folder is not None
        self.folder.mkdir(exist_ok=True)
        ignored = self.folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")

    def _remove_oldest(self) -> None:
        assert self.folder is not None
        files = sorted(self.folder.glob("*.npy"), key=lambda f: f.stat().st_mtime)
        for file in files[:-_MAX_FILES]:
            file.unlink(missing_ok=True)
