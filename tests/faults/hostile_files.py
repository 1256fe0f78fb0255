"""What stands where a file is named, and every place where one is: the files of `hostile.py`.

A place is a command line with a file or folder in it; `KINDS` puts there what nobody meant: a pipe, a device, a folder,
a damaged or endless file, one of another kind, a name that is none. `unknown` says which options and arguments of the
program name a file and are in no place.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shutil
import socket
import tarfile
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drawn

HALF = '''\
import collections

class Half:
    """Drops every second packet while 50 wait."""
    probes = {"mean": "packets"}

    def __init__(self):
        self.stored, self.mean, self.odd = collections.deque(), 0.0, False

    def enqueue(self, packet, line, out):
        self.odd = not self.odd
        if len(self.stored) >= 100 or len(self.stored) > 50 and self.odd:
            out.dropped(packet, "arriving", "early")
        else:
            self.stored.append(packet)

    def dequeue(self, line, out):
        return self.stored.popleft() if self.stored else None
'''
LINES = """\
source = "RFC 3042"
title = "Limited transmit"

[[line]]
id = "one"
section = "2"
says = "a sender transmits new data upon the first two duplicate ACKs"
to = ["reno", "any"]
dialogue = \"\"\"
0ms    write forever
0ms    > 1-10
100ms  < ack 0 sack 2
100ms  > 11
101ms  < ack 0 sack 2-3
101ms  > 12
\"\"\"
"""
TOUR = """\
title = "Short"
question = "Which queue is shorter?"
why = "One drops early."
beside = { kind = "codel", buffer = "40 packets" }
claims = ["first > 0.1 * second"]
choices = [{ text = "This one.", right = true }, { text = "That one." }]
[results.first]
run = "first"
table = "links"
column = "utilisation"
where = { name = "bottleneck" }
[results.second]
run = "second"
table = "links"
column = "utilisation"
[scenario]
duration = "1s"
[scenario.link.bottleneck]
from = "a"
to = "b"
rate = "5Mbps"
delay = "1ms"
queue = { kind = "droptail", buffer = "40 packets" }
[scenario.flows.bulk]
count = 2
"""
PLAIN = drawn.SCENARIO.split("[record")[0]
PKT = Path(__file__).parents[1] / "reference" / "packetdrill"
DIFFERS = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < S 0:0(0) win 40000 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 40000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 3000) = 3000
+0 > P. 1:4001(4000) ack 1
"""
TEXTS = {
    "differs.pkt": DIFFERS,
    "own.py": HALF,
    "own.toml": PLAIN.replace('{ kind = "red", buffer = "40 packets" }', '"own.py:Half"'),
    "mine.toml": PLAIN.replace("count = 2", 'count = 2\ntcp = { congestion = "reno.py:Reno" }'),
    "learnt.py": "from tailback.gym.policy import TrainedPolicy as Trained\n",
    "learnt.toml": PLAIN.replace(
        "count = 2", 'count = 2\ntcp = { congestion = { kind = "learnt.py:Trained", file = "policy.json" } }'
    ),
    "rates.toml": PLAIN + '[change.c]\nlink = "bottleneck"\ntrace = "rates.csv"\n',
    "rates.csv": "time_s,rate_bps\n0,4000000\n0.02,2000000\n0.04,5000000\n",
    "ms.toml": PLAIN + '[change.c]\nlink = "bottleneck"\nmahimahi = "ms.trace"\n',
    "ms.trace": "1\n2\n4\n9\n",
    "home.csv": "time_s,rate_mbps\n0,5\n1,3\n2,5\n",
    "lines.toml": LINES,
    "tour.toml": TOUR,
    "recording.txt": "arrival 1000 0 0 0 0 0 60 1 0 0\nexit 1000 15060000 0\n",
    "ping.txt": "PING x (192.0.2.1) 56(84) bytes of data.\n64 bytes from x: icmp_seq=1 ttl=64 time=3.1 ms\n"
    "64 bytes from x: icmp_seq=2 ttl=64 time=2.9 ms\n",
    "shaper.sh": "tc qdisc add dev eth0 root handle 1: htb default 1\n"
    "tc class add dev eth0 parent 1: classid 1:1 htb rate 2mbit\ntc qdisc add dev eth0 parent 1:1 codel limit 50\n",
    "flows.txt": "source destination bytes time_s\na b 2000 0\nb c 500 0.001\n",
    "inc/defaults.sh": "sysctl -q net.ipv4.tcp_timestamps=0\n",
}


@dataclass(frozen=True)
class Place:
    """Where a file is named: a line of words, the file (a pattern, of which one is drawn) and what stands beside it."""

    words: str
    target: str
    copies: str
    #: How often it is drawn, beside others.
    weight: int = 3
    #: The file is what comes in.
    given: bool = False
    #: The line reads, and leaves everything as it is.
    reads: bool = True


HOME = "--down 1Mbps --up 1Mbps --rtt 9ms --traffic bulk --flows 1 --hosts 1 --queue fq-codel --replications 1"
SCENARIOS = [
    *(Place(f"{command} small.toml", "small.toml", "small.toml", 6) for command in ("check", "run")),
    Place("predict allocation small.toml", "small.toml", "small.toml"),
    Place("trace small.toml --flow bulk.0", "small.toml", "small.toml"),
    Place("capture small.toml --out x.pcapng", "small.toml", "small.toml"),
    Place("lab small.toml --export x.html --axis topology.rate=5Mbps", "small.toml", "small.toml", 1),
    Place("live small.toml --replay recording.txt", "small.toml", "small.toml recording.txt"),
    Place("live small.toml --replay recording.txt", "recording.txt", "small.toml recording.txt"),
    *(Place(f"{command} -", "small.toml", "small.toml", 3, given=True) for command in ("check", "run --json")),
    Place("sweep - --dry-run", "sweep.toml", "small.toml sweep.toml", 1, given=True),
    Place("sweep sweep.toml --dry-run", "sweep.toml", "small.toml sweep.toml", 5),
    Place("sweep sweep.toml --out O", "sweep.toml", "small.toml sweep.toml"),
    Place("sweep sweep.toml --out O --shard 1/2", "small.toml", "small.toml sweep.toml"),
    *(Place(f"{command} rates.toml", "rates.csv", "rates.toml rates.csv") for command in ("check", "run")),
    *(Place(f"{command} ms.toml", "ms.trace", "ms.toml ms.trace") for command in ("check", "run")),
    Place("""check small.toml --set 'change.c={link="bottleneck",trace="rates.csv"}'""", "rates.csv", "small.toml"),
    Place("""run small.toml --set 'change.c={link="bottleneck",mahimahi="ms.trace"}'""", "ms.trace", "small.toml"),
    Place(f"home {HOME} --varies home.csv", "home.csv", "home.csv", 1),
    Place("lab --tour tour.toml --export x.html", "tour.toml", "tour.toml", 2),
    *(Place(f"read {name}", name, name, 4) for name in ("ping.txt", "home.csv", "flows.txt", "ms.trace")),
    *(Place("read - --json", name, name, given=True) for name in ("ping.txt", "home.csv")),
    *(Place(f"{c} small.toml --queue shaper.sh", "shaper.sh", "small.toml shaper.sh") for c in ("check", "run")),
    Place(
        "lab small.toml --queue shaper.sh --export x.html --axis topology.rate=5Mbps",
        "shaper.sh",
        "small.toml shaper.sh",
        1,
    ),
    Place("compare --rate 5Mbps --rtt 9ms --queue shaper.sh --duration 50ms", "shaper.sh", "shaper.sh", 2),
    Place("check small.toml --queue -", "shaper.sh", "small.toml shaper.sh", given=True),
    Place("read shaper.sh", "shaper.sh", "shaper.sh", 4),
    Place("read flows.txt --write x.toml", "flows.txt", "flows.txt"),
    Place("report ping.txt A", "ping.txt", "ping.txt A", reads=False),
]
CLASSES = [
    *(Place(f"{command} own.toml", "own.py", "own.toml own.py") for command in ("check", "run")),
    *(Place(f"{command} mine.toml", "reno.py", "mine.toml reno.py") for command in ("check", "run")),
    Place("check small.toml --set topology.queue=own.py:Half", "own.py", "small.toml own.py"),
    Place("run learnt.toml", "learnt.py", "learnt.toml learnt.py policy.json"),
    Place("run learnt.toml", "policy.json", "learnt.toml learnt.py policy.json", 6),
    Place("conform reno.py:Reno --only rfc3042", "reno.py", "reno.py"),
    Place("conform --queue own.py:Other", "own.py", "own.py"),
    Place("gateway no-a no-b --queue own.py:Half --seconds 0.1", "own.py", "own.py"),
    Place("compare --rate 5Mbps --rtt 9ms --queue own.py:Other --duration 50ms", "own.py", "own.py", 2),
    Place("compare --rate 5Mbps --rtt 9ms --senders reno.py:Other --duration 50ms", "reno.py", "reno.py", 2),
    Place("conform reno --lines lines.toml --only lines/", "lines.toml", "lines.toml", 5),
    Place("conform script.pkt", "script.pkt", "script.pkt", 4),
    Place("conform with.pkt --include inc", "inc/defaults.sh", "with.pkt inc"),
    Place("conform with.pkt --include inc", "inc", "with.pkt inc", 1),
    Place("conform inc with.pkt", "inc/*", "with.pkt inc", 1),
]
RESULTS = [
    Place("status A", "A/*", "A", 4),
    Place("status A", "A", "A", 1),
    Place("status S --json", "S/*", "S", 3),
    Place("status bundle", "bundle/**", "bundle"),
    Place("report A", "A/*", "A", 1, reads=False),
    Place("report A B", "A/*", "A B", 4),
    Place("report A B", "B", "A B", 1),
    Place("report S", "S/*", "S", 1, reads=False),
    Place("report bundle", "bundle/**", "bundle", 1, reads=False),
    *(Place(f"export A {table}", "A/*", "A") for table in ("flows", "runs", "series")),
    Place("export S links --means", "S/*", "S"),
    *(Place(f"plot A {what} --to x.svg", "A/*", "A", 2) for what in ("queue", "goodput")),
    Place("plot S links.utilisation --over buffer --to x.png", "S/*", "S", 2),
    Place("plot bundle E1 --to x.svg", "bundle/**", "bundle", 2),
    Place("run small.toml --replications 2 --out A", "A/*", "small.toml A", 5, reads=False),
    Place("run small.toml --seed 9 --out A", "A/**", "small.toml A", 5, reads=False),
    Place("sweep sweep.toml --out S", "S/**", "small.toml sweep.toml S", 5, reads=False),
    Place("sweep sweep.toml --out S --merge", "S/**", "small.toml sweep.toml S", 3, reads=False),
    Place("reproduce tiny --out bundle", "bundle/**", "bundle", 2, reads=False),
    Place("reproduce studies/tiny --list", "studies/tiny/*", "studies", 5),
    Place("reproduce studies/tiny --out O", "studies/tiny/*", "studies", 2),
    Place("verify bundle", "bundle/**", "bundle", 4),
    Place("verify bundle --sample 1", "bundle/**", "bundle", 3),
    Place("verify bundle.zip", "bundle.zip", "bundle.zip", 5),
    Place("verify bundle.tar.gz", "bundle.tar.gz", "bundle.tar.gz", 5),
]
#: Where a file is written; mostly none is there.
WRITTEN = [
    Place("run small.toml --out O", "O", "small.toml", reads=False),
    Place("sweep sweep.toml --out O", "O", "small.toml sweep.toml", reads=False),
    Place("reproduce studies/tiny --out O", "O", "studies", 1, reads=False),
    Place("compare --rate 5Mbps --rtt 9ms --duration 1ms --out O", "O", "small.toml", 1, reads=False),
    Place(f"home {HOME} --duration 1ms --out O", "O", "small.toml", 1, reads=False),
    Place("demo --out O --jobs 0 --seed -1", "O", "small.toml", 1, reads=False),
    Place("capture small.toml --out x.pcapng", "x.pcapng", "small.toml", 3, reads=False),
    Place("trace small.toml --flow bulk.0 --out x.txt", "x.txt", "small.toml", 3, reads=False),
    Place("lab small.toml --export x.html --axis topology.rate=5Mbps", "x.html", "small.toml", 1, reads=False),
    Place("export A flows --to x.csv", "x.csv", "A", 3, reads=False),
    Place("export A flows --to x.parquet", "x.parquet", "A", 3, reads=False),
    Place("plot A queue --to x.svg", "x.svg", "A", 1, reads=False),
    Place("plot A queue --to x.pdf", "x.pdf", "A", 1, reads=False),
    Place("conform differs.pkt --captures out", "out", "differs.pkt", 2, reads=False),
    Place("report A", "A/report.html", "A", 1, reads=False),
]
PLACES = [*SCENARIOS, *CLASSES, *RESULTS, *WRITTEN]
#: Of real packets, which take real time and privileges: `live --replay` is what reads a file.
ELSEWHERE = {"live --out", "live --capture", "live --record", "gateway --capture", "conform --kernel"}
#: How a file is called in the help of an option or argument.
NAMES_A_FILE = re.compile(r"FILE|DIR|FOLDER|BUNDLE|mine\.py|CSV|file of your own")


def unknown(commands: list[dict[str, Any]]) -> list[str]:
    """Options and arguments that name a file, as the program declares them, and stand in no place."""
    found = []
    for c in commands:
        words = " ".join(c["words"])
        lines = [p.words.split() for p in PLACES if p.words.startswith(f"{words} ")]
        for p in c["params"]:
            name = p["option"] or p["name"]
            if p["flag"] or not NAMES_A_FILE.search(p["means"]) or f"{words} {name}" in ELSEWHERE:
                continue
            if not (any(name in line for line in lines) if p["option"] else lines):
                found.append(f"{words} {name}")
    return found


# ---------------------------------------------------------------------------------------------------------- kinds


@dataclass
class Put:
    """What is to be put, where, and what goes on until the line has ended."""

    at: Path
    good: bytes
    rng: random.Random
    base: Path
    #: Nothing may come: only Ctrl-C ends the wait.
    waits: bool = False
    ends: Callable[[], None] = lambda: None


def _fifo(p: Put) -> None:
    os.mkfifo(p.at)
    p.waits = True


def _fifo_held(p: Put) -> None:
    os.mkfifo(p.at)
    held = os.open(p.at, os.O_RDWR | os.O_NONBLOCK)
    p.waits, p.ends = True, lambda: os.close(held)


def _fed(p: Put, times: int) -> None:
    os.mkfifo(p.at)

    def feed() -> None:
        # Who reads may leave, or never come.
        with contextlib.suppress(OSError), open(p.at, "wb", buffering=0) as f:
            for _ in range(times):
                f.write(p.good or b"x" * 4096)

    # The pipe itself: the line may put a file in its place.
    own = os.open(p.at, os.O_PATH)
    thread = threading.Thread(target=feed, daemon=True)
    thread.start()

    def end() -> None:
        while thread.is_alive():
            with contextlib.suppress(OSError):
                os.close(os.open(f"/proc/self/fd/{own}", os.O_RDONLY | os.O_NONBLOCK))
            thread.join(0.01)
        os.close(own)

    # Where the file is written, nobody reads.
    p.waits, p.ends = True, end


def _socket(p: Put) -> None:
    with socket.socket(socket.AF_UNIX) as s, contextlib.chdir(p.at.parent):
        s.bind(p.at.name)


def _link(*targets: str) -> Callable[[Put], None]:
    return lambda p: p.at.symlink_to(p.rng.choice(targets))


def _of_bytes(change: Callable[[Put], bytes]) -> Callable[[Put], None]:
    def put(p: Put) -> None:
        p.at.write_bytes(change(p))

    return put


def _sparse(p: Put) -> None:
    with p.at.open("wb") as f:
        f.write(p.good[: p.rng.choice((0, 100, len(p.good)))])
        f.truncate(p.rng.choice((70_000_000, 300_000_000, 1_200_000_000, 3_000_000_000)))


def _long(p: Put) -> bytes:
    good = p.good or b"x = 1\n"
    return good * (p.rng.choice((300_000, 3_000_000)) // len(good) + 1)


def _flip(p: Put) -> bytes:
    data = bytearray(p.good or b"x")
    for _ in range(p.rng.choice((1, 1, 3, 30))):
        data[p.rng.randrange(len(data))] ^= 1 << p.rng.randrange(8)
    return bytes(data)


def _deep(p: Put) -> bytes:
    n = p.rng.choice((60, 1000, 100_000))
    kinds = ('{"a":' * n + "1" + "}" * n, "[" * n, "x = " + "[" * n + "]" * n, "a." * n + "b = 1", "x = " + "{a=" * n)
    more = ("x = " + "(" * n + ")" * n + "\n", "[" + "a." * n + "b]\n", p.good.decode("latin-1") + "\n" + "[" * n)
    return p.rng.choice((*kinds, *more)).encode("latin-1", "replace")


NUMBERS = ["1e999", "-1", "0", "NaN", "inf", "-0.0", "1e-400", "99999999999999999999", "0x7fffffffffffffff", "1e308"]
NUMBERS += ["4294967296", "2.5", "true", "null"]


def _numbers(p: Put) -> bytes:
    parts = re.split(rb"(\d[\d.]*)", p.good)
    for _ in range(p.rng.choice((1, 1, 2, 20))):
        if len(parts) > 1:
            parts[p.rng.randrange(1, len(parts), 2)] = p.rng.choice(NUMBERS).encode()
    return b"".join(parts)


ODD = [
    "",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "é" * 3000,
    "../../x",
    "/",
    "-",
    "=",
    '"',
    "'''",
    "{",
    "[[",
    "]",
    "\\",
    "%s",
    "\r",
]


def _words(p: Put) -> bytes:
    parts = re.split(r"([A-Za-z_][\w-]*)", p.good.decode("utf-8", "replace"))
    for _ in range(p.rng.choice((1, 1, 2, 10))):
        if len(parts) > 1:
            known = p.rng.choice(parts[1::2])
            parts[p.rng.randrange(1, len(parts), 2)] = p.rng.choice([*ODD, known])
    return "".join(parts).encode()


def _lines(p: Put) -> bytes:
    lines = p.good.splitlines(keepends=True) or [b"\n"]
    for _ in range(p.rng.choice((1, 2, 5))):
        i, j = p.rng.randrange(len(lines)), p.rng.randrange(len(lines))
        how = p.rng.randrange(4)
        if how == 0 and len(lines) > 1:
            del lines[i]
        elif how == 1:
            lines.insert(j, lines[i])
        elif how == 2:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i] = lines[i][: p.rng.randrange(len(lines[i]) + 1)]
    return b"".join(lines)


def _values(p: Put) -> bytes:
    """Another value, or none, somewhere in a document; a newer format."""
    try:
        made = json.loads(p.good)
    except ValueError:
        return re.sub(rb"format\s*=\s*\d+", b"format = 99", p.good) if b"format" in p.good else _words(p)
    if isinstance(made, dict) and "format" in made and p.rng.random() < 0.3:
        return json.dumps({**made, "format": p.rng.choice((2, 99, -1, "1", None, 1e300, [1]))}).encode()
    at = made
    while isinstance(at, dict | list) and at:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = p.rng.choice(keys)
        if p.rng.random() < 0.4 or not isinstance(at[key], dict | list) or not at[key]:
            if p.rng.random() < 0.3:
                del at[key]
            else:
                at[key] = p.rng.choice((None, 5, -1, 1e308, 10**30, "", "x", "é" * 999, [], {}, [[]], True, "../x"))
            break
        at = at[key]
    return json.dumps(made).encode()


def _another(p: Put) -> None:
    other = p.rng.choice([x for x in sorted(p.base.iterdir()) if x.name != p.at.name])
    (shutil.copytree if other.is_dir() else shutil.copy)(other, p.at)


def _archive(p: Put) -> None:
    made = io.BytesIO()
    kind = p.rng.choice(("zip", "many", "tar", "xz", "headers", "outside", "device", "twice"))
    if kind in ("zip", "many", "twice"):
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as z:
            for i in range({"zip": 1, "many": 20_000, "twice": 3}[kind]):
                name = "../../../bundle.json" if kind == "twice" else f"b/{i}/bundle.json"
                z.writestr(name, b"\0" * (300_000_000 if kind == "zip" else 10))
    else:
        with tarfile.open(fileobj=made, mode="w:xz" if kind == "xz" else "w:gz") as t:
            for i in range(30_000 if kind == "headers" else 1):
                info = tarfile.TarInfo(f"b{i}/bundle.json" if kind != "outside" else "/tmp/../bundle.json")
                info.size = 100_000_000 if kind in ("tar", "xz") else 0
                info.type = tarfile.CHRTYPE if kind == "device" else tarfile.REGTYPE
                t.addfile(info, io.BytesIO(b"\0" * info.size))
    data = made.getvalue()
    p.at.write_bytes(data if p.rng.random() < 0.8 else data[: p.rng.randrange(len(data))])


#: What is put, how often beside the others.
KINDS: dict[str, tuple[int, Callable[[Put], None]]] = {
    "pipe": (1, _fifo),
    "pipe that is held": (1, _fifo_held),
    "pipe that is fed": (1, lambda p: _fed(p, 1)),
    "pipe without an end": (1, lambda p: _fed(p, 1_000_000)),
    "device": (5, _link("/dev/zero", "/dev/full", "/dev/null", "/dev/urandom", "/dev/tty", "/proc/self/mem")),
    "link": (2, _link("loop", "not-there", "/proc", "/proc/self/cmdline", "a/b/../../x")),
    "socket": (1, _socket),
    "folder": (2, lambda p: (p.at / "inside").mkdir(parents=True)),
    "none": (2, lambda p: None),
    "empty": (2, _of_bytes(lambda p: b"")),
    "sparse": (2, _sparse),
    "long": (1, _of_bytes(_long)),
    "cut": (8, _of_bytes(lambda p: p.good[: p.rng.randrange(len(p.good) + 1)])),
    "flip": (14, _of_bytes(_flip)),
    "noise": (2, _of_bytes(lambda p: p.rng.randbytes(p.rng.choice((1, 30, 5000))))),
    "NUL": (2, _of_bytes(lambda p: p.good[: (n := p.rng.randrange(len(p.good) + 1))] + b"\0" * 9 + p.good[n:])),
    "latin-1": (2, _of_bytes(lambda p: p.good.replace(b"e", b"\xe9", p.rng.randrange(1, 5)))),
    "UTF-16": (1, _of_bytes(lambda p: p.good.decode("latin-1").encode("utf-16"))),
    "mark": (2, _of_bytes(lambda p: b"\xef\xbb\xbf" + p.good)),
    "long line": (1, _of_bytes(lambda p: p.good + b"x" * 3_000_000)),
    "deep": (3, _of_bytes(_deep)),
    "numbers": (12, _of_bytes(_numbers)),
    "words": (12, _of_bytes(_words)),
    "lines": (8, _of_bytes(_lines)),
    "values": (12, _of_bytes(_values)),
    "another": (5, _another),
    "archive": (1, _archive),
    "name": (4, lambda p: None),
    "as it is": (1, lambda p: p.at.write_bytes(p.good) if p.good else None),
}
#: Names of files that are none, or strange ones. Results may be written there, so that what leads out of the folders of
#: this harness takes no file.
NAMES = [
    "",
    ".",
    "..",
    "/proc",
    "-",
    "a" * 300,
    "x/" * 2100 + "y",
    "\u202ex",
    "\x1b[2J",
    "not/there",
    "%s",
    "~",
    "a\nb",
    "\udcff",
]
NAMES += [
    "--",
    "http://x/y.toml",
    "small.toml/x",
    "x" * 250 + ".toml",
    "nul\u0000"[:3],
    "/dev/stdin",
    "/dev/fd/99",
    "*",
]


def chosen(kind: str | None, rng: random.Random) -> str:
    return kind or rng.choices(list(KINDS), [n for n, _ in KINDS.values()])[0]
