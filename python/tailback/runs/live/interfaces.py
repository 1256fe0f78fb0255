"""Checks the interfaces that a user names for the box: their properties, and the reason if one cannot be used.

No interface is changed. An interface must therefore already be up, and may carry only traffic for the box.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any


class Unfit(Exception):
    """An interface cannot be used. The text has the reason and the remedy."""


@dataclass
class Interface:
    name: str
    mtu: int
    #: The other end of a veth, if that end is in the same network.
    peer: str | None


def _ask(*words: str) -> list[dict[str, Any]]:
    try:
        process = subprocess.run(["ip", "-json", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unfit("the command `ip` is missing; install the package iproute2") from None
    return json.loads(process.stdout) if process.returncode == 0 and process.stdout.strip() else []


def usable(name: str) -> Interface:
    """The interface of this name in the network of this process; raises Unfit."""
    answers = _ask("-details", "address", "show", "dev", name)
    if not answers:
        raise Unfit(f"there is no interface {name} there; `ip link` shows those that are")
    (i,) = answers
    if i.get("link_type") != "ether":
        raise Unfit(
            f"{name} is no Ethernet interface ({i.get('link_type')}); give one that is, such as an end of a veth"
        )
    for family in ("-4", "-6"):
        if any(r.get("dev") == name for r in _ask(family, "route", "show", "default")):
            raise Unfit(
                f"{name} is the way of the default route: the machine would lose its network to the box; "
                "give an interface that carries nothing else"
            )
    if master := i.get("master"):
        raise Unfit(f"{name} is part of {master}, which forwards its packets too; `ip link set {name} nomaster`")
    for a in i.get("addr_info", []):
        # Every interface that is up has an IPv6 address of the link; the interface itself sends nothing from this
        # address.
        if a["family"] != "inet6" or a["scope"] != "link":
            address = f"{a['local']}/{a['prefixlen']}"
            raise Unfit(
                f"{name} has the address {address}: what this machine sends and receives there would pass beside the "
                f"queue; `ip addr del {address} dev {name}`, and give it to a host behind the box"
            )
    if "UP" not in i["flags"]:
        raise Unfit(f"{name} is down; `ip link set {name} up`")
    if "NO-CARRIER" in i["flags"]:
        raise Unfit(f"{name} has no carrier; set its other end up, or plug it in")
    return Interface(name, i["mtu"], None if "link_netnsid" in i else i.get("link"))
