"""A reading as text for a terminal: the understood parts, the parts that were left out with the reasons, and the next
commands."""

from __future__ import annotations

import shlex

from tailback.core.text.plain import plain
from tailback.core.text.terminal import columns
from tailback.core.text.width import terminal_width
from tailback.readers.reading import Reading

#: The most lines of a part; further lines are counted only.
_MOST = 60
#: The longest name, in characters, that has its value beside it.
_BESIDE = 30


def text(found: Reading, file: str) -> str:
    """The whole text; `file` is the name that the user gave."""
    width = max(terminal_width(), 40)
    lines = [plain(found.title[:1].upper() + found.title[1:])]
    lines += _part("understood", [(u.what, _at(u.value, u.line)) for u in found.understood], width)
    lines += _part("left out", [(x.what, _at(x.why, x.line)) for x in found.left], width)
    file_word = shlex.quote(file) if file != "-" else "FILE"
    steps = [(plain(n.command.replace("FILE", file_word)), n.why) for n in found.next]
    if steps:
        lines += ["", "next:"]
        for command, reason in steps:
            lines += [f"  {command}", f"      {reason}"]
    return "\n".join(lines)


def _at(value: str, line: int) -> str:
    return plain(f"{value} (line {line})" if line else value)


def _part(name: str, rows: list[tuple[str, str]], width: int) -> list[str]:
    if not rows:
        return []
    lines: list[str] = []
    cells: list[list[str]] = []
    for what, value_text in rows[:_MOST]:
        if len(what) <= _BESIDE:
            cells.append([f"  {plain(what)}", value_text])
            continue
        # A long name, such as a line of tc, is above its value, which then has the whole width.
        lines += [*columns(cells, wrap=1, width=width), f"  {plain(what)}"]
        lines += columns([["     ", value_text]], wrap=1, width=width)
        cells = []
    lines += columns(cells, wrap=1, width=width)
    more_line = [f"  and {len(rows) - _MOST} more; --json has all"] if len(rows) > _MOST else []
    return ["", f"{name}:", *lines, *more_line]
