"""Makes the way out with root's privilege: a veth from the far end to this machine, which forwards and masquerades.

    program -- line -- far end, uplink ==veth== tailback-x, this machine -- its interfaces

Everything that is made in this machine's network ends with the processes that own it. The veth ends with the network of
the far end, and its addresses and routes end with the veth. The table of nftables ends with the process of `nft` that
owns it (`flags owner`, Linux 5.12), and that process ends with this one. Only the forwarding of other interfaces is
restored by a process (`forwarding.py`).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.runs.live.behind.forwarding import Keeper
from tailback.runs.live.behind.network import Addresses, WaysOut
from tailback.runs.live.router import Refused

#: The name of the veth in the network of the far end.
FAR_NAME = "uplink"
PREFIX = "tailback-"
#: The link-local addresses of the two ends of the veth, because neighbour discovery uses an address of the link.
_LINK6 = ("fe80::1", "fe80::2")
_SYS = Path("/proc/sys/net")
_WAIT_NFT_S = 5.0


def batch(lines: Iterable[str]) -> None:
    """Commands of `ip` in this network."""
    process = subprocess.run(
        ["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise Refused(f"`ip` cannot set up the way out: {process.stderr.strip()}")


def _ip(*words: str) -> str:
    """The error message of `ip`; empty if the commands succeeded."""
    process = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    return process.stderr.strip() if process.returncode else ""


def up(name: str, words: str) -> list[str]:
    """Commands of `ip` that set an interface up. The interface makes no IPv6 address for itself."""
    quiet = [f"link set {name} addrgenmode none"] if (_SYS / "ipv6").is_dir() else []
    return [*quiet, f"link set {name} {words} up"]


def needs_nft() -> None:
    if shutil.which("nft") is None:
        raise Refused(
            "the way out is masqueraded by nftables, and the command `nft` is missing; install it: "
            "apt-get install nftables"
        )


def _settings(ways: WaysOut) -> tuple[list[str], str]:
    """The settings that have to be 1 for packets to come back, and the reason why there is no IPv6; empty if there is
    IPv6."""
    # The interfaces of other runs are left to those runs, which make them forward.
    devices = [device for device in ways.devices if not device.startswith(PREFIX)]
    settings = [f"{_SYS}/ipv4/conf/{device}/forwarding" for device in devices]
    if not (_SYS / "ipv6").is_dir():
        return settings, "this kernel has IPv6 switched off"
    if not ways.six:
        return settings, "this machine has no default route of IPv6"
    if (_SYS / "ipv6/conf/all/forwarding").read_text(encoding="ascii").strip() == "1":
        return settings, ""
    forced_paths = [_SYS / f"ipv6/conf/{device}/force_forwarding" for device in devices]
    if all(path.exists() for path in forced_paths):
        return [*settings, *map(str, forced_paths)], ""
    return settings, (
        "this machine does not forward IPv6, and its kernel (before 6.17) can be told so only for all interfaces at "
        "once, which would drop the routes that routers announce; if none is announced: "
        "sysctl -w net.ipv6.conf.all.forwarding=1"
    )


class Uplink:
    """The way out of one run."""

    def __init__(self, far_pid: int, ways: WaysOut) -> None:
        """Raises Refused, and then leaves nothing behind."""
        needs_nft()
        self.name = f"{PREFIX}{secrets.token_hex(3)}"
        self.keeper: Keeper | None = None
        self.nft: subprocess.Popen[str] | None = None
        try:
            self._make(far_pid, ways)
        except BaseException:
            self.end()
            raise

    def _make(self, far_pid: int, ways: WaysOut) -> None:
        settings, self.no_six = _settings(ways)
        self.mtu = ways.mtu
        peer = ["peer", "name", FAR_NAME, "netns", str(far_pid)]
        if failure := _ip("link", "add", self.name, "type", "veth", *peer):
            raise Refused(f"a pair of interfaces (veth) cannot be made: {failure}; load the module: modprobe veth")
        self.addresses = self._claim(ways)
        addresses = self.addresses
        try:
            self.keeper = Keeper(settings)
            # Nothing is forwarded before the rules exist that stop packets of others than the program.
            self._own_table(self.keeper.opened)
            self.keeper.forward()
            for name in (f"ipv4/conf/{self.name}/forwarding", f"ipv6/conf/{self.name}/force_forwarding"):
                if (path := _SYS / name).exists() and path.read_text(encoding="ascii").strip() != "1":
                    path.write_text("1", encoding="ascii")
        except OSError as e:
            raise Refused(
                f"this machine cannot be told to forward packets: {e}; in a container /proc/sys is often read-only: "
                "allow it (docker run --privileged), or run without root"
            ) from e
        if (_SYS / "ipv6").is_dir():
            batch([
                f"addr add {_LINK6[0]}/64 dev {self.name} nodad",
                f"addr add {addresses.of6(addresses.MACHINE)}/128 dev {self.name} nodad",
                f"route add {addresses.of6(addresses.UPLINK)}/128 dev {self.name}",
                f"route add {addresses.six} via {addresses.of6(addresses.UPLINK)} dev {self.name} onlink",
            ])  # fmt: skip

    def _claim(self, ways: WaysOut) -> Addresses:
        """The first prefix whose route the kernel accepts. Of two runs that begin at once, only one gets the route."""
        batch(up(self.name, f"mtu {self.mtu}"))
        reason = ""
        for a in ways.free():
            reason = _ip("route", "add", str(a.four), "via", a.of(a.UPLINK), "dev", self.name, "onlink")
            if not reason:
                batch([f"addr add {a.of(a.MACHINE)}/32 dev {self.name}", f"route add {a.of(a.UPLINK)} dev {self.name}"])
                return a
        raise Refused(
            f"`ip` adds no route for the way out: {reason}; other runs may have taken what was free: try again"
        )

    def _own_table(self, opened: list[str]) -> None:
        """Masquerade, let only answers in, and count the packets that the firewall of this machine lets through. If
        packets are forwarded only because of this run, all other packets are stopped."""
        addresses, name = self.addresses, self.name
        answers = "ct state established,related accept"
        other_rules = [f"oifname {name} {answers}", f"oifname {name} drop"]
        for family in ("ipv4", "ipv6"):
            # The machine may already forward packets of one family only, such as those of containers.
            head = f"{_SYS}/{family}/conf/"
            if devices := [json.dumps(path.split("/")[-2]) for path in opened if path.startswith(head)]:
                come = f"meta nfproto {family} iifname {{ {', '.join(devices)} }}"
                other_rules += [f'{come} oifname "{PREFIX}*" {answers}', f"{come} drop"]
        chains = [
            f"chain before {{ type filter hook forward priority -170; iifname {name} counter; }};",
            f"chain others {{ type filter hook forward priority -171; {'; '.join(other_rules)}; }};",
            f"chain after {{ type filter hook forward priority 200; iifname {name} counter; }};",
            "chain out { type nat hook postrouting priority srcnat; "
            f"ip saddr {addresses.four} oifname != {name} masquerade; ip6 saddr {addresses.six} oifname != {name} "
            f"masquerade; }};",
        ]
        text = f"table inet {name} {{ flags owner; {' '.join(chains)} }}\nlist table inet {name}\n"
        self.nft = subprocess.Popen(
            ["nft", "-i"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: _core.end_with_parent(),
        )
        assert self.nft.stdin is not None and self.nft.stdout is not None
        self.nft.stdin.write(text)
        self.nft.stdin.flush()
        timer = threading.Timer(_WAIT_NFT_S, self.nft.kill)
        timer.start()
        lines: list[str] = []
        try:
            for line in self.nft.stdout:
                lines.append(line)
                if line.startswith("}") or "Error" in line:
                    break
        finally:
            timer.cancel()
            timer.join()
        if not lines or not lines[-1].startswith("}"):
            output = "".join(lines).strip() or "it said nothing"
            raise Refused(
                f"nftables does not take the table of the way out, which needs Linux 5.12 and nft 0.9.9: {output}"
            )

    def far_commands(self) -> list[str]:
        """Commands of `ip` in the network of the far end."""
        addresses = self.addresses
        lines = [
            *up(FAR_NAME, f"mtu {self.mtu}"),
            f"addr add {addresses.of(addresses.UPLINK)}/32 dev {FAR_NAME}",
            f"route add {addresses.of(addresses.MACHINE)} dev {FAR_NAME}",
            f"route add default via {addresses.of(addresses.MACHINE)} dev {FAR_NAME} onlink",
        ]
        if (_SYS / "ipv6").is_dir():
            lines += [
                f"addr add {_LINK6[1]}/64 dev {FAR_NAME} nodad",
                f"addr add {addresses.of6(addresses.UPLINK)}/128 dev {FAR_NAME} nodad",
                f"route add {addresses.of6(addresses.MACHINE)}/128 dev {FAR_NAME}",
                f"route add default via {addresses.of6(addresses.MACHINE)} dev {FAR_NAME} onlink",
            ]
        return lines

    def forwarded(self) -> tuple[int, int]:
        """The number of packets of the program that came to this machine to be forwarded, and of those that the
        firewall let through."""
        return (self._counted("before"), self._counted("after"))

    def _counted(self, chain: str) -> int:
        rules = (item["rule"]["expr"] for item in _nft("list", "chain", "inet", self.name, chain) if "rule" in item)
        return sum(e["counter"]["packets"] for rule in rules for e in rule if "counter" in e)

    def end(self) -> None:
        _ip("link", "del", self.name)
        if self.keeper is not None:
            self.keeper.end()
        # The rules are removed last, because the machine forwards until then.
        if self.nft is not None:
            self.nft.kill()
            self.nft.communicate()


def firewall() -> str:
    """The chain of nftables that drops forwarded packets, as `family table chain`; empty if no such chain is found."""
    for entry in _nft("list", "chains"):
        chain = entry.get("chain", {})
        if chain.get("hook") != "forward" or chain["table"].startswith(PREFIX):
            continue
        name = (chain["family"], chain["table"], chain["name"])
        rules = [entry["rule"]["expr"] for entry in _nft("list", "chain", *name) if "rule" in entry]
        # A last rule without a condition has the effect of a policy.
        rule_words = [word for e in (rules[-1] if rules else []) for word in e if word not in ("counter", "log")]
        if chain.get("policy") == "drop" or rule_words in (["drop"], ["reject"]):
            return " ".join(name)
    return ""


def _nft(*words: str) -> list[dict[str, Any]]:
    """The list that nft prints. Tables are left out, because nft 1.0.6 prints arbitrary bytes as the flags of a table
    with an owner."""
    process = subprocess.run(["nft", "-j", *words], capture_output=True, text=True, check=False)
    objects: list[dict[str, Any]] = [] if process.returncode else json.loads(process.stdout)["nftables"]
    return objects


def remedy(chain: str) -> str:
    """The command that lets packets of all runs through; without a chain of nftables it is one of iptables."""
    if not chain:
        return (
            f"iptables -I FORWARD -i {PREFIX}+ -j ACCEPT; "
            f"iptables -I FORWARD -o {PREFIX}+ -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT"
        )
    return (
        f'nft insert rule {chain} iifname "{PREFIX}*" accept; '
        f'nft insert rule {chain} oifname "{PREFIX}*" ct state established,related accept'
    )


def is_root() -> bool:
    """Whether this process may change the network that it is in."""
    capabilities = {12, 21}  # CAP_NET_ADMIN, CAP_SYS_ADMIN (linux/capability.h)
    with open("/proc/self/status", encoding="ascii") as f:
        held_bits = next((int(line.split()[1], 16) for line in f if line.startswith("CapEff")), 0)
    return os.geteuid() == 0 and all(held_bits >> n & 1 for n in capabilities)
