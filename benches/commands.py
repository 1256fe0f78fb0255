"""What commands take around their runs: CPU, time, memory and size, a row for each, with the bar that is set for it.

    .venv/bin/python benches/commands.py                      all rows, some ten minutes
    BASE=../other .venv/bin/python benches/commands.py        beside another checkout, and the ratio to it
    .venv/bin/python benches/commands.py report check start   rows whose name has one of these words
    .venv/bin/python benches/commands.py --long               the rows of studies too, half an hour and more

BASE is a checkout in which `make build` has been run. The two take turns. Times hold for this machine and hour. Bars of
times are set for two idle cores; a busy machine misses them. CPU is user and system of all processes of the command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from typing import IO

HERE = Path(__file__).resolve().parents[1]
#: Rows that take less than this are the median of as many rounds.
SHORT_S, ROUNDS = 5.0, 3

HOME = "--down 250Mbps --up 40Mbps --rtt 20ms"
COMPARE = "compare --rate 50Mbps --rtt 40ms --flows 16"
GROUPS = (10_000, 100_000)
#: The link has a probe that does not change: the flows stay, and so do their queues.
STILL = """
duration = "20s"
link.line = { from = "a", to = "b", rate = "50Mbps", delay = "5ms", queue = { kind = "qsdrr" } }
flows.bulk = { count = 20, rtt = "40ms" }
"""


@dataclass
class Done:
    """A command that has ended: its lines, each with the time at which it came, seconds from the start."""

    elapsed_s: float
    cpu_s: float
    peak_mb: float
    out: list[tuple[float, str]]
    err: list[tuple[float, str]]

    def first(self, *texts: str) -> float:
        """When the first line with one of these texts came."""
        return min(at for at, line in self.out + self.err if any(text in line for text in texts))


class Version:
    """A checkout with its interpreter, and a folder to work in."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.python = str(root / ".venv/bin/python")
        self.env = {**os.environ, "COLUMNS": "80"}
        # Where it is set, no compiled files are written, and imports take half as long again.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.reference = root / "benches/reference.toml"
        # Before `home` the question was one of `compare`.
        self.home = f"{'home' if any((root / 'python/tailback/cli').rglob('home.py')) else 'compare'} {HOME}"
        for groups in GROUPS:
            line = 'link.line = { from = "a", to = "b", rate = "50Mbps", delay = "5ms", queue = "droptail" }\n'
            text = line + "".join(f'flows.g{i} = {{ rtt = "40ms" }}\n' for i in range(groups))
            (folder / f"groups-{groups}.toml").write_text('duration = "1s"\n' + text)

    def call(self, *words: str) -> Done:
        """A command of the interpreter."""
        began = time.monotonic()
        command = [self.python, *words]
        process = subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=PIPE, stderr=PIPE, text=True)
        lines: tuple[list[tuple[float, str]], ...] = ([], [])
        # One thread for each, so that no pipe fills.
        threads = [Thread(target=_read, args=(f, kept, began)) for f, kept in zip(_pipes(process), lines, strict=True)]
        for thread in threads:
            thread.start()
        _, status, used = os.wait4(process.pid, 0)
        took = time.monotonic() - began
        for thread in threads:
            thread.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said = "".join(line for _, line in lines[1])
            raise SystemExit(f"{' '.join(words)} in {self.root} ended with {process.returncode}:\n{said}")
        return Done(took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, *lines)

    def tailback(self, words: str, *more: str) -> Done:
        return self.call("-m", "tailback", *words.split(), *more)


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdout is not None and process.stderr is not None
    return process.stdout, process.stderr


def _read(stream: IO[str], kept: list[tuple[float, str]], began: float) -> None:
    # A child begins with the peak of its parent, which is therefore kept small.
    while line := stream.readline(65_536):
        if len(kept) < 1000:
            kept.append((time.monotonic() - began, line[:1000]))


@dataclass(frozen=True)
class Row:
    """What is measured and how; the bar is the least and the most that it may be."""

    name: str
    unit: str
    bar: tuple[float, float]
    value: Callable[[Version], float]
    #: It takes some minutes.
    long: bool = False


def at_most(bar: float) -> tuple[float, float]:
    return 0.0, bar


def new(v: Version) -> str:
    """The path of a folder that is empty."""
    return tempfile.mkdtemp(dir=v.folder)


def announced(v: Version) -> float:
    """The time that was announced, divided by the time from then to the end."""
    done = v.tailback(v.home)
    at, line = next((at, line) for at, line in done.err if "about" in line and "runs of" in line)
    found = re.search(r"about (?:(\d+) min)? ?(?:(\d+) s)?", line)
    assert found is not None, line
    return (60 * int(found[1] or 0) + int(found[2] or 0)) / (done.elapsed_s - at)


def many(v: Version, flows: int) -> str:
    """A run of a millisecond, so that what is around it counts."""
    return f"run {v.reference} --set duration=1ms --set flows.bulk.count={flows}"


def stored(v: Version, flows: int) -> str:
    """A folder with the results of such a run."""
    out = f"report-{flows}"
    if not (v.folder / out).exists():
        v.tailback(f"{many(v, flows)} --out {out}")
    return out


def report(v: Version, flows: int) -> float:
    return v.tailback(f"report {stored(v, flows)}").cpu_s


def page(v: Version) -> float:
    out = stored(v, 10_000)
    v.tailback(f"report {out}")
    return (v.folder / out / "report.html").stat().st_size / 1e6


#: A page made again in one process, so that nothing is imported or read for the first time.
AGAIN = """
import sys, time
from pathlib import Path
from tailback import report
report.write(sys.argv[1])
began = time.process_time()
report.write(sys.argv[1])
print((time.process_time() - began) / len(list(Path(sys.argv[1], "figures").glob("*.svg"))))
"""


def figure(v: Version) -> float:
    return float(v.call("-c", AGAIN, stored(v, 10)).out[-1][1])


def checked(v: Version, groups: int) -> float:
    return v.tailback(f"check groups-{groups}.toml").cpu_s


def growth(v: Version) -> float:
    few, most = (checked(v, groups) / groups for groups in GROUPS)
    return most / few


def start(v: Version, words: str) -> float:
    """CPU as a multiple of an interpreter that does nothing. The first calls write compiled files."""
    calls = [lambda: v.tailback(words), lambda: v.call("-c", "pass")]
    command, nothing = (statistics.median([call().cpu_s for _ in range(16)][1:]) for call in calls)
    return command / nothing


def picture(v: Version) -> float:
    """Seconds from the command to the first picture, for a client that takes no time to open."""
    import urllib.request

    from websockets.sync.client import connect

    began = time.monotonic()
    command = [v.python, "-m", "tailback", "lab", "--no-browser"]
    process = subprocess.Popen(command, cwd=v.folder, env=v.env, stdout=PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        base, _, token = process.stdout.readline().split()[-1].partition("#token=")
        asked = urllib.request.Request(f"{base}page", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as page:
            state = json.load(page)["hello"]["state"]
        host = base.removeprefix("http://").rstrip("/")
        with connect(f"ws://{host}/talk", origin=f"http://{host}", proxy=None, max_size=None) as socket:
            socket.send(token)
            socket.send(json.dumps({"do": "state", "input": 1, "mode": "full", "columns": 1280, "state": state}))
            assert b'"picture"' in socket.recv()
            return time.monotonic() - began
    finally:
        process.terminate()
        process.wait()


def recording(v: Version) -> float:
    """CPU of a run with a record of a probe that does not change, divided by that of a run without it."""
    record = 'record.still = { link = "line", probes = "flow_ratio", on_change = true }\n'
    for name, more in (("plain", ""), ("recorded", record)):
        (v.folder / f"{name}.toml").write_text(STILL + more)
    pairs = [[v.tailback(f"run {name}.toml").cpu_s for name in ("recorded", "plain")] for _ in range(7)]
    return statistics.median(more / plain for more, plain in pairs)


def storing(v: Version, key: str, scale: float) -> float:
    """What storing adds to a run, or what a result in memory takes, by `store.py` of this checkout."""
    command = [str(HERE / "benches/store.py"), "--child", "1000"]
    kept, on_disk = (json.loads(v.call(*command, where).out[-1][1]) for where in ("", new(v)))
    return scale * (on_disk[key] - kept[key] if key == "cpu_s" else kept[key])


def reproduce(v: Version, what: str) -> float:
    done = v.tailback(f"reproduce --quick --out {new(v)}")
    return done.elapsed_s / 60 if what == "elapsed" else done.cpu_s / 60


def growing(v: Version) -> float:
    """The growing flow set, by a C program of it: `growing.py` of this checkout."""
    done = v.call(str(HERE / "benches/growing.py"))
    return float(next(line for _, line in done.out if line.startswith("engine by program:")).split()[3])


ROWS = [
    Row("home: first rows printed", "s", at_most(2), lambda v: v.tailback(v.home).first("grade")),
    Row("home: CPU", "s", at_most(8), lambda v: v.tailback(v.home).cpu_s),
    Row("home: CPU with its page", "s", at_most(11), lambda v: v.tailback(f"{v.home} --out {new(v)}").cpu_s),
    Row("home: announced time by taken time", "1", (0.7, 1.4), announced),
    Row("compare: CPU", "s", at_most(12), lambda v: v.tailback(COMPARE).cpu_s),
    Row("report of 10,000 flows: CPU", "s", at_most(2), lambda v: report(v, 10_000)),
    Row("report of 10,000 flows by one of 10", "1", at_most(1.2), lambda v: report(v, 10_000) / report(v, 10)),
    Row("report of 10,000 flows: its page", "MB", at_most(0.5), page),
    Row("report: a figure", "s", at_most(0.3), figure),
    Row("recording a probe that does not change", "1", at_most(1.02), recording),
    Row("check of 100,000 groups: CPU", "s", at_most(5), lambda v: checked(v, GROUPS[1])),
    Row("check: a group of 100,000 by one of 10,000", "1", at_most(1.5), growth),
    Row("run --json of 100,000 flows: CPU", "s", at_most(1), lambda v: v.tailback(f"{many(v, 100_000)} --json").cpu_s),
    Row("run --json: memory", "MB", at_most(350), lambda v: v.tailback(f"{many(v, 100_000)} --json").peak_mb),
    Row("storing: CPU it adds to a run", "ms", at_most(0.4), lambda v: storing(v, "cpu_s", 1)),
    Row("storing: memory of a result in memory", "kB", at_most(40), lambda v: storing(v, "grew", 1e-6)),
    Row("start: --help", "of pass", at_most(4), lambda v: start(v, "--help")),
    Row("start: run first-run", "of pass", at_most(8), lambda v: start(v, "run examples/first-run.toml")),
    Row("start: check first-run", "of pass", at_most(6), lambda v: start(v, "check examples/first-run.toml")),
    Row("start: lab to its first picture", "s", at_most(0.35), picture),
    Row("growing flow set: by a program of its own", "1", at_most(12), growing, long=True),
    Row("reproduce --quick: time", "min", at_most(15), lambda v: reproduce(v, "elapsed"), long=True),
    Row("reproduce --quick: CPU", "min", at_most(27), lambda v: reproduce(v, "cpu"), long=True),
]


def measured(row: Row, versions: list[Version]) -> list[float]:
    """The value of each version, taken in turn; if a round is short, the median of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        rounds.append([row.value(v) for v in versions])
        if time.monotonic() - began > SHORT_S * len(versions):
            break
    return [statistics.median(values) for values in zip(*rounds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", default=[""], help="only rows whose name has one of these")
    parser.add_argument("--long", action="store_true", help="also rows that take many minutes")
    asked = parser.parse_args()
    rows = [r for r in ROWS if (asked.long or not r.long) and any(word in r.name for word in asked.words)]
    if not rows:
        parser.error("no row has one of these words; rows are:\n" + "\n".join(r.name for r in ROWS))
    base = os.environ.get("BASE")
    roots = [HERE, *([Path(base).resolve()] if base else [])]
    for root in roots:
        if not (root / ".venv/bin/tailback").exists():
            parser.error(f"{root} has no .venv/bin/tailback: run `make build` there")
    with tempfile.TemporaryDirectory(prefix="tailback-commands-") as folder:
        versions = []
        for i, root in enumerate(roots):
            (Path(folder) / str(i)).mkdir()
            versions.append(Version(root, Path(folder) / str(i)))
        print(f"{'':44}{'here':>9}{'base':>9}{'ratio':>8}   {'unit':8}{'bar':>12}")
        for row in rows:
            here, *others = measured(row, versions)
            beside = f"{others[0]:9.3g}{here / others[0]:8.2f}" if others else f"{'':17}"
            low, high = row.bar
            bar = f"{low:g} to {high:g}" if low else f"{high:g}"
            met = "met" if low <= here <= high else "MISSED"
            print(f"{row.name:44}{here:9.3g}{beside}   {row.unit:8}{bar:>12} {met}", flush=True)


if __name__ == "__main__":
    main()
