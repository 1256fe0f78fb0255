"""A result as text for people: groups, links and completion times in the width of the terminal, units in the header."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tailback.results.means import alike, averages
from tailback.scenario import marking
from tailback.text.plain import plain
from tailback.text.terminal import GAP, columns

#: Where the terminal's width is not known.
WIDTH = 80
# Longer tables are cut; the folder of results has everything.
MOST_ROWS = 20

# Column of the table, head, and the unit it is shown in (None: chosen by size among powers of a thousand).
_GROUPS = (
    ("flows", "flows", "1"),
    ("goodput_bps_mean", "goodput/flow", "bit/s"),
    ("goodput_bps_sum", "together", "bit/s"),
    ("jain_index", "Jain", "1"),
    ("delay_mean_s", "delay", "s"),
    ("timeouts", "timeouts", "n"),
    ("dropped_packets", "drops", "n"),
)
_LINKS = (
    ("utilisation", "used", "%"),
    ("loss_rate", "loss", "%"),
    ("mean_queue_packets", "queue", "packets"),
    ("sojourn_mean_s", "wait", "s"),
    ("sojourn_p95_s", "wait p95", "s"),
    ("dropped_packets", "drops", "n"),
    ("marked_packets", "marks", "n"),
)
#: With more groups, only the completions over all of them are printed.
_FEW_GROUPS = 6
_COMPLETIONS = (
    ("count", "count", "n"),
    ("unfinished", "unfinished", "n"),
    ("completion_mean_s", "mean", "s"),
    ("completion_p50_s", "median", "s"),
    ("completion_p95_s", "p95", "s"),
    ("completion_p99_s", "p99", "s"),
)
_DATAGRAMS = (
    ("sent_packets", "datagrams", "n"),
    ("loss_rate", "loss", "%"),
    ("loss_run_mean_packets", "run", "n"),
    ("late_rate", "late", "%"),
    ("delay_mean_s", "delay", "s"),
    ("delay_p99_s", "p99", "s"),
    ("jitter_mean_s", "jitter", "s"),
)
# Shown where datagrams are answered.
_ANSWERS = (
    ("lost_answers_packets", "answers lost", "n"),
    ("rtt_mean_s", "round trip", "s"),
    ("rtt_p99_s", "p99", "s"),
    ("rtt_max_s", "max", "s"),
)
_FRAMES = (
    ("frames", "frames", "n"),
    ("failed_rate", "failed", "%"),
    ("freezes", "freezes", "n"),
    ("freeze_longest_frames", "longest", "n"),
    ("delay_mean_s", "delay", "s"),
    ("delay_p99_s", "p99", "s"),
)


def text(result: Any, width: int | None = None) -> str:
    """The summary of a result; without `width` as wide as the terminal (or COLUMNS)."""
    width = width or shutil.get_terminal_size((WIDTH, 24)).columns
    r, scenario = result.results, result.scenario
    done = [row["seed"] for row in r.runs.rows() if row["status"] == "done"]
    several = len(done) > 1
    name = plain(scenario.name or "scenario")
    seeds = (
        f"{len(done)} replications, seeds {min(done)} to {max(done)}" if several else f"seed {done[0] if done else '-'}"
    )
    counted = f"{scenario.duration_s:g} s"
    if scenario.warmup_s:
        counted += f", counted from {scenario.warmup_s:g} s"
    lines = textwrap.wrap(f"{name}: {counted}; {seeds}", max(width, 20))
    if marks := marking.sentence(scenario):
        lines += textwrap.wrap(marks, max(width, 20))
    told = len(lines)
    if several:
        lines += textwrap.wrap("means \u00b1 95 % confidence interval over the replications", max(width, 20))
    if not done:
        return "\n".join([*lines, "no run was finished"])
    groups = averages(r.groups, ("group",), several)
    links = [
        link for link in averages(r.links, ("name",), several) if link["arrived_packets"] or "." not in link["name"]
    ]
    if several and alike(groups, links):
        why = "the replications are all alike: nothing in this scenario is drawn at random"
        lines[told:] = textwrap.wrap(why, max(width, 20))
        lines.append('--set \'flows.NAME.start={ kind = "uniform", to = "1s" }\' starts flows at random')
    lines += ["", *_table({"group": "group"}, groups, _GROUPS, several, width), ""]
    lines += _table({"name": "link"}, links, _LINKS, several, width)
    answered = _answered(r.datagrams)
    for table, heads, shown in (
        (r.completions, {"group": "group", "what": "times of", "sizes": "sizes"}, _COMPLETIONS),
        (r.datagrams, {"id": "flow"}, _DATAGRAMS + _ANSWERS if answered else _DATAGRAMS),
        (r.frames, {"id": "flow"}, _FRAMES),
    ):
        if len(table):
            rows = averages(table, tuple(heads), several)
            if table is r.completions:
                rows, left = _of_all(rows, set(r.groups.to_list("group")))
                lines += left
            lines += ["", *_table(heads, rows, shown, several, width)]
    return "\n".join(lines)


def _of_all(rows: list[dict[str, Any]], named: set[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Completions over all groups only, where there are many groups; and a line that says so. `named` are the groups of
    the scenario: the rows of one that is called "all" are its own."""
    over_all = [row for row in rows if row["group"] not in named]
    groups = {row["group"] for row in rows} & named
    if len(groups) <= _FEW_GROUPS or not over_all:
        return rows, []
    return over_all, ["", f"completions of all {len(groups)} groups together; the table `completions` has each"]


def _answered(datagrams: Any) -> bool:
    """Whether any datagrams have answers. Older results have no columns for them."""
    return "rtt_mean_s" in datagrams.columns and any(math.isfinite(x) for x in datagrams.to_list("rtt_mean_s"))


def _table(
    heads: dict[str, str],
    rows: list[dict[str, Any]],
    shown: Sequence[tuple[str, str, str]],
    several: bool,
    width: int,
) -> list[str]:
    """Columns that name a row, with their heads, and those that are shown."""
    more = len(rows) - MOST_ROWS
    rows = rows[:MOST_ROWS]
    names = [
        [head, "", *(row[key] if len(row[key]) <= 24 else row[key][:23] + "\u2026" for row in rows)]
        for key, head in heads.items()
    ]
    cells_of = []
    for column, title, unit in shown:
        shown_unit, show = scale(unit, [row[column] for row in rows])
        halves = [row.get(f"{column}_ci95", math.nan) if several else math.nan for row in rows]
        cells_of.append([title, shown_unit, *(show(row[column], half) for row, half in zip(rows, halves, strict=True))])
    lines = side_by_side(names, cells_of, width)
    if more > 0:
        lines.append(f"and {more} more; --out DIR or --json has all")
    return lines


def side_by_side(names: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns beside those that name the rows; what does not fit any more stands below, beside the same names."""
    blocks = [[*names]]
    used = lead = sum(max(map(len, column)) + GAP for column in names) - GAP
    for column in cells:
        wide = GAP + max(map(len, column))
        if used + wide > width and len(blocks[-1]) > len(names):
            blocks.append([*names])
            used = lead
        blocks[-1].append(column)
        used += wide
    lines: list[str] = []
    for i, block in enumerate(blocks):
        made = columns(list(zip(*block, strict=True)), right=range(len(names), len(block)))
        lines += made if i == 0 else ["", *(line for line in made if line.strip())]
    return lines


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "\u00b5"), (1e-9, "n"))


def scale(unit: str, values: Sequence[float], places: int = 6) -> tuple[str, Callable[[float, float], str]]:
    """The unit a column is shown in, and how a value and the half-width of its interval are written in it, with so many
    decimals at most."""
    factor, name = 1.0, unit if unit not in ("1", "n") else ""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if unit == "%":
        factor = 0.01
    elif unit in ("bit/s", "s"):
        # A second is not made larger, and nothing smaller than a bit per second is worth a prefix.
        fitting = [(f, p) for f, p in _PREFIXES if (f <= 1 if unit == "s" else f >= 1)]
        factor, prefix = next(((f, p) for f, p in fitting if largest >= f), (1.0, ""))
        name = f"{prefix}{'bps' if unit == 'bit/s' else 's'}"

    most = min(places, decimals([largest / factor]))

    def show(value: float, half: float) -> str:
        return number(value / factor, half / factor, most)

    return name, show


def decimals(values: Iterable[float]) -> int:
    """The most decimals in a column: beside large values the digits of tiny ones say nothing, and take the room of
    other columns."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    return max(0, 5 - math.floor(math.log10(largest))) if largest > 0 else 6


def number(value: float, half: float = math.nan, most: int = 6) -> str:
    """A value with four significant digits, or as many as its interval lets mean something; `most` limits decimals."""
    if not math.isfinite(value):
        return "-"
    if math.isfinite(half) and half > 0:
        places = min(most, max(0, 1 - math.floor(math.log10(half))))
        return f"{value:.{places}f} \u00b1{half:.{places}f}"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    places = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, most)}f}"
