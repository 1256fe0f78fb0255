"""Kill -9 while results are stored, of a plan of 500 short runs and of a study.

Kills come at random moments, several in a row, and, by strace, just before chosen renames and removals. What was stored
is still there after each kill, and is not run again; at the end every file has the bytes of a folder that was never
interrupted. `TAILBACK_KILLS=200 pytest -s tests/python/test_kills.py` does more of it, and prints what it met.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import SHORT

import tailback as tb
from tailback import _core
from tailback.study.repeat import Repeat

KILLS = int(os.environ.get("TAILBACK_KILLS", "12"))
#: One in so many comes at a rename or a removal.
AT_CALLS = 4
CALLS = ("rename", "unlink", "rmdir", "unlinkat")
JOBS = 2


def plan(out: Path) -> None:
    tb.run(SHORT, replications=500, jobs=JOBS, out=out)


def study(out: Path) -> None:
    from tailback.study import load
    from tailback.study.reproduce import reproduce

    s = load.load("kantawala-2005")
    short = ["duration=2s", "warmup=1s"]
    fig = [s.experiment("fig-3.3")]
    reproduce(s, fig, Repeat(jobs=JOBS, seeds=5, overrides=short, figures=None), out, command="reproduce")


KINDS: dict[str, Callable[[Path], None]] = {"plan": plan, "study": study}


def begin(kind: str, out: Path) -> int:
    """The work in a process of its own; its number."""
    pid = os.fork()
    if pid == 0:
        try:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            KINDS[kind](out)
        finally:
            os._exit(0)
    return pid


def killed_after(kind: str, out: Path, seconds: float) -> bool:
    """Whether the kill came before the end."""
    pid = begin(kind, out)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def traced(kind: str, out: Path, *options: str) -> int:
    argv = ["strace", "-f", "-qq", *options, sys.executable, __file__, kind, str(out)]
    return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def calls_of(kind: str, out: Path) -> list[tuple[str, int]]:
    """Renames and removals inside the folder, as strace counts them: each call of the writing thread by its number."""
    log = out.with_suffix(".calls")
    assert traced(kind, out, "-o", str(log), "-e", f"trace={','.join(CALLS)}") == 0
    writer, numbers, found = "", dict.fromkeys(CALLS, 0), []
    for line in log.read_text(errors="replace").splitlines():
        thread, name, rest = re.match(r"(\d+)\s+(\w*)(.*)", line).groups()
        writer = writer or thread
        if thread == writer and name in numbers:
            numbers[name] += 1
            if str(out) in rest or "unlinkat" in name:
                found.append((name, numbers[name]))
    return found


def store(kind: str, out: Path) -> Path:
    return out / "runs" if kind == "study" else out


def stored(kind: str, out: Path) -> set[str]:
    where = store(kind, out)
    return {r["key"] for r in _core.status(where)["runs"] if r["stored"]} if where.is_dir() else set()


def bytes_of(out: Path) -> dict[str, object]:
    """Every file; the manifest without what tells of time and of earlier executions."""

    def content(p: Path) -> object:
        if p.name != "manifest.json":
            return p.read_bytes()
        said = {k: v for k, v in json.loads(p.read_text()).items() if k not in TIMES}
        return {**said, "runs": [{k: v for k, v in r.items() if k not in TIMES} for r in said["runs"]]}

    return {str(p.relative_to(out)): content(p) for p in sorted(out.rglob("*")) if p.is_file()}


TIMES = ("started", "finished", "elapsed_s", "call", "sum", "command", "kept", "cpu_s", "cost_s")


def spread(calls: list[tuple[str, int]], n: int, rng: random.Random) -> list[tuple[str, int]]:
    """So many of the calls, at even distances; all of them if there are fewer."""
    n, at = min(n, len(calls)), rng.random()
    return [calls[int((i + at) * len(calls) / n)] for i in range(n)]


@dataclass
class Attack:
    """One folder after the other, killed and resumed."""

    kind: str
    dir: Path
    rng: random.Random = field(default_factory=lambda: random.Random(11))
    kills: int = 0
    at_calls: int = 0
    #: Kills that found stored runs.
    met: int = 0
    resumed: int = 0

    def __post_init__(self) -> None:
        self.whole = self.dir / "whole"
        KINDS[self.kind](self.whole)
        self.keys = stored(self.kind, self.whole)
        self.want = bytes_of(self.whole)
        self.took = self.resume(self.fresh(), set())

    def fresh(self) -> Path:
        self.resumed += 1
        return self.dir / f"{self.resumed:04d}"

    def resume(self, out: Path, before: set[str]) -> float:
        """Go on to the end, and look at what came of it; the seconds it took."""
        began = time.monotonic()
        assert os.waitpid(begin(self.kind, out), 0)[1] == 0
        took = time.monotonic() - began
        found = bytes_of(out)
        assert list(found) == list(self.want)
        assert [n for n in found if found[n] != self.want[n]] == []
        runs = _core.status(store(self.kind, out))["runs"]
        assert {r["key"] for r in runs if r["kept"]} == before, "what was stored was run again"
        assert {r["key"] for r in runs if r["stored"]} == self.keys
        shutil.rmtree(out)
        return took

    def look(self, out: Path, before: set[str]) -> set[str]:
        """What a kill has left."""
        now = stored(self.kind, out)
        assert before <= now, "a kill lost stored runs"
        self.met += bool(now)
        for part in {c.parent for c in store(self.kind, out).glob("*/[0-9]*-*")}:
            numbers = {int(c.name[:6]) for c in part.iterdir() if not c.suffix}
            # Workers take runs in order, so no more chunks are open than there are threads.
            open_chunks = set(range(max(numbers, default=0))) - numbers
            assert len(open_chunks) <= JOBS or now == self.keys, f"{sorted(open_chunks)} are not stored"
        return now

    def at_random_moments(self, kills: int) -> None:
        end = self.kills + kills
        while self.kills < end:
            out, before = self.fresh(), set[str]()
            for _ in range(self.rng.randint(1, 4)):
                if self.kills == end or not killed_after(self.kind, out, self.rng.uniform(0, self.took)):
                    break
                self.kills += 1
                before = self.look(out, before)
            # One that has ended is resumed too, and does nothing.
            before = before if len(stored(self.kind, out)) < len(self.keys) else self.keys
            self.resume(out, before)

    def at_renames_and_removals(self, kills: int) -> None:
        calls = calls_of(self.kind, self.fresh())
        groups = [[c for c in calls if (c[0] == "rename") is renames] for renames in (True, False)]
        # Half of them renames and half removals, where there are so many, spread over the whole work.
        half = min(len(groups[1]), kills // 2)
        for name, number in spread(groups[0], kills - half, self.rng) + spread(groups[1], half, self.rng):
            out = self.fresh()
            inject = f"inject={name}:signal=SIGKILL:when={number}"
            traced(self.kind, out, "-o", os.devnull, "-e", f"trace={name}", "-e", inject)
            self.kills += 1
            self.at_calls += 1
            self.resume(out, self.look(out, set()))


@pytest.fixture(params=list(KINDS))
def attack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attack]:
    a = Attack(request.param, tmp_path)
    yield a
    print(f"\n{a.kind}: {a.kills} kills, {a.at_calls} of them at a rename or a removal; {a.met} met stored runs")


@pytest.mark.slow
def test_kills_at_random_moments(attack: Attack) -> None:
    attack.at_random_moments(KILLS - KILLS // AT_CALLS)
    assert attack.met > 0, "no kill met a stored run: this proves nothing"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace sets the kills")
def test_kills_at_renames_and_removals(attack: Attack) -> None:
    attack.at_renames_and_removals(max(KILLS // AT_CALLS, 4))
    assert attack.met > 0, "no kill met a stored run: this proves nothing"


if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]))
