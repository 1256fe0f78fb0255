"""How wide the terminal is. `shutil` tells it too, but imports modules for archives, which take time."""

from __future__ import annotations

import contextlib
import os
import sys

#: The width where it is not known.
UNKNOWN = 80


def terminal_width() -> int:
    """Columns: what the variable COLUMNS says, or else the terminal."""
    with contextlib.suppress(KeyError, ValueError):
        columns = int(os.environ["COLUMNS"])
        if columns > 0:
            return columns
    if sys.__stdout__ is None:
        return UNKNOWN
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or UNKNOWN
    except (ValueError, OSError):
        # It is closed, or is a file.
        return UNKNOWN
