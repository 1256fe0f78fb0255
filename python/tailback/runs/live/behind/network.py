"""Reads the network of this machine: its ways out, its resolvers, and addresses that it does not use."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.runs.live.router import Refused

#: The addresses for benchmarks of network devices: 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180). No host on the
#: Internet has them. With these addresses programs choose between IPv6 and IPv4 as with public addresses; with private
#: addresses of IPv6 they do not.
_SPACE = ipaddress.IPv4Network("198.18.0.0/15")
_SPACE6 = ipaddress.IPv6Network("2001:2::/48")
_EACH, _EACH6 = 28, 64
#: The most runs that may begin at once.
_CHOICES = 64
RESOLV_CONF = Path("/etc/resolv.conf")


@dataclass(frozen=True)
class Addresses:
    """The addresses of one run: one prefix for each family. A host has the same last number in both prefixes."""

    four: ipaddress.IPv4Network
    six: ipaddress.IPv6Network

    #: The host numbers of this machine, of the far end towards this machine, of the far end of the line, and of the
    #: program.
    MACHINE, UPLINK, FAR, PROGRAM = 1, 2, 5, 6

    def of(self, host: int) -> str:
        return str(self.four[host])

    def of6(self, host: int) -> str:
        return str(self.six[host])


def _ip(*words: str) -> list[dict[str, Any]]:
    try:
        process = subprocess.run(["ip", "-json", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Refused("the command `ip` is missing; install it: apt-get install iproute2") from None
    return json.loads(process.stdout) if process.returncode == 0 and process.stdout.strip() else []


@dataclass(frozen=True)
class WaysOut:
    """This machine's ways to the outside."""

    #: Whether there is a default route, for each family.
    four: bool
    six: bool
    #: Interfaces by which packets may come back.
    devices: list[str]
    mtu: int
    taken: list[ipaddress.IPv4Network | ipaddress.IPv6Network]

    def free(self) -> list[Addresses]:
        """The first prefixes that no route of this machine overlaps. Raises Refused if there are none."""
        prefixes: list[Addresses] = []
        used4 = [t for t in self.taken if isinstance(t, ipaddress.IPv4Network)]
        used6 = [t for t in self.taken if isinstance(t, ipaddress.IPv6Network)]
        sixes = _SPACE6.subnets(new_prefix=_EACH6)
        for four in _SPACE.subnets(new_prefix=_EACH):
            six = next(sixes)
            if not any(map(four.overlaps, used4)) and not any(map(six.overlaps, used6)):
                prefixes.append(Addresses(four, six))
                if len(prefixes) == _CHOICES:
                    break
        if not prefixes:
            raise Refused(
                f"no addresses are free: routes of this machine use all of {_SPACE} or {_SPACE6}; find them: ip route "
                "show table all"
            )
        return prefixes


def ways() -> WaysOut:
    """The ways out of this machine. Raises Refused without the command `ip` of iproute2."""
    all_links = _ip("link", "show")
    if not all_links:
        # An empty list is an error, because each network has a loopback.
        raise Refused("the command `ip` does not answer in JSON, as that of busybox; install the package iproute2")
    routes = {family: _ip(family, "route", "show", "table", "all") for family in ("-4", "-6")}
    defaults = {family: [device for row in rows for device in _leads_out(row)] for family, rows in routes.items()}
    taken_networks = []
    for rows in routes.values():
        for row in rows:
            if row["dst"] != "default" and row.get("type") not in ("multicast", "broadcast"):
                network = ipaddress.ip_network(row["dst"], strict=False)
                if network.prefixlen > _HALF and not network.is_multicast:
                    taken_networks.append(network)
    links = [link for link in all_links if "UP" in link["flags"] and link["ifname"] != "lo"]
    devices_out = {device for devices in defaults.values() for device in devices}
    mtu = min((link["mtu"] for link in links if link["ifname"] in devices_out), default=1500)
    devices = [link["ifname"] for link in links]
    return WaysOut(bool(defaults["-4"]), bool(defaults["-6"]), devices, min(mtu, 1500), taken_networks)


#: The prefix length of a route for half of all addresses. VPNs set two such routes in place of a default route.
_HALF = 1


def _leads_out(row: dict[str, Any]) -> list[str]:
    """The interfaces of a default route."""
    if row["dst"] != "default" and not row["dst"].endswith(f"/{_HALF}"):
        return []
    if row.get("type", "unicast") != "unicast":
        return []
    hops = row.get("nexthops", [row])
    return [hop["dev"] for hop in hops if hop.get("dev", "lo") != "lo"]


@dataclass(frozen=True)
class Resolvers:
    """The contents of `/etc/resolv.conf`."""

    #: Addresses that only this machine can reach, on its loopback or on one of its links.
    near: list[str]
    #: The lines of the file. In the program's file these addresses are replaced.
    lines: list[str]

    def text(self, relay: str) -> str:
        """The file for the program, whose queries go to the relay."""
        kept_lines, is_placed = [], False
        for line in self.lines:
            words = line.split()
            if words[:1] == ["nameserver"] and words[1:2] and words[1] in self.near:
                if not is_placed:
                    kept_lines.append(f"nameserver {relay}")
                is_placed = True
            else:
                kept_lines.append(line)
        return "\n".join(kept_lines) + "\n"


def _is_near(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return ip.is_loopback or ip.is_link_local or ip.is_unspecified


def resolvers() -> Resolvers:
    try:
        lines = RESOLV_CONF.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return Resolvers([], [])
    servers = [w[1] for line in lines if (w := line.split())[:1] == ["nameserver"] and len(w) > 1]
    return Resolvers([s for s in servers if _is_near(s)], lines)
