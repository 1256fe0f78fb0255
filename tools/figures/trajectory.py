"""The figure of a discipline over time: the queue, what steers it, and beside them its response or who gets what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Line, lines_of
from goodputs import DROPTAIL, bars, columns
from goodputs import told as goodputs_told
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scene import LINK, TWICE

import tailback as tb
from tailback.show.plots import FAINT, GREY, INK, Drawing, look, styled

SECONDS = 60
#: What has a colour of its own; anything else has that of its turn.
COLOURS = {"average": INK, "green": "#009E73", "yellow": "#E69F00", "red": "#D55E00"}


@dataclass(frozen=True)
class Probe:
    name: str
    label: str = ""
    index: int = 0
    #: The value is multiplied by this.
    unit: float = 1


@dataclass(frozen=True)
class Curve:
    """The probability of an AQM whose average is held: as its own code computes it."""

    parameters: dict[str, Any]
    #: Up to this average, in packets.
    most: float
    #: A line for each probe, with the code point of the packet that asks.
    probes: Sequence[tuple[Probe, int]] = ((Probe("probability"), 0),)
    held: Sequence[str] = ("initial_average",)

    def draw(self, ax: Axes, kind: str) -> None:
        at = np.unique(np.append(np.linspace(0, self.most, 141), np.arange(1, self.most, 1) - 0.001))
        for number, (probe, code) in enumerate(self.probes):
            values = []
            for average in at:
                held = {**self.parameters, "weight": 0, **dict.fromkeys(self.held, f"{average:.6f} packets")}
                q = tb.drive(tb.queue(kind, **held))
                q.enqueue(tb.packet(flow=1, dscp=code), now=0.0)
                values.append(q.probe(probe.name, probe.index))
            ax.plot(at, values, color=colour(probe, number), linewidth=1.1)
        ax.set(xlabel="average (packets)", ylabel="probability", xlim=(0, self.most), ylim=(0, None))


@dataclass(frozen=True)
class Trajectory:
    """A run: the queue above, with what is measured in the same unit; what the discipline makes of it below."""

    #: The table of the queue, without braces.
    queue: str
    below: Sequence[Probe]
    below_label: str
    above: Sequence[Probe] = ()
    above_label: str = "queue (packets)"
    #: Drawn first, thin and grey.
    first: Probe = Probe("queue", "queue")
    flows: tuple[str, str] = TWICE
    #: Beside both.
    curve: Curve | None = None
    goodputs: bool = False
    marking: bool = False
    #: Whether the queue is drawn over a logarithm.
    log: bool = False
    every: str = "50ms"

    def text(self, kind: str) -> str:
        probes = ", ".join(
            f'"{name}"' for name in dict.fromkeys(p.name for p in (self.first, *self.above, *self.below))
        )
        return (
            f'duration = "{SECONDS}s"\nmarking = {str(self.marking).lower()}\n'
            f"{LINK.format(f'{{ {self.queue} }}')}{self.flows[0]}"
            f'[record.q]\nlink = "bottleneck"\nprobes = [{probes}]\nevery = "{self.every}"\n'
        )

    @styled
    def draw(self, kind: str) -> Figure:
        result = tb.run(self.text(kind))
        lines = lines_of(result)
        beside = self.curve is not None or self.goodputs
        fig = Drawing(figsize=(6.8, 3.6), layout="constrained")
        axes = fig.subplot_mosaic(
            [["q", "c"], ["p", "c"]] if beside else [["q"], ["p"]],
            height_ratios=[1.5, 1],
            width_ratios=[2.1, 1] if beside else [1],
        )
        self._lines(axes["q"], lines, (self.first, *self.above))
        self._lines(axes["p"], lines, self.below)
        axes["q"].set(ylabel=self.above_label)
        axes["q"].tick_params(labelbottom=False)
        axes["p"].set(ylabel=self.below_label, xlabel="time (s)")
        axes["q"].set_title(f"10 Mb/s, {self.flows[1]}", color=GREY, weight="normal")
        if self.curve is not None:
            self.curve.draw(axes["c"], kind)
        if self.goodputs:
            mine, droptail = columns(self.queue), columns(DROPTAIL.format("200 packets"))
            bars(axes["c"], mine["goodput_bps"] / 1e6, droptail["goodput_bps"] / 1e6)
            axes["c"].set_ylabel("goodput (Mb/s)")
            goodputs_told(kind, mine, droptail)
        named = {label: h for a in axes.values() for h, label in zip(*a.get_legend_handles_labels(), strict=True)}
        if len(named) > 1:
            fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=min(5, len(named)))
        told(kind, result, lines)
        return fig

    def _lines(self, ax: Axes, lines: dict[tuple[str, str, int], Line], probes: Sequence[Probe]) -> None:
        ax.axvspan(20, 40, color=FAINT, alpha=0.5, linewidth=0)
        for number, probe in enumerate(probes):
            t, v = lines["link.bottleneck", probe.name, probe.index]
            thin = probe is self.first
            ax.plot(
                t,
                v * probe.unit,
                color=GREY if thin else colour(probe, number - (probes[0] is self.first)),
                linewidth=0.6 if thin else 1,
                label=probe.label or None,
            )
        ax.set_xlim(0, SECONDS)
        ax.margins(y=0.08)
        if self.log and self.first in probes:
            ax.set_yscale("log", nonpositive="mask")
            ax.yaxis.set_major_formatter("{x:g}")
        else:
            ax.set_ylim(bottom=0)


def colour(probe: Probe, number: int) -> str:
    return COLOURS.get(probe.label.partition(" ")[0], look("", number + 1).colour)


def told(kind: str, result: tb.Result, lines: dict[tuple[str, str, int], Line]) -> None:
    """What a caption may name: the mean of each line in each third, without the first five seconds of the third."""
    for (_, probe, index), (t, v) in lines.items():
        means = [f"{np.nanmean(v[(t > a + 5) & (t <= a + 20)]):.4g}" for a in (0, 20, 40)]
        print(f"  {kind}: {probe} {index or ''}", *means)
    link = {name: result.links[name][0] for name in ("utilisation", "loss_rate", "dropped_packets", "marked_packets")}
    print(f"  {kind}:", *(f"{name} {value:.4g}" for name, value in link.items()))
