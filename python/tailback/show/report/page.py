"""Makes the pages of a report: templates become one HTML file that needs nothing else, for a screen, a phone or paper.

jinja2 escapes everything that is put into a template.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


@dataclass(frozen=True)
class Picture:
    """A figure of a page: its bytes, and links to the files of other kinds."""

    caption: str
    mime: str
    data: str
    #: The figure for a screen of 400 pixels, as SVG; empty if there is none.
    small: str
    #: (kind, path relative to the page)
    links: list[tuple[str, str]]


def picture(folder: Path, files: Sequence[str], caption: str) -> Picture | None:
    """A figure from its files (SVG, or PNG); None if there is neither."""
    from tailback.core.figure_style import SMALL

    small = next((f for f in files if f.endswith(f"{SMALL}.svg")), None)
    by_kind = {Path(f).suffix[1:]: f for f in files if f != small}
    file = by_kind.get("svg") or by_kind.get("png")
    if file is None or not (folder / file).is_file():
        return None
    mime = "image/svg+xml" if file.endswith("svg") else "image/png"
    narrow_picture = _inside(folder / small) if small is not None and (folder / small).is_file() else ""
    links = [(k.upper(), f) for k, f in by_kind.items() if k != "svg"]
    return Picture(caption, mime, _inside(folder / file), narrow_picture, links)


def _inside(file: Path) -> str:
    """The text of a file for a page. The colours of an SVG follow the light or dark mode of the page."""
    from tailback.core.figure_style import DARK
    from tailback.core.text.themed import themed

    content = file.read_bytes()
    if file.suffix == ".svg":
        content = themed(content.decode(), DARK).encode()
    return base64.b64encode(content).decode()


def render(template: str, **content: Any) -> str:
    """A page from its template."""
    return _environment().get_template(template).render(**content)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tailback.show.report"),
        autoescape=lambda name: name is None or name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"paragraphs": _paragraphs, "units": _units}
    return environment


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, in which blank lines separate paragraphs."""
    return [p.strip() for p in text.strip().split("\n\n") if p.strip()]


def _units(body: Markup) -> Markup:
    """Keep a number and its sign or unit on one line, except in text to be copied."""
    pieces = re.split(r"(<pre>.*?</pre>|<code>.*?</code>)", str(body), flags=re.DOTALL)
    return Markup("".join(part if i % 2 else _joined(part) for i, part in enumerate(pieces)))


def _joined(text: str) -> str:
    for unit in ("%", "±", "s", "ms", "packets", "Mb/s", "Mbit/s"):
        text = re.sub(rf"(?<=\d) {re.escape(unit)}(?![\w/])", f"\u00a0{unit}", text)
    return text.replace("± ", "±\u00a0")
