"""Where a case of kernel_losses.py goes another way for ours than for the kernel, and both beside each other."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_cases import Case, Copy
from kernel_plays import Heard, OurPlay, Play, Sent

#: Draws of the nudge.
NUDGES = 24


@dataclass(frozen=True)
class Verdict:
    """What came of a case: `equal`, `tie` or `differs`."""

    case: Case
    word: str
    #: How much later ours has everything acknowledged than the kernel.
    late_ms: float
    #: The first segment that is another one; empty if there is none.
    first: str

    @property
    def ends(self) -> str:
        return f"{self.late_ms:+.0f} ms"

    def as_dict(self) -> dict[str, object]:
        about = {"case": self.case.number, "kind": self.case.kind, "options": self.case.options}
        return {**about, "result": self.word, "late_ms": self.late_ms, "first": self.first}


def compare(case: Case, plays: Sequence[Play], nudge_ns: int) -> Verdict:
    """Ours beside the first play of the kernel; further plays and nudges tell a tie."""
    kernel = plays[0]
    own = OurPlay(case, kernel).play()
    late = _ended_ms(own) - _ended_ms(kernel)
    if own.numbers == kernel.numbers:
        return Verdict(case, "equal", late, "")
    first = _first(kernel, own)
    for play in plays[1:]:
        again = OurPlay(case, play).play()
        if again.numbers == play.numbers:
            return Verdict(case, "tie", _ended_ms(again) - _ended_ms(play), first)
    for number in range(NUDGES if nudge_ns else 0):
        nudged = OurPlay(case, kernel, nudge_ns, number).play()
        if nudged.numbers == kernel.numbers:
            return Verdict(case, "tie", _ended_ms(nudged) - _ended_ms(kernel), first)
    return Verdict(case, "differs", late, first)


def _ended_ms(play: Play) -> float:
    """A play that does not end counts until its last segment."""
    ended = play.ended_us if play.ended_us is not None else play.sent[-1].at_us if play.sent else 0
    return ended / 1000


def _first(kernel: Play, own: Play) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(kernel.numbers, own.numbers, strict=False)) if a != b),
        min(len(kernel.sent), len(own.sent)),
    )
    theirs, ours = (_one(play.sent[at]) if at < len(play.sent) else "nothing" for play in (kernel, own))
    return f"kernel {theirs}, ours {ours}"


def _one(s: Sent) -> str:
    return f"{_copy(s)} at {s.at_us / 1000:.1f} ms"


def _copy(s: Sent | Heard) -> str:
    """Such as `7`, and `7''` when it is sent for the third time."""
    return f"{s.number}{chr(39) * (s.copy - 1)}"


def shown(case: Case, kernel: Play) -> str:
    """Both sides of a case, what is the same in one row; `*` stands at the first segment that differs."""
    own = OurPlay(case, kernel).play()
    left, right = _events(case, kernel), _events(case, own)
    first = next((i for i, (a, b) in enumerate(zip(kernel.sent, own.sent, strict=False)) if a.number != b.number), None)
    mark = None if first is None else kernel.sent[first]
    lines = [_about(case), f"{'kernel':<58}ours"]
    matcher = difflib.SequenceMatcher(None, [e[1] for e in left], [e[1] for e in right], autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for k in range(max(i2 - i1, j2 - j1)):
            a = left[i1 + k] if i1 + k < i2 else None
            b = right[j1 + k] if j1 + k < j2 else None
            here = "*" if a and mark is not None and a[2] is mark else " "
            lines.append(f"{here}{_cell(a):<57}{_cell(b)}".rstrip())
    return "\n".join(lines)


#: Time, what it is (compared), the segment, and the sender's state.
Event = tuple[int, str, Sent | Heard | None, str]


def _events(case: Case, play: Play) -> list[Event]:
    lost, gone = set(case.lost), set(case.lost_acks)
    late = {Copy(x.number, x.copy): x.by_us for x in case.late}
    events: list[Event] = []
    for (at, _), write in zip(play.written, case.writes, strict=False):
        events.append((at, f"write {write.segments}", None, ""))
    for s in play.sent:
        copy = Copy(s.number, s.copy)
        fate = " lost" if copy in lost else f" +{late[copy] / 1000:.1f} ms" if copy in late else ""
        events.append((s.at_us, f"> {_copy(s)}{fate}{' (ACK lost)' if copy in gone else ''}", s, ""))
    for h in play.heard:
        blocks = "".join(f" {a}-{b}" for a, b in h.reports)
        threshold = "" if h.ssthresh >= 1e9 else f"/{h.ssthresh:g}"
        what = f"< {h.acked}" + (f" sack{blocks}" if blocks else "")
        events.append((h.at_us, what, h, f"[{h.cwnd:g}{threshold} {h.state}]"))
    # At one instant an answer comes before what it releases.
    return sorted(events, key=lambda e: (e[0], e[1].startswith(">")))


def _cell(event: Event | None) -> str:
    return "" if event is None else f"{event[0] / 1000:9.2f} {event[1]} {event[3]}".rstrip()


def _about(case: Case) -> str:
    written = ", ".join(
        f"{w.segments} {'after all and' if w.after_all else 'after'} {w.wait_us / 1000:.1f} ms" for w in case.writes
    )
    return (
        f"case {case.number} of seed {case.seed}, {case.kind}: {case.options}, round trip {case.rtt_us / 1000:.1f} ms, "
        f"initial window {case.window}; writes {written}\n> sent (' again), < acknowledged, [window/threshold state]"
    )
