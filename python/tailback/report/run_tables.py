"""Tables of the page of a run or a sweep: means over replications, and differences between points, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback.results.difference import Difference, compare_points
from tailback.results.means import Row, averages, finished, labels_of
from tailback.results.summary import decimals, number

#: Longer tables are not shown.
MOST_ROWS = 400

#: A column of a table: its name, how it is shown: title, scale, unit.
Column = tuple[str, str, float, str]

_GROUPS: list[Column] = [
    ("flows", "Flows", 1, ""),
    ("goodput_bps_mean", "Goodput a flow", 1e-6, "Mb/s"),
    ("goodput_bps_sd", "sd over flows", 1e-6, "Mb/s"),
    ("jain_index", "Jain's index", 1, ""),
    ("delay_mean_s", "One-way delay", 1e3, "ms"),
    ("timeouts", "Timeouts", 1, ""),
    ("retransmitted_packets", "Retransmitted", 1, "packets"),
]
_LINKS: list[Column] = [
    ("utilisation", "Utilisation", 100, "%"),
    ("loss_rate", "Loss", 100, "%"),
    ("dropped_packets", "Dropped", 1, "packets"),
    ("marked_packets", "Marked", 1, "packets"),
    ("mean_queue_packets", "Mean queue", 1, "packets"),
    ("sojourn_p50_s", "Sojourn, median", 1e3, "ms"),
    ("sojourn_p99_s", "Sojourn, 99 %", 1e3, "ms"),
]
_LOSSES: list[Column] = [("packets", "Packets", 1, "")]
_COMPLETIONS: list[Column] = [
    ("count", "Asked for", 1, ""),
    ("unfinished", "Unfinished", 1, ""),
    ("completion_mean_s", "Completion, mean", 1, "s"),
    ("completion_p50_s", "Median", 1, "s"),
    ("completion_p95_s", "95 %", 1, "s"),
    ("completion_p99_s", "99 %", 1, "s"),
    ("slowdown_p50", "Slowdown, median", 1, ""),
    ("slowdown_p95", "95 %", 1, ""),
]
_DATAGRAMS: list[Column] = [
    ("sent_packets", "Sent", 1, "packets"),
    ("loss_rate", "Loss", 100, "%"),
    ("loss_run_mean_packets", "Run of losses, mean", 1, "packets"),
    ("loss_run_longest_packets", "Longest", 1, "packets"),
    ("late_rate", "Late", 100, "%"),
    ("delay_mean_s", "Delay, mean", 1e3, "ms"),
    ("delay_p99_s", "99 %", 1e3, "ms"),
    ("jitter_mean_s", "Jitter, mean", 1e3, "ms"),
]
#: Only where datagrams are answered.
_ANSWERS: list[Column] = [
    ("lost_answers_packets", "Answers lost", 1, "packets"),
    ("rtt_mean_s", "Round trip, mean", 1e3, "ms"),
    ("rtt_p99_s", "99 %", 1e3, "ms"),
    ("rtt_max_s", "Longest", 1e3, "ms"),
]
_FRAMES: list[Column] = [
    ("frames", "Frames", 1, ""),
    ("failed_rate", "Not shown", 100, "%"),
    ("freezes", "Freezes", 1, ""),
    ("freeze_mean_frames", "Their length, mean", 1, "frames"),
    ("freeze_longest_frames", "Longest", 1, "frames"),
    ("delay_mean_s", "Delay, mean", 1e3, "ms"),
    ("delay_p99_s", "99 %", 1e3, "ms"),
]

#: Tables of the page: of which table of results, what names a row, the columns and the caption.
_TABLES: list[tuple[str, tuple[str, ...], list[Column], str]] = [
    ("groups", ("group",), _GROUPS, "Groups of flows"),
    ("links", ("name",), _LINKS, "Links"),
    ("losses", ("link", "event", "place", "reason", "colour"), _LOSSES, "Drops and marks, by place and reason"),
    ("completions", ("group", "what", "sizes"), _COMPLETIONS, "Completion times, by size"),
    ("datagrams", ("id",), _DATAGRAMS + _ANSWERS, "Datagrams"),
    ("frames", ("id",), _FRAMES, "Frames of video"),
]


@dataclass(frozen=True)
class Shown:
    """A table of the page; `too_long` has the number of its rows instead where there are too many to read."""

    caption: str
    heads: list[tuple[str, str]]
    rows: list[list[str]]
    text_columns: int
    too_long: int = 0


def means(results: Any, labels: list[str]) -> list[Shown]:
    """Means over replications, a row a point and thing, of every table that has rows."""
    done = finished(results.runs)
    made = []
    for name, keys, columns, caption in _TABLES:
        table = getattr(results, name)
        if len(table):
            shown = [c for c in columns if c[0] in table.columns and (c not in _ANSWERS or _has_any(table[c[0]]))]
            made.append(_means(table, [*labels, *_told(table, keys)], shown, caption, done))
    return made


def _has_any(values: Any) -> bool:
    return any(math.isfinite(x) for x in values)


def _told(table: Any, keys: tuple[str, ...]) -> list[str]:
    """The columns that name a row; colours only where there are some."""
    return [k for k in keys if k != "colour" or any(table["colour"])]


def _means(t: Any, names: list[str], shown: list[Column], caption: str, runs: list[Row]) -> Shown:
    found = averages(t, names, runs=runs, columns=[c[0] for c in shown])
    if len(found) > MOST_ROWS:
        return Shown(caption, [], [], len(names), len(found))
    most = {c[0]: decimals(row[c[0]] * c[2] for row in found) for c in shown}
    rows = []
    for row in found:
        cells = []
        for name, _, scale, _ in shown:
            half = math.nan if name == "flows" else row.get(f"{name}_ci95", math.nan) * scale
            cells.append(_cell(row[name] * scale, half, most[name]))
        rows.append([*(str(row[n]) for n in names), *cells])
    return Shown(caption, _heads(names, shown), rows, len(names))


def differences(results: Any, axis: str, against: str) -> list[Shown]:
    """What differs between the points of an axis and those that have `against` there, in the tables that have means.

    A star marks an interval that leaves zero out. Raises CompareError where there is no such axis or label.
    """
    found: dict[str, dict[str, dict[str, Difference]]] = {}
    for d in compare_points(results, axis, against):
        found.setdefault(d.table, {}).setdefault(d.row, {})[d.column] = d
    made = []
    others = [n for n in labels_of(results.runs) if n != axis]
    for name, keys, columns, caption in _TABLES:
        rows = found.get(name, {})
        shown = [c for c in columns if any(c[0] in row for row in rows.values())]
        if len(rows) > MOST_ROWS:
            made.append(Shown(caption, [], [], 1, len(rows)))
        elif shown:
            named = ", ".join([*others, axis, *_told(getattr(results, name), keys)])
            made.append(Shown(caption, _heads([named], shown), [_differing(k, r, shown) for k, r in rows.items()], 1))
    return made


def _differing(name: str, row: Mapping[str, Difference], shown: list[Column]) -> list[str]:
    cells = [name]
    for column, _, scale, _ in shown:
        d = row.get(column)
        # A column that is equal in every run is not among the differences.
        text = "equal" if d is None else _cell(d.difference * scale, d.ci95 * scale)
        cells.append(f"{text}\N{NO-BREAK SPACE}*" if d is not None and d.clear else text)
    return cells


def _cell(value: float, half: float, most: int = 6) -> str:
    return number(value, half, most).replace("±", "± ")


def _heads(names: list[str], shown: list[Column]) -> list[tuple[str, str]]:
    return [(n, "") for n in names] + [(title, unit) for _, title, _, unit in shown]
