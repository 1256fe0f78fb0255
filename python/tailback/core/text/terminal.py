"""Lays out tables for a terminal as plain text, so that a pipe or a file gets the same.

Rich is used only if text must be broken or has letters that may be two columns wide. The import of Rich takes a quarter
of the time of a short run, so nearly all tables are laid out without Rich.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence

from tailback.core.text.plain import plain

#: The number of blanks between two columns.
GAP = 2
_UNLIMITED = 100_000


def columns(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), wrap: int | None = None, width: int | None = None
) -> list[str]:
    """The lines of a table. Cells of the columns in `right` are aligned to the right.

    With `width`, the text of column `wrap` is broken into several lines; without it no text is broken.
    """
    if not rows:
        return []
    if wrap is None and width is None and all(_one_each(cell) for row in rows for cell in row):
        return _side_by_side(rows, right)
    return _by_rich(rows, right, wrap, width)


def _one_each(cell: str) -> bool:
    """Whether each letter takes one column."""
    return cell.isascii() and cell.isprintable()


def _side_by_side(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded_cells = (
            cell.rstrip().rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append((" " * GAP).join(padded_cells).rstrip())
    return lines


def _by_rich(rows: Sequence[Sequence[str]], right: Collection[int], wrap: int | None, width: int | None) -> list[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    for i in range(len(rows[0])):
        broken = i == wrap
        table.add_column(
            justify="right" if i in right else "left", no_wrap=not broken, overflow="fold" if broken else "crop"
        )
    for row in rows:
        # Brackets in a cell are text, not markup.
        table.add_row(*(Text(plain(cell)) for cell in row))
    buffer = io.StringIO()
    # In a notebook rich would also show the table by itself.
    console = Console(
        file=buffer,
        width=width or _UNLIMITED,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        soft_wrap=False,
    )
    console.print(table)
    return [line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n")]
