"""Makes a router in front of the connections of a namespace. The queues of this kernel are on this router, as on a
router at home.

    connections, host0 ==veth== lan0, router, queue, tailback0 => the box

The router is a namespace, and the connections are in another one behind it. TCP lets a connection have only about a
millisecond of data in the queues of its own host (TCP Small Queues, `tcp_limit_output_bytes` in
Documentation/networking/ip-sysctl.rst of Linux), so a queue on the senders' own device would never fill. A packet that
has left the host is no longer counted there.

Packets are at most as large as the MTU: the hosts make no larger ones for later segmentation (`gso_max_segs`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any, TypeVar

from tailback import _core

_HOST, _LAN = "host0", "lan0"
#: The Ethernet addresses, which are set at both ends, so that no end sends ARP.
_HOST_ADDRESS, _LAN_ADDRESS = "02:00:00:00:00:01", "02:00:00:00:00:02"
#: Descriptors of the two namespaces of this process.
_NAMESPACES: dict[str, int] = {}


_Said = TypeVar("_Said")


class Refused(Exception):
    """This machine does not allow something. The text has the remedy."""


def ip(*words: str) -> None:
    command("ip", *words)


def command(*words: str, given: str = "") -> str:
    """The output of a command of iproute2 or nftables; `given` is its input."""
    try:
        process = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        package = "nftables" if words[0] == "nft" else "iproute2"
        raise Refused(f"the command `{words[0]}` is missing; install it: apt-get install {package}") from None
    if process.returncode:
        raise Refused(f"`{' '.join(words)}` failed: {process.stderr.strip() or process.stdout.strip()}")
    return process.stdout


def make(config: dict[str, Any], device: str, set_: Callable[[dict[str, str]], None]) -> None:
    """Makes this namespace the router. The process continues in a new namespace for the connections."""
    ip("link", "add", _LAN, "address", _LAN_ADDRESS, "type", "veth", "peer", "name", _HOST, "address", _HOST_ADDRESS)
    _NAMESPACES["router"] = os.open("/proc/self/ns/net", os.O_RDONLY)
    _core.own_network(False)
    _NAMESPACES["hosts"] = os.open("/proc/self/ns/net", os.O_RDONLY)
    _enter("router")
    ip("link", "set", _HOST, "netns", f"/proc/{os.getpid()}/fd/{_NAMESPACES['hosts']}")
    _route(config, device, set_)
    for line in config["kernel"]:
        command(*line.split())
    _enter("hosts")
    _connect(config, set_)


def _enter(name: str) -> None:
    _core.join_network(f"/proc/self/fd/{_NAMESPACES[name]}")


def _forwarding(ipv6: bool) -> dict[str, str]:
    if ipv6:
        return {"net/ipv6/conf/all/forwarding": "1"}
    return {"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv4/ip_forward": "1", "net/ipv4/conf/all/rp_filter": "0"}


def _route(config: dict[str, Any], device: str, set_: Callable[[dict[str, str]], None]) -> None:
    """Sets the routes between the hosts and the device."""
    set_(_forwarding(config["ipv6"]))
    ip("link", "set", "lo", "up")
    ip("link", "set", _LAN, "mtu", str(config["mtu"]), "up")
    ip("link", "set", device, "mtu", str(config["mtu"]), "txqueuelen", "20000", "up")
    for group in config["groups"]:
        ip("route", "add", group["own"], "dev", _LAN)
        ip("neigh", "add", group["own"], "lladdr", _HOST_ADDRESS, "dev", _LAN, "nud", "permanent")
        ip("route", "add", group["other"], "dev", device)


def _connect(config: dict[str, Any], set_: Callable[[dict[str, str]], None]) -> None:
    """Sets up the network of the connections, behind the router."""
    ipv6 = config["ipv6"]
    if not ipv6:
        set_({"net/ipv6/conf/all/disable_ipv6": "1"})
    set_(config["sysctls"])
    ip("link", "set", "lo", "up")
    ip("link", "set", _HOST, "mtu", str(config["mtu"]), "gso_max_segs", "1", "up")
    for group in config["groups"]:
        own_address, far_address = group["own"], group["other"]
        ip("addr", "add", f"{own_address}/{128 if ipv6 else 32}", "dev", _HOST, *(["nodad"] if ipv6 else []))
        ip("neigh", "add", far_address, "lladdr", _LAN_ADDRESS, "dev", _HOST, "nud", "permanent")
        attributes = ["mtu", str(group["mtu"]), *group["attributes"]]
        ip("route", "add", far_address, "dev", _HOST, "src", own_address, *attributes)


def inside(what: Callable[[], _Said]) -> _Said:
    """The result of a function that is called in the router's namespace."""
    _enter("router")
    try:
        return what()
    finally:
        _enter("hosts")


def queues() -> list[dict[str, Any]]:
    """The kernel's counters of the router's queues."""
    queues_of_tc: list[dict[str, Any]] = json.loads(command("tc", "-s", "-j", "qdisc", "show"))
    keys = ("kind", "dev", "bytes", "packets", "drops", "overlimits")
    return [{k: q[k] for k in keys} for q in queues_of_tc if q["kind"] not in ("noqueue", "ingress")]
