"""A sweep in memory: points, how often each is repeated, and what its results are to be looked at for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback import _core
from tailback.plan import Plan
from tailback.progress import Progress
from tailback.sweep.files import PairedTable, StopTable


@dataclass(frozen=True)
class AxisTitle:
    name: str
    title: str
    unit: str


@dataclass
class Sweep:
    """Made by `tailback.load_sweep`; `execute` runs it.

    >>> lab = tb.dumbbell(flows=2, bottleneck="10Mbps", rtt="40ms", queue="codel")
    >>> rates = {"paths": ["link.bottleneck.rate"], "values": ["5Mbps", "10Mbps"]}
    >>> sweep = tb.load_sweep({"scenario": lab, "set": ["duration=2s"], "axis": {"rate": rates}})
    >>> results = sweep.execute("out/rates")
    >>> results.runs["rate"].tolist()
    ['5Mbps', '10Mbps']
    """

    name: str
    points: list[tuple[dict[str, str], _core.Scenario]]
    replications: int
    #: Of the first replication of every point; None for that of the scenario.
    seed: int | None
    stop: StopTable | None
    compare: PairedTable | None
    axes: list[AxisTitle]
    #: Makers of disciplines written in Python, by port.
    queues: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def plan(self, replications: Sequence[int] | None = None) -> Plan:
        """The plan with a number of replications for each point; at the beginning without it."""
        first = self.stop.at_least if self.stop else self.replications
        plan = Plan(self.points, replications if replications is not None else first, self.seed)
        plan.queues = self.queues
        return plan

    def __len__(self) -> int:
        """How many runs there are; of a sweep that can grow, at least."""
        return len(self.plan())

    def __repr__(self) -> str:
        n = f"{self.stop.at_least} to {self.stop.at_most}" if self.stop else str(self.replications)
        return f"<Sweep {self.name}: {len(self.points)} points, {n} replications>"

    def about(self) -> dict[str, Any]:
        """What the manifest says of it, for those who look at the results."""
        import msgspec

        said = {
            "name": self.name,
            "axes": [{"name": a.name, "title": a.title, "unit": a.unit} for a in self.axes],
            "compare": msgspec.to_builtins(self.compare),
            "stop": msgspec.to_builtins(self.stop),
        }
        return {k: v for k, v in said.items() if v is not None}

    def execute(
        self,
        dir: str | os.PathLike[str] | None = None,
        jobs: int = 0,
        progress: Progress = None,
        *,
        shard: tuple[int, int] | None = None,
        client: Any = None,
    ) -> _core.Results:
        """Run what is not stored in `dir` yet; see `Plan.execute`. With `stop`, points get seeds until they have
        enough."""
        from tailback.sweep.execute import execute

        return execute(self, dir, jobs, progress, shard, client)
