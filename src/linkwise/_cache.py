"""Where compiled loops are kept."""

import os
import stat
import sys
import tempfile
from pathlib import Path


def find_room_for_cache() -> None:
    """Let numba keep its files in a temporary folder if it can nowhere else.

    It writes beside the package or into the home folder; in containers both may be
    read-only. ``NUMBA_CACHE_DIR`` takes precedence.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or any(map(_is_open, _usual_places())):
        return
    folder = _own_folder()
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _usual_places() -> list[Path]:
    return [Path(__file__).parent, Path("~/.cache/numba").expanduser()]


def _is_open(folder: Path) -> bool:
    """Tell whether a folder can be written to, or made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _own_folder() -> str:
    """Return a temporary folder that no other user can write to.

    It is found again by the next process. What numba reads from it is run, so it must
    not be somebody else's.
    """
    user = getattr(os, "getuid", lambda: 0)()
    folder = Path(tempfile.gettempdir()) / f"linkwise-numba-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        is_own = getattr(found, "st_uid", user) == user
        if stat.S_ISDIR(found.st_mode) and is_own and not found.st_mode & 0o077:
            return str(folder)
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="linkwise-numba-")
