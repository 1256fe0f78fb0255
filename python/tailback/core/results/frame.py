"""A table made in Python. The columns of this table have units and meanings, like those of the engine, for data frames
and notebooks."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

from tailback import _core

#: A column: name, unit, meaning and values; None is a number that does not apply.
Named = tuple[str, str, str, Sequence[object]]


def frame(name: str, columns: Iterable[Named]) -> _core.Table:
    """The table of these columns, whose values are texts or numbers.

    >>> from tailback.core.results.frame import frame
    >>> frame("two", [("queue", "", "the discipline", ["red", "pie"]), ("delay", "s", "its mean", [0.1, None])]).columns
    ['queue', 'delay']
    """
    return _core.make_table(name, [_stored(*column) for column in columns])


def _stored(name: str, unit: str, doc: str, values: Sequence[object]) -> tuple[str, str, str, str, object]:
    if any(isinstance(v, str) for v in values):
        return name, unit, doc, "text", ["" if v is None else str(v) for v in values]
    floats = [math.nan if v is None else float(v) for v in values]  # type: ignore[arg-type]
    return name, unit, doc, "real", struct.pack(f"<{len(floats)}d", *floats)
