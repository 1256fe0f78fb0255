"""The verdict of a script for each subject, and whether two subjects did the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tailback import _core
from tailback.apps.conformance.packetdrill import capture
from tailback.apps.conformance.packetdrill.ours import OurHost
from tailback.apps.conformance.packetdrill.play import KERNEL_TICK_NS, Differs, Player, Seen, Subject
from tailback.apps.conformance.packetdrill.script import Refused, Script, load

HOLDS: Final = "holds"
DIFFERS: Final = "differs"
REFUSED: Final = "cannot be expressed"
Result = Literal["holds", "differs", "cannot be expressed"]


@dataclass
class ScriptOutcome:
    """The verdict of one script with one subject."""

    script: str
    #: `tailback` or `kernel`.
    subject: str
    result: Result
    #: The line of the step that differs or cannot be expressed; 0 if there is none.
    line: int = 0
    step: str = ""
    expected: str = ""
    found: str = ""
    #: Notes on what is not modelled or not compared.
    notes: list[str] = field(default_factory=list)
    #: The pcapng file with the packets of a failed script.
    capture: str = ""
    #: The subject's actions, step by step.
    seen: list[Seen] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        rows = asdict(self)
        del rows["seen"]
        return rows

    @property
    def said(self) -> str:
        """The reason of the failure, on one line."""
        if self.result == HOLDS:
            return ""
        if self.result == REFUSED:
            return self.found
        return f"line {self.line}: expected {self.expected}; {self.found}"


def play_script(script: Script, subject: Subject, name: str, file: str, beside: bool) -> ScriptOutcome:
    """Plays a parsed script."""
    player = Player(script, subject, beside)
    verdict = ScriptOutcome(file, name, HOLDS)
    try:
        player.play()
    except Differs as e:
        verdict.result, verdict.line, verdict.step = DIFFERS, e.line, e.step.text
        verdict.expected, verdict.found = e.expected, e.found
    except Refused as e:
        verdict.result, verdict.line, verdict.found = REFUSED, e.line, str(e)
    verdict.seen = player.seen
    return verdict


def refused(file: Path, subject: str, e: Refused) -> ScriptOutcome:
    return ScriptOutcome(str(file), subject, REFUSED, e.line, found=str(e))


def on_simulator(file: Path, includes: Path | None, out: Path | None, beside: bool = False) -> ScriptOutcome:
    """Plays a script against an end of the simulator. `out` is the folder for the capture of a failed script."""
    try:
        script = load(file, includes)
        host = OurHost(script)
    except Refused as e:
        return refused(file, "tailback", e)
    except _core.ScenarioError as e:
        return ScriptOutcome(str(file), "tailback", REFUSED, 1, found=f"line 1: its settings are refused: {_first(e)}")
    verdict = play_script(script, host, "tailback", str(file), beside)
    verdict.notes = host.notes
    if verdict.result == DIFFERS and out:
        verdict.capture = capture.write(out, file, "", capture.of_segments(host.packets), verdict.said)
    return verdict


def _first(e: _core.ScenarioError) -> str:
    return str(e).strip().split("\n", 1)[0].removeprefix("error: ")


@dataclass
class Beside:
    """The comparison of two subjects of one script."""

    ours: ScriptOutcome
    kernel: ScriptOutcome
    #: Whether the simulator did the same as the kernel, up to the end or up to the line at which the kernel differs
    #: from the script. None if one of them could not be played.
    same: bool | None
    #: The place where the subjects differ: the line, and the action of each subject.
    line: int = 0
    ours_did: str = ""
    kernel_did: str = ""

    def as_dict(self) -> dict[str, Any]:
        by_subject = {"tailback": self.ours.as_dict(), "kernel": self.kernel.as_dict()}
        apart = {"line": self.line, "tailback_did": self.ours_did, "kernel_did": self.kernel_did}
        return {
            "script": self.ours.script,
            "as_the_kernel": self.same,
            **by_subject,
            "apart": apart if self.line else None,
        }


def compare(ours: ScriptOutcome, kernel: ScriptOutcome) -> Beside:
    """Compares the actions of both subjects, step by step."""
    if REFUSED in (ours.result, kernel.result):
        return Beside(ours, kernel, None)
    for own_packet, kernel_packet in _pairs(ours.seen, kernel.seen):
        alike = (
            own_packet
            and kernel_packet
            and own_packet.what == kernel_packet.what
            and abs(own_packet.late_ns - kernel_packet.late_ns)
            <= max(own_packet.within_ns, kernel_packet.within_ns) + KERNEL_TICK_NS
        )
        if not alike:
            line = min(s.line for s in (own_packet, kernel_packet) if s)
            return Beside(ours, kernel, False, line, _did(own_packet), _did(kernel_packet))
    return Beside(ours, kernel, True)


def _pairs(ours: Sequence[Seen], kernel: Sequence[Seen]) -> list[tuple[Seen | None, Seen | None]]:
    """The actions of both subjects, in order, up to the kernel's last line."""
    last_line = kernel[-1].line if kernel else 0
    lines_reached = [s for s in ours if s.line <= last_line]
    length = max(len(lines_reached), len(kernel))
    pairs: list[tuple[Seen | None, Seen | None]] = []
    for i in range(length):
        pairs.append((lines_reached[i] if i < len(lines_reached) else None, kernel[i] if i < len(kernel) else None))
    return pairs


def _did(seen: Seen | None) -> str:
    return f"{seen.what} at {seen.at_ns / 1e6:.6g} ms" if seen else "nothing more"
