"""Who may speak to the workbench: whoever has the address with its token, from a page of its own, by a name of this machine.

    /TOKEN/...      every request; compared in constant time
    Host            one of the names the server listens by: a foreign name that leads here (DNS rebinding) is refused
    Origin          where a browser sends one, the server's own

Pages run no script, style or frame but the server's own files, and text of rows reaches them as data alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_BODY = 4 * 2**20
"""Bytes of a request."""
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def new_token() -> str:
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI application before another, which sees paths without the token. ``names``: hosts it may be called by."""

    def __init__(self, app: Any, token: str, names: Iterable[str], port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in names} | ({*names} if port in (80, 443) else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        why = self._refused(scope)
        if why is not None:
            status, text = why
            await _answer(send, status, text)
            return
        prefix = f"/{self.token}"
        inner = {**scope, "path": scope["path"][len(prefix) :] or "/", "raw_path": None, "root_path": ""}
        received = 0

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST_BODY:
                return {"type": "http.disconnect"}  # of one that has not said how large it is
            return message

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message = {**message, "headers": [*message["headers"], *(pair for pair in HEADERS if pair[0] not in own)]}
            await send(message)

        await self.app(inner, bounded, guarded)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"origin"):
                return 400, "A header was sent twice."
            headers[name] = value
        if headers.get(b"host", b"").decode("latin-1").lower() not in self.hosts:
            return 403, "This server is not called by that name."
        origin = headers.get(b"origin")
        if origin is not None:
            parts = urlsplit(origin.decode("latin-1"))
            if parts.scheme != "http" or parts.netloc.lower() not in self.hosts:
                return 403, "Requests from other pages are refused."
        given = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return 403, "The address lacks its token: open the one that enstruct printed."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, "The request is too large."
        return None


async def _answer(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
