"""The lines of `tailback conform` put to smoltcp, and what fails each: a table.

Exit status 1 if others fail than those that are known to, or if a line that holds is failed by no mutant. Started in
the folder `stacks`: python smoltcp/lines.py
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.apps.conformance import packets
from tailback.apps.conformance.dialogue import PAYLOAD, NoState
from tailback.apps.conformance.lines import Dialogue, installed, read
from tailback.apps.conformance.ours import OPENING_NS
from tailback.apps.conformance.receiver import GivenAck, SentSegment
from tailback.apps.conformance.run import try_line

OWN, PEER, FIRST_PEER = "10.0.0.1", "10.0.0.2", 1_000_000
#: For a sender that writes without end.
MUCH = 1 << 19
#: Parameters of `tcp` that can be told to smoltcp, or that it has.
TOLD = {"connection", "variant"}
CONTROLS = ("reno", "cubic")
#: What fails with version 0.13.1, and the reason.
NO_WINDOW = "sends what the receiver's window allows"
ALL_AGAIN = "sends all again that is outstanding"
KNOWN = {
    "windows/congestion-window": NO_WINDOW,
    "rfc5681/fast-retransmit": ALL_AGAIN,
    "rfc6298/earliest-segment-first": ALL_AGAIN,
    "rfc6582/a-partial-ack-repairs-the-next": ALL_AGAIN,
    "rfc6582/no-fast-retransmit-after-a-timeout": ALL_AGAIN,
}


@dataclass(frozen=True)
class Mutant:
    """smoltcp with one thing changed from outside."""

    #: So many times as fast.
    clock: int = 1
    #: So many copies of each acknowledgement.
    copies: int = 1
    #: Windows are taken for so many times as large.
    window: int = 1


MUTANTS = {"fast clock": Mutant(clock=2), "hears thrice": Mutant(copies=3), "large windows": Mutant(window=4)}


class Smoltcp:
    """A client of smoltcp behind an open connection."""

    slack_ns = 0
    slack_share = 0.0
    whole = False

    def __init__(self, control: str, line: Dialogue, mutant: Mutant) -> None:
        self.mutant = mutant
        self.process = subprocess.Popen(
            ["target/release/smoltcp-stack", control], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.heard: list[tuple[int, packets.FromKernel]] = []
        self.once: set[int] = set()
        self.begin = self.now = 0
        #: With windows in bytes the dialogue has no shift.
        self.scale = 0 if any(step.window is not None for step in line.steps) else 10
        lost, syns = line.table.lost_syns, []
        while len(syns) <= lost:
            self.pass_to(self.now + 1_000_000)
            syns += self.heard
            self.heard = []
        at, syn = syns[-1]
        self.syn_gap = (at - syns[-2][0]) / 1e9 if lost else math.nan
        self.ports, self.first = (syn.ports[1], syn.ports[0]), (syn.seq + 1) & 0xFFFFFFFF
        self.begin = at + OPENING_NS
        self.pass_to(self.begin)
        sack = line.table.tcp.get("variant", "sack") == "sack"
        self.say(0, frozenset({"syn", "ack"}), mss=PAYLOAD, sack_permitted=sack, scale=self.scale)
        # Its window is shifted, unlike that of a SYN.
        self.say(0, frozenset({"ack"}))
        self.heard = []

    def tell(self, command: str) -> None:
        assert self.process.stdin and self.process.stdout
        print(command, file=self.process.stdin, flush=True)
        for line in iter(self.process.stdout.readline, ".\n"):
            at, digits = line.split()
            segment = packets.read(bytes.fromhex(digits))
            if segment:
                self.heard.append((int(at) // self.mutant.clock, segment))

    def pass_to(self, at_ns: int) -> None:
        self.now = at_ns
        self.tell(f"advance {at_ns * self.mutant.clock}")

    def say(self, acked: int, flags: frozenset[str], **more: Any) -> None:
        seq = FIRST_PEER + ("syn" not in flags)
        answer = packets.ToKernel(PEER, OWN, self.ports, seq, self.first + acked, flags, **more)
        self.tell(f"receive {packets.write(answer).hex()}")

    def write(self, segments: int | None, more: int = 0) -> None:
        self.tell(f"write {MUCH if segments is None else segments * PAYLOAD + more}")

    def withdraw(self) -> None:
        raise NoState("withdraw", "")

    def give(self, answer: GivenAck) -> None:
        blocks = [(self.first + (a - 1) * PAYLOAD, self.first + b * PAYLOAD) for a, b in answer.reports]
        window = {} if answer.window is None else {"window": answer.window * self.mutant.window}
        for _ in range(self.mutant.copies):
            self.say(answer.acked * PAYLOAD + answer.more, answer.flags | {"ack"}, blocks=blocks, **window)

    def advance(self, until_ns: int) -> None:
        self.pass_to(self.begin + until_ns)

    def take(self) -> list[SentSegment]:
        sent = []
        for at, heard in self.heard:
            if not heard.payload:
                continue
            number = ((heard.seq - self.first) & 0xFFFFFFFF) // PAYLOAD + 1
            sent.append(
                SentSegment(
                    at - self.begin, number, number in self.once, heard.flags, heard.ecn, heard.stamp, heard.payload
                )
            )
            self.once.add(number)
        self.heard = []
        return sent

    def state(self) -> Mapping[str, float]:
        return {"syn_gap": self.syn_gap}

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def tried(line: Dialogue, control: str, mutant: Mutant = Mutant()) -> str | None:
    """Where a line failed; empty if it holds; None if it cannot be asked."""
    subject = Smoltcp(control, line, mutant)
    try:
        return try_line(line, subject, False)
    except NoState:
        return None
    finally:
        subject.close()


def can_be_asked(line: Dialogue) -> bool:
    """Its parameters can be told, it is not about reports of SACK, which smoltcp does not read, and a sender without a
    congestion window can play it."""
    writes = [step for step in line.steps if step.what == "write"]
    windows = any(step.count is None or step.count > 10 * PAYLOAD for step in writes)
    about_windows = windows and "windows/congestion-window" in KNOWN and line.file.stem != "windows"
    return set(line.table.tcp) <= TOLD and line.file.stem != "rfc6675" and not about_windows


def main() -> None:
    failed, wrong = set(), []
    print(f"{'line':<44}{'section':<18}{'reno':<8}{'cubic':<8}failed by")
    files = [*read([Path("smoltcp/windows.toml")]), *installed()]
    for line in [line for file in files for line in file.lines if can_be_asked(line)]:
        came = {control: tried(line, control) if line.is_for(control) else None for control in CONTROLS}
        if all(found is None for found in came.values()):
            continue
        words = ["-" if came[c] is None else "FAILS" if came[c] else "holds" for c in CONTROLS]
        by = [name for name, mutant in MUTANTS.items() if tried(line, "reno", mutant)]
        if any(came.values()):
            failed.add(line.name)
            by = [f"smoltcp: {KNOWN.get(line.name, 'unknown')}"]
        elif not by:
            wrong.append(line.name)
        print(f"{line.name:<44}{line.table.section:<18}{words[0]:<8}{words[1]:<8}{', '.join(by)}")
        if found := next(filter(None, came.values()), None):
            print(f"    {found}")
    sys.exit(failed != set(KNOWN) or bool(wrong))


if __name__ == "__main__":
    main()
