"""For tests of `tc`: what it sends to the kernel for a list of commands, in the units of its words.

The requests are those of linux/rtnetlink.h and linux/pkt_sched.h. The kernel need not have a kind: a request is sent
before it is refused.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NEW_QDISC, NEW_CLASS = 36, 40
_KIND, _OPTIONS, _STAB = 1, 2, 8
#: A line of strace's dump of what was written.
_BYTES = re.compile(r" \| [0-9a-f]{5}  ((?:[0-9a-f]{2} {1,2}){1,16})")
#: What `tc` says of a line that it cannot read; what the kernel says is of no account.
_OF_KERNEL = re.compile(r"kind is unknown|^Command failed|^We have an error|RTNETLINK answers|^Error:|^RED: |^CHOKE: ")


def _traces() -> bool:
    words = ["unshare", "-Urn", "strace", "-e", "trace=sendmsg", "tc", "qdisc", "show", "dev", "lo"]
    if not all(shutil.which(tool) for tool in ("unshare", "strace", "tc")):
        return False
    return subprocess.run(words, capture_output=True).returncode == 0


needs_strace = pytest.mark.skipif(not _traces(), reason="no tc, no strace, or no right to make a network namespace")


@dataclass(frozen=True)
class Sent:
    """A request: of a qdisc or a class, where it stands, its kind and its options as bytes, and its table of sizes."""

    object: str
    parent: int
    handle: int
    kind: str
    options: bytes
    stab: bytes


def requests(commands: Sequence[str]) -> tuple[list[Sent], list[str]]:
    """What `tc` sends for these commands, without the word `tc`, on the device lo; and what it said of lines that it
    could not read."""
    with tempfile.TemporaryDirectory() as folder:
        batch, trace = Path(folder, "batch.tc"), Path(folder, "trace")
        batch.write_text("".join(f"{line}\n" for line in commands))
        words = ["unshare", "-Urn", "strace", "-o", trace, "-e", "trace=sendmsg", "-e", "write=all"]
        done = subprocess.run([*words, "tc", "-batch", batch, "-force"], capture_output=True, text=True, timeout=120)
        data = _written(trace.read_text(errors="replace"))
    said = [line for line in done.stderr.splitlines() if line.strip() and not _OF_KERNEL.search(line)]
    return [one for one in map(_request, data) if one is not None], said


def options(lines: Sequence[str]) -> list[bytes]:
    """The options that `tc` sends for each of these disciplines: words from the kind on."""
    sent, said = requests([f"qdisc replace dev lo root {line}" for line in lines])
    assert not said and len(sent) == len(lines), (said, len(sent))
    return [one.options for one in sent]


def numbered(lines: Sequence[str]) -> list[dict[int, bytes]]:
    """The same by their numbers in linux/pkt_sched.h, for kinds whose options have such."""
    return [attributes(one) for one in options(lines)]


def _written(trace: str) -> list[bytes]:
    """The buffers of each call."""
    found: list[bytes] = []
    current = bytearray()
    for line in trace.splitlines():
        if line.startswith("sendmsg("):
            found.append(bytes(current))
            current = bytearray()
        elif (part := _BYTES.match(line)) is not None:
            current += bytes.fromhex(part[1].replace(" ", ""))
    return [one for one in (*found, bytes(current)) if one]


def _request(data: bytes) -> Sent | None:
    _, kind = struct.unpack_from("=IH", data)
    if kind not in (NEW_QDISC, NEW_CLASS):
        return None
    _, _, handle, parent, _ = struct.unpack_from("=BxxxiIII", data, 16)
    found = attributes(data[36:])
    name = found.get(_KIND, b"").rstrip(b"\0").decode()
    of = "class" if kind == NEW_CLASS else "qdisc"
    return Sent(of, parent, handle, name, found.get(_OPTIONS, b""), found.get(_STAB, b""))


def attributes(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(data):
        length, number = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        found[number & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def _u32(data: bytes) -> int:
    return int.from_bytes(data[:4], "little")


def tick_us() -> float:
    """Ticks of a microsecond, by which `tc` says times and buckets: /proc/net/psched."""
    t2us, us2t, clock, _ = (int(w, 16) for w in Path("/proc/net/psched").read_text().split())
    return t2us / us2t * (clock / 1e6)


# What the options say, in the units of the words


def _rate(spec: bytes, wide: bytes | None) -> float:
    return 8.0 * (int.from_bytes(wide, "little") if wide else struct.unpack_from("=I", spec, 8)[0])


def _spec(spec: bytes) -> dict[str, Any]:
    _, layer, overhead, _, mpu = struct.unpack_from("=BBHhH", spec)
    return {"linklayer": {0: "", 1: "ethernet", 2: "atm"}[layer & 15], "overhead": overhead, "mpu": mpu}


def _bucket(ticks: int, rate_bps: float) -> float:
    return ticks / tick_us() * 1e-6 * rate_bps / 8


def of_class(options: bytes) -> dict[str, Any]:
    """A class of htb."""
    found = attributes(options)
    head = found[1]
    spec, ceiling = head[:12], head[12:24]
    buffer, cbuffer, quantum, _, prio = struct.unpack_from("=IIIII", head, 24)
    rate, ceil = _rate(spec, found.get(6)), _rate(ceiling, found.get(7))
    buckets = {"burst": _bucket(buffer, rate), "cburst": _bucket(cbuffer, ceil)}
    return {"rate": rate, "ceil": ceil, **buckets, "quantum": quantum, "prio": prio, **_spec(spec)}


def of_htb(options: bytes) -> dict[str, Any]:
    _, r2q, default = struct.unpack_from("=III", attributes(options)[2])
    return {"default": default, "r2q": r2q}


def of_tbf(options: bytes) -> dict[str, Any]:
    found = attributes(options)
    head = found[1]
    limit, _, _ = struct.unpack_from("=III", head, 24)
    rate = _rate(head[:12], found.get(4))
    made = {"rate": rate, "limit": limit, "burst": _u32(found[6]), **_spec(head[:12])}
    if (peak := _rate(head[12:24], found.get(5))) > 0:
        made |= {"peakrate": peak, "mtu": _u32(found[7])}
    return made


def of_prio(options: bytes) -> dict[str, Any]:
    return {"bands": _u32(options), "priomap": list(options[4:20])}


def of_netem(options: bytes) -> dict[str, Any]:
    latency, limit, loss, gap, duplicate, jitter = struct.unpack_from("=IIIIII", options)
    found = attributes(options[24:])
    made: dict[str, Any] = {
        "limit": limit, "loss": _share(loss), "gap": gap, "duplicate": _share(duplicate),
        "delay_s": latency / tick_us() * 1e-6, "jitter_s": jitter / tick_us() * 1e-6,
    }  # fmt: skip
    if 10 in found:
        made["delay_s"] = int.from_bytes(found[10], "little", signed=True) / 1e9
    if 11 in found:
        made["jitter_s"] = int.from_bytes(found[11], "little", signed=True) / 1e9
    if 1 in found:
        delay, lost, doubled = (_share(n) for n in struct.unpack_from("=III", found[1]))
        made |= {"delay_correlation": delay, "loss_correlation": lost, "duplicate_correlation": doubled}
    for number, name in ((3, "reorder"), (4, "corrupt")):
        if number in found:
            share, correlation = (_share(n) for n in struct.unpack_from("=II", found[number]))
            made |= {name: share, f"{name}_correlation": correlation}
    if 5 in found:
        inner = attributes(found[5])
        if 2 in inner:
            p, r, h, k = (_share(n) for n in struct.unpack_from("=IIII", inner[2]))
            made["gemodel"] = (p, r, h, k)
        if 1 in inner:
            # struct tc_netem_gimodel; a line has p23 before p14.
            p13, p31, p32, p14, p23 = (_share(n) for n in struct.unpack_from("=IIIII", inner[1]))
            made["states"] = (p13, p31, p32, p23, p14)
    if 6 in found:
        wide = found.get(8)
        made["rate_bps"] = 8.0 * (int.from_bytes(wide, "little") if wide else _u32(found[6]))
        # struct tc_netem_rate: the rate, and what it counts of a packet and of a cell.
        made["overheads"] = struct.unpack_from("=iIi", found[6], 4)
    if 7 in found:
        made["ecn"] = bool(_u32(found[7]))
    return made


def _share(number: int) -> float:
    return number / 0xFFFFFFFF


def of_stab(data: bytes) -> dict[str, Any]:
    """A table of sizes."""
    _, _, _, overhead, layer, mpu, mtu, tsize = struct.unpack_from("=BBhiIIII", attributes(data)[1])
    return {"overhead": overhead, "linklayer": {1: "ethernet", 2: "atm"}[layer], "mpu": mpu, "mtu": mtu, "tsize": tsize}


READ: Mapping[tuple[str, str], Any] = {
    ("class", "htb"): of_class,
    ("qdisc", "htb"): of_htb,
    ("qdisc", "tbf"): of_tbf,
    ("qdisc", "prio"): of_prio,
    ("qdisc", "netem"): of_netem,
}
