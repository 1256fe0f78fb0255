"""Plays a script: it runs each step on a subject, or checks it against the subject. A subject is a host of any kind.

The player keeps the clock of the script. Absolute times count from the first step; relative times count from the actual
time of the step before. If two arriving segments follow each other, the second counts from the due time of the first,
so that delays do not accumulate. The rules are those of packetdrill (Cardwell et al., USENIX ATC 2013, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tailback.apps.conformance.packetdrill.code import CONSTANTS, evaluate, names
from tailback.apps.conformance.packetdrill.script import Call, Command, Packet, Refused, Script, Step
from tailback.apps.conformance.packetdrill.segments import Compares, SentPacket, difference, runs, shown

#: The limit for a step without a time, in the subject's time.
_PATIENCE_NS = 10_000_000_000
#: The most segments sent in one step.
_MOST_SENT = 200_000
_INFO = "tcpi_"
#: A tick of a kernel's timers at 250 Hz.
KERNEL_TICK_NS = 4_000_000
#: In a comparison of two subjects, the script continues if a segment is early or late by up to this.
SLACK_NS = 2 * KERNEL_TICK_NS


@dataclass(frozen=True)
class Returned:
    """The result of a system call: a number, the name of an error, and the values that it wrote into its arguments."""

    value: int
    error: str = ""
    out: Mapping[int, int] = field(default_factory=dict)


class Subject(Protocol):
    """A host. Times are nanoseconds since the first step."""

    compares: Compares

    @property
    def now_ns(self) -> int: ...
    def wait(self, until_ns: int) -> None: ...
    def next_sent(self, until_ns: int) -> SentPacket | None:
        """The next unread segment; None if no segment is sent until then."""
        ...

    def arrive(self, packet: Packet, echo: int | None) -> None:
        """Delivers a segment. `echo` is the value that its timestamp echoes, on the subject's clock."""
        ...

    def call(self, call: Call) -> Returned | None:
        """Runs a system call. The method returns None while the call blocks; the player then tries the call again.
        Raises Refused."""
        ...

    def info(self) -> Mapping[str, int]: ...
    def command(self, command: Command, line: int) -> None: ...
    def tick_ns(self) -> float:
        """The unit of the timestamp clock, in nanoseconds."""
        ...


class Differs(Exception):
    """A failed step: the expected result, and the actual one."""

    def __init__(self, step: Step, line: int, expected: str, found: str) -> None:
        super().__init__(f"line {line}: expected {expected}; {found}")
        self.step, self.line, self.expected, self.found = step, line, expected, found


@dataclass(frozen=True)
class Seen:
    """The actions of a subject in a step, for comparing two subjects."""

    line: int
    what: str
    at_ns: int
    #: The due time of the step on this subject's clock, and the tolerance within which times are equal.
    due_ns: int
    within_ns: int = 0

    @property
    def late_ns(self) -> int:
        return self.at_ns - self.due_ns


@dataclass(frozen=True)
class Expected:
    """A segment that a step expects, and its due time in nanoseconds on the subject's clock."""

    step: Step
    packet: Packet
    at: int
    to: int
    #: The tolerance; 0 means that the segment may come at any time.
    tolerance: int
    #: The additional tolerance within which the script continues.
    slack: int
    said: str = ""

    @property
    def latest(self) -> int:
        return self.to + self.tolerance + self.slack

    @property
    def text(self) -> str:
        return self.said or shown_packet(self.packet)

    def with_time(self) -> str:
        due = _ms(self.at) if self.at == self.to else f"{_ms(self.at)} to {_ms(self.to)}"
        return f"{shown_packet(self.packet)} at {due}"

    def at_wrong_time(self, sent: Sequence[SentPacket]) -> str:
        """The time at which the segment was sent, if that was early or late."""
        first_ns, last_ns = sent[0].at_ns, sent[-1].at_ns
        if self.at - self.tolerance <= first_ns and last_ns <= self.to + self.tolerance:
            return ""
        times_text = _ms(first_ns) if first_ns == last_ns else f"{_ms(first_ns)} to {_ms(last_ns)}"
        return f"it was sent at {times_text}, tolerance {_ms(self.tolerance)}"

    def is_near(self, sent: Sequence[SentPacket]) -> bool:
        """Whether the segment was early or late, but within the slack."""
        low, high = self.at - self.tolerance - self.slack, self.latest
        return self.slack > 0 and low <= sent[0].at_ns and sent[-1].at_ns <= high


class Player:
    """A script while it is played."""

    def __init__(self, script: Script, subject: Subject, beside: bool = False) -> None:
        """`beside` is another subject with which this one is compared, by the fields that both have."""
        self.script, self.subject, self.beside = script, subject, beside
        self.compares = Compares() if beside else subject.compares
        self.slack_ns = SLACK_NS if beside else 0
        self._at_wrong_time: Differs | None = None
        self.seen: list[Seen] = []
        self.names: dict[str, int] = dict(CONSTANTS)
        self._before_ns: int | None = None
        self._before: Step | None = None
        self._first_ns: int | None = None
        self._blocked: tuple[Step, Call, int] | None = None
        self._unread: SentPacket | None = None
        #: Timestamp values of the script by those of the subject, and the first pair.
        self._stamps: dict[int, int] = {}
        self._stamp_begin: tuple[int, int, int] | None = None

    def play(self) -> None:
        """Plays all steps. Raises Differs at the first failed step, and Refused at a step that the subject does not
        have."""
        for step in self.script.steps:
            from_ns, to_ns = self._times(step)
            try:
                if step.sends:
                    self._expect(step, step.sends, from_ns, to_ns)
                else:
                    self._pass_to(from_ns)
                    self._do(step, from_ns)
            except Refused as e:
                raise Refused(e.line or step.line, e.word, e.what) from None
            if step.clock != "any" or step.commands is None:
                self._before, self._before_ns = step, from_ns
        if self._blocked:
            self._finish_blocked(self._blocked[2] + self.script.tolerance_ns)
        if self._at_wrong_time:
            raise self._at_wrong_time

    def _times(self, step: Step) -> tuple[int, int]:
        """The due time of a step on the subject's clock."""
        now_ns = self.subject.now_ns
        if step.clock == "any":
            return now_ns, now_ns + _PATIENCE_NS
        if step.clock == "at":
            if self._first_ns is None:
                self._first_ns = step.from_ns
            return max(step.from_ns - self._first_ns, 0), max(step.to_ns - self._first_ns, 0)
        self._first_ns = self._first_ns if self._first_ns is not None else 0
        is_anchored = step.arrives and self._before and self._before.arrives
        begin = self._before_ns if is_anchored and self._before_ns is not None else now_ns
        return begin + step.from_ns, begin + step.to_ns

    def _tolerance(self, at: int) -> int:
        since = at - self._before_ns if self._before_ns is not None else 0
        return max(self.script.tolerance_ns, int(self.script.tolerance_share * since))

    def _pass_to(self, at: int) -> None:
        if self._blocked and self._blocked[2] + self.script.tolerance_ns < at:
            self._finish_blocked(self._blocked[2] + self.script.tolerance_ns)
        self.subject.wait(at)

    def _do(self, step: Step, at: int) -> None:
        if step.arrives:
            self.subject.arrive(step.arrives, self._echo(step.arrives))
            self._look_at_blocked()
        elif step.call:
            self._call(step, step.call, at)
        elif step.code is not None:
            self._run_code(step)
        else:
            for command in step.commands or []:
                self.subject.command(command, command.line)

    # ---- system calls

    def _call(self, step: Step, call: Call, at: int) -> None:
        if self._blocked:
            self._finish_blocked(self._blocked[2] + self.script.tolerance_ns)
        result = self.subject.call(call)
        if result is not None:
            self._check_call(step, call, result)
            return
        if call.returns_ns is None:
            end = at
        else:
            end = call.returns_ns if step.clock == "at" else at - step.from_ns + call.returns_ns
            end -= self._first_ns or 0 if step.clock == "at" else 0
        self._blocked = (step, call, max(end, at))

    def _look_at_blocked(self) -> None:
        if self._blocked:
            step, call, _ = self._blocked
            result = self.subject.call(call)
            if result is not None:
                self._blocked = None
                self._check_call(step, call, result)

    def _finish_blocked(self, until: int) -> None:
        """Checks that the blocking call has returned by then."""
        while self._blocked and self.subject.now_ns < until:
            self.subject.wait(min(until, self.subject.now_ns + 1_000_000))
            self._look_at_blocked()
        self._look_at_blocked()
        if self._blocked:
            step, call, _ = self._blocked
            raise Differs(step, step.line, f"{call.name}(...) = {_text(call.result)}", "it still blocks")

    def _check_call(self, step: Step, call: Call, returned: Returned) -> None:
        returned_text = f"{returned.value} {returned.error}".strip()
        self._see(step.line, f"{call.name}(...) = {returned_text}")
        wanted_result = call.result if isinstance(call.result, int) else returned.value
        error = call.error or ""
        if wanted_result != returned.value or (wanted_result < 0 and error and error != returned.error):
            raise Differs(
                step,
                step.line,
                f"{call.name}(...) = {_text(call.result)} {error}".strip(),
                f"it returned {returned_text}",
            )
        for place, out_value in returned.out.items():
            argument = call.arguments[place] if place < len(call.arguments) else None
            asked_value = argument[0] if isinstance(argument, list) and argument else argument
            if isinstance(asked_value, int) and asked_value != out_value:
                raise Differs(step, step.line, f"{call.name}(...) giving {asked_value}", f"it gave {out_value}")

    # ---- segments

    def _next_sent(self, until: int) -> SentPacket | None:
        if self._unread:
            waiting_packet, self._unread = self._unread, None
            return waiting_packet
        # A blocking call may return at its time, while the player waits for another event.
        while self._blocked and self.subject.now_ns < until:
            packet = self.subject.next_sent(min(until, self.subject.now_ns + 1_000_000))
            self._look_at_blocked()
            if packet:
                return packet
        return self.subject.next_sent(until)

    def _expect(self, step: Step, packet: Packet, at: int, to: int) -> None:
        tolerance = 0 if step.clock == "any" else self._tolerance(at)
        expectation = Expected(step, packet, at, to, tolerance, self.slack_ns if tolerance else 0)
        segments: list[SentPacket] = []
        while not segments or segments[-1].end < packet.end:
            arrival = self._next_sent(max(expectation.latest, self.subject.now_ns))
            if arrival is None:
                raise self._differs(expectation, segments, f"nothing was sent until {_ms(expectation.latest)}")
            segment = self._within(arrival, packet)
            begin = segments[-1].end if segments else packet.seq
            segments.append(segment)
            is_other = segment.seq != begin or segment.end > packet.end or (packet.payload and not segment.payload)
            if is_other or len(segments) > _MOST_SENT:
                raise self._differs(expectation, segments)
        mismatch = difference(packet, segments, self.compares) or self._stamp(packet, segments[0])
        if mismatch:
            raise self._differs(expectation, segments, mismatch)
        if step.clock != "any" and (mismatch := expectation.at_wrong_time(segments)):
            if not expectation.is_near(segments):
                raise self._differs(replace(expectation, said=expectation.with_time()), segments, mismatch)
            self._at_wrong_time = self._at_wrong_time or Differs(step, step.line, expectation.with_time(), mismatch)
        self._note(expectation, segments)

    def _within(self, sent: SentPacket, want: Packet) -> SentPacket:
        """In a comparison of subjects, the cut of bytes into segments does not matter: bytes beyond the step are kept
        for the next one."""
        if self.beside and sent.seq < want.end < sent.end:
            head, tail = want.end - sent.seq, sent.end - want.end
            self._unread = replace(sent, seq=want.end, payload=tail)
            return replace(sent, payload=head)
        return sent

    def _note(self, want: Expected, sent: Sequence[SentPacket]) -> None:
        for text, at in runs(sent, False):
            self.seen.append(Seen(want.step.line, text, at, want.at, want.tolerance or _PATIENCE_NS))

    def _see(self, line: int, what: str) -> None:
        """Records an action whose time is not compared."""
        now_ns = self.subject.now_ns
        self.seen.append(Seen(line, what, now_ns, now_ns))

    def _differs(self, want: Expected, sent: list[SentPacket], why: str = "") -> Differs:
        """The failure of a step, with the other segments that are sent until its time ends."""
        while len(sent) < _MOST_SENT and (next_packet := self._next_sent(max(want.latest, self.subject.now_ns))):
            sent.append(next_packet)
        self._note(want, sent)
        if not sent:
            self._see(want.step.line, "nothing")
        rows = [f"{text} at {_ms(at)}" for text, at in runs(sent, self.compares.push)]
        rows_text = ", ".join(rows[:6]) + (" and more" if len(rows) > 6 else "")
        finding = f"sent {rows_text}" if rows else ""
        return Differs(want.step, want.step.line, want.text, "; ".join(part for part in (why, finding) if part))

    # ---- time stamps

    def _echo(self, packet: Packet) -> int | None:
        """The echo of an arriving timestamp, on the subject's clock."""
        if packet.stamps is None:
            return None
        echo = packet.stamps[1]
        if echo in self._stamps or self._stamp_begin is None:
            return self._stamps.get(echo, echo)
        stamp, live, _ = self._stamp_begin
        return max(0, live + round((echo - stamp) * (self.script.tick_ns or 1_000_000) / self.subject.tick_ns()))

    def _stamp(self, want: Packet, sent: SentPacket) -> str:
        """The difference between a sent timestamp and the expected one."""
        if want.stamps is None or sent.stamps is None or want.any_options:
            return ""
        stamp, echo = want.stamps
        self._stamps[stamp] = sent.stamps[0]
        if self._stamp_begin is None:
            self._stamp_begin = (stamp, sent.stamps[0], sent.at_ns)
        if echo != sent.stamps[1]:
            return f"its time stamp echoes {sent.stamps[1]}, not {echo}"
        tick = self.script.tick_ns
        passed_ticks = (sent.stamps[0] - self._stamp_begin[1]) * self.subject.tick_ns()
        ticks_off = abs((stamp - self._stamp_begin[0]) * tick - passed_ticks)
        if tick and ticks_off > max(self.script.tolerance_ns, self.script.tolerance_share * sent.at_ns) + tick:
            return f"its time stamp is {_ms(int(ticks_off))} off"
        return ""

    # ---- code

    def _run_code(self, step: Step) -> None:
        infos = {_INFO + name: value for name, value in self.subject.info().items()}

        def of(name: str) -> int:
            if name in infos:
                return infos[name]
            if name in self.names:
                return self.names[name]
            fault = "this subject does not show it" if name.startswith(_INFO) else "this name has no value"
            raise Refused(line_number, name, fault)

        for statement in step.code or []:
            line_number = statement.line
            if statement.value is None:
                continue
            if statement.name:
                self.names[statement.name] = evaluate(statement.value, of, line_number)
                continue
            readings = ", ".join(f"{n} = {of(n)}" for n in names(statement.value) if n.startswith(_INFO))
            self._see(line_number, readings)
            if not evaluate(statement.value, of, line_number):
                raise Differs(step, line_number, statement.text, readings or "it does not hold")


def shown_packet(p: Packet) -> str:
    """A segment that a script expects, without its options."""
    packet = SentPacket(0, p.flags, p.seq, p.payload, p.ack, p.ecn or "")
    return shown(packet, p.payload, p.flags, True)


def _text(value: Any) -> str:
    return "..." if value is None else str(value)


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.6g} ms"
