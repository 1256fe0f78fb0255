"""Drawn lines of every kind: what was drawn, what `tc` sends for the line, and what we read of it are one.

`python tests/python/test_linux_drawn.py 1000 SEED` does the same for more of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import drawn_lines
import netlink
import pytest
from drawn_lines import KINDS, ROWS, Drawn
from kernel_words import differences, value
from netlink import needs_strace

from tailback.linux import classful, netem, write
from tailback.linux.reading import of_words
from tailback.linux.statement import Statement, statement
from tailback.linux.tree import _standing

#: Lines of the test; each kind has several.
MANY = 4 * len(KINDS)


def compared(lines: list[Drawn]) -> tuple[Counter[str], list[str]]:
    """How many of each kind agree, and what does not."""
    read = [one for line in lines if (one := _read(line)) is not None]
    sent, said = netlink.requests([line.command for line in lines])
    assert not said, said[:5]
    assert len(sent) == len(read) == len(lines)
    wrong: list[str] = []
    agree: Counter[str] = Counter()
    for line, one, request in zip(lines, read, sent, strict=True):
        found = [*differences(one, request), *_drawn(line, one)]
        wrong += [f"{line.command}: {text}" for text in found]
        if not found:
            agree[f"{one.object} {one.kind}"] += 1
    return agree, wrong


def _read(line: Drawn) -> Statement | None:
    one = statement(1, ["tc", *line.command.split()])
    return None if one is None else _standing(one)


def _drawn(line: Drawn, one: Statement) -> list[str]:
    """Where what was read is not what was drawn."""
    if line.discipline:
        name, read = of_words(one.kind, one.words)
        wrong = [] if name == line.discipline else [f"read as {name}"]
        for parameter, drawn in line.settings.items():
            silent = parameter == "mark_above_max" and not line.settings.get("ecn", False)
            if not silent and not _same(value(read.get(parameter)), value(drawn)):
                wrong.append(f"{parameter}: drawn {drawn}, read {read.get(parameter)}")
        # What is read makes the same line.
        again = write(ROWS[line.discipline], read, drawn_lines.PATH, ecn=False).text
        return wrong if again in line.command else [*wrong, f"written again as {again}"]
    if one.kind == "netem":
        found: dict[str, Any] = vars(netem.parse(one.words))
    else:
        known = classful.CLASS_WORDS if one.object == "class" else classful.WORDS
        found = classful.values(one.kind, one.words, known[one.kind])
    return [f"{k}: drawn {v}, read {found.get(k)}" for k, v in line.settings.items() if not _same(found.get(k), v)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(b, tuple) and isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == pytest.approx(b, rel=1e-9) if isinstance(b, float) and a is not None else a == b


@needs_strace
def test_drawn_sent_and_read_are_one() -> None:
    agree, wrong = compared(drawn_lines.draw(1, MANY))
    assert not wrong, wrong[:10]
    assert sum(agree.values()) == MANY


def test_what_was_drawn_otherwise_is_seen() -> None:
    one = drawn_lines.draw(2, 1)[0]
    read = _read(one)
    assert read is not None
    other = Drawn(one.command, "", {**one.settings, "rate": one.settings["rate"] + 8})
    assert not _drawn(one, read) and _drawn(other, read)


if __name__ == "__main__":
    found, differ = compared(drawn_lines.draw(int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[1])))
    print(f"{sum(found.values())} of {sys.argv[1]} agree: {', '.join(f'{k} {n}' for k, n in sorted(found.items()))}")
    print("\n".join(differ[:20]))
