"""A program behind a line: names, user, servers, signals, the terminal, and that nothing is left.

The machine and the outside are namespaces of the test (`outside.py`).
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outside import NAME, WORLD, WORLD6, Outside, behind, environment, ordinary_user, why_not

from tailback.runs.live.behind import forwarding, names, network, uplink
from tailback.runs.live.router import Refused

WHY_NOT = why_not("curl")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"no machine for the test: {WHY_NOT}")
LINE = ("--down", "20Mbps", "--up", "5Mbps", "--rtt", "40ms")
#: Whether the machine forwards what its interface gets.
FORWARDS = "/proc/sys/net/ipv4/conf/eth0/forwarding"


def document(said: str) -> dict[str, Any]:
    """The last line of standard error with --json."""
    found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return found


both = pytest.mark.parametrize("user", [False, True], ids=["root", "ordinary user"])


def skip_without_pasta(there: Outside, user: bool) -> None:
    if user and (ordinary_user() is None or there.run("which", "pasta").returncode):
        pytest.skip("an ordinary user's way out is pasta, which is not installed")


@both
def test_a_program_reaches_the_outside_by_name_and_keeps_its_status(there: Outside, user: bool) -> None:
    skip_without_pasta(there, user)
    script = f"curl -s -o /dev/null -w '%{{http_code}} ' -m 10 http://{NAME}/; id -u; cat; exit 7"
    done = there.run(*behind(*LINE, "--json", "--", "sh", "-c", script), user=user, input="what was given")
    assert done.returncode == 7, done.stderr
    row = ordinary_user()
    number = row.pw_uid if user and row else 0
    assert done.stdout == f"200 {number}\nwhat was given"
    found = document(done.stderr)
    assert found["way"] == ("pasta" if user else "kernel")
    assert any(f["to"] == WORLD and f["to_port"] == 80 for f in found["flows"])
    # The resolver listens where only the machine reaches it: queries pass the line, and are answered at its far end.
    assert any(f["protocol"] == "udp" and f["to_port"] == 53 for f in found["flows"])


def test_ipv6_passes_and_a_round_trip_is_what_was_asked_for(there: Outside) -> None:
    script = f"curl -6 -s -o /dev/null -w '%{{time_connect}}' -m 10 'http://[{WORLD6}]/'"
    done = there.run(*behind(*LINE, "--", "sh", "-c", script))
    assert 0.040 <= float(done.stdout) < 0.060, done.stderr


def test_a_server_at_the_far_end_is_called_far(there: Outside) -> None:
    server = f"{sys.executable} -m http.server 80 --directory /usr/share"
    script = "test -n $TAILBACK_FAR && curl -s -o /dev/null -w '%{http_code}' -m 10 http://far/"
    done = there.run(*behind(*LINE, "--server", server, "--", "sh", "-c", script))
    assert done.stdout == "200", done.stderr
    of_shell = there.run(*behind(*LINE, "--server", f"A=1 {server}", "--", "sh", "-c", script))
    assert of_shell.stdout == "200", of_shell.stderr
    gone = there.run(*behind(*LINE, "--server", "false", "--", "true"))
    assert gone.returncode == 0 and "--server false ended before the program: status 1" in gone.stderr


def test_a_server_that_does_not_listen_is_told_of_and_waiting_is_no_time_behind_the_line(there: Outside) -> None:
    done = there.run(*behind(*LINE, "--json", "--server", "sleep 60", "--", "true"))
    found = document(done.stderr)
    assert "no --server listened after 5 s, and the program began" in found["notes"]
    assert found["time_s"] < 4, "rates are means over the program's time"


@both
def test_a_line_in_a_line_adds_up(there: Outside, user: bool) -> None:
    skip_without_pasta(there, user)
    if user and there.run("which", "slirp4netns").returncode:
        pytest.skip("without root the inner line's way out is slirp4netns, which is not installed")
    script = f"curl -s -o /dev/null -w '%{{time_connect}}' -m 10 http://{WORLD}/"
    inner = behind("--down", "10Mbps", "--up", "10Mbps", "--rtt", "30ms", "--", "sh", "-c", script)
    done = there.run(*behind(*LINE, "--", *inner), user=user)
    assert done.returncode == 0, done.stderr
    # slirp4netns answers before the outside does.
    assert (0.030 if user else 0.070) <= float(done.stdout) < 0.100
    assert done.stderr.count("tailback behind: ") == 2


def test_two_at_once_have_lines_and_addresses_of_their_own(there: Outside) -> None:
    script = f"ip -br addr show tailback0; sleep 1; curl -s -m 10 -o /dev/null -w '%{{http_code}}' http://{WORLD}/"
    two = [there.start(*behind(*LINE, "--", "sh", "-c", script)) for _ in range(2)]
    said = [running.communicate(timeout=60) for running in two]
    assert all(out.endswith("200") for out, _ in said), said
    addresses = {address for out, _ in said for address in re.findall(r"198\.18\.[0-9.]+", out)}
    assert len(addresses) == 2
    assert left(there) == []


def test_a_large_write_is_cut_to_the_packets_of_a_wire(there: Outside) -> None:
    """Of TCP 64 kB at a time, of datagrams by UDP_SEGMENT (linux/udp.h)."""
    takes = 'import socket; s = socket.create_server(("", 80)); c = s.accept()[0]\nwhile c.recv(65536): pass'
    server = f"{sys.executable} -c '{takes}'"
    code = (
        "import os, socket, time; a = os.environ['TAILBACK_FAR']; s = socket.create_connection((a, 80)); "
        "s.sendall(bytes(600_000)); s.shutdown(1); s.recv(1); "
        "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.setsockopt(17, 103, 1200); "
        "u.sendto(bytes(48_000), (a, 9)); time.sleep(0.5)"
    )
    done = there.run(*behind(*LINE, "--json", "--server", server, "--", sys.executable, "-c", code))
    assert done.returncode == 0, done.stderr
    flows = {f["protocol"]: f for f in document(done.stderr)["flows"]}
    assert 600_000 / 1460 <= flows["tcp"]["up"]["received_packets"] <= 600_000 / 1400 + 10
    assert flows["udp"]["up"]["received_packets"] == 40


def left(there: Outside) -> list[str]:
    """What runs have left on the machine, after a while in which the kernel takes networks down."""
    until = time.monotonic() + 10
    while True:
        found = [line for line in there.run("ip", "-br", "link").stdout.splitlines() if "tailback" in line]
        found += there.run("nft", "list", "tables").stdout.split("\n")[:-1]
        found += [FORWARDS] if there.run("cat", FORWARDS).stdout != "0\n" else []
        found += there.run("sh", "-c", "ls -d /run/tailback-* 2>/dev/null").stdout.split()
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def test_a_meter_is_drawn_on_standard_error(there: Outside) -> None:
    done = there.run(*behind(*LINE, "--meter", "--", "sh", "-c", "echo said; sleep 1.5"))
    lines = [line for line in done.stderr.splitlines() if "packets inside" in line]
    assert done.stdout == "said\n" and len(lines) >= 2 and "down 0.00 Mb/s" in lines[0], done.stderr


def test_what_passed_is_stored_and_its_scenario_runs_again(there: Outside, tmp_path: Path) -> None:
    """A shaper before a modem is two links, whose order says nothing of the ends."""
    out, capture = tmp_path / "of" / "out", tmp_path / "passed.pcapng"
    options = ("--queue", "cake", "--modem", "100ms", "--loss", "0,100%", "--seed", "7")
    words = (*LINE, *options, "--out", str(out), "--capture", str(capture), "--", "ping", "-c", "1", "-W", "1", WORLD)
    done = there.run(*behind(*words), env={**environment(), "SUDO_UID": "65534", "SUDO_GID": "65534"})
    assert done.returncode == 1 and done.stderr == "", "the upload is lost, and a folder has what passed"
    first = json.loads((out / "behind.json").read_text())
    assert {q["queue"]: q["direction"] for q in first["queues"]} == {
        "line": "up", "line.reverse": "down", "shaper": "up", "shaper.reverse": "down"
    }  # fmt: skip
    lost = next(q for q in first["queues"] if q["queue"] == "line")
    assert lost["drops_by_reason"] == {"impairment": 1} and first["up"]["dropped_packets"] == 1
    made = (out.parent, out, *out.iterdir(), capture)
    assert {path.stat().st_uid for path in made} == {65534}, "they belong to the user who called sudo"
    assert capture.stat().st_size > 100
    again = there.run(
        *behind("--scenario", str(out / "scenario.toml"), "--json", "--", "ping", "-c", "1", "-W", "1", WORLD)
    )
    second = document(again.stderr)
    assert [(q["queue"], q["direction"], q["drops_by_reason"]) for q in second["queues"]] == [
        (q["queue"], q["direction"], q["drops_by_reason"]) for q in first["queues"]
    ]
    assert second["scenario"] == (out / "scenario.toml").read_text()


def test_what_was_in_the_folder_keeps_its_owner(there: Outside, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    words = behind(*LINE, "--out", str(tmp_path), "--", "true")
    done = there.run(*words, env={**environment(), "SUDO_UID": "65534", "SUDO_GID": "65534"})
    assert done.returncode == 0, done.stderr
    owners = {path.name: path.stat().st_uid for path in (tmp_path, *tmp_path.iterdir())}
    assert owners["behind.json"] == owners["flows.parquet"] == 65534
    assert owners["mine"] == owners[tmp_path.name] == 0


def test_a_scenario_and_a_trace_are_the_line(there: Outside, tmp_path: Path) -> None:
    trace = tmp_path / "down.trace"
    trace.write_text("".join(f"{ms}\n" for ms in range(12, 1201, 12)))
    script = f"curl -s -m 20 -o /dev/null -w '%{{speed_download}}' http://{WORLD}/"
    done = there.run(*behind("--trace-down", str(trace), "--up", "5Mbps", "--json", "--", "sh", "-c", script))
    assert done.returncode == 0, done.stderr
    found = document(done.stderr)
    assert found["down"]["busiest_second_bps"] <= 1.01e6
    assert "the buffer down is 376000 bytes, 250ms at 12.032 Mbps" in found["notes"][0]
    nodes = there.run(*behind("--scenario", "parking-lot", "--ends", "no,where", "--", "true"))
    assert nodes.returncode == 2 and "Traceback" not in nodes.stderr


def test_nothing_else_is_forwarded_meanwhile(there: Outside) -> None:
    """The machine forwards for the program alone: nobody outside gets through it, nor to the program."""
    inner = f"{sys.executable} -m http.server 80 >/dev/null 2>&1 & sleep 4"
    with there.start(*behind(*LINE, "--", "sh", "-c", inner)) as running_:
        time.sleep(2)
        assert there.run("cat", FORWARDS).stdout == "1\n"
        route = there.words(["ip", "route", "replace", "198.18.0.0/15", "via", "10.50.0.2"], where=there.world)
        subprocess.run(route, check=True)
        ask = there.words(["curl", "-s", "-m", "1", "http://198.18.0.6/"], where=there.world)
        assert subprocess.run(ask, capture_output=True, check=False).returncode == 28
        assert running_.wait(30) == 0
    assert left(there) == []


@contextlib.contextmanager
def container(there: Outside) -> Iterator[int]:
    """A network behind the machine, which forwards IPv4 for it; a process in it."""
    with there.start("unshare", "-n", "sh", "-c", "ip link set lo up; echo ready; exec sleep 60") as inner:
        assert inner.stdout is not None and inner.stdout.readline() == "ready\n"
        there.run("ip", "link", "add", "c0", "type", "veth", "peer", "name", "eth0", "netns", str(inner.pid))
        there.run("sh", "-c", "ip addr add 10.60.0.1/24 dev c0; ip link set c0 up")
        words = "ip addr add 10.60.0.2/24 dev eth0; ip link set eth0 up; ip route add default via 10.60.0.1"
        subprocess.run(there.words(["sh", "-c", words], where=inner.pid), check=True)
        route = ["ip", "route", "replace", "10.60.0.0/24", "via", "10.50.0.2"]
        subprocess.run(there.words(route, where=there.world), check=True)
        there.run("sh", "-c", f"echo 1 > {FORWARDS}; echo 1 > {FORWARDS.replace('eth0', 'c0')}")
        try:
            yield inner.pid
        finally:
            there.run("sh", "-c", f"echo 0 > {FORWARDS}; ip link del c0")
            inner.kill()


def test_a_machine_that_forwards_goes_on_and_lets_only_answers_to_the_program(there: Outside) -> None:
    """A router, or a host of containers. IPv6 may be forwarded for the program alone."""
    inner = f"{sys.executable} -m http.server 80 >/dev/null 2>&1 & sleep 4; curl -s -m 5 -o /dev/null http://{WORLD}/"
    with container(there) as inside:
        with there.start(*behind(*LINE, "--", "sh", "-c", inner)) as running_:
            time.sleep(2)
            reaches = there.words(["ping", "-c", "1", "-W", "2", WORLD], where=inside)
            assert subprocess.run(reaches, capture_output=True, check=False).returncode == 0
            route = there.words(["ip", "route", "replace", "198.18.0.0/15", "via", "10.50.0.2"], where=there.world)
            subprocess.run(route, check=True)
            ask = there.words(["curl", "-s", "-m", "1", "http://198.18.0.6/"], where=there.world)
            assert subprocess.run(ask, capture_output=True, check=False).returncode == 28
            said, errors = running_.communicate(timeout=30)
        assert running_.returncode == 0, said + errors
        assert there.run("cat", FORWARDS).stdout == "1\n", "what was on stays on"


def test_nothing_is_forwarded_before_the_rules_are_there(there: Outside) -> None:
    folder = there.room / "watched"
    look = f"case $1 in -i) cat {FORWARDS} >> {folder}/seen;; esac"
    script = f'#!/bin/sh\n{look}\nexec {shutil.which("nft")} "$@"\n'
    there.run("sh", "-c", f"mkdir {folder}; cat > {folder}/nft; chmod 755 {folder}/nft", input=script)
    words = ["env", f"PATH={folder}:{os.environ['PATH']}", *behind(*LINE, "--", "true")]
    done = there.run(*words)
    assert done.returncode == 0, done.stderr
    assert there.run("cat", f"{folder}/seen").stdout == "0\n", "nothing is forwarded before the rules are there"


def test_only_settings_of_networks_are_put_back(tmp_path: Path) -> None:
    """Where /run may not be written, the file is in a folder of all users, and may be another's."""
    kept, mine = tmp_path / "kept", tmp_path / "mine"
    kept.write_text(f"/proc/sys/net/ipv4/conf/a/forwarding\n{mine}\n/proc/sys/net/../../../{mine}\n")
    with kept.open() as f:
        assert forwarding._changed(f.fileno()) == ["/proc/sys/net/ipv4/conf/a/forwarding"]


def test_a_resolver_of_a_link_is_asked_by_that_link() -> None:
    """Routers announce an address of the link; without its interface nothing can be sent to it."""
    relay = names._Relay([], "fe80::1%lo")
    assert relay.family is socket.AF_INET6 and relay.server[3] == socket.if_nametoindex("lo")


def test_no_free_address_is_said_with_how_to_find_the_routes() -> None:
    ways = network.WaysOut(True, False, ["eth0"], 1500, [ipaddress.IPv4Network("198.18.0.0/15")])
    with pytest.raises(Refused, match="ip route show table all"):
        ways.free()


def test_interfaces_of_other_runs_are_left_to_them() -> None:
    ways = network.WaysOut(True, False, ["eth0", "tailback-abc"], 1500, [])
    assert uplink._settings(ways)[0] == ["/proc/sys/net/ipv4/conf/eth0/forwarding"]


@pytest.mark.parametrize("end", ["policy drop; }", "}; add rule ip filter FORWARD counter reject"])
def test_a_firewall_that_drops_is_named_with_what_helps(there: Outside, end: str) -> None:
    policy = f"add table ip filter; add chain ip filter FORWARD {{ type filter hook forward priority 0; {end}"
    there.run("nft", policy)
    fetch = ("--", "curl", "-s", "-m", "2", "-o", "/dev/null", f"http://{WORLD}/")
    try:
        stopped = there.run(*behind(*LINE, *fetch))
        assert stopped.returncode in (7, 28) and "nft list chain ip filter FORWARD" in stopped.stderr, stopped.stderr
        remedy = stopped.stderr.split("let them through: ")[1].splitlines()[0]
        there.run("sh", "-c", remedy)
        assert there.run(*behind(*LINE, *fetch)).returncode == 0
    finally:
        there.run("nft", "delete", "table", "ip", "filter")


def without(there: Outside, tmp_path: Path, *names: str, user: bool = False) -> subprocess.CompletedProcess[str]:
    """On a machine that lacks these programs."""
    folder = tmp_path / "programs"
    folder.mkdir(exist_ok=True)
    for path in (tmp_path, folder, *tmp_path.parents):
        if path != Path("/tmp") and path.is_relative_to("/tmp"):
            path.chmod(0o755)
    for name in ("ip", "nft", "sh", "true", "pasta", "slirp4netns"):
        link = folder / name
        link.unlink(missing_ok=True)
        if name not in names and (found := shutil.which(name)):
            link.symlink_to(found)
    return there.run("env", f"PATH={folder}", *behind(*LINE, "--", "true"), user=user)


def test_what_is_missing_is_said_with_the_command_that_helps(there: Outside, tmp_path: Path) -> None:
    for missing, package in (("nft", "nftables"), ("ip", "iproute2")):
        done = without(there, tmp_path, missing)
        assert done.returncode == 2 and f"apt-get install {package}" in done.stderr, done.stderr
    (tmp_path / "programs" / "ip").write_text("#!/bin/sh\necho \"ip: invalid argument '-json'\" >&2; exit 1\n")
    (tmp_path / "programs" / "ip").chmod(0o755)
    words = ["env", f"PATH={tmp_path / 'programs'}", *behind(*LINE, "--", "true")]
    of_busybox = there.run(*words)
    assert of_busybox.returncode == 2 and "install the package iproute2" in of_busybox.stderr, of_busybox.stderr
    alone = without(there, tmp_path, "pasta", "slirp4netns", user=True)
    assert alone.returncode == 0 and "apt-get install passt" in alone.stderr, alone.stderr


def test_a_kernel_that_forbids_namespaces_is_told_of(there: Outside) -> None:
    """In a user namespace that may have none in it, as an ordinary user where an administrator has forbidden them."""
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_net_namespaces; exec "$@"'
    words = ["unshare", "-U", "--map-root-user", "sh", "-c", forbid, "sh", *behind(*LINE, "--", "true")]
    done = there.run(*words)
    assert done.returncode == 2 and "sysctl -w user.max_user_namespaces" in done.stderr, done.stderr
    there.run("chmod", "600", "/dev/net/tun")
    try:
        closed = there.run(*behind(*LINE, "--", "true"), user=True)
    finally:
        there.run("chmod", "666", "/dev/net/tun")
    assert closed.returncode == 2 and "chmod 666 /dev/net/tun" in closed.stderr, closed.stderr
    hidden = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs none /dev/net; exec "$@"',
        "sh",
        *behind(*LINE, "--", "true"),
    ]
    absent = there.run(*hidden)
    assert absent.returncode == 2 and "/dev/net/tun is missing" in absent.stderr, absent.stderr
    fixed = 'mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys; exec "$@"'
    fixed_words = ["unshare", "-m", "sh", "-c", fixed, "sh", *behind(*LINE, "--", "true")]
    read_only = there.run(*fixed_words)
    assert read_only.returncode == 2 and "docker run --privileged" in read_only.stderr, read_only.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("--up", "2Mbps"), "--down is missing"),
    (("--down", "20", "--up", "2Mbps"), "has no unit"),
    (("--down", "2Mbps", "--up", "2Mbps", "--queue", "nonesuch"), 'there is no queue "nonesuch"'),
    (("--down", "2Mbps", "--up", "2Mbps", "--queue", "{ kind ="), "write a name, or a table"),
    (("--down", "2Mbps", "--up", "2Mbps", "--loss", "7"), "give a share of the packets"),
    (("--down", "2Mbps", "--up", "2Mbps", "--modem", "1ms,2ms,3ms"), "two as DOWN,UP"),
    (("--down", "2Mbps", "--up", "2Mbps", "--modem", "much"), "a time at the line's rate such as 250ms, or a size"),
    (("--down", "2Mbps", "--up", "2Mbps", "--trace-down", "/nonesuch"), "cannot be read"),
    (("--down", "2Mbps", "--up", "2Mbps", "--ends", "a,b"), "--scenario FILE"),
    (("--down", "2Mbps", "--up", "2Mbps", "--server", "'a"), "write a command as in a shell"),
    (("--down", "2Mbps", "--up", "2Mbps", "--server", ""), "write a command as in a shell"),
    (("--scenario", "ping", "--down", "1Mbps"), "two descriptions of the line"),
])  # fmt: skip
def test_a_line_that_is_none_is_refused_in_one_message(there: Outside, words: tuple[str, ...], said: str) -> None:
    done = there.run(*behind(*words, "--", "true"))
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.slow
def test_kills_at_drawn_moments_leave_the_machine_as_it_was() -> None:
    script = Path(__file__).resolve().parents[1] / "faults" / "behind_kills.py"
    done = subprocess.run(
        [sys.executable, str(script), "--kills", "8", "--nested", "2"],
        capture_output=True, text=True, timeout=300, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0 and "0 differences" in done.stdout, done.stdout + done.stderr
