"""The server of the page. The server listens on the loopback interface only, and answers only requests with the token.

Every request must have this server as its Host, and a request of a page must come from this server's own page. The
token is in the fragment of the address, which browsers do not send. The page sends it in a header and as the first
message of its socket, so no log and no referrer has it. Only the first page is served without the token; it contains
only the code that requests the rest.

As soon as the socket listens, the address is printed and a browser opens it. Meanwhile functions import the server's
libraries. A request that comes earlier waits at the socket.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tailback.apps.lab.state import State

#: The libraries that the server needs, which the extra `lab` installs.
LIBRARIES = ("starlette", "uvicorn", "websockets")

#: The longest time until a socket sends its token, in seconds.
PATIENCE_S = 5.0
#: The longest message of a page, in bytes.
LONGEST = 1_000_000
#: The policy for what a page may load and do.
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Passes only requests that name this server and come from its own pages."""

    def __init__(self, app: App, port: int, nonce: str) -> None:
        self.app, self.nonce = app, nonce
        self.hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        self.origins = [f"http://{host}" for host in self.hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        origin = headers.get("origin")
        # A page's socket always sends its origin.
        is_own_page = origin in self.origins or (origin is None and scope["type"] == "http")
        if headers.get("host") not in self.hosts or not is_own_page:
            await _refuse(scope, receive, send)
            return
        policy = POLICY.format(nonce=self.nonce, host=headers["host"]).encode()

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    (b"content-security-policy", policy),
                    (b"referrer-policy", b"no-referrer"),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-store"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                ]
            await send(message)

        await self.app(scope, receive, guarded)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    text = b"this server answers its own page only"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def application(state: State, token: str, port: int, tour: dict[str, Any] | None = None) -> App:
    """The server's answers, for a server at this port."""
    import asyncio

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket

    from tailback.apps.lab import page
    from tailback.apps.lab.conversation import Conversation, hello

    nonce = secrets.token_urlsafe(16)

    async def door(_: Request) -> Response:
        return HTMLResponse(page.doorstep(nonce))

    async def whole(request: Request) -> Response:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not _same(credentials, token):
            return PlainTextResponse("open the address that `tailback lab` has printed: it has the token", 401)
        return JSONResponse({"style": page.style(), "script": page.script(), "hello": {**hello(state), "tour": tour}})

    async def talk(ws: WebSocket) -> None:
        await ws.accept()
        try:
            first_message = await asyncio.wait_for(ws.receive_text(), PATIENCE_S)
        except Exception:  # The first message was not the token.
            first_message = ""
        if not _same(first_message, token):
            await ws.close(1008)
            return
        await _converse(ws)

    async def _converse(ws: WebSocket) -> None:
        loop = asyncio.get_running_loop()
        frames: asyncio.Queue[bytes] = asyncio.Queue()

        def send(frame: bytes) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(frames.put_nowait, frame)

        async def sending() -> None:
            while True:
                await ws.send_bytes(await frames.get())

        conversation = Conversation(send)
        sender = asyncio.create_task(sending())
        try:
            async for text in ws.iter_text():
                conversation.take(text)
        except KeyError:
            # The message is not text.
            await ws.close(1003)
        finally:
            conversation.close()
            sender.cancel()

    routes = [Route("/", door), Route("/page", whole), WebSocketRoute("/talk", talk)]
    return Guard(Starlette(routes=routes), port, nonce)


def _same(given: str, token: str) -> bool:
    import hmac

    return hmac.compare_digest(given.encode(), token.encode())


class NotInstalled(Exception):
    """A library of the extra is missing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the lab needs {name}: pip install 'tailback[lab]'")


def serve(
    state: State, port: int, told: Callable[[str], None], browser: bool, tour: dict[str, Any] | None = None
) -> None:
    """Serves until interrupted. `told` is called with the address, which has the token in its fragment."""
    for name in LIBRARIES:
        if find_spec(name) is None:
            raise NotInstalled(name)
    listener = socket.create_server(("127.0.0.1", port))
    own_port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{own_port}/#token={token}"
    told(address)
    with ExitStack() as until_the_end:
        if browser:
            _open(until_the_end, address)
        try:
            import uvicorn

            app = application(state, token, own_port, tour)
        except ImportError as e:
            # The library is installed, but a module that it imports is missing.
            raise NotInstalled(e.name or f"libraries that can be imported ({e})") from e
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            ws="websockets-sansio",
            ws_max_size=LONGEST,
            ws_per_message_deflate=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _open(until_the_end: ExitStack, address: str) -> None:
    """Opens a browser with a file that only this user can read, since other users can see the arguments of a browser's
    command."""
    import json
    import tempfile
    import threading
    import webbrowser

    file = Path(until_the_end.enter_context(tempfile.TemporaryDirectory())) / "lab.html"
    file.touch(0o600)
    file.write_text(f'<!doctype html><meta charset="utf-8"><script>location.replace({json.dumps(address)})</script>')
    # Python waits five seconds for some browsers.
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
