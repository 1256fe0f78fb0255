"""Random losses beside this machine's kernel: how many connections send the same segments in the same order, and when.

    sudo python3 validation/kernel_losses.py [--seed S] [--cases N] [--kernel reno,cubic,bbr] [--stamps on|off]
                                          [--together N] [--nudge US] [--out FILE] [--json]
    python3 validation/kernel_losses.py --again FILE [--show CASE]

Draws connections with losses of data and of acknowledgements, reordering, bursts of writes and rests, with and without
SACK, time stamps and delayed acknowledgements. Plays each to a connection of the kernel, many at once, and to a sender
of the profile `linux` in simulated time, over the path as it was: the simulated answers are as late as those that the
kernel got. A case is

* equal, if both send the same segments in the same order;
* a tie, if that becomes so when answers come up to `--nudge` microseconds sooner or later and our timers fire at ticks
  of 4 ms as the kernel's do (ours are exact otherwise), or when the kernel is asked again: what decides is then the
  jitter of the machine;
* different otherwise.

`--out` keeps what the kernel did. `--again` compares it with ours without asking the kernel, and `--show` prints what
both do in one case, beside each other.

The kernel is played in a network namespace of its own, which needs root or user namespaces (`tailback doctor`). As root
the player has real-time priority (SCHED_FIFO), so that its answers are not late; how late they were is printed.

Exit status 0: what is asked for (`BARS`) is met, 1: it is not, 2: wrong input or no kernel to ask.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from kernel_cases import CONTROLS, Case, draw
from kernel_differences import Verdict, compare, shown
from kernel_player import Asked, Played
from kernel_plays import Play

#: Shares of the cases: equal or a tie at least; later than 20 ms at most; and how many may be 150 ms late, ms.
BARS = {"same": 0.97, "late": 0.02}
LATE_MS, TOO_LATE_MS = 20.0, 150.0
#: How often the kernel plays a case again that came out different.
MORE_PLAYS = 2
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Recording(msgspec.Struct):
    """Cases, and each play of each on a kernel; the first one is compared, the others tell ties."""

    kernel: str
    cases: list[Case]
    plays: list[list[Play]]
    together: int
    seconds: float
    priority: str
    #: How late answers were, us: half of them, 99 of 100, all.
    lateness_us: tuple[int, int, int]


class Wrong(Exception):
    """Input that cannot be used, or no kernel that can be asked."""


def main() -> int:
    args = arguments()
    try:
        recording = read(args.again) if args.again else record(args)
        if args.out:
            write(args.out, recording)
        if args.show is not None:
            print(show(recording, args.show))
            return 0
    except Wrong as e:
        print(f"kernel_losses.py: {e}", file=sys.stderr)
        return 2
    verdicts = [
        compare(case, plays, 1000 * args.nudge) for case, plays in zip(recording.cases, recording.plays, strict=True)
    ]
    if args.json:
        print(json.dumps(as_dict(recording, verdicts), indent=1))
    else:
        print(head(recording))
        print(summary(verdicts))
    return 0 if met(verdicts) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare random losses with this machine's kernel.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--kernel", default=",".join(CONTROLS), metavar="NAMES", help="such as cubic, or reno,bbr")
    parser.add_argument(
        "--stamps", choices=("on", "off"), help="in all cases; without it half of them have time stamps"
    )
    parser.add_argument("--together", type=int, default=40, metavar="N", help="so many connections at once")
    parser.add_argument("--nudge", type=int, default=200, metavar="US", help="by how much answers are moved for a tie")
    parser.add_argument("--again", type=Path, metavar="FILE", help="compare what --out has kept")
    parser.add_argument("--show", type=int, metavar="CASE", help="print both sides of one case")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep what the kernel did; .gz compresses it")
    parser.add_argument("--json", action="store_true", help="print the verdicts as data")
    args = parser.parse_args()
    for name in ("cases", "together"):
        if not 1 <= getattr(args, name) <= 10_000:
            parser.error(f"--{name} {getattr(args, name)}: write 1 to 10000")
    if not 0 <= args.nudge <= 5000:
        parser.error(f"--nudge {args.nudge}: write 0 to 5000 microseconds")
    return args


def record(args: argparse.Namespace) -> Recording:
    """Ask the kernel."""
    controls = known(args.kernel)
    stamps = None if args.stamps is None else args.stamps == "on"
    cases = [draw(args.seed, number, controls, stamps) for number in range(args.cases)]
    played = ask(cases, args.together)
    plays = [[play] for play in played.plays]
    differ = [i for i, case in enumerate(cases) if compare(case, plays[i], 1000 * args.nudge).word == "differs"]
    for _ in range(MORE_PLAYS if differ else 0):
        for i, play in zip(differ, ask([cases[i] for i in differ], args.together).plays, strict=True):
            plays[i].append(play)
    late = played.lateness_us
    quantiles = (late[len(late) // 2], late[len(late) * 99 // 100], late[-1])
    kernel = f"{platform.system()} {platform.release()}"
    return Recording(kernel, cases, plays, args.together, played.seconds, played.priority, quantiles)


def known(text: str) -> tuple[str, ...]:
    """The controls that are asked for, if this kernel has them."""
    names = tuple(name.strip() for name in text.split(","))
    available = AVAILABLE.read_text(encoding="ascii").split() if AVAILABLE.exists() else []
    if missing := [name for name in names if name not in available]:
        there = f"it has {', '.join(available)}" if available else "this is no Linux"
        raise Wrong(f"--kernel {missing[0]}: this kernel has no congestion control {missing[0]!r}; {there}")
    if unknown := [name for name in names if name not in CONTROLS]:
        raise Wrong(f"--kernel {unknown[0]}: only {', '.join(CONTROLS)} are played beside ours")
    return names


def ask(cases: Sequence[Case], together: int) -> Played:
    """The player is a process of its own, since it leaves this network."""
    words = [sys.executable, str(Path(__file__).parent / "kernel_player.py")]
    asked = msgspec.json.encode(Asked(list(cases), together))
    done = subprocess.run(words, input=asked, capture_output=True, check=False)
    if done.returncode:
        why = done.stderr.decode().strip().rsplit("\n", 1)[-1] or f"it ended with status {done.returncode}"
        raise Wrong(f"this kernel cannot be asked: {why}; `tailback doctor` says what is missing")
    return msgspec.json.decode(done.stdout, type=Played)


def write(file: Path, recording: Recording) -> None:
    data = msgspec.json.encode(recording)
    try:
        file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)
    except OSError as e:
        raise Wrong(f"--out {file}: {e.strerror}") from e


def read(file: Path) -> Recording:
    try:
        data = file.read_bytes()
        return msgspec.json.decode(gzip.decompress(data) if file.suffix == ".gz" else data, type=Recording)
    except (OSError, EOFError, msgspec.DecodeError) as e:
        why = (e.strerror if isinstance(e, OSError) else "") or str(e)
        raise Wrong(f"--again {file}: {why}; give a file that --out has written") from e


def show(recording: Recording, number: int) -> str:
    for case, plays in zip(recording.cases, recording.plays, strict=True):
        if case.number == number:
            return shown(case, plays[0])
    raise Wrong(f"--show {number}: there are the cases {recording.cases[0].number} to {recording.cases[-1].number}")


def head(recording: Recording) -> str:
    half, most, all_of_them = (us / 1000 for us in recording.lateness_us)
    return (
        f"{len(recording.cases)} cases of seed {recording.cases[0].seed} on {recording.kernel}, "
        f"{recording.together} at once in {recording.seconds:.0f} s, {recording.priority}; answers were late by "
        f"{half:.2f} ms (half of them), {most:.2f} ms (99 of 100), {all_of_them:.2f} ms (at most)\n"
    )


Row = tuple[str, Callable[[Verdict], bool]]


def rows(verdicts: Sequence[Verdict]) -> list[Row]:
    """Groups of cases that the summary counts."""
    controls = sorted({v.case.control for v in verdicts})
    kinds = sorted({v.case.kind for v in verdicts})
    return [
        ("all", lambda v: True),
        *((name, lambda v, name=name: v.case.control == name) for name in controls),
        ("time stamps", lambda v: v.case.stamps),
        ("no time stamps", lambda v: not v.case.stamps),
        ("SACK", lambda v: v.case.sack),
        ("no SACK", lambda v: not v.case.sack),
        ("delayed ACKs", lambda v: v.case.delayed),
        *((kind, lambda v, kind=kind: v.case.kind == kind) for kind in kinds),
    ]


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    return {
        "cases": len(verdicts),
        **{word: sum(v.word == word for v in verdicts) for word in ("equal", "tie", "differs")},
        "late": sum(v.late_ms > LATE_MS for v in verdicts),
        "too late": sum(v.late_ms >= TOO_LATE_MS for v in verdicts),
        "early": sum(v.late_ms < -LATE_MS for v in verdicts),
    }


def met(verdicts: Sequence[Verdict]) -> bool:
    n = counts(verdicts)
    same, late = n["equal"] + n["tie"], n["late"]
    return same >= BARS["same"] * len(verdicts) and late <= BARS["late"] * len(verdicts) and not n["too late"]


def summary(verdicts: Sequence[Verdict]) -> str:
    from tailback.core.text.terminal import columns

    titles = ("", "cases", "equal", "tie", "differs", "late", "too late", "early")
    table: list[tuple[str, ...]] = [titles, ("", "", "", "", "", f"{LATE_MS:g} ms", f"{TOO_LATE_MS:g} ms", "20 ms")]
    for name, wanted in rows(verdicts):
        table.append((name, *(str(n) for n in counts([v for v in verdicts if wanted(v)]).values())))
    text = "\n".join(columns(table, right=range(1, 8)))
    listed = [v for v in verdicts if v.word != "equal" or v.late_ms > LATE_MS]
    found: list[tuple[str, ...]] = [("case", "", "kind", "", "ends", "first difference")]
    found += [(str(v.case.number), v.word, v.case.kind, v.case.options, v.ends, v.first) for v in listed]
    return text + ("\n\n" + "\n".join(columns(found)) if listed else "")


def as_dict(recording: Recording, verdicts: Sequence[Verdict]) -> dict[str, object]:
    return {
        "kernel": recording.kernel,
        "seed": recording.cases[0].seed,
        "together": recording.together,
        "seconds": recording.seconds,
        "lateness_us": recording.lateness_us,
        "counts": {name: counts([v for v in verdicts if wanted(v)]) for name, wanted in rows(verdicts)},
        "cases": [v.as_dict() for v in verdicts],
    }


if __name__ == "__main__":
    sys.exit(main())
