"""Rates that this kernel's own `htb` gives the classes of a tree: what `rates_are_those_of_a_kernel` is held against
(crates/tailback-queue/src/shape/htb/tree/tests.rs).

Two network namespaces with a veth pair; a process for each leaf, which sends datagrams of 1000 B as fast as its socket
takes them, with the class in its priority (SO_PRIORITY), so that no filter is needed. Rates are those of `tc -s class`
over some seconds. Needs root, iproute2 and a kernel with htb.

    sudo python validation/kernel_htb.py [--seconds 8]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

HERE, THERE = "htb-from", "htb-to"
DEVICE, OTHER = "htb0", "htb1"
ADDRESS = "10.77.0.1", "10.77.0.2"
#: Of IP; 14 B of Ethernet count too.
PACKET = 1000
#: linux/sched.h.
CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Class:
    name: str
    parent: str
    words: str


def inner(name: str, rate: str) -> Class:
    return Class(name, "", f"rate {rate} ceil 12mbit")


def leaf(name: str, parent: str, rate: str, quantum: int) -> Class:
    return Class(name, parent, f"rate {rate} ceil 12mbit" + (f" quantum {quantum}" if quantum else ""))


def trees() -> Iterator[tuple[str, list[Class]]]:
    yield "10mbit", [Class("a", "", "rate 2mbit ceil 6mbit"), Class("b", "", "rate 3mbit ceil 10mbit")]
    yield "10mbit", [Class("a", "", "rate 1mbit ceil 10mbit prio 0"), Class("b", "", "rate 2mbit ceil 10mbit prio 1")]
    yield "10mbit", [Class("p", "", "rate 4mbit"), *[Class(n, "p", "rate 3mbit ceil 10mbit") for n in "ab"]]
    for a, c, d in [(0, 0, 0), (7000, 11000, 5000), (3000, 11000, 17000)]:
        for (x, y), rates in [
            (("4mbit", "4mbit"), ("2mbit", "3mbit", "3mbit")),
            (("3mbit", "5mbit"), ("1mbit", "1500kbit", "500kbit")),
        ]:
            leaves = zip("acd", "xyy", rates, (a, c, d), strict=True)
            yield "12mbit", [inner("x", x), inner("y", y), *[leaf(*of) for of in leaves]]


def sh(line: str) -> str:
    return subprocess.run(shlex.split(line), check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def two_namespaces() -> Iterator[None]:
    try:
        for name in (HERE, THERE):
            sh(f"ip netns add {name}")
        sh(f"ip link add {DEVICE} netns {HERE} type veth peer name {OTHER} netns {THERE}")
        for name, device, address in zip((HERE, THERE), (DEVICE, OTHER), ADDRESS, strict=True):
            sh(f"ip -n {name} addr add {address}/24 dev {device}")
            sh(f"ip -n {name} link set {device} up")
        time.sleep(1)
        yield
    finally:
        for name in (HERE, THERE):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def sender(minor: int) -> int:
    """A process that sends as fast as the class lets it."""
    child = os.fork()
    if child:
        return child
    with open(f"/var/run/netns/{HERE}") as netns:
        if ctypes.CDLL(None).setns(netns.fileno(), CLONE_NEWNET) != 0:
            os._exit(1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, (1 << 16) | minor)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 60_000)
    s.connect((ADDRESS[1], 9))
    data = bytes(PACKET - 28)
    while True:
        try:
            s.send(data)
        except OSError:
            time.sleep(0.0005)


def sent() -> dict[int, int]:
    shown = sh(f"ip netns exec {HERE} tc -s class show dev {DEVICE}")
    found = re.finditer(r"class htb 1:(\w+) .*?Sent (\d+) bytes", shown, re.DOTALL)
    return {int(m[1], 16): int(m[2]) for m in found}


def rates(rate: str, burst: str, tree: list[Class], seconds: float) -> dict[str, float]:
    """Mb/s of each leaf while all of them have packets waiting."""
    tc = f"ip netns exec {HERE} tc"
    bursts = f"burst {burst} cburst {burst}"
    subprocess.run(shlex.split(f"{tc} qdisc del dev {DEVICE} root"), check=False, capture_output=True)
    sh(f"{tc} qdisc add dev {DEVICE} root handle 1: htb")
    sh(f"{tc} class add dev {DEVICE} parent 1: classid 1:1 htb rate {rate} {bursts}")
    minors = {c.name: i + 2 for i, c in enumerate(tree)}
    above = {c.parent for c in tree}
    for c in tree:
        parent = minors.get(c.parent, 1)
        sh(f"{tc} class add dev {DEVICE} parent 1:{parent:x} classid 1:{minors[c.name]:x} htb {c.words} {bursts}")
        if c.name not in above:
            sh(f"{tc} qdisc add dev {DEVICE} parent 1:{minors[c.name]:x} bfifo limit 100000")
    leaves = {c.name: minors[c.name] for c in tree if c.name not in above}
    children = [sender(minor) for minor in leaves.values()]
    try:
        time.sleep(2)
        first, begin = sent(), time.monotonic()
        time.sleep(seconds)
        last, took = sent(), time.monotonic() - begin
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return {name: round((last[m] - first[m]) * 8e-6 / took, 3) for name, m in leaves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8)
    asked = parser.parse_args()
    with two_namespaces():
        for rate, tree in trees():
            print(rate, "; ".join(f"{c.name} below {c.parent or 'the top'}: {c.words}" for c in tree))
            for burst in ("15k", "1600b"):
                print(f"  burst {burst}: {rates(rate, burst, tree, asked.seconds)}", flush=True)


if __name__ == "__main__":
    main()
