"""The figures of disciplines that share: who is sent when, who gets what, and who loses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from common import lines_of
from goodputs import DROPTAIL, bars, columns, told
from goodputs import text as text_of_goodputs
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scene import LINK, TWICE

import tailback as tb
from tailback.show.plots import GREY, Drawing, look, styled

LINE = 10e6  # bit/s
#: Flows that always have packets, by packet size, and one that seldom has; and flows of other weights.
GREEDY = 'traffic = { kind = "cbr", rate = "20Mbps" }'
SIZES = tuple((f"{n} B", f'packet_size = "{n}B"\n{GREEDY}') for n in (1500, 1000, 500))
SELDOM = ("200 B, now and then", 'packet_size = "200B"\ntraffic = { kind = "cbr", rate = "160kbps" }\nstart = "5ms"')
BY_SIZE = (*SIZES, SELDOM)
BY_WEIGHT = tuple((f"weight {w}", f"weight = {w}\n{GREEDY}") for w in (5, 2, 1, 1, 1))
#: The first has a packet now and then, the others always.
ABOVE = (
    ("weight 10", 'weight = 10\ntraffic = { kind = "cbr", rate = "3Mbps" }'),
    *((f"weight {w}", f"weight = {w}\n{GREEDY}") for w in (5, 5, 1)),
)


@dataclass(frozen=True)
class Shares:
    """Above the order in which packets of a few flows are sent, below goodput and delay of many."""

    #: The table of the queue, without braces.
    queue: str
    flows: tuple[tuple[str, str], ...] = BY_SIZE
    #: What is different in the run above.
    order: str = ""
    #: Fields of the call below.
    call: str = ""

    def text(self, kind: str) -> str:
        return text_of_goodputs(self.queue, self.call)

    @styled
    def draw(self, kind: str) -> Figure:
        fig = Drawing(figsize=(6.8, 4.2), layout="constrained")
        axes = fig.subplot_mosaic([["o", "o"], ["g", "d"]], height_ratios=[1, 1.5])
        self._order(axes["o"])
        mine, droptail = columns(self.queue, self.call), columns(DROPTAIL.format("200 packets"))
        bars(axes["g"], mine["goodput_bps"] / 1e6, droptail["goodput_bps"] / 1e6)
        bars(axes["d"], mine["delay_p99_s"] * 1e3, droptail["delay_p99_s"] * 1e3)
        axes["g"].set_ylabel("goodput (Mb/s)")
        axes["d"].set_ylabel("delay, 99 % (ms)")
        fig.legend(*axes["g"].get_legend_handles_labels(), loc="outside lower right")
        told(kind, mine, droptail)
        return fig

    def _order(self, ax: Axes) -> None:
        """What each flow got, packet by packet, tells when its packets were on the line: its delay is 0."""
        text = 'duration = "150ms"\nmarking = false\n[link.line]\nfrom = "a"\nto = "b"\nrate = "10Mbps"\ndelay = "0s"\n'
        text += f"queue = {{ {self.queue}{self.order} }}\n"
        for number, (_, fields) in enumerate(self.flows):
            text += (
                f'[flows.f{number}]\nfrom = "a"\nto = "b"\ntransport = {{ kind = "udp", header = "0B" }}\n{fields}\n'
                f'[record.r{number}]\nflows = "f{number}"\nprobes = ["goodput"]\nevery = "20us"\n'
            )
        lines = lines_of(tb.run(text))
        for number in range(len(self.flows)):
            t, v = lines[f"flows.f{number}.0", "goodput", 0]
            took = np.diff(v, prepend=0) * 8 / LINE
            seen = (t > 0.1) & (t - took < 0.14) & (took > 0)
            spans = [((a - w - 0.1) * 1e3, w * 1e3) for a, w in zip(t[seen], took[seen], strict=True)]
            ax.broken_barh(
                spans, (number - 0.4, 0.8), facecolor=look("", number).colour, edgecolor="white", linewidth=0.4
            )
        ax.set_yticks(range(len(self.flows)), [name for name, _ in self.flows])
        ax.set(xlim=(0, 40), ylim=(len(self.flows) - 0.5, -0.5), xlabel="packets on the line of 10 Mb/s (ms)")
        ax.grid(axis="y", visible=False)


@dataclass(frozen=True)
class Losses:
    """Who loses when a shared buffer is full: the queue, and a mark for each lost packet of each flow."""

    queue: str

    def text(self, kind: str) -> str:
        link = LINK.format(f"{{ {self.queue} }}")
        record = '[record.q]\nlink = "bottleneck"\nprobes = ["queue"]\nevery = "20ms"\n'
        return f'duration = "40s"\nmarking = false\nlog_drops = true\n{link}{TWICE[0]}{record}'

    @styled
    def draw(self, kind: str) -> Figure:
        fig = Drawing(figsize=(6.8, 3.8), layout="constrained")
        axes = fig.subplot_mosaic([["q", "b"], ["l", "b"]], height_ratios=[1, 1.6], width_ratios=[1.7, 1])
        result = tb.run(self.text(kind))
        t, v = lines_of(result)["link.bottleneck", "queue", 0]
        axes["q"].plot(t, v, color=GREY, linewidth=0.6)
        axes["q"].set(ylabel="queue (packets)", xlim=(30, 40), ylim=(0, None))
        axes["q"].tick_params(labelbottom=False)
        axes["q"].set_title("20 TCP flows; a mark for each lost packet", color=GREY, weight="normal")
        names = [f"{group}.{i}" for group in ("ten", "more") for i in range(10)]
        at = np.asarray(result.log["time_s"])
        who = np.array([names.index(name) for name in result.log["flow"]])
        axes["l"].scatter(at, who, s=26, marker="|", color=look("", 1).colour, linewidth=0.9)
        axes["l"].set(ylabel="flow", xlabel="time (s)", xlim=(30, 40), ylim=(-1, 20), yticks=range(0, 20, 5))
        mine, droptail = columns(self.queue), columns(DROPTAIL.format("60 packets"))
        bars(axes["b"], mine["goodput_bps"] / 1e6, droptail["goodput_bps"] / 1e6)
        axes["b"].set_ylabel("goodput (Mb/s)")
        axes["b"].set_title("beside 5 Mb/s and a call", color=GREY, weight="normal")
        fig.legend(*axes["b"].get_legend_handles_labels(), loc="outside lower right")
        told(kind, mine, droptail)
        inside = (at >= 30) & (at < 40)
        print(f"  {kind}: 30 to 40 s: {inside.sum()} lost, of {len(set(who[inside]))} flows; used", end=" ")
        print(f"{result.links['utilisation'][0]:.4f}, queue {v[t >= 30].mean():.1f}")
        return fig
