"""TOML of whoever writes it: read by Python's own reader, with a bound for what makes that reader take no end."""

from __future__ import annotations

import re
import tomllib
from typing import Any

#: As many parts as a key between dots may have. Python's reader keeps every beginning of a key: 100,000 parts, 200 kB,
#: take 20 GB of memory.
MOST_PARTS = 100

#: Of so many parts, wherever it stands; each word is tried once.
_LONG = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


def loads(text: str) -> dict[str, Any]:
    """A text as a dict. Raises `tomllib.TOMLDecodeError`, and RecursionError for what is nested too deeply."""
    match = _LONG.search(text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key has more than {MOST_PARTS} parts (at line {line})")
    return tomllib.loads(text)
