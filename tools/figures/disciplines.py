#!/usr/bin/env python3
"""The figures of the pages of disciplines.

    make figures          all of them, into docs/figures/disciplines
    tools/figures/disciplines.py red codel

A discipline of one queue is seen over time (trajectory.py), one of several by who gets what (sharing.py). They stand
before the same line and the same flows (scene.py); the same version gives the same picture. The numbers printed are
those of the captions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from common import FIGURES as FOLDER
from common import draw_all, saved
from matplotlib.figure import Figure
from others import Full, Maps
from scene import ASKED, BOTH_KINDS, BUCKET, CLASSES, MARKED, METER, ROUND_TRIPS, UNRESPONSIVE
from sharing import ABOVE, BY_WEIGHT, Losses, Shares
from trajectory import Curve, Probe, Trajectory


class Row(Protocol):
    def draw(self, kind: str) -> Figure: ...

    def text(self, kind: str) -> str:
        """The scenario of the figure, or of its largest part."""
        ...


def queue(kind: str, more: str = "", buffer: str = "200 packets") -> str:
    return ", ".join(x for x in (f'kind = "{kind}"', f'buffer = "{buffer}"', more) if x)


AVERAGE, P, WAIT = Probe("average", "average"), Probe("probability"), Probe("sojourn", "", 0, 1e3)
RED = 'min_threshold = "20 packets", max_threshold = "60 packets"'
HELD = {"buffer": "200 packets", "min_threshold": "20 packets", "max_threshold": "60 packets"}


def red_kind(kind: str, below: Probe = P, most: float = 140, **more: Any) -> Trajectory:
    """With RED's average and its ramp."""
    if more.get("goodputs"):
        more["flows"] = UNRESPONSIVE
    else:
        more["curve"] = Curve(HELD, most)
    label = more.pop("label", below.name)
    return Trajectory(queue(kind, RED), [below], label, [AVERAGE], **more)


def controller(kind: str, more: str, *below: Probe, label: str = "probability", **rest: Any) -> Trajectory:
    return Trajectory(queue(kind, more), below, label, **rest)


def by_colour(name: str, *labels: str) -> list[Probe]:
    return [Probe(name, label, index) for index, label in enumerate(labels)]


def colours(kind: str, more: str, held: dict[str, Any], most: float) -> Trajectory:
    """An average and a probability for each of green, yellow and red."""
    names = ("green", "yellow", "red")
    curve = Curve(held, most, [(Probe("probability", name, i), 10 + 2 * i) for i, name in enumerate(names)])
    return Trajectory(
        queue(kind, more),
        by_colour("probability", *names),
        "probability",
        by_colour("average", *names),
        flows=METER,
        curve=curve,
    )


SMALL = "60 packets"
MEAN = 'mean_packet = "1500B"'
PIECES = 'scheduler = "drr-plus-plus", policy = "batch-drop", count_newcomer = true, aqm = "cobalt"'
PRECEDENCES = ("green (AF11)", "yellow (AF12)", "red (AF13)")
ONE_QUEUE: dict[str, Row] = {
    "droptail": Full(("droptail", "random-drop", "front-drop")),
    "red": red_kind("red"),
    "ared": red_kind("ared", Probe("max_probability")),
    "feng-red": red_kind("feng-red", Probe("max_probability")),
    "nlred": red_kind("nlred", most=60),
    "dred": controller("dred", 'target = "50 packets"', P),
    "sred": controller("sred", "", Probe("hit_frequency"), label="hit frequency P"),
    "rio": Trajectory(
        queue("rio"),
        [Probe("probability_in", "green (in profile)"), Probe("probability_out", "red (all, out of profile)")],
        "probability",
        [Probe("average_in", "green (in profile)"), Probe("average", "red (all, out of profile)")],
        flows=BUCKET,
        curve=Curve(
            {"buffer": "200 packets"},
            35,
            [(Probe("probability_in", "green"), 10), (Probe("probability_out", "red"), 0)],
            ("initial_average", "initial_average_in"),
        ),
    ),
    "wred": Trajectory(
        queue("wred", 'classes = "drop-precedence"'),
        [Probe("probability", name, 2 - i) for i, name in enumerate(PRECEDENCES)],
        "probability",
        [AVERAGE],
        flows=METER,
        curve=Curve(
            {"buffer": "200 packets", "classes": "drop-precedence"},
            45,
            [(Probe("probability", name, 2 - i), 10 + 2 * i) for i, name in enumerate(PRECEDENCES)],
        ),
    ),
    "mred": colours("mred", "", {"buffer": "200 packets"}, 60),
    "redn": colours("redn", f'{RED}, mode = "self_redn"', HELD, 125),
    "fred": Trajectory(queue("fred"), [Probe("active")], "active flows", [AVERAGE], flows=UNRESPONSIVE, goodputs=True),
    "choke": red_kind("choke", goodputs=True),
    "red-pb": red_kind("red-pb", Probe("box_packets"), goodputs=True, label="in the box (packets)"),
    "red-pd": red_kind("red-pd", Probe("strictest"), goodputs=True, label="strictest filter"),
    "sfb": controller("sfb", "", Probe("certain_bins"), label="certain bins", flows=UNRESPONSIVE, goodputs=True),
    "blue": controller("blue", "", P),
    "pi": controller("pi", 'reference = "50 packets", design_flows = 10, design_rtt = "200ms", ' + MEAN, P),
    "rem": controller("rem", MEAN, Probe("price"), label="price (packets)"),
    "avq": controller("avq", MEAN, Probe("virtual_capacity"), label="capacity / rate"),
    "green": controller("green", "", Probe("arrival_rate", "", 0, 1e-6), label="arrivals (Mb/s)"),
    "green-tcp": controller("green-tcp", ROUND_TRIPS.strip(), Probe("flows"), label="counted flows"),
    "aaqm": Trajectory(queue("aaqm"), [Probe("level")], "level", [AVERAGE], flows=MARKED, marking=True),
    "codel": controller("codel", "", Probe("count"), label="count", first=WAIT, above_label="wait (ms)"),
    "cobalt": controller("cobalt", "", Probe("count"), label="count", first=WAIT, above_label="wait (ms)"),
    "pie": controller("pie", "", P, first=Probe("delay", "", 0, 1e3), above_label="delay (ms)"),
    "dualpi2": Trajectory(
        'kind = "dualpi2"',
        [Probe("coupled_probability", "L"), Probe("classic_probability", "classic, its probability")],
        "probability",
        [Probe("l_sojourn", "L", 0, 1e3)],
        "wait (ms)",
        Probe("classic_sojourn", "classic, its queue", 0, 1e3),
        log=True,
        flows=BOTH_KINDS,
        marking=True,
    ),
    "decsel": controller("decsel", "", Probe("average"), label="average (packets)", flows=ASKED, marking=True),
    "fqbit": controller("fqbit", "", Probe("backlogged"), label="flows with packets", flows=ASKED, marking=True),
    "diffserv": Trajectory(
        'kind = "diffserv"',
        [Probe("waiting")],
        "EF (packets)",
        [Probe("waiting", "AF4", 4), Probe("waiting", "best effort", 5)],
        first=Probe("waiting", "AF1", 1),
        flows=CLASSES,
        every="500ms",
    ),
}
SEVERAL: dict[str, Row] = {
    **{kind: Losses(queue(kind, buffer=SMALL)) for kind in ("drr", "tdrr", "qsdrr", "dtdrr", "dsdrr")},
    **{kind: Shares(queue(kind), BY_WEIGHT) for kind in ("wdrr", "srr", "scfq", "wf2q-plus", "wf2q")},
    "sfq": Shares(queue("sfq", 'buckets = 1024, overflow = "longest"')),
    # The call and what does not respond have the same two hosts.
    "fq": Shares(queue("fq", 'conversation = "tuple"')),
    **{kind: Shares(queue(kind, buffer="1000 packets")) for kind in ("fq-codel", "fq-pie", "fq-cobalt")},
    "cake": Shares('kind = "cake", rate = "9.8Mbps"'),
    "htb": Shares('kind = "htb", rate = "9.8Mbps", queue = { kind = "fq-codel", buffer = "1000 packets" }'),
    "port": Shares(queue("port", PIECES)),
    "drr-plus-plus": Shares(queue("drr", 'scheduler = "drr-plus-plus"')),
    "priority": Shares(queue("drr", 'scheduler = "priority"'), ABOVE, call="weight = 10\n"),
    **{
        kind: Shares(queue("drr", f'scheduler = "{kind}"'), BY_WEIGHT)
        for kind in ("wrr", "stratified", "virtual-clock", "frame-based")
    },
    "random-discard": Losses(queue("port", 'policy = "random-discard"', SMALL)),
    "heavy-flows": Losses(
        queue("port", 'policy = { kind = "heavy-flows", heavy_share = 0.1, interval = "1s" }', SMALL)
    ),
    "mappers": Maps(
        {
            "hash": 'mapper = "hash"',
            "bloom, PB": 'mapper = "bloom", balance = "pb"',
            "bloom, DB": 'mapper = "bloom", balance = "db"',
        }
    ),
}
FIGURES = {**ONE_QUEUE, **SEVERAL}


def text(name: str) -> str:
    return FIGURES[name].text(name)


def draw(name: str) -> Path:
    return saved(FIGURES[name].draw(name), FOLDER / f"disciplines/{name}.png")


if __name__ == "__main__":
    draw_all(FIGURES, draw)
