"""The answer as text: the ranking, the measures with intervals, the leaders of each measure, and the lines of `tc`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tailback.apps.ask import refine, shown
from tailback.apps.ask.link import words
from tailback.apps.ask.link.production import around
from tailback.apps.ask.link.production import lines as production
from tailback.core.text.plain import plain
from tailback.core.text.width import terminal_width

#: The text if there is nothing to paste.
NO_LINE = "(Linux has no such discipline)"

if TYPE_CHECKING:
    from tailback.apps.ask.link.compared import Comparison
    from tailback.apps.ask.link.link import Link
    from tailback.apps.ask.link.traffic import Times


def _width(width: int | None) -> int:
    return max(width or terminal_width(), 40)


def opening(link: Link, times: Times, seeds: str, width: int | None = None) -> str:
    """The question as it was understood, for printing before the first run."""
    paragraphs = [
        f"Which queue for {words.question(link)}?",
        f"{words.crossing(link)} {words.conditions(link, times, seeds)}",
        *link.notes,
    ]
    return "\n".join(plain(line) for p in paragraphs for line in textwrap.wrap(p, _width(width)))


def first(answer: Comparison, width: int | None = None) -> str:
    """The first answer, from one seed of each discipline."""
    width = _width(width)
    lines = [*textwrap.wrap(words.at_first(answer), width), "", *_table(answer, width)]
    return "\n".join(plain(line) for line in lines)


def text(answer: Comparison, width: int | None = None, *, opened: bool = False) -> str:
    width = _width(width)
    lines = [] if opened else [opening(answer.link, answer.times, refine.said(len(answer.seeds)), width)]
    lines += ["", *textwrap.wrap(f"{words.first(answer)} {words.against(answer)}", width), "", *_table(answer, width)]
    if len(answer.seeds) > 1:
        lines += [
            "",
            *textwrap.wrap(f"{shown.BEST} {judged(answer)}", width),
        ]
    lines += ["", *(_in_switch(answer, width) if answer.link.rack is not None else _paste(answer, width))]
    return "\n".join(plain(part) for line in lines for part in line.split("\n"))


def _in_switch(answer: Comparison, width: int) -> list[str]:
    """The lines for the queue of a host, since a switch has no shaper."""
    lines = ["On Linux (tc qdisc replace dev DEV root ...)"]
    for name, c in answer.candidates.items():
        line = c.tc if c.tc is not None else NO_LINE
        notes = [c.where or c.tc_remark, f"does not say {', '.join(c.unsaid)}" if c.unsaid else ""]
        lines += _indented(name, "  # ".join(filter(None, (line, *notes))), width)
    return lines


def _paste(answer: Comparison, width: int) -> list[str]:
    """Production values, behind a shaper."""
    lines = textwrap.wrap(words.production(answer.link), width)
    shaper = around(answer.link)
    lines += [part for line in shaper for part in _indented("", line, width, 2)]
    for name, c in answer.candidates.items():
        paste = production(c, answer.link)
        if paste is None:
            lines += _indented(name, NO_LINE, width)
            continue
        own_commands = paste.commands[len(shaper) :] if paste.commands[: len(shaper)] == shaper else paste.commands
        lacks = f"  # does not say {', '.join(paste.unsaid)}" if paste.unsaid else ""
        for line in own_commands:
            lines += _indented(name, line + (lacks if line == paste.leaf else ""), width)
    return lines


def _indented(name: str, line: str, width: int, at: int = 13) -> list[str]:
    head = f"  {name:<10} {line}" if name else f"  {line}"
    further = " " * (at + (0 if name else 2))
    return textwrap.wrap(head, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def judged(answer: Comparison) -> str:
    return (
        "Better: the 99 % interval of the paired difference over seeds excludes zero, and the difference matters. "
        "Ranked by how often better "
        "minus how often worse."
    )


def _table(answer: Comparison, width: int) -> list[str]:
    places = answer.ranking.places
    names = [["", "", *(str(p.rank or "") for p in places)], ["queue", "", *(p.queue for p in places)]]
    lead = []
    if len(answer.seeds) > 1:
        lead = [["better", "", *(str(p.better) for p in places)], ["worse", "", *(str(p.worse) for p in places)]]
    return shown.in_terminal(answer.ranking, names, lead, width)
