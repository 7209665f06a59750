"""The routes: JSON in, JSON or bytes out, and a stream of news."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from linkwise.label._desk import Desk, LateError
from linkwise.label._guard import Guard

_log = logging.getLogger(__name__)
# Seconds between signs of life in the stream of news.
_BEAT = 10.0
# Rows that a correction may name, letters that a text may have, and the size of
# numbers, which pages know exactly.
_MAX_ROWS = 100_000
_MAX_TEXT = 2_000
_MAX_NUMBER = 2**53
_BYTES = "application/octet-stream"

Export = Callable[[str], tuple[bytes, str]]


class BadRequestError(ValueError):
    """A request that does not say what it must."""


class Given:
    """What the page has sent, taken apart with care."""

    def __init__(self, body: bytes) -> None:
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise BadRequestError("The body is no JSON.") from None
        if not isinstance(values, dict):
            raise BadRequestError("The body is no JSON object.")
        self.values = values

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text that is not too long."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            raise BadRequestError(
                f"{name} must be a text of {_MAX_TEXT} letters at most."
            )
        return value

    def who(self, desk: Desk) -> str | None:
        """Return whose page has sent it."""
        return self.text("who", desk.who or "") or None

    def number(self, name: str) -> int:
        """Return a whole number."""
        value: Any = self.values.get(name)
        if not _is_whole(value):
            raise BadRequestError(f"{name} must be a whole number.")
        return int(value)

    def numbers(self, name: str, below: int | None = None) -> list[int]:
        """Return a list of whole numbers."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) > _MAX_ROWS:
            raise BadRequestError(f"{name} must be a list of whole numbers.")
        for entry in value:
            if not _is_whole(entry) or entry < 0:
                raise BadRequestError(f"{name} must be a list of whole numbers.")
            if below is not None and entry >= below:
                raise BadRequestError(f"{name}: there is no row {entry}.")
        return value


def _is_whole(value: Any) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and abs(value) <= _MAX_NUMBER


def _number_in_path(request: Request, name: str) -> int:
    """Return the number of a row, a column or a cluster in an address."""
    text = request.path_params[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadRequestError(f"There is no {name} {text[:40]!r}.")
    return int(text)


def make_app(
    desk: Desk, token: str, hosts: Sequence[str], export: Export | None = None
) -> Guard:
    """Return the application, which answers to nobody without the token.

    Parameters
    ----------
    desk : Desk
        The session behind the page.
    token : str
        What pages must send.
    hosts : sequence of str
        ``name:port`` under which it may be called.
    export : callable, optional
        ``export(name)`` returns a file for download, and its kind.
    """
    routes = _Routes(desk, export)
    page = StaticFiles(packages=[("linkwise.label", "static")])
    app = Starlette(
        routes=[
            Route("/", _index),
            Route("/api/state", routes.get(routes.state)),
            Route("/api/events", routes.events),
            Route("/api/map", routes.get(routes.points)),
            Route("/api/labels", routes.get(routes.labels)),
            Route("/api/pairs", routes.get(routes.pairs)),
            Route("/api/clusters", routes.get(routes.clusters)),
            Route("/api/clusters/{cluster}", routes.get(routes.cluster)),
            Route("/api/answers", routes.get(routes.answers)),
            Route("/api/rows/{row}", routes.get(routes.row)),
            Route("/api/cells/{row}/{column}", routes.get(routes.cell)),
            Route("/api/pictures/{row}", routes.get(routes.picture, False)),
            Route("/api/export/{name}", routes.get(routes.download, False)),
            *(
                Route(f"/api/{name}", routes.post(name), methods=["POST"])
                for name in _ACTIONS
            ),
            Mount("/static", page),
        ]
    )
    return Guard(app, token, hosts)


def _index(request: Request) -> Response:
    page = resources.files("linkwise.label") / "static" / "index.html"
    return Response(page.read_bytes(), media_type="text/html; charset=utf-8")


class _Routes:
    """What is done for each address."""

    def __init__(self, desk: Desk, export: Export | None) -> None:
        self.desk, self.export = desk, export

    def get(self, answer: Callable[[Request], Response], locked: bool = True) -> Any:
        """Return a handler that looks at the session and changes nothing."""

        def look(request: Request) -> Response:
            if not locked:
                return answer(request)
            with self.desk.lock:
                return answer(request)

        async def handle(request: Request) -> Response:
            return await _guarded(look, request)

        return handle

    def post(self, name: str) -> Any:
        """Return a handler that changes the session, once for each attempt."""
        action = _ACTIONS[name]

        def act(given: Given) -> Response:
            desk, client = self.desk, given.text("client")
            attempt = given.text("attempt")
            who = given.who(desk)
            with desk.lock:
                if desk.session.done(attempt) is not None:
                    result = {"repeated": True}
                else:
                    with desk.session.signed(who, attempt):
                        try:
                            result = action(desk, client, given)
                        except LateError as error:
                            state = desk.state(client)
                            late = {"error": str(error), "state": state}
                            return JSONResponse(late, 409)
                state = desk.state(client)
            desk.tell()
            return JSONResponse({"result": result, "state": state})

        async def handle(request: Request) -> Response:
            body = await request.body()
            return await _guarded(lambda _: act(Given(body)), request)

        return handle

    def state(self, request: Request) -> Response:
        return JSONResponse(self.desk.state(request.query_params.get("client", "")))

    def points(self, request: Request) -> Response:
        return Response(self.desk.points(), media_type=_BYTES)

    def labels(self, request: Request) -> Response:
        content, palette = self.desk.labels()
        # In a header of ASCII alone, beside the bytes that it explains.
        return Response(
            content, media_type=_BYTES, headers={"x-clusters": json.dumps(palette)}
        )

    def pairs(self, request: Request) -> Response:
        return Response(self.desk.pairs(), media_type=_BYTES)

    def clusters(self, request: Request) -> Response:
        return JSONResponse(self.desk.clusters())

    def cluster(self, request: Request) -> Response:
        return JSONResponse(self.desk.cluster(_number_in_path(request, "cluster")))

    def answers(self, request: Request) -> Response:
        return JSONResponse(self.desk.answers())

    def _row(self, request: Request) -> int:
        row = _number_in_path(request, "row")
        if row >= len(self.desk.rows):
            raise BadRequestError(f"There is no row {row}.")
        return row

    def row(self, request: Request) -> Response:
        return JSONResponse(self.desk.rows.shown(self._row(request)))

    def cell(self, request: Request) -> Response:
        row, column = self._row(request), _number_in_path(request, "column")
        if column >= len(self.desk.rows.columns):
            raise BadRequestError(f"There is no column {column}.")
        return JSONResponse({"text": self.desk.rows.text(row, column)})

    def picture(self, request: Request) -> Response:
        row, pictures = self._row(request), self.desk.rows.pictures
        found = None if pictures is None else pictures(row)
        if found is None:
            return JSONResponse({"error": "There is no picture of this row."}, 404)
        return Response(found.content, media_type=found.kind)

    def download(self, request: Request) -> Response:
        if self.export is None:
            raise BadRequestError("Nothing can be downloaded here.")
        content, kind = self.export(request.path_params["name"])
        return Response(content, media_type=kind)

    async def events(self, request: Request) -> Response:
        """Return a stream of news, until the page goes away."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        client = request.query_params.get("client", "")

        def listen() -> None:
            loop.call_soon_threadsafe(changed.set)

        async def news() -> AsyncIterator[bytes]:
            self.desk.listeners.append(listen)
            try:
                while not self.desk.is_over:
                    text = json.dumps(self.desk.news())
                    yield f"data: {text}\n\n".encode()
                    try:
                        await asyncio.wait_for(changed.wait(), _BEAT)
                    except TimeoutError:
                        pass
                    changed.clear()
            finally:
                self.desk.listeners.remove(listen)
                self.desk.leave(client)

        return StreamingResponse(news(), media_type="text/event-stream")


def _resolve(desk: Desk, client: str, given: Given) -> Any:
    wrong = None if given.values.get("wrong") is None else given.number("wrong")
    return desk.resolve(given.number("conflict"), given.text("choice"), wrong)


def _correct(desk: Desk, client: str, given: Given) -> Any:
    kind, values = given.text("kind"), dict[str, Any]()
    for name in ("cluster", "to"):
        if name in given.values:
            values[name] = given.number(name)
    if "clusters" in given.values:
        values["clusters"] = given.numbers("clusters")
    if "rows" in given.values:
        values["rows"] = given.numbers("rows", len(desk.rows))
    if "name" in given.values:
        values["name"] = given.text("name")
    values["complete"] = given.values.get("complete") is True
    try:
        return desk.correct(kind, values)
    except KeyError as error:
        raise BadRequestError(f"{kind} needs {error.args[0]}.") from None


_ACTIONS: dict[str, Callable[[Desk, str, Given], Any]] = {
    "answer": lambda desk, client, given: desk.answer(
        client, given.text("question"), given.text("answer"), given.text("note", "")
    ),
    "undo": lambda desk, client, given: desk.undo(client, "undo", given.who(desk)),
    "redo": lambda desk, client, given: desk.undo(client, "redo", given.who(desk)),
    "change": lambda desk, client, given: desk.change(
        given.number("event"), given.text("answer")
    ),
    "note": lambda desk, client, given: desk.session.note(
        given.number("event"), given.text("text")
    ),
    "criterion": lambda desk, client, given: desk.session.describe(given.text("text")),
    "resolve": _resolve,
    "correct": _correct,
    "fit": lambda desk, client, given: desk.worker.want(),
}


async def _guarded(answer: Callable[[Request], Response], request: Request) -> Response:
    """Answer in a thread; what goes wrong becomes words for the person."""
    try:
        return await run_in_threadpool(answer, request)
    except ValueError as error:
        return JSONResponse({"error": str(error)[:_MAX_TEXT]}, 400)
    except OSError as error:
        text = f"The log cannot be written: {error.strerror}. Nothing was stored."
        return JSONResponse({"error": text}, 507)
    except Exception as error:
        _log.exception("a request failed")
        return JSONResponse({"error": f"unexpected {type(error).__name__}"}, 500)
