"""The measures of a link, declared once for the terminal's table, the page, the JSON document and the ranking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback.apps.ask.link import fabric_measures
from tailback.apps.ask.link.link import Link
from tailback.apps.ask.link.traffic import CALL, INCAST, LINK, STREAM, UNRESPONSIVE, VIDEO, WAITS, WEB
from tailback.apps.ask.measure import Measure
from tailback.core import stats
from tailback.core.results.columns import joined, tables
from tailback.core.results.means import by_run

#: Transfers up to this size are short.
SHORT_BYTES = 100_000
#: The fewest transfers for a quantile.
LEAST_TRANSFERS = 20
#: The two runs of a discipline and a seed: without and with the unresponsive flow.
ALONE, BESIDE = "alone", "beside"


@dataclass(frozen=True)
class LinkRun:
    """The data of one run that measures use."""

    link: dict[str, Any]
    groups: dict[str, dict[str, Any]]
    #: Goodput of each flow by group, in bit/s.
    goodput: dict[str, np.ndarray]
    call: dict[str, Any] | None
    #: The row of the call's video, or of the stream, in the table of playout; if there are both, the one with fewer
    #: shown bytes.
    video: dict[str, Any] | None
    #: Percentiles 0 to 100 of the time in the queue, seconds.
    waits: np.ndarray
    #: Requested objects: bytes, and seconds until completion, or until the end of the run if incomplete.
    sizes: np.ndarray
    times: np.ndarray
    #: Requests to many servers: seconds until the last answer is complete, or until the end of the run if it is not.
    requests: np.ndarray


@dataclass(frozen=True)
class Seed:
    """The runs of a discipline with one seed."""

    link: Link
    alone: LinkRun
    beside: LinkRun | None

    def long_flows(self, run: LinkRun) -> np.ndarray:
        """Goodput of the long flows."""
        return np.concatenate(
            [g for name, g in run.goodput.items() if name not in (CALL, VIDEO, STREAM, WEB, UNRESPONSIVE, INCAST)]
        )


@dataclass(frozen=True)
class QueueMeasure(Measure[Link, Seed]):
    """A quantity by which disciplines are compared."""

    #: The smallest difference that matters, as a multiple of the shortest round trip.
    least_rtts: float = 0.0

    def matters(self, link: Link) -> float:
        return max(self.least, self.least_rtts * link.shortest_rtt_s)


def asked(link: Link) -> Sequence[Measure[Link, Any]]:
    """The measures of a link, or of a fabric."""
    if link.fabric is not None:
        return fabric_measures.asked(link)
    return [m for m in MEASURES if m.asked(link)]


def _crosses(kind: str) -> Callable[[Link], bool]:
    """Whether traffic of this kind crosses a link."""
    return lambda link: kind in link.traffic


def _of_link(name: str, column: str, doc: str, judged: bool = True, **more: Any) -> QueueMeasure:
    """A measure from a column of the table of links, with the column's words."""
    c = tables()["links"].columns[column]
    better = c.better if judged else None
    return QueueMeasure(
        name, c.title, c.short, c.shown_unit, better, doc, lambda seed: float(seed.alone.link[column]), **more
    )


def _of_medium(table: str, medium: str, whose: str, asked: Callable[[Link], bool]) -> Callable[..., QueueMeasure]:
    """A measure from a column of a call's medium, with the column's words."""

    def measure(name: str, column: str, doc: str, **more: Any) -> QueueMeasure:
        column_of_table = tables()[table].columns[column]

        def value(seed: Seed) -> float:
            row = getattr(seed.alone, medium)
            return float(row[column]) if row else math.nan

        title, head = joined(column_of_table.title, whose), f"{medium} {column_of_table.short}"
        return QueueMeasure(
            name, title, head, column_of_table.shown_unit, column_of_table.better, doc, value, asked=asked, **more
        )

    return measure


_of_call = _of_medium("datagrams", "call", "the call", _crosses("voice"))
_of_video = _of_medium("playout", "video", "the video", lambda link: bool(link.adapt) or STREAM in link.traffic)


def _rtt_fairness(seed: Seed) -> float:
    from tailback.apps.ask.link.traffic import group

    by_rtt: dict[float, list[np.ndarray]] = {}
    for sender, rtt in seed.link.senders_of_flows():
        by_rtt.setdefault(rtt, []).append(seed.alone.goodput[group(sender, rtt, seed.link)])
    means = [float(np.concatenate(g).mean()) for g in by_rtt.values()]
    return min(means) / max(means) if max(means) > 0 else math.nan


def _short(q: float) -> Callable[[Seed], float]:
    """A quantile of the completion times of short transfers."""

    def value(seed: Seed) -> float:
        times = seed.alone.times[seed.alone.sizes <= SHORT_BYTES]
        return float(np.quantile(times, q)) if len(times) >= LEAST_TRANSFERS else math.nan

    return value


def _request(q: float) -> Callable[[Seed], float]:
    """A quantile of the completion times of requests to many servers."""

    def value(seed: Seed) -> float:
        times = seed.alone.requests
        return float(np.quantile(times, q)) if len(times) else math.nan

    return value


def _harm(seed: Seed) -> float:
    if seed.beside is None:
        return math.nan
    alone_bps = float(seed.long_flows(seed.alone).sum())
    return 1 - float(seed.long_flows(seed.beside).sum()) / alone_bps if alone_bps > 0 else math.nan


MEASURES: list[QueueMeasure] = [
    _of_link("utilisation", "utilisation", "share of the counted time in which the line is busy", least=0.01),
    _of_link(
        "delay_p50_s",
        "sojourn_p50_s",
        "half of all packets, of any sender, wait no longer than this in the queue",
        least_rtts=0.02,
    ),
    _of_link(
        "delay_p99_s",
        "sojourn_p99_s",
        "99 of 100 packets wait no longer than this; with a queue for each flow, the longest waits are of packets "
        "behind others of their own flow",
        least_rtts=0.05,
    ),
    _of_link("loss_rate", "loss_rate", "share of the packets arriving at the queue that are dropped", least=0.001),
    QueueMeasure(
        name="jain_index",
        title=tables()["groups"].columns["jain_index"].title,
        head=tables()["groups"].columns["jain_index"].short,
        unit="1",
        better="more",
        least=0.02,
        asked=lambda link: "bulk" in link.traffic and link.flows > 1,
        doc="Jain's index of the goodputs of the long flows: 1 if all are equal, 1/n if one flow gets all",
        value=lambda seed: stats.jain(seed.long_flows(seed.alone)),
    ),
    QueueMeasure(
        name="rtt_fairness",
        title="fairness between round trips",
        head="fair RTTs",
        unit="1",
        better="more",
        least=0.05,
        asked=lambda link: "bulk" in link.traffic and len({rtt for _, rtt in link.senders_of_flows()}) > 1,
        doc=(
            "mean goodput of the long flows of the round trip that gets least, divided by that of the round trip "
            "that gets most: 1 is even"
        ),
        value=_rtt_fairness,
    ),
    QueueMeasure(
        name="short_p50_s",
        title="median completion time of short transfers",
        head="short p50",
        unit="s",
        better="less",
        least_rtts=0.05,
        asked=_crosses("web"),
        doc=(
            "half of the web objects up to 100 kB are complete within this time of their request; one that is "
            "unfinished at the end counts with its time so far"
        ),
        value=_short(0.5),
    ),
    QueueMeasure(
        name="short_p95_s",
        title="completion time of short transfers, 95th percentile",
        head="short p95",
        unit="s",
        better="less",
        least_rtts=0.25,
        asked=_crosses("web"),
        doc="95 of 100 of them are complete within this time",
        value=_short(0.95),
    ),
    QueueMeasure(
        name="request_p50_s",
        title="median completion time of requests to many servers",
        head="request p50",
        unit="s",
        better="less",
        least_rtts=0.25,
        asked=_crosses("incast"),
        doc=(
            "half of the requests have the last of their answers within this time; what is unfinished at the end "
            "counts with the time it had"
        ),
        value=_request(0.5),
    ),
    QueueMeasure(
        name="request_p95_s",
        title="completion time of requests to many servers, 95th percentile",
        head="request p95",
        unit="s",
        better="less",
        least_rtts=1.0,
        asked=_crosses("incast"),
        doc="95 of 100 requests have the last of their answers within this time",
        value=_request(0.95),
    ),
    _of_call(
        "call_p99_s",
        "delay_p99_s",
        "99 of 100 packets of the voice call arrive within this time of being sent; half of the shortest round trip of "
        "it is the way itself",
        least_rtts=0.02,
    ),
    _of_call("call_loss", "loss_rate", "packets of the voice call that are dropped", least=0.001),
    _of_video("video_shown_bps", "shown_bps", "payload of the frames that are shown, a second", least=100e3),
    _of_video(
        "video_frozen",
        "w3c_frozen",
        "share of the time in which the picture freezes, as W3C counts freezes",
        least=0.005,
    ),
    _of_video(
        "video_p95_s",
        "delay_p95_s",
        "95 of 100 frames are shown within this time of being made, 100 ms at least, which is the playout delay",
        least=0.005,
    ),
    QueueMeasure(
        name="harm",
        title="harm by the unresponsive flow",
        head="harm",
        unit="%",
        better="less",
        least=0.01,
        asked=_crosses("unresponsive"),
        doc=(
            "how much of their goodput the long flows lose when the unresponsive flow is there too (the harm of Ware "
            "et al., HotNets 2019)"
        ),
        value=_harm,
    ),
    _of_link(
        "mean_queue_packets",
        "mean_queue_packets",
        "mean number of packets that wait, over time; reported, not ranked, as the delays show the same",
        judged=False,
    ),
]


def views(results: Any, link: Link, duration_s: float) -> Mapping[str, list[Any]]:
    """The runs of each discipline in the order of seeds: `Seed` for a link, `FabricSeed` for a fabric. `results` have
    the labels `queue` and `load`."""
    if link.fabric is not None:
        return fabric_measures.views(results)
    runs = [row for row in results.runs.rows() if row["status"] == "done"]
    rows_of = {name: by_run(getattr(results, name)) for name in ("links", "groups", "datagrams", "playout")}
    goodputs = _goodputs(results.flows)
    transfers = _transfers(results.transfers, duration_s)
    requests = _requests(results.pages, duration_s)
    waits = _waits(results.series)
    nothing = np.empty(0), np.empty(0)
    run_of: dict[tuple[str, str, int], LinkRun] = {}
    for run_row in runs:
        run_number = run_row["run"]
        link_row = next(row for row in rows_of["links"].get(run_number, []) if row["name"] == LINK)
        groups = {row["group"]: row for row in rows_of["groups"].get(run_number, [])}
        call = next((row for row in rows_of["datagrams"].get(run_number, []) if row["group"] == CALL), None)
        videos = [row for row in rows_of["playout"].get(run_number, []) if row["group"] in (VIDEO, STREAM)]
        video = min(videos, key=lambda row: row["shown_bps"], default=None)
        sizes, times = transfers.get(run_number, nothing)
        run_of[run_row["queue"], run_row["load"], run_row["seed"]] = LinkRun(
            link_row,
            groups,
            goodputs.get(run_number, {}),
            call,
            video,
            waits.get(run_number, nothing[0]),
            sizes,
            times,
            requests.get(run_number, nothing[0]),
        )
    by_queue: dict[str, list[Seed]] = {}
    for (queue, load, seed), link_run in run_of.items():
        if load == ALONE:
            by_queue.setdefault(queue, []).append(Seed(link, link_run, run_of.get((queue, BESIDE, seed))))
    return by_queue


def _masks(runs: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each run, with its rows."""
    for n in np.unique(runs):
        yield int(n), runs == n


def _goodputs(flows: Any) -> dict[int, dict[str, np.ndarray]]:
    if not len(flows):
        return {}
    goodputs_bps, groups = np.asarray(flows["goodput_bps"]), np.asarray(flows.to_list("group"))
    return {
        n: {str(g): goodputs_bps[mine & (groups == g)] for g in np.unique(groups[mine])}
        for n, mine in _masks(np.asarray(flows["run"]))
    }


def _waits(series: Any) -> dict[int, np.ndarray]:
    """Percentiles of the time in the queue, by run."""
    if not len(series):
        return {}
    waits = np.asarray([p == WAITS for p in series.to_list("probe")], bool)
    waits_s = np.asarray(series["value"])[waits]
    return {n: waits_s[mine] for n, mine in _masks(np.asarray(series["run"])[waits])}


def _transfers(table: Any, duration_s: float) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Sizes and completion times of the objects of web pages, by run."""
    return {n: (sizes, times) for n, sizes, times in _completions(table, duration_s, WEB)}


def _requests(table: Any, duration_s: float) -> dict[int, np.ndarray]:
    """Completion times of requests to many servers, by run."""
    return {n: times for n, _, times in _completions(table, duration_s, INCAST)}


def _completions(table: Any, duration_s: float, group: str) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Run, sizes and completion times of a group; unfinished transfers have the time until the end of the run."""
    if not len(table):
        return
    sizes, times = np.asarray(table["bytes"], float), np.asarray(table["completion_s"], float)
    times = np.where(np.isnan(times), duration_s - np.asarray(table["asked_s"], float), times)
    of_group = np.asarray([g == group for g in table.to_list("group")], bool)
    for n, is_of_run in _masks(np.asarray(table["run"])):
        yield n, sizes[is_of_run & of_group], times[is_of_run & of_group]
