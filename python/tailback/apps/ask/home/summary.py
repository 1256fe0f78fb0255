"""The first table of an answer. The table shows calls, games, pages and rates with the modem alone, with the user's
present queue, and with the proposal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailback.apps.ask.home.candidates import MINE, MODEM
from tailback.core import stats

if TYPE_CHECKING:
    from tailback.apps.ask.home.compared import HomeComparison

#: The words for the quality of a call, each with its smallest R (ITU-T G.109).
RATINGS = ((90.0, "very good"), (80.0, "good"), (70.0, "fair"), (60.0, "poor"))
WORST_RATING = "bad"


@dataclass(frozen=True)
class Row:
    """A row: an activity, with one cell for each candidate."""

    what: str
    cells: list[str]


def names(answer: HomeComparison) -> list[str]:
    """The candidates of the table: the modem alone, the present queue, the proposal."""
    names_shown = [MODEM, *([MINE] if MINE in answer.candidates else []), answer.best]
    return list(dict.fromkeys(names_shown))


def heads(answer: HomeComparison) -> list[str]:
    head_of = {MODEM: "today: the modem" if MINE not in answer.candidates else "the modem alone", MINE: "what you have"}
    return [head_of.get(name, f"with {name}") for name in names(answer)]


def rows(answer: HomeComparison) -> list[Row]:
    """The rows, in the order in which users notice differences."""
    line = answer.line
    calls, games = (len(line.hosts_of.get(kind, ())) for kind in ("call", "game"))
    candidate_rows = [
        _row(answer, "the worst call" if calls > 1 else "the call", "call_rating", _rated),
        _row(answer, "the video", "video_shown_bps", lambda e: _rate(e.mean)),
        _row(answer, "of the time it is frozen", "video_frozen", lambda e: f"{_number(100 * e.mean)} %"),
        _row(
            answer, f"late packets of the game{'s' * (games > 1)}", "game_late", lambda e: f"{_number(100 * e.mean)} %"
        ),
        _row(answer, "a page, half of them within", "page_p50_s", lambda e: f"{e.mean:.2g} s"),
        _row(answer, "latency that a download adds", "added_down_s", milliseconds),
        _row(answer, "latency that an upload adds", "added_up_s", milliseconds),
        _row(answer, "the download delivers", "goodput_down", lambda e: _rate(e.mean * line.down_bps)),
        _row(answer, "the upload delivers", "goodput_up", lambda e: _rate(e.mean * line.up_bps)),
    ]
    grade_row = Row("grade", [answer.grade(name) for name in names(answer)])
    return [*(row for row in candidate_rows if row is not None), grade_row]


def _row(answer: HomeComparison, what: str, measure: str, show: object) -> Row | None:
    if measure not in answer.ranking.values:
        return None
    estimates = [answer.estimate(measure, name) for name in names(answer)]
    if all(math.isnan(e.mean) for e in estimates):
        return None
    assert callable(show)
    return Row(what, ["too few to say" if math.isnan(e.mean) else show(e) for e in estimates])


def _rated(e: stats.Mean) -> str:
    word = next((word for least, word in RATINGS if e.mean >= least), WORST_RATING)
    return f"{word} (R {e.mean:.0f})"


def milliseconds(e: stats.Mean) -> str:
    """A time such as `216 ± 2 ms`; the half-width of the interval decides the number of decimals."""
    places = 0 if abs(e.mean) >= 0.020 or e.half_width >= 0.002 else 1
    half = "" if math.isnan(e.half_width) else f" ± {1e3 * e.half_width:.{places}f}"
    return f"{1e3 * e.mean:.{places}f}{half} ms"


def _rate(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mb/s" if bps >= 1e6 else f"{bps / 1e3:.3g} kb/s"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1g}"


def in_terminal(answer: HomeComparison, width: int) -> list[str]:
    """The table as lines."""
    table = [["", *heads(answer)], *([row.what, *row.cells] for row in rows(answer))]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    gap = "   " if sum(widths) + 3 * (len(widths) - 1) <= width else " "
    return [gap.join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
