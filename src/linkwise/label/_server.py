"""The server: one address on this machine, a browser that finds it, a clean end."""

import contextlib
import hashlib
import json
import os
import secrets
import socket
import stat
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from linkwise.label._app import Export, make_app
from linkwise.label._desk import Desk

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::")
_SWITCH_SECONDS = 0.0005
# Seconds in which a request must have arrived, and how many connections may wait for
# one: to wait needs no token.
_WAIT_SECONDS = 5.0
_MAX_WAITING = 64
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
    the note away. On another port the token is new: pages send the old one to whatever
    listens on the old port by now.
    """
    note = None if log is None else _note_of(log)
    old_port, token = _left_by_another(note)
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
        opened.listen()
        port = opened.getsockname()[1]
        if port != old_port:
            token = secrets.token_urlsafe(32)
        # Without a note a server works as well; after a kill, its pages are lost.
        with contextlib.suppress(OSError):
            if note is not None:
                _write_private(note, json.dumps([port, token]))
        yield Place(host, port, token), opened
        with contextlib.suppress(OSError):
            if note is not None:
                note.unlink()
    finally:
        opened.close()


def _note_of(log: Path) -> Path:
    name = hashlib.sha256(os.fsencode(log.resolve())).hexdigest()[:24]
    return _private_folder() / f"{name}.json"


def _private_folder() -> Path:
    """Return a folder that nobody else can look into; a new one if need be."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"linkwise-label-{user}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    state = folder.lstat()
    is_own = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    is_open = os.name == "posix" and state.st_mode & 0o77
    if stat.S_ISDIR(state.st_mode) and is_own and not is_open:
        return folder
    return Path(tempfile.mkdtemp(prefix="linkwise-label-"))


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


class Waiting:
    """Connections on which no request has arrived."""

    def __init__(self) -> None:
        self._since: dict[Any, tuple[Any, float]] = {}

    def close_late(self, connections: Iterable[Any], now: float) -> None:
        """Close those that wait for too long, and the first of too many.

        The last stay, so that a page can connect whatever others do.
        """
        found = {}
        for connection in connections:
            last = connection.cycle  # a request and its answer
            if last is None or last.response_complete:
                before, since = self._since.get(connection, (last, now))
                found[connection] = (last, since if before is last else now)
        self._since = found
        order = sorted(found, key=lambda connection: found[connection][1])
        for place, connection in enumerate(order):
            is_late = now - found[connection][1] > _WAIT_SECONDS
            if is_late or place < len(order) - _MAX_WAITING:
                connection.transport.close()


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
    from uvicorn.protocols.http.h11_impl import H11Protocol

    waiting = Waiting()

    class Protocol(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            waiting.close_late(self.connections, time.monotonic())

    app = make_app(desk, place.token, place.hosts, export)
    # No proxy is believed, nothing is logged that has a token in it.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        http=Protocol,
        backlog=128,
        ws="none",
        lifespan="off",
    )

    class Server(uvicorn.Server):
        def handle_exit(self, *signal: Any) -> None:
            desk.hang_up()  # streams would be waited for
            super().handle_exit(*signal)

        async def on_tick(self, counter: int) -> bool:
            waiting.close_late(self.server_state.connections, time.monotonic())
            return await super().on_tick(counter)

    # A fit in Python holds the others up for so long, several times a request.
    sys.setswitchinterval(_SWITCH_SECONDS)
    ready()
    with contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[opened])
