"""Runs one live run from beginning to end: two processes, each with its own network, the box between them, and the
results.

Networks and devices have no names outside of the processes that own them. Networks and devices end with these
processes, and these processes end with this one. There is therefore nothing to remove, no matter how the run ends.
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
from tailback.runs.live.agent import Channel
from tailback.runs.live.layout import FIRST_PORT, Layout, NotPossible, plan

#: The largest 99th percentile of lateness of a valid run, s.
MOST_LATENESS = 0.001
#: The largest difference of the served rate of a line, as a share, in a valid run, and the least busy time for which
#: this is judged, s.
MOST_RATE_ERROR = 0.01
LEAST_BUSY = 1.0
#: The time from the moment when both sides are ready to time zero, s.
LEAD = 0.05
MARK = "TAILBACK_LIVE"


class LiveError(RuntimeError):
    """The machine does not allow a run, or one of its parts failed. The text has the cause and the remedy."""


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
    """The result of a run: its tables, the quality of its service, and the counters of both kernels."""

    run: Any
    quality: dict[str, Any]
    flows: list[dict[str, Any]]
    received: list[dict[str, Any]]
    counters: dict[str, dict[str, int]]
    not_told: list[str]
    invalid: list[str]
    #: The counters of this kernel's queues.
    queues: list[dict[str, Any]] = field(default_factory=list)


class Side:
    """The process of one side."""

    def __init__(self, role: str, config: dict[str, Any]) -> None:
        self.role = role
        our_end, their_end = socket.socketpair()
        with their_end:
            env = {**os.environ, MARK: f"{os.getpid()}"}
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tailback.runs.live.agent", str(their_end.fileno())],
                pass_fds=[their_end.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for the gateway, which then ends this process.
                start_new_session=True,
            )
        self.channel = Channel(our_end)
        self.tell(config)

    def tell(self, document: dict[str, Any]) -> None:
        try:
            self.channel.send(document)
        except OSError:
            raise LiveError(self.ended()) from None

    def ready(self) -> tuple[int, dict[str, Any]]:
        """The device, and the whole answer of its process."""
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
        """The reason why the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        status = self.process.returncode
        end_text = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
        return f"the process of the {self.role} {end_text}; nothing of the run is left behind"

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.channel.end.close()
        self.process.kill()
        self.process.wait()


def _config(layout: Layout, far: bool) -> dict[str, Any]:
    groups = []
    for g in layout.groups:
        row = asdict(g)
        sends = g.turned == far
        row["own"], row["other"] = (g.source, g.destination) if sends else (g.destination, g.source)
        row["attributes"] = g.there if sends else g.back
        row |= {"first_port": FIRST_PORT, "server_port": g.server_port, "sends": sends}
        groups.append(row)
    return {
        "role": "ends",
        "kernel": layout.kernel.lines[far] if layout.kernel else [],
        "ipv6": layout.ipv6,
        "mtu": layout.mtu,
        "sysctls": layout.sysctls,
        "groups": groups,
    }


def live(scenario: Any, options: Options, status: Callable[[dict[str, Any]], None] | None = None) -> Live:
    """Does a live run. Raises NotPossible for a scenario that no kernel can run, and LiveError for a machine that
    cannot do live runs or a part that fails."""
    layout = plan(scenario, options.overrides)
    box = _core.LiveBox(scenario, options.seed, layout.conversations())
    if options.record:
        box.record()
    if options.capture:
        box.capture(*options.capture)
    box.number(layout.numbered(), layout.kernel is not None)
    flows = box.flows()
    if len(flows) > sum(g.count for g in layout.groups):
        raise NotPossible(
            "the scenario has sessions, which have no real clients here; use flows, and leave web out of the --traffic "
            "of `tailback compare`"
        )
    if any(g.iperf3 for g in layout.groups) and not shutil.which("iperf3"):
        raise LiveError("iperf3 is not installed: install the package iperf3, or leave --iperf3 out")
    run_config = {"flows": flows, "warmup_s": scenario.warmup_s, "sample_s": options.sample_s}
    run_config |= {"scenario": scenario.toml, "seed": options.seed, "duration_s": scenario.duration_s}
    names = ("near side", "far side") if layout.kernel else ("sender", "receiver")
    sides: list[Side] = []
    devices: list[int] = []
    try:
        sides += [Side(name, _config(layout, bool(number)) | run_config) for number, name in enumerate(names)]
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

        near_device, far_device = devices
        devices.clear()
        try:
            quality = box.run(
                near_device, far_device, begin, scenario.duration_s, options.watch_s, options.real_time, go_on
            )
        except OSError as e:
            raise LiveError(f"{e}; nothing of the run is left behind") from e
        for side in sides:
            side.tell({"stop": True})
        answers = [side.answer()[0] for side in sides]
    finally:
        for device in devices:
            os.close(device)
        for side in sides:
            side.end()
    return _gather(scenario, layout, box, quality, dict(zip(names, answers, strict=True)))


def _gather(scenario: Any, layout: Layout, box: Any, quality: dict[str, Any], answers: dict[str, Any]) -> Live:
    """The result of a run. `answers` has the answer of each side."""
    recorded_probes = {g["name"]: g["recorded"] for g in _core.live_groups(scenario)}
    order = {name: flow_number for flow_number, (name, _, _) in enumerate(box.flows())}
    sender_rows, receiver_rows = (
        sorted((row for a in answers.values() for row in a[what]), key=lambda row: order[row["name"]])
        for what in ("flows", "received")
    )
    arrivals_of_flow = {row["name"]: row.get("arrived", []) for row in receiver_rows}
    for flow in sender_rows:
        flow_number = order[flow["name"]]
        if flow["error"]:
            group = next(g for g in layout.groups if g.name == flow["name"].rpartition(".")[0])
            raise LiveError(f"flow {flow['name']} could not send: {_why(flow['error'], group.congestion)}")
        probes = recorded_probes[flow["name"].rpartition(".")[0]]
        _tell(box, flow_number, flow, scenario, probes)
        arrivals = arrivals_of_flow.get(flow["name"], []) if layout.kernel else []
        _measured(box, flow_number, flow, arrivals, probes)
    quality["lost_packets"] = sum(a["lost"] for a in answers.values())
    quality["agents_cpu_s"] = sum(a["cpu_s"] for a in answers.values())
    run = box.finish(scenario.duration_s)
    return Live(
        run,
        quality,
        sender_rows,
        receiver_rows,
        {side: a["counters"] for side, a in answers.items()},
        layout.not_told,
        _invalid(quality, scenario),
        [row for a in answers.values() for row in a["queues"]],
    )


def _measured(box: Any, number: int, flow: dict[str, Any], arrived: list[Any], recorded: list[str]) -> None:
    """Put the measurements at the ends of a flow of datagrams into the tables."""
    answers = flow.get("heard", [])
    if "round_trip" in recorded:
        box.add_series(f"flows.{flow['name']}", "round_trip", [(at, trip) for _, at, trip in answers])
    if answers or arrived:
        box.measures(number, [(n, delay) for n, delay in arrived], [(n, trip) for n, _, trip in answers])


def _why(error: str, congestion: str) -> str:
    if "No such file" in error:
        remedy = f"`modprobe tcp_{congestion}`, or choose another with --congestion; `tailback doctor` lists them"
        return f"this kernel has no congestion control {congestion}; {remedy}"
    return error


def _tell(box: Any, number: int, flow: dict[str, Any], scenario: Any, recorded: list[str]) -> None:
    """Put the numbers that packets do not show into the table of flows."""
    first_info, last_info = flow["first"], flow["last"]
    if not last_info:
        return
    measured_s = scenario.duration_s - scenario.warmup_s

    def since(name: str) -> float:
        return float(last_info.get(name, 0) - first_info.get(name, 0))

    busy_s = since("busy_us") * 1e-6
    held_s = (since("rwnd_limited_us") + since("sndbuf_limited_us")) * 1e-6
    for probe, column in (("cwnd", 1), ("ssthresh", 2), ("srtt", 3)):
        if probe in recorded:
            points = [(s[0], s[column]) for s in flow["samples"] if s[column] is not None]
            box.add_series(f"flows.{flow['name']}", probe, points)
    box.know(
        number,
        timeouts=max(0, int(since("total_rto"))),
        rtt=[rtt for when, _, _, rtt in flow["samples"] if when >= scenario.warmup_s],
        limited_s=[max(0.0, busy_s - held_s), held_s, max(0.0, measured_s - busy_s)]
        if "busy_us" in last_info
        else [0.0] * 3,
    )


def _invalid(quality: dict[str, Any], scenario: Any) -> list[str]:
    """The reasons why a run is not valid; empty if it is valid."""
    reasons = []
    late_s = quality["lateness_p99_s"]
    if late_s > MOST_LATENESS:
        reasons.append(
            f"one packet in a hundred was written more than {late_s * 1e3:.2f} ms late (the bound is "
            f"{MOST_LATENESS * 1e3:g} ms): the machine was busy with something else"
        )
    rate = scenario.spec["links"][0]["rate_bps"]
    served_bps = quality["busy_stretch_bps"]
    if quality["busy_stretch_s"] >= LEAST_BUSY and not math.isclose(served_bps, rate, rel_tol=MOST_RATE_ERROR):
        reasons.append(f"the line was served with {served_bps / 1e6:.2f} Mb/s instead of {rate / 1e6:g}")
    if lost := quality["lost_packets"]:
        reasons.append(f"{lost} packets found no room before the gateway took them: it was too slow")
    if refused_packets := quality["refused_packets"]:
        reasons.append(f"{refused_packets} packets could not be written")
    return reasons
