"""The report of a folder written by `tailback run` or a sweep: what was run, what came out, and figures of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core, plots
from tailback.means import Row, alike, averages, finished, labels_of
from tailback.report.page import picture, render
from tailback.result import Result
from tailback.scenarios import read
from tailback.store import manifest
from tailback.summary import decimals, number
from tailback.text import plain

#: Longer tables are not shown.
MOST_ROWS = 400

#: A column of a table: its name, how it is shown: title, scale, unit.
Column = tuple[str, str, float, str]

_GROUPS: list[Column] = [
    ("flows", "Flows", 1, ""),
    ("goodput_bps_mean", "Goodput a flow", 1e-6, "Mbit/s"),
    ("goodput_bps_sd", "sd over flows", 1e-6, "Mbit/s"),
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
_FRAMES: list[Column] = [
    ("frames", "Frames", 1, ""),
    ("failed_rate", "Not shown", 100, "%"),
    ("freezes", "Freezes", 1, ""),
    ("freeze_mean_frames", "Their length, mean", 1, "frames"),
    ("freeze_longest_frames", "Longest", 1, "frames"),
    ("delay_mean_s", "Delay, mean", 1e3, "ms"),
    ("delay_p99_s", "99 %", 1e3, "ms"),
]


def run_page(folder: Path) -> str:
    results, made = _core.read_results(folder), manifest.read(folder)
    scenario = (folder / "scenario.toml").read_text(encoding="utf-8") if (folder / "scenario.toml").is_file() else ""
    name = plain(str(made.get("scenario") or folder.resolve().name))
    labels = labels_of(results.runs)
    status = list(results.runs["status"]) if len(results.runs) else []
    failed = [i for i, s in enumerate(status) if s != "done"]
    replications = len(set(np.asarray(results.runs["replication"]).tolist())) if status else 0
    said = [f"{len(status)} runs", f"{replications} replication{'s' if replications != 1 else ''} a point"]
    if labels:
        said.append("varied: " + ", ".join(labels))
    done = finished(results.runs)
    causes = ["link", "event", "place", "reason"]
    if len(results.losses) and any(results.losses["colour"]):
        causes.append("colour")
    tables = [
        _means(results.groups, labels, ["group"], _GROUPS, "Groups of flows", done),
        _means(results.links, labels, ["name"], _LINKS, "Links", done),
        _means(results.losses, labels, causes, _LOSSES, "Drops and marks, by place and reason", done),
        _means(
            results.completions, labels, ["group", "what", "sizes"], _COMPLETIONS, "Completion times, by size", done
        ),
        _means(results.datagrams, labels, ["id"], _DATAGRAMS, "Datagrams", done),
        _means(results.frames, labels, ["id"], _FRAMES, "Frames of video", done),
    ]
    command = made.get("command", "")
    shown = ("tailback", "build", "python", "started", "elapsed_s", "scenario_digest")
    return render(
        "run.html",
        title=f"{name}: report",
        name=name,
        said=said,
        failed=len(failed),
        why=str(results.runs["message"][failed[0]]) if failed else "",
        figures=[picture(folder, files, caption) for files, caption in _figures(folder, results, labels)],
        note=_note(results, labels, replications),
        tables=[t for t in tables if t is not None],
        manifest=[(k, str(made[k])) for k in shown if k in made],
        command=" ".join(command) if isinstance(command, list) else str(command),
        scenario=scenario,
    )


def _note(results: Any, labels: list[str], replications: int) -> str:
    """What the numbers of the tables are."""
    if replications <= 1:
        return "One run a point: no intervals."
    tables = ((results.groups, "group"), (results.links, "name"))
    if alike(*(averages(t, (*labels, key), ci=True) for t, key in tables)):
        return "The replications are all alike: nothing here is drawn at random, so the intervals say nothing."
    return "Means over replications ± half the 95 % interval."


@dataclass(frozen=True)
class Means:
    """A table of the page; `too_long` has the number of its rows instead where there are too many to read."""

    caption: str
    heads: list[tuple[str, str]]
    rows: list[list[str]]
    text_columns: int
    too_long: int = 0


def _means(
    t: Any, labels: list[str], keys: list[str], columns: list[Column], caption: str, runs: list[Row]
) -> Means | None:
    """A table of means over replications, one row a point and key; None of an empty table."""
    if not len(t):
        return None
    names = [*labels, *keys]
    shown = [c for c in columns if c[0] in t.columns]
    found = averages(t, names, runs=runs, columns=[c[0] for c in shown])
    if len(found) > MOST_ROWS:
        return Means(caption, [], [], len(names), len(found))
    most = {c[0]: decimals(row[c[0]] * c[2] for row in found) for c in shown}
    rows = []
    for row in found:
        cells = []
        for name, _, scale, _ in shown:
            half = math.nan if name == "flows" else row.get(f"{name}_ci95", math.nan) * scale
            cells.append(number(row[name] * scale, half, most[name]).replace("±", "± "))
        rows.append([*(str(row[n]) for n in names), *cells])
    heads = [(n, "") for n in names] + [(title, unit) for _, title, _, unit in shown]
    return Means(caption, heads, rows, len(names))


def _figures(folder: Path, results: Any, labels: list[str]) -> list[tuple[list[str], str]]:
    """Curves over a label that is a number, goodputs, and recorded series."""
    out = []

    def keep(fig: Any, name: str, caption: str) -> None:
        files = plots.save(fig, folder / "figures" / name)
        out.append(([str(f.relative_to(folder)) for f in files], caption))

    axis = next((name for name in labels if _numbers(results.links[name] if len(results.links) else [])), None)
    if axis is not None:
        first = results.links["name"][0]
        unit_of_axis = str(results.links[axis][0]).partition(" ")[2]
        xlabel = f"{axis} ({unit_of_axis})" if unit_of_axis else axis
        for column, title, scale, unit in (
            ("utilisation", "utilisation", 100, "%"),
            ("loss_rate", "loss", 100, "%"),
            ("mean_queue_packets", "mean queue", 1, "packets"),
        ):
            lines = _curves(results.links, ("name", first), labels, axis, (column, scale))
            keep(
                plots.curves([("", lines)], xlabel, f"{title} of {first} ({unit})", log_x=_wide(lines)),
                column,
                f"{title.capitalize()} of {first} over {axis}. Bands: 95 % intervals.",
            )
        groups = list(dict.fromkeys(results.groups["group"]))[:4]
        panels = [(g, _curves(results.groups, ("group", g), labels, axis, ("goodput_bps_mean", 1e-6))) for g in groups]
        keep(
            plots.curves(panels, xlabel, "goodput a flow (Mbit/s)", log_x=_wide(panels[0][1])),
            "goodput",
            f"Mean goodput of the flows of each group over {axis}. Bands: 95 % intervals.",
        )
    elif (
        len(results.flows) > 1 and len(set(results.runs["run"])) // max(1, len(set(results.runs["replication"]))) <= 12
    ):
        keep(
            plots.plot(results, "goodput"),
            "goodput",
            "Goodput of each flow (payload, without headers), sorted; the line is the mean. First replication.",
        )
    if len(results.completions) and not labels:
        said = "Completion times by size; bars are medians of the classes. First replication."
        keep(plots.plot(results, "completions"), "completions", said)
    if len(results.series):
        # With its scenario, if there is one of all runs, the units of what was recorded are known.
        if not labels and (folder / "scenario.toml").is_file():
            results = Result(results, read(folder / "scenario.toml", classes=True))
        for probe in list(dict.fromkeys(results.series["probe"]))[:8]:
            keep(plots.plot(results, probe), f"series-{probe}", f"Recorded: {probe}. First replication.")
    return out


def _numbers(values: Any) -> bool:
    """Whether labels are numbers, and more than one."""
    distinct = set(values)
    try:
        return len({float(str(v).split()[0]) for v in distinct}) > 1
    except (ValueError, IndexError):
        return False


def _wide(lines: list[plots.Curve]) -> bool:
    xs = [x for c in lines for x in c.x]
    return bool(xs) and min(xs) > 0 and max(xs) / min(xs) >= 8


def _curves(t: Any, of: tuple[str, str], labels: list[str], axis: str, drawn: tuple[str, float]) -> list[plots.Curve]:
    """A column and its scale over an axis, of the rows whose column has a value: a line a point of the other labels."""
    (key, wanted), (column, scale) = of, drawn
    others = [n for n in labels if n != axis]
    lines: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    for row in averages(t.where(**{key: wanted}), [*labels, key], columns=[column]):
        half = row.get(f"{column}_ci95", math.nan)
        point = (float(str(row[axis]).split()[0]), row[column] * scale, half * scale)
        lines.setdefault(tuple(str(row[n]) for n in others), []).append(point)
    return [
        plots.as_curve(plots.discipline(name), ", ".join(name) or column, sorted(points))
        for name, points in lines.items()
    ]
