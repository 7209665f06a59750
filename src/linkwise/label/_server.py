"""The server: one address on this machine, a browser that finds it, a clean end."""

import contextlib
import hashlib
import json
import os
import secrets
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from linkwise.label._app import Export, make_app
from linkwise.label._desk import Desk

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::")
_SWITCH_SECONDS = 0.0005
_PAGE = """<!doctype html><meta charset="utf-8"><title>linkwise label</title>
<meta http-equiv="refresh" content="0; url={url}">"""


class Place(NamedTuple):
    """Where a server is to be found."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """Address to open; what is behind # is never sent."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        host = "127.0.0.1" if self.host in _ANY else host
        return f"http://{host}:{self.port}/#{self.token}"

    @property
    def hosts(self) -> list[str]:
        """Names by which it may be called."""
        names = {"127.0.0.1", "localhost", "[::1]"}
        names.add(f"[{self.host}]" if ":" in self.host else self.host)
        if self.host in _ANY:
            names |= {socket.gethostname(), socket.getfqdn()}
            with contextlib.suppress(OSError):
                names |= set(socket.gethostbyname_ex(socket.gethostname())[2])
        # Browsers leave out the port that is meant anyway.
        short = sorted(names) if self.port == 80 else []
        return [f"{name}:{self.port}" for name in sorted(names)] + short


def is_local(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    return host in _LOOPBACK


@contextlib.contextmanager
def open_place(
    host: str = "127.0.0.1", port: int = 0, log: Path | None = None
) -> Iterator[tuple[Place, socket.socket]]:
    """Open a socket; yield where it is.

    A server that was killed has left a note of its port and token. The next one for the
    same log takes both, so that pages that are open go on; one that ends in peace takes
    the note away.
    """
    note = None if log is None else _note_of(log)
    old_port, token = _left_by_another(note)
    token = token or secrets.token_urlsafe(32)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((host, port or old_port))
        except OSError:
            if port or not old_port:
                raise
            opened.bind((host, 0))
        opened.listen(2048)
        place = Place(host, opened.getsockname()[1], token)
        if note is not None:
            _write_private(note, json.dumps([place.port, place.token]))
        yield place, opened
        if note is not None:
            note.unlink(missing_ok=True)
    finally:
        opened.close()


def _note_of(log: Path) -> Path:
    name = hashlib.sha256(os.fsencode(log.resolve())).hexdigest()[:24]
    return _private_folder() / f"{name}.json"


def _private_folder() -> Path:
    """Return a folder that nobody else can look into."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"linkwise-label-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    is_own = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    if (
        folder.is_symlink()
        or not is_own
        or (os.name == "posix" and state.st_mode & 0o77)
    ):
        return Path(tempfile.mkdtemp(prefix="linkwise-label-"))
    return folder


def _left_by_another(note: Path | None) -> tuple[int, str]:
    """Return port and token of a server that was killed, or 0 and nothing."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        if note is not None and not note.is_symlink():
            port, token = json.loads(note.read_text())
            if isinstance(port, int) and isinstance(token, str) and len(token) >= 43:
                return port, token
    return 0, ""


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "w") as file:
        file.write(text)


def open_browser(place: Place) -> bool:
    """Open the page; the token is in a private file, not in the list of processes."""
    path = _private_folder() / f"open-{place.port}.html"
    _write_private(path, _PAGE.format(url=place.url))
    return webbrowser.open(path.as_uri())


def serve(
    desk: Desk,
    place: Place,
    opened: socket.socket,
    export: Export | None = None,
    ready: Callable[[], Any] = lambda: None,
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    desk : Desk
        The session behind it.
    place : Place
        Where it is.
    opened : socket
        The socket of that place.
    export : callable, optional
        ``export(name)`` returns a file for download, and its kind.
    ready : callable, optional
        Called before the first request is answered; they wait in the socket.
    """
    import uvicorn

    app = make_app(desk, place.token, place.hosts, export)
    # No proxy is believed, nothing is logged that has a token in it.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
        lifespan="off",
    )

    class Server(uvicorn.Server):
        def handle_exit(self, *signal: Any) -> None:
            desk.hang_up()  # streams would be waited for
            super().handle_exit(*signal)

    # A fit in Python holds the others up for so long, several times a request.
    sys.setswitchinterval(_SWITCH_SECONDS)
    ready()
    with contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[opened])
