"""The three pictures: a queue against time, the goodput of each flow, the delay of a call.

Titles and tables are made from the measured values, so they are right for any seed. The texts beside them only describe
the scenario and the disciplines.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback import _core
from tailback.core import stats
from tailback.core.results.columns import column
from tailback.core.scenario.installed import EXAMPLES, opening
from tailback.show import plots

#: The names of disciplines in the text, and a sentence on each.
TITLES = {"droptail": "drop-tail", "codel": "CoDel", "drr": "DRR"}
RULES = {
    "droptail": "Drop-tail has one queue, and drops what arrives while its buffer is full.",
    "codel": "CoDel has one queue, and drops a packet when packets have waited too long for too long.",
    "drr": "DRR has a queue for each flow, serves them in turn, and drops from the longest while its buffer is full.",
}
LINK = "bottleneck"
#: The columns of the table beside a picture of the queue, with their units.
_OF_LINK = [
    (column("links", name), unit)
    for name, unit in (
        ("mean_queue_packets", "packets"),
        ("sojourn_p50_s", "ms"),
        ("utilisation", "%"),
        ("loss_rate", "%"),
    )
]


@dataclass(frozen=True)
class Seen:
    """A drawn picture with its title, caption and table."""

    title: str
    figure: plots.Drawing
    caption: str
    #: Columns (name, unit) and rows of the table below it.
    heads: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    #: The name of its folder, and of its scenario in `examples/demo`.
    name: str
    queues: tuple[str, ...]
    #: About how many CPU seconds its runs and its drawing take.
    cost_s: float
    see: Callable[[Picture, Any], Seen]

    @property
    def text(self) -> str:
        """The scenario, with the first discipline."""
        return (EXAMPLES / "demo" / f"{self.name}.toml").read_text(encoding="utf-8")

    @property
    def setting(self) -> str:
        """The traffic of the line: the first paragraph of the scenario's comment."""
        return opening(self.text)

    @property
    def rules(self) -> str:
        return " ".join(RULES[q] for q in self.queues)

    def link(self, results: Any, queue: str) -> dict[str, Any]:
        """The row of the bottleneck."""
        row: dict[str, Any] = results.links.where(queue=queue, name=LINK)[0]
        return row

    def rows(self, values: Callable[[str], Sequence[float]]) -> list[list[str]]:
        """A row for each discipline with its values."""
        return [[TITLES[q], *(_number(v) for v in values(q))] for q in self.queues]

    def each(self, values: Mapping[str, float], unit: str) -> str:
        """`124 packets behind drop-tail, 14.2 behind CoDel`"""
        texts = [f"{_number(v)} behind {TITLES[q]}" for q, v in values.items()]
        return ", ".join([texts[0].replace(" ", f" {unit} ", 1), *texts[1:]])


def _number(value: float) -> str:
    """A number with three significant digits: 124, 14.2, 0.351."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _queue(p: Picture, results: Any) -> Seen:
    curves = []
    for q in p.queues:
        queue_series = results.series.where(queue=q)
        curves.append((TITLES[q], queue_series["time_s"], queue_series["value"]))
    link_rows = {q: p.link(results, q) for q in p.queues}
    return Seen(
        title="Mean queue: " + p.each({q: row["mean_queue_packets"] for q, row in link_rows.items()}, "packets"),
        figure=plots.series(curves, "queue (packets)", names=p.queues),
        caption="How many packets wait in the queue in front of the line, from the start of the run to its end.",
        heads=[("", ""), *((c.title, unit) for c, unit in _OF_LINK)],
        rows=p.rows(
            lambda q: (
                link_rows[q]["mean_queue_packets"],
                1e3 * link_rows[q]["sojourn_p50_s"],
                100 * link_rows[q]["utilisation"],
                100 * link_rows[q]["loss_rate"],
            )
        ),
    )


#: Groups of the second scenario, as its picture calls them.
KINDS = {"near": "short round trip", "far": "long round trip", "constant": "does not slow down"}


def _goodput(p: Picture, results: Any) -> Seen:
    goodputs: dict[str, dict[str, np.ndarray]] = {}
    for q in p.queues:
        flows = results.flows.where(queue=q)
        goodputs[q] = {g: 1e-6 * flows.where(group=g)["goodput_wire_bps"] for g in KINDS}
    everyone = {q: np.concatenate(list(kinds.values())) for q, kinds in goodputs.items()}
    fair = p.link(results, p.queues[0])["rate_bps"] * 1e-6 / len(everyone[p.queues[0]])
    panels = [(TITLES[q], {KINDS[g]: v for g, v in kinds.items()}) for q, kinds in goodputs.items()]
    return Seen(
        title="The flow that does not slow down gets "
        + p.each({q: kinds["constant"].mean() for q, kinds in goodputs.items()}, "Mb/s"),
        figure=plots.goodputs_by_kind(panels, fair),
        caption=f"What each flow receives, whole packets, a bar for each. An equal share is {_number(fair)} Mb/s.",
        heads=[
            ("", ""),
            *((f"mean, {KINDS[g]}", "Mb/s") for g in KINDS),
            (column("groups", "jain_index").title, "1 is even"),
        ],
        rows=p.rows(lambda q: [*(v.mean() for v in goodputs[q].values()), stats.jain(everyone[q])]),
    )


def _delay(p: Picture, results: Any) -> Seen:
    curves = []
    for q in p.queues:
        intervals = results.intervals.where(queue=q, group="call")
        received_packets = np.nan_to_num(intervals["received_packets"]).astype(int)
        curves.append((q, TITLES[q], np.repeat(intervals["delay_mean_s"], received_packets)))
    call = {q: results.datagrams.where(queue=q, group="call")[0] for q in p.queues}
    unloaded_s = _core.parse_time(tomllib.loads(p.text)["flows"]["call"]["rtt"]) / 2
    return Seen(
        title="Median delay of the call: " + p.each({q: 1e3 * row["delay_p50_s"] for q, row in call.items()}, "ms"),
        figure=plots.distributions(
            curves,
            "delay of a packet of the call, log scale",
            seconds=True,
            aside=(unloaded_s, "with an empty queue"),
            of="packets",
        ),
        caption="The share of the call's packets (upwards) that arrive within a delay (to the right, log scale). "
        "Lost packets are not in the curves.",
        heads=[("", ""), ("median delay", "ms"), ("99th percentile", "ms"), ("lost", "%")],
        rows=p.rows(lambda q: (1e3 * call[q]["delay_p50_s"], 1e3 * call[q]["delay_p99_s"], 100 * call[q]["loss_rate"])),
    )


PICTURES = (
    Picture("queue", ("droptail", "codel"), 1.0, _queue),
    Picture("goodput", ("droptail", "codel", "drr"), 1.0, _goodput),
    Picture("delay", ("droptail", "codel", "drr"), 1.0, _delay),
)
