"""`tailback report MEASURED DIR`: compares a measurement with the runs of a folder.

The comparison has the same rows and one figure for both, the differences in words, and the settings that differ.

Groups of the runs whose packets come back give the round trips. The other groups give the goodput, by direction. A
group downloads if its data go to the place where the round trips are measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailback import _core
from tailback.core import stats
from tailback.core.results.quantities import shown
from tailback.core.text import toml
from tailback.core.text.plain import file_bytes, plain
from tailback.core.text.terminal import columns
from tailback.readers.measured.measurement import Measurement, Numbers, Role
from tailback.readers.reading import Reading

NAME = "beside.html"
#: Differences below this share of the measured value are not described.
_EQUAL = 0.01


class BesideError(ValueError):
    """A measurement and a folder that have nothing in common."""


@dataclass(frozen=True)
class ComparedRow:
    """One number of both sides: the measured value, the mean of the runs, and half of its 95 % interval."""

    what: str
    unit: str
    measured: float
    simulated: float
    half: float

    @property
    def share(self) -> float:
        """The simulated minus the measured value, as a share of the measured value."""
        return (self.simulated - self.measured) / self.measured if self.measured else math.nan

    def cells(self) -> list[str]:
        sign = shown(self.unit, [self.measured, self.simulated])
        factor = sign.factor
        half_text = f" ± {self.half * factor:.2g}" if math.isfinite(self.half) else ""
        share = f"{100 * self.share:+.1f} %" if math.isfinite(self.share) else "-"
        return [
            f"{self.what} ({sign.unit})",
            f"{self.measured * factor:.4g}",
            f"{self.simulated * factor:.4g}{half_text}",
            share,
        ]


@dataclass(frozen=True)
class Beside:
    """The result of the comparison: the rows, the differences of the settings, and the round trips and rates for the
    figure."""

    measured: Reading
    folder: str
    runs: int
    rows: tuple[ComparedRow, ...]
    settings: tuple[str, ...]
    pings: Numbers
    #: Upper ends of bins of the simulated round trips, and the share of packets up to each.
    simulated_pings: tuple[Numbers, Numbers] | None

    @property
    def sentences(self) -> list[str]:
        """The differences in words."""
        lines = []
        for row in self.rows:
            if not math.isfinite(row.share):
                continue
            if abs(row.share) < _EQUAL:
                lines.append(f"{row.what}: within 1 % of what was measured.")
            else:
                comparison = "more" if row.share > 0 else "less"
                lines.append(f"{row.what}: {100 * abs(row.share):.1f} % {comparison} in the simulation.")
        return [*lines, *self.settings]

    def as_dict(self) -> dict[str, Any]:
        rows = [{**asdict(row), "difference": row.share} for row in self.rows]
        return {
            "measured": self.measured.title,
            "dir": self.folder,
            "runs": self.runs,
            "rows": rows,
            "said": self.sentences,
        }

    def text(self) -> str:
        heads = ["", "measured", "simulated", "difference"]
        table = columns([heads, *(row.cells() for row in self.rows)], right=(1, 2, 3))
        runs = f"{self.runs} run" + ("s" if self.runs != 1 else "")
        head = plain(f"{self.measured.title}, beside {self.folder} ({runs}; means ± half the 95 % interval)")
        return "\n".join([head, "", *table, "", *map(plain, self.sentences)])


def beside(reading: Reading, folder: Path) -> Beside:
    """The measurement beside the runs of the folder. Raises `BesideError` if there is nothing to compare."""
    measurement = reading.data
    if not isinstance(measurement, Measurement):
        raise BesideError(f"{reading.title} is no measurement; give a file of Flent or iperf3, or a log of ping")
    results = _core.read_results(folder)
    document = _document(folder)
    runs = [row["run"] for row in results.runs.rows() if row["status"] == "done"]
    if not runs:
        raise BesideError(f"{folder} holds no finished run; run the scenario again")
    echoes = {row["group"] for row in results.datagrams.rows() if row["answered_packets"] > 0}
    rows = [*_rates(measurement, results, runs, _directions(document, echoes, results))]
    pings = _pings(measurement)
    rows += _round_trips(measurement, pings, results, runs, echoes)
    if not rows:
        raise BesideError(
            f"{reading.title} and {folder} have nothing in common; a run needs flows, or pings (transport = "
            '{ kind = "udp", echo = true })'
        )
    distribution = _distribution(results, echoes, _seconds(document.get("warmup")))
    return Beside(
        reading, str(folder), len(runs), tuple(rows), tuple(_settings(measurement, document)), pings, distribution
    )


def write(found: Beside, folder: Path) -> Path:
    """Writes the page with the table, the figure and the differences into the folder."""
    from tailback.core.text.whole import write_text
    from tailback.show.plots import save
    from tailback.show.plots.beside import both
    from tailback.show.report.page import picture, render

    rates = [row for row in found.rows if row.unit == "bit/s"]
    figure = both(
        [(row.what, row.measured, row.simulated, row.half) for row in rates], found.pings, found.simulated_pings
    )
    files = save(figure, folder / "figures" / "beside", ("svg", "png"), small=True)
    caption = "What was measured and what was simulated: goodput of each direction, and round trips under load."
    page = render(
        "beside.html",
        title=f"{plain(found.measured.title)}: measured and simulated",
        name=plain(found.measured.title),
        folder=plain(found.folder),
        runs=found.runs,
        rows=[row.cells() for row in found.rows],
        sentences=[plain(s) for s in found.sentences],
        picture=picture(folder, [str(f.relative_to(folder)) for f in files], caption),
        left=[(plain(x.what), plain(x.why)) for x in found.measured.left],
    )
    place = folder / NAME
    write_text(place, page)
    return place


def _document(folder: Path) -> Mapping[str, Any]:
    """The scenario of the runs; empty if there is none, as for a sweep."""
    path = folder / "scenario.toml"
    try:
        return toml.loads(file_bytes(path).decode("utf-8")) if path.is_file() else {}
    except (ValueError, RecursionError):
        return {}


def _directions(document: Mapping[str, Any], echoes: set[str], results: Any) -> dict[str, Role]:
    """The direction of the data of each group."""
    flows, links = _table(document.get("flows")), _table(document.get("link"))
    home = str(_table(next(iter(links.values()), None)).get("from", ""))
    for name in echoes:
        home = str(_table(flows.get(name)).get("from", home))
    roles = {}
    for name in dict.fromkeys(results.groups["group"]):
        if name in echoes:
            continue
        table, lower = _table(flows.get(name)), str(name).lower()
        begin, end = str(table.get("from", home)), str(table.get("to", ""))
        named_role = Role.DOWN if "down" in lower else Role.UP if "up" in lower else None
        roles[str(name)] = Role.DOWN if end == home and begin != home else (named_role or Role.UP)
    return roles


def _rates(found: Measurement, results: Any, runs: Sequence[int], ways: Mapping[str, Role]) -> list[ComparedRow]:
    simulated_bps: dict[Role, dict[int, float]] = {}
    for row in results.groups.rows():
        role = ways.get(row["group"])
        if role is not None and row["run"] in runs and math.isfinite(row["goodput_bps_sum"]):
            rates_of_runs = simulated_bps.setdefault(role, {})
            rates_of_runs[row["run"]] = rates_of_runs.get(row["run"], 0.0) + row["goodput_bps_sum"]
    measured_bps = {role: found.rate(role) for role in (Role.DOWN, Role.UP) if math.isfinite(found.rate(role))}
    # If each side has only one direction, these are the same, under any names.
    if len(measured_bps) == len(simulated_bps) == 1 and set(measured_bps) != set(simulated_bps):
        simulated_bps = dict(zip(measured_bps, simulated_bps.values(), strict=True))
    return [
        _row(f"goodput, {role.value}", "bit/s", rate, list(simulated_bps[role].values()))
        for role, rate in measured_bps.items()
        if role in simulated_bps
    ]


def _pings(found: Measurement) -> Numbers:
    """The round trips; if there was a load, only those under load, which is while rates were measured."""
    series = [s for s in found.of(Role.PING) if len(s.values)]
    if not series:
        return np.array([])
    # If there are several series, ICMP is used, because the other probes of Flent stop at the first loss.
    series = [s for s in series if "ICMP" in s.name] or series
    times = np.concatenate([s.times_s for s in series])
    round_trips = np.concatenate([s.values for s in series])
    loads = [s.times_s for role in (Role.DOWN, Role.UP) for s in found.of(role) if len(s.times_s)]
    if loads:
        begin, end = min(float(t[0]) for t in loads), max(float(t[-1]) for t in loads)
        is_loaded = (times >= begin) & (times <= end)
        round_trips = round_trips[is_loaded] if is_loaded.any() else round_trips
    return round_trips


def _round_trips(
    found: Measurement, pings: Numbers, results: Any, runs: Sequence[int], echoes: set[str]
) -> list[ComparedRow]:
    rows = [row for row in results.datagrams.rows() if row["group"] in echoes and row["run"] in runs]
    if not rows:
        return []
    compared_rows = []
    measured_s = (
        {"mean": float(pings.mean()), "p50": float(np.median(pings)), "p99": float(np.percentile(pings, 99))}
        if len(pings)
        else {"mean": next((s.mean for s in found.of(Role.PING)), math.nan)}
    )
    names = {"mean": "round trip, mean", "p50": "round trip, median", "p99": "round trip, 99th percentile"}
    for key, value in measured_s.items():
        if math.isfinite(value):
            compared_rows.append(_row(names[key], "s", value, _by_run(rows, f"rtt_{key}_s")))
    if math.isfinite(found.loss):
        lost_percent = [
            sum(r["sent_packets"] - r["answered_packets"] for r in rows if r["run"] == run)
            / max(1, sum(r["sent_packets"] for r in rows if r["run"] == run))
            for run in dict.fromkeys(r["run"] for r in rows)
        ]
        compared_rows.append(_row("lost", "%", found.loss, lost_percent))
    return compared_rows


def _by_run(rows: Sequence[Mapping[str, Any]], column: str) -> list[float]:
    """The mean over the flows of each run."""
    values_of_run: dict[int, list[float]] = {}
    for row in rows:
        if math.isfinite(row[column]):
            values_of_run.setdefault(row["run"], []).append(row[column])
    return [stats.mean(values) for values in values_of_run.values()]


def _row(what: str, unit: str, measured: float, values: Sequence[float]) -> ComparedRow:
    half = stats.ci95(values) if len(values) > 1 else math.nan
    return ComparedRow(what, unit, measured, stats.mean(values) if values else math.nan, half)


def _distribution(results: Any, echoes: set[str], begins_s: float) -> tuple[Numbers, Numbers] | None:
    """Simulated round trips of all runs: values, and the share up to each value. Recorded round trips (`probes =
    ["round_trip"]`) are exact; otherwise the values are the ends of bins."""
    recorded_s = [
        row["value"]
        for row in (results.series.rows() if len(results.series) else ())
        if row["probe"] == "round_trip" and row["time_s"] >= begins_s and str(row["what"]).split(".")[1] in echoes
    ]
    if recorded_s:
        sorted_s = np.sort(np.array(recorded_s))
        return sorted_s, np.arange(1, len(sorted_s) + 1) / len(sorted_s)
    packets_up_to: dict[float, float] = {}
    names = {f"flows.{name}" for name in echoes}
    for row in results.delays.rows():
        if row["quantity"] == "round_trip" and (row["what"] in names or str(row["what"]).rpartition(".")[0] in names):
            packets_up_to[row["to_s"]] = packets_up_to.get(row["to_s"], 0.0) + row["packets"]
    if not packets_up_to:
        return None
    ends = np.array(sorted(packets_up_to))
    shares = np.cumsum([packets_up_to[e] for e in ends])
    return ends, shares / shares[-1]


def _settings(found: Measurement, document: Mapping[str, Any]) -> list[str]:
    """Sentences on the settings of the line that differ between measurement and scenario."""
    lines = []
    text = str(document).lower()
    names = {"queue": "queue", "control": "congestion control"}
    for key, noun in names.items():
        setting = found.settings.get(key, "")
        if setting and setting.lower().replace("_", "-") not in text.replace("_", "-"):
            lines.append(f"The measurement names the {noun} {setting}, and the scenario does not.")
    length, simulated_s = found.length_s, _seconds(document.get("duration")) - _seconds(document.get("warmup"))
    if math.isfinite(length) and simulated_s > 0 and abs(simulated_s - length) > 0.1 * length:
        lines.append(f"Measured for {length:.3g} s, and simulated for {simulated_s:.3g} s.")
    return lines


def _seconds(text: Any) -> float:
    """A time of the scenario in seconds; 0 if it is not given."""
    try:
        return float(_core.parse_time(text)) if isinstance(text, str) else 0.0
    except ValueError:
        return 0.0


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
