"""The report of a folder written by `tailback run` or a sweep: what was run, what came out, and figures of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core, plots
from tailback.document import alike, averages
from tailback.report.page import picture, render
from tailback.result import Result
from tailback.scenarios import load_scenario
from tailback.stats import estimate
from tailback.store import manifest

#: Longer tables are not shown.
MOST_ROWS = 400

#: A column of a table: its name, how it is shown: title, scale, unit, digits.
Column = tuple[str, str, float, str, int]

_GROUPS: list[Column] = [
    ("flows", "Flows", 1, "", 0),
    ("goodput_bps_mean", "Goodput a flow", 1e-6, "Mbit/s", 3),
    ("goodput_bps_sd", "sd over flows", 1e-6, "Mbit/s", 3),
    ("jain_index", "Jain's index", 1, "", 4),
    ("delay_mean_s", "One-way delay", 1e3, "ms", 2),
    ("timeouts", "Timeouts", 1, "", 0),
    ("retransmitted_packets", "Retransmitted", 1, "packets", 0),
]
_LINKS: list[Column] = [
    ("utilisation", "Utilisation", 100, "%", 2),
    ("loss_rate", "Loss", 100, "%", 3),
    ("dropped_packets", "Dropped", 1, "packets", 0),
    ("marked_packets", "Marked", 1, "packets", 0),
    ("mean_queue_packets", "Mean queue", 1, "packets", 1),
    ("sojourn_p50_s", "Sojourn, median", 1e3, "ms", 2),
    ("sojourn_p99_s", "Sojourn, 99 %", 1e3, "ms", 2),
]
_LOSSES: list[Column] = [("packets", "Packets", 1, "", 0)]


def run_page(folder: Path) -> str:
    results, made = _core.read_results(folder), manifest.read(folder)
    scenario = (folder / "scenario.toml").read_text(encoding="utf-8") if (folder / "scenario.toml").is_file() else ""
    name = str(made.get("scenario") or folder.resolve().name)
    labels = plots.labels_of(results.runs)
    status = list(results.runs["status"]) if len(results.runs) else []
    failed = [i for i, s in enumerate(status) if s != "done"]
    replications = len(set(np.asarray(results.runs["replication"]).tolist())) if status else 0
    said = [f"{len(status)} runs", f"{replications} replication{'s' if replications != 1 else ''} a point"]
    if labels:
        said.append("varied: " + ", ".join(labels))
    tables = [
        _means(results.groups, labels, ["group"], _GROUPS, "Groups of flows"),
        _means(results.links, labels, ["name"], _LINKS, "Links"),
        _means(
            results.losses,
            labels,
            ["link", "event", "place", "reason"],
            _LOSSES,
            "Drops and marks, by place and reason",
        ),
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


def _means(t: Any, labels: list[str], keys: list[str], columns: list[Column], caption: str) -> Means | None:
    """A table of means over replications, one row a point and key; None of an empty table."""
    if not len(t):
        return None
    names = [*labels, *keys]
    by = [t[n] for n in names]
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(t)):
        groups.setdefault(tuple(str(c[i]) for c in by), []).append(i)
    if len(groups) > MOST_ROWS:
        return Means(caption, [], [], len(names), len(groups))
    shown = [c for c in columns if c[0] in t.columns]
    data = {c[0]: np.asarray(t[c[0]], dtype=float) for c in shown}
    rows = []
    for key, at in groups.items():
        cells = []
        for name, _, scale, _, digits in shown:
            e = estimate(data[name][at] * scale)
            half = "" if np.isnan(e.half_width) or name == "flows" else f" ± {e.half_width:.{digits}f}"
            cells.append("-" if np.isnan(e.mean) else f"{e.mean:.{digits}f}{half}")
        rows.append([*key, *cells])
    heads = [(n, "") for n in names] + [(title, unit) for _, title, _, unit, _ in shown]
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
    if len(results.series):
        # With its scenario, if there is one of all runs, the units of what was recorded are known.
        if not labels and (folder / "scenario.toml").is_file():
            results = Result(results, load_scenario(folder / "scenario.toml"))
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
    by, values, keys, xs = [t[n] for n in others], np.asarray(t[column], dtype=float), t[key], t[axis]
    lines: dict[tuple[str, ...], dict[float, list[float]]] = {}
    for i in range(len(t)):
        if keys[i] == wanted:
            x = float(str(xs[i]).split()[0])
            lines.setdefault(tuple(str(c[i]) for c in by), {}).setdefault(x, []).append(values[i] * scale)
    made = []
    for name, points in lines.items():
        estimates = [(x, estimate(v)) for x, v in sorted(points.items())]
        label = ", ".join(name) or column
        made.append(plots.as_curve(name[0] if name else "", label, [(x, e.mean, e.half_width) for x, e in estimates]))
    return made
