"""The measures of a home line, declared once for the table, the page, the JSON document and the ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tailback.apps.ask.home import phases as phase
from tailback.apps.ask.home.line import LOADS, HomeLine
from tailback.apps.ask.home.phases import Phase, Timeline
from tailback.apps.ask.home.traffic import PROBE, VIDEOS, PhaseFlows, groups
from tailback.apps.ask.measure import Measure
from tailback.core import stats
from tailback.core.results.means import by_run
from tailback.core.theory import emodel

#: The delay above the idle line at which a late packet of a game is noticed.
LATE_S = 0.050
#: The time that a voice packet is filled before it is sent.
PACKETISATION_S = 0.020
#: The quality of a call's medium.
Q = TypeVar("Q")
#: Instants and values of a series without rows.
NOTHING = (np.empty(0), np.empty(0))
#: The fewest pages for a quantile.
LEAST_PAGES = 5


@dataclass(frozen=True)
class CallQuality:
    """One direction of a call in a phase."""

    p99_s: float
    loss: float

    @property
    def rating(self) -> float:
        return emodel.rating(self.p99_s + PACKETISATION_S, self.loss)


@dataclass(frozen=True)
class VideoQuality:
    """One direction of the video of a call, or a stream, in a phase."""

    shown_bps: float
    frozen: float
    p95_s: float


@dataclass(frozen=True)
class PhaseRun:
    """The measured values of a run in one phase."""

    #: Round trips of the probe in the counted part, and in the start before it.
    probe: np.ndarray
    start: np.ndarray
    calls: Mapping[str, CallQuality] = field(default_factory=dict)
    videos: Mapping[str, VideoQuality] = field(default_factory=dict)
    #: Round trips of the game's packets, and how many were sent.
    game: np.ndarray = field(default_factory=lambda: np.empty(0))
    game_sent: int = 0
    #: Completion times of pages. A page that is incomplete at the end of the run counts with its time until then.
    pages: np.ndarray = field(default_factory=lambda: np.empty(0))
    #: Goodput of TCP, bit/s, by kind of traffic and direction.
    by_kind: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def goodput(self) -> Mapping[str, float]:
        """Goodput of all TCP that loads the line, bit/s, by direction."""
        goodput_of: dict[str, float] = {}
        for (_, direction), bits in self.by_kind.items():
            goodput_of[direction] = goodput_of.get(direction, 0.0) + bits
        return goodput_of


@dataclass(frozen=True)
class HomeRun:
    """A run of a candidate with one seed."""

    line: HomeLine
    times: Timeline
    phases: Mapping[str, PhaseRun]
    #: Times at which probes were sent, and their round trips, in seconds.
    sent_s: np.ndarray = field(default_factory=lambda: np.empty(0))
    round_trips: np.ndarray = field(default_factory=lambda: np.empty(0))

    def added(self, name: str) -> float:
        """The mean round trip of a phase minus that of the idle line, in seconds."""
        if name not in self.phases:
            return math.nan
        return _mean(self.phases[name].probe) - self.idle_s

    @property
    def idle_s(self) -> float:
        """The round trip of the idle line: the shortest one, since calls and games alone may fill a slow line."""
        idle = self.phases[phase.IDLE].probe
        return float(idle.min()) if len(idle) else math.nan

    @property
    def graded(self) -> float:
        """The latency that sets the grade: the mean of download and upload."""
        return stats.mean(x for x in (self.added(phase.DOWN), self.added(phase.UP)) if not math.isnan(x))

    def start(self) -> float:
        """The longest round trip while downloads start, minus that of the idle line, in seconds."""
        down_phase = self.phases.get(phase.DOWN)
        if down_phase is None or not len(down_phase.start):
            return math.nan
        return float(down_phase.start.max()) - self.idle_s

    @property
    def heaviest(self) -> PhaseRun:
        """The phase with most load."""
        return self.phases[self.times.last.name]

    def host_share(self) -> float:
        """Goodput of the host with one upload over that of the host with several; 1 at most."""
        if phase.UP not in self.phases:
            return math.nan
        goodput_of = self.phases[phase.UP].by_kind
        hosts_of_kind = self.line.hosts_of
        single_bps, several_bps = (
            goodput_of.get((kind, "up"), math.nan) / len(hosts_of_kind[kind]) for kind in ("upload", "bulk")
        )
        return min(1.0, single_bps / several_bps) if several_bps > 0 else math.nan

    def game_late(self) -> float:
        """The share of a game's packets that are noticeably later than on the idle line, or lost."""
        idle_trips = self.phases[phase.IDLE].game
        phase_run = self.heaviest
        if not phase_run.game_sent or not len(idle_trips):
            return math.nan
        in_time = int((phase_run.game <= float(np.median(idle_trips)) + LATE_S).sum())
        return 1 - min(1.0, in_time / phase_run.game_sent)


@dataclass(frozen=True)
class HomeMeasure(Measure[HomeLine, HomeRun]):
    """A quantity by which candidates are compared."""

    #: The kinds of traffic that must load the line, if the measure is their goodput.
    loads: str = ""
    #: Whether the measure is taken in the phase that loads both directions, if there is one.
    both: bool = False


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else math.nan


def _quantile(values: np.ndarray, q: float, least: int = 1) -> float:
    return float(np.quantile(values, q)) if len(values) >= least else math.nan


def _worst(
    of_phase: Callable[[PhaseRun], Mapping[str, Q]], value: Callable[[Q], float], worse: Callable[..., float]
) -> Callable[[HomeRun], float]:
    """The worst value over all calls, or all video, and both directions, under most load."""

    def of(run: HomeRun) -> float:
        values = [value(q) for q in of_phase(run.heaviest).values()]
        return worse(values) if values and not any(map(math.isnan, values)) else math.nan

    return of


_worst_call = partial(_worst, lambda p: p.calls)
_worst_video = partial(_worst, lambda p: p.videos)


def _has_video(line: HomeLine) -> bool:
    return bool(line.adapt) or line.has("video")


def _has(*kinds: str) -> Callable[[HomeLine], bool]:
    return lambda line: line.has(*kinds)


def _goodput(direction: str, rate: Callable[[HomeLine], float]) -> Callable[[HomeRun], float]:
    """Goodput of TCP in the phase that loads one direction, as a share of the line's rate."""

    def of(run: HomeRun) -> float:
        found = run.phases.get(phase.DOWN if direction == "down" else phase.UP)
        return math.nan if found is None else found.goodput.get(direction, math.nan) / rate(run.line)

    return of


def _down(line: HomeLine) -> bool:
    return line.loaded[0]


def _up(line: HomeLine) -> bool:
    return line.loaded[1]


def _medium(line: HomeLine) -> float:
    """Half of the extra time that a packet may wait on the medium under load."""
    return line.medium.span_s / 2


MEASURES: tuple[HomeMeasure, ...] = (
    HomeMeasure(
        "added_down_s",
        "Latency that a download adds",
        "+down",
        "s",
        "less",
        "mean round trip of a small packet while the line is loaded downwards, less the shortest of the idle line",
        lambda run: run.added(phase.DOWN),
        0.002,
        _down,
        _medium,
    ),
    HomeMeasure(
        "added_up_s",
        "Latency that an upload adds",
        "+up",
        "s",
        "less",
        "the same while the line is loaded upwards",
        lambda run: run.added(phase.UP),
        0.002,
        _up,
        _medium,
    ),
    HomeMeasure(
        "added_both_s",
        "Latency that both add",
        "+both",
        "s",
        "less",
        "the same while the line is loaded in both directions",
        lambda run: run.added(phase.BOTH),
        0.002,
        lambda line: _down(line) and _up(line),
        _medium,
        both=True,
    ),
    HomeMeasure(
        "start_s",
        "Latency while downloads start",
        "+start",
        "s",
        "less",
        "the longest round trip in the first quarter of the download, less that of the idle line: slow start fills the "
        "provider's buffer before a shaper at home can do anything",
        lambda run: run.start(),
        0.010,
        _down,
    ),
    HomeMeasure(
        "call_p99_s",
        "One-way delay of the call, 99th percentile",
        "call p99",
        "s",
        "less",
        "99 of 100 packets of the call arrive within this time; the worst call and direction, under most load",
        _worst_call(lambda c: c.p99_s, max),
        0.002,
        _has("call"),
        _medium,
        both=True,
    ),
    HomeMeasure(
        "call_loss",
        "Loss of the call",
        "call loss",
        "%",
        "less",
        "packets of the call that are lost; the worst call and direction, under most load",
        _worst_call(lambda c: c.loss, max),
        0.001,
        _has("call"),
        both=True,
    ),
    HomeMeasure(
        "call_rating",
        "R of the call (E-model)",
        "call R",
        "1",
        "more",
        "ITU-T G.107 with G.711: 93 is best, below 70 many users are dissatisfied (G.109); a playout delay at the 99th "
        "percentile and 20 ms for filling a packet are included",
        _worst_call(lambda c: c.rating, min),
        1.0,
        _has("call"),
        both=True,
    ),
    HomeMeasure(
        "video_shown_bps",
        "Rate of the video",
        "video",
        "bit/s",
        "more",
        "payload of the frames that are shown, a second; the worst call or stream and direction, under most load",
        _worst_video(lambda v: v.shown_bps, min),
        100e3,
        _has_video,
        both=True,
    ),
    HomeMeasure(
        "video_frozen",
        "Frozen share of the video",
        "video frozen",
        "%",
        "less",
        "share of the time in which the picture freezes, as W3C counts freezes; the worst call and direction, under "
        "most load",
        _worst_video(lambda v: v.frozen, max),
        0.005,
        _has_video,
        both=True,
    ),
    HomeMeasure(
        "video_p95_s",
        "Delay of the video, 95th percentile",
        "video p95",
        "s",
        "less",
        "95 of 100 frames are shown within this time of being made, 100 ms at least, which is the playout delay; the "
        "worst call and direction, under most load",
        _worst_video(lambda v: v.p95_s, max),
        0.005,
        _has_video,
        _medium,
        both=True,
    ),
    HomeMeasure(
        "game_p99_s",
        "Round-trip time of the game, 99th percentile",
        "game p99",
        "s",
        "less",
        "99 of 100 answers of the game's server are there within this time, under most load",
        lambda run: _quantile(run.heaviest.game, 0.99),
        0.002,
        _has("game"),
        _medium,
        both=True,
    ),
    HomeMeasure(
        "game_late",
        "Late packets of the game",
        "game late",
        "%",
        "less",
        "packets of the game whose answer comes 50 ms later than on the idle line, or never, under most load",
        lambda run: run.game_late(),
        0.005,
        _has("game"),
        both=True,
    ),
    HomeMeasure(
        "page_p50_s",
        "Median completion time of a page",
        "page p50",
        "s",
        "less",
        "half of the pages are complete within this time, under most load",
        lambda run: _quantile(run.heaviest.pages, 0.5, LEAST_PAGES),
        0.050,
        _has("web"),
        both=True,
    ),
    HomeMeasure(
        "page_p95_s",
        "Completion time of a page, 95th percentile",
        "page p95",
        "s",
        "less",
        "95 of 100 pages are complete within this time, under most load",
        lambda run: _quantile(run.heaviest.pages, 0.95, LEAST_PAGES),
        0.200,
        _has("web"),
        both=True,
    ),
    HomeMeasure(
        "host_share",
        "Fairness between hosts",
        "fair hosts",
        "1",
        "more",
        "goodput of the one upload's host beside that of the host with several, while only uploads run: 1 is even",
        lambda run: run.host_share(),
        0.05,
        lambda line: line.has("bulk") and line.has("upload") and line.hosts > 1 and not line.people,
    ),
    HomeMeasure(
        "goodput_down",
        "Goodput, download",
        "down",
        "%",
        "more",
        "payload that TCP delivers while only downloads run, as a share of the line's rate",
        _goodput("down", lambda line: line.down_bps),
        0.01,
        _down,
        loads="download",
    ),
    HomeMeasure(
        "goodput_up",
        "Goodput, upload",
        "up",
        "%",
        "more",
        "payload that TCP delivers while only uploads run, as a share of the line's rate",
        _goodput("up", lambda line: line.up_bps),
        0.01,
        _up,
        loads="upload",
    ),
)


def asked(line: HomeLine) -> list[HomeMeasure]:
    """The measures of a line."""
    return [m for m in MEASURES if m.asked(line)]


def views(results: Any, line: HomeLine, times: Timeline) -> dict[tuple[str, str], list[HomeRun]]:
    """The runs by their labels `queue` and `share`, in the order of seeds."""
    home_runs: dict[tuple[str, str], list[HomeRun]] = {}
    for run, home_run in runs_of(results, line, times):
        home_runs.setdefault((run["queue"], run["share"]), []).append(home_run)
    return home_runs


def runs_of(results: Any, line: HomeLine, times: Timeline) -> Iterator[tuple[Mapping[str, Any], HomeRun]]:
    """The row of each run in the table of runs, and its measures."""
    tables = {name: by_run(getattr(results, name)) for name in ("datagrams", "intervals", "pages", "playout")}
    trips = _round_trips(results.series)
    flow_groups = groups(line, times)
    for row in results.runs.rows():
        if row["status"] != "done":
            continue
        rows_of_run = {name: rows.get(row["run"], []) for name, rows in tables.items()}
        series = trips.get(row["run"], {})
        phase_runs = {p.name: _phase_run(p, rows_of_run, series, flow_groups, times.duration_s) for p in times.phases}
        sent, probe = series.get(PROBE, NOTHING)
        yield row, HomeRun(line, times, phase_runs, sent, probe)


def _round_trips(series: Any) -> dict[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The send times of answered datagrams, and their round trips, by run and group."""
    if not len(series):
        return {}
    runs, round_trips = np.asarray(series["run"]), np.asarray(series["value"], float)
    sent_s = np.asarray(series["time_s"], float) - round_trips
    groups = np.asarray([what.removeprefix("flows.").rsplit(".", 1)[0] for what in series.to_list("what")])
    of_groups: dict[int, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for run in np.unique(runs):
        of_run = runs == run
        for group in np.unique(groups[of_run]):
            is_of_group = of_run & (groups == group)
            of_groups.setdefault(int(run), {})[str(group)] = (sent_s[is_of_group], round_trips[is_of_group])
    return of_groups


def _phase_run(
    p: Phase,
    tables: Mapping[str, list[dict[str, Any]]],
    series: Mapping[str, tuple[np.ndarray, np.ndarray]],
    known: Mapping[str, PhaseFlows],
    end_s: float,
) -> PhaseRun:
    sent_s, probe = series.get(PROBE, NOTHING)
    calls: dict[str, CallQuality] = {}
    game, game_sent = [NOTHING[1]], 0
    for row in tables["datagrams"]:
        group = known[row["group"]]
        if group.phase == p.name and group.kind == "call":
            calls[group.name] = CallQuality(row["delay_p99_s"], row["loss_rate"])
        elif group.phase == p.name and group.kind == "game":
            game_sent += row["sent_packets"]
            game.append(series.get(group.name, NOTHING)[1])
    seconds = p.ends - p.begins
    videos = {
        row["group"]: VideoQuality(
            row["shown_bps"] * end_s / seconds, row["w3c_freeze_total_s"] / seconds, row["delay_p95_s"]
        )
        for row in tables["playout"]
        if known[row["group"]].kind in VIDEOS and known[row["group"]].phase == p.name
    }
    goodput: dict[tuple[str, str], float] = {}
    for row in tables["intervals"]:
        sender = known.get(row["group"])
        if sender is None or sender.phase != p.name or sender.kind not in LOADS:
            continue
        if row["from_s"] >= p.counted and row["to_s"] <= p.ends:
            key = sender.kind, sender.direction
            goodput[key] = goodput.get(key, 0.0) + row["goodput_bps"]
    counted_s = max(1.0, math.floor(p.ends) - math.ceil(p.counted))
    return PhaseRun(
        probe=probe[(sent_s >= p.counted) & (sent_s < p.ends)],
        start=probe[(sent_s >= p.begins) & (sent_s < p.counted)],
        calls=calls,
        videos=videos,
        game=np.concatenate(game),
        game_sent=game_sent,
        pages=_page_times(tables["pages"], p, end_s),
        # Intervals are of a second.
        by_kind={key: bits / counted_s for key, bits in goodput.items()},
    )


def _page_times(rows: Sequence[Mapping[str, Any]], p: Phase, end_s: float) -> np.ndarray:
    """Completion times of the pages that were requested in the counted part of a phase."""
    rows_of_phase = [row for row in rows if p.counted <= row["asked_s"] < p.ends]
    done_s = [row["done_s"] for row in rows_of_phase]
    return np.asarray(
        [
            (end_s if d is None or math.isnan(d) else d) - row["asked_s"]
            for d, row in zip(done_s, rows_of_phase, strict=True)
        ],
        float,
    )
