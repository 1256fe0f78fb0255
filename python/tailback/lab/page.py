"""The page's script and style, put together from the files in `static/`: no build step, no network."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from tailback.text.json_text import json_text

#: In this order they are one module; a file uses names of those before it.
PARTS = ("words.js", "carriers.js", "charts.js", "controls.js", "panels.js", "lab.js")
#: uPlot, with its licence: `tools/vendor_uplot.py` checks and renews it.
DRAWS = "uplot/uPlot.iife.min.js"


def _text(name: str) -> str:
    return (resources.files("tailback") / "lab" / "static" / name).read_text(encoding="utf-8")


@functools.cache
def script() -> str:
    """The script; it ends without starting anything."""
    licence = _text("uplot/LICENSE").replace("*/", "* /")
    return "\n".join([f"/*\nuPlot:\n{licence}*/", _text(DRAWS), *map(_text, PARTS)])


@functools.cache
def style() -> str:
    return _text("uplot/uPlot.min.css") + _text("lab.css")


def doorstep(nonce: str) -> str:
    """What is served without a token: it takes the token from the address, where no server and no referrer sees it, and
    asks for the page with it."""
    return _text("doorstep.html").replace("NONCE", nonce)


def module() -> str:
    """The script as a notebook loads it."""
    return script() + "\nexport default { render };\n"


def whole(title: str, hello: dict[str, Any], grid: dict[str, Any]) -> str:
    """One file that needs no server: the page with the runs of its grid."""
    start = f'startFile(document.getElementById("lab"), {_safe(hello)}, {_safe(grid)});'
    parts = {"TITLE": _plain(title), "STYLE": style(), "SCRIPT": f"{script()}\nwindow.tailbackLab = {start}"}
    page = _text("file.html")
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    return page


def _safe(value: Any) -> str:
    """JSON that may stand in a script element."""
    return json_text(value).replace("<", "\\u003c")


def _plain(text: str) -> str:
    return json.dumps(text)[1:-1].replace("&", "&amp;").replace("<", "&lt;")
