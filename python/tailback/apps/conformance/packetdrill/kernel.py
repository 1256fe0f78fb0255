"""This machine's kernel as the host of a script. The host has real sockets behind a TUN device, and the far end of the
device is played here.

Each script has its own process and network namespace, set up as by packetdrill: the device is `tun0`, and the addresses
are packetdrill's. Settings of a script are written to /proc/sys/net of that namespace; routes and queues are set with
one call of `ip` or `tc`. Nothing on the machine changes. Time is real.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tailback import _core
from tailback.apps.conformance import packets
from tailback.apps.conformance.kernel import NoKernel
from tailback.apps.conformance.packetdrill import capture
from tailback.apps.conformance.packetdrill.play import Returned
from tailback.apps.conformance.packetdrill.run import DIFFERS, ScriptOutcome, play_script, refused
from tailback.apps.conformance.packetdrill.script import Call, Command, Packet, Refused, Script, flat_names, load
from tailback.apps.conformance.packetdrill.segments import Compares, SentPacket
from tailback.apps.conformance.packetdrill.settings import BASE
from tailback.apps.conformance.packetdrill.sockets import Sockets

#: The device, and the gateway of its far side.
_DEVICE, _GATEWAY = "tun0", "192.168.0.2"
#: Number of the first byte of the far end's direction.
_FIRST = 1_000_000
_MASK = 0xFFFFFFFF
#: Timestamp values count milliseconds.
_TICK_NS = 1_000_000
#: The allowed verbs of `ip route` and `tc qdisc`.
_ROUTE_VERBS = {"add", "append", "change", "replace", "del", "delete"}
_QDISC_VERBS = {"add", "change", "replace", "del", "delete"}
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]*")


class Job(msgspec.Struct):
    """A script for the separate process."""

    file: str
    includes: str | None
    out: str | None
    beside: bool


def on_kernel(file: Path, includes: Path | None, out: Path | None, beside: bool = False) -> ScriptOutcome:
    """Plays a script on this kernel. `out` is the folder for the capture of a failed script. Raises NoKernel."""
    job = Job(str(file), str(includes) if includes else None, str(out) if out else None, beside)
    words = [sys.executable, "-m", "tailback.apps.conformance.packetdrill.kernel"]
    process = subprocess.run(words, input=msgspec.json.encode(job), capture_output=True, check=False)
    if process.returncode:
        last_line = process.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
        failure = last_line or f"it ended with status {process.returncode}"
        raise NoKernel(f"this kernel cannot be tried: {failure}; `tailback doctor` says what is missing")
    return msgspec.json.decode(process.stdout, type=ScriptOutcome)


def main() -> None:
    """Runs in the separate process: plays the script that standard input names and prints the verdict."""
    from tailback.runs.live.agent import _network as leave_network
    from tailback.runs.live.router import Refused as NotAllowed

    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    file = Path(job.file)
    try:
        script = load(file, Path(job.includes) if job.includes else None)
    except Refused as e:
        sys.stdout.buffer.write(msgspec.json.encode(refused(file, "kernel", e)))
        return
    try:
        leave_network({})
        host = KernelHost(script)
    except (NotAllowed, NoKernel) as e:
        sys.exit(str(e))
    verdict = play_script(script, host, "kernel", job.file, job.beside)
    verdict.notes = host.notes
    if verdict.result == DIFFERS and job.out:
        verdict.capture = capture.write(Path(job.out), file, "-kernel", host.frames, verdict.said)
    sys.stdout.buffer.write(msgspec.json.encode(verdict))


class KernelHost:
    """One connection of the kernel."""

    def __init__(self, script: Script) -> None:
        buffer_is_set = _sets_receive_buffer(script)
        self.compares = Compares(push=True, window=buffer_is_set, syn_options=True, scale=buffer_is_set)
        self.notes: list[str] = []
        if not buffer_is_set:
            self.notes.append("windows of this kernel are not compared: the script does not set its receive buffer")
        self.frames: list[capture.Frame] = []
        self._device = _lay_out(script)
        # A script that names no congestion control uses Linux's default and not this machine's setting.
        self._sockets = Sockets((1, str(BASE["congestion"])))
        self._unread: deque[SentPacket] = deque()
        #: Ports of the far end and of the kernel, and the number of the kernel's first byte, once they are known.
        self._ports = (capture.REMOTE_PORT, capture.PORT)
        self._own_first: int | None = None
        # The first packets take longer, in the kernel and in Python.
        self._begin = time.monotonic_ns()

    @property
    def now_ns(self) -> int:
        return time.monotonic_ns() - self._begin

    def tick_ns(self) -> float:
        return float(_TICK_NS)

    def wait(self, until_ns: int) -> None:
        while self._hear(until_ns):
            pass

    def next_sent(self, until_ns: int) -> SentPacket | None:
        while not self._unread:
            if not self._hear(until_ns):
                return None
        return self._unread.popleft()

    def _hear(self, until_ns: int) -> bool:
        """Takes the next packet of the device; False at the end of the time."""
        while True:
            try:
                packet = os.read(self._device, 65_535)
            except BlockingIOError:
                seconds_left = (until_ns - self.now_ns) / 1e9
                if seconds_left <= 0:
                    return False
                select.select([self._device], [], [], seconds_left)
                continue
            now_ns = self.now_ns
            segment = packets.read(packet)
            if segment and segment.destination == capture.REMOTE:
                self.frames.append((now_ns, packet, ""))
                self._unread.append(self._sent(now_ns, segment))
                return True

    def _sent(self, now: int, p: packets.FromKernel) -> SentPacket:
        if "syn" in p.flags and self._own_first is None:
            self._own_first, self._ports = p.seq, (p.ports[1], p.ports[0])
        first_seq = self._own_first or 0
        return SentPacket(
            now,
            "".join(letter for letter, name in capture.FLAGS.items() if name in p.flags),
            (p.seq - first_seq) & _MASK,
            p.payload,
            (p.ack - _FIRST) & _MASK if "ack" in p.flags else None,
            p.ecn,
            p.window,
            p.stamps,
            tuple(((a - _FIRST) & _MASK, (b - _FIRST) & _MASK) for a, b in p.blocks),
            p.mss,
            p.scale,
            p.sack_permitted,
        )

    def arrive(self, packet: Packet, echo: int | None) -> None:
        first_seq = self._own_first or 0
        packet_bytes = packets.write(
            packets.ToKernel(
                capture.REMOTE, capture.LOCAL, self._ports, (_FIRST + packet.seq) & _MASK,
                0 if packet.ack is None else (first_seq + packet.ack) & _MASK, capture.names_of_flags(packet.flags),
                window=0 if packet.window is None else packet.window & 0xFFFF,
                mss=packet.mss, sack_permitted=packet.sack_permitted, scale=packet.scale,
                stamps=None if packet.stamps is None else (packet.stamps[0], (echo or 0) & _MASK),
                blocks=[((first_seq + a) & _MASK, (first_seq + b) & _MASK) for a, b in packet.sack],
                payload=packet.payload, ecn=packet.ecn or "not-ect", counts=packet.counts,
            )
        )  # fmt: skip
        self.frames.append((self.now_ns, packet_bytes, ""))
        os.write(self._device, packet_bytes)

    def call(self, call: Call) -> Returned | None:
        return self._sockets.call(call)

    def info(self) -> Mapping[str, int]:
        return self._sockets.info()

    def command(self, command: Command, line: int) -> None:
        if command.set:
            self._set(*command.set, line)
        elif command.route is not None:
            _iproute(["ip", "route"], command.route, _ROUTE_VERBS, line)
        elif command.qdisc is not None:
            self._queue(command.qdisc, line)

    def _queue(self, words: list[str], line: int) -> None:
        try:
            _iproute(["tc", "qdisc"], words, _QDISC_VERBS, line)
        except Refused:
            if "fq" not in words:
                raise
            # Sockets can pace themselves as fq would.
            self._sockets.paced = True
            self.notes.append("this kernel has no fq; its sockets pace themselves")

    def _set(self, name: str, value: str, line: int) -> None:
        if name == "net.ipv4.tcp_congestion_control":
            # A network namespace has no such setting for all sockets, so it is set on each socket.
            self._sockets.control = (line, value)
            return
        module, _, parameter = name.partition(".")
        if module != "net" and "." not in parameter:
            _check_module(module, parameter, value, line)
            return
        file = Path("/proc/sys", *name.split("."))
        if not name.startswith("net.ipv4.") or not file.exists():
            self.notes.append(f"{name} is no setting of this kernel")
            return
        try:
            file.write_text(value, encoding="utf-8")
        except OSError as e:
            raise Refused(line, f"{name}={value}"[:60], f"this kernel does not take it: {e.strerror}") from None


def _sets_receive_buffer(script: Script) -> bool:
    """Whether the windows that this host advertises depend only on the script and not on the machine."""
    settings = (c.set for step in script.steps for c in step.commands or [] if c.set)
    options = (word for _, call in script.calls("setsockopt") for word in flat_names(call))
    return any(name == "net.ipv4.tcp_rmem" for name, _ in settings) or "SO_RCVBUF" in options


def _check_module(module: str, parameter: str, value: str, line: int) -> None:
    """Checks module parameters. These parameters are for the whole machine, so they are read but not changed."""
    file = Path("/sys/module", module, "parameters", parameter)
    try:
        present_value = file.read_text(encoding="ascii").strip()
    except OSError as e:
        raise Refused(line, f"{module}.{parameter}"[:60], f"this kernel does not show it: {e.strerror}") from None
    if present_value != value:
        remark = f"it is {present_value} on this machine, and is not changed since it holds for all connections"
        raise Refused(line, f"{module}.{parameter}={value}"[:60], remark)


def _iproute(command: list[str], words: list[str], verbs: set[str], line: int) -> None:
    """Runs one command of iproute2 with plain words in this network namespace."""
    from tailback.runs.live.router import Refused as NotDone
    from tailback.runs.live.router import command as run

    bad_word = next((w for w in words if not _PLAIN.fullmatch(w)), None)
    if bad_word is not None or (words[:1] and words[0] not in verbs) or not words:
        word = bad_word or (words[0] if words else command[1])
        raise Refused(line, word, f"of `{' '.join(command)}` only {', '.join(sorted(verbs))} with plain words are read")
    try:
        run(*command, *words)
    except NotDone as e:
        raise Refused(line, " ".join([*command, *words])[:60], str(e)) from None


def _lay_out(script: Script) -> int:
    """Sets up this process's network namespace and returns its device."""
    from tailback.runs.live.router import ip

    try:
        device = _core.make_tun(_DEVICE)
    except OSError as e:
        raise NoKernel(f"a TUN device cannot be made ({e.strerror or e})") from e
    os.set_blocking(device, False)
    no_ipv6 = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if no_ipv6.exists():
        no_ipv6.write_text("1", encoding="ascii")
    ip("link", "set", "lo", "up")
    # A long queue, since Python sometimes reads late and no packet may be lost.
    ip("link", "set", "dev", _DEVICE, "mtu", str(max(script.mtu, 68)), "txqueuelen", "20000", "up")
    ip("addr", "add", f"{capture.LOCAL}/16", "dev", _DEVICE)
    ip("route", "add", capture.REMOTE_NETWORK, "via", _GATEWAY, "dev", _DEVICE)
    return device


if __name__ == "__main__":
    main()
