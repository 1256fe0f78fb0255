"""The rate of a home line over the time of a run. The seed of the run draws it from a range or from a recording.

Each seed draws different rates, so intervals over seeds include the effect of the variation. The named ranges are our
own sketches, not measurements: a cable shared by neighbours in the evening, a mobile cell whose radio changes several
times a second, and satellites in low orbit with a handover every 15 s. In a recording, each seed begins at a different
time.
"""

from __future__ import annotations

import csv
import math
import random
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tailback.apps.ask.given import LinkError
from tailback.apps.ask.home import spoken

if TYPE_CHECKING:
    from tailback.apps.ask.home.line import HomeLine


#: A range is drawn in so many strata, so that a few steps are seldom all high or all low.
PARTS = 4


class Step(NamedTuple):
    """The rates of the line from a time on, down and up, in bit/s."""

    at_s: float
    down_bps: float
    up_bps: float


class Range(NamedTuple):
    """Rates from the least to the greatest, bit/s, or shares of the line's rate."""

    least: float
    most: float


@dataclass(frozen=True)
class Recording:
    """Recorded rates: times from 0, with the rate from each time on. The last time is the end of the recording."""

    name: str
    times_s: Sequence[float]
    rates_bps: Sequence[float]

    def at(self, seconds: float) -> float:
        """The rate at a time; after the end the recording repeats."""
        seconds %= self.times_s[-1]
        steps_before = sum(1 for t in self.times_s if t <= seconds)
        return self.rates_bps[max(steps_before, 1) - 1]


@dataclass(frozen=True)
class Variation:
    """The variation of a line: shares or rates that are drawn anew after each step, or recordings."""

    title: str
    step_s: float
    #: The ranges down and up; those of a sketch are shares of the line's rate.
    down: Range
    up: Range
    #: The correlation of a step with the step before, from 0 to 1.
    kept: float = 0.0
    #: Whether the ranges are in bit/s.
    absolute: bool = False
    recordings: tuple[Recording, Recording | None] | None = None

    @property
    def most_down_bps(self) -> float:
        """The greatest rate, if the variation gives rates; else 0."""
        return self.down.most if self.absolute else 0.0

    @property
    def most_up_bps(self) -> float:
        return self.up.most if self.absolute and self.up.most > 1 else 0.0

    def course(self, line: HomeLine, seed: int, duration_s: float) -> list[Step]:
        """The rates of the line in the run with this seed."""
        generator = random.Random(f"a line that varies, seed {seed}")
        if self.recordings is not None:
            return self._recorded(line, generator, duration_s)
        steps: list[Step] = []
        at_s, first_s, places = 0.0, self.step_s * generator.random(), self._places(generator)
        while at_s < duration_s:
            u = next(places)
            down, up = (r.least + u * (r.most - r.least) for r in (self.down, self.up))
            rates = (down, self._up(line, up)) if self.absolute else (down * line.down_bps, up * line.up_bps)
            steps.append(Step(at_s, *rates))
            at_s = first_s + self.step_s * (len(steps) - 1)
        return steps

    def _places(self, drawn: random.Random) -> Iterator[float]:
        """Positions in the range, from 0 to 1. Without correlation, each stratum is drawn once in so many steps, in
        random order. With correlation, it is a random walk with a uniform distribution."""
        x = drawn.gauss(0, 1)
        while self.kept:
            yield statistics.NormalDist().cdf(x)
            x = self.kept * x + math.sqrt(1 - self.kept**2) * drawn.gauss(0, 1)
        while True:
            for part in drawn.sample(range(PARTS), PARTS):
                yield (part + drawn.random()) / PARTS

    def _up(self, line: HomeLine, drawn: float) -> float:
        """The upload varies with the download, unless the upload has its own rates."""
        return drawn if self.up.most > 1 else drawn * line.up_bps

    def _recorded(self, line: HomeLine, drawn: random.Random, duration_s: float) -> list[Step]:
        assert self.recordings is not None
        down, up = self.recordings
        begins = drawn.random() * down.times_s[-1]
        changes = {0.0}
        for recorded_way in self.recordings:
            if recorded_way is not None:
                end = recorded_way.times_s[-1]
                rounds = range(int((begins + duration_s) / end) + 1)
                changes |= {t + k * end - begins for k in rounds for t in recorded_way.times_s[:-1]}
        inside = sorted(t for t in changes if 0 <= t < duration_s)
        steps = [Step(t, down.at(begins + t), line.up_bps if up is None else up.at(begins + t)) for t in inside]
        return [s for i, s in enumerate(steps) if i == 0 or s[1:] != steps[i - 1][1:]]

    def least_bps(self, line: HomeLine) -> tuple[float, float]:
        """The least rates, down and up."""
        if self.recordings is not None:
            down, up = self.recordings
            return min(down.rates_bps), line.up_bps if up is None else min(up.rates_bps)
        if self.absolute:
            return self.down.least, self._up(line, self.up.least)
        return self.down.least * line.down_bps, self.up.least * line.up_bps


#: For each kind of line, the step in seconds between values of a range, and the correlation of successive values.
_PACES: Mapping[str, tuple[float, float]] = MappingProxyType({"satellite": (15.0, 0.0), "lte": (0.2, 0.8)})
_PACE = (2.0, 0.0)
SKETCHES: Mapping[str, Variation] = MappingProxyType(
    {
        "evening": Variation(
            "as where neighbours share a cable in the evening, 60 to 100 % of the rate",
            2.0,
            Range(0.6, 1.0),
            Range(0.6, 1.0),
        ),
        "lte": Variation("as in a mobile cell, 30 to 100 % of the rate", 0.2, Range(0.3, 1.0), Range(0.3, 1.0), 0.8),
        "satellite": Variation(
            "satellites in low orbit: 55 to 100 % of the rate", 15.0, Range(0.55, 1.0), Range(0.55, 1.0)
        ),
    }
)
#: The evening on other media than cable: the same medium as by day, with a smaller share for each user.
EVENINGS: Mapping[str, Variation] = MappingProxyType(
    {
        "lte": Variation(
            "as in a mobile cell in the evening, 15 to 60 % of the rate", 0.2, Range(0.15, 0.6), Range(0.15, 0.6), 0.8
        ),
        "satellite": Variation(
            "satellites in low orbit in the evening: 35 to 80 % of the rate", 15.0, Range(0.35, 0.8), Range(0.35, 0.8)
        ),
    }
)
_RANGE = re.compile(r"\s*(\d+\.?\d*)\s*([a-z/]*)\s*(?:\.\.\.?|-|to)\s*(\d+\.?\d*)\s*([a-z/]+)\s*", re.IGNORECASE)
_HINT = "give evening, lte, satellite, a range such as 50..200Mbps (or down,up: 50..200Mbps,5..20Mbps), or CSV files"


def varying(given: str | None, kind: str) -> Variation | None:
    """The variation of a line of this kind. Raises `LinkError`."""
    if given is None or given in SKETCHES:
        evenings = EVENINGS if given == "evening" else {}
        return None if given is None else evenings.get(kind, SKETCHES[given])
    parts = [part.strip() for part in given.split(",")]
    if 1 <= len(parts) <= 2 and all(_RANGE.fullmatch(part) for part in parts):
        down, *up = (_range(part, given) for part in parts)
        step, kept_share = _PACES.get(kind, _PACE)
        shares = Range(down.least / down.most, 1.0)
        title = f"{_mbps(down)} down"
        title += f", {_mbps(up[0])} up" if up else ", the upload in step with the download"
        return Variation(title, step, down, up[0] if up else shares, kept_share, absolute=True)
    if 1 <= len(parts) <= 2 and all(Path(part).is_file() for part in parts):
        recordings = [recording(part) for part in parts]
        title = f"the download as in {recordings[0].name}" + (
            f", the upload as in {recordings[1].name}" if len(recordings) > 1 else ""
        )
        span = Range(min(recordings[0].rates_bps), max(recordings[0].rates_bps))
        both_recordings = (recordings[0], recordings[1] if len(recordings) > 1 else None)
        up_span = (
            Range(min(recordings[1].rates_bps), max(recordings[1].rates_bps))
            if len(recordings) > 1
            else Range(1.0, 1.0)
        )
        return Variation(title, 0.0, span, up_span, absolute=True, recordings=both_recordings)
    raise LinkError(f"varies = {given}: {_HINT}, with the columns time_s and rate_mbps, of the download and the upload")


def _mbps(r: Range) -> str:
    return f"{r.least / 1e6:g} to {r.most / 1e6:g} Mb/s"


def _range(part: str, given: str) -> Range:
    match = _RANGE.fullmatch(part)
    assert match is not None
    least_bps, most_bps = (
        spoken.rate("varies", n + (u or match[4])) for n, u in ((match[1], match[2]), (match[3], match[4]))
    )
    if least_bps > most_bps:
        raise LinkError(f"varies = {given}: the least rate comes first: {match[3]}..{match[1]}{match[4]}")
    return Range(least_bps, most_bps)


_TIMES = {"time_s": 1.0, "time_ms": 1e-3}
_RATES = {"rate_bps": 1.0, "rate_kbps": 1e3, "rate_mbps": 1e6}


def recording(path: str) -> Recording:
    """A CSV file with a time and a rate on each line. Raises `LinkError`."""
    try:
        rows = list(csv.reader(Path(path).read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError) as e:
        raise LinkError(f"varies = {path}: the file cannot be read ({e}); {_HINT}") from e
    names = [name.strip() for name in rows[0]] if rows else []
    time, rate = (next((n for n in names if n in known), None) for known in (_TIMES, _RATES))
    if time is None or rate is None:
        raise LinkError(f"varies = {path}, line 1: name the columns time_s (or time_ms) and rate_mbps (or rate_kbps)")
    points: list[tuple[float, float]] = []
    for line_number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            point = float(row[names.index(time)]) * _TIMES[time], float(row[names.index(rate)]) * _RATES[rate]
        except (ValueError, IndexError) as e:
            raise LinkError(f"varies = {path}, line {line_number}: {','.join(row)!r} are no time and rate ({e})") from e
        if not all(map(math.isfinite, point)) or point[1] < 0 or (points and point[0] <= points[-1][0]):
            raise LinkError(
                f"varies = {path}, line {line_number}: times grow from line to line, and rates are 0 or more"
            )
        points.append(point)
    if len(points) < 2:
        raise LinkError(f"varies = {path}: it has fewer than two lines with a time and a rate")
    first_s = points[0][0]
    return Recording(Path(path).name, [t - first_s for t, _ in points], [r for _, r in points])


def changes(course: Sequence[Step]) -> dict[str, Any]:
    """The tables `[change.NAME]` of the scenario."""
    change_times = [f"{round(s.at_s * 1e9)}ns" for s in course]
    return {
        "line-down": {"link": "line.reverse", "rate": [f"{s.down_bps:.0f}bps" for s in course], "at": change_times},
        "line-up": {"link": "line", "rate": [f"{s.up_bps:.0f}bps" for s in course], "at": change_times},
    }


def said(line: HomeLine) -> str:
    """A sentence on the variation of the rate; empty if it does not vary."""
    variation = line.varies
    if variation is None:
        return ""
    if variation.recordings is not None:
        return f"The line's rate varies: {variation.title}, which each seed begins elsewhere."
    own = "" if variation.absolute else " (a sketch, not a measurement)"
    return (
        f"The line's rate varies: {variation.title}, another rate every {variation.step_s:g} s, drawn by the seed{own}."
    )
