"""The width of the terminal. `shutil` also gives the width, but imports modules for archives, which takes time."""

from __future__ import annotations

import contextlib
import os
import sys

#: The width if it is unknown.
UNKNOWN = 80


def terminal_width() -> int:
    """The width in columns: the variable COLUMNS, or else the terminal's."""
    with contextlib.suppress(KeyError, ValueError):
        columns = int(os.environ["COLUMNS"])
        if columns > 0:
            return columns
    if sys.__stdout__ is None:
        return UNKNOWN
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or UNKNOWN
    except (ValueError, OSError):
        # Standard output is closed, or is a file.
        return UNKNOWN
