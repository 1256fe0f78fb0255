"""Two figures of their own: three queues that are full, and maps from flows to queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from common import lines_of
from matplotlib.figure import Figure
from scene import LINK, TEN

import tailback as tb
from tailback.show.plots import Drawing, grid, look, styled


@dataclass(frozen=True)
class Full:
    """Who loses when one queue is full: the queue over time, and goodput over the round trip."""

    kinds: tuple[str, ...]

    def text(self, kind: str) -> str:
        link = LINK.format(f'{{ kind = "{kind}", buffer = "50 packets" }}')
        record = '[record.q]\nlink = "bottleneck"\nprobes = ["queue"]\nevery = "20ms"\n'
        return f'duration = "60s"\nwarmup = "10s"\n{link}{TEN}{record}'

    @styled
    def draw(self, kind: str) -> Figure:
        fig = Drawing(figsize=(6.8, 3.4), layout="constrained")
        axes = fig.subplot_mosaic([["q", "g"]], width_ratios=[1.5, 1])
        for name in self.kinds:
            result = tb.run(self.text(name))
            t, v = lines_of(result)["link.bottleneck", "queue", 0]
            k = look(name)
            if name == kind:
                axes["q"].plot(t, v, color=k.colour, linewidth=0.6)
            goodput = np.asarray(result.flows["goodput_bps"]).reshape(2, 5).mean(axis=0) / 1e6
            axes["g"].plot(
                (60, 80, 100, 120, 140), goodput, color=k.colour, marker=k.marker, linestyle=k.line, label=name
            )
            print(f"  {name}: queue {v[t > 10].mean():.1f}, goodput", *(f"{g:.3g}" for g in goodput))
        axes["q"].set(xlabel="time (s)", ylabel=f"queue of {kind} (packets)", xlim=(20, 30), ylim=(0, None))
        axes["g"].set(xlabel="round trip (ms)", ylabel="goodput of a flow (Mb/s)", ylim=(0, None))
        fig.legend(loc="outside lower right", ncols=3)
        return fig


@dataclass(frozen=True)
class Maps:
    """How evenly flows that change their addresses are spread: the fullest queue's flows over the emptiest's."""

    mappers: dict[str, str]

    def text(self, kind: str) -> str:
        """With the mapper of a label; otherwise with the first."""
        mapper = self.mappers.get(kind) or next(iter(self.mappers.values()))
        return (
            'duration = "30s"\n[link.line]\nfrom = "a"\nto = "b"\nrate = "500Mbps"\ndelay = "0s"\n'
            f'queue = {{ kind = "qsdrr", {mapper}, queues = 20, hash_key = "label", buffer = "4000 packets" }}\n'
            '[flows.short]\nfrom = "a"\nto = "b"\ncount = 1000\ntransport = "udp"\n'
            'traffic = { kind = "churn", rate = "400kbps", mean_hold = "2s" }\n'
            '[record.q]\nlink = "line"\nprobes = ["flow_ratio"]\nevery = "250ms"\n'
        )

    @styled
    def draw(self, kind: str) -> Figure:
        fig, axes = grid(6.8, 3.2)
        for number, label in enumerate(self.mappers):
            t, v = lines_of(tb.run(self.text(label)))["link.line", "flow_ratio", 0]
            axes[0, 0].plot(t, v, color=look("", number).colour, linewidth=1, label=label)
            print(f"  {label}: {v[t > 5].mean():.3g}")
        axes[0, 0].set(xlabel="time (s)", ylabel="fullest / emptiest (flows)", xlim=(0, 30), ylim=(1, None))
        fig.legend(loc="outside upper right", ncols=len(self.mappers))
        return fig
