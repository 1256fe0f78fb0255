"""One live run from beginning to end: two processes with networks of their own, the box between them, and the results.

Nothing that is made has a name outside the processes that hold it: networks and devices end with them, and they end
with this one. So there is nothing to take down, however the run ends.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tailback import _core
from tailback.live.agent import Channel
from tailback.live.layout import FIRST_PORT, Layout, NotPossible, plan

#: A run whose 99th percentile of lateness is above this is not valid, s.
MOST_LATENESS = 0.001
#: Nor is one whose line was served with a rate that differs by this share, where it was busy for so long, s.
MOST_RATE_ERROR = 0.01
LEAST_BUSY = 1.0
#: From when both sides are ready to time zero, s.
LEAD = 0.05
MARK = "TAILBACK_LIVE"


class LiveError(RuntimeError):
    """The machine does not allow a run, or one of its parts failed. The text says which and what to do."""


@dataclass
class Options:
    seed: int
    overrides: Mapping[str, Any] = field(default_factory=dict)
    capture: tuple[str, str] | None = None
    record: bool = False
    real_time: bool = True
    watch_s: float = 30e-6
    sample_s: float = 0.02


@dataclass
class Live:
    """What a run gave: its tables, how well it was served, what both kernels counted."""

    run: Any
    quality: dict[str, Any]
    flows: list[dict[str, Any]]
    received: list[dict[str, Any]]
    counters: dict[str, dict[str, int]]
    not_told: list[str]
    invalid: list[str]


class Side:
    """The process of one side."""

    def __init__(self, role: str, config: dict[str, Any]) -> None:
        self.role = role
        ours, theirs = socket.socketpair()
        with theirs:
            env = {**os.environ, MARK: f"{os.getpid()}"}
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tailback.live.agent", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for the gateway, which then ends this process.
                start_new_session=True,
            )
        self.channel = Channel(ours)
        self.tell(config)

    def tell(self, document: dict[str, Any]) -> None:
        try:
            self.channel.send(document)
        except OSError:
            raise LiveError(self.ended()) from None

    def ready(self) -> tuple[int, dict[str, Any]]:
        """The device, and what else its process says."""
        answer, descriptors = self.answer()
        if "refused" in answer:
            raise LiveError(answer["refused"])
        return descriptors[0], answer

    def answer(self) -> tuple[dict[str, Any], list[int]]:
        try:
            return self.channel.receive()
        except (EOFError, OSError):
            raise LiveError(self.ended()) from None

    def ended(self) -> str:
        """Why the process is no more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        status = self.process.returncode
        how = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
        return f"the process of the {self.role} {how}; nothing of the run is left behind"

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.channel.end.close()
        self.process.kill()
        self.process.wait()


def _config(layout: Layout, role: str) -> dict[str, Any]:
    near = role == "source"
    groups = []
    for g in layout.groups:
        row = asdict(g)
        row["own"], row["other"] = (g.near, g.far) if near else (g.far, g.near)
        row["attributes"] = g.there if near else g.back
        row |= {"first_port": FIRST_PORT, "server_port": g.server_port}
        groups.append(row)
    return {
        "role": role,
        "ipv6": layout.ipv6,
        "mtu": layout.mtu,
        "sysctls": layout.sysctls,
        "groups": groups,
    }


def live(scenario: Any, options: Options, status: Callable[[dict[str, Any]], None] | None = None) -> Live:
    """Raises NotPossible for a scenario no kernel can do, LiveError for a machine that cannot or a part that fails."""
    layout = plan(scenario, options.overrides)
    box = _core.LiveBox(scenario, options.seed, layout.conversations())
    if options.record:
        box.record()
    if options.capture:
        box.capture(*options.capture)
    source = _config(layout, "source")
    flows = box.flows()
    if len(flows) > sum(g.count for g in layout.groups):
        raise NotPossible("the scenario has sessions, which have no real clients here; use flows")
    if any(g.iperf3 for g in layout.groups) and not shutil.which("iperf3"):
        raise LiveError("iperf3 is not installed: install the package iperf3, or leave --iperf3 out")
    source |= {"flows": flows, "warmup_s": scenario.warmup_s, "sample_s": options.sample_s}
    source |= {"scenario": scenario.toml, "seed": options.seed, "duration_s": scenario.duration_s}
    sink = _config(layout, "sink") | {"flows": flows}
    sides: list[Side] = []
    devices: list[int] = []
    try:
        sides += [Side("sender", source), Side("receiver", sink)]
        for side in sides:
            device, answer = side.ready()
            devices.append(device)
            layout.not_told += answer["refused_settings"]
        begin = time.monotonic_ns() + int(LEAD * 1e9)
        for side in sides:
            side.tell({"begin_ns": begin})

        def go_on(state: dict[str, Any]) -> bool:
            for side in sides:
                if side.process.poll() is not None:
                    raise LiveError(f"{state['time_s']:.1f} s into the run, {side.ended()}")
            if status is not None:
                status(state)
            return True

        near, far = devices
        devices.clear()
        try:
            quality = box.run(near, far, begin, scenario.duration_s, options.watch_s, options.real_time, go_on)
        except OSError as e:
            raise LiveError(f"{e}; nothing of the run is left behind") from e
        for side in sides:
            side.tell({"stop": True})
        sent, got = (side.answer()[0] for side in sides)
    finally:
        for device in devices:
            os.close(device)
        for side in sides:
            side.end()
    return _gather(scenario, options, layout, box, quality, sent, got)


def _gather(
    scenario: Any, options: Options, layout: Layout, box: Any, quality: dict[str, Any], sent: Any, got: Any
) -> Live:
    recorded = {g["name"]: g["recorded"] for g in _core.live_groups(scenario)}
    for number, flow in enumerate(sent["flows"]):
        if flow["error"]:
            group = next(g for g in layout.groups if g.name == flow["name"].rpartition(".")[0])
            raise LiveError(f"flow {flow['name']} could not send: {_why(flow['error'], group.congestion)}")
        _tell(box, number, flow, scenario, recorded[flow["name"].rpartition(".")[0]])
    quality["lost_packets"] = sent["lost"] + got["lost"]
    quality["agents_cpu_s"] = sent["cpu_s"] + got["cpu_s"]
    run = box.finish(scenario.duration_s)
    return Live(
        run,
        quality,
        sent["flows"],
        got["flows"],
        {"sender": sent["counters"], "receiver": got["counters"]},
        layout.not_told,
        _invalid(quality, scenario),
    )


def _why(error: str, congestion: str) -> str:
    if "No such file" in error:
        remedy = f"`modprobe tcp_{congestion}`, or choose another with --congestion; `tailback doctor` lists them"
        return f"this kernel has no congestion control {congestion}; {remedy}"
    return error


def _tell(box: Any, number: int, flow: dict[str, Any], scenario: Any, recorded: list[str]) -> None:
    """Give the table of flows what packets do not show."""
    first, last = flow["first"], flow["last"]
    if not last:
        return
    measured = scenario.duration_s - scenario.warmup_s

    def since(name: str) -> float:
        return float(last.get(name, 0) - first.get(name, 0))

    busy = since("busy_us") * 1e-6
    held = (since("rwnd_limited_us") + since("sndbuf_limited_us")) * 1e-6
    for probe, column in (("cwnd", 1), ("ssthresh", 2), ("srtt", 3)):
        if probe in recorded:
            points = [(s[0], s[column]) for s in flow["samples"] if s[column] is not None]
            box.add_series(f"flows.{flow['name']}", probe, points)
    box.know(
        number,
        timeouts=max(0, int(since("total_rto"))),
        rtt=[rtt for when, _, _, rtt in flow["samples"] if when >= scenario.warmup_s],
        limited_s=[max(0.0, busy - held), held, max(0.0, measured - busy)] if "busy_us" in last else [0.0] * 3,
    )


def _invalid(quality: dict[str, Any], scenario: Any) -> list[str]:
    """Why a run is not valid; nothing if it is."""
    why = []
    late = quality["lateness_p99_s"]
    if late > MOST_LATENESS:
        why.append(
            f"one packet in a hundred was written more than {late * 1e3:.2f} ms late (the bound is "
            f"{MOST_LATENESS * 1e3:g} ms): the machine was busy with something else"
        )
    rate = scenario.spec["links"][0]["rate_bps"]
    served = quality["busy_stretch_bps"]
    if quality["busy_stretch_s"] >= LEAST_BUSY and not math.isclose(served, rate, rel_tol=MOST_RATE_ERROR):
        why.append(f"the line was served with {served / 1e6:.2f} Mb/s instead of {rate / 1e6:g}")
    if lost := quality["lost_packets"]:
        why.append(f"{lost} packets found no room before the gateway took them: it was too slow")
    if refused := quality["refused_packets"]:
        why.append(f"{refused} packets could not be written")
    return why
