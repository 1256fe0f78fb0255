"""Hostile messages to the lab, in one conversation after the other and through a server: the messages of `hostile.py`.

A message is one that a page sends, with something changed that no page changes; or no message at all. What must hold:
each ends, with what was asked for, a refusal in words, or a stop when a newer message or the end of the page asks for
it; no refusal is a bug's (`please report`); the threads of a page end with it; and the server answers the next page.
"""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import random
import socket
import threading
import time
from typing import Any

STATE: dict[str, Any] = {
    "document": {
        "duration": "1s",
        "link": {
            "bottleneck": {
                "from": "a",
                "to": "b",
                "rate": "5Mbps",
                "delay": "1ms",
                "queue": {"kind": "red", "buffer": "40 packets"},
            }
        },
        "flows": {"bulk": {"count": 2, "rtt": ["10ms", "20ms"]}, "v": {"traffic": {"kind": "cbr", "rate": "64kbps"}}},
    },
    "beside": {"kind": "codel", "buffer": "40 packets"},
}
GOOD: list[tuple[int, dict[str, Any]]] = [
    (5, {"do": "state", "input": 1, "mode": "coarse", "columns": 300, "state": STATE}),
    (3, {"do": "state", "input": 1, "mode": "full", "columns": 300, "state": STATE}),
    (5, {"do": "packets", "side": 0, "at": 0.5, "state": STATE}),
    (2, {"do": "watch", "side": 1, "state": STATE}),
    (3, {"do": "copy", "kind": "toml", "state": STATE}),
    (1, {"do": "figure", "what": "queue", "kind": "svg", "state": STATE}),
    (2, {"do": "read", "text": 'duration = "1s"\ntopology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms" }\n'}),
    (1, {"do": "tour", "name": "bufferbloat"}),
]
#: Texts that JSON has no value for are put in where these stand.
RAW = {"@inf": "1e999", "@nan": "NaN", "@huge": "1" + "0" * 400, "@digits": "9" * 6000, "@lone": '"\\ud800"'}
VALUES: list[Any] = [
    None,
    True,
    [],
    {},
    [[]],
    {"": 1},
    "",
    "x",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "é" * 50_000,
    "../../x",
    -1,
]
VALUES += [
    0,
    1,
    5,
    1e308,
    -1e308,
    1e-300,
    2**63,
    2**31,
    0.5,
    *RAW,
    "1e999s",
    "-1s",
    "1e12s",
    "1000000s",
    "1e18bps",
    "nan",
]
VALUES += ["100Gbps", "1bps", "0", "1e9 packets", "unlimited", "/dev/zero", "mine.py:X", "/etc/passwd", "codel", "red"]
VALUES += [{"kind": "drr", "mapper": "bloom", "queues": 8, "groups": 10_000, "filter_bits": 800_000}, {"kind": "none"}]
KEYS = [
    "do",
    "input",
    "state",
    "document",
    "beside",
    "duration",
    "warmup",
    "record",
    "change",
    "seed",
    "kind",
    "",
    "x" * 999,
]
#: A page that is alive answers this at once.
SENTINEL = json.dumps({"do": "read", "text": "no scenario"})


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict | list):
        for k, v in value.items() if isinstance(value, dict) else enumerate(value):
            found += _places(v, (*path, k))
    return found


def _change(message: dict[str, Any], rng: random.Random) -> None:
    path = rng.choice(_places(message)[1:])
    at: Any = message
    for key in path[:-1]:
        at = at[key]
    how = rng.random()
    if how < 0.6:
        at[path[-1]] = copy.deepcopy(rng.choice(VALUES))
    elif how < 0.75:
        del at[path[-1]]
    elif isinstance(at, dict):
        at[rng.choice(KEYS)] = copy.deepcopy(rng.choice(VALUES))


def message(rng: random.Random) -> str:
    """A message, mostly like one of a page."""
    made = copy.deepcopy(rng.choices([m for _, m in GOOD], [n for n, _ in GOOD])[0])
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(["", "{", "null", "5", "[]", '"do"', "[" * 100_000, '{"do":' * 5000, "\x00", "x" * 300_000])
    if kind < 0.1:
        made["do"] = rng.choice(["nothing", "", "STATE", None, 5, [], {}, "x" * 10_000, "__class__", "take"])
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        if len(made):
            _change(made, rng)
    text = json.dumps(made)
    for word, raw in RAW.items():
        text = text.replace(f'"{word}"', raw)
    if kind > 0.95:
        text = text[: rng.randrange(len(text))]
    elif kind > 0.9:
        i = rng.randrange(len(text))
        text = text[:i] + chr(rng.randrange(1, 0x300)) + text[i + 1 :]
    return text


# -------------------------------------------------------------------------------------------------- a conversation


class Page:
    """A conversation in this process, and what it is answered."""

    def __init__(self) -> None:
        from tailback.apps.lab.conversation import Conversation

        self.before = set(threading.enumerate())
        self.frames: list[bytes] = []
        self.came = threading.Condition()
        self.conversation = Conversation(self._take)

    def _take(self, frame: bytes) -> None:
        with self.came:
            self.frames.append(frame)
            self.came.notify_all()

    def wait(self, more: int, seconds: float) -> bool:
        with self.came:
            return self.came.wait_for(lambda: len(self.frames) >= more, seconds)

    def headers(self) -> list[dict[str, Any]]:
        from tailback.apps.lab.frames import unpack

        return [unpack(f)[0] for f in self.frames]

    def end(self, seconds: float) -> list[str]:
        """The page is gone; threads that go on."""
        self.conversation.close()
        until = time.monotonic() + seconds
        mine = [t for t in threading.enumerate() if t not in self.before and t.name.startswith("lab")]
        for thread in mine:
            thread.join(max(0.0, until - time.monotonic()))
        return [t.name for t in mine if t.is_alive()]


def converse(texts: list[str], patience_s: float, most_s: float) -> list[str]:
    """Say these to a page of its own; what did not hold."""
    page = Page()
    wrong: list[str] = []
    for text in texts:
        page.conversation.take(text)
    # What goes on for long is stopped by what comes next.
    page.wait(len(texts), patience_s)
    said = len(page.frames)
    page.conversation.take(json.dumps({"do": "packets", "side": 0, "at": 0.0, "state": {}}))
    page.conversation.take(json.dumps({"do": "figure", "what": "no", "kind": "no"}))
    page.conversation.take(SENTINEL)
    until = time.monotonic() + most_s
    while not any("no scenario" in json.dumps(h) for h in page.headers()[said:]) and time.monotonic() < until:
        page.wait(len(page.frames) + 1, 0.2)
    headers = page.headers()
    if not any("no scenario" in json.dumps(h) for h in headers[said:]):
        wrong.append(f"the page is not answered any more; {len(headers)} answers before")
    for h in headers:
        if h.get("do") == "refused" and (not h.get("text") or "please report" in h["text"]):
            wrong.append(f"refused without words of ours: {h.get('text')!r:.300}")
        if json.dumps(h).count("Traceback"):
            wrong.append("a traceback in an answer")
    alive = page.end(most_s)
    if alive:
        wrong.append(f"threads go on when the page is gone: {', '.join(alive)}")
    return wrong


# -------------------------------------------------------------------------------------------------------- a server


class Served:
    """A server of the lab in this process."""

    def __init__(self) -> None:
        import uvicorn

        from tailback.apps.lab.server import LONGEST, application
        from tailback.apps.lab.state import State

        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port, self.token = self.listening.getsockname()[1], "token"
        config = uvicorn.Config(
            application(State(STATE["document"]), self.token, self.port),
            log_level="critical",
            ws="websockets-sansio",
            ws_max_size=LONGEST,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True)
        self.thread.start()

    def alive(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/page", headers={"Authorization": f"Bearer {self.token}"})
            return connection.getresponse().status == 200
        return False

    def talk(self, rng: random.Random) -> list[str]:
        """A socket that does not keep to the rules, or one that does and says what no page says."""
        from websockets.sync.client import connect

        kind = rng.choice(("page", "page", "page", "raw", "binary", "long", "token", "leaves"))
        if kind == "raw":
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as s:
                s.sendall(rng.choice((b"\0" * 900, b"GET " + b"/" * 9000, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")))
                s.settimeout(0.2)
                s.recv(500)
            return []
        origin: Any = f"http://127.0.0.1:{self.port}"
        answered = False
        with (
            contextlib.suppress(OSError, Exception),
            connect(f"ws://127.0.0.1:{self.port}/talk", origin=origin, proxy=None, max_size=None) as ws,
        ):
            if kind == "token":
                ws.send(rng.choice((b"\xff", "wrong", "", "x" * 100_000)))
            ws.send(self.token)
            if kind == "binary":
                ws.send(rng.randbytes(300))
            elif kind == "long":
                ws.send("x" * 1_100_000)
            else:
                for _ in range(rng.randrange(1, 6)):
                    ws.send(message(rng))
            if kind == "leaves":
                return []
            ws.send(SENTINEL)
            until = time.monotonic() + 30
            while not answered and time.monotonic() < until:
                answered = b"no scenario" in ws.recv(timeout=30)
        return [] if answered or kind != "page" else ["a page at the server is not answered any more"]

    def end(self) -> bool:
        self.server.should_exit = True
        self.thread.join(20)
        return not self.thread.is_alive()
