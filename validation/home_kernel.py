"""A home line in the model, in our box with this kernel's TCP, and with this kernel's own queues.

    python validation/home_kernel.py [--only 20/5] [--seeds 3] [--duration 56s] [--json FILE]

The modem alone (drop-tail of 250 ms), and `htb` with drop-tail at home, while the line is loaded downwards, upwards and
both ways by four CUBIC transfers each: the latency that a load adds to a small packet's round trip, and goodput. The
same scenarios, seeds and phases each time: simulated; with real connections through the simulator's network; and with
the queues of the kernel instead of the box's. A box is held to be right where its latency is within 20 % or 2 ms of the
kernel's, and its goodput within 3 %; the model is compared with the box in the same way.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tailback
from tailback import _core
from tailback.apps.ask.home.candidates import candidate, today
from tailback.apps.ask.home.line import HomeLine, question
from tailback.apps.ask.home.measures import HomeRun, runs_of
from tailback.apps.ask.home.phases import BOTH, DOWN, UP, Timeline, timeline
from tailback.apps.ask.home.traffic import LINE, SHAPER, scenario
from tailback.core import stats
from tailback.core.scenario.read import load_scenario
from tailback.runs.live import kernel_queue, machine, report
from tailback.runs.live.session import Options, live

RATES = {"20/5": ("20Mbps", "5Mbps"), "100/20": ("100Mbps", "20Mbps")}
#: At home: the link whose queue the kernel can have, and the discipline.
AT_HOME: dict[str, tuple[str, Any]] = {
    "modem": (LINE, None),
    "htb, drop-tail": (SHAPER, {"kind": "droptail", "buffer": "100 packets"}),
}
MODEL, BOX, KERNEL = "model only", "our box", "kernel"
#: Latency agrees within this share or this time, goodput within this share.
SHARE, LEAST_S, GOODPUT = 0.20, 0.002, 0.03
#: A run that is not valid is made again so many times.
AGAIN = 3


@dataclass(frozen=True)
class Measured:
    name: str
    unit: str
    values: list[float]

    @property
    def text(self) -> str:
        e = stats.estimate(self.values)
        return f"{e.mean:.1f} ± {e.half_width:.1f}" if self.unit == "ms" else f"{e.mean:.2f} ± {e.half_width:.2f}"

    def overlaps(self, other: Measured) -> bool:
        """Whether the intervals have values in common: three seeds do not decide then."""
        a, b = stats.estimate(self.values), stats.estimate(other.values)
        return abs(a.mean - b.mean) <= a.half_width + b.half_width

    def agrees(self, other: Measured) -> bool:
        a, b = stats.mean(self.values), stats.mean(other.values)
        if self.unit == "ms":
            return abs(a - b) <= max(SHARE * abs(b), 1e3 * LEAST_S)
        return abs(a - b) <= GOODPUT * abs(b)


def measured(runs: list[HomeRun]) -> list[Measured]:
    found = [Measured(f"added, {name}", "ms", [1e3 * r.added(name) for r in runs]) for name in (DOWN, UP, BOTH)]
    for name, direction in ((DOWN, "down"), (UP, "up"), (BOTH, "down"), (BOTH, "up")):
        values = [r.phases[name].goodput.get(direction, 0.0) / 1e6 for r in runs]
        found.append(Measured(f"goodput {direction}, {name}", "Mb/s", values))
    return found


def one(text: str, link: str, who: str, seed: int) -> tuple[Any, list[str]]:
    """The results of a run, and why they are not to be trusted."""
    plain = load_scenario(text, [f"seed={seed}"])
    if who == MODEL:
        return tailback.run(plain), []
    overrides, options = [f"seed={seed}"], {}
    if who == KERNEL:
        options["kernel"] = kernel_queue.of(plain, link)
        machine.require(options["kernel"].needs, link)
        overrides += options["kernel"].overrides
    s = load_scenario(text, overrides)
    made = live(s, Options(seed, options))
    return report.result(s, [made]), made.invalid


def valid(text: str, link: str, who: str, seed: int, line: HomeLine, times: Timeline) -> HomeRun:
    for _ in range(AGAIN):
        results, invalid = one(text, link, who, seed)
        if not invalid:
            break
        print(f"  again, seed {seed}, {who}: {'; '.join(invalid)}", file=sys.stderr, flush=True)
    ((_, seen),) = runs_of(results, line, times)
    return seen


def rows(rate: str, seeds: int, duration: str) -> Iterator[tuple[str, str, list[Measured]]]:
    down, up = RATES[rate]
    line = question(down, up, "30ms", traffic=["bulk"], link="docsis")
    times = timeline(line, _core.parse_time(duration))
    for name, (link, table) in AT_HOME.items():
        c = today() if table is None else candidate(table, line)
        shape = c.queues(line, line.share)
        text = load_scenario(scenario(line, shape, times), name=f"home line, {name}").toml
        runs: dict[str, list[HomeRun]] = {MODEL: [], BOX: [], KERNEL: []}
        for seed in range(1, seeds + 1):
            # One after the other, so that whatever else the machine does disturbs all of them.
            for who, found in runs.items():
                found.append(valid(text, link, who, seed, line, times))
        for who, found in runs.items():
            yield name, who, measured(found)


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--only", choices=RATES)
    a.add_argument("--seeds", type=int, default=3)
    a.add_argument("--duration", default="56s")
    a.add_argument("--json", metavar="FILE")
    given = a.parse_args()
    outside, stored = 0, []
    for rate in [given.only] if given.only else RATES:
        print(f"\n{rate} Mb/s, load of the machine {os.getloadavg()[0]:.1f}", flush=True)
        last: dict[str, list[Measured]] = {}
        for name, who, found in rows(rate, given.seeds, given.duration):
            if who == MODEL:
                print(f"\n{name}\n{'':12}" + "".join(f"{m.name:>22}" for m in found))
                last = {}
            last[who] = found
            print(f"{who:12}" + "".join(f"{m.text:>22}" for m in found), flush=True)
            stored.append({"rate": rate, "at_home": name, "who": who} | {m.name: m.values for m in found})
            for other in [w for w in last if w != who]:
                off = [
                    f"{m.name}{' (intervals overlap)' if m.overlaps(o) else ''}"
                    for m, o in zip(found, last[other], strict=True)
                    if not m.agrees(o)
                ]
                outside += len(off)
                verdict = f"OUTSIDE: {', '.join(off)}" if off else "all within"
                print(f"{'':12}  against {other}: {verdict}", flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as f:
            json.dump(stored, f, indent=1)
    print(f"\n{outside} values outside their bounds")


if __name__ == "__main__":
    main()
