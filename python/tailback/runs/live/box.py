"""Runs the box alone, between two namespaces or two interfaces of the user, for any traffic of the user."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.core.scenario.read import load_scenario
from tailback.runs.live.agent import DEVICE
from tailback.runs.live.session import LiveError, Side

ADDRESSES = ("10.203.0.1", "10.203.0.2")


class BoxError(RuntimeError):
    """The box cannot run, or has failed. `input` is true if the cause is the user's input."""

    def __init__(self, text: str, input: bool = False) -> None:
        super().__init__(text)
        self.input = input


@dataclass(frozen=True)
class BoxEnd:
    """One side of the box, as the user gives it."""

    said: str
    #: The path of the namespace; None for the namespace of this process.
    network: Path | None
    #: The interface whose frames are forwarded. Without one the box makes its own device.
    interface: str | None = None

    @property
    def inode(self) -> int:
        return (self.network or _HERE).stat().st_ino


_HERE = Path("/proc/self/ns/net")


def end_of(name: str) -> BoxEnd:
    """The side for NAMESPACE, NAMESPACE:INTERFACE, :INTERFACE, or an INTERFACE of this network."""
    where, colon, interface = name.rpartition(":")
    if colon:
        return BoxEnd(name, network_of(where) if where else None, interface)
    is_here = name in (known for _, known in socket.if_nameindex())
    if is_here and not (_NAMED / name).exists():
        return BoxEnd(name, None, name)
    if is_here:
        raise BoxError(f"{name} is a namespace and an interface; write :{name} for the interface", input=True)
    network = network_of(name)
    if network.stat().st_ino == _HERE.stat().st_ino:
        raise BoxError(
            f"{name} is the machine's own network, which tailback does not change; name another namespace, or an "
            "interface of its own for the box",
            input=True,
        )
    return BoxEnd(name, network)


_NAMED = Path("/run/netns")


def network_of(name: str) -> Path:
    """The path of a namespace that the user names."""
    if name.isdigit():
        path = Path("/proc") / name / "ns" / "net"
        problem = f"there is no process {name}, or it is another user's"
    else:
        path = _NAMED / name
        problem = (
            f"there is no namespace and no interface {name!r}; `ip netns add {name}` makes a namespace, "
            "`ip netns list` and `ip link` show what there is"
        )
    if "/" in name or not os.access(path, os.R_OK):
        raise BoxError(problem, input=True)
    return path


def scenario(options: dict[str, Any]) -> Any:
    """The scenario of the box: a line, and slots for conversations."""
    queue = options["queue"]
    queue_text = queue if "{" in queue else f'{{ kind = "{queue}" }}'
    seconds = options["seconds"]
    text = (
        f'name = "gateway"\nduration = "{seconds}s"\n{"marking = true" if options.get("marking") else ""}\n'
        f'[link.line]\nfrom = "near"\nto = "far"\nrate = "{options["rate"]}"\n'
        f'delay = "{options["delay"]}"\nqueue = {queue_text}\n'
        f'[flows.conversation]\nfrom = "near"\nto = "far"\ncount = {options["flows"]}\ntransport = "udp"\n'
        'traffic = { kind = "cbr", rate = "1Mbps" }\n'
    )
    scenario_built = load_scenario(text, name="the options of gateway")
    if scenario_built.queue_classes:
        raise BoxError(
            f"the queue {scenario_built.queue_classes[0]} is written in Python, and a box forwards with those of "
            "`tailback describe`; name one of these",
            input=True,
        )
    return scenario_built


def _config(end: BoxEnd, own: int, mtu: int) -> dict[str, Any]:
    network_keys = {"join": str(end.network)} if end.network else {"stay": True}
    if end.interface:
        return {"interface": end.interface, **network_keys}
    group = {
        "name": "conversation",
        "protocol": 0,
        "own": ADDRESSES[own],
        "other": ADDRESSES[1 - own],
        "mtu": mtu,
        "attributes": [],
    }
    return {"role": "none", **network_keys, "ipv6": False, "mtu": mtu, "sysctls": {}, "groups": [group]}


def ends_of(near: str, far: str, mtu: int | None) -> list[BoxEnd]:
    """Both sides. Raises BoxError if they cannot be the two sides of one box."""
    ends = [end_of(near), end_of(far)]
    if (ends[0].interface is None) != (ends[1].interface is None):
        raise BoxError(
            "one side is an interface and the other a namespace; name two interfaces or two namespaces", input=True
        )
    if ends[0].inode == ends[1].inode and ends[0].interface == ends[1].interface:
        raise BoxError(
            f"{near} and {far} are one {'interface' if ends[0].interface else 'network'}; name two", input=True
        )
    if mtu and ends[0].interface:
        raise BoxError("interfaces have an MTU of their own; leave --mtu out", input=True)
    return ends


def _together(ends: list[BoxEnd], made: list[dict[str, Any]]) -> None:
    """Whether two interfaces can be the two sides of one box."""
    near_device, far_device = made
    if near_device["mtu"] != far_device["mtu"]:
        raise BoxError(
            f"{ends[0].said} has an MTU of {near_device['mtu']} B, {ends[1].said} one of {far_device['mtu']} B; "
            f"give both the same: `ip link set {far_device['name']} mtu {near_device['mtu']}`",
            input=True,
        )
    if near_device["peer"] == far_device["name"] and ends[0].inode == ends[1].inode:
        raise BoxError(
            f"{ends[0].said} and {ends[1].said} are the two ends of one cable: packets would go round for ever; "
            "name the ends of two",
            input=True,
        )


def run(near: str, far: str, options: dict[str, Any], status: Callable[[dict[str, Any]], None]) -> str:
    """Runs the box until the end, or until Ctrl-C. Returns a text on the forwarded packets."""
    ends = ends_of(near, far, options["mtu"])
    sides: list[Side] = []
    devices: list[int] = []
    interfaces_of: list[dict[str, Any]] = []
    # Errors in the options are reported before anything is made.
    box = _box(options, 0)
    try:
        for i, end in enumerate(ends):
            sides.append(Side(("near side", "far side")[i], _config(end, i, options["mtu"] or 1500)))
        for side in sides:
            device, answer = side.ready()
            devices.append(device)
            interfaces_of.append(answer.get("interface", {}))
        if ends[0].interface:
            _together(ends, interfaces_of)
            print(f"between {near} and {far}, whatever passes; Ctrl-C ends the box", flush=True)
        else:
            print(
                f"{near} has {DEVICE} with {ADDRESSES[0]}, {far} with {ADDRESSES[1]}; Ctrl-C ends the box", flush=True
            )
        seconds_left, stretches = options["seconds"] or math.inf, 0
        while True:
            summary, is_interrupted = _stretch(box, devices, min(seconds_left, STRETCH), options["real_time"], status)
            seconds_left, stretches = seconds_left - STRETCH, stretches + 1
            if is_interrupted or seconds_left <= 0:
                return summary
            print(summary, flush=True)
            box = _box(options, stretches)
    except LiveError as e:
        raise BoxError(str(e)) from e
    finally:
        for device in devices:
            os.close(device)
        for side in sides:
            side.end()


#: The time after which the box begins anew, s. The clock of a network ends after 78 hours.
STRETCH = 3 * 86_400.0


def _box(options: dict[str, Any], stretches: int) -> Any:
    box = _core.LiveBox(of_box := scenario({**options, "seconds": STRETCH}), of_box.seed)
    if capture := options["capture"]:
        path = Path(capture)
        box.capture("line", path.with_stem(f"{path.stem}.{stretches + 1}") if stretches else path)
    return box


def _stretch(
    box: Any, devices: list[int], seconds: float, real_time: bool, status: Callable[[dict[str, Any]], None]
) -> tuple[str, bool]:
    """A text on the forwarded packets, and whether Ctrl-C has ended the run."""
    last_state: dict[str, Any] = {}
    is_interrupted = False

    def go_on(state: dict[str, Any]) -> bool:
        last_state.update(state)
        status(state)
        return True

    near, far = map(os.dup, devices)
    try:
        last_state.update(box.run(near, far, time.monotonic_ns(), seconds, 30e-6, real_time, go_on))
    except KeyboardInterrupt:
        is_interrupted = True
    except OSError as e:
        raise BoxError(str(e)) from e
    return _text(last_state, box.finish(last_state.get("time_s", 0.0))), is_interrupted


def _text(state: dict[str, Any], run: Any) -> str:
    if not state:
        return "nothing was forwarded"
    links = _core.live_results([run], state["time_s"]).links.rows()
    lines = [f"{state['time_s']:.1f} s; {state['strangers_packets']} packets could not be read and were not forwarded"]
    if beside_packets := state["beside_packets"]:
        lines.append(f"{beside_packets} frames were not IP (such as ARP) and passed beside the queue")
    if lost := state["lost_packets"]:
        lines.append(f"{lost} frames were lost before the box: it was too slow, or they could not be cut")
    if refused_packets := state["refused_packets"]:
        lines.append(f"{refused_packets} packets would not be taken by the interface they were to leave by")
    for row in links:
        wait = row["sojourn_p99_s"]
        wait_text = "none" if math.isnan(wait) else f"{wait * 1e3:.2f} ms"
        lines.append(
            f"{row['name']}: {row['arrived_packets']} packets in, {row['delivered_packets']} out, "
            f"{row['dropped_packets']} dropped, {row['marked_packets']} marked, wait p99 {wait_text}"
        )
    return "\n".join(lines)
