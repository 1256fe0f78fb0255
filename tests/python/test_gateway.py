"""The box alone, between namespaces and between interfaces. What needs privilege is left out, with the reason."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from realnet import LINUX, real, tailback

pytestmark = pytest.mark.skipif(not LINUX, reason="real packets need Linux")
#: The namespaces of others are entered by root alone.
root = pytest.mark.skipif(LINUX and os.geteuid() != 0, reason="the namespaces of others are entered by root alone")

ECHO = """
import socket, sys
there = sys.argv[2]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
if sys.argv[1] == "answer":
    s.bind((there, 7))
    print("ready", flush=True)
    for _ in range(20):
        data, who = s.recvfrom(2000)
        s.sendto(data, who)
else:
    import time
    for i in range(20):
        begin = time.monotonic()
        s.sendto(b"x" * 72, (there, 7))
        assert s.recv(2000) == b"x" * 72
        print(time.monotonic() - begin)
"""

#: Bytes over one connection, each of which has to be the right one.
BULK = """
import socket, sys, hashlib
there, much = sys.argv[2], 3_000_000
if sys.argv[1] == "answer":
    listening = socket.create_server((there, 80))
    print("ready", flush=True)
    s, _ = listening.accept()
    found = b""
    while part := s.recv(1 << 20):
        found += part
    print(len(found), hashlib.sha256(found).hexdigest())
else:
    s = socket.create_connection((there, 80), timeout=10)
    data = bytes(i * 7 % 251 for i in range(much))
    s.sendall(data)
    s.close()
    print(len(data), hashlib.sha256(data).hexdigest())
"""


def inside(host: subprocess.Popen[bytes]) -> list[str]:
    """Words before a command that is to run in the network of a process."""
    return ["nsenter", "-t", str(host.pid), "-n"]


@contextlib.contextmanager
def hosts(n: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes with networks of their own."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(subprocess.Popen(["unshare", "-n", "sleep", "120"])) for _ in range(n)]
        for host in made:
            stack.callback(host.kill)
        own = os.readlink("/proc/self/ns/net")
        deadline = time.monotonic() + 10
        while any(os.readlink(f"/proc/{h.pid}/ns/net") == own for h in made) and time.monotonic() < deadline:
            time.sleep(0.01)
        yield made


@contextlib.contextmanager
def box(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A gateway that has begun; its first line is read."""
    command = [sys.executable, "-m", "tailback", "gateway", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None and running.stderr is not None
            first = running.stdout.readline()
            assert "Ctrl-C ends the box" in first, first + running.stderr.read()
            yield running
        finally:
            running.kill()


def talk(code: str, ends: list[subprocess.Popen[bytes]], there: str) -> tuple[str, str]:
    """What the asking and the answering end say, once both are done."""
    with subprocess.Popen(
        [*inside(ends[1]), sys.executable, "-c", code, "answer", there], stdout=subprocess.PIPE, text=True
    ) as answers:
        try:
            assert answers.stdout is not None and answers.stdout.readline() == "ready\n"
            ask = [*inside(ends[0]), sys.executable, "-c", code, "ask", there]
            asks = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=30)
            assert asks.returncode == 0, asks.stderr
            return asks.stdout, answers.communicate(timeout=10)[0]
        finally:
            answers.kill()


@real
@root
def test_the_box_alone_joins_two_namespaces_and_delays_what_passes(nothing_left: None) -> None:
    words = ("--delay", "20ms", "--queue", "fq-codel", "--seconds", "6")
    with hosts(2) as made, box(*(str(h.pid) for h in made), *words) as running:
        asked, _ = talk(ECHO, made, "10.203.0.2")
        round_trips = sorted(float(t) for t in asked.split())
        assert len(round_trips) == 20 and 0.040 <= round_trips[0] < 0.045
        said, _ = running.communicate(timeout=20)
        assert "line.reverse" in said and "0 dropped" in said
        left = subprocess.run([*inside(made[0]), "ls", "/sys/class/net"], capture_output=True, text=True, check=True)
        assert "tailback0" not in left.stdout


def ip(host: subprocess.Popen[bytes], *words: str) -> str:
    said = subprocess.run([*inside(host), "ip", *words], capture_output=True, text=True, check=True).stdout
    # A new address of the link is looked for on the link for a while.
    return said.replace(" tentative", "")


@contextlib.contextmanager
def cabled() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two hosts with a cable each to a third, where the box is to be: the interfaces there are near and far."""
    with hosts(3) as made:
        middle = made[2]
        for host, name, address in zip(made, ("near", "far"), ("10.9.0.1/24", "10.9.0.2/24"), strict=False):
            ip(middle, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
            ip(host, "addr", "add", address, "dev", "eth0")
            ip(host, "link", "set", "eth0", "up")
            ip(middle, "link", "set", name, "up")
        # A kernel tells of a carrier up to a second later.
        while "NO-CARRIER" in ip(middle, "link"):
            time.sleep(0.05)
        yield made


@pytest.mark.slow
@real
@root
def test_the_box_between_two_interfaces_is_a_cable_with_a_queue(nothing_left: None, tmp_path: Path) -> None:
    with cabled() as made:
        names = [f"{made[2].pid}:{name}" for name in ("near", "far")]
        before = ip(made[2], "-details", "address")
        capture = tmp_path / "passed.pcapng"
        words = ("--delay", "20ms", "--queue", "codel", "--seconds", "9", "--capture", str(capture))
        with box(*names, "--rate", "20Mbps", *words) as running:
            asked, _ = talk(ECHO, made, "10.9.0.2")
            # What a host learns of the other passes the box as well, once.
            round_trips = sorted(float(t) for t in asked.split())
            assert len(round_trips) == 20 and 0.040 <= round_trips[0] < 0.045
            # The sender's kernel hands on 64 KB at a time; what arrives is whole, and came as packets of 1500 B.
            sent, got = talk(BULK, made, "10.9.0.2")
            assert sent == got and sent.startswith("3000000 ")
            said, errors = running.communicate(timeout=20)
        assert running.returncode == 0, errors
        arrived = int(said.split("line: ")[1].split()[0])
        assert arrived >= 3_000_000 / 1448
        assert "frames were not IP" in said and "lost before" not in said and "would not be taken" not in said
        assert len(capture.read_bytes()) > 100 * arrived
        # Neither an address nor a setting is another; the middle has taken no part.
        assert ip(made[2], "-details", "address").replace("promiscuity 1", "promiscuity 0") == before


@real
@root
def test_an_interface_that_will_not_do_is_refused_with_the_reason(nothing_left: None) -> None:
    def refused(*names: str, extra: tuple[str, ...] = ()) -> str:
        done = tailback("gateway", *(f"{pid}:{n}" for n in names), "--seconds", "1", *extra)
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr, done.stderr
        return done.stderr

    with cabled() as made:
        middle, pid = made[2], made[2].pid
        assert "there is no interface nonesuch" in refused("near", "nonesuch")
        assert "no Ethernet interface" in refused("lo", "far")
        assert "are one interface" in refused("near", "near")
        assert "leave --mtu out" in refused("near", "far", extra=("--mtu", "1000"))
        mixed = tailback("gateway", f"{pid}:near", str(made[0].pid))
        assert mixed.returncode == 2 and "name two interfaces or two namespaces" in mixed.stderr
        ip(middle, "link", "set", "far", "mtu", "1400")
        assert "ip link set far mtu 1500" in refused("near", "far")
        ip(middle, "link", "set", "far", "down")
        assert "far is down; `ip link set far up`" in refused("near", "far")
        ip(middle, "link", "set", "far", "up", "mtu", "1500")
        ip(made[1], "link", "set", "eth0", "down")
        while "NO-CARRIER" not in ip(middle, "link"):
            time.sleep(0.05)
        assert "far has no carrier" in refused("near", "far")
        ip(made[1], "link", "set", "eth0", "up")
        ip(middle, "addr", "add", "10.9.0.9/24", "dev", "near")
        assert "ip addr del 10.9.0.9/24 dev near" in refused("near", "far")
        ip(middle, "route", "add", "default", "via", "10.9.0.1")
        assert "the way of the default route" in refused("near", "far")
        ip(middle, "addr", "del", "10.9.0.9/24", "dev", "near")
        ip(middle, "link", "add", "other", "type", "veth", "peer", "name", "end")
        for name in ("other", "end"):
            ip(middle, "link", "set", name, "up")
        assert "two ends of one cable" in refused("other", "end")
        ip(middle, "link", "add", "bridge0", "type", "bridge")
        ip(middle, "link", "set", "near", "master", "bridge0")
        assert "near is part of bridge0" in refused("near", "far")


@real
@root
def test_an_interface_of_this_network_needs_no_namespace_and_may_disappear(nothing_left: None) -> None:
    with cabled() as made:
        middle = made[2]
        command = [*inside(middle), sys.executable, "-m", "tailback", "gateway", "near", ":far", "--seconds", "20"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None and "between near and :far" in running.stdout.readline()
            talk(ECHO, made, "10.9.0.2")
            ip(middle, "link", "del", "far")
            _, said = running.communicate(timeout=20)
        assert running.returncode == 1 and "the far interface has stopped working" in said and "Traceback" not in said


@real
@root
def test_the_box_begins_anew_when_its_clock_ends(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tailback.runs.live import box as module

    monkeypatch.setattr(module, "STRETCH", 1.0)
    options = {"queue": "codel", "rate": "1Mbps", "delay": "1ms", "flows": 4, "mtu": None, "real_time": False}
    options |= {"seconds": 2.5, "capture": str(tmp_path / "passed.pcapng")}
    with hosts(2) as made:
        last = module.run(*(str(h.pid) for h in made), options, lambda state: None)
    before = capsys.readouterr().out
    assert before.count("1.0 s; ") == 2 and last.startswith("0.5 s; ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["passed.2.pcapng", "passed.3.pcapng", "passed.pcapng"]


def test_the_box_refuses_what_it_should_not_touch(nothing_left: None) -> None:
    own = tailback("gateway", str(os.getpid()), "nonesuch")
    assert own.returncode == 2 and "the machine's own network" in own.stderr
    unknown = tailback("gateway", "nonesuch", "other")
    assert unknown.returncode == 2 and "ip netns add nonesuch" in unknown.stderr
