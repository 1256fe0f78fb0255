"""Draw command lines of tailback, and see that each ends as it should.

    python tests/faults/fuzz_commands.py --tailback .venv/bin/tailback --runs 2000 --seed 1

Every command is drawn equally often, and every option of each at least twenty times where there are runs enough:
with values that fit, and with one or several that do not, such as files of the wrong kind. Runs are of 50 ms. What
must hold:

* status 0: each file that `--out`, `--to`, `--capture` or `--record` names is there and can be read, a folder of
  results with as many runs as were asked for; `--json` prints one document and nothing else;
* status 1 or 2: one error, with what to write instead; of a line that is refused (2) nothing is left behind;
* no traceback, no panic, no other status; and SIGINT ends a line within a second of CPU time.

Most lines run in processes that are forked from one that has tailback imported; `--real` of them run as a user runs
them. The commands and their options are read from the program itself, so that a new one is drawn too. Values are in
`drawn.py`.
"""

from __future__ import annotations

import argparse
import contextlib
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
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import drawn

#: A line may take so much CPU time, and after SIGINT so much.
CPU_S, STOP_S = 20.0, 1.0
#: What an error says besides what is wrong: what to write, name, give or do instead.
REMEDY = re.compile(
    r"[Dd]id you mean|help:|is not '\w+'|\b(give|write|name|add|leave|use|run|make|choose|remove|put|set|scale|check"
    r"|save|wait|repeat|say|compare|copy|convert|install|lower|raise|keep|start|end in|is one of|is not one of"
    r"|in the range|such as|there are|there is|it has|Try|tailback \w+|needs|allowed|valid (integer|float)|Missing"
    r"|takes|a rate|means)\b"
)


def cpu_of(pid: int) -> float:
    """CPU seconds a process has used."""
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


# ------------------------------------------------------------------------------------------------ inside tailback


def serve() -> None:
    """Answer jobs on standard input, each in a fork; run in the Python of tailback."""
    import click

    import tailback.cli.commands
    import tailback.runs.live.machine
    import tailback.show.plots
    import tailback.study.load
    import tailback.study.reproduce

    # Processes of other runs on this machine are none of ours to end.
    tailback.runs.live.machine.left_behind = lambda: []
    for name in tailback.cli.commands.COMMANDS:
        tailback.cli.cli.get_command(click.Context(tailback.cli.cli), name)
    for text in sys.stdin:
        job = json.loads(text)
        if job["do"] == "declare":
            answer: Any = declared(tailback.cli.cli)
        elif job["do"] == "run":
            answer = forked(job, lambda job=job: tailback.cli.main(job["args"]))
        else:
            answer = forked(job, lambda job=job: print(json.dumps(runs_in(job["dir"]))))
        print(json.dumps(answer), flush=True)


def declared(group: Any) -> list[dict[str, Any]]:
    """Every command without commands below it: its words, options and arguments."""
    import click

    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            found += [{**c, "words": [name, *c["words"]]} for c in declared(command)]
            continue
        params = []
        for p in command.params:
            is_option = isinstance(p, click.Option)
            params.append(
                {
                    "name": p.name,
                    "option": p.opts[0] if is_option else None,
                    "off": p.secondary_opts[0] if is_option and p.secondary_opts else None,
                    "flag": is_option and (p.is_flag or p.count),
                    "required": p.required,
                    "choices": list(getattr(p.type, "choices", [])),
                    "number": isinstance(p.type, click.types.IntParamType | click.types.FloatParamType),
                }
            )
        found.append({"words": [name], "params": params})
    return found


def runs_in(folder: str) -> Any:
    import tailback as tb

    if os.path.isfile(os.path.join(folder, "study.json")):
        return json.loads(Path(folder, "study.json").read_text())["runs"]
    if os.path.isfile(os.path.join(folder, "runs.parquet")):
        results = tb.read_results(folder)
        return len(results.runs) if len(results.links) else 0
    return sum(r["stored"] for r in tb._core.status(folder)["runs"])


def forked(job: dict[str, Any], what: Any) -> dict[str, Any]:
    """Run in a fork with its own folder and streams; how it ended and what it said."""
    # A signal that comes before the line has begun waits for it: nobody would hear it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(job["cwd"])
        for n, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY | os.O_CREAT), (2, os.O_WRONLY | os.O_CREAT)):
            fd = os.open(job["streams"][n], mode, 0o600)
            os.dup2(fd, n)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115
        status = 0
        try:
            sys.argv = ["tailback", *job.get("args", [])]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            what()
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 1
        except BaseException as e:
            import traceback

            frames = traceback.extract_tb(e.__traceback__)
            if isinstance(e, KeyboardInterrupt) and not any("/tailback/cli/" in f.filename for f in frames):
                # It came before the line had begun.
                status = 130
            else:
                traceback.print_exc()
                status = 99
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return watched(pid, job)


def watched(pid: int, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for a process, interrupt it if asked to, end it when it takes too long."""
    began, told, at = time.monotonic(), False, 0.0
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            break
        spent = cpu_of(pid)
        if job.get("stop_s") is not None and not told and time.monotonic() - began > job["stop_s"]:
            told, at = True, spent
            os.kill(pid, signal.SIGINT)
        if spent > job.get("cpu_s", CPU_S) or time.monotonic() - began > 10 * CPU_S:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    cpu = used.ru_utime + used.ru_stime
    return {"status": os.waitstatus_to_exitcode(status), "cpu_s": cpu, "after_s": cpu - at if told else None}


# --------------------------------------------------------------------------------------------------- from outside


class Fuzz:
    def __init__(self, a: argparse.Namespace) -> None:
        self.a, self.rng = a, random.Random(a.seed)
        self.failures: dict[str, list[str]] = {}
        self.counts: dict[str, int] = {}
        self.used: dict[tuple[str, str], int] = {}
        self.good: dict[str, int] = {}
        env = {**os.environ, "COLUMNS": "100", "TAILBACK_STUDIES": str(a.work / "files" / "studies")}
        self.env = env
        self.server = subprocess.Popen(
            [a.python, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        only = a.only.split(",") if a.only else None
        self.commands = [c for c in self.ask(do="declare") if only is None or c["words"][0] in only]

    def ask(self, **job: Any) -> Any:
        assert self.server.stdin and self.server.stdout
        print(json.dumps(job), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())

    def streams(self, given: str | None) -> list[str]:
        names = [str(self.a.work / n) for n in ("in", "out", "err")]
        Path(names[0]).write_text(given or "")
        for n in names[1:]:
            Path(n).unlink(missing_ok=True)
        return names

    def run(self, args: list[str], cwd: Path, real: bool = False, given: str | None = None, **how: Any) -> Any:
        streams = self.streams(given)
        if real:
            with open(streams[0]) as i, open(streams[1], "w") as o, open(streams[2], "w") as e:
                p = subprocess.Popen([self.a.tailback, *args], stdin=i, stdout=o, stderr=e, cwd=cwd, env=self.env)
            found = watched(p.pid, how)
        else:
            found = self.ask(do="run", args=args, cwd=str(cwd), streams=streams, **how)
        found["out"], found["err"] = (Path(n).read_text(errors="replace") for n in streams[1:])
        return found

    def runs_in(self, folder: Path) -> Any:
        streams = self.streams(None)
        self.ask(do="read", dir=str(folder), cwd=str(folder), streams=streams)
        with contextlib.suppress(ValueError):
            return json.loads(Path(streams[1]).read_text())
        return Path(streams[2]).read_text(errors="replace")[-200:]

    # ------------------------------------------------------------------------------------------------- lines

    def plan(self) -> list[drawn.Line]:
        """Every command equally often, every option of each often enough."""
        lines = []
        commands = self.commands
        for k, command in enumerate(commands):
            n = self.a.runs // len(commands) + (k < self.a.runs % len(commands))
            kinds = [self.rng.choices(("good", "bad", "wild"), (5, 4, 1))[0] for _ in range(n)]
            chosen: list[set[str]] = [set() for _ in range(n)]
            for p in command["params"]:
                often = min(n, max(24, round(0.3 * n)))
                for i in self.rng.sample(range(n), n if p["required"] else often):
                    chosen[i].add(p["name"])
            for kind, names in zip(kinds, chosen, strict=True):
                lines.append(drawn.line(command, names, kind, self.rng, self.files))
        self.rng.shuffle(lines)
        return lines

    def prepare(self) -> None:
        """The files that lines name: good ones, made by tailback itself, and others."""
        base = self.a.work / "files"
        shutil.rmtree(base, ignore_errors=True)
        base.mkdir(parents=True)
        self.files = drawn.Files(base)
        for args in self.files.write():
            found = self.run(args, base)
            if found["status"] != 0:
                raise SystemExit(f"cannot prepare: tailback {shlex.join(args)}: {found['err'][-500:]}")
        self.files.rest()

    def fail(self, kind: str, line: drawn.Line, found: dict[str, Any], why: str = "") -> None:
        told = (
            f"tailback {shlex.join(line.args)}\n    status {found['status']} {why}\n    {found['err'].strip()[-600:]}"
        )
        if kind not in self.failures:
            # The shortest example of each kind is told at the end.
            print(f"found {kind}: {told}", flush=True)
        self.failures.setdefault(kind, []).append(told)

    def one(self, number: int, line: drawn.Line, real: bool) -> None:
        """Run a line in a folder of its own and look at what came of it."""
        cwd = self.a.work / f"{number:05d}"
        shutil.rmtree(cwd, ignore_errors=True)
        cwd.mkdir()
        for folder in line.setup:
            copy = shutil.copytree if folder.is_dir() else shutil.copy
            copy(folder, cwd / folder.name)
        self.there = set(cwd.rglob("*"))
        before = snapshot(self.files.base)
        # A process of its own has Python to start first, which nobody can stop without its words.
        how = {"stop_s": line.stop_s + 0.6 * real} if line.stop_s is not None else {}
        found = self.run(line.args, cwd, real, line.given, **how)
        status, err = found["status"], found["err"]
        self.counts[f"status {status}"] = self.counts.get(f"status {status}", 0) + 1
        self.good[" ".join(line.words)] = self.good.get(" ".join(line.words), 0) + (status == 0)
        for p in line.used:
            self.used[" ".join(line.words), p] = self.used.get((" ".join(line.words), p), 0) + 1
        if "Traceback (most recent call last)" in err or "panicked" in err or "please report" in err:
            self.fail(f"{line.words[0]}: a traceback", line, found, err.strip().splitlines()[-1][:200])
        elif line.stop_s is not None and found["after_s"] is not None:
            self.counts["interrupted"] = self.counts.get("interrupted", 0) + 1
            if found["after_s"] > STOP_S or status not in (0, 1, 2, 130):
                self.fail(f"{line.words[0]}: SIGINT", line, found, f"{found['after_s']:.2f} CPU s after SIGINT")
        elif status not in (0, 1, 2):
            self.fail(f"{line.words[0]}: status {status}", line, found)
        elif status == 0:
            self.done(line, found, cwd)
        else:
            self.refused(line, found, cwd, before)
        shutil.rmtree(cwd, ignore_errors=True)

    def done(self, line: drawn.Line, found: dict[str, Any], cwd: Path) -> None:
        if "--json" in line.used:
            try:
                json.loads(found["out"])
            except ValueError:
                self.fail(f"{line.words[0]}: --json is not one document", line, found, found["out"][:200])
        for name, wanted in line.outputs:
            path = cwd / name
            if not path.exists():
                self.fail(f"{line.words[0]}: {name} is not there", line, found)
            elif path.is_file():
                if path.stat().st_size == 0:
                    self.fail(f"{line.words[0]}: {name} is empty", line, found)
            elif wanted is not None:
                there = self.runs_in(path)
                self.counts["folders read back"] = self.counts.get("folders read back", 0) + 1
                if there != wanted:
                    self.fail(f"{line.words[0]}: runs that were asked for", line, found, f"{there} of {wanted}")

    def refused(self, line: drawn.Line, found: dict[str, Any], cwd: Path, before: dict[str, Any]) -> None:
        status, err = found["status"], found["err"]
        said = [x for x in err.splitlines() if x.startswith(("error:", "Error:"))]
        # A scenario's mistakes are told together, each with its help.
        if not said or (len(said) > 1 and err.count("help:") < len(said)):
            self.fail(f"{line.words[0]}: {len(said)} errors", line, found)
        elif not REMEDY.search(err[err.index(said[0]) :]):
            self.fail(f"{line.words[0]}: no remedy", line, found)
        if status == 2:
            left = sorted(str(p.relative_to(cwd)) for p in cwd.rglob("*") if p not in self.there)
            if left:
                self.fail(f"{line.words[0]}: left behind", line, found, ", ".join(left[:5]))
            if found["out"].strip() and "--json" in line.used:
                self.fail(f"{line.words[0]}: refused, and printed", line, found, found["out"][:100])
        if [n for n in snapshot(self.files.base) if n not in before and n.endswith((".partial", ".next", "/lock"))]:
            self.fail(f"{line.words[0]}: unfinished files", line, found)

    def all(self) -> int:
        began = time.monotonic()
        self.prepare()
        lines = self.plan()
        real = set(self.rng.sample(range(len(lines)), min(self.a.real, len(lines))))
        for i, line in enumerate(lines):
            self.one(i, line, i in real and line.words != ["doctor"])
            if i % 200 == 199:
                print(f"{i + 1} lines, {time.monotonic() - began:.0f} s", flush=True)
        self.counts["real processes"] = len(real)
        least = min(
            (self.used.get((" ".join(c["words"]), p["option"]), 0), f"{' '.join(c['words'])} {p['option']}")
            for c in self.commands
            for p in c["params"]
            if p["option"]
        )
        print(f"{len(lines)} lines of {len(self.commands)} commands, seed {self.a.seed}; {self.counts}")
        print("with status 0: " + ", ".join(f"{k} {n}" for k, n in sorted(self.good.items())))
        print(f"the option drawn least: {least[1]}, {least[0]} times")
        for kind, told in sorted(self.failures.items()):
            print(f"\nFAIL {kind} ({len(told)} times)\n    {min(told, key=len)}")
        print(f"\n{'FAIL' if self.failures else 'PASS'}: {len(self.failures)} kinds of failures")
        assert self.server.stdin
        self.server.stdin.close()
        self.server.wait()
        return 1 if self.failures else 0


def snapshot(base: Path) -> dict[str, Any]:
    return {str(p): p.stat().st_size for p in base.rglob("*") if p.is_file()}


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tailback", default=shutil.which("tailback"), help="the executable")
    p.add_argument("--python", help="a Python that imports tailback; beside the executable without")
    p.add_argument("--runs", type=int, default=2000)
    p.add_argument("--real", type=int, help="lines in processes of their own; a tenth without")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="commands, with commas; all without")
    p.add_argument("--work", help="a folder for what is written; a fresh one without, which is removed")
    a = p.parse_args()
    if not a.tailback:
        p.error("give --tailback")
    a.tailback = os.path.abspath(a.tailback)
    a.python = a.python or str(Path(a.tailback).parent / "python")
    a.real = a.runs // 10 if a.real is None else a.real
    # Where a shell starts this in the background SIGINT is ignored, and the lines would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tailback-commands-") as fresh:
        a.work = Path(a.work or fresh).resolve()
        a.work.mkdir(parents=True, exist_ok=True)
        return Fuzz(a).all()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
