"""The box alone: between two namespaces that the user has made, for whatever traffic the user sends."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.live.agent import DEVICE
from tailback.live.session import LiveError, Side
from tailback.scenarios import load_scenario

ADDRESSES = ("10.203.0.1", "10.203.0.2")


class BoxError(RuntimeError):
    """The box cannot run, or has failed; `input`: because of what the user wrote."""

    def __init__(self, text: str, input: bool = False) -> None:
        super().__init__(text)
        self.input = input


def network_of(name: str) -> Path:
    """The path of a namespace that the user names."""
    if name.isdigit():
        path = Path("/proc") / name / "ns" / "net"
        what = f"there is no process {name}, or it is another user's"
    else:
        path = Path("/run/netns") / name
        what = f"there is no namespace {name!r}; `ip netns add {name}` makes one, `ip netns list` shows them"
    if "/" in name or not os.access(path, os.R_OK):
        raise BoxError(what, input=True)
    if path.stat().st_ino == Path("/proc/self/ns/net").stat().st_ino:
        raise BoxError(f"{name} is the machine's own network, which tailback does not change; name another", input=True)
    return path


def scenario(options: dict[str, Any]) -> Any:
    """The scenario of the box: a line, and slots for conversations."""
    queue = options["queue"]
    given = queue if "{" in queue else f'{{ kind = "{queue}" }}'
    seconds = options["seconds"]
    text = (
        f'name = "gateway"\nduration = "{seconds}s"\n'
        f'[link.line]\nfrom = "near"\nto = "far"\nrate = "{options["rate"]}"\n'
        f'delay = "{options["delay"]}"\nqueue = {given}\n'
        f'[flows.conversation]\nfrom = "near"\nto = "far"\ncount = {options["flows"]}\ntransport = "udp"\n'
        'traffic = { kind = "cbr", rate = "1Mbps" }\n'
    )
    return load_scenario(text, name="the options of gateway")


def _config(path: Path, own: int, mtu: int) -> dict[str, Any]:
    group = {
        "name": "conversation",
        "protocol": 0,
        "own": ADDRESSES[own],
        "other": ADDRESSES[1 - own],
        "mtu": mtu,
        "attributes": [],
    }
    return {"role": "none", "join": str(path), "ipv6": False, "mtu": mtu, "sysctls": {}, "groups": [group]}


def run(near: str, far: str, options: dict[str, Any], status: Callable[[dict[str, Any]], None]) -> str:
    """Until the end, or Ctrl-C; what was forwarded, as text."""
    paths = [network_of(near), network_of(far)]
    if paths[0].stat().st_ino == paths[1].stat().st_ino:
        raise BoxError(f"{near} and {far} are one network; name two", input=True)
    box = _core.LiveBox(found := scenario(options), found.seed)
    if options["capture"]:
        box.capture("line", options["capture"])
    sides: list[Side] = []
    devices: list[int] = []
    last: dict[str, Any] = {}
    try:
        for i, path in enumerate(paths):
            sides.append(Side(("near side", "far side")[i], _config(path, i, options["mtu"])))
        for side in sides:
            devices.append(side.ready()[0])
        print(f"{near} has {DEVICE} with {ADDRESSES[0]}, {far} with {ADDRESSES[1]}; Ctrl-C ends the box", flush=True)

        def go_on(state: dict[str, Any]) -> bool:
            last.update(state)
            status(state)
            return True

        near_end, far_end = devices
        devices = []
        try:
            last.update(
                box.run(near_end, far_end, time.monotonic_ns(), options["seconds"], 30e-6, options["real_time"], go_on)
            )
        except KeyboardInterrupt:
            pass
        except OSError as e:
            raise BoxError(str(e)) from e
    except LiveError as e:
        raise BoxError(str(e)) from e
    finally:
        for device in devices:
            os.close(device)
        for side in sides:
            side.end()
    run = box.finish(last.get("time_s", 0.0))
    return _text(last, run)


def _text(state: dict[str, Any], run: Any) -> str:
    if not state:
        return "nothing was forwarded"
    links = _core.live_results([run], state["time_s"]).links.rows()
    lines = [f"{state['time_s']:.1f} s; {state['strangers_packets']} packets were not IP and not forwarded"]
    for row in links:
        wait = row["sojourn_p99_s"]
        said = "none" if math.isnan(wait) else f"{wait * 1e3:.2f} ms"
        lines.append(
            f"{row['name']}: {row['arrived_packets']} packets in, {row['delivered_packets']} out, "
            f"{row['dropped_packets']} dropped, {row['marked_packets']} marked, wait p99 {said}"
        )
    return "\n".join(lines)
