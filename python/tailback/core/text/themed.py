"""An SVG whose colours follow the light or dark mode of its reader."""

from __future__ import annotations

import re
from collections.abc import Mapping

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def themed(svg: str, table: Mapping[str, str]) -> str:
    """An SVG for a page, whose colours follow the light or dark mode of its reader: each is a variable of CSS."""
    names: dict[str, str] = {}

    def variable(match: re.Match[str]) -> str:
        colour = match[0]
        if colour not in table:
            return colour
        return f"var(--{names.setdefault(colour, f'c{len(names)}')})"

    head, body = svg.split("<defs>", 1)
    body = re.sub(r'(?:style|fill|stroke)="[^"]*"', lambda m: _COLOUR.sub(variable, m[0]), body)
    light = "".join(f"--{n}:{c};" for c, n in names.items())
    dark = "".join(f"--{n}:{table[c]};" for c, n in names.items())
    rules = f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    return f"{head}{rules}<defs>{body}"
