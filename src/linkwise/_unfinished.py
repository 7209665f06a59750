"""Files that are being written, beside the place where they are moved to."""

import contextlib
import hashlib
import os
import re
import socket
import uuid
from pathlib import Path

# Letters of the name of a result that its unfinished file keeps: names have a limit.
_MAX_STEM = 20
_NAME = re.compile(
    r"\..*\.linkwise-([0-9a-f]{8})-(\d{1,9})-[0-9a-f]{32}\.tmp(\.[^.]*)?"
)


def unfinished(path: Path) -> Path:
    """Return a name beside a path that nobody uses; writers go by its ending.

    Files of the same folder whose writers were killed are removed.
    """
    _remove_left_over(path.parent)
    owner = f"linkwise-{_machine()}-{os.getpid()}-{uuid.uuid4().hex}"
    return path.with_name(f".{path.stem[:_MAX_STEM]}.{owner}.tmp{path.suffix}")


def _remove_left_over(folder: Path) -> None:
    # What cannot be listed or removed stays; the writer says what is wrong there.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and found[1] == _machine() and not _is_alive(int(found[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _machine() -> str:
    """Return what tells apart the machines, or containers, that share a folder."""
    place = socket.gethostname()
    with contextlib.suppress(OSError):
        place += os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(place.encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    """Tell whether a process may be running."""
    if os.name != "posix":
        return True  # there is no harmless way to ask
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        pass
    return True
