"""Binary frames: a header as JSON, then the numbers as 32-bit floats, little-endian.

bytes 0 to 3     length of the header, little-endian
header           UTF-8, filled up with spaces to a multiple of four
numbers          an array after the other; the header has where each begins and how many it has
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from tailback import _core
from tailback.lab.asked import ScreenRun, probes_of
from tailback.results.columns import tables
from tailback.text.json_text import json_text

#: Flows with a bar of their own, at most.
MOST_BARS = 400


class ScreenNumbers:
    """The arrays of a frame, in order."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.count = 0

    def add(self, values: bytes | np.ndarray) -> list[int]:
        """Where the values begin, and how many there are."""
        raw = values if isinstance(values, bytes) else np.asarray(values, "<f4").tobytes()
        place = [self.count, len(raw) // 4]
        self.parts.append(raw)
        self.count += place[1]
        return place


def frame(header: dict[str, Any], numbers: ScreenNumbers | None = None) -> bytes:
    """A frame of a header and its numbers."""
    text = json_text(header).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *(numbers.parts if numbers else [])])


def unpack(data: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """The header and all numbers of a frame."""
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], "<f4")


def of_run(asked: ScreenRun, run: _core.RunTables, columns: int, numbers: ScreenNumbers) -> dict[str, Any]:
    """What is drawn of one run, for a picture so many pixels wide."""
    series = []
    delay = None
    percentiles: list[tuple[int, float]] = []
    units = probes_of("queue", asked.queue)
    for what, probe, index, t, v in _core.screen(run, columns, list(asked.probes)):
        if probe == "sojourn_percentiles":
            percentiles.append((index, float(np.frombuffer(v, "<f4")[-1])))
            continue
        unit = "packets" if probe == "queue" else "segments" if probe == "cwnd" else units.get(probe, "")
        place = {"t": numbers.add(t), "v": numbers.add(v)}
        series.append({"what": what, "probe": probe, "index": index, "unit": unit, **place})
    if percentiles and any(math.isfinite(v) for _, v in percentiles):
        delay = {
            "share": numbers.add(np.array([i / 100 for i, _ in percentiles])),
            "seconds": numbers.add(np.array([v for _, v in percentiles])),
        }
    return {
        "queue": asked.queue,
        "link": _row(run.table("links"), asked.link),
        "series": series,
        "sojourn": _sojourn(run.table("link_intervals"), asked.link, numbers),
        "delay": delay,
        "flows": _flows(run.table("flows"), numbers),
        "losses": _losses(run.table("losses"), asked.link),
    }


def measures() -> list[dict[str, Any]]:
    """The rows of the table of numbers: what each is called, its unit, and where it stands in a run."""
    of_link = [(c, ["link", c.name]) for c in tables()["links"].on_pages]
    groups = tables()["groups"].columns
    of_flows = [(groups["goodput_bps_mean"], ["flows", "fair"]), (groups["jain_index"], ["jain"])]
    return [{"title": c.title, "unit": c.shown_unit, "at": at} for c, at in of_link + of_flows]


def _row(table: _core.Table, link: str) -> dict[str, Any]:
    return next(r for r in table.rows() if r["name"] == link)


def _sojourn(table: _core.Table, link: str, numbers: ScreenNumbers) -> dict[str, Any]:
    names = table.to_list("name")
    mine = np.array([n == link for n in names], bool)
    middle = (np.asarray(table["from_s"]) + np.asarray(table["to_s"])) / 2
    return {"t": numbers.add(middle[mine]), "v": numbers.add(np.asarray(table["sojourn_mean_s"])[mine])}


def _flows(table: _core.Table, numbers: ScreenNumbers) -> dict[str, Any]:
    goodput = np.asarray(table["goodput_bps"], float)[:MOST_BARS]
    groups = table.to_list("group")[:MOST_BARS]
    return {
        "ids": table.to_list("id")[:MOST_BARS],
        "groups": groups,
        "goodput": numbers.add(goodput),
        "fair": float(np.nanmean(goodput)) if len(goodput) else 0.0,
        "more": max(0, len(table) - MOST_BARS),
    }


def _losses(table: _core.Table, link: str) -> list[list[Any]]:
    """Event, reason and packets at the link."""
    found: dict[tuple[str, str], int] = {}
    for row in table.rows():
        if row["link"] == link and row["packets"]:
            key = row["event"], row["reason"]
            found[key] = found.get(key, 0) + int(row["packets"])
    return [[event, reason, n] for (event, reason), n in found.items()]
