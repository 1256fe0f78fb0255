"""Texts of every kind that is read, and mutations of them: `test_readers_mutated.py` draws some, by hand many:

    python tests/python/mutations.py 20000

Each is a reading or one message; anything else is printed with its seed.
"""

from __future__ import annotations

import gzip
import random
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from tailback.readers.given import Given, Wishes
from tailback.readers.reading import ReadError, Reading
from tailback.readers.recognise import read
from tailback.readers.shown import text

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "readers"
#: Texts of kinds without a file, by the kind that they are.
TEXTS: dict[str, str] = {
    "speed-test": "Unloaded 15 ms, download active +34 ms, upload active +2 ms, 94.2 Mbps down, 11.3 Mbps up, grade A",
    "speed-test-json": '{"download":93212345.1,"upload":11021234.5,"ping":18.5,"bytes_received":117000000}',
    "iperf3-text": "[  4]   0.00-1.00   sec  11.6 MBytes  97.6 Mbits/sec  1491\n"
    "[  4]   0.00-2.00   sec  23.6 MBytes  98.8 Mbits/sec  0.312 ms  754/3016 (25%)\n",
    "mahimahi": "0\n5\n5\n9\n20\n",
    "flow-list": "4\n0 1 3 100 1000 2.0\n1 2 3 100 2000 2.1\n2 0 3 100 500 2.2\n0 2 3 101 7 2.3\n",
    "sizes": "0 0\n10000 15\n20000 50\n1000000 90\n30000000 100\n",
    "rate-trace": "time_s;rate (Mb/s)\n0;12,5\n0,5;9,8\n1;0\n1,5;11\n",
    "delay-trace": "time_ms,delay_ms\n0,30\n500,45.5\n900,31\n",
    "tc": "tc qdisc replace dev eth0 root handle 1: htb default 10\n"
    "tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit\n"
    "tc qdisc add dev eth0 parent 1:10 fq_codel limit 1000 target 5ms interval 100ms\n",
    "tc-show": "qdisc fq_codel 8001: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n"
    " Sent 1000 bytes 10 pkt (dropped 2, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n",
    "tc-json": '[{"kind":"fq_codel","handle":"8001:","root":true,"options":{"limit":10240,"flows":1024},"bytes":1}]',
    "sqm": "config queue 'eth1'\n\toption interface 'eth1'\n\toption download '85000'\n\toption upload '10000'\n"
    "\toption qdisc 'cake'\n\toption script 'piece_of_cake.qos'\n\toption enabled '1'\n",
    "fireqos": "interface eth0 world bidirectional input rate 20Mbit output rate 5Mbit\n  class voip commit 10%\n",
    "wondershaper": "wondershaper -a eth0 -d 8192 -u 1024\n",
}
_LETTERS = "0123456789.,;:-+ \t\n{}[]\"'/%eE#nulNaN\x00\xff\u202e"
_LONG = ("9" * 400, "1e999", "-1", "nan", "\n" * 50, '{"' * 30, "[" * 2000, "0x1f", "1,5", " " * 300, "\udcff", "٣")


def samples() -> dict[str, bytes]:
    """A text of each kind and each file of the reference."""
    made = {name: value.encode() for name, value in TEXTS.items()}
    for place in sorted(REFERENCE.iterdir()):
        if place.suffix != ".md":
            data = place.read_bytes()
            made[place.name] = gzip.decompress(data) if place.suffix == ".gz" else data
    return made


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bytes, lines or numbers changed, removed, doubled or moved; or the end cut off."""
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 30, 300))
        match rng.randrange(7):
            case 0:
                data = data[:at] + rng.choice(_LETTERS).encode() + data[at + 1 :]
            case 1:
                data = data[:at] + data[at + size :]
            case 2:
                data = data[:at] + data[at : at + size] * 2 + data[at + size :]
            case 3:
                data = data[:at]
            case 4:
                data = data[:at] + rng.choice(_LONG).encode("utf-8", "surrogateescape") + data[at:]
            case 5:
                lines = data.split(b"\n")
                rng.shuffle(lines) if rng.random() < 0.3 else lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                data = b"\n".join(lines)
            case _:
                data = bytes(b ^ (1 << rng.randrange(8)) if rng.random() < 0.01 else b for b in data)
        data = data or b"0"
    return data


def outcome(data: bytes) -> Reading | str:
    """The reading, with all that it can be asked for; or the message."""
    try:
        found = read(Given("f", data, Wishes()))
    except ReadError as e:
        return str(e)
    text(found, "f")
    found.as_dict()
    if found.written is not None:
        try:
            found.written.text()
        except ReadError as e:
            return str(e)
    return found


def draws(count: int, seed: int = 1) -> Iterator[tuple[str, int, bytes]]:
    """So many mutations of each sample: its name, the seed, the bytes."""
    for name, data in samples().items():
        for i in range(count):
            # Long files are cut, so that many are tried.
            rng = random.Random(f"{name} {seed} {i}")
            yield name, i, mutated(data[: rng.choice((2000, 20_000, len(data)))], rng)


def main(count: int) -> None:
    tried, readings, wrong = 0, 0, 0
    for name, i, data in draws(count):
        tried += 1
        try:
            made = outcome(data)
        except Exception:
            wrong += 1
            print(f"{name}, draw {i}:", traceback.format_exc(limit=-3))
            continue
        readings += isinstance(made, Reading)
        if isinstance(made, str) and ("\n" in made or not made):
            wrong += 1
            print(f"{name}, draw {i}: {made!r}")
    print(f"{tried} texts, {readings} readings, {tried - readings - wrong} messages, {wrong} wrong")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
