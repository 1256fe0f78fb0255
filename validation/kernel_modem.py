"""Buffers of a modem, fitted to a speed test that this kernel has measured: does the size come back?

Three network namespaces: a home, a box in the middle, the world. The box has `htb` with a `bfifo` towards each side: a
line with a rate and a buffer of known size, as a modem and a provider have it. Four CUBIC transfers of this kernel load
one direction at a time, and pings of iputils go beside them. What was measured is what `tailback home --measured`
takes; its fit has to find the buffers within 10 %. Lines are drawn: the download from 4 to 40 Mb/s, the upload a tenth
to a half of it, each buffer from 40 to 500 ms, and at least 30 kB. Needs root, iproute2, ping, and a kernel with htb
and CUBIC.

    sudo python validation/kernel_modem.py [--lines 10] [--seconds 16]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import select
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO

from tailback.apps.ask.home.fit import fitted
from tailback.apps.ask.home.line import TRANSFERS, question
from tailback.apps.ask.trial import Trial
from tailback.readers.given import unpacked
from tailback.readers.recognise import read

HOME, BOX, WORLD = "modem-home", "modem-box", "modem-world"
#: Devices of the box, towards each side, and of the side.
SIDES = {HOME: ("toHome", "home0", "10.78.1"), WORLD: ("toWorld", "world0", "10.78.2")}
PORT = 5001
#: Bytes of a full IP packet, and of what is counted by `htb` and `bfifo`.
IP, COUNTED = 1500, 1514
#: linux/sched.h.
CLONE_NEWNET = 0x40000000
#: The part of a load that is not counted, as the model leaves out a load's start.
START = 0.25
PING_S = 0.05
#: The model has no line with a shorter round trip than this.
LEAST_IDLE_S = 0.001
HOLDS = 0.10


@dataclass(frozen=True)
class Line:
    """Rates as `htb` has them, bit/s, and the limits of `bfifo`, bytes."""

    down: float
    up: float
    down_buffer: int
    up_buffer: int

    @classmethod
    def drawn(cls, number: int) -> Line:
        d = random.Random(f"a modem of this kernel, {number}")
        down = round(10 ** d.uniform(6.6, 7.6), -3)
        up = round(down * d.uniform(0.1, 0.5), -3)
        waits = [10 ** d.uniform(-1.4, -0.3) for _ in range(2)]
        return cls(down, up, *(max(30_000, round(w * rate / 8)) for w, rate in zip(waits, (down, up), strict=True)))


def sh(line: str) -> str:
    return subprocess.run(shlex.split(line), check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    try:
        for name in (HOME, BOX, WORLD):
            sh(f"ip netns add {name}")
        for side, (near, far, net) in SIDES.items():
            sh(f"ip link add {near} netns {BOX} type veth peer name {far} netns {side}")
            for name, device, host in ((BOX, near, 1), (side, far, 2)):
                # One packet at a time, as a line has them.
                sh(f"ip -n {name} link set {device} gso_max_segs 1 gso_max_size {IP}")
                sh(f"ip -n {name} addr add {net}.{host}/24 dev {device}")
                sh(f"ip -n {name} link set {device} up")
            sh(f"ip -n {side} route add default via {net}.1")
            sh(f"ip netns exec {side} sysctl -qw net.ipv4.tcp_no_metrics_save=1")
        sh(f"ip netns exec {BOX} sysctl -qw net.ipv4.ip_forward=1")
        time.sleep(1)
        yield
    finally:
        for name in (HOME, BOX, WORLD):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def set_up(line: Line) -> None:
    for side, rate, buffer in ((WORLD, line.up, line.up_buffer), (HOME, line.down, line.down_buffer)):
        device, tc = SIDES[side][0], f"ip netns exec {BOX} tc"
        subprocess.run(shlex.split(f"{tc} qdisc del dev {device} root"), check=False, capture_output=True)
        sh(f"{tc} qdisc add dev {device} root handle 1: htb default 1")
        sh(f"{tc} class add dev {device} parent 1: classid 1:1 htb rate {rate:.0f}bit burst {COUNTED} cburst {COUNTED}")
        sh(f"{tc} qdisc add dev {device} parent 1:1 bfifo limit {buffer}")


def inside(name: str, work: Callable[[int], None]) -> tuple[int, int]:
    """A process in a namespace that does this, and what it writes to."""
    reads, writes = os.pipe()
    child = os.fork()
    if child:
        os.close(writes)
        return child, reads
    try:
        with open(f"/var/run/netns/{name}") as netns:
            if ctypes.CDLL(None).setns(netns.fileno(), CLONE_NEWNET) == 0:
                work(writes)
    finally:
        os._exit(0)


def receive(seconds: float) -> Callable[[int], None]:
    def work(out: int) -> None:
        listening = socket.create_server(("", PORT))
        os.write(out, b"ready\n")
        begins, counted, sockets = 0.0, 0, [listening]
        while not begins or time.monotonic() < begins + seconds:
            for s in select.select(sockets, [], [], 0.2)[0]:
                if s is listening:
                    sockets.append(s.accept()[0])
                    begins = begins or time.monotonic()
                elif (got := len(s.recv(1 << 18))) and time.monotonic() > begins + START * seconds:
                    counted += got
        os.write(out, f"{8 * counted / ((1 - START) * seconds)}\n".encode())

    return work


def send(address: str, seconds: float) -> Callable[[int], None]:
    def work(_: int) -> None:
        sockets = [socket.create_connection((address, PORT)) for _ in range(TRANSFERS)]
        for s in sockets:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            s.setblocking(False)
        data, ends = bytes(1 << 16), time.monotonic() + seconds + 1
        while time.monotonic() < ends:
            for s in select.select([], sockets, [], 0.2)[1]:
                with contextlib.suppress(OSError):
                    s.send(data)

    return work


def pings(seconds: float) -> str:
    """What ping prints, from home to the world."""
    address = f"{SIDES[WORLD][2]}.2"
    count = round(seconds / PING_S)
    words = f"ip netns exec {HOME} ping -n -i {PING_S} -c {count} -W 2 {address}"
    return subprocess.run(shlex.split(words), capture_output=True, text=True, check=False).stdout


def round_trip(log: str) -> float:
    """The mean of what came back, seconds, as tailback reads the log."""
    return float(read(unpacked("ping", BytesIO(log.encode()))).data.series[0].values.mean())


def loaded(sender: str, receiver: str, seconds: float) -> tuple[float, float]:
    """Goodput, bit/s, and the mean round trip of a ping beside it."""
    into, told = inside(receiver, receive(seconds))
    os.read(told, 6)
    out, unused = inside(sender, send(f"{SIDES[receiver][2]}.2", seconds))
    time.sleep(START * seconds)
    under = round_trip(pings((1 - START) * seconds))
    goodput = float(os.read(told, 64))
    for child, pipe in ((into, told), (out, unused)):
        os.waitpid(child, 0)
        os.close(pipe)
    # What waits leaves before the next load.
    time.sleep(2)
    return goodput, under


def compare(number: int, seconds: float) -> float:
    line = Line.drawn(number)
    set_up(line)
    idle = round_trip(pings(2))
    down, under_down = loaded(WORLD, HOME, seconds)
    up, under_up = loaded(HOME, WORLD, seconds)
    adds = [1e3 * (under - idle) for under in (under_down, under_up)]
    rates = f"{down / 1e6:.4f}/{up / 1e6:.4f}, idle {1e3 * max(idle, LEAST_IDLE_S):.3f}"
    test = f"{rates}, down +{adds[0]:.2f}, up +{adds[1]:.2f}"
    found = fitted(question(measured=test, traffic=["bulk"]), Trial(jobs=1))
    there = [size * IP / COUNTED for size in (line.down_buffer, line.up_buffer)]
    off = [back / size - 1 for back, size in zip((found.down_buffer, found.up_buffer), there, strict=True)]
    print(
        f"{number}: htb {line.down / 1e6:.3f}/{line.up / 1e6:.3f} Mb/s, bfifo {line.down_buffer}/{line.up_buffer} B: "
        f"measured {test}; fitted {found.down_buffer}/{found.up_buffer} B of IP, off {off[0]:+.1%} {off[1]:+.1%}",
        flush=True,
    )
    return max(map(abs, off))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=16)
    asked = parser.parse_args()
    os.nice(-10)
    with namespaces():
        worst = [compare(asked.first + n, asked.seconds) for n in range(asked.lines)]
    print(f"{len(worst)} lines: at most {max(worst):.1%} off; {sum(w <= HOLDS for w in worst)} within {HOLDS:.0%}")


if __name__ == "__main__":
    main()
