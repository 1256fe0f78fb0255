"""The page's script and style, put together from the files in `static/`: no build step, no network."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
from importlib import resources
from typing import Any

from tailback.apps.lab.state import LabError
from tailback.core.text.json_text import json_text

#: The files in the order in which they form one module; a file uses names of earlier files.
PARTS = ("words.js", "carriers.js", "charts.js", "controls.js", "panels.js", "lab.js", "starts.js")
#: uPlot with its licence. `tools/vendor_uplot.py` checks and renews uPlot.
DRAWS = "uplot/uPlot.iife.min.js"
#: The engine for a page, compressed, and the licences of all that is in it: `make engine` builds both.
ENGINE = "engine.wasm.gz"
LICENCES = "engine-licences.txt"
#: The script that a worker runs.
WORKER = "engine.js"


def _text(name: str) -> str:
    return (resources.files("tailback") / "apps" / "lab" / "static" / name).read_text(encoding="utf-8")


@functools.cache
def script() -> str:
    """The script, which starts nothing by itself."""
    licence = _text("uplot/LICENSE").replace("*/", "* /")
    return "\n".join([f"/*\nuPlot:\n{licence}*/", _text(DRAWS), *map(_text, PARTS)])


@functools.cache
def style() -> str:
    return _text("uplot/uPlot.min.css") + _text("lab.css")


def doorstep(nonce: str) -> str:
    """The page that is served without a token. This page takes the token from the address's fragment, which no server
    or referrer sees, and requests the full page with the token."""
    return _text("doorstep.html").replace("NONCE", nonce)


def module() -> str:
    """The script as a notebook loads it."""
    return script() + "\nexport default { render };\n"


def engine_or_none() -> str | None:
    """The engine for a page as text; None if it is missing."""
    path = resources.files("tailback") / "apps" / "lab" / "static" / ENGINE
    return base64.b64encode(path.read_bytes()).decode() if path.is_file() else None


def engine() -> str:
    """The engine for a page as text. Raises `LabError` if it is missing."""
    block = engine_or_none()
    if block is None:
        raise LabError(
            "the engine for web pages is not in this checkout; `make engine` builds it (a file made with --axis does "
            "not need it)"
        )
    return block


def licences() -> str:
    """The licences of all software in a page with the engine, compressed, as text."""
    text = f"{_text(LICENCES)}\n\nuPlot\n\n{_text('uplot/LICENSE')}"
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def worker() -> str:
    return _text(WORKER)


def whole(title: str, hello: dict[str, Any], grid: dict[str, Any]) -> str:
    """One file that needs no server: the page with the runs of its grid."""
    start = f'window.tailbackLab = startFile(document.getElementById("lab"), {_safe(hello)}, {_safe(grid)});'
    return _file(title, start, "")


def live(title: str, hello: dict[str, Any]) -> str:
    """One file that needs no server: the page with the engine inside, so that every value can be changed."""
    data = {"engine": engine(), "licences": licences()}
    blocks = "".join(f'<script type="text/plain" id="tailback-{k}">{v}</script>\n' for k, v in data.items())
    start = (
        f'startEngine(document.getElementById("lab"), {_safe({**hello, "page": True})}, textOf("engine"), '
        f'{_safe(worker())}).then((lab) => (window.tailbackLab = lab));\nshowLicences(textOf("licences"));'
    )
    return _file(title, start, blocks, "'wasm-unsafe-eval'")


def _file(title: str, start: str, blocks: str, *allowed: str) -> str:
    """A page as one file. Only its own script may run, and nothing is loaded."""
    code = f"{script()}\n{start}"
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    sources = " ".join([f"'sha256-{digest}'", *allowed])
    parts = {"POLICY": sources, "TITLE": _plain(title), "STYLE": style(), "BLOCKS": blocks, "SCRIPT": code}
    text_of_page = _text("file.html")
    for name, text in parts.items():
        text_of_page = text_of_page.replace(f"<!--{name}-->", text, 1)
    return text_of_page


def _safe(value: Any) -> str:
    """JSON in a form that is safe in a script element."""
    return json_text(value).replace("<", "\\u003c")


def _plain(text: str) -> str:
    return json.dumps(text)[1:-1].replace("&", "&amp;").replace("<", "&lt;")
