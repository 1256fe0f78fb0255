"""Reads TOML from any source with Python's own reader, with a bound on keys that would exhaust its memory."""

from __future__ import annotations

import re
import tomllib
from typing import Any

#: The most dotted parts of a key. Python's reader keeps every beginning of a key: a key of 100,000 parts (200 kB) takes
#: 20 GB of memory.
MOST_PARTS = 100

#: A pattern for a key with more parts, anywhere in a text. Each word is tried once.
_LONG = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


def loads(text: str) -> dict[str, Any]:
    """A text as a dict. Raises `tomllib.TOMLDecodeError`, and RecursionError for tables nested too deeply."""
    match = _LONG.search(text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key has more than {MOST_PARTS} parts (at line {line})")
    return tomllib.loads(text)
