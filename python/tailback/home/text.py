"""The answer as text: what helps, the measures with intervals, what the share buys, and the lines to paste."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from tailback.comparison.words import value
from tailback.home import words
from tailback.results.summary import WIDTH, side_by_side
from tailback.text.plain import plain

if TYPE_CHECKING:
    from tailback.home.compared import HomeComparison


def text(answer: HomeComparison, width: int | None = None) -> str:
    width = max(width or shutil.get_terminal_size((WIDTH, 24)).columns, 40)
    head = [
        f"What helps on a home line of {words.question(answer)}?",
        words.where(answer),
        words.hosts(answer),
        words.framing(answer),
        words.conditions(answer),
        *words.notes(answer),
    ]
    lines = [line for p in head for line in textwrap.wrap(p, width)]
    lines += ["", *textwrap.wrap(words.verdict(answer), width), "", *_table(answer, width), ""]
    lines += textwrap.wrap(
        "+down, +up, +both: mean latency that the load adds. Grade: by the mean of +down and +up. "
        "Mean ± 95 % interval over seeds; * nothing is better by this measure.",
        width,
    )
    lines += ["", *textwrap.wrap(words.share_sentence(answer), width), "", *_paste(answer)]
    return "\n".join(plain(line) for line in lines)


def _table(answer: HomeComparison, width: int) -> list[str]:
    r = answer.ranking
    places = r.places
    names = [["", "", *(p.queue for p in places)]]
    cells = [["grade", "", *(answer.grade(p.queue) for p in places)]]
    for m in r.measures:
        estimates = [r.estimate(m.name, p.queue) for p in places]
        unit, shown = value(m.unit, [(e.mean, e.half_width) for e in estimates])
        best = r.unbeaten(m.name) if m.better else []
        marked = [f"{cell.joined()}{'*' if p.queue in best else ' '}" for cell, p in zip(shown, places, strict=True)]
        cells.append([f"{m.head} ", f"{unit} ", *marked])
    return side_by_side(names, cells, width)


def _paste(answer: HomeComparison) -> list[str]:
    """Lines for the candidate that comes first."""
    made = answer.lines(answer.best)
    if made is None:
        return [f"{answer.best} is written in Python: there is no line for it."]
    if made.why_not:
        return [made.why_not]
    found = [f"On Linux, {answer.best} (WAN is the device towards the modem):", ""]
    found += [f"  {line}" for line in made.commands]
    block = answer.sqm(answer.best)
    if block is not None:
        found += ["", "On OpenWrt, in /etc/config/sqm:", "", *(f"  {line}" for line in block.block.splitlines())]
    return found
