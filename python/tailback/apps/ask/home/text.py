"""The answer as text: what helps, the measures with intervals, the effect of the share, and the lines to paste."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tailback.apps.ask import shown
from tailback.apps.ask.home import doing, summary, words
from tailback.apps.ask.home.candidates import MODEM
from tailback.apps.ask.home.traffic import config
from tailback.core.text.plain import plain
from tailback.core.text.width import terminal_width

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison


def _width(width: int | None) -> int:
    return max(width or terminal_width(), 40)


def first(answer: HomeComparison, width: int | None = None) -> str:
    """The answer after one seed of each candidate."""
    width = _width(width)
    lines = [*textwrap.wrap(words.first(answer), width), "", *summary.in_terminal(answer, width)]
    return "\n".join(plain(line) for line in lines)


def text(answer: HomeComparison, width: int | None = None) -> str:
    """The whole answer. The table of activities comes first, then the lines to type, their assumptions, and all
    measures."""
    width = _width(width)
    lines = textwrap.wrap(f"What helps on a home line of {words.question(answer)}?", width)
    lines += ["", *textwrap.wrap(words.verdict(answer), width), "", *summary.in_terminal(answer, width), ""]
    lines += [*textwrap.wrap(doing.nothing(answer), width), ""]
    sentence = words.varying(answer)
    lines += [*textwrap.wrap(sentence, width), *([""] if sentence else [])]
    lines += textwrap.wrap(words.hosts(answer), width)
    for assumption in words.assumptions(answer):
        lines += textwrap.wrap(assumption, width)
    lines += ["", *_paste(answer, width), "", "All measures", "", *_table(answer, width), ""]
    lines += textwrap.wrap(
        f"+down, +up, +both: mean latency that the load adds. Grade: by the mean of +down and +up. {shown.BEST}",
        width,
    )
    if answer.shares:
        lines += ["", *textwrap.wrap(words.share_sentence(answer), width), "", *_aligned(words.share_table(answer))]
    lines += ["", *textwrap.wrap(words.framing(answer), width), *textwrap.wrap(words.conditions(answer), width)]
    return "\n".join(plain(line) for line in lines)


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]


def _table(answer: HomeComparison, width: int) -> list[str]:
    places = answer.ranking.places
    names = [["", "", *(p.queue for p in places)]]
    return shown.in_terminal(answer.ranking, names, [["grade", "", *(answer.grade(p.queue) for p in places)]], width)


def _paste(answer: HomeComparison, width: int) -> list[str]:
    """Lines for the first candidate, how to undo them, and how to check that they work."""
    if answer.best == MODEM:
        return ["Nothing to paste: no candidate was compared that a router can set up."]
    paste = answer.lines(answer.best)
    if paste is None:
        return [f"{answer.best} is written in Python: there is no line for it."]
    if paste.why_not:
        return [paste.why_not]
    lines = [*textwrap.wrap(doing.NOT_NEEDED, width), ""] if words.leave(answer) else []
    lines += textwrap.wrap(f"On Linux, {answer.best}: {doing.ON_LINUX}", width)
    lines += ["", *(f"  {line}" for line in paste.commands)]
    if answer.candidates[answer.best].follows:
        for explanation, typed_lines in doing.autorate(config(answer.line)):
            lines += ["", *textwrap.wrap(explanation, width), "", *(f"  {line}" for line in typed_lines)]
    if paste.unsaid:
        lines += ["", f"These lines do not say {', '.join(paste.unsaid)}."]
    lines += ["", doing.UNDO_LINUX, "", *(f"  {line.text}" for line in paste.undo)]
    block = answer.sqm(answer.best)
    if block is not None:
        lines += ["", *textwrap.wrap(f"On OpenWrt, instead, in /etc/config/sqm: {doing.ON_OPENWRT}", width), ""]
        lines += [f"  {line}" for line in block.block.splitlines()]
        lines += ["", doing.UNDO_OPENWRT, "", *(f"  {line}" for line in block.undo)]
    return [*lines, "", *textwrap.wrap(doing.check(answer), width)]
