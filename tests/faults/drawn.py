"""Values for the options and arguments of `fuzz_commands.py`: what fits, what does not, and files of all sorts."""

from __future__ import annotations

import random
import shutil
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCENARIO = """\
name = "small"
duration = "50ms"
topology = { kind = "dumbbell", rate = "5Mbps", delay = "1ms", queue = { kind = "red", buffer = "40 packets" } }

[flows.bulk]
count = 2
rtt = ["10ms", "20ms"]
start = { kind = "uniform", to = "5ms" }

[record.queue]
link = "bottleneck"
probes = ["queue"]
every = "1ms"
"""
SWEEP = """\
scenario = "small.toml"
replications = 2
compare = { axis = "queue", against = "droptail" }

[axis.queue]
paths = ["topology.queue.kind"]
values = ["droptail", "codel"]

[axis.buffer]
paths = ["topology.queue.buffer"]
unit = "packets"
values = [20, 40]
"""
STUDY = {
    "study.toml": 'id = "tiny"\ntitle = "Two queues"\ncitation = "None, 2020"\n',
    "line.toml": SCENARIO,
    "experiments.toml": """\
[discipline.red]
title = "RED"
queue = { kind = "red", buffer = "40 packets" }

[discipline.tail]
title = "drop-tail"
queue = { kind = "droptail", buffer = "40 packets" }

[runs.both]
scenario = "line.toml"
seeds = { quick = 1, full = 2 }
axis.queue = { disciplines = ["red", "tail"], paths = ["topology.queue"] }

[[experiment]]
id = "E1"
item = "figure 1"
title = "The line in use"
runs = "both"
output = [{ kind = "table", measures = ["utilisation"], caption = "In use" }]
""",
}
#: Folders and runs in them: of the small scenario, of another queue, of the sweep, of the study.
REPLICATIONS, SWEPT, STUDIED = 3, 8, {"quick": 2, "full": 4}


@dataclass
class Line:
    """A command line, and what must be there when it ends with status 0."""

    words: list[str]
    args: list[str]
    used: set[str]
    #: Names in the working folder; for a folder of results how many runs it has, if that is known.
    outputs: list[tuple[str, int | None]] = field(default_factory=list)
    #: Folders that are copied into the working folder first, as the command writes into them.
    setup: list[Path] = field(default_factory=list)
    given: str | None = None
    #: SIGINT after so many seconds.
    stop_s: float | None = None


class Files:
    """What lines can name."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def write(self) -> Iterator[list[str]]:
        """Write the texts, and say what tailback has to make."""
        b = self.base
        (b / "small.toml").write_text(SCENARIO)
        (b / "sweep.toml").write_text(SWEEP)
        (b / "studies" / "tiny").mkdir(parents=True)
        for name, text in STUDY.items():
            (b / "studies" / "tiny" / name).write_text(text)
        run = ["run", "small.toml", "--replications", str(REPLICATIONS)]
        yield [*run, "--out", "A"]
        yield [*run, "--out", "B", "--set", "topology.queue.kind=droptail"]
        yield ["sweep", "sweep.toml", "--out", "S"]
        yield ["reproduce", "tiny", "--out", "bundle"]

    def rest(self) -> None:
        """Files of the wrong kind."""
        b = self.base
        (b / "small.json").write_text(
            '{"duration": "50ms", "topology": {"kind": "dumbbell", "rate": "5Mbps", "delay": "1ms",'
            ' "queue": "codel"}, "flows": {"bulk": {"count": 2}}}'
        )
        chunk = b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
        png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
        (b / "picture.toml").write_bytes(png * 50)
        (b / "empty.toml").write_text("")
        (b / "latin.toml").write_bytes(b'name = "\xfcnicode"\nduration = "1s"\n')
        (b / "deep.json").write_text('{"a":' * 5000 + "1" + "}" * 5000)
        (b / "table.csv").write_text("a,b\n1,2\n")
        (b / "long.toml").write_text("x = 1 # " + "y" * 200_000 + "\n")
        (b / "none").mkdir()
        shutil.copy(b / "A" / "flows.parquet", b / "flows.parquet")
        shutil.copytree(b / "A", b / "damaged")
        victim = b / "damaged" / "links.parquet"
        data = bytearray(victim.read_bytes())
        data[len(data) // 3] ^= 4
        victim.write_bytes(bytes(data))
        shutil.copytree(b / "A", b / "headless")
        (b / "headless" / "runs.parquet").unlink()
        for name, text in (("climbing", "../../x"), ("unnamed", ""), ("rooted", "/tmp/x")):
            shutil.copytree(b / "studies" / "tiny", b / name)
            (b / name / "study.toml").write_text(STUDY["study.toml"].replace('"tiny"', f'"{text}"'))

    def __call__(self, name: str) -> str:
        return str(self.base / name)


WRONG_FILES = """
small.toml small.json sweep.toml studies studies/tiny/study.toml studies/tiny/experiments.toml A A/manifest.json S
bundle bundle/bundle.json bundle/runs none picture.toml empty.toml latin.toml deep.json table.csv long.toml
flows.parquet damaged headless climbing unnamed rooted not-there.toml not/there
""".split()  # noqa: SIM905 - a list would be a page
TEXTS = [
    "",
    "nothing",
    "-",
    "..",
    "../../x",
    "\u202ex",
    "a" * 300,
    "5",
    "{",
    "[1",
    "=",
    ",",
    "a=b",
    "%s",
    "0",
    "--",
    "NaN",
]
NUMBERS = ["x", "-1", "", "1e99", "99999999999999999999", "nan", "0.5", "0x10", " "]
QUANTITIES = ["fast", "5", "-1Mbps", "1e400bps", "", "0", "nan", "10 packets", "1KB", "1s"]
SETS = [
    "x",
    "=",
    "a.b=c",
    "flows.bulk.count=many",
    "topology.queue=RED/RIO",
    "topology.queue.buffer=",
    "duration=-1s",
    "link.nothing.rate=1Mbps",
    "topology.queue={ kind = ",
    "flows.bulk.rtt[0]=1s",
    "topology.queue.kind=rde",
]
GOOD_SETS = [
    "duration=40ms",
    "topology.rate=3Mbps",
    "topology.queue=fq_codel",
    "topology.queue.kind=droptail",
    "flows.bulk.count=3",
]

#: Values that fit, by option or argument, and where it matters with the command in front. `@` is a file of ours.
GOOD: dict[str, list[str]] = {
    "file": ["@small.toml", "@small.toml", "@small.json", "-"],
    "scenario": ["@small.toml", "@small.json"],
    "sweep file": ["@sweep.toml"],
    "--set": GOOD_SETS,
    "--seed": ["1", "7", "123456"],
    "--replications": ["1", "2", "3"],
    "--jobs": ["0", "1", "2"],
    "--out": ["out", "deep/out"],
    "capture --out": ["x.pcapng"],
    "trace --out": ["x.txt"],
    "--link": ["bottleneck"],
    "--flow": ["bulk.0", "bulk.1"],
    "predict redn --flow": ["10Mbps,200ms", "12x1Mbps,30ms"],
    "what": ["@studies/tiny", "@studies/tiny/E1", "tiny", "tiny/e1"],
    "plot what": ["queue", "goodput", "links.utilisation"],
    "--seeds": ["1", "2"],
    "--shard": ["1/2", "2/2"],
    "--discipline": ["red=droptail", 'tail={ kind = "codel" }'],
    "--shards": ["4"],
    "--cpus": ["2"],
    "--emit": ["slurm"],
    "bundle": ["@bundle"],
    "--study": ["tiny"],
    "--sample": ["1"],
    "--rate": ["10Mbps", "2Mbps"],
    "--rtt": ["1ms"],
    "compare --rtt": ["1ms", "1ms,2ms"],
    "compare --fabric": ["leaf-spine", "fat-tree"],
    "compare --load": ["0.3"],
    "--flows": ["2", "10"],
    "--down": ["2Mbps"],
    "--up": ["1Mbps"],
    "--hosts": ["3", "5"],
    "--modem": ["100ms", "50ms,1s"],
    "--share": ["90%", "95%,80%"],
    "--varies": ["evening"],
    "home --link": ["docsis", "vdsl"],
    "home --traffic": ["bulk", "upload,game"],
    "home --senders": ["cubic"],
    "home --queue": ["cake", "fq_codel"],
    "home --duration": ["45s"],
    "predict allocation --flows": ["bulk"],
    "--buffer": ["50 packets", "60KB"],
    "--traffic": ["bulk", "bulk,web", "bulk,unresponsive"],
    "--senders": ["cubic", "reno,TcpCubic"],
    "--queue": ["droptail,codel", "fq_codel,pie", '{ kind = "red", ecn = true },droptail'],
    "gateway --queue": ["codel", "fq_codel"],
    "--packet": ["1500B", "576B"],
    "--duration": ["50ms", "100ms"],
    "dir": ["@A", "@S", "@bundle", "@damaged"],
    "folder": ["@A", "@S"],
    "other": ["@B", "@A"],
    "--across": ["queue=droptail", "buffer=20 packets"],
    "--column": ["utilisation", "goodput_bps_mean"],
    "table": ["links", "flows", "runs", "series"],
    "export --to": ["x.csv", "x.parquet"],
    "plot --to": ["x.png", "x.svg"],
    "--where": ["queue=codel", "seed=1"],
    "--over": ["buffer", "queue"],
    "name": ["red", "fq_codel", "traffic", "ns2", "RED/RIO"],
    "--hit-share": ["0.5", "0.9"],
    "--queues": ["100"],
    "--groups": ["1000"],
    "--filter-bits": ["50"],
    "--counter-bits": ["8"],
    "--delay": ["15ms"],
    "--probability": ["0.1"],
    "--headroom": ["1.2"],
    "--depth": ["5"],
    "--congestion": ["cubic"],
    "--ecn": ["on", "off"],
    "--pacing": ["10Mbps"],
    "--iperf3": ["bulk"],
    "--capture": ["x.pcapng"],
    "--record": ["x.txt"],
    "--replay": ["@table.csv"],
    "near": ["nothing-here"],
    "far": ["nothing-there"],
    "--mtu": ["1500"],
    "--seconds": ["0.1"],
    "--dask": ["tcp://127.0.0.1:1"],
}
FILES = {
    "file",
    "scenario",
    "bundle",
    "dir",
    "folder",
    "other",
    "what",
    "--out",
    "--to",
    "--replay",
    "--record",
    "--capture",
}


def _good(command: str, name: str, rng: random.Random) -> str:
    if command == "sweep" and name == "file":
        name = "sweep file"
    values = GOOD.get(f"{command} {name}") or GOOD.get(name) or ["1"]
    return rng.choice(values)


def _bad(name: str, param: dict[str, Any], rng: random.Random) -> str:
    if name in FILES:
        return rng.choice(["@" + n for n in WRONG_FILES] + ["/dev/null", "/proc/nothing/x", "", "-"])
    if param["number"]:
        return rng.choice(NUMBERS)
    if name == "--set":
        return rng.choice(SETS)
    return rng.choice([*QUANTITIES, *TEXTS])


def line(command: dict[str, Any], names: set[str], kind: str, rng: random.Random, files: Files) -> Line:
    """A line with these options: all values fit, or one does not (`bad`), or any (`wild`)."""
    words = " ".join(command["words"])
    params = [p for p in command["params"] if p["name"] in names or (p["option"] is None and rng.random() < 0.8)]
    params = [p for p in params if not (p["required"] and kind != "good" and rng.random() < 0.04)]
    # Without a study all of them would be run.
    if words == "reproduce" and not any(p["name"] == "what" for p in params):
        params += [p for p in command["params"] if p["name"] in ("what", "list_")]
    valued = [p for p in params if not p["flag"]]
    victim = rng.choice(valued)["name"] if valued and kind == "bad" else None
    made = Line(command["words"], [], set())
    arguments: list[str] = []
    options: list[list[str]] = []
    values: dict[str, str] = {}
    for p in params:
        name = p["option"] or p["name"]
        made.used.add(name)
        if p["flag"]:
            options.append([p["off"] if p["off"] and rng.random() < 0.5 else name])
            values[name] = ""
            continue
        bad = p["name"] == victim or (kind == "wild" and rng.random() < 0.5)
        if p["choices"] and not bad:
            value = rng.choice(p["choices"])
        else:
            value = _bad(name, p, rng) if bad else _good(words, name, rng)
        values[name] = value
        if value.startswith("@"):
            value = _file(value[1:], name, words, made, files)
        if p["option"]:
            options.append([name, value] if rng.random() < 0.7 or not name.startswith("--") else [f"{name}={value}"])
        else:
            arguments.append(value)
    if kind == "wild" and rng.random() < 0.3:
        options.append([rng.choice(["--nothing", "-x", "extra", "--set", "--jsno"])])
    rng.shuffle(options)
    after = rng.random() < 0.5
    flat = [x for o in options for x in o]
    # A value that looks like an option is one unless it stands behind `--`.
    given = ["--", *arguments] if after and arguments else arguments
    made.args = [*command["words"], *(flat + given if after else given + flat)]
    if values.get("file") == "-":
        made.given = SWEEP if rng.random() < 0.1 else SCENARIO
    if words in ("run", "sweep", "capture", "trace") and rng.random() < 0.1:
        made.args = [*command["words"], "--set", "duration=2000s", *made.args[len(command["words"]) :]]
        made.stop_s = rng.uniform(0, 0.4)
    made.outputs = list(_outputs(words, values))
    return made


def _file(name: str, option: str, words: str, made: Line, files: Files) -> str:
    """A file of ours; a copy in the working folder where the command may write into it."""
    folder = name.split("/")[0]
    written = words in ("report", "plot") and option in ("folder", "other")
    written |= option in ("--out", "--to", "--record", "--capture")
    if not written or not (files.base / folder).exists():
        return files(name)
    if files.base / folder not in made.setup:
        made.setup.append(files.base / folder)
    return name


def _outputs(words: str, values: dict[str, str]) -> Iterator[tuple[str, int | None]]:
    """What is named by `--out` and its like, and how many runs it must have."""
    if values.keys() & {"--dry-run", "--emit"}:
        # They say what would be done there.
        return
    for option in ("--out", "--to", "--capture", "--record"):
        name = values.get(option, "")
        # Where something is there already, its runs are there beside the new ones.
        if name and not name.startswith(("@", "/")):
            yield name, _asked(words, values) if option == "--out" else None


def _asked(words: str, values: dict[str, str]) -> int | None:
    """How many runs a folder of results must have, where the line says so."""
    times = values.get("--replications", "5" if words == "compare" else "1")
    if words in ("run", "live"):
        return int(times) if times.isdecimal() else None
    if words == "sweep":
        whole = not values.keys() & {"--shard", "--merge", "--dry-run", "--emit", "--dask"}
        return SWEPT if whole and values.get("file") == "@sweep.toml" else None
    if words == "compare":
        loads = 2 if "unresponsive" in values.get("--traffic", "unresponsive") else 1
        return 2 * loads * int(times) if values.get("--queue") in GOOD["--queue"] and times.isdecimal() else None
    if words == "reproduce" and not values.keys() & {"--shard", "--seeds", "--list", "--discipline"}:
        return None if "--full" in values else STUDIED["quick"]
    return None
