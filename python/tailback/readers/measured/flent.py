"""Reads Flent's data files: JSON, plain or packed with gzip or bzip2 (flent(1), section "File format").

`results` are values on a common time axis; `raw_values` are the outputs of Flent's tools with their times. A tool's raw
values may have a different unit from the results: netperf counts round trips a second, and the time to load a page is
in seconds. The unit is found by comparing both. Means are those that the tools state (`MEAN_VALUE`), as in Flent's own
summary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailback.readers.given import Given
from tailback.readers.measured.measured_line import next_commands, written
from tailback.readers.measured.measurement import Measurement, Numbers, Role, Series, numbers, said
from tailback.readers.reading import Notes, ReadError, Reading, short

KIND = "flent"
#: Flent's units, and our units with the factor.
_UNITS = {
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "Mbits/s": ("bit/s", 1e6),
    "Kbits/s": ("bit/s", 1e3),
    "Kbps": ("bit/s", 1e3),
    "bits/s": ("bit/s", 1.0),
    "Gbits/s": ("bit/s", 1e9),
    "bytes/s": ("bit/s", 8.0),
}
#: The conversions from a tool's raw values to results.
_TRANSFORMS: tuple[Callable[[Numbers], Numbers], ...] = (
    lambda v: v,
    lambda v: 1000 / v,
    lambda v: 1000 * v,
    lambda v: v / 1000,
    lambda v: v / 1e6,
)
#: Words of a title that are settings of a line, such as `rate:100Mbit/100Mbit`, and their names here.
_WORDS = {
    "qdisc": "queue",
    "aqm": "queue",
    "rate": "rate",
    "bandwidth": "rate",
    "bw": "rate",
    "rtt": "rtt",
    "delay": "rtt",
    "cc": "control",
    "ecn": "ecn",
}
_SETTING = re.compile(r"(\w+)[:=]([\w./+-]+)")
#: Metadata about the measurement; all other metadata name hosts, addresses, files and persons.
_KEPT = {"NAME": "test", "LENGTH": "length", "STEP_SIZE": "step", "IP_VERSION": "IP version", "FLENT_VERSION": "Flent"}
_MOST_SERIES = 2000


def recognises(given: Given) -> bool:
    d = given.document
    return isinstance(d, dict) and isinstance(d.get("metadata"), dict) and "results" in d and "x_values" in d


def read(given: Given) -> Reading:
    document, notes = given.document, Notes()
    meta, results = document["metadata"], document["results"]
    if not isinstance(results, dict) or not isinstance(document["x_values"], list):
        raise ReadError("Flent's results are no table of series", "give the file as Flent wrote it", name=given.name)
    if not results or len(results) > _MOST_SERIES:
        raise ReadError(f"it has {len(results)} series", "give a file of one test", name=given.name)
    about, raw = _table(meta.get("SERIES_META")), _table(document.get("raw_values"))
    axis, start = _floats(document["x_values"]), _start(raw)
    series = []
    for name, row_values in results.items():
        if "::" in name or "_stats_" in name or name.endswith(" avg") or name.endswith(("totals", "fairness")):
            notes.leave(_kind_of(name), "it is computed from other series, or describes sockets, queues and processors")
            continue
        data_series = _series(name, row_values, _table(about.get(name)), raw.get(name), axis, start)
        if data_series is None:
            notes.leave(short(_anonymous(name)), "it has no values")
        elif not data_series.unit:
            notes.leave(_anonymous(name), "its unit or its meaning has no counterpart here")
        else:
            series.append(data_series)
    if not series:
        raise ReadError(
            "Flent's file has no series of times or rates with values", "give a file of another test", name=given.name
        )
    for key, setting_name in _KEPT.items():
        if isinstance(meta.get(key), str | int | float):
            notes.say(setting_name, short(meta[key]) + (" s" if key in ("LENGTH", "STEP_SIZE") else ""))
    settings = _settings(str(meta.get("TITLE") or ""), notes)
    for s in series:
        notes.say(s.name, said(s))
    measurement = Measurement("Flent", tuple(series), _number(meta.get("LENGTH")), settings)
    notes.leave("names and addresses of hosts, files and commands", "they are not kept")
    title = f"Flent's {short(meta.get('NAME') or 'test')}, {len(series)} series"
    return Reading(
        KIND, title, tuple(notes.understood), notes.left, next_commands(measurement), measurement, written(measurement)
    )


def _series(name: str, values: Any, about: Mapping[str, Any], raw: Any, axis: Numbers, start: float) -> Series | None:
    if not isinstance(values, list):
        return None
    series, role = _floats(values), _role(name)
    unit, factor = _UNITS.get(str(about.get("UNITS")), ("", 1.0))
    if not unit and role is not Role.OTHER:
        unit, factor = ("s", 1e-3) if role is Role.PING else ("bit/s", 1e6)
    if len(axis) < len(series):
        axis = np.arange(len(series), dtype=np.float64)
    times = axis[: len(series)]
    is_finite = np.isfinite(series)
    if not is_finite.any():
        return None
    times, series = times[is_finite], series[is_finite]
    raw_series = _raw(raw, series, start)
    if raw_series is not None:
        times, series = raw_series
    mean = _number(about.get("MEAN_VALUE")) * factor
    if (role is Role.PING) is not (unit == "s"):
        role = Role.OTHER
    is_sum = name.endswith(" sum")
    return Series(_anonymous(name), role, unit, times, series * factor, mean, is_sum)


def _raw(raw: Any, results: Numbers, start: float) -> tuple[Numbers, Numbers] | None:
    """The raw values of a tool in the unit of the results; None if there are none."""
    if not isinstance(raw, list):
        return None
    rows = [(_number(r.get("t")), _number(r.get("val"))) for r in raw if isinstance(r, dict)]
    samples = numbers([x for r in rows if math.isfinite(r[0]) and math.isfinite(r[1]) for x in r]).reshape(-1, 2)
    if not len(samples):
        return None
    middle = float(np.median(results))
    with np.errstate(all="ignore"):
        transformed = [transform(samples[:, 1]) for transform in _TRANSFORMS]
        best = min(transformed, key=lambda v: abs(math.log(max(float(np.median(v)), 1e-30) / max(middle, 1e-30))))
    fit = np.isfinite(best)
    return samples[fit, 0] - start, best[fit]


def _role(name: str) -> Role:
    lower = name.lower()
    if lower.startswith("ping"):
        return Role.PING
    if "download" in lower:
        return Role.DOWN
    return Role.UP if "upload" in lower else Role.OTHER


def _kind_of(name: str) -> str:
    return "statistics of Flent" if "::" in name or "_stats_" in name else _anonymous(name)


def _anonymous(name: str) -> str:
    """The name of a series without the host at its end: `Ping (ms) ICMP1 server.example`."""
    name = re.sub(r"\s*\(ms\)", "", name)
    words = [w for w in name.split() if not re.search(r"\w[.-]\w|^\d+$|:.*:", w)]
    return " ".join(words[:5]) or "series"


def _settings(title: str, notes: Notes) -> dict[str, str]:
    """The settings of the line in a title such as `rate:100Mbit/20Mbit rtt:50ms qdisc:fq_codel`."""
    settings: dict[str, str] = {}
    for word, setting in _SETTING.findall(title):
        setting_name = _WORDS.get(word.lower())
        if setting_name and setting_name not in settings:
            settings[setting_name] = short(setting)
            notes.say(f"{setting_name} (title)", settings[setting_name])
    words_left = _SETTING.sub(lambda m: "" if m[1].lower() in _WORDS else m[0], title).split()
    if words_left:
        notes.leave("other words of the title", "they may name persons or places")
    return settings


def _start(raw: Mapping[str, Any]) -> float:
    """The earliest time of all series."""
    first_times = [_number(r[0].get("t")) for r in raw.values() if isinstance(r, list) and r and isinstance(r[0], dict)]
    return min((t for t in first_times if math.isfinite(t)), default=0.0)


def _floats(values: list[Any]) -> Numbers:
    return numbers([_number(v) for v in values])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else math.nan


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
