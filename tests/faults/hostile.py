"""Put hostile files where files are named, and send hostile messages to the lab, many in one process.

    python tests/faults/hostile.py --tailback .venv/bin/tailback --draws 20000 --seed 1
    python tests/faults/hostile.py --tailback .venv/bin/tailback --seed 1 --only 1234      # one of them again

All draws are made in one process with 4 GB of address space, which is watched from outside: files of `hostile_files.py`
in each place where the program takes one, messages of `hostile_lab.py`, and changed dialogues for `conform`. What must
hold for each:

* it ends: within 20 s of CPU time, and where nothing comes, such as from a pipe, within a second of it after SIGINT;
* status 0, 1 or 2 (130 after SIGINT), one error with what to write instead, no traceback, no panic;
* nothing is left half-written: no `.partial`, no temporary folder, nothing new at status 2; what a line only reads has
  the bytes that it had;
* a message to the lab is answered in words of ours or stopped by the next one, and the server answers the next page;
* the process lives to the end, with the descriptors and threads that it had.

Options and arguments that name a file are read from the program: one that is in no place fails the run.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import hashlib
import json
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import drawn
import hostile_files as files
import hostile_lab as lab
from fuzz_commands import CPU_S, STOP_S, cpu_of, declared
from fuzz_commands import REMEDY as USUAL

MEMORY = 4_000_000_000
#: As in lines of commands, and of files.
REMEDY = re.compile(
    f"{USUAL.pattern}|\\b(pack|paths begin|correct|change|restore|bring|cut|copy|its classes are|may be something else"
    "|simulated|expected|do not hold|does not hold)\\b"
)
#: SIGINT comes so long after a line that waits has begun.
WAITS_S = 0.2
#: What is being written, or would be left by it.
UNFINISHED = (".partial", ".next", ".old", ".tmp")
KINDS = {"file": 70, "message": 20, "served": 2, "dialogue": 8}
MESSAGES_S, MOST_S = 0.1, 25.0


# ---------------------------------------------------------------------------------------------- inside tailback


class Worker:
    """Makes draws and tells of each, on a descriptor of its own: 1 and 2 are those of the lines."""

    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        self.base, self.cwd, self.tmp = a.work / "base", a.work / "cwd", a.work / "tmp"
        self.told = os.fdopen(os.dup(1), "w")
        self.wrong: list[str] = []
        self.about: dict[str, Any] = {}
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Where it stands when it is ended, for `--only`.
        faulthandler.enable(open(a.work / "stands", "w"))  # noqa: SIM115
        self.tmp.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(self.tmp)
        self.served: lab.Served | None = None

    def tell(self, **what: Any) -> None:
        print(json.dumps(what), file=self.told, flush=True)

    def run(self, args: list[str], given: bytes | None = None, stdin: Path | None = None) -> int:
        """A line in this process: its status; what it says is in `self.out` and `self.err`."""
        import tailback.cli

        streams = [self.a.work / name for name in ("in", "out", "err")]
        streams[0].write_bytes(given or b"")
        for name in streams[1:]:
            name.unlink(missing_ok=True)
        status = 99
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            # A shell that cannot open it, or is stopped while it waits, runs nothing.
            first = os.open(stdin or streams[0], os.O_RDONLY)
        except (OSError, KeyboardInterrupt):
            self.out = self.err = ""
            return 130
        try:
            for n, name in enumerate(streams):
                fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600) if n else first
                os.dup2(fd, n)
                os.close(fd)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.argv = ["tailback", *args]
            tailback.cli.main(args)
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 1
        except KeyboardInterrupt:
            # It came before the line had begun, or after its end.
            status = 130
        except BaseException:
            import traceback

            traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        # A pipe that stays open would keep who writes it.
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        self.out, self.err = (s.read_text(errors="replace") if s.exists() else "" for s in streams[1:])
        return status

    def prepare(self) -> None:
        """Good files of every kind, made by the program itself."""
        shutil.rmtree(self.base, ignore_errors=True)
        (self.base / "inc").mkdir(parents=True)
        os.chdir(self.base)
        for args in drawn.Files(self.base).write():
            self.must(args)
        import tailback
        from tailback.gym import policy

        for name, text in files.TEXTS.items():
            (self.base / name).write_text(text)
        reno = Path(tailback.__file__).parent / "examples" / "my_reno.py"
        shutil.copy(reno, self.base / "reno.py")
        policy.save("policy.json", [([[0, -0.5, -1, 0, 0, 0, 0]], [0.1])], 0.02)
        script = (files.PKT / "fast-retransmit.pkt").read_text()
        (self.base / "script.pkt").write_text(script)
        (self.base / "with.pkt").write_text("`./defaults.sh`\n" + script)
        shutil.make_archive("bundle", "zip", ".", "bundle")
        shutil.make_archive("bundle", "gztar", ".", "bundle")
        # What a line needs is imported now, where no SIGINT can come.
        for place in files.PLACES:
            self.look(place, "as it is", random.Random(1))
            self.tell(ready=place.words, status=self.status, err=self.err[-300:])

    def must(self, args: list[str]) -> None:
        if self.run(args) != 0:
            raise SystemExit(f"cannot prepare: tailback {shlex.join(args)}: {self.err[-500:]}")

    def fail(self, kind: str, more: str = "") -> None:
        self.wrong.append(f"{kind}: {more}" if more else kind)

    # --------------------------------------------------------------------------------------------------- files

    def look(self, place: files.Place, kind: str | None, rng: random.Random) -> None:
        """A line with something hostile where a file is named, and what came of it."""
        cwd = self.cwd
        os.chdir("/")
        shutil.rmtree(cwd, ignore_errors=True)
        cwd.mkdir()
        os.chdir(cwd)
        for name in place.copies.split():
            source = self.base / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, cwd / name)
        target = self.target(place, rng)
        kind = files.chosen(kind, rng)
        words = shlex.split(place.words)
        if kind == "name":
            name = rng.choice(files.NAMES)
            words = [w.replace(place.target, name) for w in words] if place.target in place.words else [*words, name]
        put = self.put(place, target, kind, rng)
        self.about |= {"line": shlex.join(words), "kind": kind, "target": str(target.relative_to(cwd))}
        if put.waits:
            self.tell(waits=True)
        before = self.state()
        try:
            if not place.given:
                self.status = self.run(words)
            elif put.at.is_dir():
                self.status, self.err = 0, ""
            elif put.at.is_file() and put.at.resolve().is_relative_to(cwd) and put.at.stat().st_size < 1 << 30:
                self.status = self.run(words, put.at.read_bytes())
            else:
                self.status = self.run(words, stdin=put.at)
        finally:
            put.ends()
        self.held(place, target, kind, before, put.waits)

    def target(self, place: files.Place, rng: random.Random) -> Path:
        if "*" not in place.target:
            return self.cwd / place.target
        there = sorted(p for p in self.cwd.glob(place.target.replace("**", "**/*")) if p.is_file())
        return rng.choice(there)

    def put(self, place: files.Place, target: Path, kind: str, rng: random.Random) -> files.Put:
        at = target if target.exists() else self.base / target.name
        good = at.read_bytes() if at.is_file() else b""
        put = files.Put(target, good, rng, self.base)
        # Where a file is written none is there, mostly; a name is of a file that is not touched.
        if kind == "name" or (kind == "as it is" and target.is_dir()):
            return put
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        files.KINDS[kind][1](put)
        return put

    def state(self) -> dict[str, str]:
        """Every file below the working folder, with what is in it."""
        found = {}
        for p in sorted(self.cwd.rglob("*")):
            if p.is_symlink() or not p.is_file():
                found[str(p)] = "other"
            else:
                size = p.stat().st_size
                found[str(p)] = f"{size}" if size > 4_000_000 else hashlib.sha1(p.read_bytes()).hexdigest()
        return found

    def held(self, place: files.Place, target: Path, kind: str, before: dict[str, str], waits: bool) -> None:
        after, err = self.state(), self.err
        if "Traceback (most recent call last)" in err or "panicked" in err or "please report" in err:
            self.fail("a traceback", err.strip()[-700:])
        elif self.status not in ((0, 1, 2, 130) if waits or place.given else (0, 1, 2)):
            self.fail(f"status {self.status}", err[-300:])
        elif self.status in (1, 2):
            self.said(err)
        lost = [n for n in before if n not in after or (place.reads and before[n] != after[n])]
        # What a line writes may take the place of what is no file.
        lost = [n for n in lost if place.reads or not Path(n).is_relative_to(target)]
        if lost and (place.reads or self.status == 2):
            self.fail("what was there is lost or changed", ", ".join(lost[:3]))
        new = [n for n in after if n not in before]
        # A table of a folder of results that waits for its place is taken, or made anew, by the next call.
        known = UNFINISHED if self.status != 1 else tuple(x for x in UNFINISHED if x != ".next")
        half = [n for n in new if n.endswith(known) or "tailback-" in Path(n).name]
        if half and self.status != 130:
            self.fail("unfinished files", ", ".join(half[:3]))
        elif new and self.status == 2 and not (place.words.startswith("conform") and "--captures" in place.words):
            self.fail("left behind by a line that is refused", ", ".join(new[:3]))
        left = sorted(x.name for x in self.tmp.iterdir())
        if left and self.status != 130:
            self.fail("left in the folder for temporary files", ", ".join(left[:3]))
        for name in left:
            shutil.rmtree(self.tmp / name, ignore_errors=True)

    def said(self, err: str) -> None:
        """One error, with a remedy."""
        said = [x for x in err.splitlines() if x.startswith(("error:", "Error:"))]
        if not said or (len(said) > 1 and err.count("help:") < len(said)):
            self.fail(f"{len(said)} errors", err[-400:])
        elif not REMEDY.search(err[err.index(said[0]) :]):
            self.fail("no remedy", err[-400:])

    # ------------------------------------------------------------------------------------------------- messages

    def message(self, rng: random.Random) -> None:
        texts = [lab.message(rng) for _ in range(rng.choice((1, 1, 1, 3)))]
        self.about |= {"line": f"{len(texts)} messages", "kind": "message", "target": texts[0][:500]}
        for wrong in lab.converse(texts, MESSAGES_S, MOST_S):
            self.fail("the lab", wrong)

    def at_server(self, rng: random.Random) -> None:
        self.about |= {"line": "a socket of the lab", "kind": "served", "target": ""}
        self.served = self.served or lab.Served()
        for wrong in self.served.talk(rng):
            self.fail("the lab's server", wrong)
        if not self.served.alive():
            self.fail("the lab's server", "it does not answer the next page")
            self.served = None

    def dialogue(self, rng: random.Random) -> None:
        kinds = ("numbers", "words", "lines", "flip", "cut", "NUL", "long line", "deep")
        words = rng.choice(("conform script.pkt", "conform reno --lines lines.toml --only lines/"))
        place = next(p for p in files.PLACES if p.words == words)
        self.look(place, rng.choice(kinds), rng)

    # ----------------------------------------------------------------------------------------------------- draws

    def draw(self, number: int) -> None:
        rng = random.Random(f"{self.a.seed} {number}")
        what = rng.choices(list(KINDS), list(KINDS.values()))[0]
        self.wrong, self.about, self.status, self.err = [], {"what": what}, None, ""
        self.tell(begin=number)
        if what == "file":
            place = rng.choices(files.PLACES, [p.weight for p in files.PLACES])[0]
            self.look(place, None, rng)
        elif what == "message":
            self.message(rng)
        elif what == "served":
            self.at_server(rng)
        else:
            self.dialogue(rng)
        self.tell(end=number, status=self.status, wrong=self.wrong, about=self.about, err=self.err[-400:])

    def all(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        self.prepare()
        began = self.held_now()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)
        for number in self.a.numbers:
            self.draw(number)
            if number % 50 == 0:
                # What is free is given back, so that what is held is what is told.
                trim(0)
        if self.served:
            self.served.end()
        self.tell(began=began, over=self.held_now())

    def held_now(self) -> dict[str, int]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "MB": pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000,
        }


def declare() -> None:
    """Print the commands, with what the help says of each option that may name a file."""
    import click

    import tailback.cli

    commands = declared(tailback.cli.cli)
    for c in commands:
        group: Any = tailback.cli.cli
        for word in c["words"]:
            group = group.get_command(click.Context(group), word)
        for p, param in zip(c["params"], group.params, strict=True):
            words = [param.human_readable_name if isinstance(param, click.Argument) else "", param.metavar or ""]
            p["means"] = " ".join([*words, getattr(param, "help", "") or ""])
    print(json.dumps(files.unknown(commands)))


# ---------------------------------------------------------------------------------------------------- from outside


class Watch:
    """Starts the process, watches each draw, and starts another one where it has died."""

    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        self.failures: dict[str, list[str]] = {}
        self.counts: Counter[str] = Counter()
        self.slow: list[tuple[float, str]] = []
        self.costs: Counter[str] = Counter()
        self.started = time.monotonic()
        self.next = 0
        self.processes = 0

    def fail(self, kind: str, told: str) -> None:
        if kind not in self.failures:
            print(f"found {kind}: {told}", flush=True)
        self.failures.setdefault(kind, []).append(told)

    def process(self) -> None:
        """One process, from the next draw to the last, or to its death."""
        self.processes += 1
        # Not a group of its own: Ctrl-C ends both.
        p = subprocess.Popen(
            [self.a.python, __file__, "--serve", f"{self.a.work}", f"{self.a.seed}", f"{self.next}", f"{self.last}"],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "COLUMNS": "100", "TAILBACK_STUDIES": str(self.a.work / "base/studies")},
        )
        assert p.stdout
        self.begun: int | None = None
        self.asked = None
        rest = b""
        while True:
            if select.select([p.stdout], [], [], 0.05)[0]:
                data = os.read(p.stdout.fileno(), 1 << 20)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.hear(json.loads(line), p.pid)
            self.patience(p)
        if p.wait() != 0 and not self.ended:
            self.fail(f"the process died: {p.returncode}", f"at draw {self.begun}")
            self.next = (self.next if self.begun is None else self.begun) + 1
        p.stdout.close()

    ended = False

    def hear(self, said: dict[str, Any], pid: int) -> None:
        now = time.monotonic()
        if "ready" in said:
            if said["status"] not in (0, 1, 2):
                self.fail("as it is", f"{said['ready']}: {said}")
            self.counts[f"prepared, status {said['status']}"] += 1
        elif "begin" in said:
            self.begun, self.at, self.cpu, self.asked = said["begin"], now, cpu_of(pid), None
        elif "waits" in said:
            self.asked = now + WAITS_S
        elif "end" in said:
            self.next, about = said["end"] + 1, said["about"]
            line = f"draw {said['end']}: {about['line']} [{about['kind']} as {about['target']}]"
            self.counts[about["what"]] += 1
            self.counts[f"status {said['status']}"] += said["status"] is not None
            self.costs[about["line"].split()[0]] += cpu_of(pid) - self.cpu
            self.slow = sorted([*self.slow, (cpu_of(pid) - self.cpu, line)], reverse=True)[:8]
            for wrong in said["wrong"]:
                kind = re.sub(r"[\d.]+|/\S+", "", wrong.split("\n")[0])[:70]
                self.fail(f"{about['line'].split()[0]}: {kind}", f"{line}\n    status {said['status']}: {wrong}")
            if self.next % 500 == 0:
                print(f"{self.next} draws, {now - self.started:.0f} s, {cpu_of(pid):.0f} CPU s", flush=True)
        elif "over" in said:
            self.ended = True
            self.counts.update({f"{k} at the end": v for k, v in said["over"].items()})
            self.counts.update({f"{k} at first": v for k, v in said["began"].items()})
            # Fonts stay open for some threads that have drawn.
            for what, most in (("descriptors", 100), ("threads", 10)):
                if said["over"][what] > said["began"][what] + most:
                    self.fail(f"{what} are left", f"{said}")

    def patience(self, p: subprocess.Popen[bytes]) -> None:
        if self.begun is None:
            return
        now = time.monotonic()
        if self.asked is not None and now > self.asked:
            # It waits, or it has ended without.
            self.asked, self.told_at, self.told_cpu = None, now, cpu_of(p.pid)
            os.kill(p.pid, signal.SIGINT)
            self.told = self.begun
        used = cpu_of(p.pid) - self.cpu
        why = ""
        if used > CPU_S + 5 * MESSAGES_S:
            why = f"more than {CPU_S:.0f} s of CPU time"
        elif getattr(self, "told", None) == self.begun and cpu_of(p.pid) - self.told_cpu > 3 * STOP_S:
            why = "goes on after SIGINT"
        elif now - self.at > 8 * CPU_S or (getattr(self, "told", None) == self.begun and now - self.told_at > 40):
            why = "waits without an end"
        if why:
            os.kill(p.pid, signal.SIGABRT if self.a.only is not None else signal.SIGKILL)
            there = sorted(
                f"{x.name} {x.stat(follow_symlinks=False).st_mode:o}" for x in (self.a.work / "cwd").iterdir()
            )
            self.fail(why, f"draw {self.begun}, again with --only {self.begun}; in {', '.join(there)}"[:600])

    def all(self) -> int:
        first, self.last = (0, self.a.draws) if self.a.only is None else (self.a.only, self.a.only + 1)
        self.next = first
        missing = subprocess.run([self.a.python, __file__, "--declare"], capture_output=True, text=True, check=True)
        for name in json.loads(missing.stdout):
            self.fail("names a file, and is in no place", name)
        while self.next < self.last and not self.ended:
            self.process()
        print(
            f"\n{self.next - first} draws in {len(files.PLACES)} places, seed {self.a.seed}, {self.processes} processes"
        )
        print(", ".join(f"{k} {v}" for k, v in sorted(self.counts.items())))
        print("CPU s: " + ", ".join(f"{k} {v:.0f}" for k, v in self.costs.most_common(8)))
        print("longest:\n" + "\n".join(f"    {s:.1f} CPU s: {line[:150]!r}" for s, line in self.slow))
        for kind, told in sorted(self.failures.items()):
            print(f"\nFAIL {kind} ({len(told)} times)\n    {min(told, key=len)}")
        took = time.monotonic() - self.started
        print(f"\n{'FAIL' if self.failures else 'PASS'}: {len(self.failures)} kinds, {took:.0f} s")
        return 1 if self.failures else 0


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tailback", default=shutil.which("tailback"), help="the executable")
    p.add_argument("--python", help="a Python that imports tailback; beside the executable without")
    p.add_argument("--draws", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", type=int, help="the number of a draw, made alone")
    p.add_argument("--work", help="a folder for what is written; a fresh one without, which is removed")
    a = p.parse_args()
    if not a.tailback:
        p.error("give --tailback")
    a.python = a.python or str(Path(os.path.abspath(a.tailback)).parent / "python")
    with tempfile.TemporaryDirectory(prefix="hostile-") as fresh:
        a.work = Path(a.work or fresh).resolve()
        a.work.mkdir(parents=True, exist_ok=True)
        return Watch(a).all()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        work, seed, first, last = sys.argv[2:6]
        asked = argparse.Namespace(work=Path(work), seed=int(seed), numbers=range(int(first), int(last)))
        Worker(asked).all()
    elif sys.argv[1:] == ["--declare"]:
        declare()
    else:
        sys.exit(main())
