"""What is looked at, declared once: the table in the terminal, the page, the JSON document and the ranking read it
here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tailback import stats
from tailback.comparison.link import Link
from tailback.comparison.traffic import CALL, LINK, UNRESPONSIVE, WAITS, WEB

#: Transfers up to this size are short.
SHORT_BYTES = 100_000
#: Of fewer of them no quantile is told.
LEAST_TRANSFERS = 20
#: The two runs of a discipline and a seed: without the unresponsive flow, and beside it.
ALONE, BESIDE = "alone", "beside"


@dataclass(frozen=True)
class LinkRun:
    """What a measure reads of one run."""

    link: dict[str, Any]
    groups: dict[str, dict[str, Any]]
    #: Goodput of each flow by group, in bit/s.
    goodput: dict[str, np.ndarray]
    call: dict[str, Any] | None
    #: Seconds in the queue that so many percent of packets did not exceed, 0 to 100.
    waits: np.ndarray
    #: Objects that were asked for: bytes, and seconds until they were there, or until the run ended if they were not.
    sizes: np.ndarray
    times: np.ndarray


@dataclass(frozen=True)
class Seed:
    """The runs of a discipline with one seed."""

    link: Link
    alone: LinkRun
    beside: LinkRun | None

    def long_flows(self, run: LinkRun) -> np.ndarray:
        """Goodput of the long flows."""
        return np.concatenate([g for name, g in run.goodput.items() if name not in (CALL, WEB, UNRESPONSIVE)])


@dataclass(frozen=True)
class QueueMeasure:
    """A quantity by which disciplines are compared."""

    name: str
    #: In sentences and heads of tables.
    title: str
    #: Head of a column in the terminal, and the unit as `tailback.results.summary.scale` takes it.
    head: str
    unit: str
    #: Which is better; None: told, not judged.
    better: Literal["more", "less"] | None
    doc: str
    value: Callable[[Seed], float]
    #: A difference below this is none, however sure it is: so many units, or so many shortest round trips.
    least: float = 0.0
    least_rtts: float = 0.0
    #: Whether the link has what it looks at.
    asked: Callable[[Link], bool] = lambda link: True

    def matters(self, link: Link) -> float:
        return max(self.least, self.least_rtts * link.shortest_rtt_s)


MEASURES: list[QueueMeasure] = []


def _measure(**declared: Any) -> Callable[[Callable[[Seed], float]], Callable[[Seed], float]]:
    def add(value: Callable[[Seed], float]) -> Callable[[Seed], float]:
        MEASURES.append(QueueMeasure(value=value, **declared))
        return value

    return add


def asked(link: Link) -> list[QueueMeasure]:
    """The measures of a link."""
    return [m for m in MEASURES if m.asked(link)]


def _bulk(link: Link) -> bool:
    return "bulk" in link.traffic


@_measure(
    name="utilisation",
    title="Utilisation",
    head="used",
    unit="%",
    better="more",
    least=0.01,
    doc="share of the counted time in which the line is busy",
)
def _utilisation(seed: Seed) -> float:
    return float(seed.alone.link["utilisation"])


@_measure(
    name="delay_p50_s",
    title="Queueing delay, median",
    head="delay p50",
    unit="s",
    better="less",
    least_rtts=0.02,
    doc="half of all packets wait no longer than this in the queue, whoever sent them",
)
def _delay_p50(seed: Seed) -> float:
    return float(seed.alone.link["sojourn_p50_s"])


@_measure(
    name="delay_p99_s",
    title="Queueing delay, 99 %",
    head="delay p99",
    unit="s",
    better="less",
    least_rtts=0.05,
    doc=(
        "99 of 100 packets wait no longer than this; with a queue for each flow the longest waits are those of "
        "flows behind themselves"
    ),
)
def _delay_p99(seed: Seed) -> float:
    return float(seed.alone.link["sojourn_p99_s"])


@_measure(
    name="loss_rate",
    title="Loss",
    head="loss",
    unit="%",
    better="less",
    least=0.001,
    doc="packets that are dropped, of all that arrive at the queue",
)
def _loss(seed: Seed) -> float:
    return float(seed.alone.link["loss_rate"])


@_measure(
    name="jain_index",
    title="Fairness between flows",
    head="fair flows",
    unit="1",
    better="more",
    least=0.02,
    asked=lambda link: _bulk(link) and link.flows > 1,
    doc="Jain's index of the goodputs of the long flows: 1 where all have the same, 1/n where one has everything",
)
def _jain(seed: Seed) -> float:
    return stats.jain(seed.long_flows(seed.alone))


@_measure(
    name="rtt_fairness",
    title="Fairness between round trips",
    head="fair RTTs",
    unit="1",
    better="more",
    least=0.05,
    asked=lambda link: _bulk(link) and len({rtt for _, rtt in link.senders_of_flows()}) > 1,
    doc=(
        "mean goodput of the long flows whose round trip gets least, over that of those whose round trip gets "
        "most: 1 is even"
    ),
)
def _rtt_fairness(seed: Seed) -> float:
    from tailback.comparison.traffic import group

    by_rtt: dict[float, list[np.ndarray]] = {}
    for sender, rtt in seed.link.senders_of_flows():
        by_rtt.setdefault(rtt, []).append(seed.alone.goodput[group(sender, rtt, seed.link)])
    means = [float(np.concatenate(g).mean()) for g in by_rtt.values()]
    return min(means) / max(means) if max(means) > 0 else math.nan


def _web(link: Link) -> bool:
    return "web" in link.traffic


def _short(seed: Seed, q: float) -> float:
    """A quantile of the completion times of short transfers."""
    times = seed.alone.times[seed.alone.sizes <= SHORT_BYTES]
    return float(np.quantile(times, q)) if len(times) >= LEAST_TRANSFERS else math.nan


@_measure(
    name="short_p50_s",
    title="Short transfers, median",
    head="short p50",
    unit="s",
    better="less",
    least_rtts=0.05,
    asked=_web,
    doc=(
        "half of the objects of web pages up to 100 kB are there within this time of being asked for; what is "
        "unfinished at the end counts with the time it had"
    ),
)
def _short_p50(seed: Seed) -> float:
    return _short(seed, 0.5)


@_measure(
    name="short_p95_s",
    title="Short transfers, 95 %",
    head="short p95",
    unit="s",
    better="less",
    least_rtts=0.25,
    asked=_web,
    doc="95 of 100 of them are there within this time",
)
def _short_p95(seed: Seed) -> float:
    return _short(seed, 0.95)


def _call(link: Link) -> bool:
    return "voice" in link.traffic


@_measure(
    name="call_p99_s",
    title="Delay of the call, 99 %",
    head="call p99",
    unit="s",
    better="less",
    least_rtts=0.02,
    asked=_call,
    doc=(
        "99 of 100 packets of the voice call arrive within this time of being sent; half of the shortest round "
        "trip of it is the way itself"
    ),
)
def _call_delay(seed: Seed) -> float:
    return float(seed.alone.call["delay_p99_s"]) if seed.alone.call else math.nan


@_measure(
    name="call_loss",
    title="Loss of the call",
    head="call loss",
    unit="%",
    better="less",
    least=0.001,
    asked=_call,
    doc="packets of the voice call that are dropped",
)
def _call_loss(seed: Seed) -> float:
    return float(seed.alone.call["loss_rate"]) if seed.alone.call else math.nan


@_measure(
    name="harm",
    title="Harm by the unresponsive flow",
    head="harm",
    unit="%",
    better="less",
    least=0.01,
    asked=lambda link: "unresponsive" in link.traffic,
    doc=(
        "how much of their goodput the long flows lose when the unresponsive flow is there too (the harm of Ware "
        "et al., HotNets 2019)"
    ),
)
def _harm(seed: Seed) -> float:
    if seed.beside is None:
        return math.nan
    without = float(seed.long_flows(seed.alone).sum())
    return 1 - float(seed.long_flows(seed.beside).sum()) / without if without > 0 else math.nan


@_measure(
    name="mean_queue_packets",
    title="Mean queue",
    head="mean queue",
    unit="packets",
    better=None,
    doc="packets that wait, on average over time; told, not judged, as the delays say the same",
)
def _mean_queue(seed: Seed) -> float:
    return float(seed.alone.link["mean_queue_packets"])


def views(results: Any, link: Link, duration_s: float) -> dict[str, list[Seed]]:
    """The runs of each discipline by seed, in order. `results` have the labels `queue` and `load`."""
    runs = [row for row in results.runs.rows() if row["status"] == "done"]
    rows_of = {name: _by_run(getattr(results, name)) for name in ("links", "groups", "datagrams")}
    goodputs = _goodputs(results.flows)
    transfers = _transfers(results.transfers, duration_s)
    waits = _waits(results.series)
    nothing = np.empty(0), np.empty(0)
    made: dict[tuple[str, str, int], LinkRun] = {}
    for run in runs:
        n = run["run"]
        line = next(row for row in rows_of["links"].get(n, []) if row["name"] == LINK)
        groups = {row["group"]: row for row in rows_of["groups"].get(n, [])}
        call = next((row for row in rows_of["datagrams"].get(n, []) if row["group"] == CALL), None)
        sizes, times = transfers.get(n, nothing)
        made[run["queue"], run["load"], run["seed"]] = LinkRun(
            line, groups, goodputs.get(n, {}), call, waits.get(n, nothing[0]), sizes, times
        )
    found: dict[str, list[Seed]] = {}
    for (queue, load, seed), run in made.items():
        if load == ALONE:
            found.setdefault(queue, []).append(Seed(link, run, made.get((queue, BESIDE, seed))))
    return found


def _by_run(table: Any) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in table.rows():
        found.setdefault(row["run"], []).append(row)
    return found


def _goodputs(flows: Any) -> dict[int, dict[str, np.ndarray]]:
    found: dict[int, dict[str, np.ndarray]] = {}
    if len(flows):
        runs, values, groups = (
            np.asarray(flows["run"]),
            np.asarray(flows["goodput_bps"]),
            np.asarray(flows.to_list("group")),
        )
        for n in np.unique(runs):
            mine = runs == n
            found[int(n)] = {str(g): values[mine & (groups == g)] for g in np.unique(groups[mine])}
    return found


def _waits(series: Any) -> dict[int, np.ndarray]:
    """Percentiles of the time in the queue, by run."""
    found: dict[int, np.ndarray] = {}
    if len(series):
        runs, values = np.asarray(series["run"]), np.asarray(series["value"])
        mine = np.asarray([p == WAITS for p in series.to_list("probe")], bool)
        for n in np.unique(runs[mine]):
            found[int(n)] = values[mine & (runs == n)]
    return found


def _transfers(table: Any, duration_s: float) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    if len(table):
        runs = np.asarray(table["run"])
        sizes, times = np.asarray(table["bytes"], float), np.asarray(table["completion_s"], float)
        times = np.where(np.isnan(times), duration_s - np.asarray(table["asked_s"], float), times)
        for n in np.unique(runs):
            mine = runs == n
            found[int(n)] = sizes[mine], times[mine]
    return found
