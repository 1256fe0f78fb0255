"""Kill -9 while a command writes, and see that every file named is the old one, none, or the new one, and whole.

    python tests/faults/kills.py --tailback .venv/bin/tailback --kills 200 --seed 1
    python tests/faults/kills.py --tailback .venv/bin/tailback --kills 50 --only run,sweep

Each command is killed so often, half of the times at a random moment of the time that it takes, and half just after
something new has appeared where it writes. Half of the kills meet files of an earlier run in the place. What must hold
after each:

* a file that is named is the old one byte for byte, absent if none was there, or the new one: the bytes of a run that
  nobody disturbed, or, where a date is in it, a file of its kind from beginning to end;
* what was stored in a folder is still there, `tailback status` reads it, and every table in it can be read;
* after some kills in a row the same command goes on to the end: every file has the bytes of an undisturbed run, and
  nothing else is left.

Options that name what is written are read from the program: one that no case has fails the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent))
import drawn
import hostile_files as files
from fuzz_commands import declared

#: A scenario whose run takes some tenths of a second.
LONGER = drawn.SCENARIO.replace('"50ms"', '"20s"').replace("count = 2", "count = 4")
SWEEP = drawn.SWEEP.replace("replications = 2", "replications = 25")
#: Kills of one folder, before it is finished and compared.
IN_A_ROW = 8
#: What tells of time and of earlier executions.
TIMES = ("started", "finished", "elapsed_s", "call", "sum", "command", "kept", "cpu_s", "cost_s", "seconds", "reused")


@dataclass(frozen=True)
class Case:
    """A command that writes: its words, what it writes, and what stands beside it."""

    words: str
    out: str
    copies: str
    #: A folder of results, which the same command goes on with.
    folder: bool = False

    @property
    def name(self) -> str:
        return self.words.split()[0]


TWO = "--rate 2Mbps --rtt 9ms --flows 2 --queue droptail,codel --traffic bulk --replications 2 --duration 1s"
CASES = [
    Case("run small.toml --replications 150 --out O", "O", "small.toml", True),
    Case("sweep sweep.toml --out O", "O", "small.toml sweep.toml", True),
    Case("sweep sweep.toml --out O --shard 1/2", "O", "small.toml sweep.toml", True),
    Case("sweep sweep.toml --out O --merge", "O", "small.toml sweep.toml", True),
    Case("reproduce studies/tiny --full --seeds 40 --out O", "O", "studies", True),
    Case(
        f"compare {TWO} --out O",
        "O",
        "",
        True,
    ),
    Case("demo --seed 5 --out O", "O", "", True),
    Case("report A", "A", "A", True),
    Case("capture long.toml --out O.pcapng", "O.pcapng", "long.toml"),
    Case("trace long.toml --flow bulk.0 --out O.txt", "O.txt", "long.toml"),
    Case("lab small.toml --export O.html --axis topology.rate=4Mbps,5Mbps,6Mbps", "O.html", "small.toml"),
    Case("export S series --to O.csv", "O.csv", "S"),
    Case("export S links --to O.parquet", "O.parquet", "S"),
    Case("plot S queue --to O.svg", "O.svg", "S"),
    Case("plot S links.utilisation --over buffer --to O.png", "O.png", "S"),
    Case("plot A queue --to O.pdf", "O.pdf", "A"),
    Case("conform differs.pkt --captures O", "O", "differs.pkt"),
]
#: Real packets: `tests/python/test_live.py` kills a run of them, and looks at what is left of its network.
ELSEWHERE = {"live --out", "live --capture", "live --record", "gateway --capture"}
WRITES = {"--out", "--to", "--export", "--capture", "--captures", "--record"}


def missing(commands: list[dict[str, Any]]) -> list[str]:
    """Options that name what is written, and are in no case."""
    found = []
    for c in commands:
        words = " ".join(c["words"])
        lines = [x.words.split() for x in CASES if x.words.startswith(words)]
        for p in c["params"]:
            name = f"{words} {p['option']}"
            if p["option"] in WRITES and name not in ELSEWHERE and not any(p["option"] in line for line in lines):
                found.append(name)
    return found


# ------------------------------------------------------------------------------------------------------ whole files


def _pcapng(data: bytes) -> bool:
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if length < 12 or data[at + length - 4 : at + length] != data[at + 4 : at + 8]:
            return False
        at += length
    return at == len(data) > 0


def _xml(data: bytes) -> bool:
    try:
        return ElementTree.fromstring(data) is not None
    except ElementTree.ParseError:
        return False


def _json(data: bytes) -> bool:
    try:
        return json.loads(data) is not None
    except ValueError:
        return False


#: From the beginning to the end, by the name of the file.
IS_WHOLE: dict[str, Callable[[bytes], bool]] = {
    ".png": lambda d: d[:4] == b"\x89PNG" and d[-8:-4] == b"IEND",
    ".svg": _xml,
    ".pdf": lambda d: d[:5] == b"%PDF-" and d.rstrip().endswith(b"%%EOF"),
    ".html": lambda d: d.rstrip().endswith(b"</html>"),
    ".pcapng": _pcapng,
    ".json": _json,
    ".parquet": lambda d: d[:4] == d[-4:] == b"PAR1",
}


def plain(name: str, data: bytes) -> Any:
    """What a file says, without what tells of time."""
    if not name.endswith(".json"):
        return re.sub(rb"\d{4}-\d\d-\d\d[T ][\d:+.Z]*|[\d.]+ (m?s|min)\b", b"", data)

    def bare(x: Any) -> Any:
        if isinstance(x, dict):
            # Of a bundle: digests of pages and manifests, which have dates in them.
            return {
                k: sorted(v) if k == "files" and isinstance(v, dict) else bare(v)
                for k, v in x.items()
                if k not in TIMES
            }
        return [bare(v) for v in x] if isinstance(x, list) else x

    return bare(json.loads(data))


def bytes_of(place: Path) -> dict[str, bytes]:
    """Every file of a place, by its name; nothing where nothing is."""
    if place.is_file():
        return {place.name: place.read_bytes()}
    return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


# ------------------------------------------------------------------------------------------------------- processes


def begin(words: str, cwd: Path) -> int:
    """The command in a fork of this process, which has all of it imported."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            os.chdir(cwd)
            nowhere = os.open(os.devnull, os.O_RDWR)
            said = os.open(cwd.parent / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for n, fd in enumerate((nowhere, nowhere, said)):
                os.dup2(fd, n)
            sys.argv = ["tailback", *shlex.split(words)]
            import tailback.cli

            tailback.cli.main(sys.argv[1:])
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 1
        finally:
            os._exit(status)
    return pid


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def names(cwd: Path) -> set[str]:
    return {os.path.join(at, f) for at, _, found in os.walk(cwd) for f in found}


@dataclass
class Attack:
    """One command, killed so often."""

    case: Case
    work: Path
    base: Path
    rng: random.Random
    kills: int = 0
    #: Kills that met something new.
    met: int = 0
    resumed: int = 0
    wrong: list[str] = field(default_factory=list)

    def fresh(self, old: bool) -> Path:
        cwd = self.work / "cwd"
        shutil.rmtree(cwd, ignore_errors=True)
        cwd.mkdir(parents=True)
        for name in self.case.copies.split():
            source = self.base / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, cwd / name)
        if "--merge" in self.case.words:
            shutil.copytree(self.work / "shards", cwd / self.case.out)
        elif old and (self.work / "old").exists():
            source = self.work / "old" / self.case.out
            shutil.rmtree(cwd / self.case.out, ignore_errors=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, cwd / self.case.out)
        return cwd

    def fail(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)

    def prepare(self) -> None:
        """What comes of it undisturbed, and the files of an earlier run that a later one meets."""
        if "--merge" in self.case.words:
            cwd = self.fresh(False) if (self.work / "shards").is_dir() else None
            for i in (1, 2):
                (self.work / "shards").parent.mkdir(parents=True, exist_ok=True)
                words = self.case.words.replace("--merge", f"--shard {i}/2")
                cwd = cwd or self._copied()
                self.must(words, cwd)
            assert cwd is not None
            shutil.copytree(cwd / self.case.out, self.work / "shards")
        cwd = self.fresh(False)
        began = time.monotonic()
        self.must(self.case.words, cwd)
        self.took = time.monotonic() - began
        self.want = bytes_of(cwd / self.case.out)
        assert self.want, f"{self.case.words} writes nothing"
        if not self.case.folder:
            (self.work / "old").mkdir()
            place = self.work / "old" / self.case.out
            if (cwd / self.case.out).is_dir():
                place.mkdir()
                for name in self.want:
                    (place / name).write_bytes(b"what was there")
            else:
                place.write_bytes(b"what was there")
        self.old = bytes_of(self.work / "old" / self.case.out)

    def _copied(self) -> Path:
        cwd = self.work / "cwd"
        cwd.mkdir(parents=True)
        for name in self.case.copies.split():
            shutil.copy(self.base / name, cwd / name)
        return cwd

    def must(self, words: str, cwd: Path) -> None:
        status = ended(begin(words, cwd))
        # A script that differs is no failure of the program.
        if status != (1 if "differs" in words else 0):
            raise SystemExit(f"tailback {words}: status {status}: {(cwd.parent / 'said').read_text()[-500:]}")

    def kill(self, cwd: Path) -> bool:
        """One kill; whether it came before the end."""
        there = names(cwd)
        pid = begin(self.case.words, cwd)
        if self.rng.random() < 0.5:
            time.sleep(self.rng.uniform(0, self.took))
        else:
            until = time.monotonic() + 3 * self.took
            while names(cwd) == there and time.monotonic() < until and not _is_over(pid):
                pass
            time.sleep(self.rng.choice((0, 0, 0.0005, 0.003, 0.02)))
        os.kill(pid, signal.SIGKILL)
        killed = ended(pid) == -signal.SIGKILL
        self.kills += killed
        self.met += killed and names(cwd) != there
        return killed

    def look(self, cwd: Path, old: dict[str, bytes]) -> None:
        """What a kill has left."""
        now = bytes_of(cwd / self.case.out)
        for name, data in now.items():
            if name not in self.want or data in (old.get(name), self.want[name]):
                continue
            whole = IS_WHOLE.get(Path(name).suffix, lambda d, name=name: plain(name, d) == plain(name, self.want[name]))
            if not whole(data):
                self.fail(f"{name} is neither the old one nor whole: {len(data)} bytes, {data[-30:]!r}")
        lost = [n for n in old if n not in now]
        if lost:
            self.fail(f"{lost[0]} was there, and is lost")

    def look_at_folder(self, cwd: Path, before: set[str]) -> set[str]:
        """What is stored in a folder that a kill has left; it must not have become less."""
        from tailback import _core

        place = cwd / self.case.out
        runs = place / "runs" if (place / "runs").is_dir() else place
        if not runs.is_dir():
            return before
        now = {r["key"] for r in _core.status(runs)["runs"] if r["stored"]}
        if not before <= now:
            self.fail(f"{len(before - now)} stored runs are lost")
        return now

    def resume(self, cwd: Path) -> None:
        """The same command to its end: as if nobody had disturbed it."""
        self.must(self.case.words, cwd)
        self.resumed += 1
        found = bytes_of(cwd / self.case.out)
        if list(found) != list(self.want):
            self.fail(f"after the end there are other files: {sorted(set(found) ^ set(self.want))[:5]}")
        for name in set(found) & set(self.want):
            if found[name] != self.want[name] and not self.same(name, found[name]):
                self.fail(f"{name} is another one after the end")
        litter = [n for n in names(cwd) if n.endswith((".partial", ".next", ".old"))]
        if litter:
            self.fail(f"left: {litter[:3]}")

    def same(self, name: str, data: bytes) -> bool:
        if Path(name).suffix in (".png", ".pdf", ".svg", ".html", ".md"):
            return IS_WHOLE.get(Path(name).suffix, bool)(data)
        return plain(name, data) == plain(name, self.want[name])

    def all(self, kills: int) -> None:
        tries = 0
        while self.kills < kills and tries < 20 * kills:
            old = self.rng.random() < 0.5 and bool(self.old)
            cwd, stored = self.fresh(old), set[str]()
            for _ in range(IN_A_ROW):
                tries += 1
                over = not self.kill(cwd)
                if self.case.folder:
                    stored = self.look_at_folder(cwd, stored)
                self.look(cwd, self.old if old else {})
                if over or self.kills >= kills:
                    break
            self.resume(cwd)


def _is_over(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def prepared(base: Path) -> None:
    """Good files, and everything imported that a command needs: by one call of each, in forks and then here."""
    import importlib
    import pkgutil

    import click

    import tailback
    import tailback.cli.commands

    base.mkdir(parents=True)
    for args in drawn.Files(base).write():
        pid = begin(shlex.join(args), base)
        if ended(pid) != 0:
            raise SystemExit(f"cannot prepare: tailback {shlex.join(args)}: {(base.parent / 'said').read_text()}")
    (base / "long.toml").write_text(LONGER)
    (base / "sweep.toml").write_text(SWEEP)
    (base / "differs.pkt").write_text(files.DIFFERS)
    for name in tailback.cli.commands.COMMANDS:
        tailback.cli.cli.get_command(click.Context(tailback.cli.cli), name)
    for wing in ("core", "show", "runs", "study", "apps"):
        for module in pkgutil.walk_packages([str(Path(tailback.__file__).parent / wing)], f"tailback.{wing}."):
            # What needs an extra that is not there is not needed here.
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue


def attack(a: argparse.Namespace) -> int:
    """In a Python that has tailback."""
    import click

    import tailback.cli.commands

    for name in tailback.cli.commands.COMMANDS:
        tailback.cli.cli.get_command(click.Context(tailback.cli.cli), name)
    absent = missing(declared(tailback.cli.cli))
    prepared(a.work / "base")
    failed = bool(absent)
    for name in absent:
        print(f"FAIL {name} names what is written, and is in no case")
    for i, case in enumerate(CASES):
        if a.only and case.name not in a.only.split(","):
            continue
        began = time.monotonic()
        one = Attack(case, a.work / f"{i:02d}", a.work / "base", random.Random(f"{a.seed} {case.words}"))
        one.prepare()
        one.all(a.kills)
        told = f"{one.kills} kills, {one.met} met something new, {one.resumed} resumed"
        print(f"{'FAIL' if one.wrong else 'ok'}  {case.words}: {told}; {time.monotonic() - began:.0f} s", flush=True)
        for wrong in one.wrong[:5]:
            print(f"    {wrong}", flush=True)
        failed |= bool(one.wrong) or one.kills < a.kills
        shutil.rmtree(a.work / f"{i:02d}")
    print(f"{'FAIL' if failed else 'PASS'}, seed {a.seed}")
    return int(failed)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tailback", default=shutil.which("tailback"), help="the executable")
    p.add_argument("--python", help="a Python that imports tailback; beside the executable without")
    p.add_argument("--kills", type=int, default=20, help="of each command")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="commands, with commas; all without")
    p.add_argument("--work", help="a folder for what is written; a fresh one without, which is removed")
    p.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.here:
        a.work = Path(a.work)
        return attack(a)
    if not a.tailback:
        p.error("give --tailback")
    python = a.python or str(Path(os.path.abspath(a.tailback)).parent / "python")
    with tempfile.TemporaryDirectory(prefix="tailback-kills-") as fresh:
        work = Path(a.work or fresh).resolve()
        shutil.rmtree(work / "base", ignore_errors=True)
        words = [python, __file__, "--here", "--kills", str(a.kills), "--seed", str(a.seed), "--work", str(work)]
        env = {**os.environ, "COLUMNS": "100", "TAILBACK_STUDIES": str(work / "base/studies")}
        return subprocess.run([*words, *(["--only", a.only] if a.only else [])], env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
