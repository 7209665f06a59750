"""Who may talk to the server, and how: checked before any route is looked at."""

import hmac
import json
from collections.abc import Sequence
from typing import Any

# Bytes of a request: ten thousand rows of a lasso fit in.
MAX_BODY = 2**20
# Nothing is loaded from elsewhere, nothing is run that is not a file of the package;
# pictures are fetched with the token, so they come as blobs.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """Lets requests through that come from the page, and no others.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        What every request to /api/ must bring.
    hosts : sequence of str
        ``name:port`` by which the server may be called. Another name means that a
        foreign page has had its own name point here.
    """

    def __init__(self, app: Any, token: str, hosts: Sequence[str]) -> None:
        self.app = app
        self._token = f"Bearer {token}".encode()
        self._hosts = {host.lower().encode() for host in hosts}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def sealed(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(sealed, *refusal)
            return
        if scope["method"] == "POST":
            body = await _read(receive)
            if body is None:
                await _refuse(sealed, 413, f"More than {MAX_BODY:,} bytes.")
                return
            receive = _once(body, receive)
        await self.app(scope, receive, sealed)

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        """Return status and text if a request is refused."""
        headers = scope["headers"]
        if [value.lower() for name, value in headers if name == b"host"] not in (
            [host] for host in self._hosts
        ):
            return 403, "This server goes by another name."
        given = dict(headers)
        origin = given.get(b"origin")
        if origin is not None and origin.lower() not in self._origins:
            return 403, "Another page has sent this."
        if given.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            if scope["path"] != "/":
                return 403, "Another page has sent this."
        if not scope["path"].startswith("/api/"):
            is_asking = scope["method"] in ("GET", "HEAD")
            return None if is_asking else (405, "Files of the page are only read.")
        sent = given.get(b"authorization", b"")
        if not hmac.compare_digest(sent, self._token):
            return 401, "The token is missing or wrong: open the address once more."
        if scope["method"] == "POST":
            kind = given.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != b"application/json":
                return 415, "Changes are sent as application/json."
            length = given.get(b"content-length", b"0")
            if not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY:
                return 413, f"More than {MAX_BODY:,} bytes."
        return None


async def _refuse(send: Any, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _read(receive: Any) -> bytes | None:
    """Return the body of a request, None if it is too long."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _once(body: bytes, receive: Any) -> Any:
    """Return a function that hands out a body that was read already."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return messages.pop() if messages else await receive()

    return again
